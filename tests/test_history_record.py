"""The history of answers and prices: what a run adds, what is read back, and the course over months in the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from openpyxl import load_workbook

from reports.catalog.records import Catalog
from reports.history import record
from reports.history.stage import compared
from reports.render import difference_book, view_variance
from reports.render.i18n import translator
from reports.render.sheet import Book
from reports.render.sheets import variance
from reports.render.wording import Wording
from reports.render.workbook import draw
from reports.run import Run
from tests.scenario_text import GOOD, read


def run(folder: Path, catalog: Catalog, period: str, amount: float, rent: float, currency: str = "USD") -> Run:
    """One service on rented L40S at a price; H20 are offered too, without a server price."""
    text = GOOD.replace("2026-11", period).replace("currency: USD", f"currency: {currency}")
    winner = {"service": "qwen2.5-7b-instruct", "candidate_id": "c", "gpu": "l40s", "way": "rent", "winner": True,
              "monthly_cost_amount": amount, "rented_cards": 8.0, "bought_cards": 16.0, "capex_amount": 5.0,
              "demand_concurrency": 100.0, "tpot_ms": float("nan")}  # fmt: skip
    options = pd.DataFrame({
        "gpu": ["l40s", "l40s", "h20-96gb"], "rent_price_per_card_hour": [rent, rent + 1, 3.0],
        "server_amount": [90_000.0, 80_000.0, float("nan")],
    })  # fmt: skip
    facts = pd.DataFrame([
        {"scope": "exchange", "key": "USD/CNY", "value": 7.1, "unit": "CNY/USD", "live": True},
        {"scope": "exchange", "key": "USD/USD", "value": 1.0, "unit": "ratio", "live": False},
    ])  # fmt: skip
    bare = difference_book.bare(read(folder, catalog, text), catalog)
    return replace(bare, shortlist=pd.DataFrame([winner]), options=options, facts=facts)


def test_a_run_adds_its_answers_least_prices_and_rates(catalog: Catalog, tmp_path: Path) -> None:
    found = record.rows(run(tmp_path, catalog, "2026-11", 1000.0, 1.5))
    assert tuple(found.columns) == record.COLUMNS
    assert [tuple(row) for row in found[["kind", "gpu", "name", "value"]].itertuples(index=False)] == [
        ("answer", "l40s", "monthly_cost_amount", 1000), ("answer", "l40s", "rented_cards", 8),
        ("answer", "l40s", "demand_concurrency", 100),
        ("price", "h20-96gb", "rent_price_per_card_hour", 3.0), ("price", "l40s", "rent_price_per_card_hour", 1.5),
        ("price", "l40s", "server_amount", 80_000), ("exchange", "", "USD/CNY", 7.1),
    ]  # fmt: skip


def test_a_month_replaces_its_own_file_with_the_same_bytes(catalog: Catalog, tmp_path: Path) -> None:
    first = run(tmp_path, catalog, "2026-10", 1000.0, 1.5)
    path = record.write(first, tmp_path / "out")
    before = path.read_bytes()
    record.write(run(tmp_path, catalog, "2026-11", 1100.0, 1.5), tmp_path / "out")
    assert record.write(first, tmp_path / "out") == path
    assert path.read_bytes() == before
    whole = pd.read_parquet(tmp_path / "out" / "history")
    assert whole.groupby("period").size().to_dict() == {"2026-10": 7, "2026-11": 7}


def test_a_course_needs_three_months_of_one_currency(catalog: Catalog, tmp_path: Path) -> None:
    out = tmp_path / "out"
    record.write(run(tmp_path, catalog, "2026-09", 900.0, 1.4), out)
    record.write(run(tmp_path, catalog, "2026-10", 6000.0, 1.4, currency="CNY"), out)
    now = run(tmp_path, catalog, "2026-12", 1200.0, 1.6)
    assert record.course(now, out).empty  # September and December: October counts in another currency
    record.write(run(tmp_path, catalog, "2026-11", 1000.0, 1.5), out)
    record.write(run(tmp_path, catalog, "2027-01", 9.0, 1.5), out)  # later than this run
    (out / "history" / "2026-08.s.parquet").write_bytes(b"no table")
    assert sorted(set(record.course(now, out)["period"])) == ["2026-09", "2026-11", "2026-12"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_course_is_in_section_and_sheet(language: str, catalog: Catalog, tmp_path: Path) -> None:
    out = tmp_path / "out"
    runs = [run(tmp_path, catalog, f"2026-{9 + at:02}", 1000.0 * (at + 1), 1.5 + at) for at in range(3)]
    for each in runs[:2]:
        record.write(each, out)
    choice = {"option": "c", "gpu": "l40s", "way": "rent", "cards": 8.0, "amount": 1.0, "capex": 0.0}
    both = {f"{name}_{when}": value for when in ("before", "after") for name, value in choice.items()}
    services = pd.DataFrame([{"service": "qwen2.5-7b-instruct", "change": "same", **both}])
    about = pd.DataFrame({"key": ["period", "exact", "reason", "problem"], "value": ["2026-10", True, "", ""]})
    now = replace(compared(runs[2], None), course=record.course(runs[2], out), variance_services=services,
                  variance_about=about)  # fmt: skip
    words = Wording(now, language, translator(language))
    seen = view_variance.view(words)
    words.translate.require_complete()
    assert seen["course"]["picture"].count("<rect") == 3
    assert [row["numbers"] for row in seen["prices"] if row["name"] == view_variance.RENT] == [[1.5, 2.5, 3.5]]
    book = Book(replace(now, shortlist=now.shortlist.iloc[:0]), translator(language), language)
    draw([variance.sheet(book, [])], tmp_path / "c.xlsx", book)
    page = load_workbook(tmp_path / "c.xlsx", data_only=True).worksheets[0]
    assert (1000, 2000, 3000) in [row[2:5] for row in page.iter_rows(values_only=True)]
