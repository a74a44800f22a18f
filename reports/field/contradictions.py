"""What no server can do: rows faster than the card's memory and arithmetic allow, or with more room than it has."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog, Fact
from reports.field.measured import LATENCIES, MEMORIES, RATES
from reports.field.predict import predict

TOLERANCE = 0.97
"""Clocks and rounding: only a row beyond the limit by more than 3 % contradicts it."""

TOLERANCE_EXPERTS = 0.85
"""Routing that is not uniform touches fewer experts than expected."""

ROUNDS_OF_A_RUN = 4.0
"""A run of fewer requests than four times the concurrency is mostly ramp and tail: its batch is not held."""

UNSURE = 0.7
"""How many requests an endless supply keeps in flight is not known exactly: only a clear excess contradicts."""

LEAST_KV_BYTES = 1.0
"""An FP8 KV cache that nobody mentioned is no contradiction."""

SURELY_FITS = 0.8
"""Share of the KV cache that a batch may need and still surely runs together."""

LEAST_WEIGHTS = 0.8
"""Weights that differ by a fifth from what model and format say are not theirs."""

MOST_SEQUENCES = 1e6

SHARES = ("eta_", "mfu_")
"""Beginnings of the names of shares of a peak."""

NO_OVERHEAD = (
    "kernel_floor_us", "activation_passes", "host_base_ms", "host_us_per_sequence", "ttft_launches", "ttft_steps",
    "ttft_queue_factor", "open_loop_steps", "burst_base_ms",
)  # fmt: skip

NO_PROMPTS = {"mfu_prefill": 1e9}
"""As if every prompt came out of a prefix cache."""

ALL_MEMORY = {
    "memory_utilisation": 1.0, "overhead_base_gib": 0.0, "overhead_rocm_gib": 0.0, "overhead_multimodal_gib": 0.0,
    "overhead_activation_factor": 0.0, "overhead_moe_factor": 0.0,
}  # fmt: skip


def contradictions(rows: pd.DataFrame, catalog: Catalog) -> pd.Series:
    """For each row '' or why it cannot be what it says it is."""
    found = pd.Series("", index=rows.index, dtype=object)
    able = rows["problem"] == ""
    if not able.any():
        return found
    part = rows[able]
    ideal = perfect(catalog)
    for index, text in {**_latencies(part, ideal), **_rates(part, ideal), **_memory(part, ideal)}.items():
        found[index] = text
    return found


def perfect(catalog: Catalog) -> Catalog:
    """The same catalog with weight formats read at full speed and links that take no time."""
    links = {}
    for name, link in catalog.links.items():
        points = {cards: _without_delay(point) for cards, point in link.points.items()}
        links[name] = dataclasses.replace(link, points=points)
    formats = {}
    for name, entry in catalog.quantizations.items():
        formats[name] = dataclasses.replace(entry, facts=_full(entry.facts), moe_facts=_full(entry.moe_facts))
    return dataclasses.replace(catalog, quantizations=formats, links=links)


def _without_delay(point: Mapping[str, Fact]) -> dict[str, Fact]:
    ideal = {"allreduce_alpha_us": 0.0, "allreduce_bus_gb_per_s": 1e9}
    return {name: dataclasses.replace(fact, value=ideal.get(name, fact.value)) for name, fact in point.items()}


def _full(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    return {
        name: dataclasses.replace(fact, value=1.0) if name.endswith("_read_factor") else fact
        for name, fact in facts.items()
    }


def _known(coefficients: Mapping[str, float], catalog: Catalog) -> dict[str, float]:
    return {name: value for name, value in coefficients.items() if (name, "global") in catalog.assumptions}


def _limits(catalog: Catalog) -> dict[str, float]:
    """Shares of a peak at 1 and overheads at 0: limits of the hardware, not estimates."""
    names = {name for name, _ in catalog.assumptions}
    limits = dict.fromkeys((name for name in names if name.startswith(SHARES)), 1.0)
    limits |= dict.fromkeys((name for name in NO_OVERHEAD if name in names), 0.0)
    return limits | {f"engine_ttft_offset_ms:{name}": 0.0 for name in catalog.engines}


def _latencies(rows: pd.DataFrame, ideal: Catalog) -> dict[Hashable, str]:
    """TPOT below one step of the requests that surely ran together; TTFT below the arithmetic of one prompt."""
    part = rows[rows["metric"].isin(LATENCIES)].copy()
    if part.empty:
        return {}
    held = part["start"].isin(("steady", "static")) & ~(part["requests"] < ROUNDS_OF_A_RUN * part["batch_requests"])
    part["kv_bytes_per_element"] = LEAST_KV_BYTES
    room = predict(part.assign(metric="kv_cache_tokens"), ideal)["predicted"] * part["data_parallel"]
    fits = part["batch_requests"] * (part["input_tokens"] + part["output_tokens"]) <= SURELY_FITS * room
    sure = held & fits & (part["metric"] == "tpot_ms")
    part["batch_requests"] = part["batch_requests"].where(sure, 1.0)
    mean = sure & (part["statistic"] == "mean") & (part["start"] == "steady")
    part["start"], part["requests"] = part["start"].where(sure, "static"), np.nan
    full = predict(part, ideal, _limits(ideal))["predicted"]
    bare = predict(part, ideal, {**_limits(ideal), **_known(NO_PROMPTS, ideal)})["predicted"]
    made: dict[Hashable, str] = {}
    for index, row in part.iterrows():
        close = TOLERANCE if ideal.models[row["model"]].value("experts") == 0 else TOLERANCE_EXPERTS
        if row["metric"] == "ttft_ms":
            if row["value"] < close * full[index]:
                made[index] = (
                    f"TTFT {row['value']:.4g} ms is less than one prompt takes at peak rates, {full[index]:.4g} ms: "
                    "prefix cache, or a wrong card, format or length"
                )
        elif row["value"] < close * bare[index]:
            made[index] = _too_fast(row["metric"], row["value"], bare[index])
        elif mean[index] and row["value"] < close * full[index]:
            made[index] = _no_prompts(row["metric"], row["value"], full[index])
    return made


def _rates(rows: pd.DataFrame, ideal: Catalog) -> dict[Hashable, str]:
    """More tokens than the requests together can get; of an endless supply, than all of the memory can serve."""
    part = rows[rows["metric"].isin(RATES) & (rows["start"] != "open-loop")].copy()
    if part.empty:
        return {}
    held = part["start"].isin(("steady", "static"))
    part["start"], part["requests"] = part["start"].where(held, "offline"), np.nan
    part["sequence_limit"] = part["sequence_limit"].where(held, MOST_SEQUENCES)
    part["memory_utilisation"] = np.nan
    part["kv_bytes_per_element"] = LEAST_KV_BYTES
    experts = part["model"].map(lambda model: ideal.models[model].value("experts") > 0)
    limits = {**_limits(ideal), **_known(ALL_MEMORY, ideal)}
    full = predict(part, ideal, limits)["predicted"]
    bare = predict(part, ideal, {**limits, **_known(NO_PROMPTS, ideal)})["predicted"]
    slack = np.where(held, np.where(experts, TOLERANCE_EXPERTS, TOLERANCE), UNSURE)
    made: dict[Hashable, str] = {}
    for index, metric, value, share in zip(part.index, part["metric"], part["value"], slack, strict=True):
        if value * share > bare[index]:
            made[index] = _too_fast(metric, value, bare[index])
        elif value * share > full[index]:
            made[index] = _no_prompts(metric, value, full[index])
    return made


def _too_fast(metric: str, value: float, bound: float) -> str:
    return (
        f"faster than the memory bandwidth and arithmetic allow ({metric} {value:.4g} against at best {bound:.4g}): "
        "speculative decoding, or a wrong card, format or --tp"
    )


def _no_prompts(metric: str, value: float, bound: float) -> str:
    return (
        f"faster than the prompts can be computed ({metric} {value:.4g} against at best {bound:.4g}): "
        "prefix cache, or a wrong card or length"
    )


def _memory(rows: pd.DataFrame, ideal: Catalog) -> dict[Hashable, str]:
    """More KV room than all of the card's memory would give, or weights of another format."""
    part = rows[rows["metric"].isin(MEMORIES)].copy()
    if part.empty:
        return {}
    part["memory_utilisation"] = np.nan
    most = predict(part, ideal, _known(ALL_MEMORY, ideal))["predicted"]
    made: dict[Hashable, str] = {}
    for index, metric, value, bound in zip(part.index, part["metric"], part["value"], most, strict=True):
        if metric == "weights_gib":
            if not LEAST_WEIGHTS < value / bound < 1 / LEAST_WEIGHTS:
                made[index] = f"weights {value:.4g} GiB are far from {bound:.4g} GiB: another format, model or --tp"
        elif value * TOLERANCE > bound:
            made[index] = f"{metric} {value:.4g} is more than the whole card gives, {bound:.4g}: a wrong card or format"
    return made
