"""Small charts as SVG: numbers and labels in, text stays text, the same picture for the same input.

Every chart has a title for screen readers, units on its axis, labels at the marks instead of a legend, a zero baseline,
and reads in grey: colours differ in lightness and lines in their dashes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from reports.render.glyphs import TEXT_STACK

INK, MUTED, GRID = "#1b2127", "#59626b", "#dde1e5"
RENT, BUY, OTHER, MISSED = "#e69f00", "#0072b2", "#8d98a3", "#d55e00"
"""Okabe-Ito: renting orange, buying blue."""

COLOURS = {"rent": RENT, "buy": BUY, "other": OTHER, "binding": BUY}
DASHES = {"rent": "5 3", "buy": "none"}

TEXT_PT = 7.5

MANY_BARS = 10
"""More rows than this are drawn closer together, so that a first page holds them and the text below."""

LONGEST = 2.0
"""A bar more than this many times the next one is drawn cut."""


@dataclass(frozen=True)
class Line:
    """One curve: its values month by month, and the words at its end."""

    kind: str
    label: str
    values: Sequence[float]


@dataclass(frozen=True)
class Bar:
    """One bar: its kind gives the colour; ``text`` is the value as written, ``value`` None draws only the text."""

    label: str
    kind: str
    value: float | None
    text: str
    strong: bool = False
    group: str = ""
    """Bars with the same group stand together under this heading."""


def text_width_pt(text: str, size_pt: float = TEXT_PT) -> float:
    """Width of a text, near enough to place it: a Chinese character is one em, a Latin one a little over half."""
    return size_pt * sum(1.0 if ord(c) > 0x2E7F else 0.32 if c in " .,:;|'il()-" else 0.57 for c in text)


def ticks(highest: float, count: int = 4) -> list[float]:
    """Round values from zero to at least ``highest``, about ``count`` steps of 1, 2 or 5 times a power of ten."""
    if not math.isfinite(highest) or highest <= 0:
        return [0.0, 1.0]
    rough = highest / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    steps = math.ceil(highest / step - 1e-9)
    return [step * index for index in range(steps + 1)]


def _svg(width: float, height: float, title: str, body: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" font-family="{TEXT_STACK}" font-size="{TEXT_PT}" '
        f'width="{width:.0f}pt" height="{height:.0f}pt" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<title>{escape(title)}</title>{''.join(body)}</svg>"
    )


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", fill: str = INK, bold: bool = False, size: float = TEXT_PT
) -> str:
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-size="{size:g}" '
        f'font-family="{TEXT_STACK}"{weight}>{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 0.6, dash: str = "none") -> str:
    dashes = "" if dash == "none" else f' stroke-dasharray="{dash}"'
    path = f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
    return f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{width}"{dashes}/>'


def cumulative_cost(
    title: str,
    lines: Sequence[Line],
    *,
    unit: str,
    month_label: str,
    number: Callable[[float], str],
    break_even_month: float | None = None,
    break_even_label: str = "",
    width: float = 480,
    height: float = 190,
) -> str:
    """Cumulative cost month by month, one line a way of getting the cards, the break-even month marked."""
    months = max(len(line.values) for line in lines) - 1
    marks = ticks(max(value for line in lines for value in line.values))
    left = max(text_width_pt(number(mark)) for mark in marks) + 8
    right = max(text_width_pt(line.label) for line in lines) + 10
    top, bottom = 20.0, 28.0
    plot_width, plot_height = width - left - right, height - top - bottom

    def x(month: float) -> float:
        return left + plot_width * month / months

    def y(value: float) -> float:
        return top + plot_height * (1 - value / marks[-1])

    body = [_text(0, 9, unit, fill=MUTED)]
    for mark in marks:
        body.append(_line(left, y(mark), left + plot_width, y(mark), INK if mark == 0 else GRID))
        body.append(_text(left - 5, y(mark) + 2.7, number(mark), anchor="end", fill=MUTED))
    step = next((step for step in (1, 2, 3, 6, 12, 24) if months / step <= 8), 12)
    for month in range(0, months + 1, step):
        body.append(_line(x(month), y(0), x(month), y(0) + 3, INK))
        body.append(_text(x(month), y(0) + 12, str(month), anchor="middle", fill=MUTED))
    body.append(_text(left + plot_width, height - 3, month_label, anchor="end", fill=MUTED))
    for line in lines:
        points = "L".join(f"{x(month):.1f} {y(value):.1f}" for month, value in enumerate(line.values))
        dash = DASHES.get(line.kind, "2 2")
        dashes = "" if dash == "none" else f' stroke-dasharray="{dash}"'
        body.append(f'<path d="M{points}" fill="none" stroke="{COLOURS[line.kind]}" stroke-width="1.8"{dashes}/>')
    ends = _apart([y(line.values[-1]) for line in lines], TEXT_PT + 3)
    for line, end in zip(lines, ends, strict=True):
        body.append(_text(left + plot_width + 5, end + 2.7, line.label, bold=True))
    if break_even_month is not None:
        at = int(break_even_month)
        cross_y = y(max(line.values[at] for line in lines if line.kind == "rent"))
        body.append(_line(x(at), y(0), x(at), top - 2, INK, 0.7, "1.5 2"))
        ring = f'fill="#ffffff" stroke="{INK}" stroke-width="1.2"'
        body.append(f'<circle cx="{x(at):.1f}" cy="{cross_y:.1f}" r="2.8" {ring}/>')
        fits_right = x(at) + 4 + text_width_pt(break_even_label) < left + plot_width
        body.append(
            _text(
                x(at) + (4 if fits_right else -4),
                top + 4,
                break_even_label,
                bold=True,
                anchor="start" if fits_right else "end",
            )
        )
    return _svg(width, height, title, body)


def _apart(positions: Sequence[float], least: float) -> list[float]:
    """Positions moved apart so that labels do not touch, their order kept."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    moved = list(positions)
    for before, after in pairwise(order):
        gap = moved[after] - moved[before]
        if gap < least:
            moved[before] -= (least - gap) / 2
            moved[after] += (least - gap) / 2
    return moved


def bars(
    title: str,
    rows: Sequence[Bar],
    *,
    unit: str,
    target: float | None = None,
    target_label: str = "",
    width: float = 480,
    label_width: float | None = None,
) -> str:
    """Horizontal bars from a zero baseline, each labelled with its value; a target is a black line across them."""
    row_height, bar_height, gap = (14.0, 9.0, 5.0) if len(rows) <= MANY_BARS else (11.5, 8.0, 3.5)
    groups = [row.group for row in rows]
    left = label_width or max(text_width_pt(row.label) for row in rows) + 8
    if any(groups):
        left = max(left, *(text_width_pt(group) + 6 for group in groups))
    right = max(text_width_pt(row.text) for row in rows) * 1.06 + 10
    known = sorted(row.value for row in rows if row.value is not None and math.isfinite(row.value))
    highest = max([*known, target or 0.0, 0.0]) or 1.0
    if len(known) > 2 and known[-1] > LONGEST * max(known[-2], target or 0.0) > 0:
        highest = LONGEST * max(known[-2], target or 0.0)  # one far longer bar is cut, and shows it
    plot_width = width - left - right
    top = 14.0 + (10.0 if target is not None else 0.0)
    body = [_text(0, 9, unit, fill=MUTED)]
    y = top
    group = None
    for row in rows:
        if row.group and row.group != group:
            y += gap if group is not None else 0
            body.append(_text(0, y + bar_height - 1, row.group, bold=True))
            y += row_height - 2
        elif not row.group and group:
            y += gap
        group = row.group
        body.append(
            _text(
                left - 6,
                y + bar_height - 1.5,
                row.label,
                anchor="end",
                bold=row.strong,
                fill=INK if row.strong or not row.group else MUTED,
            )
        )
        length = 0.0
        if row.value is not None and math.isfinite(row.value):
            cut = row.value > highest
            length = max(plot_width * min(row.value / highest, 1.0), 0.5)
            body.append(
                f'<rect x="{left:.1f}" y="{y:.1f}" width="{length:.1f}" height="{bar_height:.1f}" '
                f'fill="{COLOURS[row.kind]}"/>'
            )
            if cut:
                at = left + length - 14
                slash = f"M{at:.1f} {y + bar_height + 1:.1f}l4 {-bar_height - 2:.1f}h4l-4 {bar_height + 2:.1f}Z"
                body.append(f'<path d="{slash}" fill="#ffffff"/>')
        body.append(_text(left + length + 4, y + bar_height - 1.5, row.text, bold=row.strong))
        y += row_height
    body.append(_line(left, top - 3, left, y - 2, INK, 0.8))
    if target is not None:
        at = left + plot_width * target / highest
        body.append(_line(at, top - 5, at, y - 2, INK, 1.2, "3 2"))
        fits_right = at + text_width_pt(target_label) + 3 < width
        body.append(_text(at, top - 8, target_label, anchor="start" if fits_right else "end", bold=True))
    return _svg(width, y + 2, title, body)
