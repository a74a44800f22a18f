"""Spares: how many units more than the demand needs, what availability they give, and what a loss leaves.

Headroom and spares are two things. The safety factor keeps a share of every unit free, for peaks inside the minute and
for the error of the prediction; it is part of ``units_needed``. Spares are whole units on top, for what breaks. A loss
is survived with the headroom kept; what still serves when the headroom is used up is stated beside it.

Cards and servers fail independently of each other. A unit is down when one of its cards is. Units that share a server
go down together with it; a unit that fills a server, or several, is down when one of them is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import HOURS_PER_YEAR, MINUTES_PER_HOUR
from reports.formulas.meta import binomial_tail, ceil, floor, formula

_SOURCE = ("methods-note",)


@formula(unit="ratio", label="Availability of a card", symbol="A_{card}", sources=_SOURCE)
def card_availability_share(card_failures_per_year: Any, card_repair_h: Any) -> Any:
    """Share of the time a card works: time between failures over that time and the repair."""
    return 1 / (1 + card_failures_per_year * card_repair_h / HOURS_PER_YEAR)


@formula(unit="ratio", label="Availability of a server", symbol="A_{srv}", sources=_SOURCE)
def server_availability_share(server_failures_per_year: Any, server_repair_h: Any) -> Any:
    """The same for what all cards of a server share: host, power supplies, network."""
    return 1 / (1 + server_failures_per_year * server_repair_h / HOURS_PER_YEAR)


@formula(unit="units", label="Units in one server", symbol="u", sources=_SOURCE)
def server_units(server_cards: Any, unit_cards: Any) -> Any:
    """How many units the loss of a server takes: 1 where a unit fills a server, or several."""
    return np.maximum(floor(server_cards / unit_cards), 1)


@formula(unit="units", label="Spare units", symbol="r", sources=_SOURCE)
def spare_units(
    spare_policy_units: Any,
    spare_policy_servers: Any,
    server_units: Any,
    surge_share: Any,
    units_needed: Any,
    availability_spare_units: Any,
) -> Any:
    """The most that any reason asks for, not their sum: losses to survive, units of a rolling update, availability."""
    return np.maximum(
        np.maximum(spare_policy_units, np.where(spare_policy_servers > 0, spare_policy_servers * server_units, 0)),
        np.maximum(ceil(surge_share * units_needed), availability_spare_units),
    )


@formula(unit="units", label="Units with spares", symbol="n_{all}", sources=_SOURCE)
def sized_units(units_needed: Any, spare_units: Any) -> Any:
    """Units that run: those the demand needs, and the spares."""
    return units_needed + spare_units


@formula(unit="units", label="Units for development", symbol="n_{dev}", sources=_SOURCE)
def development_units(development_share: Any, units_needed: Any) -> Any:
    """Whole units for development and tests; they serve no demand."""
    return ceil(development_share * units_needed)


@formula(unit="cards", label="Cards with spares", symbol="N_{all}", sources=_SOURCE)
def sized_cards(sized_units: Any, development_units: Any, unit_cards: Any) -> Any:
    """What is bought or rented: every unit times its cards, before it is filled up to whole servers or instances."""
    return (sized_units + development_units) * unit_cards


@formula(unit="servers", label="Servers that units share", symbol="S", sources=_SOURCE)
def shared_servers(server_units: Any, sized_units: Any) -> Any:
    """Servers that hold more than one unit; 0 where no two units share one."""
    return np.where(server_units > 1, ceil(sized_units / server_units), 0)


@formula(unit="ratio", label="Availability of a unit", symbol="A_u", sources=_SOURCE)
def unit_availability_share(
    card_availability_share: Any,
    unit_cards: Any,
    server_units: Any,
    server_availability_share: Any,
    server_cards: Any,
) -> Any:
    """All its cards work, and, where no other unit shares them, the servers they are in."""
    return card_availability_share**unit_cards * np.where(
        server_units > 1, 1, server_availability_share ** ceil(unit_cards / server_cards)
    )


@formula(unit="servers", label="Lost servers that are reckoned with", symbol="t", sources=_SOURCE)
def tolerated_servers(server_units: Any, spare_units: Any, loss_servers: Any) -> Any:
    """Where units share servers: as many as a search found best, and no more than the spares replace."""
    return np.where(server_units > 1, np.minimum(loss_servers, floor(spare_units / server_units)), 0)


@formula(unit="ratio", label="Time with a server down that spares replace", symbol="q_t", sources=_SOURCE)
def server_loss_share(shared_servers: Any, tolerated_servers: Any, server_availability_share: Any) -> Any:
    """Probability that at least one shared server is down, and no more than the spares replace."""
    return (
        binomial_tail(shared_servers - tolerated_servers, shared_servers, server_availability_share)
        - server_availability_share**shared_servers
    )


@formula(unit="ratio", label="Availability of the whole demand", symbol="A", sources=_SOURCE)
def availability_share(
    server_availability_share: Any,
    shared_servers: Any,
    units_needed: Any,
    sized_units: Any,
    unit_availability_share: Any,
    server_loss_share: Any,
    tolerated_servers: Any,
    server_units: Any,
) -> Any:
    """Share of the time in which the whole demand is served, at least: enough units are up while all servers work, or
    while some are down. Exact where no units share a server, and for full servers of which one is reckoned with; with
    more, all that are reckoned with count as lost at once."""
    return server_availability_share**shared_servers * binomial_tail(
        units_needed, sized_units, unit_availability_share
    ) + server_loss_share * binomial_tail(
        units_needed, sized_units - tolerated_servers * server_units, unit_availability_share
    )


@formula(unit="flag", label="The availability reaches its target", symbol="A \\ge A^*", sources=_SOURCE)
def availability_flag(availability_share: Any, availability_target_share: Any) -> Any:
    """Yes where no target is stated."""
    return np.where(availability_share >= availability_target_share, 1, 0)


@formula(unit="ratio", label="Demand served after the loss of a card", symbol="c_{card}", sources=_SOURCE)
def card_loss_left_share(sized_units: Any, recommended_concurrency: Any, demand_concurrency: Any) -> Any:
    """The units that are left over the demand, with the headroom kept; 1 and above: nobody notices."""
    return (sized_units - 1) * recommended_concurrency / demand_concurrency


@formula(unit="ratio", label="Demand served after the loss of a server", symbol="c_{srv}", sources=_SOURCE)
def server_loss_left_share(
    sized_units: Any, server_units: Any, recommended_concurrency: Any, demand_concurrency: Any
) -> Any:
    """The same without the units of one whole server."""
    return np.maximum(sized_units - server_units, 0) * recommended_concurrency / demand_concurrency


@formula(
    unit="ratio", label="Demand served after the loss of a card, headroom used up", symbol="c'_{card}", sources=_SOURCE
)
def card_loss_limit_share(card_loss_left_share: Any, safety_factor: Any) -> Any:
    """Up to the limit of each unit the targets still hold; what is gone is the reserve."""
    return card_loss_left_share / safety_factor


@formula(
    unit="ratio", label="Demand served after the loss of a server, headroom used up", symbol="c'_{srv}", sources=_SOURCE
)
def server_loss_limit_share(server_loss_left_share: Any, safety_factor: Any) -> Any:
    """The same without the units of one whole server."""
    return server_loss_left_share / safety_factor


@formula(unit="units", label="Units without headroom", symbol="n_{bare}", sources=_SOURCE)
def bare_units(demand_concurrency: Any, recommended_concurrency: Any, safety_factor: Any) -> Any:
    """What the demand would need if every unit ran at its limit."""
    return ceil(demand_concurrency * safety_factor / recommended_concurrency)


@formula(unit="cards", label="Cards that the headroom costs", symbol="N_{head}", sources=_SOURCE)
def headroom_cards(units_needed: Any, bare_units: Any, unit_cards: Any) -> Any:
    """Part of the cards for the demand."""
    return (units_needed - bare_units) * unit_cards


@formula(unit="cards", label="Cards that the spares cost", symbol="N_{spare}", sources=_SOURCE)
def spare_cards(spare_units: Any, unit_cards: Any) -> Any:
    """On top of the cards for the demand."""
    return spare_units * unit_cards


@formula(unit="h", label="Duration of a rolling update", symbol="t_{upd}", sources=_SOURCE)
def rolling_update_h(sized_units: Any, startup_minutes: Any, surge_share: Any, units_needed: Any) -> Any:
    """One unit after the other is started anew, or as many at once as the surge allows."""
    return sized_units * startup_minutes / np.maximum(ceil(surge_share * units_needed), 1) / MINUTES_PER_HOUR


FORMULAS = (
    card_availability_share,
    server_availability_share,
    server_units,
    spare_units,
    sized_units,
    development_units,
    sized_cards,
    shared_servers,
    unit_availability_share,
    tolerated_servers,
    server_loss_share,
    availability_share,
    availability_flag,
    card_loss_left_share,
    server_loss_left_share,
    card_loss_limit_share,
    server_loss_limit_share,
    bare_units,
    headroom_cards,
    spare_cards,
    rolling_update_h,
)


@formula(unit="units", label="One spare unit fewer", symbol="r-1", sources=_SOURCE)
def fewer_spare_units(spare_units: Any) -> Any:
    """The proof that the spares are the least: with one fewer the availability must miss its target."""
    return np.maximum(spare_units - 1, 0)


@formula(unit="servers", label="Servers that units share, one spare fewer", symbol="S'", sources=_SOURCE)
def fewer_shared_servers(server_units: Any, sized_units: Any) -> Any:
    """As with all spares, for one unit fewer."""
    return np.where(server_units > 1, ceil((sized_units - 1) / server_units), 0)


@formula(unit="servers", label="Lost servers that are reckoned with, one spare fewer", symbol="t'", sources=_SOURCE)
def fewer_tolerated_servers(server_units: Any, fewer_spare_units: Any, fewer_loss_servers: Any) -> Any:
    """As with all spares, for one unit fewer."""
    return np.where(server_units > 1, np.minimum(fewer_loss_servers, floor(fewer_spare_units / server_units)), 0)


@formula(
    unit="ratio", label="Time with a server down that spares replace, one spare fewer", symbol="q_t'", sources=_SOURCE
)
def fewer_server_loss_share(
    fewer_shared_servers: Any, fewer_tolerated_servers: Any, server_availability_share: Any
) -> Any:
    """As with all spares, for one unit fewer."""
    return (
        binomial_tail(fewer_shared_servers - fewer_tolerated_servers, fewer_shared_servers, server_availability_share)
        - server_availability_share**fewer_shared_servers
    )


@formula(unit="ratio", label="Availability with one spare unit fewer", symbol="A'", sources=_SOURCE)
def fewer_availability_share(
    server_availability_share: Any,
    fewer_shared_servers: Any,
    units_needed: Any,
    sized_units: Any,
    unit_availability_share: Any,
    fewer_server_loss_share: Any,
    fewer_tolerated_servers: Any,
    server_units: Any,
) -> Any:
    """As with all spares, for one unit fewer; 0 where there is no spare to take away."""
    return server_availability_share**fewer_shared_servers * binomial_tail(
        units_needed, sized_units - 1, unit_availability_share
    ) + fewer_server_loss_share * binomial_tail(
        units_needed, sized_units - 1 - fewer_tolerated_servers * server_units, unit_availability_share
    )


PROOF = (
    fewer_spare_units,
    fewer_shared_servers,
    fewer_tolerated_servers,
    fewer_server_loss_share,
    fewer_availability_share,
)
"""The same with one spare unit fewer, for the short list."""
