"""What a server says about its memory when it starts -> rows; one start a row group, several starts a log."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from reports.field.readers.rows import number, row, text
from reports.field.readers.serving import usable
from reports.field.readers.text import refuse
from reports.field.rules import rule


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


PLAIN_TYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16"}
_ONE_BYTE = ("fp8", "int8")


def read_starts(path: Path, starts: Iterable[StartUp], kind: str) -> pd.DataFrame:
    """Rows of every start of a log, one in memory at a time; InputError when none says anything about memory."""
    rows: list[dict[str, Any]] = []
    failures: list[tuple[int, str]] = []
    for start in starts:
        if start.said_something:
            rows += start_rows(start)
        elif start.failure:
            failures.append((start.line, start.failure))
    if not rows and failures:
        line, failure = failures[-1]
        raise refuse(path, f"the server did not start: {failure}; the log gives no memory figure", line)
    if not rows:
        raise refuse(path, f"is {kind} without KV-cache size, weights or available memory",
                     hint="give the log from the start of the server on, at level INFO")
    return usable(path, rows)


def take_arguments(start: StartUp, content: str, patterns: Mapping[str, re.Pattern[str]]) -> None:
    """What the arguments of a server say: names as text, sizes as numbers, types as bytes."""
    for name, pattern in patterns.items():
        found = pattern.search(content)
        value = text(found[1]) if found else ""
        if not value:
            continue
        if name in ("model_name", "quantization_name"):
            start.facts[name] = value
        elif name == "kv":
            start.facts["kv_bytes_per_element"] = 1.0 if value.startswith(_ONE_BYTE) else 2.0
        elif name == "dtype":
            start.facts.setdefault("quantization_name", PLAIN_TYPES.get(value, ""))
        elif name in ("context_tokens", "block_tokens"):
            setattr(start, name, number(value))
        else:
            start.facts[name] = number(value)


def take_tokens(start: StartUp, tokens: float, line: int) -> None:
    """Several ranks print their own tokens: the least counts."""
    if not start.kv_tokens <= tokens:
        start.kv_tokens, start.kv_line = tokens, line


def start_rows(start: StartUp) -> list[dict[str, Any]]:
    """Rows of one start: weights and room are per card, tokens for the tensor-parallel group."""
    trap, notes = start.trap, list(start.notes)
    if start.failure:
        notes.append(f"the start failed: {start.failure}")
    expected = start.kv_tokens / start.context_tokens if start.context_tokens > 0 else math.nan
    if start.concurrency > 0 and expected > 0 and abs(start.concurrency / expected - 1) > rule("concurrency_agrees"):
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
