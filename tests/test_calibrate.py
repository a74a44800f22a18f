"""Calibration: measured rows move few coefficients, a little for a few rows, never beyond what physics allows."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.field import overlay, shrink
from reports.field.calibrate import Calibration, calibrate, errors
from reports.field.match import Given, format_in, model_spellings
from reports.field.names import gpu_spellings
from reports.field.predict import predict
from reports.field.reading import read_all

GIVEN = Given(gpu="H100-SXM", tp=1)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def run(
    folder: Path, batch: int, tpot_ms: float, *, inputs: int = 512, outputs: int = 256, ttft_ms: float | None = None,
    name: str = "",
) -> Path:  # fmt: skip
    """A file of `vllm bench serve` for one long run at a fixed concurrency."""
    requests = 40 * batch
    record: dict[str, Any] = {
        "date": "20260630-120000", "backend": "vllm", "model_id": "org/Llama-3.1-8B-Instruct-FP8",
        "num_prompts": requests, "request_rate": "inf", "max_concurrency": batch, "completed": requests,
        "total_input_tokens": requests * inputs, "total_output_tokens": requests * outputs, "mean_tpot_ms": tpot_ms,
    }  # fmt: skip
    if ttft_ms is not None:
        record["mean_ttft_ms"] = ttft_ms
    path = folder / (name or f"{batch}-{inputs}-{outputs}-{tpot_ms:.6f}.json")
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def as_predicted(
    folder: Path, catalog: Catalog, cases: list[tuple[int, int]], coefficients: dict[str, float], factor: float = 1.0
) -> list[Path]:
    """Files of a server that follows the formulas exactly, with other coefficients or slower by a factor."""
    blank = folder / "blank"
    blank.mkdir(exist_ok=True)
    files = [run(blank, batch, 10.0, inputs=inputs, name=f"{batch}-{inputs}.json") for batch, inputs in cases]
    rows = read_all(files, catalog, GIVEN)
    with np.errstate(all="ignore"):
        found = predict(rows, catalog, coefficients)["predicted"] * factor
    return [run(folder, batch, tpot, inputs=inputs) for (batch, inputs), tpot in zip(cases, found, strict=True)]


def coefficient(result: Calibration, name: str) -> Any:
    return next(each for each in result.coefficients if each.name == name)


SWEEP = [(batch, inputs) for batch in (1, 2, 4, 8, 12, 16, 24, 32) for inputs in (128, 256, 512, 1024, 2048)]


def test_normal_prior_and_rows_by_hand(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    # prediction = coefficient; rows 10 % above in the logarithm. The most probable shift is r n s2 / (n s2 + noise2):
    # two rows 0.1 * 0.02 / (0.02 + 0.021025) = 0.04875, fifty rows 0.1 * 0.5 / (0.5 + 0.021025) = 0.09596
    def toy(rows: pd.DataFrame, catalog: Catalog, coefficients: dict[str, float]) -> pd.DataFrame:
        return rows.assign(predicted=coefficients["eta_weights"])

    monkeypatch.setattr(shrink, "predict", toy)
    moving = [shrink.Movable("eta_weights", 0.5, 0.1, 1.0, 0.1)]
    for count, shift in ((2, 0.04875), (50, 0.09596)):
        rows = pd.DataFrame({"value": [0.5 * math.exp(0.1)] * count})
        found = shrink.shrink(rows, catalog, moving, 0.145)
        assert math.log(found.values["eta_weights"] / 0.5) == pytest.approx(shift, rel=1e-3)
        # standard deviation 1 / sqrt(n / noise2 + 1 / s2)
        width = 1.645 / math.sqrt(count / 0.145**2 + 1 / 0.1**2)
        assert math.log(found.high["eta_weights"] / found.values["eta_weights"]) == pytest.approx(width, rel=1e-3)


def test_one_outlier_pulls_with_bounded_force(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    def toy(rows: pd.DataFrame, catalog: Catalog, coefficients: dict[str, float]) -> pd.DataFrame:
        return rows.assign(predicted=coefficients["eta_weights"])

    monkeypatch.setattr(shrink, "predict", toy)
    moving = [shrink.Movable("eta_weights", 0.5, 0.1, 1.0, 0.1)]
    moved = [
        shrink.shrink(pd.DataFrame({"value": [0.5 * math.exp(far)]}), catalog, moving, 0.145).values["eta_weights"]
        for far in (1.0, 3.0)
    ]
    assert moved[1] == pytest.approx(moved[0], rel=0.01)


def test_two_measurements_do_not_swing_the_coefficients(tmp_path: Path, catalog: Catalog) -> None:
    files = as_predicted(tmp_path, catalog, [(4, 512), (16, 512)], {}, factor=1.5)
    result = calibrate(files, catalog, GIVEN)
    assert result.fitted_rows == 2
    assert any(each.seen for each in result.coefficients)
    for each in result.coefficients:
        assert abs(each.value / each.shipped - 1) < 0.15, each


def test_many_measurements_decide(tmp_path: Path, catalog: Catalog) -> None:
    shipped = catalog.assumptions["eta_weights", "global"].mid
    true = 0.76 * shipped
    result = calibrate(as_predicted(tmp_path, catalog, SWEEP, {"eta_weights": true}), catalog, GIVEN)
    eta = coefficient(result, "eta_weights")
    assert eta.seen
    assert 0.95 * true < eta.value < 0.9 * shipped
    assert eta.low < eta.value < eta.high
    table = errors(result).set_index("metric")
    assert table.loc["tpot_ms", "median_ape_after"] < 0.4 * table.loc["tpot_ms", "median_ape_before"]


def test_a_server_as_predicted_changes_nothing(tmp_path: Path, catalog: Catalog) -> None:
    result = calibrate(as_predicted(tmp_path, catalog, SWEEP[:10], {}), catalog, GIVEN)
    for each in result.coefficients:
        assert each.value == pytest.approx(each.shipped, rel=1e-3)
        assert each.low <= each.value <= each.high


def test_only_what_the_data_can_see_moves(tmp_path: Path, catalog: Catalog) -> None:
    # one request at a time: no queue on the host, no arithmetic limit, no prompt of another in between, short context
    files = as_predicted(tmp_path, catalog, [(1, 64), (1, 128), (1, 256)], {}, factor=1.2)
    seen = {each.name for each in calibrate(files, catalog, GIVEN).coefficients if each.seen}
    assert seen == {"eta_weights", "kernel_floor_us"}


def test_first_token_offset(tmp_path: Path, catalog: Catalog) -> None:
    files = [run(tmp_path, 1, 5.0, inputs=64, ttft_ms=120 + index / 100, name=f"{index}.json") for index in range(30)]
    offset = coefficient(calibrate(files, catalog, GIVEN), "engine_ttft_offset_ms")
    assert offset.seen
    assert offset.shipped < 20 < offset.value < 120


def test_faster_than_bandwidth_is_left_out(tmp_path: Path, catalog: Catalog) -> None:
    # every step reads 8.0e9 bytes of weights: 6.98e9 parameters in 1 byte and a 16-bit output layer of 0.53e9, at
    # 3350 GB/s at least 2.4 ms
    slow, fast = run(tmp_path, 1, 5.0), run(tmp_path, 1, 1.9)
    result = calibrate([slow, fast], catalog, GIVEN)
    reasons = dict(zip(result.rows["file"], result.rows["left_out"], strict=True))
    assert reasons[str(slow)] == ""
    assert reasons[str(fast)].startswith("contradicts physics: faster than the memory bandwidth")
    assert "speculative decoding" in reasons[str(fast)]
    with pytest.raises(InputError, match="speculative decoding"):
        calibrate([fast], catalog, GIVEN)


def test_first_token_faster_than_the_prompt_can_be_computed(tmp_path: Path, catalog: Catalog) -> None:
    # 2 x 7e9 x 8000 = 1.1e14 operations at 1.979e15 a second are 57 ms without attention
    path = run(tmp_path, 1, 5.0, inputs=8000, ttft_ms=20.0)
    with pytest.raises(InputError, match="prefix cache"):
        calibrate([path], catalog, GIVEN)
    good = calibrate([run(tmp_path, 1, 5.0, inputs=8000, ttft_ms=200.0)], catalog, GIVEN)
    assert good.fitted_rows == 2


def test_far_slower_than_any_such_card_is_left_out(tmp_path: Path, catalog: Catalog) -> None:
    with pytest.raises(InputError, match="times slower than predicted"):
        calibrate([run(tmp_path, 1, 60.0)], catalog, GIVEN)


def test_server_log_moves_the_overhead(tmp_path: Path, catalog: Catalog) -> None:
    log = tmp_path / "log"
    log.write_text(
        "INFO vLLM API server version 0.12.0\n"
        "INFO Initializing a V1 LLM engine (v0.12.0) with config: model='meta-llama/Meta-Llama-3.1-8B-Instruct', "
        "dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1, quantization=None, kv_cache_dtype=auto\n"
        "INFO Model loading took 14.9889 GiB memory\nINFO GPU KV cache size: 50,000 tokens\n",
        encoding="utf-8",
    )
    result = calibrate([log], catalog, Given(gpu="RTX 3090"), date="2026-06-30")
    moved = coefficient(result, "overhead_base_gib")
    assert moved.seen
    assert {each.name for each in result.coefficients if each.seen} == {"overhead_base_gib"}
    table = errors(result).set_index("metric")
    assert table.loc["kv_cache_tokens", "median_ape_after"] < table.loc["kv_cache_tokens", "median_ape_before"]
    with pytest.raises(InputError, match="more than the whole card"):
        calibrate([_with_tokens(log, "400,000")], catalog, Given(gpu="RTX 3090"), date="2026-06-30")


def _with_tokens(log: Path, tokens: str) -> Path:
    path = log.with_name("other")
    path.write_text(log.read_text(encoding="utf-8").replace("50,000", tokens).replace("INFO Model loading", "INFO"))
    return path


def test_overlay_is_a_catalog(tmp_path: Path, catalog: Catalog) -> None:
    files = as_predicted(tmp_path, catalog, SWEEP[:20], {"eta_weights": 0.7, "kernel_floor_us": 7.0})
    files.append(run(tmp_path, 1, 5.0, ttft_ms=120.0, name="first-token.json"))
    result = calibrate(files, catalog, GIVEN, date="2026-09-30")
    folder = tmp_path / "site-2026-q3"
    written = overlay.write(result, folder)
    assert all(path.is_file() for path in written)
    ours = read_catalog((folder,))
    pair = ("vllm", "h100-sxm5-80gb")
    eta = ours.calibrated["eta_weights", *pair]
    assert (eta.basis, eta.checked_on) == ("measured", "2026-09-30")
    assert eta.low <= eta.mid <= eta.high
    assert eta.mid == pytest.approx(coefficient(result, "eta_weights").value, rel=1e-5)
    assert ours.assumptions == catalog.assumptions  # other cards, other engines: as shipped
    digest = hashlib.sha256(
        "\n".join(sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)).encode()
    ).hexdigest()
    assert digest in ours.sources[eta.source].locator
    offset = ours.calibrated["engine_ttft_offset_ms", *pair]
    assert (offset.basis, offset.source) == ("measured", eta.source)
    assert ours.engines == catalog.engines
    with np.errstate(all="ignore"):
        again = predict(result.rows, ours)["predicted"]
    assert np.allclose(again, result.rows["predicted_after"], rtol=1e-4, equal_nan=True)


def test_overlay_is_the_same_twice_and_replaces_only_its_own(tmp_path: Path, catalog: Catalog) -> None:
    files = as_predicted(tmp_path, catalog, SWEEP[:5], {"eta_weights": 0.7})
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, order in zip(folders, (files, files[::-1]), strict=True):
        overlay.write(calibrate(files, catalog, GIVEN), folder)
        assert overlay.data_hash(order) == overlay.data_hash(files)
    assert [path.read_bytes() for path in sorted(folders[0].rglob("*.csv"))] == [
        path.read_bytes() for path in sorted(folders[1].rglob("*.csv"))
    ]
    overlay.write(calibrate(files, catalog, GIVEN), folders[0])
    (folders[0] / "precious.txt").write_text("mine")
    with pytest.raises(InputError, match="precious"):
        overlay.write(calibrate(files, catalog, GIVEN), folders[0])
    assert (folders[0] / "precious.txt").read_text() == "mine"


def test_what_is_missing_names_its_option(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "bare"
    record = json.loads(run(tmp_path, 4, 8.0).read_text()) | {"model_id": None, "backend": "openai", "date": None}
    path.write_text(json.dumps(record))
    with pytest.raises(InputError) as caught:
        calibrate([path], catalog)
    assert all(option in str(caught.value) for option in ("--model", "--gpu", "--quantization", "--engine", "--tp"))
    full = Given(model="llama-3.1-8b", gpu="H100-SXM", quantization="fp8", engine="vllm", tp=1)
    with pytest.raises(InputError, match="--date"):
        calibrate([path], catalog, full)
    assert calibrate([path], catalog, full, date="2026-06").date == "2026-06-01"


def test_unknown_names_are_listed_not_guessed(tmp_path: Path, catalog: Catalog) -> None:
    with pytest.raises(InputError, match="H100"):
        calibrate([run(tmp_path, 4, 8.0)], catalog, Given(gpu="H100-SXN", tp=1))
    record = json.loads(run(tmp_path, 4, 8.0).read_text()) | {"model_id": "facebook/opt-125m"}
    path = tmp_path / "opt"
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match="opt-125m"):
        calibrate([path], catalog, Given(gpu="H100-SXM", tp=1, quantization="fp16"))
    with pytest.raises(InputError, match="would replace several different names"):
        calibrate([path, run(tmp_path, 4, 8.0)], catalog, Given(model="llama-3.1-8b", gpu="H100-SXM", tp=1))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("RedHatAI/Qwen3-14B-FP8-dynamic", ("Qwen3-14B", "fp8")),
        ("x/Meta-Llama-3.3-70B-Instruct-AWQ-INT4", ("Llama-3.3-70B-Instruct", "int4")),
        ("x/Qwen3-Coder-30B-A3B-Instruct-GPTQ-4bit", ("Qwen3-Coder-30B-A3B-Instruct", "int4")),
        ("/models/Qwen2.5-7B-Instruct-w8a8", ("Qwen2.5-7B-Instruct", "int8")),
        ("nvidia/Llama-3.1-8B-Instruct-NVFP4", ("Llama-3.1-8B-Instruct", "nvfp4")),
        ("Qwen/Qwen3-8B", ("Qwen3-8B", "")),
    ],
)
def test_checkpoint_names(name: str, expected: tuple[str, str]) -> None:
    assert (model_spellings(name)[-1], format_in(name)) == expected


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3", "NVIDIA L40S", "NVIDIA GeForce RTX 4090", "Tesla T4",
                                  "NVIDIA RTX 6000 Ada Generation", "AMD Instinct MI300X"])  # fmt: skip
def test_cards_as_the_driver_calls_them(name: str, catalog: Catalog, tmp_path: Path) -> None:
    assert gpu_spellings(name)
    record = json.loads(run(tmp_path, 4, 8.0).read_text()) | {"gpu_name": name, "tp": 1}
    path = tmp_path / "card"
    path.write_text(json.dumps(record))
    rows = read_all([path], catalog)
    assert rows["gpu"][0] in catalog.gpus
    assert rows["problem"][0] == ""


def test_the_verb_writes_an_overlay_and_says_what_changed(
    tmp_path: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    from reports.cli import run_command

    files = [str(path) for path in as_predicted(tmp_path, catalog, SWEEP[:6], {"eta_weights": 0.7})]
    folder = tmp_path / "site"
    options = ["--gpu", "H100-SXM", "--tp", "1", "--out", str(folder)]
    assert run_command(["calibrate", *files, *options]) == 0
    shown = capsys.readouterr().out
    assert "tpot_ms" in shown
    assert "eta_weights: " in shown
    assert str(folder / "assumptions.csv") in shown
    assert run_command(["calibrate", *files, *options, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["fitted_rows"] == 6
    assert record["errors"][0]["median_ape_after"] < record["errors"][0]["median_ape_before"]
    assert run_command(["calibrate", *files, "--out", str(folder)]) == 2
    assert "--gpu" in capsys.readouterr().err


def test_our_own_table_with_an_option_for_what_it_lacks(tmp_path: Path, catalog: Catalog) -> None:
    header = "id,source,model,weight_quant,gpu,gpu_count,tp,framework,isl,osl,concurrency_or_batch,metric,value,notes"
    table = tmp_path / "own.csv"
    table.write_text(
        f"{header}\n1,me,Llama-3.1-8B-Instruct,mystery,H100 SXM,1,1,vLLM,512,256,4,tpot_ms,6.0,\n"
        "2,me,Llama-3.1-8B-Instruct,fp8,H100 SXM,1,1,vLLM,512,256,4,tpot_ms,6.0,\n",
        encoding="utf-8",
    )
    rows = calibrate([table], catalog, date="2026-06-30").rows
    assert "--quantization" in rows["left_out"][0]
    assert rows["left_out"][1] == ""
    assert calibrate([table], catalog, Given(quantization="fp8"), date="2026-06-30").fitted_rows >= 1
