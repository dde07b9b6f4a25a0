"""What the workflow must know about the analysis: its sources and its files. Light to import."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

TABLE_KINDS = ("md", "tex", "csv", "html")
FIGURE_KINDS = ("pdf", "svg", "png")
FRAMES = ("finals.csv", "cells.csv", "curves.csv", "costs.csv", "problems.csv", "provenance.json")
OVERALL_FIGURES = ("aggregates", "profiles", "improvement")
OVERALL_STATISTICS = ("aggregates", "profiles", "improvement", "intervals", "normalisation", "left_out")
SOURCE_KINDS = (".py", ".csv", ".json", ".j2", ".css", ".js")


def source_files(root: Path) -> list[str]:
    """All files of the package but the theory, which stands alone, and the made-up study."""
    found = sorted(path for path in (root / "analysis").rglob("*") if path.suffix in SOURCE_KINDS)
    relative = [path.relative_to(root) for path in found]
    return [path.as_posix() for path in relative if path.parts[1] not in ("theory", "synthetic.py")]


def table_files(study: str, ids: Iterable[str], kinds: Iterable[str] = TABLE_KINDS) -> list[str]:
    return [f"{study}/tables/{name}.{kind}" for name in ids for kind in kinds]


def figure_files(study: str, ids: Iterable[str], kinds: Iterable[str] = FIGURE_KINDS) -> list[str]:
    return [f"{study}/figures/{name}.{kind}" for name in ids for kind in kinds]


def statistics_files(study: str, names: Iterable[str]) -> list[str]:
    return [f"{study}/statistics/{name}" for name in names]


def target_files(study: str, tables: Iterable[str], figures: Iterable[str]) -> list[str]:
    """What `rule all` asks of the analysis."""
    return [
        f"{study}/report/index.html",
        *table_files(study, tables),
        *figure_files(study, [*figures, *OVERALL_FIGURES, "verdicts"]),
        f"{study}/tables/audit.md",
    ]
