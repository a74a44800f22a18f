"""From the capacity of one deployment unit to the cards that a demand needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import HOURS_PER_MONTH, SECONDS_PER_HOUR, TOKENS_PER_MILLION
from reports.formulas.meta import ceil, formula

_SOURCE = ("methods-note",)


@formula(unit="s", label="Time for a finite run", symbol="T_{job}", sources=_SOURCE)
def run_limit_s(demand_run_hours: Any) -> Any:
    """From the first request to the last answer."""
    return demand_run_hours * SECONDS_PER_HOUR


@formula(unit="s", label="Tail of a finite run", symbol="t_{tail}", sources=("measured-fit",))
def run_tail_s(run_tail_factor: Any, run_request_s: Any) -> Any:
    """At its end the longest answers run alone."""
    return run_tail_factor * run_request_s


@formula(unit="requests", label="Concurrency of a finite run", symbol="D_{job}", sources=_SOURCE)
def run_concurrency(demand_run_requests: Any, run_request_s: Any, run_limit_s: Any, run_tail_s: Any) -> Any:
    """Requests to keep in flight so that all are answered in time, the tail at the end taken off (at least a second is
    left, so that a time too short for one answer asks for very many cards)."""
    return demand_run_requests * run_request_s / np.maximum(run_limit_s - run_tail_s, 1)


@formula(unit="requests", label="Concurrency to serve", symbol="D", sources=_SOURCE)
def demand_concurrency(
    demand_peak_concurrency: Any, demand_requests_per_s: Any, request_time_s: Any, run_concurrency: Any
) -> Any:
    """Demand stated as concurrency, as arrivals turned into concurrency by Little's law, or as a run to finish."""
    return demand_peak_concurrency + demand_requests_per_s * request_time_s + run_concurrency


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
    demand_concurrency: Any,
    run_concurrency: Any,
    request_time_s: Any,
    average_utilisation: Any,
    demand_run_requests: Any,
    demand_runs_per_month: Any,
    output_mean_tokens: Any,
) -> Any:
    """Answers finished at the peak, times the average over the month as a share of the peak; of a finite run its
    requests, times the runs of a month."""
    return (
        (
            (demand_concurrency - run_concurrency)
            / request_time_s
            * average_utilisation
            * HOURS_PER_MONTH
            * SECONDS_PER_HOUR
            + demand_run_requests * demand_runs_per_month
        )
        * output_mean_tokens
        / TOKENS_PER_MILLION
    )


FORMULAS = (
    run_limit_s,
    run_tail_s,
    run_concurrency,
    demand_concurrency,
    units_needed,
    demand_cards,
    headroom_share,
    output_mtok_per_month,
)
