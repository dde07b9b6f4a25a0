"""How every figure looks and is saved: the same bytes each time, safe for colour-blind readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Okabe and Ito's palette without black and yellow: distinct for all readers, on light and on dark paper
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
INK, REFERENCE = "#1a1a1a", "#7f7f7f"
CYCLE = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY]
MARKERS = ["o", "s", "^", "D", "v", "P"]

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "spede-theory",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "grid.color": REFERENCE,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4,
    "errorbar.capsize": 2,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.wspace": 0.06,
    "savefig.dpi": 150,
}


def panels(columns: int, rows: int = 1, width: float = 3.3, height: float = 2.8) -> tuple[Figure, list[Axes]]:
    """A figure with its axes in reading order."""
    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False)
    return figure, [ax for row in axes for ax in row]


def save(figure: Figure, out: Path, name: str) -> None:
    """Write figures/<name>.{pdf,svg,png} without dates."""
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None})
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png")
    plt.close(figure)


def reference_slope(ax: Axes, x: Array, anchor: float, slope: float, label: str | None) -> None:
    """A dashed power law through (x[0], anchor)."""
    ax.plot(x, anchor * (x / x[0]) ** slope, ls="--", lw=1.0, color=REFERENCE, label=label, zorder=0)
