"""Fill the template with everything the other steps computed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup

from analysis import audit_page, hyperparameters, reliability, table_formats, tables, verdicts
from analysis.aggregate import Frames
from analysis.costs import cost_summary, minutes_matrix
from analysis.curves import ablated_setting, figure_labels
from analysis.files import read_csv, records
from analysis.report import svg
from analysis.report.data import chart_data, script_json
from analysis.study import METRIC_TITLES, METRICS, Study
from analysis.styles import BLUE, styles
from analysis.theory import page as theory_page
from analysis.verdict_figure import LOOKS, normalised

FOLDER = Path(__file__).parent
SYMBOLS = {"reproduced": "=", "better": "▲", "worse": "▼", "inconclusive": "?", "not run": "·"}


def read_reliability(study: Study) -> reliability.Reliability:
    folder = study.directory / "statistics"
    return reliability.Reliability(
        **{field.name: read_csv(folder / f"{field.name}.csv") for field in fields(reliability.Reliability)}
    )


def render(study: Study, frames: Frames, overall: reliability.Reliability, verdict_rows: pd.DataFrame) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    page = environment.get_template("page.html.j2")
    return page.render(
        study=study,
        style=Markup((FOLDER / "page.css").read_text(encoding="utf-8")),
        script=Markup((FOLDER / "page.js").read_text(encoding="utf-8")),
        data=script_json(chart_data(study, frames.curves, overall)),
        metrics=METRICS,
        metric_titles=METRIC_TITLES,
        summary=_summary(study, frames),
        tables=[(table, table_formats.html_fragment(table)) for table in tables.build_tables(study, frames)],
        hyperparameters=hyperparameters.html_fragment(hyperparameters.compare(study)),
        ablations=list(_ablations(study, frames)),
        overall=_overall(study, overall),
        verdicts=_verdicts(study, verdict_rows, verdicts.count_frame(study, frames.cells)),
        audit=audit_page.html_fragment(),
        theory=theory_page.sections(study.theory_directory) if study.theory_directory else [],
        costs={by: records(cost_summary(frames.costs, by)) for by in ("label", "task")},
        cost_matrix=_cost_matrix(frames.costs),
        titles={name: label.title for name, label in study.labels.items()},
        problems=records(frames.problems),
        missing=_missing(frames),
        provenance=frames.provenance,
        protocol=verdicts.protocol_differences(study),
    )


def _number(value: Any, digits: int = 1) -> str:
    return "–" if value is None or not np.isfinite(float(value)) else f"{float(value):,.{digits}f}"


def _summary(study: Study, frames: Frames) -> dict[str, Any]:
    finals = frames.finals[frames.finals["metric"] == study.metric]
    costs = frames.costs
    return {
        "asked": len(finals),
        "finished": int((finals["status"] == "ok").sum()),
        "agents": int(finals["label"].nunique()),
        "tasks": int(finals["task"].nunique()),
        "cpu_hours": float(costs["cpu_seconds"].sum() / 3600),
        "wall_hours": float(costs["wall_seconds"].sum() / 3600),
        "started": min((text for text in costs["started"] if text), default=""),
        "finished_at": max((text for text in costs["finished"] if text), default=""),
        "resumed": int((pd.to_numeric(costs["attempts"], errors="coerce") > 1).sum()),
    }


def _cost_matrix(costs: pd.DataFrame) -> dict[str, Any]:
    grid = minutes_matrix(costs)
    rows = [
        {"label": label, "values": list(values)}
        for label, values in zip(grid.index, grid.to_numpy(), strict=True)
    ]
    return {"tasks": list(grid.columns), "rows": rows}


def _missing(frames: Frames) -> list[dict[str, Any]]:
    """Cells with fewer results than asked for, with the reasons."""
    bad = frames.finals[frames.finals["status"] != "ok"]
    metrics: dict[tuple[str, str, str], list[str]] = {}
    for (label, task, metric), group in bad.groupby(["label", "task", "metric"], sort=False):
        reasons = group.groupby("status", sort=False)["seed"].apply(lambda seeds: ", ".join(map(str, seeds)))
        why = "; ".join(f"{status}: seed {seeds}" for status, seeds in reasons.items())
        metrics.setdefault((str(label), str(task), why), []).append(str(metric))
    return [
        {
            "label": label,
            "task": task,
            "why": why,
            "metric": "both" if len(names) == len(METRICS) else names[0],
        }
        for (label, task, why), names in metrics.items()
    ]


def _ablations(study: Study, frames: Frames) -> Any:
    """Figures that vary one number: the final return of every seed against it."""
    for spec in study.figures:
        labels = figure_labels(study, spec)
        setting = ablated_setting(study, labels)
        if setting is None or len(spec["tasks"]) != 1:
            continue
        task = str(spec["tasks"][0])
        rows = []
        for label in sorted(labels, key=lambda name: float(study.labels[name].config[setting])):
            cell = frames.cells[(frames.cells["label"] == label) & (frames.cells["task"] == task)]
            values = {str(row["metric"]): row for row in records(cell)}
            rows.append(
                {"value": study.labels[label].config[setting], "title": study.title(label), "cells": values}
            )
        intervals = [
            svg.Interval(
                f"{row['value']}", cell["mean"], cell["mean"] - cell["std"], cell["mean"] + cell["std"], BLUE
            )
            for row in rows
            if (cell := row["cells"].get(study.metric)) and np.isfinite(cell["std"])
        ]
        yield {
            "chart": svg.interval_chart(f"return ± std, by {setting}", intervals, 420) if intervals else "",
            "id": spec["id"],
            "caption": spec["caption"],
            "setting": setting,
            "task": study.paper_name(task),
            "rows": rows,
        }


def _overall(study: Study, overall: reliability.Reliability) -> dict[str, Any]:
    looks = styles(study)
    frame = overall.aggregates
    order = list(
        frame[frame["aggregate"] == "IQM"].sort_values("value", ascending=False, kind="stable")["label"]
    )
    charts = []
    for name in reliability.AGGREGATES if order else []:
        chosen = frame[frame["aggregate"] == name].set_index("label").loc[order]
        rows = [
            svg.Interval(
                study.title(row["label"]), row["value"], row["low"], row["high"], looks[row["label"]].colour
            )
            for row in records(chosen.reset_index())
        ]
        charts.append(
            svg.interval_chart(name + (" (lower is better)" if name == "Optimality gap" else ""), rows)
        )
    pairs = {(row["x"], row["y"]): row for row in records(overall.improvement)}
    return {
        "charts": charts,
        "order": order,
        "pairs": pairs,
        "level": reliability.LEVEL,
        "repetitions": reliability.REPETITIONS,
        "pair_repetitions": reliability.PAIR_REPETITIONS,
        "normalisation": records(overall.normalisation),
        "left_out": records(overall.left_out),
        "intervals": records(overall.intervals),
    }


def _verdicts(study: Study, rows: pd.DataFrame, counts: pd.DataFrame) -> dict[str, Any]:
    paper = rows[rows["source"] == "paper"]
    points = [
        svg.Point(
            row["theirs_score"],
            row["ours_score"],
            row["low_score"],
            row["high_score"],
            *LOOKS[row["verdict"]],
            f"{row['agent']} on {row['task']}: {row['verdict']}; ours {row['mean']:.1f} ± {row['std']:.1f}, "
            f"published {row['published_mean']:.1f} ± {row['published_std']:.1f}",
        )
        for row in records(normalised(paper))
    ]
    grid: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in records(paper):
        grid.setdefault(row["agent"], {}).setdefault(row["task"], []).append(row)
    return {
        "rows": records(rows),
        "counts": records(counts),
        "names": verdicts.VERDICTS,
        "symbols": SYMBOLS,
        "looks": LOOKS,
        "grid": grid,
        "tasks": list(dict.fromkeys(paper["task"])),
        "chart": svg.scatter_chart(
            "Ours against the paper's figures", points, "published (normalised)", "ours (normalised)"
        ),
        "gain": verdicts.GAIN_SHARE,
        "range": verdicts.RANGE_SHARE,
    }
