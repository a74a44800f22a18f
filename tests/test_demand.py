"""Demand in every form, from the scenario to requests at once and cards: each worked by hand with Little's law.

Little's law: requests at once = arrivals per second x seconds that a request is served.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scenario_text import GOOD, problems, read

from reports import pipeline
from reports.catalog.records import Catalog
from reports.loads import arrivals, average_utilisation

DEMAND = "demand: {peak_concurrency: 100}"
SMALL = (
    GOOD.replace("{distribution: long_tail, mean: 256, p95: 1024}", "256")
    .replace("[qwen2.5-7b-instruct, deepseek-r1]", "[qwen2.5-7b-instruct]")
    .replace("[fp8, int4]", "[fp8]").replace("[h20-96gb, l40s]", "[l40s]").replace("count: [1, 8]", "count: [1, 2]")
    .replace("ttft_p99_ms", "ttft_ms").replace("[nvlink, pcie]", "[pcie]")
)  # fmt: skip


def stated(demand: str) -> str:
    return SMALL.replace(DEMAND, f"demand: {demand}")


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, catalog: Catalog):
    """Demand as YAML -> the options of the scenario, sized and priced, nothing simulated."""
    monkeypatch.setattr(pipeline, "STAGES", ())
    monkeypatch.setattr(pipeline, "settle", lambda recommended: recommended({}))
    return lambda demand: pipeline.evaluate(read(tmp_path, catalog, stated(demand)), catalog).options


def only(options: pd.DataFrame) -> pd.Series:
    (row,) = (row for _, row in options[options["feasible"].astype(bool)].iterrows())
    return row


# ---- arrivals at the peak ----


@pytest.mark.parametrize(
    ("demand", "per_second"),
    [
        ("{peak_concurrency: 100}", 0.0),  # stated as requests at once: no arrivals are stated
        ("{requests_per_s: 7.5}", 7.5),
        # 90,000 people, 4 % active, 3 requests an hour: 10,800 an hour are 3 a second
        ("{users: {count: 90000, active_share: 0.04, requests_per_hour: 3}}", 3.0),
        # prompts of 512: 1e9 tokens are 1,953,125 requests in 730 h = 2,628,000 s; flat, so the mean is the peak
        ("{tokens_per_month: {input: 1000000000}, hourly_profile: flat}", 1_953_125 / 2_628_000),
        # answers of 256: 1e9 tokens are 3,906,250 requests
        ("{tokens_per_month: {output: 1000000000}, hourly_profile: flat}", 3_906_250 / 2_628_000),
        # both: the one that means more requests counts
        ("{tokens_per_month: {input: 1000000000, output: 100000000}, hourly_profile: flat}", 1_953_125 / 2_628_000),
    ],
)  # fmt: skip
def test_arrivals_of_every_form(tmp_path: Path, catalog: Catalog, demand: str, per_second: float) -> None:
    scenario = read(tmp_path, catalog, stated(demand))
    assert arrivals(scenario.service_axis[0], scenario, catalog) == pytest.approx(per_second, rel=1e-12)


@pytest.mark.parametrize(
    ("hours", "mean"),
    [
        ([1] * 24, 1.0),
        ([1] * 12 + [0] * 12, 0.5),  # twelve hours a day: half of the peak
        ([4] * 8 + [1] * 16, (8 + 16 * 0.25) / 24),
        (([2] * 24) * 5 + ([1] * 24) * 2, (5 + 2 * 0.5) / 7),  # a week whose weekend is half as busy
    ],
    ids=["flat day", "half day", "day", "week"],
)
def test_own_profiles_and_what_they_make_of_a_month(
    tmp_path: Path, catalog: Catalog, hours: list[int], mean: float
) -> None:
    """The peak of a month of tokens is its mean rate over the profile's mean share of the peak."""
    scenario = read(tmp_path, catalog, stated(f"{{tokens_per_month: {{input: 1e9}}, hourly_profile: {hours}}}"))
    service = scenario.service_axis[0]
    assert average_utilisation(service, scenario, catalog) == pytest.approx(mean)
    assert arrivals(service, scenario, catalog) == pytest.approx(1_953_125 / 2_628_000 / mean)
    assert service.workload.profile is not None
    assert len(service.workload.profile.shares) == 168
    assert service.workload.profile.shares.max() == 1


def test_every_named_profile_is_a_week_with_a_peak(tmp_path: Path, catalog: Catalog) -> None:
    for name, entry in catalog.profiles.items():
        scenario = read(tmp_path, catalog, stated(f"{{peak_concurrency: 9, hourly_profile: {name}}}"))
        found = average_utilisation(scenario.service_axis[0], scenario, catalog)
        assert found == pytest.approx(float(np.mean(entry.shares))), name
        assert 0 < found <= 1, name


# ---- requests at once: Little's law ----


def test_requests_at_once_are_those_stated(options) -> None:
    assert only(options("{peak_concurrency: 250}"))["demand_concurrency"] == 250


@pytest.mark.parametrize(
    "demand",
    [
        "{requests_per_s: 3}",
        "{users: {count: 90000, active_share: 0.04, requests_per_hour: 3}}",
        # 3 a second over a month of 2,628,000 s and 512 tokens each, half of the hours idle: twice the mean at the peak
        f"{{tokens_per_month: {{input: {3 * 2_628_000 * 512 / 2:.0f}}}, hourly_profile: {[1] * 12 + [0] * 12}}}",
    ],
    ids=["arrivals", "users", "tokens"],
)
def test_the_same_demand_in_three_forms_is_the_same_answer(options, demand: str) -> None:
    """Three a second each: requests at once are three times the seconds of a request, and the cards are the same."""
    row, first = only(options(demand)), only(options("{requests_per_s: 3}"))
    seconds = row["request_time_s"]
    assert row["demand_concurrency"] == pytest.approx(3 * seconds)
    # a request of 256 tokens takes its first token and at least 255 more: no less than 255 times the time per token
    assert seconds * 1000 >= row["ttft_ms"] * 0.5 + 255 * row["tpot_ms"] * 0.5
    for column in ("demand_concurrency", "units_needed", "cards_needed"):
        assert row[column] == pytest.approx(first[column], rel=1e-9), column


def test_twice_the_arrivals_are_twice_the_requests_at_once(options) -> None:
    one, two = only(options("{requests_per_s: 2}")), only(options("{requests_per_s: 4}"))
    if one["recommended_concurrency"] == two["recommended_concurrency"]:
        assert two["demand_concurrency"] == pytest.approx(2 * one["demand_concurrency"])
    assert two["cards_needed"] >= one["cards_needed"]
    for row in (one, two):  # the least whole units that carry it
        assert row["units_needed"] == np.ceil(row["demand_concurrency"] / row["recommended_concurrency"] - 1e-9)


# ---- what is refused ----


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ("{peak_concurrency: 0}", "demand.peak_concurrency"),
        ("{peak_concurrency: 5, requests_per_s: 1}", "state exactly one of peak_concurrency and requests_per_s"),
        ("{requests_per_s: -1}", "demand.requests_per_s"),
        ("{users: {count: 10, active_share: 1.5, requests_per_hour: 1}}", "demand.users.active_share"),
        ("{users: {count: 10, active_share: 0.5}}", "demand.users.requests_per_hour"),
        ("{tokens_per_month: {}}", "state input, output, or both"),
        (f"{{peak_concurrency: 5, hourly_profile: {[1] * 23}}}", "has 23 numbers; expected 24"),
        (f"{{peak_concurrency: 5, hourly_profile: {[0] * 24}}}", "is 0 at every hour"),
        (f"{{peak_concurrency: 5, hourly_profile: {[1] * 20 + [-1] + [1] * 3}}}", "is below 0 at hour 20"),
        ("{peak_concurrency: 5, hourly_profile: office-hour}", "office-hours"),
        ("{peak_concurrency: 5, growth: {2026-13: 9}}", 'unknown key "2026-13"; expected months such as 2027-01'),
        ("{peak_concurrency: 5, growth: {2026-10: 9}}", "is not after the period"),
        ("{peak_concurrency: 5, growth: {2027-01: -9}}", "an amount is below 0"),
        ("{peak_concurrency: 5, growth: {rate_per_month: -1}}", "leaves nothing"),
        ("{peak_concurrency: 5, growth: {rate_per_month: 0.1, saturation: 4}}", "is not above the demand of today"),
        ("{peak_concurrency: 5, growth: {2027-01: 9, rate_per_month: 0.1}}", "state either amounts by month, or"),
    ],
)
def test_a_demand_that_makes_no_sense_is_named(tmp_path: Path, catalog: Catalog, demand: str, message: str) -> None:
    found = problems(tmp_path, catalog, stated(demand))
    assert any(message in line for line in found), found
    assert all(line.startswith("s.yaml:") for line in found), found
