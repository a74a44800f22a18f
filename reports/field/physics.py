"""What no server can do: faster than the card's memory and arithmetic allow, more room than it has."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog, Fact
from reports.field.canonical import LATENCIES, MEMORIES, RATES
from reports.field.predict import predict
from reports.field.rules import rule

FASTER = "faster-than-hardware"
NO_ROOM = "more-than-the-memory"
IMPOSSIBLE = "weights-do-not-fit"
PER_CARD = "per-card"

LEAST_KV_BYTES = 1.0
"""An FP8 KV cache that nobody mentioned is no contradiction."""

MOST_SEQUENCES = 1e6

SHARES = ("eta_", "mfu_")
"""Beginnings of the names of shares of a peak."""

NO_OVERHEAD = (
    "kernel_floor_us", "activation_passes", "host_base_ms", "host_us_per_sequence", "dispatch_alpha_factor",
    "ttft_launches", "ttft_steps", "ttft_queue_factor", "open_loop_steps", "burst_base_ms",
)  # fmt: skip

NO_PROMPTS = {"mfu_prefill": 1e9}
"""As if every prompt came out of a prefix cache."""

ALL_MEMORY = {
    "memory_utilisation": 1.0, "overhead_base_gib": 0.0, "overhead_rocm_gib": 0.0, "overhead_multimodal_gib": 0.0,
    "overhead_activation_factor": 0.0, "overhead_moe_factor": 0.0,
}  # fmt: skip

Found = Iterator[tuple[Hashable, str]]


def mark(rows: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """The same rows with ``trap`` filled in where the numbers contradict the hardware."""
    rows = rows.copy()
    free = (rows["problem"] == "") & (rows["trap"] == "")
    if not free.any():
        return rows
    bound = predict(rows, catalog, limits(catalog))
    steady = (rows["metric"] == "tpot_ms") & (rows["start"] == "steady") & (rows["value"] < bound["predicted"])
    sure = contradictions(rows, catalog) != ""
    weights = (rows["start"] != "log") & (bound["overfull"] == True)  # noqa: E712 - NaN where unknown
    room = rows["metric"].isin(MEMORIES)
    for code, found in (
        (IMPOSSIBLE, weights & ~steady), (FASTER, (steady | sure) & ~room), (NO_ROOM, sure & room),
        (PER_CARD, _per_card(rows, catalog)),
    ):  # fmt: skip
        rows.loc[free & found & (rows["trap"] == ""), "trap"] = code
    return rows


def contradictions(rows: pd.DataFrame, catalog: Catalog) -> pd.Series:
    """For each row '' or why it surely cannot be what it says it is."""
    found = pd.Series("", index=rows.index, dtype=object)
    able = rows["problem"] == ""
    if able.any():
        part, ideal = rows[able], perfect(catalog)
        for look in (_latencies, _rates, _memory):
            for index, text in look(part, ideal):
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


def limits(catalog: Catalog) -> dict[str, float]:
    """Shares of a peak at 1 and overheads at 0: a card at its data sheet and an engine that costs nothing."""
    names = {name for name, _ in catalog.assumptions}
    found = dict.fromkeys((name for name in names if name.startswith(SHARES)), 1.0)
    found |= dict.fromkeys((name for name in NO_OVERHEAD if name in names), 0.0)
    return found | {f"engine_ttft_offset_ms:{name}": 0.0 for name in catalog.engines}


def _latencies(rows: pd.DataFrame, ideal: Catalog) -> Found:
    """TPOT below one step of the requests that surely ran together; TTFT below the arithmetic of one prompt."""
    part = rows[rows["metric"].isin(LATENCIES)].copy()
    if part.empty:
        return
    rounds = rule("held_rounds") * part["batch_requests"]
    held = part["start"].isin(("steady", "static")) & ~(part["requests"] < rounds)
    part["kv_bytes_per_element"] = LEAST_KV_BYTES
    room = predict(part.assign(metric="kv_cache_tokens"), ideal)["predicted"] * part["data_parallel"]
    needed = part["batch_requests"] * (part["input_tokens"] + part["output_tokens"])
    sure = held & (needed <= rule("surely_fits_share") * room) & (part["metric"] == "tpot_ms")
    part["batch_requests"] = part["batch_requests"].where(sure, 1.0)
    mean = sure & (part["statistic"] == "mean") & (part["start"] == "steady")
    part["start"], part["requests"] = part["start"].where(sure, "static"), np.nan
    full = predict(part, ideal, limits(ideal))["predicted"]
    bare = predict(part, ideal, {**limits(ideal), **_known(NO_PROMPTS, ideal)})["predicted"]
    for index, row in part.iterrows():
        experts = ideal.models[row["model"]].value("experts") > 0
        close = rule("limit_tolerance_experts" if experts else "limit_tolerance")
        if row["metric"] == "ttft_ms":
            if row["value"] < close * full[index]:
                yield index, (
                    f"TTFT {row['value']:.4g} ms is less than one prompt takes at peak rates, {full[index]:.4g} ms: "
                    "prefix cache, a wrong card, format or length, or seconds in place of milliseconds"
                )
        elif row["value"] < close * bare[index]:
            yield index, _too_fast(row["metric"], row["value"], bare[index])
        elif mean[index] and row["value"] < close * full[index]:
            yield index, _no_prompts(row["metric"], row["value"], full[index])


def _rates(rows: pd.DataFrame, ideal: Catalog) -> Found:
    """More tokens than the requests together can get; of an endless supply, than all of the memory can serve."""
    part = rows[rows["metric"].isin(RATES) & (rows["start"] != "open-loop")].copy()
    if part.empty:
        return
    held = part["start"].isin(("steady", "static"))
    part["start"], part["requests"] = part["start"].where(held, "offline"), np.nan
    part["sequence_limit"] = part["sequence_limit"].where(held, MOST_SEQUENCES)
    part["memory_utilisation"] = np.nan
    part["kv_bytes_per_element"] = LEAST_KV_BYTES
    experts = part["model"].map(lambda model: ideal.models[model].value("experts") > 0)
    best = {**limits(ideal), **_known(ALL_MEMORY, ideal)}
    full = predict(part, ideal, best)["predicted"]
    bare = predict(part, ideal, {**best, **_known(NO_PROMPTS, ideal)})["predicted"]
    served = np.where(experts, rule("limit_tolerance_experts"), rule("limit_tolerance"))
    slack = np.where(held, served, rule("limit_tolerance_offline"))
    for index, metric, value, share in zip(part.index, part["metric"], part["value"], slack, strict=True):
        if value * share > bare[index]:
            yield index, _too_fast(metric, value, bare[index])
        elif value * share > full[index]:
            yield index, _no_prompts(metric, value, full[index])


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


def _memory(rows: pd.DataFrame, ideal: Catalog) -> Found:
    """More KV room than all of the card's memory would give, or weights of another format."""
    part = rows[rows["metric"].isin(MEMORIES)].copy()
    if part.empty:
        return
    part["memory_utilisation"] = np.nan
    most = predict(part, ideal, _known(ALL_MEMORY, ideal))["predicted"]
    near = rule("weights_tolerance")
    for index, metric, value, bound in zip(part.index, part["metric"], part["value"], most, strict=True):
        if metric == "weights_gib":
            if not near < value / bound < 1 / near:
                yield index, f"weights {value:.4g} GiB are far from {bound:.4g} GiB: another format, model or --tp"
        elif value * rule("limit_tolerance") > bound:
            yield index, f"{metric} {value:.4g} is more than the whole card gives, {bound:.4g}: a wrong card or format"


def _per_card(rows: pd.DataFrame, catalog: Catalog) -> pd.Series:
    """Throughput of several cards whose rows, as a group, are off by the number of cards."""
    found = pd.Series(False, index=rows.index)
    several = (rows["problem"] == "") & rows["metric"].isin(["output_tok_s", "total_tok_s"]) & (rows["gpu_count"] > 1)
    fewest, reach = rule("per_card_fewest_rows"), rule("per_card_reach")
    if several.sum() < fewest:
        return found
    part = predict(rows[several], catalog)
    times = np.log(part["predicted"] / part["value"]) / np.log(part["gpu_count"])
    part["near"] = times.between(1 - reach, 1 + reach)
    for _, group in part.groupby(["source", "engine", "engine_version", "gpu", "start"], dropna=False):
        if len(group) >= fewest and group["near"].mean() >= rule("per_card_share"):
            found.loc[group.index] = True
    return found
