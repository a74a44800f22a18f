"""What one cell of a measured table may hold, and what a row of cells cannot be: a machine that does not exist."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from reports.field.names import lookup

BLANK = frozenset({"", "-", "nan", "none", "n/a", "null"})
_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)(e[-+]?\d+)?", re.I)
_GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")

COUNTS = {
    "tensor_parallel": "tensor ranks", "data_parallel": "data ranks", "pipeline_parallel": "pipeline stages",
    "gpu_count": "cards",
}  # fmt: skip
"""Columns that count whole things."""

POSITIVE = {
    "input_tokens": "input tokens", "output_tokens": "output tokens", "batch_requests": "requests together",
    "request_rate_per_s": "requests per second", "requests": "requests", "sequence_limit": "scheduled requests",
    "chunk_tokens": "tokens of a chunk", "context_tokens": "tokens of context",
}  # fmt: skip
"""Columns that are above zero where they are stated."""

MOST = 1e9
"""More tokens, requests or cards than any machine has."""

LEAST_PERCENT = 10.0
"""A share of memory above one is a percentage from here on; between the two it is neither."""


def number(text: str) -> tuple[float, str]:
    """``(value, problem)``: NaN for an empty cell; a problem for what is no finite number."""
    text = (text or "").strip()
    if text.lower() in BLANK:
        return math.nan, ""
    if _GROUPED.fullmatch(text):
        return float(text.replace(",", "")), ""
    value = float(text) if _NUMBER.fullmatch(text) and text.isascii() else math.nan
    if math.isfinite(value):
        return value, ""
    return math.nan, f"not a number: {text[:40]!r}"


def share(value: float) -> tuple[float, str, str]:
    """``(share, note, problem)`` of memory, whether it was written 0.9 or 90."""
    if math.isnan(value) or 0 < value <= 1:
        return value, "", ""
    if LEAST_PERCENT <= value <= 100:
        return value / 100, f"memory share {value:g} read as per cent", ""
    return math.nan, "", f"a memory share of {value:g}: must be above 0 and at most 1, or a percentage"


def link(name: str) -> tuple[str, str]:
    """``(id, problem)`` of a link between cards; '' where it is not stated."""
    found = lookup("interconnect", name)
    if found is None and name.strip():
        return "", f'unknown interconnect "{name.strip()}": nvlink or pcie'
    return (found.id if found else ""), ""


def impossible(row: Mapping[str, Any]) -> Iterator[str]:
    """What a row says that no machine and no load test can be."""
    for column, word in COUNTS.items():
        value = row[column]
        if not math.isnan(value) and not (1 <= value <= MOST and value == int(value)):
            yield f"{value:g} {word}: must be a whole number from 1 on"
    for column, word in POSITIVE.items():
        value = row[column]
        if not math.isnan(value) and not 0 < value <= MOST:
            yield f"{value:g} {word}: {'must be above 0' if value <= 0 else 'more than anything measured has'}"
    ranks, cards = row["tensor_parallel"] * row["data_parallel"] * row["pipeline_parallel"], row["gpu_count"]
    if ranks > cards >= 1:
        yield f"{ranks:g} ranks on {cards:g} cards"
