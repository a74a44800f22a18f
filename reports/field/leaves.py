"""Gathers the catalog facts of measured rows into the columns that the formulas read: one array a leaf."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.catalog.records import Catalog, Fact
from reports.columns import INTERPOLATED, LEAVES
from reports.facts import PEAK_FACT, compute_type, dense_peak_fact

Values = NDArray[np.float64]
Columns = MutableMapping[str, Any]

CHOSEN = ("dense_peak_tflops", "expert_peak_tflops")
LINK = tuple(leaf.name for leaf in LEAVES if leaf.scope == "link")
_NAMES = {scope: tuple(leaf.name for leaf in LEAVES if leaf.scope == scope) for scope in ("gpu", "model", "engine")}
_QUANTIZATION = tuple(leaf.name for leaf in LEAVES if leaf.scope == "quantization")


def gather(rows: pd.DataFrame, catalog: Catalog, coefficients: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Columns for ``run_program``: every row needs a model, card, format, engine and layout.

    ``coefficients`` replace assumptions by name, and facts of engines by ``name:engine``.
    """
    columns: dict[str, Any] = {}
    _assumptions(columns, catalog, coefficients or {})
    _by(columns, rows, ["model"], lambda model: _facts(catalog.models[model].facts, _NAMES["model"]))
    gpu_facts = tuple(name for name in _NAMES["gpu"] if name not in CHOSEN)
    _by(columns, rows, ["gpu"], lambda gpu: _facts(catalog.gpus[gpu].facts, gpu_facts))
    _by(columns, rows, ["engine"], lambda engine: _engine(catalog, engine, coefficients or {}))
    _calibrated(columns, rows, catalog, coefficients or {})
    _by(columns, rows, ["model", "quantization"], lambda model, name: _quantization(catalog, model, name))
    _by(columns, rows, ["model", "gpu", "quantization"], lambda *key: _peaks(catalog, *key))
    ranks = rows["tensor_parallel"].to_numpy() * rows["data_parallel"].to_numpy()
    linked = rows[["gpu", "interconnect"]].assign(ranks=ranks)
    _by(columns, linked, ["gpu", "interconnect", "ranks"], lambda *key: _link(catalog, *key))
    for name in ("tensor_parallel", "data_parallel", "pipeline_parallel", "kv_bytes_per_element"):
        columns[name] = rows[name].to_numpy(dtype=float)
    columns["input_mean_tokens"] = rows["input_tokens"].fillna(0).to_numpy(dtype=float)
    columns["output_mean_tokens"] = np.maximum(rows["output_tokens"].fillna(0).to_numpy(dtype=float), 1)
    columns.update(fixed_lengths(columns))
    columns["burst_flag"] = (rows["start"].to_numpy() == "burst").astype(float)
    columns["closed_loop_flag"] = (rows["start"].to_numpy() != "open-loop").astype(float)
    _stated(columns, rows)
    return columns


def _assumptions(columns: Columns, catalog: Catalog, coefficients: Mapping[str, float]) -> None:
    for leaf in LEAVES:
        if (
            leaf.scope == "assumption"
            and leaf.name not in INTERPOLATED
            and (leaf.name, "global") in catalog.assumptions
        ):
            columns[leaf.name] = catalog.assumptions[leaf.name, "global"].mid
    unknown = [name for name in coefficients if ":" not in name and name not in columns]
    if unknown:
        raise LookupError(f"no assumption named {', '.join(unknown)}")
    columns.update({name: value for name, value in coefficients.items() if ":" not in name})


def _calibrated(columns: Columns, rows: pd.DataFrame, catalog: Catalog, coefficients: Mapping[str, float]) -> None:
    """What an overlay measured on a card under an engine holds for the rows of this pair."""
    for (name, engine, gpu), own in catalog.calibrated.items():
        here = ((rows["engine"] == engine) & (rows["gpu"] == gpu)).to_numpy()
        if here.any() and name not in coefficients and f"{name}:{engine}" not in coefficients:
            columns[name] = np.where(here, own.mid, columns[name])


def _by(columns: Columns, rows: pd.DataFrame, keys: list[str], values: Callable[..., Mapping[str, float]]) -> None:
    """Look every distinct key up once and spread the numbers over the rows."""
    codes, uniques = pd.factorize(pd.MultiIndex.from_frame(rows[keys]) if len(keys) > 1 else rows[keys[0]])
    found = [values(*(key if len(keys) > 1 else (key,))) for key in uniques]
    for name in found[0] if found else ():
        columns[name] = np.array([each[name] for each in found], dtype=float)[codes]


def _facts(facts: Mapping[str, Fact], names: Sequence[str]) -> dict[str, float]:
    return {name: facts[name].value if name in facts else np.nan for name in names}


def _engine(catalog: Catalog, engine: str, coefficients: Mapping[str, float]) -> dict[str, float]:
    found = _facts(catalog.engines[engine].facts, _NAMES["engine"])
    return found | {name: coefficients.get(f"{name}:{engine}", value) for name, value in found.items()}


def _quantization(catalog: Catalog, model: str, name: str) -> dict[str, float]:
    entry = catalog.quantizations[name]
    facts = {**entry.facts, **entry.moe_facts} if catalog.models[model].value("experts") > 0 else entry.facts
    return _facts(facts, _QUANTIZATION)


def _peaks(catalog: Catalog, model: str, gpu: str, name: str) -> dict[str, float]:
    experts = catalog.models[model].value("experts") > 0
    facts = catalog.gpus[gpu].facts
    names = (dense_peak_fact(catalog, gpu, name, experts), PEAK_FACT[compute_type(catalog, gpu, name)])
    return {leaf: facts[fact].value if fact in facts else np.nan for leaf, fact in zip(CHOSEN, names, strict=True)}


def _link(catalog: Catalog, gpu: str, interconnect: str, ranks: float) -> dict[str, float]:
    """Point of the card's link for so many ranks, rounded up to one that is known; beyond the last, the last."""
    card = catalog.gpus[gpu]
    name = card.pcie if interconnect == "pcie" else (card.nvlink or card.pcie)
    if ranks <= 1 or name not in catalog.links:
        return dict.fromkeys(LINK, np.nan)
    points = catalog.links[name].points
    if not points:
        return dict.fromkeys(LINK, np.nan)
    near = min((n for n in points if n >= ranks), default=max(points))
    return _facts(points[near], LINK)


def _stated(columns: Columns, rows: pd.DataFrame) -> None:
    """What a row states itself replaces the assumption."""
    for name, column in (("memory_utilisation", "memory_utilisation"), ("engine_batch_requests", "sequence_limit")):
        stated = rows[column].to_numpy(dtype=float)
        columns[name] = np.where(np.isnan(stated), columns[name], stated)
    chunk = rows["chunk_tokens"].to_numpy(dtype=float)
    for name in ("chunk_small_tokens", "chunk_large_tokens"):
        columns[name] = np.where(np.isnan(chunk), columns[name], chunk)


PLAIN: Mapping[str, float] = {
    "input_deviation_tokens": 0.0, "output_deviation_tokens": 0.0, "prefix_hit_share": 0.0, "interarrival_scv": 1.0,
    "draft_tokens": 0.0, "draft_acceptance_ratio": 0.0, "draft_step_share": 0.0, "replicas": 1.0,
}  # fmt: skip
"""What measured rows do not state: lengths are fixed, arrivals Poisson, nothing is cached or drafted, and a row is one
replica."""


def fixed_lengths(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The leaves of a workload of fixed lengths: KV elements over a request's life, windows counted, pages not."""
    tokens, answer = columns["input_mean_tokens"], columns["output_mean_tokens"]
    full = columns["kv_elements_per_token_full_layers"]
    sliding = columns["kv_elements_per_token"] - full
    window = columns["sliding_window_tokens"]
    whole = full * (tokens + answer) + sliding * np.minimum(tokens + answer, window)
    growing = np.clip(window - tokens, 0, answer)  # tokens of the answer until the window is full
    begun = np.minimum(tokens, window)
    mean = full * (tokens + answer / 2) + sliding * (begun + growing * (1 - growing / (2 * answer)))
    # variance of x(t) = full t + sliding min(t, growing), t uniform over the answer
    share = growing / answer
    sliding_mean = growing * (1 - share / 2)
    of_sliding = growing**2 * (1 - 2 * share / 3) - sliding_mean**2
    joint = answer * growing * (1 / 2 - share**2 / 6) - answer / 2 * sliding_mean
    variance = full**2 * answer**2 / 12 + sliding**2 * of_sliding + 2 * full * sliding * joint
    return {
        **PLAIN, "full_kv_elements": whole, "full_p95_kv_elements": whole, "resident_kv_elements": mean,
        "resident_deviation_kv_elements": np.sqrt(np.maximum(variance, 0)), "input_tail_tokens": tokens,
    }  # fmt: skip
