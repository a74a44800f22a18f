"""TensorRT-LLM's run log: engine size, bytes and tokens of the paged KV cache."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from reports.constants import BYTES_PER_GIB
from reports.field.readers.rows import number
from reports.field.readers.serving import usable
from reports.field.readers.start_up import StartUp, start_rows
from reports.field.readers.text import lines, refuse

KEEP = (b"k/v cache", b"paged KV cache", b"engine size", b"TensorRT-LLM version", b"MPI size")
_BYTES = re.compile(r"Allocate (\d+) bytes for k/v cache")
_TOKENS = re.compile(r"Using (\d+) tokens in paged KV cache")
_NEW = re.compile(r"Allocated ([\d.]+) GiB for max tokens in paged KV cache \((\d+)\)")
_ENGINE = re.compile(r"Loaded engine size: (\d+) MiB")
_VERSION = re.compile(r"TensorRT-LLM version: ([\d.]+)")
_RANKS = re.compile(r"MPI size: (\d+)")


def read(path: Path) -> pd.DataFrame:
    """Rows of one start."""
    start = StartUp(path, 1, "tensorrt-llm", "TensorRT-LLM log")
    for line, content in lines(path, KEEP):
        if found := _NEW.search(content):
            start.available_gib.append(number(found[1]))
            start.kv_tokens, start.kv_line = number(found[2]), line
        elif found := _BYTES.search(content):
            start.available_gib.append(number(found[1]) / BYTES_PER_GIB)
            start.line = line
        elif found := _TOKENS.search(content):
            start.kv_tokens, start.kv_line = number(found[1]), line
        elif found := _ENGINE.search(content):
            start.weights_gib.append(number(found[1]) / 1024)
        if found := _RANKS.search(content):
            start.facts["tensor_parallel"] = number(found[1])
        if found := _VERSION.search(content):
            start.facts["engine_version"] = found[1].rstrip(".")
    if not start.said_something:
        raise refuse(path, "is a TensorRT-LLM log without the size of its KV cache")
    if not start.facts.get("engine_version", "1").startswith("1"):
        start.engine = "tensorrt-llm-cpp"
    return usable(path, start_rows(start))
