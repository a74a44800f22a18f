"""Error tables: worked on four rows by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from reports.catalog.read import read_catalog
from reports.field import bands, evidence, score
from reports.field.measured import frame, shipped
from reports.field.rules import rule


def predicted() -> pd.DataFrame:
    base = {"source": "lab", "model_name": "M-1", "normalised_name": "m-1", "gpu_name": "H100", "use": "fit",
            "metric": "tpot_ms", "engine": "vllm", "quantization_name": "fp8", "file": "f.csv"}  # fmt: skip
    rows = frame(
        [
            base | {"value": 10.0, "line": 2},
            base | {"value": 20.0, "line": 3},
            base | {"value": 40.0, "line": 4},
            base | {"value": 10.0, "line": 5, "trap": "duplicate"},
            base | {"value": 10.0, "line": 6, "use": "context"},
            base | {"value": 10.0, "line": 7, "problem": "unknown gpu"},
        ]
    )
    rows["predicted"] = [11.0, 18.0, 60.0, 11.0, 20.0, float("nan")]
    rows["reason"] = ["", "", "", "", "", "unknown gpu"]
    rows["fits"] = [True, True, True, True, True, True]
    rows["low"], rows["high"], rows["label"] = rows["predicted"] * 0.8, rows["predicted"] * 1.2, "measured"
    return rows


def test_statistics_by_hand() -> None:
    """Errors +10 %, -10 %, +50 %: median size 10 %, mean 23.3 %, 90th percentile 42 %, bias +10 %; two inside."""
    found = score.statistics(score.scored(predicted()))
    assert found == {"n": 3, "median_ape": 0.1, "mean_ape": 0.2333, "p90_ape": 0.42, "bias": 0.1,
                     "band_80_coverage": 0.6667}  # fmt: skip


def test_json() -> None:
    found = json.loads(json.dumps(score.to_json(predicted())))
    assert (found["rows"], found["answered"]) == (5, 4)
    assert found["by_metric"]["tpot_ms"]["n"] == 3
    assert found["by_source"]["lab"]["by_metric"]["tpot_ms"]["median_ape"] == 0.1
    assert set(found["by_model"]) == {"M-1", "m-1"}
    assert found["by_gpu"]["H100"]["rows"] == 5
    assert found["set_aside"]["duplicate"]["rows"] == 1
    assert found["other_uses"]["context"]["by_metric"]["tpot_ms"]["median_ape"] == 1.0
    assert found["unmatched"] == [{"file": "f.csv", "line": 7, "row_id": "", "reason": "unknown gpu"}]


def test_text_lists_what_was_not_answered() -> None:
    assert "f.csv:7: unknown gpu" in score.text(predicted())


def test_what_failed_in_the_load_test_is_said_where_nothing_is_for_fitting() -> None:
    rows = predicted().assign(use="context", trap="failed-requests")
    rows["file"], rows["line"] = "f.txt", 1.0
    found = score.to_json(rows)["other_uses"]["context"]["set_aside"]["failed-requests"]
    assert (found["rows"], found["first"]) == (6, ["f.txt:1"])  # six figures of one line: said once
    assert "6  more requests failed than a measurement allows (f.txt:1)" in score.text(rows)


def test_labels() -> None:
    keys = frozenset({("a", "x", "fp8", "tpot"), ("b", "y", "fp8", "tpot"), ("a", "x", "fp8", "ttft")})
    rows = pd.DataFrame({"model": ["a", "a", "c"], "gpu": ["x", "y", "x"], "quantization": ["fp8", "fp8", "fp8"]})
    assert list(bands.labels(rows, keys, "tpot_ms")) == ["measured", "interpolated", "extrapolated"]
    # the first token was measured on card x alone, throughput nowhere
    assert list(bands.labels(rows, keys, "ttft_ms")) == ["measured", "extrapolated", "extrapolated"]
    assert set(bands.labels(rows, keys, "output_tok_s")) == {"extrapolated"}


def test_bands_are_the_middle_80_per_cent() -> None:
    """Ratios 1.00 to 2.00 in steps of 0.05: the 10th percentile is 1.1, the 90th 1.9."""
    rows = frame([{"metric": "tpot_ms", "start": "steady", "use": "fit", "value": 1 + step / 20} for step in range(21)])
    rows["predicted"] = 1.0
    made = bands.measure_bands(rows, "measured")
    assert [(row["low_factor"], row["high_factor"], row["rows"]) for row in made] == [(1.1, 1.9, 21)] * 2


def test_shipped_bands_widen_with_distance() -> None:
    widths = [high / low for low, high in (bands.band("tpot_ms", "steady", label) for label in bands.LABELS)]
    assert widths == sorted(widths)
    assert bands.band("nobody measured this", "", "measured") == (0.4, 2.5)


def test_shipped_errors_stay_what_the_page_says(catalog_rows: pd.DataFrame) -> None:
    found = {row["metric"]: row for row in score.table(catalog_rows, "metric").to_dict("records")}
    assert found["tpot_ms"]["median_ape"] < 0.10
    assert found["kv_cache_tokens"]["median_ape"] < 0.025
    assert 0.75 <= found["tpot_ms"]["band_80_coverage"] <= 0.85
    assert score.infeasible(catalog_rows).empty


@pytest.fixture(scope="module")
def catalog_rows() -> pd.DataFrame:
    from reports.field.physics import mark
    from reports.field.predict import predict

    catalog = read_catalog()
    return score.prepare(predict(mark(shipped(catalog), catalog), catalog))


def test_evidence_prefers_the_same_card_and_model() -> None:
    catalog = read_catalog()
    options = pd.DataFrame(
        {
            "option_id": ["one", "two"], "model": "llama-3.1-70b-instruct", "gpu": ["h200-sxm-141gb", "mtt-s4000"],
            "quantization": "fp8", "engine": "vllm", "input_mean_tokens": 1024.0, "output_mean_tokens": 1024.0,
            "load_requests": 16.0, "tpot_ms": 20.0, "output_tokens_per_s": 800.0, "recommended_concurrency": 16.0,
            "cards_needed": 8.0, "unit_cards": 4.0,
        }
    )  # fmt: skip
    found = evidence.evidence(options, catalog, shipped(catalog))
    banded = evidence.bands(options, catalog)
    first = found[(found["option_id"] == "one") & (found["rank"] == 1)].iloc[0]
    assert (first["model"], first["gpu"], first["quantization"]) == ("llama-3.1-70b-instruct", "h200-sxm-141gb", "fp8")
    assert list(banded["label"]) == ["measured", "extrapolated"]
    assert set(found.groupby("option_id").size()) == {int(rule("nearest_rows"))}
    line = banded.iloc[0]
    assert line["tpot_ms_low"] < 20 < line["tpot_ms_high"]
    assert line["cards_needed_low"] <= 8 <= line["cards_needed_high"]
    assert line["cards_needed_high"] % 4 == 0


def test_the_page_of_a_file(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from reports.cli import app

    (tmp_path / "t.csv").write_text(
        "model,gpu,metric,value,isl,osl,concurrency_or_batch,weight_quant,framework\n"
        "Qwen3-32B,H100 SXM,tpot_ms,25.5,1000,500,8,fp8,vllm\n"
    )
    result = CliRunner().invoke(app, ["validate", str(tmp_path / "t.csv"), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["answered"] == 1
