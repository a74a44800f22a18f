"""Opens a price list that somebody sent: CSV, a table in Markdown, or a workbook, as cells with their places.

The file is not trusted. Sizes are checked before anything is unpacked, links to other files are not followed, a formula
is a text that starts with ``=``, and nothing is computed.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openpyxl import load_workbook
from openpyxl.utils import get_column_letter, range_boundaries

from reports.errors import InputError, Problem
from reports.strict_yaml import UNSHOWABLE

Value = str | float | None

MOST_BYTES = 8_000_000
MOST_UNPACKED_BYTES = 64_000_000
MOST_PARTS = 2_000
MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 5_000, 100, 2_000

_REFUSED = {
    ".html": "a web page", ".htm": "a web page", ".json": "nested data", ".pdf": "a document", ".docx": "a document",
    ".xls": "a workbook of the old format", ".xlsb": "a binary workbook", ".ods": "an OpenDocument table",
}  # fmt: skip
_TEXTS = (".csv", ".tsv", ".psv", ".txt", ".md")
_DELIMITERS = (",", ";", "\t", "|")
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s+ref="([A-Z]+[0-9]+:[A-Z]+[0-9]+)"')
_DECLARATION = (b"<!DOCTYPE", b"<!ENTITY")


@dataclass(frozen=True)
class Sheet:
    """One table of cells; rows and columns count from 0. ``name`` is blank for a text file."""

    file: str
    name: str
    rows: tuple[tuple[Value, ...], ...]
    merged: tuple[tuple[int, int, int, int], ...] = ()
    """(first row, first column, last row, last column) of each range of merged cells."""
    lines: tuple[int, ...] = field(default=())
    """Line in the text file of each row."""

    def value(self, row: int, column: int | None) -> Value:
        """A cell; None where there is none."""
        cells = self.rows[row] if 0 <= row < len(self.rows) else ()
        return cells[column] if column is not None and 0 <= column < len(cells) else None

    def place(self, row: int, column: int = 0) -> str:
        """A cell as people call it: ``Quote!C5``, ``line 5, column 3``."""
        if self.name:
            return f"{self.name}!{get_column_letter(column + 1)}{row + 1}"
        return f"line {self.lines[row]}, column {column + 1}"

    def problem(self, row: int, column: int, message: str, *, read: object = "", expected: str = "", hint: str = "",
                ) -> Problem:
        """A problem at a cell: sheet and cell of a workbook, line and column of a text."""
        shown = "" if read in ("", None) else f'"{str(read)[:60]}"'
        if self.name:
            return Problem(self.file, message, where=self.place(row, column), read=shown, expected=expected, hint=hint)
        return Problem(self.file, message, self.lines[row], column + 1, read=shown, expected=expected, hint=hint)


def open_list(path: Path) -> list[Sheet]:
    """The sheets of a price list; InputError says why a file is none."""
    file, kind = str(path), path.suffix.casefold()
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise InputError(Problem(file, "is a folder", expected="a price list"))
        if size > MOST_BYTES:
            raise InputError(Problem(file, "is too large", read=f"{size:,} bytes", expected=f"at most {MOST_BYTES:,}"))
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(Problem(file, f"cannot be read: {error.strerror or error}")) from None
    if kind in _REFUSED:
        raise InputError(Problem(file, f"is {_REFUSED[kind]}, not a table of prices", expected=".csv or .xlsx",
                                 hint="open it, and save or copy its table as CSV"))
    if not raw.strip():
        raise InputError(Problem(file, "is empty", expected="a price list"))
    if kind == ".xlsx":
        return _workbook(raw, file)
    if kind in _TEXTS:
        return [_text(raw, file, kind)]
    raise InputError(Problem(file, "is no kind of price list", read=f'"{kind}"', expected=".csv or .xlsx"))


def _text(raw: bytes, file: str, kind: str) -> Sheet:
    if b"\0" in raw:
        raise InputError(Problem(file, "is not text", expected="a CSV file", hint="save the sheet as CSV UTF-8"))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        try:
            text = raw.decode("gb18030")
        except UnicodeDecodeError as error:
            raise InputError(Problem(file, "is neither UTF-8 nor GB 18030 text", raw.count(b"\n", 0, error.start) + 1,
                                     hint="save the sheet as CSV UTF-8")) from None
    if kind == ".md":
        found = [(line, cells) for line, cells in _markdown(text) if cells]
    else:
        head = text[:4_000]
        delimiter = max(_DELIMITERS, key=head.count)
        reader = csv.reader(io.StringIO(text), delimiter=delimiter)
        try:
            found = [(reader.line_num, cells) for cells in reader]
        except csv.Error as error:
            raise InputError(Problem(file, f"is not valid CSV: {error}", reader.line_num)) from None
    if len(found) > MOST_ROWS:
        raise InputError(Problem(file, "has too many rows", read=f"{len(found):,}", expected=f"at most {MOST_ROWS:,}"))
    rows = tuple(tuple(_clean(cell) for cell in cells[:MOST_COLUMNS]) for _, cells in found)
    return Sheet(file, "", rows, lines=tuple(line for line, _ in found))


def _markdown(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            yield number, [line] if line.strip() else []
            continue
        cells = [cell.strip().strip("*`") for cell in line.strip().strip("|").split("|")]
        yield number, [] if all(re.fullmatch(r":?-+:?", cell) for cell in cells) else cells


def _clean(value: object) -> Value:
    if value is None or isinstance(value, bool):
        return None if value is None else str(value).casefold()
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()[:10]
    text = " ".join(UNSHOWABLE.sub(" ", str(value)).split())[:MOST_CHARACTERS]
    return text or None


def _workbook(raw: bytes, file: str) -> list[Sheet]:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as package:
            merged = _inspect(package, file)
        book = load_workbook(io.BytesIO(raw), read_only=True, keep_links=False, data_only=False)
        sheets = []
        for worksheet in book.worksheets:
            rows = tuple(
                tuple(_clean(value) for value in row)
                for row in worksheet.iter_rows(max_row=MOST_ROWS, max_col=MOST_COLUMNS, values_only=True)
            )
            part = str(getattr(worksheet, "_worksheet_path", "")).lstrip("/")
            sheets.append(Sheet(file, worksheet.title, rows, merged.get(part, ())))
        book.close()
    except InputError:
        raise
    except Exception as error:  # a broken package raises whatever its first broken part does
        reason = f"{type(error).__name__}: {str(error)[:80]}"
        raise InputError(Problem(file, "is not a readable workbook", read=reason, expected="an .xlsx file")) from None
    return sheets


def _inspect(package: zipfile.ZipFile, file: str) -> dict[str, tuple[tuple[int, int, int, int], ...]]:
    """Refuse a package that unpacks to too much or declares entities; the merged ranges of each sheet.

    The sizes are those the package declares; Python unpacks no more than that.
    """
    parts = package.infolist()
    unpacked = sum(part.file_size for part in parts)
    if len(parts) > MOST_PARTS or unpacked > MOST_UNPACKED_BYTES:
        raise InputError(Problem(file, "unpacks to too much", read=f"{unpacked:,} bytes in {len(parts)} parts",
                                 expected=f"at most {MOST_UNPACKED_BYTES:,} bytes in {MOST_PARTS} parts"))
    merged: dict[str, tuple[tuple[int, int, int, int], ...]] = {}
    for part in parts:
        if not part.filename.endswith((".xml", ".rels")):
            continue
        content = package.read(part)
        plain = content.replace(b"\0", b"")
        if any(word in plain for word in _DECLARATION):
            raise InputError(Problem(file, "declares entities", where=part.filename, expected="a plain workbook"))
        if part.filename.startswith("xl/worksheets/"):
            merged[part.filename] = tuple(_range(each.decode()) for each in _MERGED.findall(content)[:MOST_ROWS])
    return merged


def _range(text: str) -> tuple[int, int, int, int]:
    left, top, right, bottom = (each or 1 for each in range_boundaries(text))
    return (top - 1, left - 1, bottom - 1, right - 1)
