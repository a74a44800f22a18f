"""Inputs moved one by one, two at a time and by chance: worked by hand on the case of ``test_cost``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cost import priced

from reports.cost.blocks import COST_BLOCKS, rank
from reports.plan import spares
from reports.sensitivity.chances import DRAWS, chances, draw, triangular
from reports.sensitivity.grid import HOURS_SHARES, PRICE_FACTORS, grid
from reports.sensitivity.inputs import RENT, Uncertain, uncertain
from reports.sensitivity.recost import Recost
from reports.sensitivity.tornado import PLAN, tornado

WAYS = ["rent", "buy"]

# Hand: 16 cards, 7 CNY/USD, 730 hours: one USD of rent a card-hour is 81,760 CNY a month, and 2 USD are 163,520.
RENT_PER_USD = 16 * 7 * 730
# Owning without discount over 36 months: servers 2 x 250,000 x 7 = 3,500,000, network a tenth: capex 3,850,000; left at
# the end 35 % of the servers, 1,225,000. Power 20 kW x (0.3 + 0.5 x 0.7) = 13 kW x 1.25 x 730 h x 0.8 = 9,490;
# colocation 20 x 500 = 10,000; maintenance 3,500,000 x 0.06 / 12 = 17,500. (3,850,000 - 1,225,000)/36 + 36,990.
BUY = (3_850_000 - 1_225_000) / 36 + 9_490 + 10_000 + 17_500


def rows(*changes: dict[str, Any]) -> pd.DataFrame:
    """Short-list rows of the case: money columns, way and winner."""
    ranked = rank(priced(*changes), ways=WAYS)
    return ranked.assign(winner=ranked["rank"] == 1)


def of(row: pd.DataFrame, column: str, low: float, mid: float, high: float, *indices: int) -> Uncertain:
    places = tuple((index, column) for index in indices or range(len(row)))
    return Uncertain("assumption", "", column, column, "", low, mid, high, "judgement", places)


def test_triangular_quantiles_by_hand() -> None:
    # from 0 over 1 to 4: the area left of the mode is 1/4; above, 1 - (4 - x)^2 / 12
    found = triangular(np.array([0.0, 0.0625, 0.25, 1 - 1 / 12, 1.0]), 0.0, 1.0, 4.0)
    assert found == pytest.approx([0, 0.5, 1, 3, 4])


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0, 10))
def test_triangular_stays_inside_and_rises(a: float, b: float, c: float) -> None:
    low, mid, high = sorted((a, b, c))
    found = triangular(np.linspace(0, 1, 21), low, mid, high)
    assert ((found >= low - 1e-9) & (found <= high + 1e-9)).all()
    assert (np.diff(found) >= -1e-9).all()


def test_base_costs_are_those_worked_by_hand() -> None:
    case = rows({})
    assert case["rent_equivalent_amount_per_month"].iloc[0] == pytest.approx(2 * RENT_PER_USD)
    assert case["buy_equivalent_amount_per_month"].iloc[0] == pytest.approx(BUY)
    assert case["way"].tolist() == ["buy"]


def test_tornado_moves_one_input_and_finds_the_switching_price() -> None:
    case = rows({})
    rent = of(case, RENT, 1.0, 2.0, 3.0)
    found = tornado(case, Recost(case, COST_BLOCKS), [rent], WAYS)
    ours = found[found["option_id"] != PLAN]
    assert len(ours) == 1
    row = ours.iloc[0]
    # owning does not move with the rent, but at 1 USD renting is cheaper: 81,760 against 109,906.67
    assert (row["way"], row["way_at_low"], row["way_at_high"], row["decides"]) == ("buy", "rent", "buy", True)
    assert row["switching_value"] == pytest.approx(BUY / RENT_PER_USD, rel=1e-9)
    assert row["cost_at_low"] == row["cost_at_high"] == pytest.approx(BUY)


def test_tornado_orders_by_swing_and_adds_the_winners_up() -> None:
    case = rows({"service": "a", "option_id": "a"}, {"service": "b", "option_id": "b"})
    tariff = of(case, "electricity_price_per_kwh", 0.4, 0.8, 1.6)
    colocation = of(case, "colocation_price_per_kw_month", 450, 500, 600)
    found = tornado(case, Recost(case, COST_BLOCKS), [colocation, tariff], WAYS)
    plan = found[found["option_id"] == PLAN]
    assert plan["column"].tolist() == ["electricity_price_per_kwh", "colocation_price_per_kw_month"]
    first = plan.iloc[0]
    assert first["cost"] == pytest.approx(2 * BUY)
    assert first["cost_at_low"] == pytest.approx(2 * (BUY - 9_490 / 2))
    assert first["cost_at_high"] == pytest.approx(2 * (BUY + 9_490))
    assert plan.iloc[1]["swing"] == pytest.approx(2 * 20 * 150)


def test_chance_that_renting_is_cheaper_is_the_area_below_the_tie() -> None:
    case = rows({})
    low, mid, high = 1.0, 1.2, 2.0
    tie = BUY / RENT_PER_USD  # 1.344 USD, above the mode
    expected = 1 - (high - tie) ** 2 / ((high - low) * (high - mid))
    found = chances(case, Recost(case, COST_BLOCKS), [of(case, RENT, low, mid, high)], WAYS).set_index("way")
    assert found.loc["rent", "cheapest_share"] == pytest.approx(expected, abs=4 * 0.5 / DRAWS**0.5)
    assert found["cheapest_share"].sum() == pytest.approx(1)
    p90 = high - np.sqrt(0.1 * (high - low) * (high - mid))
    assert found.loc["rent", "cost_p90"] == pytest.approx(p90 * RENT_PER_USD, rel=0.02)
    assert found.loc["buy", "cost_p10"] == found.loc["buy", "cost_p90"] == pytest.approx(BUY)


def test_draws_of_an_input_do_not_depend_on_the_others() -> None:
    case = rows({})
    rent, tariff = of(case, RENT, 1, 2, 3), of(case, "electricity_price_per_kwh", 0.4, 0.8, 1.6)
    together, alone = draw([tariff, rent]), draw([rent])
    assert (together[1] == alone[0]).all()
    assert abs(np.corrcoef(together)[0, 1]) < 0.05


def test_one_draw_holds_for_every_option_that_reads_the_fact() -> None:
    case = rows({"option_id": "a"}, {"option_id": "b"})
    recost = Recost(case, COST_BLOCKS)
    tariff = of(case, "electricity_price_per_kwh", 0.4, 0.8, 1.6)
    columns = recost(recost.moved([tariff], draw([tariff], 50)))
    energy = np.asarray(columns["energy_amount_per_month"])
    assert energy.shape == (2, 50)
    assert (energy[0] == energy[1]).all()
    assert len(np.unique(energy[0])) == 50


def test_grid_cells_are_share_times_price() -> None:
    case = rows({})
    found = grid(case)
    assert len(found) == len(HOURS_SHARES) * len(PRICE_FACTORS)
    cell = found[(found["hours_share"] == 0.5) & (found["price_factor"] == 1.5)].iloc[0]
    assert cell["rent_amount_per_month"] == pytest.approx(0.5 * 1.5 * 2 * RENT_PER_USD)
    assert cell["saving_amount_per_month"] == pytest.approx(0.75 * 2 * RENT_PER_USD - BUY)


def test_grid_leaves_out_an_option_with_one_price() -> None:
    assert grid(rows({"server_price": np.nan})).empty


def test_ranges_come_from_facts_and_from_the_band_of_the_prediction() -> None:
    case = rows({}).assign(
        recommended_concurrency=100.0, recommended_concurrency_low=80.0, recommended_concurrency_high=130.0,
        demand_peak_concurrency=300.0, demand_requests_per_s=0.0,
    )  # fmt: skip
    columns = ["scope", "key", "column", "value", "unit", "low", "high", "basis"]
    facts = pd.DataFrame(
        [
            ["assumption", "", "pue", 1.25, "ratio", 1.2, 1.5, "judgement"],
            ["assumption", "", "network_share", 0.1, "ratio", 0.1, 0.1, "judgement"],
            ["host", "h", "server_power_kw", 10.0, "kW", np.nan, np.nan, "published"],
            ["assumption", "", "surge_share", 0.0, "ratio", 0.0, 0.25, "judgement"],  # a policy is no chance
        ],
        columns=columns,
    )
    ratio = pd.DataFrame(
        {"name": ["demand_error_ratio", "rent_quote_ratio"], "region": "global", "low": [0.8, 0.9], "mid": 1.0,
         "high": [1.25, 1.2]}
    )  # fmt: skip
    catalog = _catalog_with(ratio)
    run: Any = SimpleNamespace(facts=facts, catalog=catalog, scenario=SimpleNamespace(region="china"))
    blocks = (spares.BLOCK, *COST_BLOCKS)
    found = {each.column: each for each in uncertain(run, case.assign(surge_share=0.0), blocks)}
    assert set(found) == {"recommended_concurrency", "demand_peak_concurrency", RENT, "pue"}
    assert (found["recommended_concurrency"].low, found["recommended_concurrency"].high) == (80, 130)
    assert (found["demand_peak_concurrency"].low, found["demand_peak_concurrency"].high) == (240, 375)
    # the median of the market, 21 CNY at 7: 3 USD, lies above 2 x 1.2
    assert (found[RENT].low, found[RENT].high) == pytest.approx((1.8, 3.0))


def _catalog_with(ratios: pd.DataFrame) -> Any:
    """The shipped catalog with other ranges for what no source gives."""
    from dataclasses import replace

    from reports.catalog.read import read_catalog

    book = read_catalog()
    like = book.assumptions["demand_error_ratio", "global"]
    made = {
        (row["name"], "global"): replace(like, name=row["name"], low=row["low"], mid=row["mid"], high=row["high"])
        for row in ratios.to_dict("records")
    }
    return replace(book, assumptions={**book.assumptions, **made})
