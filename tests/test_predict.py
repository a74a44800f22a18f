"""Predictions of load tests against values worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.field.measured import frame
from reports.field.predict import evaluate_rows, predict
from reports.formulas import runs

ROW: dict[str, Any] = {
    "row_id": "1", "source": "lab", "model": "llama-3.1-70b-instruct", "gpu": "h100-sxm5-80gb", "quantization": "fp8",
    "kv_bytes_per_element": 2, "tensor_parallel": 4, "data_parallel": 1, "pipeline_parallel": 1, "gpu_count": 4,
    "engine": "vllm", "input_tokens": 1000, "output_tokens": 500, "batch_requests": 32, "start": "steady",
    "metric": "tpot_ms", "value": 20, "use": "fit", "quality": "A",
}  # fmt: skip


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def rows(*changes: dict[str, Any]) -> pd.DataFrame:
    return frame([ROW | change for change in changes])


def test_metrics_of_one_run_agree(catalog: Catalog) -> None:
    names = ("tpot_ms", "ttft_ms", "output_tok_s", "total_tok_s", "per_gpu_output_tok_s", "req_s")
    values = dict(zip(names, predict(rows(*({"metric": name} for name in names)), catalog)["predicted"], strict=True))
    request_s = (values["ttft_ms"] + 499 * values["tpot_ms"]) / 1000
    assert values["output_tok_s"] == pytest.approx(32 * 500 / request_s)
    assert values["total_tok_s"] == pytest.approx(values["output_tok_s"] * 1500 / 500)
    assert values["per_gpu_output_tok_s"] == pytest.approx(values["output_tok_s"] / 4)
    assert values["req_s"] == pytest.approx(values["output_tok_s"] / 500)


def test_memory_of_a_log(catalog: Catalog) -> None:
    """Qwen3 14B in FP8 on an RTX 4090 at 0.86, logged: 29,008 tokens, 15.339 GiB of weights, 4.43 GiB of room."""
    log = {"model": "qwen3-14b", "gpu": "rtx-4090", "tensor_parallel": 1, "gpu_count": 1, "memory_utilisation": 0.86,
           "start": "log"}  # fmt: skip
    found = predict(
        rows(*(log | {"metric": m} for m in ("weights_gib", "available_kv_gib", "kv_cache_tokens"))), catalog
    )
    for predicted, measured in zip(found["predicted"], (15.339, 4.43, 29_008), strict=True):
        assert predicted == pytest.approx(measured, rel=0.1)


def test_two_replicas_do_twice_as_much(catalog: Catalog) -> None:
    one, two = predict(rows({"metric": "output_tok_s"}, {"metric": "output_tok_s", "gpu_count": 8}), catalog)[
        "predicted"
    ]
    assert two == pytest.approx(2 * one)


def test_a_burst_by_hand() -> None:
    """100 at once, 50 run: two rounds of 200 steps of 10 ms, 100 prompts of 20 ms, a tail of one more round."""
    length = runs.burst_run_ms(100, 50, 200, 10, 1, 20, 1)
    assert length == (100 / 50 + 1) * 200 * 10 + 100 * 20
    # half of the prompts that start together (500 ms) and of their chunk steps (1000/2000 x 10 ms x 25), and half of
    # the run for the half that waits
    assert runs.burst_ttft_ms(0, 50, 100, 1, 20, 1000, 2000, 10, length) == 25 * (20 + 5) + 0.5 * length / 2
    # every later prompt stalls: 49 prompts of 20 ms over 200 tokens, three quarters of it on average
    assert runs.burst_tpot_ms(10, 50, 1, 200, 20, 50, 100) == pytest.approx(10 + 49 * 20 / 200 * 0.75)


def test_open_loop_follows_arrivals_until_it_cannot(catalog: Catalog) -> None:
    base = {"metric": "req_s", "start": "open-loop", "batch_requests": np.nan}
    slow, fast = predict(rows(base | {"request_rate_per_s": 0.5}, base | {"request_rate_per_s": 10_000}), catalog)[
        "predicted"
    ]
    assert slow == pytest.approx(0.5, rel=1e-3)
    assert fast < 1000


def test_open_loop_is_a_fixed_point(catalog: Catalog) -> None:
    """Little: requests in flight are arrivals times the time of one, among those and itself."""
    table = rows({"start": "open-loop", "batch_requests": np.nan, "request_rate_per_s": 2.0})
    columns = evaluate_rows(table, catalog)
    assert columns["running_requests"][0] == pytest.approx(2.0 / 1000 * columns["running_ms"][0], rel=1e-3)


def test_a_finite_run_ends_with_a_tail() -> None:
    """180 arrivals a second apart and a tail of two requests of 6 s: 192 s."""
    assert runs.open_run_ms(180, 1.0, 20, 6000, 2) == 180_000 + 12_000


def test_load_beyond_memory_does_not_run(catalog: Catalog) -> None:
    columns = evaluate_rows(rows({"batch_requests": 5000, "input_tokens": 20_000}), catalog)
    room = columns["kv_room_gib"][0]
    each = (20_000 + 250) * 163_840 * 2 / 4 / 2**30  # 80 layers x 8 heads x 128 x 2, 16-bit, over four cards
    assert columns["running_requests"][0] == pytest.approx(room / each)


def test_unanswerable_rows_keep_their_reason(catalog: Catalog) -> None:
    table = rows({}, {"problem": "lengths not stated"})
    found = predict(table, catalog)
    assert found["predicted"].notna().tolist() == [True, False]
    assert found["reason"][1] == "lengths not stated"


def test_coefficients_replace_assumptions_and_engine_facts(catalog: Catalog) -> None:
    plain = predict(rows({}), catalog)["predicted"][0]
    assert predict(rows({}), catalog, {"eta_weights": 0.4})["predicted"][0] > plain
    assert predict(rows({}), catalog, {"engine_time_factor:vllm": 3.0})["predicted"][0] > plain
    assert predict(rows({}), catalog, {"engine_time_factor:sglang": 3.0})["predicted"][0] == plain
    with pytest.raises(LookupError):
        predict(rows({}), catalog, {"eta_wieghts": 0.4})


def test_a_server_that_only_just_holds_its_weights_is_not_refused(catalog: Catalog) -> None:
    """DeepSeek R1 in FP8 was served on four B200: 157 GiB of weights a card of 178.4 GiB."""
    table = rows({"model": "deepseek-r1", "gpu": "b200-sxm-180gb", "engine": "sglang"})
    assert bool(predict(table, catalog)["fits"][0])
