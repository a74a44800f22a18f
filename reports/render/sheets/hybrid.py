"""Hybrid: every way to get the cards side by side, and the cost over the number of servers owned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from reports.cost.ways import LABELS
from reports.render.excel_style import BLUE, GREEN
from reports.render.formats import AMOUNT, COUNT, PERCENT
from reports.render.live import Anchor, Ref
from reports.render.sheet import N_, TOP_ROWS, Block, Book, Cell, Chart, Row, Rows, Series, Sheet, gap, heading
from reports.render.sheets import calculation, cost_by_month

ORDER = 62
NAME = N_("Hybrid")
COLUMNS = 10
MOST_SERVERS = 200
"""Rows of a curve; longer ones are thinned, the best row is always there."""


def anchor(option: dict[str, Any], column: str, row: int) -> Anchor:
    """A cell of an option's curve."""
    return ("hybrid", option["option_id"], column, row)


def declare(book: Book) -> Sheet:
    """The table of ways, then a curve and its chart for every winner that can be bought."""
    blocks: list[Block] = [book.top(NAME), Rows([*_notes(book), *_ways(book)])]
    for option in book.winners:
        rows = [*_curve(book, option)]
        if rows:
            blocks += [Rows(rows), _chart(book, option, _points(book, option)), Rows([gap(20)])]
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={1: (34, 56), 2: (18, 36), 3: (24, 48), **dict.fromkeys(range(4, COLUMNS + 1), 17.0)},
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS, 1),
    )


def _notes(book: Book) -> Iterator[Row]:
    for text in (
        N_("All of this is found by search over whole servers, whole reserved instances and the hours of a week; it "
           "stays as evaluated when an input is edited. Always on and buy are live on the sheet Cost by month."),
        N_("Present cost is the amount that covers the whole horizon if it is set aside today."),
    ):  # fmt: skip
        yield Row({1: Cell(book.translate(text), "note")})
    yield gap()


def _ways(book: Book) -> Iterator[Row]:
    frame = book.run.ways
    if frame.empty:
        return
    _ = book.translate
    yield heading(_("Ways to get the cards"), COLUMNS)
    heads = (book.axis, _("Card"), _("Way"), _("Servers owned"), _("Instances reserved"), _("Card-hours a month"),
             _("Paid on day 0"), _("Present cost"), _("Equivalent a month"), _("Serves of the load"))  # fmt: skip
    yield Row({1 + at: Cell(text, "head" if at < 3 else "head number") for at, text in enumerate(heads)})
    shown = {str(option["option_id"]): option for option in book.winners}
    place = {str(option["service"]): at for at, option in enumerate(book.winners)}
    by_service = sorted(frame.to_dict("records"), key=lambda row: place.get(str(row["service"]), len(place)))
    for row in by_service:
        if row["option_id"] and row["option_id"] not in shown:
            continue
        option = shown.get(str(row["option_id"]))
        cells = {
            1: Cell(book.service(str(row["service"]))),
            2: Cell(book.label(option) if option else _beside(book, row), "note"),
            3: Cell(_(LABELS[str(row["way"])]), "strong" if row["best"] else "text"),
        }
        for at, (name, kind) in enumerate(
            (("owned_servers", COUNT), ("reserved_instances", COUNT), ("card_hours_per_month", COUNT),
             ("capex_amount", AMOUNT), ("present_cost_amount", AMOUNT), ("equivalent_amount_per_month", AMOUNT),
             ("served_share", PERCENT))
        ):  # fmt: skip
            cells[4 + at] = Cell(row[name], "solved", kind)
        yield Row(cells)
    yield gap()
    yield from _full_and_marginal(book)


def _beside(book: Book, row: dict[str, Any]) -> str:
    """What a way without an option runs on: a provider's model, or the cards of the present fleet."""
    gpus = book.run.catalog.gpus
    return ", ".join(gpus[name].name if name in gpus else name for name in str(row["source"]).split(" "))


FULL_AND_MARGINAL: tuple[tuple[str, str], ...] = (
    (N_("Owning in full, a month"), "buy_equivalent_amount_per_month"),
    (N_("Owned: in use more than idle, a month"), "marginal_amount_per_month"),
)


def _full_and_marginal(book: Book) -> Iterator[Row]:
    """Live: full cost against marginal cost of each winner; net present values after tax where they are asked for."""
    _ = book.translate
    shown = [option for option in book.winners if np.isfinite(option["buy_equivalent_amount_per_month"])]
    if not shown:
        return
    taxed = book.run.scenario.costs.tax_shield
    yield heading(_("In full and marginal"), COLUMNS)
    heads = [_(label) for label, _name in FULL_AND_MARGINAL]
    if taxed:
        heads += [_("Renting after tax, net present value"), _("Owning after tax, net present value")]
    yield Row({1: Cell(book.axis, "head"), 2: Cell(_("Card"), "head"),
               **{4 + at: Cell(text, "head number") for at, text in enumerate(heads)}})  # fmt: skip
    for option in shown:
        places = [calculation.anchor(option, name) for _label, name in FULL_AND_MARGINAL]
        if taxed:
            places += [cost_by_month.anchor(option, f"{way}_after_tax_npv_amount", "result") for way in ("rent", "buy")]
        yield Row({1: Cell(book.service(str(option["service"]))), 2: Cell(book.label(option), "note"),
                   **{4 + at: Cell(Ref(place), "formula", AMOUNT) for at, place in enumerate(places)}})  # fmt: skip
    yield gap()


def _points(book: Book, option: dict[str, Any]) -> list[dict[str, Any]]:
    frame = book.run.hybrid
    rows = frame[frame["option_id"] == option["option_id"]].to_dict("records") if len(frame) else []
    step = max(1, -(-len(rows) // MOST_SERVERS))
    return [row for at, row in enumerate(rows) if at % step == 0 or row["best"] or at == len(rows) - 1]


def _curve(book: Book, option: dict[str, Any]) -> Iterator[Row]:
    points = _points(book, option)
    if len(points) < 2:
        return
    _ = book.translate
    name = f"{book.service(str(option['service']))} · {book.label(option)}"
    yield heading(_("{option}: cost over the servers owned", option=name), COLUMNS)
    heads = (_("Servers owned"), _("Instances reserved"), _("Card-hours by the hour"), _("Owning"), _("Reserved"),
             _("By the hour"), _("Present cost"), _("Equivalent a month"), "")  # fmt: skip
    yield Row({1 + at: Cell(text, "head number") for at, text in enumerate(heads) if text})
    names = (("owned_servers", COUNT), ("reserved_instances", COUNT), ("card_hours_per_month", COUNT),
             ("owning_amount", AMOUNT), ("reserved_amount", AMOUNT), ("on_demand_amount", AMOUNT),
             ("present_cost_amount", AMOUNT), ("equivalent_amount_per_month", AMOUNT))  # fmt: skip
    for number, row in enumerate(points):
        cells = {
            1 + at: Cell(row[name], "solved", kind, anchor(option, name, number))
            for at, (name, kind) in enumerate(names)
        }
        if row["best"]:
            cells[COLUMNS] = Cell(_("least cost"), "strong")
        yield Row(cells)
    yield gap()


def _chart(book: Book, option: dict[str, Any], points: list[dict[str, Any]]) -> Chart:
    _ = book.translate
    last = len(points) - 1
    series = Series(
        _("Present cost"), anchor(option, "present_cost_amount", 0), anchor(option, "present_cost_amount", last), GREEN
    )
    return Chart(
        title=_("{option}: cost over the servers owned",
                option=f"{book.service(str(option['service']))}, {book.gpu(option)}"),
        x_title=_("Servers owned"),
        y_title=_("Present cost, {currency}", currency=book.currency),
        categories=(anchor(option, "owned_servers", 0), anchor(option, "owned_servers", last)),
        series=(series,),
        upright=True,
        label_every=max(1, len(points) // 12),
    )  # fmt: skip
