"""KV cache of a running request: cases worked by hand, and a plain Monte Carlo that shares no line with the program."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from reports.catalog.records import Catalog, Fact, ModelEntry
from reports.scenario.resident import pairs, resident, resident_mean_tokens, resident_tokens
from reports.scenario.workload import Length

READ: TypeAdapter[Any] = TypeAdapter(Length)


def model(full: float, total: float, window: float = 0) -> ModelEntry:
    numbers = {
        "kv_elements_per_token_full_layers": full,
        "kv_elements_per_token": total,
        "sliding_window_tokens": window,
    }
    facts = {name: Fact(value, None, None, "derived", "x", "2026", True, "high") for name, value in numbers.items()}
    return ModelEntry("m", "M", (), facts)


def workload(prompt: dict[str, Any], answer: dict[str, Any], joint: Any = None) -> Any:
    return SimpleNamespace(input_tokens=length(prompt), output_tokens=length(answer), joint=joint)


def length(numbers: dict[str, Any]) -> Any:
    return READ.validate_python(numbers)


def fixed(tokens: float) -> dict[str, Any]:
    return {"distribution": "fixed", "tokens": tokens}


def monte_carlo(work: Any, shape: ModelEntry, page: float, draws: int = 1_500_000) -> tuple[float, float, float]:
    """Mean and deviation of what is held at a random moment, and the mean at the end, by drawing both."""
    rng = np.random.default_rng(5)
    if work.joint is None:
        prompt = work.input_tokens.quantile(rng.random(draws))
        answer = work.output_tokens.quantile(rng.random(draws))
    else:
        rows = work.joint[rng.integers(len(work.joint), size=draws)]
        prompt, answer = rows[:, 0].astype(float), rows[:, 1].astype(float)
    chosen = rng.choice(draws, size=draws, p=answer / answer.sum())  # a long answer is met more often
    full, total = shape.value("kv_elements_per_token_full_layers"), shape.value("kv_elements_per_token")
    window = shape.value("sliding_window_tokens")

    def held(tokens: Any) -> Any:
        pages = np.ceil(tokens / page) * page if page else tokens
        most = math.ceil(window / page) * page if page else window
        return full * pages + (total - full) * np.minimum(pages, most)

    now = held(prompt[chosen] + rng.random(draws) * answer[chosen])
    return float(now.mean()), float(now.std()), float(held(prompt + answer).mean())


def test_fixed_lengths_hold_half_the_answer_and_spread_over_it() -> None:
    """I + O / 2 and O / sqrt(12), times 3 elements a token."""
    found = resident(workload(fixed(1000), fixed(240)), model(3, 3), 0)
    assert found.mean_elements == pytest.approx(3 * 1120)
    assert found.deviation_elements == pytest.approx(3 * 240 / math.sqrt(12))
    assert found.full_elements == found.full_p95_elements == pytest.approx(3 * 1240)


def test_pages_by_hand() -> None:
    """10 + 12 tokens in pages of 16: one page for the first 6 tokens of the answer, two for the other 6: mean 24,
    deviation 8, 32 at the end."""
    found = resident(workload(fixed(10), fixed(12)), model(1, 1), 16)
    assert (found.mean_elements, found.deviation_elements) == pytest.approx((24, 8))
    assert found.full_elements == 32


def test_a_sliding_window_by_hand() -> None:
    """80 + 40 tokens, window 100: 20 tokens of the answer below it, 20 at it. Mean in a sliding layer 90 x 1/2 + 100 x
    1/2 = 95, in a full one 100; with 2 full and 1 sliding element a token 295. At the end 2 x 120 + 100."""
    found = resident(workload(fixed(80), fixed(40)), model(2, 3, 100), 0)
    assert found.mean_elements == pytest.approx(295)
    # squares: 3 (80 + u) for u in 0..20, then 2 (100 + u) + 100: 9 (100^3 - 80^3) / 3 and (340^3 - 300^3) / 6, over 40
    square = (9 * (100**3 - 80**3) / 3 + (340**3 - 300**3) / 6) / 40
    assert found.deviation_elements == pytest.approx(math.sqrt(square - 295**2))
    assert found.full_elements == pytest.approx(340)


def test_long_answers_are_met_more_often() -> None:
    """Half of the answers have 100 tokens, half 300, no prompt to speak of: a running one is long in 3 of 4 cases, so
    the mean is 1 + (50 + 3 x 150) / 4 = 126, not 101."""
    joint = np.array([[1, 100], [1, 300]])
    found = resident(workload(fixed(1), fixed(200), joint), model(1, 1), 0)
    assert found.mean_elements == pytest.approx(126)
    assert resident_mean_tokens(workload(fixed(1), fixed(200), joint)) == pytest.approx(126)


def test_pairs_of_a_trace_count_how_prompts_and_answers_go_together() -> None:
    """Long prompts with long answers: 1000 + 150 in 3 of 4 moments, 10 + 50 in one: mean 877.5; parted, 643.75."""
    joint = np.array([[10, 100], [1000, 300]])
    assert resident(workload(fixed(505), fixed(200), joint), model(1, 1), 0).mean_elements == pytest.approx(877.5)


@pytest.mark.parametrize("page", [0, 16])
@pytest.mark.parametrize("shape", [model(2, 2), model(1, 4, 512)], ids=["full", "sliding"])
@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ({"distribution": "uniform", "low": 100, "high": 3000}, fixed(500)),
        ({"distribution": "normal", "mean": 800, "deviation": 500}, {"distribution": "uniform", "low": 1, "high": 900}),
        (
            {"distribution": "long_tail", "mean": 512, "p95": 2048},
            {"distribution": "long_tail", "mean": 256, "p95": 900},
        ),
        (
            {"distribution": "percentiles", "mean": 2048, "p50": 1469, "p95": 7303, "p99": 7436},
            {"distribution": "histogram", "edges": [1, 20, 400], "weights": [3, 1]},
        ),
    ],
    ids=["uniform", "normal", "long_tail", "percentiles"],
)
def test_quadrature_agrees_with_monte_carlo(
    prompt: dict[str, Any], answer: dict[str, Any], shape: ModelEntry, page: float
) -> None:
    work = workload(prompt, answer)
    found = resident(work, shape, page)
    mean, deviation, full = monte_carlo(work, shape, page, 400_000)
    assert found.mean_elements == pytest.approx(mean, rel=0.01)
    assert found.deviation_elements == pytest.approx(deviation, rel=0.02)
    assert found.full_elements == pytest.approx(full, rel=0.01)


def test_the_spread_of_resident_tokens() -> None:
    """Fixed 1000 + 200: uniform from 1000 to 1200."""
    found = resident_tokens(workload(fixed(1000), fixed(200)))
    assert found.mean == pytest.approx(1100)
    assert found.deviation == pytest.approx(200 / math.sqrt(12))
    assert (found.p50, found.p95, found.p99) == pytest.approx((1100, 1190, 1198), rel=1e-3)


def test_shares_of_the_grid_add_up() -> None:
    prompt, answer, share = pairs(workload({"distribution": "long_tail", "mean": 100, "p95": 400}, fixed(7)))
    assert share.sum() == pytest.approx(1)
    assert (prompt * share).sum() == pytest.approx(100, rel=1e-4)
    assert set(answer) == {7}


def test_real_models_hold_what_their_entries_say(catalog: Catalog) -> None:
    """Llama-3.3-70B: 80 layers x 8 KV heads x 128 x 2 = 163,840 elements a token; a latent cache is far smaller."""
    work = workload(fixed(1000), fixed(200))
    llama = resident(work, catalog.models["llama-3.3-70b-instruct"], 0)
    assert llama.mean_elements == pytest.approx(1100 * 163_840)
    latent = resident(work, catalog.models["deepseek-v3"], 0)
    assert latent.mean_elements < llama.mean_elements / 4
