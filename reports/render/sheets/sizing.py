"""Sizing: from demand to cards for every short-listed option: units, spares, availability, and what caution costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.columns import LEAF
from reports.formulas.meta import info
from reports.render.excel_style import BLUE
from reports.render.formats import kind_of
from reports.render.live import Anchor, Call, Ref
from reports.render.sheet import N_, TOP_ROWS, Book, Cell, Row, Rows, Sheet, gap, heading, missing
from reports.render.sheets import calculation

ORDER = 48
NAME = N_("Sizing")
LABEL, UNIT, FIRST = 1, 2, 3

SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (N_("Demand"), ("demand_peak_concurrency", "demand_requests_per_s", "request_time_s", "demand_run_requests",
                   "demand_run_hours", "run_tail_s", "run_request_s", "demand_concurrency")),
    (
        N_("What one unit carries"),
        ("unit_cards", "replicas", "tensor_parallel", "data_parallel", "pipeline_parallel", "memory_requests",
         "memory_p95_requests", "limit_requests", "safety_factor", "recommended_concurrency"),
    ),
    (N_("Units and cards"), ("units_needed", "demand_cards", "spare_units", "sized_units", "development_units",
                             "sized_cards")),
    (N_("Servers when bought"), ("server_cards", "servers_needed", "bought_cards")),
    (N_("Instances when rented"), ("rent_instance_cards", "rented_instances", "rented_cards")),
    (
        N_("Availability"),
        ("card_availability_share", "server_availability_share", "unit_availability_share", "shared_servers",
         "availability_target_share", "availability_share", "fewer_availability_share"),
    ),
    (
        N_("What a loss leaves"),
        ("server_units", "card_loss_left_share", "server_loss_left_share", "card_loss_limit_share",
         "server_loss_limit_share"),
    ),
    (N_("What caution costs"), ("bare_units", "headroom_cards", "spare_cards")),
    (N_("Changing the software"), ("startup_minutes", "rolling_update_h")),
)  # fmt: skip
"""Columns of the Calculation sheet in the order in which cards are counted; those that a method lacks are left out."""

EMPHASISED = frozenset(("demand_concurrency", "recommended_concurrency", "sized_cards", "availability_share"))


def anchor(option: dict[str, Any], row: str) -> Anchor:
    """The cell of one row of an option."""
    return ("sizing", option["option_id"], row)


def declare(book: Book) -> Sheet:
    """One column a short-listed option, live from Calculation."""
    last = FIRST + len(book.options)
    rows: list[Row] = [*_notes(book), *_head(book)]
    for title, columns in SECTIONS:
        shown = [column for column in columns if _known(book, column)]
        if shown:
            rows += [gap(6), heading(book.translate(title), last)]
            rows += [Row(_cells(book, column)) for column in shown]
    rows += _verdicts(book)
    return Sheet(
        name=NAME,
        blocks=[book.top(NAME), Rows(rows)],
        widths={LABEL: (34, 56), UNIT: (8, 18), **dict.fromkeys(range(FIRST, last), 15.5), last: 70},
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS + 6, 2),
        repeat_rows=(TOP_ROWS + 1, TOP_ROWS + 6),
        repeat_columns=2,
    )


def _notes(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield Row({1: Cell(_(
        "Headroom is inside the units: each is given less than its limit. Spares are whole units on top of that, for "
        "what breaks; the reasons for spares are not added up, the largest decides."), "note")})  # fmt: skip
    yield gap(6)


def _head(book: Book) -> Iterator[Row]:
    _ = book.translate
    words = ((book.axis, lambda option: book.service(str(option["service"]))), (_("Card"), book.gpu),
             (_("Format"), lambda option: str(option["quantization"])), (_("Link"), book.link))  # fmt: skip
    for number, (label, text) in enumerate(words, 1):
        lowest = number == len(words)
        cells = {LABEL: Cell(label, "head" if lowest else "strong")}
        cells |= {FIRST + index: Cell(text(option), "head number" if lowest else "spanner")
                  for index, option in enumerate(book.options)}  # fmt: skip
        if lowest:
            cells |= {UNIT: Cell(_("Unit"), "head"), FIRST + len(book.options): Cell(_("What it is"), "head")}
        yield Row(cells, 30 if number < 3 else None)


def _known(book: Book, column: str) -> bool:
    return column in book.made or column in {leaf.name for leaf in calculation.leaves(book)}


def _cells(book: Book, column: str) -> dict[int, Cell]:
    made = book.made.get(column)
    unit = info(made[0]).unit if made else LEAF[column].unit
    strong = column in EMPHASISED
    cells = {
        LABEL: Cell(calculation.label_of(book, column), "strong" if strong else "text"),
        UNIT: Cell(book.unit(unit, column), "unit"),
    }
    kind = kind_of(unit, column)
    for index, option in enumerate(book.options):
        absent = missing(option[column])
        content = option[column] if absent else Ref(calculation.anchor(option, column))
        cells[FIRST + index] = Cell(content, "total" if strong else "link", kind, anchor(option, column))
    if made:
        cells[FIRST + len(book.options)] = Cell(book.translate(_one_line(info(made[0]).doc)), "note")
    return cells


def _one_line(doc: str) -> str:
    from reports.render.i18n import one_line

    return one_line(doc)


def _verdicts(book: Book) -> Iterator[Row]:
    """In words and live: is the availability reached, does a loss go unnoticed."""
    _ = book.translate
    yield gap(6)
    yield heading(_("In words"), FIRST + len(book.options))
    texts = {
        N_("Availability target"): (_reached, N_("reached"), N_("MISSED")),
        N_("Loss of a card"): (lambda at: Call("<=", 1, at("card_loss_left_share")), N_("not felt"), N_("felt")),
        N_("Loss of a server"): (lambda at: Call("<=", 1, at("server_loss_left_share")), N_("not felt"), N_("felt")),
    }
    for label, (holds, yes, no) in texts.items():
        cells = {LABEL: Cell(_(label))}
        for index, option in enumerate(book.options):
            if any(missing(option[name]) for name in ("availability_share", "server_loss_left_share")):
                continue

            def at(column: str, option: dict[str, Any] = option) -> Ref:
                return Ref(calculation.anchor(option, column))

            said = Call("IF", holds(at), _(yes), _(no))
            if label == "Availability target" and not option["availability_target_share"]:
                said = Call("IF", Call("=", at("availability_target_share"), 0), _("none stated"), said)
            cells[FIRST + index] = Cell(said, "check")
        yield Row(cells)


def _reached(at: Any) -> Call:
    return Call("=", at("availability_flag"), 1)
