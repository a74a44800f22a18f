"""What is printed in the PDF is what stands in the workbook: figures read out of both files, not out of the program."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.worksheet.worksheet import Worksheet

from reports import outputs
from reports.catalog.records import Catalog
from reports.pipeline import evaluate
from reports.render import pdf
from reports.render.book_status import read_status, status
from reports.render.i18n import translator
from reports.scenario.read import read_scenario

KIND = "capacity-proposal"
STEPS = {"en": 1e3, "zh": 1e4}
"""Amounts are printed in thousands, in Chinese in 万."""

OPTION = re.compile(
    r"^\s*(?P<gpu>[A-Z0-9]+(?:-[A-Z0-9]+)*(?:-\d+GB)?)\s+(?P<cards>\d+)\s+(?P<rented>\d+)\s+(?P<bought>\d+)\s+\d+ × \S+"
    r"\s+(?P<tpot>[\d.,]+)\s+(?P<ttft>[\d.,]+)\s+(?P<rent>[\d.,]+)\s+(?P<median>[\d.,]+)\s+(?P<buy>[\d.,]+)\s+[\d.,]+"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, repository: Path, catalog: Catalog) -> Path:
    scenario = read_scenario(repository / "scenarios" / f"{KIND}.yaml", catalog).model_copy(update={"reports": (KIND,)})
    target = tmp_path_factory.mktemp("out") / "report"
    outputs.write_outputs(evaluate(scenario, catalog), target, lambda step: None, repository / "scenarios")
    return target


@pytest.fixture(scope="module")
def book(folder: Path) -> Any:
    return load_workbook(folder / "workbook.xlsx", data_only=True)


def printed(folder: Path, language: str) -> str:
    path = folder / f"{KIND}.{language}.pdf"
    return subprocess.run(["pdftotext", "-layout", path, "-"], check=True, capture_output=True, text=True).stdout


def says(text: str, value: float) -> bool:
    """Whether a printed number is this value, rounded to the places it is printed with."""
    plain = text.replace(",", "")
    places = len(plain.partition(".")[2])
    return abs(float(plain) - value) <= 0.5 * 10.0**-places * (1 + 1e-9)


def rows(sheet: Worksheet, first: str) -> list[dict[str, Any]]:
    """The table under the row whose first cell is this, up to the first blank row."""
    lines = [[cell for cell in line if cell is not None] for line in sheet.iter_rows(values_only=True)]
    start = next(index for index, line in enumerate(lines) if line[:1] == [first])
    found = []
    for line in lines[start + 1 :]:
        if len(line) < len(lines[start]) - 1:
            break
        found.append(dict(zip(lines[start], line, strict=False)))
    return found


def test_the_reader_of_printed_numbers_finds_another_number() -> None:
    assert says("42.1", 42.109)
    assert says("1,120", 1119.7)
    assert not says("42.1", 42.16)
    assert not says("42.11", 42.1)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_options_have_the_cards_latencies_and_amounts_of_the_workbook(folder: Path, book: Any, language: str) -> None:
    ranked = rows(book["Recommendation"], "Model")
    shown = [match for line in printed(folder, language).splitlines() if (match := OPTION.match(line))]
    assert len(shown) == 10
    for match, row in zip(shown, ranked, strict=False):
        assert match["gpu"] == row["Card"]
        assert float(match["cards"]) == row["Cards for the demand"]
        assert says(match["rent"], row["Renting per month, USD"] / STEPS[language])
        assert says(match["buy"], row["Owning per month, USD"] / STEPS[language])
        assert says(match["tpot"], row["TPOT, ms"])
        assert says(match["ttft"], row["TTFT (mean), ms"])
        paid = match["bought"] if row["Rent or buy"] == "buy" else match["rented"]
        assert float(paid) == row["Cards paid for"]


def test_page_one_says_what_the_summary_sheet_says(folder: Path, book: Any) -> None:
    text = printed(folder, "en").replace("\u00a0", " ")
    (row,) = rows(book["Summary"], "Model")
    found = re.search(r"^(\d+) \(.*?needed\)\s+([\d.]+) k USD\s+month (\d+)\s+([\d.]+) of 40 ms", text, re.MULTILINE)
    assert found
    assert float(found[1]) == row["Cards"]
    assert says(found[2], row["Cost per month, USD"] / 1e3)
    assert float(found[3]) == row["Break-even month"]
    assert says(found[4], row["TPOT, ms"])


def test_the_bill_and_the_cash_plan_have_the_amounts_of_the_workbook(folder: Path, book: Any) -> None:
    text = printed(folder, "en").replace("\u00a0", " ")
    sheet = book["Purchase"]
    lines = [[cell for cell in line if cell is not None] for line in sheet.iter_rows(values_only=True)]
    paid = next(line for line in lines if line and line[0] == "Paid for the purchase")[1]
    shown = re.search(r"Paid for the purchase\s+([\d.,]+)", text)
    assert shown
    assert says(shown[1], paid / 1e3)
    deposit = next(line for line in lines if line and line[0] == "Deposit")
    shown = re.search(r"Deposit\s+([\d.,]+)", text)
    assert shown
    assert says(shown[1], deposit[1] / 1e3)
    total = next(line for line in lines if line and line[0] == "Total")
    shown = re.search(r"^Total\s+([\d.,]+)\s+([\d.,]+)$", text, re.MULTILINE)
    assert shown
    assert says(shown[1], total[2] / 1e3)
    assert says(shown[2], total[3] / 1e3)
    assert total[1] == pytest.approx(paid)


def test_document_control_says_whether_the_checks_of_the_workbook_hold(folder: Path, book: Any) -> None:
    words = next(row[1] for row in book["Checks"].iter_rows(max_col=2, values_only=True) if row[0] == "In words")
    assert re.fullmatch(r"All \d+ checks hold", words)
    assert f"Checks of the workbook {words}" in re.sub(r"\s+", " ", printed(folder, "en"))
    assert read_status(folder / "workbook.xlsx") == (0, int(words.split()[1]))


def test_a_failing_check_reaches_the_document(tmp_path: Path) -> None:
    made = Workbook()
    made.properties.contentStatus = status(2, 7)
    made.save(tmp_path / "workbook.xlsx")
    found = read_status(tmp_path / "workbook.xlsx")
    assert found == (2, 7)
    assert pdf._checks(found, translator("en")) == "2 of 7 checks FAIL: see Checks"
    assert read_status(tmp_path / "none.xlsx") is None
