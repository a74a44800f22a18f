"""Demand: how long requests are, how arrivals follow from what was stated, how demand grows, and its week."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.columns import LEAF
from reports.formulas.demand import tokens_requests_per_s, users_requests_per_s
from reports.formulas.growth import demand_growth_factor
from reports.formulas.meta import Formula, info
from reports.given import stated_assumptions
from reports.loads import RATE, UTILISATION, stated_values
from reports.plan.outlook import months_ahead, period_of
from reports.render.excel_style import BLUE, INK, ORANGE
from reports.render.formats import COUNT, FACTOR, PERCENT, SERIAL, TEXT, NumberKind, kind_of
from reports.render.live import Anchor, Call, Live, Ref, Span, Translated
from reports.render.sheet import N_, TOP_ROWS, Block, Book, Cell, Chart, Row, Rows, Series, Sheet, gap, heading, missing
from reports.scenario.demand import GrowthCurve, curve_of
from reports.scenario.services import Service

ORDER = 45
NAME = N_("Demand")
LABEL, OF, FIRST = 1, 2, 3
LAST = 11
COLOURS = (BLUE, ORANGE, INK, "009E73", "CC79A7", "56B4E9")
"""Of the lines of a chart, in order; Okabe-Ito."""
DASHES = ("solid", "dash", "sysDot", "dashDot")
MOST_LINES = 8

QUANTITIES: dict[str, tuple[str, str]] = {
    "input_tokens": (N_("Prompt length"), "tokens"),
    "output_tokens": (N_("Answer length"), "tokens"),
    "resident_tokens": (N_("Held by a running request"), "tokens"),
    "interarrival_scv": (N_("Burstiness of arrivals (1: at random)"), ""),
    "prefix_hit_share": (N_("Prompt tokens found in the prefix cache"), ""),
    "input_output_correlation": (N_("Correlation of prompt and answer"), ""),
}
STATISTICS = {"mean": N_("Mean"), "p50": "", "p95": "", "p99": "", "deviation": N_("Deviation")}
"""Statistic -> its name; a percentile is called the same everywhere."""
DAYS = (N_("Monday"), N_("Tuesday"), N_("Wednesday"), N_("Thursday"), N_("Friday"), N_("Saturday"), N_("Sunday"))


def anchor(service: str, row: str) -> Anchor:
    """The cell of one step from a demand to its arrivals."""
    return ("demand", service, row)


def live_inputs(book: Book) -> dict[tuple[str, str, str], Anchor]:
    """Rows of the Inputs sheet (scope, key, column) whose value follows from this sheet, and the cell it follows."""
    found = {
        ("demand", each.name, RATE): anchor(each.name, RATE)
        for each in book.run.scenario.service_axis
        if stated_values(each)
    }
    return found | {("assumption", key, UTILISATION): ("load", key, "mean") for key in _followed(book)}


def declare(book: Book) -> Sheet:
    """Lengths, derivations, growth and week; what does not apply is left out."""
    blocks: list[Block] = [book.top(NAME), Rows([*_lengths(book), gap(), *_derivations(book)])]
    growing = [each for each in book.run.scenario.service_axis if curve_of(each.demand) is not None]
    if growing:
        blocks += [Rows([gap(), *_growth(book, growing)]), _growth_chart(book, growing), Rows([gap(20)])]
    if len(book.run.load):
        blocks += [Rows([gap(), *_week_head(book)]), _week_chart(book), Rows([gap(10), *_week(book)])]
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={LABEL: (32, 48), OF: (16, 34), **dict.fromkeys(range(FIRST, LAST), 13.0), LAST: (20, 70)},
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS, 2),
    )


def _workload(book: Book, key: str) -> str:
    return key or book.translate("all services" if len(_keys(book)) == 1 else "the others")


def _keys(book: Book) -> list[str]:
    return list(dict.fromkeys(each.workload_key for each in book.run.scenario.service_axis))


def _lengths(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Requests"), LAST)
    said = _(
        "Tokens as the distributions have them; single requests are whole tokens, at least one. A running request is "
        "met at a random moment, long answers more often; it holds its prompt and what it has written."
    )
    yield Row({1: Cell(said, "note")})
    head = {LABEL: Cell(_("Quantity"), "head"), OF: Cell(_("Of"), "head")}
    head |= {FIRST + index: Cell(_(text) if text else name.upper(), "head number")
             for index, (name, text) in enumerate(STATISTICS.items())}  # fmt: skip
    words = (N_("Unit"), N_("Basis"), N_("Source"))
    head |= {FIRST + 5 + index: Cell(_(text), "head") for index, text in enumerate(words)}
    head |= {FIRST + 8: Cell(None, "head")}
    yield Row(head)
    known = set(zip(*(book.run.facts[name].astype(str) for name in ("scope", "key", "column")), strict=True))
    for row in book.run.workloads.to_dict("records"):
        yield Row(_length_cells(book, row, known))


def _length_cells(book: Book, row: dict[str, Any], known: set[Any]) -> dict[int, Cell]:
    _, key, quantity = book.translate, str(row["workload_key"]), str(row["quantity"])
    label, unit = QUANTITIES[quantity]
    kind = {"prefix_hit_share": PERCENT}.get(quantity, COUNT if unit else FACTOR)
    cells = {LABEL: Cell(_(label)), OF: Cell(_workload(book, key), "unit"), FIRST + 5: Cell(_(unit), "unit")}
    for index, statistic in enumerate(STATISTICS):
        if missing(row[statistic]):
            continue
        end = quantity.removesuffix("_tokens")
        leaf = quantity if statistic == "mean" and quantity not in ("input_tokens", "output_tokens") else \
            f"{end}_{statistic}_tokens"  # fmt: skip
        place = ("workload", key, leaf)
        content: object = Ref(("input", *place)) if place in known else row[statistic]
        cells[FIRST + index] = Cell(content, "link" if place in known else "value", kind)
    cells[FIRST + 6] = Cell(book.known(str(row["basis"])), "unit")
    cells[FIRST + 7] = Cell(str(row["source"]), "unit")
    return cells


def _derivations(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("From what is stated to the peak"), LAST)
    yield Row({1: Cell(_(
        "Users and monthly tokens may be edited on Inputs, and arrivals, cards and money follow; more than the layout "
        "carries needs a new run."), "note")})  # fmt: skip
    for service in book.run.scenario.service_axis:
        for name, formula in (("users", users_requests_per_s), ("tokens_per_month", tokens_requests_per_s)):
            if getattr(service.demand, name) is not None:
                yield from _derived(book, service, formula)
        if service.demand.run is not None:
            for name in ("demand_run_requests", "demand_run_hours", "demand_runs_per_month"):
                yield _step(book, service, name, Ref(("input", "demand", service.name, name)), "link")
        for name in ("demand_peak_concurrency", RATE):
            if getattr(service.demand, name.removeprefix("demand_")) is not None:
                yield _step(book, service, name, Ref(("input", "demand", service.name, name)), "link")


def _derived(book: Book, service: Service, formula: Formula) -> Iterator[Row]:
    for name in info(formula).inputs:
        yield _step(book, service, name, Ref(_input(service, name)), "link")
    facts = book.run.facts
    found = facts[(facts["scope"] == "demand") & (facts["key"] == service.name) & (facts["column"] == RATE)]
    value = float(found["value"].iloc[0])
    yield _step(book, service, RATE, Translated(formula, lambda name: Ref(_input(service, name)), value), "total",
                info(formula).doc)  # fmt: skip


def _input(service: Service, name: str) -> Anchor:
    """The cell of the Inputs sheet that holds what a demand is derived from."""
    if name == UTILISATION:
        return ("input", "assumption", service.workload_key, name)
    scope = LEAF[name].scope
    return ("input", scope, service.workload_key if scope == "workload" else service.name, name)


def _step(book: Book, service: Service, name: str, content: Live, look: str, doc: str = "") -> Row:
    leaf = LEAF[name]
    return Row(
        {
            LABEL: Cell(book.translate(leaf.label), "strong" if look == "total" else "text"),
            OF: Cell(book.service(service.name), "unit"),
            FIRST: Cell(content, look, kind_of(leaf.unit, name), anchor(service.name, name)),
            FIRST + 1: Cell(book.unit(leaf.unit, name), "unit"),
            FIRST + 2: Cell(book.translate(" ".join(doc.split())) if doc else None, "note"),
        }
    )


def _growth(book: Book, services: list[Service]) -> Iterator[Row]:
    _ = book.translate
    last = FIRST + len(services) - 1
    yield heading(_("Demand against today, by month"), max(LAST, last))
    yield Row({1: Cell(_(
        "Month 0 is the month of the report. Amounts listed in the scenario hold from their month on; a rate adds up "
        "month by month; with a saturation the curve is logistic and ends there."), "note")})  # fmt: skip
    yield Row(
        {LABEL: Cell(_("Calendar month"), "head"), OF: Cell(_("Month"), "head number"),
         **{FIRST + index: Cell(_short(book, each), "head number") for index, each in enumerate(services)}}, 30,
    )  # fmt: skip
    yield Row({LABEL: Cell(_("The demand of today")), FIRST: Cell(1, "value", SERIAL, ("growth one",))})
    period, months = book.run.scenario.period, months_ahead(book.run.scenario)
    curves = [(each, curve_of(each.demand)) for each in services]
    factors = {each.name: curve.factors(period, months) for each, curve in curves if curve is not None}
    for month in range(months + 1):
        cells = {LABEL: Cell(period_of(book.run.scenario, month), "text", TEXT),
                 OF: Cell(month, "value", SERIAL, ("growth month", month))}  # fmt: skip
        for index, (each, curve) in enumerate(curves):
            assert curve is not None
            factor = float(factors[each.name][month])
            cells[FIRST + index] = Cell(
                _factor(each, curve, month, factor), "value" if curve.kind == "listed" else "formula", FACTOR,
                ("growth factor", each.name, month),
            )  # fmt: skip
        yield Row(cells)


def _factor(service: Service, curve: GrowthCurve, month: int, factor: float) -> object:
    """A listed factor is a value; a rate or a saturation is the formula over its inputs."""
    if curve.kind == "listed":
        return factor

    def bind(name: str) -> Ref:
        if name == "month":
            return Ref(("growth month", month))
        if name == "listed_factor":  # nothing is listed: it grows from today's by the rate alone
            return Ref(("growth one",))
        return Ref(("input", "demand", service.name, name))

    return Translated(demand_growth_factor, bind, factor)


def _growth_chart(book: Book, services: list[Service]) -> Chart:
    months = months_ahead(book.run.scenario)
    return Chart(
        title=book.translate("Demand against today"),
        x_title=book.translate("Month"),
        y_title=book.translate("Times the demand of today"),
        categories=(("growth month", 0), ("growth month", months)),
        series=[
            Series(_short(book, each), ("growth factor", each.name, 0), ("growth factor", each.name, months),
                   *_line(index))
            for index, each in enumerate(services[:MOST_LINES])
        ],
        upright=True,
    )  # fmt: skip


def _short(book: Book, service: Service) -> str:
    """The name of a service without its model, or its model where services are not named."""
    return service.name if book.words.lists_services else book.model(service.model)


def _line(index: int) -> tuple[str, str]:
    return COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)]


def _profiled(book: Book) -> list[str]:
    return list(dict.fromkeys(book.run.load["workload_key"].astype(str)))


def _different(book: Book) -> list[str]:
    """Of workloads with the same profile only the first: one line says it."""
    profiles = {each.workload_key: each.workload.profile for each in book.run.scenario.service_axis}
    first: dict[str, str] = {}
    for key in _profiled(book):
        profile = profiles[key]
        first.setdefault(profile.name if profile else key, key)
    return list(first.values())


def _followed(book: Book) -> list[str]:
    """Workloads whose mean load is that of their profile: all that have one, unless the scenario states it."""
    return [] if UTILISATION in stated_assumptions(book.run.scenario) else _profiled(book)


def _week_head(book: Book) -> Iterator[Row]:
    _ = book.translate
    keys = _profiled(book)
    yield heading(_("Load by hour of the week, as a share of the peak"), max(LAST, FIRST + len(keys) - 1))
    yield Row({1: Cell(_(
        "The mean over the peak is the average utilisation on Inputs: what turns monthly tokens into a peak, and the "
        "peak into tokens and electricity of a month."), "note")})  # fmt: skip
    profiles = {each.workload_key: each.workload.profile for each in book.run.scenario.service_axis}
    for key in keys:
        profile = profiles[key]
        if profile is not None:
            entry = book.run.catalog.profiles.get(profile.name)
            name = book.known(entry.name) if entry else profile.name
            text = f"{_workload(book, key)}: {name} ({book.known(profile.basis)}). {book.known(profile.note)}"
            yield Row({1: Cell(text, "note")})
    cells = {LABEL: Cell(_("Mean over the peak"), "strong"), OF: Cell(None)}
    for index, key in enumerate(keys):
        span = Span(("load", key, 0), ("load", key, 167))
        mean = Call("/", Call("SUM", span), Call("COUNT", span))
        cells[FIRST + index] = Cell(mean, "total", PERCENT, ("load", key, "mean"))
    yield Row(cells)


def _week_chart(book: Book) -> Chart:
    return Chart(
        title=book.translate("The week"),
        x_title=book.translate("Hour of the week, 0 is Monday 0 h"),
        y_title=book.translate("Load as a share of the peak"),
        categories=(("load hour", 0), ("load hour", 167)),
        series=[
            Series(_workload(book, key), ("load", key, 0), ("load", key, 167), *_line(index))
            for index, key in enumerate(_different(book)[:MOST_LINES])
        ],
        upright=True,
        percent=True,
        label_every=12,
    )


def _week(book: Book) -> Iterator[Row]:
    _ = book.translate
    keys = _profiled(book)
    yield Row(
        {LABEL: Cell(_("Day and hour"), "head"), OF: Cell(_("Hour of the week"), "head number"),
         **{FIRST + index: Cell(_workload(book, key), "head number") for index, key in enumerate(keys)}}
    )  # fmt: skip
    shares = {key: list(group["share_of_peak"]) for key, group in book.run.load.groupby("workload_key", sort=False)}
    followed = _followed(book)
    for hour in range(168):
        cells = {LABEL: Cell(f"{_(DAYS[hour // 24])} {hour % 24:02d}:00"),
                 OF: Cell(hour, "value", SERIAL, ("load hour", hour))}  # fmt: skip
        for index, key in enumerate(keys):
            look: str = "input" if key in followed else "value"
            kind: NumberKind = PERCENT
            cells[FIRST + index] = Cell(float(shares[key][hour]), look, kind, ("load", key, hour), number_only=True)
        yield Row(cells)
