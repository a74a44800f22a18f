"""Reads the YAML entries of one catalog folder into records, and lists what is wrong with each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.catalog import schema
from reports.catalog.profiles import LEAST_FACTS, length_mix, load_profile
from reports.catalog.records import (
    EXTRA_FACTS,
    Engine,
    Entry,
    Fact,
    Gpu,
    Host,
    Link,
    ModelEntry,
    Quality,
    Quantization,
    as_date,
)
from reports.columns import CHOSEN_FACT, LEAVES
from reports.errors import InputError, Problem
from reports.strict_yaml import YamlDocument, did_you_mean, read, validate
from reports.yaml_problems import KeyPath

_WHOLE_UNITS = {"layers", "heads", "elements", "tokens", "experts", "matrices", "flag", "cards", "requests"}
_POSITIVE_UNITS = {"GB", "GiB", "GB/s", "TFLOP/s", "TOP/s", "W", "kW", "cards", "requests", "us", "bytes"}
_POSITIVE = {
    "parameters_b", "layers", "hidden_size", "attention_heads", "kv_heads", "head_dim", "vocabulary_size",
    "kernel_time_factor", "engine_time_factor", "rule_weight_factor", "dense_read_factor", "expert_read_factor",
    "expert_width_multiple", "kv_elements_per_token",
}  # fmt: skip

OPTIONAL_GPU_FACTS = {"memory_bandwidth_gb_per_s", "peak_16bit_tflops", "tdp_w"}
"""A card whose maker does not publish these still loads; a method that needs them says so."""

FACTS: dict[str, dict[str, str]] = {
    scope: {leaf.name: leaf.unit for leaf in LEAVES if leaf.scope == scope and leaf.name not in CHOSEN_FACT} | extra
    for scope, extra in EXTRA_FACTS.items()
}
"""Kind of entry -> names of the facts it may have, with their units."""

REQUIRED: dict[str, set[str]] = {
    scope: {leaf.name for leaf in LEAVES if leaf.scope == scope and not leaf.optional}
    - set(CHOSEN_FACT)
    - OPTIONAL_GPU_FACTS
    for scope in EXTRA_FACTS
} | {"lengths": LEAST_FACTS, "host": {"server_cards"}, "link": {"allreduce_alpha_us", "allreduce_bus_gb_per_s"}}


@dataclass(frozen=True)
class Read:
    """One entry and where it stands, for the checks that need all entries."""

    entry: Entry
    document: YamlDocument


@dataclass(frozen=True)
class Kind:
    """A folder of entries: the schema of its files and how a file becomes a record."""

    folder: str
    scope: str
    schema: type[schema.EntryFile]
    record: Callable[[Any, dict[str, Any], Facts], Entry]


class Facts:
    """Turns the facts of one file into records and collects what is wrong with them."""

    def __init__(self, file: schema.EntryFile, document: YamlDocument, scope: str) -> None:
        self.file, self.document, self.scope = file, document, scope
        self.problems: list[Problem] = []
        self.dated(("at",), file.at)

    def problem(self, path: KeyPath, message: str, *, key: bool = False, **more: str) -> None:
        """Note one problem at the place of a value."""
        place, line, column = self.document.place(path, key)
        self.problems.append(Problem(place, message, line, column, where=".".join(map(str, path)), **more))

    def dated(self, path: KeyPath, text: str) -> None:
        """A date must be a year, a month or a day; one that the schema refused is empty."""
        if not text:
            return
        try:
            as_date(text)
        except ValueError:
            self.problem(path, "is not a date", read=f'"{text}"', expected="2026-11-30, 2026-11 or \"2026\"")

    def take(self, path: KeyPath, given: schema.Facts, required: set[str]) -> dict[str, Fact]:
        """The facts under ``path``, checked one by one."""
        known = FACTS[self.scope]
        found: dict[str, Fact] = {}
        for name, raw in given.items():
            if name not in known:
                self.problem((*path, name), "unknown fact", key=True, read=f'"{name}"', hint=did_you_mean(name, known))
                continue
            self._check((*path, name), raw, known[name])
            found[name] = self._fact(raw)
        for name in sorted(required - given.keys() - self._written(path)):
            self.problem(path, f"the fact {name} is missing", expected=known[name])
        return found

    def _written(self, path: KeyPath) -> set[str]:
        """Names that stand in the file, also those whose value was refused."""
        data = self.document.data
        for part in path:
            data = data.get(part) if isinstance(data, dict) else None
        return set(data) if isinstance(data, dict) else set()

    def _fact(self, raw: schema.FactFile) -> Fact:
        file = self.file
        return Fact(
            value=raw.value,
            low=raw.low,
            high=raw.high,
            basis=raw.basis or file.basis,
            source=raw.source or file.source,
            at=raw.at or file.at,
            confirmed=file.confirmed if raw.confirmed is None else raw.confirmed,
            confidence=raw.confidence or file.confidence,
            note=raw.note,
        )

    def _check(self, path: KeyPath, raw: schema.FactFile, unit: str) -> None:
        name = str(path[-1])
        if raw.at:
            self.dated((*path, "at"), raw.at)
        if raw.basis == "judgement" and self.file.basis not in ("judgement", "") and not raw.source:
            self.problem((*path, "basis"), "is a judgement under the source of the whole file",
                         read=f'"{self.file.source}"', expected="a source of its own",
                         hint="add source: own-judgement, or the id of the note that argues for it")
        for bound, above in ((raw.low, raw.value), (raw.value, raw.high)):
            if bound is not None and above is not None and bound > above:
                read_as = f"{raw.low}, {raw.value}, {raw.high}"
                self.problem(path, "is out of order", read=read_as, expected="low <= value <= high")
        if raw.value == 0 and (unit in _POSITIVE_UNITS or name in _POSITIVE):
            self.problem(path, "is impossible", read="0", expected=f"more than 0 {unit}")
        if unit in _WHOLE_UNITS and raw.value != int(raw.value) and "_mean_" not in name:
            self.problem(path, "is impossible", read=f"{raw.value:g}", expected=f"a whole number of {unit}")
        if unit == "flag" and raw.value not in (0, 1):
            self.problem(path, "is impossible", read=f"{raw.value:g}", expected="0 or 1")


def _gpu(file: schema.GpuFile, base: dict[str, Any], facts: Facts) -> Gpu:
    entry = Gpu(
        **base, vendor=file.vendor, arch=file.arch, form_factor=file.form_factor, memory_type=file.memory_type,
        compute_capability=file.compute_capability, release_year=file.release_year, nvlink=file.nvlink,
        nvlink_domain_cards=file.nvlink_domain_cards, pcie=file.pcie, host=file.host, exceptions=file.exceptions,
    )  # fmt: skip
    for name in file.exceptions:
        if name not in FACTS["gpu"]:
            facts.problem(("exceptions", name), "unknown fact", key=True, hint=did_you_mean(name, FACTS["gpu"]))
    if bool(file.nvlink) != bool(file.nvlink_domain_cards):
        facts.problem(("nvlink_domain_cards",), "does not agree with nvlink", read=str(file.nvlink_domain_cards),
                      expected="0 without a fast link, else how many cards it joins")
    narrower = {"peak_fp8_tflops": "peak_16bit_tflops", "peak_int8_tops": "peak_16bit_tflops",
                "peak_fp4_tflops": "peak_fp8_tflops", "peak_int4_tops": "peak_int8_tops"}  # fmt: skip
    for fast, slow in narrower.items():
        if fast not in file.exceptions and entry.value(fast) < entry.value(slow):
            facts.problem(
                ("facts", fast), f"is below {slow}", read=f"{entry.value(fast):g}",
                expected=f"{entry.value(slow):g} or more", hint=f"name the reason under exceptions: {fast}",
            )  # fmt: skip
    if entry.value("memory_usable_gib") > entry.value("memory_nominal_gb"):
        facts.problem(("facts", "memory_usable_gib"), "is more than the card has")
    return entry


def _model(file: schema.ModelFile, base: dict[str, Any], facts: Facts) -> ModelEntry:
    entry = ModelEntry(
        **base, huggingface_id=file.huggingface_id, family=file.family, architecture=file.architecture,
        native_dtype=file.native_dtype, max_context_tokens=file.max_context_tokens,
    )  # fmt: skip
    pairs = (
        ("experts_per_token", "experts"), ("moe_layers", "layers"), ("linear_layers", "layers"),
        ("sparse_layers", "layers"), ("kv_heads", "attention_heads"),
        ("kv_elements_per_token_full_layers", "kv_elements_per_token"), ("active_parameters_b", "parameters_b"),
    )  # fmt: skip
    for part, whole in pairs:
        if entry.value(part) > entry.value(whole):
            facts.problem(("facts", part), f"is more than {whole}", read=f"{entry.value(part):g}",
                          expected=f"{entry.value(whole):g} or less")
    width = entry.value("hidden_size") * entry.value("expert_intermediate_size")
    experts = entry.value("experts") * entry.value("expert_matrices") * width * entry.value("moe_layers") / 1e9
    if experts >= entry.value("parameters_b"):
        facts.problem(("facts", "experts"), "the experts alone have more parameters than the model",
                      read=f"{experts:.4g}", expected=f"less than {entry.value('parameters_b'):g}")
    return entry


def _quantization(file: schema.QuantizationFile, base: dict[str, Any], facts: Facts) -> Quantization:
    if file.compute_types[-1] != "16bit":
        facts.problem(("compute_types",), "does not end with 16bit", read=", ".join(file.compute_types),
                      expected="16bit last: every card can fall back to it")
    quality = Quality(file.quality.text, file.quality.basis, file.quality.source)
    return Quantization(
        **base, compute_types=file.compute_types, native_archs=file.native_archs, quality=quality,
        moe_facts=facts.take(("moe_facts",), file.moe_facts, set()),
    )  # fmt: skip


def _engine(file: schema.EngineFile, base: dict[str, Any], facts: Facts) -> Engine:
    return Engine(**base)


def _host(file: schema.HostFile, base: dict[str, Any], facts: Facts) -> Host:
    return Host(**base)


def _link(file: schema.LinkFile, base: dict[str, Any], facts: Facts) -> Link:
    points: dict[int, dict[str, Fact]] = {}
    for cards, given in file.points.items():
        if not cards.isdecimal() or int(cards) < 2:
            facts.problem(("points", cards), "is not a number of cards", key=True, expected="2 or more")
            continue
        points[int(cards)] = facts.take(("points", cards), given, REQUIRED["link"])
    return Link(**base, kind=file.kind, points=points)


KINDS: tuple[Kind, ...] = (
    Kind("gpus", "gpu", schema.GpuFile, _gpu),
    Kind("models", "model", schema.ModelFile, _model),
    Kind("quantizations", "quantization", schema.QuantizationFile, _quantization),
    Kind("engines", "engine", schema.EngineFile, _engine),
    Kind("hosts", "host", schema.HostFile, _host),
    Kind("links", "link", schema.LinkFile, _link),
    Kind("profiles/load", "profile", schema.LoadProfileFile, load_profile),
    Kind("profiles/lengths", "lengths", schema.LengthMixFile, length_mix),
)


def read_entries(
    folder: Path, kind: Kind, label: str, problems: list[Problem], unreadable: set[str]
) -> Iterator[Read]:
    """Every entry of one kind under a catalog folder, in the order of file names; problems are appended.

    An entry with problems is there too, as far as it can be used: who refers to it is not told that it is unknown. The
    ids of files that are no entries at all are added to ``unreadable`` for the same reason.
    """
    for path in sorted((folder / kind.folder).glob("*.yaml")):
        name = f"{label}{kind.folder}/{path.name}"
        refused: tuple[Problem, ...] = ()
        try:
            document = read(path, name=name)
        except InputError as error:
            problems.extend(error.problems)
            unreadable.add(path.stem)
            continue
        data = _plain(document.data)
        try:
            file = validate(kind.schema, document, data=data)
        except InputError as error:
            refused = error.problems
            file = schema.salvaged(kind.schema, data if isinstance(data, dict) else {})
        facts = Facts(file, document, kind.scope)
        required = REQUIRED[kind.scope] if kind.scope != "link" else set()
        base = {
            "id": path.stem, "name": file.name, "aliases": file.aliases, "note": file.note, "file": name,
            "facts": facts.take(("facts",), file.facts, required),
        }  # fmt: skip
        if path.stem != path.stem.lower() or " " in path.stem:
            facts.problem((), "the file name is not a slug", read=path.stem, expected="small letters without spaces")
        entry = kind.record(file, base, facts)
        problems.extend(refused)
        problems.extend(each for each in facts.problems if not _follows(each, refused))
        yield Read(entry, document)


def _follows(problem: Problem, refused: tuple[Problem, ...]) -> bool:
    """Whether a problem is about a value that the schema has refused already."""
    return any(each.where == problem.where or each.where.startswith(f"{problem.where}.value") for each in refused)


def _plain(data: Any) -> Any:
    """The same data with every bare number of a facts table written out as ``{value: number}``."""
    if not isinstance(data, dict):
        return data
    full = dict(data)
    for key in ("facts", "moe_facts"):
        if isinstance(full.get(key), Mapping):
            full[key] = _written_out(full[key])
    if isinstance(full.get("points"), Mapping):
        full["points"] = {
            cards: _written_out(facts) if isinstance(facts, Mapping) else facts
            for cards, facts in full["points"].items()
        }
    return full


def _written_out(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fact if isinstance(fact, Mapping) else {"value": fact} for name, fact in facts.items()}
