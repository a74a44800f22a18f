"""Checks: what must be true of this workbook whatever is edited, each as a live formula, and one verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from reports.constants import HOURS_PER_DAY
from reports.constraints import CONSTRAINTS
from reports.cost.blocks import CASHFLOW, MONTH
from reports.cost.lines import EVERY_MONTH, LINES
from reports.cost.timeline import NOT_COMPARED
from reports.render import plan_checks
from reports.render.excel_style import GREEN
from reports.render.formats import AMOUNT, COUNT, GENERAL, QUANTITY, SMALL_PERCENT
from reports.render.live import Anchor, Call, Live, Ref, Span
from reports.render.sheet import N_, TOP_ROWS, Book, Cell, Highlight, Row, Rows, Sheet, gap, heading, missing, sentence
from reports.render.sheets import calculation, cost_by_month, fleet, inputs, purchase, recommendation, summary, variance

ORDER = 80
NAME = N_("Checks")
TOLERANCE = 1e-9
"""Relative error that binary fractions alone can make."""


def declare(book: Book) -> Sheet:
    """One row a check; the verdict counts the failures and the error cells."""
    _ = book.translate
    planned = (*plan_checks.card_count(book), *plan_checks.months(book), *fleet.checks(book), *variance.checks(book))
    checks = [*_inputs(book), *_capacity(book), *planned, *_money(book), *_ties(book),
              *purchase.checks(book), *_answers(book), *_errors(book)]  # fmt: skip
    rows: list[Row] = [*_verdict(book, len(checks)), gap()]
    head = {1: N_("Check"), 2: N_("Of"), 3: N_("Left"), 4: N_("Right"), 5: N_("Result")}
    looks = {3: "head number", 4: "head number"}
    rows.append(Row({index: Cell(_(name), looks.get(index, "head")) for index, name in head.items()}))
    group = ""
    for number, (title, text, of, left, right, holds) in enumerate(checks):
        if title != group:
            group = title
            rows += [heading(_(title), 5)]
        result = Call("IF", holds, _("holds"), _("FAILS"))
        rows.append(
            Row(
                {
                    1: Cell(_(text), "text"),
                    2: Cell(of, "unit"),
                    3: Cell(left, "formula", KINDS.get(title, QUANTITY)),
                    4: Cell(right, "formula", KINDS.get(title, QUANTITY)),
                    5: Cell(result, "check", GENERAL, ("checks", number)),
                }
            )
        )
    first, last = ("checks", 0), ("checks", max(len(checks) - 1, 0))
    return Sheet(
        name=NAME,
        blocks=[book.top(NAME), Rows(rows)],
        widths={1: (50, 74), 2: (20, 60), 3: 18, 4: 18, 5: 12},
        colour=GREEN,
        freeze=(TOP_ROWS, 0),
        highlights=[Highlight(first, last, "bad", _("FAILS")), Highlight(first, last, "good", _("holds"))]
        if checks
        else [],
    )


KINDS = {
    "Inputs": COUNT, "Money": AMOUNT, "Answer": AMOUNT, "Errors": COUNT, "Card count": SMALL_PERCENT, "Growth": COUNT,
    "Variance": AMOUNT, "Purchase": AMOUNT,
}  # fmt: skip
"""How the two sides of a group are shown."""

Check = tuple[str, str, str, Live, Live, Live]
"""Group, words, of what, left side, right side, and the condition."""


def _verdict(book: Book, count: int) -> Iterator[Row]:
    _ = book.translate
    failures = Call("+", 0, 0)  # nothing is feasible: nothing to check
    if count:
        span = Span(("checks", 0), ("checks", count - 1), "")
        failures = Call("+", Call("COUNTIF", span, _("FAILS")), Call("ERRORS", span))
    failed = Ref(("checks", "failed"))
    none = Call("=", failed, 0)
    words = Call(
        "IF", none, _("All {count} checks hold", count=count),
        sentence(_("{failed} of {count} checks FAIL: see Checks"), failed=Call("TEXT", failed, "0"), count=str(count)),
    )  # fmt: skip
    verdict = Call("IF", none, _("Checks hold"), _("CHECKS FAIL"))
    yield Row({1: Cell(_("Failed checks")), 2: Cell(failures, "formula text", COUNT, ("checks", "failed"))})
    yield Row({1: Cell(_("Verdict")), 2: Cell(verdict, "formula text", COUNT, ("checks", "verdict"))})
    yield Row({1: Cell(_("In words")), 2: Cell(words, "formula text", COUNT, ("checks", "overall"))})
    tolerance = Cell(TOLERANCE, "formula text", GENERAL, ("checks", "tolerance"))
    yield Row({1: Cell(_("Relative error allowed")), 2: tolerance})
    capex = Cell(CAPEX_ERROR, "formula text", GENERAL, ("checks", "capex tolerance"))
    yield Row({1: Cell(_("Allowed where a break-even is put back, share of the outlay")), 2: capex})


def _close(left: Live, right: Live) -> Live:
    """Equal but for rounding."""
    size = Call("MAX", Call("ABS", left), Call("ABS", right))
    return Call("<=", Call("ABS", Call("-", left, right)), Call("*", Ref(("checks", "tolerance"), "both"), size))


def _inputs(book: Book) -> Iterator[Check]:
    """What search and simulation found holds for the inputs they were given, and for no others."""
    changed = inputs.changed(book)
    yield (N_("Inputs"), N_("Inputs that need a new run are as evaluated"), inputs.NAME, changed, Call("+", 0, 0),
           Call("=", changed, 0))  # fmt: skip


def _capacity(book: Book) -> Iterator[Check]:
    group = N_("Capacity")
    for option in book.options:
        of = f"{book.service(str(option['service']))} · {book.label(option)}"

        def at(column: str, option: dict[str, Any] = option) -> Live:
            return Ref(calculation.anchor(option, column))

        points = book.run.method.points()
        if book.run.method.proofs and points[-1].batch in option:
            limit, more = points[1], points[2]
            broken = []
            for record in CONSTRAINTS[book.run.method.name]:
                left, right = at(record.value_at(limit)), at(record.bound)
                named = f"{of} · {book.translate(record.label)}"
                yield (
                    group,
                    N_("At its limit a replica keeps the constraint"),
                    named,
                    left,
                    right,
                    Call("<=", left, right),
                )
                broken.append(Call(">", at(record.value_at(more)), at(record.bound)))
            yield (group, N_("With one request more, some limit is broken"), of, at(more.batch), at(limit.batch),
                   Call("OR", *broken))  # fmt: skip
        carried = Call("*", at("units_needed"), at("recommended_concurrency"))
        yield (group, N_("The units carry the demand"), of, carried, at("demand_concurrency"),
               Call("<=", at("demand_concurrency"), Call("+", carried, _slack(carried))))  # fmt: skip
        fewer = Call("-", carried, at("recommended_concurrency"))
        yield (group, N_("One unit fewer would not"), of, fewer, at("demand_concurrency"),
               Call("<", fewer, at("demand_concurrency")))  # fmt: skip


def _slack(value: Live) -> Live:
    return Call("*", Ref(("checks", "tolerance"), "both"), value)


def _money(book: Book) -> Iterator[Check]:
    group = N_("Money")
    last = int(book.run.timelines[MONTH].max()) if len(book.run.timelines) else 0
    for option in book.options:
        of = f"{book.service(str(option['service']))} · {book.label(option)}"

        def at(column: str, option: dict[str, Any] = option) -> Live:
            return Ref(calculation.anchor(option, column))

        def cash(row: str, month: int | str, option: dict[str, Any] = option) -> Live:
            return Ref(cost_by_month.anchor(option, row, month))

        for way, words in (("rent", N_("Renting: cash flow and closed form give one present value")),
                           ("buy", N_("Owning: cash flow and closed form give one present value"))):  # fmt: skip
            if missing(option[f"{way}_present_cost_amount"]):
                continue
            npv, cost = cash(f"{way}_npv_amount", "result"), at(f"{way}_present_cost_amount")
            yield group, words, of, npv, cost, _close(npv, Call("-", 0, cost))
            end, total = cash(f"{way}_cumulative_amount", last), cash(f"{way}_discounted_amount", "total")
            added = N_("Renting: the months add up to the total")
            if way == "buy":
                added = N_("Owning: the months add up to the total")
            yield group, added, of, end, total, _close(end, total)
            cash_flow, lines = cash(f"{way}_cash_amount", "total"), _lines(way, at, cash)
            words = N_("Renting: the cost lines add up to the cash flow")
            if way == "buy":
                words = N_("Owning: the cost lines add up to the cash flow")
            yield group, words, of, cash_flow, lines, _close(cash_flow, lines)
        if option["break_even_code"] != NOT_COMPARED:
            month = cash("break_even_month", "result")
            gain = Call("-", cash("buy_cumulative_amount", last), cash("rent_cumulative_amount", last))
            yield (group, N_("A break-even is found whenever owning ends cheaper"), of, month, gain,
                   Call("OR", Call("ISNUMBER", month), Call("<=", gain, 0)))  # fmt: skip


CAPEX_ERROR = 1e-6
"""Of the outlay: what a break-even that is put back may leave between renting and owning."""


def _ties(book: Book) -> Iterator[Check]:
    """Each continuous break-even put back into the present costs: renting and owning must then cost the same."""
    group = N_("Money")
    last = int(book.run.timelines[MONTH].max()) if len(book.run.timelines) else 0
    for option in book.options:
        if option["break_even_code"] == NOT_COMPARED:
            continue
        of = f"{book.service(str(option['service']))} · {book.label(option)}"

        def at(column: str, option: dict[str, Any] = option) -> Live:
            return Ref(calculation.anchor(option, column))

        rent, buy = at("rent_present_cost_amount"), at("buy_present_cost_amount")
        allowed = Call("*", Ref(("checks", "capex tolerance"), "both"), at("capex_amount"))
        extras = at("rent_extras_amount_per_month")
        moved = Call("/", at("break_even_price_per_card_hour"), at("rent_price_per_card_hour"))
        month = Call("+", Call("*", Call("-", at("rent_total_amount_per_month"), extras), moved), extras)
        end = Ref(cost_by_month.anchor(option, "discount_factor", last))
        ended = Call("*", Call("*", at("early_termination_amount"), moved), end)
        at_price = Call("+", Call("*", month, at("rent_annuity_factor")), ended)
        at_hours = Call("/", Call("*", rent, at("break_even_hours_per_day")), int(HOURS_PER_DAY))
        more = Call("-", at("break_even_residual_share"), at("residual_share"))
        left = Call("*", Call("*", more, at("hardware_amount")), end)
        for words, first, second in (
            (N_("The rent at which both cost the same, put back, leaves no difference"), at_price, buy),
            (N_("The hours a day at which both cost the same, put back, leave no difference"), at_hours, buy),
            (
                N_("The value left at which both cost the same, put back, leaves no difference"),
                Call("-", buy, left),
                rent,
            ),
        ):
            yield group, words, of, first, second, Call("<=", Call("ABS", Call("-", first, second)), allowed)


def _lines(way: str, at: Callable[[str], Live], cash: Callable[[str, str], Live]) -> Live:
    """Every cost line of a way of getting the cards, over the whole horizon; payments are negative."""
    added: Live = Call("+", 0, 0)
    for kind in LINES:
        if kind.option == way:
            amount = at(kind.amount)
            if kind.factor:
                amount = Call("*", amount, cash(kind.factor, "total"))
            elif kind.when == EVERY_MONTH:
                amount = Call("*", amount, at("horizon_months"))
            added = Call("+" if kind.inflow else "-", added, amount)
    return added


def _answers(book: Book) -> Iterator[Check]:
    group = N_("Answer")
    for service in book.services:
        own, costs = Ref(summary.anchor(service, "monthly_cost")), recommendation.over(book, service, "monthly_cost")
        least = Call("MIN", costs)
        words = N_("The Summary shows the cheapest of the short list")
        yield group, words, book.service(service), own, least, _close(own, least)


def _errors(book: Book) -> Iterator[Check]:
    group = N_("Errors")
    if not book.options:
        return
    areas: dict[str, tuple[Anchor, Anchor]] = {
        calculation.NAME: (_first_row(book), calculation.anchor(book.options[-1], list(book.made)[-1])),
        recommendation.NAME: (recommendation.anchor(book.options[0], "model"),
                              recommendation.anchor(book.options[-1], recommendation.COLUMNS[-1][0])),
        summary.NAME: (summary.anchor(book.services[0], "way"),
                       summary.anchor(book.services[-1], summary.COLUMNS[-1][0])),
    }  # fmt: skip
    last = int(book.run.timelines[MONTH].max())
    for option in book.options:
        areas[f"{cost_by_month.NAME} · {book.label(option)}"] = (
            cost_by_month.anchor(option, CASHFLOW[0].column, 0),
            cost_by_month.anchor(option, CASHFLOW[-1].column, last),
        )
    for name, (first, final) in areas.items():
        found = Call("ERRORS", Span(first, final))
        yield group, N_("No cell is an error"), name, found, Call("+", 0, 0), Call("=", found, 0)


def _first_row(book: Book) -> Anchor:
    made = list(book.made)
    return calculation.anchor(book.options[0], made[0])
