"""Kernels by weight format, half-empty tiles, waves of equal lengths, and what a published benchmark ran."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.field.measured import frame, read
from reports.field.predict import evaluate_rows, predict
from reports.field.recipes import fill, recipes
from reports.formulas.per_token import expert_request_ms, expert_tile_requests, expert_token_ms, host_sequence_ms
from reports.formulas.runs import steady_run_ms
from reports.formulas.step import expert_ms
from reports.formulas.work import prefill_matrix_tflop, step_kernels

DOCS = "TensorRT-LLM docs"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def kernels(**given: float) -> float:
    counts = {
              "kernels_per_layer": 10, "kernels_per_moe_layer": 4, "kernels_per_latent_layer": 4,
              "kernels_per_fp8_block_layer": 4, "kernels_per_fp8_block_moe_layer": 6, "kernels_per_fp4_layer": 2,
              "kernels_per_int4_moe_layer": 8, "kernels_per_linear_layer": 5, "kernels_per_sparse_layer": 14,
    }  # fmt: skip
    flags = ("moe_layers", "latent_attention", "block_scaled_weights", "fp8_block_scales", "fp4_activations",
             "fused_experts", "int4_experts", "linear_layers", "sparse_layers")  # fmt: skip
    return float(step_kernels(**{**counts, **dict.fromkeys(flags, 0), **given}))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"layers": 64}, 640),  # 64 x 10
        ({"layers": 64, "fp8_block_scales": 1, "block_scaled_weights": 1}, 896),  # 64 x (10 + 4): four products a layer
        ({"layers": 80, "fp8_block_scales": 1}, 800),  # one scale a tensor: nothing to compute before a product
        ({"layers": 80, "fp4_activations": 1}, 960),  # 80 x (10 + 2)
        ({"layers": 36, "moe_layers": 36, "fused_experts": 1}, 360),  # experts in the kernels of a dense layer
        ({"layers": 48, "moe_layers": 48, "fp4_activations": 1}, 672),  # 48 x (10 + 4): dense weights stay 16-bit
        ({"layers": 61, "moe_layers": 58, "latent_attention": 1, "fp8_block_scales": 1, "block_scaled_weights": 1},
         1434),  # 61 x 14 + 58 x (4 + 6)
    ],
)  # fmt: skip
def test_kernels_by_format(given: dict[str, float], expected: float) -> None:
    assert kernels(**given) == expected


def experts(requests: float, tile: float) -> float:
    """One expert a token, two experts touched, a card of 1 TFLOP/s whose memory costs nothing."""
    alone = {"experts_per_token": 1, "draft_tokens": 0, "pipeline_parallel": 1}
    token = expert_token_ms(
        experts_per_token=1, expert_parameters_b=1, tensor_parallel=1, data_parallel=1, expert_peak_tflops=1,
        mfu_decode=1, mfu_moe=1,
    )  # fmt: skip
    return float(expert_ms(
        expert_read_ms=0, experts_touched=2, batch_requests=requests,
        expert_request_ms=expert_request_ms(token, draft_tokens=0, pipeline_parallel=1),
        expert_tile_requests=expert_tile_requests(moe_tile_tokens=tile, **alone),
    ))  # fmt: skip


def test_half_a_tile_of_each_expert_is_empty() -> None:
    assert experts(1000, 0) == pytest.approx(2000)  # 2 x 1e9 operations x 1,000 tokens at 1e12 a second
    assert experts(1000, 128) == pytest.approx(2 * (1000 + 2 * 64))
    assert experts(100, 128) == pytest.approx(2 * (100 + 100))  # small batches take smaller tiles: never over twice


def test_a_compiled_runtime_spends_less_on_a_sequence() -> None:
    given = {"host_us_per_sequence": 10, "vocabulary_size": 150000, "host_reference_vocabulary_size": 150000}
    assert host_sequence_ms(engine_host_factor=1, **given) == pytest.approx(0.01)
    assert host_sequence_ms(engine_host_factor=0.1, **given) == pytest.approx(0.001)


def test_a_chunk_of_a_prompt_fills_its_tiles_better() -> None:
    # 1,024 tokens x 2e9 operations x (1 dense + (2 chosen + 8 x 64 / 8192 empty) x 0.1)
    found = prefill_matrix_tflop(
        computed_tokens=1024, dense_parameters_b=1, experts_per_token=2, expert_parameters_b=0.1,
        dense_peak_tflops=1, expert_peak_tflops=1, mfu_moe=1, experts=8, moe_tile_tokens=128, scheduling_tokens=8192,
    )  # fmt: skip
    assert found == pytest.approx(1024 * 2e9 / 1e12 * (1 + 2.0625 * 0.1))


def test_equal_lengths_end_in_a_wave() -> None:
    given = {"running_requests": 2000, "request_ms": 1000, "run_tail_factor": 2, "equal_tail_factor": 0.5}
    assert steady_run_ms(run_requests=2000, equal_lengths_flag=1, **given) == 1000  # all together: one request long
    assert steady_run_ms(run_requests=3000, equal_lengths_flag=1, **given) == pytest.approx(1500 + 500 / 3)
    assert steady_run_ms(run_requests=3000, equal_lengths_flag=0, **given) == 3500


def test_a_recipe_fills_in_what_a_row_does_not_say() -> None:
    blank: dict[str, Any] = {"requests": math.nan, "equal_lengths": math.nan, "memory_utilisation": math.nan,
                             "sequence_limit": math.nan}  # fmt: skip
    row = {
        "source": DOCS,
        "start": "offline",
        "input_tokens": 2048.0,
        "output_tokens": 2048.0,
        "pipeline_parallel": 2.0,
    }
    made = row | blank
    fill(made)  # perf-overview: 1,500 requests of 2048 and 2048; 4,096 at once over all stages
    assert (made["requests"], made["memory_utilisation"], made["sequence_limit"]) == (1500, 0.95, 2048)
    made = row | blank | {"memory_utilisation": 0.8}
    fill(made)
    assert made["memory_utilisation"] == 0.8
    made = row | blank | {"source": "somebody else"}
    fill(made)
    assert math.isnan(made["requests"])
    assert all(each["requests"] >= 1000 for each in recipes().values())


HEAD = "id,source,model,weight_quant,kv_dtype,gpu,gpu_mem_gb,gpu_count,tp,pp,ep,framework,framework_version,isl,osl,"
HEAD += "concurrency_or_batch,metric,value,notes"


def table(folder: Path, models: tuple[str, ...]) -> Path:
    path = folder / "docs.csv"
    note = "max-load offline; MoE models run with --ep and attention-DP per recipe"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEAD.split(","))
        for number, model in enumerate(models):
            writer.writerow([number, DOCS, model, "fp8", "fp8", "H200 SXM", 141, 8, 8, 1, "", "TensorRT-LLM", "1.0",
                             2048, 2048, "", "output_tok_s", 20000, note])  # fmt: skip
    return path


def test_a_recipe_says_how_experts_are_split(tmp_path: Path, catalog: Catalog) -> None:
    rows = read(table(tmp_path, ("Qwen3 235B A22B", "Llama 3.3 70B")), catalog)
    assert not rows["problem"].any(), rows["problem"].tolist()
    assert rows[["tensor_parallel", "data_parallel"]].to_numpy().tolist() == [[1, 8], [8, 1]]
    assert (rows["requests"] == 1500).all()


def test_no_more_requests_run_than_there_are(catalog: Catalog) -> None:
    base = {"source": DOCS, "model": "llama-3.1-8b-instruct", "gpu": "h200-sxm-141gb", "quantization": "fp8",
            "kv_bytes_per_element": 1, "tensor_parallel": 1, "data_parallel": 1, "pipeline_parallel": 1,
            "gpu_count": 1, "engine": "tensorrt-llm", "input_tokens": 128, "output_tokens": 128, "start": "offline",
            "metric": "output_tok_s", "use": "fit", "quality": "A", "value": 1.0, "equal_lengths": 1}  # fmt: skip
    rows = frame([base | {"requests": 100}, base | {"requests": 100_000}])
    columns = evaluate_rows(rows, catalog)
    assert columns["running_requests"][0] == 100
    assert columns["running_requests"][1] > 100
    few, many = predict(rows, catalog)["predicted"]
    assert few < many
