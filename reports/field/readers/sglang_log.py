"""SGLang's server log: KV-cache tokens, weights, memory left; every tensor-parallel rank prints its own lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from reports.field.readers.rows import date_of, number
from reports.field.readers.start_up import StartUp, read_starts, take_arguments, take_tokens
from reports.field.readers.text import lines

KEEP = (
    b"server_args=", b"ServerArgs(", b"Load weight end", b"KV Cache is allocated", b"max_total_num_tokens=",
    b"out of memory", b"Not enough memory",
)  # fmt: skip
_RANK = re.compile(r"\b(?:DP(\d+) )?(?:PP(\d+) )?TP(\d+)\b")
_DATE = re.compile(r"\[(20\d\d-\d\d-\d\d)")
_WEIGHTS = re.compile(r"Load weight end\..*?mem usage=([\d.]+) GB")
_ALLOCATED = re.compile(r"KV Cache is allocated\..*?#tokens: (\d+)(.*)")
_SIZES = re.compile(r"(?:K|V|KV) size: ([\d.]+) GB")
_TOKENS = re.compile(r"max_total_num_tokens=(\d+)")
_LENGTH = re.compile(r"context_len=(\d+)")
_LIMITS = {
    "sequence_limit": re.compile(r"max_running_requests=(\d+)"),
    "chunk_tokens": re.compile(r"chunked_prefill_size=(\d+)"),
}
_ARGUMENT = {
    "model_name": re.compile(r"\bmodel_path='([^']+)'"),
    "tensor_parallel": re.compile(r"\btp_size=(\d+)"),
    "data_parallel": re.compile(r"\bdp_size=(\d+)"),
    "pipeline_parallel": re.compile(r"\bpp_size=(\d+)"),
    "quantization_name": re.compile(r"\bquantization='([^']+)'"),
    "memory_utilisation": re.compile(r"\bmem_fraction_static=([\d.]+)"),
    "kv": re.compile(r"\bkv_cache_dtype='([^']+)'"),
}


def read(path: Path) -> pd.DataFrame:
    """Rows of every start in the log."""
    return read_starts(path, _starts(path), "an SGLang log")


def _starts(path: Path) -> Iterator[StartUp]:
    start = StartUp(path, 1, "sglang", "SGLang log")
    for line, content in lines(path, KEEP):
        rank = _RANK.search(content)
        name = rank[0] if rank else ""
        if (day := _DATE.search(content)) and "date" not in start.facts:
            start.facts["date"] = date_of(day[1])
        begins = "server_args=" in content or (f"w{name}" in start.ranks and "Load weight end" in content)
        if begins and start.said_something:
            yield start
            start = StartUp(path, line, "sglang", "SGLang log", {"date": date_of(day[1])} if day else {})
        if "server_args=" in content or "ServerArgs(" in content:
            _arguments(start, content)
        if not start.said_something:
            start.line = line
        _memory(start, content, line, name)
    ranks = [int(each.rsplit("TP", 1)[1]) for each in start.ranks if "TP" in each]
    if ranks and "tensor_parallel" not in start.facts and max(ranks) > 0:
        start.facts["tensor_parallel"] = float(max(ranks) + 1)
    yield start


def _arguments(start: StartUp, content: str) -> None:
    take_arguments(start, content, _ARGUMENT)
    if "enable_dp_attention=True" in content:
        share_ranks(start.facts)


def share_ranks(facts: dict[str, Any]) -> None:
    """Attention data parallelism of SGLang lies inside the tensor-parallel ranks."""
    data, tensor = facts.get("data_parallel", 1.0), facts.get("tensor_parallel", 1.0)
    if data > 1 and tensor >= data:
        facts["tensor_parallel"] = tensor / data


def _memory(start: StartUp, content: str, line: int, rank: str) -> None:
    if found := _WEIGHTS.search(content):
        start.ranks.add(f"w{rank}")
        start.weights_gib.append(number(found[1]))
    if found := _ALLOCATED.search(content):
        take_tokens(start, number(found[1]), line)
        sizes = [number(size) for size in _SIZES.findall(found[2])]
        if sizes:
            start.available_gib.append(sum(sizes))
    elif (found := _TOKENS.search(content)) and math.isnan(start.kv_tokens):
        take_tokens(start, number(found[1]), line)
    for name, pattern in _LIMITS.items():
        if found := pattern.search(content):
            start.facts[name] = number(found[1])
    if found := _LENGTH.search(content):
        start.context_tokens = number(found[1])
    if re.search(r"out of memory|Not enough memory", content):
        start.failure = "out of memory"
