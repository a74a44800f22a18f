"""Writes a workbook's package: openpyxl for its parts, our own rows so that a formula cell carries its value.

openpyxl writes formula cells without values, so previews, phones and pandas show blanks. Here every cell is typed: a
formula only by the type ``Formula``, text as text whatever it starts with, a number that is none as "n/a". Times are
fixed: the same content gives the same bytes.
"""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import pandas as pd
from openpyxl import Workbook
from openpyxl.drawing.spreadsheet_drawing import SpreadsheetDrawing
from openpyxl.utils import get_column_letter
from openpyxl.worksheet._writer import WorksheetWriter
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.worksheet import Worksheet
from openpyxl.writer.excel import ExcelWriter
from openpyxl.xml.constants import SHEET_MAIN_NS
from openpyxl.xml.functions import tostring

from reports.errors import RenderError
from reports.render.formats import NOT_AVAILABLE
from reports.render.lint import problems

MOST_CHARACTERS = 32767
CUT_MARK = " … [cut]"
LARGEST_EXACT_INTEGER = 2**53
EPOCH = date(1899, 12, 30)
"""Day 0 of spreadsheet dates, counting their non-existent 29 February 1900."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPE_LIKE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula, without its ``=``, and the value it has."""

    text: str
    value: object


@dataclass(frozen=True, slots=True)
class ErrorValue:
    """A spreadsheet error as a value, such as ``#N/A``."""

    code: str


PlacedCell = tuple[int, object, int]
"""Column (1 is A), value, style id."""


@dataclass(frozen=True)
class Rows:
    """All rows of one sheet, in order: (row number, height or None, cells)."""

    rows: Iterable[tuple[int, float | None, list[PlacedCell]]]
    last_row: int
    last_column: int
    links: tuple[Hyperlink, ...] = ()


def clean_text(text: str) -> str:
    """Text that a spreadsheet can hold: no control characters, no accidental escapes, cut visibly when too long."""
    text = _NOT_XML.sub("", text)
    if len(text) * 2 > MOST_CHARACTERS and len(text.encode("utf-16-le")) // 2 > MOST_CHARACTERS:
        room = (MOST_CHARACTERS - len(CUT_MARK)) * 2
        text = text.encode("utf-16-le")[:room].decode("utf-16-le", errors="ignore") + CUT_MARK
    return text


def plain(value: object) -> object:
    """The value as one of the types a cell can hold; missing and infinite numbers as "n/a", huge integers as text."""
    if value is None or isinstance(value, str | bool | ErrorValue):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if value is pd.NA or value is pd.NaT:
        return NOT_AVAILABLE
    if isinstance(value, numbers.Integral):
        return int(value) if abs(int(value)) <= LARGEST_EXACT_INTEGER else str(int(value))
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(float(value)) else NOT_AVAILABLE
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            raise RenderError(f"a time with a time zone has no spreadsheet form: {value.isoformat()}")
        return (value - datetime.combine(EPOCH, datetime.min.time())).total_seconds() / 86400
    if isinstance(value, date):
        return (value - EPOCH).days
    raise RenderError(f"a {type(value).__name__} has no spreadsheet form: {value!r}")


def cell_xml(reference: str, value: object, style: int) -> str:
    """One cell of the sheet's XML."""
    start = f'<c r="{reference}" s="{style}"' if style else f'<c r="{reference}"'
    if isinstance(value, Formula):
        result = plain(value.value)
        if result == NOT_AVAILABLE or result is None:
            return _text_xml(start, NOT_AVAILABLE)  # a formula over missing numbers would show one (MIN skips text)
        kind, text = _stored(result)
        return f"{start}{kind}><f>{escape(value.text)}</f><v>{text}</v></c>"
    value = plain(value)
    if value is None or value == "":
        return start + "/>"
    if isinstance(value, str):
        return _text_xml(start, value)
    kind, text = _stored(value)
    return f"{start}{kind}><v>{text}</v></c>"


def _text_xml(start: str, text: str) -> str:
    shown = escape(_ESCAPE_LIKE.sub("_x005F_", clean_text(text)))
    return f'{start} t="inlineStr"><is><t xml:space="preserve">{shown}</t></is></c>'


def _stored(value: object) -> tuple[str, str]:
    """Type attribute and content of a stored value."""
    if isinstance(value, bool):
        return ' t="b"', str(int(value))
    if isinstance(value, str):
        return ' t="str"', escape(_ESCAPE_LIKE.sub("_x005F_", clean_text(value)))
    if isinstance(value, ErrorValue):
        return ' t="e"', value.code
    return "", repr(value)


class _SheetWriter(WorksheetWriter):
    """openpyxl's sheet parts around our own rows."""

    def __init__(self, sheet: Worksheet, rows: Rows) -> None:
        self.content = rows
        self.sheet: Any = sheet
        super().__init__(sheet)

    def get_stream(self) -> Generator[None, Any, None]:
        with open(str(self.out), "w", encoding="utf-8", newline="") as out:
            out.write(f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="{SHEET_MAIN_NS}">')
            try:
                while True:
                    part = yield
                    if part is not None:
                        text = part if isinstance(part, str) else tostring(part)
                        out.write(text.decode("utf-8") if isinstance(text, bytes) else text)
            except GeneratorExit:
                out.write("</worksheet>")

    def write_dimensions(self) -> None:
        last = f"{get_column_letter(max(self.content.last_column, 1))}{max(self.content.last_row, 1)}"
        self.xf.send(f'<dimension ref="A1:{last}"/>')

    def write_rows(self) -> None:
        self.xf.send("<sheetData>")
        letters = [get_column_letter(column) for column in range(1, self.content.last_column + 1)]
        for number, height, cells in self.content.rows:
            size = f' ht="{height:g}" customHeight="1"' if height else ""
            content = "".join(
                cell_xml(f"{letters[column - 1]}{number}", value, style) for column, value, style in cells
            )
            self.xf.send(f'<row r="{number}"{size}>{content}</row>')
        self.xf.send("</sheetData>")
        self.sheet._hyperlinks.extend(self.content.links)


class _PackageWriter(ExcelWriter):
    def __init__(self, workbook: Workbook, archive: ZipFile, content: dict[str, Rows]) -> None:
        super().__init__(workbook, archive)
        self.content = content

    def write_worksheet(self, ws: Any) -> None:
        ws._drawing = SpreadsheetDrawing()
        ws._drawing.charts = ws._charts
        ws._drawing.images = ws._images
        writer: Any = _SheetWriter(ws, self.content[ws.title])
        writer.write()
        ws._rels = writer._rels
        archive: Any = self._archive  # type: ignore[attr-defined]
        archive.write(writer.out, ws.path[1:])
        self.manifest.append(ws)
        writer.cleanup()


class _FixedZip(ZipFile):
    """A package whose entries carry no time of writing."""

    def writestr(self, name: Any, data: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        super().writestr(self._entry(name), data)

    def write(self, filename: Any, arcname: Any = None, *_: Any, **__: Any) -> None:
        with open(filename, "rb") as source, self.open(self._entry(arcname or filename), "w") as target:
            while chunk := source.read(1 << 20):
                target.write(chunk)

    @staticmethod
    def _entry(name: Any) -> ZipInfo:
        entry = ZipInfo(str(name), date_time=(1980, 1, 1, 0, 0, 0))
        entry.compress_type = ZIP_DEFLATED
        entry.external_attr = 0o600 << 16
        return entry


def save(workbook: Workbook, content: dict[str, Rows], path: Path, dated: date) -> None:
    """Writes the package under a temporary name, lints it, then renames it: a failure leaves the old file whole."""
    moment = datetime.combine(dated, datetime.min.time())
    workbook.properties.created = workbook.properties.modified = moment
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    try:
        with _FixedZip(unfinished, "w", ZIP_DEFLATED, allowZip64=True) as archive:
            _PackageWriter(workbook, archive, content).write_data()
        found = problems(unfinished)
        if found:
            raise RenderError("the workbook would come out wrong:\n" + "\n".join(found))
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
