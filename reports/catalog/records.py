"""What a catalog holds: facts with their provenance, entries made of facts, dated prices. Frozen, no behaviour."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd

BASES: tuple[str, ...] = ("measured", "published", "derived", "judgement")
CONFIDENCES: tuple[str, ...] = ("high", "medium", "low")
REGIONS: tuple[str, ...] = ("global", "china", "us", "eu")
CURRENCIES: tuple[str, ...] = ("USD", "CNY", "EUR")
PRECISIONS: tuple[str, ...] = ("day", "month", "year")
STATUSES: tuple[str, ...] = ("ok", "outlier", "suspect", "older", "superseded")
PRICE_KINDS: tuple[str, ...] = ("list", "negotiated", "quote", "estimate")
VAT_BASES: tuple[str, ...] = ("excluded", "unstated")
"""Prices with value-added tax are converted when a quote is imported; here they are without it, or nobody said."""
PRICE_UNITS: tuple[str, ...] = ("card-hour", "instance-hour", "card-month", "instance-month")
PURCHASE_KINDS: tuple[str, ...] = ("server", "card", "baseboard", "rack")
SEGMENTS: tuple[str, ...] = ("hyperscaler", "neocloud", "marketplace", "domestic-cloud", "domestic-monthly", "contract")

DAYS: tuple[str, ...] = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LENGTH_FACTS: tuple[str, ...] = ("mean", "p25", "p50", "p75", "p90", "p95", "p99", "max")
"""What may be known about the lengths of prompts, or of answers."""

EXTRA_FACTS: dict[str, dict[str, str]] = {
    "gpu": {"link_total_gb_per_s": "GB/s", "peak_int4_tops": "TOP/s"},
    "model": {"active_parameters_b": "1e9"},
    "quantization": {},
    "engine": {"tokenise_us_per_token": "us", "sampling_ms": "ms", "scheduling_ms": "ms"},
    "host": {
        "server_rack_units": "rack units", "cpu_sockets": "sockets", "cpu_threads": "threads",
        "numa_nodes": "nodes", "pcie_generation": "generation", "pcie_lanes": "lanes",
    },
    "link": {
        **{f"{way}_gb_per_s": "GB/s" for way in ("host_to_device", "device_to_host", "device_to_device")},
        "node_link_gb_per_s": "GB/s",
    },
    "profile": {},
    "lengths": {
        **{f"{end}_{name}_tokens": "tokens" for end in ("input", "output") for name in LENGTH_FACTS},
        "interarrival_scv": "ratio",
        "prefix_hit_share": "ratio",
    },
}
"""Facts an entry may carry that no formula reads: kind -> name -> unit. All others are leaves of reports.columns."""


@dataclass(frozen=True)
class Fact:
    """One number and where it comes from. ``at`` is the day (or month, or year) it was true or looked up."""

    value: float
    low: float | None
    high: float | None
    basis: str
    source: str
    at: str
    confirmed: bool
    confidence: str
    note: str = ""


@dataclass(frozen=True)
class Entry:
    """A thing of the catalog: an id people can type, other names for it, and its facts."""

    id: str
    name: str
    aliases: tuple[str, ...]
    facts: Mapping[str, Fact]
    note: str = ""
    file: str = ""
    """Path inside its catalog folder, prefixed by the folder's name for an overlay."""

    def value(self, fact: str) -> float:
        """The number of a fact; NaN when the entry does not have it."""
        found = self.facts.get(fact)
        return found.value if found else float("nan")


@dataclass(frozen=True)
class Gpu(Entry):
    """A card. ``nvlink`` names the fast link between cards (NVLink or the maker's equivalent), if it has one."""

    vendor: str = ""
    arch: str = ""
    form_factor: str = ""
    memory_type: str = ""
    compute_capability: str = ""
    release_year: int | None = None
    """None where nobody knows it."""
    nvlink: str | None = None
    nvlink_domain_cards: int = 0
    pcie: str = ""
    host: str = ""
    exceptions: Mapping[str, str] = field(default_factory=dict)
    """Facts that break a sanity rule on purpose, with the reason."""


@dataclass(frozen=True)
class ModelEntry(Entry):
    """A language model."""

    huggingface_id: str = ""
    family: str = ""
    architecture: str = ""
    native_dtype: str = ""
    max_context_tokens: int = 0


@dataclass(frozen=True)
class Quality:
    """What a quantization costs in answers, and who says so."""

    text: str
    basis: str
    source: str


@dataclass(frozen=True)
class Quantization(Entry):
    """A weight format. ``compute_types`` are in order of preference, 16bit last."""

    compute_types: tuple[str, ...] = ("16bit",)
    native_archs: tuple[str, ...] = ()
    """First words of ``Gpu.arch`` whose cards may use the types before 16bit; empty: every card with the peak."""
    moe_facts: Mapping[str, Fact] = field(default_factory=dict)
    """Facts that replace the plain ones for models with experts."""
    quality: Quality = Quality("", "judgement", "")

    def compute_types_on(self, arch: str) -> tuple[str, ...]:
        """Compute types worth trying on cards of an architecture, in order of preference."""
        native = not self.native_archs or arch.split(" ")[0] in self.native_archs
        return self.compute_types if native else self.compute_types[-1:]


@dataclass(frozen=True)
class Engine(Entry):
    """A serving engine."""


@dataclass(frozen=True)
class Host(Entry):
    """A server (or rack) that cards are bought in; each card names its host."""


@dataclass(frozen=True)
class Link(Entry):
    """A way cards talk to each other; ``points`` depend on how many take part, ``facts`` are copies measured on it."""

    kind: str = "pcie"
    points: Mapping[int, Mapping[str, Fact]] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadProfile(Entry):
    """How the load runs through the week. ``facts`` is empty."""

    shares: tuple[float, ...] = ()
    """Load of each hour of the week over the peak, 168 numbers, Monday 0 h first; the largest is 1."""

    @property
    def mean_share(self) -> float:
        """Mean load over the peak."""
        return sum(self.shares) / len(self.shares)

    basis: str = "judgement"
    source: str = ""
    at: str = ""


@dataclass(frozen=True)
class LengthMix(Entry):
    """How long prompts and answers of one kind of use are: facts such as ``input_p95_tokens``."""

    @property
    def stated(self) -> Mapping[str, Mapping[str, float]]:
        """``{"input": {"mean": …, "p95": …}, "output": …}`` with what is known."""
        return {
            end: {
                name: self.facts[f"{end}_{name}_tokens"].value
                for name in LENGTH_FACTS
                if f"{end}_{name}_tokens" in self.facts
            }
            for end in ("input", "output")
        }


@dataclass(frozen=True)
class Assumption:
    """One arguable number: low, mid and high, and why."""

    name: str
    region: str
    currency: str
    low: float
    mid: float
    high: float
    unit: str
    basis: str
    source: str
    locator: str
    checked_on: str
    note: str
    engine: str = ""
    gpu: str = ""
    """Engine and card that a calibration measured it on; both blank: it holds for all."""


@dataclass(frozen=True)
class Source:
    """Where facts come from."""

    id: str
    title: str
    locator: str
    licence: str
    checked_on: str


@dataclass(frozen=True)
class Catalog:
    """Everything known before a scenario is read. Dictionaries are keyed by id and must not be changed."""

    gpus: Mapping[str, Gpu]
    models: Mapping[str, ModelEntry]
    quantizations: Mapping[str, Quantization]
    engines: Mapping[str, Engine]
    hosts: Mapping[str, Host]
    links: Mapping[str, Link]
    assumptions: Mapping[tuple[str, str], Assumption]
    sources: Mapping[str, Source]
    rental: pd.DataFrame
    purchase: pd.DataFrame
    api: pd.DataFrame
    exchange: pd.DataFrame
    restrictions: pd.DataFrame = field(default_factory=partial(pd.DataFrame, columns=["gpu", "region"]))
    """Cards that may not be brought into a region without a licence."""
    processors: pd.DataFrame = field(default_factory=partial(pd.DataFrame, columns=["processor", "cores"]))
    """Common processors of servers: cores, clock with all cores busy, boost of one."""
    calibrated: Mapping[tuple[str, str, str], Assumption] = field(default_factory=dict)
    """(coefficient, engine, card) -> the value that an overlay measured for this pair."""
    profiles: Mapping[str, LoadProfile] = field(default_factory=dict)
    lengths: Mapping[str, LengthMix] = field(default_factory=dict)
    files: tuple[tuple[str, str], ...] = ()
    """(relative path, SHA-256) of every file read, in the order read."""
    overlays: tuple[str, ...] = ()
    """Overlay folders, in the order applied."""


def as_date(text: str) -> datetime.date:
    """Earliest day of ``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``; ValueError otherwise."""
    parts = text.split("-")
    widths = [len(part) for part in parts]
    if widths not in ([4], [4, 2], [4, 2, 2]) or not all(part.isdecimal() and part.isascii() for part in parts):
        raise ValueError(text)
    numbers = [int(part) for part in parts] + [1, 1]
    return datetime.date(*numbers[:3])


Row = dict[str, Any]
