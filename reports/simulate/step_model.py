"""From the formulas of an option to the step times and the memory of its engines, so that both tell the same story.

Every number is the method's own formula evaluated elsewhere: at every batch, at two prompt lengths, at two contexts.
At a constant load a simulated step therefore takes what the formula says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.constants import BYTES_PER_GIB
from reports.evaluate import compile_blocks
from reports.formulas.meta import info
from reports.methods import BATCH, Block, Method
from reports.simulate.engine import Engines, Memory, StepModel

Values = NDArray[np.float64]

NO_PROMPTS = {"prefill_ms": 0.0, "stall_ms": 0.0}
"""With these the time per output token is that of the decode steps alone."""
APART = 2.0
"""Prompts and contexts are evaluated at their mean and at twice that: two points give a curve's two coefficients."""


@dataclass(frozen=True)
class Unit:
    """One deployment unit of an option: its engines, and what the closed form says at any load."""

    engines: Engines
    replicas: int
    lanes: int
    """Engines of one replica: attention groups times pipeline stages, each with its share of requests and memory."""
    most_tokens: int
    """Longest request that the memory of one engine holds."""


def evaluated(
    method: Method, rows: pd.DataFrame, given: Mapping[str, Any], blocks: Sequence[Block] | None = None
) -> dict[str, Values]:
    """The method's columns for each row (first axis) at other values of some columns (second axis).

    ``given`` maps column names, leaves or columns that a formula would make, to arrays that broadcast to
    (rows, points). Nothing is changed in ``rows``.
    """
    chain = next(block for block in method.after if block.batch)
    steps = [*method.before, Block(chain.title, chain.formulas)] if blocks is None else list(blocks)
    made = {info(function).name for block in steps for function in block.formulas}
    columns: dict[str, Any] = {
        str(name): rows[name].to_numpy(dtype=np.float64)[:, None]
        for name in rows.columns
        if name not in made and pd.api.types.is_numeric_dtype(rows[name])
    }
    program = compile_blocks(steps, {*columns, *given, BATCH} - made)
    columns |= {name: np.asarray(value, dtype=np.float64) for name, value in given.items()}
    with np.errstate(all="ignore"):
        for function, read, name in program:
            if name not in given:
                columns[name] = function(*[columns[column] for column in read])
    return columns


def units(method: Method, rows: pd.DataFrame, page_tokens: float = 16) -> list[Unit]:
    """The engines of each row's deployment unit; rows must be feasible.

    ``page_tokens`` is a page of the KV cache; the simulation takes the power of two at or below it.
    """
    if rows.empty:
        return []
    read = [*_READ, *(name for name in (RESERVES,) if name in rows)]
    number = {name: rows[name].to_numpy(dtype=np.float64) for name in read}
    most = int(number["engine_batch_requests"].max())
    lanes = number["data_parallel"] * number["pipeline_parallel"]
    batches = np.arange(1, most + 1)
    loads = batches * lanes[:, None]
    mean, resident = rows["input_mean_tokens"].to_numpy(dtype=np.float64), number["resident_tokens"]

    plain = {**NO_PROMPTS, BATCH: loads}
    decode = _points(evaluated(method, rows, plain)["tpot_ms"], loads.shape)
    longer = {**plain, "resident_tokens": APART * resident[:, None]}
    growing = _points(evaluated(method, rows, longer)["tpot_ms"], loads.shape)[:, -1] - decode[:, -1]
    slope = np.maximum(growing, 0.0) / ((APART - 1) * resident * most)
    prompts = mean[:, None] * np.array([1.0, APART])
    alike = {"prefix_hit_share": 0.0, "input_deviation_tokens": 0.0}
    uncached = {**alike, "input_mean_tokens": prompts, BATCH: lanes[:, None]}
    prefill = _points(evaluated(method, rows, uncached)["prefill_ms"], prompts.shape)
    square = np.maximum(prefill[:, 1] - APART * prefill[:, 0], 0.0) / ((APART**2 - APART) * mean**2)
    linear = prefill[:, 0] / mean - square * mean

    found = []
    for index in range(len(rows)):
        at = {name: float(values[index]) for name, values in number.items()}
        memory = _memory(at, page_tokens)
        step = StepModel(
            decode_ms=np.concatenate([[0.0], decode[index]]),
            prefill_ms_per_token=float(linear[index]),
            prefill_ms_per_token_squared=float(square[index]),
            least_prefill_ms=at["weights_read_ms"],
            prefill_stall_factor=at["data_parallel_prefill_factor"] if at["data_parallel"] > 1 else 1.0,
            context_ms_per_token=float(slope[index]),
            context_mean_tokens=float(resident[index]),
            before_first_ms=at["ttft_launches"] * at["launch_ms"] * at["engine_time_factor"],
        )
        engines = Engines(
            step,
            memory,
            count=int(at["replicas"] * lanes[index]),
            route="least-loaded",
            most_running=int(at["engine_batch_requests"]),
            chunk_tokens=int(max(at["scheduling_tokens"], at["engine_batch_requests"])),
        )
        found.append(Unit(engines, int(at["replicas"]), int(lanes[index]), longest(memory)))
    return found


_READ = (
    "engine_batch_requests", "data_parallel", "pipeline_parallel", "tensor_parallel", "replicas", "resident_tokens",
    "weights_read_ms", "data_parallel_prefill_factor", "ttft_launches", "launch_ms", "engine_time_factor",
    "scheduling_tokens", "kv_room_gib", "kv_bytes_per_element", "kv_shard_ratio", "linear_state_elements",
    "linear_state_bytes_per_element", "kv_elements_per_token", "kv_elements_per_token_full_layers",
    "sliding_window_tokens",
)  # fmt: skip


def _memory(at: Mapping[str, float], page_tokens: float) -> Memory:
    """The KV cache of one engine in elements of all layers, which its cards share."""
    element = at["kv_bytes_per_element"] * at["kv_shard_ratio"]
    state = at["linear_state_elements"] * at["linear_state_bytes_per_element"] / at["tensor_parallel"]
    return Memory(
        capacity=max(at["kv_room_gib"], 0.0) * BYTES_PER_GIB / element,
        page_tokens=1 << max(int(page_tokens), 1).bit_length() - 1,
        full=at["kv_elements_per_token_full_layers"],
        sliding=at["kv_elements_per_token"] - at["kv_elements_per_token_full_layers"],
        window_tokens=int(at["sliding_window_tokens"]),
        constant=state / element,
        reserving=at.get(RESERVES, 0.0) > 0,
    )


RESERVES = "full_reservation_flag"
"""A fact of engines that give a request the memory of its whole length."""


def longest(memory: Memory, at_most: int = 1 << 24) -> int:
    """Most tokens of a single request that an engine's memory holds."""
    low, high = 0, at_most
    while low < high:
        middle = (low + high + 1) // 2
        if float(memory.held(middle)) <= memory.capacity:
            low = middle
        else:
            high = middle - 1
    return low


def _points(values: Any, shape: tuple[int, ...]) -> Values:
    return np.array(np.broadcast_to(values, shape), dtype=np.float64)
