"""Renewals, moving rents, taxes, loans, leases, books and returns: textbook cases worked by hand, and a library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import pyxirr
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cost import CASE, MONEY, ONE_PER_CENT_A_MONTH, priced

from reports.cost.blocks import CASHFLOW
from reports.cost.timeline import evaluate
from reports.formulas.aggregate import irr

CAPEX, RUNNING, RESIDUAL, RENT = 3_850_000, 36_990, 1_225_000, 163_520
"""The case of ``test_cost``: outlay, running cost a month, value left, rent a month."""


def flows(**change: Any) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Timeline by month, results, and the option's own columns of the case with changes."""
    options = priced(change)
    long, results = evaluate(options)
    return long.set_index("month"), results.iloc[0], options.iloc[0]


# ---- what a purchase is made of ----


def test_every_part_of_the_outlay_and_of_the_running_cost() -> None:
    parts = {
        "delivery_share": 0.02, "installation_share": 0.01, "spare_parts_share": 0.03, "vat_goods_ratio": 0.13,
        "vat_services_ratio": 0.06, "vat_recoverable_share": 0.5, "staff_fte_per_100_cards": 0.25,
        "staff_cost_per_fte_year": 480_000.0, "insurance_share_per_year": 0.012, "licence_price_per_card_year": 300.0,
        "egress_gb_per_card_month": 100.0, "egress_price_per_gb": 0.1, "storage_gb_per_card": 50.0,
        "storage_price_per_gb_month": 0.2, "sla_credit_share": 0.0, "early_termination_share": 1.0,
    }  # fmt: skip
    row = priced(parts).iloc[0]
    # servers 3,500,000, network 350,000, delivery 70,000, installation 35,000, spare parts 105,000: 4,060,000
    assert row["purchase_tax_amount"] == pytest.approx(4_060_000 * 0.13 * 0.5)  # 263,900
    assert row["capex_amount"] == pytest.approx(4_323_900)
    assert row["staff_amount_per_month"] == pytest.approx(1_600)  # 16 / 100 x 0.25 x 480,000 / 12
    assert row["insurance_amount_per_month"] == pytest.approx(3_500)  # 3,500,000 x 0.012 / 12
    assert row["licence_amount_per_month"] == pytest.approx(400)  # 16 x 300 / 12
    # (9,490 + 10,000 + 17,500 + 3,500 + 400) x 0.06 / 2
    assert row["running_tax_amount_per_month"] == pytest.approx(1_226.70)
    assert row["running_amount_per_month"] == pytest.approx(36_990 + 1_600 + 3_500 + 400 + 1_226.70)
    assert row["rent_tax_amount_per_month"] == pytest.approx(163_520 * 0.03)
    assert row["rent_total_amount_per_month"] == pytest.approx(163_520 * 1.03 + 16 * 20)


def test_cost_that_stops_with_the_load() -> None:
    # power at idle 20 x 0.3 = 6 kW of 13: of the electricity 7/13 follow the load
    assert priced().iloc[0]["marginal_amount_per_month"] == pytest.approx(9_490 * 7 / 13)


# ---- rents that move, servers that are renewed ----


def test_a_rent_that_halves_every_year() -> None:
    months, results, row = flows(rent_price_ratio_per_year=0.5)
    assert months.loc[1, "rent_cash_amount"] == pytest.approx(-RENT)
    assert months.loc[13, "rent_cash_amount"] == pytest.approx(-RENT / 2)
    assert months.loc[25, "rent_cash_amount"] == pytest.approx(-RENT / 4)
    # a year of months at q = 0.5^(1/12): (1 - 0.5) / (1 - q) of the first rent; three years: 1 + 1/2 + 1/4
    year = 0.5 / (1 - 0.5 ** (1 / 12))
    assert row["rent_present_cost_amount"] == pytest.approx(RENT * year * 1.75)
    assert results["rent_npv_amount"] == pytest.approx(-RENT * year * 1.75)


def test_a_term_over_the_whole_horizon_holds_its_price() -> None:
    months, _, row = flows(rent_price_ratio_per_year=0.5, rent_term_months=36.0)
    assert (months.loc[1:, "rent_cash_amount"] == months.loc[1, "rent_cash_amount"]).all()
    assert row["rent_annuity_factor"] == 36


def test_servers_are_bought_again_at_the_end_of_their_life() -> None:
    months, _, row = flows(service_life_months=24.0, horizon_months=60.0)
    assert row["renewal_times"] == 2
    assert months.index[months["purchase_flag"] == 1].tolist() == [0, 24, 48]
    # without discount: three outlays
    assert row["buy_present_cost_amount"] == pytest.approx(3 * CAPEX + 60 * RUNNING - RESIDUAL)


def test_no_renewal_on_the_last_day() -> None:
    months, _, row = flows(service_life_months=12.0, horizon_months=36.0)
    assert row["renewal_times"] == 2
    assert months.index[months["purchase_flag"] == 1].tolist() == [0, 12, 24]


# ---- loan and lease ----


def test_loan_of_the_annuity_table() -> None:
    # 12 % a year is 1 % a month; 36 payments of 1 are worth 30.10750504
    months, _, row = flows(loan_rate_per_year=0.12, loan_down_share=0.2)
    assert row["loan_down_amount"] == pytest.approx(770_000)
    assert row["loan_amount_per_month"] == pytest.approx(3_080_000 / 30.10750504, rel=1e-9)  # 102,300.07
    assert months.loc[0, "finance_cash_amount"] == pytest.approx(-770_000)
    assert months.loc[1, "finance_cash_amount"] == pytest.approx(-102_300.07 - RUNNING, abs=0.01)


def test_a_loan_at_the_discount_rate_is_worth_what_paying_at_once_is() -> None:
    _, results, _ = flows(annual_discount_rate=ONE_PER_CENT_A_MONTH, loan_rate_per_year=0.12, loan_down_share=0.3)
    assert results["finance_npv_amount"] == pytest.approx(results["buy_npv_amount"], rel=1e-12)


def test_a_loan_is_repaid_within_the_horizon() -> None:
    months, _, row = flows(loan_months=60.0, loan_rate_per_year=0.0)
    assert row["loan_amount_per_month"] == pytest.approx(CAPEX / 36)
    assert months["loan_payment_cash_amount"].sum() == pytest.approx(-CAPEX)


def test_lease_in_arrears_and_in_advance() -> None:
    # at 1 % a month the lessor finances 3,850,000 less 1,225,000 x 0.69892495 = 2,993,816.94; over 30.10750504 payments
    arrears, _, row = flows(lease_rate_per_year=0.12)
    assert row["lease_amount_per_month"] == pytest.approx(2_993_816.94 / 30.10750504, rel=1e-8)  # 99,437.56
    assert arrears.loc[0, "lease_cash_amount"] == 0
    assert (arrears.loc[1:, "lease_payment_cash_amount"] < 0).sum() == 36
    advance, _, early = flows(lease_rate_per_year=0.12, lease_in_advance_flag=1.0)
    assert early["lease_amount_per_month"] == pytest.approx(row["lease_amount_per_month"] / 1.01)
    assert (advance.loc[:35, "lease_payment_cash_amount"] < 0).all()
    assert advance.loc[36, "lease_payment_cash_amount"] == 0


@pytest.mark.parametrize("advance", [0.0, 1.0])
def test_a_lease_at_the_discount_rate_is_worth_what_owning_is(advance: float) -> None:
    _, results, _ = flows(
        annual_discount_rate=ONE_PER_CENT_A_MONTH, lease_rate_per_year=0.12, lease_in_advance_flag=advance
    )
    assert results["lease_npv_amount"] == pytest.approx(results["buy_npv_amount"], rel=1e-12)


# ---- books ----


def test_straight_line_over_five_years_sold_after_three() -> None:
    months, _, _ = flows()
    assert months.loc[1, "depreciation_pnl_amount"] == pytest.approx(-CAPEX / 60)
    assert months.loc[36, "book_value_amount"] == pytest.approx(CAPEX * 24 / 60)  # 1,540,000
    assert months.loc[36, "disposal_pnl_amount"] == pytest.approx(RESIDUAL - 1_540_000)  # a loss of 315,000
    assert months.loc[0, "depreciation_pnl_amount"] == 0


def test_declining_balance_changes_to_the_straight_line_at_half_life() -> None:
    # life 10: 20 % a month of what is left, for five months 0.8^5 = 0.32768; then a fifth of that each month
    months, _, _ = flows(declining_flag=1.0, book_life_months=10.0, horizon_months=12.0)
    values = (months["book_value_amount"] / CAPEX).to_numpy()
    by_hand = [1, 0.8, 0.64, 0.512, 0.4096, 0.32768]
    by_hand += [0.32768 * left / 5 for left in (4, 3, 2, 1, 0)]
    assert values[:11] == pytest.approx(by_hand)
    assert values[11] == values[12] == 0
    written = -np.diff(values[:11])
    assert (written[1:] <= written[:-1] + 1e-12).all(), "it never writes off more later"


@settings(max_examples=30, deadline=None)
@given(st.fixed_dictionaries({**MONEY, "book_life_months": st.integers(3, 72).map(float),
                              "declining_flag": st.sampled_from([0.0, 1.0])}))  # fmt: skip
def test_profit_and_loss_adds_up_to_the_cash(case: dict[str, float]) -> None:
    months, _, row = flows(**case)
    assert months["buy_pnl_amount"].sum() == pytest.approx(
        months["buy_cash_amount"].sum(), abs=1e-6 * row["capex_amount"]
    )
    at_work = months["book_value_amount"]
    assert ((at_work >= -1e-6) & (at_work <= row["capex_amount"] * (1 + 1e-12))).all()


def test_income_tax_on_rent_and_on_owning() -> None:
    months, results, _ = flows(income_tax_ratio=0.25, tax_shield_flag=1.0)
    assert months.loc[1, "rent_tax_saving_amount"] == pytest.approx(40_880)  # a quarter of 163,520
    # tax life 36: 106,944.44 and the running cost 36,990, a quarter of them
    assert months.loc[1, "buy_tax_saving_amount"] == pytest.approx((CAPEX / 36 + RUNNING) / 4)
    # the tax value is nothing at the end: the whole sale is taxed
    assert months.loc[36, "buy_tax_saving_amount"] == pytest.approx((CAPEX / 36 + RUNNING - RESIDUAL) / 4)
    # without discount everything is three quarters of the untaxed sum
    assert results["buy_after_tax_npv_amount"] == pytest.approx(0.75 * results["buy_npv_amount"])
    assert results["rent_after_tax_npv_amount"] == pytest.approx(0.75 * results["rent_npv_amount"])


def test_without_the_switch_no_tax_is_counted() -> None:
    _, results, _ = flows(income_tax_ratio=0.25)
    assert results["buy_after_tax_npv_amount"] == results["buy_npv_amount"]


def test_lease_liability_of_a_reserved_term() -> None:
    months, _, row = flows(rent_term_months=36.0, loan_rate_per_year=0.12)
    assert row["initial_liability_amount"] == pytest.approx(RENT * 30.10750504, rel=1e-9)
    assert months.loc[0, "lease_liability_amount"] == pytest.approx(row["initial_liability_amount"])
    # opening + interest - payment = closing
    for month in (1, 20, 36):
        opening, closing = months.loc[month - 1, "lease_liability_amount"], months.loc[month, "lease_liability_amount"]
        assert opening * 1.01 - RENT == pytest.approx(closing, abs=1e-6)
    assert months.loc[18, "right_of_use_amount"] == pytest.approx(row["initial_liability_amount"] / 2)
    assert flows()[2]["initial_liability_amount"] == 0, "on demand nothing is bound"


# ---- returns ----


def test_internal_rate_against_pyxirr() -> None:
    months, results, _ = flows()
    ours = results["incremental_irr_rate"]
    assert ours == pytest.approx(pyxirr.irr(months["incremental_cash_amount"].to_numpy()), rel=1e-9)
    # put back: at this rate the difference is worth nothing
    worth = (months["incremental_cash_amount"] * (1 + ours) ** -months.index.to_numpy(dtype=float)).sum()
    assert abs(worth) <= 1e-6 * CAPEX


def test_net_present_value_against_pyxirr() -> None:
    months, results, row = flows(annual_discount_rate=0.08)
    for way in ("buy", "rent", "finance", "lease"):
        theirs = pyxirr.npv(row["monthly_discount_rate"], months[f"{way}_cash_amount"].to_numpy())
        assert results[f"{way}_npv_amount"] == pytest.approx(theirs, rel=1e-10)


def test_a_rate_that_does_not_exist_or_is_not_alone_is_blank() -> None:
    assert np.isnan(irr([-100, -10, -10]))  # nothing comes back
    assert np.isnan(irr([-100, 230, -132]))  # 10 % and 20 % both
    assert irr([-100, 110]) == pytest.approx(0.1, rel=1e-12)
    assert irr([[-100, 60, 60], [-100, 50, 50]]) == pytest.approx([0.13066239, 0.0], abs=1e-8)


def test_payback_by_hand() -> None:
    # the rents saved, 163,520 - 36,990 = 126,530 a month, cover 3,850,000 in month 31 (30.43)
    assert flows()[1]["payback_month"] == 31
    assert np.isnan(flows(rent_offer_price_per_card_hour=0.4)[1]["payback_month"])


@pytest.mark.parametrize(
    ("tie", "leaf"),
    [
        ("break_even_price_per_card_hour", "rent_offer_price_per_card_hour"),
        ("break_even_residual_share", "residual_share"),
    ],
)
def test_a_continuous_break_even_put_back_leaves_no_difference(tie: str, leaf: str) -> None:
    case = {
        "annual_discount_rate": 0.08, "rent_price_ratio_per_year": 0.9, "vat_services_ratio": 0.06,
        "vat_recoverable_share": 0.2, "egress_price_per_gb": 0.3, "vat_goods_ratio": 0.13, "sla_credit_share": 0.02,
        "rent_term_months": 24.0, "early_termination_share": 0.5,
    }  # fmt: skip
    first = priced(case).iloc[0]
    value = first[tie] / (CASE["rent_offer_exchange_rate"] if leaf.startswith("rent") else 1)
    again = priced({**case, leaf: value}).iloc[0]
    assert abs(again["saving_amount"]) <= 1e-6 * again["capex_amount"]


def test_break_even_hours_put_back() -> None:
    row = priced({"annual_discount_rate": 0.08}).iloc[0]
    share = row["break_even_hours_per_day"] / 24
    assert row["rent_present_cost_amount"] * share == pytest.approx(row["buy_present_cost_amount"])


def test_every_row_of_the_timeline_has_a_symbol_and_a_label() -> None:
    assert all(row.label and row.symbol for row in CASHFLOW)
    assert len({row.label for row in CASHFLOW}) == len(CASHFLOW)
