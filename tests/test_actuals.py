"""What happened beside what was forecast: tables read with every problem's cell, and errors worked by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from openpyxl import Workbook

from reports.cli import run_command
from reports.errors import InputError
from reports.history.actuals import beside_forecasts, read_actuals

HEAD = "month,scenario,service,peak_concurrency,requests_per_s,cards,amount,currency\n"


def table(folder: Path, text: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A run of one month: chat rents 8 cards for 80,000 a month, old bought 16 and pays 5,000 a month to run them."""
    folder = tmp_path / "out" / "2026-11" / "s"
    folder.mkdir(parents=True)
    common = {"model": "m", "quantization": "fp8", "gpu": "g", "interconnect": "nvlink", "monthly_cost_amount": 99.0,
              "cards_needed": 8.0, "rented_cards": 8.0, "bought_cards": 16.0}  # fmt: skip
    rows = [
        common | {"service": "chat", "candidate_id": "c1", "option_id": "o1", "way": "rent",
                  "demand_concurrency": 200.0, "demand_requests_per_s": 0.0},
        common | {"service": "old", "candidate_id": "c2", "option_id": "o2", "way": "buy", "demand_concurrency": 50.0,
                  "demand_requests_per_s": 4.0},
    ]  # fmt: skip
    summary = {"scenario": "s", "period": "2026-11", "as_of": "2026-11-30", "currency": "CNY", "recommendation": rows}
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "cost_lines.csv").write_text(
        "candidate_id,option,view,month,amount\n"
        "c1,rent,cash,1,-80000\nc1,rent,cash,2,-79000\nc1,buy,cash,1,-7\n"
        "c2,buy,cash,0,-900000\nc2,buy,cash,1,-3000\nc2,buy,cash,1,-2000\nc2,buy,pnl,1,-50000\n"
    )
    return tmp_path / "out"


def test_errors_are_actual_over_forecast_less_one(out: Path, tmp_path: Path) -> None:
    path = table(tmp_path, HEAD + "2026-11,s,chat,250,3,10,84000,CNY\n2026-11,s,old,,5,16,,\n2026-11,s,,,,26,89250,\n"
                                  "2026-10,s,chat,1,,,,\n2026-11,other,chat,1,,,,\n")  # fmt: skip
    found = beside_forecasts(read_actuals(path), "s", out, str(path))
    rows = {(row["service"], row["measure"]): row for row in found.to_dict("records")}
    assert rows["chat", "peak_concurrency"]["error_share"] == pytest.approx(0.25)  # 250 of 200
    assert math.isnan(rows["chat", "requests_per_s"]["error_share"])  # none was forecast
    assert rows["chat", "cards"]["error_share"] == pytest.approx(0.25)  # 10 of 8
    assert rows["chat", "amount"]["error_share"] == pytest.approx(0.05)  # 84,000 of the first month's 80,000
    assert rows["old", "requests_per_s"]["error_share"] == pytest.approx(0.25)  # 5 of 4
    assert rows["old", "cards"]["error_share"] == 0
    assert rows["", "amount"]["forecast"] == 85_000  # rent, and running cost without the purchase
    assert rows["", "amount"]["error_share"] == pytest.approx(0.05)
    assert len(found) == 8


def test_a_workbook_says_the_same_as_a_csv_file_in_chinese_too(out: Path, tmp_path: Path) -> None:
    book = Workbook()
    page = book.active
    assert page is not None
    page.append(["月份", "场景", "服务", "峰值并发", "卡数", "金额", "币种"])
    page.append(["2026-11", "s", "chat", 250, 10, 84000.0, "CNY"])
    book.save(tmp_path / "a.xlsx")
    csv_file = table(tmp_path, HEAD + "2026-11,s,chat,250,,10,84000,CNY\n")
    both = [beside_forecasts(read_actuals(each), "s", out, "f").to_dict("records")
            for each in (tmp_path / "a.xlsx", csv_file)]  # fmt: skip
    assert both[0] == both[1]


def test_every_problem_is_said_with_its_line(tmp_path: Path) -> None:
    rows = "2026-13,s,chat,1,,,,\n2026-11,s,chat,-3,,x,,\n2026-11,s,chat,,,,,\n2026-12,s,a,1e3\n"
    path = table(tmp_path, HEAD + rows)
    with pytest.raises(InputError) as error:
        read_actuals(path)
    assert [(each.line, each.where, each.message) for each in error.value.problems] == [
        (2, "month", "is no month"), (3, "peak_concurrency", "is no amount"), (3, "cards", "is no amount"),
        (4, "", "measures nothing"), (4, "", "was given before"),
    ]  # fmt: skip


def test_a_bad_cell_of_a_workbook_is_named_by_sheet_and_address(tmp_path: Path) -> None:
    book = Workbook()
    page = book.active
    assert page is not None
    page.title = "Ist"
    page.append(["month", "service", "cards"])
    page.append(["2026-11", "chat", "many"])
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(InputError) as error:
        read_actuals(tmp_path / "a.xlsx")
    assert [each.where for each in error.value.problems] == ["Ist!C2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "has no column for the month"), (HEAD, "has no rows"), ("month,cost\n2026-11,3\n", "unknown column"),
     ("month,service\n2026-11,a\n", "measures nothing"), ("month,cards,cards\n2026-11,1,2\n", "two columns"),
     ("month,cards\n2026-11,1,2\n", "more cells than heads"), ('month,cards\n"2026-11,1\n', "cannot be read")],
)  # fmt: skip
def test_tables_that_cannot_be_used(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        read_actuals(table(tmp_path, text))


@pytest.mark.parametrize("name", ["a.xlsx", "a.csv", "a.txt", "none.csv"])
def test_files_that_are_no_tables(name: str, tmp_path: Path) -> None:
    if name != "none.csv":
        (tmp_path / name).write_bytes(b"\xff\xfe\x00no table")
    with pytest.raises(InputError):
        read_actuals(tmp_path / name)


def test_unknown_services_and_other_currencies_are_problems(out: Path, tmp_path: Path) -> None:
    path = table(tmp_path, HEAD + "2026-11,s,chta,1,,,,\n2026-11,s,old,,,,5,USD\n")
    with pytest.raises(InputError) as error:
        beside_forecasts(read_actuals(path), "s", out, str(path))
    assert [(each.line, each.message) for each in error.value.problems] == [
        (2, "the run of 2026-11 has no such service"), (3, "is in another currency than the run")]  # fmt: skip


def test_the_command_prints_records(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path, "month,service,cards\n2026-11,chat,12\n")
    assert run_command(["actuals", str(path), "--out", str(out), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["actuals"]
    assert (row["scenario"], row["error_share"]) == ("s", 0.5)
    assert run_command(["actuals", str(path), "--out", str(tmp_path / "none")]) == 2
