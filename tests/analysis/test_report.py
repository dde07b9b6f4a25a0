"""The page as text: complete, self-contained, and safe whatever the names are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from analysis import __main__ as everything
from analysis.report import __main__ as report_step
from analysis.report.data import script_json
from analysis.report.svg import Interval, Point, interval_chart, scatter_chart, ticks
from tests.analysis.studies import study_json, write_study
from tests.analysis.test_load import page

NASTY = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}"


@pytest.fixture(scope="module")
def text(synthetic_study: Path) -> str:
    return (synthetic_study / "report" / "index.html").read_text()


def test_every_section_is_there(text: str) -> None:
    for section in (
        *(
            "what",
            "results",
            "curves",
            "ablations",
            "overall",
            "verdicts",
            "audit",
            "cost",
            "missing",
            "reproduce",
        ),
    ):
        assert f'<section id="{section}">' in text
        assert f'href="#{section}"' in text


def test_nothing_is_loaded_from_anywhere(text: str) -> None:
    assert re.findall(r"<(?:link|iframe|img|object|embed)\b", text) == []
    assert re.findall(r"<script[^>]+src=", text) == []
    assert "@import" not in text
    assert set(re.findall(r"https?://[^\s\"'<)]+", text)) == {
        "http://www.w3.org/2000/svg"
    }  # a name, not an address
    assert "Content-Security-Policy" in text


def test_the_page_is_not_heavy(synthetic_study: Path) -> None:
    assert (synthetic_study / "report" / "index.html").stat().st_size < 1_500_000


def test_the_data_is_json_and_has_both_metrics(text: str) -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found is not None
    data = json.loads(found.group(1))
    assert set(data["curves"]) == {"evaluation", "training"}
    rows = data["curves"]["evaluation"]["Reacher"]["sac"]
    assert rows[-1][0] == data["steps"] == 4000
    assert rows[-1][3] == 4  # seeds
    assert data["paper"]["Reacher"]["sac"] == [-6.4, 0.5]


def test_names_and_notes_from_run_directories_are_escaped(tmp_path: Path) -> None:
    study = study_json()
    study["labels"]["spede"]["title"] = NASTY
    study["tables"][0]["caption"] = NASTY
    study["tasks"]["Pendulum"]["paper_name"] = NASTY
    directory = write_study(tmp_path / "tiny", study)
    run = directory / study["runs"][0]["path"]
    (run / "manifest.json").unlink()
    (run / "failure.json").write_text(json.dumps({"step": 1, "error": NASTY}))
    manifest = directory / study["runs"][1]["path"] / "manifest.json"
    manifest.write_text(
        json.dumps(json.loads(manifest.read_text()) | {"command": NASTY, "machine": {"cpu": NASTY}})
    )
    shown = page(directory)
    assert "<script>alert" not in shown
    assert "<img" not in shown
    assert "{{ 7*7 }}" in shown  # never evaluated as a template
    assert shown.count("</script>") == 2  # the page's own


def test_json_inside_a_script_cannot_end_it() -> None:
    assert "<" not in script_json({"a": "</script>&\u2028"})
    assert json.loads(script_json({"a": "</script>&"})) == {"a": "</script>&"}
    with pytest.raises(ValueError, match="JSON"):
        script_json({"a": float("nan")})


def test_the_step_alone_gives_the_same_page(synthetic_study: Path, text: str) -> None:
    """Snakemake renders from the CSV files, `python -m analysis` from memory."""
    path = synthetic_study / "report" / "index.html"
    assert report_step.main([str(synthetic_study)]) == 0
    assert path.read_text() == text


def test_a_study_without_tables_and_figures(tmp_path: Path) -> None:
    directory = write_study(tmp_path / "tiny", study_json(tables=[], figures=[]))
    assert "The study asks for no tables." in page(directory)


def test_what_differs_from_the_papers_protocol_is_said_first(tmp_path: Path) -> None:
    shown = page(write_study(tmp_path / "tiny", study_json(scale="smoke")))
    banner = shown[: shown.index("<main>")]
    assert "100 environment steps instead of 200,000" in banner
    assert "the smoke scale" in banner


def test_a_second_run_changes_no_byte(tmp_path: Path) -> None:
    directory = write_study(tmp_path / "tiny", study_json())

    def contents() -> dict[str, bytes]:
        assert everything.main([str(directory)]) == 0
        folders = ("tables", "figures", "statistics", "report")
        return {
            str(path): path.read_bytes()
            for folder in folders
            for path in sorted((directory / folder).iterdir())
        }

    assert contents() == contents()


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.7, 911.0), (1e-3, 2e-3), (-5e6, -4e6)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 2 <= len(found) <= 12
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)


def test_charts_survive_odd_input() -> None:
    assert "<svg" in interval_chart("empty", [])
    assert "<svg" in interval_chart("flat", [Interval("a<b", 1.0, 1.0, 1.0, "#000000")])
    assert "a&lt;b" in interval_chart("flat", [Interval("a<b", 1.0, 1.0, 1.0, "#000000")])
    nan = float("nan")
    assert "nan" not in scatter_chart("one", [Point(0.5, 0.5, nan, nan, "#000000", "o", "x")], "x", "y")
