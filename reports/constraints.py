"""What a candidate must satisfy, as records; and why it cannot, as codes with a sentence each.

A code is a small integer in frames and a sentence where it is shown. Sentences are English message ids with named
numbers; the renderers translate them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.constants import GIB_PER_GB
from reports.matrix import CONTEXT_TOO_LONG, HEADS, MISSING_FACT, NO_LINK, NO_NVLINK, STATIC_EXCUSES


@dataclass(frozen=True)
class Constraint:
    """One limit: how many requests it alone allows (``capacity``), and what must hold at the recommended load."""

    name: str
    label: str
    capacity: str
    value: str
    bound: str
    unit: str


CONSTRAINTS: dict[str, tuple[Constraint, ...]] = {
    "roofline": (
        Constraint("memory", "Memory", "memory_requests", "recommended_requests", "memory_requests", "requests"),
        Constraint("engine", "Engine batch limit", "engine_requests", "recommended_requests", "engine_requests",
                   "requests"),
        Constraint("tpot", "TPOT target", "tpot_requests", "tpot_ms", "tpot_target_ms", "ms"),
        Constraint("ttft", "TTFT target", "ttft_requests", "ttft_ms", "ttft_target_ms", "ms"),
    ),
    "rule-of-thumb": (
        Constraint("memory", "Memory", "memory_concurrency", "recommended_concurrency", "memory_concurrency",
                   "requests"),
        Constraint("prefill", "Prefill compute", "prefill_concurrency", "recommended_concurrency",
                   "prefill_concurrency", "requests"),
        Constraint("decode", "Memory bandwidth", "decode_concurrency", "recommended_concurrency", "decode_concurrency",
                   "requests"),
    ),
}  # fmt: skip

WEIGHTS = "weights-do-not-fit"
NO_REQUEST_FITS = "no-request-fits"
TTFT_MISSED = "ttft-target"
TPOT_MISSED = "tpot-target"
STAGES_STARVE = "pipeline-starves"

LAYOUT_EXCUSES: tuple[str, ...] = (
    *STATIC_EXCUSES, WEIGHTS, NO_REQUEST_FITS, TTFT_MISSED, TPOT_MISSED, STAGES_STARVE,
)  # fmt: skip
"""All codes; the index is the number in frames, and a larger one came closer to working."""

SENTENCES: dict[str, str] = {
    NO_NVLINK: "{gpu} has no NVLink.",
    MISSING_FACT: "The catalog lacks facts of {gpu} that this method needs.",
    CONTEXT_TOO_LONG: "Requests of {tokens} tokens (P95) exceed the context of {model}.",
    NO_LINK: "No measured link for {unit_cards} × {gpu} over {interconnect}.",
    HEADS: "{attention_heads} attention heads do not split over {tensor_parallel} cards.",
    WEIGHTS: "Weights and overhead need {needed_gib} GiB a card; the engine may use {available_gib} GiB.",
    NO_REQUEST_FITS: "After the weights {kv_room_gib} GiB a card are left; one request needs {kv_request_gib} GiB.",
    TTFT_MISSED: "First token after {ttft_ms} ms with a single request; the target is {ttft_target_ms} ms.",
    TPOT_MISSED: "{tpot_ms} ms per token with a single request; the target is {tpot_target_ms} ms.",
    STAGES_STARVE: "Within the targets, {pipeline_parallel} pipeline stages would have less than one request each.",
    "no-price": "Needs {cards} cards; neither a rental offer nor a purchase price is on file.",
    "dearer": "Needs {cards} cards at {monthly_amount} a month, {more_share} more than the winner.",
    "winner": "Needs {cards} cards at {monthly_amount} a month: the cheapest that meets the targets.",
}
"""Message id of every code."""


def feasibility(method: str, values: Mapping[str, Any]) -> NDArray[np.int64]:
    """Excuse code of each row from its evaluated columns; 0 when it works."""
    capacity = np.asarray(values["recommended_concurrency"], dtype=np.float64)
    code = np.zeros(capacity.shape, dtype=np.int64)

    def mark(condition: Any, excuse: str) -> None:
        code[np.broadcast_to(condition, code.shape) & (code == 0)] = LAYOUT_EXCUSES.index(excuse)

    if method == "rule-of-thumb":
        mark(np.isnan(capacity), MISSING_FACT)
        mark(values["kv_space_gb"] <= 0, WEIGHTS)
        mark(values["memory_concurrency"] < 1, NO_REQUEST_FITS)
        mark(capacity < 1, TPOT_MISSED)
        return code
    mark(np.mod(values["attention_heads"], values["tensor_parallel"]) != 0, HEADS)
    mark(np.isnan(capacity), MISSING_FACT)
    mark(values["kv_room_gib"] <= 0, WEIGHTS)
    mark(values["memory_requests"] < 1, NO_REQUEST_FITS)
    mark(values["ttft_requests"] < 1, TTFT_MISSED)
    mark(values["tpot_requests"] < 1, TPOT_MISSED)
    ranks = np.asarray(values["pipeline_parallel"]) * np.asarray(values["data_parallel"])
    mark(values["recommended_requests"] < ranks, STAGES_STARVE)
    return code


def binding(method: str, frame: pd.DataFrame) -> pd.Series:
    """Name of the constraint that allows the fewest requests, blank where the row is infeasible."""
    records = CONSTRAINTS[method]
    capacities = np.column_stack([frame[record.capacity].to_numpy(dtype=np.float64) for record in records])
    names = np.array([record.name for record in records], dtype=object)
    least = names[np.argmin(np.nan_to_num(capacities, nan=np.inf), axis=1)]
    return pd.Series(np.where(frame["feasible"], least, ""), index=frame.index, dtype=object)


def verdicts(method: str, options: pd.DataFrame) -> pd.DataFrame:
    """Long: every constraint of every feasible option, with value, bound, unit and slack (>= 0 means it holds)."""
    feasible = options[options["feasible"]]
    parts = []
    for record in CONSTRAINTS[method]:
        value = feasible[record.value].to_numpy(dtype=np.float64)
        bound = feasible[record.bound].to_numpy(dtype=np.float64)
        with np.errstate(all="ignore"):
            slack = np.where(bound > 0, 1 - value / bound, np.nan)
        parts.append(
            pd.DataFrame(
                {
                    "option_id": feasible["option_id"].to_numpy(),
                    "constraint": record.name,
                    "value": value,
                    "bound": bound,
                    "unit": record.unit,
                    "slack": slack,
                    "passed": slack >= 0,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


QUOTED: dict[str, tuple[str, ...]] = {
    NO_NVLINK: ("gpu",),
    MISSING_FACT: ("gpu",),
    NO_LINK: ("unit_cards", "gpu", "interconnect"),
    HEADS: ("attention_heads", "tensor_parallel"),
    NO_REQUEST_FITS: ("kv_room_gib", "kv_request_gib"),
    TTFT_MISSED: ("ttft_ms", "ttft_target_ms"),
    TPOT_MISSED: ("tpot_ms", "tpot_target_ms"),
    STAGES_STARVE: ("pipeline_parallel",),
}
"""Columns that a sentence quotes as they are; the other sentences quote what ``quoted`` derives."""


def quoted(code: str, method: str, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The numbers that the sentence of a code quotes, one dictionary a row of candidates of one method."""
    if code == CONTEXT_TOO_LONG:
        named = {"tokens": rows["input_p95_tokens"] + rows["output_p95_tokens"], "model": rows["model"]}
    elif code == WEIGHTS and method == "rule-of-thumb":
        usable = rows["unit_cards"] * rows["memory_nominal_gb"] * rows["rule_usable_memory_share"]
        named = {"needed_gib": rows["weights_gb"] / GIB_PER_GB, "available_gib": usable / GIB_PER_GB}
    elif code == WEIGHTS:
        needed = rows["weights_gib"] + rows["overhead_gib"]
        named = {"needed_gib": needed, "available_gib": rows["kv_room_gib"] + needed}
    elif code == NO_REQUEST_FITS and method == "rule-of-thumb":
        named = {
            "kv_room_gib": rows["kv_space_gb"] / GIB_PER_GB,
            "kv_request_gib": rows["kv_request_gb"] / GIB_PER_GB,
        }
    else:
        named = {name: rows[name] for name in QUOTED.get(code, ())}
    columns = [column.tolist() for column in named.values()]
    return [dict(zip(named, values, strict=True)) for values in zip(*columns, strict=True)] or [{}] * len(rows)


def sentence(code: str, values: Mapping[str, Any]) -> str:
    """The English sentence of a code, its numbers at three significant digits, whole thousands in full."""
    return SENTENCES[code].format(**{key: _short(value) for key, value in values.items()})


def _short(value: Any) -> str:
    if not isinstance(value, int | float | np.number):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
