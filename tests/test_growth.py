"""Growth: demand curves, order dates, bridge, idle cards and budget, each worked by hand on a small service."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.formulas import growth as formulas
from reports.plan import growth, spares
from reports.plan.rows import MONTH


def option(**changes: Any) -> dict[str, Any]:
    """100 requests today on units of 25 requests, each a server of eight cards; lead time six months, 300,000 each."""
    stated: dict[str, Any] = {
        "option_id": "one", "way": "buy", "units_needed": 4.0, "unit_cards": 8.0, "server_cards": 8.0,
        "stage_cards": 8.0, "recommended_concurrency": 25.0, "demand_concurrency": 100.0, "safety_factor": 0.8,
        "card_failures_per_year": 0.0, "card_repair_h": 24.0, "server_failures_per_year": 1.0,
        "server_repair_h": 8760 / 99, "availability_target_share": 0.0, "spare_policy_units": 0.0,
        "spare_policy_servers": 0.0, "surge_share": 0.0, "development_share": 0.0, "startup_minutes": 10.0,
        "lead_time_weeks": 26.0, "capex_amount": 1_200_000.0, "servers_needed": 4.0, "monthly_growth_rate": 0.0,
        "growth_saturation_factor": 0.0, "order_budget_amount_per_quarter": 0.0, "quarter_offset_months": 1.0,
        "rent_instance_cards": 8.0, "rent_price_per_card_hour": 2.0,
    }  # fmt: skip
    return stated | changes


def plan(listed: list[float], fleet: list[float] | float = 4.0, **changes: Any) -> tuple[pd.DataFrame, pd.Series]:
    """The timeline by month and the results; ``fleet`` is servers, the same each month or one a month."""
    ready = growth.with_order_flag(spares.size(pd.DataFrame([option(**changes)])))
    at_hand = np.broadcast_to(np.asarray(fleet, dtype=float), (1, len(listed)))
    timeline, results = growth.evaluate(ready, np.array([listed], dtype=float), at_hand)
    return timeline.set_index(MONTH), results.iloc[0]


def test_lead_time_in_months() -> None:
    # a month of 730 hours is 4.345 weeks: 26 weeks are 5.98 months, 8 weeks 1.84
    assert formulas.lead_time_months(np.array([0, 8, 26, 26.5])).tolist() == [0, 2, 6, 7]


def test_compound_growth() -> None:
    # 5 % a month: after a year 1.05^12 = 1.795856…
    assert formulas.demand_growth_factor(1, 0.05, 0, 12) == pytest.approx(1.7958563260221292, rel=1e-12)


def test_logistic_growth() -> None:
    # ends at four times today's demand: 4 / (1 + 3 / 3^m) at a rate of 200 %: 1, 2, 3, 3.6, … 4
    factors = formulas.demand_growth_factor(1, 2.0, 4.0, np.array([0, 1, 2, 3, 60]))
    assert factors.tolist() == pytest.approx([1, 2, 3, 3.6, 4], rel=1e-9)


def test_an_order_is_placed_its_lead_time_before_the_need() -> None:
    """From month 9 on a fifth server is needed, with a lead time of six months: ordered in month 3, there in 9."""
    timeline, results = plan([1.0] * 9 + [1.25] * 4)
    assert timeline["ordered_servers"].to_dict() == {m: float(m == 3) for m in range(13)}
    assert timeline["arrived_servers"].tolist() == [0] * 9 + [1] * 4
    assert timeline["bridge_cards"].sum() == 0
    assert results["exhausted_month"] == 9
    assert results["orders_amount"] == 300_000
    assert results["idle_card_months"] == 0


def test_what_cannot_arrive_in_time_is_rented() -> None:
    """Needed from month 2: ordered now, there in month 6, eight cards rented for four months at 2 x 730 a month."""
    timeline, results = plan([1.0] * 2 + [1.25] * 8)
    assert timeline["ordered_servers"].tolist() == [1] + [0] * 9
    assert timeline["bridge_cards"].tolist() == [0, 0, 8, 8, 8, 8, 0, 0, 0, 0]
    assert results["bridge_amount"] == 4 * 8 * 2 * 730
    assert results["exhausted_month"] == 2


def test_a_lease_that_ends_is_replaced_in_time() -> None:
    timeline, results = plan([1.0] * 12, fleet=[4.0] * 8 + [2.0] * 4)
    assert timeline["ordered_servers"].tolist() == [0, 0, 2] + [0] * 9
    assert results["exhausted_month"] == 8


def test_without_growth_and_with_a_fleet_nothing_happens() -> None:
    timeline, results = plan([1.0] * 6)
    assert timeline["ordered_servers"].sum() == 0
    assert timeline["bridge_cards"].sum() == 0
    assert np.isnan(results["exhausted_month"])


def test_a_rented_service_grows_by_rent_alone() -> None:
    timeline, results = plan([1.0, 1.25, 1.5], fleet=0.0, way="rent", capex_amount=np.nan)
    assert timeline["bridge_cards"].tolist() == [32, 40, 48]
    assert timeline["ordered_servers"].sum() == 0
    assert results["bridge_amount"] == (32 + 40 + 48) * 2 * 730


def test_a_budget_holds_orders_back_and_is_kept_for_the_next_quarter() -> None:
    """Four servers wanted at once, 500,000 a quarter: one in November (month 0 is the quarter's second), then with what
    is left, 1,000,000 by January (month 2): three; 1,500,000 by April (month 5): four wanted."""
    timeline, _ = plan([1.0] * 8, fleet=0.0, order_budget_amount_per_quarter=500_000.0)
    assert timeline["ordered_total_servers"].tolist() == [1, 1, 3, 3, 3, 4, 4, 4]
    assert timeline["ordered_servers"].tolist() == [1, 0, 2, 0, 0, 1, 0, 0]


def test_demand_that_falls_leaves_idle_cards() -> None:
    """Half of the demand from month 1 on: two of four servers stand idle for three months, 16 cards each month."""
    timeline, results = plan([1.0, 0.5, 0.5, 0.5])
    assert timeline["idle_cards"].tolist() == [0, 16, 16, 16]
    assert results["idle_share"] == pytest.approx(48 / 128)


def test_spares_of_a_month_are_the_least_for_its_units() -> None:
    """0.9995 needs two spares on four units of 0.99 (tests/test_spares.py), and as many or more on sixteen."""
    timeline, _ = plan([1.0, 4.0], availability_target_share=0.9995)
    first, last = timeline["month_spare_units"]
    assert first == 2
    # P(at most 2 of 18 down) = 0.99927…, at most 3 of 19 = 0.99997…: three spares on sixteen units
    assert last == 3
    assert timeline["month_cards"].tolist() == [48, 152]


def test_whole_servers_hold_whole_units_only() -> None:
    """Units of three cards in servers of eight: two a server, and two cards of every server stand idle."""
    timeline, _ = plan(
        [1.0, 1.0], fleet=2.0, unit_cards=3.0, stage_cards=3.0, lead_time_weeks=0.0, units_needed=4.0,
        servers_needed=2.0,
    )  # fmt: skip
    assert timeline["month_servers"].tolist() == [2, 2]
    assert timeline["bridge_cards"].sum() == 0
    assert timeline["idle_cards"].tolist() == [4, 4]


MONEY: dict[str, Any] = {
    # rent: eight cards of a server at 10,000 a month and server; owning: 300,000 a server, running 1,000 a month
    "rent_total_amount_per_month": 40_000.0, "rented_cards": 32.0, "running_amount_per_month": 4_000.0,
    "hardware_amount": 1_200_000.0, "residual_share": 0.5, "service_life_months": 60.0, "rent_move_ratio": 1.0,
    "monthly_discount_rate": 0.0, "lead_time_weeks": 0.0,
}  # fmt: skip


def compared(listed: list[float], **changes: Any) -> tuple[pd.DataFrame, pd.Series]:
    """The timeline with rent against buy, nothing at hand today."""
    horizon = len(listed) - 1.0
    stated = MONEY | {"horizon_months": horizon, "annuity_factor": horizon} | changes
    fleet = stated.pop("fleet", 0.0)
    ready = growth.with_order_flag(spares.size(pd.DataFrame([option(**stated)])))
    at_hand = np.broadcast_to(np.asarray(fleet, dtype=float), (1, len(listed)))
    timeline, results = growth.evaluate(ready, np.array([listed], dtype=float), at_hand, compared=True)
    return timeline.set_index(MONTH), results.iloc[0]


def test_both_ways_follow_the_demand() -> None:
    """Four servers, a fifth from month 2, four months in all.

    Rent: 40,000 for each of the months 0 and 1, 50,000 for 2 and 3, each paid a month later: 180,000. Buy: 1,200,000 on
    day 0, 300,000 in month 2; running 4,000, 4,000, 5,000, 5,000; left at the end: half of 1,200,000 for the servers of
    four months, three quarters of 300,000 for the one of two. 1,500,000 + 18,000 - 600,000 - 225,000 = 693,000.
    """
    timeline, results = compared([1.0, 1.0, 1.25, 1.25, 1.25])
    assert timeline["growing_rent_cash_amount"].tolist() == [0, -40_000, -40_000, -50_000, -50_000]
    assert timeline["growing_buy_cash_amount"].tolist() == [-1_200_000, -4_000, -304_000, -5_000, 820_000]
    assert results["growing_rent_npv_amount"] == -180_000
    assert results["growing_buy_npv_amount"] == -693_000
    assert results["growing_rent_equivalent_amount_per_month"] == 45_000
    assert results["growing_buy_equivalent_amount_per_month"] == 173_250
    assert np.isnan(results["growing_break_even_month"])


def test_the_bridge_is_rented_while_orders_are_on_their_way() -> None:
    """Two months of lead time (8 weeks): four servers rented for months 0 and 1, owned for 2 and 3. What month 4 would
    need is after the end, and is not ordered."""
    timeline, results = compared([1.0, 1.0, 1.0, 1.0, 2.0], lead_time_weeks=8.0)
    assert timeline["bought_servers"].tolist() == [4, 0, 0, 0, 0]
    assert timeline["growing_bridge_cash_amount"].tolist() == [0, -40_000, -40_000, 0, 0]
    assert timeline["growing_running_cash_amount"].tolist() == [0, 0, 0, -4_000, -4_000]
    # two months old out of four: three quarters of 1,200,000 are left
    assert timeline["growing_buy_cash_amount"].tolist() == [-1_200_000, -40_000, -40_000, -4_000, 896_000]
    assert results["growing_rent_npv_amount"] == -160_000


def test_what_is_there_costs_neither_way_and_is_replaced_after_its_life() -> None:
    """Three of four servers are there; the fourth is bought in month 0 and, with a life of two months, again in 2; what
    falls on the end of the horizon is not bought any more."""
    timeline, _ = compared([1.0] * 5, fleet=3.0, service_life_months=2.0)
    assert timeline["growing_capex_cash_amount"].tolist() == [-300_000, 0, -300_000, 0, 0]
    assert timeline["growing_rent_cash_amount"].tolist() == [0, -10_000, -10_000, -10_000, -10_000]


@pytest.mark.parametrize("way", ["rent", "buy"])
def test_the_comparison_does_not_depend_on_the_way_recommended(way: str) -> None:
    _, results = compared([1.0, 1.0, 1.25, 1.25, 1.25], way=way)
    assert results["growing_buy_npv_amount"] == -693_000


def test_without_an_offer_to_rent_nothing_is_compared() -> None:
    timeline, results = compared([1.0] * 5, rent_total_amount_per_month=np.nan, rented_cards=np.nan)
    assert results[["growing_rent_npv_amount", "growing_buy_npv_amount", "growing_break_even_month"]].isna().all()
    assert timeline["growing_passed_flag"].iloc[1:].isna().all()
