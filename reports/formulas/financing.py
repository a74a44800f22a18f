"""Two more ways to pay for owned servers: a loan over the outlay, and a lease of the servers.

Both are variants of owning: the servers, their running cost and their number are the same. They are compared with
paying at once by their net present value. ``month`` is a row of the timeline.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import MONTHS_PER_YEAR
from reports.formulas.meta import formula

_SOURCE = ("methods-note",)


@formula(unit="ratio", label="Interest per month", symbol="j", sources=_SOURCE)
def loan_monthly_rate(loan_rate_per_year: Any) -> Any:
    """A twelfth of the yearly rate, as banks quote loans."""
    return loan_rate_per_year / MONTHS_PER_YEAR


@formula(unit="currency", label="Own money on the day of purchase", symbol="L_{0}", sources=_SOURCE)
def loan_down_amount(capex_amount: Any, loan_down_share: Any) -> Any:
    """The part of the outlay that the bank does not lend."""
    return capex_amount * loan_down_share


@formula(unit="months", label="Term of the loan within the horizon", symbol="n_{L}", sources=_SOURCE)
def loan_term_months(loan_months: Any, horizon_months: Any) -> Any:
    """A loan is taken for no longer than the plan runs."""
    return np.minimum(loan_months, horizon_months)


@formula(unit="currency/month", label="Loan, level payment", symbol="K_{loan}", sources=_SOURCE)
def loan_amount_per_month(
    capex_amount: Any, loan_down_amount: Any, loan_monthly_rate: Any, loan_term_months: Any
) -> Any:
    """Interest and repayment at the end of every month, the same each time."""
    return (capex_amount - loan_down_amount) * np.where(
        loan_monthly_rate == 0,
        1 / loan_term_months,
        loan_monthly_rate / np.where(loan_monthly_rate == 0, 1, 1 - 1 / (1 + loan_monthly_rate) ** loan_term_months),
    )


@formula(unit="ratio", label="Lease rate per month", symbol="l", sources=_SOURCE)
def lease_monthly_rate(lease_rate_per_year: Any) -> Any:
    """A twelfth of the rate that the lessor reckons with."""
    return lease_rate_per_year / MONTHS_PER_YEAR


@formula(unit="currency/month", label="Lease payment", symbol="K_{lease}", sources=_SOURCE)
def lease_amount_per_month(
    capex_amount: Any,
    residual_amount: Any,
    lease_monthly_rate: Any,
    horizon_months: Any,
    lease_in_advance_flag: Any,
) -> Any:
    """The level payment that leaves the lessor with the outlay at his rate, the servers going back to him at the end;
    paid at the start of every month it is one month's interest less."""
    return np.where(
        lease_monthly_rate == 0,
        (capex_amount - residual_amount) / horizon_months,
        (capex_amount - residual_amount / (1 + lease_monthly_rate) ** horizon_months)
        * lease_monthly_rate
        / np.where(lease_monthly_rate == 0, 1, 1 - 1 / (1 + lease_monthly_rate) ** horizon_months),
    ) / (1 + lease_monthly_rate * lease_in_advance_flag)


@formula(unit="currency", label="Loan: outlay and payments", symbol="c_{loan}", sources=_SOURCE)
def loan_payment_cash_amount(
    month: Any, loan_down_amount: Any, loan_amount_per_month: Any, loan_term_months: Any
) -> Any:
    """Own money on day 0, then the level payments until the loan is repaid."""
    return np.where(month > 0, np.where(month <= loan_term_months, -loan_amount_per_month, 0), -loan_down_amount)


@formula(unit="currency", label="Owning on a loan, cash flow", symbol="c_{fin}", sources=_SOURCE)
def finance_cash_amount(
    loan_payment_cash_amount: Any,
    buy_capex_cash_amount: Any,
    month: Any,
    buy_running_cash_amount: Any,
    buy_residual_cash_amount: Any,
) -> Any:
    """The loan pays the first outlay; renewals are paid at once."""
    return (
        loan_payment_cash_amount
        + np.where(month > 0, buy_capex_cash_amount, 0)
        + buy_running_cash_amount
        + buy_residual_cash_amount
    )


@formula(unit="currency", label="Lease payments", symbol="c_{lp}", sources=_SOURCE)
def lease_payment_cash_amount(
    month: Any, horizon_months: Any, lease_amount_per_month: Any, lease_in_advance_flag: Any
) -> Any:
    """In advance: on day 0 and at the end of every month but the last; in arrears: at the end of every month."""
    return np.where(
        lease_in_advance_flag > 0,
        np.where(month < horizon_months, -lease_amount_per_month, 0),
        np.where(month > 0, -lease_amount_per_month, 0),
    )


@formula(unit="currency", label="Leasing, cash flow", symbol="c_{lease}", sources=_SOURCE)
def lease_cash_amount(lease_payment_cash_amount: Any, buy_running_cash_amount: Any) -> Any:
    """The servers are run as owned ones are, and go back at the end."""
    return lease_payment_cash_amount + buy_running_cash_amount


@formula(unit="currency", label="Interest of the loan", symbol="z_{loan}", sources=_SOURCE)
def loan_interest_amount(month: Any, loan_amount_per_month: Any, loan_monthly_rate: Any, loan_term_months: Any) -> Any:
    """The part of the level payment that is interest on what is still owed; the rest repays."""
    return np.where(
        month > 0,
        np.where(
            month <= loan_term_months,
            -loan_amount_per_month * (1 - 1 / (1 + loan_monthly_rate) ** (loan_term_months - month + 1)),
            0,
        ),
        0,
    )


@formula(unit="currency", label="Interest of the lease", symbol="z_{lease}", sources=_SOURCE)
def lease_interest_amount(
    month: Any,
    horizon_months: Any,
    lease_amount_per_month: Any,
    lease_monthly_rate: Any,
    lease_in_advance_flag: Any,
) -> Any:
    """Interest on the lease liability (IFRS 16), at the rate of the lessor."""
    return np.where(
        month > 0,
        -lease_amount_per_month
        * (1 - 1 / (1 + lease_monthly_rate) ** (horizon_months - month + 1 - lease_in_advance_flag)),
        0,
    )


@formula(unit="currency", label="Right of use of the lease, written off", symbol="u_{lease}", sources=_SOURCE)
def lease_right_pnl_amount(
    month: Any, horizon_months: Any, capex_amount: Any, residual_amount: Any, lease_monthly_rate: Any
) -> Any:
    """The payments at their value on day 0 are the outlay less the discounted value left; evenly over the lease."""
    return np.where(
        month > 0, -(capex_amount - residual_amount / (1 + lease_monthly_rate) ** horizon_months) / horizon_months, 0
    )


@formula(unit="currency", label="Owning on a loan, profit and loss", symbol="e_{fin}", sources=_SOURCE)
def finance_pnl_amount(buy_pnl_amount: Any, loan_interest_amount: Any) -> Any:
    """As owning, and the interest; what repays the loan is no expense."""
    return buy_pnl_amount + loan_interest_amount


@formula(unit="currency", label="Leasing, profit and loss", symbol="e_{lease}", sources=_SOURCE)
def lease_pnl_amount(buy_running_cash_amount: Any, lease_right_pnl_amount: Any, lease_interest_amount: Any) -> Any:
    """Running cost, the right of use written off, and the interest of the liability (IFRS 16)."""
    return buy_running_cash_amount + lease_right_pnl_amount + lease_interest_amount


FORMULAS = (
    loan_monthly_rate,
    loan_down_amount,
    loan_term_months,
    loan_amount_per_month,
    lease_monthly_rate,
    lease_amount_per_month,
)
MONTHS = (loan_payment_cash_amount, finance_cash_amount, lease_payment_cash_amount, lease_cash_amount)
BOOKED = (loan_interest_amount, lease_interest_amount, lease_right_pnl_amount, finance_pnl_amount, lease_pnl_amount)
"""The profit-and-loss view of both, once that of owning is known."""
