"""Matplotlib set up once, and figures saved so that the same input gives the same bytes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

from analysis.files import write_bytes

FORMATS = ("pdf", "svg", "png")
# Without these the files carry the time of writing and random ids.
_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
_SETTINGS = {
    "svg.hashsalt": "spede",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "pdf.fonttype": 42,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 9,
}


def set_up() -> None:
    sns.set_theme(style="whitegrid", context="paper", rc=_SETTINGS)


def save(figure: Figure, folder: Path, name: str, dpi: int = 120) -> None:
    """`<folder>/<name>.{pdf,svg,png}`; closes the figure."""
    for kind in FORMATS:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=_METADATA[kind])
        write_bytes(folder / f"{name}.{kind}", buffer.getvalue())
    plt.close(figure)
