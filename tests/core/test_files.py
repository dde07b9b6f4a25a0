"""Outputs are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from algorithms.core.files import write_atomically, write_csv


def test_a_reader_of_the_old_file_keeps_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old content")
    with path.open("rb") as reader:
        write_atomically(path, b"new")
        assert reader.read() == b"old content", "the file was changed in place"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_no_debris(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old content")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"os.{step}", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old content"
    assert os.listdir(tmp_path) == ["file"]


def test_numbers_are_written_exactly(tmp_path: Path) -> None:
    write_csv(tmp_path / "file.csv", ("a", "b"), [(1, 0.1 + 0.2), (2, -1e-300)])
    assert (tmp_path / "file.csv").read_text() == "a,b\n1,0.30000000000000004\n2,-1e-300\n"
