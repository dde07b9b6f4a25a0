"""Figures are the same bytes each time, and the page embeds them without clashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.theory import figures, page

SVG = """<?xml version="1.0"?>
<svg width="10pt" height="5pt" viewBox="0 0 10 5"><defs><path id="a"/></defs>
<use xlink:href="#a" style="fill: #1a1a1a"/><g clip-path="url(#a)" style="fill: #ffffff"/></svg>"""


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_a_figure_is_the_same_bytes_each_time(tmp_path: Path, suffix: str) -> None:
    for name in ("first", "second"):
        figure, (ax,) = figures.panels(1)
        ax.plot([0.0, 1.0], [0.0, 1.0], label="σ")
        ax.legend()
        figures.save(figure, tmp_path / name, "same")
    first, second = (tmp_path / name / "figures" / f"same.{suffix}" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


def test_inlined_figures_take_the_pages_ink_and_keep_their_ids_apart() -> None:
    inlined = page.inline_svg(SVG, "kernel", "The kernel")
    assert inlined.startswith('<svg role="img" aria-label="The kernel" viewBox="0 0 10 5">')
    assert 'id="kernel-a"' in inlined
    assert 'href="#kernel-a"' in inlined
    assert "url(#kernel-a)" in inlined
    assert "fill: currentColor" in inlined
    assert "#ffffff" not in inlined


def test_page_is_self_contained() -> None:
    html = page.render([page.Section("one", "One", "<p>words</p>", ("figures/one.svg",), "<svg></svg>")])
    assert '<section id="one">' in html
    assert "prefers-color-scheme: dark" in html
    assert "src=" not in html
    assert "http" not in html
