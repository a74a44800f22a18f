"""Picks the reader by what a file contains, never by its name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.field import measured
from reports.field.packed import opened, whole
from reports.field.readers import (
    aiperf,
    console_block,
    guidellm,
    llmperf,
    locust,
    optimum_benchmark,
    sglang_bench,
    sglang_log,
    trtllm_bench,
    trtllm_log,
    vllm_bench,
    vllm_log,
)
from reports.field.readers.rows import COLUMNS
from reports.field.readers.text import head, lines, load_json, parse_json, refuse

Reader = Callable[[Path], pd.DataFrame]

KNOWN = (
    "vLLM bench serve, SGLang bench_serving, GuideLLM, AIPerf, GenAI-Perf, trtllm-bench, LLMPerf, Locust, "
    "optimum-benchmark, a vLLM, SGLang or TensorRT-LLM log, or our own CSV"
)

_TEXT: tuple[tuple[str, str, Reader], ...] = (
    ("console_block", r"Serving Benchmark Result", console_block.read),
    ("aiperf", r"(?:│|┃|\|)\s*(?:Statistic|Metric)\s*(?:│|┃|\|)\s*avg\s*(?:│|┃|\|)", aiperf.read_console),
    ("trtllm_bench", r"Total Output Throughput \(tokens/sec\)|\[BENCHMARK\] model_name", trtllm_bench.read_text),
    (
        "vllm_log",
        r"vLLM API server version|LLM engine \(v|GPU KV cache size|#\s*(?:GPU|cuda|CUDA|rocm|xpu|hpu|HPU) blocks:"
        r"|can be stored in KV cache|Available KV cache memory|vllm[/.]entrypoints|oading model weights took",
        vllm_log.read,
    ),
    ("sglang_log", r"server_args=ServerArgs\(|KV Cache is allocated\. |max_total_num_tokens=|Load weight end\.",
     sglang_log.read),
    ("trtllm_log", r"tokens in paged KV cache|bytes for k/v cache", trtllm_log.read),
)  # fmt: skip
_SIGNATURE = re.compile("|".join(f"(?P<{name}>{source})" for name, source, _ in _TEXT))
_KEEP = (
    b"Serving Benchmark Result", b"Statistic", b"Metric", b"Total Output Throughput (tokens/sec)", b"[BENCHMARK]",
    b"vLLM API server version", b"LLM engine (v", b"KV cache size", b" blocks: ", b"stored in KV cache",
    b"KV cache memory", b"entrypoints", b"model weights took", b"ServerArgs(", b"KV Cache is allocated",
    b"max_total_num_tokens=", b"Load weight end", b"paged KV cache", b"k/v cache",
)  # fmt: skip
"""A word of every signature."""

_READERS = {name: reader for name, _, reader in _TEXT}
LOOK_ON_LINES = 200_000
"""After the first known line, how much further to look for a second kind of content."""

_JSON: tuple[tuple[Callable[[Any], bool], Reader], ...] = (
    (guidellm.is_report, guidellm.read),
    (trtllm_bench.is_report, trtllm_bench.read),
    (optimum_benchmark.is_report, optimum_benchmark.read),
    (llmperf.is_record, llmperf.read),
    (aiperf.is_export, aiperf.read),
    (sglang_bench.is_record, sglang_bench.read),
    (vllm_bench.is_record, vllm_bench.read),
    (vllm_bench.is_offline, vllm_bench.read),
)


def read(path: str | Path, catalog: Catalog | None = None) -> pd.DataFrame:
    """Measured rows of one file, or InputError with file, line and reason; our own tables need the ``catalog``."""
    place = Path(path)
    with whole(place):
        return _read(place, catalog)


def _read(place: Path, catalog: Catalog | None) -> pd.DataFrame:
    beginning = head(place)
    first = beginning.lstrip()[:1]
    if first in ("{", "["):
        reader = _json_reader(place, beginning)
        if reader:
            return reader(place)
    elif _is_own(beginning):
        return measured.read(place, catalog or read_catalog())
    elif reader := _csv_reader(place, beginning):
        return reader(place)
    found = _text_readers(place)
    if not found:
        raise refuse(place, "is not a file this program knows", expected=KNOWN)
    frames = [each(place) for each in found]
    table = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    return table[list(COLUMNS)]


def is_table(path: Path) -> bool:
    """Whether a file is a table of measured rows, whose names are resolved while it is read."""
    beginning = head(path)
    return beginning.lstrip()[:1] not in ("{", "[") and _is_own(beginning)


def has_json_lines(path: Path) -> bool:
    """Whether the first line is a whole JSON value and another line follows."""
    with opened(path) as file:
        line = file.readline(1 << 26)
        following = file.read(4096).strip()
    text = line.decode("utf-8-sig", "replace").strip()
    if not following or not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _json_reader(path: Path, beginning: str) -> Reader | None:
    """The reader of a JSON document or of JSON lines; None for text that only begins with a bracket (a log)."""
    if has_json_lines(path):
        with opened(path) as file:
            sample = parse_json(path, file.readline(1 << 26).decode("utf-8-sig", "replace"), 1)
        if isinstance(sample, dict) and "metadata" in sample and "metrics" in sample:
            raise refuse(path, "holds one record a request", hint="give profile_export_aiperf.json beside it")
    elif (beginning.lstrip().startswith("[") and not re.match(r'\[\s*[{\["\d\]-]', beginning.lstrip())) or re.match(
        r"\[\d{4}-\d\d-\d\d|\[\d+[;,]?\w*\]", beginning.lstrip()
    ):
        return None
    else:
        sample = load_json(path)
    if isinstance(sample, list):
        if not sample:
            raise refuse(path, "is an empty list", 1)
        if isinstance(sample[0], dict) and "ttft_s" in sample[0]:
            raise refuse(path, "holds one record a request of LLMPerf", hint="give the file that ends in _summary.json")
        sample = sample[0]
    for known, reader in _JSON:
        if known(sample):
            return reader
    raise _unknown_json(path, sample)


def _unknown_json(path: Path, sample: Any) -> Exception:
    if vllm_bench.is_batch_latency(sample):
        return refuse(
            path,
            "is a result of vllm bench latency: whole batches, without tokens or lengths",
            1,
            hint="run vllm bench serve",
        )
    if isinstance(sample, dict) and "experiments" in sample:
        return refuse(
            path, "holds every request of GenAI-Perf", 1, hint="give profile_export_genai_perf.json beside it"
        )
    if isinstance(sample, dict) and "metric" in sample and "benchmark" in sample:
        return refuse(
            path, "is in the benchmark format of PyTorch", 1, hint="give the .json that vllm bench wrote beside it"
        )
    if isinstance(sample, dict) and "benchmarks" in sample:
        return refuse(path, "has benchmarks without metrics: GuideLLM before 0.2, or another tool", 1,
                      hint="run GuideLLM 0.2 or newer, --output-path report.json")
    keys = ", ".join(list(sample)[:6]) if isinstance(sample, dict) else type(sample).__name__
    return refuse(path, "is JSON of no benchmark this program knows", 1, read=keys, expected=KNOWN)


def _csv_reader(path: Path, beginning: str) -> Reader | None:
    header = beginning.lstrip("\ufeff \r\n").split("\n", 1)[0].strip()
    if locust.is_csv(header):
        return locust.read
    if kind := locust.is_other_csv(header):
        raise refuse(path, f"is the {kind} file of Locust", 1, hint="give the file that ends in _stats.csv")
    if aiperf.is_csv(header):
        return aiperf.read_csv
    if optimum_benchmark.is_csv(header):
        return optimum_benchmark.read_csv
    names = _columns(beginning)
    if {"output_throughput", "completed"} <= names:
        return vllm_bench.read_csv
    if "Run Info" in header and "guidellm" in beginning.lower():
        raise refuse(path, "is the CSV of GuideLLM", 1, hint="save the report as JSON: --output-path report.json")
    return None


def _is_own(beginning: str) -> bool:
    names = _columns(beginning)
    return bool(measured.shape_of(list(names))) or ({"metric", "value", "model"} <= names and len(names) > 5)


def _columns(beginning: str) -> set[str]:
    header = beginning.lstrip("\ufeff \r\n").splitlines()[0]
    return {name.strip().strip('"') for name in header.split(measured.delimiter(header))}


def _text_readers(path: Path) -> list[Reader]:
    kinds: dict[str, None] = {}
    since: list[int] = []
    for line, content in lines(path, _KEEP, lambda number: bool(since) and number - since[0] > LOOK_ON_LINES):
        for match in _SIGNATURE.finditer(content):
            kinds[match.lastgroup or ""] = None
            since.append(line)
    if "console_block" in kinds:
        kinds.pop("trtllm_bench", None)
    return [_READERS[name] for name in kinds]
