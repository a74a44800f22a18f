"""Cards by month as SVG: at hand and rented as columns, needed as a black line, orders marked in their month.

The columns differ in lightness, so the picture reads in grey; the words stand at the marks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reports.render.charts import (
    BUY,
    GRID,
    INK,
    MUTED,
    RENT,
    TEXT_PT,
    _apart,
    _line,
    _svg,
    _text,
    text_width_pt,
    ticks,
)

MOST_ORDERS = 12
"""With more orders than this their sizes would touch: the marks alone are drawn."""


def cards_by_month(
    title: str,
    periods: Sequence[str],
    *,
    needed: Sequence[float],
    at_hand: Sequence[float],
    rented: Sequence[float],
    orders: Sequence[tuple[int, str]],
    unit: str,
    number: Callable[[float], str],
    words: tuple[str, str, str, str],
    width: float = 490,
    height: float = 190,
) -> str:
    """Cards of every month; ``orders`` are (month, size in words); ``words`` are needed, at hand, rented, ordered."""
    months = len(periods)
    marks = ticks(max([*needed, *(own + bridge for own, bridge in zip(at_hand, rented, strict=True)), 1.0]))
    ends = [(needed[-1], f"{words[0]} {number(needed[-1])}"), (at_hand[-1], f"{words[1]} {number(at_hand[-1])}")]
    left = max(text_width_pt(number(mark)) for mark in marks) + 8
    right = max(text_width_pt(text) for text in (*(text for _, text in ends), words[3])) + 8
    top, bottom = 20.0, 40.0 if orders else 28.0
    step, plot_height = (width - left - right) / months, height - top - bottom

    def x(month: float) -> float:
        return left + step * month

    def y(value: float) -> float:
        return top + plot_height * (1 - value / marks[-1])

    body = [_text(0, 9, unit, fill=MUTED)]
    for mark in marks:
        body.append(_line(left, y(mark), x(months), y(mark), INK if mark == 0 else GRID))
        body.append(_text(left - 5, y(mark) + 2.7, number(mark), anchor="end", fill=MUTED))
    gap = min(step * 0.15, 2.0)
    for month, (own, bridge) in enumerate(zip(at_hand, rented, strict=True)):
        body.append(_column(x(month) + gap, step - 2 * gap, y(0), y(own), "#a9cce3"))
        body.append(_column(x(month) + gap, step - 2 * gap, y(own), y(own + bridge), RENT))
    path = "".join(f"{'L' if month else 'M'}{x(month):.1f} {y(value):.1f}L{x(month + 1):.1f} {y(value):.1f}"
                   for month, value in enumerate(needed))  # fmt: skip
    body.append(f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.6"/>')
    every = next((each for each in (1, 2, 3, 6, 12, 24) if months / each <= 9), 24)
    for month in range(0, months, every):
        body.append(_line(x(month + 0.5), y(0), x(month + 0.5), y(0) + 3, INK))
        body.append(_text(x(month + 0.5), y(0) + 11.5, periods[month], anchor="middle", fill=MUTED))
    places = _apart([y(value) for value, _ in ends], TEXT_PT + 3)
    for (_, text), place, colour in zip(ends, places, (INK, BUY), strict=True):
        body.append(_text(x(months) + 5, place + 2.7, text, bold=True, fill=colour))
    if max(rented) > 0:
        most = max(range(months), key=lambda month: rented[month])
        text = f"{words[2]} {number(rented[most])}"
        at = min(max(x(most + 0.5), left + text_width_pt(text) / 2), x(months) - text_width_pt(text) / 2)
        body.append(_text(at, y(at_hand[most] + rented[most]) - 4, text, anchor="middle", bold=True, fill="#9a6200"))
    body += _orders(orders, x, y(0) + 18)
    if orders:
        body.append(_text(x(months) + 5, y(0) + 24, words[3], fill=BUY))
    return _svg(width, height, title, body)


def _column(x: float, width: float, bottom: float, top: float, fill: str) -> str:
    if bottom - top < 0.05:
        return ""
    return f'<rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{bottom - top:.1f}" fill="{fill}"/>'


def _orders(orders: Sequence[tuple[int, str]], x: Callable[[float], float], top: float) -> list[str]:
    """A triangle in the month of each order, its size below."""
    body = []
    for month, size in orders:
        at = x(month + 0.5)
        body.append(f'<path d="M{at - 3:.1f} {top:.1f}h6l-3 5Z" fill="{BUY}"/>')
        if len(orders) <= MOST_ORDERS:
            body.append(_text(at, top + 13, size, anchor="middle", fill=BUY))
    return body
