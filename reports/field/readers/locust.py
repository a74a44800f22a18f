"""Locust: the statistics CSV. One line an endpoint; only endpoints that generate text say something about a model."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd

from reports.field.packed import opened_text
from reports.field.readers.rows import number
from reports.field.readers.serving import Run, run_rows, usable
from reports.field.readers.text import refuse

_LATENCIES = {
    "ttft": "ttft_ms", "ttft_ms": "ttft_ms", "time_to_first_token": "ttft_ms", "first_token": "ttft_ms",
    "tpot": "tpot_ms", "tpot_ms": "tpot_ms", "itl": "tpot_ms", "time_per_output_token": "tpot_ms",
    "inter_token_latency": "tpot_ms",
}  # fmt: skip
"""Names under which a load test reports its own timings as if they were requests (in ms)."""
_GENERATES = re.compile(r"chat|completion|generate|responses|infer", re.IGNORECASE)


def is_csv(header: str) -> bool:
    """Whether the first line is the header of a statistics file."""
    return header.replace('"', "").startswith("Type,Name,Request Count")


def is_other_csv(header: str) -> str:
    """What kind of other file of Locust a header belongs to; '' for none."""
    plain = header.replace('"', "")
    if plain.startswith("Timestamp,User Count"):
        return "history"
    if plain.startswith("Method,Name,Error"):
        return "failures"
    return "exceptions" if plain.startswith("Count,Message,Traceback") else ""


def read(path: Path) -> pd.DataFrame:
    """Rows of the endpoints that generate; the aggregate mixes endpoints and is left out."""
    rows: list[dict[str, Any]] = []
    others: list[str] = []
    runs: list[tuple[dict[str, str], int]] = []
    timings: dict[str, tuple[float, str]] = {}
    with opened_text(path) as file:
        reader = csv.DictReader(file)
        for found in reader:
            name = (found.get("Name") or "").strip()
            plain = name.lower().replace(" ", "_").replace("-", "_")
            if name == "Aggregated" or not found.get("Request Count"):
                continue
            if plain in _LATENCIES:
                if number(found["Request Count"]) > number(found.get("Failure Count")):
                    timings[_LATENCIES[plain]] = (number(found.get("Average Response Time")), "mean")
            elif _GENERATES.search(name):
                runs.append((found, reader.line_num))
            else:
                others.append(name)
    if not runs and not timings:
        raise refuse(
            path,
            "has no endpoint that generates text",
            read=", ".join(others[:5]),
            expected="a line such as POST /v1/chat/completions",
        )
    for found, line in runs or [({}, 1)]:
        rows += run_rows(_run(found, line, path, timings if len(runs) <= 1 else {}, others))
    return usable(path, rows)


def _run(found: dict[str, str], line: int, path: Path, timings: dict[str, tuple[float, str]], others: list[str]) -> Run:
    run = Run(path, line, "Locust", {"start": "steady"})
    count = number(found.get("Request Count"))
    run.failed = number(found.get("Failure Count"))
    run.completed = count - run.failed
    run.values = dict(timings)
    if found:
        share = run.completed / count if count > 0 else math.nan
        run.values["req_s"] = (number(found.get("Requests/s")) * share, "mean")
        run.notes.append(
            f"{found['Name']}: {number(found.get('Average Response Time')):.4g} ms a whole answer on average"
        )
    run.facts["requests"] = run.completed
    if not timings:
        run.use = "context"
        run.notes.append("whole answers only: without tokens and first-token times nothing can be fitted")
    if others:
        run.notes.append(f"left out: {', '.join(others[:4])}")
    return run
