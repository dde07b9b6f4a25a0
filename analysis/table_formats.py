"""A `Table` as Markdown, LaTeX and HTML. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Iterator

from markupsafe import Markup, escape

from analysis.reference import Published
from analysis.study import METRIC_TITLES, METRICS
from analysis.tables import DECIMALS, Cell, Ours, Row, Table

NOT_ASKED = "·"
LEGEND = (
    "Each cell: ours; below it the paper's figure and MBBL's where there is one. "
    f"{NOT_ASKED} the study does not ask for this cell; †k/n only k of the n seeds have a result; "
    "‡ another number of steps, with the window at its end."
)


def number(value: float) -> str:
    """One decimal, and no negative zero."""
    text = f"{value:.{DECIMALS}f}"
    return text.lstrip("-") if float(text) == 0 else text


def spread(mean: float, std: float, join: str = " ± ") -> str:
    return f"{number(mean)}{join}{number(std)}" if math.isfinite(std) else number(mean)


def ours_text(ours: Ours | None, join: str = " ± ") -> str:
    if ours is None:
        return NOT_ASKED
    if ours.n == 0:
        return "missing"
    return spread(ours.mean, ours.std, join)


def marks_of(ours: Ours | None, table: Table) -> str:
    """`†3/4` for missing seeds, `‡50K` for another budget than the table's."""
    if ours is None:
        return ""
    seeds = "" if ours.complete else f"†{ours.n}/{ours.asked}"
    return seeds + ("" if ours.steps == table.steps else f"‡{ours.steps / 1000:g}K")


def _published(value: Published, join: str = " ± ") -> str:
    return f"{number(value.mean)}{join}{number(value.std)}"


def published(cell: Cell) -> Iterator[tuple[str, Published, str]]:
    """The lines below ours: (source, figure, note). One line when the paper and MBBL print the same."""
    if cell.paper is not None:
        yield "paper = MBBL" if cell.paper == cell.mbbl else "paper", cell.paper, cell.note
    if cell.mbbl is not None and cell.mbbl != cell.paper:
        yield "MBBL", cell.mbbl, ""


def _marks(table: Table) -> dict[str, str]:
    return {note: mark for mark, note in table.footnotes().items()}


def notes_below(table: Table) -> Iterator[str]:
    """The lines under a table, in plain text."""
    yield table.footer
    yield LEGEND
    yield from table.rules
    if table.absent:
        yield f"Not part of this study: {', '.join(table.absent)}."
    for mark, note in table.footnotes().items():
        yield f"({mark}) The paper's figure: {note}."


# Markdown ---------------------------------------------------------------------------------------------


def markdown(table: Table) -> str:
    marks = _marks(table)
    lines = [f"**{md(table.caption)}**", ""]
    if not table.panels:
        lines += ["No task or agent of this table is part of the study.", ""]
    for panel in table.panels:
        lines.append("| | " + " | ".join(md(table.headings[task]) for task in panel.tasks) + " |")
        lines.append("|---" * (len(panel.tasks) + 1) + "|")
        for group in panel.groups:
            if group.title:
                lines.append(f"| *{md(group.title)}* |" + " |" * len(panel.tasks))
            for row in group.rows:
                cells = " | ".join(_md_cell(table, cell, marks) for cell in row.cells)
                lines.append(f"| {md(row.title)} | {cells} |")
        lines.append("")
    lines += [f"{md(note)}<br>" for note in notes_below(table)]
    return "\n".join(lines) + "\n"


def _md_cell(table: Table, cell: Cell, marks: dict[str, str]) -> str:
    ours = cell.ours.get(table.metric)
    text = ours_text(ours)
    if table.metric in cell.best:
        text = f"**{text}**"
    parts = [f"{text} {marks_of(ours, table)}".rstrip()]
    for source, value, note in published(cell):
        parts.append(f"{source} {_published(value)}" + (f" ({marks[note]})" if note else ""))
    return "<br>".join(parts)


def md(text: str) -> str:
    """Names come from folders and configs: no markup of theirs may survive."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character in "\\|*_`[]":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


# LaTeX ------------------------------------------------------------------------------------------------

_TEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "→": r"$\to$",
    "−": r"$-$",
    "×": r"$\times$",
    "…": r"\dots{}",
    "—": "---",
    "–": "--",
}


def tex(text: str) -> str:
    """Text for pdfLaTeX: specials escaped, and what its default fonts lack is spelled as `?`."""
    return "".join(_TEX.get(character) or (character if character.isascii() else "?") for character in text)


def latex(table: Table) -> str:
    r"""A `table*` that needs only `\usepackage{booktabs}`."""
    marks = _marks(table)
    lines = [
        r"\begin{table*}[t]",
        rf"\caption{{{tex(table.caption)}}}",
        rf"\label{{tab:{table.id}}}",
        r"\scriptsize",
        r"\setlength\tabcolsep{3.5pt}",
        r"\centering",
    ]
    if not table.panels:
        lines.append("No task or agent of this table is part of the study.")
    for panel in table.panels:
        lines += [rf"\begin{{tabular}}{{l{'r' * len(panel.tasks)}}}", r"\toprule"]
        lines.append(" & ".join(["", *(tex(table.headings[task]) for task in panel.tasks)]) + r" \\")
        for group in panel.groups:
            lines.append(r"\midrule")
            if group.title:
                lines.append(
                    rf"\multicolumn{{{len(panel.tasks) + 1}}}{{l}}{{\emph{{{tex(group.title)}}}}} \\"
                )
            lines += [_tex_row(table, row, marks) for row in group.rows]
        lines += [r"\bottomrule", r"\end{tabular}", r"\par\smallskip"]
    notes = r"\\ ".join(tex(note) for note in notes_below(table))
    lines += [rf"\parbox{{\linewidth}}{{\raggedright {notes}}}", r"\end{table*}"]
    return "\n".join(lines) + "\n"


def _tex_row(table: Table, row: Row, marks: dict[str, str]) -> str:
    return " & ".join([tex(row.title), *(_tex_cell(table, cell, marks) for cell in row.cells)]) + r" \\"


def _tex_cell(table: Table, cell: Cell, marks: dict[str, str]) -> str:
    ours = cell.ours.get(table.metric)
    first = tex(ours_text(ours, "±"))
    if table.metric in cell.best:
        first = rf"\textbf{{{first}}}"
    first += tex(marks_of(ours, table))
    lines = [first]
    for source, value, note in published(cell):
        mark = rf"$^{{\mathrm{{{marks[note]}}}}}$" if note else ""
        lines.append(rf"\tiny {source} {tex(_published(value, '±'))}{mark}")
    if len(lines) == 1:
        return first
    return r"\begin{tabular}[t]{@{}r@{}}" + r" \\ ".join(lines) + r"\end{tabular}"


# HTML -------------------------------------------------------------------------------------------------


def html_fragment(table: Table) -> Markup:
    """Both metrics, the one not shown hidden by CSS; the page's script sorts and switches."""
    marks = _marks(table)
    parts = [Markup('<div class="result-table" id="table-{}">').format(table.id)]
    if not table.panels:
        parts.append(Markup("<p>No task or agent of this table is part of the study.</p>"))
    for panel in table.panels:
        parts.append(
            Markup(
                '<div class="scroll" tabindex="0" role="region" aria-label="{}"><table class="sortable"><thead><tr>'
            ).format(table.caption)
        )
        parts.append(Markup('<th scope="col">agent</th>'))
        parts += [Markup('<th scope="col">{}</th>').format(table.headings[task]) for task in panel.tasks]
        parts.append(Markup("</tr></thead>"))
        for group in panel.groups:
            parts.append(Markup("<tbody>"))
            if group.title:
                span = len(panel.tasks) + 1
                parts.append(
                    Markup('<tr class="group"><th colspan="{}" scope="colgroup">{}</th></tr>').format(
                        span, group.title
                    )
                )
            for row in group.rows:
                parts.append(Markup('<tr><th scope="row">{}</th>').format(row.title))
                parts += [_html_cell(table, cell, marks) for cell in row.cells]
                parts.append(Markup("</tr>"))
            parts.append(Markup("</tbody>"))
        parts.append(Markup("</table></div>"))
    parts.append(Markup('<div class="notes">'))
    parts += [Markup("<p>{}</p>").format(note) for note in notes_below(table)]
    parts.append(Markup("</div></div>"))
    return Markup("\n").join(parts)


def _html_cell(table: Table, cell: Cell, marks: dict[str, str]) -> Markup:
    spans, values = [], []
    for metric in METRICS:
        ours = cell.ours.get(metric)
        body = escape(ours_text(ours))
        body = Markup("<strong>{}</strong>").format(body) if metric in cell.best else body
        shown = marks_of(ours, table)
        mark = Markup(' <span class="mark">{}</span>').format(shown) if shown else Markup("")
        spans.append(Markup('<span class="ours m-{}">{}{}</span>').format(metric, body, mark))
        value = f"{ours.mean!r}" if ours is not None and ours.n else ""
        values.append(Markup(' data-{}="{}"').format(metric, value))
    for source, figure, note in published(cell):
        mark = Markup(' <abbr title="{}">({})</abbr>').format(note, marks[note]) if note else Markup("")
        style = {"paper": "paper", "MBBL": "mbbl"}.get(source, "paper both")
        spans.append(
            Markup('<span class="{}"><i>{}</i> {}{}</span>').format(style, source, _published(figure), mark)
        )
    for name, printed in (("paper", cell.paper), ("mbbl", cell.mbbl)):
        if printed is not None:
            values.append(Markup(' data-{}="{}"').format(name, repr(printed.mean)))
    return Markup("<td{}>{}</td>").format(Markup("").join(values), Markup("").join(spans))


_STANDALONE_CSS = """
body{font:15px/1.4 system-ui,sans-serif;margin:1.5rem;color-scheme:light dark}
table{border-collapse:collapse;margin:0 0 1rem}
th,td{padding:.3rem .6rem;text-align:right;vertical-align:top;font-variant-numeric:tabular-nums}
th:first-child{text-align:left}
thead th{border-top:2px solid;border-bottom:1px solid}
tbody tr:first-child>*{border-top:1px solid #8888}
.group th{font-style:italic;font-weight:400}
td span{display:block;white-space:nowrap}
.paper,.mbbl{font-size:.8em;opacity:.75}
.notes{font-size:.85em;max-width:75ch}
.mark{display:inline!important;font-size:.8em}
"""


def html_document(table: Table) -> str:
    """The table alone, as a whole page; it shows the study's metric."""
    hidden = "".join(f".m-{metric}{{display:none}}" for metric in METRICS if metric != table.metric)
    head = Markup('<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{}</title>').format(
        table.caption
    )
    style = Markup("<style>{}</style></head><body><h1>{}</h1><p>Metric: {}.</p>").format(
        Markup(_STANDALONE_CSS + hidden), table.caption, METRIC_TITLES[table.metric]
    )
    return str(head + style + html_fragment(table) + Markup("</body></html>\n"))
