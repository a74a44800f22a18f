"""Growth: from today's demand to units, servers and orders, month by month; month 0 is the month of the report.

``month`` is a row of the timeline, every other name a column of the option or a row above. An order is placed a lead
time before the month that needs it, and no earlier than month 0; what is not there in time is rented as a bridge.
Sums, look-ahead and look-back along the months are aggregates; ``reports.plan.growth.TIMELINE`` has the order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import MONTHS_PER_QUARTER, WEEKS_PER_MONTH
from reports.formulas.meta import ceil, floor, formula

_SOURCE = ("methods-note",)


@formula(unit="months", label="Lead time in months", symbol="L", sources=_SOURCE)
def lead_time_months(lead_time_weeks: Any) -> Any:
    """Whole months from order to service: 26 weeks are 6 months."""
    return ceil(lead_time_weeks / WEEKS_PER_MONTH)


@formula(unit="cards", label="Cards of a server that units can use", symbol="N_{use}", sources=_SOURCE)
def server_filled_cards(server_cards: Any, stage_cards: Any) -> Any:
    """Whole stages only; a stage larger than a server takes whole servers."""
    return np.maximum(floor(server_cards / stage_cards), 1) * np.minimum(stage_cards, server_cards)


@formula(unit="currency", label="Price of one ordered server", symbol="p_{ord}", sources=_SOURCE)
def order_server_amount(capex_amount: Any, servers_needed: Any) -> Any:
    """With its share of the network between servers, as in the capital outlay of the plan."""
    return capex_amount / servers_needed


FORMULAS = (lead_time_months, server_filled_cards, order_server_amount)
"""Of an option, for all months."""


@formula(unit="ratio", label="Demand against today", symbol="g", sources=_SOURCE)
def demand_growth_factor(
    listed_factor: Any, monthly_growth_rate: Any, growth_saturation_factor: Any, month: Any
) -> Any:
    """What the scenario lists for the month; or compound growth; or a logistic curve that starts at 1, grows by the
    rate at first and ends at the saturation level."""
    return listed_factor * np.where(
        growth_saturation_factor > 0,
        growth_saturation_factor / (1 + (growth_saturation_factor - 1) / (1 + monthly_growth_rate) ** month),
        (1 + monthly_growth_rate) ** month,
    )


@formula(unit="requests", label="Concurrency to serve", symbol="D_m", sources=_SOURCE)
def month_demand_concurrency(demand_concurrency: Any, demand_growth_factor: Any) -> Any:
    """Today's demand times its growth."""
    return demand_concurrency * demand_growth_factor


@formula(unit="servers", label="Servers the demand needs", symbol="n_{srv}", sources=_SOURCE)
def month_servers(month_cards: Any, server_filled_cards: Any) -> Any:
    """Whole servers for all units of the month, spares and development included."""
    return ceil(month_cards / server_filled_cards)


@formula(unit="servers", label="Servers lacking today's fleet", symbol="n_{gap}", sources=_SOURCE)
def lacking_servers(month_servers: Any, fleet_servers: Any) -> Any:
    """What the fleet of today, less what is given back until then, does not cover."""
    return np.maximum(month_servers - fleet_servers, 0)


@formula(unit="flag", label="Today's fleet is exhausted", symbol="f", sources=_SOURCE)
def exhausted_flag(lacking_servers: Any) -> Any:
    """1 in a month that needs more servers than the fleet has."""
    return np.where(lacking_servers > 0, 1, 0)


@formula(unit="servers", label="Servers the budget allows, in total", symbol="n_{bud}", sources=_SOURCE)
def budget_servers(
    order_budget_amount_per_quarter: Any,
    month: Any,
    quarter_offset_months: Any,
    order_server_amount: Any,
    wanted_servers: Any,
) -> Any:
    """Budgets of the quarters begun so far, over the price of a server; what a quarter leaves is kept. Without a budget
    nothing is held back."""
    return np.where(
        order_budget_amount_per_quarter > 0,
        floor(
            order_budget_amount_per_quarter
            * (floor((month + quarter_offset_months) / MONTHS_PER_QUARTER) + 1)
            / order_server_amount
        ),
        wanted_servers,
    )


@formula(unit="servers", label="Servers to have ordered within the budget", symbol="n_{ord}", sources=_SOURCE)
def affordable_servers(wanted_servers: Any, budget_servers: Any) -> Any:
    """What the months within the lead time need, as far as the budget reaches."""
    return np.minimum(wanted_servers, budget_servers)


@formula(unit="servers", label="Servers ordered so far", symbol="O", sources=_SOURCE)
def ordered_total_servers(order_flag: Any, affordable_servers: Any) -> Any:
    """All of them where the card is bought; nothing where all is rented."""
    return order_flag * affordable_servers


@formula(unit="servers", label="Servers ordered", symbol="o", sources=_SOURCE)
def ordered_servers(ordered_total_servers: Any, ordered_before_servers: Any) -> Any:
    """The order of this month."""
    return ordered_total_servers - ordered_before_servers


@formula(unit="currency", label="Amount of the order", symbol="c_{ord}", sources=_SOURCE)
def order_amount(ordered_servers: Any, order_server_amount: Any) -> Any:
    """Servers of this month at their price."""
    return ordered_servers * order_server_amount


@formula(unit="servers", label="Servers at hand", symbol="n_{own}", sources=_SOURCE)
def owned_servers(fleet_servers: Any, arrived_servers: Any) -> Any:
    """What is left of today's fleet, and what has been delivered."""
    return fleet_servers + arrived_servers


@formula(unit="cards", label="Cards at hand", symbol="N_{own}", sources=_SOURCE)
def owned_cards(owned_servers: Any, server_cards: Any) -> Any:
    """Every card of the servers at hand."""
    return owned_servers * server_cards


@formula(unit="cards", label="Cards rented as the bridge", symbol="N_{br}", sources=_SOURCE)
def bridge_cards(
    month_cards: Any, owned_servers: Any, server_filled_cards: Any, unit_cards: Any
) -> Any:
    """Units that the servers at hand do not hold, times their cards; before they are filled up to whole instances."""
    return np.maximum(
        month_cards - floor(owned_servers * server_filled_cards / unit_cards) * unit_cards, 0
    )


@formula(unit="cards", label="Cards at hand that stand idle", symbol="N_{idle}", sources=_SOURCE)
def idle_cards(owned_cards: Any, month_cards: Any) -> Any:
    """Bought ahead, or rounded up to whole servers: capacity that is carried."""
    return np.maximum(owned_cards - month_cards, 0)


MONTHS = (
    demand_growth_factor,
    month_demand_concurrency,
    month_servers,
    lacking_servers,
    exhausted_flag,
    budget_servers,
    affordable_servers,
    ordered_total_servers,
    ordered_servers,
    order_amount,
    owned_servers,
    owned_cards,
    bridge_cards,
    idle_cards,
)
"""One value a month each."""


@formula(unit="ratio", label="Idle share of the cards at hand", symbol="i", sources=_SOURCE)
def idle_share(idle_card_months: Any, owned_card_months: Any) -> Any:
    """Over all months; 0 when nothing is owned."""
    return idle_card_months / np.maximum(owned_card_months, 1)


RESULTS = (idle_share,)
"""Drawn from the sums of the months."""
