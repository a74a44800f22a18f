"""Recommendation: the short list of each service side by side, live and ranked; every other card in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.constraints import SENTENCES
from reports.render.excel_style import BLUE, GREEN, INK, ORANGE, PURPLE
from reports.render.formats import AMOUNT, COUNT, PERCENT, PRICE, QUANTITY, SERIAL, NumberKind
from reports.render.live import Anchor, Call, Live, Ref, Span
from reports.render.sentences import said
from reports.render.sheet import (
    N_,
    TOP_ROWS,
    Block,
    Book,
    Cell,
    Chart,
    Highlight,
    Row,
    Rows,
    Series,
    Sheet,
    gap,
    heading,
    missing,
)
from reports.render.sheets import calculation, cost_by_month

ORDER = 30
NAME = N_("Recommendation")

COLUMNS: tuple[tuple[str, str, str, NumberKind], ...] = (
    ("model", N_("Model"), "strong", COUNT),
    ("rank", N_("Rank"), "formula", SERIAL),
    ("gpu", N_("Card"), "text", COUNT),
    ("quantization", N_("Format"), "text", COUNT),
    ("interconnect", N_("Link"), "text", COUNT),
    ("way", N_("Rent or buy"), "formula text", COUNT),
    ("monthly_cost", N_("Cost per month, {currency}"), "formula", AMOUNT),
    ("more", N_("Above the best"), "formula", PERCENT),
    ("demand_cards", N_("Cards for the demand"), "link", COUNT),
    ("paid_cards", N_("Cards paid for"), "formula", COUNT),
    ("servers_needed", N_("Servers if bought"), "link", COUNT),
    ("rent", N_("Renting per month, {currency}"), "link", AMOUNT),
    ("buy", N_("Owning per month, {currency}"), "link", AMOUNT),
    ("capex_amount", N_("Capital outlay if bought, {currency}"), "link", AMOUNT),
    ("break_even", N_("Break-even month"), "link", SERIAL),
    ("per_mtok", N_("Per million output tokens, {currency}"), "formula", PRICE),
    ("recommended_concurrency", N_("Requests at once, one unit"), "link", COUNT),
    ("unit_cards", N_("Cards of one unit"), "link", COUNT),
    ("tpot_ms", N_("TPOT, ms"), "link", QUANTITY),
    ("ttft_ms", N_("TTFT (mean), ms"), "link", QUANTITY),
    ("headroom_share", N_("Spare capacity"), "link", PERCENT),
)


def anchor(option: dict[str, Any], name: str) -> Anchor:
    """One figure of one option."""
    return ("recommendation", option["option_id"], name)


def over(book: Book, service: str, name: str) -> Span:
    """One figure of all options of a service."""
    options = book.options_of(service)
    return Span(anchor(options[0], name), anchor(options[-1], name))


def declare(book: Book) -> Sheet:
    """The live short list, then what else was considered."""
    options = book.options
    blocks: list[Block] = [book.top(NAME), Rows([*_short_list(book), gap(16)])]
    if options:
        blocks += [_costs(book), Rows([gap(16)])]
        blocks += [_capacity(book), Rows([gap(16)])] if len(options) > 1 else []
    blocks.append(Rows([*_others(book)]))
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={1: (20, 34), 2: 7, 3: (16, 30), 4: (9, 16), 5: 9, 6: (9, 14),
                **dict.fromkeys(range(7, len(COLUMNS) + 2), 11.5)},
        colour=BLUE,
        freeze=(TOP_ROWS + 2, 1),
        repeat_rows=(TOP_ROWS + 2, TOP_ROWS + 2),
        highlights=[Highlight(anchor(options[0], "model"), anchor(options[-1], COLUMNS[-1][0]), "winner", 1,
                              anchor(options[0], "rank"))] if options else [],
    )  # fmt: skip


def _costs(book: Book) -> Chart:
    """Renting beside owning, for every option of the short list."""
    _ = book.translate
    first, last = book.options[0], book.options[-1]
    shown = {"rent": (_("Renting"), ORANGE), "buy": (_("Owning"), BLUE)}
    return Chart(
        title=_("Cost of every option of the short list"),
        x_title=_("Card"),
        y_title=_("{currency} a month", currency=book.currency),
        categories=(anchor(first, "gpu"), anchor(last, "gpu")),
        series=[Series(shown[way][0], anchor(first, way), anchor(last, way), shown[way][1]) for way in book.ways],
        form="columns",
        upright=True,
        label_every=1,
    )


def _capacity(book: Book) -> Chart:
    """What more capacity costs: a point an option, a colour and a mark a service."""
    _ = book.translate
    colours, marks = (BLUE, ORANGE, GREEN, PURPLE, INK), ("circle", "diamond", "square", "triangle", "x")
    series = []
    for index, service in enumerate(book.services):
        own = book.options_of(service)
        places = [(anchor(own[0], name), anchor(own[-1], name)) for name in ("headroom_share", "monthly_cost")]
        series.append(Series(book.service(service), *places[0], colours[index % 5], across=places[1],
                             symbol=marks[(index + index // 5) % 5]))  # fmt: skip
    return Chart(
        title=_("Cost against spare capacity"),
        x_title=_("{currency} a month", currency=book.currency),
        y_title=_("Spare capacity"),
        categories=places[1],
        series=series,
        form="points",
        upright=True,
        value_format="0%",
    )


def _short_list(book: Book) -> Iterator[Row]:
    _ = book.translate
    note = _("The {count} best options, live: cards, costs and rank follow what is edited on Inputs.",
             count=len(book.options))  # fmt: skip
    yield Row({1: Cell(note, "note")}, 18)
    numeric = {"formula", "link"}
    large = book.large_unit
    wide = len(COLUMNS) + 1
    extra = {wide: Cell(_("Cost per month, {unit}", unit=large.unit), "head number")} if large else {}
    yield Row(
        extra
        | {
            index: Cell(book.axis if name == "model" else _(label, currency=book.currency),
                        "head number" if look in numeric else "head")
            for index, (name, label, look, _kind) in enumerate(COLUMNS, 1)
        },
        56,
    )
    for service in book.services:
        for option in book.options_of(service):
            contents = _contents(book, option)
            if large:
                divided = Call("/", Ref(anchor(option, "monthly_cost")), int(large.factor))
                extra = {wide: Cell(divided, "formula", PRICE)}
            yield Row(
                extra
                | {
                    index: Cell(contents[name], look, kind, anchor(option, name))
                    for index, (name, _label, look, kind) in enumerate(COLUMNS, 1)
                }
            )


def _contents(book: Book, option: dict[str, Any]) -> dict[str, object]:
    service = str(option["service"])

    def linked(column: str) -> object:
        return option[column] if missing(option[column]) else Ref(calculation.anchor(option, column))

    costs = {way: linked(f"{way}_equivalent_amount_per_month") for way in ("rent", "buy")}
    own = {name: Ref(anchor(option, name)) for name in ("rent", "buy", "way", "monthly_cost")}
    compared = [own[way] for way in book.ways]
    buy_word, rent_word = book.translate("buy"), book.translate("rent")
    bought = Call("=", own["way"], buy_word)

    def by_way(buy: str, rent: str) -> object:
        sides = [Ref(calculation.anchor(option, column)) for column in (buy, rent)]
        chosen = buy if option["way"] == "buy" else rent
        return option[chosen] if missing(option[chosen]) else Call("IF", bought, *sides)

    return {
        "model": book.service(service),
        "rank": Call("RANK", own["monthly_cost"], over(book, service, "monthly_cost")),
        "gpu": book.gpu(option),
        "quantization": str(option["quantization"]),
        "interconnect": book.link(option),
        "way": _way(book, own["rent"], own["buy"], rent_word, buy_word),
        "monthly_cost": Call("MIN", *compared),
        "more": Call("-", Call("/", own["monthly_cost"], Call("MIN", over(book, service, "monthly_cost"))), 1),
        "demand_cards": linked("demand_cards"),
        "paid_cards": by_way("bought_cards", "rented_cards"),
        "servers_needed": linked("servers_needed"),
        "rent": costs["rent"],
        "buy": costs["buy"],
        "capex_amount": linked("capex_amount"),
        "break_even": Ref(cost_by_month.anchor(option, "break_even_month", "result")),
        "per_mtok": by_way("buy_amount_per_mtok", "rent_amount_per_mtok"),
        **{name: linked(name) for name in ("recommended_concurrency", "unit_cards", "tpot_ms", "ttft_ms",
                                           "headroom_share")},
    }  # fmt: skip


def _way(book: Book, rent: Live, buy: Live, rent_word: str, buy_word: str) -> object:
    """The cheaper way; a way without a price (text) cannot win."""
    if len(book.ways) == 1:
        return rent_word if book.ways[0] == "rent" else buy_word
    cheaper = Call("IF", Call("<", buy, rent), buy_word, rent_word)
    return Call("IF", Call("ISNUMBER", rent), Call("IF", Call("ISNUMBER", buy), cheaper, rent_word), buy_word)


def _others(book: Book) -> Iterator[Row]:
    """For each service and card the best option that is not short-listed, with the reason in one sentence."""
    _ = book.translate
    rows = list(_other_rows(book))
    if not rows:
        return
    yield heading(f"{_('Every other card at its best')} · {book.as_evaluated}", len(COLUMNS))
    labels = (
        N_("Rank"), N_("Card"), N_("Format"), N_("Link"), N_("Cards"), N_("Cost per month, {currency}"),
        N_("Why not"),
    )  # fmt: skip
    looks = {2: "head number", 6: "head number", 7: "head number", 8: "head listed"}
    texts = [book.axis, *(_(label, currency=book.currency) for label in labels)]
    yield Row({index: Cell(text, looks.get(index, "head")) for index, text in enumerate(texts, 1)}, 30)
    yield from rows


def _other_rows(book: Book) -> Iterator[Row]:
    options = book.run.options
    listed = {(str(option["service"]), str(option["gpu"])) for option in book.options}
    reasons = book.run.excuses[book.run.excuses["option_id"] != ""].drop_duplicates("option_id").set_index("option_id")
    worst = len(options) + 1
    ranked = options.assign(_place=options["rank"].fillna(worst)).sort_values(["_place", "demand_cards"], kind="stable")
    best = ranked.drop_duplicates(["service", "gpu"])
    for service in (each.name for each in book.run.scenario.service_axis):
        for option in best[best["service"] == service].to_dict("records"):
            if (service, str(option["gpu"])) in listed or option["option_id"] not in reasons.index:
                continue
            reason = reasons.loc[option["option_id"]]
            yield Row(
                {
                    1: Cell(book.service(service)),
                    2: Cell(None if missing(option["rank"]) else option["rank"], "value", SERIAL),
                    3: Cell(book.gpu(option)),
                    4: Cell(str(option["quantization"])),
                    5: Cell(book.link(option)),
                    6: Cell(option["demand_cards"], "value", COUNT),
                    7: Cell(option["monthly_cost_amount"], "value", AMOUNT),
                    8: Cell(excuse(book, str(reason["code"]), reason["values"]), "listed"),
                }
            )


def excuse(book: Book, code: str, values: dict[str, Any]) -> str:
    """The sentence of an excuse in the language of the book."""
    return said(book.words, SENTENCES[code], values)
