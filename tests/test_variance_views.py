"""What readers see of the difference between two runs: sentences, waterfall and sheet, in both languages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from openpyxl import load_workbook

from reports.catalog.records import Catalog
from reports.history.attribute import Difference, difference
from reports.history.past import Choice, Past
from reports.history.stage import compared, with_difference
from reports.render import difference_book, view_variance
from reports.render.i18n import translator
from reports.render.sandbox import environment
from reports.render.sheet import Book
from reports.render.sheets import variance
from reports.render.waterfall_chart import Fall, waterfall
from reports.render.wording import Wording
from reports.render.workbook import draw
from reports.run import Run
from reports.scenario.schema import Scenario
from tests.scenario_text import read

A100, H100 = "a100-sxm4-80gb", "h100-sxm5-80gb"


def choice(service: str, gpu: str, cards: float, amount: float, way: str = "rent") -> Choice:
    name = f"{service}.fp8.{gpu}.8x.nvlink"
    return Choice(service, name, name, service, "fp8", gpu, "nvlink", way, cards, amount)


@pytest.fixture(scope="module")
def found(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Difference:
    """Two services: one grows from 8 to 16 rented A100 at the same price, one goes from renting A100 to buying H100."""
    scenario: Scenario = read(tmp_path_factory.mktemp("s"), catalog)
    before = Past("s", "2026-10", "2026-10-31", "USD", {
        "qwen2.5-7b-instruct": choice("qwen2.5-7b-instruct", A100, 8, 10_000),
        "deepseek-r1": choice("deepseek-r1", A100, 8, 12_000.004),
    }, None, "its folder has no inputs.zip: it is from an older version")  # fmt: skip
    after = Past("s", "2026-11", "2026-11-30", "USD", {
        "qwen2.5-7b-instruct": choice("qwen2.5-7b-instruct", A100, 16, 20_000),
        "deepseek-r1": choice("deepseek-r1", H100, 8, 9_000.50, "buy"),
    }, (scenario, catalog))  # fmt: skip
    return difference(before, after)


def words(found: Difference, language: str) -> Wording:
    assert found.after.inputs is not None
    scenario, catalog = found.after.inputs
    return Wording(with_difference(_bare(scenario, catalog), found), language, translator(language))


def _bare(scenario: Scenario, catalog: Catalog) -> Run:
    return difference_book.bare(scenario, catalog)


def test_what_to_do_is_said_by_card_and_way(found: Difference) -> None:
    assert view_variance.view(words(found, "en"))["actions"] == [
        "Buy 8 × H100-SXM5-80GB more: 8 instead of 0."  # 16 rented A100 before and after: nothing to do
    ]
    lead = view_variance.lead(words(found, "en")).replace("\u00a0", " ")
    assert lead == ("Against October 2026 the plan costs 7 k USD more a month (31.8 %): 29 k USD instead of "
                    "22 k USD. It needs 24 cards; it was 16.")  # fmt: skip


def test_both_languages_say_everything(found: Difference) -> None:
    for language in ("en", "zh"):
        known = words(found, language)
        seen = view_variance.view(known)
        known.translate.require_complete()
        assert "<svg" in seen["figure"]["picture"]
        assert len(seen["rows"]) == 2


def test_without_an_earlier_run_there_is_one_sentence_or_none(found: Difference) -> None:
    assert found.after.inputs is not None
    bare = _bare(*found.after.inputs)
    first = Wording(compared(bare, None), "en", translator("en"))
    assert view_variance.view(first) == {"lead": "There is no earlier run of this scenario to compare with."}
    assert view_variance.view(Wording(bare, "en", translator("en"))) == {}


def test_the_sheet_adds_up_live(found: Difference, tmp_path: Path) -> None:
    difference_book.write(found, tmp_path / "d.xlsx")
    shown = [load_workbook(tmp_path / "d.xlsx", data_only=values).worksheets[0] for values in (True, False)]
    rows, formulas = ({str(row[0].value): row for row in reversed(list(page.iter_rows())) if row[0].value}
                      for page in shown)  # fmt: skip
    assert rows["All services"][1].value == pytest.approx(22_000)
    assert rows["Demand"][1].value == pytest.approx(10_000)
    assert rows["Another choice"][1].value == pytest.approx(-2_999.50)
    assert rows["As evaluated now"][1].value == pytest.approx(29_000.50)
    # the waterfall: before 22,000, up 10,000 to 32,000, down to 29,000.50; the bar down floats from there
    assert [cell.value for cell in rows["Another choice"][3:8]] == pytest.approx([29_000.5, 29_000.5, 0, 2_999.5, 0])
    assert all(str(formulas["Demand"][column].value).startswith("=") for column in (1, 3, 4, 5, 6, 7))
    assert b"barChart" in _part(tmp_path / "d.xlsx", "xl/charts/chart1.xml")


def _part(path: Path, name: str) -> bytes:
    import zipfile

    with zipfile.ZipFile(path) as package:
        return package.read(name)


def test_a_waterfall_floats_each_cause_on_the_one_before() -> None:
    picture = waterfall("t", [Fall("a", 30, "+30"), Fall("b", -10, "-10")], Fall("all", 20, "+20"), base_label="0")
    import re

    bars = [tuple(map(float, each)) for each in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', picture)]
    (first, up), (second, down), (start, total) = bars
    assert (first, start) == (start, first)  # both begin at zero
    assert up == pytest.approx(3 * down, abs=0.3)  # 30 against 10
    assert second == pytest.approx(first + total, abs=0.2)  # the fall ends where the total ends
    assert waterfall("t", [], Fall("all", 0, "0"), base_label="") == ""


def test_an_older_run_without_inputs_is_written_in_english(found: Difference, tmp_path: Path) -> None:
    older = replace(found, after=replace(found.after, inputs=None))
    difference_book.write(older, tmp_path / "d.xlsx")
    assert load_workbook(tmp_path / "d.xlsx").worksheets[0]["A1"].value == "Variance"


def test_forecast_and_actual_stand_in_section_and_sheet(found: Difference, tmp_path: Path) -> None:
    rows = [("2026-10", "deepseek-r1", "amount", 12_000.0, 12_600.0, 0.05), ("2026-10", "", "cards", 16.0, 8.0, -0.5)]
    columns = ["month", "service", "measure", "forecast", "actual", "error_share"]
    assert found.after.inputs is not None
    run = replace(_bare(*found.after.inputs), actuals=pd.DataFrame(rows, columns=columns))
    for language in ("en", "zh"):
        known = Wording(run, language, translator(language))
        seen = view_variance.view(known)["actuals"]
        known.translate.require_complete()
        assert [row["error"].replace("\u00a0", " ").replace(" %", "%") for row in seen] == ["+5.0%", "−50.0%"]
    book = Book(run, translator("en"), "en")
    draw([variance.sheet(book, [])], tmp_path / "a.xlsx", book)
    page = load_workbook(tmp_path / "a.xlsx", data_only=True).worksheets[0]
    values = {str(row[0]): row[6] for row in page.iter_rows(values_only=True)}
    assert values["All services"] == -0.5


def test_a_plan_that_did_not_change_needs_no_chart() -> None:
    page = environment({}).from_string('{% import "macros.html.j2" as m %}[{{ m.chart({}) }}]').render()
    assert page.split() == ["[", "]"] or page.strip() == "[]"
