"""Rent against buy as the demand grows agrees with the cost timeline where nothing grows, and says what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scenario_text import read

from reports import pipeline
from reports.catalog.records import Catalog
from reports.cost.quotes import Listed
from reports.plan import outlook
from reports.render import growing, view_money, view_summary
from reports.render.i18n import translator
from reports.render.wording import Wording
from reports.run import Run

TEXT = """\
title: {en: A service}
period: 2026-11
currency: CNY
region: china
workload:
  input_tokens: {distribution: long_tail, mean: 800, p95: 2500}
  output_tokens: {distribution: long_tail, mean: 256, p95: 1024}
  demand: {peak_concurrency: 600, growth: {2027-06: 600}}
targets: {tpot_ms: 50, ttft_ms: 2000}
matrix:
  model: [qwen3-32b]
  quantization: [fp8]
  gpu: [h20-141gb]
  count: [1, 2]
  interconnect: [pcie]
assumptions: {lead_time_hopper_weeks: 0}
costs: {horizon_months: 18}
"""
"""Growth is stated and is none; orders arrive at once."""
GROWS = TEXT.replace("2027-06: 600", "2027-06: 1200").replace("hopper_weeks: 0", "hopper_weeks: 26")


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, catalog: Catalog) -> Any:
    """Text of a scenario -> its run with the growth, nothing simulated."""
    monkeypatch.setattr(pipeline, "STAGES", (outlook.stage,))
    monkeypatch.setattr(pipeline, "settle", lambda recommended: recommended({}))
    return lambda text: pipeline.evaluate(read(tmp_path, catalog, text), catalog)


@pytest.mark.parametrize("horizon", [18, 72])
def test_a_demand_that_stays_costs_what_the_cost_timeline_says(evaluated: Any, horizon: int) -> None:
    """Month by month and in total; 72 months are longer than the life of a server, which is then bought again."""
    run: Run = evaluated(TEXT.replace("horizon_months: 18", f"horizon_months: {horizon}"))
    row = run.winners().iloc[0]
    cash = run.timelines[run.timelines["option_id"] == row["option_id"]].sort_values("month")
    grown = run.growth.sort_values("month")
    for way in ("rent", "buy"):
        assert grown[f"growing_{way}_cash_amount"].tolist() == pytest.approx(cash[f"{way}_cash_amount"].tolist())
        result = run.growth_results.iloc[0]
        assert result[f"growing_{way}_npv_amount"] == pytest.approx(row[f"{way}_npv_amount"])
        name = f"{way}_equivalent_amount_per_month"
        assert result[f"growing_{name}"] == pytest.approx(row[name])
    assert run.growth_results.iloc[0]["growing_break_even_month"] == pytest.approx(row["break_even_month"], nan_ok=True)
    words = Wording(run, "en", translator("en"))
    assert growing.sentences(words, dict(row)) == [], "nothing changes, nothing is added"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_shows_the_cost_of_growth_and_what_the_ranking_counts(evaluated: Any, language: str) -> None:
    run = evaluated(GROWS)
    row = dict(run.winners().iloc[0])
    translate = translator(language)
    words = Wording(run, language, translate)
    result = run.growth_results.iloc[0]
    figure = view_money.cost_figure(words, row)
    for way in ("rent", "buy"):
        assert words.amount(result[f"growing_{way}_equivalent_amount_per_month"]) in figure["note"]
        assert words.amount(row[f"{way}_equivalent_amount_per_month"]) in figure["note"]
        # twice the cards from June 2027 on, seven months of eighteen at today's
        assert result[f"growing_{way}_npv_amount"] < row[f"{way}_npv_amount"]
    assert {"en": "as the demand grows", "zh": "随需求增长"}[language] in figure["title"]
    translate.require_complete()


def test_the_cover_says_when_growth_turns_the_cheaper_way_round() -> None:
    winners = pd.DataFrame({"service": ["chat", "code", "mail"], "way": ["buy", "rent", "buy"],
                            "rent_npv_amount": [-2.0, -1.0, -2.0], "buy_npv_amount": [-1.0, -2.0, -1.0]})  # fmt: skip
    results = pd.DataFrame({"growing_rent_npv_amount": [-2.0, -3.0, -2.0],
                            "growing_buy_npv_amount": [-3.0, -2.0, -1.0]})  # fmt: skip
    assert outlook.turned(winners, results) == (
        (outlook.RENT_LATER, {"services": Listed(["chat"])}), (outlook.BUY_LATER, {"services": Listed(["code"])}),
    )  # fmt: skip


@pytest.mark.parametrize(("text", "grown"), [(TEXT, False), (GROWS, True)])
def test_the_recommendation_says_what_growth_makes_of_it(evaluated: Any, text: str, grown: bool) -> None:
    run = evaluated(text)
    words = Wording(run, "en", translator("en"))
    row = dict(run.winners().iloc[0])
    assert ("As the demand grows, buying" in view_summary.decision(words, row)) == grown
