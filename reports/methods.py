"""A method is an ordered tuple of blocks of formulas; this file is the list of methods.

A block is evaluated in reading order. A block with a ``point`` is the same chain at another operating point: the name
``batch_requests`` is bound to the column ``batch``, and what the block makes is stored as ``name@point``; every other
name is read inside the block first and from the plain columns otherwise. ``resolve`` is that rule, used alike by the
evaluation, the workbook, the PDF and ``explain``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reports.formulas import (
    capacity,
    four_beyond,
    four_limits,
    four_memory,
    latency,
    limits,
    memory,
    model_shape,
    per_token,
    rule_of_thumb,
    sizing,
    step,
    waiting,
    work,
)
from reports.formulas.meta import Formula, info

BATCH = "batch_requests"


@dataclass(frozen=True)
class Block:
    """Formulas that are read together under one heading."""

    title: str
    formulas: tuple[Formula, ...]
    batch: str = ""
    """Column that ``batch_requests`` stands for in this block; empty when the block does not depend on a batch."""
    point: str = ""
    """Operating point; empty for the recommended load, whose columns carry plain names."""

    def made(self) -> tuple[str, ...]:
        """Plain names of the columns this block makes."""
        return tuple(info(function).name for function in self.formulas)

    def column(self, name: str) -> str:
        """The frame's name of a column this block makes."""
        return f"{name}@{self.point}" if self.point else name

    def resolve(self, parameter: str) -> str:
        """The frame column that a parameter of a formula of this block reads."""
        if parameter == BATCH and self.batch:
            return self.batch
        return self.column(parameter) if parameter in self.made() else parameter


@dataclass(frozen=True)
class Solve:
    """A search, because no single expression says it: the largest batch whose ``quantity`` keeps the ``target``."""

    column: str
    quantity: str
    target: str


@dataclass(frozen=True)
class Method:
    """A way of estimating capacity.

    ``before`` runs over every layout, then ``solves`` says which leaves a search fills in (if any), then ``after``
    runs over every layout, then the best layout is chosen; ``sizing`` runs over what is left, and ``proofs`` only
    over the short list (the chain at the limit and at one request more).
    """

    name: str
    title: str
    before: tuple[Block, ...]
    after: tuple[Block, ...]
    sizing: tuple[Block, ...]
    proofs: tuple[Block, ...] = ()
    solves: tuple[Solve, ...] = ()
    most: tuple[str, ...] = ()
    """Columns whose product is the largest batch that the searches try."""
    unlimited: Mapping[str, float] = field(default_factory=dict)
    """Leaves that a later stage may fill in for some candidates, and what stands for them until then."""
    pooled: bool = False
    """All cards of a unit work as one pool: no layouts are searched."""

    def points(self) -> tuple[Block, ...]:
        """The step chain at each operating point, the recommended load first; one plain block when there is none."""
        chained = tuple(block for block in (*self.after, *self.proofs) if block.batch)
        return chained or self.before[-1:]

    def blocks(self) -> Iterator[Block]:
        """All blocks in reading order, proofs after the capacity they prove."""
        yield from self.before
        yield from self.after
        yield from self.proofs
        yield from self.sizing


NOT_SIMULATED_REQUESTS = 1e12
"""Stands for the answer of a simulation that was not run."""

CHAIN = (*step.FORMULAS, *waiting.FORMULAS, *latency.FORMULAS)
"""One operating point: the step, the wait before it, and what the slowest requests meet."""

_SIZING = (Block("Cards for the demand", sizing.FORMULAS),)

ROOFLINE = Method(
    name="roofline",
    title="Roofline with measured efficiencies",
    before=(
        Block("Model shape", model_shape.FORMULAS),
        Block("Memory", memory.FORMULAS),
        Block("Work that does not depend on the batch", work.FORMULAS),
        Block("What a token and a request cost", per_token.FORMULAS),
    ),
    solves=(
        Solve("tpot_requests", "tpot_tail_ms", "tpot_target_ms"),
        Solve("ttft_requests", "ttft_tail_ms", "ttft_target_ms"),
        Solve("answer_requests", "answer_tail_ms", "answer_target_ms"),
        Solve("utilisation_requests", "queue_utilisation_ratio", "utilisation_cap"),
    ),
    most=("engine_requests", "pipeline_parallel"),
    unlimited={"simulated_requests": NOT_SIMULATED_REQUESTS},
    after=(
        Block("Limit and recommended load", limits.FORMULAS),
        Block("Step at the recommended load", CHAIN, batch="load_requests"),
        Block("Capacity of a deployment unit", capacity.FORMULAS),
    ),
    proofs=(
        Block("Step at the limit", CHAIN, batch="limit_requests", point="limit"),
        Block("Step with one request more", CHAIN, batch="one_more_requests", point="one_more"),
    ),
    sizing=_SIZING,
)

RULE_OF_THUMB = Method(
    name="rule-of-thumb",
    title="Rule of thumb (published calculator, for comparison)",
    before=(Block("Rule of thumb", rule_of_thumb.FORMULAS),),
    after=(),
    sizing=_SIZING,
    pooled=True,
)

FOUR_BOTTLENECK = Method(
    name="four-bottleneck",
    title="Four bottlenecks (memory, compute, PCIe, CPU), each with its evidence",
    before=(Block("Memory", four_memory.BEFORE),),
    solves=(Solve("memory_searched_requests", "memory_needed_gb", "memory_pool_gb"),),
    most=("memory_ceiling_requests",),
    after=(
        Block("Memory at the limit", four_memory.AT_LIMIT, batch="memory_searched_requests"),
        Block("Four limits and the least of them", four_limits.FORMULAS),
        Block("What would raise the limit", four_beyond.CHANGES),
        Block("More than the safe limit", four_beyond.ASKED),
    ),
    sizing=_SIZING,
    pooled=True,
)

METHODS: dict[str, Method] = {method.name: method for method in (ROOFLINE, RULE_OF_THUMB, FOUR_BOTTLENECK)}
