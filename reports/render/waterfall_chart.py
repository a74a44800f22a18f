"""A waterfall as SVG: from no change to the whole change, one floating bar a cause, its amount written beside it.

More is dark, less is light with an outline, the total is grey and thick, so the picture reads in grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.render.charts import GRID, INK, MUTED, TEXT_PT, _line, _svg, _text, text_width_pt
from reports.render.tornado_chart import LESS, MORE

TOTAL = "#59626b"
ROW, TOP, BOTTOM = 17.0, 14.0, 6.0


@dataclass(frozen=True)
class Fall:
    """One cause: its name, how far it moves the amount, and that in words."""

    label: str
    change: float
    text: str


def waterfall(title: str, causes: Sequence[Fall], total: Fall, *, base_label: str, width: float = 490) -> str:
    """Bars that start where the one before ended; the last is the sum of all, from zero."""
    if not causes:
        return ""
    ends = [0.0]
    for each in causes:
        ends.append(ends[-1] + each.change)
    least, most = min(ends), max(ends)
    rows = [*causes, total]
    names = max(text_width_pt(each.label) for each in rows) + 10
    side = max(text_width_pt(each.text) for each in rows) + 8
    left, right = names + side, width - side
    height = TOP + ROW * len(rows) + BOTTOM

    def x(value: float) -> float:
        return left + (right - left) * (value - least) / max(most - least, 1e-9)

    body = [_text(x(0), TOP - 5, base_label, anchor="middle", fill=MUTED)]
    for index, each in enumerate(rows):
        y = TOP + ROW * index
        start = 0.0 if each is total else ends[index]
        end = start + each.change
        here, there = sorted((x(start), x(end)))
        fill = TOTAL if each is total else MORE if each.change >= 0 else LESS
        body.append(_line(names, y + ROW, width, y + ROW, GRID))
        body.append(_text(names - 10, y + ROW / 2 + TEXT_PT / 3, each.label, anchor="end", bold=each is total))
        body.append(
            f'<rect x="{here:.1f}" y="{y + 3:.1f}" width="{max(there - here, 0.8):.1f}" height="{ROW - 6:.1f}" '
            f'fill="{fill}" stroke="{INK}" stroke-width="0.4"/>'
        )
        more = each.change >= 0
        edge = x(end) + 4 if more else x(end) - 4
        anchor = "start" if more else "end"
        body.append(_text(edge, y + ROW / 2 + TEXT_PT / 3, each.text, anchor=anchor, bold=each is total))
        if index < len(causes) - 1:
            body.append(_line(x(end), y + ROW - 3, x(end), y + ROW + 3, INK, 0.5))
    body.append(_line(x(0), TOP - 2, x(0), TOP + ROW * len(rows), INK, 0.9))
    return _svg(width, height, title, body)
