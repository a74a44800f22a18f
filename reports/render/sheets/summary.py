"""Summary: what to do, what it costs, when it pays, and whether the checks hold; all of it live."""

from __future__ import annotations

from collections.abc import Iterator

from reports.cost.timeline import NOT_COMPARED
from reports.render.excel_style import BLUE
from reports.render.formats import AMOUNT, COUNT, PERCENT, PRICE, QUANTITY, SERIAL, NumberKind
from reports.render.live import Anchor, Call, Live, Ref, Span
from reports.render.sentences import near_miss, warnings
from reports.render.sheet import N_, Block, Book, Cell, Highlight, Row, Rows, Sheet, gap, heading, sentence
from reports.render.sheets import inputs
from reports.render.sheets.cost_by_month import cumulative_chart
from reports.render.sheets.recommendation import over

ORDER = 20
NAME = N_("Summary")

COLUMNS: tuple[tuple[str, str, str, NumberKind], ...] = (
    ("way", N_("Rent or buy"), "formula text", COUNT),
    ("paid_cards", N_("Cards"), "formula", COUNT),
    ("servers_needed", N_("Servers if bought"), "formula", COUNT),
    ("gpu", N_("Card"), "formula text", COUNT),
    ("quantization", N_("Format"), "formula text", COUNT),
    ("interconnect", N_("Link"), "formula text", COUNT),
    ("monthly_cost", N_("Cost per month, {currency}"), "formula", AMOUNT),
    ("rent", N_("Renting per month, {currency}"), "formula", AMOUNT),
    ("buy", N_("Owning per month, {currency}"), "formula", AMOUNT),
    ("break_even", N_("Break-even month"), "formula", SERIAL),
    ("per_mtok", N_("Per million output tokens, {currency}"), "formula", PRICE),
    ("tpot_ms", N_("TPOT, ms"), "formula", QUANTITY),
    ("ttft_ms", N_("TTFT (mean), ms"), "formula", QUANTITY),
    ("headroom_share", N_("Spare capacity"), "formula", PERCENT),
)
WIDTH = len(COLUMNS) + 1

OUTDATED = N_("Inputs that need a new run were changed: this answer is not for them. See Inputs, and run again.")
UP_TO_DATE = N_("Search and simulation match the inputs; prices, demand and policies may be edited.")


def anchor(service: str, name: str) -> Anchor:
    """One figure of a service's winner."""
    return ("summary", service, name)


def declare(book: Book) -> Sheet:
    """Answer first, then the figures, the table, the chart, and what to know before using it."""
    blocks: list[Block] = [book.top(NAME), Rows([*_answers(book), gap(), *_figures(book), gap(14), *_table(book)])]
    charted = [option for option in book.winners if option["break_even_code"] != NOT_COMPARED]
    if charted:
        largest = max(charted, key=lambda option: option["monthly_cost_amount"])
        blocks += [Rows([gap(16)]), cumulative_chart(book, largest, width_cm=36)]
    blocks.append(Rows([gap(16), *_cautions(book)]))
    flag, outdated = ("summary", "flag"), ("summary", "outdated")
    flags = [Highlight(flag, flag, "bad", book.translate("CHECKS FAIL"))] if book.services else []
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={1: (24, 34), 2: 12, 3: 10, 4: 11, 5: (17, 28), 6: (10, 16), 7: 11,
                **dict.fromkeys(range(8, WIDTH + 2), 14.0)},
        colour=BLUE,
        one_page=True,
        highlights=[Highlight(outdated, outdated, "bad", book.translate(OUTDATED)), *flags],
    )


def _winner(book: Book, service: str, name: str) -> Live:
    """A figure of the option whose cost is the least of the service's short list."""
    costs = over(book, service, "monthly_cost")
    return Call("PICK", over(book, service, name), Call("MIN", costs), costs)


def _answers(book: Book) -> Iterator[Row]:
    _ = book.translate
    buy = _(
        "{model}: buy {cards} × {card} (servers: {servers}; {format}, {link}), {monthly} {currency} a month; "
        "rented {rent}."
    )
    rent = _("{model}: rent {cards} × {card} ({format}, {link}), {monthly} {currency} a month; owned {buy}.")
    outdated = Call("IF", Call(">", inputs.changed(book), 0), _(OUTDATED), _(UP_TO_DATE))
    yield Row({1: Cell(outdated, "note", anchor=("summary", "outdated"), across=WIDTH)}, 15)
    for service in book.services:
        own = {name: Ref(anchor(service, name)) for name, *_rest in COLUMNS}
        parts: dict[str, Live | str] = {
            "model": book.service(service),
            "cards": Call("TEXT", own["paid_cards"], COUNT.excel),
            "servers": Call("TEXT", own["servers_needed"], COUNT.excel),
            "card": own["gpu"],
            "format": own["quantization"],
            "link": own["interconnect"],
            "monthly": Call("TEXT", own["monthly_cost"], COUNT.excel),
            "rent": Call("TEXT", own["rent"], COUNT.excel),
            "buy": Call("TEXT", own["buy"], COUNT.excel),
            "currency": book.currency,
        }
        said = Call("IF", Call("=", own["way"], _("buy")), sentence(buy, **parts), sentence(rent, **parts))
        yield Row({1: Cell(said, "headline", across=WIDTH)}, 21)
    for service in (each.name for each in book.run.scenario.service_axis):
        if service not in book.services:
            text = _("{model}: no answer, see below.", model=book.service(service))
            yield Row({1: Cell(text, "headline", across=WIDTH)}, 21)


def _figures(book: Book) -> Iterator[Row]:
    """Four figures over all services, each over its label."""
    if not book.services:
        return
    _ = book.translate
    first, last = book.services[0], book.services[-1]

    def total(name: str) -> Live:
        return Call("SUM", Span(anchor(first, name), anchor(last, name), ""))

    cost = Call("SUM", Span(anchor(first, "monthly_cost"), anchor(last, "monthly_cost"), ""))
    rent = total("rent")
    bought = Call("COUNTIF", Span(anchor(first, "way"), anchor(last, "way"), ""), _("buy"))
    figures: list[tuple[int, object, NumberKind, str]] = [
        (1, total("paid_cards"), COUNT, _("cards paid for")),
        (3, cost, AMOUNT, _("{currency} a month, equivalent cost", currency=book.currency)),
        (6, rent, AMOUNT, _("{currency} a month if rented", currency=book.currency)),
        (9, bought, COUNT, _("of {count} services are cheaper to own", count=len(book.services)))
        if len(book.services) > 1
        else (9, Ref(anchor(first, "break_even")), SERIAL, _("break-even month")),
        (12, Ref(("checks", "verdict")), COUNT, _("integrity of this workbook")),
    ]  # fmt: skip
    spread = {1: 2, 3: 3, 6: 3, 9: 3, 12: 3}
    yield Row({column: Cell(content, "figure", kind, ("summary", "flag") if column == 12 else None,
                            across=spread[column]) for column, content, kind, _label in figures}, 26)  # fmt: skip
    yield Row({column: Cell(label, "figure label", across=spread[column]) for column, _c, _k, label in figures}, 16)


def _table(book: Book) -> Iterator[Row]:
    if not book.services:
        return
    _ = book.translate
    listed = book.words.lists_services
    yield heading(_("Best option of each service" if listed else "Best option of each model"), WIDTH)
    cells = {1: Cell(book.axis, "head")}
    for index, (_name, label, look, _kind) in enumerate(COLUMNS, 2):
        cells[index] = Cell(_(label, currency=book.currency), "head number" if look == "formula" else "head")
    large = book.large_unit
    if large:
        cells[WIDTH + 1] = Cell(_("Cost per month, {unit}", unit=large.unit), "head number")
    yield Row(cells, 44)
    for service in book.services:
        row = {1: Cell(book.service(service), "strong")}
        for index, (name, _label, look, kind) in enumerate(COLUMNS, 2):
            row[index] = Cell(_winner(book, service, name), look, kind, anchor(service, name))
        if large:
            row[WIDTH + 1] = Cell(Call("/", Ref(anchor(service, "monthly_cost")), int(large.factor)), "formula", PRICE)
        yield Row(row, 18)
    if len(book.services) > 1:
        first, last = book.services[0], book.services[-1]
        row = {index: Cell(None, "total") for index in range(2, WIDTH + 1)}
        row[1] = Cell(_("Total"), "total label")
        for index, (name, _label, _look, kind) in enumerate(COLUMNS, 2):
            if name in ("paid_cards", "monthly_cost"):
                row[index] = Cell(Call("SUM", Span(anchor(first, name), anchor(last, name), "")), "total", kind)
        if large:
            cost = Call("SUM", Span(anchor(first, "monthly_cost"), anchor(last, "monthly_cost"), ""))
            row[WIDTH + 1] = Cell(Call("/", cost, int(large.factor)), "total", PRICE)
        yield Row(row, 18)


def _cautions(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Before you use it"), WIDTH)
    texts = [
        _("The verdict is the best of the {count} short-listed options; other cards and counts need a new run.",
          count=len(book.options)),
        _("Costs are equivalent level payments a month over {months}, discounted monthly; before tax.",
          months=book.words.months(book.run.scenario.costs.horizon_months)),
        _("Break-even: the month in which the discounted rent paid passes the discounted cost of owning."),
    ]  # fmt: skip
    yield from _bullets(texts)
    found = warnings(book.words)
    for service in (each.name for each in book.run.scenario.service_axis):
        if service not in book.services:
            text = _("{model}: none of the options meets the targets at a known price.", model=book.service(service))
            found.append(book.words.joined(text, near_miss(book.words, service)))
    if found:
        yield gap()
        yield heading(book.as_evaluated, WIDTH)
        yield from _bullets(found)


def _bullets(texts: list[str]) -> Iterator[Row]:
    for text in texts:
        yield Row({1: Cell(f"• {text}", "wrapped", across=WIDTH)})
