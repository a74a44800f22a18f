"""What happened, month by month: measured load, cards in use and invoices from a table, set beside the forecasts."""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from reports.errors import InputError, Problem
from reports.history.past import SUMMARY, Past, read_past
from reports.scenario.demand import MONTH
from reports.strict_yaml import did_you_mean

HEADERS: dict[str, tuple[str, ...]] = {
    "month": ("month", "period", "月份"),
    "scenario": ("scenario", "场景"),
    "service": ("service", "model", "服务", "模型"),
    "peak_concurrency": ("peak_concurrency", "峰值并发"),
    "requests_per_s": ("requests_per_s", "每秒请求数"),
    "cards": ("cards", "cards_in_use", "卡数"),
    "amount": ("amount", "invoice", "金额", "账单金额"),
    "currency": ("currency", "币种"),
}
"""Column -> the heads it may have; case and spaces make no difference."""

MEASURES: dict[str, str] = {
    "peak_concurrency": "requests", "requests_per_s": "requests/s", "cards": "cards", "amount": "currency",
}  # fmt: skip
"""What may have been measured -> its unit."""

COLUMNS = ("month", "service", "measure", "forecast", "actual", "error_share")
ALL = ""
"""Service of a row about the whole scenario."""

MOST_BYTES, MOST_ROWS = 50 * 2**20, 100_000
COST_LINES = "cost_lines.csv"


@dataclass(frozen=True)
class _Cell:
    """One cell with where it stands: the line of a CSV file, or sheet and address."""

    text: str
    line: int | None
    where: str


def read_actuals(path: str | Path) -> pd.DataFrame:
    """The rows of a CSV or XLSX file: month, scenario, service, currency as text (blank where not stated), measures.

    InputError lists everything that cannot be used, with line, or sheet and cell.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(Problem(str(path), "no such file", expected="a CSV or XLSX file"))
    if path.suffix.lower() not in (".csv", ".xlsx"):
        raise InputError(Problem(str(path), "is no table", read=path.suffix, expected="a .csv or .xlsx file"))
    try:
        table = list(_xlsx(path) if path.suffix.lower() == ".xlsx" else _csv(path))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, csv.Error) as error:
        expected = "a table with a row of heads"
        raise InputError(Problem(str(path), f"cannot be read: {error}", expected=expected)) from None
    problems: list[Problem] = []
    columns = _columns(path, table[0] if table else [], problems)
    rows = [_row(path, columns, cells, problems) for cells in table[1:]] if not problems else []
    if not problems and not rows:
        problems.append(Problem(str(path), "has no rows", expected="a row of heads, then one row a month and service"))
    seen: dict[tuple[str, ...], int | str] = {}
    for row in rows:
        key = (row["month"], row["scenario"], row["service"])
        if key in seen:
            problems.append(Problem(str(path), "was given before", row["line"], where=row["where"],
                                    read=" ".join(filter(None, key)), hint="one row a month and service"))  # fmt: skip
        seen[key] = 1
    if problems:
        raise InputError(problems)
    return pd.DataFrame(rows)


def _csv(path: Path) -> Iterator[list[_Cell]]:
    if path.stat().st_size > MOST_BYTES:
        raise ValueError("it is too large")
    text = path.read_bytes().decode("utf-8-sig")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield [_Cell(cell.strip(), reader.line_num, "") for cell in cells]


def _xlsx(path: Path) -> Iterator[list[_Cell]]:
    from openpyxl import load_workbook

    with zipfile.ZipFile(path) as package:
        if sum(entry.file_size for entry in package.infolist()) > 4 * MOST_BYTES:
            raise ValueError("it is too large")
    book = load_workbook(path, read_only=True, data_only=True)
    page = book.worksheets[0]
    for number, row in enumerate(page.iter_rows(max_row=MOST_ROWS), 1):
        cells = [_Cell(_shown(cell.value), None, f"{page.title}!{_address(index, number)}")
                 for index, cell in enumerate(row)]  # fmt: skip
        if any(cell.text for cell in cells):
            yield cells
    book.close()


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if hasattr(value, "strftime"):  # a date cell stands for its month
        return str(value.strftime("%Y-%m"))
    return f"{value:.15g}" if isinstance(value, float) else str(value).strip()


def _address(column: int, row: int) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column + 1)}{row}"


def _columns(path: Path, heads: list[_Cell], problems: list[Problem]) -> list[str]:
    known = {name: column for column, names in HEADERS.items() for name in names}
    found = []
    for cell in heads:
        name = re.sub(r"[\s_-]+", "_", cell.text.casefold())
        column = known.get(name, "")
        if not column and cell.text:
            problems.append(Problem(str(path), "unknown column", cell.line, where=cell.where, read=f'"{cell.text}"',
                                    expected=", ".join(HEADERS), hint=did_you_mean(name, known)))  # fmt: skip
        if column and column in found:
            problems.append(Problem(str(path), "two columns say the same", cell.line, where=cell.where, read=column))
        found.append(column)
    if "month" not in found and not problems:
        problems.append(Problem(str(path), "has no column for the month", expected=", ".join(HEADERS)))
    if not set(found) & set(MEASURES) and not problems:
        problems.append(Problem(str(path), "measures nothing", expected=f"a column such as {', '.join(MEASURES)}"))
    return found


def _row(path: Path, columns: list[str], cells: list[_Cell], problems: list[Problem]) -> dict[str, Any]:
    row: dict[str, Any] = {**dict.fromkeys(HEADERS, ""), **dict.fromkeys(MEASURES, math.nan)}
    row |= {"line": cells[0].line, "where": cells[0].where}
    before = len(problems)

    def problem(cell: _Cell, message: str, name: str, expected: str) -> None:
        where = cell.where or name
        problems.append(Problem(str(path), message, cell.line, where=where, read=f'"{cell.text}"', expected=expected))

    if len(cells) > len(columns):
        problem(cells[len(columns)], "has more cells than heads", "", f"{len(columns)} cells")
    for name, cell in zip(columns, cells, strict=False):
        if not name:
            continue
        if name not in MEASURES:
            row[name] = cell.text
        elif cell.text:
            row[name] = _number(cell.text)
            if not row[name] >= 0:
                problem(cell, "is no amount", name, "a number of 0 or more, without thousands separators")
        if name == "month" and not MONTH.fullmatch(cell.text):
            problem(cell, "is no month", name, "a month such as 2026-11")
    if all(math.isnan(row[name]) for name in MEASURES) and len(problems) == before:
        problem(cells[0], "measures nothing", "", f"at least one of {', '.join(MEASURES)}")
    return row


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def beside_forecasts(rows: pd.DataFrame, scenario: str, out: Path, file: str) -> pd.DataFrame:
    """``COLUMNS``: what the run of each month forecast and what happened, for one scenario; months without a run are
    left out. InputError for services that the run does not have, and for another currency."""
    own = rows[(rows["scenario"] == scenario) | (rows["scenario"] == "")]
    found: list[dict[str, object]] = []
    problems: list[Problem] = []
    for month, part in own.groupby("month", sort=True):
        folder = out / str(month) / scenario
        if not (folder / SUMMARY).is_file():
            continue
        past = read_past(folder)
        forecasts = _forecasts(past, folder)
        for row in part.to_dict("records"):
            place = {"line": row["line"], "where": str(row["where"])}
            if row["service"] not in forecasts:
                problems.append(Problem(file, f"the run of {month} has no such service", read=f'"{row["service"]}"',
                                        expected=", ".join(filter(None, forecasts)),
                                        hint=did_you_mean(str(row["service"]), list(forecasts)), **place))  # fmt: skip
            elif row["currency"] not in ("", past.currency) and not math.isnan(row["amount"]):
                problems.append(Problem(file, "is in another currency than the run", read=str(row["currency"]),
                                        expected=past.currency, **place))  # fmt: skip
            else:
                found += _compared(str(month), {str(key): value for key, value in row.items()},
                                   forecasts[row["service"]])  # fmt: skip
    if problems:
        raise InputError(problems)
    return pd.DataFrame(found, columns=list(COLUMNS))


def _compared(month: str, row: dict[str, Any], forecast: dict[str, float]) -> Iterable[dict[str, object]]:
    for measure in MEASURES:
        actual, expected = row[measure], forecast.get(measure, math.nan)
        if not math.isnan(actual):
            error = actual / expected - 1 if expected > 0 else math.nan
            yield dict(zip(COLUMNS, (month, row["service"], measure, expected, actual, error), strict=True))


def _forecasts(past: Past, folder: Path) -> dict[str, dict[str, float]]:
    """Service -> measure -> forecast; the whole scenario under ``ALL``, where cards and money add up.

    Money is what falls due in a month: rent, or the running cost of what was bought; the purchase itself is not.
    """
    due: dict[str, float] = {}
    if (folder / COST_LINES).is_file():
        table = pd.read_csv(folder / COST_LINES, usecols=["candidate_id", "option", "view", "month", "amount"])
        first = table[(table["month"] == 1) & (table["view"] == "cash")]
        for name, choice in past.choices.items():
            kept = first[(first["candidate_id"] == choice.candidate_id) & (first["option"] == choice.way)]
            due[name] = -float(kept["amount"].sum()) if len(kept) else math.nan
    demands = past.demands
    found = {
        name: {
            "peak_concurrency": demands.get(name, (math.nan, math.nan))[0],
            "requests_per_s": demands.get(name, (math.nan, math.nan))[1],
            "cards": choice.cards, "amount": due.get(name, math.nan),
        }
        for name, choice in past.choices.items()
    }  # fmt: skip
    found[ALL] = {measure: sum(each[measure] for each in found.values()) for measure in ("cards", "amount")}
    return found
