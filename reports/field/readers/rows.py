"""One measured row: its columns, what is not stated, and numbers as tools print them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from reports.field.measured import CANONICAL
from reports.field.measured import frame as measured_frame

COLUMNS = tuple(CANONICAL)
TEXT_COLUMNS = frozenset(name for name, kind in CANONICAL.items() if kind == "text")

_GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?$")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+$")


def number(value: Any) -> float:
    """A number as tools write it: ``1,146.31`` as text, ``inf``, ``N/A``; NaN when it is none."""
    if isinstance(value, bool) or value is None:
        return math.nan
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:  # an integer of hundreds of digits
            return math.inf
    if not isinstance(value, str):
        return math.nan
    text = value.strip().rstrip("%x").strip().replace("_", "x")
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    elif _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return math.nan


def whole(value: float) -> float:
    """The nearest whole number; NaN for what is none."""
    return float(round(value)) if math.isfinite(value) else math.nan


def text(value: Any) -> str:
    """A name in a file, or '' for what is not one; ``None`` printed by Python counts as not stated."""
    if value is None or isinstance(value, dict | list | bool):
        return ""
    plain = str(value).strip().strip("'\"")
    return "" if plain.lower() in ("none", "null", "n/a", "auto", "nan") else plain


def date_of(value: Any) -> str:
    """``20260816-160853``, ``2026-08-16T…``, seconds or nanoseconds since 1970 -> ``2026-08-16``; '' otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        seconds = float(value)
        for _ in range(3):
            if seconds > 1e11:
                seconds /= 1000
        return pd.Timestamp(seconds, unit="s").date().isoformat() if 1e9 < seconds < 1e10 else ""
    found = re.match(r"\s*(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)", str(value or ""))
    if not found:
        return ""
    try:
        return pd.Timestamp("-".join(found.groups())).date().isoformat()
    except ValueError:
        return ""


def row(**values: Any) -> dict[str, Any]:
    """One row; what is not given is not stated."""
    unknown = set(values) - set(COLUMNS)
    if unknown:
        raise KeyError(f"no such column: {sorted(unknown)}")
    blank: dict[str, Any] = {name: "" if name in TEXT_COLUMNS else math.nan for name in COLUMNS}
    return {**blank, "quality": "B", "use": "fit", **values}


def frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of one file as a frame, numbered."""
    table = measured_frame([dict(each) for each in rows])
    table["row_id"] = [f"{index + 1}" for index in range(len(table))]
    return table
