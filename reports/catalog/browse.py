"""What ``gpubook catalog list`` and ``gpubook catalog show`` print: frames and records, no formatting."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pandas as pd

from reports.catalog.entries import FACTS
from reports.catalog.records import (
    DAYS,
    Catalog,
    Entry,
    Fact,
    Gpu,
    Host,
    Link,
    LoadProfile,
    ModelEntry,
    Quantization,
)
from reports.catalog.select import UnknownName, find
from reports.strict_yaml import did_you_mean

KINDS: dict[str, str] = {
    "gpu": "gpus", "model": "models", "quantization": "quantizations", "engine": "engines", "host": "hosts",
    "link": "links", "profile": "profiles", "lengths": "lengths",
    "assumption": "assumptions", "source": "sources", "rental": "rental", "purchase": "purchase",
    "api": "api", "exchange": "exchange", "restriction": "restrictions", "processor": "processors",
}  # fmt: skip
"""Word on the command line -> attribute of the Catalog."""

_LIST_FACTS: dict[str, tuple[str, ...]] = {
    "gpu": ("memory_nominal_gb", "memory_bandwidth_gb_per_s", "peak_16bit_tflops", "peak_fp8_tflops", "tdp_w"),
    "model": ("parameters_b", "active_parameters_b", "layers", "kv_elements_per_token"),
    "quantization": ("dense_bytes_per_parameter", "expert_bytes_per_parameter"),
    "engine": ("engine_time_factor", "engine_ttft_offset_ms"),
    "host": ("server_cards", "server_power_kw"),
    "link": (),
    "profile": (),
    "lengths": ("input_mean_tokens", "input_p95_tokens", "output_mean_tokens", "output_p95_tokens"),
}


def kind_of(word: str) -> str:
    """A kind by its singular or plural; UnknownName otherwise."""
    for kind, attribute in KINDS.items():
        if word.casefold() in (kind, attribute):
            return kind
    hint = did_you_mean(word, KINDS)
    raise UnknownName(f'unknown kind "{word}"' + (f"; {hint}" if hint else f"; known: {', '.join(KINDS)}"))


def list_frame(catalog: Catalog, kind: str) -> pd.DataFrame:
    """One row an entry (or price, assumption, source) of a kind, in the order of ids."""
    kind = kind_of(kind)
    held: Any = getattr(catalog, KINDS[kind])
    if isinstance(held, pd.DataFrame):
        return held.copy()
    if kind in ("assumption", "source"):
        return pd.DataFrame([dataclasses.asdict(each) for _, each in sorted(held.items())])
    return pd.DataFrame([_row(catalog, kind, each) for _, each in sorted(held.items())])


def _row(catalog: Catalog, kind: str, entry: Entry) -> dict[str, object]:
    row: dict[str, object] = {"id": entry.id, "name": entry.name}
    if isinstance(entry, Gpu):
        row |= {"vendor": entry.vendor, "arch": entry.arch, "nvlink": entry.nvlink or "", "host": entry.host}
    elif isinstance(entry, ModelEntry):
        row |= {"family": entry.family, "max_context_tokens": entry.max_context_tokens}
    elif isinstance(entry, Quantization):
        row |= {"compute_types": ", ".join(entry.compute_types)}
    elif isinstance(entry, Host):
        row |= {"gpus": ", ".join(sorted(gpu.id for gpu in catalog.gpus.values() if gpu.host == entry.id))}
    elif isinstance(entry, Link):
        row |= {"kind": entry.kind, "cards": ", ".join(map(str, sorted(entry.points)))}
    elif isinstance(entry, LoadProfile):
        row |= {"mean_share_of_peak": entry.mean_share, "basis": entry.basis, "source": entry.source}
    row |= {name: entry.value(name) for name in _LIST_FACTS[kind]}
    facts = [fact for _, fact in all_facts(entry)]
    row["unconfirmed_facts"] = sum(not fact.confirmed for fact in facts)
    row["aliases"] = ", ".join(entry.aliases)
    return row


def all_facts(entry: Entry) -> list[tuple[str, Fact]]:
    """Every fact of an entry under a readable name; link points as ``8 cards: name``."""
    found = list(entry.facts.items())
    if isinstance(entry, Quantization):
        found += [(f"with experts: {name}", fact) for name, fact in entry.moe_facts.items()]
    if isinstance(entry, Link):
        for cards, point in sorted(entry.points.items()):
            found += [(f"{cards} cards: {name}", fact) for name, fact in point.items()]
    if isinstance(entry, LoadProfile):
        known = (entry.basis, entry.source, entry.at, entry.basis != "judgement", "medium")
        found.append(("mean over the peak", Fact(entry.mean_share, None, None, *known)))
        for index, day in enumerate(DAYS):
            peak = max(entry.shares[index * 24 : index * 24 + 24])
            found.append((f"highest hour of {day}", Fact(peak, None, None, *known)))
    return found


def show(catalog: Catalog, kind: str, name: str) -> tuple[Entry, pd.DataFrame]:
    """One entry found by any of its names, and a row for each of its facts with unit and source."""
    kind = kind_of(kind)
    held: Any = getattr(catalog, KINDS[kind])
    if kind not in FACTS:
        raise UnknownName(f"{kind} rows have no entries to show; list them instead")
    entries: Mapping[str, Entry] = held
    entry = entries[find(entries, name, kind)]
    rows = [
        {"fact": label, "value": fact.value, "unit": FACTS[kind].get(label.split(": ")[-1], ""), "low": fact.low,
         "high": fact.high, "basis": fact.basis, "confirmed": fact.confirmed, "confidence": fact.confidence,
         "source": fact.source, "at": fact.at, "note": fact.note}
        for label, fact in all_facts(entry)
    ]  # fmt: skip
    return entry, pd.DataFrame(rows)
