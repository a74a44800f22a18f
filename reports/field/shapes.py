"""The three shapes of a measured table (throughput, memory, our own): one row of cells -> one canonical row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reports.catalog.records import Catalog
from reports.catalog.select import UnknownName
from reports.field import cells, names, notes, recipes
from reports.field.canonical import CANONICAL, LATENCIES, MEMORIES, METRIC_NAMES, METRICS, RATES

SHORT_PROMPT_TOKENS = 32.0
"""What a benchmark that says "short prompt" is taken to mean; at one request the answer hardly depends on it."""

_THROUGHPUT = {"model", "gpu", "metric", "value", "isl", "osl", "concurrency_or_batch"}
_MEMORY = {"model", "gpu", "metric", "value", "gpu_memory_utilization"}
_OWN = {"model_name", "gpu_name", "metric", "value", "input_tokens"}
SHAPES = (("own", _OWN), ("throughput", _THROUGHPUT), ("memory", _MEMORY))
"""Name of a shape and the columns that must be there."""

MOST_VALUE = 1e12
"""No latency, rate or count of tokens is larger."""

STARTS = ("steady", "open-loop", "burst", "offline", "static", "log")
"""How the requests of a load test arrive; ``log``: a figure of a server's start."""

Cells = Mapping[str, str]


class Resolver:
    """Names and notes already resolved: a file repeats few of them over many rows."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.note = notes.parser()
        self._known: dict[tuple[Any, ...], tuple[names.Card, str]] = {}
        self._kinds: dict[str, Callable[..., names.Card]] = {
            "model": lambda *a: names.Card(*names.model_id(catalog, *a)),
            "gpu": lambda *a: names.card(catalog, *a),
            "quantization": lambda *a: names.Card(names.quantization_id(catalog, *a)),
            "engine": lambda *a: names.Card(names.engine_id(catalog, *a)),
        }

    def __call__(self, kind: str, *arguments: Any) -> tuple[names.Card, str]:
        """``(what it was read as, problem)``."""
        key = (kind, *arguments)
        if key not in self._known:
            try:
                self._known[key] = self._kinds[kind](*arguments), ""
            except UnknownName as error:
                self._known[key] = names.Card(""), str(error)
        return self._known[key]


def add(row: dict[str, Any], problem: str) -> None:
    """One more thing wrong with a row."""
    row["problem"] = "; ".join(text for text in (row.get("problem", ""), problem) if text)


def _say(row: dict[str, Any], note: str) -> None:
    if note:
        row["note"] = "; ".join(text for text in (row.get("note", ""), note) if text)


def _number(text: str, row: dict[str, Any], column: str) -> float:
    """A number, NaN for an empty cell; what is neither is a problem of the row."""
    value, problem = cells.number(text)
    if problem:
        add(row, f"{column}: {problem}")
    return value


def _name(made: dict[str, Any], resolve: Resolver, kind: str, *arguments: Any) -> None:
    found, problem = resolve(kind, *arguments)
    made[kind] = found.id
    if kind in ("model", "gpu"):
        _say(made, found.note)
    if kind == "gpu":
        made["gpu_choices"] = ", ".join(found.choices)
    add(made, problem)


def _identity(row: Cells, resolve: Resolver) -> dict[str, Any]:
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
    made["gpu_count"] = _number(row.get("gpu_count", ""), made, "gpu_count")
    _name(made, resolve, "model", made["model_name"], made["normalised_name"])
    _name(made, resolve, "gpu", made["gpu_name"], memory, made["gpu_count"])
    _name(made, resolve, "quantization", made["quantization_name"], made["model"])
    _name(made, resolve, "engine", engine, version)
    kv = names.lookup("kv", row.get("kv_dtype", ""), engine=made["engine"], quantization=made["quantization"])
    made["kv_bytes_per_element"] = float(kv.id) if kv else math.nan
    if kv is None:
        add(made, f'unknown KV-cache type "{row.get("kv_dtype", "")}"')
    return made


def _value(row: Cells, made: dict[str, Any]) -> None:
    """The measured number in our unit, with what numbers themselves give away."""
    value = _number(row.get("value", ""), made, "value")
    metric, factor = METRIC_NAMES.get(made["metric"], (made["metric"], 1.0))
    if metric != made["metric"]:
        _say(made, f"{made['metric']} converted")
    made["metric"], made["value"] = metric, value * factor
    if metric not in METRICS:
        add(made, f'metric "{metric}" is not predicted')
    elif math.isnan(value):
        add(made, "no value")
    elif not 0 < value < MOST_VALUE:
        add(made, f"{metric} of {value:g}: must be positive" + (" and of this world" if value > 0 else ""))


def _throughput(row: Cells, resolve: Resolver) -> dict[str, Any]:
    made = _identity(row, resolve)
    said = resolve.note(row.get("notes", ""))
    made["input_tokens"] = _number(row.get("isl", ""), made, "isl")
    made["output_tokens"] = _number(row.get("osl", ""), made, "osl")
    _value(row, made)
    _lengths(made, said)
    _layout(row, made, said, resolve)
    concurrency = _number(row.get("concurrency_or_batch", ""), made, "concurrency_or_batch")
    _load(made, said, concurrency)
    made["interconnect"], problem = cells.link(row.get("interconnect", ""))
    add(made, problem)
    stated = _stated_share(row, made)
    _share(made, said.get("utilisation", math.nan) if math.isnan(stated) else stated)
    made["sequence_limit"] = said.get("sequence_limit", math.nan)
    made["chunk_tokens"] = said.get("chunk_tokens", math.nan)
    made["equal_lengths"] = math.nan
    recipes.fill(made)
    made["context_tokens"] = math.nan
    made["statistic"] = "mean" if said.get("median") else "unstated"
    made["use"] = row.get("use", "") or "fit"
    for flag, trap in (("speculative", "speculative-decoding"), ("prefix_cache", "prefix-cache")):
        if said.get(flag) and not made["trap"]:
            made["trap"] = trap
    if said.get("disaggregated"):
        add(made, "prefill and decode on separate cards: not predicted")
    return made


def _stated_share(row: Cells, made: dict[str, Any]) -> float:
    """Memory share of its column, of which some tables say more: ``90 (stated)``, ``mem_fraction_static 0.9``."""
    text = row.get("gpu_memory_utilization", "")
    return _number(text.split(" ")[-1 if "static" in text else 0], made, "gpu_memory_utilization")


def _share(made: dict[str, Any], stated: float) -> None:
    made["memory_utilisation"], note, problem = cells.share(stated)
    _say(made, note)
    add(made, problem)


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


def _layout(row: Cells, made: dict[str, Any], said: Mapping[str, Any], resolve: Resolver) -> None:
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
    if data == 1 and (said.get("enable_dp_attention") or _recipe_splits(made, resolve, said)):
        tensor, data = 1.0, tensor
    made["tensor_parallel"], made["data_parallel"], made["pipeline_parallel"] = tensor, data, pipeline
    made["gpu_count"] = tensor * data * pipeline if math.isnan(cards) else cards


def _recipe_splits(made: Mapping[str, Any], resolve: Resolver, said: Mapping[str, Any]) -> bool:
    """A recipe that runs models with experts with attention data parallelism, whatever the table calls it."""
    model = resolve.catalog.models.get(made["model"])
    return bool(said.get("recipe_attention_data_parallel") and model and model.value("experts") > 0)


def _load(made: dict[str, Any], said: Mapping[str, Any], concurrency: float) -> None:
    """How requests arrive, and how many run in one replica."""
    cards = made["tensor_parallel"] * made["data_parallel"] * made["pipeline_parallel"]
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


def _memory(row: Cells, resolve: Resolver) -> dict[str, Any]:
    made = _identity(row, resolve)
    said = resolve.note(row.get("notes", ""))
    _value(row, made)
    _layout(row, made, said, resolve)
    _say(made, "tokens printed as concurrency x context" if said.get("hybrid_tokens") else "")
    _share(made, _stated_share(row, made))
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


def _own(row: Cells, resolve: Resolver) -> dict[str, Any]:
    """Our own columns: as written, with ids resolved again so that the table follows the catalog."""
    made: dict[str, Any] = {name: row.get(name, "") for name, kind in CANONICAL.items() if kind == "text"}
    made["problem"] = made["note"] = ""
    for name, kind in CANONICAL.items():
        if kind == "number" and name != "line":
            made[name] = _number(row.get(name, ""), made, name)
    known = {"model": resolve.catalog.models, "quantization": resolve.catalog.quantizations,
             "engine": resolve.catalog.engines}  # fmt: skip
    for kind, more in (("model", "normalised_name"), ("quantization", "model"), ("engine", "engine_version")):
        if made[kind] not in known[kind]:  # an id is not looked up: names depend on more than the id
            _name(made, resolve, kind, made[kind] or made.get(f"{kind}_name", ""), made[more])
    _name(made, resolve, "gpu", made["gpu"] or made["gpu_name"], math.nan, math.nan)
    made["interconnect"], problem = cells.link(made["interconnect"])
    add(made, problem)
    _share(made, made["memory_utilisation"])
    value = row.get("value", "")
    _value({"value": value}, made)
    made["use"], made["quality"] = made["use"] or "fit", made["quality"] or "A"
    for column in ("data_parallel", "pipeline_parallel"):
        made[column] = 1.0 if math.isnan(made[column]) else made[column]
    ranks = made["data_parallel"] * made["pipeline_parallel"]
    if math.isnan(made["tensor_parallel"]):
        made["tensor_parallel"] = 1.0 if math.isnan(made["gpu_count"]) else made["gpu_count"] / ranks
    if math.isnan(made["gpu_count"]):
        made["gpu_count"] = made["tensor_parallel"] * ranks
    if math.isnan(made["kv_bytes_per_element"]):
        made["kv_bytes_per_element"] = 2.0
    if not made["start"]:
        rate, batch = made["request_rate_per_s"], made["batch_requests"]
        made["start"] = "log" if made["metric"] in MEMORIES else (
            "steady" if not math.isnan(batch) else "offline" if math.isnan(rate) else "open-loop"
        )  # fmt: skip
    elif made["start"] not in STARTS:
        add(made, f'unknown start "{made["start"]}": {", ".join(STARTS)}')
    return made


_ONE = {"throughput": _throughput, "memory": _memory, "own": _own}


def canonical(shape: str, row: Cells, resolve: Resolver) -> dict[str, Any]:
    """The canonical row of one row of cells; ``problem`` says why it cannot be answered."""
    made = _ONE[shape](row, resolve)
    for problem in (*_lacking(made), *cells.impossible(made)):
        add(made, problem)
    return made


def _lacking(made: Mapping[str, Any]) -> Iterator[str]:
    """What a prediction of this metric needs and the row does not say."""
    if made["metric"] in (*LATENCIES, *RATES):
        if math.isnan(made["input_tokens"]) or math.isnan(made["output_tokens"]):
            yield "lengths not stated"
        elif made["metric"] == "tpot_ms" and 0 < made["output_tokens"] <= 1:
            yield "one output token has no TPOT"
    loaded = made["metric"] in LATENCIES and made["start"] in ("steady", "static", "offline")
    loaded = loaded or (made["metric"] in RATES and made["start"] == "static")
    if loaded and math.isnan(made["batch_requests"]):
        yield f"a {made['metric']} without the requests that ran together: concurrency not stated"
