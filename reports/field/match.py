"""Completes measured rows: names to ids of the catalog, and what the files leave out from what the user says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from reports.catalog.records import Catalog
from reports.catalog.select import UnknownName, find
from reports.errors import InputError, Problem
from reports.field import names
from reports.field.canonical import LATENCIES, METRICS, RATES
from reports.field.cells import MOST, impossible, link, share


@dataclass(frozen=True)
class Given:
    """What the user says about all rows; '' and None: nothing."""

    model: str = ""
    gpu: str = ""
    quantization: str = ""
    engine: str = ""
    tp: float | None = None
    concurrency: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    kv_cache: str = ""
    interconnect: str = ""

    def numbers(self) -> Iterator[tuple[str, str, float]]:
        """(column, option, value) of the numbers that are given."""
        pairs = {"tp": "tensor_parallel", "concurrency": "batch_requests"}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float):
                yield pairs.get(each.name, each.name), f"--{each.name.replace('_', '-')}", float(value)


OPTIONS = {
    "model": "--model", "gpu": "--gpu", "quantization": "--quantization", "engine": "--engine",
    
    "tensor_parallel": "--tp", "batch_requests": "--concurrency",
    "input_tokens": "--input-tokens", "output_tokens": "--output-tokens",
}  # fmt: skip
"""Which option supplies a column that the files leave out."""

_WORDS = {
    "model": "the model", "gpu": "the card", "quantization": "the weight format", "engine": "the engine",
    "tensor_parallel": "how many cards share the model", "batch_requests": "the concurrency",
    "input_tokens": "the input length", "output_tokens": "the output length",
}  # fmt: skip

_METHODS = {
    "awq_marlin": "int4", "gptq_marlin": "int4", "gptq_marlin_24": "int4", "modelopt": "fp8", "modelopt_fp4": "nvfp4",
    "fbgemm_fp8": "fp8", "w8a8_fp8": "fp8", "w8a8_int8": "int8", "w4a16_awq": "int4", "w4a16": "int4",
    "w4a8_awq": "int4",
    "fp8_block_scales": "fp8", "no quantization": "fp16", "float32": "fp16",
}  # fmt: skip
"""What servers call a way to run weights -> our id of the format."""

_IN_NAME = (
    (re.compile(r"(^|[-_ ./])(nvfp4|fp4)($|[-_ ])", re.I), "nvfp4"),
    (re.compile(r"(^|[-_ ./])mxfp4($|[-_ ])", re.I), "mxfp4"),
    (re.compile(r"(^|[-_ ./])(gptq|w8a8|quantized)?[-_.]?(int8|8bit|w8a16)($|[-_ ])|w8a8(?!.*fp8)", re.I), "int8"),
    (re.compile(r"(^|[-_ ./])(awq|gptq|int4|4bit|w4a16)($|[-_ ])", re.I), "int4"),
    (re.compile(r"(^|[-_ ./])fp8($|[-_ ])", re.I), "fp8"),
    (re.compile(r"(^|[-_ ./])(bf16|fp16)($|[-_ ])", re.I), "fp16"),
)
"""Parts of a checkpoint's name that say its format."""

_SUFFIX = re.compile(
    r"[-_ .](fp8(-dynamic|-block|-static|-kv)?|nvfp4|fp4|mxfp4|awq|gptq|4bit|8bit|int4|int8|bf16|fp16|w\da\d+\w*"
    r"|quantized|marlin|gguf|q\d\w*|g128|hf)$",
    re.I,
)
_NAME_PROBLEM = re.compile(
    r"^unknown (model|gpu|engine|quantization|KV)|^no \w+ named|^did you mean|published in is|are not the memory of"
)


def model_spellings(name: str) -> list[str]:
    """A checkpoint's name, then without owner or path, then without what only says its format."""
    bare = re.sub(r"\.(uri|gguf|bin)$", "", name.rstrip("/").rsplit("/", 1)[-1])
    found = [name, bare]
    while (shorter := _SUFFIX.sub("", found[-1])) != found[-1]:
        found.append(shorter)
    found += [each.removeprefix("Meta-") for each in found if each.startswith("Meta-Llama-3.")]
    return list(dict.fromkeys(found))


def format_in(name: str) -> str:
    """The weight format that a checkpoint's name states; '' when it states none."""
    return next((found for pattern, found in _IN_NAME if pattern.search(name)), "")


def match(
    rows: pd.DataFrame, catalog: Catalog, given: Given | None = None, *, ask: bool = True
) -> pd.DataFrame:  # fmt: skip
    """The rows with ids and layout filled in; what stays open says so in ``problem``, with the option that supplies it.

    ``ask``: a card that its name leaves open is a problem; without, the default is taken and noted.
    Raises InputError when the user's own words name nothing, or would overwrite several different answers of the files.
    """
    given = given or Given()
    ids = _given_ids(catalog, given)
    _refuse_several(rows, ids, given)
    if ask and "gpu" not in ids:
        _ask_for_cards(rows, catalog)
    resolve = _Resolver()
    made = rows.copy()
    records = [_matched(record, catalog, given, ids, resolve) for record in made.to_dict("records")]
    texts = ("model", "gpu", "gpu_choices", "quantization", "engine", "interconnect", "start", "note", "problem")
    for column in texts:
        made[column] = pd.Series([record[column] for record in records], index=made.index, dtype=object)
    for column in ("tensor_parallel", "data_parallel", "pipeline_parallel", "gpu_count", "kv_bytes_per_element",
                   "batch_requests", "input_tokens", "output_tokens", "memory_utilisation"):  # fmt: skip
        made[column] = [float(record[column]) for record in records]
    return made


class _Resolver:
    """Names that were looked up before."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], tuple[names.Card, str]] = {}

    def __call__(self, kind: str, name: str, look: Callable[[str], str | names.Card]) -> tuple[names.Card, str]:
        """``(what the name was read as, problem)``."""
        if (kind, name) not in self.known:
            try:
                found = look(name)
                self.known[kind, name] = found if isinstance(found, names.Card) else names.Card(found), ""
            except UnknownName as error:
                self.known[kind, name] = names.Card(""), str(error)
        return self.known[kind, name]


def _given_ids(catalog: Catalog, given: Given) -> dict[str, str]:
    ids: dict[str, str] = {}
    problems = list(_wrong_numbers(given))
    looks: dict[str, Callable[[str], str]] = {
        "model": lambda name: names.entry_id(catalog.models, "model", tuple(model_spellings(name)))[0],
        "gpu": lambda name: _one_card(catalog, name),
        "engine": lambda name: names.engine_id(catalog, name, ""),
        "quantization": lambda name: _format(catalog, name, ids.get("model", "")),
    }
    for kind, look in looks.items():
        name = getattr(given, kind)
        if name:
            try:
                ids[kind] = look(name)
            except UnknownName as error:
                problems.append(Problem(f"--{kind}", str(error)))
            except InputError as error:
                problems += error.problems
    if given.kv_cache not in ("", "fp8", "16bit"):
        problems.append(Problem("--kv-cache", "unknown type", read=given.kv_cache, expected="fp8 or 16bit"))
    if given.interconnect:
        ids["interconnect"], problem = link(given.interconnect)
        if problem:
            problems.append(Problem("--interconnect", "unknown link", read=given.interconnect, expected="nvlink, pcie"))
    if problems:
        raise InputError(problems)
    return ids


def _wrong_numbers(given: Given) -> Iterator[Problem]:
    for _, option, value in given.numbers():
        whole = option in ("--tp", "--concurrency")
        if not 0 < value <= MOST or (whole and (value != int(value) or value < 1)):
            words = {"--tp": "a number of cards, 1 or more", "--concurrency": "a number of requests, 1 or more"}
            yield Problem(option, "is out of range", read=f"{value:g}", expected=words.get(option, "tokens, above 0"))


def _one_card(catalog: Catalog, name: str) -> str:
    """The one card of a name; InputError when several have it."""
    found = names.card(catalog, name)
    if found.choices:
        raise InputError(ambiguous("--gpu", None, name, found.choices))
    return found.id


def ambiguous(file: str, line: int | None, name: str, choices: tuple[str, ...]) -> Problem:
    """A name of several cards: a fit to the wrong one would move every answer, so it is asked."""
    return Problem(
        file, f'"{name}" may be several cards', line, expected=f"one of {', '.join(choices)}",
        hint=f"name the card: --gpu {choices[0]}, or in the file where it has several",
    )  # fmt: skip


def _format(catalog: Catalog, name: str, model: str) -> str:
    known = _METHODS.get(name.strip().lower())
    if known:
        return known
    try:
        return find(catalog.quantizations, name, "quantization")
    except UnknownName:
        return names.quantization_id(catalog, name, model)


def _refuse_several(rows: pd.DataFrame, ids: dict[str, str], given: Given) -> None:
    problems = []
    for column, option in (("model_name", "model"), ("gpu_name", "gpu")):
        stated = sorted({_bare(name) for name in rows[column] if name})
        if option in ids and len(stated) > 1:
            problems.append(
                Problem(f"--{option}", "would replace several different names that the files state",
                        read=", ".join(stated[:4]), hint="calibrate the files of each in its own run")
            )  # fmt: skip
    if problems:
        raise InputError(problems)


def _ask_for_cards(rows: pd.DataFrame, catalog: Catalog) -> None:
    """InputError for every name in the files that several cards share, at its first row."""
    problems = []
    for (file, name), part in rows[rows["gpu_name"] != ""].groupby(["file", "gpu_name"], sort=False):
        stated = part[part["gpu_choices"] != ""]
        choices = tuple(str(stated["gpu_choices"].iloc[0]).split(", ")) if len(stated) else ()
        if (part["gpu"] == "").all():
            try:
                stated, choices = part, names.card(catalog, str(name)).choices
            except UnknownName:
                continue  # said row by row
        if choices:
            line = stated["line"].iloc[0]
            problems.append(ambiguous(str(file), None if math.isnan(line) else int(line), str(name), choices))
    if problems:
        raise InputError(problems)


def _bare(name: str) -> str:
    return model_spellings(name)[-1].lower()


def _matched(
    record: dict[str, Any], catalog: Catalog, given: Given, ids: dict[str, str], resolve: _Resolver
) -> dict[str, Any]:
    problems = _still_open(record["problem"])
    looks: tuple[tuple[str, str, Callable[[str], str | names.Card]], ...] = (
        ("model", record["model_name"],
         lambda name: names.entry_id(
             catalog.models, "model", (*model_spellings(name), record["normalised_name"]))[0]),
        ("gpu", record["gpu_name"], lambda name: names.card(catalog, name)),
        ("engine", record["engine"], lambda name: names.engine_id(catalog, name, record["engine_version"])),
        ("quantization", record["quantization_name"], lambda name: _format(catalog, name, record["model"])),
    )  # fmt: skip
    for kind, name, look in looks:
        if kind in ids:
            if kind in ("model", "gpu") and name and name.lower() != ids[kind]:
                record["note"] = _joined(record["note"], f"the file says {name}")
            record[kind] = ids[kind]
            continue
        if record[kind] and kind != "engine":
            continue
        if kind == "quantization":
            name = _stated_format(name, record["model_name"])
        if not name:
            problems.append(f"{_WORDS[kind]} is not stated: give {OPTIONS[kind]}")
            continue
        found, problem = resolve(kind, name, look)
        record[kind] = found.id
        if found.choices:
            record["note"] = _joined(record["note"], found.note)
            record["gpu_choices"] = ", ".join(found.choices)
        if problem:
            problems.append(f"{problem} (or give {OPTIONS[kind]})")
    for column, _, value in given.numbers():
        if column == "tensor_parallel" or math.isnan(record[column]):
            record[column] = value
    if given.concurrency is not None and record["start"] == "":
        record["start"] = "steady"
    if given.interconnect:
        record["interconnect"] = ids["interconnect"]
    if given.kv_cache:
        record["kv_bytes_per_element"] = 1.0 if given.kv_cache == "fp8" else 2.0
    elif math.isnan(record["kv_bytes_per_element"]):
        record["kv_bytes_per_element"] = 2.0
    record["memory_utilisation"], note, wrong = share(record["memory_utilisation"])
    record["note"] = _joined(record["note"], note)
    _layout(record, catalog)
    problems += [*_open_numbers(record), *impossible(record), *([wrong] if wrong else [])]
    record["problem"] = "; ".join(dict.fromkeys(problems))
    return record


def _still_open(problem: str) -> list[str]:
    """What was wrong with a row before; names are looked up again, with what the user says."""
    return [each for each in problem.split("; ") if each and not _NAME_PROBLEM.search(each)]


def _stated_format(method: str, checkpoint: str) -> str:
    """A method that leaves the width open is settled by the checkpoint's name."""
    open_methods = ("", "compressed-tensors", "gptq", "gptq_marlin", "modelopt", "quark", "bitsandbytes")
    named = format_in(checkpoint)
    if method.lower() in open_methods:
        return named or ("int4" if "gptq" in method.lower() else "" if method.lower() != "modelopt" else "fp8")
    if method.lower() in ("bf16", "fp16", "bfloat16", "float16") and named not in ("", "fp16"):
        return named
    return method


def _layout(record: dict[str, Any], catalog: Catalog) -> None:
    """Data parallelism of a model without experts is several replicas; cards follow from the ranks or the other way."""
    for column in ("data_parallel", "pipeline_parallel"):
        if not record[column] >= 1:
            record[column] = 1.0
    tensor, cards = record["tensor_parallel"], record["gpu_count"]
    ranks = record["data_parallel"] * record["pipeline_parallel"]
    if math.isnan(tensor) and cards >= ranks:
        tensor = record["tensor_parallel"] = cards / ranks
    if math.isnan(cards):
        cards = record["gpu_count"] = tensor * ranks
    model = catalog.models.get(record["model"])
    replicas = record["data_parallel"]
    if model is not None and replicas > 1 and model.value("experts") == 0:
        record["data_parallel"] = 1.0
        record["batch_requests"] /= replicas
        record["note"] = _joined(record["note"], f"{replicas:.0f} replicas: the batch is the share of one")


def _open_numbers(record: dict[str, Any]) -> Iterator[str]:
    if math.isnan(record["tensor_parallel"]):
        yield f"{_WORDS['tensor_parallel']} is not stated: give --tp"
    if record["metric"] not in METRICS:
        if record["metric"]:
            yield f"metric {record['metric']} is not predicted"
        return
    if record["metric"] in (*LATENCIES, *RATES):
        wanted = ["input_tokens", "output_tokens"]
        if record["start"] in ("steady", "static", ""):
            wanted.append("batch_requests")
        for column in wanted:
            if not record[column] > 0:
                yield f"{_WORDS[column]} is not stated: give {OPTIONS[column]}"


def _joined(note: str, more: str) -> str:
    return "; ".join(each for each in (note, more) if each)
