"""What a published benchmark did to every run and says once, beside its tables: how many requests, which limits."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Mapping
from typing import Any

from reports.paths import catalogs_folder

TABLE = "recipes.csv"
FILLED = ("requests", "equal_lengths", "memory_utilisation", "sequence_limit")
"""Columns of a row that a recipe fills in where the row does not state them."""

Recipe = Mapping[str, float]


@functools.cache
def recipes() -> Mapping[tuple[str, str, float, float], Recipe]:
    """(source, start, input tokens, output tokens) -> what ran; sequence_limit counts over all pipeline stages,
    equal_lengths is 1 where every request has the mean lengths."""
    with (catalogs_folder() / "measured" / TABLE).open(encoding="utf-8", newline="") as file:
        return {
            (row["source"], row["start"], float(row["input_tokens"]), float(row["output_tokens"])): {
                name: float(row[name]) for name in FILLED
            }
            for row in csv.DictReader(file)
        }


def fill(made: dict[str, Any]) -> None:
    """The canonical row completed by the recipe of its source, if there is one."""
    found = recipes().get((made["source"], made["start"], made["input_tokens"], made["output_tokens"]))
    for name, value in (found or {}).items():
        if math.isnan(made[name]):
            made[name] = value / made["pipeline_parallel"] if name == "sequence_limit" else value
