"""Latency: what the simulation says of every short-listed option, as values, beside the live closed form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.formulas.meta import info
from reports.render.excel_style import BLUE
from reports.render.formats import COUNT, PERCENT, QUANTITY, NumberKind, kind_of
from reports.render.live import Anchor, Call, Live, Ref
from reports.render.sheet import N_, TOP_ROWS, Book, Cell, Highlight, Row, Rows, Sheet, gap, heading
from reports.render.sheets import calculation
from reports.render.view_latency import LATENCIES, STATISTICS
from reports.render.view_latency import ORDER as STATISTIC_ORDER
from reports.render.wording import finite

ORDER = 52
NAME = N_("Latency")
COLUMNS = 12
WATCHED = ("recommended_requests", "step_ms", "prefill_ms", "request_time_s", "memory_requests")
"""What the simulation stands on: where one of these has changed since, its values are of another case."""

OTHERS: tuple[tuple[str, str, NumberKind], ...] = (
    ("running_requests", N_("Requests running"), QUANTITY),
    ("queue_requests", N_("Requests waiting"), QUANTITY),
    ("preemptions", N_("Requests preempted"), PERCENT),
    ("utilisation", N_("Time computing"), PERCENT),
    ("memory_share", N_("Memory used"), PERCENT),
    ("goodput_requests_per_s", N_("Requests a second within every target"), QUANTITY),
)
GIVEN: tuple[tuple[str, str, NumberKind], ...] = (
    ("load_requests", N_("Requests in a replica"), COUNT),
    ("arrivals_per_s", N_("Arrivals a second"), QUANTITY),
    ("measured_requests", N_("Requests measured in each run"), COUNT),
    ("repeats", N_("Independent runs"), COUNT),
)

Line = dict[str, Any]
NAMES = ("target", "closed", "low", "high", "keeps", "same")
"""Cells of a target's row that others read."""


def anchor(option: dict[str, Any], row: str, column: str) -> Anchor:
    """The cell of one figure of an option."""
    return ("latency", option["option_id"], row, column)


def declare(book: Book) -> Sheet:
    """Against the targets, then percentiles, then queue and load: one row an option in each."""
    simulated = book.run.simulated
    lines = {str(name): part.to_dict("records") for name, part in simulated.groupby("option_id", sort=False)}
    rows: list[Row] = [*_notes(book, bool(lines))]
    highlights: list[Highlight] = []
    options = [option for option in book.options if str(option["option_id"]) in lines]
    if options:
        rows += [*_targets(book, options, lines), gap(12), *_percentiles(book, options, lines), gap(12)]
        rows += [*_queues(book, options, lines), gap(12), *_stands_on(book, options)]
        highlights = _marks(book, options, lines)
    return Sheet(
        name=NAME,
        blocks=[book.top(NAME), Rows(rows)],
        widths={1: (26, 44), 2: (26, 44), 3: (14, 26), **dict.fromkeys(range(4, COLUMNS + 1), 14.5)},
        colour=BLUE,
        freeze=(TOP_ROWS, 2),
        repeat_columns=2,
        highlights=highlights,
    )


def _notes(book: Book, simulated: bool) -> Iterator[Row]:
    _ = book.translate
    if not simulated:
        yield Row({1: Cell(_("Nothing was simulated: this method has no steps, or no option is feasible."), "note")})
        return
    texts = (
        _("Grey cells were simulated, request by request, and stay as evaluated; the closed form beside them is live."),
        _("A target is missed when all of the 95 % interval of the simulation lies beyond it; then the simulation "
          "decides, and the option carries only the largest load that holds."),
    )  # fmt: skip
    for text in texts:
        yield Row({1: Cell(text, "note")})
    yield gap(6)


def _targets(book: Book, options: list[Line], lines: dict[str, list[Line]]) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Against the targets"), COLUMNS)
    yield _head(book, (
        N_("Figure"), N_("Target, ms"), N_("Closed form, ms"), N_("Closed form meets it"), N_("Simulated, ms"),
        N_("Interval from"), N_("Interval to"), N_("Simulation meets it"), N_("Inputs of the simulation"),
    ), texts=1)  # fmt: skip
    for option in options:
        for line in _aimed(lines[str(option["option_id"])]):
            metric = str(line["metric"])
            target = Ref(calculation.anchor(option, metric.replace("_ms", "_target_ms")))
            live = metric.replace("_ms", "_target_ms") in option and _has(book, metric.replace("_ms", "_target_ms"))
            goal: object = Ref(target.anchor) if live else line["target"]
            names = {
                name: anchor(option, metric, name) for name in ("target", "closed", "low", "high", "keeps", "same")
            }
            cells = {
                **_names(book, option),
                3: Cell(f"{_(LATENCIES[metric])}, {_(STATISTICS[str(line['statistic'])])}"),
                4: Cell(goal, "link" if live else "value", QUANTITY, names["target"]),
                7: Cell(line["simulated"], "solved", QUANTITY),
                8: Cell(line["low"], "solved", QUANTITY, names["low"]),
                9: Cell(line["high"], "solved", QUANTITY, names["high"]),
                10: Cell(_verdict(book, names), "check", anchor=names["keeps"]),
                11: Cell(_unchanged(book, option), "check", anchor=names["same"]),
            }
            closed = next((each for each in (metric.replace("_ms", "_tail_ms"), metric) if _has(book, each)), "")
            if closed:
                cells[5] = Cell(Ref(calculation.anchor(option, closed)), "link", QUANTITY, names["closed"])
                kept = Call("<=", Ref(names["closed"]), Ref(names["target"]))
                cells[6] = Cell(Call("IF", kept, _("met"), _("missed")), "check", anchor=(*names["closed"], "met"))
            yield Row(cells)


def _verdict(book: Book, names: dict[str, Anchor]) -> Live:
    """Missed when all of the interval lies beyond the target, undecided when it contains it."""
    target = Ref(names["target"])
    sure = Call("IF", Call("<=", Ref(names["high"]), target), book.translate("met"), book.translate("undecided"))
    return Call("IF", Call(">", Ref(names["low"]), target), book.translate("missed"), sure)


def _stands_on(book: Book, options: list[Line]) -> Iterator[Row]:
    """The figures that the simulation was run with, beside what they are now."""
    _ = book.translate
    names = _watched(book)
    yield heading(_("What the simulation stands on"), COLUMNS)
    yield Row({3 + 2 * index: Cell(calculation.label_of(book, name), "spanner") for index, name in enumerate(names)})
    yield _head(book, tuple(label for _name in names for label in (N_("As simulated"), N_("Now"))))
    for option in options:
        cells = _names(book, option)
        for index, name in enumerate(names):
            kind = kind_of(info(book.made[name][0]).unit, name)
            cells[3 + 2 * index] = Cell(option[name], "solved", kind, anchor(option, name, "then"))
            now = Ref(calculation.anchor(option, name))
            cells[4 + 2 * index] = Cell(now, "link", kind, anchor(option, name, "now"))
        yield Row(cells)


def _watched(book: Book) -> list[str]:
    return [name for name in WATCHED if name in book.made]


def _unchanged(book: Book, option: Line) -> Live:
    """Whether what the simulation stands on is still what it was."""
    same = []
    for name in _watched(book):
        then, now = (Ref(anchor(option, name, each)) for each in ("then", "now"))
        allowed = Call("*", Ref(("checks", "tolerance"), "both"), Call("ABS", then))
        same.append(Call("<=", Call("ABS", Call("-", now, then)), allowed))
    return Call("IF", Call("AND", *same), book.translate("as simulated"), book.translate("changed: run again"))


def _percentiles(book: Book, options: list[Line], lines: dict[str, list[Line]]) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Simulated latencies, ms"), COLUMNS)
    spans = {3 + 4 * index: Cell(_(name), "spanner") for index, name in enumerate(("TTFT", "TPOT"))}
    yield Row({**{column + 3: cell for column, cell in spans.items()}})
    yield _head(book, tuple(STATISTICS[each] for _ in ("ttft_ms", "tpot_ms") for each in STATISTIC_ORDER))
    for option in options:
        found = {(line["metric"], line["statistic"]): line for line in lines[str(option["option_id"])]}
        keys = [(metric, each) for metric in ("ttft_ms", "tpot_ms") for each in STATISTIC_ORDER]
        yield Row({**_names(book, option), **{
            3 + index: Cell(found[key]["simulated"], "solved", QUANTITY) for index, key in enumerate(keys)
        }})  # fmt: skip
    yield gap(8)
    yield Row({6: Cell(_("Whole answer"), "spanner")})
    yield _head(book, tuple(STATISTICS[each] for each in STATISTIC_ORDER))
    for option in options:
        found = {(line["metric"], line["statistic"]): line for line in lines[str(option["option_id"])]}
        yield Row({**_names(book, option), **{
            3 + index: Cell(found["answer_ms", each]["simulated"], "solved", QUANTITY)
            for index, each in enumerate(STATISTIC_ORDER)
        }})  # fmt: skip


def _queues(book: Book, options: list[Line], lines: dict[str, list[Line]]) -> Iterator[Row]:
    yield heading(book.translate("One replica at its recommended load"), COLUMNS)
    yield _head(book, tuple(label for _, label, _ in (*GIVEN, *OTHERS)))
    for option in options:
        found = {str(line["metric"]): line for line in lines[str(option["option_id"])]
                 if line["statistic"] in ("given", "mean")}  # fmt: skip
        yield Row({**_names(book, option), **{
            3 + index: Cell(found[metric]["simulated"], "solved", kind)
            for index, (metric, _, kind) in enumerate((*GIVEN, *OTHERS))
        }})  # fmt: skip


def _head(book: Book, labels: tuple[str, ...], texts: int = 0) -> Row:
    """Heads from the third column on, the first ``texts`` of them over words."""
    cells = {1: Cell(book.axis, "head"), 2: Cell(book.translate("Option"), "head")}
    return Row({**cells, **{3 + index: Cell(book.translate(label), "head" if index < texts else "head number")
                            for index, label in enumerate(labels)}})  # fmt: skip


def _names(book: Book, option: Line) -> dict[int, Cell]:
    return {1: Cell(book.service(str(option["service"]))), 2: Cell(book.label(option))}


def _aimed(lines: list[Line]) -> list[Line]:
    return [line for line in lines if finite(line["target"]) is not None and line["statistic"] in STATISTIC_ORDER]


def _has(book: Book, column: str) -> bool:
    return column in book.made or column in {leaf.name for leaf in calculation.leaves(book)}


def _marks(book: Book, options: list[Line], lines: dict[str, list[Line]]) -> list[Highlight]:
    """Colours of the verdicts."""
    _ = book.translate
    looks = {_("missed"): "bad", _("changed: run again"): "bad", _("met"): "good", _("as simulated"): "good"}
    cells = [
        (*anchor(option, str(line["metric"]), name),)
        for option in options
        for line in _aimed(lines[str(option["option_id"])])
        for name in ("keeps", "same")
    ]
    return [Highlight(cell, cell, look, text) for cell in cells for text, look in looks.items()]
