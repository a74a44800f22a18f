"""vLLM's server log, V0 and V1 engines: KV-cache tokens or blocks, weights, available memory, concurrency."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from reports.field.readers.rows import number
from reports.field.readers.start_up import StartUp, read_starts, take_arguments, take_tokens
from reports.field.readers.text import lines

KEEP = (
    b"vLLM API server version", b"LLM engine (v", b"non-default args", b"Namespace(", b"odel loading took",
    b"oading model weights took", b"odel weights take", b"gpu_memory_utilization", b"KV cache size", b"KV cache memory",
    b"KV Cache is", b" blocks: ", b"Maximum concurrency", b"Graph capturing finished", b"max seq len",
    b"max_model_len", b"No available memory", b"out of memory", b"dcp_world_size", b"context_parallel",
    b"max_num_batched_tokens",
)  # fmt: skip
_SIZE = r"(\d[\d.,]*)\s*Gi?B"


def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source)


_CONFIG = _pattern(r"LLM engine \(v([^)]+)\) with config: (.*)")
_ARGUMENT = {
    "model_name": _pattern(r"\bmodel(?:_tag)?'?[=:] ?'([^']+)'"),
    "tensor_parallel": _pattern(r"\btensor_parallel_size'?[=:] ?(\d+)"),
    "pipeline_parallel": _pattern(r"\bpipeline_parallel_size'?[=:] ?(\d+)"),
    "data_parallel": _pattern(r"\bdata_parallel_size'?[=:] ?(\d+)"),
    "memory_utilisation": _pattern(r"\bgpu_memory_utilization'?[=:] ?([\d.]+)"),
    "quantization_name": _pattern(r"\bquantization'?[=:] ?'?([\w-]+)"),
    "kv": _pattern(r"\bkv_cache_dtype'?[=:] ?'?([\w.]+)"),
    "block_tokens": _pattern(r"\bblock_size'?[=:] ?(\d+)"),
    "sequence_limit": _pattern(r"\bmax_num_seqs'?[=:] ?(\d+)"),
    "chunk_tokens": _pattern(r"\bmax_num_batched_tokens'?[=:] ?(\d+)"),
    "context_tokens": _pattern(r"\bmax_(?:seq|model)_len'?[=:] ?(\d+)"),
    "dtype": _pattern(r"\bdtype'?[=:] ?'?(?:torch\.)?(\w+)"),
}
_TOKENS = _pattern(r"GPU KV cache size: (\d[\d,]*) tokens")
_BLOCKS = _pattern(r"#\s*(?:GPU|cuda|CUDA|rocm|xpu|hpu|HPU) blocks: (\d+)")
_CONCURRENCY = _pattern(r"Maximum concurrency for (\d[\d,]*) tokens per request: (\d[\d.,]*)x")
_WEIGHTS = _pattern(rf"(?:odel loading took|oading model weights took|odel weights take) {_SIZE}")
_AVAILABLE = _pattern(rf"(?:Available KV cache memory|reserved for KV Cache is):? ?(-?){_SIZE}")
_USABLE = _pattern(rf"total_gpu_memory \({_SIZE}\) x gpu_memory_utilization \(([\d.]+)\)")
_GRAPHS = _pattern(rf"Graph capturing finished in .* took {_SIZE}")
_VERSION = _pattern(r"vLLM API server version (\S+)")
_DATA_RANK = _pattern(r"EngineCore_(?:DP)?(\d+)")
_SHORT = _pattern(
    r"max seq len \((\d+)\) is larger than the maximum number of tokens that can be stored in KV cache \((\d+)\)"
)
_NEEDED = _pattern(rf"max seq len \((\d+)\).*?{_SIZE} KV cache is needed.*?available KV cache memory \({_SIZE}\)")
_TOO_LONG = _pattern(r"max_model_len \((\d+)\) is greater than the derived max_model_len")


def read(path: Path) -> pd.DataFrame:
    """Rows of every start in the log."""
    return read_starts(path, _starts(path), "a vLLM log")


def _starts(path: Path) -> Iterator[StartUp]:
    start = StartUp(path, 1, "vllm", "vLLM log")
    for line, content in lines(path, KEEP):
        found = _CONFIG.search(content)
        rank = _DATA_RANK.search(content)
        core = rank[1] if rank else ""
        begins = bool(_VERSION.search(content)) or (found and core in start.ranks)
        if begins and (start.said_something or start.failure):
            yield start
            start = StartUp(path, line, "vllm", "vLLM log")
        if not start.said_something and not start.facts:
            start.line = line
        if found:
            start.ranks.add(core)
            start.facts["engine_version"] = found[1]
            _arguments(start, found[2])
        elif version := _VERSION.search(content):
            start.facts["engine_version"] = version[1]
        elif "non-default args" in content or "Namespace(" in content or "max_num_batched_tokens" in content:
            _arguments(start, content)
        if again := _memory(start, content, line, core):
            yield start
            start = again
    yield start


def _arguments(start: StartUp, content: str) -> None:
    take_arguments(start, content, _ARGUMENT)
    if "kv_cache_dtype=auto" in content or "'kv_cache_dtype': 'auto'" in content:
        start.facts["kv_bytes_per_element"] = 2.0


def _memory(start: StartUp, content: str, line: int, core: str) -> StartUp | None:
    """Take the figures of one line; a new record when they belong to a start that the log does not announce."""
    tokens = math.nan
    if found := _TOKENS.search(content):
        tokens = number(found[1])
    elif found := _BLOCKS.search(content):
        tokens = number(found[1]) * start.block_tokens
    elif found := _SHORT.search(content):
        tokens = number(found[2])
        start.context_tokens = number(found[1])
        start.failure = f"one request of {found[1]} tokens does not fit"
    if tokens > 0 or tokens == 0:
        again = None
        if start.kv_tokens > 0 and f"kv{core}" in start.ranks and tokens != start.kv_tokens:
            again = StartUp(
                start.file, line, start.engine, start.source, dict(start.facts), block_tokens=start.block_tokens
            )
            start = again
        start.ranks.add(f"kv{core}")
        take_tokens(start, tokens, line)
        if found := _BLOCKS.search(content):
            start.notes.append(f"{found[1]} blocks of {start.block_tokens:.0f} tokens")
        return again
    for pattern, take in _FIGURES:
        if found := pattern.search(content):
            take(start, found)
    if "dcp_world_size" in content or re.search(r"decode_context_parallel_size'?[=:] ?([2-9]|\d\d)", content):
        start.trap = "context-parallel"
        start.notes.append("decode context parallelism: the tokens printed are those of all its ranks")
    if "No available memory for the cache blocks" in content:
        start.failure = "no memory was left for the KV cache"
    elif "out of memory" in content and not start.kv_tokens > 0:
        start.failure = "out of memory"
    return None


def _take_available(start: StartUp, found: re.Match[str]) -> None:
    start.available_gib.append(number(found[2]) * (-1 if found[1] else 1))


def _take_concurrency(start: StartUp, found: re.Match[str]) -> None:
    start.context_tokens, start.concurrency = number(found[1]), number(found[2])


def _take_usable(start: StartUp, found: re.Match[str]) -> None:
    start.usable_gib = number(found[1])
    start.facts["memory_utilisation"] = number(found[2])


def _take_graphs(start: StartUp, found: re.Match[str]) -> None:
    start.graph_gib = number(found[1])


def _take_weights(start: StartUp, found: re.Match[str]) -> None:
    start.weights_gib.append(number(found[1]))


def _take_needed(start: StartUp, found: re.Match[str]) -> None:
    start.context_tokens = number(found[1])
    start.available_gib.append(number(found[3]))
    start.failure = f"one request of {found[1]} tokens needs {found[2]} GiB"


def _take_too_long(start: StartUp, found: re.Match[str]) -> None:
    start.failure = f"max_model_len {found[1]} is more than the model allows"


_FIGURES: tuple[tuple[re.Pattern[str], Callable[[StartUp, re.Match[str]], None]], ...] = (
    (_AVAILABLE, _take_available),
    (_CONCURRENCY, _take_concurrency),
    (_USABLE, _take_usable),
    (_GRAPHS, _take_graphs),
    (_WEIGHTS, _take_weights),
    (_NEEDED, _take_needed),
    (_TOO_LONG, _take_too_long),
)
