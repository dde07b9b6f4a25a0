"""Where the paper disagrees with MBBL, with itself and with its own text: found by computation.

`python -m analysis.audit results/<study>` writes `statistics/audit.csv` and `statistics/claims.csv` and
`tables/audit.{md,html}`. Nothing here depends on the study's runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations, permutations

import pandas as pd

from analysis.files import records, study_main
from analysis.reference import NOT_LEARNED, mbbl_cells, mbbl_value, paper_cells
from analysis.study import Study

TABLE_TITLES = {
    "main_table1": "Table 1",
    "appendix_full": "the full appendix table",
    "appendix_momentum": "the momentum table",
    "appendix_mlp": "the MLP table",
    "appendix_lc3": "the LC3 table",
}
KIND_TITLES = {
    "mbbl": "Adopted from MBBL, but different there",
    "self": "Two tables of the paper disagree",
    "repeat": "A cell repeats another task's cell",
    "name": "A column holds another task's figures",
    "bold": "Bold against the table's own rule",
    "omitted": "MBBL methods that are left out and score higher than SPEDE",
}


@dataclass(frozen=True)
class Finding:
    """One disagreement. `table`, `task`, `algorithm` say which printed cell carries the footnote."""

    kind: str
    table: str
    task: str
    algorithm: str
    printed: str
    elsewhere: str
    note: str


@cache
def findings() -> tuple[Finding, ...]:
    return (
        *against_mbbl(),
        *against_itself(),
        *repeated_cells(),
        *misnamed_cells(),
        *bold_mismatches(),
        *omitted(),
    )


def adopted_cells() -> pd.DataFrame:
    """Cells whose source is MBBL: the starred ones, and the SAC rows that lack their star."""
    cells = paper_cells()
    return cells[cells["starred"] | (cells["algorithm"] == "SAC")]


def against_mbbl() -> Iterator[Finding]:
    for row in records(adopted_cells()):
        theirs = mbbl_value(row["task"], row["algorithm"])
        if theirs is not None and (row["mean"], row["std"]) != (theirs.mean, theirs.std):
            printed, elsewhere = (row["mean"], row["std"]), (theirs.mean, theirs.std)
            note = explain(row["task"], row["algorithm"], printed, elsewhere)
            yield Finding(
                "mbbl",
                row["table"],
                row["task"],
                row["algorithm"],
                text(*printed),
                f"MBBL {text(*elsewhere)}",
                note,
            )


def explain(task: str, algorithm: str, printed: tuple[float, float], source: tuple[float, float]) -> str:
    """The likeliest slip of the pen, when one fits."""
    others = mbbl_cells()
    same = others[(others["task"] == task) & (others["mean"] == printed[0]) & (others["std"] == printed[1])]
    same = same[same["algorithm"] != algorithm]
    if len(same):
        return f"the printed figure is {same.iloc[0]['algorithm']}'s"
    if printed[0] == -source[0] and printed[1] == source[1]:
        return "the sign is lost"
    if printed[0] == printed[1]:
        return "the std repeats the mean"
    for which, mine, theirs in zip(("mean", "std"), printed, source, strict=True):
        if mine != theirs and sorted(f"{mine:.1f}") == sorted(f"{theirs:.1f}"):
            return f"digits of the {which} are swapped"
    differing = "mean" if printed[0] != source[0] else "std"
    return f"one digit of the {differing} differs" if _one_digit(printed, source) else f"another {differing}"


def _one_digit(printed: tuple[float, float], source: tuple[float, float]) -> bool:
    left, right = text(*printed), text(*source)
    return len(left) == len(right) and sum(a != b for a, b in zip(left, right, strict=True)) == 1


def against_itself() -> Iterator[Finding]:
    """The same agent on the same task with different figures in different tables."""
    for (task, agent), group in paper_cells().groupby(["task", "agent"], sort=False):
        for (_, first), (_, second) in combinations(group.iterrows(), 2):
            mine, theirs = (first["mean"], first["std"]), (second["mean"], second["std"])
            if mine == theirs:
                continue
            rounding = round(mine[0], 1) == round(theirs[0], 1) and mine[1] == theirs[1]
            yield Finding(
                "self",
                str(first["table"]),
                str(task),
                str(agent),
                text(*mine),
                f"{text(*theirs)} in {TABLE_TITLES[second['table']]}",
                "rounding only" if rounding else "",
            )


def repeated_cells() -> Iterator[Finding]:
    """An agent with the very same mean and std on two tasks of one table: most likely a copy."""
    cells = paper_cells()
    for (table, algorithm), group in cells.groupby(["table", "algorithm"], sort=False):
        for (_, first), (_, second) in combinations(group.iterrows(), 2):
            if (first["mean"], first["std"]) == (second["mean"], second["std"]):
                # Which of the two is the copy? One that disagrees with another table is.
                copy, origin = (first, second) if _disputed(first) else (second, first)
                yield Finding(
                    "repeat",
                    str(table),
                    str(copy["task"]),
                    str(algorithm),
                    text(copy["mean"], copy["std"]),
                    f"the same as its {origin['task']}",
                    "likely a copy; the true value is unknown"
                    if not _disputed(copy)
                    else "likely a copy: another table has another value",
                )


def _disputed(cell: pd.Series) -> bool:
    cells = paper_cells()
    same = cells[(cells["task"] == cell["task"]) & (cells["agent"] == cell["agent"])]
    return bool(same[["mean", "std"]].drop_duplicates().shape[0] > 1)


def misnamed_cells() -> Iterator[Finding]:
    """A cell equal to the same agent's cell on a task of another name (`Hopper` for `Hopper-ET`)."""
    cells = paper_cells()
    for row in records(cells):
        if row["task"].endswith("-ET"):
            continue
        twin = cells[
            (cells["agent"] == row["agent"])
            & (cells["task"] == f"{row['task']}-ET")
            & (cells["mean"] == row["mean"])
            & (cells["std"] == row["std"])
        ]
        if len(twin):
            rivals = cells[(cells["table"] == row["table"]) & (cells["task"] == row["task"])]
            rival = ", ".join(sorted(set(rivals["algorithm"]) - {row["algorithm"]}))
            yield Finding(
                "name",
                row["table"],
                row["task"],
                row["algorithm"],
                text(row["mean"], row["std"]),
                f"its {row['task']}-ET cell in {TABLE_TITLES[twin.iloc[0]['table']]}",
                f"{rival} in the same column may be on another task (without early termination)",
            )


BOLD_GROUPS = {
    "main_table1": [
        ["ME-TRPO", "PETS-RS", "PETS-CEM", "DeepSF", "SPEDE"],
        ["PPO", "TRPO", "TD3", "SAC", "SPEDE-REG"],
    ],
    "appendix_momentum": [["SPEDE-0.9", "SPEDE-0.99", "SPEDE-0.999"]],
    "appendix_mlp": [["SPEDE-Linear", "SPEDE-MLP", "SAC"]],
    "appendix_lc3": [["SPEDE", "LC3"]],
}


def bold_mismatches() -> Iterator[Finding]:
    """Bold cells that are not their group's highest mean, and highest means that are not bold."""
    cells = paper_cells()
    for table, groups in BOLD_GROUPS.items():
        for names in groups:
            block = cells[(cells["table"] == table) & cells["algorithm"].isin(names)]
            for task, column in block.groupby("task", sort=False):
                best = column["mean"].max()
                for row in records(column):
                    if row["bold"] != (row["mean"] == best):
                        how = "bold, but not the highest" if row["bold"] else "the highest, but not bold"
                        highest = ", ".join(column.loc[column["mean"] == best, "algorithm"])
                        yield Finding(
                            "bold",
                            table,
                            str(task),
                            row["algorithm"],
                            text(row["mean"], row["std"]),
                            f"{highest} {best:.1f}",
                            how,
                        )


def omitted() -> Iterator[Finding]:
    """Learning methods of MBBL that the paper leaves out and whose mean is above SPEDE's."""
    cells = paper_cells()
    shown = set(cells["algorithm"])
    spede = cells[(cells["agent"] == "SPEDE") & cells["table"].isin(["main_table1", "appendix_full"])]
    for row in records(spede.drop_duplicates("task")):
        theirs = mbbl_cells()
        rivals = theirs[
            (theirs["task"] == row["task"])
            & (theirs["mean"] > row["mean"])
            & ~theirs["algorithm"].isin([*shown, *NOT_LEARNED])
        ]
        if len(rivals):
            ranked = rivals.sort_values("mean", ascending=False)
            listed = ", ".join(f"{r.algorithm} {r.mean:.1f}" for r in ranked.itertuples())
            printed = text(row["mean"], row["std"])
            yield Finding("omitted", row["table"], row["task"], "SPEDE", printed, listed, "")


def text(mean: float, std: float) -> str:
    def number(value: float) -> str:
        return f"{value:.1f}" if round(value, 1) == value else f"{value:g}"

    return f"{number(mean)} ± {number(std)}"


@cache
def footnotes() -> dict[tuple[str, str, str], str]:
    """What a table that quotes the paper must say under it: (table, task, row as printed) → note."""
    notes: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings():
        words = {
            "mbbl": f"{finding.elsewhere}: {finding.note}",
            "repeat": f"{finding.elsewhere} ({finding.note})",
            "name": f"{finding.elsewhere}; {finding.note}",
        }.get(finding.kind)
        if words:
            notes.setdefault((finding.table, finding.task, finding.algorithm), []).append(words)
    for key, words in _self_notes():
        notes.setdefault(key, []).append(words)
    return {key: "; ".join(dict.fromkeys(words)) for key, words in notes.items()}


def _self_notes() -> Iterator[tuple[tuple[str, str, str], str]]:
    """Both sides of a disagreement between two tables get a note."""
    for _, group in paper_cells().groupby(["task", "agent"], sort=False):
        for mine, theirs in permutations(records(group), 2):
            if abs(mine["mean"] - theirs["mean"]) > 0.05 or mine["std"] != theirs["std"]:
                key = (mine["table"], mine["task"], mine["algorithm"])
                yield key, f"{text(theirs['mean'], theirs['std'])} in {TABLE_TITLES[theirs['table']]}"


def finding_frame() -> pd.DataFrame:
    return pd.DataFrame([asdict(finding) for finding in findings()])


def run_step(study: Study) -> None:
    from analysis import audit_page  # it renders what is found here

    audit_page.write(study)


def main(arguments: list[str] | None = None) -> int:
    return study_main(run_step, __doc__, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
