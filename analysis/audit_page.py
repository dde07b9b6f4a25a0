"""The audit as Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import pandas as pd
from markupsafe import Markup

from analysis import audit, claims
from analysis.files import write_csv, write_text
from analysis.study import Study
from analysis.table_formats import md

TITLE = "Audit of the paper's tables and text"


def claim_frame() -> pd.DataFrame:
    rows = []
    for claim in claims.check_all():
        row = asdict(claim)
        row |= row.pop("result")
        rows.append(row)
    return pd.DataFrame(rows)


def summary() -> str:
    found = audit.finding_frame()["kind"].value_counts()
    outcomes = claim_frame()["outcome"].value_counts()
    return (
        f"{found.get('mbbl', 0)} of {len(audit.adopted_cells())} cells adopted from MBBL differ from MBBL's table. "
        f"Of {len(claim_frame())} checked claims of the text, {outcomes.get(claims.HOLDS, 0)} hold, "
        f"{outcomes.get(claims.PARTLY, 0)} hold in part and {outcomes.get(claims.FAILS, 0)} do not hold."
    )


def blocks() -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Heading, column names and rows of each table of the audit."""
    for kind, heading in audit.KIND_TITLES.items():
        rows = [
            [audit.TABLE_TITLES[f.table], f.task, f.algorithm, f.printed, f.elsewhere, f.note]
            for f in audit.findings()
            if f.kind == kind
        ]
        if rows:
            yield heading, ["table", "task", "agent", "printed", "against", "note"], rows
    rows = [[c.where, c.quote, c.part, c.result.outcome, c.result.detail] for c in claims.check_all()]
    yield "Claims of the text", ["where", "quote", "what is checked", "outcome", "the tables say"], rows


def markdown() -> str:
    lines = [f"# {TITLE}", "", summary(), ""]
    for heading, columns, rows in blocks():
        lines += [f"## {heading}", "", "| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
        lines += ["| " + " | ".join(md(cell) for cell in row) + " |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def html_fragment() -> Markup:
    parts = [Markup("<p>{}</p>").format(summary())]
    for heading, columns, rows in blocks():
        head = Markup("").join(Markup('<th scope="col">{}</th>').format(column) for column in columns)
        body = Markup("").join(
            Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row))
            for row in rows
        )
        parts.append(
            Markup(
                '<h3>{0}</h3><div class="scroll" tabindex="0" role="region" aria-label="{0}">'
                '<table class="text"><thead><tr>{1}</tr></thead><tbody>{2}</tbody></table></div>'
            ).format(heading, head, body)
        )
    return Markup("\n").join(parts)


_CSS = """
body{font:15px/1.4 system-ui,sans-serif;margin:1.5rem;color-scheme:light dark}
table{border-collapse:collapse}th,td{padding:.3rem .6rem;text-align:left;vertical-align:top;border-top:1px solid #8886}
"""


def html_document() -> str:
    head = Markup('<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{}</title>').format(
        TITLE
    )
    body = Markup("<style>{}</style></head><body><h1>{}</h1>{}</body></html>\n").format(
        Markup(_CSS), TITLE, html_fragment()
    )
    return str(head + body)


def write(study: Study) -> None:
    write_csv(study.directory / "statistics" / "audit.csv", audit.finding_frame())
    write_csv(study.directory / "statistics" / "claims.csv", claim_frame())
    write_text(study.directory / "tables" / "audit.md", markdown())
    write_text(study.directory / "tables" / "audit.html", html_document())
