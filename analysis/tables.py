"""The paper's tables with our figures beside the paper's and MBBL's.

`python -m analysis.tables results/<study>` writes `tables/<id>.{md,tex,csv,html}` for each table of the
study and for the hyper-parameters. This module says what is in a table; `table_formats` how it looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from analysis import audit, reference
from analysis.aggregate import Frames, read_frames
from analysis.files import records, study_main, write_csv, write_text
from analysis.reference import Published
from analysis.study import METRIC_TITLES, METRICS, Study

DECIMALS = 1
KIND_TITLES = {
    "model-based": "Model-based RL",
    "model-free": "Model-free RL",
    "representation": "Representation",
    "reference": "Reference",
}
BOLD_RULE = (
    "Bold: the highest mean of ours in its group and column, and what ties with it at one decimal; "
    "only cells with all their seeds compete."
)


@dataclass(frozen=True)
class Ours:
    """Our figure for one metric: mean ± sample std over `n` of `asked` seeds."""

    mean: float
    std: float
    n: int
    asked: int
    steps: int

    @property
    def complete(self) -> bool:
        return 0 < self.n == self.asked


@dataclass(frozen=True)
class Cell:
    task: str
    ours: dict[str, Ours]  # by metric; empty when the study does not ask for the cell
    paper: Published | None
    mbbl: Published | None
    note: str = ""  # what is wrong with the paper's figure
    best: frozenset[str] = frozenset()  # metrics in which ours is bold


@dataclass(frozen=True)
class Row:
    label: str
    title: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Panel:
    tasks: tuple[str, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Table:
    id: str
    caption: str
    metric: str
    headings: dict[str, str]  # task → the paper's name of the column
    panels: tuple[Panel, ...]
    absent: tuple[str, ...] = ()  # what the paper's table has and the study has not
    footer: str = ""
    steps: int = 0
    rules: tuple[str, ...] = field(default=(BOLD_RULE,))

    def footnotes(self) -> dict[str, str]:
        """Mark (`a`, `b`, …) → note, in reading order; cells with the same note share a mark."""
        notes: dict[str, None] = {}
        for cell in self.cells():
            if cell.note:
                notes.setdefault(cell.note)
        return {_mark(index): note for index, note in enumerate(notes)}

    def cells(self) -> Iterable[Cell]:
        return (
            cell
            for panel in self.panels
            for group in panel.groups
            for row in group.rows
            for cell in row.cells
        )


def _mark(index: int) -> str:
    return chr(ord("a") + index) if index < 26 else f"a{index - 25}"


def build_table(study: Study, cells: pd.DataFrame, spec: dict[str, Any], footer: str = "") -> Table:
    """A table in the paper's layout, restricted to the tasks and labels that the study has."""
    groups = [
        (str(group.get("title") or ""), _entries(group["labels"], study)) for group in spec.get("groups", [])
    ]
    if spec.get("others"):
        groups = _with_others(study, spec, groups)
    groups = [(title, entries) for title, entries in groups if entries]
    ours = _ours_index(cells)
    panels = []
    for tasks in spec["panels"]:
        present = tuple(task for task in tasks if task in study.tasks)
        if present and groups:
            blocks = tuple(_group(spec, title, entries, present, ours) for title, entries in groups)
            panels.append(Panel(present, blocks))
    return Table(
        id=str(spec["id"]),
        caption=str(spec.get("caption") or ""),
        metric=study.metric,
        headings={task: study.paper_name(task) for panel in panels for task in panel.tasks},
        panels=tuple(panels),
        absent=_absent(study, spec),
        footer=footer,
        steps=study.steps,
    )


def _entries(labels: Iterable[Any], study: Study) -> list[tuple[str, str]]:
    """`"spede"` or `{"label": "spede", "title": "SPEDE-Linear"}` → (label, the row's name)."""
    entries = []
    for entry in labels:
        label = str(entry["label"] if isinstance(entry, dict) else entry)
        if label in study.labels:
            title = (
                str(entry["title"]) if isinstance(entry, dict) and entry.get("title") else study.title(label)
            )
            entries.append((label, title))
    return entries


def _with_others(
    study: Study, spec: dict[str, Any], groups: list[tuple[str, list[tuple[str, str]]]]
) -> list[tuple[str, list[tuple[str, str]]]]:
    """Labels that no group names join the group of their kind, in the order of the paper's table."""
    named = {label for _, entries in groups for label, _ in entries}
    shown = {task for panel in spec["panels"] for task in panel}
    planned = {run.label for run in study.runs if run.task in shown}
    extended = {title: list(entries) for title, entries in groups}
    cells = reference.paper_cells()
    order = list(dict.fromkeys(cells.loc[cells["table"] == spec.get("paper_table"), "algorithm"]))
    for label in study.plain_labels():
        if label in planned and label not in named:
            title = KIND_TITLES.get(study.labels[label].kind, "Others")
            extended.setdefault(title, []).append((label, study.title(label)))
            extended[title].sort(key=lambda entry: order.index(entry[1]) if entry[1] in order else len(order))
    return list(extended.items())


def _absent(study: Study, spec: dict[str, Any]) -> tuple[str, ...]:
    tasks = [task for panel in spec["panels"] for task in panel if task not in study.tasks]
    labels = []
    for group in spec.get("groups", []):
        for entry in group["labels"]:
            label = str(entry["label"] if isinstance(entry, dict) else entry)
            if label not in study.labels:
                labels.append(label)
    return tuple(dict.fromkeys([*tasks, *labels]))


def _ours_index(cells: pd.DataFrame) -> dict[tuple[str, str], dict[str, Ours]]:
    index: dict[tuple[str, str], dict[str, Ours]] = {}
    for row in records(cells):
        ours = Ours(
            float(row["mean"]), float(row["std"]), int(row["n"]), int(row["asked"]), int(row["steps"])
        )
        index.setdefault((str(row["label"]), str(row["task"])), {})[str(row["metric"])] = ours
    return index


def _group(
    spec: dict[str, Any],
    title: str,
    entries: list[tuple[str, str]],
    tasks: tuple[str, ...],
    ours: dict[tuple[str, str], dict[str, Ours]],
) -> Group:
    best = {(task, metric): _best(ours, entries, task, metric) for task in tasks for metric in METRICS}
    rows = []
    for label, name in entries:
        row = []
        for task in tasks:
            paper, note = paper_figure(str(spec.get("paper_table") or ""), task, name)
            row.append(
                Cell(
                    task=task,
                    ours=ours.get((label, task), {}),
                    paper=paper,
                    mbbl=reference.mbbl_value(task, reference.our_name("paper", "algorithm", name)),
                    note=note,
                    best=frozenset(metric for metric in METRICS if label in best[task, metric]),
                )
            )
        rows.append(Row(label, name, tuple(row)))
    return Group(title, tuple(rows))


def _best(
    ours: dict[tuple[str, str], dict[str, Ours]], entries: list[tuple[str, str]], task: str, metric: str
) -> set[str]:
    """Labels whose mean ties with the group's highest; one competitor alone is no contest."""
    means = {}
    for label, _ in entries:
        cell = ours.get((label, task), {}).get(metric)
        if cell is not None and cell.complete:
            means[label] = round(cell.mean, DECIMALS)
    if len(means) < 2:
        return set()
    return {label for label, mean in means.items() if mean == max(means.values())}


def paper_figure(table: str, task: str, name: str) -> tuple[Published | None, str]:
    """The paper's figure for a row of `table` and what is wrong with it.

    A figure that this table lacks is taken from another table of the paper, which the note then names.
    """
    value = reference.paper_value(table, task, name)
    if value is not None:
        return value, audit.footnotes().get((table, task, name), "")
    cells = reference.paper_cells()
    agent = reference.our_name("paper", "algorithm", name)
    elsewhere = cells[(cells["task"] == task) & (cells["agent"] == agent)]
    if elsewhere.empty:
        return None, ""
    row = elsewhere.iloc[0]
    value = Published(float(row["mean"]), float(row["std"]))
    own = audit.footnotes().get((row["table"], task, row["algorithm"]), "")
    source = f"from {audit.TABLE_TITLES[row['table']]} of the paper"
    return value, f"{source}; {own}" if own else source


def footer(study: Study, provenance: dict[str, Any]) -> str:
    """What every table must say about itself, on one line."""
    low = max(study.steps - study.window, 0)
    mujoco = ", ".join(provenance["versions"].get("mujoco", [])) or "unknown"
    commits = provenance["commits"]
    commit = ", ".join(commits[:3]) + (f" and {len(commits) - 3} more" if len(commits) > 3 else "")
    return (
        f"{study.steps:,} environment steps; {len(study.seeds)} seeds; mean ± sample std over seeds of the mean "
        f"return in the window ({low:,}, {study.steps:,}]; metric: {METRIC_TITLES[study.metric]}; "
        f"scale: {study.scale}; MuJoCo {mujoco}; commit {commit or 'unknown'}."
    )


def table_frame(table: Table) -> pd.DataFrame:
    """The table as tidy rows: one per cell and metric."""
    rows = []
    for number, panel in enumerate(table.panels, start=1):
        for group in panel.groups:
            for row in group.rows:
                rows += [
                    _cell_record(table, number, group, row, cell, metric)
                    for cell in row.cells
                    for metric in METRICS
                ]
    return pd.DataFrame(rows, columns=list(_RECORD))


_RECORD = (
    *(
        "table",
        "panel",
        "group",
        "label",
        "title",
        "task",
        "paper_task",
        "metric",
        "shown",
        "steps",
        "mean",
        "std",
    ),
    *("n", "asked", "best", "paper_mean", "paper_std", "mbbl_mean", "mbbl_std", "note"),
)


def _cell_record(
    table: Table, number: int, group: Group, row: Row, cell: Cell, metric: str
) -> dict[str, Any]:
    ours = cell.ours.get(metric)
    return {
        "table": table.id,
        "panel": number,
        "group": group.title,
        "label": row.label,
        "title": row.title,
        "task": cell.task,
        "paper_task": table.headings[cell.task],
        "metric": metric,
        "shown": metric == table.metric,
        "steps": ours.steps if ours else None,
        "mean": ours.mean if ours else None,
        "std": ours.std if ours else None,
        "n": ours.n if ours else 0,
        "asked": ours.asked if ours else 0,
        "best": metric in cell.best,
        "paper_mean": cell.paper.mean if cell.paper else None,
        "paper_std": cell.paper.std if cell.paper else None,
        "mbbl_mean": cell.mbbl.mean if cell.mbbl else None,
        "mbbl_std": cell.mbbl.std if cell.mbbl else None,
        "note": cell.note,
    }


def build_tables(study: Study, frames: Frames) -> list[Table]:
    line = footer(study, frames.provenance)
    return [build_table(study, frames.cells, spec, line) for spec in study.tables if spec.get("panels")]


def run_step(study: Study, frames: Frames | None = None) -> list[Table]:
    from analysis import hyperparameters, table_formats  # they render what is defined here

    frames = frames or read_frames(study)
    tables = build_tables(study, frames)
    folder = study.directory / "tables"
    for table in tables:
        write_text(folder / f"{table.id}.md", table_formats.markdown(table))
        write_text(folder / f"{table.id}.tex", table_formats.latex(table))
        write_text(folder / f"{table.id}.html", table_formats.html_document(table))
        write_csv(folder / f"{table.id}.csv", table_frame(table))
    hyperparameters.write(study)
    return tables


def main(arguments: list[str] | None = None) -> int:
    return study_main(run_step, __doc__, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
