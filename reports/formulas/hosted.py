"""What the same traffic costs at a hosted API: tokens at a dated price, cached tokens cheaper, and what else is billed.

Money per million tokens is in the scenario's currency here; the price row keeps its own.
"""

from __future__ import annotations

from typing import Any

from reports.formulas.meta import formula

_SOURCE = ("methods-note",)


@formula(unit="Mtok/month", label="Input tokens per month", symbol="I", sources=_SOURCE)
def input_mtok_per_month(output_mtok_per_month: Any, input_mean_tokens: Any, output_mean_tokens: Any) -> Any:
    """Every answer of the month has its prompt: the ratio of the mean lengths."""
    return output_mtok_per_month * input_mean_tokens / output_mean_tokens


@formula(unit="currency/Mtok", label="Hosted, input, per million tokens", symbol="q_{in}", sources=_SOURCE)
def api_input_amount_per_mtok(api_input_price_per_mtok: Any, api_exchange_rate: Any) -> Any:
    """The price list's figure in the currency of the scenario."""
    return api_input_price_per_mtok * api_exchange_rate


@formula(unit="currency/Mtok", label="Hosted, cached input, per million tokens", symbol="q_{hit}", sources=_SOURCE)
def api_cached_amount_per_mtok(api_cached_price_per_mtok: Any, api_exchange_rate: Any) -> Any:
    """Input that the provider finds in its cache; the full price where the provider gives no discount."""
    return api_cached_price_per_mtok * api_exchange_rate


@formula(unit="currency/Mtok", label="Hosted, output, per million tokens", symbol="q_{out}", sources=_SOURCE)
def api_output_amount_per_mtok(api_output_price_per_mtok: Any, api_exchange_rate: Any) -> Any:
    """The price list's figure in the currency of the scenario."""
    return api_output_price_per_mtok * api_exchange_rate


@formula(unit="currency/month", label="Hosted, input tokens per month", symbol="K_{in}", sources=_SOURCE)
def api_input_amount_per_month(
    input_mtok_per_month: Any,
    prefix_hit_share: Any,
    api_input_amount_per_mtok: Any,
    api_cached_amount_per_mtok: Any,
) -> Any:
    """Input tokens, those found in the cache at their own price."""
    return input_mtok_per_month * (
        (1 - prefix_hit_share) * api_input_amount_per_mtok + prefix_hit_share * api_cached_amount_per_mtok
    )


@formula(unit="currency/month", label="Hosted, output tokens per month", symbol="K_{out}", sources=_SOURCE)
def api_output_amount_per_month(output_mtok_per_month: Any, api_output_amount_per_mtok: Any) -> Any:
    """Output tokens at their price."""
    return output_mtok_per_month * api_output_amount_per_mtok


@formula(unit="currency/month", label="Hosted, other per month", symbol="K_{oth}", sources=_SOURCE)
def api_other_amount_per_month(
    api_operations_per_month: Any,
    api_operation_amount: Any,
    api_implementation_amount: Any,
    horizon_months: Any,
) -> Any:
    """Billed calls beside tokens (search, tools), and the implementation spread evenly over the horizon."""
    return api_operations_per_month * api_operation_amount + api_implementation_amount / horizon_months


@formula(unit="currency/month", label="Hosted API per month", symbol="K_{api}", sources=_SOURCE)
def api_amount_per_month(
    api_input_amount_per_month: Any, api_output_amount_per_month: Any, api_other_amount_per_month: Any
) -> Any:
    """The lines of the hosted API added."""
    return api_input_amount_per_month + api_output_amount_per_month + api_other_amount_per_month


FORMULAS = (
    input_mtok_per_month,
    api_input_amount_per_mtok,
    api_cached_amount_per_mtok,
    api_output_amount_per_mtok,
    api_input_amount_per_month,
    api_output_amount_per_month,
    api_other_amount_per_month,
    api_amount_per_month,
)
