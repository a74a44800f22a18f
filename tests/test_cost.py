"""Rent against buy (long because worked by hand): one case to the cent, closed forms, timeline, cost lines."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.catalog.read import read_catalog
from reports.catalog.select import assumption
from reports.columns import INTERPOLATED, LEAVES
from reports.cost import lines as lines_module
from reports.cost.blocks import CASHFLOW, CASHFLOW_RESULTS, COST_BLOCKS, rank
from reports.cost.lines import BUY, COLUMNS, EVERY_MONTH, FIRST_DAY, LINES, LineKind, cost_lines, left_out
from reports.cost.timeline import NEVER, NOT_COMPARED, REACHED, evaluate
from reports.errors import GpubookError
from reports.evaluate import evaluate_frame
from reports.formulas import buy, cashflow, rent, rent_against_buy
from reports.formulas.meta import info
from reports.render.translate import to_excel, to_latex
from reports.units import promised_unit

ONE_PER_CENT_A_MONTH = 1.01**12 - 1

UNPRICED: dict[str, Any] = {
    leaf.name: 0.0 for leaf in LEAVES if leaf.scope == "assumption" and leaf.live
}  # a cost that the case worked by hand does not know costs nothing in it
SHIPPED: dict[str, Any] = {
    name: assumption(read_catalog(), name, "china").mid for name in UNPRICED if name not in INTERPOLATED
}

CASE: dict[str, Any] = {
    **UNPRICED,
    "option_id": "m.q.g.nvlink",
    "candidate_id": "m.q.g.8.nvlink",
    "model": "m", "service": "m",
    "feasible": True,
    "offer_id": "an-offer",
    "purchase_id": "a-server",
    # two servers' worth of cards, in stages of eight
    "tensor_parallel": 8.0,
    "data_parallel": 1.0,
    "stage_servers": 1.0,
    "sized_cards": 16.0,
    "output_mtok_per_month": 500.0,
    "horizon_months": 36.0,
    "annual_discount_rate": 0.0,
    # rent: 2 USD a card-hour at 7 CNY/USD
    "rent_offer_price_per_card_hour": 2.0,
    "rent_offer_exchange_rate": 7.0,
    "rent_instance_cards": 8.0,
    "rent_term_months": 0.0,
    "rent_price_ratio_per_year": 1.0,
    "service_life_months": 60.0,
    "book_life_months": 60.0,
    "tax_life_months": 36.0,
    "declining_flag": 0.0,
    "tax_shield_flag": 0.0,
    "lease_in_advance_flag": 0.0,
    "loan_months": 36.0,
    "rent_median_price_per_card_hour": 21.0,
    # buy: 250,000 USD a server of 8 cards at 7 CNY/USD, at most 10 kW
    "server_price": 250_000.0,
    "server_exchange_rate": 7.0,
    "server_cards": 8.0,
    "server_power_kw": 10.0,
    "network_share": 0.1,
    "residual_share": 0.35,
    "idle_power_share": 0.3,
    "average_utilisation": 0.5,
    "pue": 1.25,
    "electricity_price_per_kwh": 0.8,
    "colocation_price_per_kw_month": 500.0,
    "maintenance_share_per_year": 0.06,
}


def priced(*changes: dict[str, Any]) -> pd.DataFrame:
    """The case with changes, one row each, and every money column."""
    return evaluate_frame(pd.DataFrame([{**CASE, **change} for change in changes or ({},)]), COST_BLOCKS)


def lines_of(shortlist: pd.DataFrame) -> pd.DataFrame:
    scenario: Any = SimpleNamespace(name="a-scenario", currency="CNY")
    return cost_lines(shortlist, evaluate(shortlist)[0], scenario)


def test_the_case_worked_by_hand_without_discounting() -> None:
    row = priced().iloc[0]
    assert row["rented_cards"] == 16  # ceil(16 / 8) = 2 instances of 8
    assert row["rent_amount_per_month"] == pytest.approx(163_520)  # 16 x 14 CNY x 730 h
    assert row["rent_median_amount_per_month"] == pytest.approx(245_280)  # 16 x 21 x 730
    assert row["servers_needed"] == 2
    assert row["hardware_amount"] == pytest.approx(3_500_000)  # 2 x 250,000 x 7
    assert row["network_amount"] == pytest.approx(350_000)  # 10 %
    assert row["capex_amount"] == pytest.approx(3_850_000)
    assert row["residual_amount"] == pytest.approx(1_225_000)  # 35 % of the servers only
    assert row["power_max_kw"] == pytest.approx(20)
    assert row["power_kw"] == pytest.approx(13)  # 20 x (0.3 + 0.5 x 0.7) = 20 x 0.65
    assert row["energy_kwh_per_month"] == pytest.approx(11_862.5)  # 13 x 1.25 x 730
    assert row["energy_amount_per_month"] == pytest.approx(9_490)  # x 0.8
    assert row["colocation_amount_per_month"] == pytest.approx(10_000)  # 20 x 500
    assert row["maintenance_amount_per_month"] == pytest.approx(17_500)  # 3,500,000 x 0.06 / 12
    assert row["running_amount_per_month"] == pytest.approx(36_990)
    assert row["annuity_factor"] == 36  # nothing is discounted
    assert row["rent_present_cost_amount"] == pytest.approx(5_886_720)  # 163,520 x 36
    assert row["buy_present_cost_amount"] == pytest.approx(3_956_640)  # 3,850,000 + 1,331,640 - 1,225,000
    assert row["saving_amount"] == pytest.approx(1_930_080)
    assert row["saving_share"] == pytest.approx(1_930_080 / 5_886_720)
    assert row["rent_equivalent_amount_per_month"] == pytest.approx(163_520)
    assert row["buy_equivalent_amount_per_month"] == pytest.approx(3_956_640 / 36)
    assert row["rent_amount_per_mtok"] == pytest.approx(327.04)  # 163,520 / 500
    assert row["buy_amount_per_mtok"] == pytest.approx(3_956_640 / 36 / 500)
    # tie: 109,906.67 a month / (16 cards x 730 h) = 9.4098; of 14 that is 67.2 % of the hours
    assert row["break_even_price_per_card_hour"] == pytest.approx(9.409817, rel=1e-6)
    assert row["break_even_utilisation"] == pytest.approx(0.672130, rel=1e-5)


def test_the_same_case_at_one_per_cent_a_month() -> None:
    row = priced({"annual_discount_rate": ONE_PER_CENT_A_MONTH}).iloc[0]
    assert row["monthly_discount_rate"] == pytest.approx(0.01, rel=1e-12)
    # annuity tables: 36 periods at 1 % are 30.10750504; 1.01^-36 = 0.69892495
    assert row["annuity_factor"] == pytest.approx(30.10750504, rel=1e-9)
    assert row["rent_present_cost_amount"] == pytest.approx(4_923_179.22, rel=1e-8)  # 163,520 x 30.10750504
    # 3,850,000 + 36,990 x 30.10750504 (1,113,676.61) - 1,225,000 x 0.69892495 (856,183.06)
    assert row["buy_present_cost_amount"] == pytest.approx(4_107_493.55, rel=1e-8)


def test_the_tying_rent_put_back_makes_both_ways_cost_the_same() -> None:
    first = priced({"annual_discount_rate": 0.08}).iloc[0]
    tie = first["break_even_price_per_card_hour"] / CASE["rent_offer_exchange_rate"]
    again = priced({"annual_discount_rate": 0.08, "rent_offer_price_per_card_hour": tie}).iloc[0]
    assert abs(again["saving_amount"]) <= 1e-6 * again["capex_amount"]


def test_whole_instances_and_whole_servers() -> None:
    # by hand: 20 cards in stages of 8: three instances of 8 (24 cards); three servers
    row = priced({"sized_cards": 20.0}).iloc[0]
    assert (row["rented_cards"], row["servers_needed"], row["bought_cards"]) == (24, 3, 24)
    # by hand: 72 cards hold four stages of 16, so 80 cards need 80 / 64 -> 2 racks, and 64 cards need 1
    change = {"tensor_parallel": 16.0, "rent_instance_cards": 72.0, "server_cards": 72.0}
    rows = priced({**change, "sized_cards": 80.0}, {**change, "sized_cards": 64.0})
    assert rows["rented_instances"].tolist() == [2, 1]
    assert rows["servers_needed"].tolist() == [2, 1]
    # single cards: no rounding beyond the stage
    assert priced({"tensor_parallel": 1.0, "rent_instance_cards": 1.0, "sized_cards": 3.0})["rented_cards"].item() == 3


def test_a_single_server_needs_no_network() -> None:
    assert priced({"sized_cards": 8.0})["network_amount"].item() == 0


@pytest.mark.parametrize("horizon", [1.0, 24.0, 60.0])
@pytest.mark.parametrize("rate", [0.0, 0.045, 0.12])
def test_annuity_is_the_sum_of_the_discount_factors(rate: float, horizon: float) -> None:
    monthly = rent_against_buy.monthly_discount_rate(rate)
    factors = sum(float(cashflow.discount_factor(monthly, month)) for month in range(1, int(horizon) + 1))
    assert float(rent_against_buy.annuity_factor(monthly, horizon)) == pytest.approx(factors, rel=1e-12)


def test_twelve_months_compound_to_the_yearly_rate() -> None:
    assert (1 + rent_against_buy.monthly_discount_rate(0.08)) ** 12 == pytest.approx(1.08, rel=1e-14)


# ---- the timeline ----


def test_timeline_months_signs_and_break_even_by_hand() -> None:
    long, results = evaluate(priced())
    assert long["month"].tolist() == list(range(37))
    at = long.set_index("month")
    assert at.loc[0, "rent_cash_amount"] == 0
    assert at.loc[0, "buy_cash_amount"] == pytest.approx(-3_850_000)
    assert at.loc[1, "rent_cash_amount"] == pytest.approx(-163_520)
    assert at.loc[1, "buy_cash_amount"] == pytest.approx(-36_990)
    assert at.loc[36, "buy_cash_amount"] == pytest.approx(1_225_000 - 36_990)
    assert at.loc[35, "buy_residual_cash_amount"] == 0
    # 163,520 m > 3,850,000 + 36,990 m  <=>  m > 30.43: the end of month 31
    assert results["break_even_month"].item() == 31
    assert results["break_even_code"].item() == REACHED
    assert at.loc[30, "rent_cumulative_amount"] > at.loc[30, "buy_cumulative_amount"]
    assert at.loc[31, "rent_cumulative_amount"] < at.loc[31, "buy_cumulative_amount"]


def test_discounting_moves_the_break_even_to_the_resale() -> None:
    # 3,850,000 / (163,520 - 36,990) = 30.4276 months of annuity, and 36 months at 1 % are only 30.1075:
    # without the resale renting never passes; with it at the end of month 36 it does (4.92 M against 4.11 M)
    case = {"annual_discount_rate": ONE_PER_CENT_A_MONTH}
    assert evaluate(priced(case))[1]["break_even_month"].item() == 36
    without = evaluate(priced({**case, "residual_share": 0.0}))[1]
    assert np.isnan(without["break_even_month"].item())
    assert without["break_even_code"].item() == NEVER


def test_a_rent_below_the_running_cost_is_never_passed() -> None:
    # 36,990 / (16 x 730 x 7) = 0.4524 USD a card-hour; at 0.4 renting costs less every month
    results = evaluate(priced({"rent_offer_price_per_card_hour": 0.4, "horizon_months": 240.0}))[1]
    assert results["break_even_code"].item() == NEVER


def test_npv_two_ways() -> None:
    shortlist = priced({"annual_discount_rate": 0.045}, {"annual_discount_rate": 0.12, "sized_cards": 24.0})
    long, results = evaluate(shortlist)
    np.testing.assert_allclose(results["rent_npv_amount"], -shortlist["rent_present_cost_amount"], rtol=1e-12)
    np.testing.assert_allclose(results["buy_npv_amount"], -shortlist["buy_present_cost_amount"], rtol=1e-12)
    last = long[long["month"] == 36]
    np.testing.assert_allclose(last["buy_cumulative_amount"], results["buy_npv_amount"], rtol=1e-12)


def test_a_way_without_a_price_stays_blank_and_is_not_compared() -> None:
    shortlist = priced({"rent_offer_price_per_card_hour": np.nan}, {"server_price": np.nan})
    long, results = evaluate(shortlist)
    assert results["break_even_code"].tolist() == [NOT_COMPARED, NOT_COMPARED]
    assert np.isnan(results["break_even_month"]).all()
    rent_cash = long["rent_cash_amount"].to_numpy().reshape(2, -1)
    buy_cash = long["buy_cash_amount"].to_numpy().reshape(2, -1)
    assert np.isnan(rent_cash[0]).all()
    assert np.isfinite(buy_cash[0]).all()
    assert np.isfinite(rent_cash[1]).all()
    assert np.isnan(buy_cash[1]).all()
    lines = lines_of(shortlist)
    assert set(lines["option"]) == {"rent", "buy"}
    assert len(lines[lines["line"] == "rent"]) == 36, "one option can be rented"


def test_options_of_different_horizons_share_no_timeline() -> None:
    with pytest.raises(ValueError, match="one horizon"):
        evaluate(priced({}, {"horizon_months": 12.0}))


def test_an_empty_short_list_gives_empty_frames() -> None:
    empty = priced().iloc[:0]
    long, results = evaluate(empty)
    assert len(long) == len(results) == len(lines_of(empty)) == 0


def test_results_line_up_with_the_short_list() -> None:
    shortlist = priced({}, {"option_id": "other"})
    results = evaluate(shortlist)[1]
    assert results.index.equals(shortlist.index)
    assert not set(results) & set(shortlist)


# ---- cost lines ----


def test_cost_lines_of_the_case() -> None:
    lines = lines_of(priced())
    assert tuple(lines.columns) == COLUMNS
    months = lines.groupby(["option", "line"])["month"].agg(["min", "max", "size"])
    for kind in LINES:
        span = {EVERY_MONTH: (1, 36, 36), FIRST_DAY: (0, 0, 1)}.get(kind.when, (36, 36, 1))
        assert tuple(months.loc[kind.option, kind.line]) == span
    first = lines[(lines["month"] == 1)].set_index("line")
    assert first.loc["rent", "quantity"] == pytest.approx(11_680)  # 16 cards x 730 h
    assert first.loc["rent", "unit_price"] == pytest.approx(14)
    assert first.loc["energy", "unit_price"] == pytest.approx(0.8)
    assert first.loc["colocation", "unit_price"] == pytest.approx(500)
    servers = lines[lines["line"] == "servers"].iloc[0]
    assert (servers["month"], servers["quantity"], servers["source"]) == (0, 2, "a-server")
    assert servers["unit_price"] == pytest.approx(1_750_000)
    residual = lines[lines["line"] == "residual"].iloc[0]
    assert (residual["month"], residual["amount"]) == (36, pytest.approx(1_225_000))
    assert (lines.loc[lines["line"] != "residual", "amount"] <= 0).all()
    assert set(lines["currency"]) == {"CNY"}
    assert set(lines["view"]) == {"cash"}


def assert_lines_add_up(shortlist: pd.DataFrame) -> None:
    """The lines of every month sum to the timeline, and every line is its quantity times its unit price."""
    long = evaluate(shortlist)[0]
    lines = lines_of(shortlist)
    np.testing.assert_allclose(lines["quantity"] * lines["unit_price"], lines["amount"].abs(), rtol=1e-12)
    for way in ("rent", "buy"):
        added = lines[lines["option"] == way].groupby("month")["amount"].sum()
        flow = long.set_index("month")[f"{way}_cash_amount"]
        np.testing.assert_allclose(added.reindex(flow.index, fill_value=0.0), flow, rtol=1e-12, atol=1e-9)


def test_every_kind_of_line_is_in_the_cash_flow() -> None:
    assert left_out() == []
    assert_lines_add_up(priced())
    assert_lines_add_up(priced(SHIPPED))  # with every assumption as the catalog has it
    assert {kind.line for kind in LINES} == set(lines_of(priced())["line"])


def test_a_line_that_is_not_in_the_cash_flow_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    insurance = LineKind(
        "insurance", "Insurance", BUY, EVERY_MONTH, "power_kw", "servers_needed", 1, "server-month", "assumption:pue"
    )  # any column will do
    monkeypatch.setattr(lines_module, "LINES", (*LINES, insurance))
    with pytest.raises(GpubookError, match="power_kw is not a term of the formula running_amount_per_month"):
        lines_of(priced())


def test_a_line_whose_column_nothing_makes_says_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    energy = next(kind for kind in LINES if kind.line == "energy")
    monkeypatch.setattr(lines_module, "LINES", (*LINES, replace(energy, quantity="insured_servers")))
    with pytest.raises(GpubookError, match=r"write the formula insured_servers in reports/formulas/buy\.py"):
        lines_of(priced())


def test_a_term_without_a_line_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "LINES", tuple(kind for kind in LINES if kind.line != "colocation"))
    with pytest.raises(GpubookError, match="colocation_amount_per_month has no cost line"):
        lines_of(priced())


# ---- ranking ----


def test_rank_takes_the_cheaper_way_within_each_service() -> None:
    frame = priced(
        {"option_id": "a"},  # buying is cheaper by hand: 109,907 against 163,520
        {"option_id": "b", "rent_offer_price_per_card_hour": 1.0},  # rent 81,760
        {"option_id": "c", "rent_offer_price_per_card_hour": np.nan, "server_price": np.nan},
        {"option_id": "d", "feasible": False},
        {"option_id": "e", "service": "other"},
    )
    ranked = rank(frame).set_index("option_id")
    assert ranked["way"].tolist() == ["buy", "rent", "", "", "buy"]
    assert ranked.loc["b", "monthly_cost_amount"] == pytest.approx(81_760)
    assert ranked["rank"].fillna(0).tolist() == [2, 1, 0, 0, 1]
    assert ranked.loc[["c", "d"], "monthly_cost_amount"].isna().all()
    assert rank(frame, ways=("rent",))["way"].tolist() == ["rent", "rent", "", "", "rent"]


def test_equal_costs_rank_by_cards_and_then_by_id() -> None:
    frame = priced({"option_id": "z"}, {"option_id": "y"}, {"option_id": "x"})
    frame["sized_cards"] = [16.0, 16.0, 12.0]
    assert rank(frame).set_index("option_id")["rank"].to_dict() == {"x": 1, "y": 2, "z": 3}


# ---- properties ----

MONEY = {
    "rent_offer_price_per_card_hour": st.floats(0.1, 20),
    "server_price": st.floats(1e4, 1e6),
    "annual_discount_rate": st.floats(0, 0.3),
    "residual_share": st.floats(0, 1),
    "electricity_price_per_kwh": st.floats(0.01, 2),
    "sized_cards": st.integers(1, 200).map(float),
    "horizon_months": st.integers(1, 60).map(float),
    "rent_price_ratio_per_year": st.integers(70, 120).map(lambda hundredths: hundredths / 100),
    "rent_term_months": st.sampled_from([0.0, 12.0, 36.0]),
    "service_life_months": st.integers(6, 72).map(float),
    "vat_services_ratio": st.sampled_from([0.0, 0.06, 0.2]),
    "vat_goods_ratio": st.sampled_from([0.0, 0.13, 0.25]),
    "vat_recoverable_share": st.sampled_from([0.0, 0.5, 1.0]),
    "staff_fte_per_100_cards": st.sampled_from([0.0, 0.25]),
    "staff_cost_per_fte_year": st.sampled_from([0.0, 4e5]),
    "egress_price_per_gb": st.sampled_from([0.0, 0.3]),
    "storage_price_per_gb_month": st.sampled_from([0.0, 0.2]),
    "sla_credit_share": st.sampled_from([0.0, 0.02]),
    "early_termination_share": st.sampled_from([0.0, 0.5, 1.0]),
}
CASES = st.fixed_dictionaries(MONEY)


@settings(max_examples=40, deadline=None)
@given(CASES, st.floats(1, 3))
def test_a_dearer_rent_never_makes_renting_better(case: dict[str, float], factor: float) -> None:
    dearer = {**case, "rent_offer_price_per_card_hour": case["rent_offer_price_per_card_hour"] * factor}
    shortlist = priced(case, dearer)
    assert shortlist["saving_amount"].iloc[1] >= shortlist["saving_amount"].iloc[0] - 1e-6
    month = evaluate(shortlist)[1]["break_even_month"].fillna(np.inf)
    assert month.iloc[1] <= month.iloc[0]


@settings(max_examples=40, deadline=None)
@given(CASES, st.floats(0.01, 100))
def test_scaling_all_prices_scales_both_npvs(case: dict[str, float], factor: float) -> None:
    prices = (
        "rent_offer_price_per_card_hour",
        "server_price",
        "electricity_price_per_kwh",
        "colocation_price_per_kw_month",
        "staff_cost_per_fte_year",
        "egress_price_per_gb",
        "storage_price_per_gb_month",
    )
    scaled = {**case, **{name: {**CASE, **case}[name] * factor for name in prices}}
    results = evaluate(priced(case, scaled))[1]
    for way in ("rent_npv_amount", "buy_npv_amount"):
        size = abs(results[way].iloc[0]) + priced(case)["capex_amount"].item()
        assert results[way].iloc[1] == pytest.approx(results[way].iloc[0] * factor, abs=1e-9 * size * factor)


@settings(max_examples=40, deadline=None)
@given(CASES)
def test_lines_sum_to_the_timeline(case: dict[str, float]) -> None:
    assert_lines_add_up(priced(case))


@settings(max_examples=40, deadline=None)
@given(CASES)
def test_break_even_agrees_with_the_sign_of_the_saving(case: dict[str, float]) -> None:
    """Owning that ends cheaper has broken even. The other way round holds without renewals alone: new servers after the
    break-even may make owning dearer again."""
    row = priced(case).iloc[0]
    if abs(row["saving_amount"]) > 1e-6 * row["capex_amount"]:
        reached = evaluate(priced(case))[1]["break_even_code"].item() == REACHED
        renewed = row["service_life_months"] < row["horizon_months"]
        assert reached == (row["saving_amount"] > 0) or (reached and renewed)


def test_new_servers_after_the_break_even_may_cost_the_advantage() -> None:
    """Rents of 8 x 0.5 x 730 = 2,920 a month pass 10,000 and the running cost early; month 8 of 9 buys again."""
    short = {"annual_discount_rate": 0.0, "residual_share": 0.0, "horizon_months": 9.0, "service_life_months": 8.0,
             "rent_offer_price_per_card_hour": 0.5, "server_price": 10_000.0, "sized_cards": 1.0,
             "electricity_price_per_kwh": 0.5}  # fmt: skip
    row = priced(short).iloc[0]
    assert row["saving_amount"] < 0
    assert evaluate(priced(short))[1]["break_even_code"].item() == REACHED
    kept = priced({**short, "service_life_months": 60.0})
    assert (kept.iloc[0]["saving_amount"] > 0) == (evaluate(kept)[1]["break_even_code"].item() == REACHED)


# ---- conventions ----

EVERY = (*rent.FORMULAS, *buy.FORMULAS, *rent_against_buy.FORMULAS, *cashflow.FORMULAS)


@pytest.mark.parametrize("function", EVERY, ids=lambda each: each.__name__)
def test_money_formulas_translate_and_keep_their_units(function) -> None:
    assert promised_unit(info(function).name) == info(function).unit
    assert to_excel(function, lambda name: "A1")
    assert to_latex(function, lambda name: "x")


def test_rows_of_the_timeline_read_what_stands_above_them() -> None:
    known = {"month", *CASE}
    known |= {info(function).name for block in COST_BLOCKS for function in block.formulas}
    for row in (*CASHFLOW, *CASHFLOW_RESULTS):
        assert set(row.reads) <= known, row.column
        assert (row.formula is None) != (row.aggregate is None)
        known.add(row.column)
