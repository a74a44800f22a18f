"""Services: a model with its own workload, targets and quantizations is a row of the matrix of its own."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenario_text import GOOD, problems, read, write
from test_scenario import WEIRD, places

from reports import pipeline, strict_yaml
from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.evaluate import evaluate
from reports.matrix import expand
from reports.methods import METHODS
from reports.run import Run
from reports.scenario.check import check_scenarios, names_read
from reports.scenario.read import read_scenario

SERVICES = """\
services:
  - name: chat
    model: Qwen2.5 7B Instruct
    demand: {peak_concurrency: 100}
  - name: extraction
    model: qwen2.5-7b-instruct
    tier: 2
    demand: {requests_per_s: 4}
    workload: {input_tokens: 6000, output_tokens: {distribution: fixed, tokens: 800}}
    targets: {tpot_p95_ms: 100, answer_p99_ms: 200000}
    quantization: [fp8]
    sharing: mps
    min_replicas: 2
  - name: reasoning
    model: deepseek-r1
    demand: {peak_concurrency: 30}
"""
TEXT = GOOD.replace("  demand: {peak_concurrency: 100}\n", "").replace(
    "matrix:\n  model: [qwen2.5-7b-instruct, deepseek-r1]\n", SERVICES + "matrix:\n"
)


@pytest.fixture(scope="module")
def run(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return pipeline.evaluate(read(tmp_path_factory.mktemp("services"), catalog, TEXT), catalog)


# --- what a scenario with services says ------------------------------------------------------------------------------


def test_a_service_takes_what_it_does_not_state_from_the_scenario(tmp_path: Path, catalog: Catalog) -> None:
    scenario = read(tmp_path, catalog, TEXT)
    chat, extraction, reasoning = scenario.service_axis
    assert [each.name for each in scenario.service_axis] == ["chat", "extraction", "reasoning"]
    assert scenario.matrix.model == ("qwen2.5-7b-instruct", "deepseek-r1")
    assert (chat.workload.input_tokens.mean, chat.workload.output_tokens.p95) == (512, 1024)
    assert (extraction.workload.input_tokens.mean, extraction.workload.output_tokens.mean) == (6000, 800)
    assert chat.targets is not None
    assert extraction.targets is not None
    assert (chat.targets.tpot_ms, chat.targets.tpot_statistic, chat.targets.ttft_statistic) == (50, "mean", "p99")
    assert (extraction.targets.tpot_ms, extraction.targets.tpot_statistic) == (100, "p95")
    assert (extraction.targets.ttft_ms, extraction.targets.ttft_statistic) == (2000, "p99")
    assert (extraction.targets.answer_ms, extraction.targets.answer_statistic) == (200_000, "p99")
    assert chat.targets.answer_ms > 1e9
    assert scenario.demand_for("chat") == (100, 0)
    assert scenario.demand_for("extraction") == (0, 4)
    assert (chat.quantization, extraction.quantization) == (("fp8", "int4"), ("fp8",))
    assert [each.workload_key for each in scenario.service_axis] == ["", "extraction", ""]
    assert reasoning.resident_key == "/deepseek-r1"
    assert (extraction.tier, extraction.sharing, extraction.min_replicas, chat.tier) == (2, "mps", 2, 1)


def test_without_services_each_model_is_one(tmp_path: Path, catalog: Catalog) -> None:
    scenario = read(tmp_path, catalog)
    assert [(each.name, each.model, each.workload_key) for each in scenario.service_axis] == [
        ("qwen2.5-7b-instruct", "qwen2.5-7b-instruct", ""), ("deepseek-r1", "deepseek-r1", ""),
    ]  # fmt: skip
    space = expand(scenario, catalog, METHODS["roofline"])
    frame = evaluate(space, METHODS["roofline"], columns=())
    assert frame["candidate_id"].iloc[0] == "qwen2.5-7b-instruct.fp8.h20-96gb.1x.nvlink"
    assert (frame["service"].astype(str) == frame["model"].astype(str)).all()


def test_a_base_file_gives_defaults_and_services_replace_its_models(tmp_path: Path, catalog: Catalog) -> None:
    write(tmp_path, GOOD, "base.yaml")
    own = "extends: base.yaml\nservices:\n  - {name: a, model: deepseek-r1}\n  - {name: b, model: deepseek-r1, " \
          "demand: {requests_per_s: 2}}\n"  # fmt: skip
    scenario = read(tmp_path, catalog, own)
    assert [each.name for each in scenario.service_axis] == ["a", "b"]
    assert scenario.demand_for("a") == (100, 0)  # the base file's demand is the default of every service
    assert scenario.demand_for("b") == (0, 2)
    assert check_scenarios([tmp_path / "s.yaml", tmp_path / "base.yaml"], catalog) == []


OVERRIDES = """\
overrides:
  evening: {services: {chat: {demand: {requests_per_s: 9}, tier: 3}, extraction: {workload: {output_tokens: 100}}}}
  new: {services: {search: {model: deepseek-r1, demand: {peak_concurrency: 5}}}}
  slow: {services: {chat: {targets: {ttft_ms: 5000}}}}
"""


def test_overrides_change_single_services_by_name(tmp_path: Path, catalog: Catalog) -> None:
    scenario = read(tmp_path, catalog, TEXT + OVERRIDES, overrides=["evening", "new", "slow"])
    chat, extraction, reasoning, search = scenario.service_axis
    assert (scenario.demand_for("chat"), chat.tier) == ((0, 9), 3)
    assert extraction.workload.output_tokens.mean == 100
    assert extraction.workload.input_tokens.mean == 6000
    assert search.model == reasoning.model
    assert chat.targets is not None
    assert (chat.targets.ttft_ms, chat.targets.ttft_statistic) == (5000, "mean")
    assert ("services[0].tier", None, 3) in scenario.changes
    assert chat.workload_key == "chat"


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("services.chat.demand.peak_concurrency=300", ("services[0].demand.peak_concurrency", 100, 300)),
        ("services[0].demand.peak_concurrency=300", ("services[0].demand.peak_concurrency", 100, 300)),
        ("services.0.demand.peak_concurrency=300", ("services[0].demand.peak_concurrency", 100, 300)),
        ("services.extraction.tier=3", ("services[1].tier", 2, 3)),
        ("services.chat.tier=3", ("services[0].tier", 1, 3)),
        ("services.chat.targets.tpot_ms=30", ("services[0].targets.tpot_ms", None, 30)),
        ("services.chat.workload.input_tokens=900", ("services[0].workload.input_tokens", None, 900)),
        ("services.extraction.quantization=int4", ("services[1].quantization", ["fp8"], ["int4"])),
    ],
)
def test_set_reaches_a_service_by_name_and_by_number(
    tmp_path: Path, catalog: Catalog, text: str, change: tuple[str, object, object]
) -> None:
    scenario = read(tmp_path, catalog, TEXT, sets=[text])
    assert scenario.changes == (change,)


def test_set_changes_what_it_says_and_nothing_else(tmp_path: Path, catalog: Catalog) -> None:
    sets = ["services.chat.demand.requests_per_s=7", "services.chat.workload.input_tokens=900"]
    chat, extraction, _ = read(tmp_path, catalog, TEXT, sets=sets).service_axis
    assert (chat.demand.peak_concurrency, chat.demand.requests_per_s) == (None, 7)
    assert (chat.workload.input_tokens.mean, chat.workload.output_tokens.mean) == (900, 256)
    assert extraction.demand.requests_per_s == 4


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("model: deepseek-r1", "model: deepsek-r1", "s.yaml:23:12: services[2].model: unknown model \"deepsek-r1\"; "),
        ("name: reasoning", "name: chat", "s.yaml:22:11: services[2].name: is the name of item 0 too; read \"chat\""),
        ("name: reasoning", "name: My chat", "s.yaml:22:11: services[2].name: has the wrong form; read \"My chat\""),
        ("quantization: [fp8]", "quantization: [fp16]", "services[1].quantization[0]: is not in matrix.quantization"),
        ("quantization: [fp8]", "quantization: []", "s.yaml:19:5: services[1].quantization: is empty"),
        ("tier: 2", "tier: 0", "s.yaml:15:11: services[1].tier: is out of range; read 0; expected 1 or more"),
        ("sharing: mps", "sharing: mpss", 'did you mean "mps"?'),
        ("sharing: mps", "shared: mps", 's.yaml:20:5: services[1]: unknown key; read "shared"'),
        ("demand: {peak_concurrency: 30}", "tier: 1", "services[2].demand: is missing"),
        ("demand: {peak_concurrency: 30}", "demand: {}", "s.yaml:24:5: services[2].demand: state peak_concurrency"),
        ("demand: {peak_concurrency: 30}", "demand: {peak_concurency: 30}",
         's.yaml:24:14: services[2].demand: unknown key; read "peak_concurency"'),
        ("demand: {peak_concurrency: 30}", "demand: x", 's.yaml:24:13: services[2].demand: cannot be used; read "x"'),
        ("tokens: 800}}", "tokens: -1}}", "s.yaml:17:81: services[1].workload.output_tokens.tokens: is out of range"),
        ("{tpot_p95_ms: 100, ", "{tpot_p95_ms: 100, tpot_ms: 90, ", "services[1].targets: state exactly one of tp"),
        ("answer_p99_ms: 200000", "answer_p99_ms: 2, answer_ms: 1", "state at most one of answer_ms, answer_p50_ms"),
        ("demand: {peak_concurrency: 30}", "demand: {peak_concurrency: 30, by_model: {}}",
         "s.yaml:24:36: services[2].demand.by_model: means nothing for a service"),
        ("matrix:\n", "matrix:\n  model: [deepseek-r1]\n", "s.yaml:26:3: matrix.model: is stated beside services"),
        ("workload: {input", "workload: {demand: {peak_concurrency: 1}, input",
         's.yaml:17:16: services[1].workload: unknown key; read "demand" (write demand beside workload)'),
        ("output_tokens: {distribution: long_tail, mean: 256, p95: 1024}",
         "output_tokens: {distribution: long_tail, mean: 256, p95: 24}", "s.yaml:7:3: workload.output_tokens: p95"),
        ("  output_tokens: {distribution: long_tail, mean: 256, p95: 1024}\n", "",
         "s.yaml:9:5: services[0].workload.output_tokens: is missing"),
        (SERVICES, "services: []\n", "s.yaml:9:1: services: is empty"),
        (SERVICES, "services: chat\n", 's.yaml:9:11: services: cannot be used; read "chat"; expected a list'),
        (SERVICES, "services: {chat: {model: deepseek-r1}}\n", "services: cannot be used; read keys with values"),
    ],
)  # fmt: skip
def test_each_problem_of_a_service_has_its_place(
    tmp_path: Path, catalog: Catalog, old: str, new: str, expected: str
) -> None:
    assert old in TEXT
    found = problems(tmp_path, catalog, TEXT.replace(old, new, 1))
    assert any(expected in line for line in found), found
    assert len(found) <= 2, found


def test_set_names_the_services_there_are(tmp_path: Path, catalog: Catalog) -> None:
    (found,) = problems(tmp_path, catalog, TEXT, sets=["services.chatt.tier=2"])
    assert 'services: no such item; read "chatt"; expected chat, extraction, reasoning (did you mean "chat"?)' in found
    (found,) = problems(tmp_path, catalog, TEXT, sets=["services.chat=2"])
    assert "is a group of values" in found
    (found,) = problems(tmp_path, catalog, TEXT, sets=["services=2"])
    assert "is a group of values" in found


def test_check_says_how_names_were_read(tmp_path: Path, catalog: Catalog) -> None:
    text = TEXT + "fleet: [{gpu: H20, cards: 8}]\n"
    assert ("Qwen2.5 7B Instruct", "qwen2.5-7b-instruct") not in names_read(write(tmp_path, text), catalog)
    assert ("H20", "h20-96gb") in names_read(tmp_path / "s.yaml", catalog)


# --- what becomes of it ----------------------------------------------------------------------------------------------


def test_services_of_one_model_are_sized_apart(run: Run) -> None:
    frame = run.candidates.set_index("candidate_id")
    chat, extraction = (frame.loc[f"{name}.fp8.h20-96gb.8x.nvlink"] for name in ("chat", "extraction"))
    assert chat["model"] == extraction["model"] == "qwen2.5-7b-instruct"
    assert (chat["input_mean_tokens"], extraction["input_mean_tokens"]) == (512, 6000)
    assert (chat["tpot_target_ms"], extraction["tpot_target_ms"]) == (50, 100)
    assert (chat["demand_peak_concurrency"], extraction["demand_requests_per_s"]) == (100, 4)
    # mean lengths 768 and 6,800 tokens: nearly nine times the memory for one request, so far fewer of them
    assert extraction["memory_concurrency"] < chat["memory_concurrency"] / 4
    reasoning = frame.loc["reasoning.fp8.h20-96gb.8x.nvlink"]
    assert reasoning["model"] == "deepseek-r1"
    assert reasoning["input_mean_tokens"] == 512


def test_a_service_uses_its_own_quantizations_only(run: Run) -> None:
    used = run.candidates.groupby("service", observed=True)["quantization"].agg(lambda names: set(map(str, names)))
    assert used.to_dict() == {"chat": {"fp8", "int4"}, "extraction": {"fp8"}, "reasoning": {"fp8", "int4"}}


def test_every_service_has_its_own_ranking(run: Run) -> None:
    priced = run.options[run.options["rank"].notna()]
    for service in ("chat", "extraction"):
        own = priced[priced["service"] == service]
        assert sorted(own["rank"]) == list(range(1, len(own) + 1))
        assert own.loc[own["winner"], "monthly_cost_amount"].tolist() == [own["monthly_cost_amount"].min()]
    assert run.winners()["service"].astype(str).is_unique
    assert {"chat", "extraction"} <= set(run.winners()["service"].astype(str))
    against = run.excuses[run.excuses["code"] == "dearer"].set_index("option_id")
    for option in priced[priced["rank"] > 1].itertuples():
        best = priced.loc[(priced["service"] == option.service) & priced["winner"], "monthly_cost_amount"].iloc[0]
        share = against.loc[option.option_id, "values"]["more_share"]
        assert share == pytest.approx(option.monthly_cost_amount / best - 1)


def test_shared_values_are_one_fact_and_own_values_another(run: Run) -> None:
    facts = run.facts[run.facts["scope"] == "workload"].set_index(["key", "column"])["value"]
    assert set(facts.index.get_level_values("key")) == {"", "extraction"}
    assert facts["", "input_mean_tokens"] == 512
    assert facts["extraction", "input_mean_tokens"] == 6000
    demand = run.facts[run.facts["column"] == "demand_peak_concurrency"].set_index("key")["value"]
    assert demand.to_dict() == {"chat": 100, "extraction": 0, "reasoning": 30}


def test_a_service_counts_as_if_it_were_alone(run: Run, catalog: Catalog, tmp_path: Path) -> None:
    """The same question asked of the model in a scenario of its own has the same answer, column by column."""
    text = GOOD.replace("[qwen2.5-7b-instruct, deepseek-r1]", "[qwen2.5-7b-instruct]").replace("[fp8, int4]", "[fp8]")
    text = text.replace("input_tokens: 512", "input_tokens: 6000")
    text = text.replace("{peak_concurrency: 100}", "{requests_per_s: 4}")
    text = text.replace("{distribution: long_tail, mean: 256, p95: 1024}", "800")
    text = text.replace("tpot_ms: 50", "tpot_p95_ms: 100, answer_p99_ms: 200000")
    alone = pipeline.evaluate(read(tmp_path, catalog, text), catalog).options
    among = run.options[run.options["service"] == "extraction"]
    # the draws of a simulation are named by the option, so only what was not simulated is the same to the last digit
    unlimited = (alone["simulated_requests"].to_numpy() == 1e12) & (among["simulated_requests"].to_numpy() == 1e12)
    assert unlimited.any()
    for name in alone.columns[alone.dtypes == "float64"]:
        if name not in ("pareto", "rank"):
            assert np.allclose(alone[name][unlimited], among[name].to_numpy()[unlimited], equal_nan=True), name


def test_a_context_too_short_for_one_service_is_no_excuse_for_another(catalog: Catalog, tmp_path: Path) -> None:
    text = TEXT.replace("input_tokens: 6000", "input_tokens: 60000")  # its context is 32,768 tokens
    found = pipeline.evaluate(read(tmp_path, catalog, text), catalog).candidates
    codes = found.groupby("service", observed=True)["excuse_code"].agg(set)
    assert codes["extraction"] <= {"context-too-long", "no-nvlink"}
    assert "context-too-long" not in codes["chat"]


# --- how services are run, and any value anywhere --------------------------------------------------------------------

OPERATIONS = """\
speculative: {draft_tokens: 3, acceptance: 0.7, draft_step_share: 0.1}
engine_settings: {chunk_tokens: 2048, max_requests: 256}
fleet:
  - {gpu: H20, cards: 16, servers: 2, age_months: 18, book_value: 900000}
  - {gpu: l40s, cards: 4, kind: leased, lease_ends: 2027-06-30, amount_per_month: 8000}
room: {power_kw: 120, racks: 4, kw_per_rack: 30, units_per_rack: 42}
policies: {spare: server, headroom_share: 0.25}
"""


def test_the_other_keys_are_read_and_checked(tmp_path: Path, catalog: Catalog) -> None:
    text = TEXT + OPERATIONS
    scenario = read(tmp_path, catalog, text)
    assert scenario.fleet[0].gpu == "h20-96gb"
    assert scenario.speculative is not None
    assert scenario.speculative.draft_tokens == 3
    assert scenario.policies.spare == "server"
    changed = read(tmp_path, catalog, text, sets=["fleet.l40s.cards=8", "policies.spare=2", "room.power_kw=80"])
    assert (changed.fleet[1].cards, changed.policies.spare) == (8, 2)
    assert changed.room is not None
    assert changed.room.power_kw == 80
    facts = pipeline.evaluate(scenario, catalog).facts.set_index("column")
    assert facts.loc["engine_batch_requests", "value"] == 256
    assert set(facts.loc[["chunk_small_tokens", "chunk_large_tokens"], "value"]) == {2048}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fleet: [{gpu: h21, cards: 8}]", 's.yaml:30:15: fleet[0].gpu: unknown gpu "h21"; did you mean'),
        ("fleet: [{gpu: l40s}]", "fleet[0].cards: is missing"),
        ("fleet: [{gpu: l40s, cards: 8, lease_ends: 2027-01-01}]", "owned cards have no lease_ends"),
        ("fleet: [{gpu: l40s, cards: 8, kind: leased, book_value: 3}]", "leased cards have no book_value"),
        ("fleet: [{gpu: l40s, cards: 8, servers: 9}]", "servers (9) are more than cards (8)"),
        ("policies: {spare: rack}", "policies.spare"),
        ("policies: {headroom_share: 25}", "s.yaml:30:28: policies.headroom_share: is out of range; read 25"),
        ("room: {power_kw: 0}", "s.yaml:30:18: room.power_kw: is out of range; read 0"),
        ("speculative: {draft_tokens: 3}", "speculative.acceptance: is missing"),
        ("engine_settings: {chunk_tokens: 1}", "engine_settings.chunk_tokens: is out of range"),
    ],
)
def test_what_is_wrong_with_the_other_keys(tmp_path: Path, catalog: Catalog, line: str, expected: str) -> None:
    found = problems(tmp_path, catalog, TEXT + line + "\n")
    assert any(expected in each for each in found), found


def test_any_value_anywhere_is_accepted_or_refused_on_purpose(tmp_path: Path, catalog: Catalog) -> None:
    whole = strict_yaml.parse(TEXT + OPERATIONS + OVERRIDES, "full").data
    read_scenario(write(tmp_path, json.dumps(whole)), catalog, overrides=["evening"])
    new = ("services", "speculative", "engine_settings", "fleet", "room", "policies", "overrides")
    for path in places(whole)[1:]:
        for weird in WEIRD if path[0] in new else ():
            data: Any = json.loads(json.dumps(whole))
            inside = data
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = "PLACEHOLDER"
            file = write(tmp_path, json.dumps(data).replace('"PLACEHOLDER"', weird))
            with suppress(InputError):
                read_scenario(file, catalog, overrides=["evening"] if path != ("overrides",) else ())
