"""Predicts measured rows with the catalog's formulas: latency, throughput of endless and finite runs, memory."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.catalog.records import Catalog
from reports.evaluate import Program, compile_blocks, run_program
from reports.field.leaves import Columns, gather
from reports.field.measured import METRICS
from reports.formulas import memory, model_shape, per_token, runs, step, waiting, work
from reports.methods import Block

Values = NDArray[np.float64]

ENDLESS_REQUESTS = 1e9
"""Requests of a run that nobody counted: its tail does not matter."""

FIXED_POINT_ROUNDS = 24

BEFORE = (
    Block("Model shape", model_shape.FORMULAS),
    Block("Memory", memory.FORMULAS),
    Block("Work that does not depend on the batch", work.FORMULAS),
    Block("What a token and a request cost", per_token.FORMULAS),
)
RUN = (
    Block("Admission", runs.ADMISSION),
    Block("Step", (*step.FORMULAS, *waiting.FORMULAS), batch="running_requests"),
    Block("Outcome of the run", runs.OUTCOME),
)
BLOCKS = (*BEFORE, *RUN)
"""Everything a measured row is predicted with, in reading order."""

MOST_RANKS_WITHOUT_LINK = 1


@functools.cache
def program(known: frozenset[str], blocks: tuple[Block, ...]) -> Program:
    """Blocks compiled once for each set of known columns."""
    return compile_blocks(blocks, known)


def evaluate_rows(rows: pd.DataFrame, catalog: Catalog, coefficients: Mapping[str, float] | None = None) -> Columns:
    """Every formula column over answerable rows (no ``problem``)."""
    columns = gather(rows, catalog, coefficients)
    with np.errstate(all="ignore"):
        run_program(program(frozenset(columns), BEFORE), columns)
        return run_tests(columns, rows)


def run_tests(columns: Columns, rows: pd.DataFrame) -> Columns:
    """From the columns that no load changes to the outcome of each row's test; ``columns`` itself stays as it is."""
    columns = dict(columns)
    start = rows["start"].to_numpy()
    columns["offline_flag"] = np.isin(start, ("offline", "static")).astype(float)
    columns["run_requests"] = np.nan_to_num(rows["requests"].to_numpy(dtype=float), nan=ENDLESS_REQUESTS)
    columns["equal_lengths_flag"] = np.nan_to_num(rows["equal_lengths"].to_numpy(dtype=float))
    replicas = _replicas(rows)
    columns["run_requests"] = np.maximum(columns["run_requests"] / replicas, 1)
    columns["arrival_requests_per_s"] = np.nan_to_num(rows["request_rate_per_s"].to_numpy(dtype=float), nan=np.inf)
    columns["arrival_requests_per_s"] = columns["arrival_requests_per_s"] / replicas
    offered = rows["batch_requests"].to_numpy(dtype=float)
    offered = np.where(start == "burst", columns["run_requests"], offered)
    # without a stated load an engine admits what surely finishes, of those there are: whole requests at full length
    least = columns["data_parallel"] * columns["pipeline_parallel"]
    surely = np.maximum(np.minimum(columns["memory_requests"], columns["engine_requests"]), least)
    surely = np.minimum(surely, columns["run_requests"])
    columns["offered_requests"] = np.where(start == "offline", surely, offered)
    columns["offered_requests"] = np.where(start == "static", offered, columns["offered_requests"])
    opened = start == "open-loop"
    if opened.any():
        columns["offered_requests"] = np.where(opened, _fixed_point(columns, opened), columns["offered_requests"])
    run_program(program(frozenset(columns), RUN), columns)
    return columns


def _replicas(rows: pd.DataFrame) -> Values:
    ranks = rows["tensor_parallel"] * rows["data_parallel"] * rows["pipeline_parallel"]
    return np.maximum((rows["gpu_count"] / ranks).to_numpy(dtype=float), 1)


def _fixed_point(columns: Columns, opened: NDArray[np.bool_]) -> Values:
    """Requests in flight at which service keeps up with arrivals: arrivals x time of a request, at that many."""
    part = {name: value[opened] if np.ndim(value) else value for name, value in columns.items()}
    most = np.maximum(
        np.minimum(part["engine_requests"], part["memory_requests"]), part["data_parallel"] * part["pipeline_parallel"]
    )
    flight = np.ones(int(opened.sum()))
    for _ in range(FIXED_POINT_ROUNDS):
        part["offered_requests"] = flight
        trial = dict(part)
        run_program(program(frozenset(part), RUN), trial)
        flight = (flight + np.minimum(trial["arrival_requests_per_s"] / 1000 * trial["running_ms"], most)) / 2
    result = np.ones(len(opened))
    result[opened] = flight
    return result


def outcome(columns: Columns, rows: pd.DataFrame) -> Values:
    """The predicted number of each row's metric."""
    replicas = _replicas(rows)
    cards = rows["gpu_count"].to_numpy(dtype=float)
    rate = columns["run_output_tokens_per_s"] * replicas
    lengths = (columns["input_mean_tokens"] + columns["output_mean_tokens"]) / columns["output_mean_tokens"]
    made = {
        "tpot_ms": columns["run_tpot_ms"],
        "ttft_ms": columns["run_ttft_ms"],
        "output_tok_s": rate,
        "total_tok_s": rate * lengths,
        "per_gpu_output_tok_s": rate / cards,
        "req_s": rate / columns["output_mean_tokens"],
        "prefill_tok_s": columns["input_mean_tokens"] / columns["prefill_ms"] * 1000 * replicas,
        "kv_cache_tokens": _log_tokens(columns, rows),
        "weights_gib": columns["weights_gib"],
        "available_kv_gib": columns["kv_room_gib"],
    }
    metric = rows["metric"].to_numpy()
    result = np.full(len(rows), np.nan)
    for name in METRICS:
        result = np.where(metric == name, made[name], result)
    return result


def _log_tokens(columns: Columns, rows: pd.DataFrame) -> Values:
    """Tokens as engines print them: sliding layers counted as full; hybrids as concurrency times context."""
    per_token = columns["kv_elements_per_token"] * columns["kv_bytes_per_element"] * columns["kv_shard_ratio"]
    room = np.maximum(columns["kv_room_gib"], 0) * 2.0**30 * columns["pipeline_parallel"]
    context = rows["context_tokens"].to_numpy(dtype=float)
    state = columns["linear_state_elements"] * columns["linear_state_bytes_per_element"] / columns["tensor_parallel"]
    hybrid = np.nan_to_num(room / (per_token * context + state) * context)
    return np.where(columns["linear_layers"] > 0, hybrid, room / per_token)


def predict(rows: pd.DataFrame, catalog: Catalog, coefficients: Mapping[str, float] | None = None) -> pd.DataFrame:
    """The rows with ``predicted`` and ``reason``: NaN and why, where a row cannot be answered."""
    result = rows.copy()
    result["predicted"] = np.nan
    result["reason"] = rows["problem"]
    result["fits"] = pd.Series(np.nan, index=rows.index, dtype=object)
    result["overfull"] = pd.Series(np.nan, index=rows.index, dtype=object)
    able = (rows["problem"] == "").to_numpy()
    if able.any():
        answerable = rows[able]
        columns = evaluate_rows(answerable, catalog, coefficients)
        with np.errstate(all="ignore"):
            predicted = outcome(columns, answerable)
        good = np.isfinite(predicted) & (predicted > 0)
        result.loc[able, "predicted"] = np.where(good, predicted, np.nan)
        result.loc[able, "reason"] = np.where(good, "", _why(columns, answerable))
        result.loc[able, "overfull"] = np.broadcast_to(
            columns["weights_gib"] > columns["memory_usable_gib"], len(answerable)
        )
        result.loc[able, "fits"] = np.broadcast_to(columns["kv_room_gib"] > 0, len(answerable))
    return result


def _why(columns: Columns, rows: pd.DataFrame) -> NDArray[Any]:
    """Reason of a prediction that is not a positive number."""
    ranks = (rows["tensor_parallel"] * rows["data_parallel"]).to_numpy()
    no_link = (ranks > MOST_RANKS_WITHOUT_LINK) & np.isnan(columns["allreduce_alpha_us"])
    no_peak = np.isnan(columns["dense_peak_tflops"])
    no_room = np.broadcast_to(columns["kv_room_gib"] <= 0, len(rows))
    return np.select(
        [no_link, no_peak, no_room],
        [
            "no link between so many cards is known",
            "the card has no known rate for this format",
            "no room for KV cache",
        ],
        "a fact is missing",
    )
