"""Per unit: what every short-listed option costs, draws and emits for each thing it delivers; live."""

from __future__ import annotations

from reports.render.excel_style import BLUE
from reports.render.formats import PRICE, QUANTITY, NumberKind
from reports.render.live import Anchor, Ref
from reports.render.sheet import N_, TOP_ROWS, Book, Cell, Row, Rows, Sheet, missing
from reports.render.sheets import calculation

ORDER = 34
NAME = N_("Per unit")

FIGURES: tuple[tuple[str, str, NumberKind], ...] = (
    ("amount_per_mtok", N_("Million output tokens, {currency}"), PRICE),
    ("all_amount_per_mtok", N_("Million tokens in and out, {currency}"), PRICE),
    ("amount_per_seat_month", N_("Concurrent seat and month, {currency}"), PRICE),
    ("amount_per_card_month", N_("Card and month, {currency}"), PRICE),
    ("energy_kwh_per_mtok", N_("kWh a million output tokens"), QUANTITY),
    ("emissions_kg_per_mtok", N_("kg CO2e a million output tokens"), QUANTITY),
    ("energy_kwh_per_month", N_("kWh a month"), QUANTITY),
    ("emissions_kg_per_month", N_("kg CO2e a month"), QUANTITY),
)
WIDTH = 4 + len(FIGURES)


def column(way: str, name: str) -> str:
    """The column of the option that holds a figure of a way."""
    return name if (way, name) == ("buy", "energy_kwh_per_month") else f"{way}_{name}"


def anchor(option_id: str, way: str, name: str) -> Anchor:
    """The cell of one figure."""
    return ("per unit", option_id, way, name)


def declare(book: Book) -> Sheet | None:
    """One row an option and way."""
    if not book.options:
        return None
    _ = book.translate
    texts = (
        N_("Equivalent cost a month over what an average month delivers. A seat is one request in flight at the peak."),
        N_("Emissions are energy at the grid's factor (Inputs: Grid factor), operation alone; rented cards are taken "
           "to draw what owned ones would."),
    )  # fmt: skip
    rows = [Row({1: Cell(_(text), "note")}) for text in texts]
    heads = (book.axis, _("Card"), _("Format"), _("Way"),
             *(_(label, currency=book.currency) for _name, label, _kind in FIGURES))  # fmt: skip
    rows.append(Row({at: Cell(text, "head number" if at > 4 else "head") for at, text in enumerate(heads, 1)}, 44))
    words = {"rent": _("rent"), "buy": _("buy")}
    for option in book.options:
        for way in book.ways:
            if missing(option[f"{way}_equivalent_amount_per_month"]):
                continue
            look = "strong" if option["winner"] and option["way"] == way else "text"
            cells = {1: Cell(book.service(str(option["service"])), look), 2: Cell(book.gpu(option)),
                     3: Cell(str(option["quantization"])), 4: Cell(words[way], look)}  # fmt: skip
            for at, (name, _label, kind) in enumerate(FIGURES, 5):
                own = column(way, name)
                known = option[own] if missing(option[own]) else Ref(calculation.anchor(option, own))
                cells[at] = Cell(known, "link", kind, anchor(option["option_id"], way, name))
            rows.append(Row(cells))
    return Sheet(
        name=NAME,
        blocks=[book.top(NAME), Rows(rows)],
        widths={1: (24, 34), 2: (16, 28), 3: 9, 4: 8, **dict.fromkeys(range(5, WIDTH + 1), 15.0)},
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS + len(texts) + 1, 1),
    )
