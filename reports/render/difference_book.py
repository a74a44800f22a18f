"""The difference between two runs as a workbook of its own: the Variance sheet, without the model behind it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.history.attribute import Difference
from reports.history.stage import with_difference
from reports.methods import METHODS
from reports.render.i18n import translator
from reports.render.sheet import Book, Cell, Row, Rows
from reports.render.sheets import variance
from reports.render.workbook import draw
from reports.run import Run
from reports.scenario.schema import Matrix, Scenario, Title, last_day


def write(found: Difference, path: Path) -> None:
    """Write the sheet in the first language of the later run; in English where its inputs are not at hand."""
    after = found.after
    scenario = after.inputs[0] if after.inputs else Scenario.model_construct(
        name=after.scenario, title=Title(en=after.scenario), period=after.period, as_of=last_day(after.period),
        currency=after.currency, languages=("en",), services=(), workload=None, targets=None,
        matrix=Matrix.model_construct(model=(), quantization=()),
    )  # fmt: skip
    catalog = after.inputs[1] if after.inputs else read_catalog()
    run = with_difference(bare(scenario, catalog), found)
    language = scenario.languages[0]
    book = Book(run, translator(language), language)
    periods = f"{found.before.period} → {after.period}"
    money = book.translate("Amounts in {currency}", currency=book.currency)
    top = Rows(
        (
            Row({1: Cell(book.translate(variance.NAME), "title")}, 28),
            Row({1: Cell(f"{scenario.title[language]} · {periods} · {money}", "subtitle")}, 16),
            Row({}, 8),
            Row({}, 8),
        )
    )
    draw([variance.sheet(book, [top])], path, book)


def bare(scenario: Scenario, catalog: Catalog) -> Run:
    """A run that nothing was evaluated for."""
    nothing = pd.DataFrame()
    return Run(
        scenario=scenario, catalog=catalog, method=METHODS["roofline"], facts=nothing, candidates=nothing,
        options=nothing, shortlist=nothing, blocks=(), timelines=nothing, cost_lines=nothing, verdicts=nothing,
        excuses=nothing, evidence=nothing, warnings=(),
    )  # fmt: skip
