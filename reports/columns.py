"""Where the leaves of ``reports.leaves`` come from: the key of each record, and the fact that a leaf of a row is."""

from __future__ import annotations

from reports.leaves import LEAVES, Leaf

LEAF: dict[str, Leaf] = {leaf.name: leaf for leaf in LEAVES}


SCOPE_KEY: dict[str, str] = {
    "gpu": "gpu",
    "model": "model",
    "quantization": "quantization_key",
    "engine": "engine",
    "link": "link_key",
    "host": "host",
    "demand": "service",
    "stated": "service",
    "workload": "workload_key",
    "resident": "resident_key",
    "offer": "offer_id",
    "market": "rent_market",
    "purchase": "purchase_id",
    "delivery": "delivery_key",
    "fleet": "gpu",
    "choice": "",
    "scenario": "",
    "assumption": "",
    "layout": "",
    "solved": "",
}
"""Which column of a candidate or option row holds the key of the record a scope's leaves come from."""

INTERPOLATED = ("residual_share",)
"""Assumptions that no row states as such: attached with the prices, from rows at several horizons."""

CALIBRATED = (
    "eta_weights", "eta_experts", "eta_kv", "kernel_floor_us", "mfu_prefill", "mfu_decode", "host_us_per_sequence",
    "engine_ttft_offset_ms", "overhead_base_gib",
)  # fmt: skip
"""Coefficients of a machine and its set-up: a calibration states them for one card under one engine. A row of such a
card names it in ``calibrated_key``, and its record of all of them has that key."""

PROFILED = ("average_utilisation",)
"""Assumptions that a workload with an hourly profile replaces: their record has the key of the workload."""

CHOSEN_FACT: dict[str, str] = {"dense_peak_tflops": "dense_peak_fact", "expert_peak_tflops": "expert_peak_fact"}
"""Leaves that stand for one of several facts of the same record: which column of the row names the fact."""

EXCHANGE_KEY: dict[str, str] = {
    "rent_offer_exchange_rate": "rent_exchange_id",
    "server_exchange_rate": "server_exchange_id",
}
"""Leaves that stand for the fact ``exchange_rate`` of a pair of currencies: which column of the row names the pair."""


def fact_reference(row: dict[str, object], leaf: str) -> tuple[str, str, str]:
    """``(scope, key, column)`` in the facts frame of one leaf of one candidate or option row."""
    scope = LEAF[leaf].scope
    if leaf in EXCHANGE_KEY:
        return scope, str(row[EXCHANGE_KEY[leaf]]), "exchange_rate"
    key_column = SCOPE_KEY[scope]
    key = str(row[key_column]) if key_column else ""
    if leaf in CALIBRATED and row.get("calibrated_key"):
        key = str(row["calibrated_key"])
    if leaf in PROFILED:
        key = str(row.get("workload_key", ""))
    column = str(row[CHOSEN_FACT[leaf]]) if leaf in CHOSEN_FACT else leaf
    return scope, key, column
