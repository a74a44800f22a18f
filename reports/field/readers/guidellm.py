"""GuideLLM: the JSON report, in the layouts of versions 0.1 to 0.8."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from reports.field.readers.rows import date_of, number, text
from reports.field.readers.serving import Run, arrivals, pick, table
from reports.field.readers.text import dig, load_json, refuse


def is_report(data: Any) -> bool:
    """Whether a JSON value is a report of GuideLLM."""
    return (
        isinstance(data, dict)
        and isinstance(data.get("benchmarks"), list)
        and any(isinstance(each, dict) and isinstance(each.get("metrics"), dict) for each in data["benchmarks"])
    )


def read(path: Path) -> pd.DataFrame:
    """Rows of every benchmark in the report."""
    data = load_json(path)
    if not is_report(data):
        raise refuse(path, "is not a report of GuideLLM, or has no benchmark in it", 1)
    return table(path, _runs(data, path))


def _runs(data: dict[str, Any], path: Path) -> Iterator[Run]:
    for index, each in enumerate(data["benchmarks"]):
        if not isinstance(each, dict) or not isinstance(each.get("metrics"), dict):
            continue
        yield _run(each, data, path, index)


def _run(each: dict[str, Any], data: dict[str, Any], path: Path, index: int) -> Run:
    metrics = each["metrics"]
    run = Run(path, 1, "GuideLLM")
    counts = metrics.get("request_totals") or dig(each, "requests_made") or {}
    run.completed = number(counts.get("successful"))
    run.failed = number(counts.get("errored"))
    strategy = dig(each, "strategy") or {}
    kind = text(strategy.get("type_")) if isinstance(strategy, dict) else text(strategy)
    rate, streams = math.inf, math.nan
    if kind in ("constant", "poisson", "async"):
        rate = number(strategy.get("rate"))
    elif kind == "concurrent":
        streams = number(strategy.get("streams"))
    elif kind == "synchronous":
        streams = 1.0
    run.facts = {
        "model_name": text(dig(each, "backend_model")) or text(dig(dig(each, "backend") or {}, "model"))
        or text(dig(data, "model")),
        "date": date_of(dig(each, "start_time")),
        "input_tokens": _value(metrics, "prompt_token_count"),
        "output_tokens": _value(metrics, "output_token_count"),
        **arrivals(rate, streams, run.completed),
    }  # fmt: skip
    itl = _value(metrics, "inter_token_latency_ms")
    pick(run.values, "tpot_ms", (itl, "mean"))
    pick(run.values, "ttft_ms", (_value(metrics, "time_to_first_token_ms"), "mean"))
    pick(run.values, "output_tok_s", (_value(metrics, "output_tokens_per_second"), "mean"))
    run.notes.append(f"benchmark {index + 1}, {kind or 'strategy not stated'}")
    held = _value(metrics, "request_concurrency")
    if held > 0:
        run.notes.append(f"{held:.3g} requests in flight on average")
    return run


def _value(metrics: dict[str, Any], name: str) -> float:
    """Mean over successful requests; older reports have one distribution for all."""
    found = metrics.get(name)
    if isinstance(found, dict):
        inner = found.get("successful", found)
        return number(inner.get("mean")) if isinstance(inner, dict) else number(inner)
    return number(found)
