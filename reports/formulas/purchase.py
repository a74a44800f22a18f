"""The purchase itself: the pieces of the network, what is ordered with the servers, when it is paid, and the budget.

The network is budgeted as a share of the servers. Its pieces are counted here, and the budget is shared out among them
in proportion to their list prices, so that the bill of materials adds up to the cost lines; a quote replaces both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import DAYS_PER_WEEK, MONTHS_PER_YEAR
from reports.formulas.meta import ceil, floor, formula

_SOURCE = ("methods-note",)


@formula(unit="pieces", label="Network adapters", symbol="n_{nic}", sources=_SOURCE)
def network_adapter_pieces(servers_needed: Any, adapter_pieces_per_server: Any) -> Any:
    """Adapters that link servers; a single server needs none."""
    return np.where(servers_needed > 1, servers_needed * adapter_pieces_per_server, 0)


@formula(unit="pieces", label="Switches", symbol="n_{sw}", sources=_SOURCE)
def network_switch_pieces(network_adapter_pieces: Any, port_pieces_per_switch: Any) -> Any:
    """One switch while its ports suffice; beyond, two tiers that do not block: half of a leaf's ports go up."""
    return np.where(
        network_adapter_pieces > port_pieces_per_switch,
        ceil(2 * network_adapter_pieces / port_pieces_per_switch)
        + ceil(network_adapter_pieces / port_pieces_per_switch),
        np.where(network_adapter_pieces > 0, 1, 0),
    )


@formula(unit="pieces", label="Network links, one cable each", symbol="n_{link}", sources=_SOURCE)
def network_cable_pieces(network_adapter_pieces: Any, port_pieces_per_switch: Any) -> Any:
    """One from each adapter, and with two tiers as many again between the switches."""
    return network_adapter_pieces * np.where(network_adapter_pieces > port_pieces_per_switch, 2, 1)


@formula(unit="pieces", label="Optics", symbol="n_{opt}", sources=_SOURCE)
def network_optic_pieces(network_cable_pieces: Any, optic_pieces_per_link: Any) -> Any:
    """Transceivers at the ends of the links; none on copper."""
    return ceil(network_cable_pieces * optic_pieces_per_link)


@formula(unit="currency", label="Network pieces at their list prices", symbol="C_{list}", sources=_SOURCE)
def network_list_amount(
    network_adapter_pieces: Any,
    adapter_price_per_piece: Any,
    network_switch_pieces: Any,
    switch_price_per_piece: Any,
    network_optic_pieces: Any,
    optic_price_per_piece: Any,
    network_cable_pieces: Any,
    cable_price_per_piece: Any,
) -> Any:
    """What the counted pieces would cost; beside the budget it says whether the budget is enough."""
    return (
        network_adapter_pieces * adapter_price_per_piece
        + network_switch_pieces * switch_price_per_piece
        + network_optic_pieces * optic_price_per_piece
        + network_cable_pieces * cable_price_per_piece
    )


@formula(unit="ratio", label="Network budget over list prices", symbol="\\beta_{net}", sources=_SOURCE)
def network_budget_ratio(network_amount: Any, network_list_amount: Any) -> Any:
    """Below 1 the pieces must be bought below their list prices."""
    return np.where(
        network_list_amount > 0, network_amount / np.where(network_list_amount > 0, network_list_amount, 1), 0
    )


@formula(unit="currency", label="Network adapters, their share of the budget", symbol="C_{nic}", sources=_SOURCE)
def network_adapters_amount(
    network_adapter_pieces: Any, adapter_price_per_piece: Any, network_budget_ratio: Any
) -> Any:
    """Pieces at their list price times the budget's ratio."""
    return network_adapter_pieces * adapter_price_per_piece * network_budget_ratio


@formula(unit="currency", label="Switches, their share of the budget", symbol="C_{sw}", sources=_SOURCE)
def network_switches_amount(network_switch_pieces: Any, switch_price_per_piece: Any, network_budget_ratio: Any) -> Any:
    """Pieces at their list price times the budget's ratio."""
    return network_switch_pieces * switch_price_per_piece * network_budget_ratio


@formula(unit="currency", label="Optics, their share of the budget", symbol="C_{opt}", sources=_SOURCE)
def network_optics_amount(network_optic_pieces: Any, optic_price_per_piece: Any, network_budget_ratio: Any) -> Any:
    """Pieces at their list price times the budget's ratio."""
    return network_optic_pieces * optic_price_per_piece * network_budget_ratio


@formula(unit="currency", label="Cables, their share of the budget", symbol="C_{cab}", sources=_SOURCE)
def network_cables_amount(network_cable_pieces: Any, cable_price_per_piece: Any, network_budget_ratio: Any) -> Any:
    """Pieces at their list price times the budget's ratio."""
    return network_cable_pieces * cable_price_per_piece * network_budget_ratio


@formula(unit="currency", label="Bill of materials, paid at the purchase", symbol="C_{bom}", sources=_SOURCE)
def bill_outlay_amount(
    hardware_amount: Any,
    network_adapters_amount: Any,
    network_switches_amount: Any,
    network_optics_amount: Any,
    network_cables_amount: Any,
    delivery_amount: Any,
    installation_amount: Any,
    spare_parts_amount: Any,
    purchase_tax_amount: Any,
) -> Any:
    """The lines of the bill added; it must be the capital outlay."""
    return (
        hardware_amount
        + network_adapters_amount
        + network_switches_amount
        + network_optics_amount
        + network_cables_amount
        + delivery_amount
        + installation_amount
        + spare_parts_amount
        + purchase_tax_amount
    )


@formula(unit="card-years", label="Licensed card-years", symbol="n_{lic}", sources=_SOURCE)
def licence_card_years(bought_cards: Any, horizon_months: Any) -> Any:
    """Every card bought, over the horizon."""
    return bought_cards * horizon_months / MONTHS_PER_YEAR


@formula(unit="currency", label="Licences over the horizon", symbol="C_{lic}", sources=_SOURCE)
def licence_total_amount(licence_amount_per_month: Any, horizon_months: Any) -> Any:
    """The monthly line added over the horizon, nothing discounted."""
    return licence_amount_per_month * horizon_months


@formula(unit="server-years", label="Supported server-years", symbol="n_{mnt}", sources=_SOURCE)
def support_server_years(servers_needed: Any, horizon_months: Any) -> Any:
    """Every server bought, over the horizon."""
    return servers_needed * horizon_months / MONTHS_PER_YEAR


@formula(unit="currency", label="Support and maintenance over the horizon", symbol="C_{mnt}", sources=_SOURCE)
def support_total_amount(maintenance_amount_per_month: Any, horizon_months: Any) -> Any:
    """The monthly line added over the horizon, nothing discounted."""
    return maintenance_amount_per_month * horizon_months


@formula(
    unit="currency", label="Bill of materials, contracts of the horizon included", symbol="C_{all}", sources=_SOURCE
)  # fmt: skip
def bill_total_amount(bill_outlay_amount: Any, licence_total_amount: Any, support_total_amount: Any) -> Any:
    """What is signed for: the outlay, and the licences and support of the horizon."""
    return bill_outlay_amount + licence_total_amount + support_total_amount


@formula(unit="day", label="Day of delivery", symbol="t_{arr}", sources=_SOURCE)
def arrival_day(needed_day: Any, as_of_day: Any, lead_time_weeks: Any, network_lead_time_weeks: Any) -> Any:
    """When it is needed, but no sooner than an order of today can arrive, network included."""
    return ceil(
        np.maximum(needed_day, as_of_day + np.maximum(lead_time_weeks, network_lead_time_weeks) * DAYS_PER_WEEK)
    )


@formula(unit="day", label="Day to order the servers", symbol="t_{ord}", sources=_SOURCE)
def server_order_day(arrival_day: Any, lead_time_weeks: Any) -> Any:
    """A lead time before the delivery."""
    return floor(arrival_day - lead_time_weeks * DAYS_PER_WEEK)


@formula(unit="day", label="Day to order the network", symbol="t_{net}", sources=_SOURCE)
def network_order_day(arrival_day: Any, network_lead_time_weeks: Any) -> Any:
    """A lead time before the delivery."""
    return floor(arrival_day - network_lead_time_weeks * DAYS_PER_WEEK)


@formula(unit="days", label="Days between the need and the delivery", symbol="t_{late}", sources=_SOURCE)
def late_days(arrival_day: Any, needed_day: Any) -> Any:
    """0 where it arrives in time, or where no day is stated."""
    return np.where(needed_day > 0, arrival_day - needed_day, 0)


@formula(unit="currency", label="Deposit", symbol="C_{dep}", sources=_SOURCE)
def deposit_amount(capex_amount: Any, deposit_share: Any) -> Any:
    """Paid upon the order."""
    return capex_amount * deposit_share


@formula(unit="currency", label="Payment on delivery", symbol="C_{del}", sources=_SOURCE)
def delivery_payment_amount(capex_amount: Any, deposit_amount: Any, acceptance_share: Any) -> Any:
    """What deposit and retention leave."""
    return (capex_amount - deposit_amount) * (1 - acceptance_share)


@formula(unit="currency", label="Payment on final acceptance", symbol="C_{acc}", sources=_SOURCE)
def acceptance_payment_amount(capex_amount: Any, deposit_amount: Any, acceptance_share: Any) -> Any:
    """What is held back until the acceptance test is passed."""
    return (capex_amount - deposit_amount) * acceptance_share


@formula(unit="day", label="Day of the deposit", symbol="t_{dep}", sources=_SOURCE)
def deposit_day(server_order_day: Any, payment_term_days: Any) -> Any:
    """The invoice of the order is due after the payment term."""
    return server_order_day + payment_term_days


@formula(unit="day", label="Day of the payment on delivery", symbol="t_{del}", sources=_SOURCE)
def delivery_payment_day(arrival_day: Any, payment_term_days: Any) -> Any:
    """The invoice of the delivery is due after the payment term."""
    return arrival_day + payment_term_days


@formula(unit="day", label="Day of the payment on acceptance", symbol="t_{acc}", sources=_SOURCE)
def acceptance_payment_day(arrival_day: Any, acceptance_days: Any, payment_term_days: Any) -> Any:
    """The acceptance test ends some days after the delivery; its invoice is due after the payment term."""
    return arrival_day + acceptance_days + payment_term_days


@formula(
    unit="currency", label="Outlay of a server, network and installation included", symbol="c_{srv}", sources=_SOURCE
)  # fmt: skip
def outlay_per_server_amount(capex_amount: Any, servers_needed: Any) -> Any:
    """The outlay over the servers; where one server is bought alone it has no network."""
    return capex_amount / servers_needed


@formula(unit="servers", label="Servers that the next budget would buy", symbol="n_{next}", sources=_SOURCE)
def next_servers(next_budget_amount: Any, outlay_per_server_amount: Any) -> Any:
    """Whole servers of this option."""
    return floor(next_budget_amount / outlay_per_server_amount)


@formula(unit="cards", label="Cards that the next budget would buy", symbol="N_{next}", sources=_SOURCE)
def next_cards(next_servers: Any, server_cards: Any) -> Any:
    """Every card of those servers."""
    return next_servers * server_cards


@formula(unit="requests", label="Requests at once that the next budget would carry", symbol="L_{next}", sources=_SOURCE)
def next_concurrency(next_cards: Any, unit_cards: Any, recommended_concurrency: Any) -> Any:
    """Whole units on those cards, each at its recommended load; spares are not taken off."""
    return floor(next_cards / unit_cards) * recommended_concurrency


BILL = (
    network_adapter_pieces,
    network_switch_pieces,
    network_cable_pieces,
    network_optic_pieces,
    network_list_amount,
    network_budget_ratio,
    network_adapters_amount,
    network_switches_amount,
    network_optics_amount,
    network_cables_amount,
    bill_outlay_amount,
    licence_card_years,
    licence_total_amount,
    support_server_years,
    support_total_amount,
    bill_total_amount,
    arrival_day,
    server_order_day,
    network_order_day,
    late_days,
)
"""What is bought, of whom it is not yet said, and when it must be ordered."""

PAYMENTS = (
    deposit_amount,
    delivery_payment_amount,
    acceptance_payment_amount,
    deposit_day,
    delivery_payment_day,
    acceptance_payment_day,
    outlay_per_server_amount,
    next_servers,
    next_cards,
    next_concurrency,
)
"""When it is paid, and what a little more money would buy."""

FORMULAS = (*BILL, *PAYMENTS)
