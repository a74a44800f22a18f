"""SGLang: JSON lines of `bench_serving`, `bench_offline_throughput`, `bench_one_batch` and `bench_one_batch_server`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from reports.field.readers.bench_record import run_of
from reports.field.readers.rows import number, text
from reports.field.readers.serving import Run, table
from reports.field.readers.text import json_lines, refuse

_MARKS = {"total_output_tokens_retokenized", "sharegpt_output_len", "random_input_len", "server_info", "accept_length",
          "median_decode_latency", "last_gen_throughput", "output_throughput_retokenized"}  # fmt: skip


def is_record(data: Any) -> bool:
    """Whether a JSON value is a line of one of SGLang's benchmarks."""
    if not isinstance(data, dict):
        return False
    if not _MARKS & set(data) and not str(data.get("backend", "")).startswith("sglang"):
        return False
    return any(name.endswith("throughput") for name in data)


def read(path: Path) -> pd.DataFrame:
    """Rows of a file with one result a line (or one result alone)."""
    runs = []
    for line, record in _records(path):
        if not is_record(record) and "completed" not in record:
            raise refuse(path, "is not a result of an SGLang benchmark", line)
        runs.append(_one_batch(record, path, line) if "batch_size" in record else _serving(record, path, line))
    return table(path, runs)


def _records(path: Path) -> list[tuple[int, Any]]:
    from reports.field.readers.detect import has_json_lines
    from reports.field.readers.text import load_json

    return list(json_lines(path)) if has_json_lines(path) else [(1, load_json(path))]


def _serving(record: dict[str, Any], path: Path, line: int) -> Run:
    engine = "" if text(record.get("backend")) not in ("", "engine", "runtime") else "sglang"
    run = run_of(record, path, line, "SGLang bench_serving", engine)
    held = number(record.get("concurrency"))
    if held > 0:
        run.notes.append(f"{held:.4g} requests in flight on average")
    return run


def _one_batch(record: dict[str, Any], path: Path, line: int) -> Run:
    """A fixed batch, without a queue: a clean look at one decode step."""
    run = Run(path, line, "SGLang bench_one_batch", {"engine": "sglang", "start": "static"})
    batch = number(record["batch_size"])
    run.facts.update(
        batch_requests=batch,
        input_tokens=number(record.get("input_len")),
        output_tokens=number(record.get("output_len")),
    )
    step_s = number(record.get("median_decode_latency"))
    statistic = "median"
    if math.isnan(step_s):
        rate = number(record.get("output_throughput"))
        step_s, statistic = (batch / rate if rate > 0 else rate), "mean"
    run.values["tpot_ms"] = (step_s * 1000, statistic)
    prefill_s = number(record.get("prefill_latency", record.get("ttft")))
    run.values["ttft_ms"] = (prefill_s * 1000, "mean")
    run.notes.append("one batch at a time: no prompts of others in between")
    accepted = number(record.get("acc_length", record.get("accept_length")))
    if accepted > 1.01:
        run.speculative = f"speculative decoding: {accepted:.3g} tokens accepted a step"
    return run
