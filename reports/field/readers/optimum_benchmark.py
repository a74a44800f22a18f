"""optimum-benchmark: the JSON of a report (with or without its configuration) and the flat CSV of it."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pandas as pd

from reports.constants import BYTES_PER_GIB
from reports.field.packed import opened_text
from reports.field.readers.rows import number, text, whole
from reports.field.readers.serving import Run, table
from reports.field.readers.text import dig, load_json, refuse

_TO_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_TO_BYTES = {"MB": 1e6, "GB": 1e9, "MiB": 2.0**20, "GiB": 2.0**30, "B": 1.0}


def is_report(data: Any) -> bool:
    """Whether a JSON value is a report, alone or beside its configuration."""
    report = data.get("report", data) if isinstance(data, dict) else None
    return isinstance(report, dict) and any(
        isinstance(report.get(part), dict) and "latency" in report[part] for part in ("prefill", "decode", "per_token")
    )


def read(path: Path) -> pd.DataFrame:
    """Rows of one JSON report."""
    data = load_json(path)
    if not is_report(data):
        raise refuse(path, "is not a report of optimum-benchmark with prefill and decode", 1)
    return table(path, [_run(data, path, 1)])


def is_csv(header: str) -> bool:
    """Whether the first line is the header of the flat CSV."""
    return "prefill.latency.mean" in header or "decode.latency.mean" in header


def read_csv(path: Path) -> pd.DataFrame:
    """Rows of a flat CSV: the names of the columns are paths into the report."""
    runs = []
    with opened_text(path) as file:
        reader = csv.DictReader(file)
        for found in reader:
            tree: dict[str, Any] = {}
            for name, value in found.items():
                if name and value not in ("", None):
                    *parents, leaf = name.split(".")
                    node = tree
                    for parent in parents:
                        below = node.setdefault(parent, {})
                        node = below if isinstance(below, dict) else {}
                    node[leaf] = value
            runs.append(_run(tree, path, reader.line_num))
    return table(path, runs)


def _run(data: dict[str, Any], path: Path, line: int) -> Run:
    report, config = data.get("report", data), data.get("config") or {}
    run = Run(path, line, "optimum-benchmark")
    prefill, decode = _latency_s(report, "prefill"), _latency_s(report, "decode")
    shapes = dig(config, "input_shapes") or {}
    made = number((dig(config, "generate_kwargs") or {}).get("max_new_tokens"))
    batch = number(shapes.get("batch_size"))
    derived = []
    if math.isnan(batch):
        batch = whole(_throughput(report, "prefill") * prefill)
        derived.append("batch")
    if math.isnan(made) and batch > 0:
        made = whole(_throughput(report, "decode") * decode / batch) + 1
        derived.append("output length")
    run.facts = {
        "model_name": text(dig(config.get("backend") or {}, "model")), "batch_requests": batch, "output_tokens": made,
        "input_tokens": number(shapes.get("sequence_length")), "start": "static",
        "gpu_name": _card(config), "engine": "",
    }  # fmt: skip
    if decode > 0 and made > 1:
        run.values["tpot_ms"] = (decode / (made - 1) * 1000, "mean")
    else:
        run.values["tpot_ms"] = (_latency_s(report, "per_token") * 1000, "mean")
    run.values["ttft_ms"] = (prefill * 1000, "mean")
    peak = _peak_gib(report.get("decode") or report.get("prefill") or {})
    if peak > 0:
        run.values["peak_gib"] = (peak, "peak")
    backend = text(dig(config.get("backend") or {}, "name")) or "pytorch"
    run.notes.append(f"backend {backend} without a serving engine: its own overhead, not the card, sets the pace")
    if derived:
        run.notes.append(f"{' and '.join(derived)} derived from throughput x latency; the report does not state them")
    run.use = "context"
    return run


def _throughput(report: dict[str, Any], part: str) -> float:
    found = (report.get(part) or {}).get("throughput")
    return number(found.get("value")) if isinstance(found, dict) else number(found)


def _latency_s(report: dict[str, Any], part: str) -> float:
    found = (report.get(part) or {}).get("latency")
    if not isinstance(found, dict):
        return math.nan
    return number(found.get("mean")) * _TO_S.get(text(found.get("unit")) or "s", math.nan)


def _peak_gib(part: dict[str, Any]) -> float:
    memory = part.get("memory")
    if not isinstance(memory, dict):
        return math.nan
    value = number(memory.get("max_global_vram") or memory.get("max_reserved"))
    return value * _TO_BYTES.get(text(memory.get("unit")) or "MB", math.nan) / BYTES_PER_GIB


def _card(config: dict[str, Any]) -> str:
    names = dig(config, "gpu")
    return text(names[0]) if isinstance(names, list) and names else text(names)
