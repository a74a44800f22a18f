"""A calibration holds for the card and engine it was measured on; its rows enter labels, neighbours and bands."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.columns import CALIBRATED, LEAF, fact_reference
from reports.errors import InputError
from reports.facts import collect
from reports.field import overlay, own
from reports.field.bands import LABELS, Known, band
from reports.field.calibrate import MOVED, OFFSET, OVERHEAD, calibrate
from reports.field.evidence import bands, evidence
from reports.field.measured import shipped
from reports.field.own import APPLIED, FOR_ALL, NOT_APPLIED, OTHER_MODELS
from reports.field.rules import rule, rules
from reports.matrix import expand
from reports.methods import METHODS
from reports.scenario.read import read_scenario
from reports.scenario.schema import Scenario

SCENARIO = """\
title: {en: Own}
period: 2026-11
currency: USD
region: us
workload: {input_tokens: 512, output_tokens: 256, demand: {peak_concurrency: 10}}
targets: {tpot_ms: 50, ttft_ms: 2000}
matrix:
  {model: [qwen2.5-7b-instruct, qwen3-8b], quantization: [fp8], gpu: [l40s, l20], count: [1], interconnect: [pcie]}
reports: []
"""
HEADER = "id,source,model,weight_quant,gpu,gpu_count,tp,framework,isl,osl,concurrency_or_batch,metric,value"


def own_csv(path: Path, gpu: str = "L20", count: int = 16) -> Path:
    """A card on which nobody else measured this model: a server at half of the predicted speed, evenly."""
    lines = [HEADER]
    for number in range(count):
        batch, osl = (1, 2, 4, 8)[number % 4], 200 + number
        lines.append(
            f"o{number},me,Qwen2.5-7B-Instruct,fp8,{gpu},1,1,vLLM,512,{osl},{batch},tpot_ms,{19 + number / 100}"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An overlay from sixteen runs on one L20 under vLLM."""
    folder = tmp_path_factory.mktemp("own")
    shipped_catalog = read_catalog()
    overlay.write(calibrate([own_csv(folder / "l20.csv")], shipped_catalog, date="2026-09-30"), folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def ours(site: Path) -> Catalog:
    return read_catalog([site])


def scenario(tmp_path: Path, catalog: Catalog, text: str = SCENARIO) -> Scenario:
    path = tmp_path / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return read_scenario(path, catalog)


def test_it_says_what_it_was_measured_on(site: Path, ours: Catalog) -> None:
    said = json.loads((site / "measured" / "calibration.json").read_text(encoding="utf-8"))
    assert said["measured_on"] == [
        {"engine": "vllm", "gpu": "l20", "models": ["qwen2.5-7b-instruct"], "formats": ["fp8"], "tensor_parallel": [1],
         "rows": 16}
    ]  # fmt: skip
    assert (said["date"], len(said["sha256"])) == ("2026-09-30", 64)
    assert "l20 under vllm with qwen2.5-7b-instruct in fp8" in ours.sources[said["source"]].title
    assert {key[1:] for key in ours.calibrated} == {("vllm", "l20")}


def test_only_the_card_that_was_measured_moves(tmp_path: Path, ours: Catalog, catalog: Catalog) -> None:
    space = expand(scenario(tmp_path, ours), ours, METHODS["roofline"])
    shared = catalog.assumptions["eta_weights", "global"].mid
    own_value = ours.calibrated["eta_weights", "vllm", "l20"].mid
    assert dict(zip(space.axes["gpu"], space.by_gpu["eta_weights"], strict=True)) == {"l40s": shared, "l20": own_value}
    assert own_value < shared
    # what the data could not see stays one number for all
    assert set(space.by_gpu["eta_experts"]) == {catalog.assumptions["eta_experts", "global"].mid}
    facts = collect(scenario(tmp_path, ours), ours, METHODS["roofline"]).frame
    keys = facts[facts["column"] == "eta_weights"].set_index("key")
    assert keys.loc["l20", "basis"] == "measured"
    assert keys.loc["l20", "source"].startswith("calibration-2026-09-30-")
    assert (keys.loc["", "value"], keys.loc["l20", "value"]) == (shared, own_value)


def test_another_engine_keeps_the_shipped_coefficients(tmp_path: Path, ours: Catalog) -> None:
    space = expand(scenario(tmp_path, ours, SCENARIO + "engine: sglang\n"), ours, METHODS["roofline"])
    assert "eta_weights" in space.constants


def test_the_scenario_has_the_last_word(tmp_path: Path, ours: Catalog) -> None:
    space = expand(scenario(tmp_path, ours, SCENARIO + "assumptions: {eta_weights: 0.5}\n"), ours, METHODS["roofline"])
    assert set(space.by_gpu["eta_weights"]) == {0.5}


def test_each_candidate_refers_to_its_own_record(ours: Catalog, tmp_path: Path) -> None:
    row: dict[str, object] = {"calibrated_key": "l20", "engine": "vllm", "gpu": "l20"}
    assert fact_reference(row, "eta_weights") == ("assumption", "l20", "eta_weights")
    assert fact_reference(row, "engine_ttft_offset_ms") == ("engine", "l20", "engine_ttft_offset_ms")
    assert fact_reference(row | {"calibrated_key": ""}, "engine_ttft_offset_ms")[1] == "vllm"
    assert fact_reference(row, "mfu_moe") == ("assumption", "", "mfu_moe")
    facts = collect(scenario(tmp_path, ours), ours, METHODS["roofline"]).frame
    known = set(zip(facts["scope"], facts["key"], facts["column"], strict=True))
    assert {fact_reference(row, name) for name in CALIBRATED} <= known


def test_two_cards_in_one_run_are_fitted_apart(tmp_path: Path, catalog: Catalog) -> None:
    first, second = own_csv(tmp_path / "a.csv"), own_csv(tmp_path / "b.csv", gpu="L40S")
    both = calibrate([first, second], catalog, date="2026-09-30")
    alone = calibrate([first], catalog, date="2026-09-30")
    assert [each for each in both.coefficients if each.gpu == "l20"] == list(alone.coefficients)
    assert {each.gpu for each in both.coefficients} == {"l20", "l40s"}


def test_the_cover_names_card_engine_models_and_coefficients(tmp_path: Path, ours: Catalog, site: Path) -> None:
    said = dict(own.warnings(scenario(tmp_path, ours), ours))
    assert set(said) == {APPLIED, OTHER_MODELS}
    words = APPLIED.format(**said[APPLIED])
    assert "l20: calibrated on own measurements under vLLM (rows: 16; 2026-09-30; Qwen2.5-7B-Instruct; fp8)" in words
    assert "reading weights" in words
    assert OTHER_MODELS.format(**said[OTHER_MODELS]) == (
        "The calibration of l20 did not measure Qwen3-8B; it is applied to them too."
    )
    without = SCENARIO.replace("[l40s, l20]", "[l40s]")
    assert set(dict(own.warnings(scenario(tmp_path, ours, without), ours))) == {NOT_APPLIED}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"source": 1, "date": 2, "measured_on": [3]}', "\\0"])
def test_a_summary_that_nobody_can_read_is_no_crash(tmp_path: Path, ours: Catalog, site: Path, text: str) -> None:
    folder = tmp_path / "measured"
    folder.mkdir()
    (folder / "calibration.json").write_text(text, encoding="utf-8")
    assert own.warnings(scenario(tmp_path, ours), replace(ours, overlays=(str(tmp_path),))) == ()


def test_coefficients_for_every_card_are_named(tmp_path: Path) -> None:
    place = tmp_path / "old"
    place.mkdir()
    (place / "sources.csv").write_text(
        "id,title,locator,licence,checked_on\nme,Own,a file,own work,2026-09-30\n", encoding="utf-8"
    )
    (place / "assumptions.csv").write_text(
        "name,region,currency,low,mid,high,unit,basis,source,locator,checked_on,note\n"
        "eta_weights,global,,0.5,0.6,0.7,ratio,measured,me,,2026-09-30,\n"
        "pue,global,,1.1,1.2,1.3,ratio,measured,me,,2026-09-30,\n",
        encoding="utf-8",
    )
    catalog = read_catalog([place])
    said = dict(own.warnings(scenario(tmp_path, catalog), catalog))
    assert FOR_ALL.format(**said[FOR_ALL]) == (
        "old replaces coefficients for every card, engine and model, and does not say what they were measured on: "
        "reading weights."
    )


@pytest.mark.parametrize(
    ("name", "unit", "engine", "gpu", "words"),
    [
        ("pue", "ratio", "vllm", "l20", "does not depend on the card"),
        ("eta_weights", "ratio", "vllm", "", "names a part of what it was measured on"),
        ("eta_weights", "ratio", "vllm", "l2000", "unknown gpu"),
        ("eta_weights", "ratio", "vlm", "l20", "unknown engine"),
        ("kernel_floor_us", "ms", "vllm", "l20", "has another unit"),
    ],
)
def test_a_scope_that_cannot_be(tmp_path: Path, name: str, unit: str, engine: str, gpu: str, words: str) -> None:
    (tmp_path / "assumptions.csv").write_text(
        "name,region,currency,low,mid,high,unit,basis,source,locator,checked_on,note,engine,gpu\n"
        f"{name},global,,1,1,1,{unit},judgement,own-judgement,,2026-09-30,,{engine},{gpu}\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match=words):
        read_catalog([tmp_path])


def options(gpu: str, binding: str = "tpot") -> pd.DataFrame:
    return pd.DataFrame(
        {
            "option_id": ["one"], "model": "qwen2.5-7b-instruct", "gpu": gpu, "quantization": "fp8", "engine": "vllm",
            "input_mean_tokens": 512.0, "output_mean_tokens": 256.0, "load_requests": 8.0, "tpot_ms": 20.0,
            "ttft_ms": 100.0, "output_tokens_per_s": 400.0, "recommended_concurrency": 100.0, "cards_needed": 10.0,
            "tensor_parallel": 1.0, "data_parallel": 1.0, "interconnect": "pcie", "binding_constraint": binding,
        }
    )  # fmt: skip


def test_own_rows_give_labels_by_metric(catalog: Catalog, ours: Catalog) -> None:
    before, after = bands(options("l20"), catalog).iloc[0], bands(options("l20"), ours).iloc[0]
    assert before["tpot_ms_label"] == "extrapolated"  # nobody else measured this card
    assert (after["tpot_ms_label"], after["label"]) == ("measured", "measured")
    # only the time per token was measured
    assert after["ttft_ms_label"] == after["output_tokens_per_s_label"] == "extrapolated"
    assert bands(options("l20", "memory"), ours)["label"].tolist() == ["extrapolated"]


def test_a_model_of_a_measured_shape_counts_as_measured(catalog: Catalog) -> None:
    """Llama 3.3 70B has the shape of Llama 3.1 70B, which was measured in FP8 on H200."""
    asked = options("h200-sxm-141gb").assign(model=["llama-3.3-70b-instruct"])
    assert bands(asked, catalog)["tpot_ms_label"].tolist() == ["measured"]


def test_own_rows_are_the_nearest(catalog: Catalog, ours: Catalog) -> None:
    found = evidence(options("l20"), ours, shipped(ours))
    first = found[found["rank"] == 1].iloc[0]
    assert first["row_id"].startswith("calibration-2026-09-30-")
    assert (first["gpu"], first["model"]) == ("l20", "qwen2.5-7b-instruct")
    assert not evidence(options("l20"), catalog, shipped(catalog))["row_id"].str.startswith("calibration").any()


def test_the_band_of_own_rows_by_hand() -> None:
    """Twelve own rows 0.9 to 1.1: they weigh 12 / (12 + 24) = a third of the band, in logarithms."""
    key = ("m", "c", "fp8", "vllm")
    low, high = band("tpot_ms", "", "measured")
    for count, share in ((11, 0.0), (12, 1 / 3), (216, 0.9)):
        known = Known(frozenset(), {(*key, "tpot_ms"): (0.9, 1.1, count)})
        mixed = known.factors(key, "tpot_ms", "", "measured")
        assert math.log(mixed[0]) == pytest.approx((1 - share) * math.log(low) + share * math.log(0.9))
        assert math.log(mixed[1]) == pytest.approx((1 - share) * math.log(high) + share * math.log(1.1))
        assert known.factors(("other", *key[1:]), "tpot_ms", "", "measured") == (low, high)


def test_enough_own_rows_narrow_the_band(catalog: Catalog, ours: Catalog) -> None:
    """Sixteen even rows: narrower than what is printed for a card that was measured."""
    line = bands(options("l20"), ours).iloc[0]
    low, high = band("tpot_ms", "", "measured")
    assert line["tpot_ms_high"] / line["tpot_ms_low"] < high / low
    # the throughput was not measured: as printed
    low, high = band("output_tok_s", "", "extrapolated")
    assert line["output_tokens_per_s_low"] == pytest.approx(400 * low)


def test_the_band_of_the_load_is_that_of_what_limits_it(catalog: Catalog) -> None:
    memory = bands(options("h200-sxm-141gb", "memory"), catalog).iloc[0]
    low, high = band("kv_cache_tokens", "", str(memory["label"]))
    assert (memory["recommended_concurrency_low"], memory["recommended_concurrency_high"]) == (
        math.floor(100 * low), math.floor(100 * high),
    )  # fmt: skip
    first = bands(options("h200-sxm-141gb", "ttft"), catalog).iloc[0]
    low, high = band("ttft_ms", "", str(first["label"]))
    assert first["recommended_concurrency_low"] == math.floor(100 / high)


def test_neighbours_of_the_limiting_metric_and_the_same_layout_come_first(catalog: Catalog) -> None:
    asked = options("h200-sxm-141gb").assign(model="llama-3.1-70b-instruct", load_requests=16.0)
    table = shipped(catalog)
    by_metric = {
        binding: evidence(asked.assign(binding_constraint=binding), catalog, table).iloc[0]["metric"]
        for binding in ("tpot", "ttft")
    }
    assert by_metric == {"tpot": "tpot_ms", "ttft": "ttft_ms"}
    ranks = [
        evidence(asked.assign(tensor_parallel=ranks, interconnect="nvlink"), catalog, table).iloc[0]["tensor_parallel"]
        for ranks in (1.0, 8.0)
    ]
    assert ranks == [1.0, 8.0]


def test_every_rule_is_used_and_has_a_reason(repository: Path, catalog: Catalog) -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (repository / "reports").rglob("*.py"))
    for name, each in rules().items():
        assert f'"{name}"' in source, name
        assert each.low <= each.mid <= each.high, name
        assert each.note, name
    lines = (repository / "catalogs" / "measured" / "rules.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(rules()) + 1
    assert {line.split(",")[6] for line in lines[1:]} <= set(catalog.sources)
    assert rule("drift_limit") == 0.1
    assert LABELS == ("measured", "interpolated", "extrapolated")


def test_every_coefficient_that_moves_may_belong_to_a_card() -> None:
    assert {*MOVED, OFFSET, OVERHEAD} == set(CALIBRATED)
    assert set(CALIBRATED) <= set(LEAF)
    assert set(own.IN_WORDS) == set(CALIBRATED)
