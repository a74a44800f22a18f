"""Draws the declared sheets: gives every block its rows, resolves names to cells, and writes the package."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.chart import Reference
from openpyxl.drawing.image import Image
from openpyxl.formatting.rule import Rule
from openpyxl.utils import get_column_letter, quote_sheetname
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.table import Table, TableStyleInfo

from reports.errors import RenderError
from reports.render import excel_writer, sheets
from reports.render.book_status import status
from reports.render.excel_chart import draw as draw_chart
from reports.render.excel_style import DIFFERENCES, LOOKS, Styles
from reports.render.excel_writer import ErrorValue, Formula, plain
from reports.render.formats import GENERAL, NOT_AVAILABLE, NumberKind, shown
from reports.render.i18n import translator
from reports.render.live import Anchor, Live, SpreadsheetError, Value
from reports.render.sheet import Book, Cell, Chart, DataTable, Highlight, Picture, Row, Rows, Sheet, Translate
from reports.run import Run

OPENS_ON = "Summary"
POINTS_PER_LINE = 13.5
DEFAULT_ROW_POINTS = 15.0
POINTS_PER_PIXEL = 0.75


def write(run: Run, path: Path, translate: Translate | None = None) -> None:
    """Write the workbook of a run in the scenario's first language."""
    language = run.scenario.languages[0]
    book = Book(run, translate or translator(language), language)
    draw(sheets.declare(book), path, book)
    try:
        book.translate.require_complete()
    except RenderError:
        path.unlink()
        raise


def draw(declared: Sequence[Sheet], path: Path, book: Book) -> None:
    """Write declared sheets as one package."""
    tabs = {sheet.name: _tab(sheet, book) for sheet in declared}
    layout = _Layout(declared, tabs, book.translate(NOT_AVAILABLE))
    workbook = Workbook()
    styles = Styles(workbook, book.language, book.run.scenario.look)
    workbook.remove(workbook.worksheets[0])
    content = {}
    pages: list[Any] = [workbook.create_sheet(tabs[sheet.name]) for sheet in declared]
    for sheet, page in zip(declared, pages, strict=True):
        drawn = _Page(sheet, page, layout, styles)
        content[tabs[sheet.name]] = drawn.rows()
        drawn.finish(book)
    names = [sheet.name for sheet in declared]  # in the order of the tabs
    workbook.active = names.index(OPENS_ON) if OPENS_ON in names else 0
    for page in workbook.worksheets:
        page.sheet_view.tabSelected = page is workbook.active
    workbook.properties.creator = "gpubook"
    workbook.properties.title = book.run.scenario.title[book.language]
    workbook.properties.language = book.language
    count = sum(anchor[0] == "checks" and isinstance(anchor[1], int) for anchor in layout.spots)
    if count:
        failed = layout.value_of(("checks", "failed"))
        workbook.properties.contentStatus = status(float(failed) if isinstance(failed, int | float) else count, count)
    excel_writer.save(workbook, content, path, book.run.scenario.as_of)


def _tab(sheet: Sheet, book: Book) -> str:
    if not sheet.continues:
        return book.translate(sheet.name)
    return f"{book.translate(sheet.continues)} {sheet.name.removeprefix(sheet.continues).strip()}"


# ---- where everything is, and what it holds ----


@dataclass(frozen=True)
class _Spot:
    sheet: str
    row: int
    column: int
    cell: Cell


@dataclass
class _Layout:
    """Row numbers of every block and the spot of every anchor; values of live cells are computed once."""

    declared: Sequence[Sheet]
    tabs: dict[str, str]
    """English name of a sheet -> its tab."""
    blank: str
    """What a cell shows whose number is missing."""
    spots: dict[Anchor, _Spot] = field(default_factory=dict)
    starts: dict[tuple[str, int], int] = field(default_factory=dict)
    known: dict[Anchor, Value] = field(default_factory=dict)
    places: dict[tuple[str, int, int], Anchor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for sheet in self.declared:
            row = 1
            for index, block in enumerate(sheet.blocks):
                self.starts[sheet.name, index] = row
                if isinstance(block, Rows):
                    for offset, line in enumerate(block.rows):
                        self._name(sheet.name, row + offset, line)
                    row += len(block.rows)
                elif isinstance(block, Chart | Picture):
                    row += block.rows
                else:
                    row += block.count + 1

    def _name(self, sheet: str, row: int, line: Row) -> None:
        for column, cell in line.cells.items():
            if cell.anchor is None:
                continue
            if cell.anchor in self.spots:
                raise RenderError(f"two cells are named {cell.anchor}")
            self.spots[cell.anchor] = _Spot(sheet, row, column, cell)
            self.places[sheet, row, column] = cell.anchor

    def spot(self, anchor: Anchor) -> _Spot:
        try:
            return self.spots[anchor]
        except KeyError:
            raise RenderError(f"no cell is named {anchor}") from None

    def value_of(self, anchor: Anchor) -> Value:
        if anchor not in self.known:
            spot = self.spot(anchor)
            self.known[anchor] = self.evaluate(spot.cell.content, spot.sheet)
        return self.known[anchor]

    def evaluate(self, content: object, sheet: str) -> Value:
        """The value a cell shows: numbers that are none in the words for that, failures as error values."""
        try:
            value = plain(content.value(_From(self, sheet)) if isinstance(content, Live) else content)
        except SpreadsheetError as error:
            return ErrorValue(error.code)
        return self.blank if isinstance(value, str) and value == NOT_AVAILABLE else value


@dataclass(frozen=True)
class _From:
    """The view of the layout from a cell of one sheet."""

    layout: _Layout
    sheet: str

    def reference(self, anchor: Anchor, fixed: str = "") -> str:
        spot = self.layout.spot(anchor)
        return self._prefix(spot) + _address(spot, "both" if spot.sheet != self.sheet else fixed)

    def span(self, first: Anchor, last: Anchor, fixed: str = "") -> str:
        one, other = self.layout.spot(first), self.layout.spot(last)
        fixed = "both" if one.sheet != self.sheet else fixed
        return f"{self._prefix(one)}{_address(one, fixed)}:{_address(other, fixed)}"

    def _prefix(self, spot: _Spot) -> str:
        if spot.sheet == self.sheet:
            return ""
        tab = self.layout.tabs[spot.sheet]
        return f"{tab if tab.isalpha() and tab.isascii() else quote_sheetname(tab)}!"

    def value(self, anchor: Anchor) -> Value:
        return self.layout.value_of(anchor)

    def values(self, first: Anchor, last: Anchor) -> list[Value]:
        one, other = self.layout.spot(first), self.layout.spot(last)
        found = []
        for row in range(one.row, other.row + 1):
            for column in range(one.column, other.column + 1):
                anchor = self.layout.places.get((one.sheet, row, column))
                found.append(None if anchor is None else self.layout.value_of(anchor))
        return found


def _address(spot: _Spot, fixed: str) -> str:
    column, row = {"": ("", ""), "column": ("$", ""), "both": ("$", "$")}[fixed]
    return f"{column}{get_column_letter(spot.column)}{row}{spot.row}"


# ---- one sheet ----


class _Page:
    """Draws one declared sheet onto an openpyxl sheet and gives its rows to the writer."""

    def __init__(self, sheet: Sheet, page: Any, layout: _Layout, styles: Styles) -> None:
        self.sheet, self.page, self.layout, self.styles = sheet, page, layout, styles
        self.place = _From(layout, sheet.name)
        self.links: list[Hyperlink] = []
        self.numbers: list[str] = []
        self.last_row, self.last_column = 1, 1
        self.widths = self._widths()

    def rows(self) -> excel_writer.Rows:
        """The rows, small blocks first turned into cells so that links and merged cells are known before writing."""
        lines: list[tuple[int, float | None, list[excel_writer.PlacedCell]]] = []
        streams: list[Iterator[tuple[int, float | None, list[excel_writer.PlacedCell]]]] = []
        for index, block in enumerate(self.sheet.blocks):
            start = self.layout.starts[self.sheet.name, index]
            if isinstance(block, Rows):
                lines += [self._line(start + offset, row) for offset, row in enumerate(block.rows)]
                self.last_row = max(self.last_row, start + len(block.rows) - 1)
            elif isinstance(block, DataTable):
                streams.append(self._table(start, block))
            elif isinstance(block, Picture):
                self._picture(start, block)
            else:
                self._chart(start, block)
                self.last_row = max(self.last_row, start + block.rows - 1)
        return excel_writer.Rows(
            _merged(lines, streams), self.last_row, self.last_column, tuple(self.links)
        )

    def _line(self, number: int, row: Row) -> tuple[int, float | None, list[excel_writer.PlacedCell]]:
        cells: list[excel_writer.PlacedCell] = []
        height = row.height
        for column, cell in sorted(row.cells.items()):
            value, style = self._cell(cell)
            cells.append((column, value, style))
            self.last_column = max(self.last_column, column + cell.across - 1)
            address = f"{get_column_letter(column)}{number}"
            if cell.across > 1:
                last = get_column_letter(column + cell.across - 1)
                self.page.merged_cells.add(f"{address}:{last}{number}")
                cells += [(each, None, style) for each in range(column + 1, column + cell.across)]
            if cell.sheet:
                tab = quote_sheetname(self.layout.tabs[cell.sheet])
                self.links.append(Hyperlink(ref=address, location=f"{tab}!A1"))
            if cell.number_only:
                self.numbers.append(address)
            if LOOKS[cell.look].wrap and row.height is None:
                room = sum(self.widths.get(each, 10.0) for each in range(column, column + cell.across))
                lines = _lines(_text(self._value(cell), cell.kind), room)
                height = max(height or 0, lines * POINTS_PER_LINE * LOOKS[cell.look].size / 10 + 3)
        return number, height, cells

    def _cell(self, cell: Cell) -> tuple[object, int]:
        content = cell.content
        if isinstance(content, Live):
            value = self._value(cell)
            if isinstance(value, str) and value == self.layout.blank:
                return value, self.styles.id(cell.look, GENERAL)
            return Formula(content.excel(self.place), value), self.styles.id(cell.look, cell.kind)
        value = self.layout.evaluate(content, self.sheet.name)
        quoted = isinstance(value, str) and value.startswith(("=", "+", "-", "@"))
        return value, self.styles.id(cell.look, GENERAL if isinstance(value, str) else cell.kind, quoted)

    def _value(self, cell: Cell) -> Value:
        if cell.anchor is not None:
            return self.layout.value_of(cell.anchor)
        return self.layout.evaluate(cell.content, self.sheet.name)

    def _table(self, start: int, table: DataTable) -> Iterator[tuple[int, float | None, list[excel_writer.PlacedCell]]]:
        self.last_row = max(self.last_row, start + table.count)
        self.last_column = max(self.last_column, len(table.header))
        self.page.add_table(_native_table(table, start))
        if table.quiet is not None:
            column, text = get_column_letter(table.quiet[0] + 1), table.quiet[1]
            area = f"A{start + 1}:{get_column_letter(len(table.header))}{start + table.count}"
            rule = Rule(type="expression", dxf=DIFFERENCES["quiet"], formula=[f'${column}{start + 1}="{text}"'])
            self.page.conditional_formatting.add(area, rule)
        numeric = [kind is not GENERAL for kind in table.kinds]
        listed = self.styles.id("listed")
        other = [self.styles.id("value", kind) for kind in table.kinds]
        heads = [self.styles.id("head number" if number else "head listed") for number in numeric]

        def lines() -> Iterator[tuple[int, float | None, list[excel_writer.PlacedCell]]]:
            yield start, 44, [(index + 1, name, heads[index]) for index, name in enumerate(table.header)]
            for number, values in enumerate(table.rows, start + 1):
                yield number, None, [
                    (index + 1, value, listed if isinstance(value, str) else other[index])
                    for index, value in enumerate(self.layout.evaluate(each, self.sheet.name) for each in values)
                ]

        return lines()

    def _chart(self, start: int, chart: Chart) -> None:
        drawn = draw_chart(chart, self._cells)
        drawn.height = chart.rows * DEFAULT_ROW_POINTS / 28.35 - 0.4
        self.page.add_chart(drawn, f"{get_column_letter(chart.column)}{start}")

    def _picture(self, start: int, picture: Picture) -> None:
        drawn: Any = Image(BytesIO(picture.png))
        height = picture.rows * DEFAULT_ROW_POINTS / POINTS_PER_PIXEL
        drawn.width, drawn.height = drawn.width * height / drawn.height, height
        self.page.add_image(drawn, f"A{start}")

    def _cells(self, first: Anchor, last: Anchor) -> Reference:
        one, other = self.layout.spot(first), self.layout.spot(last)
        page = self.page.parent[self.layout.tabs[one.sheet]]
        return Reference(page, min_col=one.column, min_row=one.row, max_col=other.column, max_row=other.row)

    # ---- widths, views, print ----

    def _widths(self) -> dict[int, float]:
        needed: dict[int, float] = {}
        for block in self.sheet.blocks:
            if isinstance(block, Rows):
                for row in block.rows:
                    for column, cell in row.cells.items():
                        look = LOOKS[cell.look]
                        if cell.across > 1 or look.wrap or look.size > 10 or cell.content is None:
                            continue
                        if cell.look in ("subtitle", "note", "link text", "heading") and column == 1:
                            continue  # may run over the empty cells to its right
                        text = _text(self._value(cell), cell.kind)
                        needed[column] = max(needed.get(column, 0), display_width(text) * look.size / 10)
        result = {}
        for column in {*needed, *self.sheet.widths}:
            asked = self.sheet.widths.get(column, (9.0, 60.0))
            if isinstance(asked, tuple):
                result[column] = min(max(needed.get(column, 0) * 1.08 + 2, asked[0]), asked[1])
            else:
                result[column] = float(asked)
        return result

    def finish(self, book: Book) -> None:
        """Everything around the rows."""
        page, sheet = self.page, self.sheet
        for column, width in sorted(self.widths.items()):
            page.column_dimensions[get_column_letter(column)].width = round(width, 2)
        page.sheet_format.defaultRowHeight, page.sheet_format.customHeight = DEFAULT_ROW_POINTS, True
        page.sheet_view.showGridLines = sheet.gridlines
        page.sheet_view.zoomScale = 100
        page.sheet_properties.tabColor = sheet.colour
        if sheet.freeze != (0, 0):
            page.freeze_panes = f"{get_column_letter(sheet.freeze[1] + 1)}{sheet.freeze[0] + 1}"
        page.page_setup.orientation = "landscape"
        page.page_setup.paperSize = page.PAPERSIZE_A3 if sheet.large_paper else page.PAPERSIZE_A4
        page.page_setup.fitToWidth, page.page_setup.fitToHeight = sheet.pages_wide, int(sheet.one_page)
        page.sheet_properties.pageSetUpPr.fitToPage = True
        page.page_margins.left = page.page_margins.right = 0.4
        page.page_margins.top, page.page_margins.bottom = 0.5, 0.6
        page.print_area = f"A1:{get_column_letter(self.last_column)}{self.last_row}"
        if sheet.repeat_rows:
            page.print_title_rows = f"{sheet.repeat_rows[0]}:{sheet.repeat_rows[1]}"
        if sheet.repeat_columns:
            page.print_title_cols = f"A:{get_column_letter(sheet.repeat_columns)}"
        title = f"{book.run.scenario.title[book.language]} · {book.run.scenario.period}".replace("&", "&&")
        look = book.run.scenario.look
        for place, said in ((page.oddHeader.left, look.header[book.language]),
                            (page.oddHeader.right, book.classification)):  # fmt: skip
            if said:
                place.text, place.size = said.replace("&", "&&")[:80], 8
        own = look.footer[book.language].replace("&", "&&")
        title = f"{title} · {own}" if own else title
        page.oddFooter.left.text, page.oddFooter.left.size = title[:120], 8
        page.oddFooter.center.text, page.oddFooter.center.size = "&A", 8
        page.oddFooter.right.text, page.oddFooter.right.size = book.translate("Page &P of &N"), 8
        if self.numbers:
            rule = DataValidation(type="decimal", operator="greaterThanOrEqual", formula1="0", allow_blank=False)
            rule.errorTitle, rule.error = book.translate("A number"), book.translate("Enter a number, 0 or more.")
            rule.showErrorMessage = True
            for address in self.numbers:
                rule.add(address)
            page.add_data_validation(rule)
        for highlight in sheet.highlights:
            self._highlight(highlight)

    def _highlight(self, highlight: Highlight) -> None:
        first, last = self.layout.spot(highlight.first), self.layout.spot(highlight.last)
        area = f"{_address(first, '')}:{_address(last, '')}"
        watched = first if highlight.row_cell is None else self.layout.spot(highlight.row_cell)
        column = get_column_letter(watched.column)
        cell = f"${column}{first.row}" if highlight.row_cell is not None else f"{column}{first.row}"
        wanted = highlight.equals
        value = f'"{wanted}"' if isinstance(wanted, str) else str(wanted).upper()
        rule = Rule(type="expression", dxf=DIFFERENCES[highlight.look], formula=[f"{cell}={value}"])
        self.page.conditional_formatting.add(area, rule)


_Line = tuple[int, float | None, list[excel_writer.PlacedCell]]


def _merged(lines: list[_Line], streams: list[Iterator[_Line]]) -> Iterator[_Line]:
    """Rows in order: a sheet has its small rows first and at most streams after them."""
    yield from lines
    for stream in streams:
        yield from stream


def _native_table(table: DataTable, start: int) -> Table:
    last = f"{get_column_letter(len(table.header))}{start + table.count}"
    native: Any = Table(displayName=table.name, name=table.name, ref=f"A{start}:{last}")
    native.tableStyleInfo = TableStyleInfo(name="TableStyleLight1", showRowStripes=True)
    native._initialise_columns()
    for column, name in zip(native.tableColumns, table.header, strict=True):
        column.name = name
    return native


def display_width(text: str) -> int:
    """Width of the longest line in digits: an East-Asian character is as wide as two."""
    return max(
        (sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line) for line in text.splitlines()),
        default=0,
    )


def _lines(text: str, room: float) -> int:
    return sum(max(1, math.ceil(display_width(line) * 0.97 / max(room - 1, 1))) for line in text.splitlines() or [""])


def _text(value: Value, kind: NumberKind) -> str:
    return value.code if isinstance(value, ErrorValue) else shown(value, kind)
