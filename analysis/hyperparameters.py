"""The paper's hyper-parameters beside the resolved config of our labels."""

from __future__ import annotations

from typing import Any

import pandas as pd
from markupsafe import Markup

from analysis.files import records, write_csv, write_text
from analysis.reference import FOLDER
from analysis.study import Study
from analysis.table_formats import md, tex

TITLE = "Hyper-parameters: the paper's table against the resolved config of this study"
UNSAID, NONE = "not stated", "–"
NOTE = "A value that differs from the paper's is marked ≠; – the agent has no such setting."


COMPLEMENTS = {"momentum"}  # a momentum of 0.999 and the paper's tau of 0.001 say the same


def published() -> pd.DataFrame:
    """The paper's table; `key` is our name of the setting."""
    return pd.read_csv(FOLDER / "paper_hyperparameters.csv", dtype=str)


def compare(study: Study) -> pd.DataFrame:
    """Rows: the paper's settings, then those it leaves unsaid. Columns: `name`, `paper`, our agents.

    The paper publishes settings for SPEDE only, so the agents are those of its kind.
    """
    table = records(published())
    labels = [study.labels[name] for name in study.plain_labels()]
    labels = [label for label in labels if label.kind == "representation"]
    stated = [row["key"] for row in table]
    unsaid = list(dict.fromkeys(key for label in labels for key in label.config if key not in stated))
    columns: dict[str, list[str]] = {
        "name": [row["name"] for row in table] + unsaid,
        "paper": [row["value"] for row in table] + [UNSAID] * len(unsaid),
    }
    for label in labels:
        told = [_beside_paper(label.config, row["key"], row["value"]) for row in table]
        title = label.title if label.title not in columns else f"{label.title} ({label.label})"
        columns[title] = told + [_text(label.config[key]) if key in label.config else NONE for key in unsaid]
    return pd.DataFrame(columns)


def _beside_paper(config: dict[str, Any], key: str, value: str) -> str:
    if key not in config:
        return NONE
    ours = 1 - config[key] if key in COMPLEMENTS else config[key]
    return _text(ours) if _text(ours) == _text(_parse(value)) else f"{_text(ours)} ≠"


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "(" + ", ".join(_text(item) for item in value) + ")"
    return f"{value:.6g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _parse(value: str) -> Any:
    if value.startswith("("):
        return [float(item) for item in value.strip("()").split(",") if item.strip()]
    return float(value)


def write(study: Study) -> None:
    frame = compare(study)
    folder = study.directory / "tables"
    write_csv(folder / "hyperparameters.csv", frame)
    write_text(folder / "hyperparameters.md", markdown(frame))
    write_text(folder / "hyperparameters.tex", latex(frame))
    write_text(folder / "hyperparameters.html", str(html_document(frame)))


def _heads(frame: pd.DataFrame) -> list[str]:
    return ["", "paper", *(str(name) for name in frame.columns[2:])]


def markdown(frame: pd.DataFrame) -> str:
    lines = [
        f"**{TITLE}**",
        "",
        "| " + " | ".join(map(md, _heads(frame))) + " |",
        "|---" * len(frame.columns) + "|",
    ]
    lines += ["| " + " | ".join(md(str(cell)) for cell in row) + " |" for row in frame.to_numpy()]
    return "\n".join([*lines, "", NOTE]) + "\n"


def latex(frame: pd.DataFrame) -> str:
    def cell(value: object) -> str:
        return tex(str(value).replace("≠", "")) + (r"$\neq$" if "≠" in str(value) else "")

    lines = [
        r"\begin{table*}[t]",
        rf"\caption{{{tex(TITLE)}}}",
        r"\label{tab:hyperparameters}",
        r"\scriptsize\centering",
        rf"\begin{{tabular}}{{l{'r' * (len(frame.columns) - 1)}}}",
        r"\toprule",
        " & ".join(map(tex, _heads(frame))) + r" \\",
        r"\midrule",
        *(" & ".join(map(cell, row)) + r" \\" for row in frame.to_numpy()),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\par {cell(NOTE)}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def html_fragment(frame: pd.DataFrame) -> Markup:
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in _heads(frame))
    body = Markup("")
    for name, *cells in frame.to_numpy():
        line = Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells)
        body += Markup('<tr><th scope="row">{}</th>{}</tr>').format(name, line)
    return Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}"><table><thead><tr>{}</tr></thead>'
        '<tbody>{}</tbody></table></div><p class="notes">{}</p>'
    ).format(TITLE, head, body, NOTE)


def html_document(frame: pd.DataFrame) -> Markup:
    head = Markup(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{0}</title></head>'
    ).format(TITLE)
    return head + Markup("<body><h1>{}</h1>{}</body></html>\n").format(TITLE, html_fragment(frame))
