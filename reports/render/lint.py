"""Reads a finished workbook's package and lists what would make Excel offer a repair, or a reviewer lose trust."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

from openpyxl.utils import range_boundaries

from reports import constants
from reports.render.i18n import LANGUAGES, translator

MOST_SHEET_NAME = 31
MOST_VALIDATION_TEXT = 255
MOST_FORMULA = 8192
MOST_STYLES, MOST_NUMBER_FORMATS = 100, 50
MOST_ROWS = 1_048_576

FUNCTIONS = frozenset(
    ("ABS", "AND", "BINOMDIST", "CEILING", "COLUMN", "COUNT", "COUNTIF", "EXP", "FLOOR", "IF", "IFERROR", "INDEX",
     "ISERROR", "ISNUMBER", "LN", "MATCH", "MAX", "MIN", "MOD", "NORMSDIST", "NORMSINV", "OR", "RANK", "SQRT", "SUM",
     "SUMPRODUCT", "IRR", "TEXT")
)  # fmt: skip
"""All of Excel 2010 and before; none is volatile."""

FACTORS = frozenset(
    {0.0, 1.0, 2.0} | {float(value) for value in vars(constants).values() if isinstance(value, int | float)}
)
"""Numbers that may stand in a formula: 0, 1, 2 and the unit factors."""

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_TEXT = re.compile(r'"[^"]*"')
_SHEET_PREFIX = re.compile(r"(?:'(?:[^']|'')+'|[A-Za-z_][\w.]*)!")
_FUNCTION = re.compile(r"([A-Z][A-Z0-9.]*)\(")
_NUMBER = re.compile(r"(?<![A-Za-z$\d.])(\d+\.?\d*(?:E[-+]?\d+)?)(?![\d:(A-Za-z])")
_NAME = re.compile(r"[A-Za-z_\\][\w.\\]*")
_CELL_LIKE = re.compile(r"(?i)([a-z]{1,3}\d{1,7}|r\d*c?\d*|c\d*)")


@dataclass(frozen=True)
class _Sheet:
    name: str
    state: str
    part: str


def problems(path: Path) -> list[str]:
    """Everything wrong with the package and the model in it; empty for a workbook that may be delivered."""
    with ZipFile(path) as package:
        return list(_problems(package))


def _problems(package: ZipFile) -> Iterator[str]:
    names = package.namelist()
    for name, count in Counter(names).items():
        if count > 1:
            yield f"part {name} is in the package {count} times"
    if any("externalLinks" in name for name in names):
        yield "the workbook links to other workbooks"
    book = ElementTree.fromstring(package.read("xl/workbook.xml"))
    relations = _relations(package, "xl/_rels/workbook.xml.rels")
    sheets = [
        _Sheet(sheet.get("name", ""), sheet.get("state", "visible"), "xl/" + relations[sheet.get(f"{_RELATION}id", "")])
        for sheet in book.iter(f"{_MAIN}sheet")
    ]
    yield from _sheet_names(sheets)
    defined = [(name.get("name", ""), name.text or "") for name in book.iter(f"{_MAIN}definedName")]
    for name, target in defined:
        for area in target.split(","):
            place = area.split("!")[-1]
            if not re.fullmatch(r"(\$[A-Z]+(\$\d+)?|\$\d+)(:(\$[A-Z]+(\$\d+)?|\$\d+))?", place):
                yield f"defined name {name} is relative or broken: {target}"
            if not name.startswith("_xlnm") and area.rpartition("!")[0].strip("'") not in _input_sheets():
                yield f"defined name {name} is not for an input: {target}"
    yield from _styles(package)
    tables: list[str] = []
    for sheet in sheets:
        yield from _sheet(package, sheet)
        folder, file = sheet.part.rsplit("/", 1)
        for kind, target in _typed_relations(package, f"{folder}/_rels/{file}.rels"):
            if kind.endswith("/table"):
                table = ElementTree.fromstring(package.read("xl/" + target.rsplit("xl/", 1)[-1].lstrip("./")))
                tables.append(table.get("displayName", ""))
                yield from _table(package, sheet, table)
    taken = Counter(name.lower() for name in [*tables, *(name for name, _ in defined if not name.startswith("_xlnm"))])
    for name in tables:
        if not _NAME.fullmatch(name) or _CELL_LIKE.fullmatch(name):
            yield f"table name {name} is not allowed"
        if taken[name.lower()] > 1:
            yield f"table name {name} is used twice"


@cache
def _input_sheets() -> frozenset[str]:
    """The tab of the inputs in every language: only what stands there may have a name of its own."""
    return frozenset(translator(language)("Inputs") for language in LANGUAGES)


def _relations(package: ZipFile, part: str) -> dict[str, str]:
    root = ElementTree.fromstring(package.read(part))
    return {each.get("Id", ""): each.get("Target", "").removeprefix("/xl/") for each in root}


def _typed_relations(package: ZipFile, part: str) -> list[tuple[str, str]]:
    if part not in package.namelist():
        return []
    return [(each.get("Type", ""), each.get("Target", "")) for each in ElementTree.fromstring(package.read(part))]


def _sheet_names(sheets: list[_Sheet]) -> Iterator[str]:
    for name, count in Counter(sheet.name.lower() for sheet in sheets).items():
        if count > 1:
            yield f"two sheets are named {name}"
    for sheet in sheets:
        name = sheet.name
        if not name or len(name) > MOST_SHEET_NAME or re.search(r"[\[\]:*?/\\']", name) or name.lower() == "history":
            yield f"sheet name {name!r} is not allowed"
        if sheet.state != "visible":
            yield f"sheet {name} is hidden"


def _styles(package: ZipFile) -> Iterator[str]:
    root = ElementTree.fromstring(package.read("xl/styles.xml"))
    styles = root.find(f"{_MAIN}cellXfs")
    formats = root.find(f"{_MAIN}numFmts")
    if styles is not None and len(styles) > MOST_STYLES:
        yield f"{len(styles)} cell styles; {MOST_STYLES} are plenty"
    if formats is not None and len(formats) > MOST_NUMBER_FORMATS:
        yield f"{len(formats)} number formats; {MOST_NUMBER_FORMATS} are plenty"


def _sheet(package: ZipFile, sheet: _Sheet) -> Iterator[str]:
    rows = 0
    last_row = 0
    merged: list[tuple[int, int, int, int]] = []
    with package.open(sheet.part) as part:
        for _, element in ElementTree.iterparse(part):
            if element.tag == f"{_MAIN}row":
                rows += 1
                number = int(element.get("r", "0"))
                if number <= last_row:
                    yield f"{sheet.name}: row {number} comes after row {last_row}"
                last_row = number
                yield from _row(sheet.name, element)
                element.clear()
            elif element.tag == f"{_MAIN}mergeCell":
                merged.append(range_boundaries(element.get("ref", "")))  # type: ignore[arg-type]
            elif element.tag == f"{_MAIN}dataValidation":
                for name in ("error", "errorTitle", "prompt", "promptTitle"):
                    if len(element.get(name, "")) > MOST_VALIDATION_TEXT:
                        yield f"{sheet.name}: a validation text is over {MOST_VALIDATION_TEXT} characters"
    if last_row > MOST_ROWS:
        yield f"{sheet.name}: {last_row:,} rows; a sheet holds {MOST_ROWS:,}"
    merged.sort(key=lambda box: (box[1], box[0]))
    for one, other in pairwise(merged):
        if one[1] == other[1] and one[2] >= other[0]:
            yield f"{sheet.name}: merged cells overlap in row {one[1]}"


def _row(sheet: str, row: ElementTree.Element) -> Iterator[str]:
    column = 0
    for cell in row:
        place = cell.get("r", "")
        at = range_boundaries(place)[0] or 0
        if at <= column:
            yield f"{sheet}!{place}: cells are out of order"
        column = at
        formula = cell.find(f"{_MAIN}f")
        if formula is not None:
            value = cell.find(f"{_MAIN}v")
            if value is None or value.text is None:
                yield f"{sheet}!{place}: a formula without its value"
            yield from (f"{sheet}!{place}: {problem}" for problem in formula_problems(formula.text or ""))


def formula_problems(formula: str) -> Iterator[str]:
    """What is wrong with one formula: its length, a function outside the list, a number that should be an input."""
    if len(formula) > MOST_FORMULA:
        yield f"a formula of {len(formula):,} characters"
    bare = _SHEET_PREFIX.sub("", _TEXT.sub('""', formula))
    for name in _FUNCTION.findall(bare):
        if name not in FUNCTIONS:
            yield f"the function {name}"
    for number in _NUMBER.findall(bare):
        if float(number) not in FACTORS:
            yield f"the number {number} inside a formula: {formula}"


def _table(package: ZipFile, sheet: _Sheet, table: ElementTree.Element) -> Iterator[str]:
    name, area = table.get("displayName", ""), table.get("ref", "")
    headers = [column.get("name", "") for column in table.iter(f"{_MAIN}tableColumn")]
    if len({header.lower() for header in headers}) != len(headers) or not all(headers):
        yield f"table {name} has empty or repeated headers"
    left, top, right, bottom = (side or 0 for side in range_boundaries(area))
    if right - left + 1 != len(headers):
        yield f"table {name} covers {right - left + 1} columns and names {len(headers)}"
    if bottom <= top:
        yield f"table {name} has no rows"
    with package.open(sheet.part) as part:
        for _, element in ElementTree.iterparse(part):
            if element.tag == f"{_MAIN}row" and int(element.get("r", "0")) == top:
                shown = ["".join(cell.itertext()) for cell in element]
                if shown[: len(headers)] != headers:
                    yield f"table {name}: its headers are not the text of row {top}"
                return
            if element.tag == f"{_MAIN}row":
                element.clear()
