"""A vendor's quote becomes rows of an own price book: what is read, what is refused with its cell, what is left out."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.cli import run_command
from reports.errors import InputError
from reports.paths import catalogs_folder
from reports.pricebook import cells, numbers
from reports.pricebook.match import Read, Rows
from reports.pricebook.overlay import PURCHASE, RENTAL, import_quote, write

HEAD = ["Item", "Qty", "Unit price", "Total"]
TERMS = [["Vendor:", "Harbour Systems"], ["Quote No", "Q-17"], ["Quote date", "2026-11-05"],
         ["Valid until", "2026-12-31"], ["Currency", "USD"], ["VAT", "excluded"]]  # fmt: skip
SERVER = ["HGX server, 8x H200 SXM", 2.0, 280000.0, 560000.0]


def sheet(folder: Path, rows: Sequence[Sequence[Any]], merge: str = "") -> Path:
    book = Workbook()
    page = book.active
    assert page is not None
    page.title = "Quote"
    for row in rows:
        page.append(list(row))
    if merge:
        page.merge_cells(merge)
    path = folder / "quote.xlsx"
    book.save(path)
    return path


def text(folder: Path, content: str, name: str = "list.csv") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def read(path: Path, catalog: Catalog, mapping: str = "", **more: str) -> Rows:
    mapped = text(path.parent, mapping, "mapping.yaml") if mapping else None
    return import_quote(path, mapped, catalog, **more)


def refused(path: Path, catalog: Catalog, mapping: str = "", **more: str) -> str:
    with pytest.raises(InputError) as caught:
        read(path, catalog, mapping, **more)
    return "\n".join(map(str, caught.value.problems)).replace(f"{path.parent}/", "")


def only(rows: Rows) -> Read:
    (line,) = rows.lines
    return line


# ---- what is read ----


def test_a_workbook_with_freight_support_and_a_discount(tmp_path: Path, catalog: Catalog) -> None:
    # by hand: 280,000 less 5 % is 266,000; freight 5,600 of 560,000 is 1 %; (560,000 + 5,600 + 40,000) x 0.95 = 575,320
    terms = [*TERMS, ["Project discount", "5 %"], ["Deposit", "30 %"], ["Payment terms", "60 days net"], []]
    rows = [*terms, HEAD, SERVER, ["Freight", 1.0, 5600.0, 5600.0], ["Support, 3 years", 2.0, 20000.0, 40000.0],
            ["Cable set", 4.0, 0.0, 0.0], ["Grand total", None, None, 575320.0]]  # fmt: skip
    found = read(sheet(tmp_path, rows), catalog)
    server, freight, support, cable = found.lines
    assert server.read_as == "server of 8 x h200-sxm-141gb"
    assert server.place == "Quote!A12"
    expected = {"price": "266000.00", "currency": "USD", "kind": "server", "cards": 8,
                "provider": "Harbour Systems", "price_kind": "quote", "vat": "excluded",
                "valid_until": "2026-12-31", "as_of": "2026-11-05"}  # fmt: skip
    assert {name: server.row[name] for name in expected} == expected
    assert "deposit 30 %; payment 60 days net" in str(server.row["note"])
    assert "delivery_share" in freight.left_out
    assert "maintenance_share_per_year" in support.left_out
    assert cable.left_out.startswith("unknown card")
    assert dict(found.shares) == pytest.approx({"delivery_share": 0.01})


def test_tax_is_taken_out_and_chinese_headers_are_known(tmp_path: Path, catalog: Catalog) -> None:
    # by hand: 1,130,000 with 13 % tax in it is 1,000,000 without
    content = ("报价单编号,\n供应商：港湾科技,\n报价日期：2026年11月5日,\n有效期：30天,\n币种：人民币,\n税率：13%,\n"
               "产品名称,数量（台）,含税单价（元）,合计（元）\n"
               '8卡 H20 服务器,3,"1,130,000","3,390,000"\n运费,1,"10,000","10,000"\n总计,,,"3,400,000"\n')  # fmt: skip
    server = read(text(tmp_path, content), catalog).lines[0]
    assert server.read_as == "server of 8 x h20-96gb"
    expected = {"price": "1000000.00", "currency": "CNY", "vat": "excluded", "valid_until": "2026-12-05"}
    assert {name: server.row[name] for name in expected} == expected


def test_foreign_headers_through_a_mapping_file(tmp_path: Path, catalog: Catalog) -> None:
    content = "型式;個数;金額\nAI箱A;2;30\n棚;1;5\n"
    mapping = ("columns: {item: 型式, quantity: 個数, unit_price: 金額}\nitems: {AI箱A: H200, 棚: ignore}\n"
               "constants: {date: 2026-11-05, currency: USD, cards: 8}\n")  # fmt: skip
    server, rack = read(text(tmp_path, content), catalog, mapping).lines
    assert (server.read_as, server.row["price"]) == ("server of 8 x h200-sxm-141gb", "30.00")
    assert server.note == "found by the mapping file"
    assert rack.left_out == "the mapping file says so"
    misspelt = mapping.replace("AI箱A: H200", "AI箱A: H200 SMX")
    assert 'unknown card "H200 SMX"; did you mean' in refused(text(tmp_path, content), catalog, misspelt)
    absent = mapping.replace("item: 型式", "item: 型名")
    assert 'has no column with this header; read "型名"' in refused(text(tmp_path, content), catalog, absent)


def test_rents_become_a_price_of_a_card_and_hour(tmp_path: Path, catalog: Catalog) -> None:
    # by hand: 11,680 a month for 8 cards is 11,680 / 8 / 730 = 2 an hour
    content = ("Vendor,Item,Unit,Price,Currency,Term,Region\nQuay,8x H100 node,server-month,11680,USD,12 months,us\n"
               "Quay,H100,GPU-hour,2.50,USD,on demand,us\n")  # fmt: skip
    rows = read(text(tmp_path, "Quote date,2026-11-05\n" + content), catalog)
    assert [line.table for line in rows.lines] == [RENTAL, RENTAL]
    month, hour = (line.row for line in rows.lines)
    assert (month["price_per_card_hour"], month["term"], month["instance_cards"]) == ("2", "reserved-12m", 8)
    assert (hour["price_per_card_hour"], hour["quoted_unit"], hour["price_kind"]) == ("2.5", "card-hour", "list")


def test_a_pipe_table_in_markdown_has_its_card_in_the_mapping(tmp_path: Path, catalog: Catalog) -> None:
    content = ("# H200 prices\n\n| Provider | Price per GPU/hour |\n|---|---|\n| **Vale** | **$1.99/hr** |\n"
               "| **Moor** | **$2.19/hr** |\n")  # fmt: skip
    rows = read(text(tmp_path, content, "list.md"), catalog, "constants: {gpu: H200, date: 2026-11-05}\n")
    assert [(line.row["provider"], line.row["price_per_card_hour"]) for line in rows.lines] == [
        ("Vale", "1.99"), ("Moor", "2.19"),
    ]  # fmt: skip
    assert len({line.row["offer_id"] for line in rows.lines}) == 2


def test_a_price_list_in_gb18030_with_pipes(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "list.psv"
    path.write_bytes("名称|单价|币种|日期\nRTX 4090|1599.0|USD|\n报价日期|2026-05-01||\n".encode("gb18030"))
    assert only(read(path, catalog)).row["kind"] == "card"


def test_a_name_that_may_be_several_cards_is_left_out(tmp_path: Path, catalog: Catalog) -> None:
    content = "Quote date,2026-11-05\nItem,Qty,Unit price,Currency\nH100,1,25000,USD\nH10O server,1,25000,USD\n"
    good, unknown = read(text(tmp_path, content), catalog).lines
    assert good.row["gpu"] == "h100-sxm5-80gb"
    assert unknown.left_out.startswith('unknown card "H10O server"')


@pytest.mark.parametrize(
    ("item", "read_as"),
    [
        ("NVIDIA GeForce RTX 4090 - 24GB GDDR6X", "card of 1 x rtx-4090"),  # the 6X is a kind of memory
        ("Server, 2x Xeon 8480+, 32x 64GB, 8x NVIDIA H200", "server of 8 x h200-sxm-141gb"),
        ("DGX, H200 SXM x8, 2x 8480+", "server of 8 x h200-sxm-141gb"),
        ("HGX H100 8-GPU", "server of 8 x h100-sxm5-80gb"),
        ("2路 H20 服务器（8卡）", "server of 8 x h20-96gb"),
        ("DGX H200 with 2x CPU", "h200-sxm-141gb"),  # how many cards is not said: left out
    ],
)
def test_cards_are_counted_beside_their_name(tmp_path: Path, catalog: Catalog, item: str, read_as: str) -> None:
    good = "8x A100,1,1,USD"
    content = f'Quote date,2026-11-05\nItem,Qty,Unit price,Currency\n"{item}",1,25000,USD\n{good}\n'
    assert read(text(tmp_path, content), catalog).lines[0].read_as == read_as


# ---- what is refused, with its cell ----


def broken(rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    return [*TERMS, HEAD, *rows]


@pytest.mark.parametrize(
    ("rows", "merge", "said"),
    [
        (broken([["8x H200", None, 280000.0, 280000.0]]), "", "quote.xlsx: Quote!B8: has no quantity"),
        (broken([["8x H200", 2.0, 280000.0, 500000.0]]), "", 'Quote!D8: does not add up; read "500000.0"'),
        (broken([SERVER, ["Total", None, None, 1.0]]), "", "Quote!D9: does not add up"),
        (broken([["8x H200", 2.0, "=1+1", 560000.0]]), "", "Quote!C8: is a formula"),
        (broken([["8x H200", "two", 280000.0, 560000.0]]), "", "Quote!B8: is text, not a number"),
        (broken([["8x H200", 2.0, -5.0, None]]), "", "Quote!C8: is negative"),
        (broken([SERVER, SERVER]), "", "Quote!A9: is there twice"),
        (broken([SERVER]), "C7:D7", "Quote!C7: header cells are merged"),
        (broken([SERVER, ["8x H100", 2.0, 2.0, 4.0]]), "B8:B9", "Quote!B8: cells of several lines are merged"),
        ([*TERMS[:5], ["VAT", "perhaps"], HEAD, SERVER], "", "Quote!B6: is no tax basis"),
        ([*TERMS[:5], ["VAT", "included"], HEAD, SERVER], "", "Quote!B6: prices include tax, and no rate is given"),
        ([*TERMS[:2], ["Quote date", "5/11/26"], *TERMS[4:], HEAD, SERVER], "", "Quote!B3: is not a day"),
        ([*TERMS[:3], ["Valid until", "2026-11-04"], *TERMS[4:], HEAD, SERVER], "", "Quote!B4: is before the day of"),
        ([*TERMS[:4], TERMS[5], HEAD, SERVER], "", "Quote!C7: has no currency"),
        ([*TERMS[:2], *TERMS[3:], HEAD, SERVER], "", "quote.xlsx: does not say its day"),
        ([["nothing", "here"]], "", "has no table of prices"),
    ],
)  # fmt: skip
def test_bad_cells_are_named(
    tmp_path: Path, catalog: Catalog, rows: list[Any], merge: str, said: str
) -> None:
    assert said in refused(sheet(tmp_path, rows, merge), catalog)


def test_all_problems_come_at_once(tmp_path: Path, catalog: Catalog) -> None:
    rows = broken([["8x H200", None, 280000.0, None], ["8x H100", "two", "=A1", None]])
    assert refused(sheet(tmp_path, rows), catalog).count("\n") >= 2


def test_tax_in_one_header_and_out_in_another(tmp_path: Path, catalog: Catalog) -> None:
    head = ["Item", "Qty", "Unit price incl. VAT", "Unit price excl. VAT"]
    rows = [*TERMS[:5], ["VAT rate", "13 %"], head, ["8x H200", 1.0, 113.0, 100.0]]
    path = sheet(tmp_path, rows)
    said = refused(path, catalog)
    assert "tax both included and excluded: Quote!C7" in said
    assert "Quote!D7" in said
    assert only(read(path, catalog, "constants: {tax: excluded}\n")).row["price"] == "100.00"
    assert only(read(path, catalog, "constants: {tax: included}\n")).row["price"] == "100.00"


def test_currencies_without_a_rate_do_not_mix(tmp_path: Path, catalog: Catalog) -> None:
    content = ("Quote date,2020-01-01\nItem,Qty,Unit price,Currency\n8x H200,1,100,USD\n8x H100,1,100,CNY\n")
    assert "list.csv:4:4: is in another currency, and there is no rate" in refused(text(tmp_path, content), catalog)
    dated = content.replace("2020-01-01", "2026-11-05")  # the price book has USD/CNY of 2026-08-22
    assert [line.row["currency"] for line in read(text(tmp_path, dated), catalog).lines] == ["USD", "CNY"]


def test_an_expired_quote_is_refused_on_the_day_that_is_asked_for(tmp_path: Path, catalog: Catalog) -> None:
    path = sheet(tmp_path, broken([SERVER]))
    assert "has expired" in refused(path, catalog, as_of="2027-01-01")
    assert only(read(path, catalog, as_of="2026-12-31")).row


# ---- files nobody should trust ----


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("xl/worksheets/sheet1.xml", b"0" * (cells.MOST_UNPACKED_BYTES + 1))
    assert path.stat().st_size < 1_000_000
    assert "unpacks to too much" in refused(path, catalog)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(tmp_path: Path, catalog: Catalog, encoding: str) -> None:
    path = tmp_path / "entity.xlsx"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("xl/workbook.xml", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'.encode(encoding))
    assert "declares entities" in refused(path, catalog)


def test_a_range_of_all_cells_is_not_walked(tmp_path: Path, catalog: Catalog) -> None:
    path = sheet(tmp_path, broken([SERVER]))
    old = zipfile.ZipFile(path)
    wide = tmp_path / "wide.xlsx"
    with zipfile.ZipFile(wide, "w", zipfile.ZIP_DEFLATED) as package:
        for part in old.namelist():
            content = old.read(part)
            if part.endswith("sheet1.xml"):
                content = content.replace(
                    b"</sheetData>", b'</sheetData><mergeCells count="1"><mergeCell ref="A9:XFD1048576"/></mergeCells>'
                )
            package.writestr(part, content)
    assert "merged" in refused(wide, catalog)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", "[]", "is nested data"), ("a.html", "<table>", "is a web page"), ("a.xls", "x", "of the old format"),
        ("a.zip", "x", "is no kind of price list"), ("a.csv", "", "is empty"),
        ("a.xlsx", "x", "not a readable workbook"),
    ],
)  # fmt: skip
def test_other_files_say_why_not(tmp_path: Path, catalog: Catalog, name: str, content: str, said: str) -> None:
    assert said in refused(text(tmp_path, content, name), catalog)


def test_a_text_that_looks_like_a_formula_stays_text(tmp_path: Path, catalog: Catalog) -> None:
    items = "items: {'=HYPERLINK(1)': H200}\n"
    path = sheet(tmp_path, broken([["=HYPERLINK(1)", 1.0, 9.0, 9.0]]))
    assert only(read(path, catalog, items)).row["item"] == "'=HYPERLINK(1)"


@pytest.mark.parametrize(
    ("written", "value", "currency"),
    [("1,250,000.50", 1250000.5, ""), ("¥190万", 1900000.0, "CNY"), ("USD 2.50/hr", 2.5, "USD"), (3.0, 3.0, "")],
)
def test_amounts(written: Any, value: float, currency: str) -> None:
    found = numbers.amount(written)
    assert found is not None
    assert (found.value, found.currency) == (value, currency)


@pytest.mark.parametrize("written", ["1.234,56", "1,25", "about 5", "=1", "1e9", "", "12,34,567"])
def test_amounts_that_may_mean_two_things_are_refused(written: str) -> None:
    assert numbers.amount(written) is None


@pytest.mark.parametrize(("written", "off"), [("9折", 0.1), ("95折", 0.05), ("5 %", 0.05), (0.05, 0.05), (5.0, None)])
def test_discounts(written: Any, off: float | None) -> None:
    assert numbers.discount(written) == (off if off is None else pytest.approx(off))


# ---- the overlay ----


def test_the_overlay_is_appended_and_never_the_shipped_catalog(tmp_path: Path, catalog: Catalog) -> None:
    rows = read(sheet(tmp_path, broken([SERVER])), catalog)
    mine = tmp_path / "mine"
    assert write(rows, mine) == [mine / "sources.csv", mine / PURCHASE]
    with pytest.raises(InputError, match="has this quote already"):
        write(rows, mine)
    other = read(sheet(tmp_path, broken([["HGX server, 8x H100", 1.0, 250000.0, 250000.0]])), catalog)
    write(other, mine)
    with (mine / PURCHASE).open(encoding="utf-8") as stream:
        assert [row["gpu"] for row in csv.DictReader(stream)] == ["h200-sxm-141gb", "h100-sxm5-80gb"]
    book = read_catalog([mine])
    assert len(book.purchase) == len(catalog.purchase) + 2
    with pytest.raises(InputError, match="is the shipped catalog"):
        write(rows, catalogs_folder() / "prices")


def test_the_command_previews_and_writes_only_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, mine = sheet(tmp_path, broken([SERVER])), tmp_path / "mine"
    assert run_command(["catalog", "add-prices", str(path), "--out", str(mine)]) == 0
    shown = capsys.readouterr().out
    assert "server of 8 x h200-sxm-141gb" in shown
    assert "280,000.00 USD a server" in shown
    assert "nothing is written" in shown
    assert not mine.exists()
    assert run_command(["catalog", "add-prices", str(path), "--out", str(mine), "--write", "--json"]) == 0
    assert (mine / PURCHASE).is_file()
    assert run_command(["catalog", "add-prices", str(tmp_path / "no.csv")]) == 2
