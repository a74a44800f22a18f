"""The difference between two runs: hand-made pairs in which one class of causes changes, mixtures, and what is stored.

One service on eight-card instances, rented for the whole horizon at a price that does not move, without tax: it costs
cards x price x rate x 730 hours a month. Eight A100 carry 46 requests of the published example at fp16 (its table).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports import pipeline
from reports.catalog.records import Catalog, Fact
from reports.errors import InputError
from reports.history import store
from reports.history.attribute import Difference, difference
from reports.history.held import reckon
from reports.history.past import NO_INPUTS, UNREADABLE, Past, of_run, read_past
from reports.history.stage import compared, find_earlier
from reports.history.text import lines, record
from reports.manifest import write_manifest
from reports.outputs import summary
from reports.run import Run
from tests.scenario_text import read

TEXT = """\
title: {en: A test}
period: 2026-11
currency: CNY
region: us
method: rule-of-thumb
workload:
  input_tokens: {distribution: long_tail, mean: 512, p95: 2048}
  output_tokens: {distribution: long_tail, mean: 256, p95: 1024}
  demand: {peak_concurrency: 40}
matrix:
  model: [published-example-7b]
  quantization: [fp16]
  gpu: [a100-sxm4-80gb, h100-sxm5-80gb]
  count: [8]
  interconnect: [nvlink]
rule_of_thumb: {units: as_published}
assumptions: {rule_prefill_utilisation: 0.35, rule_fragmentation_factor: 1.0}
costs: {compare: [rent]}
prices: {regions: [us]}
"""
LATER = TEXT.replace("2026-11", "2026-12")
A100, H100 = "a100-sxm4-80gb", "h100-sxm5-80gb"


def offers(catalog: Catalog, prices: dict[str, float], rate: float) -> Catalog:
    """The catalog with one offer a card, in USD for three years, and one exchange rate."""
    row = catalog.rental.iloc[0].to_dict()
    rows = [
        row | {"offer_id": f"offer-{gpu}", "gpu": gpu, "region": "us", "currency": "USD", "price_per_card_hour": price,
               "term": "reserved-3y", "as_of": "2026-11-01", "status": "ok", "instance_cards": 8}
        for gpu, price in prices.items()
    ]  # fmt: skip
    exchange = pd.DataFrame([{"base": "USD", "quote": "CNY", "rate": rate, "source": "", "as_of": "2026-11-02"}])
    return replace(catalog, rental=pd.DataFrame(rows), exchange=exchange)


def run(folder: Path, book: Catalog, text: str = TEXT, prices: dict[str, float] | None = None, rate: float = 7.0,
        **more: Any) -> Run:  # fmt: skip
    known = offers(book, {A100: 2.0} if prices is None else prices, rate)
    return pipeline.evaluate(read(folder, known, text, **more), known)


def demand(text: str, requests: int) -> str:
    return text.replace("peak_concurrency: 40", f"peak_concurrency: {requests}")


def causes(found: Difference) -> dict[str, float]:
    return dict(zip(found.totals()["cause"], found.totals()["amount"], strict=True))


@pytest.fixture(autouse=True, scope="module")
def no_later_stages() -> Iterator[None]:
    """What a difference reads is known once the options are recommended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "STAGES", ())
        yield


@pytest.fixture(scope="module")
def base(catalog: Catalog, no_later_stages: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("base"), catalog)


def test_the_earlier_run_costs_what_it_costs_by_hand(base: Run) -> None:
    only = of_run(base).choices["published-example-7b"]
    assert (only.cards, only.way, only.gpu) == (8, "rent", A100)
    assert only.amount == pytest.approx(8 * 2.0 * 7.0 * 730)


PRICED: dict[str, tuple[dict[str, Any], dict[str, float], float]] = {
    # 8 cards x 0.20 USD x 7.0 x 730 h
    "price": ({"prices": {A100: 2.2}}, {"price": 8_176.00}, 0),
    # 8 cards x 2 USD x 0.1 x 730 h
    "exchange": ({"rate": 7.1}, {"exchange": 1_168.00}, 0),
    # 80 requests need 16 cards: 8 more x 2 USD x 7.0 x 730 h
    "demand": ({"text": demand(LATER, 80)}, {"demand": 81_760.00}, 8),
    # half of the capacity kept free: 23 requests by 8 cards, 16 cards for 40
    "settings": ({"text": LATER + "policies: {headroom_share: 0.6}\n"}, {"settings": 81_760.00}, 8),
    # the other card is offered at 1.5 USD: 8 cards x 0.5 USD x 7.0 x 730 h less, nothing else moves
    "mix": ({"prices": {A100: 2.0, H100: 1.5}}, {"mix": -20_440.00}, 0),
    "nothing": ({}, {}, 0),
    # demand at the old price, 81,760; 16 x 0.2 x 7.0 x 730 = 16,352; 16 x 2.2 x 0.1 x 730 = 2,569.60
    "three at once": (
        {"text": demand(LATER, 80), "prices": {A100: 2.2}, "rate": 7.1},
        {"demand": 81_760.00, "price": 16_352.00, "exchange": 2_569.60}, 8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PRICED)
def test_each_cause_takes_what_it_moves(case: str, base: Run, catalog: Catalog, tmp_path: Path) -> None:
    changed, expected, cards = PRICED[case]
    found = difference(of_run(base), of_run(run(tmp_path, catalog, **{"text": LATER, **changed})))
    assert causes(found) == pytest.approx(expected)
    assert found.causes["cards"].sum() == cards
    assert round(found.amounts[1] - found.amounts[0], 2) == round(sum(expected.values()), 2)
    assert found.exact
    if list(expected) not in ([], ["mix"]) and len(expected) == 1:  # without its offer the other card is ruled out
        swapped = difference(found.after, found.before)
        assert causes(swapped) == pytest.approx({name: -amount for name, amount in expected.items()})


def test_swapped_runs_differ_by_the_opposite_whatever_changed(base: Run, catalog: Catalog, tmp_path: Path) -> None:
    changed, expected, _ = PRICED["three at once"]
    back = difference(of_run(run(tmp_path, catalog, **changed)), of_run(base))
    assert round(back.causes["amount"].sum(), 2) == -round(sum(expected.values()), 2)
    # back again: 8 of 16 cards at 2.2 USD and 7.1; then 8 x 0.2 x 7.1 x 730; then 8 x 2.0 x 0.1 x 730
    assert causes(back) == pytest.approx({"demand": -91_220.80, "price": -8_292.80, "exchange": -1_168.00})


def test_facts_of_the_catalog_are_a_cause(base: Run, catalog: Catalog, tmp_path: Path) -> None:
    card = catalog.gpus[A100]
    fact: Fact = card.facts["memory_bandwidth_gb_per_s"]
    slow = replace(card, facts={**card.facts, "memory_bandwidth_gb_per_s": replace(fact, value=fact.value / 2)})
    book = replace(catalog, gpus={**catalog.gpus, A100: slow})
    found = difference(of_run(base), of_run(run(tmp_path, book, LATER)))
    assert causes(found) == pytest.approx({"facts": 81_760.00})  # 23 requests by 8 cards: 16 cards


def test_a_choice_that_is_ruled_out_is_counted_where_it_is(base: Run, catalog: Catalog, tmp_path: Path) -> None:
    found = difference(of_run(base), of_run(run(tmp_path, catalog, LATER, prices={H100: 3.0})))
    assert causes(found) == pytest.approx({"price": 40_880.00})  # 8 x 1.0 USD x 7 x 730 more: no A100 is offered
    assert list(found.causes["impossible"]) == [f"published-example-7b.fp16.{A100}.8x.nvlink"]


def test_a_price_in_a_currency_that_was_not_known_is_a_price(base: Run, catalog: Catalog, tmp_path: Path) -> None:
    book = offers(catalog, {A100: 2.0}, 7.0)
    euro = {"base": "EUR", "quote": "CNY", "rate": 8.0, "source": "", "as_of": "2026-12-01"}
    book = replace(book, rental=book.rental.assign(currency="EUR"),
                   exchange=pd.DataFrame([*book.exchange.to_dict("records"), euro]))  # fmt: skip
    later = pipeline.evaluate(read(tmp_path, book, LATER), book)
    # 8 cards x 2 EUR at 8.0 instead of 2 USD at 7.0 x 730 h
    assert causes(difference(of_run(base), of_run(later))) == pytest.approx({"price": 11_680.00})


def test_services_that_begin_and_end_are_counted_whole(catalog: Catalog, tmp_path: Path) -> None:
    listed = TEXT.replace("  model: [published-example-7b]\n", "").replace("{peak_concurrency: 40}", "{}")
    both = [of_run(run(tmp_path, catalog, listed + services)) for services in (
        "services:\n" + _service("chat", 40) + _service("old", 40),
        "services:\n" + _service("chat", 40) + _service("fresh", 80),
    )]  # fmt: skip
    found = difference(*both)
    assert causes(found) == pytest.approx({"retired": -81_760.00, "new": 163_520.00})
    assert dict(zip(found.services["service"], found.services["change"], strict=True)) == {
        "chat": "same", "fresh": "new", "old": "retired"}  # fmt: skip


def _service(name: str, requests: int) -> str:
    return f"  - {{name: {name}, model: published-example-7b, demand: {{peak_concurrency: {requests}}}}}\n"


def test_without_the_earlier_inputs_causes_are_told_apart_as_far_as_possible(
    base: Run, catalog: Catalog, tmp_path: Path
) -> None:
    before = replace(of_run(base), inputs=None, reason=NO_INPUTS)
    later = of_run(run(tmp_path, catalog, demand(LATER, 80), prices={A100: 2.2}))
    found = difference(before, later)
    assert not found.exact
    assert causes(found) == pytest.approx({"demand": 81_760.00, "rest": 16_352.00})
    assert any("inputs.zip" in line for line in lines(found))


def test_the_same_run_evaluated_again_gives_the_same_cents(catalog: Catalog, tmp_path: Path) -> None:
    """With simulation: what is held is sized, priced and simulated as in the run itself."""
    text = TEXT.replace("method: rule-of-thumb\n", "targets: {tpot_ms: 50, ttft_p99_ms: 2000}\n")
    text = text.replace("published-example-7b", "qwen2.5-7b-instruct")
    text = text.replace("peak_concurrency: 40", "requests_per_s: 9")
    done = run(tmp_path, catalog, text)
    found = difference(of_run(done), replace(of_run(done), place="elsewhere"))
    assert found.causes.empty
    again = reckon(done.scenario.model_copy(update={"services": ()}), done.catalog, of_run(done).choices)
    assert again.choices == of_run(done).choices


# ---- folders ----


def folder(done: Run, place: Path, scenario_folder: Path) -> Path:
    """A run's folder without its documents. Its inputs are those of the shipped catalog."""
    place.mkdir(parents=True)
    (place / "summary.json").write_text(json.dumps(summary(done)), encoding="utf-8")
    store.write(done.scenario, done.catalog, scenario_folder, place / store.NAME)
    write_manifest(done, place)
    return place


@pytest.fixture(scope="module")
def shipped(
    catalog: Catalog, no_later_stages: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Run]:
    where = tmp_path_factory.mktemp("shipped")
    done = pipeline.evaluate(read(where, catalog, TEXT, sets=["workload.demand.peak_concurrency=41"]), catalog)
    return folder(done, where / "out" / "2026-11" / "s", where), done


def test_a_stored_run_is_read_back_whole(shipped: tuple[Path, Run], catalog: Catalog) -> None:
    place, done = shipped
    past = read_past(place)
    assert past.inputs is not None, past.problem
    scenario, book = past.inputs
    assert scenario.service_axis == done.scenario.service_axis  # the value that --set gave is in it
    assert book.gpus == catalog.gpus
    pd.testing.assert_frame_equal(book.rental, catalog.rental)
    assert difference(past, replace(of_run(done), place="x")).causes.empty
    assert record(difference(past, past))["decision_changed"] is False


def test_a_stored_run_has_the_same_bytes_again(shipped: tuple[Path, Run], tmp_path: Path) -> None:
    place, done = shipped
    store.write(done.scenario, done.catalog, place, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (place / store.NAME).read_bytes()


def test_the_latest_earlier_month_is_found(shipped: tuple[Path, Run]) -> None:
    place, done = shipped
    out = place.parent.parent
    later = done.scenario.model_copy(update={"period": "2027-01"})
    found = find_earlier("auto", out, later)
    assert found is not None
    assert found.period == "2026-11"
    assert find_earlier("auto", out, done.scenario) is None  # the same month is no earlier one
    below = find_earlier(str(place.parent), out, later)
    assert below is not None
    assert below.place == found.place


def test_a_first_run_says_so(shipped: tuple[Path, Run]) -> None:
    about = compared(shipped[1], None).variance_about
    assert dict(zip(about["key"], about["value"], strict=True)) == {"period": ""}


def test_changed_and_strange_inputs_are_reasons_not_errors(shipped: tuple[Path, Run], tmp_path: Path) -> None:
    place, done = shipped
    copy = folder(done, tmp_path / "changed", place)
    (copy / store.NAME).write_bytes(b"not a zip")
    assert read_past(copy).reason.startswith("its inputs.zip is not the one")
    write_manifest(done, copy)
    past = read_past(copy)
    assert (past.inputs, past.reason) == (None, UNREADABLE)
    (copy / store.NAME).unlink()
    assert read_past(copy).reason == NO_INPUTS


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "is no run"), ("{}", "too old"), ("[1", "cannot be read"), ("[]", "holds no object"),
     ('{"recommendation": [{"way": "rent"}], "scenario": "s"}', "too old")],
)  # fmt: skip
def test_folders_that_are_no_runs_are_problems(content: str | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "summary.json").write_text(content)
    with pytest.raises(InputError, match=said):
        read_past(tmp_path)


def test_other_scenarios_and_currencies_are_refused_together(base: Run) -> None:
    past: Past = of_run(base)
    with pytest.raises(InputError) as error:
        difference(replace(past, scenario="other", currency="USD"), past)
    assert [problem.message for problem in error.value.problems] == ["is a run of another scenario",
                                                                     "counts in another currency"]  # fmt: skip
