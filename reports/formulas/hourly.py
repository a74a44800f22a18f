"""Cards hour by hour of a week: what the load needs, what is owned, what is rented on top.

An hour stands for its share of a month of 730 hours. ``hour_load_share`` is the load of the hour as a share of the
peak, at most 1; ``owned_servers`` and ``reserved_instances`` are what is there in every hour.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import HOURS_PER_MONTH, HOURS_PER_WEEK
from reports.formulas.meta import ceil, floor, formula

_SOURCE = ("methods-note",)


@formula(unit="units", label="Units needed in the hour", symbol="n_h", sources=_SOURCE)
def hour_units(hour_load_share: Any, units_needed: Any, sized_units: Any) -> Any:
    """The load's share of the units for the peak, rounded up, and the spares in every hour."""
    return ceil(hour_load_share * units_needed) + sized_units - units_needed


@formula(unit="cards", label="Cards needed in the hour", symbol="N_h", sources=_SOURCE)
def hour_cards(hour_units: Any, development_units: Any, unit_cards: Any) -> Any:
    """Units for development stand beside those that serve."""
    return (hour_units + development_units) * unit_cards


@formula(unit="cards", label="Useful cards of a server", symbol="f_{srv}", sources=_SOURCE)
def server_useful_cards(server_cards: Any, stage_cards: Any) -> Any:
    """Cards that whole stages fill: 72 cards hold four stages of 16."""
    return np.maximum(floor(server_cards / stage_cards), 1) * np.minimum(stage_cards, server_cards)


@formula(unit="cards", label="Useful cards of an instance", symbol="f_{ins}", sources=_SOURCE)
def instance_useful_cards(rent_instance_cards: Any, stage_cards: Any) -> Any:
    """The same for a rented instance."""
    return floor(rent_instance_cards / stage_cards) * stage_cards


@formula(unit="instances", label="Instances rented in the hour", symbol="r_h", sources=_SOURCE)
def hour_instances(
    hour_cards: Any,
    owned_servers: Any,
    server_useful_cards: Any,
    reserved_instances: Any,
    reserved_useful_cards: Any,
    instance_useful_cards: Any,
) -> Any:
    """What neither own servers nor reserved instances hold, in whole instances."""
    return ceil(
        np.maximum(hour_cards - owned_servers * server_useful_cards - reserved_instances * reserved_useful_cards, 0)
        / instance_useful_cards
    )


@formula(unit="card-h/month", label="Card-hours of the hour in a month", symbol="H_h", sources=_SOURCE)
def hour_card_hours_per_month(hour_instances: Any, rent_instance_cards: Any) -> Any:
    """Every card of a rented instance is paid; the hour comes round every week."""
    return hour_instances * rent_instance_cards * HOURS_PER_MONTH / HOURS_PER_WEEK


FORMULAS = (
    hour_units,
    hour_cards,
    server_useful_cards,
    instance_useful_cards,
    hour_instances,
    hour_card_hours_per_month,
)
