"""One benchmark run as any tool reports it -> rows, with the checks that numbers of one run must pass together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from reports.errors import InputError, Problem
from reports.field.readers.rows import frame, row, whole
from reports.field.rules import rule

LATENCIES = ("tpot_ms", "ttft_ms")


@dataclass
class Run:
    """What one run states; NaN and '' where it does not."""

    file: Path
    line: int
    source: str
    facts: dict[str, Any] = field(default_factory=dict)
    """Columns of the row that the file states: model_name, engine, tensor_parallel, …"""
    values: dict[str, tuple[float, str]] = field(default_factory=dict)
    """metric -> (value, statistic)"""
    completed: float = math.nan
    failed: float = math.nan
    duration_s: float = math.nan
    total_input_tokens: float = math.nan
    total_output_tokens: float = math.nan
    itl_ms: float = math.nan
    speculative: str = ""
    """Why several tokens a step are certain, '' otherwise."""
    notes: list[str] = field(default_factory=list)
    use: str = "fit"
    trap: str = ""


def at_least_one(count: float) -> float:
    """A number of ranks; one when it is not stated."""
    return count if count >= 1 else 1.0


def arrivals(rate: float, concurrency: float, requests: float) -> dict[str, Any]:
    """How requests arrive: at a rate, held at a concurrency, or all at once."""
    if math.isfinite(rate) and rate > 0:
        return {"start": "open-loop", "request_rate_per_s": rate, "requests": requests}
    if concurrency > 0 and not concurrency >= requests:
        return {"start": "steady", "batch_requests": concurrency, "requests": requests}
    together = requests if concurrency >= requests else math.nan
    return {"start": "burst", "requests": requests, "batch_requests": together}


def run_rows(run: Run) -> list[dict[str, Any]]:
    """The rows of one run; what cannot be right carries its problem."""
    facts = dict(run.facts)
    whole = _whole_run(run)
    for name, total in (("input_tokens", run.total_input_tokens), ("output_tokens", run.total_output_tokens)):
        if total > 0 and run.completed > 0:
            facts[name] = total / run.completed
    use, trap, notes = run.use, run.trap, list(run.notes)
    uneven = False
    attempted = run.completed + run.failed
    if run.completed > 0 and run.failed / attempted > rule("failed_share"):
        use, trap = "context", "failed-requests"
        notes.append(f"{run.failed:.0f} of {attempted:.0f} requests failed")
    tpot = run.values.get("tpot_ms", (math.nan, ""))[0]
    if run.speculative:
        use, trap = "context", "speculative-decoding"
        notes.append(run.speculative)
    elif run.itl_ms > rule("uneven_ratio") * tpot > 0:
        use, trap = "context", "speculative-decoding"
        notes.append(f"chunks come every {run.itl_ms:.4g} ms but tokens every {tpot:.4g} ms: several tokens a step")
    elif tpot > rule("uneven_ratio") * run.itl_ms > 0:
        uneven = not trap
        notes.append(f"TPOT {tpot:.4g} ms is a mean over unequal requests; the mean over tokens is {run.itl_ms:.4g} ms")
    made = []
    for metric, (value, statistic) in run.values.items():
        if math.isnan(value):
            continue
        skewed = uneven and metric == "tpot_ms"
        made.append(
            row(
                **{
                    "source": run.source, "source_ref": f"{run.file.name}:{run.line}", **facts, "metric": metric,
                    "value": value, "statistic": statistic, "use": "context" if skewed else use,
                    "trap": "uneven-requests" if skewed else trap, "note": "; ".join(notes),
                    "file": str(run.file), "line": run.line, "problem": whole or _one_value(run, facts, metric, value),
                }
            )
        )  # fmt: skip
    if not made:
        problem = whole or "no latency or throughput in this run"
        made.append(row(source=run.source, **facts, file=str(run.file), line=run.line, problem=problem))
    return made


def _whole_run(run: Run) -> str:
    if run.completed == 0:
        return "every request failed: its latencies and throughputs of 0.0 are not measurements"
    stated = run.values.get("output_tok_s", (math.nan, ""))[0]
    counted = run.total_output_tokens / run.duration_s if run.duration_s > 0 else math.nan
    if stated > 0 and counted > 0 and max(stated / counted, counted / stated) > rule("agree_ratio"):
        cards = counted / stated
        if cards >= 2 and abs(cards - whole(cards)) < 0.05 * cards:
            return (
                f"output throughput {stated:.4g} tok/s is 1/{cards:.0f} of tokens / duration ({counted:.4g}): "
                "per card against total"
            )
        return f"output throughput {stated:.4g} tok/s does not agree with tokens / duration, {counted:.4g} tok/s"
    return ""


def _one_value(run: Run, facts: dict[str, Any], metric: str, value: float) -> str:
    if not math.isfinite(value):
        return f"{metric} is not a finite number"
    if value < 0:
        return f"{metric} is negative ({value:g})"
    if value == 0:
        return f"{metric} is 0.0: nothing was measured"
    if metric != "tpot_ms":
        return ""
    if facts.get("output_tokens", math.nan) <= 1:
        return "tpot_ms of a single output token means nothing"
    ranks = facts.get("tensor_parallel", math.nan) * at_least_one(facts.get("pipeline_parallel", 1.0))
    replicas = max(facts.get("gpu_count", math.nan) / ranks, 1.0) if ranks > 0 else 1.0
    together = facts.get("batch_requests", math.nan) * (replicas if replicas > 1 else 1.0)
    if not together > 0:
        together = run.completed
    rate = run.values.get("output_tok_s", (math.nan, ""))[0]
    most = together * 1000 / value
    if rate > rule("implausible_ratio") * most:
        unit = " (milliseconds and seconds mixed up?)" if rate > 300 * most else ""
        return f"{rate:.4g} tok/s is more than {together:.0f} requests at {value:.4g} ms a token give{unit}"
    if facts.get("start") == "steady" and 300 * rate < most:
        return f"tpot_ms {value:.4g} is far too short for {rate:.4g} tok/s: seconds read as milliseconds?"
    return ""


def table(path: Path, runs: Iterable[Run]) -> pd.DataFrame:
    """Rows of all runs of a file; InputError when not one row is usable."""
    rows = [each for run in runs for each in run_rows(run)]
    return usable(path, rows)


def usable(path: Path, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows as a frame, or InputError with every reason when not one is usable."""
    if not rows:
        raise InputError(Problem(str(path), "holds no result"))
    if all(each["problem"] for each in rows):
        seen = dict.fromkeys((each["line"], each["problem"]) for each in rows)
        raise InputError(Problem(str(path), problem, None if math.isnan(line) else int(line)) for line, problem in seen)
    return frame(rows)


def pick(found: dict[str, tuple[float, str]], metric: str, *candidates: tuple[float, str]) -> None:
    """Take the first candidate that is a number."""
    for value, statistic in candidates:
        if not math.isnan(value):
            found[metric] = (value, statistic)
            return
