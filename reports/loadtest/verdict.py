"""Judges a load test: up to how many users everything holds, where it fails first, and what to run at most."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reports.errors import InputError, Problem
from reports.field.canonical import CANONICAL
from reports.loadtest.plan import AS_STATED
from reports.loadtest.results import Step
from reports.writing import replace_folder, write_atomically

ROWS, VERDICT = "loadtest_rows.csv", "verdict.json"
FEW = {"p99": 100, "p95": 20, "p50": 2, "mean": 2}
"""Answers below which a statistic is the slowest of them, or chance."""


@dataclass(frozen=True)
class Judged:
    """One step against the targets."""

    mix: str
    users: int
    answers: int
    failed: int
    values: Mapping[str, float]
    """Time -> the statistic that its target is for, in ms; NaN where it was not measured."""
    holds: bool
    reasons: tuple[str, ...]
    doubts: tuple[str, ...]
    """Why another run might judge otherwise."""


@dataclass(frozen=True)
class Verdict:
    """The outcome over all mixes: the worst of them counts."""

    recommended: int
    holds_at: int
    """The most users at which every mix holds; 0 where even the fewest fail."""
    first_failing: int | None
    worst_mix: str
    run_at_most: int
    """What holds, times the safety factor of the plan."""
    margin_share: float
    """How far what holds lies above the recommendation; negative: the recommendation is refuted."""
    steps: tuple[Judged, ...]
    notes: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """confirmed: the recommended load held; refuted: less failed; else the test did not go so far."""
        if self.holds_at >= self.recommended:
            return "confirmed"
        failed = self.first_failing is not None and self.first_failing <= self.recommended
        return "refuted" if failed else "not reached"


def judge(plan: Mapping[str, Any], steps: Sequence[Step]) -> Verdict:
    """Every step, then the least of what the mixes hold. A step above one that failed does not count."""
    judged = [_step(plan, each) for each in sorted(steps, key=lambda each: (each.mix, each.users))]
    blind = [each for each in judged if each.holds and any(value != value for value in each.values.values())]
    judged = [each for each in judged if each not in blind]
    if not judged:
        raise InputError(Problem("--read", "no step can be judged: a time that has a target was not measured",
                                 read=", ".join(f"{each.mix} at {each.users}" for each in blind[:5]),
                                 expected=" and ".join(plan["targets"])))  # fmt: skip
    mixes = list(dict.fromkeys(each.mix for each in judged))
    holds: dict[str, int] = {}
    fails: dict[str, int | None] = {}
    for mix in mixes:
        own = [each for each in judged if each.mix == mix]
        fails[mix] = next((each.users for each in own if not each.holds), None)
        below = [each.users for each in own if fails[mix] is None or each.users < (fails[mix] or 0)]
        holds[mix] = max(below, default=0)
    worst = min(mixes, key=lambda mix: (holds[mix], fails[mix] if fails[mix] is not None else math.inf))
    failing = [each for each in fails.values() if each is not None]
    recommended = int(plan["recommended_concurrency"])
    held = holds[worst]
    notes = [f"{each.mix} at {each.users}: not judged, a time that has a target was not measured" for each in blind]
    if any(step.tool == "Locust" for step in steps):
        notes += [f'mix "{mix}" was not run' for mix in plan.get("mixes", ()) if mix not in mixes]
    if not failing:
        notes.append(f"no step failed: the limit lies above {held}; add steps to plan.json to find it")
    return Verdict(recommended, held, min(failing, default=None), worst,
                   math.floor(held * float(plan["safety_factor"]) + 1e-9), held / recommended - 1, tuple(judged),
                   tuple(notes))  # fmt: skip


def _step(plan: Mapping[str, Any], step: Step) -> Judged:
    reasons, doubts, values = [], [], {}
    if step.answers and step.failed / step.answers > plan["most_failed_share"]:
        reasons.append(f"{step.failed} of {step.answers} requests failed")
    for time, target in plan["targets"].items():
        statistic, most = target["statistic"], float(target["ms"])
        value = step.value(time, statistic)
        for other in ("mean", "p50"):
            if math.isnan(value) and not math.isnan(step.value(time, other)):
                value = step.value(time, other)
                doubts.append(f"{time}: {statistic} is not stated, {other} is judged")
        values[time] = value
        if math.isnan(value):
            continue
        if value > most:
            reasons.append(f"{statistic} of {time} is {value:.0f}, over {most:.0f}")
        low, high = step.between(time, statistic)
        if low <= most < high or low < most <= high:
            doubts.append(f"{time}: the target lies within the 95 % interval {low:.0f} to {high:.0f}")
        if time not in step.stated and len(step.times[time]) < FEW[statistic]:
            doubts.append(f"{time}: {len(step.times[time])} answers are few for a {statistic}")
    return Judged(step.mix, step.users, step.answers, step.failed, values, not reasons, tuple(reasons), tuple(doubts))


def lines(verdict: Verdict) -> list[str]:
    """The verdict in words, then every step."""
    said = []
    margin = f"; margin {verdict.margin_share:+.0%}" if verdict.outcome != "not reached" else ""
    if verdict.holds_at:
        said.append(f"holds at {verdict.holds_at} requests at once (recommended: {verdict.recommended}{margin})")
    else:
        said.append(f"does not hold at any number that was tried (recommended: {verdict.recommended})")
    if verdict.first_failing is not None:
        said.append(f"first failing: {verdict.first_failing}; worst mix: {verdict.worst_mix}")
    said.append(f"run at most {verdict.run_at_most}: what holds, with the plan's safety factor")
    said.append("the recommendation " + ("was not reached" if verdict.outcome == "not reached" else
                                         f"is {verdict.outcome}"))  # fmt: skip
    for each in verdict.steps:
        numbers = ", ".join(f"{time} {value:.0f}" for time, value in each.values.items() if value == value)
        outcome = "holds" if each.holds else "; ".join(each.reasons)
        said.append(f"  {each.mix}, {each.users} users, {each.answers} answers: {numbers}: {outcome}")
        said += [f"    {doubt}" for doubt in each.doubts]
    return said + [f"note: {note}" for note in verdict.notes]


def record(verdict: Verdict) -> dict[str, Any]:
    """Plain data for JSON."""
    return {**asdict(verdict), "outcome": verdict.outcome}


# What calibrate takes ------------------------------------------------------------------------------------------------


def rows(plan: Mapping[str, Any], verdict: Verdict, steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Means of every step of the stated mix that held, one replica, in the columns of our measured tables.

    Without the scenario's own mix (results of other tools) all steps that held.
    """
    held = {(each.mix, each.users) for each in verdict.steps if each.holds}
    mixes = {AS_STATED} if any(mix == AS_STATED for mix, _ in held) else {mix for mix, _ in held}
    replicas = int(plan["replicas"])
    made: list[dict[str, Any]] = []
    for step in sorted(steps, key=lambda each: each.users):
        if (step.mix, step.users) not in held or step.mix not in mixes:
            continue
        cards = plan["tensor_parallel"] * plan["data_parallel"] * plan["pipeline_parallel"]
        same = {
            "source": f"load test {plan['scenario']}", "source_ref": f"{plan['candidate']}, {step.mix}, {step.tool}",
            "date": step.day, "model_name": plan["model"], "gpu_name": plan["gpu"], "model": plan["model"],
            "gpu": plan["gpu"], "quantization": plan["quantization"], "quantization_name": plan["quantization"],
            "kv_bytes_per_element": 1 if plan["kv_cache"] == "fp8" else 2, "tensor_parallel": plan["tensor_parallel"],
            "data_parallel": plan["data_parallel"], "pipeline_parallel": plan["pipeline_parallel"],
            "gpu_count": cards, "interconnect": plan["interconnect"], "engine": plan["engine"],
            "input_tokens": _mean(step.input_tokens, plan["input_mean_tokens"]),
            "output_tokens": _mean(step.output_tokens, plan["output_mean_tokens"]),
            "batch_requests": step.users / replicas, "requests": (step.answers - step.failed) / replicas,
            "start": "steady", "statistic": "mean", "quality": "A", "use": "fit",
        }  # fmt: skip
        for metric in ("ttft_ms", "tpot_ms"):
            value = step.value(metric, "mean")
            if value == value:
                made.append({**same, "row_id": str(len(made) + 1), "metric": metric, "value": f"{value:.6g}"})
    return made


def _mean(values: Sequence[float], otherwise: float) -> str:
    return f"{sum(values) / len(values) if values else otherwise:.6g}"


def write(plan: Mapping[str, Any], verdict: Verdict, steps: Sequence[Step], folder: Path) -> tuple[Path, ...]:
    """verdict.json and the rows that ``calibrate`` takes. InputError where other files lie in the folder."""
    folder = Path(folder)
    if folder.is_dir() and (strange := [each.name for each in folder.iterdir() if each.name not in (ROWS, VERDICT)]):
        raise InputError(Problem(str(folder), "holds other files", read=", ".join(sorted(strange)[:5]),
                                 expected="a new folder", hint="choose another with --out"))  # fmt: skip
    text = io.StringIO()
    writer = csv.DictWriter(text, list(CANONICAL), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(plan, verdict, steps))
    with replace_folder(folder) as draft:
        data = json.dumps(record(verdict), ensure_ascii=False, indent=1).replace("NaN", "null")
        write_atomically(draft / VERDICT, data + "\n")
        write_atomically(draft / ROWS, text.getvalue())
    return tuple(sorted(folder.iterdir()))
