"""How parts of a scenario combine: the file it extends, itself, the chosen overrides, then ``--set``.

Mappings merge key by key; lists and single values are replaced. Stating one form of a thing drops the other forms of
it: a new ``distribution``, ``requests_per_s`` over ``peak_concurrency``, ``tpot_p95_ms`` over ``tpot_ms``, ``services``
over ``matrix.model``. One item of a list of named things is changed by a mapping: ``services: {chat: {tier: 2}}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reports.errors import Problem
from reports.scenario.schema import ScenarioFile
from reports.scenario.targets import target_keys
from reports.scenario.workload import DEMAND_KEYS
from reports.strict_yaml import YamlDocument, did_you_mean
from reports.yaml_problems import KeyPath, Place, keys_at, where

_ALTERNATIVES = (set(DEMAND_KEYS), *(set(target_keys(kind)) for kind in ("tpot", "ttft", "answer")))
_REPLACES: dict[str, set[str]] = {
    "trace": {"lengths", "input_tokens", "output_tokens", "prefix_cache_hit_share", "burstiness"},
    "lengths": {"trace", "input_tokens", "output_tokens"},
}
"""What one key says anew, so that what an earlier part said of it is gone."""
_WHOLE = {"growth", "tokens_per_month"}
"""Mappings that are replaced as a whole."""
_FIRST_AXES: tuple[KeyPath, KeyPath] = (("services",), ("matrix", "model"))
"""Either of them says what the first axis of the matrix is."""

Change = tuple[str, Any, Any]


@dataclass
class Merged:
    """Data from several files that remembers where each value, and each key, was written."""

    data: dict[str, Any]
    places: dict[KeyPath, Place] = field(default_factory=dict)
    key_places: dict[KeyPath, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, document: YamlDocument, path: KeyPath = ()) -> Merged:
        """One part of a document (a mapping), as if it were the whole."""
        data: Any = document.data
        for part in path:
            data = data[part]
        size = len(path)

        def cut(positions: Mapping[KeyPath, tuple[int, int]]) -> dict[KeyPath, Place]:
            return {key[size:]: (document.file, *at) for key, at in positions.items() if key[:size] == path}

        return cls(copied(data), cut(document.positions), cut(document.key_positions))

    def place(self, path: KeyPath, key: bool = False) -> Place:
        """Where a value (or key) was written, or the nearest part around it."""
        for length in range(len(path), -1, -1):
            if key and length == len(path) and path in self.key_places:
                return self.key_places[path]
            if path[:length] in self.places:
                return self.places[path[:length]]
        return ("scenario", None, None)

    def get(self, path: KeyPath) -> Any:
        """The value at a path, None when there is none."""
        data: Any = self.data
        for part in path:
            if not _holds(data, part):
                return None
            data = data[part]
        return data

    def part(self, path: KeyPath) -> Merged:
        """A copy of one part (a mapping), as if it were the whole."""

        def cut(places: Mapping[KeyPath, Place]) -> dict[KeyPath, Place]:
            return {key[len(path) :]: place for key, place in places.items() if key[: len(path)] == path}

        return Merged(copied(self.get(path)), cut(self.places), cut(self.key_places))

    def graft(self, path: KeyPath, part: Merged) -> None:
        """Put a part in the place of what stands at a path."""
        self.forget(path)
        container: Any = self.get(path[:-1])
        container[path[-1]] = part.data
        for mine, theirs in ((self.places, part.places), (self.key_places, part.key_places)):
            mine.update({(*path, *known): place for known, place in theirs.items()})

    def forget(self, path: KeyPath) -> None:
        """Take out a value and all below it."""
        data: Any = self.get(path[:-1])
        if isinstance(data, dict):
            data.pop(path[-1], None)
        for places in (self.places, self.key_places):
            if path in places:  # every part that holds others has a place itself
                for known in [known for known in places if known[: len(path)] == path]:
                    del places[known]

    def put(self, path: KeyPath, value: Any, place: Place) -> None:
        """Set a value, whatever was there before; mappings on the way are made."""
        self._drop_alternatives(path[:-1], {str(path[-1])})
        self.forget(path)
        data: Any = self.data
        for length, part in enumerate(path[:-1], 1):
            if not isinstance(data, list) and not isinstance(data.get(part), dict | list):
                data[part] = {}
                self.places.setdefault(path[:length], place)
            data = data[part]
        data[path[-1]] = value
        self.places[path] = place
        self.key_places[path] = place

    def over(self, later: Merged, path: KeyPath = ()) -> list[Change]:
        """Lay ``later`` over this; (path, old, new) of each single value and list that changed."""
        changes: list[Change] = []
        new = later.get(path)
        if not isinstance(new, dict):
            return changes
        self._drop_alternatives(path, set(new))
        if not path:
            self._drop_other_axis(later)
        for key, value in new.items():
            here = (*path, key)
            old = self.get(here)
            if isinstance(value, dict) and isinstance(old, list):
                changes += self._over_items(later, here)
                continue
            merges = isinstance(value, dict) and isinstance(old, dict) and key not in _WHOLE
            if merges and "distribution" not in value:
                changes += self.over(later, here)
                continue
            self.forget(here)
            container: Any = self.get(path)
            container[key] = copied(value)
            for mine, theirs in ((self.places, later.places), (self.key_places, later.key_places)):
                mine.update({known: theirs[known] for known in _paths(value, here) if known in theirs})
            if value != old:
                changes.append((where(here), old, value))
        return changes

    def _over_items(self, later: Merged, path: KeyPath) -> list[Change]:
        """Lay a mapping over a list of named things: each key is the name, or the number, of an item."""
        changes: list[Change] = []
        items: list[Any] = self.get(path)
        for name in list(later.get(path)):
            index = item_index(items, str(name))
            if index is None:
                changes += self._not_an_item(later, path, name)
                continue
            part = self.part((*path, index))
            found = part.over(later.part((*path, name))) if isinstance(items[index], dict) else []
            self.graft((*path, index), part)
            changes += [(f"{where((*path, index))}.{inside}", old, new) for inside, old, new in found]
        return changes

    def _not_an_item(self, later: Merged, path: KeyPath, name: str) -> list[Change]:
        """A name that no item has becomes an item itself, so that the schema and the reader see it."""
        items: list[Any] = self.get(path)
        items.append(later.get((*path, name)))
        here = (*path, len(items) - 1)
        part = later.part((*path, name))
        if isinstance(part.data, dict):
            part.data.setdefault("gpu" if path == ("fleet",) else "name", name)
        self.graft(here, part)
        self.places[here] = later.place((*path, name), key=True)
        return [(where(here), None, part.data)]

    def _drop_other_axis(self, later: Merged) -> None:
        for stated, other in (_FIRST_AXES, _FIRST_AXES[::-1]):
            if later.get(stated) is not None and later.get(other) is None:
                self.forget(other)

    def _drop_alternatives(self, path: KeyPath, stated: set[str]) -> None:
        for group in _ALTERNATIVES:
            if stated & group:
                for key in group - stated:
                    self.forget((*path, key))
        for key in stated & set(_REPLACES):
            for other in _REPLACES[key] - stated:
                self.forget((*path, other))


def _holds(data: Any, part: str | int) -> bool:
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and 0 <= part < len(data)


def item_index(items: Any, name: str) -> int | None:
    """Which item of a list a name or number means: the one with that ``name``, or the only one of that ``gpu``."""
    if not isinstance(items, list):
        return None
    for key in ("name", "gpu"):
        found = [index for index, item in enumerate(items) if isinstance(item, dict) and item.get(key) == name]
        if len(found) == 1:
            return found[0]
    return int(name) if name.isdecimal() and int(name) < len(items) else None


def copied(data: Any) -> Any:
    """A copy of nested mappings and lists."""
    if isinstance(data, dict):
        return {key: copied(value) for key, value in data.items()}
    return [copied(value) for value in data] if isinstance(data, list) else data


def _paths(data: Any, path: KeyPath) -> Iterator[KeyPath]:
    """The path of a value and of everything in it."""
    yield path
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield from _paths(value, (*path, key))


def leaves(data: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Every single value and list with its path."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    else:
        yield path, data


def clashes(chosen: Mapping[str, Merged]) -> list[Problem]:
    """Overrides that were chosen together and say different things about one path."""
    problems = []
    seen: dict[KeyPath, tuple[str, Any, Place]] = {}
    for name, part in chosen.items():
        for path, value in leaves(part.data):
            for other in [known for known in seen if _meets(known, path) and seen[known][0] != name]:
                first, before, (other_file, other_line, _) = seen[other]
                if other != path or before != value:
                    file, line, column = part.place(path)
                    problems.append(
                        Problem(file, f'override "{name}" clashes with override "{first}"', line, column,
                                where=where(path), read=_shown(value),
                                expected=f"{_shown(before)} as in {other_file}:{other_line}",
                                hint="choose one of the two")
                    )
            seen[path] = (name, value, part.place(path))
    return problems


def _meets(one: KeyPath, other: KeyPath) -> bool:
    short = min(len(one), len(other))
    return one[:short] == other[:short]


def _shown(value: Any) -> str:
    return str(value)[:60]


def unknown_keys(part: Merged, path: KeyPath = ()) -> list[Problem]:
    """Keys that the schema does not know, in an override that may not have been chosen."""
    problems: list[Problem] = []
    data = part.get(path)
    if not isinstance(data, dict):
        return problems
    options = keys_at(ScenarioFile, path)
    for key in data:
        here = (*path, key)
        if options and key not in options:
            file, line, column = part.place(here, key=True)
            problems.append(Problem(file, "unknown key", line, column, where=where(path), read=f'"{key}"',
                                    hint=did_you_mean(key, options)))
        else:
            problems += unknown_keys(part, here)
    return problems
