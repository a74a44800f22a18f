"""One flat record of `vllm bench serve`, SGLang's `bench_serving` or a fork (they share field names) -> a run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reports.field.readers.rows import date_of, number, text
from reports.field.readers.serving import Run, arrivals, pick
from reports.field.readers.sglang_log import share_ranks
from reports.field.readers.text import dig

ENGINES = {
    "vllm": "vllm", "sglang": "sglang", "sglang-oai": "sglang", "sglang-oai-chat": "sglang", "sglang-native": "sglang",
    "trt": "tensorrt-llm", "tensorrt-llm": "tensorrt-llm", "trtllm": "tensorrt-llm", "lmdeploy": "lmdeploy",
    "tgi": "tgi", "llama.cpp": "llama.cpp", "gserver": "", "openai": "", "openai-chat": "", "vllm-chat": "vllm",
}  # fmt: skip
"""What a client calls its backend -> engine; an OpenAI-compatible server may be any engine."""

_NAMES: dict[str, tuple[str, ...]] = {
    "model_name": ("model_id", "model", "model_name", "served_model_name", "model_path"),
    "gpu_name": ("gpu_name", "gpu", "hardware", "hw", "accelerator", "device_name", "gpu_type"),
    "engine_version": ("engine_version", "framework_version", "vllm_version", "version"),
}

_COUNTS: dict[str, tuple[str, ...]] = {
    "tensor_parallel": ("tensor_parallel_size", "tp_size", "tensor_parallel", "tp"),
    "pipeline_parallel": ("pipeline_parallel_size", "pp_size", "pipeline_parallel", "pp"),
    "data_parallel": ("data_parallel_size", "dp_size", "data_parallel", "dp"),
    "gpu_count": ("gpu_count", "num_gpus", "n_gpus"),
    "sequence_limit": ("max_num_seqs", "max_running_requests"),
    "chunk_tokens": ("max_num_batched_tokens",),
    "memory_utilisation": ("gpu_memory_utilization", "mem_fraction_static"),
}


def first(record: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first of several field names that is there."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def latency_ms(record: Mapping[str, Any], name: str) -> list[tuple[float, str]]:
    """Mean then median of a latency in ms; a name without ``_ms`` is in seconds."""
    found = []
    for statistic in ("mean", "median"):
        for key in (f"{statistic}_{name}", f"{statistic}_{name}_s", f"{name}_{statistic}"):
            if f"{key}_ms" in record:
                found.append((number(record[f"{key}_ms"]), statistic))
            elif key in record:
                found.append((number(record[key]) * 1000, statistic))
    return found


def engine_of(name: str) -> str:
    """The engine a backend or framework name stands for; '' when it may be any."""
    plain = name.strip().lower()
    return ENGINES.get(plain, ENGINES.get(re.split(r"[-_ ]", plain)[0], ""))


def run_of(record: Mapping[str, Any], file: Path, line: int, source: str, engine: str = "") -> Run:
    """A run from one record of flat fields (a ``server_info`` inside it is looked through)."""
    server = record.get("server_info") if isinstance(record.get("server_info"), dict) else {}
    assert isinstance(server, dict)
    run = Run(file, line, source, failed=number(record.get("failed")))
    run.completed = number(first(record, ("completed", "successful_requests", "num_completed")))
    run.duration_s = number(first(record, ("duration", "total_latency", "benchmark_duration")))
    run.total_input_tokens = number(first(record, ("total_input_tokens", "total_input")))
    run.total_output_tokens = number(first(record, ("total_output_tokens", "total_generated_tokens")))
    prompts = number(record.get("num_prompts"))
    if prompts > run.completed and not run.failed >= prompts - run.completed:
        run.failed = prompts - run.completed
    backend = text(first(record, ("backend", "framework", "endpoint_type")))
    facts = run.facts
    facts["date"] = date_of(first(record, ("date", "timestamp", "start_time")))
    facts["engine"] = engine or engine_of(backend)
    for column, names in _NAMES.items():
        facts[column] = text(first(record, names) if column != "engine_version" else first(record, names[:3])) or text(
            first(server, names)
        )
    for column, names in _COUNTS.items():
        value = number(first(record, names))
        facts[column] = value if value > 0 else number(first(server, names))
    if server.get("enable_dp_attention") is True:
        share_ranks(facts)
    kv = text(record.get("kv_cache_dtype") or server.get("kv_cache_dtype"))
    if kv:
        facts["kv_bytes_per_element"] = 1.0 if kv.startswith(("fp8", "int8", "e4m3", "e5m2")) else 2.0
    facts["quantization_name"] = text(first(record, ("quantization", "precision")) or server.get("quantization"))
    for column, names in (("input_tokens", ("isl", "input_len")), ("output_tokens", ("osl", "output_len"))):
        facts[column] = number(first(record, names))
    rate = number(record.get("request_rate"))
    concurrency = number(first(record, ("max_concurrency", "conc", "batch_size")))
    requests = run.completed if math.isnan(prompts) else prompts
    facts.update(arrivals(rate, concurrency, requests))
    if math.isfinite(number(record.get("max_concurrency"))) and facts["start"] == "open-loop":
        run.notes.append(f"at most {number(record['max_concurrency']):.0f} requests together")
    _metrics(run, record)
    if speculation := speculative(record, server):
        run.speculative = speculation
    if backend and not facts["engine"]:
        run.notes.append(f"client backend {backend}: the engine is not stated")
    for name in ("dataset_name", "dataset"):
        if text(record.get(name)):
            run.notes.append(f"dataset {text(record[name])}")
    return run


def _metrics(run: Run, record: Mapping[str, Any]) -> None:
    itl = latency_ms(record, "itl")
    pick(run.values, "tpot_ms", *latency_ms(record, "tpot"))
    if "tpot_ms" in run.values:
        statistic = run.values["tpot_ms"][1]
        run.itl_ms = next((value for value, name in itl if name == statistic == "mean"), math.nan)
    elif itl:
        pick(run.values, "tpot_ms", *itl)
        run.notes.append("TPOT is the inter-token latency: the file has no other")
    pick(run.values, "ttft_ms", *latency_ms(record, "ttft"))
    unstated = "mean"
    pick(run.values, "output_tok_s", (number(first(record, ("output_throughput", "output_tput"))), unstated))
    pick(run.values, "per_gpu_output_tok_s", (number(record.get("output_tput_per_gpu")), unstated))
    if "output_tok_s" not in run.values and "per_gpu_output_tok_s" not in run.values:
        names = ("total_token_throughput", "total_throughput", "tokens_per_second", "overall_throughput")
        pick(run.values, "total_tok_s", (number(first(record, names)), unstated))
        pick(run.values, "req_s", (number(first(record, ("request_throughput", "requests_per_second"))), unstated))


def speculative(record: Mapping[str, Any], server: Mapping[str, Any]) -> str:
    """Why a run made several tokens a step, if it says so."""
    accepted = number(first(record, ("accept_length", "mean_acceptance_length", "spec_decode_acceptance_length")))
    if accepted > 1.01:
        return f"speculative decoding: {accepted:.3g} tokens accepted a step"
    if text(record.get("spec_decoding")):
        return f"speculative decoding: {text(record['spec_decoding'])}"
    for each in (record, server):
        algorithm = text(dig(each, "speculative_algorithm", "speculative_config", depth=2))
        if algorithm:
            return f"speculative decoding: {algorithm}"
    return ""
