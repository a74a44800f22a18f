"""One replica straight from the catalog: its leaves, what no load changes, and the step chain at a load."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.catalog.records import Catalog
from reports.evaluate import compile_blocks, run_program
from reports.facts import PEAK_FACT, compute_type
from reports.field.leaves import fixed_lengths
from reports.methods import ROOFLINE, Block

MEAN_TARGETS = {
    "tpot_target_z": 0, "answer_target_z": 0, "ttft_target_tail_share": 1, "answer_target_tail_share": 1,
}  # fmt: skip


def columns(catalog: Catalog, model: str, quantization: str, gpu: str, **changes: Any) -> dict[str, Any]:
    """Leaves of one replica in a closed loop with mean targets, and everything that does not depend on the load."""
    card, entry, weights = catalog.gpus[gpu], catalog.models[model], catalog.quantizations[quantization]
    facts = {**card.facts, **entry.facts, **weights.facts, **catalog.engines["vllm"].facts}
    if entry.value("experts") > 0:
        facts |= weights.moe_facts
    values: dict[str, Any] = {name: fact.value for name, fact in facts.items()}
    values |= {name: row.mid for (name, region), row in catalog.assumptions.items() if region == "global"}
    values |= {
        "tensor_parallel": 1,
        "data_parallel": 1,
        "pipeline_parallel": 1,
        "replicas": 1,
        "kv_bytes_per_element": 2,
        "input_mean_tokens": 1024,
        "output_mean_tokens": 256,
        "closed_loop_flag": 1,
        "burst_flag": 0,
        **changes,
    }
    values = fixed_lengths(values) | MEAN_TARGETS | {"output_tail_tokens": values["output_mean_tokens"]} | values
    point = catalog.links[card.nvlink or card.pcie].points.get(values["tensor_parallel"], {})
    for name in ("allreduce_alpha_us", "allreduce_bus_gb_per_s"):
        values[name] = point[name].value if name in point else float("nan")
    peak = card.value(PEAK_FACT[compute_type(catalog, gpu, quantization)])
    values |= {"dense_peak_tflops": peak, "expert_peak_tflops": peak}
    with np.errstate(all="ignore"):
        run_program(compile_blocks(ROOFLINE.before, values), values)
    return values


def at_batch(values: dict[str, Any], batch: Any) -> dict[str, Any]:
    """The step chain at one batch, or at several."""
    chain = next(block for block in ROOFLINE.after if block.batch)
    result = dict(values, batch_requests=batch)
    with np.errstate(all="ignore"):
        run_program(compile_blocks([Block("", chain.formulas)], result), result)
    return result
