"""Reading a scenario: lengths, names, every problem at once. Numbers are worked by hand where they stand."""

from __future__ import annotations

import datetime
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scenario_text import GOOD, problems, read, write

from reports import strict_yaml
from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.paths import catalogs_folder
from reports.scenario.read import read_scenario
from reports.scenario.schema import AXES, last_day, schema_text


def test_what_is_written_and_what_is_filled_in(tmp_path: Path, catalog: Catalog) -> None:
    scenario = read(tmp_path, catalog)
    assert scenario.name == "s"
    assert scenario.as_of == datetime.date(2026, 11, 30)
    assert scenario.methods == ("roofline",)
    assert scenario.matrix.count == (1, 8)
    assert (scenario.engine, scenario.kv_cache, scenario.languages) == ("vllm", "16bit", ("en",))
    assert scenario.targets is not None
    assert (scenario.targets.tpot_ms, scenario.targets.tpot_statistic) == (50, "mean")
    assert (scenario.targets.ttft_ms, scenario.targets.ttft_statistic) == (2000, "p99")
    assert "spot" not in scenario.prices.terms
    assert "on-demand" in scenario.prices.terms
    assert scenario.title["zh"] == "A test"
    assert scenario.changes == ()
    assert [path for path, _ in scenario.files] == ["s.yaml"]
    with pytest.raises(Exception, match="frozen"):
        scenario.currency = "CNY"


def test_last_day_of_a_month() -> None:
    assert last_day("2028-02") == datetime.date(2028, 2, 29)
    assert last_day("2026-12") == datetime.date(2026, 12, 31)


@pytest.mark.parametrize(
    ("text", "mean", "p95"),
    [
        ("512", 512, 512),
        ("{distribution: fixed, tokens: 512}", 512, 512),
        ("{distribution: uniform, low: 100, high: 300}", 200, 290),  # 100 + 0.95 x 200
        ("{distribution: long_tail, mean: 512, p95: 2048}", 512, 2048),  # 4.0 times the mean: real, and accepted
        ("{distribution: normal, mean: 1000, deviation: 0}", 1000, 1000),
        # far from 0 the cut does nothing: 1000 + 1.6448536 x 100
        ("{distribution: normal, mean: 1000, deviation: 100}", 1000, 1164.48536),
        # a = 1: pdf 0.2419707, cdf 0.8413447; mean 100 x (1 + 0.2419707 / 0.8413447) = 128.75999;
        # P95 at cdf 1 - 0.05 x 0.8413447 = 0.9579328, z = 1.7271 (tables: 0.9579 between 1.72 and 1.73)
        ("{distribution: normal, mean: 100, deviation: 100}", 128.75999, 272.71),
    ],
)  # fmt: skip
def test_lengths(tmp_path: Path, catalog: Catalog, text: str, mean: float, p95: float) -> None:
    scenario = read(tmp_path, catalog, GOOD.replace("input_tokens: 512", f"input_tokens: {text}"))
    assert scenario.workload.input_tokens.mean == pytest.approx(mean, rel=1e-6)
    assert scenario.workload.input_tokens.p95 == pytest.approx(p95, rel=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{distribution: long_tail, mean: 512, p95: 100}", "s.yaml:6:3: workload.input_tokens: p95 (100) is below"),
        ("{distribution: uniform, low: 9, high: 3}", "s.yaml:6:3: workload.input_tokens: high (3) is below low (9)"),
        ("{distribution: fixed, tokens: 0}", "s.yaml:6:47: workload.input_tokens.tokens: is out of range; read 0"),
        ("-3", "read -3; expected 1 or more"),
        ("{distribution: lognorm, mean: 3}", 'read "lognorm"'),
        ("{distribution: fixed, mean: 3}", 'unknown key; read "mean"; expected distribution, tokens'),
        ("{mean: 3}", "distribution"),
        ("{distribution: normal, mean: 3, deviation: -1}", "read -1; expected 0 or more"),
        ("many", "workload.input_tokens"),
    ],
)  # fmt: skip
def test_lengths_that_make_no_sense(tmp_path: Path, catalog: Catalog, text: str, message: str) -> None:
    found = problems(tmp_path, catalog, GOOD.replace("input_tokens: 512", f"input_tokens: {text}"))
    assert any(message in line for line in found), found
    assert all(line.startswith("s.yaml:6:") for line in found), found


def test_names_become_ids(tmp_path: Path, catalog: Catalog) -> None:
    text = GOOD.replace("[h20-96gb, l40s]", "[H20, L40S]").replace("qwen2.5-7b-instruct", "Qwen/Qwen2.5-7B-Instruct")
    scenario = read(tmp_path, catalog, text)
    assert scenario.matrix.gpu == ("h20-96gb", "l40s")
    assert scenario.matrix.model == ("qwen2.5-7b-instruct", "deepseek-r1")


def test_demand_by_model_uses_ids_and_the_rest_falls_back(tmp_path: Path, catalog: Catalog) -> None:
    text = GOOD.replace(
        "demand: {peak_concurrency: 100}",
        "demand: {peak_concurrency: 100, by_model: {deepseek-ai/DeepSeek-R1: {requests_per_s: 6}}}",
    )
    scenario = read(tmp_path, catalog, text)
    assert scenario.demand_for("deepseek-r1") == (0.0, 6.0)
    assert scenario.demand_for("qwen2.5-7b-instruct") == (100.0, 0.0)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("h20-96gb", "h200-96gb", 's.yaml:13:9: matrix.gpu[0]: unknown gpu "h200-96gb"; did you mean "gh200-96gb"?'),
        ("deepseek-r1", "deepsek-r1", 's.yaml:11:32: matrix.model[1]: unknown model "deepsek-r1"; did you mean'),
        ("fp8, int4", "fp8, int44", "s.yaml:12:23: matrix.quantization[1]: unknown quantization"),
        ("[fp8, int4]", "[]", "s.yaml:12:3: matrix.quantization: is empty; read an empty list; expected at least 1"),
        ("h20-96gb, l40s", "h20-96gb, H20", "s.yaml:13:19: matrix.gpu[1]: is the same gpu as item 0"),
        ("[1, 8]", "[1, 8, 1]", "s.yaml:14:17: matrix.count[2]: is in the list twice"),
        ("[1, 8]", "[0, 8]", "s.yaml:14:11: matrix.count[0]: is out of range; read 0; expected 1 or more"),
        ("[1, 8]", "[1.5]", "s.yaml:14:11: matrix.count[0]: cannot be used; read 1.5; expected a whole number"),
        ("[1, 8]", "[08]", 'read "08"; expected a whole number (a leading zero'),
        ("[nvlink, pcie]", "[nvlnk]", 'read "nvlnk"; expected nvlink, pcie (did you mean "nvlink"?)'),
        ("currency: USD", "currency: RMB", 's.yaml:3:11: currency: is not one of the accepted values; read "RMB"'),
        ("region: us", "region: usa", 'expected china, us, eu, global (did you mean "us"?)'),
        ("region: us", "languages: [en, fr]", "s.yaml:4:17: languages[1]: is not one of the accepted values"),
        ("region: us", "languages: [en, en]", "languages: lists the same item twice"),
        ("region: us", "reports: [monthly]", 'did you mean "monthly-procurement"?'),
        ("region: us", "method: rofline", 's.yaml:4:9: method[0]: is not one of the accepted values; read "rofline"'),
        ("region: us", "engine: vlm", 's.yaml:4:9: engine: unknown engine "vlm"; did you mean "vllm"?'),
        ("region: us", "curency: USD", 's.yaml:4:1: unknown key; read "curency"'),
        ("period: 2026-11", "period: 2026-13", 's.yaml:2:9: period: has the wrong form; read "2026-13"; expected'),
        ("period: 2026-11", "period: November", "expected a month such as 2026-11"),
        ("region: us", "as_of: 30.11.2026", 's.yaml:4:8: as_of: cannot be used; read "30.11.2026"; expected a date'),
        ("region: us", "as_of: 2026-11-31", "expected a date such as 2026-11-30"),
        ("region: us", "as_of: 2025-11-30", "s.yaml:4:8: as_of: is too far from the period"),
        ("region: us", "assumptions: {residual_share_36_months: -0.1}", "read -0.1; expected 0 or more"),
        ("region: us", "assumptions: {annual_discount_rate: 8}", "read 8; expected a share between 0 and 1 (8 % is"),
        ("region: us", "assumptions: {service_life_months: 0}", "read 0; expected a whole number of months, 1 or more"),
        ("region: us", "assumptions: {loan_months: 30.5}", "read 30.5; expected a whole number of months, 1 or more"),
        ("region: us", "validity: 2026-10-01", "s.yaml:4:11: validity: is over before the report is made"),
        ("tpot_ms: 50", "tpot_ms: -50", "s.yaml:9:20: targets.tpot_ms: is out of range; read -50; expected more"),
        ("tpot_ms: 50, ", "", "s.yaml:9:1: targets: state exactly one of tpot_ms, tpot_p50_ms"),
        ("tpot_ms: 50,", "tpot_ms: 50, tpot_p95_ms: 60,", "targets: state exactly one of tpot_ms"),
        ("targets: {tpot_ms: 50, ttft_p99_ms: 2000}", "", "targets: is missing; expected a target for TPOT"),
        ("{peak_concurrency: 100}", "{peak_concurrency: 100, requests_per_s: 2}", "state exactly one of peak_conc"),
        ("{peak_concurrency: 100}", "{}", "state peak_concurrency, requests_per_s, users, tokens_per_month, run or"),
        ("{peak_concurrency: 100}", "{by_model: {deepseek-r1: {requests_per_s: 1}}}",
         "s.yaml:8:3: workload.demand: says nothing about qwen2.5-7b-instruct"),
        ("{peak_concurrency: 100}", "{peak_concurrency: 1, by_model: {qwen3-32b: {requests_per_s: 1}}}",
         "is not in matrix.model"),
        ("{peak_concurrency: 100}", "{peak_concurrency: 1, by_model: {deepseek-r1: {}}}", "state exactly one of peak"),
        ("region: us", "assumptions: {safty_factor: 0.7}", 'did you mean "safety_factor"?'),
        ("region: us", "assumptions: {safety_factor: 70}", "expected a share between 0 and 1 (70 % is 0.7)"),
        ("region: us", "assumptions: {safety_factor: -1}", "read -1; expected 0 or more"),
        ("region: us", "prices: {terms: [on-demnd]}", 'did you mean "on-demand"?'),
        ("region: us", "prices: {regions: [mars]}", "s.yaml:4:20: prices.regions[0]: is not in the price book"),
        ("region: us", "costs: {compare: [rent, lease]}", "expected rent, buy"),
        ("region: us", "prices: {max_age_days: 1e2}", "read 100.0; expected a whole number"),
        ("title: {en: A test}", "title: A test", "s.yaml:1:8: title: cannot be used"),
        ("title: {en: A test}", "title: {zh: 月报}", "s.yaml:1:1: title.en: is missing"),
    ],
)  # fmt: skip
def test_each_problem_has_its_place(tmp_path: Path, catalog: Catalog, old: str, new: str, expected: str) -> None:
    found = problems(tmp_path, catalog, GOOD.replace(old, new, 1))
    assert any(expected in line for line in found), found
    assert len(found) == 1, found


def test_all_problems_at_once_in_file_order(tmp_path: Path, catalog: Catalog) -> None:
    text = GOOD.replace("h20-96gb", "h21").replace("period: 2026-11", "period: 11/2026").replace("[1, 8]", "[]")
    text = text.replace("tpot_ms: 50", "tpot_ms: fast").replace("fp8", "fp7") + "assumptions: {nonsense: 1}\n"
    found = problems(tmp_path, catalog, text)
    assert [line.split(":")[1] for line in found] == ["2", "9", "12", "13", "14", "16"]


def test_rule_of_thumb_alone_needs_no_targets(tmp_path: Path, catalog: Catalog) -> None:
    text = GOOD.replace("targets: {tpot_ms: 50, ttft_p99_ms: 2000}", "method: rule-of-thumb")
    assert read(tmp_path, catalog, text).targets is None
    text = text.replace("rule-of-thumb", "[roofline, rule-of-thumb]")
    assert "targets: is missing" in problems(tmp_path, catalog, text)[0]


# --- any value anywhere --------------------------------------------------------------------------------------------

WEIRD = ["null", "true", "-1", "0", "1e308", "999999999999999999", "''", "x", "[]", "[[]]", "[null]", "{}", "{a: 1}",
         "[x, x]", "{a: {b: [1]}}", "2026-02-30", "'\\0'", "🙂", "[1e400]", "[-1, a]"]  # fmt: skip
FULL = GOOD + """\
as_of: 2026-11-30
method: [roofline, rule-of-thumb]
engine: vllm
kv_cache: fp8
rule_of_thumb: {units: si, lengths: mean}
assumptions: {safety_factor: 0.7}
prices: {max_age_days: 10, regions: [us], providers_allowed: [AWS], terms: [spot], marketplaces: true}
costs: {horizon_months: 12, compare: [rent]}
reports: [capacity-proposal]
client: C
version: '1'
validity: 2027-01-31
classification: K
overrides: {a: {targets: {tpot_ms: 20}}}
"""


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(found for key, value in inner for found in places(value, (*path, key)))]


def test_any_value_anywhere_is_accepted_or_refused_on_purpose(tmp_path: Path, catalog: Catalog) -> None:
    whole = strict_yaml.parse(FULL, "full").data
    read_scenario(write(tmp_path, json.dumps(whole)), catalog)
    for path in places(whole)[1:]:
        for weird in WEIRD:
            data: Any = json.loads(json.dumps(whole))
            inside = data
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = "PLACEHOLDER"
            file = write(tmp_path, json.dumps(data).replace('"PLACEHOLDER"', weird))
            with suppress(InputError):
                read_scenario(file, catalog, overrides=["a"] if "overrides" not in path else ())


# --- what is shipped -----------------------------------------------------------------------------------------------


def test_the_committed_json_schema_is_current() -> None:
    committed = (catalogs_folder() / "schema" / "scenario.json").read_text(encoding="utf-8")
    assert committed == schema_text(), "run: python -m reports.scenario.schema"
    assert json.loads(committed)["additionalProperties"] is False


@pytest.mark.parametrize("name", ["eight-a100-7b", "monthly-procurement", "capacity-proposal"])
def test_shipped_scenarios_read(repository: Path, catalog: Catalog, name: str) -> None:
    scenario = read_scenario(repository / "scenarios" / f"{name}.yaml", catalog)
    assert scenario.title.en != scenario.title.zh != ""
    assert scenario.period == "2026-11"
    assert all(sum(scenario.demand_for(model)) > 0 for model in scenario.matrix.model)


def test_the_monthly_scenario_is_wide_enough(repository: Path, catalog: Catalog) -> None:
    matrix = read_scenario(repository / "scenarios" / "monthly-procurement.yaml", catalog).matrix
    sizes = [len(getattr(matrix, axis)) for axis in AXES]
    assert sizes[0] >= 6
    assert sizes[1] == 5
    assert sizes[2] >= 10
    assert matrix.count == (1, 2, 4, 8, 16, 32, 64)
    assert matrix.interconnect == ("nvlink", "pcie")
