"""From scenario files to one frozen Scenario whose names are catalog ids; every problem of a phase at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reports.catalog.records import Catalog
from reports.errors import InputError, Problem
from reports.scenario.budget_check import check_budget, in_currency
from reports.scenario.fleet_check import check_fleet
from reports.scenario.impossible import impossible
from reports.scenario.look_file import read_look
from reports.scenario.merge import Change, Merged, clashes, unknown_keys
from reports.scenario.names import check_assumptions, check_prices, resolve_names, resolve_services
from reports.scenario.operations import SAID_BY_POLICIES
from reports.scenario.references import attach, resolve_workloads
from reports.scenario.schema import RULE_OF_THUMB, Scenario, ScenarioFile, last_day
from reports.scenario.services import constructed
from reports.scenario.settings import set_value
from reports.scenario.spread import SERVICES, ServicesFile, as_written, lists_services, spread
from reports.scenario.targets import Targets
from reports.scenario.template_files import read_templates
from reports.scenario.workload import DEMAND_KEYS, Workload
from reports.strict_yaml import YamlDocument, did_you_mean, read, validate

EXTENDS, OVERRIDES = "extends", "overrides"


@dataclass(frozen=True)
class Parts:
    """A scenario before its overrides: the merged files, and the overrides they offer."""

    merged: Merged
    overrides: Mapping[str, Merged]
    files: tuple[tuple[str, str], ...]
    extends: Path | None


def read_scenario(
    path: str | Path,
    catalog: Catalog,
    *,
    sets: Sequence[str] = (),
    overrides: Sequence[str] = (),
    period: str | None = None,
) -> Scenario:
    """Read, merge, resolve and check one scenario. InputError lists every problem."""
    path = Path(path)
    parts = load(path)
    problems = [problem for part in parts.overrides.values() for problem in unknown_keys(part)]
    merged = parts.merged
    changes: list[Change] = [*_apply_overrides(parts, overrides, problems)]
    changes += _apply_sets(merged, sets, problems)
    if period is not None:
        changes += _apply_period(merged, period)
    normalise(merged)
    text = json.dumps(merged.data, ensure_ascii=False, indent=1, default=str) + "\n"
    own, found = _name_and_spread(merged, catalog)
    problems += found
    try:
        file = validate(ServicesFile if lists_services(merged) else ScenarioFile, merged)
    except InputError as error:
        raise InputError(in_file_order(as_written([*problems, *error.problems]))) from None
    file, used, found = attach(file, merged, catalog, path.parent)
    problems += found
    look, more, found = read_look(file.theme, merged, path.parent)
    own_templates, texts, wrong = read_templates(file.templates, merged, path.parent)
    used = (*used, *more, *texts)
    problems += [*found, *wrong]
    problems += _check_whole(file, merged)
    for each in impossible(file, catalog):
        place, line, column = merged.place(each.path)
        problems.append(Problem(place, each.message, line, column, where=".".join(map(str, each.path)),
                                read=each.read, expected=each.expected, hint=each.hint))  # fmt: skip
    problems += check_fleet(file, merged, catalog)
    problems += _check_network(file, merged, catalog)
    if problems:
        raise InputError(in_file_order(as_written(problems)))
    frozen = _freeze(file, catalog, path, replace(parts, files=(*parts.files, *used)), changes, own)
    return frozen.model_copy(update={"text": text, "look": look, "own_templates": own_templates})


def _name_and_spread(merged: Merged, catalog: Catalog, partial: bool = False) -> tuple[frozenset[str], list[Problem]]:
    """Names become ids, and services get their whole workload and targets; which have their own, and what is wrong."""
    problems = resolve_services(merged, catalog)
    own: frozenset[str] = frozenset()
    if lists_services(merged):
        own, found = spread(merged, catalog.models)
        problems += found
    problems += resolve_workloads(merged, catalog)
    problems += resolve_names(merged, catalog, partial=partial)
    problems += check_assumptions(merged, catalog)
    problems += check_prices(merged, catalog)
    return own, problems


def check_partial(path: Path, catalog: Catalog) -> list[Problem]:
    """Problems of a file that others extend: what it says must be right, but it need not say everything."""
    parts = load(path)
    problems = [problem for part in parts.overrides.values() for problem in unknown_keys(part)]
    normalise(parts.merged)
    problems += _name_and_spread(parts.merged, catalog, partial=True)[1]
    try:
        validate(ServicesFile if lists_services(parts.merged) else ScenarioFile, parts.merged)
    except InputError as error:
        problems += [problem for problem in error.problems if problem.message != "is missing"]
    return in_file_order(as_written(problems))


def load(path: Path) -> Parts:
    """The file and the one it extends, merged; the overrides of both, the file's own first in rank."""
    own = _mapping(read(path))
    base_path = _extended(own, path)
    documents = [own]
    if base_path is not None:
        base = _mapping(read(base_path))
        if EXTENDS in base.data:
            again = base_path.parent / str(base.data[EXTENDS]) if isinstance(base.data[EXTENDS], str) else None
            circle = again is not None and again.resolve() == path.resolve()
            raise InputError(
                _at(base, (EXTENDS,), "the two files extend each other" if circle else "extends a third file",
                    read=str(base.data[EXTENDS]), expected="one step: a file that is extended extends nothing")
            )
        documents.insert(0, base)
    merged = Merged({})
    overrides: dict[str, Merged] = {}
    problems: list[Problem] = []
    for document in documents:
        part = Merged.of(document)
        problems += _overrides_of(document, overrides)
        part.forget((EXTENDS,))
        part.forget((OVERRIDES,))
        merged.over(part)
    merged.places[()] = (own.file, 1, 1)
    if problems:
        raise InputError(problems)
    used = [path] if base_path is None else [path, base_path]
    files = tuple((each.relative_to(path.parent).as_posix(), _digest(each)) for each in used)
    return Parts(merged, overrides, files, base_path)


def _mapping(document: YamlDocument) -> YamlDocument:
    if not isinstance(document.data, dict):
        hint = "a colon needs a space after it, and must be an ASCII colon"
        raise InputError(_at(document, (), "is not a scenario", read=str(document.data)[:40],
                             expected="keys with values", hint=hint))
    return document


def _at(document: YamlDocument, path: tuple[str | int, ...], message: str, **more: str) -> Problem:
    file, line, column = document.place(path)
    return Problem(file, message, line, column, where=".".join(str(part) for part in path), **more)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _extended(document: YamlDocument, path: Path) -> Path | None:
    if EXTENDS not in document.data:
        return None
    name = document.data[EXTENDS]
    if not isinstance(name, str) or not name:
        raise InputError(_at(document, (EXTENDS,), "cannot be used", read=str(name), expected="the name of one file"))
    try:
        folder = path.resolve().parent
        target = (folder / name).resolve()
        exists = target.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, links in a circle
        reason = getattr(error, "strerror", None) or "links in a circle"
        raise InputError(_at(document, (EXTENDS,), f"cannot be used: {reason}", read=f'"{name[:60]}"',
                             expected="a file beside this one")) from None
    if Path(name).is_absolute() or not target.is_relative_to(folder):
        raise InputError(_at(document, (EXTENDS,), "leaves the scenario's folder", read=f'"{name}"',
                             expected="a file beside this one"))
    if target == path.resolve():
        raise InputError(_at(document, (EXTENDS,), "extends itself", read=f'"{name}"', expected="another file"))
    if not exists:
        beside = sorted(other.name for other in folder.glob("*.yaml"))
        raise InputError(_at(document, (EXTENDS,), "no such file", read=f'"{name}"',
                             expected="a file beside this one", hint=did_you_mean(name, beside)))
    return path.parent / name


def _overrides_of(document: YamlDocument, found: dict[str, Merged]) -> list[Problem]:
    offered = document.data.get(OVERRIDES)
    if offered is None:
        return []
    if not isinstance(offered, dict):
        return [_at(document, (OVERRIDES,), "cannot be used", expected="names, each with a part of a scenario")]
    problems = []
    for name, part in offered.items():
        if not isinstance(part, dict):
            problems.append(_at(document, (OVERRIDES, name), "cannot be used", expected="a part of a scenario"))
        elif EXTENDS in part or OVERRIDES in part:
            problems.append(_at(document, (OVERRIDES, name), "cannot extend or hold overrides itself"))
        else:
            found[name] = Merged.of(document, (OVERRIDES, name))
    return problems


def _apply_overrides(parts: Parts, names: Sequence[str], problems: list[Problem]) -> list[Change]:
    chosen = {}
    for name in names:
        if name in parts.overrides:
            chosen[name] = parts.overrides[name]
        else:
            offered = sorted(parts.overrides)
            problems.append(
                Problem(f"--override {name}", "no such override", expected=", ".join(offered) or "a scenario with some",
                        hint=did_you_mean(name, offered))
            )
    problems += clashes(chosen)
    return [change for part in chosen.values() for change in parts.merged.over(part)]


def _apply_sets(merged: Merged, sets: Sequence[str], problems: list[Problem]) -> list[Change]:
    changes: list[Change] = []
    seen: dict[str, Any] = {}
    for text in sets:
        result = set_value(merged, text)
        if isinstance(result, Problem):
            problems.append(result)
            continue
        path, _, new = result
        if path in seen and seen[path] != new:
            problems.append(Problem(f"--set {text}", "was set before to another value", where=path,
                                    read=str(new), expected=str(seen[path]), hint="give each path once"))
        seen[path] = new
        changes.append(result)
    return changes


def _apply_period(merged: Merged, period: str) -> list[Change]:
    changes: list[Change] = []
    if merged.get(("period",)) != period:
        changes.append(("period", merged.get(("period",)), period))
        merged.put(("period",), period, (f"--period {period}", None, None))
        if merged.get(("as_of",)) is not None:  # a day of another month says nothing about this one
            changes.append(("as_of", merged.get(("as_of",)), "the last day of the period"))
            merged.forget(("as_of",))
    return changes


def normalise(merged: Merged) -> None:
    """Short forms in full: one method as a list, a plain number of tokens as a fixed length."""
    method = merged.get(("method",))
    if isinstance(method, str):
        merged.data["method"] = [method]
    services = merged.data.get(SERVICES)
    parts = [(SERVICES, index) for index in range(len(services))] if isinstance(services, list) else []
    for part in [(), *parts]:
        for name in ("input_tokens", "output_tokens"):
            path = (*part, "workload", name)
            tokens = merged.get(path)
            if isinstance(tokens, int | float) and not isinstance(tokens, bool):
                merged.put(path, {"distribution": "fixed", "tokens": tokens}, merged.place(path))


def in_file_order(problems: Sequence[Problem]) -> list[Problem]:
    """Each problem once, files in the order met, then by line."""
    files = {problem.file: index for index, problem in reversed(list(enumerate(problems)))}
    unique = {str(problem): problem for problem in problems}
    return sorted(unique.values(), key=lambda p: (files[p.file], p.line or 0, p.column or 0))


def _check_whole(file: ScenarioFile, merged: Merged) -> list[Problem]:
    """What no single value can show."""
    problems = []

    def problem(path: tuple[str | int, ...], message: str, **more: str) -> None:
        place, line, column = merged.place(path)
        problems.append(Problem(place, message, line, column, where=".".join(map(str, path)), **more))

    asked = [each.targets for each in file.services] or [file.targets]
    if None in asked and any(method != RULE_OF_THUMB for method in file.method):
        first = next((index for index, each in enumerate(file.services) if each.targets is None), None)
        problem(("targets",) if first is None else (SERVICES, first, "targets"), "is missing",
                expected="a target for TPOT and one for TTFT, such as tpot_ms and ttft_ms",
                hint="only the rule-of-thumb method works without")
    demand = file.workload.demand
    if not lists_services(merged) and not demand.stated:
        without = [model for model in file.matrix.model if model not in demand.by_model]
        if without:
            problem(("workload", "demand"), f"says nothing about {', '.join(without)}",
                    expected=f"{', '.join(DEMAND_KEYS)} for the models that by_model does not name")
    end = last_day(file.period)
    if file.as_of is not None:
        months = (file.as_of.year - end.year) * 12 + file.as_of.month - end.month
        if abs(months) > 1:
            problem(("as_of",), "is too far from the period", read=file.as_of.isoformat(),
                    expected=f"a day in {file.period} or in the month before or after it")
    for name, rows in SAID_BY_POLICIES.items():
        twice = [row for row in rows if row in file.assumptions]
        if getattr(file.policies, name) is not None and twice:
            problem(("policies", name), f"and assumptions.{twice[0]} say the same", expected="one of the two")
    day = file.as_of or end
    if file.validity is not None and file.validity < day:
        problem(("validity",), "is over before the report is made", read=file.validity.isoformat(),
                expected=f"a day from {day.isoformat()} on")
    return [*problems, *check_budget(file.budget, merged, day)]


def _check_network(file: ScenarioFile, merged: Merged, catalog: Catalog) -> list[Problem]:
    known = sorted(name for name, link in catalog.links.items() if link.kind == "network")
    if not file.network or file.network in known:
        return []
    place, line, column = merged.place(("network",))
    return [Problem(place, "is no network of the catalog", line, column, where="network", read=f'"{file.network}"',
                    expected=", ".join(known), hint=did_you_mean(file.network, known))]


def _freeze(
    file: ScenarioFile, catalog: Catalog, path: Path, parts: Parts, changes: Sequence[Change], own: frozenset[str]
) -> Scenario:
    terms = file.prices.terms or tuple(sorted(set(catalog.rental["term"].astype(str)) - {"spot"}))
    values = {name: getattr(file, name) for name in ScenarioFile.model_fields}
    values["prices"] = file.prices.model_copy(update={"terms": terms})
    values["as_of"] = file.as_of or last_day(file.period)
    values["budget"] = in_currency(file.budget, file.currency, catalog, values["as_of"])
    if file.services:  # what the services are laid over need not be complete
        values["workload"] = constructed(Workload, file.workload)
        values["targets"] = constructed(Targets, file.targets) if file.targets else None
    return Scenario.model_construct(
        name=path.stem, changes=tuple(changes), files=parts.files, own_workloads=own, **values
    )
