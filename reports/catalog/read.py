"""Reads catalogs/ and any overlays into one frozen Catalog, or lists everything that is wrong with them."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from reports.catalog.entries import KINDS, Read, read_entries
from reports.catalog.records import Assumption, Catalog, Entry, Fact, Gpu, Link, LoadProfile, Quantization, Source
from reports.catalog.select import names_of
from reports.catalog.tables import KEYS, TABLES, Known, Line, read_table
from reports.columns import CALIBRATED, LEAF, LEAVES
from reports.errors import InputError, Problem
from reports.paths import catalogs_folder
from reports.strict_yaml import did_you_mean
from reports.yaml_problems import KeyPath

PRICES = ("prices/rental.csv", "prices/purchase.csv", "prices/api.csv", "prices/exchange.csv")
RESTRICTIONS, PROCESSORS = "restrictions.csv", "processors.csv"
DATED = (*PRICES, RESTRICTIONS, PROCESSORS)

INTERPOLATED = {"residual_share"}
"""Assumptions that are not rows: made from rows at two horizons."""

_OTHER = {"README.md", "prices/headers.csv", "links/curves.csv", "measured", "schema"}
"""What else may lie in a catalog folder; read by other parts of the program, or by people."""


@dataclass
class _Reading:
    """What has been read so far; later folders replace entries and append rows."""

    entries: dict[str, dict[str, Read]] = field(default_factory=lambda: {kind.scope: {} for kind in KINDS})
    sources: dict[str, Source] = field(default_factory=dict)
    assumptions: dict[tuple[str, str], Assumption] = field(default_factory=dict)
    assumption_places: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    calibrated: dict[tuple[str, str, str], Assumption] = field(default_factory=dict)
    prices: dict[str, list[Line]] = field(default_factory=lambda: {table: [] for table in DATED})
    files: list[tuple[str, str]] = field(default_factory=list)
    unreadable: dict[str, set[str]] = field(default_factory=lambda: {kind.scope: set() for kind in KINDS})
    mentioned: dict[str, set[str]] = field(default_factory=lambda: {"sources.csv": set(), "assumptions.csv": set()})
    """What the first columns of these tables name, in refused rows too: a bad row is reported once, where it is."""
    problems: list[Problem] = field(default_factory=list)

    def ids(self) -> Known:
        return Known(self.named_sources(), self.named("gpu"), self.named("model"), self.named("engine"))

    def named_sources(self) -> dict[str, object]:
        return {**self.sources, **dict.fromkeys(self.mentioned["sources.csv"])}

    def named(self, scope: str) -> dict[str, object]:
        """Entries, and files that hold none because something is wrong with them."""
        return {**self.entries[scope], **dict.fromkeys(self.unreadable[scope])}


def read_catalog(overlays: Iterable[str | Path] = (), *, folder: str | Path | None = None) -> Catalog:
    """The shipped catalog (or the one in ``folder``) with overlays applied in order; InputError lists all problems."""
    reading = _Reading()
    shipped = Path(folder) if folder is not None else catalogs_folder()
    places = [(shipped, "catalogs/")]
    places += [(Path(each), f"{Path(each).name}/") for each in overlays]
    for place, label in places:
        if not place.is_dir():
            reading.problems.append(Problem(str(place), "no such folder", expected="a catalog folder"))
            continue
        _read_folder(place, label, reading)
    _check_aliases(reading)
    _check_references(reading)
    _check_assumptions(reading)
    if reading.problems:
        order = {name: index for index, (name, _) in enumerate(reading.files)}
        raise InputError(sorted(reading.problems, key=lambda each: (order.get(each.file, -1), each.line or 0)))
    entries: dict[str, Mapping[str, Any]] = {
        scope: {each.entry.id: each.entry for each in found.values()} for scope, found in reading.entries.items()
    }
    frames = {table: _frame(table, lines) for table, lines in reading.prices.items()}
    return Catalog(
        gpus=entries["gpu"],
        models=entries["model"],
        quantizations=entries["quantization"],
        engines=entries["engine"],
        hosts=entries["host"],
        links=entries["link"],
        profiles=entries["profile"],
        lengths=entries["lengths"],
        assumptions=reading.assumptions,
        calibrated=reading.calibrated,
        sources=reading.sources,
        rental=frames["prices/rental.csv"],
        purchase=frames["prices/purchase.csv"],
        api=frames["prices/api.csv"],
        exchange=frames["prices/exchange.csv"],
        restrictions=frames[RESTRICTIONS],
        processors=frames[PROCESSORS],
        files=tuple(reading.files),
        overlays=tuple(str(place) for place, _ in places[1:]),
    )


def _read_folder(folder: Path, label: str, reading: _Reading) -> None:
    problems = reading.problems
    problems.extend(_strangers(folder, label))
    for table, names in reading.mentioned.items():
        names |= _first_column(folder / table)
    for line in read_table(folder, "sources.csv", label, reading.ids(), problems):
        reading.sources[line.row["id"]] = Source(**line.row)
    for kind in KINDS:
        for each in read_entries(folder, kind, label, problems, reading.unreadable[kind.scope]):
            reading.entries[kind.scope][each.entry.id] = each
    for line in read_table(folder, "assumptions.csv", label, reading.ids(), problems):
        row = Assumption(**line.row)
        if row.engine or row.gpu:
            problems.extend(_wrong_scope(row, line))
            reading.calibrated[row.name, row.engine, row.gpu] = row
            continue
        reading.assumptions[row.name, row.region] = row
        reading.assumption_places[row.name, row.region] = (line.file, line.line)
    for table in DATED:
        lines = read_table(folder, table, label, reading.ids(), problems)
        problems.extend(_given_twice(table, reading.prices[table], lines))
        reading.prices[table] += lines
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".yaml", ".csv") and path.is_file():
            name = label + path.relative_to(folder).as_posix()
            reading.files.append((name, hashlib.sha256(path.read_bytes()).hexdigest()))


def _wrong_scope(row: Assumption, line: Line) -> Iterator[Problem]:
    """A coefficient of one card under one engine: which may be, in which unit, and where."""
    if row.name not in CALIBRATED:
        yield Problem(line.file, "does not depend on the card", line.line, where=row.name,
                      expected=f"no engine and no gpu, or one of {', '.join(CALIBRATED)}")
        return
    if not (row.engine and row.gpu) or row.region != "global":
        yield Problem(line.file, "names a part of what it was measured on", line.line, where=row.name,
                      expected="an engine, a gpu, and the region global")
    if row.unit != LEAF[row.name].unit:
        yield Problem(line.file, "has another unit than the formulas", line.line, where=row.name,
                      read=f'"{row.unit}"', expected=f'"{LEAF[row.name].unit}"')


def _first_column(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        return {cells[0].strip() for cells in csv.reader(stream) if cells and cells[0].strip()}


def _strangers(folder: Path, label: str) -> Iterator[Problem]:
    """Files that nothing would read: most likely a misspelt folder."""
    kinds = [kind.folder for kind in KINDS]
    known = {*TABLES, *_OTHER}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        name = relative.as_posix()
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.is_dir() or hidden or name in known or relative.parts[0] in _OTHER:
            continue
        if relative.parent.as_posix() in kinds and path.suffix == ".yaml":
            continue
        first = relative.parts[0] if relative.parts[0] not in (*kinds, "prices") else name
        yield Problem(label + name, "is not part of a catalog", expected=", ".join([*kinds, "prices"]),
                      hint=did_you_mean(first, [*kinds, "prices", *known]))


def _given_twice(table: str, before: list[Line], lines: list[Line]) -> Iterator[Problem]:
    if not before or table not in KEYS:
        return
    key = KEYS[table]
    seen = {tuple(each.row[name] for name in key): each for each in before}
    for each in lines:
        first = seen.get(tuple(each.row[name] for name in key))
        if first:
            yield Problem(each.file, "was given before", each.line, where=", ".join(key),
                          hint=f"the first is {first.file}:{first.line}; give a new price a new id")


def _check_aliases(reading: _Reading) -> None:
    for found in reading.entries.values():
        owner: dict[str, Entry] = {}
        for each in found.values():
            for name, written in names_of(each.entry).items():
                if not name:
                    continue  # the schema has refused it
                other = owner.setdefault(name, each.entry)
                if other is not each.entry:
                    aliases = list(each.entry.aliases)
                    path: KeyPath = ("aliases", aliases.index(written)) if written in aliases else ("name",)
                    _note(reading, each, path, "names another entry too", read=f'"{written}"',
                          hint=f"the other is {other.file}")


def _check_references(reading: _Reading) -> None:
    """Ids that nothing has; an empty one was refused before."""
    sources = reading.named_sources()
    for found in reading.entries.values():
        for each in found.values():
            for path, fact in _facts(each.entry):
                if fact.source and fact.source not in sources:
                    _note(reading, each, (*path, "source"), "unknown source", read=f'"{fact.source}"',
                          hint=did_you_mean(fact.source, sources))
            for path, name, scope in _references(each.entry):
                known = reading.named(scope)
                if name and name not in known:
                    _note(reading, each, path, f"unknown {scope}", read=f'"{name}"', hint=did_you_mean(name, known))
            if isinstance(each.entry, Gpu):
                _check_link_kinds(reading, each, each.entry)
            for path, source in _more_sources(each.entry):
                if source and source not in sources:
                    _note(reading, each, path, "unknown source", read=f'"{source}"', hint=did_you_mean(source, sources))


def _check_link_kinds(reading: _Reading, each: Read, gpu: Gpu) -> None:
    for kind, name in (("nvlink", gpu.nvlink), ("pcie", gpu.pcie)):
        link = reading.entries["link"].get(name or "")
        if link and isinstance(link.entry, Link) and link.entry.kind != kind:
            _note(reading, each, (kind,), "is a link of another kind", read=f'"{name}"',
                  expected=f"a link of kind {kind}")


def _facts(entry: Entry) -> Iterator[tuple[KeyPath, Fact]]:
    """Every fact with its path; a source that stands at the top of the file is placed by the nearest key."""
    yield from ((("facts", name), fact) for name, fact in entry.facts.items())
    if isinstance(entry, Quantization):
        yield from ((("moe_facts", name), fact) for name, fact in entry.moe_facts.items())
    if isinstance(entry, Link):
        for cards, point in entry.points.items():
            yield from ((("points", str(cards), name), fact) for name, fact in point.items())


def _more_sources(entry: Entry) -> Iterator[tuple[KeyPath, str]]:
    """Sources that are named beside the facts."""
    if isinstance(entry, Quantization):
        yield ("quality", "source"), entry.quality.source
    if isinstance(entry, LoadProfile):
        yield ("source",), entry.source


def _references(entry: Entry) -> Iterator[tuple[KeyPath, str, str]]:
    if isinstance(entry, Gpu):
        yield ("pcie",), entry.pcie, "link"
        yield ("host",), entry.host, "host"
        if entry.nvlink is not None:
            yield ("nvlink",), entry.nvlink, "link"


def _note(reading: _Reading, each: Read, path: KeyPath, message: str, **more: str) -> None:
    if path[-1] == "source" and path not in each.document.positions:
        path = ("source",)
    file, line, column = each.document.place(path)
    problem = Problem(file, message, line, column, where=".".join(map(str, path)), **more)
    if problem not in reading.problems:
        reading.problems.append(problem)


def _check_assumptions(reading: _Reading) -> None:
    """Every assumption that a formula reads has a global row, and the formulas' unit in every row."""
    file = "catalogs/assumptions.csv"
    if not reading.assumptions:
        if not any(problem.file == file for problem in reading.problems):
            reading.problems.append(Problem(file, "is missing or has no rows"))
        return
    units = {leaf.name: leaf.unit for leaf in LEAVES if leaf.scope == "assumption" and leaf.name not in INTERPOLATED}
    for name in units:
        if (name, "global") not in reading.assumptions and name not in reading.mentioned["assumptions.csv"]:
            reading.problems.append(Problem(file, f"the assumption {name} has no row for the region global"))
    for key, row in reading.assumptions.items():
        place, line = reading.assumption_places[key]
        if row.unit != units.get(row.name, row.unit):
            reading.problems.append(
                Problem(place, "has another unit than the formulas", line, where=row.name, read=f'"{row.unit}"',
                        expected=f'"{units[row.name]}"')
            )
        if row.name in INTERPOLATED:
            reading.problems.append(
                Problem(place, "is interpolated, not a row", line, where=row.name,
                        hint=f"give {row.name}_36_months and {row.name}_60_months")
            )


def _frame(table: str, lines: list[Line]) -> pd.DataFrame:
    """Rows as a frame with one type a column, also when there are no rows."""
    columns = {}
    for name, cell in TABLES[table].items():
        values = [line.row[name] for line in lines]
        dtype = {"number": "float64", "whole": "int64", "flag": "bool"}.get(cell.kind, "object")
        columns[name] = pd.Series(values, dtype=dtype)
    return pd.DataFrame(columns)
