"""The closed list of units, and which unit a column's name promises by the way it ends.

``memory_nominal_gb`` ends in ``gb``, so it is in GB. The longest known ending decides. A quantity per counted thing
keeps the unit before ``_per_`` (``kernels_per_layer`` is a number of kernels); per time, energy or money it is a unit
of its own. A few terms of the field carry no ending and are listed by name.
"""

from __future__ import annotations

UNITS: dict[str, str] = {
    "GB": "gigabytes of 1e9 bytes",
    "GiB": "gibibytes of 2^30 bytes",
    "bytes": "bytes",
    "GB/s": "gigabytes per second",
    "TFLOP": "1e12 floating-point operations",
    "TFLOP/s": "1e12 floating-point operations per second",
    "TOP/s": "1e12 integer operations per second",
    "1e9": "billions",
    "W": "watts",
    "kW": "kilowatts",
    "kWh/month": "kilowatt-hours per month",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "month": "number of a month, 0 is the day of purchase",
    "months": "months",
    "ratio": "ratio, 1 is all of it",
    "ratio/year": "ratio per year",
    "exponent": "power in a fitted law",
    "flag": "1 for yes, 0 for no",
    "tokens": "tokens",
    "tokens/s": "tokens per second",
    "Mtok/month": "millions of tokens per month",
    "requests": "requests at once",
    "requests/s": "requests per second",
    "cards": "GPU cards",
    "servers": "whole servers",
    "instances": "whole rented instances",
    "units": "deployment units",
    "replicas": "copies of the model",
    "ranks": "ranks of a parallel group",
    "layers": "layers",
    "heads": "attention heads",
    "elements": "elements of a tensor",
    "experts": "experts",
    "matrices": "weight matrices",
    "kernels": "GPU kernels",
    "copies": "buffers held at once",
    "passes": "reads and writes of the residual stream",
    "currency": "money, in the scenario's currency",
    "currency/month": "money per month",
    "currency/card-h": "money per card and hour",
    "currency/kWh": "money per kilowatt-hour",
    "currency/kW-month": "money per kilowatt and month",
    "currency/Mtok": "money per million tokens",
    "offer currency/card-h": "money per card and hour, in the currency of the offer",
    "quote currency/server": "money per server, in the currency of the quote",
}
"""Unit as it is written in a header -> what it means."""

ENDINGS: dict[str, str] = {
    "gb": "GB",
    "gib": "GiB",
    "bytes": "bytes",
    "gb_per_s": "GB/s",
    "tflop": "TFLOP",
    "tflops": "TFLOP/s",
    "tops": "TOP/s",
    "b": "1e9",
    "w": "W",
    "kw": "kW",
    "kwh_per_month": "kWh/month",
    "us": "us",
    "ms": "ms",
    "s": "s",
    "month": "month",
    "months": "months",
    "factor": "ratio",
    "ratio": "ratio",
    "share": "ratio",
    "utilisation": "ratio",
    "launches": "ratio",
    "steps": "ratio",
    "discount_rate": "ratio",
    "exchange_rate": "ratio",
    "share_per_year": "ratio/year",
    "exponent": "exponent",
    "flag": "flag",
    "tokens": "tokens",
    "vocabulary_size": "tokens",
    "tokens_per_s": "tokens/s",
    "mtok_per_month": "Mtok/month",
    "requests": "requests",
    "concurrency": "requests",
    "requests_per_s": "requests/s",
    "cards": "cards",
    "servers": "servers",
    "servers_needed": "servers",
    "instances": "instances",
    "units_needed": "units",
    "replicas": "replicas",
    "parallel": "ranks",
    "layers": "layers",
    "heads": "heads",
    "elements": "elements",
    "size": "elements",
    "dim": "elements",
    "latent_rank": "elements",
    "width_multiple": "elements",
    "experts": "experts",
    "experts_touched": "experts",
    "matrices": "matrices",
    "kernels": "kernels",
    "copies": "copies",
    "passes": "passes",
    "amount": "currency",
    "amount_per_month": "currency/month",
    "price_per_card_hour": "currency/card-h",
    "price_per_kwh": "currency/kWh",
    "price_per_kw_month": "currency/kW-month",
    "amount_per_mtok": "currency/Mtok",
    "offer_price_per_card_hour": "offer currency/card-h",
    "server_price": "quote currency/server",
}
"""Ending of a column name -> its unit."""

TERMS: dict[str, str] = {
    "eta_weights": "ratio",
    "eta_experts": "ratio",
    "eta_kv": "ratio",
    "mfu_prefill": "ratio",
    "mfu_decode": "ratio",
    "mfu_moe": "ratio",
    "mfu_attention": "ratio",
    "pue": "ratio",
    "rule_prefill_utilisation_pcie": "ratio",
    "kv_elements_per_token_full_layers": "elements",
    "rocm": "flag",
    "tied_embeddings": "flag",
    "latent_attention": "flag",
    "multimodal": "flag",
    "fp8_block_scales": "flag",
    "int4_experts": "flag",
    "length_is_p95": "flag",
    "units_as_published": "flag",
    "link_is_nvlink": "flag",
}
"""Columns whose name is a term of the field and carries no ending of its own."""


def promised_unit(column: str) -> str | None:
    """The unit a column's name promises; None when the name says nothing, which a convention test refuses."""
    if column in TERMS:
        return TERMS[column]
    words = column.split("_")
    for start in range(len(words)):
        ending = "_".join(words[start:])
        if ending in ENDINGS:
            return ENDINGS[ending]
    quantity, per, _ = column.rpartition("_per_")
    return promised_unit(quantity) if per else None
