"""Colours and dashes: the same agent looks the same in every figure and on the page.

The colours are those of Okabe and Ito, which people with colour-vision deficiencies can tell apart; no two
agents share both colour and dash, and neighbours in a table differ in colour.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.study import Study

BLACK, ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE, GREY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#7F7F7F",
)
SOLID, DASHED, DOTTED, DASHDOT = "", "6 3", "2 2", "7 2 2 2"

# The paper's agents keep their looks in every study.
KNOWN = {
    "SPEDE": (VERMILLION, SOLID),
    "SPEDE-REG": (BLUE, SOLID),
    "SPEDE-MLP": (PURPLE, SOLID),
    "DeepSF": (GREEN, SOLID),
    "SAC": (BLACK, DASHED),
    "TD3": (SKY, DASHED),
    "PPO": (ORANGE, DASHED),
    "TRPO": (GREEN, DASHED),
    "PETS-CEM": (BLUE, DOTTED),
    "PETS-RS": (SKY, DOTTED),
    "ME-TRPO": (ORANGE, DOTTED),
    "LC3": (PURPLE, DOTTED),
    "Random": (GREY, SOLID),
    "GT-CEM": (GREY, DASHED),
    "GT-RS": (GREY, DOTTED),
}
_CYCLE = [
    (colour, dash)
    for dash in (DASHDOT, SOLID, DASHED, DOTTED)
    for colour in (BLACK, ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE)
]


@dataclass(frozen=True)
class Style:
    colour: str
    dash: str

    @property
    def matplotlib_dash(self) -> tuple[float, ...] | str:
        """Dash lengths in points, or `""` for a solid line (seaborn's convention)."""
        return tuple(float(part) / 2 for part in self.dash.split()) or ""


def styles(study: Study) -> dict[str, Style]:
    """A look for each label of the study, always the same for the same study."""
    chosen: dict[str, Style] = {}
    for name, label in study.labels.items():
        if label.title in KNOWN:
            chosen[name] = Style(*KNOWN[label.title])
    taken = {(style.colour, style.dash) for style in chosen.values()}
    free = [look for look in _CYCLE if look not in taken]
    rest = [name for name in study.labels if name not in chosen]
    for index, name in enumerate(rest):
        # More agents than looks: begin again rather than fail.
        chosen[name] = Style(*(free or _CYCLE)[index % len(free or _CYCLE)])
    return chosen
