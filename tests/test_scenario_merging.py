"""How a scenario is put together: the file it extends, its overrides, --set and --period, each change logged."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from scenario_text import GOOD, problems, read, write

from reports.catalog.records import Catalog

BASE = """\
currency: CNY
region: china
prices: {max_age_days: 90, terms: [on-demand]}
targets: {tpot_ms: 40, ttft_ms: 900}
"""
OWN = "extends: base.yaml\n" + GOOD.replace("currency: USD\n", "").replace("region: us\n", "")


def test_extends_fills_in_what_is_not_stated(tmp_path: Path, catalog: Catalog) -> None:
    write(tmp_path, BASE, "base.yaml")
    scenario = read(tmp_path, catalog, OWN + "prices: {max_age_days: 30}\n")
    assert (scenario.currency, scenario.region) == ("CNY", "china")
    assert (scenario.prices.max_age_days, scenario.prices.terms) == (30, ("on-demand",))
    assert scenario.targets is not None
    assert (scenario.targets.tpot_ms, scenario.targets.ttft_ms, scenario.targets.ttft_statistic) == (50, 2000, "p99")
    assert [path for path, _ in scenario.files] == ["s.yaml", "base.yaml"]


def test_problems_point_to_the_file_they_are_in(tmp_path: Path, catalog: Catalog) -> None:
    write(tmp_path, BASE.replace("CNY", "Yuan").replace("[on-demand]", "[5]"), "base.yaml")
    found = problems(tmp_path, catalog, OWN.replace("l40s", "l41s"))
    assert [line.split(": ")[0] for line in found] == ["s.yaml:12:19", "base.yaml:1:11", "base.yaml:3:36"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../base.yaml", "leaves the scenario's folder"), ("/etc/passwd", "leaves the scenario's folder"),
        ("s.yaml", "extends itself"), ("bas.yaml", 'did you mean "base.yaml"?'), ("[a]", "the name of one file"),
        ("third.yaml", "extends a third file"), ("circle.yaml", "the two files extend each other"),
        ("link.yaml", "leaves the scenario's folder"), ("text.yaml", "is not a scenario"),
        ("null", "the name of one file"),
    ],
)  # fmt: skip
def test_extends_is_one_step_to_a_file_beside(tmp_path: Path, catalog: Catalog, name: str, message: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    write(tmp_path, BASE, "base.yaml")
    write(inside, BASE, "base.yaml")
    write(inside, "extends: base.yaml\n", "third.yaml")
    write(inside, "extends: s.yaml\n", "circle.yaml")
    write(inside, "just words\n", "text.yaml")
    (inside / "link.yaml").symlink_to(tmp_path / "base.yaml")
    found = problems(inside, catalog, OWN.replace("base.yaml", name, 1))
    assert message in found[0]


OVERRIDES = """
overrides:
  fast: {targets: {tpot_ms: 20}}
  arrivals: {workload: {demand: {requests_per_s: 5}}}
  short: {workload: {input_tokens: {distribution: fixed, tokens: 9}}, matrix: {gpu: [l40s]}}
  slow: {targets: {tpot_p95_ms: 80}}
  slower: {targets: {tpot_p95_ms: 90}}
"""


def test_overrides_replace_what_they_state_and_are_logged(tmp_path: Path, catalog: Catalog) -> None:
    scenario = read(tmp_path, catalog, GOOD + OVERRIDES, overrides=["fast", "arrivals", "short"])
    assert scenario.targets is not None
    assert scenario.targets.tpot_ms == 20
    assert scenario.demand_for("deepseek-r1") == (0.0, 5.0)
    assert scenario.workload.input_tokens.mean == 9
    assert scenario.matrix.gpu == ("l40s",)
    assert scenario.changes[0] == ("targets.tpot_ms", 50, 20)
    assert ("matrix.gpu", ["h20-96gb", "l40s"], ["l40s"]) in scenario.changes


def test_another_statistic_replaces_the_target(tmp_path: Path, catalog: Catalog) -> None:
    scenario = read(tmp_path, catalog, GOOD + OVERRIDES, overrides=["slow"])
    assert scenario.targets is not None
    assert (scenario.targets.tpot_ms, scenario.targets.tpot_statistic) == (80, "p95")


def test_overrides_that_clash_are_refused(tmp_path: Path, catalog: Catalog) -> None:
    found = problems(tmp_path, catalog, GOOD + OVERRIDES, overrides=["slow", "slower"])
    assert 'override "slower" clashes with override "slow"; read 90; expected 80' in found[0]


def test_an_unknown_override_and_a_mistake_in_an_unused_one(tmp_path: Path, catalog: Catalog) -> None:
    assert 'did you mean "fast"?' in problems(tmp_path, catalog, GOOD + OVERRIDES, overrides=["fastt"])[0]
    found = problems(tmp_path, catalog, GOOD + OVERRIDES.replace("{tpot_ms: 20}", "{tpott_ms: 20}"))
    assert found == ['s.yaml:18:20: targets: unknown key; read "tpott_ms" (did you mean "tpot_ms"?)']


@pytest.mark.parametrize(
    ("text", "change", "attribute"),
    [
        ("targets.tpot_ms=30", ("targets.tpot_ms", 50, 30), lambda s: s.targets.tpot_ms == 30),
        ("targets.tpot_p95_ms=30", ("targets.tpot_p95_ms", None, 30), lambda s: s.targets.tpot_statistic == "p95"),
        ("matrix.gpu=L40S, H20", ("matrix.gpu", ["h20-96gb", "l40s"], ["L40S", "H20"]),
         lambda s: s.matrix.gpu == ("l40s", "h20-96gb")),
        ("matrix.count=[2,4]", ("matrix.count", [1, 8], [2, 4]), lambda s: s.matrix.count == (2, 4)),
        ("title.en=My: title, # 1", ("title.en", "A test", "My: title, # 1"), lambda s: s.title.en == "My: title, # 1"),
        ("version=1.0", ("version", "", "1.0"), lambda s: s.version == "1.0"),
        ("prices.marketplaces=true", ("prices.marketplaces", False, True), lambda s: s.prices.marketplaces),
        ("costs.horizon_months=24", ("costs.horizon_months", 36, 24), lambda s: s.costs.horizon_months == 24),
        ("assumptions.safety_factor=0.7", ("assumptions.safety_factor", None, 0.7),
         lambda s: s.assumptions["safety_factor"] == 0.7),
        ("workload.demand.by_model.qwen2.5-7b-instruct.peak_concurrency=7",
         ("workload.demand.by_model.qwen2.5-7b-instruct.peak_concurrency", None, 7),
         lambda s: s.demand_for("qwen2.5-7b-instruct") == (7, 0)),
        ("matrix.quantization_by_model.qwen2.5-7b-instruct=int4",
         ("matrix.quantization_by_model.qwen2.5-7b-instruct", None, ["int4"]),
         lambda s: s.matrix.quantization_by_model["qwen2.5-7b-instruct"] == ("int4",)),
        ("workload.input_tokens=99", ("workload.input_tokens", 512, 99), lambda s: s.workload.input_tokens.p95 == 99),
        ("workload.output_tokens.p95=600", ("workload.output_tokens.p95", 1024, 600),
         lambda s: s.workload.output_tokens.p95 == 600),
        ("workload.demand.requests_per_s=3", ("workload.demand.requests_per_s", None, 3),
         lambda s: s.demand_for("deepseek-r1") == (0, 3)),
        ("method=rule-of-thumb", ("method", ["roofline"], ["rule-of-thumb"]),
         lambda s: s.methods == ("rule-of-thumb",)),
        ("as_of=2026-11-15", ("as_of", None, "2026-11-15"), lambda s: s.as_of == datetime.date(2026, 11, 15)),
    ],
)  # fmt: skip
def test_set(tmp_path: Path, catalog: Catalog, text: str, change: tuple[str, Any, Any], attribute: Any) -> None:
    scenario = read(tmp_path, catalog, sets=[text])
    assert scenario.changes == (change,)
    assert attribute(scenario)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("targets.tpott_ms=30", '--set targets.tpott_ms=30: targets: unknown path; read "tpott_ms"'),
        ("target.tpot_ms=30", 'did you mean "targets"?'),
        ("targets=30", "is a group of values"),
        ("targets.tpot_ms", "expected path=value"),
        ("targets.tpot_ms=fast", 'targets.tpot_ms: cannot be used; read "fast"; expected a number'),
        ("targets.tpot_ms=5%", "write 0.05"),
        ("targets.tpot_ms.x=5", "a single value has no parts"),
        ("matrix.gpu=h21", "--set matrix.gpu=h21: matrix.gpu[0]: unknown gpu"),
        ("matrix.gpu=", "is empty"),
        ("=5", "expected path=value"),
        ("overrides.x=5", 'unknown path; read "overrides"'),
        ("matrix.count=[1", "expected a whole number"),
    ],
)  # fmt: skip
def test_set_says_what_is_wrong(tmp_path: Path, catalog: Catalog, text: str, message: str) -> None:
    found = problems(tmp_path, catalog, GOOD, sets=[text])
    assert any(message in line for line in found), found


def test_setting_one_path_twice_is_refused(tmp_path: Path, catalog: Catalog) -> None:
    found = problems(tmp_path, catalog, GOOD, sets=["targets.tpot_ms=30", "targets.tpot_ms=40"])
    assert "was set before to another value" in found[0]


def test_another_period_moves_the_date_of_prices(tmp_path: Path, catalog: Catalog) -> None:
    scenario = read(tmp_path, catalog, GOOD + "as_of: 2026-11-29\n", period="2027-02")
    assert scenario.as_of == datetime.date(2027, 2, 28)
    assert scenario.changes[0] == ("period", "2026-11", "2027-02")
    assert "--period 2027-2: period: has the wrong form" in problems(tmp_path, catalog, GOOD, period="2027-2")[0]
