"""The "Serving Benchmark Result" block that vLLM's and SGLang's clients print, wherever it stands in a text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from reports.field.readers.bench_record import run_of
from reports.field.readers.rows import number
from reports.field.readers.serving import Run, at_least_one, table
from reports.field.readers.text import lines

_LINE = re.compile(r"^\W*([A-Z][\w .()/,]*?)\s*(?:\(([^()]*)\))?\s*:\s+(\S.*?)\s*$")
_END = re.compile(r"={30,}\s*$")
_FLAG = re.compile(r"--?([a-z][\w-]*)[ =]+(\"[^\"]*\"|'[^']*'|[^\s\\]+)")

_FIELDS = {
    "successful requests": "completed", "failed requests": "failed", "benchmark duration": "duration",
    "total input tokens": "total_input_tokens", "total generated tokens": "total_output_tokens",
    "request throughput": "request_throughput", "output token throughput": "output_throughput",
    "total token throughput": "total_token_throughput", "maximum request concurrency": "max_concurrency",
    "max request concurrency": "max_concurrency", "max reqeuest concurrency": "max_concurrency",
    "traffic request rate": "request_rate", "request rate configured": "request_rate", "backend": "backend",
    "accept length": "accept_length", "concurrency": "concurrency", "peak concurrent requests": "peak",
}  # fmt: skip
_FLAGS = {
    "model": "model_id", "model-path": "model_id",
    "served-model-name": "model_id", "tensor-parallel-size": "tp",
   
    "tp": "tp", "tp-size": "tp", "pipeline-parallel-size": "pp", "data-parallel-size": "dp",
    "kv-cache-dtype": "kv_cache_dtype",
    "gpu-memory-utilization": "gpu_memory_utilization", "num-prompts": "num_prompts", "quantization": "quantization",
    "max-num-seqs": "max_num_seqs", "max-num-batched-tokens": "max_num_batched_tokens",
    "max-concurrency": "max_concurrency", "request-rate": "request_rate", "speculative-config": "speculative_config",
    "speculative-algorithm": "speculative_algorithm", "backend": "backend",
}  # fmt: skip
ALL_AT_ONCE = 0.8
"""When most of the requests of a run are in flight together, they were sent at once."""

KEEP = (
    b"Serving Benchmark Result", b"======", b"(ms):", b"(s):", b"tok/s):", b"req/s):", b"(RPS):", b"requests:",
    b"tokens:", b"concurrency:", b"rate:", b"Backend:", b"length:", b"Concurrency:", b"--", b" -tp",
)  # fmt: skip


def read(path: Path) -> pd.DataFrame:
    """Rows of every block in the text; flags of server and client beside it fill what the block leaves out."""
    return table(path, _runs(path))


def _runs(path: Path) -> Iterator[Run]:
    block: dict[str, Any] | None = None
    start, done = 0, []
    flags: dict[str, list[str]] = {}
    for line, text in lines(path, KEEP):
        if "Serving Benchmark Result" in text:
            block, start = {}, line
        elif block is not None and _END.search(text):
            done.append((start, block))
            block = None
        elif block is not None:
            _field(block, text)
        elif "--" in text or " -tp" in text:
            for name, value in _FLAG.findall(text):
                if name in _FLAGS:
                    flags.setdefault(_FLAGS[name], []).append(value.strip("'\""))
    if block:
        done.append((start, block))
    for start, block in done:
        yield _run(block, flags if len(done) == 1 else {}, path, start)


def _field(block: dict[str, Any], text: str) -> None:
    found = _LINE.match(text)
    if not found:
        return
    label, unit, value = found[1].strip().lower(), found[2] or "", found[3]
    if label in _FIELDS:
        block.setdefault(_FIELDS[label], value)
        return
    statistic = label.split()[0]
    for name in ("ttft", "tpot", "itl"):
        if statistic in ("mean", "median") and name in label.split():
            block[f"{statistic}_{name}_ms"] = number(value) * (1000 if unit == "s" else 1)


def _run(block: dict[str, Any], flags: dict[str, list[str]], path: Path, line: int) -> Run:
    servers = len(flags.get("tp", ()))
    same = len({*flags.get("tp", ())}) == 1
    given = {name: values[-1] for name, values in flags.items() if len(set(values)) == 1 or name == "model_id"}
    record = {**given, **block}
    for name in ("completed", "failed", "total_input_tokens", "total_output_tokens"):
        if name in record:
            record[name] = number(record[name])
    run = run_of(record, path, line, "Serving benchmark (console)")
    if servers > 1 and same:
        _share(run, servers)
    _arrivals(run, record)
    peak = number(block.get("peak"))
    if peak > 0 and math.isnan(run.facts.get("batch_requests", math.nan)):
        run.notes.append(f"{peak:.0f} requests in flight at most")
    return run


def _arrivals(run: Run, record: dict[str, Any]) -> None:
    """Older blocks print neither rate nor concurrency: requests in flight follow from throughput and latency."""
    if "request_rate" in record or "max_concurrency" in record:
        return
    answer_ms = run.values.get("ttft_ms", (math.nan, ""))[0] + run.values.get("tpot_ms", (math.nan, ""))[0] * (
        run.total_output_tokens / run.completed - 1
    )
    flight = number(record.get("request_throughput")) * answer_ms / 1000
    if flight < ALL_AT_ONCE * run.completed and not number(record.get("peak")) >= ALL_AT_ONCE * run.completed:
        run.facts.update(start="steady", batch_requests=flight)
        run.notes.append(f"{flight:.3g} requests in flight: request throughput x latency, nothing else is stated")


def _share(run: Run, servers: int) -> None:
    """Several servers behind one address: the figures are those of all, the batch is the share of one."""
    run.facts["batch_requests"] = run.facts.get("batch_requests", math.nan) / servers
    run.facts["gpu_count"] = (
        servers * run.facts["tensor_parallel"] * at_least_one(run.facts.get("pipeline_parallel", 1.0))
    )
    run.notes.append(f"{servers} servers behind one address; the batch is the share of one")
