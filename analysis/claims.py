"""The paper's sentences against the paper's tables.

`reference/claims.json` holds each claim: the quote, which part of it is checked, and a check by name with its
arguments. The checks are the functions below; nothing is evaluated from text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from analysis import reference
from analysis.audit import TABLE_TITLES
from analysis.reference import PRECISION, PUBLISHED_SEEDS, Published
from analysis.student import two_sided_p, welch_freedom

HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold"


@dataclass(frozen=True)
class Result:
    outcome: str
    detail: str


@dataclass(frozen=True)
class Claim:
    id: str
    where: str
    quote: str
    part: str
    result: Result


Check = dict[str, Any]


@cache
def check_all() -> tuple[Claim, ...]:
    claims = json.loads((reference.FOLDER / "claims.json").read_text(encoding="utf-8"))
    return tuple(
        Claim(claim["id"], claim["where"], claim["quote"], claim["part"], run_check(claim["check"]))
        for claim in claims
    )


def run_check(check: Check) -> Result:
    return CHECKS[check["kind"]](check)


def _cell(table: str, task: str, algorithm: str) -> Published:
    """A printed cell; a claim about a cell that does not exist is our mistake, not the paper's."""
    value = (
        reference.mbbl_value(task, algorithm)
        if table == "mbbl"
        else reference.paper_value(table, task, algorithm)
    )
    if value is None:
        raise LookupError(f"{table} has no cell for {algorithm} on {task}")
    return value


def _same(left: float, right: float) -> bool:
    return abs(left - right) < PRECISION / 2


def _mean(check: Check, algorithm: str, task: str) -> float:
    return _cell(check["table"], task, algorithm).mean


def _rows(table: str) -> list[str]:
    cells = reference.paper_cells()
    return list(dict.fromkeys(cells.loc[cells["table"] == table, "algorithm"]))


def _together(outcomes: Iterable[bool], detail: str) -> Result:
    results = list(outcomes)
    if all(results):
        return Result(HOLDS, detail)
    return Result(PARTLY if any(results) else FAILS, detail)


def value(check: Check) -> Result:
    """The cell has the stated mean."""
    found = _mean(check, check["algorithm"], check["task"])
    owners = [
        name
        for name in _rows(check["table"])
        if (cell := reference.paper_value(check["table"], check["task"], name))
        and _same(cell.mean, check["states"])
    ]
    hint = (
        f"; {check['states']} is {', '.join(owners)}" if owners and check["algorithm"] not in owners else ""
    )
    return _together([_same(found, check["states"])], f"the table has {found:.1f}{hint}")


def difference(check: Check) -> Result:
    """`algorithm` is above `over` by the stated amount; if not: where the amount does occur."""
    found = _mean(check, check["algorithm"], check["task"]) - _mean(check, check["over"], check["task"])
    detail = f"the table gives {found:.1f}"
    ours, theirs = (reference.mbbl_value(check["task"], name) for name in (check["algorithm"], check["over"]))
    if theirs is not None and ours is None:
        corrected = _mean(check, check["algorithm"], check["task"]) - theirs.mean
        if not _same(corrected, found):
            detail += f"; {corrected:.1f} with MBBL's own figure for {check['over']}"
    for table in ("main_table1", "appendix_full"):
        cells = [reference.paper_value(table, check["task"], check[role]) for role in ("algorithm", "over")]
        if cells[0] and cells[1] and not _same(cells[0].mean - cells[1].mean, found):
            detail += f"; {TABLE_TITLES[table]} gives {cells[0].mean - cells[1].mean:.1f}"
    if _same(found, check["states"]):
        # Right only because of a wrong cell is not right.
        return Result(PARTLY if "MBBL's own" in detail else HOLDS, detail)
    printed = reference.paper_cells()
    for task in dict.fromkeys(printed.loc[printed["table"] == check["table"], "task"]):
        if _same(_mean(check, check["algorithm"], task) - _mean(check, check["over"], task), check["states"]):
            detail += f"; {check['states']} is the difference on {task}"
    return Result(FAILS, detail)


def highest(check: Check) -> Result:
    """`algorithm` has the highest mean on each task, ties allowed."""
    rivals = [name for name in check.get("among", _rows(check["table"])) if name != check["algorithm"]]
    outcomes, details = [], []
    for task in check["tasks"]:
        mine = _mean(check, check["algorithm"], task)
        above = [
            f"{name} {_mean(check, name, task):.1f}" for name in rivals if _mean(check, name, task) > mine
        ]
        tied = [name for name in rivals if _mean(check, name, task) == mine]
        outcomes.append(not above)
        if above:
            details.append(f"{task}: {mine:.1f}, below {', '.join(above)}")
        elif tied:
            details.append(f"{task}: tied with {', '.join(tied)}")
    return _together(outcomes, "; ".join(details) or "true on every task")


def none_above(check: Check) -> Result:
    """No algorithm's mean exceeds the threshold on any of the tasks."""
    outcomes, details = [], []
    for task in check["tasks"]:
        means = {name: _mean(check, name, task) for name in check["algorithms"] if _has(check, name, task)}
        above = [f"{name} {mean:.1f}" for name, mean in means.items() if mean > check["threshold"]]
        outcomes.append(not above)
        details.append(f"{task}: {', '.join(above)} above {check['threshold']}" if above else f"{task}: true")
    return _together(outcomes, "; ".join(details))


def _has(check: Check, name: str, task: str) -> bool:
    return check["table"] != "mbbl" or reference.mbbl_value(task, name) is not None


def significant(check: Check) -> Result:
    """Above every one of `than` by Welch's two-sided test at 5 %, on every task."""
    outcomes, details = [], []
    for task in check["tasks"]:
        for name in check["than"]:
            mine, theirs = _cell(check["table"], task, check["algorithm"]), _cell(check["table"], task, name)
            p = welch(mine, theirs)
            outcomes.append(mine.mean > theirs.mean and p < 0.05)
            if not outcomes[-1]:
                against = f"{name} {theirs.mean:.1f} ± {theirs.std:.1f}"
                details.append(f"{task}: {mine.mean:.1f} ± {mine.std:.1f} against {against}, p = {p:.2f}")
    return _together(outcomes, "; ".join(details) or "true on every task")


def welch(mine: Published, theirs: Published) -> float:
    """The p-value for two printed cells of four seeds each; equal cells without spread give 1."""
    seeds = PUBLISHED_SEEDS
    errors = (mine.std**2 / seeds, theirs.std**2 / seeds)
    if sum(errors) == 0:
        return 1.0 if mine.mean == theirs.mean else 0.0
    t = (mine.mean - theirs.mean) / math.sqrt(sum(errors))
    return two_sided_p(t, welch_freedom(errors[0], seeds, errors[1], seeds))


def ordered(check: Check) -> Result:
    """The means rise along `algorithms`, on every task."""
    outcomes, details = [], []
    for task in check["tasks"]:
        means = [_mean(check, name, task) for name in check["algorithms"]]
        outcomes.append(bool(np.all(np.diff(means) > 0)))
        details.append(
            f"{task}: {', '.join(f'{mean:.1f}' for mean in means)}" + (" (true)" if outcomes[-1] else "")
        )
    names = ", ".join(name.removeprefix("SPEDE-") for name in check["algorithms"])
    return _together(outcomes, f"for {names}: " + "; ".join(details))


def mostly_above(check: Check) -> Result:
    """`algorithm` is above `than` on more tasks than it is below."""
    signs = [
        np.sign(_mean(check, check["algorithm"], task) - _mean(check, check["than"], task))
        for task in check["tasks"]
    ]
    above, tied, below = (sum(sign == s for sign in signs) for s in (1, 0, -1))
    return _together(
        [above > below], f"above on {above}, tied on {tied}, below on {below} of {len(signs)} tasks"
    )


CHECKS: dict[str, Callable[[Check], Result]] = {
    function.__name__: function
    for function in (value, difference, highest, none_above, significant, ordered, mostly_above)
}
