"""Workloads: mixes, traces and profiles that a scenario refers to, demand in every form, growth, and drawn requests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenario_text import GOOD, problems, read

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.facts import collect
from reports.loads import arrivals, average_utilisation
from reports.methods import METHODS
from reports.scenario.demand import GrowthCurve, curve_of
from reports.scenario.read import read_scenario
from reports.scenario.schema import Scenario
from reports.scenario.workload import Workload

INPUT = "  input_tokens: 512\n"
OUTPUT = "  output_tokens: {distribution: long_tail, mean: 256, p95: 1024}\n"
DEMAND = "demand: {peak_concurrency: 100}"
TRACE = "arrival_s,input_tokens,output_tokens,prefix_hit_tokens\n0,100,10,0\n1,200,20,50\n3,300,30,0\n4,400,60,100\n"


def with_lengths(text: str) -> str:
    return GOOD.replace(INPUT, f"  {text}\n").replace(OUTPUT, "")


def with_demand(text: str) -> str:
    return GOOD.replace(DEMAND, f"demand: {text}")


def first(scenario: Scenario) -> Workload:
    return scenario.service_axis[0].workload


def facts(scenario: Scenario, catalog: Catalog) -> dict[tuple[str, str, str], Mapping[str, Any]]:
    frame = collect(scenario, catalog, METHODS["roofline"]).frame
    return {(row["scope"], row["key"], row["column"]): row for row in frame.to_dict("records")}


# ---- what a workload refers to ----


def test_a_mix_of_the_catalog_is_its_published_lengths(tmp_path: Path, catalog: Catalog) -> None:
    scenario = read(tmp_path, catalog, with_lengths("lengths: chat"))
    workload = first(scenario)
    assert workload.lengths == "azure-conversation"
    assert (workload.input_tokens.mean, workload.input_tokens.p95) == (1154.7, pytest.approx(4083))
    assert (workload.output_tokens.mean, workload.output_tokens.p99) == (211.1, pytest.approx(601))
    row = facts(scenario, catalog)["workload", "", "input_p95_tokens"]
    assert (row["basis"], row["source"]) == ("published", "azure-llm-trace-2023")
    assert row["note"].startswith("azure-conversation:")


def test_what_is_stated_beside_a_mix_or_a_trace_replaces_what_it_says(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "t.csv").write_text(TRACE)
    workload = first(read(tmp_path, catalog, with_lengths("lengths: chat\n  input_tokens: 99")))
    assert (workload.input_tokens.mean, workload.output_tokens.mean) == (99, 211.1)
    workload = first(read(tmp_path, catalog, with_lengths("trace: {file: t.csv}\n  burstiness: 3\n  output_tokens: 7")))
    assert (workload.input_tokens.mean, workload.output_tokens.mean) == (250, 7)
    assert workload.interarrival_scv == 3
    assert workload.joint is None  # how the two go together is not known any more


def test_a_trace_gives_lengths_arrivals_and_prefixes(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "t.csv").write_text(TRACE)
    scenario = read(tmp_path, catalog, with_lengths("trace: {file: in/t.csv}"))
    workload = first(scenario)
    assert (workload.input_tokens.mean, workload.input_tokens.p95, workload.output_tokens.mean) == (250, 400, 30)
    assert workload.interarrival_scv == pytest.approx(1 / 8)
    assert workload.prefix_hit_share == pytest.approx(0.15)
    assert workload.joint is not None
    assert [name for name, _ in scenario.files] == ["s.yaml", "in/t.csv"]
    row = facts(scenario, catalog)["workload", "", "input_mean_tokens"]
    assert (row["value"], row["basis"], row["note"]) == (250, "measured", "4 rows of in/t.csv")


def test_a_later_part_of_a_scenario_replaces_the_lengths_of_an_earlier_one(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "t.csv").write_text(TRACE)
    overrides = "overrides:\n  traced: {workload: {trace: {file: t.csv}}}\n  mixed: {workload: {lengths: code}}\n"
    assert first(read(tmp_path, catalog, GOOD + overrides, overrides=["traced"])).input_tokens.mean == 250
    assert first(read(tmp_path, catalog, GOOD + overrides, overrides=["mixed"])).input_tokens.mean == 2047.8
    assert first(read(tmp_path, catalog, GOOD, sets=["workload.lengths=code"])).input_tokens.mean == 2047.8
    traced = with_lengths("trace: {file: t.csv}")
    assert first(read(tmp_path, catalog, traced, sets=["workload.input_tokens=9"])).input_tokens.mean == 9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lengths: chatt", 's.yaml:6:12: workload.lengths: unknown mix of lengths "chatt"; did you mean "chat"?'),
        ("lengths: chat\n  trace: {file: t.csv}", "s.yaml:6:3: workload.lengths: is stated beside trace"),
        ("trace: {file: tt.csv}", 's.yaml:6:17: workload.trace.file: no such file; read "tt.csv"; expected a file'),
        ("trace: {file: tt.csv}", '(did you mean "t.csv"?)'),
        ("trace: {file: ../t.csv}", "s.yaml:6:17: workload.trace.file: leaves the scenario's folder"),
        ("trace: {file: /etc/passwd}", "s.yaml:6:17: workload.trace.file: leaves the scenario's folder"),
        ("trace: {file: link.csv}", "s.yaml:6:17: workload.trace.file: leaves the scenario's folder"),
        ("trace: {file: s.yaml}", 's.yaml: is no kind of trace; read ".yaml"'),
        ("trace: {fil: t.csv}", 'unknown key; read "fil"; expected file (did you mean "file"?)'),
        ("trace: {file: bad.csv}", "bad.csv:2: input_tokens: is negative; read -1"),
        ("lengths: chat\n  burstiness: -1", "s.yaml:7:15: workload.burstiness: is out of range; read -1"),
        ("lengths: chat\n  prefix_cache_hit_share: 1.2", "workload.prefix_cache_hit_share: is out of range"),
        ("lengths: chat\n  arrivals: stedy", '(did you mean "steady"?)'),
        ("lengths: chat\n  input_tokens: {distribution: trace}", "is taken from a trace, and there is none"),
    ],
)  # fmt: skip
def test_references_that_cannot_be_used(tmp_path: Path, catalog: Catalog, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(TRACE)
    (tmp_path / "bad.csv").write_text("input_tokens,output_tokens\n-1,5\n")
    (tmp_path / "link.csv").symlink_to("/etc/hostname")
    found = problems(tmp_path, catalog, with_lengths(text))
    assert any(message in line for line in found), found


def test_a_trace_is_read_once_for_all_services_and_again_when_it_changes(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TRACE)
    services = "services:\n" + "".join(
        f"  - {{name: s{index}, model: qwen2.5-7b-instruct, demand: {{requests_per_s: 1}}}}\n" for index in range(3)
    )
    text = with_lengths("trace: {file: t.csv}").replace("  model: [qwen2.5-7b-instruct, deepseek-r1]\n", "") + services
    traces = {id(each.workload.traced) for each in read(tmp_path, catalog, text).service_axis}
    assert len(traces) == 1
    path.write_text(TRACE + "5,900,60,0\n")
    assert first(read(tmp_path, catalog, text)).input_tokens.mean == 380


# ---- demand ----


def test_users_and_their_habits_by_hand(tmp_path: Path, catalog: Catalog) -> None:
    """36,000 users, a tenth active, 2 requests an hour each: 7,200 an hour are 2 a second."""
    scenario = read(tmp_path, catalog, with_demand("{users: {count: 36000, active_share: 0.1, requests_per_hour: 2}}"))
    found = facts(scenario, catalog)
    row = found["demand", "deepseek-r1", "demand_requests_per_s"]
    assert row["value"] == pytest.approx(2)
    assert (row["basis"], row["note"]) == ("derived", "36,000 users x 0.1 active x 2 requests/h / 3600")
    assert found["stated", "deepseek-r1", "stated_users"]["value"] == 36000
    assert found["demand", "deepseek-r1", "demand_peak_concurrency"]["value"] == 0


def test_monthly_tokens_by_hand(tmp_path: Path, catalog: Catalog) -> None:
    """512 tokens a prompt, 1.345536e9 of them a month: 2,628,000 requests in 730 x 3600 s, one a second on average; at
    half of the peak (the assumption) two a second. Answers of 256 mean tokens: 3 times as many requests count more."""
    demand = "{tokens_per_month: {input: 1345536000}}"
    scenario = read(tmp_path, catalog, with_demand(demand))
    assert facts(scenario, catalog)["demand", "deepseek-r1", "demand_requests_per_s"]["value"] == pytest.approx(2)
    both = demand.replace("}}", ", output: 2018304000}}")
    assert arrivals(read(tmp_path, catalog, with_demand(both)).service_axis[0], scenario, catalog) == pytest.approx(6)


def test_a_load_of_nothing_has_no_peak(tmp_path: Path, catalog: Catalog) -> None:
    text = with_demand("{tokens_per_month: {input: 1e9}}") + "assumptions: {average_utilisation: 0}\n"
    (line,) = problems(tmp_path, catalog, text)
    assert "assumptions.average_utilisation: leaves no peak for the tokens of a month; read 0" in line


def test_a_profile_turns_the_month_into_another_peak(tmp_path: Path, catalog: Catalog) -> None:
    """Six hours a day at the peak and nothing else: the mean is a quarter of the peak, 4 a second instead of 2."""
    hours = ", ".join(["3"] * 6 + ["0"] * 18)
    demand = f"{{tokens_per_month: {{input: 1345536000}}, hourly_profile: [{hours}]}}"
    scenario = read(tmp_path, catalog, with_demand(demand))
    found = facts(scenario, catalog)
    assert found["demand", "deepseek-r1", "demand_requests_per_s"]["value"] == pytest.approx(4)
    row = found["assumption", "", "average_utilisation"]
    assert (row["value"], row["basis"]) == (0.25, "given")
    assert "mean over peak" in row["note"]
    stated = read(tmp_path, catalog, with_demand(demand) + "assumptions: {average_utilisation: 0.8}\n")
    row = facts(stated, catalog)["assumption", "", "average_utilisation"]
    assert (row["value"], row["source"]) == (0.8, "scenario")  # said outright, it counts
    assert "0.25" in row["note"]


def test_named_profiles_and_their_mean(tmp_path: Path, catalog: Catalog) -> None:
    office = read(tmp_path, catalog, with_demand("{peak_concurrency: 9, hourly_profile: Working hours}"))
    profile = first(office).profile
    assert profile is not None
    assert profile.name == "office-hours"
    assert profile.shares.max() == 1
    assert average_utilisation(office.service_axis[0], office, catalog) == pytest.approx(profile.shares.mean())
    week = ", ".join(["1"] * 167 + ["2"])
    own = first(read(tmp_path, catalog, with_demand(f"{{peak_concurrency: 9, hourly_profile: [{week}]}}"))).profile
    assert own is not None
    assert own.shares.tolist() == [0.5] * 167 + [1]


def test_a_service_with_its_own_profile_has_its_own_utilisation(tmp_path: Path, catalog: Catalog) -> None:
    services = (
        "services:\n"
        "  - {name: day, model: qwen2.5-7b-instruct}\n"
        "  - {name: night, model: qwen2.5-7b-instruct, demand: {peak_concurrency: 5, hourly_profile: flat}}\n"
    )
    demand = with_demand("{peak_concurrency: 100, hourly_profile: office-hours}")
    text = demand.replace("  model: [qwen2.5-7b-instruct, deepseek-r1]\n", "") + services
    scenario = read(tmp_path, catalog, text)
    found = facts(scenario, catalog)
    assert found["assumption", "night", "average_utilisation"]["value"] == 1
    assert found["assumption", "", "average_utilisation"]["value"] == pytest.approx(0.311, abs=1e-3)
    table = collect(scenario, catalog, METHODS["roofline"])
    assert table.by_service["average_utilisation"].tolist() == pytest.approx([0.3109, 1], abs=1e-4)
    assert "average_utilisation" not in table.constants


def test_a_long_enough_trace_brings_its_profile(tmp_path: Path, catalog: Catalog) -> None:
    """An hour with two requests, 24 with one: over the peak 0.5 except one hour of the day, (23 x 0.5 + 1) / 24."""
    rows = "".join(f"{hour * 3600},10,10\n" for hour in range(25)) + f"{24 * 3600},10,10\n"
    (tmp_path / "t.csv").write_text("arrival_s,input_tokens,output_tokens\n" + rows)
    profile = first(read(tmp_path, catalog, with_lengths("trace: {file: t.csv}"))).profile
    assert profile is not None
    assert profile.basis == "measured"
    assert "no dates" in profile.note
    (tmp_path / "t.csv").write_text(TRACE)
    text = with_lengths("trace: {file: t.csv}").replace("100}", "100, hourly_profile: trace}")
    (line,) = problems(tmp_path, catalog, text)
    assert "workload.demand.hourly_profile: is taken from a trace that is too short; read 0.00111 hours" in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{peak_concurrency: 1, hourly_profile: [" + ", ".join("1" * 23) + "]}",
         "workload.demand.hourly_profile: has 23 numbers; expected 24 (a day, from 0 h on) or 168"),
        ("{peak_concurrency: 1, hourly_profile: [" + ", ".join(["-1"] * 24) + "]}", "is below 0 at hour 0; read -1"),
        ("{peak_concurrency: 1, hourly_profile: [" + ", ".join("0" * 24) + "]}", "is 0 at every hour"),
        ("{peak_concurrency: 1, hourly_profile: ofice-hours}", 'unknown profile "ofice-hours"; did you mean "office-h'),
        ("{peak_concurrency: 1, hourly_profile: trace}", "is taken from a trace, and there is none"),
        ("{users: {count: 10, active_share: 10, requests_per_hour: 1}}", "users.active_share: is out of range; read"),
        ("{users: {count: 10}}", "workload.demand.users.active_share: is missing"),
        ("{tokens_per_month: {}}", "workload.demand.tokens_per_month: state input, output, or both"),
        ("{users: {count: 1, active_share: 1, requests_per_hour: 1}, requests_per_s: 1}",
         "state exactly one of requests_per_s and users"),
        ("{growth: {rate_per_month: 0.1}}", "state peak_concurrency, requests_per_s, users, tokens_per_month, run or"),
        ("{peak_concurrency: 1, growth: {rate: 0.1}}", 'unknown key "rate"; expected months such as 2027-01'),
        ("{peak_concurrency: 1, growth: {2027-13: 2}}", 'unknown key "2027-13"'),
        ("{peak_concurrency: 1, growth: {2027-01: 2, rate_per_month: 0.1}}", "state either amounts by month, or"),
        ("{peak_concurrency: 1, growth: {saturation: 9}}", "state amounts by month, or rate_per_month"),
        ("{peak_concurrency: 1, growth: {rate_per_month: -1}}", "leaves nothing"),
        ("{peak_concurrency: 9, growth: {rate_per_month: 0.1, saturation: 9}}", "is not above the demand of today (9)"),
        ("{peak_concurrency: 1, growth: {2026-11: 2}}", "growth.2026-11: is not after the period"),
        ("{tokens_per_month: {input: 1, output: 1}, growth: {2027-01: 2}}", "but the demand has two (input and"),
        ("{peak_concurrency: 1, growth: {2027-01: 2}, by_model: {deepseek-r1: {requests_per_s: 1}}}",
         "growth lists amounts, which the own demand of deepseek-r1 cannot follow"),
    ],
)  # fmt: skip
def test_demands_that_make_no_sense(tmp_path: Path, catalog: Catalog, text: str, message: str) -> None:
    found = problems(tmp_path, catalog, with_demand(text))
    assert any(message in line for line in found), found
    assert all(line.startswith("s.yaml:8:") for line in found), found


# ---- growth ----


def test_growth_curves_by_hand() -> None:
    """10 % a month: 1, 1.1, 1.21. Saturation 3 at 50 %: 3 / (1 + 2 / 1.5^m): 1, 9/7, 3 / (1 + 8/9) = 27/17. Listed:
    from a month on until the next."""
    assert GrowthCurve("rate", 0.1).factors("2026-11", 2).tolist() == pytest.approx([1, 1.1, 1.21])
    assert GrowthCurve("saturation", 0.5, 3).factors("2026-11", 2).tolist() == pytest.approx([1, 9 / 7, 27 / 17])
    listed = GrowthCurve("listed", listed={"2027-01": 2, "2027-03": 5}).factors("2026-11", 5)
    assert listed.tolist() == [1, 1, 2, 2, 5, 5]
    assert GrowthCurve("saturation", 0.5, 3).factors("2026-11", 200)[-1] == pytest.approx(3)


def test_growth_is_in_the_unit_of_the_demand(tmp_path: Path, catalog: Catalog) -> None:
    users = "{users: {count: 100, active_share: 0.1, requests_per_hour: 2}, growth: {2027-01: 250}}"
    curve = curve_of(read(tmp_path, catalog, with_demand(users)).service_axis[0].demand)
    assert curve == GrowthCurve("listed", listed={"2027-01": 2.5})
    tokens = "{tokens_per_month: {output: 100}, growth: {rate_per_month: 0.1, saturation: 400}}"
    curve = curve_of(read(tmp_path, catalog, with_demand(tokens)).service_axis[0].demand)
    assert curve == GrowthCurve("saturation", 0.1, 4)
    assert curve_of(read(tmp_path, catalog).service_axis[0].demand) is None


def test_amounts_of_the_scenario_are_not_those_of_a_service(tmp_path: Path, catalog: Catalog) -> None:
    text = with_demand("{peak_concurrency: 100, growth: {2027-01: 200}}")
    text = text.replace("  model: [qwen2.5-7b-instruct, deepseek-r1]\n", "")
    service = "services: [{name: a, model: qwen2.5-7b-instruct, demand: {peak_concurrency: 5}}]\n"
    (line,) = problems(tmp_path, catalog, text + service)
    assert "services[0].demand: has no growth of its own" in line
    rate = text.replace("growth: {2027-01: 200}", "growth: {rate_per_month: 0.1}")
    assert curve_of(read(tmp_path, catalog, rate + service).service_axis[0].demand) == GrowthCurve("rate", 0.1)


def test_an_override_replaces_a_growth_as_a_whole(tmp_path: Path, catalog: Catalog) -> None:
    text = with_demand("{peak_concurrency: 100, growth: {2027-01: 200}}")
    text += "overrides: {slow: {workload: {demand: {growth: {rate_per_month: 0.01}}}}}\n"
    curve = curve_of(read(tmp_path, catalog, text, overrides=["slow"]).service_axis[0].demand)
    assert curve == GrowthCurve("rate", 0.01)


# ---- requests drawn from a workload ----


def test_drawn_requests_have_the_mean_lengths_and_gaps(tmp_path: Path, catalog: Catalog) -> None:
    text = with_lengths("lengths: chat\n  burstiness: 4\n  prefix_cache_hit_share: 0.25")
    workload = first(read(tmp_path, catalog, text))
    drawn = workload.draw(200_000, np.random.default_rng(1))
    assert drawn.input_tokens.mean() == pytest.approx(1154.7, rel=0.01)
    assert drawn.output_tokens.mean() == pytest.approx(211.1, rel=0.01)
    assert drawn.input_tokens.min() >= 1
    assert drawn.gaps.mean() == pytest.approx(1, rel=0.02)
    assert drawn.gaps.var() == pytest.approx(4, rel=0.05)
    assert drawn.prefix_hit_tokens.sum() / drawn.input_tokens.sum() == pytest.approx(0.25, rel=0.01)
    again = workload.draw(200_000, np.random.default_rng(1))
    assert all((one == other).all() for one, other in zip(drawn, again, strict=True))


def test_a_trace_is_replayed_in_its_order_from_a_random_row(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "t.csv").write_text(TRACE)
    workload = first(read(tmp_path, catalog, with_lengths("trace: {file: t.csv}")))
    drawn = workload.draw(8, np.random.default_rng(3))
    start = [100, 200, 300, 400].index(int(drawn.input_tokens[0]))
    order = [(start + index) % 4 for index in range(8)]
    assert drawn.input_tokens.tolist() == [[100, 200, 300, 400][index] for index in order]
    assert drawn.output_tokens.tolist() == [[10, 20, 30, 60][index] for index in order]
    assert drawn.prefix_hit_tokens.tolist() == [[0, 50, 0, 100][index] for index in order]
    assert drawn.gaps.tolist() == pytest.approx([[0, 0.75, 1.5, 0.75][index] for index in order])  # of mean 4/3 s


# ---- profiles and mixes of the catalog ----


def overlay(folder: Path, kind: str, text: str) -> list[str]:
    place = folder / "mine" / "profiles" / kind
    place.mkdir(parents=True, exist_ok=True)
    (place / "x.yaml").write_text(text)
    try:
        read_catalog([folder / "mine"])
    except InputError as error:
        return [str(problem) for problem in error.problems]
    return []


HEAD = "name: X\nsource: own-judgement\nat: 2026-11-30\nbasis: judgement\nconfirmed: false\n"
DAY = "[" + ", ".join(["1"] * 24) + "]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"shares: {{every_day: {DAY}}}\n", ""),
        (f"shares: {{weekday: {DAY}, weekend: {DAY}}}\n", ""),
        ("shares: {every_day: [1, 2]}\n", "shares.every_day: has 2 numbers; expected 24"),
        (f"shares: {{weekday: {DAY}}}\n", "says nothing about saturday, sunday"),
        (f"shares: {{every_day: {DAY}, monday: {DAY}}}\n", "says again what monday is like"),
        (f"shares: {{everyday: {DAY}}}\n", 'unknown day; read "everyday"'),
        (f"shares: {{every_day: {DAY.replace('1', '0')}}}\n", "is 0 at every hour"),
        (f"shares: {{every_day: {DAY.replace('1', '-1', 1)}}}\n", "is out of range; read -1"),
    ],
)  # fmt: skip
def test_profiles_of_an_overlay(tmp_path: Path, text: str, message: str) -> None:
    found = overlay(tmp_path, "load", HEAD + text)
    assert (not found and not message) or (message and any(message in line for line in found)), found


def test_mixes_of_an_overlay(tmp_path: Path) -> None:
    def mix(mean: float) -> str:
        numbers = {"mean": mean, "p50": 50, "p95": 300, "p99": 400}
        rows = [f"  {end}_{name}_tokens: {value}\n" for end in ("input", "output") for name, value in numbers.items()]
        return HEAD + "facts:\n" + "".join(rows)

    assert overlay(tmp_path, "lengths", mix(100)) == []
    assert "does not fit the other lengths" in overlay(tmp_path, "lengths", mix(10))[0]
    assert "the fact input_p99_tokens is missing" in "".join(
        overlay(tmp_path, "lengths", mix(100).replace("  input_p99_tokens: 400\n", ""))
    )
    assert "unknown source" in overlay(tmp_path, "lengths", mix(100).replace("own-judgement", "nobody"))[0]


def test_every_shipped_profile_has_a_peak_and_a_source(catalog: Catalog) -> None:
    for profile in catalog.profiles.values():
        assert len(profile.shares) == 168
        assert max(profile.shares) == 1
        assert min(profile.shares) >= 0
        assert profile.source in catalog.sources
        assert profile.note
    assert {"office-hours", "business-hours-7d", "flat"} <= set(catalog.profiles)


def test_scenarios_with_every_mix_can_be_read(tmp_path: Path, catalog: Catalog) -> None:
    for name, mix in catalog.lengths.items():
        scenario = read(tmp_path, catalog, with_lengths(f"lengths: {name}"))
        assert first(scenario).input_tokens.mean == mix.value("input_mean_tokens")
        assert first(scenario).output_tokens.p95 == pytest.approx(mix.value("output_p95_tokens"))


def test_check_reads_the_trace_too(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "t.csv").write_text("input_tokens,output_tokens\n1,\n")
    (tmp_path / "s.yaml").write_text(with_lengths("trace: {file: t.csv}"))
    with pytest.raises(InputError, match=r"t\.csv:2: output_tokens: is missing"):
        read_scenario(tmp_path / "s.yaml", catalog)


def test_what_a_scenario_does_not_state_is_not_called_given(catalog: Catalog, tmp_path: Path) -> None:
    found = facts(read(tmp_path, catalog), catalog)
    assert found["demand", "deepseek-r1", "demand_peak_concurrency"]["basis"] == "given"
    for name in ("demand_run_requests", "demand_run_hours", "demand_requests_per_s"):
        assert found["demand", "deepseek-r1", name]["basis"] == "not stated"
