"""The cash flow of renting and of buying, month by month: month 0 is the day of purchase, m the end of month m.

Outflows are negative. ``month`` is a row of the timeline, every other name a column of the option or an earlier row.
Sums along the timeline are aggregates (``reports.formulas.aggregate``); ``reports.cost.blocks.CASHFLOW`` has the order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import MONTHS_PER_YEAR
from reports.formulas.meta import floor, formula

_SOURCE = ("methods-note",)


@formula(unit="ratio", label="Discount factor", symbol="v_{m}", sources=_SOURCE)
def discount_factor(monthly_discount_rate: Any, month: Any) -> Any:
    """Value on the day of purchase of 1 paid at the end of this month."""
    return 1 / (1 + monthly_discount_rate) ** month


@formula(unit="ratio", label="Rent against the first month", symbol="g_{m}", sources=_SOURCE)
def rent_price_factor(month: Any, rent_move_ratio: Any) -> Any:
    """Rents move by a yearly rate, month by month, from the first payment on."""
    return np.where(month > 0, rent_move_ratio ** ((month - 1) / MONTHS_PER_YEAR), 0)


@formula(unit="currency", label="Rent paid", symbol="c_{rent}", sources=_SOURCE)
def rent_cash_amount(
    month: Any,
    rent_total_amount_per_month: Any,
    rent_price_factor: Any,
    early_termination_amount: Any,
    horizon_months: Any,
) -> Any:
    """At the end of every month, never on day 0; with the last one what ends a term that would bind longer."""
    return (
        0
        - rent_total_amount_per_month * rent_price_factor
        - np.where(month == horizon_months, early_termination_amount, 0)
    )


@formula(unit="flag", label="Servers are bought", symbol="b_{m}", sources=_SOURCE)
def purchase_flag(month: Any, service_life_months: Any, horizon_months: Any) -> Any:
    """On day 0, and again whenever a life has passed before the end of the horizon."""
    return np.where(
        month < horizon_months,
        np.where(floor(month / service_life_months) * service_life_months == month, 1, 0),
        np.where(horizon_months == 0, 1, 0),
    )


@formula(unit="currency", label="Capital outlay paid", symbol="c_{capex}", sources=_SOURCE)
def buy_capex_cash_amount(purchase_flag: Any, capex_amount: Any) -> Any:
    """On the day of purchase, and of every renewal at the price of today: what is replaced fetches nothing."""
    return 0 - purchase_flag * capex_amount


@formula(unit="currency", label="Running cost paid", symbol="c_{run}", sources=_SOURCE)
def buy_running_cash_amount(month: Any, running_amount_per_month: Any) -> Any:
    """At the end of every month."""
    return np.where(month > 0, -running_amount_per_month, 0)


@formula(unit="currency", label="Value left, received", symbol="c_{res}", sources=_SOURCE)
def buy_residual_cash_amount(month: Any, horizon_months: Any, residual_amount: Any) -> Any:
    """At the end of the horizon only: no resale before it."""
    return np.where(month == horizon_months, residual_amount, 0)


@formula(unit="currency", label="Owning, cash flow", symbol="c_{buy}", sources=_SOURCE)
def buy_cash_amount(buy_capex_cash_amount: Any, buy_running_cash_amount: Any, buy_residual_cash_amount: Any) -> Any:
    """The three flows of owning together."""
    return buy_capex_cash_amount + buy_running_cash_amount + buy_residual_cash_amount


@formula(unit="currency", label="Rent paid, discounted", symbol="d_{rent}", sources=_SOURCE)
def rent_discounted_amount(rent_cash_amount: Any, discount_factor: Any) -> Any:
    """Value on the day of purchase."""
    return rent_cash_amount * discount_factor


@formula(unit="currency", label="Owning, discounted", symbol="d_{buy}", sources=_SOURCE)
def buy_discounted_amount(buy_cash_amount: Any, discount_factor: Any) -> Any:
    """Value on the day of purchase."""
    return buy_cash_amount * discount_factor


@formula(unit="flag", label="Renting has cost more than owning", symbol="f", sources=_SOURCE)
def rent_passed_flag(rent_cumulative_amount: Any, buy_cumulative_amount: Any) -> Any:
    """1 from the month in which the cumulative discounted rent passes owning (both are negative)."""
    return np.where(rent_cumulative_amount < buy_cumulative_amount, 1, 0)


@formula(unit="currency", label="Owning instead of renting, cash flow", symbol="c_{\\Delta}", sources=_SOURCE)
def incremental_cash_amount(buy_cash_amount: Any, rent_cash_amount: Any) -> Any:
    """What a month pays more or less because the servers are owned and not rented."""
    return buy_cash_amount - rent_cash_amount


@formula(unit="flag", label="Owning has paid back", symbol="f_{pay}", sources=_SOURCE)
def paid_back_flag(incremental_cumulative_amount: Any) -> Any:
    """1 in months at whose end the rents saved so far cover the outlay, nothing discounted."""
    return np.where(incremental_cumulative_amount >= 0, 1, 0)


@formula(unit="currency", label="Least cost so far, the end known beforehand", symbol="w_{m}", sources=_SOURCE)
def hindsight_amount(rent_cumulative_amount: Any, buy_cumulative_amount: Any) -> Any:
    """The cheaper of renting and owning so far. Who rents until the rents reach the outlay and buys only then never
    pays more than about twice this, whenever the service stops (ski rental)."""
    return 0 - np.maximum(rent_cumulative_amount, buy_cumulative_amount)


@formula(unit="currency", label="Regret of renting if the service stops now", symbol="x_{rent}", sources=_SOURCE)
def rent_regret_amount(hindsight_amount: Any, rent_cumulative_amount: Any) -> Any:
    """What renting has cost more than the cheaper way so far."""
    return 0 - rent_cumulative_amount - hindsight_amount


@formula(unit="currency", label="Regret of owning if the service stops now", symbol="x_{buy}", sources=_SOURCE)
def buy_regret_amount(hindsight_amount: Any, buy_cumulative_amount: Any) -> Any:
    """What owning has cost more than the cheaper way so far; servers are not resold before the end of the horizon."""
    return 0 - buy_cumulative_amount - hindsight_amount


FORMULAS = (
    discount_factor,
    rent_price_factor,
    rent_cash_amount,
    purchase_flag,
    buy_capex_cash_amount,
    buy_running_cash_amount,
    buy_residual_cash_amount,
    buy_cash_amount,
    rent_discounted_amount,
    buy_discounted_amount,
)
"""The flows of renting and of owning, and their values today."""
COMPARED = (rent_passed_flag, incremental_cash_amount)
"""Once both are added up along the months."""
PAID_BACK = (paid_back_flag,)
STOPPED = (hindsight_amount, rent_regret_amount, buy_regret_amount)
"""What each choice is worse than the better one if the service stops at the end of a month."""
