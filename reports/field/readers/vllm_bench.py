"""vLLM: JSON of `bench serve` (also appended, swept or from a fork), CSV of a sweep, JSON of `bench throughput`."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from reports.field.packed import opened_text
from reports.field.readers.bench_record import run_of
from reports.field.readers.rows import number
from reports.field.readers.serving import Run, table
from reports.field.readers.text import json_lines, load_json, refuse

SOURCE = "vLLM bench serve"


def is_record(data: Any) -> bool:
    """Whether a JSON value is one result of a serving benchmark."""
    if not isinstance(data, dict):
        return False
    measured = {
        "output_throughput",
        "request_throughput",
        "output_tput_per_gpu",
        "tput_per_gpu",
        "total_token_throughput",
    }
    latency = any(name.split("_")[0] in ("mean", "median") for name in data if isinstance(name, str))
    return sum((bool(measured & set(data)), latency, "completed" in data)) >= 2


def is_offline(data: Any) -> bool:
    """Whether a JSON value comes from `bench throughput`."""
    return isinstance(data, dict) and {"elapsed_time", "tokens_per_second"} <= set(data)


def is_batch_latency(data: Any) -> bool:
    """Whether a JSON value comes from `bench latency`."""
    return isinstance(data, dict) and {"avg_latency", "latencies"} <= set(data)


def read(path: Path) -> pd.DataFrame:
    """Rows of a JSON document, a list of them, or one a line."""
    return table(path, _runs(path))


def _runs(path: Path) -> Iterator[Run]:
    for line, record in _records(path):
        if is_offline(record):
            yield _offline(record, path, line)
        elif is_record(record):
            yield run_of(record, path, line, SOURCE)
        else:
            raise refuse(path, "is not a result of vllm bench serve", line)


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    from reports.field.readers.detect import has_json_lines

    if has_json_lines(path):
        yield from json_lines(path)
        return
    data = load_json(path)
    for each in data if isinstance(data, list) else [data]:
        yield 1, each


def _offline(record: dict[str, Any], path: Path, line: int) -> Run:
    run = Run(path, line, "vLLM bench throughput", {"engine": "vllm", "start": "burst"})
    run.completed = run.facts["requests"] = number(record.get("num_requests"))
    run.values = {
        "total_tok_s": (number(record["tokens_per_second"]), "mean"),
        "req_s": (number(record.get("requests_per_second")), "mean"),
    }
    tokens = number(record.get("total_num_tokens"))
    if tokens > 0 and run.completed > 0:
        run.notes.append(f"{tokens / run.completed:.4g} tokens a request, input and output together")
    return run


def read_csv(path: Path) -> pd.DataFrame:
    """Rows of the summary of a sweep: the same fields, one run a line."""
    runs = []
    with opened_text(path) as file:
        reader = csv.DictReader(file)
        for record in reader:
            known = {name: value for name, value in record.items() if name and value not in ("", None)}
            if not math.isnan(number(known.get("output_throughput"))) or "completed" in known:
                runs.append(run_of(known, path, reader.line_num, SOURCE))
    return table(path, runs)
