"""Charts: numbers in, the same SVG out, readable without colour and by a screen reader."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from reports.render import charts
from reports.render.charts import Bar, Line

SVG = "{http://www.w3.org/2000/svg}"


def plain(value: float) -> str:
    return f"{value:g}"


def example(**changes: object) -> str:
    options = {"unit": "k CNY", "month_label": "months", "number": plain, "break_even_month": 2,
               "break_even_label": "break-even, month 2"} | changes  # fmt: skip
    lines = [Line("rent", "Rent 40", [0, 20, 40]), Line("buy", "Buy 35", [25, 30, 35])]
    return charts.cumulative_cost("Buying breaks even in month 2", lines, **options)  # type: ignore[arg-type]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_cumulative_cost_is_deterministic_labelled_and_titled() -> None:
    svg = example()
    assert svg == example()
    picture = ElementTree.fromstring(svg)
    assert picture.findtext(f"{SVG}title") == "Buying breaks even in month 2"
    assert picture.get("font-family")
    assert picture.get("role") == "img"
    assert {"Rent 40", "Buy 35", "break-even, month 2", "k CNY", "months", "0"} <= set(texts(svg))


def test_lines_differ_in_dash_as_well_as_colour() -> None:
    paths = [each for each in ElementTree.fromstring(example()).iter(f"{SVG}path") if each.get("stroke-width") == "1.8"]
    assert {(each.get("stroke"), each.get("stroke-dasharray")) for each in paths} == {
        (charts.RENT, charts.DASHES["rent"]), (charts.BUY, None),
    }  # fmt: skip


def test_no_break_even_no_mark() -> None:
    assert "<circle" in example()
    assert "<circle" not in example(break_even_month=None)


def test_ticks_start_at_zero_and_cover_the_highest() -> None:
    # by hand: 1, 2 or 5 times a power of ten, about four steps
    assert charts.ticks(93) == [0, 50, 100]
    assert charts.ticks(8) == [0, 2, 4, 6, 8]
    assert charts.ticks(0) == [0, 1]


def test_bars_are_proportional_from_zero() -> None:
    svg = charts.bars("Memory binds", [Bar("Memory", "binding", 50, "50"), Bar("TPOT", "other", 100, "100")], unit="n")
    widths = [float(each.get("width", "0")) for each in ElementTree.fromstring(svg).iter(f"{SVG}rect")]
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.01)


def test_one_far_longer_bar_is_cut_and_keeps_its_number() -> None:
    rows = [Bar("a", "other", 10, "10"), Bar("b", "other", 12, "12"), Bar("c", "other", 1024, "1,024")]
    svg = charts.bars("t", rows, unit="n", target=9, target_label="recommended 9")
    widths = [float(each.get("width", "0")) for each in ElementTree.fromstring(svg).iter(f"{SVG}rect")]
    assert widths[2] == pytest.approx(charts.LONGEST * widths[1], rel=0.01)
    assert "1,024" in texts(svg)


def test_a_bar_without_a_value_says_so() -> None:
    svg = charts.bars("t", [Bar("Rent", "rent", None, "no price"), Bar("Buy", "buy", 5, "5")], unit="CNY")
    assert "no price" in texts(svg)
    assert len(re.findall("<rect", svg)) == 1


def test_markup_in_labels_is_escaped() -> None:
    svg = charts.bars("<b>", [Bar("<script>", "rent", 1, "&")], unit="n")
    assert "<script>" not in svg
    assert texts(svg)[1:] == ["<script>", "&"]
    assert "/>" in svg


def test_labels_at_line_ends_do_not_touch() -> None:
    svg = charts.cumulative_cost(
        "t", [Line("rent", "Rent", [0, 50]), Line("buy", "Buy", [10, 50])], unit="", month_label="", number=plain
    )
    labels = [each for each in ElementTree.fromstring(svg).iter(f"{SVG}text") if each.text in ("Rent", "Buy")]
    at = [float(each.get("y", "0")) for each in labels]
    assert abs(at[0] - at[1]) >= charts.TEXT_PT
