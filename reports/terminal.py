"""Records as plain text and as JSON, for the command line."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reports.catalog.browse import KINDS, show
from reports.catalog.entries import FACTS
from reports.catalog.records import Catalog, Entry
from reports.catalog.select import UnknownName
from reports.strict_yaml import did_you_mean

_WIDEST = 60


def find_entry(catalog: Catalog, name: str, kind: str | None) -> tuple[Entry, pd.DataFrame]:
    """An entry by any of its names, of any kind unless one is given, and its facts."""
    for each in (kind,) if kind else FACTS:
        try:
            return show(catalog, each, name)
        except UnknownName:
            if kind:
                raise
    ids = [known for each in FACTS for known in getattr(catalog, KINDS[each])]
    hint = did_you_mean(name, ids)
    raise UnknownName(f'unknown entry "{name}"' + (f"; {hint}" if hint else ""))


def entry_record(entry: Entry) -> dict[str, Any]:
    """What an entry says about itself besides its facts."""
    apart, nothing = ("facts", "moe_facts", "points"), ("", None, (), {})
    found = {name: value for name, value in vars(entry).items() if name not in apart and value not in nothing}
    return {name: plain(vars(value) if hasattr(value, "__dict__") else value) for name, value in found.items()}


def plain(data: Any) -> Any:
    """The same with only what JSON has: NaN becomes null, NumPy scalars become Python's."""
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if hasattr(data, "item"):
        data = data.item()
    return None if isinstance(data, float) and not math.isfinite(data) else data


def table(records: Sequence[Mapping[Any, Any]]) -> str:
    """Records as aligned columns; long text is cut."""
    if not records:
        return "nothing"
    names = list(records[0])
    rows = [[str(name) for name in names]] + [[_cell(record[name]) for name in names] for record in records]
    widths = [max(_width(row[index]) for row in rows) for index in range(len(names))]
    return "\n".join(
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _cell(value: Any) -> str:
    value = plain(value)
    text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _width(text: str) -> int:
    """Columns on a terminal: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
