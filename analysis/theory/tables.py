"""CSV in and out, the command line of an experiment, and the two statistics that all of them use."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]


def out_folder(description: str | None) -> Path:
    """Parse `--out`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, required=True, help="folder for the tables and figures")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    return out


def write(frame: pd.DataFrame, out: Path, name: str) -> None:
    """Six significant digits: beyond the statistical error, short of what a library's version may change."""
    frame.to_csv(out / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")


def read(out: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(out / f"{name}.csv")


def mean_and_error(sample: Array, axis: int = 0) -> tuple[Array, Array]:
    """Mean and standard error of the mean."""
    count = sample.shape[axis]
    return sample.mean(axis=axis), sample.std(axis=axis, ddof=1) / np.sqrt(count)


def log_slope(x: Array, y: Array) -> float:
    """Least-squares slope of log y against log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
