"""Own measurements that a calibration overlay brings: rows, the bands they give, and what they were measured on."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog, Entry
from reports.columns import CALIBRATED, LEAF
from reports.cost.quotes import Listed, Warnings
from reports.field.bands import Known, keys_of, own_factors, shipped_keys
from reports.field.canonical import frame
from reports.field.measured import read
from reports.field.predict import predict
from reports.scenario.schema import Scenario

ROWS = "calibration_rows.csv"
SUMMARY = "calibration.json"
_PAIR = {"engine", "gpu", "models", "formats", "rows"}


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


def own_rows(catalog: Catalog) -> pd.DataFrame:
    """The measured rows of every overlay that has some."""
    parts = []
    for place in catalog.overlays:
        path = Path(place) / "measured" / ROWS
        if path.is_file():
            parts.append(read(path, catalog))
    return pd.concat(parts, ignore_index=True) if parts else frame([])


def known(catalog: Catalog) -> Known:
    """Everything measured that the catalog brings, for labels and bands."""
    rows = own_rows(catalog)
    good = rows[(rows["problem"] == "") & (rows["trap"] == "") & (rows["use"] == "fit")]
    if good.empty:
        return Known()
    keys = shipped_keys() | keys_of(good.to_dict("records"))
    with np.errstate(all="ignore"):
        return Known(frozenset(keys), own_factors(predict(good, catalog)))


def _summary(place: Path) -> Mapping[str, Any]:
    """What an overlay says about its calibration; nothing for one that is none, or that cannot be read."""
    try:
        found = json.loads((place / "measured" / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = isinstance(found, dict) and {"source", "date"} <= found.keys()
    pairs = found.get("measured_on") if whole else None
    good = isinstance(pairs, list) and all(isinstance(each, dict) and each.keys() >= _PAIR for each in pairs)
    return found if good else {}


IN_WORDS = {
    "eta_weights": N_("reading weights"), "eta_experts": N_("reading expert weights"),
    "eta_kv": N_("reading the KV cache"), "kernel_floor_us": N_("starting kernels"),
    "mfu_prefill": N_("computing prompts"), "mfu_decode": N_("computing answers"),
    "host_us_per_sequence": N_("work of the host"), "engine_ttft_offset_ms": N_("constant part of the first token"),
    "overhead_base_gib": N_("memory of the runtime"),
}  # fmt: skip
"""Coefficients in the words of a planner."""

APPLIED = N_(
    "{cards}: calibrated on own measurements under {engine} (rows: {count}; {day}; {models}; {formats}); moved: "
    "{coefficients}. All other cards keep the shipped coefficients."
)
OTHER_MODELS = N_("The calibration of {cards} did not measure {others}; it is applied to them too.")
NOT_APPLIED = N_("The calibration in {overlay} holds for {cards} under {engines}: it changes nothing here.")
FOR_ALL = N_(
    "{overlay} replaces coefficients for every card, engine and model, and does not say what they were measured on: "
    "{coefficients}."
)
MESSAGES = (APPLIED, OTHER_MODELS, NOT_APPLIED, FOR_ALL)
"""What a report must say about coefficients that are not the shipped ones."""


def warnings(scenario: Scenario, catalog: Catalog) -> Warnings:
    """Which coefficients an overlay moved, what they were measured on, and where they hold without a measurement."""
    found: list[tuple[str, dict[str, object]]] = []
    models = {each.model for each in scenario.service_axis}
    for place in catalog.overlays:
        said = _summary(Path(place))
        pairs = [each for each in said.get("measured_on", ()) if _is_used(each, scenario, catalog, said)]
        for each in pairs:
            moved = [name for name in CALIBRATED if (name, each["engine"], each["gpu"]) in catalog.calibrated]
            found.append((APPLIED, {
                "cards": Listed([each["gpu"]]), "engine": catalog.engines[each["engine"]].name, "count": each["rows"],
                "day": said["date"], "models": _names(catalog.models, each["models"]),
                "formats": Listed(each["formats"]),
                "coefficients": Listed([IN_WORDS[name] for name in moved]),
            }))  # fmt: skip
            others = sorted(models - set(each["models"]))
            if others:
                found.append((OTHER_MODELS, {"cards": Listed([each["gpu"]]), "others": _names(catalog.models, others)}))
        if said.get("measured_on") and not pairs:
            cards, engines = ({str(each[name]) for each in said["measured_on"]} for name in ("gpu", "engine"))
            found.append((NOT_APPLIED, {
                "overlay": Path(place).name, "cards": Listed(sorted(cards)),
                "engines": _names(catalog.engines, sorted(engines)),
            }))  # fmt: skip
        for_all = [IN_WORDS.get(name, LEAF[name].label) for name in _for_all(Path(place))]
        if for_all:
            found.append((FOR_ALL, {"overlay": Path(place).name, "coefficients": Listed(for_all)}))
    return tuple(found)


def _names(entries: Mapping[str, Entry], ids: Iterable[str]) -> Listed:
    """What people call entries of the catalog; an id that it does not have stands for itself."""
    return Listed([entries[each].name if each in entries else each for each in ids])


def _is_used(pair: Mapping[str, Any], scenario: Scenario, catalog: Catalog, said: Mapping[str, Any]) -> bool:
    """Whether this scenario asks for the card under the engine, and no later overlay measured them again."""
    here = pair["engine"] == scenario.engine and pair["gpu"] in scenario.matrix.gpu
    rows = (catalog.calibrated.get((name, pair["engine"], pair["gpu"])) for name in CALIBRATED)
    return here and any(row is not None and row.source == said["source"] for row in rows)


def _for_all(place: Path) -> list[str]:
    """Performance coefficients that an overlay states without engine and card."""
    try:
        with (place / "assumptions.csv").open(encoding="utf-8-sig", newline="") as file:
            stated = [row["name"] for row in csv.DictReader(file) if not row.get("engine") and not row.get("gpu")]
    except OSError:
        return []
    return [name for name in dict.fromkeys(stated) if name in LEAF and not LEAF[name].live]
