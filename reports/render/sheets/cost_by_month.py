"""Cost by month: the cash flow of renting and of buying each short-listed option, live, and its break-even."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from reports.columns import fact_reference
from reports.cost.blocks import CASHFLOW, CASHFLOW_RESULTS, MONTH, STOCKS, CashRow
from reports.cost.lines import LINES
from reports.cost.timeline import NOT_COMPARED
from reports.formulas.aggregate import TOTAL
from reports.render.excel_style import BLUE, ORANGE
from reports.render.formats import SERIAL, kind_of
from reports.render.live import Aggregated, Anchor, Call, Live, Ref, Translated
from reports.render.sheet import N_, TOP_ROWS, Block, Book, Cell, Chart, Row, Rows, Series, Sheet, gap, heading
from reports.render.sheets import calculation

ORDER = 60
NAME = N_("Cost by month")
LABEL, UNIT, TOTAL_COLUMN, FIRST = 1, 2, 3, 4
ROWS_OF_MONTHS = {row.column for row in CASHFLOW} | {MONTH}
FACTORS = {kind.factor for kind in LINES if kind.factor}
"""Rows that cost lines are multiplied by: their totals prove that the lines add up."""
EMPHASISED = {"buy_cash_amount", "rent_cumulative_amount", "buy_cumulative_amount"}


def anchor(option: dict[str, Any], row: str, month: int | str) -> Anchor:
    """The cell of one row and month; a result stands at month "result"."""
    return ("cash", option["option_id"], row, month)


def declare(book: Book) -> Sheet:
    """Winners as evaluated first, with a chart each; then the rest of the short list."""
    blocks: list[Block] = [book.top(NAME)]
    columns = FIRST + _horizon(book)
    winners = [option["option_id"] for option in book.winners]
    for option in sorted(book.options, key=lambda option: option["option_id"] not in winners):
        won = option["option_id"] in winners
        blocks.append(Rows([*_section(book, option, columns), gap()]))
        if won and option["break_even_code"] != NOT_COMPARED:
            blocks += [cumulative_chart(book, option), Rows([gap(20)])]
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={LABEL: (34, 52), UNIT: (6, 16), TOTAL_COLUMN: (14, 18),
                **dict.fromkeys(range(FIRST, columns + 1), 13.0)},
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS, 3),
        repeat_columns=3,
        pages_wide=max(1, round(columns / 20)),
    )  # fmt: skip


def cumulative_chart(book: Book, option: dict[str, Any], width_cm: float = 26) -> Chart:
    """Rent against buy, both discounted and added up; costs fall below the axis."""
    _ = book.translate
    name = f"{book.service(str(option['service']))}, {book.gpu(option)}"

    def line(column: str, title: str, colour: str) -> Series:
        return Series(_(title), anchor(option, column, 0), anchor(option, column, _horizon(book)), colour)

    return Chart(
        title=_("{option}: renting and owning, cumulative", option=name),
        x_title=_("Month"),
        y_title=_("Cumulative cost, discounted, {currency}", currency=book.currency),
        categories=(anchor(option, MONTH, 0), anchor(option, MONTH, _horizon(book))),
        series=(line("rent_cumulative_amount", N_("Rent"), ORANGE), line("buy_cumulative_amount", N_("Buy"), BLUE)),
        width_cm=width_cm,
    )


def _horizon(book: Book) -> int:
    return int(book.run.timelines[MONTH].max()) if len(book.run.timelines) else 0


def _section(book: Book, option: dict[str, Any], columns: int) -> Iterator[Row]:
    _ = book.translate
    title = f"{book.service(str(option['service']))} · {book.label(option)}"
    first = Call("=", Ref(("recommendation", option["option_id"], "rank")), 1)  # live: an edit may change the winner
    yield heading(Call("IF", first, f"{title} · {_('winner')}", title), columns)
    timeline = book.run.timelines[book.run.timelines["option_id"] == option["option_id"]].sort_values(MONTH)
    months = [int(month) for month in timeline[MONTH]]
    yield Row(
        {
            LABEL: Cell(_("Month (0: day of purchase)"), "head"),
            UNIT: Cell(_("Unit"), "head"),
            TOTAL_COLUMN: Cell(_("Total"), "head number"),
            **{FIRST + month: Cell(month, "head number", SERIAL, anchor(option, MONTH, month)) for month in months},
        }
    )
    for row in CASHFLOW:
        values = timeline[row.column].to_numpy(dtype=float)
        total = row.column in EMPHASISED
        cells = _left(book, row, "total label" if total else "text")
        for month, value in zip(months, values, strict=True):
            cells[FIRST + month] = Cell(
                _month_cell(book, row, option, month, months[-1], float(value)),
                "total" if total else "formula",
                kind_of(row.unit, row.column),
                anchor(option, row.column, month),
            )
        flow = row.unit == "currency" and row.aggregate is None and row.column not in STOCKS
        if flow or row.column in FACTORS:
            place = (anchor(option, row.column, 0),) * 2 + (anchor(option, row.column, months[-1]),)
            summed = Aggregated(TOTAL, (place,), float(TOTAL.function(values)))
            kind = kind_of("months" if row.unit == "flag" else row.unit, row.column)  # a sum of yes and no is a number
            cells[TOTAL_COLUMN] = Cell(summed, "total", kind, anchor(option, row.column, "total"))
        elif total:
            cells[TOTAL_COLUMN] = Cell(None, "total")
        yield Row(cells)
    for row in CASHFLOW_RESULTS:
        cells = _left(book, row, "strong")
        cells[TOTAL_COLUMN] = Cell(
            _result(book, row, option, months[-1]), "total", kind_of(row.unit, row.column),
            anchor(option, row.column, "result"),
        )  # fmt: skip
        yield Row(cells)


def _left(book: Book, row: CashRow, look: str) -> dict[int, Cell]:
    return {LABEL: Cell(book.translate(row.label), look), UNIT: Cell(book.unit(row.unit, row.column), "unit")}


def _month_cell(book: Book, row: CashRow, option: dict[str, Any], month: int, last: int, value: float) -> Live:
    if row.aggregate is not None:
        rows = tuple((anchor(option, name, 0), anchor(option, name, month), anchor(option, name, last))
                     for name in row.reads)  # fmt: skip
        return Aggregated(row.aggregate, rows, value)
    assert row.formula is not None

    def bind(name: str) -> Ref:
        if name in ROWS_OF_MONTHS:
            return Ref(anchor(option, name, month))
        return Ref(_source(book, option, name))

    return Translated(row.formula, bind, value)


def _source(book: Book, option: dict[str, Any], name: str) -> Anchor:
    """The cell of a column of the option: on Calculation, or on Inputs where only the timeline reads it."""
    if name in book.made or name in {leaf.name for leaf in calculation.leaves(book)}:
        return calculation.anchor(option, name)
    return ("input", *fact_reference(option, name))


def _result(book: Book, row: CashRow, option: dict[str, Any], last: int) -> object:
    value = float(option[row.column])
    never = row.column in ("break_even_month", "payback_month") and option["break_even_code"] != NOT_COMPARED
    if np.isnan(value) and not never:
        compared = option["break_even_code"] != NOT_COMPARED
        return book.translate("none, or several") if row.column == "incremental_irr_rate" and compared else value
    assert row.aggregate is not None
    rows = tuple((anchor(option, name, 0),) * 2 + (anchor(option, name, last),) for name in row.reads)
    return Aggregated(row.aggregate, rows, value, book.translate("never") if never else "")
