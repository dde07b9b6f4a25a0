"""Did we get what was published? One verdict per published cell, by one stated rule.

`python -m analysis.verdicts results/<study>` writes `statistics/verdicts.csv`,
`statistics/verdict_counts.csv` and `figures/verdicts.{pdf,svg,png}`.

Both sides are a mean and a std of few seeds (theirs: 4). Let `d` be ours minus theirs, and take Welch's
intervals for it: each side brings its own variance, the degrees of freedom are Satterthwaite's, and the
rounding of the printed figure (one decimal) adds its own small variance, so that `0.0 ± 0.0` is a figure like
any other. The margin is what we call close: a tenth of what the published agent gained over Random, but at
least a fortieth of the way from Random to the best published agent on that task.

    reproduced     the 90 % interval of d lies inside ± margin (two one-sided tests at 5 %: closeness is shown,
                   not merely no difference found)
    better, worse  otherwise, when the 95 % interval of d excludes 0
    inconclusive   neither: the seeds are too few for the spread, or we have fewer than two of them
    not run        the study has no finished run for the cell

Four seeds cannot decide every cell: `decidable` says whether "reproduced" was possible at all, given only
the published spread. Verdicts are per cell; with many cells some "better" and "worse" come by chance, so the
counts also say how many of them survive Holm's correction over all tested cells.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from analysis import audit, reference
from analysis.aggregate import Frames, read_frames
from analysis.files import records, study_main, write_csv
from analysis.reference import PUBLISHED_SEEDS, PUBLISHED_STEPS, Published
from analysis.student import t_quantile, two_sided_p, welch_freedom
from analysis.study import Study

VERDICTS = ("reproduced", "better", "worse", "inconclusive", "not run")
GAIN_SHARE = 0.10
RANGE_SHARE = 0.025
ALPHA = 0.05
ROUNDING_VARIANCE = reference.PRECISION**2 / 12


@dataclass(frozen=True)
class Comparison:
    """Ours minus theirs with its intervals, and the verdict."""

    verdict: str
    difference: float = np.nan
    low90: float = np.nan
    high90: float = np.nan
    low95: float = np.nan
    high95: float = np.nan
    p: float = np.nan
    margin: float = np.nan
    decidable: bool = False


def margin(published: Published, scale: reference.Scale | None) -> float:
    """How far apart two means may be and still count as close."""
    if scale is None:
        return GAIN_SHARE * abs(published.mean)
    return max(GAIN_SHARE * abs(published.mean - scale.low), RANGE_SHARE * (scale.high - scale.low))


def compare(mean: float, std: float, n: int, published: Published, close: float) -> Comparison:
    """The verdict on one cell; `n` seeds of ours against the published four."""
    decidable = _decidable(published, close)
    difference = mean - published.mean
    if n < 2:
        nothing = Comparison("not run" if n == 0 else "inconclusive", margin=close, decidable=decidable)
        return nothing if n == 0 else replace(nothing, difference=difference)
    ours, theirs = std**2 / n, published.std**2 / PUBLISHED_SEEDS
    error = float(np.sqrt(ours + theirs + ROUNDING_VARIANCE))
    freedom = welch_freedom(ours, n, theirs, PUBLISHED_SEEDS)
    half90, half95 = (float(t_quantile(1 - tail, freedom)) * error for tail in (ALPHA, ALPHA / 2))
    p = two_sided_p(difference / error, freedom)
    if abs(difference) + half90 < close:
        verdict = "reproduced"
    elif abs(difference) > half95:
        verdict = "better" if difference > 0 else "worse"
    else:
        verdict = "inconclusive"
    return Comparison(
        verdict=verdict,
        difference=difference,
        low90=difference - half90,
        high90=difference + half90,
        low95=difference - half95,
        high95=difference + half95,
        p=p,
        margin=close,
        decidable=decidable,
    )


def _decidable(published: Published, close: float) -> bool:
    """Could any result with the same mean have been called reproduced? Even seeds without spread leave theirs."""
    error = np.sqrt(published.std**2 / PUBLISHED_SEEDS + ROUNDING_VARIANCE)
    return bool(t_quantile(1 - ALPHA, PUBLISHED_SEEDS - 1) * error < close)


@cache
def published_cells() -> pd.DataFrame:
    """Each distinct published figure once: source, task, agent, mean, std, and the tables that print it.

    MBBL's figures count where the paper has no cell or prints something else. A column that holds another
    task's figures (the LC3 table's Hopper) is not counted under the wrong name.
    """
    misnamed = {(finding.table, finding.task, finding.algorithm) for finding in audit.misnamed_cells()}
    paper = reference.paper_cells()
    wrong = [(row["table"], row["task"], row["algorithm"]) in misnamed for row in records(paper)]
    paper = paper[~np.array(wrong)].assign(source="paper")
    mbbl = reference.mbbl_cells().dropna(subset=["mean"]).assign(source="mbbl", table="MBBL")
    mbbl = mbbl.assign(agent=mbbl["algorithm"])
    columns = ["source", "task", "agent", "mean", "std", "table"]
    both = pd.concat([paper[columns], mbbl[columns]], ignore_index=True)
    both = both.assign(mean=both["mean"].round(1))  # 501.6 and 501.58 are one figure
    grouped = both.groupby(["task", "agent", "mean", "std"], sort=False)
    return grouped.agg(
        source=("source", "first"), tables=("table", lambda names: " ".join(dict.fromkeys(names)))
    ).reset_index()


def verdict_frame(
    study: Study, cells: pd.DataFrame, metric: str, factor: float = 1.0, spread: float = 1.0
) -> pd.DataFrame:
    """One row per distinct published figure whose agent or task this study knows.

    `factor` scales the margin and `spread` the published std: how much do the verdicts hang on them?
    """
    label_of: dict[str, str] = {}
    for name, label in study.labels.items():
        label_of.setdefault(label.title, name)  # of two rows with the paper's name, the first is the paper's
    ours = {(row["label"], row["task"]): row for row in records(cells[cells["metric"] == metric])}
    notes = _cell_notes()
    rows = []
    for row in records(published_cells()):
        ran = label_of.get(row["agent"])
        cell = ours.get((ran, row["task"])) if ran else None
        if row["source"] == "mbbl" and cell is None:
            continue  # MBBL has many rows that this study never meant to run
        mean, std, n = (
            (float(cell["mean"]), float(cell["std"]), int(cell["n"]))
            if cell is not None
            else (np.nan, np.nan, 0)
        )
        published = Published(row["mean"], row["std"] * spread)
        result = compare(
            mean, std, n, published, factor * margin(published, reference.published_scale(row["task"]))
        )
        rows.append(
            {
                "source": row["source"],
                "task": row["task"],
                "agent": row["agent"],
                "label": ran or "",
                "published_mean": row["mean"],
                "published_std": row["std"],
                "tables": row["tables"],
                "mean": mean,
                "std": std,
                "n": n,
                **asdict(result),
                "note": "; ".join(_notes(study, row, cell, notes)),
            }
        )
    frame = pd.DataFrame(rows, columns=[*_FIRST, *Comparison.__dataclass_fields__, "note"])
    return frame.assign(survives_holm=_holm(frame["p"].to_numpy(dtype=float)))


_FIRST = ["source", "task", "agent", "label", "published_mean", "published_std", "tables", "mean", "std", "n"]


def _notes(
    study: Study, row: dict[str, Any], cell: dict[str, Any] | None, notes: dict[tuple[str, str, str], str]
) -> list[str]:
    """What is wrong with the printed figure, and whether ours had another budget."""
    keys = ((table, row["task"], row["agent"]) for table in row["tables"].split())
    found = list(dict.fromkeys(notes[key] for key in keys if key in notes))
    if cell is not None and cell.get("steps", study.steps) != study.steps:
        found.append(f"ours after {cell['steps']:,} steps")
    return found


def _cell_notes() -> dict[tuple[str, str, str], str]:
    """Footnotes by our name of the agent."""
    return {
        (table, task, reference.our_name("paper", "algorithm", name)): note
        for (table, task, name), note in audit.footnotes().items()
    }


def _holm(p: np.ndarray) -> np.ndarray:
    """Which differences stay significant when all tested cells are taken together."""
    kept = np.zeros(len(p), dtype=bool)
    tested = np.flatnonzero(np.isfinite(p))
    for rank, index in enumerate(tested[np.argsort(p[tested], kind="stable")]):
        if p[index] > ALPHA / (len(tested) - rank):
            break
        kept[index] = True
    return kept


def count_frame(study: Study, cells: pd.DataFrame) -> pd.DataFrame:
    """How many cells of each verdict: for both sources, and under other choices of margin and spread."""
    rows = []
    choices = {
        "as stated": (1.0, 1.0),
        "margin doubled": (2.0, 1.0),
        "margin halved": (0.5, 1.0),
        "published std taken as a population std": (1.0, float(np.sqrt(4 / 3))),
    }
    for name, (factor, spread) in choices.items():
        frame = verdict_frame(study, cells, study.metric, factor, spread)
        for source in ("paper", "mbbl"):
            chosen = frame[frame["source"] == source]
            counts = chosen["verdict"].value_counts()
            tested = int(np.isfinite(chosen["p"].to_numpy(dtype=float)).sum())
            row: dict[str, Any] = {
                "rule": name,
                "source": source,
                **{verdict: int(counts.get(verdict, 0)) for verdict in VERDICTS},
            }
            different = chosen["verdict"].isin(["better", "worse"])
            row |= {
                "tested": tested,
                "decidable": int(
                    (chosen["decidable"] & np.isfinite(chosen["p"].to_numpy(dtype=float))).sum()
                ),
                "different_after_holm": int((different & chosen["survives_holm"]).sum()),
                "expected_by_chance": round(ALPHA * tested, 1),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def protocol_differences(study: Study) -> list[str]:
    """Why these verdicts may not be about the paper's protocol; empty when they are."""
    found = []
    if study.steps != PUBLISHED_STEPS:
        found.append(f"{study.steps:,} environment steps instead of {PUBLISHED_STEPS:,}")
    if study.window != 10_000:
        found.append(f"a window of {study.window:,} steps instead of 10,000")
    if len(study.seeds) != PUBLISHED_SEEDS:
        found.append(f"{len(study.seeds)} seeds instead of {PUBLISHED_SEEDS}")
    if study.scale != "paper":
        found.append(f"the {study.scale} scale of hyper-parameters instead of the paper's")
    return found


def run_step(study: Study, frames: Frames | None = None) -> pd.DataFrame:
    from analysis import verdict_figure

    frames = frames or read_frames(study)
    verdicts = verdict_frame(study, frames.cells, study.metric)
    write_csv(study.directory / "statistics" / "verdicts.csv", verdicts)
    write_csv(study.directory / "statistics" / "verdict_counts.csv", count_frame(study, frames.cells))
    verdict_figure.write(study, verdicts)
    return verdicts


def main(arguments: list[str] | None = None) -> int:
    return study_main(run_step, __doc__, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
