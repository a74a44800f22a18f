"""A small good scenario that tests change, and how they read it and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.scenario.read import read_scenario
from reports.scenario.schema import Scenario

GOOD = """\
title: {en: A test}
period: 2026-11
currency: USD
region: us
workload:
  input_tokens: 512
  output_tokens: {distribution: long_tail, mean: 256, p95: 1024}
  demand: {peak_concurrency: 100}
targets: {tpot_ms: 50, ttft_p99_ms: 2000}
matrix:
  model: [qwen2.5-7b-instruct, deepseek-r1]
  quantization: [fp8, int4]
  gpu: [h20-96gb, l40s]
  count: [1, 8]
  interconnect: [nvlink, pcie]
"""


def write(folder: Path, text: str, name: str = "s.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, catalog: Catalog, text: str = GOOD, **more: Any) -> Scenario:
    return read_scenario(write(folder, text), catalog, **more)


def problems(folder: Path, catalog: Catalog, text: str, **more: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(folder, catalog, text, **more)
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]
