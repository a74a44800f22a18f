"""Growth: demand, cards, orders and the rented bridge of every winner, month by month and live."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.columns import LEAF, fact_reference
from reports.plan.outlook import changes, grows, months_ahead
from reports.plan.rows import (
    COMPARED,
    COMPARED_RESULTS,
    GIVEN,
    MONTH,
    NEVER_WHEN_BLANK,
    RESULTS,
    ROWS_OF_MONTHS,
    SOLVED,
    TIMELINE,
    PlanRow,
)
from reports.render.excel_style import BLUE, INK, ORANGE
from reports.render.formats import FLAG, SERIAL, TEXT, kind_of
from reports.render.live import Aggregated, Anchor, Call, Live, Ref, Translated
from reports.render.sheet import (
    N_,
    TOP_ROWS,
    Block,
    Book,
    Cell,
    Chart,
    Row,
    Rows,
    Series,
    Sheet,
    gap,
    heading,
    missing,
)
from reports.render.sheets import calculation

ORDER = 64
NAME = N_("Growth")
LABEL, UNIT, FIRST = 1, 2, 3
EMPHASISED = frozenset(
    ("month_cards", "ordered_servers", "bridge_cards", "growing_rent_cash_amount", "growing_buy_cash_amount")
)
QUIET = frozenset(("ahead_servers", "wanted_servers", "ordered_before_servers", "exhausted_flag"))
"""Rows that are steps on the way."""

COMPARED_NOTE = N_(
    "All that today's fleet does not cover is rented; or servers are ordered a lead time ahead, and rented until they "
    "arrive. Today's fleet costs the same either way and is left out. Use is paid at the end of its month, an order on "
    "its day."
)

SETTINGS = ("monthly_growth_rate", "growth_saturation_factor", "lead_time_weeks", "order_budget_amount_per_quarter")
RESULT = "result"


def anchor(option: dict[str, Any], row: str, month: int | str) -> Anchor:
    """The cell of one row and month; a result stands at month "result"."""
    return ("growth", option["option_id"], row, month)


def declare(book: Book) -> Sheet:
    """A section a winner: settings, timeline, results, chart."""
    months = months_ahead(book.run.scenario)
    columns = FIRST + months
    blocks: list[Block] = [book.top(NAME), Rows([*_notes(book, columns)])]
    for option in book.winners:
        blocks += [Rows([*_section(book, option, columns), gap()]), _chart(book, option, months), Rows([gap(20)])]
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={LABEL: (36, 56), UNIT: (8, 18), **dict.fromkeys(range(FIRST, columns + 1), (11.0, 18.0))},
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS, 2),
        repeat_columns=2,
        pages_wide=max(1, round(columns / 20)),
    )


def _notes(book: Book, columns: int) -> Iterator[Row]:
    _ = book.translate
    texts = [
        _(
            "Month 0 is the month of the report. Growth, lead times, prices and the rows in blue may be edited, and "
            "orders, bridge and idle cards follow; what a search found stays as evaluated."
        ),
        _("An order is placed its lead time before the first month that needs it; until it arrives, cards are rented."),
    ]
    if not grows(book.run.scenario):
        flat = _("No demand of this scenario grows: the timeline is flat, and shows delivery and bridge only.")
        texts.insert(0, flat)
    for text in texts:
        yield Row({1: Cell(text, "note")})
    yield gap()


def _section(book: Book, option: dict[str, Any], columns: int) -> Iterator[Row]:
    _ = book.translate
    yield heading(f"{book.service(str(option['service']))} · {book.label(option)}", columns)
    for name in SETTINGS:
        leaf = LEAF[name]
        kind = kind_of(leaf.unit, name)
        cell = Cell(Ref(("input", *fact_reference(option, name))), "link", kind, anchor(option, name, RESULT))
        yield Row({**_left(book, leaf.label, leaf.unit, name), FIRST: cell})
    leaf = LEAF["order_flag"]
    bought = Call("IF", Call("=", Ref(("recommendation", option["option_id"], "way")), _("buy")), 1, 0)
    yield Row(
        {**_left(book, leaf.label, leaf.unit, "order_flag"),
         FIRST: Cell(bought, "formula", FLAG, anchor(option, "order_flag", RESULT))}
    )  # fmt: skip
    yield gap(6)
    timeline = book.run.growth[book.run.growth["option_id"] == option["option_id"]].sort_values(MONTH)
    months = [int(month) for month in timeline[MONTH]]
    yield Row(
        {LABEL: Cell(_("Month"), "strong"),
         **{FIRST + month: Cell(month, "spanner", SERIAL, anchor(option, MONTH, month)) for month in months}}
    )  # fmt: skip
    periods = zip(months, timeline["period"], strict=True)
    yield Row(
        {LABEL: Cell(_("Calendar month"), "head"), UNIT: Cell(_("Unit"), "head"),
         **{FIRST + month: Cell(str(period), "head number", TEXT, anchor(option, "period", month))
            for month, period in periods}}
    )  # fmt: skip
    for row in TIMELINE:
        yield Row(_cells(book, row, option, months, timeline[row.column].to_numpy(dtype=float)))
    compared = changes(book.run.scenario)
    if compared:
        yield gap(6)
        yield Row({LABEL: Cell(_("Rent against buy as the demand grows"), "strong")})
        yield Row({LABEL: Cell(_(COMPARED_NOTE), "note")})
        for row in COMPARED:
            yield Row(_cells(book, row, option, months, timeline[row.column].to_numpy(dtype=float)))
    yield gap(6)
    results = book.run.growth_results.set_index("option_id").loc[option["option_id"]]
    for row in (*RESULTS, *(COMPARED_RESULTS if compared else ())):
        cell = Cell(_result(book, row, option, months[-1], float(results[row.column])), "total",
                    kind_of(row.unit, row.column), anchor(option, row.column, RESULT))  # fmt: skip
        yield Row({**_left(book, row.label, row.unit, row.column, "strong"), FIRST: cell})


def _left(book: Book, label: str, unit: str, column: str, look: str = "text") -> dict[int, Cell]:
    return {LABEL: Cell(book.translate(label), look), UNIT: Cell(book.unit(unit, column), "unit")}


def _cells(book: Book, row: PlanRow, option: dict[str, Any], months: list[int], values: Any) -> dict[int, Cell]:
    strong, quiet = row.column in EMPHASISED, row.column in QUIET
    cells = _left(book, row.label, row.unit, row.column, "strong" if strong else "note" if quiet else "text")
    look = {GIVEN: "input", SOLVED: "solved"}.get(row.source, "formula")
    for month, value in zip(months, values, strict=True):
        content: object = float(value)
        if not row.source:
            content = _month_cell(book, row, option, month, months[-1], float(value))
        cells[FIRST + month] = Cell(
            content, look, kind_of(row.unit, row.column), anchor(option, row.column, month),
            number_only=row.source == GIVEN,
        )  # fmt: skip
    return cells


def _source(book: Book, option: dict[str, Any], name: str) -> Anchor:
    """The cell of a column of the option: here, on Calculation, or on Inputs."""
    if name == "order_flag":
        return anchor(option, name, RESULT)
    if name in book.made or name in {leaf.name for leaf in calculation.leaves(book)}:
        return calculation.anchor(option, name)
    return ("input", *fact_reference(option, name))


def _month_cell(book: Book, row: PlanRow, option: dict[str, Any], month: int, last: int, value: float) -> Live:
    if row.aggregate is not None:
        places = []
        for name in row.reads:
            if name in ROWS_OF_MONTHS:
                places.append((anchor(option, name, 0), anchor(option, name, month), anchor(option, name, last)))
            else:
                places.append((_source(book, option, name),) * 3)
        return Aggregated(row.aggregate, tuple(places), value)
    assert row.formula is not None
    known = dict(zip(_parameters(row), row.reads, strict=True))

    def bind(parameter: str) -> Ref:
        name = known[parameter]
        return Ref(anchor(option, name, month) if name in ROWS_OF_MONTHS else _source(book, option, name))

    return Translated(row.formula, bind, value)


def _parameters(row: PlanRow) -> tuple[str, ...]:
    from reports.formulas.meta import info

    return info(row.formula).inputs if row.formula is not None else ()


def _result(book: Book, row: PlanRow, option: dict[str, Any], last: int, value: float) -> object:
    if row.aggregate is not None:
        rows = tuple((anchor(option, name, 0),) * 2 + (anchor(option, name, last),) for name in row.reads)
        never = row.column in NEVER_WHEN_BLANK and _compared(book, row, option)
        if value != value and not never:
            return value
        return Aggregated(row.aggregate, rows, value, book.translate("never") if never else "")
    assert row.formula is not None
    known = dict(zip(_parameters(row), row.reads, strict=True))

    def bind(parameter: str) -> Ref:
        name = known[parameter]
        drawn = name in {each.column for each in (*RESULTS, *COMPARED_RESULTS)}
        return Ref(anchor(option, name, RESULT) if drawn else _source(book, option, name))

    return Translated(row.formula, bind, value)


def _compared(book: Book, row: PlanRow, option: dict[str, Any]) -> bool:
    """Whether a month that is blank was not reached; a way without a price is not compared, and stays blank."""
    if row.column == "exhausted_month":
        return True
    results = book.run.growth_results.set_index("option_id").loc[option["option_id"]]
    return not missing(results["growing_rent_npv_amount"]) and not missing(results["growing_buy_npv_amount"])


def _chart(book: Book, option: dict[str, Any], months: int) -> Chart:
    _ = book.translate

    def line(column: str, title: str, colour: str, dash: str = "solid") -> Series:
        return Series(_(title), anchor(option, column, 0), anchor(option, column, months), colour, dash)

    name = f"{book.service(str(option['service']))}, {book.gpu(option)}"
    return Chart(
        title=_("{option}: cards needed and at hand", option=name),
        x_title=_("Month"),
        y_title=_("Cards"),
        categories=(anchor(option, "period", 0), anchor(option, "period", months)),
        series=(
            line("month_cards", N_("Needed"), INK),
            line("owned_cards", N_("At hand"), BLUE),
            line("bridge_cards", N_("Rented"), ORANGE, "sysDash"),
        ),
        upright=True,
        label_every=3 if months > 12 else 1,
    )
