"""Simulates the short list at its recommended load, sets it beside the closed form, and decides where they disagree.

An option whose stated target is missed carries only the largest load that holds; the recommendation is then made again,
until every option of the short list was simulated and holds (or ``ROUNDS`` is reached).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.catalog.select import assumption
from reports.constants import MS_PER_S
from reports.formulas import capacity
from reports.given import PAGE, stated_assumptions
from reports.methods import BATCH, Block, Method
from reports.run import Run
from reports.scenario.services import Service
from reports.scenario.targets import NO_TARGET_MS
from reports.simulate.curve import curves
from reports.simulate.demand import Stream
from reports.simulate.limits import limit_for, takes_limits
from reports.simulate.statistics import MOST_REPEATS
from reports.simulate.step_model import evaluated, units
from reports.simulate.trial import Case, Estimate, Pattern, Result, Target, decided, largest_load

Recommended = Callable[[Mapping[str, float]], Run]
"""From limits (candidate_id -> simulated limit) to the run that they lead to."""

ROUNDS = 6
OVERLOAD = 1.3
"""The closed form is evaluated up to so many times the limit, for the curve beyond it."""

Trial = tuple[str, float]
"""(candidate_id, requests of one replica)."""

BEFORE = "@before"
"""Marks what was simulated at the load that the closed form recommends, where the simulation allows less."""

FRAME = ("option_id", "metric", "statistic", "closed_form", "simulated", "low", "high", "target", "holds")


@dataclass(frozen=True)
class Reduction:
    """An option that carries less than the closed form says."""

    candidate_id: str
    option_id: str
    before: float
    """Requests of one replica that the closed form recommends."""
    after: float
    """Largest load that holds."""
    limit: float
    """The limit that leads to it."""
    misses: tuple[tuple[Target, Estimate], ...]
    """What it would miss, by how much."""


def settle(recommended: Recommended) -> Run:
    """The recommendation whose short list the simulation bears out, with ``simulated`` filled."""
    run = recommended({})
    if not simulates(run):
        return run
    known: dict[Trial, Result] = {}
    reductions: dict[str, Reduction] = {}
    for _ in range(ROUNDS if takes_limits(run.method) else 0):
        found = [each for each in reduced(cases(run), known) if each.candidate_id not in reductions]
        if not found:
            break
        reductions |= {each.candidate_id: each for each in found}
        run = recommended({name: each.limit for name, each in reductions.items()})
    last = cases(run)
    trials(last, known)
    winners = [
        (str(each.row["option_id"]), each.case, float(each.row["limit_requests"]), known[each.trial])
        for each in last
        if each.row["winner"]
    ]
    return replace(
        run,
        simulated=_frame(last, known, reductions),
        latency_curves=curves(winners),
        warnings=(*run.warnings, *_said(reductions)),
    )


def simulates(run: Run) -> bool:
    """Whether the method has steps to simulate, and there is something to simulate."""
    return takes_limits(run.method) and len(run.shortlist) > 0


@dataclass(frozen=True)
class Listed:
    """One short-listed option with its case."""

    row: Mapping[str, Any]
    case: Case

    @property
    def load(self) -> float:
        """Requests of one replica that are recommended."""
        return float(self.row["recommended_requests"])

    @property
    def trial(self) -> Trial:
        """Key of its simulation."""
        return str(self.row["candidate_id"]), self.load


def cases(run: Run) -> list[Listed]:
    """What is simulated: each short-listed option, with the requests of its service."""
    rows = run.shortlist.reset_index(drop=True)
    services = {each.name: each for each in run.scenario.service_axis}
    times = request_times(run.method, rows)
    streams: dict[str, tuple[Stream, ...]] = {}
    found = []
    for row, unit, request_s in zip(
        rows.to_dict("records"), units(run.method, rows, _page_tokens(run)), times, strict=True
    ):
        service = services[str(row["service"])]
        name = service.name
        if name not in streams:
            streams[name] = tuple(Stream(service, repeat) for repeat in range(MOST_REPEATS))
        context = int(run.catalog.models[service.model].max_context_tokens)
        unit = replace(unit, most_tokens=min(unit.most_tokens, context))
        pattern = Pattern(service.workload.closed_loop, service.workload.start == "burst")
        found.append(Listed(row, Case(unit, streams[name], targets_of(service), request_s, pattern)))
    return found


def targets_of(service: Service) -> tuple[Target, ...]:
    """The latencies a service promises."""
    targets = service.targets
    if targets is None:
        return ()
    stated = (
        Target("ttft_ms", targets.ttft_statistic, targets.ttft_ms),
        Target("tpot_ms", targets.tpot_statistic, targets.tpot_ms),
        Target("answer_ms", targets.answer_statistic, targets.answer_ms),
    )
    return tuple(target for target in stated if target.ms < NO_TARGET_MS)


def request_times(method: Method, rows: pd.DataFrame) -> list[NDArray[np.float64]]:
    """For each row the closed form's time that a request runs, s, at 0, 1, 2, … requests that run in one replica.

    Where the method tells running from waiting, a load is what runs; the wait comes on top of it, in both.
    """
    most = int(np.ceil(rows["limit_requests"].max() * OVERLOAD)) + 1
    loads = np.maximum(np.arange(most + 1, dtype=np.float64), 1.0)
    chain = next(block for block in method.after if block.batch)
    last = Block(chain.title, (*chain.formulas, capacity.request_time_s))
    columns = evaluated(method, rows, {BATCH: loads[None, :]}, (*method.before, last))
    time_s = columns[RUNNING_TIME] / MS_PER_S if RUNNING_TIME in columns else columns["request_time_s"]
    return list(np.broadcast_to(time_s, (len(rows), most + 1)))


RUNNING_TIME = "running_ms"


def trials(listed: Sequence[Listed], known: dict[Trial, Result]) -> None:
    """Simulate each option at its recommended load, unless ``known`` has it."""
    fresh = [each for each in listed if each.trial not in known]
    for each, result in zip(fresh, decided([(each.case, each.load) for each in fresh]), strict=True):
        known[each.trial] = result


def reduced(listed: Sequence[Listed], known: dict[Trial, Result]) -> list[Reduction]:
    """The options that miss a target at their recommended load, each with the largest load that holds."""
    trials(listed, known)
    found = []
    for each in listed:
        missed = tuple(target for target in each.case.targets if known[each.trial].misses(target))
        if missed:
            after = float(largest_load(each.case, int(each.load)))
            safety = float(each.row["safety_factor"])
            found.append(
                Reduction(
                    candidate_id=str(each.row["candidate_id"]),
                    option_id=str(each.row["option_id"]),
                    before=each.load,
                    after=after,
                    limit=limit_for(after, safety),
                    misses=tuple((target, known[each.trial].of(target)) for target in missed),
                )
            )
    return found


def closed_form(row: Mapping[str, Any], metric: str, statistic: str, target: Target | None) -> float:
    """What the formulas say of a simulated figure; nan where they say nothing.

    Of a latency they say the mean, and the statistic that its target is for (``ttft_tail_ms``, …).
    """
    if target is not None:
        tail = row.get(metric.replace("_ms", "_tail_ms"))
        if tail is not None:
            return float(tail)
    if statistic != "mean":
        return float("nan")
    if metric in ("ttft_ms", "tpot_ms"):
        return float(row[metric])
    load, time_s = float(row["recommended_requests"]), float(row["request_time_s"])
    said = {"answer_ms": time_s * MS_PER_S, "running_requests": load}
    return said.get(metric, float("nan"))


def _frame(
    listed: Sequence[Listed], known: Mapping[Trial, Result], reductions: Mapping[str, Reduction]
) -> pd.DataFrame:
    """``Run.simulated``: a row a statistic, then what was simulated (statistic ``given``)."""
    rows: list[dict[str, Any]] = []
    for each in listed:
        result, option = known[each.trial], str(each.row["option_id"])
        targets = {(target.metric, target.statistic): target for target in each.case.targets}
        for (metric, statistic), estimate in result.estimates.items():
            target = targets.get((metric, statistic))
            rows.append(
                {
                    "option_id": option, "metric": metric, "statistic": statistic,
                    "closed_form": closed_form(each.row, metric, statistic, target),
                    "simulated": estimate.mean, "low": estimate.low, "high": estimate.high,
                    "target": target.ms if target else np.nan,
                    "holds": not result.misses(target) if target else None,
                }
            )  # fmt: skip
        reduction = reductions.get(str(each.row["candidate_id"]))
        given = {
            "load_requests": (reduction.before if reduction else each.load, each.load),
            "arrivals_per_s": (np.nan, result.requests_per_s),
            "measured_requests": (np.nan, float(result.measured)),
            "repeats": (np.nan, float(result.repeats)),
            "cut_share": (np.nan, result.cut_share),
        }
        rows += [_row(option, name, "given", before, now) for name, (before, now) in given.items()]
    rows += _lowered(reductions, {str(each.row["option_id"]) for each in listed})
    return pd.DataFrame(rows, columns=list(FRAME))


def _lowered(reductions: Mapping[str, Reduction], shown: Collection[str]) -> list[dict[str, Any]]:
    """What became of the options that the simulation reduced: load before and after, and what was missed before.

    Statistic ``given`` for the loads (of those that are still shown they stand there already), ``p99@before`` and the
    like for what was simulated at the load of the closed form.
    """
    rows = []
    for each in reductions.values():
        if each.option_id not in shown:
            rows.append(_row(each.option_id, "load_requests", "given", each.before, each.after))
        for target, estimate in each.misses:
            row = _row(each.option_id, target.metric, f"{target.statistic}{BEFORE}", np.nan, estimate.mean)
            rows.append(row | {"low": estimate.low, "high": estimate.high, "target": target.ms, "holds": False})
    return rows


def _row(option: str, metric: str, statistic: str, closed: float, simulated: float) -> dict[str, Any]:
    return {
        "option_id": option, "metric": metric, "statistic": statistic, "closed_form": closed, "simulated": simulated,
        "low": np.nan, "high": np.nan, "target": np.nan, "holds": None,
    }  # fmt: skip


def _said(reductions: Mapping[str, Reduction]) -> tuple[tuple[str, dict[str, object]], ...]:
    """What the cover says of them."""
    if not reductions:
        return ()
    message = (
        "Simulated, {n} options keep their targets only at a lower load than the closed form allows, and were sized "
        "again: see Latency under load."
    )
    if len(reductions) == 1:
        message = (
            "Simulated, one option keeps its targets only at a lower load than the closed form allows, and was sized "
            "again: see Latency under load."
        )
    return ((message, {"n": float(len(reductions))}),)


def _page_tokens(run: Run) -> float:
    """The page of the KV cache: stated in the scenario, or the catalog's."""
    stated = stated_assumptions(run.scenario).get(PAGE)
    return stated[0] if stated else assumption(run.catalog, PAGE, run.scenario.region).mid
