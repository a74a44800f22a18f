"""The Demand sheet and the Workload section: live from users to cards, and the same figures in both languages."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from recalculate import differences, formulas, part, recalculate, values, with_part
from scenario_text import GOOD, write

from reports.catalog.records import Catalog
from reports.pipeline import evaluate
from reports.render import view_workload, workbook
from reports.render.i18n import translator
from reports.render.load_chart import Week, week
from reports.render.wording import Wording
from reports.run import Run
from reports.scenario.read import read_scenario

SERVICES = """\
method: rule-of-thumb
costs: {horizon_months: 12}
services:
  - {name: users, model: qwen2.5-7b-instruct,
     demand: {users: {count: 36000, active_share: 0.1, requests_per_hour: 2}, growth: {rate_per_month: 0.1}}}
  - {name: tokens, model: qwen2.5-7b-instruct,
     demand: {tokens_per_month: {input: 1345536000}, hourly_profile: office-hours, growth: {2027-01: 2691072000}}}
  - {name: curve, model: qwen2.5-7b-instruct,
     demand: {peak_concurrency: 10, growth: {rate_per_month: 0.5, saturation: 30}}}
"""


@pytest.fixture(scope="module")
def run(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Run:
    text = GOOD.replace("  model: [qwen2.5-7b-instruct, deepseek-r1]\n", "").replace(
        "  demand: {peak_concurrency: 100}\n", ""
    )
    text = text.replace("[h20-96gb, l40s]", "[h20-96gb]").replace("[fp8, int4]", "[fp8]")
    return evaluate(read_scenario(write(tmp_path_factory.mktemp("s"), text + SERVICES), catalog), catalog)


@pytest.fixture(scope="module")
def books(run: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The workbook, and one with twice the users."""
    folder = tmp_path_factory.mktemp("books")
    book = folder / "book.xlsx"
    workbook.write(run, book)
    cell = next(
        str(row[2].coordinate)
        for row in load_workbook(book)["Inputs"].iter_rows(max_col=3)
        if (row[0].value, row[1].value) == ("Users", "users")
    )
    name = f"xl/worksheets/sheet{load_workbook(book, read_only=True).sheetnames.index('Inputs') + 1}.xml"
    text, count = re.subn(rf'(<c r="{cell}"[^>]*><v>)[^<]*(</v>)', r"\g<1>72000\g<2>", part(book, name))
    assert count == 1
    return {"book": book, "edited": with_part(book, folder / "edited.xlsx", name, text)}


def demand_rows(path: Path) -> dict[tuple[str, str], Any]:
    """(label, of what) -> value of the rows of the Demand sheet above the growth table."""
    sheet = load_workbook(path, data_only=True)["Demand"]
    return {(row[0].value, row[1].value): row[2].value for row in sheet.iter_rows(max_col=3) if row[0].value}


def test_the_sheet_shows_how_arrivals_follow(run: Run, books: dict[str, Path]) -> None:
    """36,000 x 0.1 x 2 / 3600 = 2 a second; a request a second on average is 1 / 0.3109 at the peak."""
    shown = demand_rows(books["book"])
    assert shown["Demand, arrivals", "users (Qwen2.5-7B-Instruct)"] == pytest.approx(2)
    assert shown["Demand, arrivals", "tokens (Qwen2.5-7B-Instruct)"] == pytest.approx(1 / 0.310893, rel=1e-4)
    assert shown["Demand, requests at once", "curve (Qwen2.5-7B-Instruct)"] == 10


def test_growth_by_month_is_that_of_the_scenario(books: dict[str, Path]) -> None:
    """10 % a month; twice as many tokens from January on; 3 / (1 + 2 / 1.5^m) from 10 towards 30."""
    sheet = load_workbook(books["book"], data_only=True)["Demand"]
    rows = {row[0]: row[2:5] for row in sheet.iter_rows(max_col=5, values_only=True) if row[0]}
    assert rows["2026-11"] == pytest.approx((1, 1, 1))
    assert rows["2026-12"] == pytest.approx((1.1, 1, 9 / 7))
    assert rows["2027-01"] == pytest.approx((1.21, 2, 27 / 17))


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice recalculates the workbook")
def test_recalculation_agrees_and_users_flow_to_cards(books: dict[str, Path], tmp_path: Path) -> None:
    fresh, edited = recalculate(list(books.values()), tmp_path)
    assert [place for place in formulas(books["book"]) if place[0] == "Demand"]
    assert [each for each in differences(books["book"], fresh) if each.sheet in ("Demand", "Inputs")] == []
    label = ("Demand, arrivals", "users (Qwen2.5-7B-Instruct)")
    assert demand_rows(edited)[label] == pytest.approx(2 * demand_rows(fresh)[label])
    inputs = {
        (row[0], row[1]): row[2]
        for row in load_workbook(edited, data_only=True)["Inputs"].iter_rows(max_col=3, values_only=True)
    }
    assert inputs["Demand, arrivals", "users"] == pytest.approx(4)
    assert not [value for value in values(edited).values() if isinstance(value, str) and value.startswith("#")]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_section_says_what_was_asked(run: Run, language: str) -> None:
    words = Wording(run, language, translator(language))
    rows = view_workload.lengths(words)
    assert [row["mean"] for row in rows[:2]] == ["512", "256"]
    assert rows[0]["p95"] == "512"
    assert rows[1]["p95"] == "1,024"
    demands = {row["service"].split(" ")[0].split("（")[0]: row for row in view_workload.demands(words)}
    assert demands["users"]["stated"] == {
        "en": "36,000 users, 10 % of them active in the busiest hour, 2 requests an hour each",
        "zh": "36,000 名用户，最忙一小时 10% 活跃，每人每小时 2 个请求",
    }[language]  # fmt: skip
    assert "31" in demands["tokens"]["mean"]
    assert "2 " in demands["tokens"]["growth"]
    figure = view_workload.week_figure(words)
    assert {"en": "Office hours: on average the load is 31 % of its peak",
            "zh": "办公时间：平均负载为高峰的 31%"}[language] == figure["title"]  # fmt: skip


def test_a_scenario_without_profiles_draws_no_week(run: Run) -> None:
    flat = tuple(each for each in run.scenario.services if each.workload.profile is None)
    scenario = run.scenario.model_copy(update={"services": flat})
    assert len(flat) == 2
    words = Wording(dataclasses.replace(run, scenario=scenario), "en", translator("en"))
    assert view_workload.week_figure(words) == {"title": "", "picture": "", "note": ""}


def test_the_chart_has_a_point_an_hour_and_the_mean() -> None:
    """Half of the hours at the peak: the dashed mean is in the middle of the frame, 18 to 134 from above."""
    shares = [1.0, 0.0] * 84
    picture = week(
        "t", [Week("name", shares, "mean 50 %")], list("MTWTFSS"), unit="u", number=lambda share: f"{share:.0%}"
    )
    assert picture.count("<svg") == 1
    line = next(path for path in re.findall(r'd="([^"]*)" fill="none"[^>]*stroke-width="1.5"', picture))
    assert line.count("L") == 167
    assert 'stroke-dasharray="3 2"' in picture
    mean = re.search(r'd="M[0-9.]+ ([0-9.]+)L[0-9.]+ ([0-9.]+)"[^>]*stroke-width="0.9" stroke-dasharray="3 2"', picture)
    assert mean is not None
    assert float(mean[1]) == float(mean[2]) == 76.0
    assert "<title>t</title>" in picture
