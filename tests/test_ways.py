"""Ways beside the ranking: business hours and the present fleet with what they serve, and the regret of stopping."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenario_text import GOOD, problems
from test_cost import priced
from test_hourly import LOADS, SIZES, option

from reports.catalog.records import Catalog
from reports.cost.hourly import Offer, business_hours, opened, table
from reports.cost.lines import COLUMNS
from reports.cost.timeline import evaluate
from reports.cost.ways import BUSINESS, KEEP
from reports.outputs import summary
from reports.pipeline import evaluate as evaluate_scenario
from reports.run import Run
from reports.scenario.read import read_scenario

DAY = [0.0] * 8 + [1.0] * 12 + [0.0] * 4
"""Eight in the morning to eight in the evening."""


def test_business_hours_are_where_the_load_is() -> None:
    week = np.array(DAY * 5 + [0.0] * 48)
    found = business_hours(week, 60)
    assert found.sum() == 60
    assert np.array_equal(found, week > 0)
    # 58 hours are eleven on each of five days: whole hours
    assert business_hours(week, 58).sum() == 55
    # where every day is busy 84 hours are twelve on each of seven, which carry all; sixteen on five carry 5/7
    every_day = np.array(DAY * 7)
    assert np.array_equal(business_hours(every_day, 84), every_day > 0)
    assert business_hours(np.ones(168), 168).all()
    assert business_hours(np.ones(168), 126).reshape(7, 24).sum(axis=1).tolist() == [18] * 7


def test_load_outside_business_hours_by_hand() -> None:
    # the weekend carries a tenth of the peak in all of its 48 hours: 4.8 of 64.8 are outside
    week = np.array(DAY * 5 + [0.1] * 48)
    outside = week[~business_hours(week, 60)].sum() / week.sum()
    assert outside == pytest.approx(4.8 / 64.8)


def test_cards_in_business_hours_by_hand() -> None:
    # 4 units of 8 cards for 60 of the 168 hours of a week, 14 CNY a card-hour, 36 months, nothing discounted
    window = business_hours(np.array(DAY * 5 + [0.0] * 48), 60)
    found = opened(option(), window, Offer(14.0, 8.0)).iloc[0]
    assert found["card_hours_per_month"] == pytest.approx(32 * 730 * 60 / 168)
    assert found["present_cost_amount"] == pytest.approx(32 * 730 * 60 / 168 * 14 * 36)
    assert found["equivalent_amount_per_month"] == pytest.approx(32 * 730 * 60 / 168 * 14)
    assert opened(option(), window, None).empty
    assert opened(option(), window, Offer(14.0, 4.0)).empty  # no stage of eight cards fits


@pytest.mark.parametrize("hours", [0, 169, 55.5])
def test_hours_that_no_week_has_are_refused(hours: float, catalog: Catalog, tmp_path: Path) -> None:
    found = problems(tmp_path, catalog, f"{GOOD}assumptions: {{business_week_hours: {hours:g}}}\n")
    assert len(found) == 1
    assert found[0].startswith("s.yaml:16:")
    assert f"read {hours:g}; expected a whole number of hours, 1 to 168" in found[0]


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), LOADS)
def test_a_dearer_rent_never_makes_renting_better(one: int, more: int, shape: list[float]) -> None:
    load = np.resize(np.array(shape), 168)
    cheap, dear = (
        table(option(), load, Offer(float(price), 8.0), None, may_buy=False)["present_cost_amount"].min()
        for price in (one, one + more)
    )
    assert dear > cheap
    owning = priced({**SIZES, "sized_cards": 32.0}).iloc[0]["buy_present_cost_amount"]
    assert owning - dear < owning - cheap


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 167), st.integers(1, 60))
def test_more_business_hours_never_cost_less(hours: int, more: int) -> None:
    flat = np.ones(168)
    fewer, longer = (
        opened(option(), business_hours(flat, min(each, 168)), Offer(14.0, 8.0))["present_cost_amount"].iloc[0]
        for each in (hours, hours + more)
    )
    assert longer >= fewer


@settings(max_examples=10, deadline=None)
@given(st.floats(0.01, 1000))
def test_cash_flows_times_a_factor_are_worth_that_many_times_as_much(factor: float) -> None:
    prices = {"server_price": 1_000_000.0, "rent_offer_price_per_card_hour": 9.0,
              "electricity_price_per_kwh": 0.7, "colocation_price_per_kw_month": 500.0,
              "staff_cost_per_year": 300_000.0, "licence_price_per_card_year": 100.0,
              "egress_price_per_gb": 0.2}  # fmt: skip
    base = priced({"annual_discount_rate": 0.1, **prices})
    scaled = priced({"annual_discount_rate": 0.1, **{name: value * factor for name, value in prices.items()}})
    (_, first), (_, second) = evaluate(base), evaluate(scaled)
    for way in ("rent", "buy"):
        assert second[f"{way}_npv_amount"].iloc[0] == pytest.approx(factor * first[f"{way}_npv_amount"].iloc[0])


def stopped(**change: Any) -> Any:
    long, results = evaluate(priced(change))
    return long, results.iloc[0]


def test_regret_of_stopping_by_hand() -> None:
    """Whoever buys and stops on day 0 has lost the outlay; whoever rents loses what owning saves at the end."""
    long, results = stopped()
    rent = -long["rent_cash_amount"].cumsum()
    buy = -long["buy_cash_amount"].cumsum()  # nothing is discounted in this case
    best = np.minimum(rent, buy)
    assert long["hindsight_amount"].to_numpy() == pytest.approx(best.to_numpy())
    assert long["buy_regret_amount"].to_numpy() == pytest.approx((buy - best).to_numpy())
    assert long["rent_regret_amount"].to_numpy() == pytest.approx((rent - best).to_numpy())
    assert long["buy_regret_amount"].iloc[0] == pytest.approx(-long["buy_cash_amount"].iloc[0])
    assert results["buy_worst_regret_amount"] == long["buy_regret_amount"].max()
    assert results["rent_worst_regret_amount"] == long["rent_regret_amount"].max()


def test_renting_until_the_rents_reach_the_outlay_costs_at_most_twice_the_better_way() -> None:
    """The classic bound of ski rental, before the sale; one month's rent more, since months are whole."""
    long, _ = stopped()
    rent = -long["rent_cash_amount"].to_numpy()
    running = -long["buy_running_cash_amount"].to_numpy()
    outlay = -long["buy_cash_amount"].iloc[0]
    assert (running <= rent).all()
    switch = int(np.argmax(np.cumsum(rent) >= outlay)) or len(rent)
    months = np.arange(len(rent))
    paid = np.cumsum(np.where(months <= switch, rent, running) + np.where(months == switch, outlay, 0.0))
    assert (paid[:-1] <= 2 * long["hindsight_amount"].to_numpy()[:-1] + rent[1]).all()


@pytest.fixture(scope="module")
def flat(catalog: Catalog, repository: Path) -> Run:
    return evaluate_scenario(read_scenario(repository / "scenarios" / "eight-a100-7b.yaml", catalog), catalog)


def test_a_way_that_serves_a_part_is_never_the_cheapest(flat: Run) -> None:
    part = flat.ways[flat.ways["way"] == BUSINESS]
    assert len(part)
    # no profile: a flat load, 60 of 168 hours
    assert part["served_share"].to_numpy() == pytest.approx(60 / 168)
    assert not part["best"].any()
    said = [plan for plan in summary(flat)["options"] if plan["option"] == BUSINESS]
    assert said
    assert all(plan["served_share"] == pytest.approx(60 / 168) and not plan["cheapest"] for plan in said)
    best = flat.ways[flat.ways["best"]]
    whole = flat.ways[flat.ways["served_share"] >= 1]
    assert best["equivalent_amount_per_month"].min() == whole["equivalent_amount_per_month"].min()
    assert list(flat.cost_lines.columns) == list(COLUMNS)


def test_the_cheapest_way_has_its_plan_and_lines(flat: Run) -> None:
    cheapest = [plan for plan in summary(flat)["options"] if plan["cheapest"]]
    lines = flat.cost_lines
    for plan in cheapest:
        own = lines[(lines["candidate_id"] == plan["candidate_id"]) & (lines["option"] == plan["option"])]
        assert {"cash", "pnl"} == set(own["view"])


def test_the_present_fleet_stands_beside_the_ways(catalog: Catalog, repository: Path, tmp_path: Path) -> None:
    text = (repository / "scenarios" / "eight-a100-7b.yaml").read_text(encoding="utf-8")
    path = tmp_path / "kept.yaml"
    path.write_text(text + "\nfleet:\n  - {gpu: a100-sxm4-80gb, cards: 8}\n", "utf-8")
    run = evaluate_scenario(read_scenario(path, catalog), catalog)
    kept = run.ways[run.ways["way"] == KEEP].iloc[0]
    alone = run.fleet_services[run.fleet_services["plan"] == "present"].iloc[0]
    assert kept["served_share"] == alone["served_share"]
    assert kept["equivalent_amount_per_month"] == pytest.approx(alone["amount"])
    lines = run.cost_lines[run.cost_lines["option"] == KEEP]
    horizon = run.scenario.costs.horizon_months
    assert lines.groupby("view")["amount"].sum().to_dict() == {
        "cash": pytest.approx(-alone["amount"] * horizon), "pnl": pytest.approx(-alone["amount"] * horizon)
    }  # fmt: skip
