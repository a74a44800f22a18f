"""Walks a method's blocks in reading order over arrays, in chunks of bounded memory.

There is no graph and no sorting: a block reads leaves and what stands above it. A missing input, or a column made
twice, is an error that names the formula.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.constraints import feasibility
from reports.formulas.meta import Formula, info
from reports.matrix import Codes, Space, leaf_names
from reports.methods import BATCH, Block, Method, Solve
from reports.solve import largest_batch

CHUNK_ROWS = 65_536
"""Layout rows evaluated at a time: long enough that threads rarely wait, short enough for memory."""

Columns = MutableMapping[str, Any]
Program = tuple[tuple[Formula, tuple[str, ...], str], ...]


def compile_blocks(blocks: Iterable[Block], known: Iterable[str]) -> Program:
    """Resolve every parameter once: (formula, columns it reads, column it makes).

    Raises ``LookupError`` naming the formula when an input is missing or a column is made twice.
    """
    columns = set(known)
    program = []
    for block in blocks:
        for function in block.formulas:
            made = block.column(info(function).name)
            read = tuple(block.resolve(parameter) for parameter in info(function).inputs)
            absent = [name for name in read if name not in columns]
            if absent:
                raise LookupError(f"formula {made} reads {', '.join(absent)}, which nothing before it makes")
            if made in columns:
                raise LookupError(f"formula {made} makes a column that already exists")
            columns.add(made)
            program.append((function, read, made))
    return tuple(program)


def run_program(program: Program, columns: Columns) -> None:
    """Evaluate compiled formulas, adding their columns to ``columns``."""
    for function, read, made in program:
        columns[made] = function(*[columns[name] for name in read])


def evaluate_frame(frame: pd.DataFrame, blocks: Sequence[Block]) -> pd.DataFrame:
    """The same frame with one more column a formula, in reading order; for frames that fit in memory."""
    columns: dict[str, Any] = {
        str(name): frame[name].to_numpy() for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name])
    }
    program = compile_blocks(blocks, columns)
    with np.errstate(all="ignore"):
        run_program(program, columns)
    made = {name: np.broadcast_to(columns[name], len(frame)) for _, _, name in program}
    return pd.concat([frame, pd.DataFrame(made, index=frame.index)], axis=1)


def evaluate(
    space: Space, method: Method, *, later: Sequence[Block] = (), columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Every candidate at its best layout: axes, keys, leaves, formula columns, ``feasible`` and ``excuse_code``.

    ``later`` are blocks that will read the frame: the leaves they need are kept. ``columns`` limits which leaf and
    formula columns are kept; the ids and axes always are.
    """
    plan = _plan(method, leaf_names(method, later))
    chosen: list[Codes] = []
    layouts: list[Codes] = []
    kept: dict[str, list[NDArray[Any]]] = {}
    wanted = None if columns is None else {*columns, "feasible", "excuse_code"}
    for owner, layout, values in _evaluated(space, plan, wanted):
        chosen.append(owner)
        layouts.append(layout)
        for name, column in values.items():
            kept.setdefault(name, []).append(column)
    if not chosen:
        return pd.DataFrame(columns=["candidate_id", "method"])
    frame = space.frame(np.concatenate(chosen), np.concatenate(layouts))
    frame.insert(1, "method", method.name)
    return pd.concat([frame, pd.DataFrame({name: np.concatenate(parts) for name, parts in kept.items()})], axis=1)


def _evaluated(
    space: Space, plan: _Plan, wanted: Collection[str] | None
) -> Iterator[tuple[Codes, Codes, dict[str, NDArray[Any]]]]:
    """Chunks in order, on as many threads as there are cores: NumPy lets go of the interpreter while it computes."""
    chunks = list(_chunks(space))
    threads = min(len(chunks), os.cpu_count() or 1)
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        yield from pool.map(lambda chunk: _evaluate_chunk(space, plan, wanted, *chunk), chunks)


def _chunks(space: Space) -> Iterable[tuple[int, int]]:
    """Ranges of candidates whose layouts fill about one chunk; a candidate is never split."""
    if not len(space):
        return
    ends = np.cumsum(space.layouts.size[space.group])
    first = 0
    while first < len(space):
        base = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, base + CHUNK_ROWS, side="right")), first + 1)
        yield first, last
        first = last


@dataclass(frozen=True)
class _Plan:
    """A method compiled once for all chunks."""

    method: Method
    leaves: tuple[str, ...]
    before: Program
    searches: tuple[tuple[Solve, Program], ...]
    after: Program


def _plan(method: Method, leaves: tuple[str, ...]) -> _Plan:
    before = compile_blocks(method.before, leaves)
    known = [*leaves, *(made for _, _, made in before)]
    chain = next((block for block in method.after if block.batch), None)
    searches = tuple(
        (solve, compile_blocks([Block(chain.title, chain.formulas)], [*known, BATCH]))
        for solve in method.solves
        if chain
    )
    solved = [solve.column for solve in method.solves]
    return _Plan(method, leaves, before, searches, compile_blocks([*method.after, *method.sizing], [*known, *solved]))


def _evaluate_chunk(
    space: Space, plan: _Plan, wanted: Collection[str] | None, first: int, last: int
) -> tuple[Codes, Codes, dict[str, NDArray[Any]]]:
    owner, layout = space.layout_rows(first, last)
    values: Columns = dict(space.gather(plan.leaves, owner, layout))
    with np.errstate(all="ignore"):
        run_program(plan.before, values)
        for solve, program in plan.searches:
            most = np.broadcast_to(values["engine_requests"] * values["pipeline_parallel"], len(owner))
            values[solve.column] = largest_batch(_quantity(values, solve, program), values[solve.target], most)
        run_program(plan.after, values)
        excuse = _excuse(space, plan.method, values, owner, layout)
        best = _best_layout(values, excuse, owner - first, last - first)
    values["excuse_code"] = excuse
    values["feasible"] = excuse == 0
    kept = (name for name in values if wanted is None or name in wanted)
    return owner[best], layout[best], {name: np.broadcast_to(values[name], len(owner))[best] for name in kept}


def _quantity(values: Columns, solve: Solve, program: Program) -> Callable[[NDArray[np.float64]], Any]:
    """What a search watches, as a function of the batch: the step chain evaluated on whole arrays."""

    def quantity(batch: NDArray[np.float64]) -> Any:
        columns: Columns = dict(values)
        columns[BATCH] = batch
        run_program(program, columns)
        return columns[solve.quantity]

    return quantity


def _excuse(space: Space, method: Method, values: Mapping[str, Any], owner: Codes, layout: Codes) -> Codes:
    """Excuse code of each layout row: what no load changes first, then what this load breaks."""
    static = np.maximum(space.static_excuse[owner], space.layouts.static_excuse[layout])
    loaded = feasibility(method.name, values)
    return np.where(static > 0, static, loaded).astype(np.int64)


def _best_layout(values: Mapping[str, Any], excuse: Codes, owner: Codes, candidates: int) -> Codes:
    """Row index of the layout to show for each candidate: most capacity, then least TPOT; else the closest miss."""
    rows = len(owner)
    capacity = np.broadcast_to(values["recommended_concurrency"], rows)
    tpot = np.broadcast_to(values["tpot_ms"], rows)
    order = np.lexsort(
        (
            np.nan_to_num(tpot, nan=np.inf),
            np.where(excuse == 0, -np.nan_to_num(capacity), -excuse.astype(np.float64)),
            excuse != 0,
            owner,
        )
    )
    first = np.searchsorted(owner[order], np.arange(candidates))
    return order[first]
