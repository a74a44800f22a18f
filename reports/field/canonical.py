"""One measured figure: the columns of its row, the metrics that are predicted, and the frame of many."""

from __future__ import annotations

from typing import Any

import pandas as pd

CANONICAL: dict[str, str] = {
    "row_id": "text", "source": "text", "source_ref": "text", "date": "text", "model_name": "text",
    "normalised_name": "text", "gpu_name": "text", "model": "text", "gpu": "text", "quantization": "text",
    "quantization_name": "text", "kv_bytes_per_element": "number", "tensor_parallel": "number",
    "data_parallel": "number", "pipeline_parallel": "number", "gpu_count": "number", "interconnect": "text",
    "engine": "text", "engine_version": "text", "input_tokens": "number", "output_tokens": "number",
    "batch_requests": "number", "request_rate_per_s": "number", "requests": "number", "equal_lengths": "number",
    "start": "text",
    "memory_utilisation": "number", "sequence_limit": "number", "chunk_tokens": "number", "context_tokens": "number",
    "metric": "text", "value": "number", "statistic": "text", "quality": "text", "use": "text", "trap": "text",
    "gpu_choices": "text", "note": "text", "file": "text", "line": "number", "problem": "text",
}  # fmt: skip
"""Columns of a canonical row and their kind."""

LATENCIES = ("tpot_ms", "ttft_ms")
RATES = ("output_tok_s", "total_tok_s", "per_gpu_output_tok_s", "req_s", "prefill_tok_s")
MEMORIES = ("kv_cache_tokens", "weights_gib", "available_kv_gib")
METRICS = (*LATENCIES, *RATES, *MEMORIES)
"""Metrics the formulas predict; every other is kept and listed as not predicted."""

METRIC_NAMES: dict[str, tuple[str, float]] = {
    "weights_gb": ("weights_gib", 1e9 / 2**30),
    "available_kv_gb": ("available_kv_gib", 1e9 / 2**30),
    "gpu_blocks(16 tok)": ("kv_cache_tokens", 16.0),
    "ttft_s": ("ttft_ms", 1000.0),
    "tpot_s": ("tpot_ms", 1000.0),
}
"""Other spellings of a metric and the factor to its unit."""


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Canonical columns in their order, whatever the rows lack left blank."""
    made = pd.DataFrame(rows, columns=list(CANONICAL))
    for name, kind in CANONICAL.items():
        if kind == "number":
            made[name] = pd.to_numeric(made[name]).astype(float)
        else:
            made[name] = made[name].astype(object).where(made[name].notna(), "")
    return made
