"""Latency against load as SVG: percentiles as lines, the target across, the recommended load marked.

Lines differ in lightness and dashes, so the picture reads in grey; far beyond the target they leave the frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from reports.render.charts import (
    BUY,
    GRID,
    INK,
    MISSED,
    MUTED,
    OTHER,
    TEXT_PT,
    _apart,
    _line,
    _svg,
    _text,
    text_width_pt,
    ticks,
)

LOOKS = {"aim": (BUY, "none", 1.8), "more": (INK, "4 2", 1.1), "less": (OTHER, "1.5 2", 1.1)}
"""Kind of line -> colour, dashes, width: what the target is for, what lies above it, what lies below."""

LOGARITHMIC = 12.0
"""From this ratio of the highest to the lowest value on, the axis counts in powers of ten."""
ROOM = 1.35
"""The frame reaches so far above the target; what is later still leaves it."""


@dataclass(frozen=True)
class Curve:
    """One statistic at each load."""

    kind: str
    label: str
    values: Sequence[float]


@dataclass(frozen=True)
class Axis:
    """Values in ms to places from the bottom of the frame, 0 to 1."""

    low: float
    high: float
    marks: Sequence[float]
    logarithmic: bool

    def place(self, value: float) -> float:
        """0 at the bottom; more than 1 above the frame."""
        if not self.logarithmic:
            return value / self.high
        return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)


def axis(values: Sequence[float], target: float | None) -> Axis:
    """The frame of some values and a target: from zero, or in powers of ten where they are far apart."""
    lowest = min(values)
    highest = max(values) if target is None else max(ROOM * target, min(max(values), 2 * ROOM * target))
    if highest / lowest < LOGARITHMIC:
        marks = ticks(highest)
        return Axis(0.0, max(highest, marks[-2] if len(marks) > 1 else highest), marks, False)
    low = 10.0 ** math.floor(math.log10(lowest))
    if lowest / low > 5:
        low *= 5
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(highest)) + 1)
    marks = [10.0**power * step for power in powers for step in (1, 2, 5)]
    if highest / low > 1000:
        marks = [mark for mark in marks if math.log10(mark).is_integer()]
    return Axis(low, highest, marks, True)


def latency(
    title: str,
    loads: Sequence[float],
    curves: Sequence[Curve],
    *,
    unit: str,
    load_label: str,
    number: Callable[[float], str],
    load_number: Callable[[float], str],
    target: float | None = None,
    target_label: str = "",
    recommended: float | None = None,
    recommended_label: str = "",
    width: float = 232,
    height: float = 140,
) -> str:
    """One latency by load; ``target`` is a dashed black line, ``recommended`` a dotted upright one."""
    known = [value for curve in curves for value in curve.values if math.isfinite(value) and value > 0]
    scale = axis(known or [1.0], target)
    marks = [mark for mark in scale.marks if scale.low <= mark <= scale.high * (1 + 1e-9)]
    left = max(text_width_pt(number(mark)) for mark in marks) + 8
    right = max(text_width_pt(curve.label) for curve in curves) + 10
    top, bottom = 24.0, 26.0
    plot_width, plot_height = width - left - right, height - top - bottom
    most = max(loads)

    def x(load: float) -> float:
        return left + plot_width * load / most

    def y(value: float) -> float:
        return top + plot_height * (1 - scale.place(value))

    body = [_text(0, 8, unit, fill=MUTED)]
    for mark in marks:
        body.append(_line(left, y(mark), left + plot_width, y(mark), GRID))
        body.append(_text(left - 5, y(mark) + 2.7, number(mark), anchor="end", fill=MUTED))
    foot = top + plot_height
    body.append(_line(left, foot, left + plot_width, foot, INK))
    for mark in [each for each in ticks(most) if each <= most * (1 + 1e-9)]:
        body.append(_line(x(mark), foot, x(mark), foot + 3, INK))
        body.append(_text(x(mark), foot + 11, load_number(mark), anchor="middle", fill=MUTED))
    body.append(_text(left + plot_width, height - 3, load_label, anchor="end", fill=MUTED))
    ends = []
    for curve in curves:
        colour, dash, thick = LOOKS[curve.kind]
        points = _inside([(x(load), y(value)) for load, value in zip(loads, curve.values, strict=True)], top)
        dashes = "" if dash == "none" else f' stroke-dasharray="{dash}"'
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
        body.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{thick}"{dashes}/>')
        ends.append(points[-1])
    places = _apart([py for _, py in ends], TEXT_PT + 1)
    below = max(0.0, top - min(places))
    for curve, (px, _), py in zip(curves, ends, [each + below for each in places], strict=True):
        strong = curve.kind == "aim"
        if px < left + plot_width - 1:  # it left the frame: its name must not be crossed by a neighbour
            wide = text_width_pt(curve.label)
            body.append(f'<rect x="{px + 3:.1f}" y="{py - 4:.1f}" width="{wide:.1f}" height="8.5" fill="#ffffff"/>')
        body.append(_text(max(px, left) + 4, py + 2.7, curve.label, bold=strong, fill=INK if strong else MUTED))
    if target is not None:
        body.append(_line(left, y(target), left + plot_width, y(target), INK, 1.2, "3 2"))
        body.append(_text(left + 3, y(target) - 3, target_label, bold=True))
    if recommended is not None:
        body.append(_line(x(recommended), foot, x(recommended), 11, MISSED, 0.9, "1.5 2"))
        body.append(_text(x(recommended) - 3, 16, recommended_label, anchor="end", fill=MUTED))
    return _svg(width, height, title, body)


def _inside(points: Sequence[tuple[float, float]], top: float) -> list[tuple[float, float]]:
    """A line up to where it leaves the frame at the top."""
    kept = [points[0]]
    for before, after in pairwise(points):
        if after[1] < top:
            if before[1] >= top:
                share = (before[1] - top) / (before[1] - after[1])
                kept.append((before[0] + share * (after[0] - before[0]), top))
            break
        kept.append(after)
    return kept
