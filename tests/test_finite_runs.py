"""A run to finish, so many requests within so many hours: from the scenario to requests at once, cards and tokens.

By hand with Little's law: to answer n requests of t seconds each in T seconds, n t / T are in flight; the tail at the
end, in which the longest answers run alone, is taken off T.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from scenario_text import GOOD, problems, read

from reports import pipeline
from reports.catalog.records import Catalog
from reports.catalog.select import assumption
from reports.formulas import sizing
from reports.given import demand_values, workload_values
from reports.loads import average_utilisation
from reports.render.i18n import translator
from reports.render.view_options import _demand as demand_sentence
from reports.render.view_workload import demands
from reports.render.wording import Wording
from reports.run import Run
from reports.scenario.demand import curve_of
from reports.sensitivity.inputs import uncertain

DEMAND = "demand: {peak_concurrency: 100}"
SMALL = (
    GOOD.replace("{distribution: long_tail, mean: 256, p95: 1024}", "256")
    .replace("[qwen2.5-7b-instruct, deepseek-r1]", "[qwen2.5-7b-instruct]")
    .replace("[fp8, int4]", "[fp8]").replace("[h20-96gb, l40s]", "[l40s]").replace("count: [1, 8]", "count: [1]")
    .replace("ttft_p99_ms: 2000", "ttft_ms: 20000").replace("[nvlink, pcie]", "[pcie]")
)  # fmt: skip


def stated(demand: str) -> str:
    return SMALL.replace(DEMAND, f"demand: {demand}")


def evaluated(monkeypatch: pytest.MonkeyPatch, folder: Path, catalog: Catalog, text: str) -> Run:
    """Sized and priced, nothing simulated."""
    monkeypatch.setattr(pipeline, "STAGES", ())
    monkeypatch.setattr(pipeline, "settle", lambda recommended: recommended({}))
    return pipeline.evaluate(read(folder, catalog, text), catalog)


# ---- the formulas, by hand ----


def test_little_over_the_time_that_the_tail_leaves() -> None:
    """36,000 requests of 10 s in an hour: 36,000 x 10 / (3600 - 2 x 10) = 100.56 in flight."""
    limit, tail = sizing.run_limit_s(1.0), sizing.run_tail_s(2.0, 10.0)
    assert (limit, tail) == (3600, 20)
    at_once = sizing.run_concurrency(36_000, 10.0, limit, tail)
    assert at_once == pytest.approx(360_000 / 3580)
    assert sizing.demand_concurrency(0, 0, 10.0, at_once) == at_once


def test_tokens_of_a_month_are_those_of_its_runs() -> None:
    """Four runs a month of 100,000 answers of 300 tokens: 120 million; the average load has no part in it."""
    for utilisation in (0.1, 0.9):
        found = sizing.output_mtok_per_month(
            demand_concurrency=250, run_concurrency=250, request_time_s=10, average_utilisation=utilisation,
            demand_run_requests=100_000, demand_runs_per_month=4, output_mean_tokens=300,
        )  # fmt: skip
        assert found == pytest.approx(120)


def test_tokens_of_a_month_without_a_run() -> None:
    """100 at once of 10 s are 10 a second; 300 tokens, half the peak, 2,628,000 s: 3942 million."""
    found = sizing.output_mtok_per_month(
        demand_concurrency=100, run_concurrency=0, request_time_s=10, average_utilisation=0.5, demand_run_requests=0,
        demand_runs_per_month=0, output_mean_tokens=300,
    )  # fmt: skip
    assert found == pytest.approx(3942)


# ---- from the scenario ----


def test_the_leaves_of_a_run(tmp_path: Path, catalog: Catalog) -> None:
    (service,) = read(tmp_path, catalog, stated("{run: {requests: 100000, hours: 8}}")).service_axis
    found = demand_values(service)
    assert (found["demand_run_requests"], found["demand_run_hours"], found["demand_runs_per_month"]) == (100_000, 8, 1)
    assert (found["demand_peak_concurrency"], found["demand_requests_per_s"]) == (0, 0)


@pytest.mark.parametrize(
    ("demand", "arrivals", "start", "closed"),
    [
        ("{run: {requests: 100, hours: 8}}", "", "staggered", 1),  # the default of a run
        ("{run: {requests: 100, hours: 8}}", "arrivals: burst", "burst", 1),
        ("{run: {requests: 100, hours: 8}}", "arrivals: open-loop", "open-loop", 0),
        ("{peak_concurrency: 100}", "", "open-loop", 0),
        ("{peak_concurrency: 100}", "arrivals: steady", "steady", 1),
    ],
)
def test_a_run_keeps_a_number_in_flight_unless_stated(
    tmp_path: Path, catalog: Catalog, demand: str, arrivals: str, start: str, closed: int
) -> None:
    text = stated(demand).replace("targets:", f"  {arrivals}\ntargets:") if arrivals else stated(demand)
    (service,) = read(tmp_path, catalog, text).service_axis
    values = workload_values(service)
    assert service.workload.start == start
    assert (values["closed_loop_flag"], values["burst_flag"]) == (closed, float(start == "burst"))


def test_the_busy_share_of_a_month(tmp_path: Path, catalog: Catalog) -> None:
    """Eight hours, 20 times a month: 160 of 730 h; a stated average counts in its place."""
    text = stated("{run: {requests: 100000, hours: 8, per_month: 20}}")
    for more, expected in (("", 160 / 730), ("assumptions: {average_utilisation: 0.6}\n", 0.6)):
        scenario = read(tmp_path, catalog, text + more)
        assert average_utilisation(scenario.service_axis[0], scenario, catalog) == pytest.approx(expected)


def test_one_model_may_have_a_run_and_another_a_peak(tmp_path: Path, catalog: Catalog) -> None:
    """They share a workload, so its average load stays the assumption; only the run keeps a number in flight."""
    demand = "{peak_concurrency: 100, by_model: {deepseek-r1: {run: {requests: 50, hours: 2}}}}"
    scenario = read(tmp_path, catalog, GOOD.replace(DEMAND, f"demand: {demand}"))
    starts = {each.model: each.workload.start for each in scenario.service_axis}
    assert starts == {"qwen2.5-7b-instruct": "open-loop", "deepseek-r1": "staggered"}
    first = scenario.service_axis[0]
    assert average_utilisation(first, scenario, catalog) == assumption(catalog, "average_utilisation", "us").mid


def test_a_run_set_over_a_peak_drops_the_peak(tmp_path: Path, catalog: Catalog) -> None:
    over = "overrides: {night: {workload: {demand: {run: {requests: 500, hours: 3}}}}}\n"
    (service,) = read(tmp_path, catalog, SMALL + over, overrides=["night"]).service_axis
    assert service.demand.stated == ["run"]
    sets = ["workload.demand.run.hours=4"]
    (service,) = read(tmp_path, catalog, stated("{run: {requests: 500, hours: 3}}"), sets=sets).service_axis
    assert service.demand.run is not None
    assert (service.demand.run.requests, service.demand.run.hours) == (500, 4)


def test_growth_in_amounts_is_in_requests(tmp_path: Path, catalog: Catalog) -> None:
    text = stated("{run: {requests: 1000, hours: 3}, growth: {2027-01: 2500}}")
    curve = curve_of(read(tmp_path, catalog, text).service_axis[0].demand)
    assert curve is not None
    assert curve.factors("2026-11", 3).tolist() == [1, 1, 2.5, 2.5]


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ("{run: {requests: 0, hours: 8}}", "demand.run.requests"),
        ("{run: {requests: 10, hours: -1}}", "demand.run.hours"),
        ("{run: {requests: 10, hours: .inf}}", "demand.run.hours"),
        ("{run: {requests: 10}}", "demand.run.hours"),
        ("{run: {requests: 10, hour: 8}}", "hours"),
        ("{run: 100}", "demand.run"),
        ("{run: {requests: 10, hours: 8, per_month: 0}}", "demand.run.per_month"),
        ("{run: {requests: 10, hours: 8, per_month: 92}}", "hours x per_month is 736, more than the 730 hours"),
        ("{peak_concurrency: 5, run: {requests: 10, hours: 8}}", "state exactly one of peak_concurrency and run"),
        ("{run: {requests: 100, hours: 8}, growth: {rate_per_month: 0.1, saturation: 90}}", "is not above the demand"),
    ],
)
def test_a_run_that_makes_no_sense_is_named(tmp_path: Path, catalog: Catalog, demand: str, message: str) -> None:
    found = problems(tmp_path, catalog, stated(demand))
    assert any(message in line for line in found), found
    assert all(line.startswith("s.yaml:") for line in found), found


# ---- to cards, and what a reader is told ----


def test_a_run_is_sized_by_its_time_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, catalog: Catalog
) -> None:
    run = evaluated(monkeypatch, tmp_path, catalog, stated("{run: {requests: 100000, hours: 2, per_month: 5}}"))
    row = run.options.iloc[0]
    seconds, tail = float(row["request_time_s"]), assumption(catalog, "run_tail_factor", "us").mid
    assert row["demand_concurrency"] == pytest.approx(100_000 * seconds / (7200 - tail * seconds))
    assert row["cards_needed"] * row["recommended_concurrency"] >= row["demand_concurrency"]
    assert row["output_mtok_per_month"] == pytest.approx(100_000 * 5 * 256 / 1e6)
    used = run.facts[run.facts["column"] == "average_utilisation"].iloc[0]
    assert (used["value"], used["basis"]) == (pytest.approx(10 / 730), "derived")
    for language, sentence, peak in (
        ("en", "100,000 requests within 2 h", "all within 2 h"),
        ("zh", "100,000 个请求，须在 2 小时 内完成", "须在 2 小时 内全部完成"),
    ):
        words = Wording(run, language, translator(language))
        assert _spaces(demand_sentence(words, run.options)) == sentence
        assert _spaces(demands(words)[0]["peak"]) == peak


def test_a_run_too_short_for_one_answer_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, catalog: Catalog
) -> None:
    run = evaluated(monkeypatch, tmp_path, catalog, stated("{run: {requests: 10, hours: 0.0005}}"))  # 1.8 s
    assert not run.candidates["feasible"].any()
    assert set(run.excuses["code"]) == {"run-too-short"}


def test_the_number_of_requests_is_uncertain_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, catalog: Catalog
) -> None:
    run = evaluated(monkeypatch, tmp_path, catalog, stated("{run: {requests: 100000, hours: 2}}"))
    rows = run.options.reset_index(drop=True)
    found = [each for each in uncertain(run, rows, run.method.sizing) if each.scope == "demand"]
    spread = assumption(catalog, "demand_error_ratio", "us")
    assert [(each.column, each.mid) for each in found] == [("demand_run_requests", 100_000)]
    assert (found[0].low, found[0].high) == (100_000 * spread.low, 100_000 * spread.high)


def _spaces(text: object) -> str:
    return " ".join(str(text).replace("\u202f", " ").replace("\u00a0", " ").split())
