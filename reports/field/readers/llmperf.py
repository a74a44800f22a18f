"""LLMPerf: the summary JSON (flat names, seconds)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from reports.field.readers.rows import date_of, number, text
from reports.field.readers.serving import Run, arrivals, pick, table
from reports.field.readers.text import load_json, refuse


def is_record(data: Any) -> bool:
    """Whether a JSON value is a summary of LLMPerf."""
    return isinstance(data, dict) and any(str(name).startswith("results_") for name in data) and "model" in data


def read(path: Path) -> pd.DataFrame:
    """Rows of one summary."""
    data = load_json(path)
    if not is_record(data):
        raise refuse(path, "is not a summary of LLMPerf", 1, hint="give the file that ends in _summary.json")
    run = Run(path, 1, "LLMPerf", failed=number(data.get("results_number_errors")))
    run.completed = number(data.get("results_num_completed_requests"))
    concurrency = number(data.get("num_concurrent_requests"))
    run.facts = {
        "model_name": text(data["model"]), "date": date_of(data.get("timestamp")),
        "input_tokens": _mean(data, "number_input_tokens", "mean_input_tokens"),
        "output_tokens": _mean(data, "number_output_tokens", "mean_output_tokens"),
        **arrivals(float("inf"), concurrency, run.completed),
    }  # fmt: skip
    ttft, whole, output = _mean(data, "ttft_s"), _mean(data, "end_to_end_latency_s"), run.facts["output_tokens"]
    printed = _mean(data, "inter_token_latency_s")
    if whole > 0 and output > 1 and ttft > 0:
        run.values["tpot_ms"] = ((whole - ttft) / (output - 1) * 1000, "mean")
        run.notes.append(
            f"TPOT is (end-to-end - TTFT) / (output - 1); the inter-token latency printed, {printed * 1000:.4g} ms, "
            "contains a share of the TTFT"
        )
    else:
        pick(run.values, "tpot_ms", (printed * 1000, "mean"))
    pick(run.values, "ttft_ms", (ttft * 1000, "mean"))
    pick(run.values, "output_tok_s", (number(data.get("results_mean_output_throughput_token_per_s")), "mean"))
    provider = text(data.get("framework")) or text(data.get("api"))
    run.notes.append(f"API of {provider}: engine and card unknown" if provider else "client-side measurement")
    return table(path, [run])


def _mean(data: dict[str, Any], result: str, asked: str = "") -> float:
    value = number(data.get(f"results_{result}_mean"))
    return value if value == value else number(data.get(asked))
