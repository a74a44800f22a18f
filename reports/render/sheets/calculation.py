"""Calculation: every formula in reading order, one column a short-listed option, over inputs linked from Inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from reports.columns import LEAF, Leaf, fact_reference
from reports.formulas.meta import Formula, info
from reports.methods import Block
from reports.render.excel_style import BLUE
from reports.render.formats import kind_of
from reports.render.i18n import one_line
from reports.render.live import Anchor, Ref, Translated
from reports.render.sheet import N_, TOP_ROWS, Book, Cell, Row, Rows, Sheet, gap, heading, missing
from reports.render.sheets.inputs import SCOPES
from reports.simulate.limits import LEAF as SIMULATED

ORDER = 50
NAME = N_("Calculation")
LABEL, UNIT, FIRST = 1, 2, 3
POINTS = {"limit": N_("at the limit"), "one_more": N_("one request more")}


def anchor(option: dict[str, Any], column: str) -> Anchor:
    """The cell of one column of one option."""
    return ("calculation", option["option_id"], column)


def declare(book: Book) -> Sheet:
    """One row a leaf or formula."""
    options = book.options
    last = FIRST + len(options) + 1
    blocks = [book.top(NAME), Rows([*_head(book), *_inputs(book)])]
    for block in book.run.blocks:
        blocks.append(Rows([gap(), heading(book.translate(block.title), last), *_formulas(book, block)]))
    return Sheet(
        name=NAME,
        blocks=blocks,
        widths={
            LABEL: (30, 52), UNIT: (8, 22), **{FIRST + index: 15.5 for index in range(len(options))},
            last - 1: (14, 40), last: 70,
        },
        colour=BLUE,
        large_paper=True,
        freeze=(TOP_ROWS + 4, 2),
        repeat_rows=(TOP_ROWS + 1, TOP_ROWS + 4),
        repeat_columns=2,
    )  # fmt: skip


def _head(book: Book) -> Iterator[Row]:
    """What each column is: model, card, format and link."""
    last = FIRST + len(book.options)
    words: dict[str, Callable[[dict[str, Any]], str]] = {
        N_("Model"): lambda option: book.service(str(option["service"])),
        N_("Card"): book.gpu,
        N_("Format"): lambda option: str(option["quantization"]),
        N_("Link"): book.link,
    }
    for label, text in words.items():
        lowest = label == "Link"
        look = "head number" if lowest else "spanner"
        cells = {LABEL: Cell(book.axis if label == "Model" else book.translate(label), "head" if lowest else "strong")}
        cells |= {FIRST + index: Cell(text(option), look) for index, option in enumerate(book.options)}
        if lowest:
            cells |= {UNIT: Cell(book.translate("Unit"), "head"), last: Cell(book.translate("Source"), "head"),
                      last + 1: Cell(book.translate("What it is"), "head")}  # fmt: skip
        yield Row(cells, 30 if label in ("Model", "Card") else None)


def leaves(book: Book) -> list[Leaf]:
    """Leaves that any formula or constraint of the run reads."""
    return book.leaves


def _inputs(book: Book) -> Iterator[Row]:
    known = set(zip(book.run.facts["scope"], book.run.facts["key"], book.run.facts["column"], strict=True))
    last = FIRST + len(book.options) + 1
    scope = ""
    for leaf in leaves(book):
        if leaf.scope != scope:
            scope = leaf.scope
            yield gap()
            yield heading(book.translate(SCOPES[scope]), last)
        kind = kind_of(leaf.unit, leaf.name)
        cells = _left(book, leaf.label, leaf.unit, leaf.name)
        for index, option in enumerate(book.options):
            value, place = option[leaf.name], fact_reference(option, leaf.name)
            if scope in ("layout", "solved"):
                cell = Cell(value, "solved", kind, anchor(option, leaf.name))
            elif missing(value) or place not in known:
                cell = Cell(value, "value", kind, anchor(option, leaf.name))
            else:
                cell = Cell(Ref(("input", *place)), "link", kind, anchor(option, leaf.name))
            cells[FIRST + index] = cell
        source = {"layout": N_("search over layouts"), "solved": N_("search over loads")}.get(scope, N_("Inputs"))
        if scope == "solved" and leaf.unit in ("units", "servers"):
            source = N_("search over spares")
        if leaf.name == SIMULATED:
            source = N_("simulation")
        cells[last - 1] = Cell(book.translate(source), "unit")
        yield Row(cells)


def _left(book: Book, label: str, unit: str, column: str) -> dict[int, Cell]:
    return {
        LABEL: Cell(book.translate(label)),
        UNIT: Cell(book.unit(unit, column), "unit"),
    }


def _formulas(book: Book, block: Block) -> Iterator[Row]:
    last = FIRST + len(book.options) + 1
    for function in block.formulas:
        known = info(function)
        column = block.column(known.name)
        cells = _left(book, known.label, known.unit, column)
        if block.point:  # the same chain stands at several loads: a label names one row
            point = book.translate(POINTS.get(block.point, block.point))
            cells[LABEL] = Cell(f"{cells[LABEL].content} · {point}")
        for index, option in enumerate(book.options):
            cells[FIRST + index] = Cell(
                Translated(
                    function,
                    lambda name, option=option: Ref(anchor(option, block.resolve(name))),  # type: ignore[misc]
                    option[column],
                ),
                "formula",
                kind_of(known.unit, column),
                anchor(option, column),
            )
        cells[last - 1] = Cell(", ".join(known.sources), "unit")
        cells[last] = Cell(f"{_reason(book, block, function)} {book.translate(one_line(known.doc))}".strip(), "note")
        yield Row(cells)


def _reason(book: Book, block: Block, function: Formula) -> str:
    """Why some options have no value in this row: the inputs that they lack."""
    column = block.column(info(function).name)
    without = [option for option in book.options if missing(option[column])]
    reads = [block.resolve(name) for name in info(function).inputs]
    lacking = [label_of(book, name) for name in reads if any(missing(option[name]) for option in without)]
    return book.translate("n/a: without {inputs}.", inputs=", ".join(lacking)) if lacking else ""


def label_of(book: Book, column: str) -> str:
    """The translated label of a leaf or formula column."""
    if column in book.made:
        return book.translate(info(book.made[column][0]).label)
    return book.translate(LEAF[column].label)
