"""Writing files whole or not at all, and the one command line that all steps share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.study import Study, StudyError, load_study


def write_bytes(path: Path, data: bytes) -> None:
    """Replace `path` at once: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_bytes(data)
    os.replace(scratch, path)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    write_text(path, frame.to_csv(index=False, lineterminator="\n"))


TEXT = ("variant", "label", "task", "message", "run", "path", "note", "name", "started", "finished")


def read_csv(path: Path) -> pd.DataFrame:
    """What `write_csv` wrote: an empty cell is NaN in a column of numbers and empty text in one of names."""
    columns = pd.read_csv(path, nrows=0).columns
    text: dict[Hashable, str] = {name: "str" for name in TEXT if name in columns}
    frame = pd.read_csv(path, dtype=text, keep_default_na=False, na_values=[""], float_precision="round_trip")
    return frame.fillna(dict.fromkeys(text, ""))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as dictionaries, typed for people rather than for pandas."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def study_main(step: Callable[[Study], object], description: str | None, arguments: list[str] | None) -> int:
    """`python -m analysis.<step> results/<study>`: exit 2 with one clear line when the input is unusable."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, help="the study's folder, e.g. results/paper")
    try:
        step(load_study(parser.parse_args(arguments).study))
    except StudyError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
