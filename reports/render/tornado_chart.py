"""A tornado as SVG: how far each input moves the cost, the widest bar on top, its low and high written at the ends.

The part below the base is light and the part above dark, so the picture reads in grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.render.charts import GRID, INK, MUTED, TEXT_PT, _line, _svg, _text, text_width_pt

LESS, MORE = "#a9cce3", "#0072b2"
ROW, TOP, BOTTOM = 17.0, 16.0, 20.0


@dataclass(frozen=True)
class Swing:
    """One input: its name, and for its low and its high the cost as a number, and both as words."""

    label: str
    at_low: float
    at_high: float
    low: str
    high: str


def tornado(
    title: str, base: float, swings: Sequence[Swing], *, base_label: str, ends: tuple[str, str], width: float = 490
) -> str:
    """Bars around ``base``; ``ends`` are the words for the least and the most cost on the axis."""
    if not swings:
        return ""
    least = min(min(each.at_low, each.at_high) for each in swings)
    most = max(max(each.at_low, each.at_high) for each in swings)
    names = max(text_width_pt(each.label) for each in swings) + 8
    side = max(max(text_width_pt(each.low), text_width_pt(each.high)) for each in swings) + 6
    left, right = names + side, width - side
    span = max(most - least, 1e-9)
    height = TOP + ROW * len(swings) + BOTTOM

    def x(value: float) -> float:
        return left + (right - left) * (value - least) / span

    body = [_text(x(base), TOP - 6, base_label, anchor="middle", bold=True)]
    for index, each in enumerate(swings):
        y = TOP + ROW * index
        body.append(_line(names, y + ROW, width, y + ROW, GRID))
        body.append(_text(names - 8, y + ROW / 2 + TEXT_PT / 3, each.label, anchor="end"))
        for value, words in ((each.at_low, each.low), (each.at_high, each.high)):
            here, there = sorted((x(base), x(value)))
            fill = LESS if value < base else MORE
            body.append(
                f'<rect x="{here:.1f}" y="{y + 3:.1f}" width="{max(there - here, 0):.1f}" height="{ROW - 6:.1f}" '
                f'fill="{fill}"/>'
            )
            if value < base or (value == base and (each.at_low, each.at_high)[value == each.at_low] > base):
                body.append(_text(x(value) - 4, y + ROW / 2 + TEXT_PT / 3, words, anchor="end", fill=MUTED))
            else:
                body.append(_text(x(value) + 4, y + ROW / 2 + TEXT_PT / 3, words, fill=MUTED))
    bottom = TOP + ROW * len(swings)
    body.append(_line(x(base), TOP - 2, x(base), bottom, INK, 0.9))
    body.append(_text(left, bottom + 12, ends[0], anchor="middle", fill=MUTED))
    body.append(_text(right, bottom + 12, ends[1], anchor="middle", fill=MUTED))
    return _svg(width, height, title, body)
