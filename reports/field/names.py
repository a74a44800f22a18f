"""Names that benchmarks use for cards, models, formats and engines, resolved to ids of the catalog; never guessed."""

from __future__ import annotations

import csv
import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reports.catalog.records import Catalog, Entry
from reports.catalog.select import UnknownName, find, plain
from reports.field.rules import rule
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
    found = re.match(r"v?(\d{1,9})\.(\d{1,9})", text.strip())
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


_MAKERS = re.compile(r"^(nvidia|amd|intel(\(r\))?)\s+", re.I)
_LINES = re.compile(r"\b(geforce|tesla|instinct|graphics|generation|edition)\b\s*", re.I)
_MEMORY = re.compile(r"[-_ ]?(\d{2,3}) ?GB\b|\s*HBM\d?e?\b", re.I)


def gpu_spellings(name: str) -> list[str]:
    """A card as the driver calls it, then without maker, product line and memory."""
    found = [name, _MAKERS.sub("", name)]
    found.append(re.sub(r"\s+", " ", _LINES.sub("", found[-1])).strip())
    found.append(_MEMORY.sub("", found[-1]).strip())
    return list(dict.fromkeys(each for each in found if each))


@dataclass(frozen=True)
class Card:
    """Which card a name was read as. ``choices``: all that it may mean, where it means several."""

    id: str
    note: str = ""
    choices: tuple[str, ...] = ()


def card(catalog: Catalog, name: str, memory_gb: float = math.nan, cards: float = math.nan) -> Card:
    """The card of a name and of the memory stated beside it (of one card, or of all ``cards``).

    A name that several cards share is answered with a default that names.csv or an alias states, and with all choices.
    UnknownName when nothing has the name, or when the memory is of none that has it.
    """
    if not memory_gb > 0:
        found = _MEMORY.search(name)
        memory_gb = float(found[1]) if found and found[1] else math.nan
    stated = memory_gb if memory_gb > 0 else None
    known, note = entry_id(catalog.gpus, "gpu", tuple(gpu_spellings(name)), memory=stated)
    # a driver's name in the table stands for one card
    certain = plain(name) == known or (_MAKERS.match(name) is not None and lookup("gpu", name) is not None)
    choices = (known,) if certain else _choices(catalog, name, known)
    fitting = tuple(each for each in choices if _holds_memory(catalog, each, memory_gb))
    if not fitting:
        of_one = memory_gb / cards if cards > 1 else math.nan
        fitting = tuple(each for each in choices if of_one > 0 and _holds_memory(catalog, each, of_one))
        note = "; ".join(each for each in (note, f"memory read as that of all {cards:g} cards") if each)
    if not fitting:
        sizes = sorted({f"{catalog.gpus[each].value('memory_nominal_gb'):g}" for each in choices})
        raise UnknownName(f"{memory_gb:g} GB are not the memory of {name}, {' or '.join(sizes)} GB: another card?")
    if len(fitting) == 1:
        return Card(fitting[0], note if len(choices) == 1 else "")
    chosen = known if known in fitting else fitting[0]
    return Card(chosen, "; ".join(each for each in (note, f"{name} read as {chosen}") if each), fitting)


def _holds_memory(catalog: Catalog, gpu: str, memory_gb: float) -> bool:
    nominal = catalog.gpus[gpu].value("memory_nominal_gb")
    return not (memory_gb > 0 and nominal > 0) or abs(memory_gb / nominal - 1) <= rule("card_memory_tolerance")


def _choices(catalog: Catalog, name: str, known: str) -> tuple[str, ...]:
    """Cards whose ids have every part of the name; one alone where all others only add to it (RTX 4090, 4090 D)."""
    wanted = _parts(gpu_spellings(name)[1 if len(gpu_spellings(name)) > 1 else 0])
    found = {each: _parts(each) for each in catalog.gpus}
    found = {each: parts for each, parts in found.items() if all(_has(parts, part) for part in wanted)}
    plainest = min(found, key=lambda each: len(found[each]), default=known)
    if len(found) < 2 or known not in found or all(found[plainest] <= parts for parts in found.values()):
        return (known,)
    return tuple(sorted(found, key=lambda each: (each != known, each)))


def _parts(name: str) -> frozenset[str]:
    text = _LINES.sub("", re.sub(r"\bHBM\d?e?\b", "", re.sub(r"(\d) GB\b", r"\1GB", name, flags=re.I), flags=re.I))
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


def _has(parts: frozenset[str], wanted: str) -> bool:
    """Whether a part is there, a generation number behind it or not (SXM for SXM5)."""
    return any(part == wanted or (wanted.isalpha() and part.rstrip("0123456789") == wanted) for part in parts)


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
