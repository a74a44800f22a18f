"""What a server says about its memory when it starts -> rows; one start a row group, several starts a log."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.field.readers.rows import row

SAME = 0.02
"""Tokens / context and the concurrency printed agree within rounding, or layers do not all hold the whole context."""


@dataclass
class StartUp:
    """One start of a server."""

    file: Path
    line: int
    engine: str
    source: str
    facts: dict[str, Any] = field(default_factory=dict)
    kv_tokens: float = math.nan
    kv_line: int = 0
    weights_gib: list[float] = field(default_factory=list)
    available_gib: list[float] = field(default_factory=list)
    usable_gib: float = math.nan
    graph_gib: float = math.nan
    context_tokens: float = math.nan
    concurrency: float = math.nan
    block_tokens: float = 16.0
    """Tokens in a KV block unless the log names another size."""
    ranks: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    failure: str = ""
    trap: str = ""

    @property
    def said_something(self) -> bool:
        """Whether any memory figure was seen."""
        return self.kv_tokens > 0 or bool(self.weights_gib or self.available_gib)


def start_rows(start: StartUp) -> list[dict[str, Any]]:
    """Rows of one start: weights and room are per card, tokens for the tensor-parallel group."""
    trap, notes = start.trap, list(start.notes)
    if start.failure:
        notes.append(f"the start failed: {start.failure}")
    expected = start.kv_tokens / start.context_tokens if start.context_tokens > 0 else math.nan
    if start.concurrency > 0 and expected > 0 and abs(start.concurrency / expected - 1) > SAME:
        if not trap:
            trap = "concurrency-not-tokens-by-context"
        notes.append(
            f"{start.concurrency:.4g} requests of {start.context_tokens:.0f} tokens fit, not tokens / context = "
            f"{expected:.4g}: sliding or linear layers hold less"
        )
    figures = {
        "kv_cache_tokens": start.kv_tokens,
        "weights_gib": max(start.weights_gib, default=math.nan),
        "available_kv_gib": min(start.available_gib, default=math.nan),
        "memory_usable_gib": start.usable_gib,
        "cuda_graph_gib": start.graph_gib,
        "max_concurrency_x": start.concurrency,
    }
    common = {"source": start.source, **start.facts, "engine": start.engine, "start": "log",
              "context_tokens": start.context_tokens, "file": str(start.file), "statistic": "log",
              "trap": trap, "note": "; ".join(notes)}  # fmt: skip
    rows = []
    for metric, value in figures.items():
        if math.isnan(value):
            continue
        line = start.kv_line if metric == "kv_cache_tokens" and start.kv_line else start.line
        fit = metric in ("kv_cache_tokens", "weights_gib", "available_kv_gib") and not (trap and metric[0] == "k")
        problem = "" if value > 0 else f"{metric} is {value:g}: the server had no room"
        rows.append(
            row(**common, source_ref=f"{start.file.name}:{line}", metric=metric, value=value, line=line,
                use="fit" if fit else "context", problem=problem)
        )  # fmt: skip
    return rows
