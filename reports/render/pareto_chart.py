"""Options as SVG points of cost against time per token; the front, which nothing beats in both, is joined by a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports.render.charts import (
    BUY,
    GRID,
    INK,
    MUTED,
    OTHER,
    TEXT_PT,
    _line,
    _svg,
    _text,
    text_width_pt,
    ticks,
)

LEFT, TOP, BOTTOM = 26.0, 20.0, 28.0


@dataclass(frozen=True)
class Point:
    """One option: cost in the unit of the axis, time per token in ms, and its name, written only on the front."""

    label: str
    cost: float
    tpot_ms: float
    front: bool
    winner: bool = False


def front(
    title: str,
    points: Sequence[Point],
    *,
    cost_unit: str,
    time_unit: str,
    target_ms: float | None,
    target_label: str,
    number: Callable[[float], str],
    width: float = 490,
    height: float = 190,
) -> str:
    """The picture; empty where there are fewer than three options, which a table says as well."""
    if len(points) < 3:
        return ""
    across, up = ticks(max(each.cost for each in points)), ticks(max(each.tpot_ms for each in points))
    if target_ms is not None:
        up = ticks(max(up[-1], target_ms))
    named = sorted((each for each in points if each.front), key=lambda each: each.cost)
    right = width - max(text_width_pt(each.label) for each in named) - 10
    bottom = height - BOTTOM

    def x(cost: float) -> float:
        return LEFT + (right - LEFT) * cost / across[-1]

    def y(tpot_ms: float) -> float:
        return TOP + (bottom - TOP) * (1 - tpot_ms / up[-1])

    body = [_text(0, 9, time_unit, fill=MUTED)]
    for mark in up:
        body.append(_line(LEFT, y(mark), right, y(mark), INK if mark == 0 else GRID))
        body.append(_text(LEFT - 5, y(mark) + 2.7, number(mark), anchor="end", fill=MUTED))
    for mark in across:
        body.append(_line(x(mark), bottom, x(mark), bottom + 3, INK))
        body.append(_text(x(mark), bottom + 12, number(mark), anchor="middle", fill=MUTED))
    body.append(_text(right, height - 3, cost_unit, anchor="end", fill=MUTED))
    if target_ms is not None:
        body.append(_line(LEFT, y(target_ms), right, y(target_ms), INK, 1.0, "3 2"))
        body.append(_text(LEFT + 4, y(target_ms) - 3, target_label, bold=True))
    steps = [f"{x(each.cost):.1f} {y(each.tpot_ms):.1f}" for each in named]
    if len(steps) > 1:
        body.append(f'<path d="M{"L".join(steps)}" fill="none" stroke="{BUY}" stroke-width="1.2"/>')
    for each in sorted(points, key=lambda each: (each.front, each.winner)):
        look = f'fill="{BUY}"' if each.front else f'fill="#ffffff" stroke="{OTHER}" stroke-width="1"'
        radius = 4.0 if each.winner else 2.8
        body.append(f'<circle cx="{x(each.cost):.1f}" cy="{y(each.tpot_ms):.1f}" r="{radius}" {look}/>')
    place = TOP - TEXT_PT
    for each in named:  # from the slowest down, under its point: a label gives way to the one above it
        place = max(y(each.tpot_ms) + TEXT_PT + 2, place + TEXT_PT + 2)
        body.append(_text(x(each.cost), place + 2.7, each.label, bold=each.winner))
    return _svg(width, height, title, body)
