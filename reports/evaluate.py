"""Walks a method's blocks in reading order over arrays, in chunks of bounded memory.

There is no graph and no sorting: a block reads leaves and what stands above it. A missing input, or a column made
twice, is an error that names the formula.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.constraints import feasibility
from reports.formulas.meta import Formula, info
from reports.matrix import Codes, Space, leaf_names
from reports.methods import BATCH, Block, Method
from reports.scenario.targets import NO_TARGET_MS
from reports.solve import Rows, largest_batches

CHUNK_ROWS = 32_768
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
    if not len(space):
        return pd.DataFrame(columns=["candidate_id", "method"])
    names = [name for name in plan.columns if columns is None or name in columns]
    same: dict[str, float] = {}
    different = {name: np.empty(len(space)) for name in names}  # costs nothing until it is filled
    layout, excuse = np.empty(len(space), dtype=np.int64), np.empty(len(space), dtype=np.int64)

    def fill(chunk: tuple[int, int]) -> None:
        first, last = chunk
        values, best, layout[first:last], excuse[first:last] = _evaluate_chunk(space, plan, first, last)
        for name in names:
            if np.ndim(values[name]):  # every row exists: the mode only spares a copy
                np.take(values[name], best, out=different[name][first:last], mode="clip")
            else:
                same[name] = float(values[name])

    chunks = list(_chunks(space))
    # as many threads as there are cores: NumPy lets go of the interpreter while it computes
    with ThreadPoolExecutor(min(len(chunks), os.cpu_count() or 1)) as pool:
        list(pool.map(fill, chunks))
    frame = space.frame(np.arange(len(space)), layout)
    frame.insert(1, "method", method.name)
    made = {name: np.broadcast_to(same[name], len(space)) if name in same else different[name] for name in names}
    numbers = pd.DataFrame(made, copy=False)
    codes = pd.DataFrame({"excuse_code": excuse, "feasible": excuse == 0})
    return pd.concat([frame, numbers, codes], axis=1)


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
    search: Program
    """The step chain at a trial batch, no more of it than the searched quantities need."""
    after: Program

    @property
    def columns(self) -> tuple[str, ...]:
        """Leaves and made columns in reading order."""
        before, after = ([name for _, _, name in program] for program in (self.before, self.after))
        solved = [*(solve.column for solve in self.method.solves), *self.method.unlimited]
        return (*self.leaves, *before, *solved, *after)


def _plan(method: Method, leaves: tuple[str, ...]) -> _Plan:
    before = compile_blocks(method.before, leaves)
    known = [*leaves, *(made for _, _, made in before)]
    chain = next((block for block in method.after if block.batch), None)
    search = compile_blocks([Block(chain.title, chain.formulas)], [*known, BATCH]) if chain else ()
    search = needed(search, {solve.quantity for solve in method.solves})
    solved = [*(solve.column for solve in method.solves), *method.unlimited]
    return _Plan(method, leaves, before, search, compile_blocks([*method.after, *method.sizing], [*known, *solved]))


def _evaluate_chunk(space: Space, plan: _Plan, first: int, last: int) -> tuple[Columns, Codes, Codes, Codes]:
    """For candidates first..last: all columns over their layouts, the row of the best, its layout and excuse code."""
    owner, layout = space.layout_rows(first, last)
    values: Columns = dict(space.gather(plan.leaves, owner, layout))
    with np.errstate(all="ignore"):
        run_program(plan.before, values)
        values.update(_searched(values, plan, len(owner)))
        values.update(plan.method.unlimited)
        run_program(plan.after, values)
        excuse = _excuse(space, plan.method, values, owner, layout)
        best = _best_layout(values, excuse, owner - first, last - first)
    return values, best, layout[best], excuse[best]


def needed(program: Program, wanted: Collection[str]) -> Program:
    """The part of a program that makes the wanted columns."""
    wanted, kept = set(wanted), []
    for function, read, made in reversed(program):
        if made in wanted:
            wanted.update(read)
            kept.append((function, read, made))
    return tuple(reversed(kept))


def _searched(values: Columns, plan: _Plan, size: int) -> dict[str, NDArray[np.float64]]:
    """The leaves that the method's searches fill in."""
    if not plan.method.solves:
        return {}
    most = np.broadcast_to(reduce(np.multiply, (values[name] for name in plan.method.most)), size)
    stated = [solve for solve in plan.method.solves if not np.min(values[solve.target]) >= NO_TARGET_MS]
    found: dict[str, NDArray[np.float64]] = {solve.column: most for solve in plan.method.solves}
    if not stated:
        return found
    program = needed(plan.search, {solve.quantity for solve in stated})
    made = {name for _, _, name in program}
    fixed = {name: values[name] for _, read, _ in program for name in read if name != BATCH and name not in made}
    part: list[tuple[Rows | None, Columns]] = [(None, fixed)]

    def quantities(batch: NDArray[np.float64], rows: Rows | None) -> list[Any]:
        if part[0][0] is not rows:
            part[0] = rows, {name: column[rows] if np.ndim(column) else column for name, column in fixed.items()}
        columns: Columns = {**part[0][1], BATCH: batch}
        run_program(program, columns)
        return [columns[solve.quantity] for solve in stated]

    batches = largest_batches(quantities, [values[solve.target] for solve in stated], most)
    return found | dict(zip((solve.column for solve in stated), batches, strict=True))


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
