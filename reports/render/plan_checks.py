"""Checks of card count and growth: the availability is reached, the spares are the least, the orders add up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.plan import spares
from reports.plan.rows import MONTH, TIMELINE
from reports.render.live import Call, Live, Ref, Span
from reports.render.sheet import N_, Book, missing
from reports.render.sheets import calculation, growth

Check = tuple[str, str, str, Live, Live, Live]
"""Group, words, of what, left side, right side, and the condition."""


def card_count(book: Book) -> Iterator[Check]:
    """Availability and spares of every short-listed option that has a target."""
    group = N_("Card count")
    for option in book.options:
        if not option[spares.TARGET] or missing(option["availability_share"]):
            continue
        of = f"{book.service(str(option['service']))} · {book.label(option)}"

        def at(column: str, option: dict[str, Any] = option) -> Live:
            return Ref(calculation.anchor(option, column))

        reached, target, fewer = at("availability_share"), at(spares.TARGET), at("fewer_availability_share")
        yield group, N_("The availability reaches its target"), of, target, reached, Call("<=", target, reached)
        policy = Call("<", at(spares.SOLVED), at("spare_units"))  # another reason asks for more
        yield (group, N_("With one spare unit fewer it would not, unless a policy asks for more"), of, fewer, target,
               Call("OR", Call("<", fewer, target), policy))  # fmt: skip


def months(book: Book) -> Iterator[Check]:
    """The timeline of every winner."""
    group = N_("Growth")
    for option in book.winners:
        of = f"{book.service(str(option['service']))} · {book.label(option)}"
        last = int(book.run.growth.loc[book.run.growth["option_id"] == option["option_id"], MONTH].max())

        def cell(row: str, month: int | str, option: dict[str, Any] = option) -> Live:
            return Ref(growth.anchor(option, row, month))

        def row(name: str, option: dict[str, Any] = option, last: int = last) -> Span:
            return Span(growth.anchor(option, name, 0), growth.anchor(option, name, last))

        added, total = Call("SUM", row("ordered_servers")), cell("ordered_total_servers", last)
        yield group, N_("The orders add up to what is ordered in total"), of, added, total, Call("=", added, total)
        cards, sized = cell("month_cards", 0), Ref(calculation.anchor(option, "sized_cards"))
        listed = cell("listed_factor", 0)
        words = N_("Month 0 needs the cards of the recommendation, unless its demand was edited")
        yield (group, words, of, cards, sized,
               Call("OR", Call("=", cards, sized), Call("<", listed, 1), Call(">", listed, 1)))  # fmt: skip
        found = Call("ERRORS", Span(growth.anchor(option, TIMELINE[0].column, 0),
                                    growth.anchor(option, TIMELINE[-1].column, last)))  # fmt: skip
        yield group, N_("No cell is an error"), of, found, Call("+", 0, 0), Call("=", found, 0)
