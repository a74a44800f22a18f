"""Lays each service over the scenario's own workload and targets, before anything is checked, line numbers kept."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Optional

from pydantic import create_model

from reports.errors import Problem
from reports.scenario.demand import lists_amounts
from reports.scenario.merge import Merged
from reports.scenario.schema import ScenarioFile
from reports.scenario.services import partial
from reports.scenario.targets import Targets
from reports.scenario.workload import DEMAND_KEYS, Workload
from reports.yaml_problems import KeyPath, where

SERVICES = "services"
_DEMAND = re.compile(r"^(services\[\d+\])\.workload\.demand")

_SHARED: dict[str, Any] = {
    "workload": (partial(Workload), partial(Workload)()),
    "targets": (Optional[partial(Targets)], None),  # noqa: UP045 - made at run time
}
ServicesFile: type[ScenarioFile] = create_model("ScenarioFile", __base__=ScenarioFile, **_SHARED)
"""A scenario that lists services: its own workload and targets are what the services are laid over."""


def lists_services(merged: Merged) -> bool:
    """Whether the first axis is a list of services rather than of models."""
    return SERVICES in merged.data


def spread(merged: Merged, models: Collection[str]) -> tuple[frozenset[str], list[Problem]]:
    """Give every service its whole workload and targets in place, and ``matrix.model`` the models of all.

    ``models`` are the ids that the catalog knows. Returns the names of the services that state a workload or targets of
    their own, and what is wrong.
    """
    problems: list[Problem] = []
    items = merged.data.get(SERVICES)
    if merged.get(("matrix", "model")) is not None:
        problems.append(_problem(merged, ("matrix", "model"), "is stated beside services",
                                 expected="either the models in matrix.model, or services with a model each"))
    if merged.get(("workload", "demand", "by_model")) is not None:
        problems.append(_problem(merged, ("workload", "demand", "by_model"), "is stated beside services",
                                 expected="the demand of each service"))
        merged.forget(("workload", "demand", "by_model"))
    if not isinstance(items, list):
        return frozenset(), problems
    if not items:
        problems.append(_problem(merged, (SERVICES,), "is empty", expected="at least one service"))
    own = set()
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            continue  # the schema says what it expected
        here: KeyPath = (SERVICES, index)
        if isinstance(item.get("workload"), dict) and "demand" in item["workload"]:
            file, line, column = merged.place((*here, "workload", "demand"), key=True)
            problems.append(Problem(file, "unknown key", line, column, where=where((*here, "workload")),
                                    read='"demand"', hint="write demand beside workload"))
            merged.forget((*here, "workload", "demand"))
        if merged.get((*here, "demand", "by_model")) is not None:
            problems.append(_problem(merged, (*here, "demand", "by_model"), "means nothing for a service", key=True,
                                     expected="the demand for its one model"))
            merged.forget((*here, "demand", "by_model"))
        profiled = isinstance(item.get("demand"), dict) and "hourly_profile" in item["demand"]
        if item.get("workload") or item.get("targets") or profiled:
            own.add(str(item.get("name")))
        for name in ("workload", "targets"):
            _underlay(merged, (*here, name), (name,))
        if isinstance(item.get("workload"), dict) and "demand" in item:
            stated = item["demand"] if isinstance(item["demand"], dict) else {}
            listed = lists_amounts(merged.get(("workload", "demand", "growth")))
            if listed and set(stated) & set(DEMAND_KEYS) and "growth" not in stated:
                problems.append(_problem(merged, (*here, "demand"), "has no growth of its own",
                                         expected="growth beside it: that of the scenario lists amounts of its demand"))
            _underlay(merged, (*here, "demand"), (*here, "workload", "demand"))
            demand = merged.part((*here, "demand"))
            merged.forget((*here, "demand"))
            merged.graft((*here, "workload", "demand"), demand)
    problems += _names(merged, items)
    _put_models(merged, items, models)
    return frozenset(own), problems


def _underlay(merged: Merged, path: KeyPath, base: KeyPath) -> None:
    """Lay what stands at ``path`` over a copy of what stands at ``base``, and put the result at ``path``."""
    stated, below = merged.get(path), merged.get(base)
    if not isinstance(below, dict) or not (stated is None or isinstance(stated, dict)):
        return
    part = merged.part(base)
    if stated is None:
        part.places[()] = merged.place(path if path[-1] == "workload" else base)
    else:
        part.places[()] = merged.place(path)
        part.over(merged.part(path))
    merged.graft(path, part)


def _names(merged: Merged, items: list[Any]) -> Iterable[Problem]:
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            continue
        if name in first:
            yield _problem(merged, (SERVICES, index, "name"), f"is the name of item {first[name]} too",
                           read=f'"{name}"', expected="a name of its own")
        first.setdefault(name, index)


def _put_models(merged: Merged, items: list[Any], models: Collection[str]) -> None:
    """``matrix.model`` as the services imply it, each model once; what is unknown was said where it stands."""
    if isinstance(merged.get(("matrix",)), dict):
        named = [item.get("model") for item in items if isinstance(item, dict)]
        known = [model for model in named if isinstance(model, str) and model in models]
        merged.put(("matrix", "model"), list(dict.fromkeys(known)) or [next(iter(models))], merged.place((SERVICES,)))


def _problem(merged: Merged, path: KeyPath, message: str, *, key: bool = False, **more: str) -> Problem:
    file, line, column = merged.place(path, key)
    return Problem(file, message, line, column, where=where(path), **more)


def as_written(problems: Iterable[Problem]) -> list[Problem]:
    """Problems with the paths of the file, each place named once: what all services share is wrong only once."""
    found: dict[tuple[object, ...], Problem] = {}
    for problem in problems:
        named = replace(problem, where=_DEMAND.sub(r"\1.demand", problem.where))
        place = (named.file, named.line, named.column, named.message, named.read, named.where.rsplit(".")[-1])
        found.setdefault(place, named)
    return list(found.values())
