"""The workflow declares every module an experiment imports: an undeclared one would leave its results stale."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = (ROOT / "rules" / "theory.smk").read_text(encoding="utf-8")
PACKAGE = "analysis.theory"
EXPERIMENTS = sorted(set(re.findall(r"-m analysis\.theory\.(\w+) ", RULES)) - {"page"})


def imported(module: str) -> set[str]:
    """The modules of the package that this one needs, itself included, however indirectly."""
    tree = ast.parse((ROOT / "analysis" / "theory" / f"{module}.py").read_text(encoding="utf-8"))
    needed = {module}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        if node.module == PACKAGE:
            found = {alias.name for alias in node.names}
        elif node.module.startswith(f"{PACKAGE}."):
            found = {node.module.removeprefix(f"{PACKAGE}.")}
        else:
            continue
        needed |= set().union(*(imported(name) for name in found))
    return needed


def declared(experiment: str) -> set[str]:
    """What the rule lists, with the shared lists expanded."""
    lists = dict(re.findall(r"^(THEORY_(?:SHARED|PROBLEM)) = \[(.*)\]$", RULES, flags=re.MULTILINE))
    listed = re.search(rf"rule theory_{experiment}:.*?module=\[(.*?)\]", RULES, flags=re.DOTALL)
    assert listed is not None
    text = listed.group(1)
    for name in ("THEORY_PROBLEM", "THEORY_SHARED"):
        text = text.replace(f"*{name}", lists[name])
    return set(re.findall(r'"(\w+)"', text)) - {"__init__"}


def test_every_experiment_has_a_rule() -> None:
    assert len(EXPERIMENTS) == 8


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_rule_declares_what_the_experiment_imports(experiment: str) -> None:
    assert imported(experiment) <= declared(experiment)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_rule_declares_nothing_that_the_experiment_does_not_use(experiment: str) -> None:
    shared_by_all = {"tables", "figures", "normal"}
    assert declared(experiment) - shared_by_all <= imported(experiment)
