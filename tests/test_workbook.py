"""The finished workbook: every sheet, values beside formulas, nothing that Excel would repair, the same bytes twice."""

from __future__ import annotations

import dataclasses
import re
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from openpyxl import Workbook, load_workbook

from reports.catalog.records import Catalog
from reports.errors import RenderError
from reports.pipeline import evaluate
from reports.render import workbook
from reports.render.excel_style import LOOKS
from reports.render.excel_writer import (
    CUT_MARK,
    MOST_CHARACTERS,
    ErrorValue,
    Formula,
    Rows,
    cell_xml,
    clean_text,
    plain,
    save,
)
from reports.render.formats import AMOUNT, COUNT, FLAG, LIMIT, PERCENT, PRICE, QUANTITY, excel_code, kind_of, shown
from reports.render.i18n import catalogue, translator
from reports.render.lint import formula_problems, problems
from reports.render.sheets import matrix
from reports.render.workbook import display_width
from reports.run import Run
from reports.scenario.read import read_scenario

SHEETS = [
    "About", "Summary", "Recommendation", "Per unit", "Matrix", "Demand", "Sizing", "Calculation", "Latency",
    "Cost by month", "Purchase", "Hybrid", "Growth", "Sensitivity", "Inputs", "Evidence", "Checks", "Sources",
    "Version log",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(catalog: Catalog, repository: Path) -> Run:
    return evaluate(read_scenario(repository / "scenarios" / "capacity-proposal.yaml", catalog), catalog)


@pytest.fixture(scope="module")
def path(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("workbook") / "workbook.xlsx"
    workbook.write(run, target)
    return target


# ---- one cell ----


def test_formula_cells_carry_their_value() -> None:
    assert cell_xml("A1", Formula("B1*2", 3.5), 0) == '<c r="A1"><f>B1*2</f><v>3.5</v></c>'
    text = cell_xml("A1", Formula('"a"&B1', "a & b"), 4)
    assert text == '<c r="A1" s="4" t="str"><f>"a"&amp;B1</f><v>a &amp; b</v></c>'
    assert cell_xml("A1", Formula("B1>1", np.bool_(True)), 0) == '<c r="A1" t="b"><f>B1&gt;1</f><v>1</v></c>'
    assert cell_xml("A1", Formula("NA()", ErrorValue("#N/A")), 0) == '<c r="A1" t="e"><f>NA()</f><v>#N/A</v></c>'
    assert cell_xml("A1", Formula("B1", date(2026, 11, 30)), 0).endswith("<v>46356</v></c>")  # day 1 is 1 January 1900


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -np.inf, pd.NaT, pd.NA, np.float64("nan")])
def test_missing_numbers_are_text_and_never_a_formula(value: Any) -> None:
    for content in (value, Formula("MIN(B1,1)", value)):
        text = cell_xml("A1", content, 0)
        assert 't="inlineStr"' in text
        assert "n/a" in text
        assert "<f>" not in text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("http://x")', "#N/A", "1e5", "TRUE"])
def test_text_stays_text(text: str, tmp_path: Path) -> None:
    assert 't="inlineStr"' in cell_xml("A1", text, 0)


def test_control_characters_go_and_long_text_is_cut_visibly() -> None:
    assert clean_text("a\x00b\x0bc\ud800d\ufffee\tf\n") == "abcde\tf\n"
    cut = clean_text("x" * 40_000)
    assert len(cut) == MOST_CHARACTERS
    assert cut.endswith(CUT_MARK)
    assert len(clean_text("𠀀" * 20_000).encode("utf-16-le")) // 2 <= MOST_CHARACTERS
    assert "_x005F_x0041_" in cell_xml("A1", "_x0041_", 0)


def test_huge_integers_are_text_and_time_zones_are_refused() -> None:
    assert plain(2**53) == 2**53
    assert plain(2**53 + 1) == "9007199254740993"
    assert plain(np.int64(7)) == 7
    with pytest.raises(RenderError, match="time zone"):
        plain(datetime(2026, 11, 30, tzinfo=UTC))
    with pytest.raises(RenderError, match="list"):
        plain([1])


@pytest.mark.parametrize(
    ("unit", "column", "kind"),
    [
        ("ratio", "headroom_share", PERCENT),
        ("cards", "demand_cards", COUNT),
        ("currency", "capex_amount", AMOUNT),
        ("currency/card-h", "rent_price_per_card_hour", PRICE),
        ("ms", "tpot_ms@limit", QUANTITY),
        ("ms", "answer_target_ms", LIMIT),
        ("flag", "rocm", FLAG),
    ],
)
def test_kind_follows_the_unit(unit: str, column: str, kind: Any) -> None:
    assert kind_of(unit, column) is kind
    assert excel_code(unit, column) == kind.excel


def test_a_limit_that_is_none_fits_its_column() -> None:
    """1e12 ms as a number with thousands takes 20 characters, in columns of 16."""
    assert shown(1e12, LIMIT) == "1.0E+12"
    assert shown(45_000, LIMIT) == "45,000.00"


def test_shown_text_rounds_like_a_spreadsheet() -> None:
    """By hand: halves away from zero, parentheses for negative money, more digits below 1."""
    assert [shown(2.5, COUNT), shown(-1234.5, AMOUNT), shown(0.125, PRICE)] == ["3", "(1,235)", "0.13"]
    assert [shown(0.04567, QUANTITY), shown(45.678, QUANTITY), shown(0.5, PERCENT)] == ["0.0457", "45.68", "50.0%"]


def test_chinese_characters_count_double() -> None:
    assert display_width("GPU 采购") == 8


# ---- the whole file ----


def test_sheets_and_opening(path: Path) -> None:
    book = load_workbook(path)
    assert book.sheetnames == SHEETS
    assert book.active is not None
    assert book.active.title == "Summary"
    assert all(sheet.sheet_state == "visible" for sheet in book.worksheets)
    for sheet in book.worksheets:
        assert sheet.page_setup.orientation == "landscape"
        assert sheet.page_setup.fitToWidth >= 1
        assert "&P" in str(sheet.oddFooter.right.text)


def test_lint_passes(path: Path) -> None:
    assert problems(path) == []


def test_a_matrix_that_is_too_long_goes_on_on_further_sheets(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = len(run.candidates)
    monkeypatch.setattr(matrix, "MOST_TABLE_ROWS", count // 2)
    path = tmp_path / "long.xlsx"
    workbook.write(run, path)
    assert problems(path) == []
    book = load_workbook(path)
    parts = [name for name in book.sheetnames if name.startswith("Matrix")]
    assert parts == ["Matrix", "Matrix 2"] + (["Matrix 3"] if count % 2 else [])
    rows = [row[0] for name in parts for row in book[name].iter_rows(max_col=1, values_only=True)]
    assert [row for row in rows if row in set(run.candidates["candidate_id"])] == run.candidates[
        "candidate_id"
    ].tolist()
    index = next(cell for row in book["Matrix 2"].iter_rows(max_row=12, max_col=1) for cell in row
                 if cell.value == f"Candidates {count // 2 + 1} to {count // 2 * 2}")  # fmt: skip
    assert index.hyperlink.location == "'Matrix 2'!A1"


def test_same_bytes_twice(run: Run, path: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.xlsx"
    workbook.write(run, again)
    assert again.read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as package:
        assert {entry.date_time for entry in package.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_pandas_reads_numbers(run: Run, path: Path) -> None:
    calculation = pd.read_excel(path, sheet_name="Calculation", header=None)
    row = calculation[calculation[0] == "Recommended concurrency"].iloc[0]
    best = run.shortlist.sort_values(["rank"]).iloc[0]["recommended_concurrency"]
    assert best in [value for value in row if isinstance(value, int | float)]
    matrix = pd.read_excel(path, sheet_name="Matrix", header=5)
    assert len(matrix) == len(run.candidates)
    assert matrix["Result"].notna().all()


def test_every_short_listed_figure_is_live(run: Run, path: Path) -> None:
    """All formula columns of the short list that are numbers stand on Calculation as formulas."""
    book = load_workbook(path)
    live = sum(cell.data_type == "f" for row in book["Calculation"].iter_rows() for cell in row)
    made = [block.column(each.__name__) for block in run.blocks for each in block.formulas]
    assert live >= int(np.isfinite(run.shortlist[made].to_numpy(dtype=float)).sum())


def test_inputs_are_marked_and_guarded(run: Run, path: Path) -> None:
    sheet = load_workbook(path)["Inputs"]
    inks = {cell.font.color.rgb[-6:] for row in sheet.iter_rows(min_col=3, max_col=3) for cell in row
            if isinstance(cell.value, int | float)}  # fmt: skip
    assert inks == {LOOKS["input"].colour}
    guarded = sheet.data_validations.dataValidation[0]
    assert len(list(guarded.sqref.ranges)) > 0
    assert guarded.type == "decimal"
    live = run.facts[run.facts["live"].astype(bool)].drop_duplicates(["scope", "key", "column"])
    filled = [row[2] for row in sheet.iter_rows() if row[2].fill.fgColor.rgb[-6:] == LOOKS["input"].fill]
    assert len(filled) == len(live)


def test_chinese_workbook(run: Run, tmp_path: Path) -> None:
    """Chinese labels and tabs, one word for a missing number, links that lead to the tabs there are."""
    chinese = dataclasses.replace(run, scenario=run.scenario.model_copy(update={"languages": ("zh",)}))
    target = tmp_path / "zh.xlsx"
    workbook.write(chinese, target)
    assert problems(target) == []
    book = load_workbook(target)
    translate = translator("zh")
    assert book.sheetnames == [translate(name) for name in SHEETS]
    assert all(re.fullmatch("[\u4e00-\u9fff]+", name) for name in book.sheetnames)
    assert str(run.scenario.title["zh"]) in str(book["摘要"]["A2"].value)
    cached = load_workbook(target, data_only=True)["摘要"]
    rows = [[cell.value for cell in row if cell.value is not None] for row in cached.iter_rows()]
    head = next(index for index, row in enumerate(rows) if "每月成本，万美元" in row)
    full = rows[head].index("每月成本，美元") if "每月成本，美元" in rows[head] else 7
    assert rows[head + 1][-1] == pytest.approx(rows[head + 1][full] / 10_000)
    texts = {str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None}
    assert "n/a" not in texts
    assert {"无", "关于", "美元"} & texts == {"无", "关于", "美元"}
    for sheet in book:
        for link in sheet._hyperlinks:  # type: ignore[attr-defined]
            assert str(link.location).partition("!")[0].strip("'") in book.sheetnames
    said = [text for text in catalogue("zh").values() if "”表" in text]
    assert said
    assert {name for text in said for name in re.findall("“([^”]+)”表", text)} <= set(book.sheetnames)


def test_nothing_that_stays_as_evaluated_claims_a_winner(path: Path) -> None:
    """The mark on Cost by month is a formula, chart titles name no winner, and static notes have a dated heading."""
    sheet = load_workbook(path)["Cost by month"]
    marks = [cell for row in sheet.iter_rows(max_col=1) for cell in row if "winner" in str(cell.value)]
    assert marks
    assert all(cell.data_type == "f" for cell in marks)
    with zipfile.ZipFile(path) as package:
        charts = [package.read(name).decode() for name in package.namelist() if name.startswith("xl/charts/chart")]
    assert charts
    assert not [chart for chart in charts if "cheaper" in chart or "winner" in chart]
    summary = [cell.value for cell in load_workbook(path)["Summary"]["A"]]
    assert "As evaluated on 30 November 2026" in summary


def test_a_broken_workbook_is_not_delivered(tmp_path: Path) -> None:
    book = Workbook()
    book.worksheets[0].title = "Sheet"
    rows = Rows([(1, None, [(1, Formula("NOW()", 1.0), 0)])], 1, 1)
    with pytest.raises(RenderError, match="NOW"):
        save(book, {"Sheet": rows}, tmp_path / "bad.xlsx", date(2026, 11, 30))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("formula", "problem"),
    [
        ("OFFSET(A1,1,1)", "OFFSET"),
        ("A1*5", "number 5"),
        ("A1*1.17", "1.17"),
        ("XLOOKUP(A1,B:B,C:C)", "XLOOKUP"),
        ("A1" + "+A1" * 3000, "characters"),
    ],
)
def test_lint_finds_what_reviewers_reject(formula: str, problem: str) -> None:
    assert any(problem in found for found in formula_problems(formula))


def test_lint_knows_cells_and_texts_from_numbers() -> None:
    assert not list(formula_problems("IF('Cost by month'!$D$37>Inputs!C5,\"7 of 9\",SUM($D10:$AN10)*1000/1073741824)"))


def test_lint_finds_repairs(tmp_path: Path) -> None:
    """A workbook with most of the faults that make Excel offer a repair."""
    from openpyxl.workbook.defined_name import DefinedName
    from openpyxl.worksheet.table import Table

    book = Workbook()
    page: Any = book.active
    page.title = "History"
    page.append(["a", "a", None])
    page.append([1, 2, 3])
    page.add_table(Table(displayName="R1C1", ref="A1:B2"))
    page["D1"] = "=1+1"
    book.defined_names["loose"] = DefinedName("loose", attr_text="History!A1")
    book.create_sheet("Inputs")
    book.defined_names["input"] = DefinedName("input", attr_text="Inputs!$C$5")
    hidden = book.create_sheet("Extra")
    hidden.sheet_state = "hidden"
    target = tmp_path / "faults.xlsx"
    book.save(target)
    found = "\n".join(problems(target))
    for fault in ("History", "R1C1", "repeated headers", "without its value", "loose is relative", "Extra is hidden"):
        assert fault in found, fault
    assert "loose is not for an input" in found
    assert "name input " not in found


def test_a_large_matrix_is_quick(tmp_path: Path) -> None:
    """4,200 rows of 40 columns: two seconds on a slow machine; the bound leaves room for a loaded one."""
    import time

    book = Workbook()
    book.worksheets[0].title = "Sheet"
    lines = ((row, None, [(column, row * column / 7, 0) for column in range(1, 41)]) for row in range(1, 4201))
    start = time.monotonic()
    save(book, {"Sheet": Rows(lines, 4200, 40)}, tmp_path / "large.xlsx", date(2026, 11, 30))
    assert time.monotonic() - start < 10
