"""Sources: where every input and formula comes from, and how many numbers rest on each."""

from __future__ import annotations

from collections import Counter

from reports.formulas.meta import info
from reports.render.excel_style import MUTED
from reports.render.formats import COUNT
from reports.render.sheet import N_, TOP_ROWS, Book, Cell, Row, Rows, Sheet

ORDER = 90
NAME = N_("Sources")


def declare(book: Book) -> Sheet:
    """One row a source that this run used."""
    _ = book.translate
    inputs = Counter(str(source) for source in book.run.facts["source"])
    formulas = Counter(source for block in book.run.blocks for each in block.formulas for source in info(each).sources)
    known = book.run.catalog.sources
    head = (N_("Source"), N_("Title"), N_("Where"), N_("Licence"), N_("Checked on"), N_("Inputs"), N_("Formulas"))
    rows = [Row({index: Cell(_(name), "head number" if index > 5 else "head") for index, name in enumerate(head, 1)})]
    for name in sorted({*inputs, *formulas}):
        source = known.get(name)
        title = source.title if source else _("the scenario file") if name == "scenario" else ""
        rows.append(
            Row(
                {
                    1: Cell(name, "strong"),
                    2: Cell(title, "wrapped"),
                    3: Cell(source.locator if source else "", "wrapped note"),
                    4: Cell(source.licence if source else "", "unit"),
                    5: Cell(source.checked_on if source else "", "unit"),
                    6: Cell(inputs.get(name, 0), "value", COUNT),
                    7: Cell(formulas.get(name, 0), "value", COUNT),
                }
            )
        )
    return Sheet(
        name=NAME,
        blocks=[book.top(NAME), Rows(rows)],
        widths={1: (18, 40), 2: 54, 3: 70, 4: (10, 26), 5: 12, 6: 9, 7: 10},
        colour=MUTED,
        freeze=(TOP_ROWS + 1, 1),
        repeat_rows=(TOP_ROWS + 1, TOP_ROWS + 1),
    )
