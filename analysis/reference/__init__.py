"""What was published: the paper's tables and MBBL's, under our names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.files import records

FOLDER = Path(__file__).parent
PUBLISHED_SEEDS = 4
PUBLISHED_STEPS = 200_000
PRECISION = 0.1  # the tables print one decimal

# MBBL's rows that plan with the true dynamics, and chance: no scale for what can be learned.
NOT_LEARNED = ("Random", "iLQG", "GT-CEM", "GT-RS")


@dataclass(frozen=True)
class Published:
    """One printed cell: mean ± std of four seeds."""

    mean: float
    std: float


@cache
def names(source: str, kind: str) -> dict[str, str]:
    """The one alias map: a source's name to ours, for `kind` `task` or `algorithm`."""
    table = pd.read_csv(FOLDER / "names.csv", dtype=str)
    chosen = table[(table["source"] == source) & (table["kind"] == kind)]
    return dict(zip(chosen["alias"], chosen["name"], strict=True))


def our_name(source: str, kind: str, alias: str) -> str:
    return names(source, kind).get(alias, alias)


@cache
def paper_cells() -> pd.DataFrame:
    """All printed cells of the paper; `task` and `agent` are our names for its `env` and `algorithm`."""
    cells = pd.read_csv(FOLDER / "paper_tables.csv")
    return cells.assign(
        task=cells["env"].map(lambda env: our_name("paper", "task", env)),
        agent=cells["algorithm"].map(lambda name: our_name("paper", "algorithm", name)),
        bold=cells["bold"].astype(bool),
        starred=cells["starred"].astype(bool),
    )


@cache
def mbbl_cells(steps: int = PUBLISHED_STEPS) -> pd.DataFrame:
    cells = pd.read_csv(FOLDER / "mbbl_table.csv")
    cells = cells[cells["steps"] == steps]
    return cells.assign(task=cells["env"].map(lambda env: our_name("mbbl", "task", env))).reset_index(
        drop=True
    )


@cache
def _paper_index() -> dict[tuple[str, str, str], Published]:
    cells = paper_cells()
    index: dict[tuple[str, str, str], Published] = {}
    for row in records(cells):
        index[row["table"], row["task"], row["algorithm"]] = Published(row["mean"], row["std"])
    return index


@cache
def _mbbl_index() -> dict[tuple[str, str], Published]:
    cells = mbbl_cells()
    known = records(cells.dropna(subset=["mean"]))
    return {(row["task"], row["algorithm"]): Published(row["mean"], row["std"]) for row in known}


def paper_value(table: str, task: str, algorithm: str) -> Published | None:
    """The cell as that table of the paper prints it."""
    return _paper_index().get((table, task, algorithm))


def mbbl_value(task: str, algorithm: str) -> Published | None:
    return _mbbl_index().get((task, algorithm))


@dataclass(frozen=True)
class Scale:
    """Score 0 is MBBL's Random row, score 1 the best published mean of a learning method at 200K steps."""

    low: float
    high: float
    best: str

    def score(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


@cache
def published_scale(task: str) -> Scale | None:
    """The task's scale; None for a task without published figures."""
    random = mbbl_value(task, "Random")
    if random is None:
        return None
    candidates = [(value.mean, name) for (where, name), value in _mbbl_index().items() if where == task]
    # The paper's own rows only: where it adopts MBBL's figures, MBBL itself is the source.
    own = paper_cells()
    own = own[
        (own["task"] == task)
        & ~own["starred"]
        & (own["algorithm"] != "SAC")
        & (own["table"] != "appendix_lc3")
    ]
    candidates += [(row["mean"], row["agent"]) for row in records(own)]
    candidates = [(mean, name) for mean, name in candidates if name not in NOT_LEARNED and np.isfinite(mean)]
    if not candidates:
        return None
    high, best = max(candidates)
    return Scale(random.mean, high, best) if high > random.mean else None
