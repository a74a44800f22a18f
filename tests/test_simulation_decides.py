"""From a scenario to a run: every short-listed option is simulated, and where the simulation disagrees it decides."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scenario_text import read

from reports.catalog.records import Catalog
from reports.pipeline import evaluate
from reports.render.i18n import translator
from reports.render.sheet import Book
from reports.render.sheets import latency as sheet
from reports.render.view_latency import section
from reports.render.view_summary import rows
from reports.render.wording import Wording
from reports.run import Run
from reports.simulate.check import BEFORE, cases, settle
from reports.simulate.trial import decided

CALM = """\
title: {en: A test}
period: 2026-11
currency: USD
region: us
languages: [en, zh]
workload:
  input_tokens: 512
  output_tokens: {distribution: uniform, low: 100, high: 400}
  demand: {peak_concurrency: 100}
targets: {tpot_ms: 50, ttft_p95_ms: 1500}
matrix:
  model: [qwen2.5-7b-instruct]
  quantization: [fp8]
  gpu: [h100-sxm5-80gb, l40s]
  count: [1, 2]
  interconnect: [pcie]
"""
# long prompts of very different lengths in little memory: what is put back is computed again; the closed form omits it
WILD = (
    CALM.replace("input_tokens: 512", "input_tokens: {distribution: long_tail, mean: 8000, p95: 24000}")
    .replace("{distribution: uniform, low: 100, high: 400}", "{distribution: long_tail, mean: 400, p95: 1000}")
    .replace("[qwen2.5-7b-instruct]", "[qwen2.5-72b-instruct]")
    .replace("gpu: [h100-sxm5-80gb, l40s]", "gpu: [h100-sxm5-80gb]")
    .replace("count: [1, 2]", "count: [2, 4]")
    .replace("{tpot_ms: 50, ttft_p95_ms: 1500}", "{tpot_ms: 500, ttft_p99_ms: 60000}")
)


@pytest.fixture(scope="module")
def calm(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return evaluate(read(tmp_path_factory.mktemp("calm"), catalog, CALM), catalog)


@pytest.fixture(scope="module")
def wild(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return evaluate(read(tmp_path_factory.mktemp("wild"), catalog, WILD), catalog)


def figure(run: Run, option: str, metric: str, statistic: str) -> dict[str, Any]:
    found = run.simulated
    line = found[(found["option_id"] == option) & (found["metric"] == metric) & (found["statistic"] == statistic)]
    (only,) = line.to_dict("records")
    return only


def test_every_short_listed_option_is_simulated_at_its_recommended_load(calm: Run) -> None:
    assert len(calm.shortlist) == 2
    assert set(calm.simulated["option_id"]) == set(calm.shortlist["option_id"])
    for row in calm.shortlist.to_dict("records"):
        option = row["option_id"]
        assert figure(calm, option, "load_requests", "given")["simulated"] == row["recommended_requests"]
        ttft, tpot = (figure(calm, option, name, at) for name, at in (("ttft_ms", "p95"), ("tpot_ms", "mean")))
        assert ttft["target"] == 1500
        assert tpot["target"] == 50
        assert ttft["closed_form"] == pytest.approx(row["ttft_tail_ms"])
        assert tpot["closed_form"] == pytest.approx(row["tpot_tail_ms"])
        # of requests of one length in a calm queue both tell the same story
        assert tpot["simulated"] == pytest.approx(tpot["closed_form"], rel=0.1)
        answer = figure(calm, option, "answer_ms", "mean")
        assert answer["simulated"] == pytest.approx(answer["closed_form"], rel=0.1)
        running = figure(calm, option, "running_requests", "mean")["simulated"]
        assert running == pytest.approx(row["recommended_requests"], rel=0.1)
        for line in (ttft, tpot):
            assert line["low"] <= line["simulated"] <= line["high"]
            assert line["holds"]
        assert figure(calm, option, "preemptions", "mean")["simulated"] < 0.02
        assert 0 < figure(calm, option, "utilisation", "mean")["simulated"] <= 1
    assert not any("Simulated" in message for message, _ in calm.warnings)


def test_percentiles_ascend_and_curves_rise_with_the_load(calm: Run) -> None:
    for option in calm.shortlist["option_id"]:
        for metric in ("ttft_ms", "tpot_ms", "answer_ms"):
            p50, p95, p99 = (figure(calm, option, metric, at)["simulated"] for at in ("p50", "p95", "p99"))
            assert p50 <= p95 <= p99
    curves = calm.latency_curves
    (winner,) = calm.winners()["option_id"]
    assert set(curves["option_id"]) == {winner}
    points = curves[(curves["metric"] == "tpot_ms") & (curves["statistic"] == "mean")]
    assert len(points) == 6
    assert np.all(np.diff(points["load_requests"]) > 0)
    assert points["simulated"].iloc[-1] > points["simulated"].iloc[0]


def test_where_the_simulation_misses_a_target_it_decides(wild: Run) -> None:
    lowered = wild.simulated[wild.simulated["statistic"].str.endswith(BEFORE)]
    assert len(lowered), "the scenario is meant to be one where the closed form is too hopeful"
    assert (lowered["low"] > lowered["target"]).all()
    assert ["Simulated" in message for message, _ in wild.warnings].count(True) == 1
    for row in wild.shortlist.to_dict("records"):
        given = figure(wild, row["option_id"], "load_requests", "given")
        assert given["simulated"] == row["recommended_requests"]
        if row["option_id"] in set(lowered["option_id"]):
            assert given["simulated"] < given["closed_form"]
            # a limit like any other: it binds, the load follows from it by the safety factor, the units from the load
            assert row["limit_requests"] == row["simulated_requests"]
            assert row["binding_constraint"] == "simulation"
            assert math.floor(row["limit_requests"] * row["safety_factor"] + 1e-9) == row["recommended_requests"]
            assert row["units_needed"] == math.ceil(100 / row["recommended_concurrency"] - 1e-9)
    # what is recommended in the end was simulated as it is recommended, and misses nothing
    for listed, result in zip(cases(wild), decided([(each.case, each.load) for each in cases(wild)]), strict=True):
        assert not any(result.misses(target) for target in listed.case.targets)
    assert (wild.verdicts["passed"]).all()


def test_a_second_run_gives_the_same_numbers(wild: Run, catalog: Catalog) -> None:
    again = evaluate(wild.scenario, catalog)
    assert again.simulated.equals(wild.simulated)
    assert again.latency_curves.equals(wild.latency_curves)


def test_the_rounds_end_and_nothing_is_asked_twice(calm: Run) -> None:
    asked: list[dict[str, float]] = []

    def recommended(limits: Any) -> Run:
        asked.append(dict(limits))
        return calm

    assert settle(recommended).simulated.equals(calm.simulated)
    assert asked == [{}]
    empty = replace(calm, shortlist=calm.shortlist.iloc[:0], simulated=calm.simulated.iloc[:0])
    assert settle(lambda limits: empty) is empty


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_section_says_what_was_simulated(wild: Run, calm: Run, language: str) -> None:
    words = Wording(wild, language, translator(language))
    shown = section(words, rows(wild.winners()))
    assert shown["lowered"]
    (winner,) = shown["winners"]
    assert len(winner["charts"]) == 2
    assert all("<svg" in chart["picture"] for chart in winner["charts"])
    assert [row["name"] for row in winner["rows"]][:2] == ["TTFT", "TPOT"]
    assert not any(row["missed"] for row in [*winner["rows"], *shown["others"]])
    words.translate.require_complete()
    untouched = section(Wording(calm, language, translator(language)), rows(calm.winners()))
    assert untouched["lowered"] == []
    nothing = replace(calm, simulated=calm.simulated.iloc[:0])
    assert section(Wording(nothing, language, translator(language)), [])["winners"] == []


def test_the_sheet_has_the_figures_and_checks_them_live(wild: Run) -> None:
    book = Book(wild, translator("en"), "en")
    declared = sheet.declare(book)
    cells = {cell.anchor: cell for block in declared.blocks for row in block.rows for cell in row.cells.values()}  # type: ignore[union-attr]
    option = book.winners[0]
    line = figure(wild, str(option["option_id"]), "ttft_ms", "p99")
    assert cells[sheet.anchor(option, "ttft_ms", "low")].content == line["low"]
    assert cells[sheet.anchor(option, "ttft_ms", "low")].look == "solved"
    assert cells[sheet.anchor(option, "ttft_ms", "closed")].look == "link"
    assert sheet.anchor(option, "ttft_ms", "keeps") in cells
    assert sheet.anchor(option, "ttft_ms", "same") in cells
