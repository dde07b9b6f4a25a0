"""Tables: what is in them, and that each format shows it faithfully."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis import hyperparameters, table_formats, tables
from analysis.aggregate import aggregate
from analysis.load import load_runs
from analysis.study import Study, load_study
from tests.analysis.studies import label, planned, study_json, write_study


def build(directory: Path) -> tuple[Study, tables.Table]:
    study = load_study(directory)
    frames = aggregate(study, load_runs(study))
    return study, tables.build_tables(study, frames)[0]


@pytest.fixture
def table(tmp_path: Path) -> tables.Table:
    return build(write_study(tmp_path / "tiny", study_json()))[1]


def test_ours_the_papers_and_mbbls_figures(table: tables.Table) -> None:
    spede, sac = table.panels[0].groups[0].rows
    pendulum = spede.cells[0]
    assert pendulum.ours["evaluation"] == tables.Ours(100.5, pytest.approx(0.5**0.5), 2, 2, 100)
    assert pendulum.ours["training"].mean == 90.5
    assert pendulum.paper is not None
    assert (pendulum.paper.mean, pendulum.paper.std) == (169.5, 0.6)
    assert pendulum.mbbl is None
    assert sac.cells[1].mbbl == sac.cells[1].paper  # 1815.5 ± 655.1 in both


def test_bold_is_the_highest_complete_mean_and_its_ties(tmp_path: Path) -> None:
    study = study_json()
    directory = write_study(tmp_path / "tiny", study)
    _, complete = build(directory)
    assert [row.cells[0].best for row in complete.panels[0].groups[0].rows] == [
        frozenset(),
        frozenset({"evaluation", "training"}),
    ]
    (directory / "runs/sac/Pendulum/seed-0/manifest.json").unlink()
    _, incomplete = build(directory)
    # SAC is higher but lacks a seed, and SPEDE alone is no contest.
    assert [row.cells[0].best for row in incomplete.panels[0].groups[0].rows] == [frozenset(), frozenset()]


def test_ties_at_the_printed_precision_are_all_bold() -> None:
    ours = {("a", "t"): 1.04, ("b", "t"): 1.01, ("c", "t"): 0.9}
    index = {key: {"evaluation": tables.Ours(mean, 0.1, 4, 4, 100)} for key, mean in ours.items()}
    assert tables._best(index, [("a", ""), ("b", ""), ("c", "")], "t", "evaluation") == {"a", "b"}


def test_rows_may_have_the_papers_name_for_that_table() -> None:
    paper, note = tables.paper_figure("appendix_mlp", "Pendulum", "SPEDE-Linear")
    assert paper is not None
    assert paper.mean == 169.5
    assert note == ""


def test_a_figure_from_another_table_says_so() -> None:
    paper, note = tables.paper_figure("appendix_lc3", "Hopper-ET", "SPEDE")
    assert paper is not None
    assert paper.mean == 732.2
    assert note == "from Table 1 of the paper"


def test_quoted_cells_carry_the_audits_footnotes() -> None:
    _, wrong_sign = tables.paper_figure("appendix_full", "Acrobot", "ME-TRPO")
    assert "MBBL -68.1 ± 6.7: the sign is lost" in wrong_sign
    _, hopper = tables.paper_figure("appendix_lc3", "Hopper", "SPEDE")
    assert "Hopper-ET cell" in hopper
    _, both = tables.paper_figure("appendix_full", "Humanoid-ET", "DeepSF")
    assert "168.6 ± 5.1 in Table 1" in both


def test_others_join_the_group_of_their_kind_in_the_papers_order(tmp_path: Path) -> None:
    study = study_json()
    study["labels"] |= {
        "trpo": label("trpo", "TRPO", "model-free"),
        "ppo": label("ppo", "PPO", "model-free"),
        "novel": label("novel", "Novel", ""),
        "spede@x": label("spede", "SPEDE-x", "representation", variant="x"),
    }
    study["runs"] = planned(study)
    study["tables"][0] |= {"others": True, "groups": [{"title": "Model-free RL", "labels": ["sac"]}]}
    _, table = build(write_study(tmp_path / "tiny", study))
    shown = {group.title: [row.title for row in group.rows] for group in table.panels[0].groups}
    assert shown == {
        "Model-free RL": ["PPO", "TRPO", "SAC"],
        "Representation": ["SPEDE"],
        "Others": ["Novel"],
    }


def test_what_the_study_lacks_is_said(tmp_path: Path) -> None:
    study = study_json()
    study["tables"][0]["panels"] = [["Pendulum", "Ant-ET"]]
    study["tables"][0]["groups"][0]["labels"] = ["spede", "td3"]
    _, table = build(write_study(tmp_path / "tiny", study))
    assert table.absent == ("Ant-ET", "td3")
    assert "Not part of this study: Ant-ET, td3." in table_formats.markdown(table)


def test_a_table_of_which_nothing_is_in_the_study(tmp_path: Path) -> None:
    study = study_json()
    study["tables"][0]["panels"] = [["Ant-ET"]]
    _, table = build(write_study(tmp_path / "tiny", study))
    for text in (
        table_formats.markdown(table),
        table_formats.latex(table),
        table_formats.html_document(table),
    ):
        assert "No task or agent of this table is part of the study." in text


def test_the_footer_says_what_the_numbers_are(tmp_path: Path) -> None:
    _, table = build(write_study(tmp_path / "tiny", study_json()))
    for part in (
        "100 environment steps",
        "2 seeds",
        "(60, 100]",
        "deterministic evaluation",
        "MuJoCo 4.0.0",
        "c0ffee0",
    ):
        assert part in table.footer


@pytest.mark.parametrize(
    ("value", "text"), [(-0.04, "0.0"), (0.05, "0.1"), (-12.34, "-12.3"), (1e6, "1000000.0")]
)
def test_numbers_have_one_decimal_and_no_negative_zero(value: float, text: str) -> None:
    assert table_formats.number(value) == text


NASTY = "<script>alert(1)</script> & 50% of $x_1$ {a} ~^\\ | *b* `c`"


@pytest.fixture
def nasty(tmp_path: Path) -> tables.Table:
    study = study_json()
    study["labels"]["spede"]["title"] = NASTY
    study["tables"][0]["caption"] = NASTY
    return build(write_study(tmp_path / "tiny", study))[1]


def test_names_cannot_break_out_of_html(nasty: tables.Table) -> None:
    text = table_formats.html_document(nasty)
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_names_cannot_break_markdown(nasty: tables.Table) -> None:
    text = table_formats.markdown(nasty)
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}


def test_names_cannot_break_latex(nasty: tables.Table) -> None:
    text = table_formats.latex(nasty)
    assert r"\textless{}script\textgreater{}" in text
    assert_balanced(text)


def assert_balanced(text: str) -> None:
    """What a LaTeX compiler would stumble over first."""
    plain = re.sub(r"\\[\\{}$&%#_]", "", text)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    begins, ends = (re.findall(rf"\\{word}{{(\w+\*?)}}", text) for word in ("begin", "end"))
    assert sorted(begins) == sorted(ends)
    assert text.isascii()


def test_latex_rows_have_as_many_cells_as_columns(synthetic_study: Path) -> None:
    for path in sorted((synthetic_study / "tables").glob("*.tex")):
        text = path.read_text()
        assert_balanced(text)
        flat = re.sub(r"\\begin{tabular}\[t\].*?\\end{tabular}", "x", text)
        for spec, body in re.findall(r"\\begin{tabular}{(l?r+)}(.*?)\\end{tabular}", flat, re.S):
            for line in body.splitlines():
                if line.endswith(r"\\") and "multicolumn" not in line:
                    assert len(re.findall(r"(?<!\\)&", line)) == len(spec) - 1, (path, line)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.slow
def test_latex_compiles_with_booktabs_alone(synthetic_study: Path, tmp_path: Path) -> None:
    inputs = "\n".join(
        rf"\input{{{path}}}\clearpage" for path in sorted((synthetic_study / "tables").glob("*.tex"))
    )
    document = tmp_path / "all.tex"
    document.write_text(
        "\\documentclass[twocolumn]{article}\\usepackage{booktabs}\\begin{document}\n"
        + inputs
        + "\n\\end{document}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", document.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]


class Grid(HTMLParser):
    """The texts of a table's cells, and whether every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)
        self.rows += tag == "tr"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_format_of_every_table_is_there_and_well_formed(synthetic_study: Path) -> None:
    for name in ("table1", "appendix", "momentum", "mlp", "lc3", "hyperparameters"):
        for kind in ("md", "tex", "csv", "html"):
            assert (synthetic_study / "tables" / f"{name}.{kind}").stat().st_size > 100
        grid = Grid()
        grid.feed((synthetic_study / "tables" / f"{name}.html").read_text())
        assert grid.open == []
        assert grid.rows > 2


def test_the_csv_has_both_metrics_and_says_which_is_shown(synthetic_study: Path) -> None:
    frame = pd.read_csv(synthetic_study / "tables" / "table1.csv")
    assert set(frame["metric"]) == {"evaluation", "training"}
    assert set(frame.loc[frame["shown"], "metric"]) == {"evaluation"}
    cell = frame[(frame["title"] == "PPO") & (frame["task"] == "MountainCar") & frame["shown"]].iloc[0]
    assert (cell["paper_mean"], cell["mbbl_mean"]) == (27.1, 21.7)
    assert "digits of the mean are swapped" in cell["note"]


def test_table_1_has_the_papers_layout(synthetic_study: Path) -> None:
    text = (synthetic_study / "tables" / "table1.md").read_text()
    heads = [line for line in text.splitlines() if line.startswith("| | ")]
    assert heads[0] == "| | Swimmer | Reacher | MountainCar | Pendulum | I-Pendulum |"
    assert heads[1] == "| | Ant-ET | Hopper-ET | S-Humanoid-ET | Humanoid-ET | Walker-ET |"


def test_hyperparameters_against_the_paper(tmp_path: Path) -> None:
    study = study_json()
    config: dict[str, Any] = {
        "actor_lr": 3e-4,
        "momentum": 0.999,
        "actor_hidden": [256, 256],
        "gamma": 0.99,
        "sigma": 1.0,
        "clever": True,
    }
    study["labels"]["spede"]["config"] = config
    frame = hyperparameters.compare(load_study(write_study(tmp_path / "tiny", study, only=[]))).set_index(
        "name"
    )
    ours = frame["SPEDE"]
    assert ours["Actor lr"] == "0.0003"
    assert ours["Model Update Tau"] == "0.001"  # a momentum of 0.999
    assert ours["Actor Network Size"] == "(256, 256) ≠"
    assert ours["Batch Size"] == "–"
    assert (frame.loc["sigma", "paper"], ours["sigma"], ours["clever"]) == ("not stated", "1", "True")
    assert "SAC" not in frame.columns


def test_two_agents_of_the_same_name_stay_two(tmp_path: Path) -> None:
    study = study_json()
    study["labels"]["spede_too"] = label("spede_too", "SPEDE", "representation", features=64)
    study["runs"] = planned(study)
    study["tables"][0]["others"] = True
    directory = write_study(tmp_path / "tiny", study)
    loaded, table = build(directory)
    assert [row.label for group in table.panels[0].groups for row in group.rows] == [
        "spede",
        "sac",
        "spede_too",
    ]
    assert list(hyperparameters.compare(loaded).columns) == ["name", "paper", "SPEDE", "SPEDE (spede_too)"]
