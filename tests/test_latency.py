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
from reports.formulas import latency, waiting
from reports.matrix import expand, leaf_names
from reports.methods import METHODS, ROOFLINE, Block

EXP = {"interarrival_scv": 1.0, "input_deviation_tokens": 100.0, "input_mean_tokens": 100.0}
P95, P99, MEAN = 0.05, 0.01, 1.0
Z95, Z99 = 1.6449, 2.3263
OPEN = {"closed_loop_flag": 0, "interarrival_scv": 1.0}


def arriving(scv: float) -> dict[str, float]:
    """An open loop with this squared coefficient of variation between arrivals."""
    return {**OPEN, "interarrival_scv": scv}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def queue(utilisation: float, servers: int = 1, **changes: float) -> tuple[float, float]:
    """(probability to wait, wait of those that wait) for the prefill, for prompts of 1 ms."""
    chance = waiting.prefill_wait_ratio(utilisation, servers, 1)
    wait = waiting.prefill_wait_ms(1.0, 1, **{**EXP, **changes}, replicas=servers, data_parallel=1,
                                   prefill_utilisation_ratio=utilisation, utilisation_cap=0.99)  # fmt: skip
    return float(chance), float(wait)


@pytest.mark.parametrize("utilisation", [0.1, 0.5, 0.8, 0.9])
def test_one_server_is_the_known_queue(utilisation: float) -> None:
    """M/M/1: P(wait) = u, mean wait u / (1 - u). M/D/1 (Pollaczek-Khinchine): half of it."""
    chance, wait = queue(utilisation)
    assert chance == pytest.approx(utilisation)
    assert chance * wait == pytest.approx(utilisation / (1 - utilisation))
    fixed = queue(utilisation, input_deviation_tokens=0.0)
    assert fixed[0] * fixed[1] == pytest.approx(utilisation / (1 - utilisation) / 2)


def erlang_c(servers: int, utilisation: float) -> float:
    """P(wait) of M/M/c, from its definition."""
    offered = servers * utilisation
    full = offered**servers / math.factorial(servers) / (1 - utilisation)
    return full / (full + sum(offered**k / math.factorial(k) for k in range(servers)))


@pytest.mark.parametrize("servers", [2, 3, 8, 32])
@pytest.mark.parametrize("utilisation", [0.7, 0.8, 0.9])
def test_many_servers_are_near_erlang(servers: int, utilisation: float) -> None:
    """Mean wait of M/M/c: within 10 %, or a fiftieth of the time of one where waits are short."""
    chance, wait = queue(utilisation, servers)
    exact = erlang_c(servers, utilisation) / (servers * (1 - utilisation))
    assert chance * wait == pytest.approx(exact, rel=0.1, abs=0.02)


def tail(share: float, chance: float = 0.8, wait: float = 5.0) -> float:
    return float(latency.ttft_queue_ms(0, 0.0, share, chance, wait, 1e-9, 1.0))


def test_the_tail_of_one_server_is_exact() -> None:
    """M/M/1 with u = 0.8 and 1 ms: P(wait > t) = 0.8 exp(-0.2 t); 5 % wait longer than ln(16) / 0.2 = 13.86 ms."""
    assert tail(P95) == pytest.approx(math.log(16) / 0.2)
    assert tail(0.8) == 0  # a fifth does not wait at all
    assert tail(MEAN) == 0


def test_a_closed_loop_has_the_exponential_tail_of_its_mean() -> None:
    """Mean 10 ms: 5 % wait longer than 10 ln 20 = 29.96 ms."""
    assert latency.ttft_queue_ms(1, 10.0, P95, 0.5, 1.0, 0.5, 1.0) == pytest.approx(29.957, abs=0.001)


def test_the_slowest_of_a_burst_is_the_last_in_the_order() -> None:
    """Eight prompts of 20 ms: the mean waits for half of 160 ms, P95 for 152 ms, after 30 ms of start."""
    assert waiting.burst_wait_ms(8, 1, 20.0) == 160
    mean = waiting.ttft_ms(1, 30.0, 160.0, 1, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    assert mean == 110
    slow = [float(latency.ttft_tail_ms(mean, 1, 30.0, 160.0, share, 1, 1, 1, 1, 1, 1, 1, 0)) for share in (MEAN, P95)]
    assert slow == [110, 30 + 0.95 * 160]


def test_a_long_prompt_and_a_long_queue_are_late_independently() -> None:
    """Prompt of 100 ms on average and 400 ms at P95, queue of 400 ms at P95: 50 + root of 300² + 400² = 550 ms."""
    late = latency.ttft_tail_ms(200.0, 0, 0, 0, P95, 0, 0, 0, 50.0, 400.0, 10.0, 100.0, 400.0)
    assert late == pytest.approx(550)


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
    assert made["queue_utilisation_ratio"] == made["prefill_utilisation_ratio"]
    closed = at_batch(columns(catalog, "qwen3-14b", "fp8", "h100-sxm5-80gb"), 40.0)
    assert closed["queue_utilisation_ratio"] == 0
