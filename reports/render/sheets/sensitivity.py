"""Sensitivity: what each input does to the money, a live grid of rented hours against rent, and chances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.cost.timeline import NOT_COMPARED
from reports.cost.ways import LABELS
from reports.formulas import grid as formulas
from reports.render.excel_style import BLUE, ORANGE
from reports.render.formats import AMOUNT, COUNT, GENERAL, PERCENT, kind_of
from reports.render.live import Anchor, Call, Ref, Translated
from reports.render.sheet import N_, TOP_ROWS, Block, Book, Cell, Chart, Row, Rows, Series, Sheet, gap, heading
from reports.render.sheets import calculation, cost_by_month
from reports.sensitivity.grid import HOURS_SHARES, PRICE_FACTORS
from reports.sensitivity.tornado import PLAN

ORDER = 68
NAME = N_("Sensitivity")
FIRST = 2
COLUMNS = 14
MOST_BARS = 12
"""Of the tornado chart; the table has all."""


def declare(book: Book) -> Sheet:
    """The plan's tornado, the chances, a grid for every winner that has both prices, and every single service."""
    plan = [*_tornado(book, PLAN, book.translate("Whole plan, cost a month"))]
    blocks: list[Block] = [book.top(NAME), Rows([*_notes(book), *plan])]
    if plan:
        blocks += [_chart(book, len(plan) - 3), Rows([gap(16)])]
    both = len(book.run.scenario.costs.compare) > 1
    stopped = [option for option in book.winners if both and option["break_even_code"] != NOT_COMPARED]
    blocks += [Rows([*_stopping(book, stopped)])]
    losing = [option for option in stopped if option[f"{option['way']}_worst_regret_amount"] > 0]
    for option in losing:
        blocks += [_regret_chart(book, option), Rows([gap(18)])]
    rows = [*_chances(book)]
    for option in book.winners:
        rows += _grid(book, option)
    for option in book.winners:
        title = f"{book.service(str(option['service']))} · {book.label(option)}"
        rows += _tornado(book, str(option["option_id"]), title)
    return Sheet(
        name=NAME,
        blocks=[*blocks, Rows(rows)],
        widths={1: (36, 60), 2: (16, 40), 3: (16, 40), **dict.fromkeys(range(4, FIRST + COLUMNS), 15.0)},
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS, 1),
        repeat_columns=1,
    )


def _notes(book: Book) -> Iterator[Row]:
    for text in (
        N_("The grid is live: it follows the rent and the cost of owning. The other tables are as evaluated: they "
           "need thousands of evaluations, and so a new run."),
        N_("In the grid a positive number is what owning saves a month, a negative one what renting saves."),
    ):  # fmt: skip
        yield Row({1: Cell(book.translate(text), "note")})
    yield gap()


def _tornado(book: Book, option_id: str, title: str) -> Iterator[Row]:
    frame = book.run.tornado
    own = frame[frame["option_id"] == option_id].to_dict("records") if len(frame) else []
    if not own:
        return
    _ = book.translate
    yield heading(title, FIRST + COLUMNS - 1)
    heads = (N_("Input"), N_("Of"), N_("Unit"), N_("Basis"), N_("Low"), N_("Planned"), N_("High"), N_("Cost at low"),
             N_("Cost as planned"), N_("Cost at high"), N_("Swing"), N_("Turns at"), N_("Change at low"),
             N_("Change at high"))  # fmt: skip
    texts = (0, 1, 2, 3)
    yield Row({1 + at: Cell(_(text), "head" if at in texts else "head number") for at, text in enumerate(heads)})
    for number, row in enumerate(own):
        kind = kind_of(str(row["unit"]), str(row["column"]))
        cells: dict[int, Cell] = {
            1: Cell(_(str(row["label"])), anchor=("tornado", option_id, number, "input")),
            2: Cell(_of(book, row), "note"),
            3: Cell(book.unit(str(row["unit"]), str(row["column"])), "unit"),
            4: Cell(_(str(row["basis"])), "note"),
        }
        cells |= {5 + at: Cell(row[name], "solved", kind) for at, name in enumerate(("low", "mid", "high"))}
        names = ("cost_at_low", "cost", "cost_at_high", "swing")
        at_place = {name: ("tornado", option_id, number, name) for name in (*names, "input", "low", "high")}
        cells |= {8 + at: Cell(row[name], "solved", AMOUNT, at_place[name]) for at, name in enumerate(names)}
        cells |= {13 + at: Cell(Call("-", Ref(at_place[f"cost_at_{end}"]), Ref(at_place["cost"])), "formula", AMOUNT,
                                at_place[end]) for at, end in enumerate(("low", "high"))}  # fmt: skip
        turns = row["switching_value"]
        found = turns == turns
        cells[12] = Cell(turns if found else _("nowhere between"), "solved", kind if found else GENERAL)
        yield Row(cells)
    yield gap()


def _chart(book: Book, count: int) -> Chart:
    """The tornado of the whole plan, its widest bars."""
    _ = book.translate
    last = min(count, MOST_BARS) - 1

    def cells(name: str) -> tuple[Anchor, Anchor]:
        return ("tornado", PLAN, 0, name), ("tornado", PLAN, last, name)

    return Chart(
        title=_("Whole plan, cost a month"),
        x_title=_("Input"),
        y_title=_("Change of the cost a month, {currency}", currency=book.currency),
        categories=cells("input"),
        series=[Series(_("Change at low"), *cells("low"), ORANGE), Series(_("Change at high"), *cells("high"), BLUE)],
        form="bars",
        value_format="+#,##0;-#,##0;0",
        label_every=1,
        rows=24,
    )


def _of(book: Book, row: dict[str, Any]) -> str:
    key, scope = str(row["key"]), str(row["scope"])
    if scope == "demand":
        return book.service(key)
    found = next((gpu for gpu in sorted(book.run.catalog.gpus, key=len, reverse=True) if gpu in key), "")
    return book.run.catalog.gpus[found].name if found else key


def _chances(book: Book) -> Iterator[Row]:
    frame = book.run.chances
    if frame.empty:
        return
    _ = book.translate
    yield heading(_("How likely each choice is the cheapest of its service"), FIRST + COLUMNS - 1)
    heads = (book.axis, _("Card"), _("Way"), "", _("Cheapest in"), _("Cost a month, P10"), _("Cost a month, P50"),
             _("Cost a month, P90"), _("Cards, P10"), _("Cards, P50"), _("Cards, P90"))  # fmt: skip
    yield Row({1 + at: Cell(text, "head" if at < 4 else "head number") for at, text in enumerate(heads) if text})
    options = {str(option["option_id"]): option for option in book.options}
    for row in frame.to_dict("records"):
        cells = {
            1: Cell(book.service(str(row["service"]))),
            2: Cell(book.label(options[str(row["option_id"])])),
            3: Cell(_(LABELS[str(row["way"])])),
            5: Cell(row["cheapest_share"], "solved", PERCENT),
        }
        cells |= {6 + at: Cell(row[f"cost_{name}"], "solved", AMOUNT) for at, name in enumerate(("p10", "p50", "p90"))}
        cells |= {9 + at: Cell(row[f"cards_{name}"], "solved", COUNT) for at, name in enumerate(("p10", "p50", "p90"))}
        yield Row(cells)
    yield gap()


def _stopping(book: Book, options: list[dict[str, Any]]) -> Iterator[Row]:
    """Live: the largest regret of each way, whenever the service stops, and the chosen way beside it."""
    if not options:
        return
    _ = book.translate
    yield heading(_("If the service stops early: what a choice costs more than the better one"), FIRST + COLUMNS - 1)
    note = _("Largest over the months, each of which is on the sheet Cost by month; no resale before the end. Renting "
             "until the rents reach the outlay, and only then buying, never costs more than twice the better way.")
    yield Row({1: Cell(note, "note")})
    heads = (book.axis, _("Card"), _("Chosen"), _("Renting loses at most"), _("Owning loses at most"))
    yield Row({1 + at: Cell(text, "head" if at < 3 else "head number") for at, text in enumerate(heads)})
    for option in options:
        yield Row(
            {1: Cell(book.service(str(option["service"]))), 2: Cell(book.label(option), "note"),
             3: Cell(_(LABELS[str(option["way"])])),
             **{4 + at: Cell(Ref(cost_by_month.anchor(option, f"{way}_worst_regret_amount", "result")), "formula",
                             AMOUNT) for at, way in enumerate(("rent", "buy"))}}
        )  # fmt: skip
    yield gap()


def _regret_chart(book: Book, option: dict[str, Any]) -> Chart:
    """The excess of each way over the better one, by the month in which the service stops."""
    _ = book.translate
    last = int(book.run.timelines["month"].max())

    def line(column: str, title: str, colour: str) -> Series:
        first, end = (cost_by_month.anchor(option, column, month) for month in (0, last))
        return Series(_(title), first, end, colour)

    return Chart(
        title=_("{option}: lost if the service stops in a month",
                option=f"{book.service(str(option['service']))}, {book.gpu(option)}"),
        x_title=_("Month"),
        y_title=_("Present cost more than the better way, {currency}", currency=book.currency),
        categories=(cost_by_month.anchor(option, "month", 0), cost_by_month.anchor(option, "month", last)),
        series=(line("rent_regret_amount", N_("Rent"), ORANGE), line("buy_regret_amount", N_("Buy"), BLUE)),
        upright=True,
    )  # fmt: skip


def anchor(option: dict[str, Any], row: str, column: int) -> Anchor:
    """A cell of an option's grid: row "price0"…, column 0 is the head of the row."""
    return ("sensitivity", option["option_id"], row, column)


def _grid(book: Book, option: dict[str, Any]) -> Iterator[Row]:
    frame = book.run.grid
    if frame.empty or not (frame["option_id"] == option["option_id"]).any():
        return
    _ = book.translate
    yield heading(
        _("{option}: what owning saves a month, {currency}", currency=book.currency,
          option=f"{book.service(str(option['service']))} · {book.label(option)}"),
        FIRST + len(HOURS_SHARES) - 1,
    )  # fmt: skip
    how = _("Down: rent against today's. Across: share of all hours for which cards are rented.")
    yield Row({1: Cell(how, "note")})
    yield Row(
        {1: Cell(_("Rent, multiple of today's"), "head"),
         **{FIRST + at: Cell(share, "head number", PERCENT, anchor(option, "hours", at + 1))
            for at, share in enumerate(HOURS_SHARES)}}
    )  # fmt: skip
    values = frame[frame["option_id"] == option["option_id"]].set_index(["price_factor", "hours_share"])
    for index, factor in enumerate(PRICE_FACTORS):
        cells = {1: Cell(factor, "formula", kind_of("ratio", "price_factor"), anchor(option, f"price{index}", 0))}
        for at, share in enumerate(HOURS_SHARES):
            value = float(values.loc[(factor, share), "saving_amount_per_month"])
            cells[FIRST + at] = Cell(_cell(option, index, at + 1, value), "formula", AMOUNT)
        yield Row(cells)
    yield gap()


def _cell(option: dict[str, Any], index: int, column: int, value: float) -> Translated:
    """The saving of a cell as one formula: rent there less owning."""

    def bind(name: str) -> Ref:
        places = {"hours_share": anchor(option, "hours", column), "price_factor": anchor(option, f"price{index}", 0)}
        return Ref(places.get(name) or calculation.anchor(option, name))

    return Translated(formulas.grid_saving_of_cell_amount_per_month, bind, value)
