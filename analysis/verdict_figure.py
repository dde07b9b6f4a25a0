"""Ours against the published figures, with intervals, on the normalised scale."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis import figure_files, reference
from analysis.files import records
from analysis.study import Study
from analysis.verdicts import VERDICTS

# Colour and marker: neither alone has to be told apart.
LOOKS = {
    "reproduced": ("#009E73", "o"),
    "better": ("#0072B2", "^"),
    "worse": ("#D55E00", "v"),
    "inconclusive": ("#7F7F7F", "s"),
}


def normalised(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Scores of both sides and the 95 % interval of ours minus theirs; cells without a scale are dropped."""
    rows = []
    for row in records(verdicts):
        scale = reference.published_scale(row["task"])
        if scale is None or not np.isfinite(row["mean"]):
            continue
        unit = scale.high - scale.low
        theirs = scale.score(row["published_mean"])
        rows.append(
            {
                **row,
                "theirs_score": theirs,
                "ours_score": scale.score(row["mean"]),
                "low_score": theirs + row["low95"] / unit,
                "high_score": theirs + row["high95"] / unit,
            }
        )
    extra = ["theirs_score", "ours_score", "low_score", "high_score"]
    return pd.DataFrame(rows, columns=[*verdicts.columns, *extra])


def draw(verdicts: pd.DataFrame) -> Figure:
    points = normalised(verdicts[verdicts["source"] == "paper"])
    figure, axes = plt.subplots(figsize=(6, 5.4))
    if points.empty:
        axes.text(0.5, 0.5, "no cell of the paper has a finished run", ha="center", va="center", color="0.35")
        axes.set_axis_off()
        return figure
    low = float(min(points["theirs_score"].min(), points["ours_score"].min())) - 0.05
    high = float(max(points["theirs_score"].max(), points["ours_score"].max())) + 0.05
    axes.plot([low, high], [low, high], color="0.6", linewidth=1, zorder=1)
    for verdict in VERDICTS[:-1]:
        group = points[points["verdict"] == verdict]
        colour, marker = LOOKS[verdict]
        # The interval is of the difference, so it is drawn around ours.
        errors = np.stack(
            [group["ours_score"] - group["low_score"], group["high_score"] - group["ours_score"]]
        )
        errors = np.nan_to_num(errors.astype(float))
        axes.errorbar(
            group["theirs_score"].to_numpy(dtype=float),
            group["ours_score"].to_numpy(dtype=float),
            yerr=errors,
            fmt=marker,
            color=colour,
            markersize=4.5,
            elinewidth=0.6,
            alpha=0.8,
            label=f"{verdict} ({len(group)})",
        )
    axes.set(xlabel="published, normalised", ylabel="ours, normalised (95 % interval of the difference)")
    axes.set(xlim=(low, high), ylim=(low, high))
    axes.legend(loc="upper left", frameon=False)
    figure.tight_layout()
    return figure


def write(study: Study, verdicts: pd.DataFrame) -> None:
    figure_files.set_up()
    figure_files.save(draw(verdicts), study.directory / "figures", "verdicts")
