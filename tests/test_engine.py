"""Behaviour of the whole evaluation on the shipped scenarios: invariants that hold whatever the catalog says."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports import pipeline
from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.constraints import LAYOUT_EXCUSES, SENTENCES, sentence
from reports.evaluate import compile_blocks, evaluate
from reports.matrix import expand
from reports.methods import METHODS, Block
from reports.outputs import FIRST_COLUMNS, HEADLINES, results_frame, summary
from reports.recommend import OPTION
from reports.run import Run
from reports.scenario.read import read_scenario

SCENARIOS = Path(__file__).parent.parent / "scenarios"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


@pytest.fixture(scope="module")
def run(catalog: Catalog) -> Run:
    return pipeline.evaluate(read_scenario(SCENARIOS / "monthly-procurement.yaml", catalog), catalog)


def test_the_shipped_matrix_is_large_and_keeps_what_cannot_exist(run: Run) -> None:
    frame = run.candidates
    assert len(frame) > 1000
    assert frame["candidate_id"].is_unique
    assert set(frame["model"].astype(str)) == set(run.scenario.matrix.model)
    assert (frame.loc[~frame["feasible"], "excuse_code"] != "").all()
    assert (frame.loc[frame["feasible"], "excuse_code"] == "").all()
    without_nvlink = frame[(frame["gpu"] == "l40s") & (frame["interconnect"] == "nvlink")]
    assert (without_nvlink["excuse_code"] == "no-nvlink").all()


def test_infeasible_rows_have_blanks_and_never_zero_cards(run: Run) -> None:
    blocked = run.candidates[~run.candidates["feasible"]]
    for name in ("recommended_concurrency", "output_tokens_per_s", "demand_cards"):
        assert blocked[name].isna().all(), name


def test_cards_needed_is_the_least_over_counts_and_the_same_on_every_row(run: Run) -> None:
    groups = run.candidates.groupby(OPTION, observed=True)
    assert (groups["cards_needed"].nunique(dropna=False) == 1).all()
    least = groups["demand_cards"].min()
    assert np.allclose(least, groups["cards_needed"].first(), equal_nan=True)


def test_whole_units_carry_the_demand_and_one_fewer_does_not(run: Run) -> None:
    frame = run.candidates[run.candidates["feasible"]]
    carried = frame["units_needed"] * frame["recommended_concurrency"]
    assert (carried * (1 + 1e-9) >= frame["demand_concurrency"]).all()
    fewer = (frame["units_needed"] - 1) * frame["recommended_concurrency"]
    assert (fewer < frame["demand_concurrency"]).all()


def test_more_cards_never_serve_less(run: Run) -> None:
    frame = run.candidates[run.candidates["feasible"]].sort_values("count")
    for _, group in frame.groupby(OPTION, observed=True):
        assert group["recommended_concurrency"].is_monotonic_increasing


def test_at_the_limit_every_target_holds_and_at_one_more_something_fails(run: Run) -> None:
    short = run.shortlist
    holds = (
        (short["tpot_tail_ms@limit"] <= short["tpot_target_ms"] * (1 + 1e-9))
        & (short["ttft_tail_ms@limit"] <= short["ttft_target_ms"] * (1 + 1e-9))
        & (short["answer_tail_ms@limit"] <= short["answer_target_ms"] * (1 + 1e-9))
        & (short["queue_utilisation_ratio@limit"] <= short["utilisation_cap"] * (1 + 1e-9))
        & (short["limit_requests"] <= short["memory_requests"])
    )
    assert holds.all()
    fails = (
        (short["tpot_tail_ms@one_more"] > short["tpot_target_ms"])
        | (short["ttft_tail_ms@one_more"] > short["ttft_target_ms"])
        | (short["answer_tail_ms@one_more"] > short["answer_target_ms"])
        | (short["queue_utilisation_ratio@one_more"] > short["utilisation_cap"])
        | (short["one_more_requests"] > short["memory_requests"])
        | (short["one_more_requests"] > short["engine_requests"])
        | (short["one_more_requests"] > short["simulated_requests"])
    )
    assert fails.all()


def test_every_model_has_one_winner_and_it_is_the_cheapest(run: Run) -> None:
    priced = run.options[run.options["rank"].notna()]
    winners = priced[priced["winner"]]
    assert winners["model"].is_unique
    least = priced.groupby("model", observed=True)["monthly_cost_amount"].min()
    assert np.allclose(winners.set_index("model")["monthly_cost_amount"].sort_index(), least.sort_index())
    assert run.shortlist["winner"].iloc[: len(winners)].all()
    assert len(run.shortlist) <= 12


def test_nothing_on_the_pareto_front_is_beaten_on_both(run: Run) -> None:
    priced = run.options[run.options["rank"].notna()]
    for _, group in priced.groupby("model", observed=True):
        for _, kept in group[group["pareto"]].iterrows():
            better = (group["monthly_cost_amount"] < kept["monthly_cost_amount"]) & (group["tpot_ms"] < kept["tpot_ms"])
            assert not better.any()


def test_every_excuse_has_a_sentence_with_its_numbers(run: Run) -> None:
    assert set(LAYOUT_EXCUSES) - {""} <= set(SENTENCES)
    for row in run.excuses.drop_duplicates("code").to_dict("records"):
        text = sentence(row["code"], row["values"])
        assert "{" not in text
        assert "nan" not in text, text
    listed = set(run.excuses["option_id"]) - {""}
    assert listed == set(run.options["option_id"])


def test_a_scenario_asked_in_dollars_costs_the_same_at_the_rate(catalog: Catalog) -> None:
    path = SCENARIOS / "monthly-procurement.yaml"
    in_cny = pipeline.evaluate(read_scenario(path, catalog), catalog).shortlist
    in_usd = pipeline.evaluate(read_scenario(path, catalog, sets=["currency=USD"]), catalog).shortlist
    cny = in_cny.set_index("option_id")["monthly_cost_amount"]
    usd = in_usd.set_index("option_id")["monthly_cost_amount"]
    assert np.allclose(cny / usd, 6.7394)  # the price book's rate of 2026-08-22


def test_a_larger_demand_never_needs_fewer_cards(catalog: Catalog) -> None:
    path = SCENARIOS / "capacity-proposal.yaml"
    needed = []
    for rate in (1, 4, 16):
        scenario = read_scenario(path, catalog, sets=[f"workload.demand.requests_per_s={rate}"])
        frame = pipeline.evaluate(scenario, catalog).options
        needed.append(frame.set_index("option_id")["cards_needed"])
    for fewer, more in itertools.pairwise(needed):
        both = pd.concat([fewer, more], axis=1).dropna()
        assert (both.iloc[:, 0] <= both.iloc[:, 1]).all()


def test_chunks_do_not_change_the_answer(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = read_scenario(SCENARIOS / "capacity-proposal.yaml", catalog)
    space = expand(scenario, catalog, METHODS["roofline"])
    whole = evaluate(space, METHODS["roofline"])
    monkeypatch.setattr("reports.evaluate.CHUNK_ROWS", 17)
    pd.testing.assert_frame_equal(whole, evaluate(space, METHODS["roofline"]))


def test_a_missing_input_names_the_formula() -> None:
    block = Block("", METHODS["roofline"].before[1].formulas)
    with pytest.raises(LookupError, match="expert_padding_ratio reads expert_intermediate_size"):
        compile_blocks([block], [])


def test_a_column_made_twice_names_the_formula() -> None:
    block = METHODS["rule-of-thumb"].sizing[0]
    known = ["demand_peak_concurrency", "demand_requests_per_s", "demand_run_requests", "demand_run_hours",
             "request_time_s", "run_request_s", "run_tail_factor", "demand_concurrency"]  # fmt: skip
    with pytest.raises(LookupError, match="demand_concurrency makes a column that already exists"):
        compile_blocks([block], known)


def test_the_summary_quotes_only_columns_that_exist(run: Run) -> None:
    assert [name for name in HEADLINES if name not in run.shortlist] == []
    plain = json.loads(json.dumps(summary(run), allow_nan=False))
    assert len(plain["recommendation"]) == len(run.winners())
    assert plain["annual_discount_rate"] == pytest.approx(0.045)  # the catalog's China row


def test_results_start_with_the_headline_columns(run: Run) -> None:
    frame = results_frame(run)
    assert tuple(frame.columns[: len(FIRST_COLUMNS)]) == FIRST_COLUMNS
    assert (frame.loc[~frame["feasible"], "excuse"] != "").all()


def test_requests_longer_than_the_context_say_so(catalog: Catalog) -> None:
    sets = ["workload.input_tokens={distribution: fixed, tokens: 200000}", "targets.ttft_ms=60000"]
    found = pipeline.evaluate(read_scenario(SCENARIOS / "capacity-proposal.yaml", catalog, sets=sets), catalog)
    excuse = results_frame(found)["excuse"]
    # 200,000 tokens, and the P95 of a normal (300, 100) cut off at zero: 300 + 100 x 1.6455 = 464.6
    assert excuse.str.contains("Requests of 200,465 tokens .P95. exceed the context of llama-3.3-70b", regex=True).any()
    assert not found.candidates["feasible"].any()
    assert len(found.shortlist) == 0


def test_two_methods_are_evaluated_and_the_first_decides(catalog: Catalog) -> None:
    sets = ["method=[roofline, rule-of-thumb]"]
    found = pipeline.evaluate(read_scenario(SCENARIOS / "capacity-proposal.yaml", catalog, sets=sets), catalog)
    assert set(found.candidates["method"]) == {"roofline", "rule-of-thumb"}
    assert set(found.options["method"]) == {"roofline"}
    infeasible = found.candidates[~found.candidates["feasible"]]
    blank = found.excuses[found.excuses["option_id"] == ""]
    assert set(zip(blank["method"], blank["candidate_id"], strict=True)) == set(
        zip(infeasible["method"], infeasible["candidate_id"], strict=True)
    )


def test_every_short_listed_option_carries_its_label_band_and_nearest_servers(run: Run) -> None:
    short = run.shortlist
    assert short["label"].isin(["measured", "interpolated", "extrapolated"]).all()
    assert (short["tpot_ms_low"] < short["tpot_ms"]).all()
    assert (short["tpot_ms"] < short["tpot_ms_high"]).all()
    assert (short["cards_needed_low"] <= short["cards_needed"]).all()
    assert (short["cards_needed"] <= short["cards_needed_high"]).all()
    near = run.evidence.groupby("option_id")
    assert set(near.groups) == set(short["option_id"])
    assert near["distance"].apply(lambda distances: distances.is_monotonic_increasing).all()


def test_a_model_of_a_measured_shape_counts_as_measured(catalog: Catalog) -> None:
    """Llama 3.3 70B was not in the table on H200 in FP8; Llama 3.1 70B, the same to a server, was."""
    found = pipeline.evaluate(read_scenario(SCENARIOS / "capacity-proposal.yaml", catalog), catalog).shortlist
    on_h200 = found[(found["gpu"] == "h200-sxm-141gb") & (found["quantization"] == "fp8")]
    assert (on_h200["label"] == "measured").all()
