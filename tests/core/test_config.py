"""Algorithm folders: discovery, inheritance, and errors that say what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from algorithms.core.config import ConfigError, algorithm_ids, load_algorithm, parse_setting


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path, "parent", defaults={"rate": 0.1, "width": 8}, scales={"smoke": {"width": 2}})
    write(
        tmp_path,
        "child",
        extends="parent",
        defaults={"width": 16, "extra": True},
        tasks={"Ant": {"rate": 0.5}},
    )
    (tmp_path / "algorithms" / "notes").mkdir()  # no config.yaml: not an algorithm
    return tmp_path


def write(root: Path, name: str, **content: Any) -> None:
    folder = root / "algorithms" / name
    folder.mkdir(parents=True)
    base = {"title": name.upper(), "summary": "for a test", "kind": "reference"}
    (folder / "config.yaml").write_text(yaml.safe_dump({**base, **content}))


def test_a_folder_without_config_is_not_discovered(tree: Path) -> None:
    assert algorithm_ids(tree) == ["child", "parent"]


def test_resolution_order(tree: Path) -> None:
    child = load_algorithm("child", tree)
    assert child.ancestors == ("parent",)
    assert child.resolve() == {"rate": 0.1, "width": 16, "extra": True}
    assert child.resolve("smoke") == {
        "rate": 0.1,
        "width": 2,
        "extra": True,
    }  # the parent's scale still counts
    assert child.resolve("smoke", "Ant", {"rate": 1})["rate"] == 1.0
    assert isinstance(child.resolve(overrides={"rate": 1})["rate"], float)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"widht": 3}, r"unknown setting 'widht' \(value 3\).*allowed: extra, rate, width"),
        ({"rate": "1e-3"}, r"rate = '1e-3' must be of type float.*3\.0e-4"),
        ({"width": True}, "width = True must be a whole number"),
        ({"width": 2.5}, "width = 2.5 must be of type int"),
    ],
)
def test_wrong_overrides(tree: Path, overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_algorithm("child", tree).resolve(overrides=overrides)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"extends": "nobody"}, "unknown algorithm 'nobody'; allowed: "),
        ({"extends": "wrong"}, "circle: wrong -> wrong"),
        ({"kind": "magic"}, "kind = 'magic'; allowed: model-based"),
        ({"title": 3}, "title must be given"),
        ({"default": {}}, "unknown key 'default'"),
        ({"defaults": {"a": 1}, "scales": {"smoke": {"b": 1}}}, "unknown setting 'b'"),
        ({"defaults": {"a": 1}, "tasks": {"Ant": {"b": 1}}}, "unknown setting 'b'"),
    ],
)
def test_wrong_folders(tree: Path, content: dict[str, Any], message: str) -> None:
    write(tree, "wrong", **content)
    with pytest.raises(ConfigError, match=message):
        load_algorithm("wrong", tree)


def test_settings_of_the_command_line() -> None:
    assert parse_setting("hidden=[64, 64]") == ("hidden", [64, 64])
    assert parse_setting("rate=3.0e-4") == ("rate", 3e-4)
    with pytest.raises(ConfigError, match="key=value"):
        parse_setting("rate")


def test_every_assumption_that_a_config_names_is_written_down(root: Path) -> None:
    written = set(re.findall(r"^\| (\d+) \|", (root / "docs/assumptions.md").read_text(), re.MULTILINE))
    named = {
        number
        for path in (root / "algorithms").glob("*/config.yaml")
        for number in re.findall(r"assumption (\d+)", path.read_text())
    }
    assert len(named) > 10
    assert named <= written
