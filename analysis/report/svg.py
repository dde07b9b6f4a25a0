"""Small charts as inline SVG: they follow the page's colours, print well and need no script.

Every mark has a `<title>`, which browsers show on hover and screen readers can read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analysis.styles import BLACK


@dataclass(frozen=True)
class Interval:
    name: str
    value: float
    low: float
    high: float
    colour: str


def ink(colour: str) -> str:
    """Black must turn white on a dark page."""
    return "currentColor" if colour == BLACK else colour


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers from `low` to `high`."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


def interval_chart(title: str, rows: Sequence[Interval], width: int = 295) -> Markup:
    """One row per agent: a bar for the interval, a line for the estimate."""
    left, top, line = 110, 26, 20
    height = top + line * len(rows) + 24
    low = min((row.low for row in rows), default=0.0)
    high = max((row.high for row in rows), default=1.0)
    low, high = min(low, 0.0), max(high, low + 1e-9)

    def x(value: float) -> float:
        return left + (width - left - 12) * (value - low) / (high - low)

    parts = [
        _open(width, height, title),
        Markup('<text x="4" y="14" class="chart-title">{}</text>').format(title),
    ]
    for tick in ticks(low, high, 4):
        parts.append(
            Markup('<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" class="grid"/>').format(
                x(tick), top - 4, height - 20
            )
        )
        parts.append(
            Markup('<text x="{:.1f}" y="{}" text-anchor="middle" class="tick">{:g}</text>').format(
                x(tick), height - 6, round(tick, 6)
            )
        )
    for index, row in enumerate(rows):
        y = top + line * index + line / 2
        parts.append(
            Markup('<text x="{}" y="{:.1f}" text-anchor="end" class="tick">{}</text>').format(
                left - 6, y + 4, row.name
            )
        )
        parts.append(
            Markup(
                "<g><title>{}: {:.3f} [{:.3f}, {:.3f}]</title>"
                '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="12" fill="{}" fill-opacity=".5"/>'
                '<line x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}" class="mark"/></g>'
            ).format(
                *(row.name, row.value, row.low, row.high),
                *(x(row.low), y - 6, max(x(row.high) - x(row.low), 1.0), ink(row.colour)),
                *(x(row.value), x(row.value), y - 8, y + 8),
            )
        )
    return Markup("").join([*parts, Markup("</svg>")])


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float
    high: float
    colour: str
    shape: str
    text: str


def scatter_chart(title: str, points: Sequence[Point], x_title: str, y_title: str, size: int = 460) -> Markup:
    """Ours against theirs with the diagonal; equal scales on both axes."""
    left, bottom, top = 56, 44, 12
    values = [value for point in points for value in (point.x, point.y)]
    low, high = min(values, default=0.0) - 0.05, max(values, default=1.0) + 0.05

    def x(value: float) -> float:
        return left + (size - left - 12) * (value - low) / (high - low)

    def y(value: float) -> float:
        return size - bottom - (size - bottom - top) * (value - low) / (high - low)

    parts = [_open(size, size, title)]
    for tick in ticks(low, high):
        label = f"{round(tick, 6):g}"
        parts.append(
            Markup('<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" class="grid"/>').format(
                x(tick), top, size - bottom
            )
        )
        parts.append(
            Markup('<line y1="{0:.1f}" y2="{0:.1f}" x1="{1}" x2="{2}" class="grid"/>').format(
                y(tick), left, size - 12
            )
        )
        parts.append(
            Markup('<text x="{:.1f}" y="{}" text-anchor="middle" class="tick">{}</text>').format(
                x(tick), size - bottom + 16, label
            )
        )
        parts.append(
            Markup('<text x="{}" y="{:.1f}" text-anchor="end" class="tick">{}</text>').format(
                left - 6, y(tick) + 4, label
            )
        )
    parts.append(
        Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="diagonal"/>').format(
            x(low), y(low), x(high), y(high)
        )
    )
    for point in points:
        whisker = Markup("")
        if math.isfinite(point.low) and math.isfinite(point.high):
            ends = (min(max(point.low, low), high), min(max(point.high, low), high))
            whisker = Markup(
                '<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}" stroke="{3}" stroke-opacity=".6"/>'
            ).format(x(point.x), y(ends[0]), y(ends[1]), ink(point.colour))
        parts.append(
            Markup("<g><title>{}</title>{}{}</g>").format(
                point.text, whisker, _shape(point, x(point.x), y(point.y))
            )
        )
    parts.append(
        Markup('<text x="{:.0f}" y="{}" text-anchor="middle" class="axis">{}</text>').format(
            (left + size) / 2, size - 8, x_title
        )
    )
    parts.append(
        Markup(
            '<text transform="translate(14 {:.0f}) rotate(-90)" text-anchor="middle" class="axis">{}</text>'
        ).format((size - bottom) / 2, y_title)
    )
    return Markup("").join([*parts, Markup("</svg>")])


def _shape(point: Point, x: float, y: float) -> Markup:
    paths = {
        "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
        "^": "M0 -5L5 4L-5 4Z",
        "v": "M0 5L5 -4L-5 -4Z",
        "s": "M-3.5 -3.5H3.5V3.5H-3.5Z",
    }
    return Markup('<path transform="translate({:.1f} {:.1f})" d="{}" fill="{}" fill-opacity=".85"/>').format(
        x, y, paths[point.shape], ink(point.colour)
    )


def _open(width: int, height: int, title: str) -> Markup:
    return Markup(
        '<svg class="chart" role="img" viewBox="0 0 {} {}" width="{}" height="{}" aria-label="{}">'
    ).format(width, height, width, height, title)
