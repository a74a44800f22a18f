"""What a candidate must satisfy, as records; and why it cannot, as codes with a sentence each.

A code is a small integer in frames and a sentence where it is shown. Sentences are English message ids with named
numbers; the renderers translate them. To add a constraint, add one record: feasibility, the binding constraint, the
verdicts, the proof in the PDF and the Checks sheet follow. One with a ``capacity`` must also be an argument of the
method's limit formula (a test says so); one without is a plain yes or no.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.constants import GIB_PER_GB
from reports.errors import GpubookError
from reports.matrix import CONTEXT_TOO_LONG, HEADS, MISSING_FACT, NO_LINK, NO_NVLINK, STATIC_EXCUSES
from reports.methods import NOT_SIMULATED_REQUESTS, Block
from reports.scenario.targets import NO_TARGET_MS

LOAD = "load"
"""Stands for the number of requests a replica runs at the operating point in question."""

TOLERANCE = 1e-9
"""Relative: a bound met to the last bit of a binary fraction is met."""


@dataclass(frozen=True)
class Constraint:
    """``value`` must not exceed ``bound``. Names are columns; the sentence is said of a candidate that cannot hold it.

    ``capacity`` is the column that says how many requests this constraint alone allows; blank for a yes or no.
    """

    name: str
    label: str
    value: str
    bound: str
    unit: str
    code: str
    sentence: str
    quotes: tuple[str, ...] = ()
    capacity: str = ""

    def value_at(self, point: Block) -> str:
        """The frame column of the value at an operating point of the step chain."""
        if self.value == LOAD:
            return point.batch
        return point.resolve(self.value)


NO_REQUEST_FITS = "no-request-fits"
NO_LONG_REQUEST_FITS = "no-long-request-fits"
_ROOM = "After the weights {kv_room_gib} GiB a card are left; one request needs {kv_request_gib} GiB."
_LONG = "After the weights {kv_room_gib} GiB a card are left; a long request (P95) needs {kv_p95_gib} GiB."

CONSTRAINTS: dict[str, tuple[Constraint, ...]] = {
    "roofline": (
        Constraint(
            name="memory", label="Memory", value=LOAD, bound="memory_requests", unit="requests",
            capacity="memory_requests", code=NO_LONG_REQUEST_FITS, sentence=_LONG,
            quotes=("kv_room_gib", "kv_p95_gib"),
        ),
        Constraint(
            name="engine", label="Engine batch limit", value=LOAD, bound="engine_requests", unit="requests",
            capacity="engine_requests", code="engine-limit", sentence="The engine schedules no request at all.",
        ),
        Constraint(
            name="utilisation", label="Utilisation", value="queue_utilisation_ratio", bound="utilisation_cap",
            unit="ratio", capacity="utilisation_requests", code="overloaded",
            quotes=("queue_utilisation_ratio", "utilisation_cap"),
            sentence="A single request takes {queue_utilisation_ratio} of what a replica serves; at most "
            "{utilisation_cap} is planned.",
        ),
        Constraint(
            name="ttft", label="TTFT target", value="ttft_tail_ms", bound="ttft_target_ms", unit="ms",
            capacity="ttft_requests", code="ttft-target", quotes=("ttft_tail_ms", "ttft_target_ms"),
            sentence="First token after {ttft_tail_ms} ms with a single request; the target is {ttft_target_ms} ms.",
        ),
        Constraint(
            name="tpot", label="TPOT target", value="tpot_tail_ms", bound="tpot_target_ms", unit="ms",
            capacity="tpot_requests", code="tpot-target", quotes=("tpot_tail_ms", "tpot_target_ms"),
            sentence="{tpot_tail_ms} ms per token with a single request; the target is {tpot_target_ms} ms.",
        ),
        Constraint(
            name="answer", label="Answer target", value="answer_tail_ms", bound="answer_target_ms", unit="ms",
            capacity="answer_requests", code="answer-target", quotes=("answer_tail_ms", "answer_target_ms"),
            sentence="{answer_tail_ms} ms for a whole answer with a single request; the target is "
            "{answer_target_ms} ms.",
        ),
        Constraint(
            name="simulation", label="Simulation", value=LOAD, bound="simulated_requests", unit="requests",
            capacity="simulated_requests", code="simulation", quotes=(),
            sentence="Simulated with a single request, a target is missed.",
        ),
        Constraint(
            name="deadline", label="Time for the run", value="run_tail_s", bound="run_limit_s", unit="s",
            code="run-too-short", quotes=("run_tail_s", "run_limit_s"),
            sentence="The longest answers of the run take {run_tail_s} s at its end; it has {run_limit_s} s.",
        ),
    ),
    "rule-of-thumb": (
        Constraint(
            name="memory", label="Memory", value="recommended_concurrency", bound="memory_concurrency",
            unit="requests", capacity="memory_concurrency", code=NO_REQUEST_FITS, sentence=_ROOM,
        ),
        Constraint(
            name="prefill", label="Prefill compute", value="recommended_concurrency", bound="prefill_concurrency",
            unit="requests", capacity="prefill_concurrency", code="prefill-too-slow",
            quotes=("prefill_requests_per_s",), sentence="Prefill takes {prefill_requests_per_s} requests a second.",
        ),
        Constraint(
            name="decode", label="Memory bandwidth", value="recommended_concurrency", bound="decode_concurrency",
            unit="requests", capacity="decode_concurrency", code="bandwidth-too-low", quotes=("decode_concurrency",),
            sentence="Memory bandwidth carries {decode_concurrency} requests at the promised token rate.",
        ),
    ),
    "four-bottleneck": (
        Constraint(
            name="memory", label="Memory", value="recommended_concurrency", bound="memory_concurrency",
            unit="requests", capacity="memory_concurrency", code=NO_REQUEST_FITS, sentence=_ROOM,
        ),
        Constraint(
            name="compute", label="Compute", value="recommended_concurrency", bound="compute_concurrency",
            unit="requests", capacity="compute_concurrency", code="compute-too-slow", quotes=("compute_concurrency",),
            sentence="Compute carries {compute_concurrency} requests in the promised time.",
        ),
        Constraint(
            name="pcie", label="PCIe", value="recommended_concurrency", bound="pcie_concurrency",
            unit="requests", capacity="pcie_concurrency", code="host-link-too-slow", quotes=("pcie_concurrency",),
            sentence="The links to the host carry {pcie_concurrency} requests in the promised time.",
        ),
        Constraint(
            name="cpu", label="CPU", value="recommended_concurrency", bound="cpu_concurrency",
            unit="requests", capacity="cpu_concurrency", code="processor-too-slow", quotes=("cpu_concurrency",),
            sentence="The processors carry {cpu_concurrency} requests in the promised time.",
        ),
    ),
}  # fmt: skip
"""By method, the one that is furthest from working first: a candidate is rejected by the first that it breaks."""

NO_EXPERTS = "no-experts"
WEIGHTS = "weights-do-not-fit"
STAGES_STARVE = "pipeline-starves"
NO_LOAD = "no-load"

LAYOUT_EXCUSES: tuple[str, ...] = (
    *STATIC_EXCUSES,
    NO_EXPERTS,
    WEIGHTS,
    *dict.fromkeys(record.code for records in CONSTRAINTS.values() for record in records),
    STAGES_STARVE,
    NO_LOAD,
)
"""All codes; the index is the number in frames, and a larger one came closer to working."""

SENTENCES: dict[str, str] = {
    NO_NVLINK: "{gpu} has no NVLink.",
    MISSING_FACT: "The catalog lacks facts of {gpu} that this method needs.",
    CONTEXT_TOO_LONG: "Requests of {tokens} tokens (P95) exceed the context of {model}.",
    NO_LINK: "No measured link for {unit_cards} × {gpu} over {interconnect}.",
    HEADS: "{attention_heads} attention heads do not split over {tensor_parallel} cards.",
    NO_EXPERTS: "Attention data parallelism is for models with experts.",
    WEIGHTS: "Weights and overhead need {needed_gib} GiB a card; the engine may use {available_gib} GiB.",
    **{record.code: record.sentence for records in CONSTRAINTS.values() for record in records},
    STAGES_STARVE: "Within the targets, {pipeline_parallel} pipeline stages would have less than one request each.",
    NO_LOAD: "After the safety margin not one request is left that keeps every constraint.",
    "no-price": "Needs {cards} cards; neither a rental offer nor a purchase price is on file.",
    "dearer": "Needs {cards} cards at {monthly_amount} a month, {more_share} more than the winner.",
    "winner": "Needs {cards} cards at {monthly_amount} a month: the cheapest that meets the targets.",
}
"""Message id of every code."""

QUOTES: dict[str, tuple[str, ...]] = {
    record.code: record.quotes for records in CONSTRAINTS.values() for record in records
}
"""Excuse code of a constraint -> the columns that its sentence quotes: what it is, and where that is said, the most."""


def applies(record: Constraint, row: Mapping[str, Any]) -> bool:
    """Whether a row is held to a constraint: a target that nobody stated, and a simulation not run, limit nothing."""
    return not float(row[record.bound]) >= min(NO_TARGET_MS, NOT_SIMULATED_REQUESTS)


_ROOM_COLUMN = {"roofline": "kv_room_gib", "rule-of-thumb": "kv_space_gb", "four-bottleneck": "kv_space_gb"}


def feasibility(method: str, values: Mapping[str, Any]) -> NDArray[np.int64]:
    """Excuse code of each row from its evaluated columns; 0 when it works."""
    capacity = np.asarray(values["recommended_concurrency"], dtype=np.float64)
    code = np.zeros(capacity.shape, dtype=np.int64)

    def mark(condition: Any, excuse: str) -> None:
        code[np.broadcast_to(condition, code.shape) & (code == 0)] = LAYOUT_EXCUSES.index(excuse)

    if method == "roofline":
        mark(np.mod(values["attention_heads"], values["tensor_parallel"]) != 0, HEADS)
        mark((np.asarray(values["data_parallel"]) > 1) & (np.asarray(values["experts"]) == 0), NO_EXPERTS)
    mark(np.isnan(capacity), MISSING_FACT)
    mark(values[_ROOM_COLUMN[method]] <= 0, WEIGHTS)
    for record in CONSTRAINTS[method]:
        if record.capacity:
            mark(values[record.capacity] < 1, record.code)
        else:
            mark(~(values[record.value] <= values[record.bound] * (1 + TOLERANCE)), record.code)
    if method == "roofline":
        ranks = np.asarray(values["pipeline_parallel"]) * np.asarray(values["data_parallel"])
        mark(values["recommended_requests"] < ranks, STAGES_STARVE)
    mark(capacity < 1, NO_LOAD)
    return code


def binding(method: str, frame: pd.DataFrame) -> pd.Series:
    """Name of the constraint that allows the fewest requests, blank where the row is infeasible."""
    records = [record for record in CONSTRAINTS[method] if record.capacity]
    capacities = np.column_stack([frame[record.capacity].to_numpy(dtype=np.float64) for record in records])
    names = np.array([record.name for record in records], dtype=object)
    least = names[np.argmin(np.nan_to_num(capacities, nan=np.inf), axis=1)]
    return pd.Series(np.where(frame["feasible"], least, ""), index=frame.index, dtype=object)


def verdicts(method: str, point: Block, options: pd.DataFrame) -> pd.DataFrame:
    """Long: every constraint of every feasible option at its recommended load: value, bound, unit, slack, passed.

    Slack is relative and >= 0 where the constraint holds. A feasible option that breaks one means that the limit
    formula of the method forgot it: GpubookError names the constraint, and nothing is delivered.
    """
    feasible = options[options["feasible"]]
    parts = []
    for record in CONSTRAINTS[method]:
        value = feasible[record.value_at(point)].to_numpy(dtype=np.float64)
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
                    "passed": slack >= -TOLERANCE,
                }
            )
        )
    found = pd.concat(parts, ignore_index=True)
    broken = found[~found["passed"]]
    if len(broken):
        first = broken.iloc[0]
        raise GpubookError(
            f"constraint {first['constraint']} does not hold at the recommended load of {first['option_id']} "
            f"({first['value']:.4g} against {first['bound']:.4g} {first['unit']}): "
            "the method's limit formula leaves it out"
        )
    return found


QUOTED: dict[str, tuple[str, ...]] = {
    NO_NVLINK: ("gpu",),
    MISSING_FACT: ("gpu",),
    NO_LINK: ("unit_cards", "gpu", "interconnect"),
    HEADS: ("attention_heads", "tensor_parallel"),
    STAGES_STARVE: ("pipeline_parallel",),
    **{record.code: record.quotes for records in CONSTRAINTS.values() for record in records},
    NO_REQUEST_FITS: ("kv_room_gib", "kv_request_gib"),
}
"""Columns that a sentence quotes as they are; the other sentences quote what ``quoted`` derives."""


def quoted(code: str, method: str, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The numbers that the sentence of a code quotes, one dictionary a row of candidates of one method."""
    if code == CONTEXT_TOO_LONG:
        named = {"tokens": rows["input_p95_tokens"] + rows["output_p95_tokens"], "model": rows["model"]}
    elif code == WEIGHTS and method == "rule-of-thumb":
        usable = rows["unit_cards"] * rows["memory_nominal_gb"] * rows["rule_usable_memory_share"]
        named = {"needed_gib": rows["weights_gb"] / GIB_PER_GB, "available_gib": usable / GIB_PER_GB}
    elif code == WEIGHTS and method == "four-bottleneck":
        named = {"needed_gib": rows["fixed_gb"] / GIB_PER_GB, "available_gib": rows["memory_pool_gb"] / GIB_PER_GB}
    elif code == WEIGHTS:
        needed = rows["weights_gib"] + rows["overhead_gib"]
        named = {"needed_gib": needed, "available_gib": rows["kv_room_gib"] + needed}
    elif code == NO_REQUEST_FITS and method in ("rule-of-thumb", "four-bottleneck"):
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
    if not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
