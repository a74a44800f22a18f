"""A pinned scenario sees one state of the price book: later rows change nothing, changed rows stop the build."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml

from reports.catalog.records import Catalog
from reports.cli import run_command
from reports.errors import InputError
from reports.manifest import _prices
from reports.pricebook.pin import pinned, state
from reports.scenario.read import read_scenario

SCENARIO = """\
title: {en: Pinned}
period: 2026-11
currency: USD
region: us
method: rule-of-thumb
workload: {input_tokens: 512, output_tokens: 256, demand: {peak_concurrency: 10}}
matrix: {model: [qwen2.5-7b-instruct], quantization: [fp8], gpu: [l40s], count: [1], interconnect: [pcie]}
reports: []
"""
DAY = datetime.date(2026, 11, 30)


def with_rate(catalog: Catalog, day: str) -> Catalog:
    row = {"base": "EUR", "quote": "CNY", "rate": 8.0, "source": "own-judgement", "as_of": day}
    return replace(catalog, exchange=pd.concat([catalog.exchange, pd.DataFrame([row])], ignore_index=True))


def scenario(folder: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]) -> Path:
    path = folder / "s.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    assert run_command(["catalog", "pin", str(path)]) == 0
    path.write_text(SCENARIO + capsys.readouterr().out, encoding="utf-8")
    return path


def test_later_rows_are_not_seen(tmp_path: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]) -> None:
    read = read_scenario(scenario(tmp_path, catalog, capsys), catalog)
    later = with_rate(catalog, "2026-12-01")
    held = pinned(read, later)
    assert len(held.exchange) == len(catalog.exchange)
    assert state(later, DAY) == state(catalog, DAY)
    assert state(later, datetime.date(2026, 12, 1)).sha256 != state(catalog, DAY).sha256


def test_a_row_added_with_an_earlier_day_is_named(
    tmp_path: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    read = read_scenario(scenario(tmp_path, catalog, capsys), catalog)
    count = len(catalog.exchange)
    with pytest.raises(InputError, match=f"exchange had {count} rows and has {count + 1}"):
        pinned(read, with_rate(catalog, "2026-11-30"))


def test_a_changed_row_is_an_error(tmp_path: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]) -> None:
    read = read_scenario(scenario(tmp_path, catalog, capsys), catalog)
    changed = replace(catalog, exchange=catalog.exchange.assign(rate=catalog.exchange["rate"] * 1.01))
    with pytest.raises(InputError, match="one of them says something else"):
        pinned(read, changed)


def test_order_and_new_columns_do_not_matter(catalog: Catalog) -> None:
    turned = replace(catalog, rental=catalog.rental.iloc[::-1].drop(columns=["valid_until"]))
    assert state(turned, DAY) == state(catalog, DAY)


def test_the_manifest_records_what_the_command_prints(
    tmp_path: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scenario(tmp_path, catalog, capsys)
    printed = yaml.safe_load(path.read_text(encoding="utf-8"))["prices"]["pin"]
    run = type("Run", (), {"scenario": read_scenario(path, catalog), "catalog": catalog})
    recorded = _prices(run)  # type: ignore[arg-type]
    assert recorded["pinned"]
    assert (recorded["sha256"], recorded["rows"]) == (printed["sha256"], printed["rows"])


def test_check_and_build_know_the_pin(tmp_path: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, catalog, capsys)
    assert run_command(["check", str(path)]) == 0
    assert run_command(["build", str(path), "--out", str(tmp_path / "out")]) == 0
    assert "prices: pinned to the price book of 2026-11-30" in capsys.readouterr().out
    text = path.read_text(encoding="utf-8")
    digest = yaml.safe_load(text)["prices"]["pin"]["sha256"]
    path.write_text(text.replace(digest, "0" * 64), encoding="utf-8")
    assert run_command(["check", str(path)]) == 2
    assert "prices.pin.sha256" in capsys.readouterr().err
