"""Names a person wrote, as ids of the catalog; unknown names, doubles and values out of place with a suggestion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from reports.catalog.records import REGIONS, Catalog
from reports.catalog.select import UnknownName, find
from reports.constants import HOURS_PER_WEEK
from reports.errors import Problem
from reports.scenario.merge import Merged
from reports.strict_yaml import did_you_mean
from reports.yaml_problems import KeyPath, shown, where


class _Problems(list[Problem]):
    """Problems of one merged scenario, each placed where its value was written."""

    def __init__(self, merged: Merged) -> None:
        super().__init__()
        self.merged = merged

    def put(self, path: KeyPath, message: str, *, key: bool = False, **more: str) -> None:
        """Note one problem."""
        file, line, column = self.merged.place(path, key)
        self.append(Problem(file, message, line, column, where=where(path), **more))


def resolve_names(merged: Merged, catalog: Catalog, *, partial: bool = False) -> list[Problem]:
    """Replace every name in ``merged`` by its catalog id, and list those that have none."""
    problems = _Problems(merged)
    entries: dict[str, Mapping[str, Any]] = {
        "model": catalog.models, "quantization": catalog.quantizations, "gpu": catalog.gpus,
    }  # fmt: skip
    for axis, known in entries.items():
        _resolve_list(merged, ("matrix", axis), known, axis, problems)
    for axis in ("count", "interconnect"):
        _no_doubles(merged, ("matrix", axis), problems)
    if isinstance(merged.get(("engine",)), str):
        _resolve_one(merged, ("engine",), catalog.engines, "engine", problems)
    by_model = ("workload", "demand", "by_model")
    _resolve_keys(merged, by_model, catalog, problems, partial)
    restricted = ("matrix", "quantization_by_model")
    _resolve_keys(merged, restricted, catalog, problems, partial)
    axis_names = merged.get(("matrix", "quantization"))
    for model, names in (merged.get(restricted) or {}).items() if isinstance(merged.get(restricted), dict) else ():
        path = (*restricted, model)
        _resolve_list(merged, path, catalog.quantizations, "quantization", problems)
        names = merged.get(path)
        for index, name in enumerate(names if isinstance(names, list) and isinstance(axis_names, list) else ()):
            if isinstance(name, str) and name in catalog.quantizations and name not in axis_names:
                problems.put((*path, index), "is not in matrix.quantization", read=f'"{name}"',
                             expected=", ".join(map(str, axis_names)))
        if names == []:
            problems.put(path, "is empty", expected="at least one quantization")
    return list(problems)


def resolve_services(merged: Merged, catalog: Catalog) -> list[Problem]:
    """The names inside services and fleet as ids: models, quantizations (out of the matrix's), cards."""
    problems = _Problems(merged)
    axis = merged.get(("matrix", "quantization"))
    allowed = _known(catalog.quantizations, axis, "quantization") if isinstance(axis, list) else None
    for index, item in _groups(merged, "services"):
        if isinstance(item.get("model"), str):
            _resolve_one(merged, ("services", index, "model"), catalog.models, "model", problems)
        path = ("services", index, "quantization")
        _resolve_list(merged, path, catalog.quantizations, "quantization", problems)
        names = merged.get(path)
        for place, name in enumerate(names if isinstance(names, list) and allowed is not None else ()):
            if isinstance(name, str) and name in catalog.quantizations and name not in (allowed or ()):
                problems.put((*path, place), "is not in matrix.quantization", read=f'"{name}"',
                             expected=", ".join(map(str, axis)))
    for index, item in _groups(merged, "fleet"):
        if isinstance(item.get("gpu"), str):
            _resolve_one(merged, ("fleet", index, "gpu"), catalog.gpus, "gpu", problems)
    return list(problems)


def _known(entries: Mapping[str, Any], names: Iterable[Any], kind: str) -> set[str]:
    """Ids of the names that the catalog knows."""
    found = set()
    for name in names:
        with suppress(UnknownName):
            found.add(find(entries, str(name), kind))
    return found


def _groups(merged: Merged, key: str) -> list[tuple[int, dict[str, Any]]]:
    """The items of a list that are mappings; the schema says what it expected of the others."""
    items = merged.data.get(key)
    return [(index, item) for index, item in enumerate(items if isinstance(items, list) else ())
            if isinstance(item, dict)]  # fmt: skip


def _resolve_one(
    merged: Merged, path: KeyPath, entries: Mapping[str, Any], kind: str, problems: _Problems
) -> str | None:
    container: Any = merged.get(path[:-1]) if len(path) > 1 else merged.data
    name = container[path[-1]]
    try:
        container[path[-1]] = find(entries, name, kind)
    except UnknownName as error:
        problems.put(path, str(error))
        return None
    return str(container[path[-1]])


def _resolve_list(
    merged: Merged, path: KeyPath, entries: Mapping[str, Any], kind: str, problems: _Problems
) -> None:
    names = merged.get(path)
    if not isinstance(names, list):
        return
    first: dict[str, int] = {}
    for index, name in enumerate(list(names)):
        if not isinstance(name, str):
            continue  # the schema says what it expected
        found = _resolve_one(merged, (*path, index), entries, kind, problems)
        if found is None:
            continue
        if found in first:
            problems.put((*path, index), f"is the same {kind} as item {first[found]}", read=f'"{name}"',
                         expected="each once")
        first.setdefault(found, index)


def _no_doubles(merged: Merged, path: KeyPath, problems: _Problems) -> None:
    values = merged.get(path)
    if not isinstance(values, list):
        return
    seen: set[Any] = set()
    for index, value in enumerate(values):
        if isinstance(value, bool | list | dict):
            continue  # the schema says what it expected
        if value in seen:
            problems.put((*path, index), "is in the list twice", read=shown(value), expected="each once")
        seen.add(value)


def _resolve_keys(merged: Merged, path: KeyPath, catalog: Catalog, problems: _Problems, partial: bool) -> None:
    """Model names that are keys: each becomes its id, and must be on the model axis."""
    mapping = merged.get(path)
    if not isinstance(mapping, dict):
        return
    models = merged.get(("matrix", "model"))
    for name in list(mapping):
        here = (*path, name)
        try:
            model = find(catalog.models, name, "model")
        except UnknownName as error:
            problems.put(here, str(error), key=True)
            continue
        if model != name:
            if model in mapping:
                problems.put(here, f"is the same model as {model}", key=True, expected="each once")
                continue
            mapping[model] = mapping.pop(name)
            for places in (merged.places, merged.key_places):
                for known in [known for known in places if known[: len(here)] == here]:
                    places[(*path, model, *known[len(here) :])] = places[known]
        if not partial and isinstance(models, list) and model not in models:
            problems.put((*path, model), "is not in matrix.model", key=True, read=f'"{name}"',
                         expected=", ".join(map(str, models)))


def check_assumptions(merged: Merged, catalog: Catalog) -> list[Problem]:
    """Own values must be for assumptions that exist; shares are at most 1, lives and terms are whole months."""
    problems = _Problems(merged)
    stated = merged.get(("assumptions",))
    known = {name: row for (name, _), row in catalog.assumptions.items()}
    for name, value in stated.items() if isinstance(stated, dict) else ():
        path = ("assumptions", name)
        if name not in known:
            problems.put(path, "unknown assumption", key=True, read=f'"{name}"',
                         expected="a name from catalogs/assumptions.csv", hint=did_you_mean(name, known))
        elif isinstance(value, int | float) and known[name].high <= 1 < value and _is_share(name, known[name].unit):
            problems.put(path, "is out of range", read=f"{value:g}", expected="a share between 0 and 1",
                         hint=f"{value:g} % is {value / 100:g}" if value <= 100 else "")
        elif isinstance(value, int | float) and known[name].unit == "months" and (value < 1 or value != value // 1):
            problems.put(path, "is out of range", read=f"{value:g}", expected="a whole number of months, 1 or more")
        elif isinstance(value, int | float) and name.endswith("_week_hours") and not _hours_of_a_week(value):
            problems.put(path, "is out of range", read=f"{value:g}",
                         expected=f"a whole number of hours, 1 to {HOURS_PER_WEEK:g}")
    return list(problems)


def _hours_of_a_week(value: float) -> bool:
    return 1 <= value <= HOURS_PER_WEEK and value == value // 1


def _is_share(name: str, unit: str) -> bool:
    words = ("share", "utilisation", "safety_factor", "eta_", "mfu_", "discount_rate")
    return unit.startswith("ratio") and any(word in name for word in words)


def check_prices(merged: Merged, catalog: Catalog) -> list[Problem]:
    """Providers, regions and terms must be ones the price book has."""
    problems = _Problems(merged)

    def check(name: str, known: Iterable[str], form: str = "") -> None:
        options = sorted(set(map(str, known)))
        values = merged.get(("prices", name))
        for index, value in enumerate(values if isinstance(values, list) else ()):
            if isinstance(value, str) and re.fullmatch(form, value):
                continue
            if isinstance(value, str) and value.casefold() not in {option.casefold() for option in options}:
                problems.put(("prices", name, index), "is not in the price book", read=f'"{value}"',
                             expected=", ".join(options) if len(options) <= 16 else "",
                             hint=did_you_mean(value, options))

    rental = catalog.rental
    check("providers_allowed", rental["provider"])
    check("providers_denied", rental["provider"])
    check("regions", [*REGIONS, *rental["region"]])
    check("terms", ["on-demand", "spot", *rental["term"]], "reserved-[1-9][0-9]?[my]")
    return list(problems)
