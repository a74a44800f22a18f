"""Columns over months as SVG: one amount a month, written above its column, and a word below each month."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.render.charts import BUY, GRID, INK, MUTED, OTHER, _line, _svg, _text

TOP, BOTTOM, LEFT = 16.0, 28.0, 6.0


@dataclass(frozen=True)
class Month:
    """One column: its month, its amount as a number and in words, and what stands below it."""

    label: str
    value: float
    text: str
    below: str = ""


def months(title: str, columns: Sequence[Month], *, width: float = 480, height: float = 130) -> str:
    """Columns from zero; the last, this month, is the darkest."""
    most = max((each.value for each in columns), default=0.0)
    if most <= 0:
        return ""
    step = (width - 2 * LEFT) / len(columns)
    bar = min(step * 0.6, 60.0)
    floor = height - BOTTOM
    body = [_line(LEFT, floor, width - LEFT, floor, INK, 0.8), _line(LEFT, TOP, width - LEFT, TOP, GRID)]
    for index, each in enumerate(columns):
        middle = LEFT + step * (index + 0.5)
        tall = (floor - TOP) * each.value / most
        fill = BUY if index == len(columns) - 1 else OTHER
        body.append(
            f'<rect x="{middle - bar / 2:.1f}" y="{floor - tall:.1f}" width="{bar:.1f}" height="{tall:.1f}" '
            f'fill="{fill}"/>'
        )
        body.append(_text(middle, floor - tall - 3, each.text, anchor="middle", bold=index == len(columns) - 1))
        body.append(_text(middle, floor + 10, each.label, anchor="middle"))
        body.append(_text(middle, floor + 20, each.below, anchor="middle", fill=MUTED))
    return _svg(width, height, title, body)
