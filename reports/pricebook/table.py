"""Finds the table of prices in a sheet: its row of headers, what each column means, and the labels around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reports.errors import InputError, Problem
from reports.pricebook.cells import Sheet, Value
from reports.pricebook.numbers import amount
from reports.pricebook.words import COLUMNS, LABELS, ListMapping, Words, no_header, plain

PRICES = ("unit_price", "unit_price_excluded", "unit_price_included", "line_total")
LEAST_COLUMNS = 2


@dataclass(frozen=True)
class Label:
    """A statement beside the table, such as ``Valid until: 2026-12-31``; a row of -1: the mapping file says so."""

    value: Value
    row: int = -1
    column: int = 0


@dataclass(frozen=True)
class Table:
    """Where everything is: the sheet, the row of headers, field -> column, label -> its value."""

    sheet: Sheet
    header: int
    columns: Mapping[str, int]
    labels: Mapping[str, Label]

    def problem(self, row: int, field: str, message: str, **more: object) -> Problem:
        """A problem at a column of a line."""
        return self.sheet.problem(row, self.columns.get(field, 0), message, **more)  # type: ignore[arg-type]

    def label_problem(self, name: str, message: str, **more: object) -> Problem:
        """A problem at a label, or at the mapping's constant."""
        label = self.labels[name]
        if label.row < 0:
            read = str(more.pop("read", ""))
            return Problem(f"constants.{name}", message, read=read, **more)  # type: ignore[arg-type]
        return self.sheet.problem(label.row, label.column, message, **more)  # type: ignore[arg-type]


def find_table(sheets: list[Sheet], mapping: ListMapping, words: Words) -> Table:
    """The first table of prices; InputError when there is none, or when its headers are merged."""
    file = sheets[0].file
    chosen = [each for each in sheets if not mapping.sheet or each.name == mapping.sheet]
    if not chosen:
        names = ", ".join(each.name for each in sheets)
        raise InputError(Problem(file, "has no such sheet", read=f'"{mapping.sheet}"', expected=names))
    merged: list[Problem] = []
    for sheet in chosen:
        rows = range(len(sheet.rows)) if mapping.header_row is None else [mapping.header_row - 1]
        for row in rows:
            columns = _columns(sheet, row, mapping, words)
            if _is_header(columns, mapping):
                _refuse_merged(sheet, row, columns)
                return Table(sheet, row, columns, _labels(sheet, row, columns, mapping, words))
            merged += _merged(sheet, row) if len(columns) >= LEAST_COLUMNS else []
    if merged:
        raise InputError(merged)
    texts = [str(cell) for sheet in chosen for row in sheet.rows for cell in row if isinstance(cell, str)]
    raise no_header(file, texts, {str(name): text for name, text in mapping.columns.items()})


def _columns(sheet: Sheet, row: int, mapping: ListMapping, words: Words) -> dict[str, int]:
    named = {plain(text): field for field, text in mapping.columns.items()}
    found: dict[str, int] = {}
    for index, cell in enumerate(sheet.rows[row] if row < len(sheet.rows) else ()):
        if not isinstance(cell, str):
            continue
        field = named.get(plain(cell), "")
        if not field:
            field = words.field_of(cell, tuple(each for each in COLUMNS if each not in mapping.columns))
        if field:
            found.setdefault(field, index)
    return found


def _is_header(columns: Mapping[str, int], mapping: ListMapping) -> bool:
    if not set(mapping.columns) <= set(columns):
        return False
    has_item = bool({"item", "gpu"} & (set(columns) | set(mapping.constants)))
    return has_item and any(name in columns for name in PRICES) and len(columns) >= LEAST_COLUMNS


def _merged(sheet: Sheet, row: int) -> list[Problem]:
    return [
        sheet.problem(top, left, "header cells are merged", read=sheet.value(top, left) or "",
                      expected="one header over each column", hint="unmerge the cells and repeat the header")
        for top, left, bottom, right in sheet.merged
        if top <= row <= bottom and (right > left or bottom > top)
    ]  # fmt: skip


def _refuse_merged(sheet: Sheet, header: int, columns: Mapping[str, int]) -> None:
    used = set(columns.values())
    problems = _merged(sheet, header)
    for top, left, bottom, right in sheet.merged:
        if top > header and bottom > top and used & set(range(left, right + 1)):
            problems.append(
                sheet.problem(top, left, "cells of several lines are merged", read=sheet.value(top, left) or "",
                              expected="a value in every line", hint="unmerge and repeat the value")
            )
    if problems:
        raise InputError(problems)


def _labels(
    sheet: Sheet, header: int, columns: Mapping[str, int], mapping: ListMapping, words: Words
) -> dict[str, Label]:
    found: dict[str, Label] = {}
    priced = [columns[name] for name in PRICES if name in columns]
    for row, cells in enumerate(sheet.rows):
        if row == header or (row > header and any(amount(sheet.value(row, column)) for column in priced)):
            continue
        for name, label in _labels_of(row, cells, words):
            found.setdefault(name, label)
    return {**found, **{name: Label(_constant(value)) for name, value in mapping.constants.items()}}


def _constant(value: str | float) -> Value:
    return float(value) if isinstance(value, int | float) else value


def _labels_of(row: int, cells: tuple[Value, ...], words: Words) -> Iterator[tuple[str, Label]]:
    for index, cell in enumerate(cells):
        if not isinstance(cell, str):
            continue
        label, _, rest = cell.replace("：", ":").partition(":")
        name = words.field_of(label, LABELS)
        if not name:
            continue
        if rest.strip():
            yield name, Label(rest.strip(), row, index)
            continue
        after = next(((at, value) for at, value in enumerate(cells) if at > index and value is not None), None)
        if after is not None:
            yield name, Label(after[1], row, after[0])
