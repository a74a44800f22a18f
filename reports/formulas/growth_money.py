"""Rent against buy as the demand grows: what each way pays in each month, and what that is worth today.

Two plans for the same months: rent all that today's fleet does not cover, or order servers a lead time ahead and rent
what has not arrived. Today's fleet costs the same either way and is left out of both. Month 0 is the day of the report;
what is used in a month is paid at its end, and an order on its day, as in ``cashflow``: with a demand that stays, no
lead time and no fleet both ways are worth what they are there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.formulas.meta import formula

_SOURCE = ("methods-note",)


@formula(unit="currency", label="Rent of the cards of a month", symbol="k_{rent}", sources=_SOURCE)
def month_rent_amount(month_rented_cards: Any, rent_total_amount_per_month: Any, rented_cards: Any) -> Any:
    """The cost lines of renting, in proportion to the cards; without an offer nothing is compared."""
    return month_rented_cards * rent_total_amount_per_month / rented_cards


@formula(unit="currency", label="Rent paid as the demand grows", symbol="c_{rent}", sources=_SOURCE)
def growing_rent_cash_amount(rent_due_amount: Any, rent_price_factor: Any) -> Any:
    """What the month before was rented for, at the rents of the month."""
    return 0 - rent_due_amount * rent_price_factor


@formula(unit="servers", label="Servers ordered that arrive within the horizon", symbol="o", sources=_SOURCE)
def useful_ordered_servers(
    affordable_servers: Any, affordable_before_servers: Any, month: Any, lead_time_months: Any, horizon_months: Any
) -> Any:
    """The order of this month; one that arrives at the end of the horizon serves the time after it."""
    return (affordable_servers - affordable_before_servers) * np.where(month + lead_time_months < horizon_months, 1, 0)


@formula(unit="currency", label="Servers paid as the demand grows", symbol="c_{capex}", sources=_SOURCE)
def growing_capex_cash_amount(bought_servers: Any, order_server_amount: Any, month: Any, horizon_months: Any) -> Any:
    """Orders on their day, and again whenever a life has passed before the end of the horizon."""
    return 0 - bought_servers * order_server_amount * np.where(month < horizon_months, 1, 0)


@formula(unit="currency", label="Running cost paid as the demand grows", symbol="c_{run}", sources=_SOURCE)
def growing_running_cash_amount(ran_servers: Any, running_amount_per_month: Any, servers_needed: Any) -> Any:
    """Servers delivered by the month before, at the running cost of one."""
    return 0 - ran_servers * running_amount_per_month / servers_needed


@formula(unit="currency", label="Value left at the end of what this month orders", symbol="\\rho_{m}", sources=_SOURCE)
def order_residual_amount(
    useful_ordered_servers: Any,
    hardware_amount: Any,
    servers_needed: Any,
    residual_share: Any,
    month: Any,
    lead_time_months: Any,
    horizon_months: Any,
) -> Any:
    """A server that is as old as the horizon fetches its residual share; a younger one more, along a straight line
    from the price of a new one."""
    return useful_ordered_servers * hardware_amount / servers_needed * (
        1 - (1 - residual_share) * np.maximum(horizon_months - month - lead_time_months, 0) / horizon_months
    )


@formula(unit="currency", label="Owning as the demand grows, cash flow", symbol="c_{buy}", sources=_SOURCE)
def growing_buy_cash_amount(
    growing_capex_cash_amount: Any,
    growing_running_cash_amount: Any,
    growing_bridge_cash_amount: Any,
    residual_so_far_amount: Any,
    month: Any,
    horizon_months: Any,
) -> Any:
    """Orders, running cost, the rented bridge, and the value left at the end of the horizon."""
    return (
        growing_capex_cash_amount
        + growing_running_cash_amount
        + growing_bridge_cash_amount
        + np.where(month == horizon_months, residual_so_far_amount, 0)
    )


MONTHS = (
    month_rent_amount,
    growing_rent_cash_amount,
    useful_ordered_servers,
    growing_capex_cash_amount,
    growing_running_cash_amount,
    order_residual_amount,
    growing_buy_cash_amount,
)
"""One value a month each."""


@formula(unit="currency/month", label="Renting as the demand grows, equivalent cost per month", symbol="m_{rent}",
         sources=_SOURCE)  # fmt: skip
def growing_rent_equivalent_amount_per_month(growing_rent_npv_amount: Any, annuity_factor: Any) -> Any:
    """The level payment at the end of every month that is worth the same today."""
    return 0 - growing_rent_npv_amount / annuity_factor


@formula(unit="currency/month", label="Owning as the demand grows, equivalent cost per month", symbol="m_{buy}",
         sources=_SOURCE)  # fmt: skip
def growing_buy_equivalent_amount_per_month(growing_buy_npv_amount: Any, annuity_factor: Any) -> Any:
    """The level payment at the end of every month that is worth the same today."""
    return 0 - growing_buy_npv_amount / annuity_factor


RESULTS = (growing_rent_equivalent_amount_per_month, growing_buy_equivalent_amount_per_month)
"""Drawn from the months."""
