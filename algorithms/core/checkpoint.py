"""Checkpoints: all of a run's state, in a file that is either whole and its own, or refused.

    checkpoint.pt     magic, checksum, fingerprint, then `torch.save` of the state
    <name>.rows       data that only grows (replay): each checkpoint appends what is new

The rows are written before the checkpoint that counts them. If a process dies in between, the file
is longer than the last checkpoint says; the surplus is ignored and written over. So the cost of a
checkpoint does not grow with the replay buffer.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import random
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from algorithms.core.files import write_atomically

MAGIC = b"SPEDE-BENCH CHECKPOINT 1\n"
DIGEST_LENGTH = 64
STATE_FILE = "checkpoint.pt"


class CheckpointError(RuntimeError):
    """A checkpoint cannot be read, or belongs to another run. Nothing has been changed on disk."""


class GrowingLog(Protocol):
    """Rows that are only ever appended."""

    @property
    def row_dtype(self) -> np.dtype[Any]: ...
    def __len__(self) -> int: ...
    def rows(self, start: int, stop: int) -> np.ndarray: ...
    def extend(self, rows: np.ndarray) -> None: ...


@dataclass
class _Saved:
    """How much of a log is on disk, and its checksum."""

    count: int = 0
    checksum: int = 0


@dataclass
class CheckpointStore:
    """The checkpoint of one run directory."""

    directory: Path
    fingerprint: str
    _saved: dict[str, _Saved] = field(default_factory=dict)

    @property
    def state_path(self) -> Path:
        return self.directory / STATE_FILE

    def rows_path(self, name: str) -> Path:
        return self.directory / f"{name}.rows"

    def exists(self) -> bool:
        return self.state_path.exists()

    def save(self, state: Mapping[str, Any], logs: Mapping[str, GrowingLog]) -> None:
        for name, log in logs.items():
            self._append(name, log)
        counts = {name: [saved.count, saved.checksum] for name, saved in self._saved.items()}
        buffer = io.BytesIO()
        torch.save(to_portable({"state": state, "logs": counts}), buffer)
        payload = buffer.getbuffer()
        digest = hashlib.sha256(payload).hexdigest().encode()
        write_atomically(self.state_path, MAGIC, digest, self.fingerprint.encode(), payload)

    def load_state(self) -> dict[str, Any]:
        """The saved state, after checking that the file is whole and that it belongs to this run."""
        path = self.state_path
        content = memoryview(path.read_bytes())
        head = len(MAGIC) + 2 * DIGEST_LENGTH
        digest = bytes(content[len(MAGIC) : len(MAGIC) + DIGEST_LENGTH])
        owner = bytes(content[len(MAGIC) + DIGEST_LENGTH : head])
        payload = content[head:]
        if bytes(content[: len(MAGIC)]) != MAGIC:
            raise CheckpointError(_refusal(path, "is not a checkpoint of this project"))
        if hashlib.sha256(payload).hexdigest().encode() != digest:
            raise CheckpointError(_refusal(path, "is corrupted: its checksum does not match"))
        if owner != self.fingerprint.encode():
            raise CheckpointError(
                _refusal(path, "was made by a run with other settings, sources or library versions")
            )
        try:
            loaded = from_portable(torch.load(io.BytesIO(payload), weights_only=True))
        except (pickle.UnpicklingError, RuntimeError) as error:
            raise CheckpointError(_refusal(path, f"cannot be read: {error}")) from error
        self._saved = {name: _Saved(*saved) for name, saved in loaded["logs"].items()}
        state: dict[str, Any] = loaded["state"]
        return state

    def load_logs(self, logs: Mapping[str, GrowingLog]) -> None:
        """Fill the (empty) logs with the rows that the loaded checkpoint counted."""
        for name, log in logs.items():
            saved = self._saved.get(name, _Saved())
            path = self.rows_path(name)
            size = saved.count * log.row_dtype.itemsize
            content = b""
            if size:
                if not path.exists():
                    raise CheckpointError(_refusal(path, "is missing"))
                with path.open("rb") as file:
                    content = file.read(size)
            if len(content) != size or zlib.crc32(content) != saved.checksum:
                raise CheckpointError(_refusal(path, "is corrupted: its checksum does not match"))
            log.extend(np.frombuffer(content, dtype=log.row_dtype))

    def delete(self) -> None:
        self.state_path.unlink(missing_ok=True)
        for path in self.directory.glob("*.rows"):
            path.unlink()

    def _append(self, name: str, log: GrowingLog) -> None:
        saved = self._saved.setdefault(name, _Saved())
        total = len(log)
        content = log.rows(saved.count, total).tobytes()
        path = self.rows_path(name)
        with path.open("r+b" if path.exists() else "w+b") as file:
            file.seek(saved.count * log.row_dtype.itemsize)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # only now: if the disk is full, the count must stay that of the last good checkpoint
        self._saved[name] = _Saved(total, zlib.crc32(content, saved.checksum))


def _refusal(path: Path, problem: str) -> str:
    return (
        f"{path} {problem}. It was left as it is. To start this run again from step 0, delete it:\n"
        f"    rm {path.parent}/{STATE_FILE} {path.parent}/*.rows"
    )


def global_rng_state() -> dict[str, Any]:
    """The states of the generators that libraries share."""
    return {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}  # noqa: NPY002


def set_global_rng_state(state: Mapping[str, Any]) -> None:
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    np.random.set_state(tuple(state["numpy"]))  # noqa: NPY002
    torch.set_rng_state(state["torch"])


def to_portable(value: Any) -> Any:
    """Rewrite what `torch.load(weights_only=True)` does not read: numpy arrays and very large integers."""
    if isinstance(value, np.ndarray):
        data = torch.from_numpy(np.frombuffer(value.tobytes(), dtype=np.uint8).copy())
        return {"__array__": data, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return to_portable(value.item())
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        return {"__integer__": str(value)}
    if isinstance(value, Mapping):
        return {key: to_portable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([to_portable(item) for item in value])
    return value


def from_portable(value: Any) -> Any:
    if isinstance(value, dict):
        if "__array__" in value:
            raw = value["__array__"].numpy().tobytes()
            return np.frombuffer(raw, dtype=np.dtype(value["dtype"])).reshape(value["shape"]).copy()
        if "__integer__" in value:
            return int(value["__integer__"])
        return {key: from_portable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([from_portable(item) for item in value])
    return value
