"""Variance: the earlier run beside this one, causes by service that add up, a waterfall, and what it comes to now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.history.actuals import MEASURES
from reports.history.steps import LABELS, MEANINGS
from reports.render import view_variance
from reports.render.excel_style import BLUE, MUTED, ORANGE
from reports.render.formats import COUNT, PERCENT, PRICE, QUANTITY, TEXT
from reports.render.live import Anchor, Call, Live, Ref, Span
from reports.render.sheet import N_, TOP_ROWS, Block, Book, Cell, Chart, Row, Rows, Series, Sheet, gap, heading, missing
from reports.render.sheets import summary

ORDER = 69
NAME = N_("Variance")
LABEL, AMOUNT, CARDS, LEVEL, LIFT, MORE, LESS, TOTAL = range(1, 9)
COLUMNS = 8
BEFORE, AFTER = "before", "after"


def anchor(row: str, column: str | int) -> Anchor:
    """A cell of the sheet: a cause or service, and a column."""
    return ("variance", row, column)


def declare(book: Book) -> Sheet | None:
    """Left out where no comparison was asked for."""
    return sheet(book, [book.top(NAME)]) if view_variance.view(book.words) else None


def sheet(book: Book, top: list[Block]) -> Sheet:
    """The sheet under its first lines; amounts are those of the two runs, sums are live."""
    words = book.words
    parts = view_variance.view(words)
    blocks: list[Block] = list(top)
    if "lead" in parts:
        blocks.append(Rows([Row({1: Cell(parts["lead"], "strong")}), gap()]))
    if parts.get("rows"):
        causes = [row["cause"] for row in view_variance.totals(words)]
        last = max(COLUMNS, 7 + len(causes))
        blocks += [
            Rows([*_actions(book, parts["actions"]), *_waterfall(book, causes, last)]),
            _chart(book, causes),
            Rows([*_services(book, causes), *_choices(book, last), *_meanings(book, causes, parts["notes"], last)]),
        ]
    if parts.get("course"):
        blocks += [Rows([*_course(book, parts["prices"])]), _course_chart(book)]
    if len(book.run.actuals):
        blocks.append(Rows([*_actuals(book)]))
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={1: (34, 54), **dict.fromkeys(range(2, 20), (15.0, 26.0))},
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS, 1),
        repeat_columns=1,
    )


def _actions(book: Book, sentences: list[str]) -> Iterator[Row]:
    yield heading(book.translate("To do against the earlier run"), COLUMNS)
    for text in sentences:
        yield Row({1: Cell(text, "note")})
    yield gap()


def _waterfall(book: Book, causes: list[str], last: int) -> Iterator[Row]:
    """Before, every cause, after: each with where it ends, and the pieces that the chart stacks."""
    _ = book.translate
    yield heading(_("From the earlier run to this one, {currency} a month", currency=book.currency), last)
    heads = (N_("Cause"), N_("Amount"), N_("Cards"), N_("Up to here"), N_("Below"), N_("More"), N_("Less"), N_("Total"))
    yield Row({1 + at: Cell(_(text), "head number" if at else "head") for at, text in enumerate(heads)})
    order = [BEFORE, *causes, AFTER]
    names = {BEFORE: _("Before"), AFTER: _("As evaluated now"), **{name: _(LABELS[name]) for name in causes}}
    for index, name in enumerate(order):
        own = Ref(anchor(name, "amount"))
        ends = Ref(anchor(name, "level"))
        total = name in (BEFORE, AFTER)
        level: Live = own if total else Call("+", Ref(anchor(order[index - 1], "level")), own)
        other = Ref(anchor(order[index - 1], "level")) if index else own
        pieces: dict[int, Live] = {
            LIFT: Call("+", 0, 0) if total else Call("MIN", ends, other),
            MORE: Call("+", 0, 0) if total else Call("MAX", own, 0),
            LESS: Call("+", 0, 0) if total else Call("MAX", Call("-", 0, own), 0),
            TOTAL: own if total else Call("+", 0, 0),
        }
        cells = {
            LABEL: Cell(names[name], "total label" if total else "text", anchor=anchor(name, "label")),
            AMOUNT: Cell(Ref(anchor("all services", name)), "total" if total else "formula", PRICE,
                         anchor(name, "amount")),
            CARDS: Cell(_cards(book, name), "solved", COUNT),
            LEVEL: Cell(level, "formula", PRICE, anchor(name, "level")),
        }  # fmt: skip
        cells |= {column: Cell(live, "formula", PRICE, anchor(name, column)) for column, live in pieces.items()}
        yield Row(cells)
    yield gap()


def _cards(book: Book, name: str) -> float:
    if name in (BEFORE, AFTER):
        return float(book.run.variance_services[f"cards_{name}"].sum())
    frame = book.run.variance
    return float(frame.loc[frame["cause"] == name, "cards"].sum())


def _chart(book: Book, causes: list[str]) -> Chart:
    _ = book.translate
    order = [BEFORE, *causes, AFTER]

    def pieces(title: str, column: int, colour: str) -> Series:
        return Series(title, anchor(order[0], column), anchor(order[-1], column), colour)

    return Chart(
        title=_("From the earlier run to this one, {currency} a month", currency=book.currency),
        x_title=_("Cause"),
        y_title=book.currency,
        categories=(anchor(order[0], "label"), anchor(order[-1], "label")),
        series=(pieces(_("Below"), LIFT, ""), pieces(_("Total"), TOTAL, MUTED), pieces(_("More"), MORE, BLUE),
                pieces(_("Less"), LESS, ORANGE)),
        upright=True, form="stacked", label_every=1, rows=18,
    )  # fmt: skip


def _services(book: Book, causes: list[str]) -> Iterator[Row]:
    """Causes by service: before, each cause, their sum, the later run, and what this workbook gives at this moment."""
    _ = book.translate
    live = set(book.services)
    ends = {"sum": _("Sum"), AFTER: _("As evaluated now")}
    if live:  # else there is no model beside this sheet
        ends["now"] = _("This workbook, live")
    columns = [BEFORE, *causes, *ends]
    yield heading(_("Causes by service, {currency} a month", currency=book.currency), 1 + len(columns))
    names = {BEFORE: _("Before"), **{name: _(LABELS[name]) for name in causes}, **ends}
    yield Row({1: Cell(book.axis, "head"), **{2 + at: Cell(names[name], "head number")
                                              for at, name in enumerate(columns)}})  # fmt: skip
    frame = book.run.variance.set_index(["service", "cause"])["amount"].to_dict()
    rows = book.run.variance_services.to_dict("records")
    for row in rows:
        service = str(row["service"])
        cells = {1: Cell(book.service(service), anchor=anchor(service, "label"))}
        for at, name in enumerate(columns):
            content: Any
            look = "solved"
            if name in (BEFORE, AFTER):
                content = float(row[f"amount_{name}"])
            elif name == "sum":
                first, final = anchor(service, BEFORE), anchor(service, columns[at - 1])
                content, look = Call("SUM", Span(first, final, "")), "formula"
            elif name == "now" and service in live:
                content, look = Ref(summary.anchor(service, "monthly_cost")), "link"
            elif name == "now":  # a service that ended
                content = 0.0
            else:
                content = float(frame.get((service, name), 0.0))
            cells[2 + at] = Cell(content, look, PRICE, anchor(service, name))
        yield Row(cells)
    top, bottom = str(rows[0]["service"]), str(rows[-1]["service"])
    yield Row(
        {1: Cell(_("All services"), "total label"),
         **{2 + at: Cell(Call("SUM", Span(anchor(top, name), anchor(bottom, name), "")), "total", PRICE,
                         anchor("all services", name)) for at, name in enumerate(columns)}}
    )  # fmt: skip
    yield gap()


def _choices(book: Book, last: int) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Decisions"), last)
    heads = (book.axis, _("Decision"), _("Before"), _("Now"), _("Cards before"), _("Cards now"), _("Outlay before"),
             _("Outlay now"))  # fmt: skip
    yield Row({1 + at: Cell(text, "head number" if at > 3 else "head") for at, text in enumerate(heads)})
    for row in book.run.variance_services.to_dict("records"):
        texts = {
            1: book.service(str(row["service"])), 2: _(view_variance.CHANGES[str(row["change"])]),
            3: _choice(book, row, BEFORE), 4: _choice(book, row, AFTER),
        }  # fmt: skip
        numbers = {5: "cards_before", 6: "cards_after", 7: "capex_before", 8: "capex_after"}
        yield Row({column: Cell(text) for column, text in texts.items()}
                  | {column: Cell(float(row[name]), "solved", COUNT) for column, name in numbers.items()})  # fmt: skip
    yield gap()


def _choice(book: Book, row: dict[str, Any], when: str) -> str:
    if not row[f"option_{when}"]:
        return "–"
    return f"{book.words.gpu(row[f'gpu_{when}'])}, {book.translate('buy' if row[f'way_{when}'] == 'buy' else 'rent')}"


def _meanings(book: Book, causes: list[str], notes: list[str], last: int) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("What the causes mean, in the order in which they are valued"), last)
    for name in causes:
        yield Row({1: Cell(_(LABELS[name])), 2: Cell(_(MEANINGS[name]), "note")})
    for text in notes:
        yield Row({1: Cell(text, "note")})


def _course(book: Book, prices: list[dict[str, Any]]) -> Iterator[Row]:
    """Cost, cards and prices of every month there is."""
    _ = book.translate
    rows = view_variance.course_answers(book.words)
    yield gap()
    yield heading(_("Over the months"), 2 + len(rows))
    yield Row({1: Cell(_("Month"), "head"), 2: Cell(_("Unit"), "head"),
               **{3 + at: Cell(row["period"], "head number", TEXT, ("variance", "course", "period", at))
                  for at, row in enumerate(rows)}})  # fmt: skip
    money = book.unit("currency/month")
    for name, label, unit, kind in (("amount", _("Cost a month"), money, PRICE),
                                    ("cards", _("Cards"), book.unit("cards"), COUNT)):  # fmt: skip
        cells = {3 + at: Cell(row[name], "solved", kind, ("variance", "course", name, at))
                 for at, row in enumerate(rows)}  # fmt: skip
        yield Row({1: Cell(label), 2: Cell(unit, "unit"), **cells})
    for row in prices:
        unit = book.unit("currency/card-h" if row["name"] == view_variance.RENT else "currency/server")
        yield Row({1: Cell(f"{row['gpu']} · {row['what']}"), 2: Cell(unit, "unit"),
                   **{3 + at: Cell(value, "solved", PRICE) for at, value in enumerate(row["numbers"])}})  # fmt: skip
    yield gap()


def _course_chart(book: Book) -> Chart:
    _ = book.translate
    last = len(view_variance.course_answers(book.words)) - 1
    ends = [(("variance", "course", name, 0), ("variance", "course", name, last)) for name in ("period", "amount")]
    return Chart(
        title=_("Cost a month over the months, {currency}", currency=book.currency), x_title=_("Month"),
        y_title=book.currency, categories=ends[0], series=(Series(_("Cost a month"), *ends[1], BLUE),),
        upright=True, form="stacked", label_every=1, rows=16,
    )  # fmt: skip


def _actuals(book: Book) -> Iterator[Row]:
    """Forecast and what happened; the errors are live."""
    _ = book.translate
    yield gap()
    yield heading(_("Forecast and what happened"), 7)
    heads = (book.axis, _("Month"), _("Measure"), _("Unit"), _("Forecast"), _("Actual"), _("Error"))
    yield Row({1 + at: Cell(text, "head number" if at > 3 else "head") for at, text in enumerate(heads)})
    for number, row in enumerate(book.run.actuals.to_dict("records")):
        name = str(row["measure"])
        kind = {"amount": PRICE, "cards": COUNT}.get(name, QUANTITY)
        forecast, actual = (("variance", "actuals", number, which) for which in ("forecast", "actual"))
        error = Call("-", Call("/", Ref(actual), Ref(forecast)), 1)
        known = not missing(row["forecast"]) and row["forecast"] > 0
        yield Row(
            {
                1: Cell(view_variance.of(book.words, row)), 2: Cell(str(row["month"])),
                3: Cell(_(view_variance.MEASURED[name])), 4: Cell(book.unit(MEASURES[name]), "unit"),
                5: Cell(row["forecast"], "solved", kind, forecast),
                6: Cell(row["actual"], "input", kind, actual, number_only=True),
                7: Cell(error if known else row["error_share"], "formula", PERCENT),
            }
        )  # fmt: skip
    yield Row({1: Cell(_(view_variance.DUE), "note")})


def checks(book: Book) -> Iterator[tuple[str, str, str, Live, Live, Live]]:
    """For every service: what it cost before and the causes give what was evaluated now, to the cent."""
    for row in book.run.variance_services.to_dict("records"):
        service = str(row["service"])
        added, now = Ref(anchor(service, "sum")), Ref(anchor(service, AFTER))
        close = Call("<=", Call("ABS", Call("-", added, now)), _rounding(added))
        yield NAME, N_("The causes add up to what is evaluated now"), book.service(service), added, now, close


def _rounding(value: Live) -> Live:
    """What binary fractions alone can make; amounts are whole cents."""
    return Call("*", Ref(("checks", "tolerance"), "both"), Call("MAX", Call("ABS", value), 1))
