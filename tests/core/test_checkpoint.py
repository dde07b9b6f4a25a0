"""A checkpoint is whole and its own, or it is refused and left as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from algorithms.core.checkpoint import (
    CheckpointError,
    CheckpointStore,
    from_portable,
    global_rng_state,
    set_global_rng_state,
    to_portable,
)

OWNER = "a" * 64


class Rows:
    """A log of small records."""

    row_dtype = np.dtype([("x", "<f4", (3,)), ("n", "<i4")])

    def __init__(self) -> None:
        self.content = np.zeros(0, self.row_dtype)

    def __len__(self) -> int:
        return len(self.content)

    def rows(self, start: int, stop: int) -> np.ndarray:
        return self.content[start:stop]

    def extend(self, rows: np.ndarray) -> None:
        self.content = np.concatenate([self.content, rows])

    def grow(self, count: int) -> None:
        new = np.zeros(count, self.row_dtype)
        new["n"] = np.arange(len(self), len(self) + count)
        self.extend(new)


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path, OWNER)


def reopened(store: CheckpointStore) -> tuple[dict[str, Any], Rows]:
    """As a new process would: a new store, an empty log."""
    again, rows = CheckpointStore(store.directory, store.fingerprint), Rows()
    state = again.load_state()
    again.load_logs({"replay": rows})
    return state, rows


def test_state_and_rows_come_back(store: CheckpointStore) -> None:
    log = Rows()
    log.grow(5)
    state = {
        "weights": torch.randn(3, 4),
        "nested": [{"array": np.arange(6.0).reshape(2, 3)}, (1, "a", None)],
    }
    store.save(state, {"replay": log})
    loaded, rows = reopened(store)
    assert torch.equal(loaded["weights"], state["weights"])
    np.testing.assert_array_equal(loaded["nested"][0]["array"], np.arange(6.0).reshape(2, 3))
    assert loaded["nested"][1] == (1, "a", None)
    np.testing.assert_array_equal(rows.content, log.content)


def test_only_new_rows_are_written(store: CheckpointStore) -> None:
    log = Rows()
    log.grow(1000)
    store.save({}, {"replay": log})
    path = store.rows_path("replay")
    path.write_bytes(
        b"\0" * path.stat().st_size
    )  # if the old rows were written again, this would be repaired
    log.grow(10)
    store.save({}, {"replay": log})
    assert path.stat().st_size == 1010 * log.row_dtype.itemsize
    assert path.read_bytes()[: 1000 * log.row_dtype.itemsize].strip(b"\0") == b""


def test_rows_after_the_last_checkpoint_are_ignored_and_written_over(store: CheckpointStore) -> None:
    """A process that died between writing rows and writing the checkpoint."""
    log = Rows()
    log.grow(4)
    store.save({"step": 4}, {"replay": log})
    with store.rows_path("replay").open("ab") as file:
        file.write(b"torn")
    _, rows = reopened(store)
    assert len(rows) == 4
    again = CheckpointStore(store.directory, OWNER)
    again.load_state()
    rows.grow(3)
    again.save({"step": 7}, {"replay": rows})
    _, final = reopened(store)
    np.testing.assert_array_equal(final.content["n"], np.arange(7))


@pytest.mark.parametrize("where", ["magic", "payload", "truncated", "rows", "rows missing", "empty"])
def test_corruption_is_found_and_nothing_is_changed(store: CheckpointStore, where: str) -> None:
    log = Rows()
    log.grow(4)
    store.save({"weights": torch.ones(100)}, {"replay": log})
    target = store.rows_path("replay") if where.startswith("rows") else store.state_path
    content = bytearray(target.read_bytes())
    if where == "rows missing":
        target.unlink()
    elif where == "truncated":
        target.write_bytes(content[:-50])
    elif where == "empty":
        target.write_bytes(b"")
    else:
        content[5 if where == "magic" else -5] ^= 1
        target.write_bytes(content)
    before = {path.name: path.read_bytes() for path in store.directory.iterdir()}
    with pytest.raises(CheckpointError, match="rm "):
        reopened(store)
    assert {path.name: path.read_bytes() for path in store.directory.iterdir()} == before


def test_a_foreign_checkpoint_is_refused(store: CheckpointStore) -> None:
    store.save({}, {})
    with pytest.raises(CheckpointError, match="other settings"):
        CheckpointStore(store.directory, "b" * 64).load_state()


def test_a_failed_write_keeps_the_last_good_checkpoint(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Rows()
    log.grow(2)
    store.save({"step": 2}, {"replay": log})
    log.grow(2)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.save({"step": 4}, {"replay": log})
    monkeypatch.undo()
    state, rows = reopened(store)
    assert (state["step"], len(rows)) == (2, 2)
    store.save({"step": 4}, {"replay": log})  # and when there is space again, it goes on
    state, rows = reopened(store)
    assert (state["step"], len(rows)) == (4, 4)


def test_global_generators_come_back(store: CheckpointStore) -> None:
    import random

    store.save({"generators": global_rng_state()}, {})
    expected = (random.random(), np.random.rand(), torch.rand(1).item())  # noqa: NPY002
    state, _ = reopened(store)
    set_global_rng_state(state["generators"])
    assert (random.random(), np.random.rand(), torch.rand(1).item()) == expected  # noqa: NPY002


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(values)
def test_portable_values_come_back(value: Any) -> None:
    assert from_portable(to_portable(value)) == value


def test_a_numpy_generator_survives(store: CheckpointStore) -> None:
    generator = np.random.default_rng(5)
    store.save({"generator": generator.bit_generator.state}, {})
    expected = generator.random(3)
    state, _ = reopened(store)
    other = np.random.default_rng(0)
    other.bit_generator.state = state["generator"]
    np.testing.assert_array_equal(other.random(3), expected)
