"""Judgements of how measurements are read, compared and weighed: each is a row of a table with its reason."""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass

from reports.paths import catalogs_folder

TABLE = "rules.csv"


@dataclass(frozen=True)
class Rule:
    """One row of catalogs/measured/rules.csv; ``note`` says why."""

    low: float
    mid: float
    high: float
    unit: str
    note: str


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Every rule by its name."""
    with (catalogs_folder() / "measured" / TABLE).open(encoding="utf-8", newline="") as file:
        return {
            row["name"]: Rule(float(row["low"]), float(row["mid"]), float(row["high"]), row["unit"], row["note"])
            for row in csv.DictReader(file)
        }


def rule(name: str) -> float:
    """The value in use; KeyError for a name that has no row."""
    return rules()[name].mid
