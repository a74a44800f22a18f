"""The roofline against numbers worked by hand or printed by real servers.

Measured values are from vLLM's own start-up logs (weights and KV-cache tokens it found room for).
"""

from __future__ import annotations

from typing import Any

import pytest
from one_replica import at_batch, columns

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


@pytest.mark.parametrize(
    ("model", "quantization", "gpu", "changes", "measured_gib", "tolerance"),
    [
        ("llama-3.1-8b-instruct", "fp16", "rtx-5090", {}, 14.989, 0.01),
        ("qwen3-14b", "fp8", "rtx-4090", {}, 15.339, 0.02),
        ("llama-3.3-70b-instruct", "nvfp4", "b200-sxm-180gb", {}, 39.89, 0.03),
        ("llama-3.3-70b-instruct", "nvfp4", "b200-sxm-180gb", {"tensor_parallel": 2}, 19.92, 0.03),
        ("llama-3.3-70b-instruct", "nvfp4", "b200-sxm-180gb", {"tensor_parallel": 4}, 10.00, 0.03),
    ],
)
def test_weights_per_card_as_logged(
    catalog: Catalog,
    model: str,
    quantization: str,
    gpu: str,
    changes: dict[str, Any],
    measured_gib: float,
    tolerance: float,
) -> None:
    values = columns(catalog, model, quantization, gpu, **changes)
    assert values["weights_gib"] == pytest.approx(measured_gib, rel=tolerance)


@pytest.mark.parametrize(
    ("model", "quantization", "gpu", "utilisation", "measured_tokens"),
    [
        ("llama-3.1-8b-instruct", "fp16", "rtx-5090", 0.95, 117_232),
        ("qwen3-14b", "fp8", "rtx-4090", 0.86, 29_008),
        ("qwen3-14b", "fp8", "rtx-5090", 0.90, 80_704),
    ],
)
def test_kv_tokens_as_logged(
    catalog: Catalog, model: str, quantization: str, gpu: str, utilisation: float, measured_tokens: int
) -> None:
    values = columns(catalog, model, quantization, gpu, memory_utilisation=utilisation)
    tokens = values["kv_room_gib"] / values["kv_request_gib"] * (1024 + 256)
    assert tokens == pytest.approx(measured_tokens, rel=0.08)


def test_a_70b_model_in_fp8_cannot_serve_16k_tokens_on_one_80_gb_card(catalog: Catalog) -> None:
    """A server that tried this logged -1.44 GiB of room for KV cache and stopped; one request needs 5 GiB."""
    values = columns(
        catalog, "llama-3.3-70b-instruct", "fp8", "h100-sxm5-80gb", input_mean_tokens=16_128, output_mean_tokens=256
    )
    assert values["kv_request_gib"] == pytest.approx(16_384 * 163_840 * 2 / 2**30)
    assert values["memory_requests"] == 0
    whole_prompt_at_once = columns(
        catalog,
        "llama-3.3-70b-instruct",
        "fp8",
        "h100-sxm5-80gb",
        chunk_large_tokens=16_384,
        memory_highest_utilisation=0.9,  # as that server was started
    )
    assert whole_prompt_at_once["kv_room_gib"] < 0


def test_dense_shape_by_hand(catalog: Catalog) -> None:
    """Llama 3.1 8B: 8.030e9 parameters less two tables of 128,256 x 4,096 leave 6.979e9; KV 2 x 32 x 8 x 128."""
    values = columns(catalog, "llama-3.1-8b-instruct", "fp16", "h100-sxm5-80gb")
    assert values["dense_parameters_b"] == pytest.approx(8.030 - 2 * 128_256 * 4096 / 1e9, abs=0.001)
    assert values["full_attention_layers"] == 32
    # one request of 1,280 tokens: 1,280 x 65,536 elements x 2 bytes = 160 MiB
    assert values["kv_request_gib"] == pytest.approx(1280 * 65_536 * 2 / 2**30)


def test_single_request_step_is_the_sum_of_its_parts_by_hand(catalog: Catalog) -> None:
    """Weights 15.01 GB at 0.859 x 3,350 GB/s = 5.216 ms; 320 kernels x 5.55 us x (4096/6144)^0.25 = 1.605 ms."""
    coefficients = {"eta_weights": 0.859, "kernel_floor_us": 5.55, "kernels_per_layer": 10}
    step = at_batch(columns(catalog, "llama-3.1-8b-instruct", "fp16", "h100-sxm5-80gb", **coefficients), 1)
    assert step["dense_ms"] == pytest.approx(5.216, abs=0.002)
    assert step["launch_ms"] == pytest.approx(1.605, abs=0.001)
    assert step["communication_ms"] == 0
    assert step["tpot_ms"] == step["step_ms"]


def test_latent_cache_is_replicated_over_tensor_ranks(catalog: Catalog) -> None:
    one = columns(catalog, "deepseek-r1", "fp8", "h200-sxm-141gb", tensor_parallel=1)
    eight = columns(catalog, "deepseek-r1", "fp8", "h200-sxm-141gb", tensor_parallel=8)
    assert eight["kv_request_gib"] == one["kv_request_gib"]


def test_grouped_heads_are_split_then_replicated(catalog: Catalog) -> None:
    """Qwen2.5 7B has four KV heads: four ranks hold a quarter each, eight ranks no less."""
    shares = [
        columns(catalog, "qwen2.5-7b-instruct", "fp16", "h100-sxm5-80gb", tensor_parallel=ranks)["kv_shard_ratio"]
        for ranks in (1, 2, 4, 8)
    ]
    assert shares == [1, 0.5, 0.25, 0.25]


def test_sliding_layers_stop_growing_at_their_window(catalog: Catalog) -> None:
    short = columns(catalog, "gemma-3-27b-it", "fp16", "h100-sxm5-80gb", input_mean_tokens=1024, output_mean_tokens=1)
    long = columns(catalog, "gemma-3-27b-it", "fp16", "h100-sxm5-80gb", input_mean_tokens=9216, output_mean_tokens=1)
    grown_gib = long["kv_request_gib"] - short["kv_request_gib"]
    assert grown_gib == pytest.approx(8192 * 40_960 * 2 / 2**30)  # ten full layers x 2 x 16 heads x 128


@pytest.mark.parametrize("model", ["llama-3.1-8b-instruct", "qwen3-30b-a3b", "deepseek-r1", "gpt-oss-120b"])
def test_more_requests_never_make_a_token_faster(catalog: Catalog, model: str) -> None:
    values = columns(catalog, model, "fp8", "h200-sxm-141gb", tensor_parallel=8)
    times = [at_batch(values, batch)["tpot_ms"] for batch in (1, 2, 4, 16, 64, 256)]
    assert times == sorted(times)
