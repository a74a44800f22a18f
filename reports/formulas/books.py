"""What the books show: depreciation, the result of a sale, and taxes on income. ``month`` is a row of the timeline.

The cash view decides; the profit-and-loss view spreads the same money differently, and its rows add up to the same sum.
Book life and tax life are apart: what an accountant writes off in five years a tax office may allow in three.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.formulas.meta import ceil, formula

_SOURCE = ("methods-note",)


@formula(unit="months", label="Age of the servers", symbol="a_{m}", sources=_SOURCE)
def server_age_months(month: Any, service_life_months: Any, purchase_flag: Any) -> Any:
    """Months since the last purchase; at the end of the horizon the last servers are as old as they became."""
    return np.where(
        purchase_flag > 0,
        0,
        month - service_life_months * (ceil(month / service_life_months) - 1),
    )


@formula(unit="currency", label="Book value", symbol="V_{m}", sources=_SOURCE)
def book_value_amount(server_age_months: Any, capex_amount: Any, book_life_months: Any, declining_flag: Any) -> Any:
    """Straight line to nothing over the book life; or twice that rate on what is left, changing to the straight line
    from half the life on, where that writes off more."""
    return capex_amount * np.where(
        server_age_months >= book_life_months,
        0,
        np.where(
            declining_flag > 0,
            (1 - 2 / np.maximum(book_life_months, 2)) ** np.minimum(server_age_months, ceil(book_life_months / 2))
            * np.minimum(
                1,
                (book_life_months - server_age_months) / np.maximum(book_life_months - ceil(book_life_months / 2), 1),
            ),
            1 - server_age_months / book_life_months,
        ),
    )


@formula(unit="currency", label="Depreciation", symbol="d_{m}", sources=_SOURCE)
def depreciation_pnl_amount(
    month: Any, previous_book_value_amount: Any, book_value_amount: Any, purchase_flag: Any
) -> Any:
    """What the book value loses in the month; servers that are replaced are written off whole."""
    return np.where(month > 0, np.where(purchase_flag > 0, 0, book_value_amount) - previous_book_value_amount, 0)


@formula(unit="currency", label="Result of the sale", symbol="e_{m}", sources=_SOURCE)
def disposal_pnl_amount(month: Any, horizon_months: Any, buy_residual_cash_amount: Any, book_value_amount: Any) -> Any:
    """What the servers fetch at the end less what they stand at in the books."""
    return np.where(month == horizon_months, buy_residual_cash_amount - book_value_amount, 0)


@formula(unit="currency", label="Owning, profit and loss", symbol="e_{buy}", sources=_SOURCE)
def buy_pnl_amount(buy_running_cash_amount: Any, depreciation_pnl_amount: Any, disposal_pnl_amount: Any) -> Any:
    """Expense of the month: running cost, depreciation, and the sale at the end."""
    return buy_running_cash_amount + depreciation_pnl_amount + disposal_pnl_amount


@formula(unit="currency", label="Tax value", symbol="T_{m}", sources=_SOURCE)
def tax_value_amount(server_age_months: Any, capex_amount: Any, tax_life_months: Any) -> Any:
    """Straight line to nothing over the life that the tax office allows."""
    return capex_amount * np.maximum(1 - server_age_months / tax_life_months, 0)


@formula(unit="currency", label="Income tax saved by renting", symbol="t_{rent}", sources=_SOURCE)
def rent_tax_saving_amount(rent_cash_amount: Any, income_tax_ratio: Any, tax_shield_flag: Any) -> Any:
    """Rent is an expense; counted in the month it is paid."""
    return -rent_cash_amount * income_tax_ratio * tax_shield_flag


@formula(unit="currency", label="Income tax saved by owning", symbol="t_{buy}", sources=_SOURCE)
def buy_tax_saving_amount(
    month: Any,
    horizon_months: Any,
    previous_tax_value_amount: Any,
    tax_value_amount: Any,
    purchase_flag: Any,
    buy_running_cash_amount: Any,
    buy_residual_cash_amount: Any,
    income_tax_ratio: Any,
    tax_shield_flag: Any,
) -> Any:
    """Tax depreciation and running cost are expenses; what the sale brings above the tax value is taxed."""
    return (
        (
            np.where(month > 0, previous_tax_value_amount - np.where(purchase_flag > 0, 0, tax_value_amount), 0)
            - buy_running_cash_amount
            - np.where(month == horizon_months, buy_residual_cash_amount - tax_value_amount, 0)
        )
        * income_tax_ratio
        * tax_shield_flag
    )


@formula(unit="currency", label="Renting after tax, cash flow", symbol="c'_{rent}", sources=_SOURCE)
def rent_after_tax_cash_amount(rent_cash_amount: Any, rent_tax_saving_amount: Any) -> Any:
    """The rent less the tax it saves."""
    return rent_cash_amount + rent_tax_saving_amount


@formula(unit="currency", label="Owning after tax, cash flow", symbol="c'_{buy}", sources=_SOURCE)
def buy_after_tax_cash_amount(buy_cash_amount: Any, buy_tax_saving_amount: Any) -> Any:
    """The flows of owning and the tax they save."""
    return buy_cash_amount + buy_tax_saving_amount


@formula(unit="currency", label="Lease liability at the start, if the rent is a lease", symbol="Q_{0}", sources=_SOURCE)
def initial_liability_amount(rent_total_amount_per_month: Any, loan_monthly_rate: Any, rent_term_months: Any) -> Any:
    """Present value of the rents that the term binds, at the rate at which the company borrows (IFRS 16)."""
    return rent_total_amount_per_month * np.where(
        loan_monthly_rate == 0,
        rent_term_months,
        (1 - 1 / (1 + loan_monthly_rate) ** rent_term_months) / np.where(loan_monthly_rate == 0, 1, loan_monthly_rate),
    )


@formula(unit="currency", label="Lease liability if the rent is a lease", symbol="Q_{m}", sources=_SOURCE)
def lease_liability_amount(
    month: Any, rent_total_amount_per_month: Any, loan_monthly_rate: Any, rent_term_months: Any
) -> Any:
    """Present value of the rents that the term still binds; nothing on demand. Only rent of identified servers for
    longer than twelve months is a lease."""
    return rent_total_amount_per_month * np.where(
        loan_monthly_rate == 0,
        np.maximum(rent_term_months - month, 0),
        (1 - 1 / (1 + loan_monthly_rate) ** np.maximum(rent_term_months - month, 0))
        / np.where(loan_monthly_rate == 0, 1, loan_monthly_rate),
    )


@formula(unit="currency", label="Right of use, straight line", symbol="U_{m}", sources=_SOURCE)
def right_of_use_amount(month: Any, initial_liability_amount: Any, rent_term_months: Any) -> Any:
    """Starts at the first liability and is written off evenly over the term."""
    return initial_liability_amount * np.maximum(1 - month / np.maximum(rent_term_months, 1), 0)


FORMULAS = (initial_liability_amount,)
AGE = (server_age_months, book_value_amount, tax_value_amount)
RESULTS_OF_MONTHS = (
    depreciation_pnl_amount,
    disposal_pnl_amount,
    buy_pnl_amount,
    rent_tax_saving_amount,
    buy_tax_saving_amount,
    rent_after_tax_cash_amount,
    buy_after_tax_cash_amount,
)
LEASED = (lease_liability_amount, right_of_use_amount)
