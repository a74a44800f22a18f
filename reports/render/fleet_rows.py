"""Rows of the Fleet sheet that do not follow an edit: the present fleet alone, the pool a year on, what cards carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.fleet.plan import LATER, PRESENT_ONLY
from reports.render import view_fleet
from reports.render.formats import AMOUNT, COUNT, PERCENT, QUANTITY
from reports.render.sheet import N_, Book, Cell, Row, gap, heading, missing

COLUMNS = 14
"""Of the widest table of the sheet."""


def axis(book: Book) -> str:
    """Head of a column of services, or of models where none are listed."""
    return N_("Service") if book.words.lists_services else N_("Model")


def head(book: Book, *labels: str, numeric: tuple[int, ...]) -> Row:
    """Heads of the columns from the first on; those that are numeric stand to the right."""
    texts = [book.translate(label, currency=book.currency) for label in labels]
    return Row({index: Cell(text, "head number" if index in numeric else "head listed" if index > 1 else "head")
                for index, text in enumerate(texts, 1)}, 44)  # fmt: skip


def present(book: Book) -> Iterator[Row]:
    """What the present fleet alone serves."""
    _ = book.translate
    rows = view_fleet.of_plan(book.run.fleet_services, PRESENT_ONLY)
    if not rows:
        return
    yield heading(f"{_('If nothing is bought and nothing rented')} · {book.as_evaluated}", COLUMNS)
    yield from _plain(book, rows)


def later(book: Book) -> Iterator[Row]:
    """What each service gets a year on."""
    _ = book.translate
    found = view_fleet.ahead(book.words)
    if not found:
        return
    yield heading(f"{found['title']} · {book.as_evaluated}", COLUMNS)
    yield Row({1: Cell(found["lead"], "note")})
    yield from _plain(book, view_fleet.of_plan(book.run.fleet_services, LATER))


def _plain(book: Book, rows: list[dict[str, Any]]) -> Iterator[Row]:
    yield head(book, axis(book), N_("Tier"), N_("Demand, requests at once"), N_("Demand served"), N_("Units"),
                N_("Cards"), N_("A month, {currency}"), numeric=(2, 3, 4, 5, 6, 7))  # fmt: skip
    kinds = (("tier", COUNT), ("demand_concurrency", QUANTITY), ("served_share", PERCENT), ("units", COUNT),
             ("cards", QUANTITY), ("amount", AMOUNT))  # fmt: skip
    for row in rows:
        cells = {index: Cell(row[name], "value", kind) for index, (name, kind) in enumerate(kinds, 2)}
        yield Row({1: Cell(book.service(str(row["service"]))), **cells})
    yield gap(14)


def given(book: Book) -> Iterator[Row]:
    """What all present cards of one kind would carry of each service."""
    _ = book.translate
    found = book.run.given
    if found.empty:
        return
    yield heading(f"{_('What the present cards carry')} · {book.as_evaluated}", COLUMNS)
    yield head(book, axis(book), N_("Card"), N_("Layout of a unit"), N_("Cards"), N_("Replicas"),
                N_("Requests at once"), N_("Requests a second"), N_("Of its demand"),
                numeric=(4, 5, 6, 7, 8))  # fmt: skip
    kinds = (("given_cards", COUNT), ("given_replicas", COUNT), ("given_concurrency", COUNT),
             ("given_requests_per_s", QUANTITY), ("given_demand_share", PERCENT))  # fmt: skip
    for row in found.to_dict("records"):
        cells = {index: Cell(None if missing(row[name]) else row[name], "value", kind)
                 for index, (name, kind) in enumerate(kinds, 4)}  # fmt: skip
        yield Row({1: Cell(book.service(str(row["service"]))), 2: Cell(book.gpu(row)),
                   3: Cell(view_fleet.option_row(book.words, row), "listed"), **cells})  # fmt: skip
