"""Reads tables of measured servers (throughput-shaped, memory-shaped, or our own) into one canonical frame."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from reports.catalog.records import Catalog
from reports.catalog.select import UnknownName
from reports.errors import InputError, Problem
from reports.field import names, notes
from reports.field.traps import mark
from reports.paths import catalogs_folder
from reports.strict_yaml import did_you_mean

CANONICAL: dict[str, str] = {
    "row_id": "text", "source": "text", "source_ref": "text", "date": "text", "model_name": "text",
    "normalised_name": "text", "gpu_name": "text", "model": "text", "gpu": "text", "quantization": "text",
    "quantization_name": "text", "kv_bytes_per_element": "number", "tensor_parallel": "number",
    "data_parallel": "number", "pipeline_parallel": "number", "gpu_count": "number", "interconnect": "text",
    "engine": "text", "engine_version": "text", "input_tokens": "number", "output_tokens": "number",
    "batch_requests": "number", "request_rate_per_s": "number", "requests": "number", "start": "text",
    "memory_utilisation": "number", "sequence_limit": "number", "chunk_tokens": "number", "context_tokens": "number",
    "metric": "text", "value": "number", "statistic": "text", "quality": "text", "use": "text", "trap": "text",
    "note": "text", "file": "text", "line": "number", "problem": "text",
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

MOST_ROWS = 1_000_000
MOST_FIELD = 1_000_000
SHORT_PROMPT_TOKENS = 32.0
"""What a benchmark that says "short prompt" is taken to mean; at one request the answer hardly depends on it."""

_THROUGHPUT = {"model", "gpu", "metric", "value", "isl", "osl", "concurrency_or_batch"}
_MEMORY = {"model", "gpu", "metric", "value", "gpu_memory_utilization"}
_OWN = {"row_id", "model_name", "gpu_name", "metric", "value", "input_tokens"}
_SHAPES = (("own", _OWN), ("throughput", _THROUGHPUT), ("memory", _MEMORY))


def shape_of(header: list[str]) -> str:
    """``own``, ``throughput``, ``memory``, or nothing: by the columns that must be there."""
    return next((name for name, wanted in _SHAPES if wanted <= set(header)), "")


def read(path: str | Path, catalog: Catalog) -> pd.DataFrame:
    """All rows of a measured file, in order; what cannot be answered says why in ``problem``.

    Raises InputError when the file is not one of the known shapes or is broken as a table.
    """
    path = Path(path)
    try:
        rows = list(_canonical(path, catalog))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}", expected="a CSV file in UTF-8")) from error
    if not rows:
        raise InputError(Problem(str(path), "has a header and no rows", expected="one measured figure a line"))
    return mark(frame(rows))


def shipped(catalog: Catalog) -> pd.DataFrame:
    """The measured rows that come with the program."""
    folder = catalogs_folder() / "measured"
    parts = [read(folder / name, catalog) for name in ("throughput.csv", "memory.csv") if (folder / name).is_file()]
    return pd.concat(parts, ignore_index=True) if parts else frame([])


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Canonical columns in their order, whatever the rows lack left blank."""
    made = pd.DataFrame(rows, columns=list(CANONICAL))
    for name, kind in CANONICAL.items():
        if kind == "number":
            made[name] = pd.to_numeric(made[name]).astype(float)
        else:
            made[name] = made[name].astype(object).where(made[name].notna(), "")
    return made


def _canonical(path: Path, catalog: Catalog) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(MOST_FIELD)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = [name.strip() for name in next(reader, [])]
        shape = shape_of(header)
        if not shape:
            raise InputError(_unknown_shape(path, header))
        resolve = _Resolver(catalog)
        for count, cells in enumerate(reader):
            if count >= MOST_ROWS:
                raise InputError(Problem(path.name, f"more than {MOST_ROWS:,} rows", expected="a smaller file"))
            if not any(cells):
                continue
            row = dict(zip(header, cells, strict=False))
            made = _ONE[shape](row, resolve)
            made["file"], made["line"] = path.name, reader.line_num
            if len(cells) != len(header):
                _add(made, f"{len(cells)} cells under {len(header)} columns")
            yield made


def _unknown_shape(path: Path, header: list[str]) -> Problem:
    best = max(_SHAPES, key=lambda shape: len(shape[1] & set(header)))
    absent = sorted(best[1] - set(header))
    hints = [text for name in absent if (text := did_you_mean(name, header))]
    return Problem(
        str(path),
        "not a table of measured rows",
        line=1,
        read=", ".join(header[:12]) or "an empty file",
        expected=f"the columns {', '.join(sorted(best[1]))}",
        hint="; ".join(hints[:3]),
    )


class _Resolver:
    """Names and notes already resolved: a file repeats few of them over many rows."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.note = notes.parser()
        self._known: dict[tuple[Any, ...], tuple[str, str]] = {}

    def __call__(self, kind: str, *arguments: Any) -> tuple[str, str, str]:
        """``(id, note, problem)``."""
        key = (kind, *arguments)
        if key not in self._known:
            try:
                found = {
                    "model": lambda *a: names.model_id(self.catalog, *a),
                    "gpu": lambda *a: names.gpu_id(self.catalog, *a),
                    "quantization": lambda *a: (names.quantization_id(self.catalog, *a), ""),
                    "engine": lambda *a: (names.engine_id(self.catalog, *a), ""),
                }[kind](*arguments)
                self._known[key] = (*found, "")  # type: ignore[assignment]
            except UnknownName as error:
                self._known[key] = ("", "", str(error))  # type: ignore[assignment]
        return self._known[key]  # type: ignore[return-value]


def _add(row: dict[str, Any], problem: str) -> None:
    row["problem"] = "; ".join(text for text in (row.get("problem", ""), problem) if text)


def _say(row: dict[str, Any], note: str) -> None:
    if note:
        row["note"] = "; ".join(text for text in (row.get("note", ""), note) if text)


def _number(text: str, row: dict[str, Any], column: str) -> float:
    """A number, NaN for an empty cell; what is neither is a problem of the row."""
    text = (text or "").strip()
    if text in ("", "-", "nan", "NaN", "None", "N/A", "n/a"):
        return math.nan
    try:
        return float(text.replace("_", ""))
    except ValueError:
        _add(row, f"{column}: not a number: {text[:40]!r}")
        return math.nan


def _identity(row: Mapping[str, str], resolve: _Resolver) -> dict[str, Any]:
    """What both shapes share: who measured, which model, card, format and engine."""
    made: dict[str, Any] = {
        "row_id": row.get("id", ""), "source": row.get("source", ""), "source_ref": row.get("source_ref", ""),
        "date": row.get("date", ""), "model_name": row.get("model", ""),
        "normalised_name": row.get("model_norm", ""), "gpu_name": row.get("gpu", ""),
        "quantization_name": row.get("weight_quant", ""), "metric": row.get("metric", "").strip(),
        "quality": row.get("quality", "") or "A", "note": "", "problem": "", "trap": "",
    }  # fmt: skip
    memory = _number(row.get("gpu_mem_gb", ""), made, "gpu_mem_gb")
    if memory > 2000:
        memory /= 1024
        _say(made, "gpu_mem_gb read as MiB")
    engine = row.get("framework", "")
    version = row.get("framework_version", "")
    if "framework" not in row and version:
        engine, _, version = version.partition(" ")
    made["engine_version"] = version
    for column, kind, arguments in (
        ("model", "model", (made["model_name"], made["normalised_name"])),
        ("gpu", "gpu", (made["gpu_name"], None if math.isnan(memory) else memory)),
    ):
        made[column], note, problem = resolve(kind, *arguments)
        _say(made, note)
        if problem:
            _add(made, problem)
    made["quantization"], _, problem = resolve("quantization", made["quantization_name"], made["model"])
    if problem:
        _add(made, problem)
    made["engine"], _, problem = resolve("engine", engine, version)
    if problem:
        _add(made, problem)
    kv = names.lookup("kv", row.get("kv_dtype", ""), engine=made["engine"], quantization=made["quantization"])
    made["kv_bytes_per_element"] = float(kv.id) if kv else math.nan
    if kv is None:
        _add(made, f'unknown KV-cache type "{row.get("kv_dtype", "")}"')
    made["gpu_count"] = _number(row.get("gpu_count", ""), made, "gpu_count")
    return made


def _value(row: Mapping[str, str], made: dict[str, Any]) -> None:
    """The measured number in our unit, with what numbers themselves give away."""
    value = _number(row.get("value", ""), made, "value")
    metric, factor = METRIC_NAMES.get(made["metric"], (made["metric"], 1.0))
    if metric != made["metric"]:
        _say(made, f"{made['metric']} converted")
    made["metric"], made["value"] = metric, value * factor
    if metric not in METRICS:
        _add(made, f'metric "{metric}" is not predicted')
    elif math.isnan(value):
        _add(made, "no value")
    elif value <= 0:
        _add(made, f"{metric} of {value:g}: must be positive")


def _throughput(row: Mapping[str, str], resolve: _Resolver) -> dict[str, Any]:
    made = _identity(row, resolve)
    said = resolve.note(row.get("notes", ""))
    made["input_tokens"] = _number(row.get("isl", ""), made, "isl")
    made["output_tokens"] = _number(row.get("osl", ""), made, "osl")
    _value(row, made)
    _lengths(made, said)
    _layout(row, made, said)
    concurrency = _number(row.get("concurrency_or_batch", ""), made, "concurrency_or_batch")
    _load(made, said, concurrency)
    link = names.lookup("interconnect", row.get("interconnect", ""))
    made["interconnect"] = link.id if link else ""
    made["memory_utilisation"] = _fraction(said.get("utilisation", math.nan))
    made["sequence_limit"] = said.get("sequence_limit", math.nan)
    made["chunk_tokens"] = said.get("chunk_tokens", math.nan)
    made["context_tokens"] = math.nan
    made["statistic"] = "mean" if said.get("median") else "unstated"
    made["use"] = row.get("use", "") or "fit"
    for flag, trap in (("speculative", "speculative-decoding"), ("prefix_cache", "prefix-cache")):
        if said.get(flag) and not made["trap"]:
            made["trap"] = trap
    if said.get("disaggregated"):
        _add(made, "prefill and decode on separate cards: not predicted")
    return made


def _fraction(share: float) -> float:
    """A share of memory, whether it was written 0.9 or 90."""
    return share / 100 if share > 1 else share


def _lengths(made: dict[str, Any], said: Mapping[str, Any]) -> None:
    """Lengths that only the note tells; a benchmark of both kinds of tokens is split in half."""
    if said.get("short_prompt") and math.isnan(made["input_tokens"]):
        made["input_tokens"] = SHORT_PROMPT_TOKENS
        _say(made, "short prompt: length assumed")
    each = said.get("total_tokens_per_request", math.nan)
    if math.isnan(each) and "total_tokens" in said and said.get("requests"):
        each = said["total_tokens"] / said["requests"]
    if math.isnan(made["input_tokens"]) and math.isnan(made["output_tokens"]) and not math.isnan(each):
        made["input_tokens"] = made["output_tokens"] = each / 2
        _say(made, "only input and output together stated: split in half")
    if made["metric"] in (*LATENCIES, *RATES) and (
        math.isnan(made["input_tokens"]) or math.isnan(made["output_tokens"])
    ):
        _add(made, "lengths not stated")
    elif made["metric"] == "tpot_ms" and made["output_tokens"] <= 1:
        _add(made, "one output token has no TPOT")


def _layout(row: Mapping[str, str], made: dict[str, Any], said: Mapping[str, Any]) -> None:
    """Tensor, attention-data and pipeline ranks of one replica, from columns and notes."""
    cards = made["gpu_count"]
    tensor = _number(row.get("tp", ""), made, "tp")
    pipeline = _number(row.get("pp", ""), made, "pp")
    data = said.get("data_parallel", 1.0)
    pipeline = 1.0 if math.isnan(pipeline) else pipeline
    if said.get("layer_split") and math.isnan(tensor):
        tensor, pipeline = 1.0, 1.0 if math.isnan(cards) else cards
    elif "deployed_data_parallel" in said:
        tensor, data = 1.0, said["deployed_data_parallel"]
    elif data > 1 and tensor > 1:  # both columns name the same cards
        tensor = max(tensor / data, 1.0)
        cards = tensor * data * pipeline
    elif data > 1 and data == _number(row.get("ep", ""), made, "ep") ** 2:  # the ranks were multiplied twice
        data = data**0.5
        cards = tensor * data * pipeline
    elif "instance_tensor_parallel" in said:
        tensor = said["instance_tensor_parallel"]
    if math.isnan(tensor):
        tensor = 1.0 if math.isnan(cards) else max(cards / (data * pipeline), 1.0)
        if cards > 1:
            _say(made, "parallel layout not stated: tensor parallel assumed")
    if said.get("enable_dp_attention") and data == 1:
        tensor, data = 1.0, tensor
    made["tensor_parallel"], made["data_parallel"], made["pipeline_parallel"] = tensor, data, pipeline
    made["gpu_count"] = tensor * data * pipeline if math.isnan(cards) else cards
    made["recipe"] = bool(said.get("recipe_attention_data_parallel"))


def _load(made: dict[str, Any], said: Mapping[str, Any], concurrency: float) -> None:
    """How requests arrive, and how many run in one replica."""
    cards = made["tensor_parallel"] * made["data_parallel"] * made["pipeline_parallel"]
    if not cards >= 1:
        _add(made, "a parallel layout of no cards")
    replicas = max(made["gpu_count"] / max(cards, 1), 1)
    rate = said.get("request_rate_per_s", math.nan)
    made["requests"] = said.get("requests", math.nan)
    made["request_rate_per_s"] = math.nan
    made["batch_requests"] = concurrency / replicas
    if said.get("static"):
        made["start"] = "static"
    elif not math.isnan(concurrency):
        made["start"] = "steady"
    elif said.get("burst") and not math.isnan(made["requests"]):
        made["start"] = "burst"
        made["batch_requests"] = math.nan
    elif not math.isnan(rate):
        made["start"], made["request_rate_per_s"] = "open-loop", rate
    else:
        made["start"] = "offline"


def _memory(row: Mapping[str, str], resolve: _Resolver) -> dict[str, Any]:
    made = _identity(row, resolve)
    said = resolve.note(row.get("notes", ""))
    _value(row, made)
    _layout(row, made, said)
    _say(made, "tokens printed as concurrency x context" if said.get("hybrid_tokens") else "")
    share = row.get("gpu_memory_utilization", "").split(" ")[
        -1 if "static" in row.get("gpu_memory_utilization", "") else 0
    ]
    made["memory_utilisation"] = _fraction(_number(share, made, "gpu_memory_utilization"))
    context = _number(row.get("max_model_len", ""), made, "max_model_len")
    length = _number(row.get("seq_len", ""), made, "seq_len")
    made |= {
        "context_tokens": context, "input_tokens": length, "output_tokens": math.nan, "start": "log",
        "batch_requests": _number(row.get("batch", ""), made, "batch"), "request_rate_per_s": math.nan,
        "requests": math.nan, "sequence_limit": math.nan, "chunk_tokens": math.nan, "interconnect": "",
        "statistic": "mean",
    }  # fmt: skip
    made["use"] = row.get("use", "") or (
        "context" if made["quality"] == "C" or made["metric"] not in METRICS else "fit"
    )
    return made


def _own(row: Mapping[str, str], resolve: _Resolver) -> dict[str, Any]:
    """Our own columns: as written, with ids resolved again so that the table follows the catalog."""
    made: dict[str, Any] = {name: row.get(name, "") for name, kind in CANONICAL.items() if kind == "text"}
    made["problem"] = ""
    for name, kind in CANONICAL.items():
        if kind == "number" and name != "line":
            made[name] = _number(row.get(name, ""), made, name)
    for column, kind, arguments in (
        ("model", "model", (row.get("model", "") or made["model_name"], made["normalised_name"])),
        ("gpu", "gpu", (row.get("gpu", "") or made["gpu_name"], None)),
    ):
        made[column], _, problem = resolve(kind, *arguments)
        if problem:
            _add(made, problem)
    if math.isnan(made["value"]) or made["value"] <= 0:
        _add(made, f"{made['metric']} of {made['value']:g}: must be positive")
    return made


_ONE = {"throughput": _throughput, "memory": _memory, "own": _own}
