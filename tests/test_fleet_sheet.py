"""The Fleet sheet is live: LibreOffice agrees with it, and an edit that breaks the plan turns its check red."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from openpyxl import load_workbook
from recalculate import differences, recalculate, values
from scenario_text import GOOD, read
from test_fleet_plan import TEXT
from test_workbook_recalculation import input_cell, replace_value

from reports import pipeline
from reports.catalog.records import Catalog
from reports.render import pdf, workbook
from reports.render.sheet import Book
from reports.render.sheets import fleet
from reports.run import Run


@dataclass(frozen=True)
class Books:
    """The workbook as written, and recalculated copies of it and of its edits."""

    written: Path
    recalculated: dict[str, Path]


@pytest.fixture(scope="module")
def run(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return pipeline.evaluate(read(tmp_path_factory.mktemp("fleet"), catalog, TEXT), catalog)


def cell_of(path: Path, sheet: str, label: str, head: str) -> str:
    """The cell in the row of a label and under a heading that stands above it."""
    column = None
    for row in load_workbook(path)[sheet].iter_rows():
        for cell in row:
            if cell.value == head:
                column = cell.column_letter
        if row[0].value == label and column is not None:
            return f"{column}{row[0].row}"
    raise AssertionError(f"no {label} under {head}")


@pytest.fixture(scope="module")
def books(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Books:
    if shutil.which("soffice") is None:
        pytest.skip("LibreOffice recalculates the workbook")
    folder = tmp_path_factory.mktemp("books")
    written = folder / "plain.xlsx"
    workbook.write(run, written)
    kept = run.fleet_pools[(run.fleet_pools["plan"] == "plan") & (run.fleet_pools["source"] == "keep")]
    entry = kept.loc[kept["used_cards"] > 0, "source_id"].iloc[0]
    edits = {
        "demand": ("Inputs", input_cell(written, "Demand, requests at once", "chat"), 5000.0),
        "machines": ("Fleet", cell_of(written, "Fleet", entry, "There are"), 0.0),
        "power": ("Fleet", cell_of(written, "Fleet", "Power, cooling included, kW", "There is"), 0.5),
    }
    paths = {"plain": written}
    for name, edit in edits.items():
        paths[name] = replace_value(written, folder / f"{name}.xlsx", *edit)
    done = recalculate(list(paths.values()), folder / "recalculated")
    return Books(written, dict(zip(paths, done, strict=True)))


def failures(path: Path) -> list[str]:
    """What fails on the Fleet sheet: the name its row starts with."""
    return [str(row[0].value) for row in load_workbook(path, data_only=True)["Fleet"].iter_rows()
            if any(cell.value == "FAILS" for cell in row)]  # fmt: skip


def test_the_sheet_is_what_recalculation_gives(books: Books) -> None:
    assert [each for each in differences(books.written, books.recalculated["plain"]) if each.sheet == "Fleet"] == []
    assert failures(books.recalculated["plain"]) == []


def test_more_demand_than_the_plan_carries_fails(books: Books) -> None:
    assert failures(books.recalculated["demand"]) == ["chat (Qwen2.5-7B-Instruct)"]
    assert "CHECKS FAIL" in values(books.recalculated["demand"]).values()


def test_machines_that_are_not_there_fail(books: Books) -> None:
    (failed,) = failures(books.recalculated["machines"])
    assert failed.startswith(("owned.", "leased."))


def test_a_smaller_room_fails(books: Books) -> None:
    assert failures(books.recalculated["power"]) == ["Power, cooling included, kW"]


def test_every_check_of_the_sheet_stands_among_the_checks(run: Run) -> None:
    from reports.render.i18n import translator

    book = Book(run, translator("en"), "en")
    assert len(list(fleet.checks(book))) == len(fleet._results(book))


def test_solved_cells_look_solved(books: Books) -> None:
    """Units are grey and locked, present machines are yellow and may be edited."""
    sheet = load_workbook(books.written)["Fleet"]
    units = sheet[cell_of(books.written, "Fleet", "chat (Qwen2.5-7B-Instruct)", "Units")]
    assert units.fill.start_color.rgb.endswith("EDEDED")
    assert units.protection.locked


def test_the_section_is_left_out_without_a_plan(run: Run, catalog: Catalog, tmp_path: Path) -> None:
    from reports.render.i18n import translator
    from reports.render.view import context

    templates = [each for each in pdf.section_templates("monthly-procurement") if each[0] == "fleet"]
    assert templates
    shown = context(run, "en", translator("en"), templates)
    assert "fleet" in [section["id"] for section in shown["sections"]]
    assert shown["summary"]["headline"].endswith("are served.")
    small = GOOD.replace("[qwen2.5-7b-instruct, deepseek-r1]", "[qwen2.5-7b-instruct]")
    plain = pipeline.evaluate(read(tmp_path, catalog, small), catalog)
    without = context(plain, "en", translator("en"), templates)
    assert "fleet" not in [section["id"] for section in without["sections"]]
    book = Book(plain, translator("en"), "en")
    assert fleet.declare(book) is None
    assert list(fleet.checks(book)) == []
