"""The load of a week as SVG: one line a profile from Monday to Sunday, its mean as a dashed line across."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports.render.charts import BUY, GRID, INK, MUTED, OTHER, TEXT_PT, _apart, _line, _svg, _text, text_width_pt

HOURS_PER_DAY, HOURS = 24, 168
LOOKS = ((BUY, "none", 1.5), (OTHER, "none", 1.3), (INK, "3 2", 0.9))
"""Colour, dashes and width of the lines in their order; they differ in lightness, so the picture reads in grey."""
MARKS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Week:
    """One profile: 168 shares of the peak, and the words at its end."""

    label: str
    shares: Sequence[float]
    mean_label: str = ""
    """What its mean is called; blank draws no mean."""


def week(
    title: str,
    lines: Sequence[Week],
    days: Sequence[str],
    *,
    unit: str,
    number: Callable[[float], str],
    width: float = 480,
    height: float = 150,
) -> str:
    """The load by hour; ``days`` are the seven names under the axis."""
    left = max(text_width_pt(number(mark)) for mark in MARKS) + 8
    labels = [label for line in lines for label in (line.label, line.mean_label)]
    right = max(text_width_pt(label) for label in labels) * 1.04 + 10
    top, bottom = 18.0, 16.0
    plot_width, plot_height = width - left - right, height - top - bottom

    def x(hour: float) -> float:
        return left + plot_width * hour / HOURS

    def y(share: float) -> float:
        return top + plot_height * (1 - share)

    body = [_text(0, 9, unit, fill=MUTED)]
    for mark in MARKS:
        body.append(_line(left, y(mark), left + plot_width, y(mark), INK if mark == 0 else GRID))
        body.append(_text(left - 5, y(mark) + 2.7, number(mark), anchor="end", fill=MUTED))
    for day, name in enumerate(days):
        start = day * HOURS_PER_DAY
        body.append(_line(x(start), y(0), x(start), y(0) + 3, INK))
        body.append(_text(x(start + HOURS_PER_DAY / 2), y(0) + 12, name, anchor="middle", fill=MUTED))
    ends: list[tuple[float, str, bool]] = []
    for index, line in enumerate(lines):
        colour, dash, thick = LOOKS[index % len(LOOKS)]
        points = "L".join(f"{x(hour + 0.5):.1f} {y(share):.1f}" for hour, share in enumerate(line.shares))
        dashes = "" if dash == "none" else f' stroke-dasharray="{dash}"'
        body.append(f'<path d="M{points}" fill="none" stroke="{colour}" stroke-width="{thick}"{dashes}/>')
        ends.append((y(line.shares[-1]), line.label, True))
        if line.mean_label:
            mean = sum(line.shares) / len(line.shares)
            body.append(_line(left, y(mean), left + plot_width, y(mean), colour, 0.9, "3 2"))
            ends.append((y(mean), line.mean_label, False))
    places = _apart([place for place, _, _ in ends], TEXT_PT + 2)
    for (_, label, strong), place in zip(ends, places, strict=True):
        body.append(_text(left + plot_width + 5, place + 2.7, label, bold=strong, fill=INK if strong else MUTED))
    return _svg(width, height, title, body)
