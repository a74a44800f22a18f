"""Validates scenario files without evaluating them; a file that others extend need not be complete by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from reports.catalog.records import Catalog
from reports.catalog.select import UnknownName, find, plain
from reports.errors import InputError, Problem
from reports.scenario.read import EXTENDS, check_partial, in_file_order, load, read_scenario
from reports.strict_yaml import MAX_BYTES, read
from reports.yaml_problems import KeyPath


def scenario_files(paths: Sequence[Path]) -> list[Path]:
    """The given files, and the scenario files of the given folders."""
    files: list[Path] = []
    for path in paths:
        inside = sorted([*path.glob("*.yaml"), *path.glob("*.yml")]) if path.is_dir() else [path]
        if not inside:
            raise InputError(Problem(str(path), "holds no scenario", expected="files that end in .yaml"))
        files += inside
    return list(dict.fromkeys(files))


def refuse_doubles(scenarios: Sequence[Path]) -> None:
    """Two files of one name would write into one folder."""
    stems = [path.stem for path in scenarios]
    doubles = [path for path in scenarios if stems.count(path.stem) > 1]
    if doubles:
        raise InputError(
            Problem(str(path), "has the same name as another scenario of this build", expected="different file names")
            for path in doubles
        )


def check_scenarios(
    files: Sequence[Path], catalog: Catalog, *, sets: Sequence[str] = (), overrides: Sequence[str] = ()
) -> list[Problem]:
    """Every problem of every file; each override is tried alone unless some are chosen."""
    problems: list[Problem] = []
    for file in files:
        try:
            if _is_extended(file):
                problems += check_partial(file, catalog)
                continue
            read_scenario(file, catalog, sets=sets, overrides=overrides)
            for name in load(file).overrides if not overrides else ():
                read_scenario(file, catalog, sets=sets, overrides=(name,))
        except InputError as error:
            problems += error.problems
    return in_file_order(problems)


def names_read(file: Path, catalog: Catalog) -> list[tuple[str, str]]:
    """(name as written, id) of every name of a good file that is another name of its entry."""
    merged = load(file).merged
    entries: dict[KeyPath, tuple[str, Mapping[str, Any]]] = {
        ("matrix", "model"): ("model", catalog.models),
        ("matrix", "quantization"): ("quantization", catalog.quantizations),
        ("matrix", "gpu"): ("gpu", catalog.gpus),
        ("engine",): ("engine", catalog.engines),
        ("workload", "demand", "by_model"): ("model", catalog.models),
        ("matrix", "quantization_by_model"): ("model", catalog.models),
    }
    for index, _ in enumerate(merged.data.get("services") or ()):
        entries["services", index, "model"] = ("model", catalog.models)
        entries["services", index, "quantization"] = ("quantization", catalog.quantizations)
    for index, _ in enumerate(merged.data.get("fleet") or ()):
        entries["fleet", index, "gpu"] = ("gpu", catalog.gpus)
    found: dict[str, str] = {}
    for path, (kind, known) in entries.items():
        value = merged.get(path)
        for name in [value] if isinstance(value, str) else value or ():
            with suppress(UnknownName):  # replaced by an override or --set
                found[str(name)] = find(known, str(name), kind)
    return [(name, entry) for name, entry in found.items() if plain(name) != plain(entry)]


def _is_extended(file: Path) -> bool:
    """Whether a scenario beside it names this file in ``extends``."""
    try:
        folder = file.resolve().parent
    except RuntimeError:  # links in a circle: reading it says so
        return False
    for other in folder.glob("*.y*ml"):
        if not other.is_file() or EXTENDS.encode() not in other.read_bytes()[:MAX_BYTES]:
            continue
        try:
            data = read(other).data
        except InputError:
            continue
        if isinstance(data, dict) and data.get(EXTENDS) == file.name:
            return True
    return False
