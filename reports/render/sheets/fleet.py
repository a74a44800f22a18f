"""Fleet: who runs on which cards, as solved, with live checks that the demand is carried and no card is used twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.columns import LEAF, fact_reference
from reports.fleet.frames import RELEASE
from reports.fleet.plan import PLAN
from reports.fleet.problem import BUDGET, EXCLUSIVE, MPS, POWER, PRESENT, TIME_SLICED
from reports.formulas import sizing
from reports.formulas.meta import info
from reports.render import fleet_rows, view_fleet
from reports.render.excel_style import BLUE
from reports.render.fleet_rows import axis, head
from reports.render.formats import AMOUNT, COUNT, GENERAL, PERCENT, QUANTITY
from reports.render.live import Anchor, Call, Live, Ref, Span, Translated
from reports.render.sheet import N_, TOP_ROWS, Book, Cell, Highlight, Row, Rows, Sheet, gap, heading

ORDER = 35
NAME = N_("Fleet")
LAST, LAST_OF_USE = fleet_rows.COLUMNS, 12
"""Columns of the widest table."""

TIME = "request_time_s"
HOLDS, FAILS = N_("holds"), N_("FAILS")
SHARING = {EXCLUSIVE: N_("alone"), TIME_SLICED: N_("in turns"), MPS: N_("together (MPS)")}
"""How a service uses its cards."""
TOLERANCE: Anchor = ("fleet", "tolerance")
ALLOWED_ERROR = 1e-6
"""What a solve may be off by."""


def anchor(*parts: Any) -> Anchor:
    """One cell: of a service, a use, a source, or a limit."""
    return ("fleet", *parts)


def declare(book: Book) -> Sheet | None:
    """The plan of now, live where it can be; what comes later and what the present fleet serves, as evaluated."""
    if book.run.fleet.empty:
        return None
    blocks = [book.top(NAME), Rows([
        *_notes(book), *_services(book), gap(14), *_uses(book), gap(14), *_sources(book), gap(14), *_limits(book),
        *fleet_rows.present(book), *fleet_rows.later(book), *fleet_rows.given(book),
    ])]  # fmt: skip
    results = _results(book)
    widths: dict[int, float | tuple[float, float]] = {1: (26, 46), 2: (10, 34), 3: (14, 30), 4: 27.0, LAST + 1: 60.0}
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={**dict.fromkeys(range(5, LAST + 1), 13.5), **widths},
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS, 1),
        highlights=[
            Highlight(each, each, look, book.translate(word))
            for each in results
            for look, word in (("bad", FAILS), ("good", HOLDS))
        ],
    )


def _notes(book: Book) -> Iterator[Row]:
    _ = book.translate
    words = book.words
    yield Row({1: Cell(view_fleet.headline(words), "strong")}, 20)
    figures = view_fleet.summary(words, PLAN)
    for text in (
        view_fleet.proved(words, figures), view_fleet.committed(words), view_fleet.lacking(words, PLAN),
        view_fleet.do_nothing(words),
        _("Grey cells were solved for this run; the checks beside them are live: change a demand on Inputs, the number "
          "of present machines or a limit here, and see whether the plan still holds. A new plan needs a new run."),
    ):  # fmt: skip
        if text:
            yield Row({1: Cell(text, "note")})
    allowed = Cell(ALLOWED_ERROR, "note", anchor=TOLERANCE)
    yield Row({1: Cell(_("Error of a solve that is allowed"), "note"), 2: allowed})
    yield gap()


# ---- services: is the demand carried? ----


def services(book: Book) -> list[dict[str, Any]]:
    """Services of the plan of now."""
    return view_fleet.of_plan(book.run.fleet_services, PLAN)


def uses_of(book: Book, service: str) -> list[dict[str, Any]]:
    """What a service runs on in the plan of now; with a blank name the cards that nobody uses."""
    return [use for use in view_fleet.of_plan(book.run.fleet, PLAN) if use["service"] == service]


def sources(book: Book) -> list[dict[str, Any]]:
    """Sources of the plan of now with what is done with them."""
    return view_fleet.of_plan(book.run.fleet_pools, PLAN)


def _services(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Services"), LAST)
    yield head(book, axis(book), N_("Tier"), N_("Shares its cards"), N_("Demand served"), N_("Promised"),
                N_("Check"), N_("Cards"), N_("A month, {currency}"), N_("Why not in full"),
                numeric=(2, 4, 5, 7, 8))  # fmt: skip
    for row in services(book):
        name = str(row["service"])
        own = uses_of(book, name)
        cells: dict[int, Cell] = {
            1: Cell(book.service(name), "strong"),
            2: Cell(row["tier"], "value", COUNT),
            3: Cell(_(SHARING[str(row["sharing"])]), "listed"),
            5: Cell(row["served_share"], "solved", PERCENT, anchor("promised", name)),
            7: Cell(row["cards"], "value", QUANTITY),
            8: Cell(row["amount"], "value", AMOUNT),
        }
        if own:
            cells[4] = Cell(Call("SUM", _over(own, "share")), "formula", PERCENT, anchor("served", name))
            served, promised = Ref(anchor("served", name)), Ref(anchor("promised", name))
            holds = Call("<=", Call("-", promised, Ref(TOLERANCE, "both")), served)
            cells[6] = _result(book, holds, anchor("demand holds", name))
        if row["served_share"] < 1:
            cells[9] = Cell(view_fleet.why(book.words, row), "listed")
        yield Row(cells)


def _result(book: Book, holds: Live, name: Anchor) -> Cell:
    return Cell(Call("IF", holds, book.translate(HOLDS), book.translate(FAILS)), "check", GENERAL, name)


def _key(use: dict[str, Any]) -> tuple[str, str, str]:
    return str(use["service"]), str(use["candidate_id"]), str(use["source_id"])


def _over(uses: list[dict[str, Any]], column: str) -> Span:
    return Span(anchor(column, *_key(uses[0])), anchor(column, *_key(uses[-1])))


# ---- uses: units on cards ----


def _uses(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Who runs where"), LAST)
    yield head(book, axis(book), N_("Card"), N_("Layout, format, link"), N_("Cards from"), N_("Units"),
                N_("Load, in full units"), N_("Requests at once, one unit"), N_("Carried, requests at once"),
                N_("Time of a request, s"), N_("Demand, requests at once"), N_("Demand served"), N_("Cards"),
                *(info(book.made[name][0]).label for name in _made_inputs()),
                numeric=tuple(range(5, LAST_OF_USE + 1 + len(_made_inputs()))))  # fmt: skip
    for row in services(book):
        for use in uses_of(book, str(row["service"])):
            yield Row(_use(book, use))
    for use in uses_of(book, ""):
        yield Row(
            {1: Cell(_("not in use"), "note"), 2: Cell(book.gpu(use)), 4: Cell(_source_name(book, use), "listed"),
             12: Cell(use["cards"], "value", QUANTITY)}
        )  # fmt: skip


def _use(book: Book, use: dict[str, Any]) -> dict[int, Cell]:
    def at(column: str) -> Ref:
        return Ref(anchor(column, *_key(use)))

    frame = book.run.candidates
    row = frame[frame["candidate_id"] == use["candidate_id"]].iloc[0].to_dict()
    more = {
        LAST_OF_USE + index: Cell(float(row[name]), "value", QUANTITY, anchor(name, *_key(use)))
        for index, name in enumerate(_made_inputs(), 1)
    }
    parts = str(use["option_id"]).split(".")
    layout = view_fleet.option_row(book.words, use)
    link = book.words.link(parts[-1])
    described = book.words.listed((layout, book.words.quantization(parts[-3]), link))
    return {
        1: Cell(book.service(str(use["service"]))),
        2: Cell(book.gpu(use)),
        3: Cell(described, "listed"),
        4: Cell(_source_name(book, use), "listed"),
        5: Cell(use["units"], "solved", COUNT, anchor("units", *_key(use))),
        6: Cell(use["load_units"], "solved", QUANTITY, anchor("load", *_key(use))),
        7: Cell(use["capacity"], "value", QUANTITY, anchor("capacity", *_key(use))),
        8: Cell(Call("*", at("load"), at("capacity")), "formula", QUANTITY, anchor("carried", *_key(use))),
        9: Cell(use[TIME], "value", QUANTITY, anchor(TIME, *_key(use))),
        10: Cell(_demand(book, use, row), "formula", QUANTITY, anchor("demand", *_key(use))),
        11: Cell(Call("/", at("carried"), at("demand")), "formula", PERCENT, anchor("share", *_key(use))),
        12: Cell(use["cards"], "solved", QUANTITY, anchor("cards", *_key(use))),
        **more,
    }


def _made_inputs() -> list[str]:
    """Columns of the option, besides the time of a request, that the demand is made from."""
    return [name for name in info(sizing.demand_concurrency).inputs if name not in LEAF and name != TIME]


def _demand(book: Book, use: dict[str, Any], row: dict[str, Any]) -> object:
    """The demand as the engine's formula over the Inputs sheet, with the time that a request takes on this layout."""
    function = sizing.demand_concurrency
    known = set(map(tuple, book.run.facts[["scope", "key", "column"]].astype(str).to_numpy()))
    places: dict[str, Anchor] = {name: anchor(name, *_key(use)) for name in (TIME, *_made_inputs())}
    for name in info(function).inputs:
        if name in LEAF and (reference := fact_reference(row, name)) in known:
            places[name] = ("input", *reference)
    if set(info(function).inputs) - set(places):
        return use["demand_concurrency"]
    return Translated(function, lambda name: Ref(places[name]), use["demand_concurrency"])


def _source_name(book: Book, row: dict[str, Any]) -> str:
    found = next(each for each in sources(book)
                 if (each["source_id"], each["source"]) == (row["source_id"], row["source"]))  # fmt: skip
    action = book.translate(view_fleet.ACTIONS[found["source"]])
    return book.words.listed(each for each in (action, str(found["source_id"])) if each)


# ---- sources: are there enough cards? ----


def _sources(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Cards by source"), LAST)
    yield head(book, N_("Source"), N_("Card"), N_("What is done"), N_("There are"), N_("Machines"),
                N_("Cards of a machine"), N_("Cards"), N_("Cards in use"), N_("Check"),
                N_("One machine a month, {currency}"), N_("Committed a month, {currency}"), N_("A month, {currency}"),
                N_("One machine, kW"), N_("Power, cooling included, kW"), N_("About"),
                numeric=(4, 5, 6, 7, 8, 10, 11, 12, 13, 14))  # fmt: skip
    for row in sources(book):
        yield Row(_source(book, row))
    total: dict[int, Cell] = {1: Cell(_("Together"), "total label")}
    running = [row for row in sources(book) if row["source"] != RELEASE]
    for column, index, kind, rows in (("all cards", 7, COUNT, sources(book)), ("used cards", 8, QUANTITY, running),
                                      ("amount", 12, AMOUNT, sources(book)), ("power", 14, QUANTITY, sources(book))):
        if rows:
            span = Span(anchor(column, *_named(rows[0])), anchor(column, *_named(rows[-1])))
            total[index] = Cell(Call("SUM", span), "total", kind, anchor("total", column))
    yield Row({**{index: Cell(None, "total") for index in range(2, LAST + 1)}, **total})


def _named(row: dict[str, Any]) -> tuple[str, str]:
    return str(row["source_id"]), str(row["source"])


def _source(book: Book, row: dict[str, Any]) -> dict[int, Cell]:
    name = _named(row)

    def at(column: str) -> Ref:
        return Ref(anchor(column, *name))

    machines = float(row["machines"])
    each = (float(row["amount"]) - float(row["committed_amount"])) / machines
    cells = {
        1: Cell(name[0], "strong"),
        2: Cell(book.gpu(row)),
        3: Cell(book.translate(view_fleet.ACTIONS[row["source"]]), "listed"),
        5: Cell(machines, "solved", COUNT, anchor("machines", *name)),
        6: Cell(row["machine_cards"], "value", COUNT, anchor("machine cards", *name)),
        7: Cell(Call("*", at("machines"), at("machine cards")), "formula", COUNT, anchor("all cards", *name)),
        10: Cell(each, "value", AMOUNT, anchor("each", *name)),
        11: Cell(row["committed_amount"], "value", AMOUNT, anchor("committed", *name)),
        12: Cell(Call("+", Call("*", at("machines"), at("each")), at("committed")), "formula", AMOUNT,
                 anchor("amount", *name)),
        13: Cell(float(row["power_kw"]) / machines, "value", QUANTITY, anchor("each power", *name)),
        14: Cell(Call("*", at("machines"), at("each power")), "formula", QUANTITY, anchor("power", *name)),
        15: Cell(view_fleet.about(book.words, row), "note"),
    }  # fmt: skip
    if row["source"] == RELEASE:
        return cells
    if row["kind"] in PRESENT:
        there = sum(float(other["machines"]) for other in sources(book) if other["source_id"] == row["source_id"])
        cells[4] = Cell(there, "input", COUNT, anchor("there", *name), number_only=True)
    used: Live = Call("+", 0, 0)
    for use in view_fleet.of_plan(book.run.fleet, PLAN):
        if use["service"] and _named(use) == name:
            used = Call("+", used, Ref(anchor("cards", *_key(use))))
    cells[8] = Cell(used, "formula", QUANTITY, anchor("used cards", *name))
    cells[9] = _result(book, _enough(row), anchor("cards hold", *name))
    return cells


def _available(row: dict[str, Any]) -> Live:
    """Cards of the machines that run, or of those that are there when they are fewer."""
    name = _named(row)
    all_cards = Ref(anchor("all cards", *name))
    if row["kind"] not in PRESENT:
        return all_cards
    return Call("MIN", all_cards, Call("*", Ref(anchor("there", *name)), Ref(anchor("machine cards", *name))))


def _enough(row: dict[str, Any]) -> Live:
    used = Ref(anchor("used cards", *_named(row)))
    return Call("<=", Call("-", used, Ref(TOLERANCE, "both")), _available(row))


# ---- limits ----


def _limits(book: Book) -> Iterator[Row]:
    _ = book.translate
    rows = [row for row in view_fleet.of_plan(book.run.fleet_limits, PLAN) if row["resource"] in view_fleet.RESOURCES]
    if not rows:
        return
    yield heading(_("Limits of the site"), LAST)
    yield head(book, N_("Limit"), N_("Used"), N_("There is"), N_("Check"), numeric=(2, 3))
    for row in rows:
        name = str(row["resource"])
        used: object = Ref(anchor("total", "power")) if name == POWER else row["used"]
        kind = AMOUNT if name == BUDGET else QUANTITY
        holds = Call("<=", Call("-", Ref(anchor("used", name)), Ref(TOLERANCE, "both")), Ref(anchor("limit", name)))
        yield Row(
            {
                1: Cell(_(view_fleet.RESOURCES[name]), "strong"),
                2: Cell(used, "formula" if name == POWER else "solved", kind, anchor("used", name)),
                3: Cell(row["limit"], "input", kind, anchor("limit", name), number_only=True),
                4: _result(book, holds, anchor("limit holds", name)),
            }
        )
    yield gap(14)


def _limited(book: Book) -> list[str]:
    rows = view_fleet.of_plan(book.run.fleet_limits, PLAN)
    return [str(row["resource"]) for row in rows if row["resource"] in view_fleet.RESOURCES]


def _results(book: Book) -> list[Anchor]:
    """Every cell that says whether something holds."""
    return [
        *(anchor("demand holds", str(row["service"])) for row in services(book) if uses_of(book, str(row["service"]))),
        *(anchor("cards hold", *_named(row)) for row in sources(book) if row["source"] != RELEASE),
        *(anchor("limit holds", name) for name in _limited(book)),
    ]


def checks(book: Book) -> Iterator[tuple[str, str, str, Live, Live, Live]]:
    """The same for the Checks sheet: group, words, of what, left, right, and whether it holds."""
    if book.run.fleet.empty:
        return
    group = N_("Fleet")
    for row in services(book):
        name = str(row["service"])
        if uses_of(book, name):
            promised, served = Ref(anchor("promised", name)), Ref(anchor("served", name))
            holds = Call("<=", Call("-", promised, Ref(TOLERANCE, "both")), served)
            yield group, N_("The fleet serves what was promised"), book.service(name), promised, served, holds
    for row in sources(book):
        if row["source"] != RELEASE:
            used = Ref(anchor("used cards", *_named(row)))
            yield group, N_("The cards in use are there"), _named(row)[0], used, _available(row), _enough(row)
    for name in _limited(book):
        used, limit = Ref(anchor("used", name)), Ref(anchor("limit", name))
        holds = Call("<=", Call("-", used, Ref(TOLERANCE, "both")), limit)
        of = book.translate(view_fleet.RESOURCES[name])
        yield group, N_("The site has what the fleet takes"), of, used, limit, holds
