"""Small result files in the shapes of benchmark tools, and what the tests of the readers ask of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports.errors import InputError
from reports.field.readers.detect import read


def write(folder: Path, content: str | bytes | dict[str, Any] | list[Any], name: str = "unhelpful.name") -> Path:
    """A file whose name says nothing about what is in it."""
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def values(rows: pd.DataFrame) -> dict[str, float]:
    return dict(zip(rows["metric"], rows["value"], strict=True))


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


VLLM = {
    "date": "20260401-101500", "backend": "vllm", "model_id": "org/model-8b-FP8", "num_prompts": 200,
    "request_rate": "inf", "max_concurrency": 16, "duration": 50.0, "completed": 200, "failed": 0,
    "total_input_tokens": 200_000, "total_output_tokens": 50_000, "request_throughput": 4.0,
    "output_throughput": 1000.0,
    "mean_ttft_ms": 80.0, "median_ttft_ms": 70.0, "mean_tpot_ms": 15.0, "median_tpot_ms": 14.0, "mean_itl_ms": 15.1,
}  # fmt: skip
"""16 requests in flight; 200 000 / 200 = 1000 tokens in and 250 out each; 50 000 tokens / 50 s = 1000 tok/s."""

BLOCK = """\
    ============ Serving Benchmark Result ============
    Successful requests:                     {done}
    Failed requests:                         0
    Maximum request concurrency:             32
    Benchmark duration (s):                  64.00
    Total input tokens:                      {input}
    Total generated tokens:                  64000
    Request throughput (req/s):              2.00
    Output token throughput (tok/s):         1,000.00
    ---------------Time to First Token----------------
    Mean TTFT (ms):                          1,146.31
    Median TTFT (ms):                        900.00
    -----Time per Output Token (excl. 1st token)------
    Mean TPOT (ms):                          31.00
    ---------------Inter-token Latency----------------
    Mean ITL (ms):                           31.00
    ==================================================
"""
