"""An imported quote reaches the report: the build buys at its price, and cover and workbook say whose it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from openpyxl import load_workbook

from reports import pipeline
from reports.cli import run_command

SCENARIO = """\
title: {en: Quoted}
period: 2026-11
currency: USD
region: us
workload: {input_tokens: 512, output_tokens: 256, demand: {peak_concurrency: 10}}
method: rule-of-thumb
matrix: {model: [qwen2.5-7b-instruct], quantization: [fp8], gpu: [h200-sxm-141gb], count: [1], interconnect: [nvlink]}
costs: {compare: [buy]}
languages: [zh]
reports: [capacity-proposal]
"""
QUOTE = """\
Vendor,Harbour Systems
Quote date,2026-11-05
Valid until,2026-12-31
Item,Qty,Unit price,Currency
"HGX server, 8x H200",1,212345,USD
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[pipeline.BuildResult, Path]:
    folder = tmp_path_factory.mktemp("quoted")
    (folder / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    (folder / "quote.csv").write_text(QUOTE, encoding="utf-8")
    mine = folder / "mine"
    assert run_command(["catalog", "add-prices", str(folder / "quote.csv"), "--out", str(mine), "--write", "-q"]) == 0
    return pipeline.build(folder / "s.yaml", out=folder / "out", catalog=[mine]), folder / "out" / "2026-11" / "s"


def test_the_build_buys_at_the_quoted_price(built: tuple[pipeline.BuildResult, Path]) -> None:
    row = built[0].run.shortlist.iloc[0]
    assert row["server_price"] == 212345
    assert str(row["purchase_id"]).startswith("harbour-systems-h200-sxm-141gb-server-20261105")


def test_the_cover_says_it_is_a_quote(built: tuple[pipeline.BuildResult, Path]) -> None:
    pages = ["pdftotext", "-l", "3", str(built[1] / "capacity-proposal.zh.pdf"), "-"]
    text = subprocess.run(pages, capture_output=True, check=True, timeout=60).stdout.decode()
    assert "2026年11月5日" in "".join(text.split())  # the day of the quote stands among the prices used
    assert "购置价为HarbourSystems的报价，有效期至2026-12-31。" in "".join(text.split())


def test_the_workbook_says_it_too(built: tuple[pipeline.BuildResult, Path]) -> None:
    book = load_workbook(built[1] / "workbook.xlsx", read_only=True)
    texts = [str(cell) for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row if cell]
    assert any("的报价，有效期至 2026-12-31" in each for each in texts)
