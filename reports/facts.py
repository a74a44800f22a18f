"""Every number a run uses with its source: the catalog's, the assumptions', the scenario's, gathered once.

The result serves twice: as small arrays that the matrix gathers from, and as the facts frame that the Inputs sheet,
the PDF's assumptions and ``explain`` show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.catalog.exchange import exchange_rate
from reports.catalog.records import Catalog, Fact
from reports.catalog.select import assumption
from reports.columns import INTERPOLATED, LEAF, LEAVES
from reports.methods import Method
from reports.scenario.schema import Scenario

Values = NDArray[np.float64]

PEAK_FACT = {"16bit": "peak_16bit_tflops", "fp8": "peak_fp8_tflops", "int8": "peak_int8_tops", "fp4": "peak_fp4_tflops"}
"""Which fact of a card holds its dense rate at a compute type."""

COLUMNS = (
    "scope", "key", "column", "value", "unit", "low", "high", "basis", "source", "as_of", "confirmed", "note", "live",
)  # fmt: skip


@dataclass(frozen=True)
class FactTable:
    """Values by what they depend on, and the frame that says where each comes from."""

    constants: Mapping[str, float]
    by_model: Mapping[str, Values]
    by_gpu: Mapping[str, Values]
    by_quantization: Mapping[str, Values]
    by_gpu_quantization: Mapping[str, Values]
    missing_gpu: tuple[tuple[str, ...], ...]
    dense_peak_fact: NDArray[np.object_]
    expert_peak_fact: NDArray[np.object_]
    native: NDArray[np.bool_]
    host: NDArray[np.object_]
    engine: str
    frame: pd.DataFrame


def fact_row(scope: str, key: str, column: str, fact: Fact, *, unit: str = "", live: bool = False) -> dict[str, object]:
    """One row of the facts frame from a catalog fact."""
    return {
        "scope": scope,
        "key": key,
        "column": column,
        "value": fact.value,
        "unit": unit or LEAF[column].unit,
        "low": np.nan if fact.low is None else fact.low,
        "high": np.nan if fact.high is None else fact.high,
        "basis": fact.basis,
        "source": fact.source,
        "as_of": fact.at,
        "confirmed": fact.confirmed,
        "note": fact.note,
        "live": live,
    }


def _given(scope: str, key: str, column: str, value: float, scenario: Scenario, note: str = "") -> dict[str, object]:
    return {
        "scope": scope, "key": key, "column": column, "value": float(value), "unit": LEAF[column].unit,
        "low": np.nan, "high": np.nan, "basis": "given", "source": "scenario", "as_of": scenario.as_of.isoformat(),
        "confirmed": True, "note": note, "live": LEAF[column].live,
    }  # fmt: skip


def collect(scenario: Scenario, catalog: Catalog, method: Method) -> FactTable:
    """Gather what the scenario's axes, region and targets need from the catalog."""
    rows: list[dict[str, object]] = []
    models, gpus = scenario.matrix.model, scenario.matrix.gpu
    quantizations = scenario.matrix.quantization

    by_gpu, missing = _entries(rows, "gpu", {name: catalog.gpus[name].facts for name in gpus})
    hosts = {gpu: catalog.hosts[catalog.gpus[gpu].host] for gpu in gpus if catalog.gpus[gpu].host in catalog.hosts}
    of_host, _ = _entries(rows, "host", {entry.id: entry.facts for entry in hosts.values()})
    order = {entry.id: index for index, entry in enumerate({entry.id: entry for entry in hosts.values()}.values())}
    for name, values in of_host.items():
        by_gpu[name] = np.array([values[order[hosts[gpu].id]] if gpu in hosts else np.nan for gpu in gpus])
    by_model, _ = _entries(rows, "model", {name: catalog.models[name].facts for name in models})
    doubled = {}
    for name in quantizations:
        entry = catalog.quantizations[name]
        doubled[name] = entry.facts
        doubled[f"{name}/moe"] = {**entry.facts, **entry.moe_facts}
    by_quantization, _ = _entries(rows, "quantization", doubled)
    engine, _ = _entries(rows, "engine", {scenario.engine: catalog.engines[scenario.engine].facts})

    pairs = [(gpu, name, experts) for gpu in gpus for name in quantizations for experts in (False, True)]
    dense_fact = [dense_peak_fact(catalog, *pair) for pair in pairs]
    expert_fact = [PEAK_FACT[compute_type(catalog, gpu, name)] for gpu, name, _ in pairs]
    native = [
        compute_type(catalog, gpu, name) == catalog.quantizations[name].compute_types[0] for gpu, name, _ in pairs
    ]

    constants = {name: float(values[0]) for name, values in engine.items()}
    for name, value in _scenario_values(scenario).items():
        constants[name] = value
        rows.append(_given("scenario", "", name, value, scenario))
    demands: dict[str, list[float]] = {name: [] for name in ("demand_peak_concurrency", "demand_requests_per_s")}
    for model in models:
        for name, value in zip(demands, scenario.demand_for(model), strict=True):
            demands[name].append(value)
            rows.append(_given("demand", model, name, value, scenario))
    for leaf in LEAVES:
        if leaf.scope == "assumption" and leaf.name not in INTERPOLATED:
            row = assumption_row(leaf.name, scenario, catalog)
            constants[leaf.name] = float(row["value"])  # type: ignore[arg-type]
            rows.append(row)
    for link in sorted(_links(catalog, gpus)):
        for cards, point in catalog.links[link].points.items():
            rows += [fact_row("link", f"{link}@{cards}", name, fact) for name, fact in point.items() if name in LEAF]

    return FactTable(
        constants=constants,
        by_model={**by_model, **{name: np.array(values) for name, values in demands.items()}},
        by_gpu=by_gpu,
        by_quantization=by_quantization,
        by_gpu_quantization={
            "dense_peak_tflops": np.array(
                [catalog.gpus[pair[0]].value(name) for pair, name in zip(pairs, dense_fact, strict=True)]
            ),
            "expert_peak_tflops": np.array(
                [catalog.gpus[pair[0]].value(name) for pair, name in zip(pairs, expert_fact, strict=True)]
            ),
        },
        missing_gpu=tuple(missing),
        dense_peak_fact=np.array(dense_fact, dtype=object),
        expert_peak_fact=np.array(expert_fact, dtype=object),
        native=np.array(native, dtype=bool),
        host=np.array([catalog.gpus[gpu].host for gpu in gpus], dtype=object),
        engine=scenario.engine,
        frame=pd.DataFrame(rows, columns=list(COLUMNS)),
    )


def compute_type(catalog: Catalog, gpu: str, quantization: str) -> str:
    """The first compute type of a quantization that the card has; a weight-only format falls back to 16 bit."""
    card = catalog.gpus[gpu]
    kinds = catalog.quantizations[quantization].compute_types_on(card.arch)
    return next((kind for kind in kinds if PEAK_FACT[kind] in card.facts), "16bit")


def dense_peak_fact(catalog: Catalog, gpu: str, quantization: str, experts: bool) -> str:
    """Which peak the dense weights use: with experts, 4-bit formats leave them (and their arithmetic) at 16 bit."""
    if experts and "dense_bytes_per_parameter" in catalog.quantizations[quantization].moe_facts:
        return PEAK_FACT["16bit"]
    return PEAK_FACT[compute_type(catalog, gpu, quantization)]


def _links(catalog: Catalog, gpus: Iterable[str]) -> set[str]:
    pairs = ((catalog.gpus[gpu].nvlink, catalog.gpus[gpu].pcie) for gpu in gpus)
    return {link for pair in pairs for link in pair if link}


def _entries(
    rows: list[dict[str, object]], scope: str, entries: Mapping[str, Mapping[str, Fact]]
) -> tuple[dict[str, Values], list[tuple[str, ...]]]:
    """Arrays over the entries of one scope, and for each entry the leaves it should have and lacks."""
    leaves = [
        leaf for leaf in LEAVES if leaf.scope == scope and leaf.name not in ("dense_peak_tflops", "expert_peak_tflops")
    ]
    missing = []
    for key, facts in entries.items():
        rows += [
            fact_row(scope, key, leaf.name, facts[leaf.name], live=leaf.live) for leaf in leaves if leaf.name in facts
        ]
        missing.append(tuple(leaf.name for leaf in leaves if leaf.name not in facts and not leaf.optional))
    arrays = {
        leaf.name: np.array(
            [facts[leaf.name].value if leaf.name in facts else np.nan for facts in entries.values()], dtype=np.float64
        )
        for leaf in leaves
    }
    return arrays, missing


def _scenario_values(scenario: Scenario) -> dict[str, float]:
    workload = scenario.workload
    return {
        "input_mean_tokens": workload.input_tokens.mean,
        "input_p95_tokens": workload.input_tokens.p95,
        "output_mean_tokens": workload.output_tokens.mean,
        "output_p95_tokens": workload.output_tokens.p95,
        "length_is_p95": float(scenario.rule_of_thumb.lengths == "p95"),
        "units_as_published": float(scenario.rule_of_thumb.units == "as_published"),
        "kv_bytes_per_element": 1.0 if scenario.kv_cache == "fp8" else 2.0,
        "tpot_target_ms": scenario.targets.tpot_ms if scenario.targets else np.nan,
        "ttft_target_ms": scenario.targets.ttft_ms if scenario.targets else np.nan,
        "horizon_months": float(scenario.costs.horizon_months),
    }


def assumption_row(name: str, scenario: Scenario, catalog: Catalog) -> dict[str, object]:
    """One assumption for the scenario's region, in its currency, with the scenario's own value when it has one."""
    row = assumption(catalog, name, scenario.region)
    live = name in LEAF and LEAF[name].live
    result: dict[str, object] = {
        "scope": "assumption", "key": "", "column": name, "value": row.mid, "unit": row.unit, "low": row.low,
        "high": row.high, "basis": row.basis, "source": row.source, "as_of": row.checked_on,
        "confirmed": row.basis != "judgement", "note": row.note, "live": live,
    }  # fmt: skip
    if row.currency and row.currency != scenario.currency:
        rate = exchange_rate(catalog.exchange, row.currency, scenario.currency, scenario.as_of)
        result |= {key: float(result[key]) * rate.rate for key in ("value", "low", "high")}  # type: ignore[arg-type]
        result["note"] = (
            f"{row.mid:g} {row.currency} at {rate.rate:g} {scenario.currency}/{row.currency} ({rate.as_of})"
        )
    if row.currency:
        result["unit"] = LEAF[name].unit if name in LEAF else row.unit
    if name in scenario.assumptions:
        result |= {"value": float(scenario.assumptions[name]), "basis": "given", "source": "scenario"}
        result["note"] = f"catalog: {row.mid:g}"
    return result
