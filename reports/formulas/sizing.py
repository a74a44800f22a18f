"""From the capacity of one deployment unit to the cards that a demand needs."""

from __future__ import annotations

from typing import Any

from reports.constants import HOURS_PER_MONTH, SECONDS_PER_HOUR, TOKENS_PER_MILLION
from reports.formulas.meta import ceil, formula

_SOURCE = ("methods-note",)


@formula(unit="requests", label="Concurrency to serve", symbol="D", sources=_SOURCE)
def demand_concurrency(demand_peak_concurrency: Any, demand_requests_per_s: Any, request_time_s: Any) -> Any:
    """Demand stated as concurrency, plus demand stated as arrivals turned into concurrency by Little's law."""
    return demand_peak_concurrency + demand_requests_per_s * request_time_s


@formula(unit="units", label="Deployment units", symbol="n", sources=_SOURCE)
def units_needed(demand_concurrency: Any, recommended_concurrency: Any) -> Any:
    """Whole units: the demand over what one unit is recommended to carry, rounded up."""
    return ceil(demand_concurrency / recommended_concurrency)


@formula(unit="cards", label="Cards for the demand", symbol="N", sources=_SOURCE)
def demand_cards(units_needed: Any, unit_cards: Any) -> Any:
    """Whole units times the cards of one unit, before spares."""
    return units_needed * unit_cards


@formula(unit="ratio", label="Spare capacity at peak", symbol="h", sources=_SOURCE)
def headroom_share(units_needed: Any, recommended_concurrency: Any, demand_concurrency: Any) -> Any:
    """What rounding up to whole units leaves over the demand, on top of the safety margin."""
    return units_needed * recommended_concurrency / demand_concurrency - 1


@formula(unit="Mtok/month", label="Output tokens per month", symbol="O", sources=_SOURCE)
def output_mtok_per_month(
    demand_concurrency: Any, request_time_s: Any, output_mean_tokens: Any, average_utilisation: Any
) -> Any:
    """Answers finished at peak, times the average over the month as a share of the peak."""
    return (
        demand_concurrency
        / request_time_s
        * output_mean_tokens
        * average_utilisation
        * HOURS_PER_MONTH
        * SECONDS_PER_HOUR
        / TOKENS_PER_MILLION
    )


FORMULAS = (demand_concurrency, units_needed, demand_cards, headroom_share, output_mtok_per_month)
