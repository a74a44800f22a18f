"""Names that benchmarks use for cards, models, formats and engines, resolved to ids of the catalog; never guessed."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reports.catalog.records import Catalog, Entry
from reports.catalog.select import UnknownName, find, plain
from reports.paths import catalogs_folder

NATIVE_FORMATS = {
    "bfloat16": "fp16",
    "float16": "fp16",
    "float32": "fp16",
    "float8_e4m3fn": "fp8",
    "mxfp4": "mxfp4",
    "int4": "int4",
}
"""Weight type of a published checkpoint -> our id of the format."""

_PRECISION = re.compile(
    r"[-_ ](fp8(-dynamic|-block)?|nvfp4|fp4|mxfp4|awq|gptq|awq-4bit|gptq-4bit|4bit|int4|int8|bf16|fp16|w8a8|w4a16|hf)$",
    re.IGNORECASE,
)
"""Endings that name the precision of a checkpoint, not another architecture."""


@dataclass(frozen=True)
class Name:
    """One row of names.csv."""

    when: str
    id: str
    note: str


@functools.cache
def names_table(folder: Path | None = None) -> Mapping[tuple[str, str], tuple[Name, ...]]:
    """(kind, name as compared) -> candidates in the order of the file; the first whose condition holds is taken."""
    table: dict[tuple[str, str], list[Name]] = {}
    with ((folder or catalogs_folder()) / "measured" / "names.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            table.setdefault((row["kind"], plain(row["name"])), []).append(Name(row["when"], row["id"], row["note"]))
    return {key: tuple(rows) for key, rows in table.items()}


def version_number(text: str) -> float | None:
    """``0.17.0`` -> 0.17, ``v1.2.0rc6`` -> 1.02; None when there is none. Minor numbers count in hundredths."""
    found = re.match(r"v?(\d+)\.(\d+)", text.strip())
    return int(found[1]) + int(found[2]) / 100 if found else None


def _holds(when: str, known: Mapping[str, str | float | None]) -> bool:
    for condition in when.split():
        parts = re.fullmatch(r"(\w+)(<=|<|=)(.+)", condition)
        if parts is None:
            raise ValueError(f"names.csv: cannot read the condition {condition!r}")
        name, operator, wanted = parts.groups()
        value = known.get(name)
        if value is None:
            return False
        if operator == "=" and str(value) != wanted:
            return False
        if operator in ("<", "<="):
            limit = version_number(wanted) if name == "version" else float(wanted)
            if limit is None or float(value) > limit or (operator == "<" and float(value) == limit):
                return False
    return True


def lookup(kind: str, name: str, **known: str | float | None) -> Name | None:
    """The row of names.csv for this spelling whose condition holds, if there is one."""
    for row in names_table().get((kind, plain(name)), ()):
        if _holds(row.when, known):
            return row
    return None


def entry_id(
    entries: Mapping[str, Entry], kind: str, spellings: tuple[str, ...], **known: str | float | None
) -> tuple[str, str]:
    """``(id, note)`` of the first spelling that the catalog or names.csv knows; UnknownName with a hint otherwise."""
    tried = [name.strip() for name in spellings if name.strip()]
    for name in tried:
        row = lookup(kind, name, **known)
        if row is not None and row.id in entries:
            return row.id, row.note
        try:
            return find(entries, name, kind), ""
        except UnknownName:
            continue
    raise UnknownName(_hint(entries, kind, tried))


def _hint(entries: Mapping[str, Entry], kind: str, tried: list[str]) -> str:
    if not tried:
        return f"no {kind} named"
    try:
        find(entries, tried[0], kind)
    except UnknownName as error:
        return str(error)
    return f'unknown {kind} "{tried[0]}"'  # pragma: no cover: the caller tried


def model_id(catalog: Catalog, name: str, normalised: str = "") -> tuple[str, str]:
    """Model by its printed name (with or without owner and precision), else by the file's normalised name."""
    bare = name.rsplit("/", 1)[-1]
    bare = re.sub(r"\s*\(.*\)$", "", bare)
    spellings = [name, bare]
    while (shorter := _PRECISION.sub("", spellings[-1])) != spellings[-1]:
        spellings.append(shorter)
    return entry_id(catalog.models, "model", (*spellings, normalised))


def gpu_id(catalog: Catalog, name: str, memory_gb: float | None) -> tuple[str, str]:
    """Card by its name; the memory the file states chooses among cards that share one."""
    return entry_id(catalog.gpus, "gpu", (name,), memory=memory_gb)


def quantization_id(catalog: Catalog, name: str, model: str) -> str:
    """Weight format; ``native`` stands for what the model is published in. UnknownName when not known."""
    entry = catalog.models.get(model)
    family = "gpt-oss" if model.startswith("gpt-oss") else ""
    row = lookup("quantization", name, family=family)
    if row is None:
        return find(catalog.quantizations, name, "quantization")
    if row.id == "native":
        published = NATIVE_FORMATS.get(entry.native_dtype, "") if entry else ""
        if not published:
            raise UnknownName(f'"{name}": the precision that the model is published in is not in the catalog')
        return published
    return row.id


def engine_id(catalog: Catalog, name: str, version: str) -> str:
    """Engine by name and version; UnknownName when not known."""
    row = lookup("engine", name, version=version_number(version))
    return row.id if row else find(catalog.engines, name, "engine")
