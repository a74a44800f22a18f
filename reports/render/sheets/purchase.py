"""Purchase: the bill of materials, the cash plan by quarter, what fits the budget, and the quotes side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.columns import LEAF, fact_reference
from reports.cost.bill import CONTRACTS, ITEMS, OUTLAY, TOTALS, Item
from reports.cost.payments import MORE_QUARTERS, PAYMENTS, days_of, quarters
from reports.formulas import budget as formulas
from reports.formulas.meta import Formula, info
from reports.render import plan_checks, view_quotes
from reports.render.excel_style import BLUE
from reports.render.formats import AMOUNT, COUNT, DATE, GENERAL, PRICE, QUANTITY, kind_of
from reports.render.live import Anchor, Call, Live, Ref, Span, Translated
from reports.render.sheet import N_, TOP_ROWS, Block, Book, Cell, Row, Rows, Sheet, gap, heading, missing
from reports.render.sheets import calculation
from reports.units import day_number

ORDER = 61
NAME = N_("Purchase")
COLUMNS = 9
HEADS = (N_("Item"), N_("Quantity"), N_("Unit"), N_("Unit price, {currency}"), N_("Amount, {currency}"),
         N_("Lead time, weeks"), N_("Order on"), N_("How many"), N_("Source"))  # fmt: skip
NUMBERS = (2, 4, 5, 6, 7, 8)
UNITS = {"server": N_("servers"), "card": N_("cards"), "piece": N_("pieces"), "card-year": N_("card-years"),
         "server-year": N_("server-years")}  # fmt: skip


def anchor(option: dict[str, Any], item: str, name: str) -> Anchor:
    """A cell of an option's bill, payments or budget."""
    return ("purchase", option["option_id"], item, name)


def bought(book: Book) -> list[dict[str, Any]]:
    """Winners that have a purchase price, where buying is considered."""
    return [each for each in book.winners if "buy" in book.ways and not missing(each["capex_amount"])]


def declare(book: Book) -> Sheet | None:
    """Plan and budget first, quotes, then every bill, the winners' first."""
    rows: list[Row] = [*_plan(book), *_budget(book), *_quotes(book)]
    others = [each for each in book.options if each not in book.winners]
    for option in (*book.winners, *others) if "buy" in book.ways else ():
        if not missing(option["capex_amount"]):
            rows += _bill(book, option)
    if not rows:
        return None
    blocks: list[Block] = [book.top(NAME), Rows(rows)]
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={1: (34, 50), **dict.fromkeys(range(2, 8), 17.0), 8: 17.0, 9: (24, 50)},
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS, 1),
    )


def _name(book: Book, option: dict[str, Any]) -> str:
    return f"{book.service(str(option['service']))} · {book.label(option)}"


# ---- the bill ----


def _bill(book: Book, option: dict[str, Any]) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Bill of materials: {option}", option=_name(book, option)), COLUMNS)
    yield Row({at: Cell(_(text, currency=book.currency), "head number" if at in NUMBERS else "head")
               for at, text in enumerate(HEADS, 1)}, 30)  # fmt: skip
    for part in (OUTLAY, CONTRACTS):
        items = [each for each in ITEMS if each.part == part]
        for each in items:
            yield Row(_line(book, option, each))
        total = Call("SUM", _amounts(option, part))
        words = N_("Paid for the purchase") if part == OUTLAY else N_("Signed for, contracts of the horizon included")
        if part == CONTRACTS:
            total = Call("+", total, Ref(anchor(option, OUTLAY, "total")))
        yield Row({1: Cell(_(words), "total label"), **{at: Cell(None, "total") for at in range(2, COLUMNS + 1)},
                   5: Cell(total, "total", AMOUNT, anchor(option, part, "total"))}, 18)  # fmt: skip
    ratio = Cell(_("Network budget over list prices"), "note")
    yield Row({1: ratio, 5: Cell(Ref(calculation.anchor(option, "network_budget_ratio")), "link", QUANTITY)})
    yield gap()


def _line(book: Book, option: dict[str, Any], each: Item) -> dict[int, Cell]:
    _ = book.translate
    quantity = Ref(anchor(option, each.item, "quantity"))
    amount = Ref(anchor(option, each.item, "amount"))
    within: object = _("in the servers")
    price: object = Call("IF", Call("=", quantity, 0), "–", Call("/", amount, quantity)) if each.amount else within
    source = f"{_('assumption')} {each.source.removeprefix('assumption:')}"
    if not each.source.startswith("assumption:"):
        source = str(option[each.source])
    return {
        1: Cell(_(each.label)),
        2: Cell(Ref(calculation.anchor(option, each.quantity)), "link", COUNT, anchor(option, each.item, "quantity")),
        3: Cell(_(UNITS[each.unit]), "unit"),
        4: Cell(price, "formula" if each.amount else "unit", PRICE),
        5: Cell(Ref(calculation.anchor(option, each.amount)) if each.amount else None, "link", AMOUNT,
                anchor(option, each.item, "amount")),
        6: Cell(_input(option, each.lead), "link", kind_of("weeks")),
        7: Cell(Ref(calculation.anchor(option, each.order)) if each.order else None, "link", DATE),
        8: Cell(_input(option, each.ratio), "link", COUNT),
        9: Cell(source, "note"),
    }  # fmt: skip


def _input(option: dict[str, Any], leaf: str) -> Ref | None:
    return Ref(("input", *fact_reference(option, leaf))) if leaf else None


def _amounts(option: dict[str, Any], part: str) -> Span:
    names = [each.item for each in ITEMS if each.part == part]
    return Span(anchor(option, names[0], "amount"), anchor(option, names[-1], "amount"), "")


# ---- the cash plan and the budget ----


def _plan(book: Book) -> Iterator[Row]:
    options = bought(book)
    if not options:
        return
    _ = book.translate
    run = book.run
    columns = quarters(run.scenario, run.cash_plan, MORE_QUARTERS)
    yield heading(_("Cash plan by quarter"), max(COLUMNS, 3 + len(columns)))
    for text in (
        N_("Payments of the recommended purchase in their calendar quarters, live; a service that is rented pays "
           "nothing here. Running costs are on the sheet Cost by month, which counts the outlay on day 0."),
        N_("Limits of quarters may be edited; 0 is no limit."),
    ):  # fmt: skip
        yield Row({1: Cell(_(text), "note")})
    edges = [days_of(quarter) for quarter in columns]
    yield Row({1: Cell(_("Payment"), "head"), 2: Cell(_("Amount, {currency}", currency=book.currency), "head number"),
               3: Cell(_("Paid on"), "head number"),
               **{4 + at: Cell(name, "head number") for at, name in enumerate(columns)}})  # fmt: skip
    for place, label in ((0, N_("First day")), (1, N_("Last day"))):
        yield Row({1: Cell(_(label), "note"),
                   **{4 + at: Cell(day_number(days[place]), "fixed input", DATE, ("purchase", "edge", place, at))
                      for at, days in enumerate(edges)}})  # fmt: skip
    for option in options:
        yield Row({1: Cell(_name(book, option), "strong")})
        for each in PAYMENTS:
            paid = Call("IF", Call("=", Ref(("recommendation", option["option_id"], "way")), _("buy")),
                        Ref(calculation.anchor(option, each.amount)), 0)  # fmt: skip
            amount, day = Ref(anchor(option, each.payment, "paid")), Ref(anchor(option, each.payment, "day"))
            cells = {1: Cell(_(each.label)), 2: Cell(paid, "formula", AMOUNT, anchor(option, each.payment, "paid")),
                     3: Cell(Ref(calculation.anchor(option, each.day)), "link", DATE,
                             anchor(option, each.payment, "day"))}  # fmt: skip
            for at in range(len(columns)):
                inside = Call("AND", Call("<=", Ref(("purchase", "edge", 0, at)), day),
                              Call("<=", day, Ref(("purchase", "edge", 1, at))))  # fmt: skip
                cells[4 + at] = Cell(Call("IF", inside, amount, 0), "formula", AMOUNT,
                                     anchor(option, each.payment, f"quarter {at}"))  # fmt: skip
            yield Row(cells)
    first, last = (options[0], PAYMENTS[0]), (options[-1], PAYMENTS[-1])

    def total(name: str) -> Live:
        return Call("SUM", Span(anchor(first[0], first[1].payment, name), anchor(last[0], last[1].payment, name), ""))

    yield Row({1: Cell(_("Total"), "total label"), 2: Cell(total("paid"), "total", AMOUNT, ("purchase", "paid")),
               3: Cell(None, "total"),
               **{4 + at: Cell(total(f"quarter {at}"), "total", AMOUNT, ("purchase", "total", at))
                  for at in range(len(columns))}}, 18)  # fmt: skip
    limits = run.scenario.budget.by_quarter
    yield Row({1: Cell(_("Budget of the quarter (0: no limit)")),
               **{4 + at: Cell(float(limits.get(name, 0.0)), "input", AMOUNT, ("purchase", "limit", at),
                               number_only=True) for at, name in enumerate(columns)}})  # fmt: skip
    yield Row({1: Cell(_("Left of the budget")), **{4 + at: Cell(_left(book, at), "formula", AMOUNT)
                                                   for at in range(len(columns))}})  # fmt: skip
    yield gap()


def _left(book: Book, at: int) -> Live:
    limit, paid = Ref(("purchase", "limit", at)), Ref(("purchase", "total", at))
    return Call("IF", Call("=", limit, 0), "–", Call("-", limit, paid))


BUDGET: tuple[tuple[str, str, Formula], ...] = (
    ("left", N_("Left for it, {currency}"), formulas.left_budget_amount),
    ("servers", N_("Servers that fit"), formulas.fitting_servers),
    ("fitting", N_("Outlay that fits, {currency}"), formulas.fitting_amount),
    ("lacking", N_("Outlay that does not, {currency}"), formulas.lacking_amount),
)
NEXT = (("next_servers", N_("Next budget: servers")), ("next_cards", N_("Next budget: cards")),
        ("next_concurrency", N_("Next budget: requests at once")))  # fmt: skip


def _budget(book: Book) -> Iterator[Row]:
    """What fits, in the order of tiers and of the scenario; live."""
    fits = {str(row["option_id"]): row for row in book.run.budget_fits.to_dict("records")}
    options = {str(option["option_id"]): option for option in bought(book)}
    if not fits:
        return
    _ = book.translate
    yield heading(_("Budget"), COLUMNS)
    for name in ("budget_amount", "next_budget_amount"):
        yield Row({1: Cell(_(LEAF[name].label)),
                   2: Cell(Ref(("input", "scenario", "", name)), "link", AMOUNT, ("purchase", name))})  # fmt: skip
    heads = [N_("Outlay, {currency}"), *(label for _key, label, _formula in BUDGET), *(label for _key, label in NEXT)]
    yield Row({1: Cell(book.axis, "head"),
               **{2 + at: Cell(_(text, currency=book.currency), "head number") for at, text in enumerate(heads)}},
              30)  # fmt: skip
    before: list[str] = []
    for option_id, row in fits.items():
        option = options[option_id]
        yield Row({1: Cell(_name(book, option)), **_fit(book, option, {str(k): v for k, v in row.items()}, before)})
        before.append(option_id)
    yield gap()


def _fit(book: Book, option: dict[str, Any], row: dict[str, Any], before: list[str]) -> dict[int, Cell]:
    spent: Live = Call("+", 0, 0)
    for each in before:
        spent = Call("+", spent, Ref(("purchase", each, "fitting", "budget")))
    cells = {
        2: Cell(Ref(calculation.anchor(option, "capex_amount")), "link", AMOUNT),
        **{at: Cell(Ref(calculation.anchor(option, name)), "link", COUNT) for at, (name, _label) in enumerate(NEXT, 7)},
    }  # fmt: skip
    own = {
        "budget_amount": Ref(("purchase", "budget_amount")),
        "left_budget_amount": Ref(anchor(option, "left", "budget")),
        "fitting_servers": Ref(anchor(option, "servers", "budget")),
        "fitting_amount": Ref(anchor(option, "fitting", "budget")),
    }
    values = {"servers": row["fitting_servers"], "fitting": row["fitting_amount"], "lacking": row["lacking_amount"]}
    for at, (key, _label, function) in enumerate(BUDGET, 3):
        content: Live = Call("IF", Call("=", own["budget_amount"], 0), "–", Call("-", own["budget_amount"], spent))
        if key != "left":
            content = Translated(
                function, lambda name: own.get(name) or Ref(calculation.anchor(option, name)), float(values[key])
            )
        kind = kind_of(info(function).unit)
        cells[at] = Cell(content, "formula", kind, anchor(option, key, "budget"))
    return cells


# ---- quotes ----


def _quotes(book: Book) -> Iterator[Row]:
    _ = book.translate
    for option in book.winners:
        table = view_quotes.table(book.words, option)
        if not table["columns"]:
            continue
        width = max(COLUMNS, 1 + len(table["columns"]))
        yield heading(_("Quotes side by side: {option}", option=_name(book, option)), width)
        note = N_("The same cards for the same targets at each price on file; as evaluated on {date}.")
        yield Row({1: Cell(_(note, date=book.words.day(book.run.scenario.as_of)), "note")})
        for line in table["lines"]:
            kind = {"amount": AMOUNT, "price": PRICE, "count": COUNT}.get(line["kind"], GENERAL)
            look = "head listed" if line["head"] else "solved" if line["kind"] else "wrapped"
            yield Row({1: Cell(line["label"], "head" if line["head"] else "text"),
                       **{2 + at: Cell(value, look, kind) for at, value in enumerate(line["values"])}})  # fmt: skip
        for text in view_quotes.not_comparable(book.words, option):
            yield Row({1: Cell(f"• {text}", "wrapped", across=width)})
        yield gap()


# ---- checks ----


def checks(book: Book) -> Iterator[plan_checks.Check]:
    """Every bill adds up to its cost lines, and the cash plan to what is bought."""
    group = N_("Purchase")
    for option in book.options:
        if "buy" not in book.ways or missing(option["capex_amount"]):
            continue

        def at(column: str, option: dict[str, Any] = option) -> Live:
            return Ref(calculation.anchor(option, column))

        of = _name(book, option)
        paid, capex = Ref(anchor(option, OUTLAY, "total")), at("capex_amount")
        words = N_("The bill of materials adds up to the cost lines of the day of purchase")
        yield group, words, of, paid, capex, _close(paid, capex)
        signed = Call("-", Ref(anchor(option, CONTRACTS, "total")), paid)
        monthly = Call("+", at("licence_amount_per_month"), at("maintenance_amount_per_month"))
        lines = Call("*", monthly, at("horizon_months"))
        yield (group, N_("Its contracts add up to the cost lines of licences and maintenance"), of, signed, lines,
               _close(signed, lines))  # fmt: skip
        whole, total = Ref(anchor(option, CONTRACTS, "total")), at(TOTALS[CONTRACTS])
        yield group, N_("The sheet and the formula give one total of the bill"), of, whole, total, _close(whole, total)
    options = bought(book)
    if options:
        columns = quarters(book.run.scenario, book.run.cash_plan, MORE_QUARTERS)
        planned = Call("SUM", Span(("purchase", "total", 0), ("purchase", "total", len(columns) - 1)))
        outlay: Live = Call("+", 0, 0)
        for option in options:
            is_bought = Call("=", Ref(("recommendation", option["option_id"], "way")), book.translate("buy"))
            own = Call("IF", is_bought, Ref(calculation.anchor(option, "capex_amount")), 0)
            outlay = Call("+", outlay, own)
        yield (group, N_("The quarters pay the whole outlay of what is bought"), book.translate("Cash plan by quarter"),
               planned, outlay, _close(planned, outlay))  # fmt: skip


def _close(left: Live, right: Live) -> Live:
    size = Call("MAX", Call("ABS", left), Call("ABS", right))
    return Call("<=", Call("ABS", Call("-", left, right)), Call("*", Ref(("checks", "tolerance"), "both"), size))
