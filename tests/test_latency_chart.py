"""The chart of latency against load: target, recommended load, lines that leave the frame, and words at their ends."""

from __future__ import annotations

import re

import pytest

from reports.render.latency_chart import Curve, axis, latency

LOADS = [10.0, 20.0, 30.0, 40.0]


def drawn(values: list[float], target: float | None = 100.0, recommended: float | None = 30.0) -> str:
    return latency(
        "TTFT P99: 60 of 100 ms",
        LOADS,
        [Curve("aim", "P99", values), Curve("less", "P50", [value / 3 for value in values])],
        unit="TTFT, ms",
        load_label="requests in a replica",
        number=lambda value: f"{value:g}",
        load_number=lambda value: f"{value:g}",
        target=target,
        target_label="target P99",
        recommended=recommended,
        recommended_label="recommended",
    )


def points(picture: str, dash: str | None, width: str) -> list[tuple[float, float]]:
    """The corners of the one line with this width (and dash)."""
    dashes = "" if dash is None else f' stroke-dasharray="{dash}"'
    (path,) = re.findall(rf'd="M([^"]+)" fill="none" stroke="[^"]+" stroke-width="{width}"{dashes}/>', picture)
    return [tuple(float(each) for each in point.split()) for point in path.split("L")]  # type: ignore[misc]


def test_target_and_recommended_load_are_where_they_belong() -> None:
    picture = drawn([40, 50, 60, 90])
    (left, target), (_right, same) = points(picture, "3 2", "1.2")
    assert target == same
    line = points(picture, None, "1.8")
    # the target of 100 lies above all of the line, and the line rises
    assert all(y > target for _, y in line)
    assert [y for _, y in line] == sorted((y for _, y in line), reverse=True)
    (at, _), (also, _) = points(picture, "1.5 2", "0.9")
    assert at == also == pytest.approx(line[2][0])  # the third load is the recommended one
    for text in ("target P99", "recommended", "P50", "requests in a replica", "TTFT, ms"):
        assert f">{text}</text>" in picture
    assert left == pytest.approx(points(picture, "1.5 2", "1.1")[0][0] - (line[1][0] - line[0][0]))


def test_what_is_far_too_late_leaves_the_frame_at_the_top() -> None:
    picture = drawn([40, 80, 400, 90_000])
    line = points(picture, None, "1.8")
    top = min(y for _, y in line)
    assert line[-1][1] == top
    assert line[-1][0] < 232
    assert len(line) <= 4
    assert all(y >= top for _, y in line)


def test_the_axis_counts_from_zero_or_in_powers_of_ten() -> None:
    near = axis([20.0, 45.0], 50.0)
    assert not near.logarithmic
    assert near.place(0.0) == 0.0
    assert near.high >= 50.0
    far = axis([60.0, 5_000.0], 2_000.0)
    assert far.logarithmic
    assert far.place(200.0) - far.place(100.0) == pytest.approx(far.place(2000.0) - far.place(1000.0))
    assert far.high >= 2_000.0
    assert axis([5.0], None).high >= 5.0


def test_a_chart_without_target_or_recommendation() -> None:
    picture = drawn([40, 50, 60, 90], target=None, recommended=None)
    assert "target P99" not in picture
    assert "recommended" not in picture
    assert picture == drawn([40, 50, 60, 90], target=None, recommended=None)
