"""Waits and percentiles: against queues whose answer is known, worked by hand, and what must hold for every model."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_replica import at_batch, columns
from scenario_text import GOOD, read

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.evaluate import compile_blocks, run_program
from reports.formulas import latency, per_token, waiting, work
from reports.matrix import expand, leaf_names
from reports.methods import METHODS, ROOFLINE, Block

P95, P99, MEAN = 0.05, 0.01, 1.0
Z95, Z99 = 1.6449, 2.3263
OPEN = {"closed_loop_flag": 0, "interarrival_scv": 1.0}


def arriving(scv: float) -> dict[str, float]:
    """An open loop with this squared coefficient of variation between arrivals."""
    return {**OPEN, "interarrival_scv": scv}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def gated(utilisation: float, variation: float = 0.0, step: float = 10.0, prompt: float = 20.0) -> dict[str, float]:
    """The step that an arrival meets, and its mean wait for the prompt, for arrivals at random."""
    idle = waiting.prefill_idle_ratio(utilisation, 0.99)
    deviation = waiting.prefill_deviation_ms(utilisation, idle, prompt, step, variation)
    met = waiting.gated_step_ms(step, idle, deviation)
    return {"deviation": deviation, "met": met, "wait": waiting.prefill_wait_ms(met, utilisation, 0.0)}


def test_the_gated_queue_by_hand() -> None:
    """Steps of 10 ms, prompts of 20 ms for half of the time, nothing varies: 20 ms long, half of it is left and half
    of it are others' prompts: 20 ms. Poisson arrivals of equal prompts (ca2 + cp2 = 1): variance 0.5 x 20 x 20 x 1 /
    (1 - 0.25) = 266.7 ms2, met length 20 + 266.7 / 20 = 33.33 ms, wait as long."""
    plain = gated(0.5)
    assert (plain["met"], plain["wait"]) == (20, 20)
    varied = gated(0.5, 1.0)
    assert varied["deviation"] ** 2 == pytest.approx(800 / 3)
    assert varied["met"] == varied["wait"] == pytest.approx(100 / 3)
    assert gated(0.0, 1.0)["wait"] == 5  # nothing but half of a step


def test_the_gated_queue_is_that_of_a_small_simulation() -> None:
    """Steps of 10 ms that take in what came during the one before, 20 ms each, Poisson arrivals at u = 0.6: the wait
    from arrival to the step's end, less the own prompt and step, within 3 %."""
    rng = np.random.default_rng(5)
    length, spent, came = 10.0, 0.0, 0
    for _ in range(200_000):
        number = int(rng.poisson(0.03 * length))
        after = 10.0 + 20.0 * number
        spent += float((length * (1 - rng.random(number))).sum()) + number * (after - 30.0)
        came, length = came + number, after
    assert gated(0.6, 1.0)["wait"] == pytest.approx(spent / came, rel=0.03)


def test_clumps_by_hand() -> None:
    """ca2 = 4, 0.5 arrivals in a step: of 3 more the fourth root of 0.5 / 8.5, 0.4925, so 1.4774 prompts of 20 ms."""
    assert waiting.clump_wait_ms(20.0, 4.0, 10.0, 50.0, 1000.0) == pytest.approx(29.549, abs=0.001)
    assert waiting.clump_wait_ms(20.0, 1.0, 10.0, 50.0, 1000.0) == 0
    assert per_token.group_arrival_scv(4.0, 3, 2, 1) == 1.5  # every sixth of them
    assert per_token.prompt_variation_ratio(1.5, 200.0, 100.0) == 5.5


def test_utilisation_is_arrivals_over_what_all_places_serve() -> None:
    """A request runs 1000 + 20 B ms among B others: with 50 others 2020 ms, itself included. Arrivals 50 / 2.02; with
    all 100 places 100 / 3: 0.7426."""
    crowd = waiting.crowding_ratio(50.0, 20.0, 2020.0)
    assert crowd == pytest.approx(1000 / 2020)
    assert waiting.place_utilisation_ratio(50.0, 100.0, crowd) == pytest.approx(50 / 2.02 / (100 / 3), rel=1e-9)
    assert waiting.place_utilisation_ratio(50.0, 100.0, 0.0) == 0.5  # nobody slows another
    assert waiting.place_utilisation_ratio(100.0, 100.0, 0.3) == 1


def erlang_c(servers: int, utilisation: float) -> float:
    """P(wait) of M/M/c, from its definition."""
    offered = servers * utilisation
    full = offered**servers / math.factorial(servers) / (1 - utilisation)
    return full / (full + sum(offered**k / math.factorial(k) for k in range(servers)))


@pytest.mark.parametrize("servers", [1, 2, 3, 8, 32, 100])
@pytest.mark.parametrize("utilisation", [0.5, 0.7, 0.8, 0.9])
def test_places_alone_are_near_erlang(servers: int, utilisation: float) -> None:
    """Mean wait of M/M/c: within 20 %, or a fiftieth of the time of one where waits are short."""
    taken = servers * utilisation
    distance = waiting.place_distance_ratio(servers, taken, 1, 0.0, 1.0)
    wait = waiting.place_wait_ms(1.0, taken, servers, 1.0, 100.0, 100.0, 1, utilisation, 0.99)
    exact = erlang_c(servers, utilisation) / (servers * (1 - utilisation))
    assert waiting.place_wait_ratio(distance) * wait == pytest.approx(exact, rel=0.2, abs=0.02)


def test_a_shared_server_spreads_what_runs() -> None:
    """Processor sharing of q = 0.75 doubles the deviation of 100 places from 10 to 20, a burstiness of 3 once more
    by root 2; four replicas halve it."""
    assert waiting.place_distance_ratio(100.0, 60.0, 1, 0.0, 1.0) == pytest.approx(4)
    assert waiting.place_distance_ratio(100.0, 60.0, 1, 0.75, 1.0) == pytest.approx(2)
    assert waiting.place_distance_ratio(100.0, 60.0, 1, 0.75, 3.0) == pytest.approx(2**0.5)
    assert waiting.place_distance_ratio(100.0, 60.0, 4, 0.75, 1.0) == pytest.approx(4)


def test_what_one_more_request_costs_the_others() -> None:
    """100 tokens of 0.03 ms cache each and a stall of 50 ms on two groups: 3 + 25 ms; compute-bound 20 more."""
    same = {"output_mean_tokens": 100.0, "token_step_factor": 1.0, "dense_read_ms": 8.0, "dense_request_ms": 0.2,
            "expert_ms": 0.0, "expert_read_ms": 0.0, "experts_touched": 0.0, "expert_request_ms": 0.0,
            "step_request_ms": 0.03, "stall_ms": 50.0, "pipeline_parallel": 1, "data_parallel": 2}  # fmt: skip
    assert waiting.running_growth_ms(dense_ms=8.0, **same) == pytest.approx(28)
    assert waiting.running_growth_ms(dense_ms=9.0, **same) == pytest.approx(48)


def test_the_tail_of_one_place_is_exact() -> None:
    """M/M/1 with u = 0.8 and 1 ms: P(wait > t) = 0.8 exp(-0.2 t); 5 % wait longer than ln(16) / 0.2 = 13.86 ms, which
    is 9.86 ms more than the mean of 4."""
    def more(share: float) -> float:
        return float(latency.ttft_queue_ms(0, 0.0, share, 0.0, 0.0, 0.8, 5.0))

    assert more(P95) == pytest.approx(math.log(16) / 0.2 - 4)
    assert more(0.8) == more(MEAN) == 0


def test_prompts_of_the_same_step_have_an_exponential_tail() -> None:
    """Deviations of 30 and 40 ms together 50: at P95 50 x (ln 20 - 1) = 99.79 ms beyond the mean."""
    assert latency.ttft_queue_ms(0, 0.0, P95, 30.0, 40.0, 0.0, 0.0) == pytest.approx(99.787, abs=0.001)


def test_a_closed_loop_has_the_exponential_tail_of_its_mean() -> None:
    """Mean 10 ms: 5 % wait longer than 10 ln 20 = 29.96 ms, 19.96 ms more than the mean."""
    assert latency.ttft_queue_ms(1, 10.0, P95, 1.0, 1.0, 0.5, 1.0) == pytest.approx(19.957, abs=0.001)


def test_the_slowest_of_a_burst_is_the_last_in_the_order() -> None:
    """Eight prompts of 20 ms: the mean waits for half of 160 ms, P95 for 152 ms, after 30 ms of start."""
    assert waiting.burst_wait_ms(8, 1, 20.0) == 160
    mean = waiting.ttft_ms(1, 30.0, 160.0, 1, 1.0, 1.0, 0.0, 0.0, 0.0)
    assert mean == 110
    slow = [float(latency.ttft_tail_ms(mean, 1, 30.0, 160.0, share, 1, 1, 1, 1)) for share in (MEAN, P95)]
    assert slow == [110, 30 + 0.95 * 160]


def test_a_long_prompt_a_long_queue_and_a_step_just_begun_are_late_together() -> None:
    """Mean 200 ms, a prompt 300 ms longer at P95, 400 ms more of queue, of a step of 100 ms 95 instead of 50: 945 ms.
    In a closed loop as if independent: 200 + root of 300² + 400² = 700 ms."""
    assert work.prompt_excess_ms(400.0, 90.0, 100.0) == 300
    assert work.prompt_excess_ms(80.0, 90.0, 60.0) == 0  # a short prompt takes one read of the weights all the same
    assert latency.ttft_tail_ms(200.0, 0, 0, 0, P95, 0, 100.0, 300.0, 400.0) == pytest.approx(945)
    assert latency.ttft_tail_ms(200.0, 0, 0, 0, P95, 1, 100.0, 300.0, 400.0) == pytest.approx(700)


def test_attention_of_prompts_that_vary_goes_by_the_mean_of_squares() -> None:
    """A deviation as large as the mean doubles it; sparse attention is linear. A prompt of three times the mean, 100 ms
    of which 40 are attention (20 for one of the mean length): 3 x 60 + 9 x 20 = 360 ms."""
    fixed = work.prefill_attention_ms(1.0, 0, 0.0, 1000.0, 1000.0, 0.5, 1)
    assert work.prefill_attention_ms(1.0, 0, 1000.0, 1000.0, 1000.0, 0.5, 1) == 2 * fixed
    assert work.prefill_attention_ms(1.0, 8, 1000.0, 1000.0, 1000.0, 0.5, 1) == fixed
    assert work.prefill_tail_ms(100.0, 40.0, 3000.0, 1000.0, 1000.0, 0) == pytest.approx(360)


def test_the_number_that_runs_varies_as_arrivals_do() -> None:
    """Poisson: the root of 64 is 8; twice as bursty, of 96; a closed loop keeps it fixed."""
    assert latency.running_deviation_requests(0, 64.0, 1.0) == 8
    assert latency.running_deviation_requests(0, 64.0, 2.0) == pytest.approx(96**0.5)
    assert latency.running_deviation_requests(1, 64.0, 2.0) == 0
    assert latency.crowd_requests(64.0, 2.0, 8.0, 1000.0) == 80
    assert latency.crowd_requests(64.0, 2.0, 8.0, 70.0) == 70  # no more places
    assert latency.crowd_requests(64.0, 2.0, 8.0, 50.0) == 64


def test_stalls_by_hand() -> None:
    """Sixteen prompts of equal length at Poisson arrivals: 4; lengths that vary as much again, twice (by 1 + 1), and
    answers too: root of 16 x (1 + 1) x (1 + 1) = 8. In a closed loop of equal lengths one comes for each that goes."""
    assert latency.stall_deviation_requests(16.0, 0, 0.0, 1.0, 1.0, 0.0, 1.0) == 4
    assert latency.stall_deviation_requests(16.0, 0, 1.0, 1.0, 1.0, 1.0, 1.0) == 8
    assert latency.stall_deviation_requests(16.0, 1, 0.0, 1.0, 1.0, 0.0, 1.0) == 0


def test_a_whole_answer_by_hand() -> None:
    """200 ms, 100 tokens of 20 ms: 2.2 s. A P95 answer of 400 tokens takes 6 s more; nothing else is late: 8.2 s. With
    800 ms of queue and 10 ms more a token for the 100: 0.2 + 2 + root of 6² + 1.8² = 8.464 s."""
    assert latency.answer_ms(200.0, 20.0, 100.0) == 2200
    plain = latency.answer_tail_ms(200.0, 20.0, 100.0, 400.0, 0.0, Z95, 0.0, 1.0, 50.0, 20.0)
    assert plain == pytest.approx(8200)
    late = latency.answer_tail_ms(200.0, 20.0, 100.0, 400.0, 800.0, Z95, 0.0, 1.0, 50.0, 30.0)
    assert late == pytest.approx(200 + 2000 + math.hypot(6000, 1800))
    mean = latency.answer_tail_ms(200.0, 20.0, 100.0, 100.0, 0.0, 0.0, 30.0, 100.0, 50.0, 20.0)
    assert mean == 2200


def test_a_closed_loop_with_mean_targets_is_the_fitted_mean(catalog: Catalog) -> None:
    """The statistic named is the mean itself, and the compact step of the percentiles is the sum of the parts."""
    made = at_batch(columns(catalog, "qwen3-30b-a3b", "fp8", "h100-sxm5-80gb", tensor_parallel=2), 37.0)
    assert made["ttft_tail_ms"] == made["ttft_ms"] == made["closed_ttft_ms"]
    assert made["tpot_tail_ms"] == pytest.approx(made["tpot_ms"], rel=1e-12)
    assert made["answer_ms"] == made["ttft_ms"] + 256 * made["tpot_ms"]
    assert made["answer_tail_ms"] == pytest.approx(made["answer_ms"], rel=1e-12)
    drafted = at_batch(
        columns(catalog, "qwen3-30b-a3b", "fp8", "h100-sxm5-80gb", tensor_parallel=2, pipeline_parallel=2,
                data_parallel=2, draft_tokens=3, draft_acceptance_ratio=0.7, draft_step_share=0.05), 37.0,
    )  # fmt: skip
    assert drafted["tpot_tail_ms"] == pytest.approx(drafted["tpot_ms"], rel=1e-12)


BATCHES = np.array([1.0, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987])
WATCHED = tuple(solve.quantity for solve in ROOFLINE.solves)
VARIED = {"input_deviation_tokens": 2048.0, "output_deviation_tokens": 512.0, "input_tail_tokens": 9000.0,
          "output_tail_tokens": 2000.0}  # fmt: skip
SLOWEST = {"tpot_target_z": Z99, "answer_target_z": Z99, "ttft_target_tail_share": P99, "answer_target_tail_share": P99}


@pytest.mark.parametrize("start", [OPEN, {"closed_loop_flag": 1}, {"closed_loop_flag": 1, "burst_flag": 1}])
@pytest.mark.parametrize("lengths", [{}, VARIED], ids=["fixed", "varied"])
def test_p99_is_not_below_p95_nor_p95_below_the_mean(
    catalog: Catalog, start: dict[str, float], lengths: dict[str, float]
) -> None:
    for model in ("llama-3.1-8b-instruct", "deepseek-r1"):
        found = []
        for share, z, factor in ((MEAN, 0.0, 1.0), (P95, Z95, 3.0), (P99, Z99, 4.0)):
            statistic = {"tpot_target_z": z, "answer_target_z": z, "ttft_target_tail_share": share,
                         "answer_target_tail_share": share, "input_tail_tokens": 1024 * factor,
                         "output_tail_tokens": 256 * factor}  # fmt: skip
            values = columns(catalog, model, "fp8", "h200-sxm-141gb", tensor_parallel=8, **start, **lengths | statistic)
            made = at_batch(values, BATCHES)
            found.append([made[name] for name in ("ttft_tail_ms", "tpot_tail_ms", "answer_tail_ms")])
        for mean, slow, slowest in zip(*found, strict=True):
            assert (mean <= slow * (1 + 1e-12)).all()
            assert (slow <= slowest * (1 + 1e-12)).all()


@given(more=st.floats(1, 8), batch=st.integers(1, 500), z=st.sampled_from([0.0, Z95, Z99]))
def test_burstier_arrivals_are_never_faster(catalog: Catalog, more: float, batch: int, z: float) -> None:
    share = {0.0: MEAN, Z95: P95, Z99: P99}[z]
    statistic = {"tpot_target_z": z, "answer_target_z": z, "ttft_target_tail_share": share,
                 "answer_target_tail_share": share}  # fmt: skip
    calm, bursty = (
        at_batch(columns(catalog, "qwen3-14b", "fp8", "h100-sxm5-80gb", **arriving(scv), **statistic),
                 float(batch))
        for scv in (1.0, more)
    )  # fmt: skip
    for name in ("ttft_ms", *WATCHED):
        assert bursty[name] >= calm[name] * (1 - 1e-12), name


EVERYTHING = GOOD.replace("[qwen2.5-7b-instruct, deepseek-r1]", "[{models}]").replace(
    "count: [1, 8]", "count: [1, 2, 4, 8, 16, 32]"
)


@pytest.mark.parametrize("start", [OPEN, {"closed_loop_flag": 1.0}, {"closed_loop_flag": 1.0, "burst_flag": 1.0}])
@pytest.mark.parametrize("statistic", [{}, SLOWEST], ids=["as stated", "P99"])
def test_no_quantity_of_the_search_falls_with_the_batch(
    tmp_path: Path, catalog: Catalog, start: dict[str, float], statistic: dict[str, float]
) -> None:
    """Every model of the catalog on two cards and all their layouts, prompts and answers of very different lengths."""
    scenario = read(tmp_path, catalog, EVERYTHING.replace("{models}", ", ".join(sorted(catalog.models))))
    space = expand(scenario, catalog, METHODS["roofline"])
    changes: dict[str, Any] = VARIED | start | statistic
    space = replace(space, constants={**space.constants, **changes})
    names = leaf_names(METHODS["roofline"])
    values: dict[str, Any] = dict(space.gather(names, *space.layout_rows(0, len(space))))
    chain = next(block for block in ROOFLINE.after if block.batch)
    with np.errstate(all="ignore"):
        run_program(compile_blocks(ROOFLINE.before, values), values)
        program = compile_blocks([Block("", chain.formulas)], [*values, "batch_requests"])
        before: dict[str, Any] = {}
        for batch in BATCHES:
            made = dict(values, batch_requests=batch)
            run_program(program, made)
            for name in WATCHED:
                if before:
                    fell = made[name] < before[name] * (1 - 1e-12)
                    assert not np.any(fell), (name, batch, int(np.sum(fell)))
            before = made


def test_prefix_hits_and_drafts_change_what_they_should(catalog: Catalog) -> None:
    """Half of the prompt cached: half of its products, and attention over I x I x (1 - 1/4) / 2, not I x I / 2."""
    plain = columns(catalog, "llama-3.1-8b-instruct", "fp16", "h100-sxm5-80gb")
    half = columns(catalog, "llama-3.1-8b-instruct", "fp16", "h100-sxm5-80gb", prefix_hit_share=0.5)
    assert half["prefill_matrix_tflop"] == pytest.approx(plain["prefill_matrix_tflop"] / 2)
    assert half["prefill_attention_tflop"] == pytest.approx(plain["prefill_attention_tflop"] * 0.75)
    assert half["memory_requests"] == plain["memory_requests"]  # the cached part is held all the same
    # 0.7 accepted, three drafts: (1 - 0.7^4) / 0.3 = 2.533 tokens a step
    drafted = columns(catalog, "llama-3.1-8b-instruct", "fp16", "h100-sxm5-80gb", draft_tokens=3,
                      draft_acceptance_ratio=0.7, draft_step_share=0.1)  # fmt: skip
    assert drafted["gained_tokens"] == pytest.approx(2.533)
    assert drafted["token_step_factor"] == pytest.approx(1.3 / 2.533)
    one, four = at_batch(plain, 4.0), at_batch(drafted, 1.0)
    assert four["group_tokens"] == 4
    assert four["dense_ms"] == one["dense_ms"]  # four tokens are multiplied either way
    # alone on the card weights bind: a step is hardly longer, and gains 2.5 tokens
    assert four["tpot_ms"] == pytest.approx(at_batch(plain, 1.0)["tpot_ms"] * 1.3 / 2.533, rel=0.02)


def test_no_drafts_are_exactly_no_drafts(catalog: Catalog) -> None:
    plain = at_batch(columns(catalog, "deepseek-r1", "fp8", "h200-sxm-141gb", tensor_parallel=8), BATCHES)
    asked = at_batch(columns(catalog, "deepseek-r1", "fp8", "h200-sxm-141gb", tensor_parallel=8,
                             draft_acceptance_ratio=0.9, draft_step_share=0.1, draft_tokens=0), BATCHES)  # fmt: skip
    for name in ("step_ms", "tpot_ms", "ttft_ms", *WATCHED):
        assert np.array_equal(plain[name], asked[name]), name


def test_little_and_the_utilisation_of_the_prefill(catalog: Catalog) -> None:
    """Arrivals x time that runs = what runs; arrivals x time of a prompt = share of time that prompts take."""
    made = at_batch(columns(catalog, "qwen3-14b", "fp8", "h100-sxm5-80gb", **OPEN), 40.0)
    arrivals = 40 / made["running_ms"]
    assert made["prefill_utilisation_ratio"] == pytest.approx(arrivals * made["prompt_ms"])
    assert made["queue_utilisation_ratio"] == max(made["prefill_utilisation_ratio"], made["place_utilisation_ratio"])
    closed = at_batch(columns(catalog, "qwen3-14b", "fp8", "h100-sxm5-80gb"), 40.0)
    assert closed["queue_utilisation_ratio"] == 0
