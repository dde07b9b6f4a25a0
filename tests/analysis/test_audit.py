"""The audit finds, by computation, what careful readers found by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis import audit, claims, reference
from analysis.audit_page import html_document, markdown, summary
from analysis.reference import Published


def of_kind(kind: str) -> set[tuple[str, str, str]]:
    return {(f.table, f.task, f.algorithm) for f in audit.findings() if f.kind == kind}


def test_the_printed_tables_are_all_there() -> None:
    assert len(reference.paper_cells()) == 214
    assert len(reference.mbbl_cells()) == 324
    assert len(reference.mbbl_cells(1_000_000)) == 28


def test_eight_of_126_adopted_cells_differ_from_mbbl() -> None:
    assert len(audit.adopted_cells()) == 126
    assert of_kind("mbbl") == {
        ("main_table1", "Reacher", "ME-TRPO"),
        ("appendix_full", "Reacher", "ME-TRPO"),
        ("main_table1", "MountainCar", "PPO"),
        ("main_table1", "SlimHumanoid-ET", "PETS-RS"),
        ("main_table1", "Humanoid-ET", "PETS-RS"),
        ("main_table1", "SlimHumanoid-ET", "SAC"),
        ("appendix_full", "Acrobot", "ME-TRPO"),
        ("appendix_full", "Humanoid-ET", "ME-TRPO"),
    }


@pytest.mark.parametrize(
    ("task", "algorithm", "note"),
    [
        ("MountainCar", "PPO", "digits of the mean are swapped"),
        ("Acrobot", "ME-TRPO", "the sign is lost"),
        ("Humanoid-ET", "ME-TRPO", "the printed figure is MB-MF's"),
        ("Humanoid-ET", "PETS-RS", "the std repeats the mean"),
        ("Reacher", "ME-TRPO", "one digit of the std differs"),
    ],
)
def test_each_difference_has_its_likeliest_reason(task: str, algorithm: str, note: str) -> None:
    notes = {
        f.note for f in audit.findings() if f.kind == "mbbl" and (f.task, f.algorithm) == (task, algorithm)
    }
    assert notes == {note}


def test_every_adopted_cell_is_compared_with_something() -> None:
    for row in audit.adopted_cells().to_dict("records"):
        assert reference.mbbl_value(row["task"], row["algorithm"]) is not None


def test_the_papers_tables_against_each_other() -> None:
    real = {(f.task, f.algorithm) for f in audit.findings() if f.kind == "self" and f.note != "rounding only"}
    assert real == {
        ("Humanoid-ET", "ME-TRPO"),
        ("SlimHumanoid-ET", "PETS-RS"),
        ("Humanoid-ET", "PETS-RS"),
        ("Humanoid-ET", "DeepSF"),
        ("SlimHumanoid-ET", "SAC"),
    }


def test_cells_that_repeat_another_cell() -> None:
    assert of_kind("repeat") == {
        ("main_table1", "Humanoid-ET", "DeepSF"),
        ("main_table1", "MountainCar", "SPEDE-REG"),
    }


def test_the_misnamed_and_the_misbolded_cell() -> None:
    assert of_kind("name") == {("appendix_lc3", "Hopper", "SPEDE")}
    assert of_kind("bold") == {("main_table1", "Ant-ET", "SAC")}


def test_omitted_methods_that_are_higher() -> None:
    listed = {f.task: f.elsewhere for f in audit.findings() if f.kind == "omitted"}
    assert listed["Humanoid-ET"] == "SLBO 1377.0"
    assert listed["Swimmer-v0"] == "MB-MPO 85.0, SVG 77.2, MB-MF 51.8"
    assert "GT-CEM" not in " ".join(listed.values())  # planning with the true dynamics is not learning
    assert set(listed) == {
        *(
            "Swimmer-v0",
            "Reacher",
            "Pendulum",
            "Hopper-ET",
            "SlimHumanoid-ET",
            "Humanoid-ET",
            "CartPole",
            "Acrobot",
        )
    }


def test_swimmer_is_mbbls_swimmer_v0() -> None:
    """All starred Swimmer cells match that column and none the column of MBBL's own Swimmer."""
    cells = reference.paper_cells()
    starred = cells[(cells["env"] == "Swimmer") & cells["starred"]]
    assert len(starred) == 11
    for row in starred.to_dict("records"):
        printed = Published(row["mean"], row["std"])
        assert reference.mbbl_value("Swimmer-v0", row["algorithm"]) == printed
        assert reference.mbbl_value("Swimmer", row["algorithm"]) != printed


OUTCOMES = {
    "mountaincar-52.6": claims.FAILS,
    "walker-501.6": claims.HOLDS,
    "baselines-not-positive": claims.PARTLY,
    "baselines-not-positive-mbbl": claims.FAILS,
    "deepsf-humanoid-452.6": claims.FAILS,
    "deepsf-walker-336.0": claims.HOLDS,
    "reg-hopper-694.8": claims.HOLDS,
    "reg-slim-1875.7": claims.PARTLY,
    "reg-humanoid-2000.4": claims.FAILS,
    "top-row-sota": claims.PARTLY,
    "better-than-sota": claims.FAILS,
    "decoupled-best": claims.HOLDS,
    "reg-huge-margin": claims.PARTLY,
    "reg-significant": claims.PARTLY,
    "ant-significant": claims.PARTLY,
    "momentum-small": claims.FAILS,
    "momentum-large": claims.PARTLY,
    "momentum-monotone": claims.PARTLY,
    "mlp-better": claims.HOLDS,
    "lc3-worse": claims.HOLDS,
}


def test_the_texts_claims() -> None:
    assert {claim.id: claim.result.outcome for claim in claims.check_all()} == OUTCOMES


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("mountaincar-52.6", "the table has 50.3; 52.6 is SAC"),
        ("deepsf-humanoid-452.6", "718.3"),
        ("deepsf-humanoid-452.6", "gives 645.8"),
        ("deepsf-humanoid-452.6", "452.6 is the difference on SlimHumanoid-ET"),
        ("reg-humanoid-2000.4", "1953.4"),
        ("reg-slim-1875.7", "1866.7 with MBBL's own figure for SAC"),
        ("mlp-better", "above on 6, tied on 1, below on 1 of 8 tasks"),
        ("ant-significant", "Ant-ET: 806.2 ± 60.2 against DeepSF 768.1 ± 44.1"),
        ("top-row-sota", "InvertedPendulum: tied with SPEDE-REG"),
    ],
)
def test_a_claims_detail_says_what_the_tables_say(claim: str, words: str) -> None:
    details = {found.id: found.result.detail for found in claims.check_all()}
    assert words in details[claim]


def test_a_claim_about_a_cell_that_does_not_exist_is_our_mistake() -> None:
    check = {"kind": "value", "table": "main_table1", "algorithm": "SPEDE", "task": "Chess", "states": 1.0}
    with pytest.raises(LookupError, match="no cell for SPEDE on Chess"):
        claims.run_check(check)


def test_welch_on_printed_cells() -> None:
    assert claims.welch(Published(0.0, 0.0), Published(0.0, 0.0)) == 1.0
    assert claims.welch(Published(1.0, 0.0), Published(0.0, 0.0)) == 0.0
    assert claims.welch(Published(806.2, 60.2), Published(768.1, 44.1)) == pytest.approx(0.35, abs=0.01)


def test_the_audit_renders(synthetic_study: Path) -> None:
    assert summary().startswith("8 of 126 cells adopted from MBBL differ")
    assert "## Claims of the text" in markdown()
    assert (synthetic_study / "tables" / "audit.html").read_text() == html_document()
    assert (synthetic_study / "statistics" / "claims.csv").exists()
