"""Cost against time per token as a picture: the front is joined and named, what is beaten is hollow."""

from __future__ import annotations

from itertools import pairwise

from reports.render.pareto_chart import Point, front

POINTS = [
    Point("cheap", 10, 50, front=True, winner=True),
    Point("fast", 20, 25, front=True),
    Point("beaten <b>", 20, 50, front=False),
]


def drawn(points: list[Point]) -> str:
    return front("t", points, cost_unit="k USD", time_unit="TPOT", target_ms=40, target_label="target", number=str)


def test_the_front_is_joined_and_named_and_the_rest_is_not() -> None:
    picture = drawn(POINTS)
    assert [name for name in ("cheap", "fast", "beaten") if name in picture] == ["cheap", "fast"]
    assert (picture.count("<circle"), picture.count('fill="#ffffff"')) == (3, 1)
    assert picture.count('r="4.0"') == 1


def test_two_options_need_no_picture() -> None:
    assert drawn(POINTS[:2]) == ""


def test_names_of_near_points_do_not_touch() -> None:
    picture = drawn([Point(f"n{k}", 10 + k / 100, 50 - k / 100, front=True) for k in range(4)])
    heights = [float(each.split('y="')[1].split('"')[0]) for each in picture.split("<text ") if ">n" in each]
    assert all(after - before >= 9 for before, after in pairwise(heights))
