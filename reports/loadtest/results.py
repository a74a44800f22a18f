"""Reads what a load test measured: one line an answer, or one row a statistic of another benchmark."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from reports.catalog.records import Catalog
from reports.catalog.select import UnknownName
from reports.errors import InputError, Problem
from reports.field import names
from reports.field.readers import detect
from reports.field.readers.text import load_json, refuse
from reports.loadtest.folder import PLAN, RESULTS

TIMES = ("ttft_ms", "tpot_ms", "answer_ms")
_NEEDED = {"mix", "users", "ttft_ms", "tpot_ms", "answer_ms", "output_tokens", "error"}
MOST_ANSWERS = 5_000_000
Z95 = 1.959964
"""Standard deviations of the normal distribution on either side of 95 %."""


@dataclass
class Step:
    """What was measured with so many users under one mix of lengths."""

    mix: str
    users: int
    tool: str
    answers: int = 0
    failed: int = 0
    times: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TIMES})
    """Milliseconds of every answer."""
    stated: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of other benchmarks, which tell statistics alone: time -> statistic -> ms."""
    input_tokens: list[float] = field(default_factory=list)
    output_tokens: list[float] = field(default_factory=list)
    day: str = ""
    model_name: str = ""
    """Where the tool names it."""

    def value(self, time: str, statistic: str) -> float:
        """A statistic of one of the times; NaN where it is not known."""
        if time in self.stated:
            return self.stated[time].get(statistic, math.nan)
        values = self.times[time]
        if not values:
            return math.nan
        if statistic == "mean":
            return float(np.mean(values))
        return sorted(values)[_rank(len(values), int(statistic[1:]) / 100)]

    def between(self, time: str, statistic: str) -> tuple[float, float]:
        """95 % interval of the statistic: of a mean by its deviation, of a percentile by the ranks around it."""
        values, count = sorted(self.times[time]), len(self.times[time])
        if count < 2:
            return math.nan, math.nan
        if statistic == "mean":
            half = Z95 * float(np.std(values, ddof=1)) / math.sqrt(count)
            return float(np.mean(values)) - half, float(np.mean(values)) + half
        share = int(statistic[1:]) / 100
        half = Z95 * math.sqrt(count * share * (1 - share))
        low, high = math.floor(count * share - half), math.ceil(count * share + half)
        return values[min(max(low - 1, 0), count - 1)], values[min(high, count - 1)]


def _rank(count: int, share: float) -> int:
    return max(math.ceil(share * count - 1e-9) - 1, 0)


def read(paths: Sequence[Path], catalog: Catalog) -> tuple[Mapping[str, Any], list[Step]]:
    """The plan and all steps; InputError lists every file that cannot be used. A folder stands for its files."""
    files = [file for path in paths for file in _files(path)]
    plans = [file for file in files if file.name == PLAN]
    plans = plans or sorted({file.parent / PLAN for file in files if (file.parent / PLAN).is_file()})
    problems: list[Problem] = []
    if len(plans) != 1:
        problems.append(Problem("--read", "needs the plan of the test once", read=", ".join(map(str, plans)) or "none",
                                expected=f"one {PLAN}, in the folder or beside the results"))  # fmt: skip
    steps: list[Step] = []
    results = [file for file in files if file.name != PLAN]
    for file in results:
        try:
            steps += _own(file) if _is_own(file) else _of_another_tool(file, catalog)
        except InputError as error:
            problems += error.problems
    if not results and plans:
        problems.append(Problem(str(plans[0].parent), f"has no {RESULTS}", expected="a run of the Locust file",
                                hint="locust -f locustfile.py --headless --host http://SERVER:8000"))  # fmt: skip
    plan: Mapping[str, Any] = {}
    if len(plans) == 1:
        try:
            plan = _plan(plans[0])
        except InputError as error:
            problems += error.problems
    if plan:
        problems += _of_other_models(plan, steps, catalog)
    if problems:
        raise InputError(problems)
    return plan, steps


def _of_other_models(plan: Mapping[str, Any], steps: Sequence[Step], catalog: Catalog) -> Iterator[Problem]:
    """Results that another model gave say nothing about this one; a name that nobody knows is let through."""
    for name in dict.fromkeys(step.model_name for step in steps if step.model_name):
        try:
            found, _ = names.model_id(catalog, name)
        except UnknownName:
            continue
        if found != plan["model"]:
            yield Problem("--read", "is of another model than the plan", read=name, expected=str(plan["model"]))


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    yield from (path / name for name in (PLAN, RESULTS) if (path / name).is_file())
    yield from sorted(each for each in path.glob("*.json") if each.name.startswith(("vllm-", "guidellm")))


def _plan(path: Path) -> Mapping[str, Any]:
    data = load_json(path)
    needed = ("targets", "most_failed_share", "recommended_concurrency", "safety_factor", "candidate", "model", "gpu")
    lacking = [name for name in needed if name not in data] if isinstance(data, dict) else list(needed)
    if lacking:
        raise refuse(path, "is no plan of a load test", 1, read=f"without {', '.join(lacking)}",
                     expected="the plan.json that gpubook loadtest wrote")  # fmt: skip
    bad = [name for name, each in data["targets"].items() if name not in TIMES or not {"ms", "statistic"} <= set(each)]
    if bad or not data["targets"]:
        raise refuse(path, "has targets that are not known", 1, read=", ".join(bad), expected=", ".join(TIMES))
    return dict(data)


def _is_own(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            return set(next(csv.reader([file.readline(10_000)]), [])) >= _NEEDED
    except OSError as error:
        raise refuse(path, f"cannot be read: {error.strerror}") from None


def _own(path: Path) -> list[Step]:
    """results.csv: an answer a line; a line that cannot be read is a problem with its number."""
    steps: dict[tuple[str, int], Step] = {}
    problems: list[Problem] = []
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.DictReader(file)
        for count, row in enumerate(reader):
            if count >= MOST_ANSWERS:
                raise refuse(path, "has too many answers", reader.line_num, expected=f"at most {MOST_ANSWERS:,}")
            try:
                _count(row, steps)
            except (TypeError, ValueError) as error:
                problems.append(
                    Problem(str(path), "is not a line of a load test", reader.line_num, read=str(error)[:80])
                )
                if len(problems) >= 20:
                    break
    if not steps and not problems:
        raise refuse(path, "has a header and no answer: the test ended before its first step did", 1)
    if problems:
        raise InputError(problems)
    return list(steps.values())


def _count(row: Mapping[str, str], steps: dict[tuple[str, int], Step]) -> None:
    key = (row["mix"], int(row["users"]))
    values = {name: float(row[name]) for name in TIMES if row[name]}
    if key[1] < 1 or any(not value >= 0 or math.isinf(value) for value in values.values()):
        raise ValueError(f"{key[1]} users, {values}")
    step = steps.setdefault(key, Step(*key, "Locust"))
    step.answers += 1
    step.day = max(step.day, row.get("day") or "")
    if row["error"]:
        step.failed += 1
        return
    for name, value in values.items():
        step.times[name].append(value)
    step.output_tokens.append(float(row["output_tokens"]))
    if row.get("input_tokens"):
        step.input_tokens.append(float(row["input_tokens"]))


def _of_another_tool(path: Path, catalog: Catalog) -> list[Step]:
    """Latencies of vLLM, GuideLLM and the others: one step for each concurrency, statistics as they are stated."""
    rows = detect.read(path, catalog)
    steps: dict[int, Step] = {}
    usable = rows["metric"].isin(TIMES) & (rows["batch_requests"] > 0) & (rows["value"] > 0) & (rows["problem"] == "")
    for row in rows[usable].to_dict("records"):
        users, tool = int(row["batch_requests"]), str(row["source"])
        step = steps.setdefault(users, Step(tool, users, tool, day=str(row["date"]), model_name=str(row["model_name"])))
        step.stated.setdefault(row["metric"], {})[row["statistic"]] = float(row["value"])
        requests = float(row["requests"])
        step.answers = int(requests) if requests == requests else step.answers
    if path.suffix == ".json":
        _percentiles(path, steps)
    if not steps:
        raise refuse(path, "states no concurrency with a latency", expected="a run with --max-concurrency")
    return list(steps.values())


def _percentiles(path: Path, steps: Mapping[int, Step]) -> None:
    """vLLM writes percentiles beside the means that calibration reads."""
    data = load_json(path)
    if len(steps) != 1 or not isinstance(data, dict):
        return
    (step,) = steps.values()
    for time, written in (("ttft_ms", "ttft_ms"), ("tpot_ms", "tpot_ms"), ("answer_ms", "e2el_ms")):
        for statistic in ("mean", "p50", "p95", "p99"):
            value = data.get(f"{statistic}_{written}")
            if isinstance(value, int | float) and math.isfinite(value):
                step.stated.setdefault(time, {})[statistic] = float(value)
    failed = data.get("failed")
    step.failed = int(failed) if isinstance(failed, int) else step.failed
