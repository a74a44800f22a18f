"""Inputs: every number the run used, with its band, basis, source and date; live ones may be edited in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.catalog.select import assumption
from reports.columns import LEAF
from reports.facts import in_another_currency
from reports.render.excel_style import ORANGE
from reports.render.formats import kind_of
from reports.render.live import Call, Live, Ref, Span
from reports.render.sheet import N_, TOP_ROWS, Book, Cell, Highlight, Row, Rows, Sheet, gap, heading, missing
from reports.render.sheets import demand

ORDER = 70
NAME = N_("Inputs")

SCOPES: dict[str, str] = {
    "workload": N_("Workload and targets"),
    "scenario": N_("Workload and targets"),
    "resident": N_("Memory of the running requests"),
    "demand": N_("Demand"),
    "stated": N_("Demand"),
    "assumption": N_("Assumptions"),
    "offer": N_("Rental offers"),
    "market": N_("Rental market (all eligible offers)"),
    "purchase": N_("Purchase prices"),
    "exchange": N_("Exchange rates"),
    "host": N_("Servers"),
    "delivery": N_("Delivery"),
    "gpu": N_("Cards"),
    "model": N_("Models"),
    "quantization": N_("Quantization formats"),
    "engine": N_("Serving engine"),
    "link": N_("Links between cards"),
    "layout": N_("Layout (searched)"),
    "solved": N_("Found by search"),
}

COLUMNS = (
    N_("Input"), N_("Of"), N_("Value"), N_("Unit"), N_("Low"), N_("High"), N_("Basis"), N_("Source"), N_("As of"),
    N_("Confirmed"), N_("When edited"), N_("Evaluated with"), N_("Note"),
)  # fmt: skip
NUMBERS = (3, 5, 6, 12)
"""Which of them are numbers."""

SAME, CHANGED = N_("needs a new run"), N_("CHANGED: run again")
"""What stands beside an input that search and simulation depend on, as evaluated and after an edit."""

ON_FILE = "on file"
"""Scope of the amount in its own currency beside the one that the run counts with."""

FIRST_KEPT, LAST_KEPT = ("input kept", "first"), ("input kept", "last")


def changed(book: Book) -> Live:
    """How many inputs that need a new run differ from what the run was evaluated with."""
    return Call("COUNTIF", Span(FIRST_KEPT, LAST_KEPT, ""), book.translate(CHANGED))


def declare(book: Book) -> Sheet:
    """One table a kind of record."""
    facts = book.run.facts.drop_duplicates(["scope", "key", "column"])
    head = Row(
        {
            index: Cell(book.translate(name), "head number" if index in NUMBERS else "head")
            for index, name in enumerate(COLUMNS, 1)
        },
        30,
    )
    blocks = [book.top(NAME), Rows([head, Row({11: Cell(None, "blank", anchor=FIRST_KEPT)}, 3)])]
    for title in dict.fromkeys(SCOPES.values()):
        scopes = [scope for scope, known in SCOPES.items() if known == title]
        rows = facts[facts["scope"].isin(scopes)].to_dict("records")
        if rows:
            order = {name: index for index, name in enumerate(LEAF)}
            rows.sort(key=lambda row: (not row["live"], str(row["key"]), order.get(str(row["column"]), len(order))))
            blocks.append(Rows([gap(), heading(book.translate(title), len(COLUMNS)), *_rows(book, rows)]))
    blocks.append(Rows([Row({11: Cell(None, "blank", anchor=LAST_KEPT)}, 3)]))
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={1: (30, 52), 2: (12, 34), 3: (12, 16), 4: (8, 24), 5: (9, 14), 6: (9, 14), 7: (10, 14), 8: (12, 40),
                9: 11, 10: 11, 11: (18, 26), 12: (12, 16), 13: 60},
        colour=ORANGE,
        large_paper=True,
        freeze=(TOP_ROWS + 1, 2),
        repeat_rows=(TOP_ROWS + 1, TOP_ROWS + 1),
        highlights=[Highlight(FIRST_KEPT, LAST_KEPT, "bad", book.translate(CHANGED))],
    )  # fmt: skip


def _on_file(book: Book, fact: dict[str, Any], currency: str) -> dict[str, Any]:
    """An amount in the currency it stands in on file, as a row of its own that is edited in the place of the other."""
    found = assumption(book.run.catalog, str(fact["column"]), book.run.scenario.region)
    unit = str(fact["unit"]).replace("currency", currency)
    return {**fact, "scope": ON_FILE, "value": found.mid, "low": found.low, "high": found.high, "unit": unit}


def _converted(book: Book, facts: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Live | None]]:
    """Each fact, and the formula that makes it where it is converted: then the amount on file comes before it."""
    for fact in facts:
        column, currency = str(fact["column"]), ""
        if fact["scope"] == "assumption" and fact["live"]:
            currency = in_another_currency(column, book.run.scenario, book.run.catalog)
        if not currency:
            yield fact, None
            continue
        rate = ("input", "exchange", f"{currency}/{book.run.scenario.currency}", "exchange_rate")
        yield _on_file(book, fact, currency), None
        yield fact, Call("*", Ref(("input", ON_FILE, "", column)), Ref(rate))


def _rows(book: Book, facts: list[dict[str, Any]]) -> Iterator[Row]:
    follows_demand = demand.live_inputs(book)
    for fact, made in _converted(book, facts):
        scope, key, column, unit = (str(fact[name]) for name in ("scope", "key", "column", "unit"))
        kind = kind_of(unit, column)
        live = bool(fact["live"])
        followed = follows_demand.get((scope, key, column))
        kept = not (live or followed)
        here, evaluated = ("input", scope, key, column), ("evaluated input", scope, key, column)
        follows: object = book.translate(N_("follows the sheet Demand") if followed else N_("everything follows"))
        if kept:
            same = Call("=", Ref(here), Ref(evaluated))
            follows = Call("IF", same, book.translate(SAME), book.translate(CHANGED))
        if made:
            follows = book.translate(N_("follows the amount on file and the exchange rate"))
        low, high = (None if missing(fact[name]) else fact[name] for name in ("low", "high"))
        yield Row(
            {
                1: Cell(_label(book, scope, column)),
                2: Cell(key, "unit"),
                3: Cell(made or (Ref(followed) if followed else fact["value"]),
                        "formula" if made else "link" if followed else "input" if live else "fixed input", kind, here,
                        number_only=live and not (made or followed)),
                4: Cell(book.unit(unit, column), "unit"),
                5: Cell(low, "value", kind),
                6: Cell(high, "value", kind),
                7: Cell(book.known(str(fact["basis"]))),
                8: Cell(str(fact["source"]), "unit"),
                9: Cell(str(fact["as_of"] or ""), "unit"),
                10: Cell(book.translate("yes" if fact["confirmed"] else "unconfirmed"), "unit"),
                11: Cell(follows, "unit"),
                12: Cell(fact["value"] if kept else None, "value", kind, evaluated if kept else None),
                13: Cell(str(fact["note"] or ""), "note"),
            }
        )  # fmt: skip


def _label(book: Book, scope: str, column: str) -> str:
    leaf = LEAF.get(column)
    label = book.translate(leaf.label) if leaf else book.known(column)
    return book.translate(N_("{input}, on file"), input=label) if scope == ON_FILE else label
