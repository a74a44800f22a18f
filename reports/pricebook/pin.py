"""Pins a report to one state of the price book: later rows are not used, and a row that changed stops the build."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pandas as pd

from reports.catalog.records import Catalog
from reports.catalog.tables import TABLES, Cell
from reports.errors import InputError, Problem
from reports.scenario.schema import Scenario

PINNED = {"rental": "prices/rental.csv", "purchase": "prices/purchase.csv", "api": "prices/api.csv",
          "exchange": "prices/exchange.csv"}  # fmt: skip
"""Table of the catalog -> its file."""

PIN = "prices.pin.sha256"
"""Where a scenario states the digest."""


@dataclass(frozen=True)
class State:
    """The price book up to a day: a digest over every row, and how many rows each table has."""

    as_of: date
    sha256: str
    rows: dict[str, int]


def state(catalog: Catalog, as_of: date) -> State:
    """The state of the rows dated on or before a day, whatever their order and whatever came later."""
    digest, rows = hashlib.sha256(), {}
    for name, table in PINNED.items():
        known = _until(getattr(catalog, name), as_of)
        rows[name] = len(known)
        for line in sorted(_lines(known, TABLES[table])):
            digest.update(f"{name} {line}\n".encode())
    return State(as_of, digest.hexdigest(), rows)


def pinned(scenario: Scenario, catalog: Catalog) -> Catalog:
    """The catalog as the scenario pins it; InputError says which tables no longer are what they were."""
    pin = scenario.prices.pin
    if pin is None:
        return catalog
    found = state(catalog, pin.as_of)
    if found.sha256 != pin.sha256:
        moved = _changed({str(name): count for name, count in pin.rows.items()}, found.rows)
        raise InputError(
            Problem(f"{scenario.name}.yaml", f"the price book up to {pin.as_of} is not the pinned one: {moved}",
                    where=PIN, read=found.sha256, expected=pin.sha256,
                    hint="build with the catalogs of then, or pin anew: gpubook catalog pin")
        )  # fmt: skip
    return replace(catalog, **{name: _until(getattr(catalog, name), pin.as_of) for name in PINNED})


def broken_pins(files: Iterable[Path], catalog: Catalog, read: Callable[[Path], Scenario]) -> list[Problem]:
    """A problem for every scenario whose price book is no longer the pinned one; files that only others extend have
    none."""
    found: list[Problem] = []
    for file in files:
        try:
            pinned(read(file), catalog)
        except InputError as error:
            found += [each for each in error.problems if each.where == PIN]
    return found


def _changed(before: Mapping[str, int], now: dict[str, int]) -> str:
    moved = [f"{name} had {before[name]} rows and has {now[name]}" for name in now
             if name in before and before[name] != now[name]]  # fmt: skip
    return ", ".join(moved) or "the rows are as many, and one of them says something else"


def _until(frame: pd.DataFrame, as_of: date) -> pd.DataFrame:
    return frame[frame["as_of"].astype(str) <= as_of.isoformat()].reset_index(drop=True)


def _lines(frame: pd.DataFrame, cells: dict[str, Cell]) -> Iterator[str]:
    """Each row as text without what is as it would be by default, so that a new column moves no old digest."""
    for row in frame.to_dict("records"):
        kept = {str(name): value for name, value in row.items() if not _is_default(value, cells[str(name)].default)}
        yield json.dumps(kept, ensure_ascii=False, sort_keys=True, default=str)


def _is_default(value: object, default: object) -> bool:
    if isinstance(value, float) and math.isnan(value):
        return True
    return value == default
