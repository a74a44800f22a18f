"""From what a demand is stated as to arrivals at the peak: users and their habits, tokens of a month."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import HOURS_PER_MONTH, SECONDS_PER_HOUR, TOKENS_PER_MILLION
from reports.formulas.meta import formula

_SOURCE = ("workload",)


@formula(unit="requests/s", label="Arrivals at the peak, from users", symbol="\\lambda_{use}", sources=_SOURCE)
def users_requests_per_s(stated_users: Any, active_share: Any, user_requests_per_hour: Any) -> Any:
    """Everybody, times the share that is active in the busiest hour, times the requests of an active user."""
    return stated_users * active_share * user_requests_per_hour / SECONDS_PER_HOUR


@formula(unit="requests/s", label="Arrivals at the peak, from monthly tokens", symbol="\\lambda_{tok}", sources=_SOURCE)
def tokens_requests_per_s(
    stated_input_mtok_per_month: Any,
    stated_output_mtok_per_month: Any,
    input_mean_tokens: Any,
    output_mean_tokens: Any,
    average_utilisation: Any,
) -> Any:
    """Tokens over the mean length are requests a month; their mean rate over the load's mean is the rate at the peak.
    Where input and output are stated, the one that means more requests counts."""
    return (
        np.maximum(
            stated_input_mtok_per_month / input_mean_tokens, stated_output_mtok_per_month / output_mean_tokens
        )
        * TOKENS_PER_MILLION
        / (HOURS_PER_MONTH * SECONDS_PER_HOUR)
        / average_utilisation
    )


FORMULAS = (users_requests_per_s, tokens_requests_per_s)
