"""AIPerf and GenAI-Perf, one family: the JSON and CSV exports and the table on the console."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from reports.field.packed import opened_text
from reports.field.readers.bench_record import engine_of
from reports.field.readers.rows import date_of, number, text
from reports.field.readers.serving import Run, arrivals, pick, table
from reports.field.readers.text import dig, lines, load_json, refuse

_TO_MS = {"ms": 1.0, "s": 1000.0, "sec": 1000.0, "us": 1e-3, "ns": 1e-6, "": 1.0}
_LABEL = re.compile(r"^(.*?)\s*(?:\(([^()]*)\))?$")
_BARS = ("│".encode(), "┃".encode(), b"|")
_CELL = re.compile(r"[│┃|]")

NAMES = {
    "time to first token": "ttft", "inter token latency": "itl", "inter chunk latency": "chunk",
    "request latency": "latency", "output token throughput": "output_tok_s", "request throughput": "req_s",
    "input sequence length": "input", "output sequence length": "output", "request count": "requests",
    "error request count": "errors", "benchmark duration": "duration",
}  # fmt: skip
"""Labels of the tables, lower case and without unit; the JSON names are the same with underscores."""


@dataclass
class Summary:
    """What any of the three forms holds: metric -> (statistic -> value), latencies in ms."""

    values: dict[str, dict[str, float]] = field(default_factory=dict)

    def put(self, label: str, unit: str, statistics: dict[str, float]) -> None:
        """Take the figures of one line if its label is known; the first line of a label counts."""
        name = NAMES.get(label.strip().lower().replace("_", " ").replace("-", " "))
        if name is None or name in self.values:
            return
        factor = _TO_MS.get(unit.strip().lower(), 1.0) if name in ("ttft", "itl", "chunk", "latency") else 1.0
        self.values[name] = {key: value * factor for key, value in statistics.items()}

    def get(self, name: str, statistic: str = "avg") -> float:
        """One figure; NaN when it is not there."""
        return self.values.get(name, {}).get(statistic, math.nan)


def is_export(data: Any) -> bool:
    """Whether a JSON value is a summary export."""
    if not isinstance(data, dict):
        return False
    metric = data.get("request_latency") or data.get("request_throughput") or data.get("time_to_first_token")
    return isinstance(metric, dict) and "avg" in metric


def read(path: Path) -> pd.DataFrame:
    """Rows of a JSON export."""
    data = load_json(path)
    if not is_export(data):
        raise refuse(path, "is not a summary of AIPerf or GenAI-Perf", 1, hint="give profile_export_aiperf.json")
    summary = Summary()
    for name, metric in data.items():
        if isinstance(metric, dict) and "avg" in metric:
            figures = {key: number(value) for key, value in metric.items() if key != "unit"}
            summary.put(name, text(metric.get("unit")), figures)
    config = data.get("input_config") if isinstance(data.get("input_config"), dict) else {}
    models = dig(config, "model_names", "models", "model")
    model = models[0] if isinstance(models, list) and models else models
    names = {name for name in _cards(data.get("telemetry_data")) if name}
    facts = {
        "model_name": text(model),
        "date": date_of(data.get("start_time")) or date_of(dig(data.get("min_request_timestamp"), "avg")),
        "engine": engine_of(text(dig(config, "backend"))), "gpu_name": names.pop() if len(names) == 1 else "",
    }  # fmt: skip
    concurrency = number(dig(config, "concurrency"))
    rate = number(dig(config, "request_rate"))
    run = _run(summary, path, 1, facts, concurrency, rate)
    if data.get("was_cancelled") is True:
        run.use, run.trap = "context", "cancelled"
        run.notes.append("the run was cancelled")
    return table(path, [run])


def _cards(telemetry: Any) -> Iterator[str]:
    if isinstance(telemetry, dict):
        for each in (telemetry.get("endpoints") or {}).values():
            for card in (each.get("gpus") or {}).values() if isinstance(each, dict) else ():
                yield text(card.get("gpu_name")) if isinstance(card, dict) else ""


def is_csv(header: str) -> bool:
    """Whether the first line is the header of a CSV export."""
    return header.replace('"', "").lower().startswith(("metric,avg", "metric,unit,avg", "metric,value"))


def read_csv(path: Path) -> pd.DataFrame:
    """Rows of a CSV export: a table of statistics, then one of single values."""
    summary = Summary()
    with opened_text(path) as file:
        names: list[str] = []
        for cells in csv.reader(file):
            if not any(cells):
                names = []
            elif cells[0].strip().lower() == "metric":
                names = [cell.strip().lower() for cell in cells]
            elif names:
                found = dict(zip(names, cells, strict=False))
                label, unit = _split(found["metric"])
                figures = {key: number(value) for key, value in found.items() if key not in ("metric", "unit")}
                if "value" in figures:
                    figures.setdefault("avg", figures["value"])
                summary.put(label, found.get("unit", unit), figures)
    return table(path, [_run(summary, path, 1, {}, math.nan, math.nan)])


def read_console(path: Path) -> pd.DataFrame:
    """Rows of every table on the console; a label that goes on in the next line is joined."""
    return table(path, [_run(summary, path, line, {}, math.nan, math.nan) for line, summary in _tables(path)])


def _tables(path: Path) -> Iterator[tuple[int, Summary]]:
    names: list[str] = []
    pending: tuple[str, dict[str, float]] | None = None
    summary, start = Summary(), 0
    for line, content in lines(path, _BARS):
        cells = [cell.strip() for cell in _CELL.split(content)][1:-1]
        if len(cells) < 2:
            continue
        if cells[0].lower() in ("statistic", "metric"):
            if summary.values or pending:
                _flush(summary, pending)
                yield start, summary
            names, summary, start, pending = [cell.lower() for cell in cells], Summary(), line, None
        elif names and not any(cells[1:]):
            pending = (f"{pending[0]} {cells[0]}", pending[1]) if pending else None
        elif names:
            _flush(summary, pending)
            pending = (cells[0], dict(zip(names[1:], map(number, cells[1:]), strict=False)))
    _flush(summary, pending)
    if summary.values:
        yield start, summary


def _flush(summary: Summary, pending: tuple[str, dict[str, float]] | None) -> None:
    if pending:
        label, unit = _split(pending[0])
        summary.put(label, unit, pending[1])


def _split(label: str) -> tuple[str, str]:
    found = _LABEL.match(label.strip())
    return (found[1], found[2] or "") if found else (label, "")


def _run(summary: Summary, path: Path, line: int, facts: dict[str, Any], concurrency: float, rate: float) -> Run:
    run = Run(path, line, "AIPerf / GenAI-Perf", dict(facts))
    run.completed, run.failed = summary.get("requests"), summary.get("errors")
    run.facts["input_tokens"], run.facts["output_tokens"] = summary.get("input"), summary.get("output")
    busy = summary.get("req_s") * summary.get("latency") / 1000
    if math.isnan(concurrency) and math.isnan(rate) and 0 < busy < math.inf:
        # Little's law: requests in flight = rate x time in the system; the table does not print the setting.
        concurrency = max(round(busy), 1) if abs(busy - round(busy)) < 0.05 * busy + 0.02 else busy
        run.notes.append(f"concurrency {busy:.3g} is request throughput x request latency; the table does not state it")
        run.facts.update(start="steady", batch_requests=float(concurrency), requests=run.completed)
    else:
        run.facts.update(arrivals(rate if rate > 0 else math.inf, concurrency, run.completed))
    for statistic, word in (("avg", "mean"), ("p50", "median")):
        pick(run.values, "tpot_ms", *[(summary.get("itl", statistic), word)] * ("tpot_ms" not in run.values))
        pick(run.values, "ttft_ms", *[(summary.get("ttft", statistic), word)] * ("ttft_ms" not in run.values))
    run.itl_ms = summary.get("chunk")
    pick(run.values, "output_tok_s", (summary.get("output_tok_s"), "mean"))
    if "output_tok_s" not in run.values:
        pick(run.values, "req_s", (summary.get("req_s"), "mean"))
    return run
