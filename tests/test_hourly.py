"""Own, reserved and by the hour: a week of two hours worked by hand, and the edges of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cost import priced

from reports.cost.hourly import Offer, blocks, owning, rent_factors, table

SIZES: dict[str, Any] = {"units_needed": 4.0, "sized_units": 4.0, "development_units": 0.0, "unit_cards": 8.0}


def option(**change: Any) -> dict[str, Any]:
    """The case of ``test_cost`` as 4 units of 8 cards, one server each."""
    row = priced({**SIZES, "sized_cards": 32.0, **change}).iloc[0].to_dict()
    return {**row, **SIZES}


WEEK = np.array([1.0] * 42 + [0.25] * 126)
"""The peak in a quarter of the hours, a quarter of it in the rest: 4 units, then 1."""


def test_following_the_load_by_hand() -> None:
    found = table(option(), WEEK, Offer(14.0, 8.0), None, may_buy=False)
    # 4 x 8 cards for 42 of 168 hours, 8 for 126: 32/4 + 8 x 3/4 = 14 cards on average, x 730 h x 14 CNY, 36 months
    row = found.iloc[0]
    assert row["card_hours_per_month"] == pytest.approx(14 * 730)
    assert row["present_cost_amount"] == pytest.approx(14 * 730 * 14 * 36)
    assert row["equivalent_amount_per_month"] == pytest.approx(143_080)


def test_reserved_base_and_peak_on_demand_by_hand() -> None:
    # reserved at 10: the first instance runs all week, the others a quarter of it: 10 x 730 x 8 < 14 x 730 x 8, but
    # 10 x 730 x 8 > 14 x 730 x 8 / 4; so one is reserved and three come by the hour
    found = table(option(), WEEK, Offer(14.0, 8.0), Offer(10.0, 8.0, 36.0), may_buy=False).iloc[0]
    assert found["reserved_instances"] == 1
    assert found["present_cost_amount"] == pytest.approx((8 * 730 * 10 + 24 * 730 / 4 * 14) * 36)


def test_hybrid_by_hand() -> None:
    # one server of the case: 1,750,000 without network, 875,000 x 0.7 left... the table must agree with the formulas
    row = option()
    one = owning(row, np.array([0.0, 1.0, 2.0]))
    # servers 1: 1,750,000 - 612,500 + 36 x 18,495; network only from the second on
    assert one.tolist() == pytest.approx([0, 1_750_000 - 612_500 + 36 * 18_495, 3_850_000 - 1_225_000 + 36 * 36_990])
    found = table(row, WEEK, Offer(14.0, 8.0), None)
    by_hand = one[1] + 24 * 730 / 4 * 14 * 36
    at_one = found[found["owned_servers"] == 1].iloc[0]
    assert at_one["present_cost_amount"] == pytest.approx(by_hand)
    assert at_one["capex_amount"] == pytest.approx(1_750_000)  # a single server needs no network
    assert found["present_cost_amount"].idxmin() == found.index[found["best"]].item()
    assert len(found) == 5


def test_spares_run_in_every_hour() -> None:
    row = {**option(), "sized_units": 5.0}
    found = table(row, WEEK, Offer(14.0, 8.0), None, may_buy=False).iloc[0]
    assert found["card_hours_per_month"] == pytest.approx((14 + 8) * 730)


def test_without_an_offer_by_the_hour_the_peak_is_owned() -> None:
    found = table(option(), WEEK, None, None)
    assert found["owned_servers"].tolist() == [4]
    assert table(option(), WEEK, None, None, may_buy=False).empty


def test_an_instance_that_holds_no_stage_is_no_offer() -> None:
    assert table(option(), WEEK, Offer(14.0, 4.0), None, may_buy=False).empty


def test_blocks_of_hours_keep_their_highest() -> None:
    assert blocks(np.array([0.1, 0.5, 0.2, 0.3, 1.0]), 2).tolist() == [0.5, 0.5, 0.3, 0.3, 1.0]
    assert blocks(WEEK, 1) is WEEK


LOADS = st.lists(st.integers(1, 10).map(lambda tenth: tenth / 10), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(LOADS, st.integers(2, 40), st.integers(1, 40), st.sampled_from([1e5, 2.5e5, 5e5]))
def test_the_best_is_never_dearer_than_pure_rent_or_pure_purchase(
    shape: list[float], hour: int, year: int, server: float
) -> None:
    load = np.resize(np.array(shape), 168)
    row = option(server_price=server)
    by_hour, booked = Offer(float(hour), 8.0), Offer(float(year), 8.0, 36.0)
    best = table(row, load, by_hour, booked)["present_cost_amount"].min()
    peak = int(np.ceil(load.max() * 4 - 1e-9))
    pure_buy = owning(row, np.array([float(peak)]))[0]
    always = peak * 8 * 730
    pure_rent = min(always * rent_factors(row, offer) for offer in (by_hour, booked))
    following = table(row, load, by_hour, None, may_buy=False)["present_cost_amount"].min()
    assert best <= min(pure_buy, pure_rent, following) * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(LOADS, st.integers(0, 167))
def test_more_hours_never_lower_the_cost_of_renting(shape: list[float], hour: int) -> None:
    load = np.resize(np.array(shape), 168)
    more = load.copy()
    more[hour] = 1.0
    first, second = (
        table(option(), each, Offer(14.0, 8.0), None, may_buy=False)["present_cost_amount"].min()
        for each in (load, more)
    )
    assert second >= first - 1e-6
