"""Asked again with one thing changed: switches and split pools, against scenarios that say the change themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenario_text import read

from reports import pipeline
from reports.catalog.records import Catalog
from reports.plan import again, pools, switches
from reports.plan.changed import divided, part, scaled
from reports.run import Run
from reports.scenario.lengths import FixedLength, HistogramLength, LongTailLength, UniformLength

BASE = """\
title: {en: A test}
period: 2026-11
currency: USD
region: us
workload:
  input_tokens: 2000
  output_tokens: 300
  demand: {peak_concurrency: 500}
targets: {tpot_ms: 40, ttft_ms: 2000}
matrix:
  model: [qwen2.5-72b-instruct]
  quantization: [fp8]
  gpu: [h100-sxm5-80gb, h200-sxm-141gb]
  count: [2, 4, 8]
  interconnect: [nvlink]
"""
MIXED = "{distribution: histogram, edges: [199.9, 200.1, 15999, 16001], weights: [90, 0, 10]}"


@pytest.fixture
def recommended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, catalog: Catalog) -> Any:
    """Text of a scenario -> its run up to the recommendation, nothing simulated."""
    monkeypatch.setattr(pipeline, "STAGES", ())
    monkeypatch.setattr(pipeline, "settle", lambda recommended: recommended({}))

    def evaluated(text: str) -> Run:
        return pipeline.evaluate(read(tmp_path, catalog, text), catalog)

    return evaluated


def winner(run: Run) -> dict[str, Any]:
    return {str(name): value for name, value in run.winners().iloc[0].items()}


def test_asking_again_for_the_same_gives_the_same(recommended: Any) -> None:
    run = recommended(BASE)
    options = again.priced_options(run.scenario, run.catalog, again.combinations(run.shortlist))
    before = run.shortlist.set_index("option_id").sort_index()
    after = options.set_index("option_id").sort_index()
    assert list(after.index) == list(before.index)
    for name in again.ASKED_FOR:
        assert after[name].tolist() == before[name].tolist()


CHANGED = {
    switches.TPOT: ("tpot_ms: 40", "tpot_ms: 50"),  # a quarter more
    switches.INPUT: ("input_tokens: 2000", "input_tokens: 1500"),  # a quarter less
    switches.OUTPUT: ("output_tokens: 300", "output_tokens: 225"),
    switches.KV_CACHE: ("region: us", "region: us\nkv_cache: fp8"),
    switches.HEADROOM: ("region: us", "region: us\nassumptions: {safety_factor: 0.9}"),
    switches.SPARES: ("policies: {spare: 2}", "policies: {spare: none}"),
    switches.QUANTIZATION: ("quantization: [fp8]", "quantization: [int4]"),
}


def test_a_switch_saves_what_the_changed_scenario_saves(recommended: Any) -> None:
    """Each switch against a scenario that states the change, evaluated from its text."""
    base = BASE + "policies: {spare: 2}\n"
    run = recommended(base)
    before = winner(run)
    found = switches.stage(run).switches.set_index("change")
    assert len(found) >= 3
    assert list(found["rank"]) == list(range(1, len(found) + 1))
    for change, (old, new) in CHANGED.items():
        assert old in base
        after = winner(recommended(base.replace(old, new)))
        if change not in found.index:  # it saves nothing
            assert after["sized_cards"] >= before["sized_cards"]
            assert after["monthly_cost_amount"] > (1 - 2 * switches.NOTICEABLE) * before["monthly_cost_amount"]
            continue
        row = found.loc[change]
        assert row["cards_before"] == before["sized_cards"]
        if row["option_id"].split(".")[-2] == after["gpu"]:  # the same card is the cheapest in both
            assert row["cards_after"] == after["sized_cards"], change
            saved = before["monthly_cost_amount"] - after["monthly_cost_amount"]
            assert row["amount_per_month_saved"] == pytest.approx(saved, rel=1e-9, abs=1e-6), change


def test_only_what_saves_something_is_listed(recommended: Any) -> None:
    found = switches.stage(recommended(BASE)).switches
    fewer = found["cards_after"] < found["cards_before"]
    cheaper = found["amount_per_month_saved"] > 0
    assert (fewer | cheaper).all()
    assert switches.SPARES not in set(found["change"]), "no spare is kept, so none can be given up"


def test_parts_of_a_distribution() -> None:
    # uniform from 1000 to 5000: the lower 90 % are uniform to 4600, mean 2800, P95 1000 + 0.95 x 3600 = 4420
    even = UniformLength(distribution="uniform", low=1000, high=5000)
    lower, upper = part(even, 0, 0.9), part(even, 0.9, 1)
    assert (lower.mean, lower.p95) == pytest.approx((2800, 4420))
    assert (upper.mean, upper.deviation) == pytest.approx((4800, 400 / np.sqrt(12)), rel=1e-4)
    tail = LongTailLength(distribution="long_tail", mean=512, p95=2048)
    assert 0.8 * part(tail, 0, 0.8).mean + 0.2 * part(tail, 0.8, 1).mean == pytest.approx(512, rel=1e-9)
    assert scaled(tail, 0.75).p95 == pytest.approx(1536)
    edges = scaled(HistogramLength(distribution="histogram", edges=(100, 200), weights=(3,)), 0.5)
    assert edges.mean == pytest.approx(75)


def test_a_workload_of_one_length_is_not_divided(tmp_path: Path, catalog: Catalog) -> None:
    workload = read(tmp_path, catalog, BASE).workload
    assert isinstance(workload.input_tokens, FixedLength)
    assert divided(workload, 0.9) is None


def split_scenario(text: str) -> str:
    return BASE.replace("input_tokens: 2000", f"input_tokens: {MIXED}").replace("peak_concurrency: 500", text)


def test_two_pools_are_what_two_services_of_those_lengths_need(recommended: Any) -> None:
    """90 % of the prompts have 200 tokens, 10 % 16,000: pools against fixed lengths, in scenarios of their own."""
    run = recommended(split_scenario("requests_per_s: 30"))
    found = pools.stage(run).pools.set_index("pool")
    assert found["split_share"].iloc[0] in pools.GRID
    if found["split_share"].iloc[0] == 0.9:
        fixed = {pools.SHORT: (200, 27), pools.LONG: (16000, 3)}
        for pool, (tokens, arrivals) in fixed.items():
            text = BASE.replace("input_tokens: 2000", f"input_tokens: {tokens}")
            alone = winner(recommended(text.replace("peak_concurrency: 500", f"requests_per_s: {arrivals}")))
            assert found.loc[pool, "cards"] == alone["sized_cards"]
    one = winner(run)
    assert found.loc[pools.ALL, "cards"] == one["sized_cards"]
    assert found.loc[pools.ALL, "amount_per_month"] == pytest.approx(one["monthly_cost_amount"])


def test_two_pools_win_where_long_prompts_slow_everybody_down(recommended: Any) -> None:
    """A tight TPOT and long prompts that may take their time: the short requests no longer wait for their prefill."""
    text = split_scenario("requests_per_s: 20").replace("tpot_ms: 40, ttft_ms: 2000", "tpot_ms: 25, ttft_ms: 3000")
    for old, new in (("output_tokens: 300", "output_tokens: 100"), (", h200-sxm-141gb", ""), ("[2, 4, 8]", "[2, 4]")):
        text = text.replace(old, new)
    found = pools.stage(recommended(text)).pools.set_index("pool")
    assert set(found["better"]) == {pools.COST}
    together = found.loc[[pools.SHORT, pools.LONG]]
    assert together["amount_per_month"].sum() < found.loc[pools.ALL, "amount_per_month"]
    assert together["cards"].sum() < found.loc[pools.ALL, "cards"]


def test_one_pool_wins_where_one_unit_is_enough(recommended: Any) -> None:
    """A single unit carries all: two pools need a unit each, and can need no less."""
    run = recommended(split_scenario("peak_concurrency: 2"))
    assert winner(run)["sized_units"] == 1
    assert set(pools.stage(run).pools["better"]) == {pools.NO}


def test_both_pools_must_be_up(tmp_path: Path, catalog: Catalog) -> None:
    # two pools that each serve 0.998^0.5 of the time serve both 0.998 of it
    targets = read(tmp_path, catalog, BASE.replace("ttft_ms: 2000", "ttft_ms: 2000, availability: 0.998")).targets
    own = pools.both_up(targets)
    assert own is not None
    assert own.availability is not None
    assert own.availability**2 == pytest.approx(0.998)
