"""The published eight-card calculator: its printed table, in both unit modes, and the two figures it gets wrong.

Source of the expected values: the calculator's own table for a 7B model (7.0e9 parameters, 32 layers, 32 heads of 128)
on eight A100 SXM 80 GB (2,039 GB/s, 312 TFLOP/s), P95 lengths 2,048 + 1,024, mean output 256, 20 tokens/s a user,
prefill utilisation 0.35 (0.20 over PCIe), no fragmentation, 20 % of memory in reserve, safety 0.8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reports.evaluate import compile_blocks, run_program
from reports.formulas import rule_of_thumb
from reports.methods import Block

PUBLISHED: dict[str, Any] = {
    "unit_cards": 8,
    "memory_nominal_gb": 80,
    "memory_bandwidth_gb_per_s": 2039,
    "peak_16bit_tflops": 312,
    "parameters_b": 7.0,
    "layers": 32,
    "attention_heads": 32,
    "head_dim": 128,
    "input_mean_tokens": 512,
    "input_p95_tokens": 2048,
    "output_mean_tokens": 256,
    "output_p95_tokens": 1024,
    "length_is_p95": 1,
    "rule_usable_memory_share": 0.8,
    "rule_fragmentation_factor": 1.0,
    "rule_prefill_utilisation": 0.35,
    "rule_prefill_utilisation_pcie": 0.20,
    "rule_tokens_per_s": 20,
    "rule_pcie_link_factor": 0.3,
    "safety_factor": 0.8,
}
WEIGHTS = {"int4": (0.5, 1.1), "int8": (1.0, 1.0), "fp16": (2.0, 1.0)}


def calculate(quantization: str, link: str, *, as_published: bool, **changes: float) -> dict[str, Any]:
    bytes_per_parameter, factor = WEIGHTS[quantization]
    columns: dict[str, Any] = PUBLISHED | {
        "nominal_bytes_per_parameter": bytes_per_parameter,
        "rule_weight_factor": factor,
        "link_is_nvlink": float(link == "nvlink"),
        "units_as_published": float(as_published),
    }
    columns |= changes
    run_program(compile_blocks([Block("", rule_of_thumb.FORMULAS)], columns), columns)
    return columns


@pytest.mark.parametrize(
    ("quantization", "link", "memory", "prefill", "decode", "recommended"),
    [
        ("int4", "nvlink", 338, 391, 211.8, 169),
        ("int8", "nvlink", 336, 391, 116.5, 93),
        ("fp16", "nvlink", 332, 391, 58.3, 46),
        ("int4", "pcie", 338, 223.9, 63.6, 50),
    ],
)
def test_published_table(
    quantization: str, link: str, memory: int, prefill: float, decode: float, recommended: int
) -> None:
    columns = calculate(quantization, link, as_published=True)
    assert columns["memory_concurrency"] == memory
    assert columns["prefill_concurrency"] == pytest.approx(prefill, abs=0.5 if prefill == 391 else 0.05)
    assert columns["decode_concurrency"] == pytest.approx(decode, abs=0.05)
    assert columns["recommended_concurrency"] == recommended


@pytest.mark.parametrize(
    ("quantization", "memory", "recommended"), [("int4", 315, 169), ("int8", 313, 93), ("fp16", 309, 46)]
)
def test_consistent_units_change_memory_and_not_the_answer(quantization: str, memory: int, recommended: int) -> None:
    columns = calculate(quantization, "nvlink", as_published=False)
    assert columns["memory_concurrency"] == memory
    assert columns["recommended_concurrency"] == recommended


def test_printed_prefill_384_rounds_the_rate_and_leaves_out_the_prefill_time() -> None:
    columns = calculate("int4", "nvlink", as_published=True)
    rounded_rate = np.floor(columns["prefill_requests_per_s"])
    assert rounded_rate * PUBLISHED["output_mean_tokens"] / PUBLISHED["rule_tokens_per_s"] == 384


def test_printed_pcie_270_comes_from_dividing_the_token_rate_instead_of_the_throughput() -> None:
    """0.3 on the promised token rate raises decode concurrency over memory's, so memory binds: floor(0.8 x 338)."""
    wrong = calculate("int4", "nvlink", as_published=True, rule_tokens_per_s=20 * 0.3)
    assert wrong["decode_concurrency"] > wrong["memory_concurrency"]
    assert np.floor(PUBLISHED["safety_factor"] * wrong["memory_concurrency"]) == 270
    assert calculate("int4", "pcie", as_published=True)["recommended_concurrency"] == 50


def test_weights_that_do_not_fit_leave_no_room() -> None:
    columns = calculate("fp16", "nvlink", as_published=False, parameters_b=400.0)
    assert columns["kv_space_gb"] == 0
    assert columns["recommended_concurrency"] == 0
