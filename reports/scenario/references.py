"""What a workload refers to: mixes of lengths and profiles in the catalog, and a trace beside the scenario."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from reports.catalog.records import Catalog
from reports.catalog.select import UnknownName, assumption, find
from reports.errors import InputError, Problem
from reports.scenario.beside import NotBeside, file_beside
from reports.scenario.demand import FROM_TRACE, HOURS_PER_DAY, HOURS_PER_WEEK, MONTH, months_between
from reports.scenario.merge import Merged
from reports.scenario.schema import ScenarioFile
from reports.scenario.trace_files import SUFFIXES
from reports.scenario.trace_json import CharactersPerToken
from reports.scenario.traces import Trace, TraceLength, trace_of
from reports.scenario.workload import Profile, Workload
from reports.yaml_problems import KeyPath, where

LENGTHS = ("input_tokens", "output_tokens")
Used = tuple[str, str]
"""Path from the scenario's folder, and SHA-256, of a file that was read."""


def resolve_workloads(merged: Merged, catalog: Catalog) -> list[Problem]:
    """Before anything is checked: names of mixes and profiles become ids, and lengths come from where they are said to.

    A mix or trace fills in the lengths that are not stated beside it.
    """
    problems: list[Problem] = []
    for base in _workloads(merged):
        workload = merged.get(base)
        if not isinstance(workload, dict):
            continue
        if "lengths" in workload and "trace" in workload:
            problems.append(_problem(merged, (*base, "lengths"), "is stated beside trace", key=True,
                                     expected="lengths or trace"))
        stated: dict[str, dict[str, Any]] = {}
        if isinstance(workload.get("lengths"), str):
            name = _resolve(merged, (*base, "lengths"), catalog.lengths, "mix of lengths", problems)
            known = catalog.lengths[name].stated if name else {}
            stated = {each: {"distribution": "fixed", "tokens": 1} for each in LENGTHS}  # where only the name is wrong
            stated |= {f"{end}_tokens": {"distribution": "percentiles", **known[end]} for end in known}
        elif isinstance(workload.get("trace"), dict):
            stated = {name: {"distribution": "trace"} for name in LENGTHS}
        for name, lengths in stated.items():
            if name not in workload:
                source = (*base, "lengths" if "lengths" in workload else "trace")
                merged.put((*base, name), lengths, merged.place(source, key=True))
        profile = (*base, "demand", "hourly_profile")
        if isinstance(merged.get(profile), str) and merged.get(profile) != FROM_TRACE:
            _resolve(merged, profile, catalog.profiles, "profile", problems, FROM_TRACE)
    return problems


def _workloads(merged: Merged) -> Iterator[KeyPath]:
    yield ("workload",)
    services = merged.data.get("services")
    for index in range(len(services) if isinstance(services, list) else 0):
        yield ("services", index, "workload")


def _resolve(merged: Merged, path: KeyPath, known: Any, kind: str, problems: list[Problem], *more: str) -> str | None:
    container: Any = merged.get(path[:-1])
    try:
        container[path[-1]] = find(known, container[path[-1]], kind)
    except UnknownName as error:
        problems.append(_problem(merged, path, str(error), expected=", ".join([*known, *more])))
        return None
    return str(container[path[-1]])


def _problem(merged: Merged, path: KeyPath, message: str, *, key: bool = False, **more: str) -> Problem:
    file, line, column = merged.place(path, key)
    return Problem(file, message, line, column, where=where(path), **more)


def attach(
    file: ScenarioFile, merged: Merged, catalog: Catalog, folder: Path
) -> tuple[ScenarioFile, tuple[Used, ...], list[Problem]]:
    """The scenario with its traces read and its profiles found; which files were read; what is wrong with them."""
    reading = _Reading(file, merged, catalog, folder)
    services = tuple(
        each.model_copy(update={"workload": reading.attached(each.workload, ("services", index, "workload"))})
        for index, each in enumerate(file.services)
    )
    own = file.workload if file.services else reading.attached(file.workload, ("workload",))
    problems = list({str(problem): problem for problem in reading.problems}.values())
    return file.model_copy(update={"workload": own, "services": services}), tuple(reading.used), problems


class _Reading:
    """Attaches to the workloads of one scenario what they refer to."""

    def __init__(self, file: ScenarioFile, merged: Merged, catalog: Catalog, folder: Path) -> None:
        self.file, self.merged, self.catalog, self.folder = file, merged, catalog, folder
        self.problems: list[Problem] = []
        self.used: dict[Used, None] = {}

    def attached(self, workload: Workload, path: KeyPath) -> Workload:
        """The workload with its trace, its profile, and the source of its lengths."""
        if workload.demand is None:  # services that are empty: was said where they are read
            return workload
        trace = self._trace(workload, path) if workload.trace else None
        if trace is None and any(isinstance(getattr(workload, name), TraceLength) for name in LENGTHS):
            if workload.trace is None:
                self._problem((*path, "input_tokens"), "is taken from a trace, and there is none",
                              expected="trace: {file: …} in the workload")
            return workload
        self._growth(workload, path)
        monthly = [workload.demand.tokens_per_month]
        monthly += [own.tokens_per_month for own in workload.demand.by_model.values()]
        if any(monthly) and self.file.assumptions.get("average_utilisation") == 0:
            self._problem(("assumptions", "average_utilisation"), "leaves no peak for the tokens of a month", read="0",
                          expected="more than 0")
        source = "scenario"
        if workload.lengths in self.catalog.lengths:
            facts = self.catalog.lengths[str(workload.lengths)].facts
            source = facts["input_mean_tokens"].source
        return workload.known(trace, self._profile(workload, trace, path), trace.file if trace else source)

    def _problem(self, path: KeyPath, message: str, **more: Any) -> None:
        self.problems.append(_problem(self.merged, path, message, **more))

    def _trace(self, workload: Workload, path: KeyPath) -> Trace | None:
        assert workload.trace is not None
        here = (*path, "trace", "file")
        name = workload.trace.file
        try:
            target = file_beside(self.folder, name, SUFFIXES)
        except NotBeside as refused:
            self._problem(here, refused.message, **refused.more)
            return None
        try:
            trace = trace_of(target, Path(name).as_posix(), self._characters())
        except InputError as error:
            self.problems += error.problems
            return None
        self.used[trace.file, trace.digest] = None
        return trace

    def _characters(self) -> CharactersPerToken:
        latin, cjk = (
            self.file.assumptions.get(name, assumption(self.catalog, name, self.file.region).mid)
            for name in ("characters_per_token", "cjk_characters_per_token")
        )
        return CharactersPerToken(max(latin, 0.1), max(cjk, 0.1))

    def _profile(self, workload: Workload, trace: Trace | None, path: KeyPath) -> Profile | None:
        stated = workload.demand.hourly_profile
        here = (*path, "demand", "hourly_profile")
        if stated == FROM_TRACE and trace is None:
            self._problem(here, "is taken from a trace, and there is none", expected="trace: {file: …} in the workload")
            return None
        if stated in (None, FROM_TRACE):
            shares = trace.profile if trace else None
            if trace is None or shares is None:
                if trace is not None and stated == FROM_TRACE:
                    covered = "no arrivals" if trace.duration_s is None else f"{trace.duration_s / 3600:.3g} hours"
                    self._problem(here, "is taken from a trace that is too short", read=covered,
                                  expected=f"at least {HOURS_PER_DAY} hours with their arrivals")
                return None
            hours = "a week" if trace.week_hours.sum() >= HOURS_PER_WEEK else "a day, which stands for every day"
            start = "" if trace.dated else "; it has no dates, its first hour is taken as Monday 0 h"
            return Profile(trace.file, shares, "measured", "scenario", self._day(), f"{hours} of {trace.file}{start}")
        if isinstance(stated, tuple):
            shares = np.resize(np.array(stated) / max(stated), HOURS_PER_WEEK)
            note = f"{len(stated)} numbers in the scenario"
            return Profile("scenario", shares, "given", "scenario", self._day(), note)
        entry = self.catalog.profiles.get(str(stated))
        if entry is None:  # was said where names are resolved
            return None
        return Profile(entry.id, np.array(entry.shares), entry.basis, entry.source, entry.at, entry.note)

    def _day(self) -> str:
        return self.file.as_of.isoformat() if self.file.as_of else self.file.period

    def _growth(self, workload: Workload, path: KeyPath) -> None:
        if workload.demand is None:  # was said where the demand is read
            return
        demands = {(*path, "demand"): workload.demand.growth}
        demands |= {(*path, "demand", "by_model", model): own.growth for model, own in workload.demand.by_model.items()}
        for here, growth in demands.items():
            for month in growth or ():
                if MONTH.fullmatch(month) and months_between(self.file.period, month) <= 0:
                    self._problem((*here, "growth", month), "is not after the period", read=month,
                                  expected=f"a month after {self.file.period}")
