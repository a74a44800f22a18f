"""TensorRT-LLM: the report of `trtllm-bench` (printed or JSON), its bare overview, and the old `[BENCHMARK]` lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from reports.field.readers.rows import number, text, whole
from reports.field.readers.serving import Run, pick, table
from reports.field.readers.text import dig, lines, load_json, refuse

SOURCE = "TensorRT-LLM bench"
KEEP = (b": ", b":\t", b"[BENCHMARK]")
_LINE = re.compile(r"^\W*([A-Z][\w .()/\[\]-]*?)\s*(?:\(([^()]*)\))?\s*:\s+(\S.*?)\s*$")
_PREFIX = re.compile(r"^(\[[^\]]*\]\s*)+")
_PAIR = re.compile(r"([a-z_][\w()]*) (\S+)")

_LABELS = {
    "request throughput": "request_throughput", "total output throughput": "output",
    "total token throughput": "total", "total latency": "total_latency_ms",
    "average request latency": "average_latency_ms", "per gpu output throughput": "per_gpu",
    "average time-to-first-token": "ttft_ms", "average time-per-output-token": "tpot_ms",
    "average inter-token latency": "tpot_ms", "number of requests": "requests",
    "number of concurrent requests": "concurrency", "average input length": "input",
    "average output length": "output_length",
    "tp size": "tp", "pp size": "pp", "model": "model", "tensorrt-llm version": "version",
    "quantization": "quantization",
    "kv cache dtype": "kv", "average acceptance length": "accepted",
}  # fmt: skip


def is_report(data: Any) -> bool:
    """Whether a JSON value is what `--report_json` writes."""
    return isinstance(data, dict) and isinstance(data.get("performance"), dict) and "request_info" in data


def read(path: Path) -> pd.DataFrame:
    """Rows of a JSON report."""
    data = load_json(path)
    if not is_report(data):
        raise refuse(path, "is not a report of trtllm-bench", 1)
    speed, asked = data["performance"], data["request_info"] or {}
    world, engine = data.get("world_info") or {}, data.get("engine") or data.get("pytorch") or {}
    streaming = data.get("streaming_metrics") or {}
    found: dict[str, Any] = {
        "request_throughput": speed.get("request_throughput_req_s"),
        "output": speed.get("system_output_throughput_tok_s"),
        "total": speed.get("system_total_throughput_tok_s"), "total_latency_ms": speed.get("total_latency_ms"),
        "average_latency_ms": speed.get("avg_request_latency_ms"),
        "per_gpu": speed.get("output_throughput_per_gpu_tok_s"), "ttft_ms": streaming.get("avg_ttft_ms"),
        "tpot_ms": streaming.get("avg_tpot_ms"), "requests": asked.get("num_requests"),
        "concurrency": asked.get("avg_num_concurrent_requests"), "input": asked.get("avg_input_length"),
        "output_length": asked.get("avg_output_length"), "tp": world.get("tp_size"), "pp": world.get("pp_size"),
        "model": engine.get("model"), "version": engine.get("version"), "quantization": engine.get("quantization"),
        "kv": engine.get("kv_cache_dtype"), "accepted": dig(data.get("decoding_stats"), "acceptance_length", "average"),
    }  # fmt: skip
    return table(path, [_run(found, path, 1)])


def read_text(path: Path) -> pd.DataFrame:
    """Rows of printed reports; each begins with the line of its request throughput or of its details."""
    return table(path, _runs(path))


def _runs(path: Path) -> Iterator[Run]:
    found: dict[str, Any] = {}
    start = 1
    for line, content in lines(path, KEEP):
        if "[BENCHMARK]" in content:
            run = _legacy(content, path, line)
            if run:
                yield run
            continue
        match = _LINE.match(_PREFIX.sub("", content))
        if not match:
            continue
        label = re.sub(r"\s*\[.*?\]", "", match[1]).strip().lower()
        name = _LABELS.get(label)
        if name is None:
            continue
        if name in found and name in ("model", "request_throughput") and "output" in found:
            yield _run(found, path, start)
            found, start = {}, line
        if not found:
            start = line
        found.setdefault(name, match[3])
    if "output" in found or "total" in found:
        yield _run(found, path, start)


def _run(found: dict[str, Any], path: Path, line: int) -> Run:
    value = {name: number(each) for name, each in found.items()}

    def get(name: str) -> float:
        return value.get(name, math.nan)

    run = Run(path, line, SOURCE)
    requests = get("requests")
    derived = []
    if math.isnan(requests) and get("total_latency_ms") > 0:
        requests = whole(get("request_throughput") * get("total_latency_ms") / 1000)
        derived.append("requests")
    output, inputs = get("output_length"), get("input")
    if math.isnan(output) and get("request_throughput") > 0:
        output = get("output") / get("request_throughput")
        inputs = (get("total") - get("output")) / get("request_throughput")
        derived.append("lengths")
    cards = get("tp") * (get("pp") if get("pp") > 0 else 1)
    if math.isnan(cards) and get("per_gpu") > 0:
        cards = whole(get("output") / get("per_gpu"))
        derived.append("cards")
    run.completed = requests
    run.facts = {
        "engine": "tensorrt-llm", "engine_version": text(found.get("version")), "model_name": text(found.get("model")),
        "quantization_name": text(found.get("quantization")), "tensor_parallel": get("tp"),
        "pipeline_parallel": get("pp"), "gpu_count": cards, "input_tokens": inputs, "output_tokens": output,
        "requests": requests, "start": "burst",
    }  # fmt: skip
    kv = text(found.get("kv")).lower()
    if kv:
        run.facts["kv_bytes_per_element"] = 1.0 if "fp8" in kv or "int8" in kv else 2.0
    concurrency = get("concurrency")
    if concurrency > 0 and concurrency < 0.9 * requests:
        run.facts.update(start="steady", batch_requests=concurrency)
    pick(run.values, "output_tok_s", (get("output"), "mean"))
    pick(run.values, "tpot_ms", (get("tpot_ms"), "mean"))
    pick(run.values, "ttft_ms", (get("ttft_ms"), "mean"))
    if "output_tok_s" not in run.values:
        pick(run.values, "total_tok_s", (get("total"), "mean"))
    if get("accepted") > 1.01:
        run.speculative = f"speculative decoding: {get('accepted'):.3g} tokens accepted a step"
    if derived:
        run.notes.append(f"{', '.join(derived)} derived from the throughputs; the overview does not state them")
    return run


def _legacy(content: str, path: Path, line: int) -> Run | None:
    found = dict(_PAIR.findall(content.split("[BENCHMARK]", 1)[1]))
    if "tokens_per_sec" not in found:
        return None
    batch = number(found.get("batch_size"))
    run = Run(path, line, "TensorRT-LLM benchmark (0.x)")
    run.facts = {
        "engine": "tensorrt-llm-cpp", "model_name": text(found.get("model_name")),
        "quantization_name": text(found.get("precision")), "tensor_parallel": number(found.get("world_size")),
        "gpu_count": number(found.get("world_size")), "input_tokens": number(found.get("input_length")),
        "output_tokens": number(found.get("output_length")), "batch_requests": batch, "start": "static",
    }  # fmt: skip
    run.values["output_tok_s"] = (number(found["tokens_per_sec"]), "mean")
    peak = number(found.get("gpu_peak_mem(gb)"))
    if peak > 0:
        run.values["peak_gib"] = (peak, "peak")
    run.notes.append(f"static batch, prompt included; compute capability {found.get('compute_cap', 'not stated')}")
    return run
