"""Reads the CSV tables of one catalog folder: every cell checked, every problem with its line."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reports.catalog.records import (
    BASES,
    CONFIDENCES,
    CURRENCIES,
    PRECISIONS,
    PRICE_KINDS,
    PRICE_UNITS,
    PURCHASE_KINDS,
    REGIONS,
    SEGMENTS,
    STATUSES,
    VAT_BASES,
    Row,
    as_date,
)
from reports.errors import Problem
from reports.strict_yaml import UNSHOWABLE, did_you_mean

_PRECISION_OF = {4: "year", 7: "month", 10: "day"}
_MISSING = object()
DAY_LETTERS = 10
MOST = 1e15
"""More than any price, rate or measure; sums of such numbers would lose their small parts."""

OFFER_REGIONS = (*REGIONS, "asia", "other")


@dataclass(frozen=True)
class Cell:
    """What a column may hold. ``default`` stands for an empty cell or an absent column; none: it must be given."""

    kind: str = "text"
    default: object = _MISSING
    choices: tuple[str, ...] = ()
    least: float = 0.0
    above: bool = False
    """The least itself is not allowed."""


_TEXT, _NOTE = Cell(), Cell(default="")
_PRICE = Cell("number", above=True)
_DATE = Cell("date")
_CURRENCY = Cell("choice", choices=CURRENCIES)
_BASIS = Cell("choice", choices=BASES)
_SOURCE = Cell("source")
_PRECISION = Cell("choice", default="", choices=PRECISIONS)
_YES = Cell("flag", default=True)
_CARDS = Cell("whole", least=1)
_VAT = Cell("choice", "unstated", VAT_BASES)
_UNTIL = Cell("day", default="")

TABLES: dict[str, dict[str, Cell]] = {
    "sources.csv": {"id": _TEXT, "title": _TEXT, "locator": _TEXT, "licence": _TEXT, "checked_on": _DATE},
    "assumptions.csv": {
        "name": _TEXT, "region": Cell("choice", choices=REGIONS), "currency": Cell("choice", "", CURRENCIES),
        "low": Cell("number"), "mid": Cell("number"), "high": Cell("number"), "unit": _TEXT, "basis": _BASIS,
        "source": _SOURCE, "locator": _NOTE, "checked_on": _DATE, "note": _NOTE,
        "engine": Cell("engine", default=""), "gpu": Cell("gpu", default=""),
    },
    "prices/rental.csv": {
        "offer_id": _TEXT, "gpu": Cell("gpu", default=""), "gpu_name": _NOTE, "provider": _TEXT,
        "segment": Cell("choice", choices=SEGMENTS), "instance": _TEXT, "instance_cards": _CARDS,
        "region": Cell("choice", choices=OFFER_REGIONS), "location": _NOTE, "currency": _CURRENCY,
        "price_per_card_hour": _PRICE, "term": Cell("term"), "as_of": _DATE, "precision": _PRECISION,
        "status": Cell("choice", "ok", STATUSES), "source": _SOURCE, "basis": _BASIS, "confirmed": _YES,
        "note": _NOTE, "price_kind": Cell("choice", "list", PRICE_KINDS), "vat": _VAT, "valid_until": _UNTIL,
        "quoted_unit": Cell("choice", "card-hour", PRICE_UNITS),
    },
    "prices/purchase.csv": {
        "purchase_id": _TEXT, "gpu": Cell("gpu", default=""), "item": _NOTE,
        "kind": Cell("choice", choices=PURCHASE_KINDS), "cards": _CARDS, "region": Cell("choice", choices=REGIONS),
        "currency": _CURRENCY, "price_low": _PRICE, "price": _PRICE, "price_high": _PRICE, "basis": _BASIS,
        "confidence": Cell("choice", "medium", CONFIDENCES), "confirmed": _YES, "source": _SOURCE, "as_of": _DATE,
        "precision": _PRECISION, "note": _NOTE, "provider": _NOTE,
        "price_kind": Cell("choice", "estimate", PRICE_KINDS), "vat": _VAT, "valid_until": _UNTIL,
    },
    "prices/api.csv": {
        "model": Cell("model", default=""), "huggingface_id": _NOTE, "provider": _TEXT, "provider_model": _TEXT,
        "currency": _CURRENCY, "input_per_mtok": Cell("number"), "output_per_mtok": Cell("number"),
        "cached_input_per_mtok": Cell("number", default=math.nan), "source": _SOURCE, "as_of": _DATE,
        "precision": _PRECISION, "note": _NOTE, "price_kind": Cell("choice", "list", PRICE_KINDS), "vat": _VAT,
        "valid_until": _UNTIL,
    },
    "restrictions.csv": {
        "gpu": Cell("gpu"), "region": Cell("choice", choices=REGIONS), "rule": _TEXT, "basis": _BASIS,
        "source": _SOURCE, "as_of": _DATE, "confirmed": _YES, "note": _NOTE,
    },
    "processors.csv": {
        "processor": _TEXT, "name": _TEXT, "cores": _CARDS, "clock_ghz": _PRICE, "boost_ghz": _PRICE, "basis": _BASIS,
        "source": _SOURCE, "as_of": _DATE, "confirmed": _YES, "note": _NOTE,
    },
    "prices/exchange.csv": {
        "base": _CURRENCY, "quote": _CURRENCY, "rate": _PRICE, "source": _SOURCE, "as_of": _DATE,
    },
}  # fmt: skip
"""Every table of a catalog: columns in their usual order and what each may hold."""

KEYS: dict[str, tuple[str, ...]] = {
    "sources.csv": ("id",),
    "assumptions.csv": ("name", "region", "engine", "gpu"),
    "prices/rental.csv": ("offer_id",),
    "prices/purchase.csv": ("purchase_id",),
    "prices/exchange.csv": ("base", "quote", "as_of"),
    "restrictions.csv": ("gpu", "region"),
    "processors.csv": ("processor",),
}
"""Columns that together may not repeat."""

_ORDERED = {"assumptions.csv": ("low", "mid", "high"), "prices/purchase.csv": ("price_low", "price", "price_high")}


@dataclass(frozen=True)
class Known:
    """Ids that a table may refer to."""

    sources: Mapping[str, object]
    gpus: Mapping[str, object]
    models: Mapping[str, object]
    engines: Mapping[str, object]


class _Table:
    """One file being read."""

    def __init__(self, file: str, table: str, known: Known) -> None:
        self.file, self.columns, self.known = file, TABLES[table], known
        self.problems: list[Problem] = []
        self.line = 1

    def problem(self, message: str, *, where: str = "", read: str = "", expected: str = "", hint: str = "") -> None:
        """Note one problem in the current line."""
        self.problems.append(
            Problem(self.file, message, self.line, where=where, read=read, expected=expected, hint=hint)
        )

    def header(self, names: list[str]) -> bool:
        """Whether the first line names the columns."""
        before = len(self.problems)
        if len(names) == 1 and ";" in names[0]:
            self.problem("has no commas", read=f'"{names[0][:40]}"', expected="cells separated by commas",
                         hint="save the file as CSV UTF-8 with commas")
            return False
        for name in names:
            if name not in self.columns:
                self.problem("unknown column", read=f'"{name}"', hint=did_you_mean(name, self.columns))
            elif names.count(name) > 1:
                self.problem("a column that is there twice", read=f'"{name}"')
        for name, cell in self.columns.items():
            if name not in names and cell.default is _MISSING:
                self.problem("a column is missing", expected=f'"{name}"')
        return len(self.problems) == before

    def row(self, names: list[str], cells: list[str]) -> Row | None:
        """One line as values, or nothing when something is wrong with it."""
        before = len(self.problems)
        if len(cells) != len(names):
            self.problem("has the wrong number of cells", read=str(len(cells)), expected=str(len(names)))
            return None
        given = dict(zip(names, cells, strict=True))
        row: Row = {}
        for name, cell in self.columns.items():
            text = given.get(name, "").strip()
            if text == "":
                if cell.default is _MISSING:
                    self.problem("is empty", where=name, expected=self._expected(cell))
                row[name] = cell.default
            else:
                row[name] = self._value(name, cell, text)
        if len(self.problems) == before and "as_of" in row:
            text = given["as_of"].strip()
            if "precision" in row and not row["precision"]:
                row["precision"] = _PRECISION_OF[len(text)]
            row["as_of"] = as_date(text).isoformat()
        return row if len(self.problems) == before else None

    def _expected(self, cell: Cell) -> str:
        return ", ".join(cell.choices) if cell.choices else {"text": "text", "source": "an id of sources.csv"}.get(
            cell.kind, f"a {cell.kind}"
        )

    def _value(self, name: str, cell: Cell, text: str) -> object:
        unshowable = UNSHOWABLE.search(text)
        if unshowable:
            self.problem("a control character in a text", where=name, read=f"U+{ord(unshowable.group()):04X}",
                         expected="text that can be shown")
        if cell.kind in ("number", "whole"):
            return self._number(name, cell, text)
        if cell.kind == "flag" and text in ("true", "false"):
            return text == "true"
        if cell.kind == "flag":
            self.problem("is not a flag", where=name, read=f'"{text}"', expected="true or false")
        elif cell.kind == "choice" and text not in cell.choices:
            self.problem("is not one of the accepted values", where=name, read=f'"{text}"',
                         expected=", ".join(cell.choices), hint=did_you_mean(text, cell.choices))
        elif cell.kind == "date" and not _is_date(text):
            self.problem("is not a date", where=name, read=f'"{text}"', expected="2026-11-30, 2026-11 or 2026")
        elif cell.kind == "day" and not (len(text) == DAY_LETTERS and _is_date(text)):
            self.problem("is not a day", where=name, read=f'"{text}"', expected="a day such as 2026-12-31")
        elif cell.kind == "term" and not _is_term(text):
            self.problem("is not a rental term", where=name, read=f'"{text}"',
                         expected="on-demand, spot, or reserved- with months or years, such as reserved-1y")
        elif cell.kind in ("source", "gpu", "model", "engine"):
            ids: Mapping[str, object] = getattr(self.known, f"{cell.kind}s")
            if text not in ids:
                self.problem(f"unknown {cell.kind}", where=name, read=f'"{text}"', hint=did_you_mean(text, ids))
        return text

    def _number(self, name: str, cell: Cell, text: str) -> float | int:
        try:
            value = float(text) if "_" not in text and text.isascii() else math.nan
        except ValueError:
            value = math.nan
        bound = f"{'more than' if cell.above else 'at least'} {cell.least:g}"
        if not math.isfinite(value):
            self.problem("is not a number", where=name, read=f'"{text}"', expected=f"a number, {bound}")
        elif value > MOST:
            self.problem("is out of range", where=name, read=text, expected=f"at most {MOST:g}")
        elif value < cell.least or (cell.above and value == cell.least):
            self.problem("is out of range", where=name, read=text, expected=bound)
        elif cell.kind == "whole":
            if value != int(value):
                self.problem("is not a whole number", where=name, read=text)
            return int(value)
        return value


def _is_date(text: str) -> bool:
    try:
        as_date(text)
    except ValueError:
        return False
    return True


def _is_term(text: str) -> bool:
    length = text.removeprefix("reserved-")
    return text in ("on-demand", "spot") or (length != text and length[:-1].isdecimal() and length[-1] in "my")


@dataclass(frozen=True)
class Line:
    """One good row and where it stands."""

    row: Row
    file: str
    line: int


def read_table(folder: Path, table: str, label: str, known: Known, problems: list[Problem]) -> list[Line]:
    """The good rows of one table (none when the folder lacks the file); problems are appended."""
    path = folder / table
    file = label + table
    if not path.is_file():
        return []
    reading = _Table(file, table, known)
    lines: list[Line] = []
    seen: dict[tuple[object, ...], int] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            names = [name.strip() for name in next(reader, [])]
            good = reading.header(names)
            for cells in reader if good else ():
                reading.line = reader.line_num
                row = reading.row(names, cells) if any(cells) else None
                if row is None:
                    continue
                _whole_row(reading, row, table, seen)
                lines.append(Line(row, file, reading.line))
    except UnicodeDecodeError:
        reading.line = _first_bad_line(path)
        reading.problem("is not UTF-8 text", hint="save the file as UTF-8 (CSV UTF-8 in a spreadsheet program)")
    except csv.Error as error:
        reading.line += 1
        reading.problem(f"is not valid CSV: {error}")
    problems.extend(reading.problems)
    return lines


def _first_bad_line(path: Path) -> int:
    """The line that is not UTF-8; the error knows only where in its buffer."""
    raw = path.read_bytes()
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return raw.count(b"\n", 0, error.start) + 1
    return 1


def _whole_row(reading: _Table, row: Row, table: str, seen: dict[tuple[object, ...], int]) -> None:
    if table in _ORDERED:
        names = _ORDERED[table]
        low, mid, high = (row[name] for name in names)
        if not low <= mid <= high:
            reading.problem("is out of order", where=names[1], read=f"{low:g}, {mid:g}, {high:g}",
                            expected=" <= ".join(names))
    if table == "assumptions.csv" and ("currency" in row["unit"]) != bool(row["currency"]):
        reading.problem("does not agree with the unit", where="currency", read=f'"{row["currency"]}"',
                        expected=f"a currency exactly when the unit has one; the unit is {row['unit']}")
    if table == "prices/exchange.csv" and row["base"] == row["quote"]:
        reading.problem("is the same as base", where="quote", read=row["quote"])
    if table in KEYS:
        key = tuple(row[name] for name in KEYS[table])
        if key in seen:
            reading.problem("was given before", where=", ".join(KEYS[table]), read=", ".join(map(str, key)),
                            hint=f"the first is in line {seen[key]}")
        seen.setdefault(key, reading.line)
