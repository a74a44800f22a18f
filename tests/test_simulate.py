"""The simulator against queueing theory, a slow second simulator, and what can never happen."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import reference_simulator
from hypothesis import given
from hypothesis import strategies as st

from reports.simulate import arrivals, compiled, kernel
from reports.simulate.engine import Engines, Memory, Requests, StepModel, simulate
from reports.simulate.statistics import interval

SERVICE_MS = 1000.0
STEPS = 2000
"""Decode steps of one mean service: the grid on which the simulator's queue lives is this fine."""


def queue_wait(servers: int, utilisation: float, *, random_service: bool, seed: int, count: int = 120_000) -> float:
    """Mean wait in ms of a queue with ``servers`` places: an engine whose step takes the same for any batch, whose
    prompts cost nothing, and which runs ``servers`` requests at once."""
    rng = np.random.default_rng(seed)
    tick = SERVICE_MS / STEPS
    engines = Engines(StepModel(np.full(servers + 1, tick)), most_running=servers, chunk_tokens=servers + 1)
    answers = np.ceil(rng.exponential(STEPS, count)) if random_service else np.full(count, float(STEPS))
    arrival = arrivals.open_loop(arrivals.unit_gaps(count, 1.0, rng), utilisation * servers / SERVICE_MS * 1000)
    requests = Requests(arrival, np.ones(count, np.int64), answers.astype(np.int64) + 1)
    outcome = simulate(engines, requests, measure=slice(count // 10, count))
    return float((outcome.start_ms - outcome.arrival_ms)[outcome.measured].mean())


def erlang_c(servers: int, load: float) -> float:
    """Probability of waiting in M/M/c (Erlang 1917): load = arrival rate x service time."""
    top = load**servers / math.factorial(servers) / (1 - load / servers)
    return top / (sum(load**k / math.factorial(k) for k in range(servers)) + top)


@pytest.mark.parametrize(
    ("servers", "utilisation", "random_service", "expected"),
    [
        # M/M/1: W_q = rho/(1 - rho) service times; M/D/1: half of it (Pollaczek-Khinchine)
        (1, 0.5, True, 1.0),
        (1, 0.8, True, 4.0),
        (1, 0.5, False, 0.5),
        (1, 0.8, False, 2.0),
        # M/M/c: W_q = C(c, a)/(c - a) service times, worked below from Erlang's formula
        (4, 0.7, True, erlang_c(4, 2.8) / 1.2),
        (16, 0.9, True, erlang_c(16, 14.4) / 1.6),
    ],
)
def test_mean_waits_of_known_queues(servers: int, utilisation: float, random_service: bool, expected: float) -> None:
    waits = [
        queue_wait(servers, utilisation, random_service=random_service, seed=seed) / SERVICE_MS for seed in range(8)
    ]
    mean, low, high = interval(waits)
    # half a tick of the grid is lost to a request that arrives within a step
    assert low - 0.01 * expected - 1 / STEPS <= expected <= high + 0.01 * expected + 1 / STEPS, (mean, low, high)
    assert high - low < 0.25 * expected


def test_erlang_c_itself() -> None:
    assert erlang_c(1, 0.5) == pytest.approx(0.5)  # one server: the utilisation
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)  # two servers, half busy: textbook value


@st.composite
def small_cases(draw: st.DrawFn) -> tuple[Engines, Requests]:
    count = draw(st.integers(1, 25))
    lengths = st.lists(st.integers(1, 40), min_size=count, max_size=count)
    prompt, answer = np.array(draw(lengths)), np.array(draw(lengths))
    cached = np.minimum(np.array(draw(st.lists(st.integers(0, 20), min_size=count, max_size=count))), prompt - 1)
    memory = Memory(
        page_tokens=draw(st.sampled_from([1, 4, 16])),
        full=draw(st.sampled_from([1.0, 3.0])),
        sliding=draw(st.sampled_from([0.0, 2.0])),
        window_tokens=draw(st.sampled_from([0, 8, 30])),
        constant=draw(st.sampled_from([0.0, 5.0])),
    )
    largest = float(memory.held(prompt + answer - 1).max())
    capacity = draw(st.sampled_from([largest, 1.3 * largest, 3 * largest, math.inf]))
    most_running = draw(st.sampled_from([1, 3, 50]))
    chunk = draw(st.sampled_from([1, 2, 7, 64, 1000]))
    # binary fractions: sums of step times are exact in any order, so both simulators meet the same ties
    decode = 1.0 + 0.25 * np.arange(52)
    step = StepModel(
        decode,
        prefill_ms_per_token=draw(st.sampled_from([0.0, 0.125])),
        prefill_ms_per_token_squared=draw(st.sampled_from([0.0, 1 / 256])),
        least_prefill_ms=draw(st.sampled_from([0.0, 0.5])),
        prefill_stall_factor=draw(st.sampled_from([1.0, 1.25])),
        context_ms_per_token=draw(st.sampled_from([0.0, 1 / 128])),
        context_mean_tokens=16.0,
    )
    in_flight = draw(st.sampled_from([0, 0, 1, 4]))
    in_flight = in_flight if in_flight <= count else 0
    engines = Engines(
        step,
        replace(memory, capacity=capacity, reserving=draw(st.booleans())),
        # closed loops of several engines tie at every turn, and who goes first is then a matter of taste
        count=draw(st.integers(1, 3)) if not in_flight else 1,
        route=draw(st.sampled_from(["round-robin", "least-loaded"])),
        most_running=most_running,
        chunk_tokens=chunk,
    )
    closed = draw(st.integers(in_flight, count)) if in_flight else 0
    gaps = np.array(draw(st.lists(st.integers(0, 400), min_size=count, max_size=count))) / 16.0
    arrival = np.concatenate([np.cumsum(gaps[:closed]), np.cumsum(gaps[closed:])])
    return engines, Requests(arrival, prompt, answer, cached, in_flight, closed)


@given(small_cases())
def test_same_as_step_by_step_and_never_impossible(case: tuple[Engines, Requests]) -> None:
    engines, requests = case
    jobs, peak = reference_simulator.run(engines, requests)
    outcome = simulate(engines, requests)
    np.testing.assert_allclose(outcome.arrival_ms, [job.arrival for job in jobs], rtol=0, atol=1e-9)
    np.testing.assert_allclose(outcome.start_ms, [job.start for job in jobs], rtol=0, atol=1e-9)
    np.testing.assert_allclose(outcome.first_ms, [job.first for job in jobs], rtol=0, atol=1e-9)
    np.testing.assert_allclose(outcome.end_ms, [job.end for job in jobs], rtol=0, atol=1e-9)
    assert outcome.preempted.tolist() == [job.preempted for job in jobs]
    assert outcome.memory_peak <= engines.memory.capacity
    assert outcome.memory_peak == pytest.approx(peak)
    # every request leaves once, in order: arrival, start, first token, end
    assert np.all(outcome.arrival_ms <= outcome.start_ms)
    assert np.all(outcome.start_ms <= outcome.first_ms)
    assert np.all(outcome.first_ms <= outcome.end_ms)
    assert np.all(np.isfinite(outcome.end_ms))
    # Little's law: what the clock added up is what the requests report
    assert outcome.request_ms == pytest.approx(float((outcome.end_ms - outcome.arrival_ms).sum()), abs=1e-6)
    # preemption only where memory is short
    if engines.memory.capacity == math.inf or engines.memory.reserving:
        assert outcome.preemptions == 0


def mixed_load(count: int = 3000, seed: int = 5) -> Requests:
    rng = np.random.default_rng(seed)
    arrival = arrivals.open_loop(arrivals.unit_gaps(count, 1.0, rng), 20.0)
    return Requests(arrival, rng.integers(50, 800, count), rng.integers(1, 300, count))


CARD = StepModel(
    10 + 0.05 * np.arange(257),
    prefill_ms_per_token=0.03,
    prefill_ms_per_token_squared=1e-6,
    least_prefill_ms=8.0,
    context_ms_per_token=1e-4,
    context_mean_tokens=500.0,
    before_first_ms=15.0,
)


def engines_of(capacity: float, count: int = 1, route: str = "round-robin") -> Engines:
    return Engines(CARD, Memory(capacity, page_tokens=16), count, route, most_running=256, chunk_tokens=2048)


def test_an_engine_never_idles_while_a_request_waits() -> None:
    outcome = simulate(engines_of(60_000), mixed_load())
    order = np.argsort(outcome.arrival_ms)
    busy, until = 0.0, 0.0
    for begin, finish in zip(outcome.arrival_ms[order], outcome.end_ms[order] - CARD.before_first_ms, strict=True):
        busy += max(0.0, finish - max(begin, until))  # the union of all stays is when the engine must compute
        until = max(until, finish)
    # measured from the first arrival to the last event
    assert outcome.busy_share * outcome.span_ms == pytest.approx(busy, rel=1e-9)


def test_littles_law_from_two_sides_of_a_long_run() -> None:
    requests = mixed_load(20_000)
    outcome = simulate(engines_of(math.inf), requests, measure=slice(2000, 18_000))
    stay = (outcome.answer_ms - CARD.before_first_ms).mean()
    rate = 16_000 / (outcome.arrival_ms[18_000] - outcome.arrival_ms[2000])
    # L from the clock, lambda and W from the requests; what hangs over the edges of the window is left
    assert outcome.waiting + outcome.running == pytest.approx(rate * stay, rel=0.01)


def test_short_memory_preempts_and_enough_memory_never_does() -> None:
    requests = mixed_load()
    roomy = simulate(engines_of(math.inf), requests)
    tight = simulate(engines_of(0.6 * roomy.memory_peak), requests)
    exact = simulate(engines_of(roomy.memory_peak), requests)
    assert roomy.preemptions == exact.preemptions == 0
    assert roomy.preempted.sum() == 0
    np.testing.assert_array_equal(roomy.end_ms, exact.end_ms)
    assert tight.preemptions == tight.preempted.sum() > 0
    assert tight.memory_peak <= 0.6 * roomy.memory_peak
    assert tight.answer_ms.mean() > roomy.answer_ms.mean()


def test_a_prefix_hit_saves_time_and_not_memory() -> None:
    plain = mixed_load()
    hits = Requests(plain.arrival_ms, plain.input_tokens, plain.output_tokens, plain.input_tokens // 2)
    with_hits, without = simulate(engines_of(math.inf), hits), simulate(engines_of(math.inf), plain)
    assert with_hits.ttft_ms.mean() < without.ttft_ms.mean()
    one = Requests(np.zeros(1), np.array([1000]), np.array([1]), np.array([600]))
    # 1000 tokens less the first 600: 0.03 x 400 + 1e-6 x (1000² - 600²) = 12.64 ms, and 15 ms outside the engine
    assert simulate(engines_of(math.inf), one).ttft_ms[0] == pytest.approx(27.64)


def test_one_request_alone_by_hand() -> None:
    requests = Requests(np.array([100.0]), np.array([3000]), np.array([4]))
    outcome = simulate(engines_of(math.inf), requests)
    # two chunks: 2048 tokens 0.03 x 2048 + 2048²/1e6 = 65.634 ms; to 3000: 99 - 65.634 = 33.366 ms; 15 ms outside
    assert outcome.ttft_ms[0] == pytest.approx(114.0)
    # three more steps at b = 1, contexts 3001, 3002, 3003: 10.05 + 1e-4 x (3002 - 500) on average = 10.3002 ms
    assert outcome.tpot_ms[0] == pytest.approx(10.3002)
    assert outcome.answer_ms[0] == pytest.approx(114.0 + 3 * 10.3002)
    assert outcome.memory_peak == 3008  # 3003 tokens in pages of 16


def test_two_engines_share_the_work() -> None:
    requests = mixed_load()
    in_turn = simulate(engines_of(math.inf, 2), requests)
    assert np.bincount(in_turn.engine).tolist() == [1500, 1500]
    least = simulate(engines_of(math.inf, 2, "least-loaded"), requests)
    alone = simulate(engines_of(math.inf), requests)
    assert least.answer_ms.mean() <= in_turn.answer_ms.mean() * 1.01 < alone.answer_ms.mean()


def test_burst_closed_loop_and_replay() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 50, 200), rng.integers(1, 50, 200)
    burst = simulate(engines_of(math.inf), Requests(arrivals.at_once(200), *lengths))
    assert burst.start_ms.min() == 0.0
    assert burst.ttft_ms.max() > burst.ttft_ms.min()
    first = np.concatenate([arrivals.staggered(8, 400.0), np.zeros(192)])
    closed = simulate(engines_of(math.inf), Requests(first, *lengths, in_flight=8, closed=200))
    assert closed.arrival_ms[:8].tolist() == [0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0, 350.0]
    # the others arrive at the very moment one leaves
    arrival, end = closed.arrival_ms, np.round(closed.end_ms - CARD.before_first_ms, 6)
    assert set(np.round(arrival[8:], 6)) <= set(end)
    arrival = np.round(arrival, 6)
    assert max(((arrival <= moment) & (end > moment)).sum() for moment in arrival) == 8
    trace = np.array([0.0, 0.0, 5.0, 5.5, 90.0])
    replay = simulate(engines_of(math.inf), Requests(trace, lengths[0][:5], lengths[1][:5]))
    assert replay.arrival_ms.tolist() == trace.tolist()


def test_gaps_have_the_stated_burstiness() -> None:
    for scv in (0.0, 0.25, 1.0, 4.0):
        gaps = arrivals.unit_gaps(200_000, scv, np.random.default_rng(3))
        assert gaps.mean() == pytest.approx(1.0, abs=0.02)
        assert gaps.var() / gaps.mean() ** 2 == pytest.approx(scv, rel=0.05, abs=1e-12)
    bursty, even = (
        simulate(
            engines_of(math.inf),
            Requests(
                arrivals.open_loop(arrivals.unit_gaps(3000, scv, np.random.default_rng(1)), 20.0),
                mixed_load().input_tokens,
                mixed_load().output_tokens,
            ),
        )
        for scv in (8.0, 0.0)
    )
    assert np.quantile(bursty.ttft_ms, 0.99) > 1.5 * np.quantile(even.ttft_ms, 0.99)


@pytest.mark.parametrize(("z", "share"), [(1.0, 0.1587), (1.645, 0.05), (2.326, 0.01)])
def test_memory_of_many_requests_overflows_as_often_as_the_normal_law_says(z: float, share: float) -> None:
    """B requests exceed B mu + z sigma sqrt(B) in about 1 - Phi(z) of the time."""
    rng = np.random.default_rng(11)
    count, batch, prompt = 40_000, 100, 200
    answer = rng.integers(1, 401, count)
    # held by a running request, averaged over its life: 200 + k, k = 1..O-1, O uniform on 1..400 (sums by hand)
    weights = [(200 + k, 400 - k) for k in range(1, 400)]  # answers longer than k
    total = sum(w for _, w in weights)
    mu = sum(x * w for x, w in weights) / total
    sigma = math.sqrt(sum((x - mu) ** 2 * w for x, w in weights) / total)
    watched = batch * mu + z * sigma * math.sqrt(batch)
    engines = Engines(
        StepModel(np.full(batch + 1, 10.0)), Memory(watched=watched), most_running=batch, chunk_tokens=100_000
    )
    first = np.concatenate([arrivals.staggered(batch, 2000.0), np.zeros(count - batch)])
    requests = Requests(first, np.full(count, prompt), answer, in_flight=batch, closed=count)
    outcome = simulate(engines, requests, measure=slice(2000, count - 1000))
    assert outcome.running == pytest.approx(batch, rel=0.02)
    assert outcome.memory_used == pytest.approx(batch * mu, rel=0.02)
    assert 0.6 * share < outcome.memory_over_share < 1.5 * share


def test_same_seed_same_numbers_in_every_process() -> None:
    code = (
        "import sys; sys.path[:0] = ['tests'];"
        "from test_simulate import engines_of, mixed_load; from reports.simulate.engine import simulate;"
        "o = simulate(engines_of(60_000, 2, 'least-loaded'), mixed_load());"
        "print(repr(o.end_ms.sum()), repr(o.memory_used), o.preemptions)"
    )
    outcome = simulate(engines_of(60_000, 2, "least-loaded"), mixed_load())
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=".").stdout
    assert said.strip() == f"{outcome.end_ms.sum()!r} {outcome.memory_used!r} {outcome.preemptions}"
    other = simulate(engines_of(60_000, 2, "least-loaded"), mixed_load(seed=6))
    assert other.end_ms.sum() != outcome.end_ms.sum()


def test_without_the_compiler_the_numbers_are_the_same() -> None:
    code = (
        "import sys; sys.modules['numba'] = None; sys.path[:0] = ['tests'];"
        "from test_simulate import engines_of, mixed_load; from reports.simulate.engine import simulate;"
        "o = simulate(engines_of(9_000), mixed_load(300)); print(repr(o.end_ms.sum()), o.preemptions)"
    )
    outcome = simulate(engines_of(9_000), mixed_load(300))
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=".").stdout
    assert said.strip() == f"{outcome.end_ms.sum()!r} {outcome.preemptions}"


def test_what_can_never_run_is_refused() -> None:
    big = Requests(np.zeros(1), np.array([100]), np.array([50]))
    with pytest.raises(ValueError, match="a request needs 160 of the 144 an engine holds"):
        simulate(engines_of(144), big)
    with pytest.raises(ValueError, match="arrival times"):
        simulate(engines_of(math.inf), Requests(np.array([1.0, 0.0]), np.ones(2, int), np.ones(2, int)))
    with pytest.raises(ValueError, match="at least one token"):
        simulate(engines_of(math.inf), Requests(np.zeros(1), np.zeros(1, int), np.ones(1, int)))
    with pytest.raises(ValueError, match="last token of a prompt"):
        simulate(engines_of(math.inf), Requests(np.zeros(1), np.ones(1, int), np.ones(1, int), np.ones(1, int)))


def test_where_no_cache_is_writable_every_process_compiles() -> None:
    asked = []

    class Compiler:
        """Refuses to cache, as numba does where it finds no folder."""

        @staticmethod
        def njit(function: object, *, cache: bool = False, **options: object) -> object:
            asked.append((cache, options))
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return function

    assert compiled._compiled(Compiler).__code__ is kernel.simulate.__code__  # type: ignore[attr-defined]
    assert [cache for cache, _ in asked] == [True, False] * len(kernel.FUNCTIONS)
    assert all(options == {"nogil": True, "error_model": "numpy"} for _, options in asked)
    assert compiled._compiled(None) is kernel.simulate
