"""The page of the theory (index.html, self-contained) and its machine-readable twin (sections.json)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from analysis.theory import sections as texts
from analysis.theory import tables
from analysis.theory.figures import INK

INTRODUCTION = """The theory of SPEDE (Ren et al., UAI 2022) made runnable: its identities, its two algorithms and its
lemmas, each beside what it claims. Everything here is computed by <code>snakemake theory</code> in minutes and is the
same each time. <code>docs/theory.md</code> has the readings of the proofs behind it."""

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1a1a1a; --rule: #d5d5d5; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e4e4e4; --rule: #3a3f44; } }
body { background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; margin: 0 auto;
       max-width: 62rem; padding: 1.5rem; }
h1, h2 { line-height: 1.25; } h2 { margin-top: 2.5rem; }
p { max-width: 48rem; } sup, sub { line-height: 0; }
figure { margin: 1rem 0; overflow-x: auto; } figure svg { width: 100%; min-width: 34rem; height: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--rule); padding: .25rem .8rem; text-align: right; }
th:first-child { text-align: left; }
"""


@dataclass(frozen=True)
class Section:
    """One heading with its paragraph and its figures, inlined and coloured by the page's own ink."""

    id: str
    title: str
    html: str
    figures: tuple[str, ...]
    figure_svg: str


def inline_svg(source: str, prefix: str, label: str) -> str:
    """An SVG file as an element of a page.

    Text and axes take the page's colour, the background goes, and identifiers get a prefix because several figures
    share one document.
    """
    svg = source[source.index("<svg") :]
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\g<1>#{prefix}-", svg)
    svg = svg.replace(INK, "currentColor").replace("fill: #ffffff", "fill: none")
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def sections(theory_dir: Path) -> list[Section]:
    """All sections of the theory whose tables and figures lie in `theory_dir`."""
    found = []
    for build in texts.ALL:
        text = build(theory_dir)
        svg = "\n".join(
            inline_svg((theory_dir / path).read_text(encoding="utf-8"), Path(path).stem, text.title)
            for path in text.figures
        )
        html = re.sub(r"[ \n]+", " ", text.html).strip()
        html = re.sub(r"(?<=[ (])-(?=\d)", "−", html)  # a minus, not a hyphen
        found.append(Section(text.id, text.title, html, text.figures, svg))
    return found


def render(found: list[Section]) -> str:
    body = "\n".join(
        f'<section id="{s.id}">\n<h2>{s.title}</h2>\n<figure>{s.figure_svg}</figure>\n{s.html}\n</section>'
        for s in found
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>SPEDE: the theory, made runnable</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>The theory, made runnable</h1>\n<p>{INTRODUCTION}</p>\n{body}\n</body>\n</html>\n"
    )


def main() -> None:
    out = tables.out_folder(__doc__)
    found = sections(out)
    listing = [
        {"id": s.id, "title": s.title, "paragraph_html": s.html, "figures": list(s.figures)} for s in found
    ]
    (out / "sections.json").write_text(
        json.dumps(listing, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (out / "index.html").write_text(render(found), encoding="utf-8")


if __name__ == "__main__":
    main()
