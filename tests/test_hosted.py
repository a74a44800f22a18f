"""Hosted APIs: the published example of a month's bill, and which row of a price list stands for the market."""

from __future__ import annotations

import datetime
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from reports.catalog.read import read_catalog
from reports.cost import api_price
from reports.cost.ways import own_wins_from_mtok
from reports.formulas import hosted

BOOK = read_catalog()
COLUMNS = [
    "model", "provider", "provider_model", "currency", "input_per_mtok", "output_per_mtok", "cached_input_per_mtok",
    "source", "as_of",
]  # fmt: skip


def market(*rows: tuple[str, str, str, float, float]) -> Any:
    """The catalog with these (provider, provider_model, currency, input, output) for one model and no other price."""
    full = [("qwen2.5-7b-instruct", *row, float("nan"), "litellm-prices", "2026-11-01") for row in rows]
    return replace(BOOK, api=pd.DataFrame(full, columns=COLUMNS))


def scenario(currency: str = "USD") -> Any:
    return SimpleNamespace(
        currency=currency, as_of=datetime.date(2026, 11, 30), prices=SimpleNamespace(max_age_days=180)
    )


def test_the_published_month() -> None:
    # 2,000 M input at 0.18, 500 M output at 0.54, 18,000 operations at 0.05, 15,000 to set up over 36 months
    inputs = hosted.api_input_amount_per_month(2_000, 0.0, 0.18, 0.18)
    outputs = hosted.api_output_amount_per_month(500, 0.54)
    other = hosted.api_other_amount_per_month(18_000, 0.05, 15_000, 36)
    month = hosted.api_amount_per_month(inputs, outputs, other)
    assert (inputs, outputs) == pytest.approx((360, 270))
    assert other == pytest.approx(900 + 15_000 / 36)
    assert month == pytest.approx(1_946.67, abs=0.005)
    assert month / 2_500 == pytest.approx(0.779, abs=0.0005)


def test_cached_tokens_have_their_own_price() -> None:
    assert hosted.api_input_amount_per_month(1_000, 0.4, 1.0, 0.25) == pytest.approx(600 + 100)


def test_the_middle_provider_stands_for_the_market() -> None:
    book = market(
        ("a", "qwen2.5-7b", "USD", 0.10, 0.10), ("b", "qwen2.5-7b", "USD", 0.20, 0.20),
        ("c", "qwen2.5-7b", "USD", 0.90, 0.90), ("a", "qwen2.5-7b-turbo", "USD", 0.80, 0.80),
    )  # fmt: skip
    row = api_price.middle("qwen2.5-7b-instruct", 0.8, scenario(), book)
    assert row is not None
    assert (row["provider"], row["providers"]) == ("b", 3)


def test_a_relative_of_another_size_is_not_the_model() -> None:
    book = market(("a", "qwen2.5-1.5b", "USD", 0.01, 0.01), ("b", "qwen2.5-7b", "USD", 0.2, 0.2))
    assert api_price.eligible("qwen2.5-7b-instruct", scenario(), book)["provider"].tolist() == ["b"]


def test_free_trials_and_old_rows_are_no_prices() -> None:
    book = market(("a", "qwen2.5-7b:free", "USD", 0.0, 0.0))
    assert api_price.middle("qwen2.5-7b-instruct", 0.5, scenario(), book) is None
    old = replace(book, api=book.api.assign(input_per_mtok=1.0, output_per_mtok=1.0, as_of="2026-01-01"))
    assert api_price.middle("qwen2.5-7b-instruct", 0.5, scenario(), old) is None


def test_prices_are_turned_into_the_currency_of_the_scenario() -> None:
    book = market(("a", "qwen2.5-7b", "USD", 1.0, 3.0))
    row = api_price.middle("qwen2.5-7b-instruct", 0.8, scenario("CNY"), book)
    assert row is not None
    option = {"output_mtok_per_month": 500.0, "input_mean_tokens": 4_000.0, "output_mean_tokens": 1_000.0}
    month = api_price.amount_per_month(row, option)
    rate = 6.7394  # CNY for one USD, 2026-08-22
    assert month["mtok"] == 2_000
    assert month["total"] == pytest.approx((2_000 * 1 + 500 * 3) * rate)


def test_own_cards_win_from_the_traffic_of_the_crossover_case() -> None:
    # the fixture of test_crossover: one unit serves 81 M tokens and costs 113.40 at the hosted 1.40: at 100 it wins at
    # once, from 100 / 1.40 million tokens on
    row = {"provider": "x", "rate": 1.0, "input_per_mtok": 1.0, "output_per_mtok": 3.0,
           "cached_input_per_mtok": float("nan")}  # fmt: skip
    option = {
        "output_mtok_per_month": 16.2, "input_mean_tokens": 4_000.0, "output_mean_tokens": 1_000.0,
        "units_needed": 1.0, "monthly_cost_amount": 100.0, "demand_concurrency": 10.0,
        "recommended_concurrency": 10.0,
    }  # fmt: skip
    assert own_wins_from_mtok(option, row) == pytest.approx(100 / 1.4, abs=2e-6)
    assert own_wins_from_mtok({**option, "monthly_cost_amount": 114.0}, row) is None


def test_the_cover_says_which_hosted_prices_are_old() -> None:
    """As of 30 November with 180 days allowed: 1 August is 121 days old, 1 January 333."""
    found = []
    for day in ("2026-11-01", "2026-08-01", "2026-01-01"):
        asked = scenario()
        asked.service_axis = [SimpleNamespace(model="qwen2.5-7b-instruct")]
        priced = market(("a", "a/qwen2.5-7b", "USD", 1.0, 1.0))
        book = replace(priced, api=priced.api.assign(as_of=day))
        found.append([(message, str(values["models"])) for message, values in api_price.warnings(asked, book)])
    assert found == [
        [],
        [(api_price.AGEING, "qwen2.5-7b-instruct (121 days)")],
        [(api_price.TOO_OLD, "qwen2.5-7b-instruct (333 days)")],
    ]
