"""Sizing and Growth recalculated: every cell agrees, and an edited growth flows as in a run of the edited scenario."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from recalculate import Values, differences, formulas, part, recalculate, values, with_part
from scenario_text import read

from reports import pipeline
from reports.catalog.records import Catalog
from reports.plan import outlook
from reports.plan.rows import COMPARED, COMPARED_RESULTS, MONTH, NEVER_WHEN_BLANK, RESULTS, TIMELINE
from reports.render import plan_checks, sheets, workbook
from reports.render.i18n import translator
from reports.render.sheet import Book
from reports.run import Run

pytestmark = pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice recalculates the workbook")

TEXT = """\
title: {en: A growing service}
period: 2026-11
currency: CNY
region: china
workload:
  input_tokens: {distribution: long_tail, mean: 800, p95: 2500}
  output_tokens: {distribution: long_tail, mean: 256, p95: 1024}
  demand: {peak_concurrency: 600, growth: {rate_per_month: 0.04}}
targets: {tpot_ms: 50, ttft_ms: 2000, availability: 0.999}
matrix:
  model: [qwen3-32b]
  quantization: [fp8]
  gpu: [h20-141gb, l20]
  count: [1, 2, 4]
  interconnect: [pcie]
fleet:
  - {gpu: h20-141gb, cards: 8}
  - {gpu: h20-141gb, cards: 8, kind: leased, lease_ends: 2027-05-31}
costs: {horizon_months: 18}
"""
EDITS: dict[str, tuple[str, float, str, str]] = {
    "rate": ("Growth of the demand a month", 0.02, "rate_per_month: 0.04", "rate_per_month: 0.02"),
    "lead": ("Lead time of an order", 26.0, "region: china",
             "region: china\nassumptions: {lead_time_hopper_weeks: 26}"),
    "budget": ("Budget for orders a quarter (0: no limit)", 1_500_000.0, "region: china",
               "region: china\npolicies: {budget_per_quarter: 1500000}"),
    "repair": ("Repair of a server", 600.0, "region: china", "region: china\nassumptions: {server_repair_h: 600}"),
}  # fmt: skip
"""Name -> label of an input, its new value, and what says the same in the scenario."""

SOLVED = {"month_availability_spare_units"}


@dataclass(frozen=True)
class Books:
    """The run, its workbook as written, and recalculated copies, one of them with nothing edited."""

    run: Run
    written: dict[str, Path]
    recalculated: dict[str, Path]


def evaluated(monkeypatch: pytest.MonkeyPatch, folder: Path, catalog: Catalog, text: str) -> Run:
    """A run up to the growth; the workbook of everything else has its own test."""
    monkeypatch.setattr(pipeline, "STAGES", (outlook.stage,))
    monkeypatch.setattr(pipeline, "settle", lambda recommended: recommended({}))
    return pipeline.evaluate(read(folder, catalog, text), catalog)


@pytest.fixture(scope="module")
def books(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Books:
    folder = tmp_path_factory.mktemp("plan")
    with pytest.MonkeyPatch.context() as patched:
        run = evaluated(patched, folder, catalog, TEXT)
    book = Book(run, translator("en"), "en")
    written = {"base": folder / "base.xlsx"}
    workbook.draw(sheets.declare(book), written["base"], book)
    for name, (label, value, _, _) in EDITS.items():
        written[name] = with_input(written["base"], folder / f"{name}.xlsx", label, value)
    paths = recalculate(list(written.values()), folder / "recalculated", timeout_s=300)
    return Books(run, written, dict(zip(written, paths, strict=True)))


def with_input(path: Path, target: Path, label: str, value: float) -> Path:
    """A copy in which one input differs."""
    book = load_workbook(path, read_only=True)
    cell = next(str(row[2].coordinate) for row in load_workbook(path)["Inputs"].iter_rows(max_col=3)
                if row[0].value == label)  # fmt: skip
    name = f"xl/worksheets/sheet{book.sheetnames.index('Inputs') + 1}.xml"
    text, count = re.subn(rf'(<c r="{cell}"[^>]*><v>)[^<]*(</v>)', rf"\g<1>{value!r}\g<2>", part(path, name))
    assert count == 1
    return with_part(path, target, name, text)


def rows_of(shown: Values, run: Run) -> dict[str, list[Any]]:
    """Row label of the Growth sheet -> values by month, of the one winner."""
    months = int(run.growth[MONTH].max()) + 1
    letters = columns(months + 2)[2:]
    labels = {cell[1:]: value for (sheet, cell), value in shown.items() if sheet == "Growth" and cell[0] == "A"}
    found: dict[str, list[Any]] = {}
    for number, label in labels.items():
        line = [shown.get(("Growth", letter + number)) for letter in letters]
        found.setdefault(str(label), line)
    return found


def failing_checks(shown: Values, run: Run) -> list[str]:
    """Checks of the card count and the growth that fail."""
    book = Book(run, translator("en"), "en")
    own = {text for _, text, *_ in (*plan_checks.card_count(book), *plan_checks.months(book))}
    rows = {cell[1:]: str(value) for (sheet, cell), value in shown.items() if sheet == "Checks" and cell[0] == "A"}
    return [text for row, text in rows.items() if text in own and shown.get(("Checks", f"E{row}")) == "FAILS"]


def columns(count: int) -> list[str]:
    from openpyxl.utils import get_column_letter

    return [get_column_letter(index) for index in range(1, count + 1)]


def test_every_cell_of_both_sheets_agrees(books: Books) -> None:
    own = [cell for sheet, cell in formulas(books.written["base"]) if sheet in ("Sizing", "Growth")]
    assert len(own) > 400
    assert [each for each in differences(books.written["base"], books.recalculated["base"])
            if each.sheet in ("Sizing", "Growth", "Calculation", "Checks")] == []  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_flows_as_in_a_run_of_the_edited_scenario(
    books: Books, name: str, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, old, new = EDITS[name]
    edited = evaluated(monkeypatch, tmp_path, catalog, TEXT.replace(old, new))
    before, after = rows_of(values(books.written["base"]), books.run), rows_of(
        values(books.recalculated[name]), books.run
    )
    assert edited.winners().iloc[0]["candidate_id"] == books.run.winners().iloc[0]["candidate_id"]
    solved_alike = (
        edited.growth["month_availability_spare_units"].tolist()
        == books.run.growth["month_availability_spare_units"].tolist()
    )
    changed = 0
    for row in (*TIMELINE, *COMPARED):
        if row.source or not solved_alike:
            continue
        expected = edited.growth[row.column].tolist()
        assert after[row.label][: len(expected)] == pytest.approx(expected, rel=1e-9), row.column
        changed += after[row.label] != before[row.label]
    for row in (*RESULTS, *COMPARED_RESULTS):
        if solved_alike and row.column not in NEVER_WHEN_BLANK:
            assert after[row.label][0] == pytest.approx(edited.growth_results[row.column].iloc[0], rel=1e-9), row.label
    assert changed or not solved_alike or name == "repair"
    failing = failing_checks(values(books.recalculated[name]), books.run)
    if name == "repair":  # dearer repairs: the spares were solved for the old ones, and the check says so
        assert failing
    else:
        assert failing == []


def test_the_checks_know_the_plan(books: Books) -> None:
    book = Book(books.run, translator("en"), "en")
    texts = {text for _, text, *_ in (*plan_checks.card_count(book), *plan_checks.months(book))}
    shown = values(books.recalculated["base"])
    assert texts <= {value for (sheet, _), value in shown.items() if sheet == "Checks"}
    assert failing_checks(shown, books.run) == []


def test_words_of_the_sizing_sheet_follow(books: Books) -> None:
    for name, word in (("base", "reached"), ("repair", "MISSED")):
        shown = values(books.recalculated[name])
        row = next(cell[1:] for (sheet, cell), value in shown.items()
                   if sheet == "Sizing" and value == "Availability target")  # fmt: skip
        assert shown["Sizing", f"C{row}"] == word
