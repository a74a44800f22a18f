"""Every number a run uses with its source: the catalog's, the assumptions', the scenario's, gathered once.

The result serves twice: as small arrays that the matrix gathers from, and as the facts frame that the Inputs sheet,
the PDF's assumptions and ``explain`` show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.catalog.exchange import exchange_rate
from reports.catalog.records import Assumption, Catalog, Fact
from reports.catalog.select import assumption
from reports.columns import CALIBRATED, INTERPOLATED, LEAF, LEAVES, SCOPE_KEY
from reports.given import (
    UNSTATED,
    demand_values,
    resident_values,
    scenario_values,
    stated_assumptions,
    stated_engine_facts,
    workload_values,
)
from reports.loads import RATE, UTILISATION, arrivals, provenance, stated_values, utilisation_rows
from reports.methods import Method
from reports.scenario.schema import Scenario
from reports.scenario.services import Service
from reports.server_facts import complete

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
    by_service: Mapping[str, Values]
    """Facts of its model, its demand, and its workload and targets unless they are the scenario's for all."""
    by_gpu: Mapping[str, Values]
    by_quantization: Mapping[str, Values]
    by_gpu_quantization: Mapping[str, Values]
    missing_gpu: tuple[tuple[str, ...], ...]
    dense_peak_fact: NDArray[np.object_]
    expert_peak_fact: NDArray[np.object_]
    native: NDArray[np.bool_]
    host: NDArray[np.object_]
    calibrated_key: NDArray[np.object_]
    """For each card its own id where an overlay measured coefficients on it under the engine; else blank."""
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


def _given(
    scope: str, key: str, column: str, value: float, scenario: Scenario, note: str = "", basis: str = "given"
) -> dict[str, object]:
    return {
        "scope": scope, "key": key, "column": column, "value": float(value), "unit": LEAF[column].unit,
        "low": np.nan, "high": np.nan, "basis": basis, "source": "scenario", "as_of": scenario.as_of.isoformat(),
        "confirmed": True, "note": note, "live": LEAF[column].live,
    }  # fmt: skip


def collect(scenario: Scenario, catalog: Catalog, method: Method) -> FactTable:
    """Gather what the scenario's axes, region and targets need from the catalog."""
    rows: list[dict[str, object]] = []
    services, models, gpus = scenario.service_axis, scenario.matrix.model, scenario.matrix.gpu
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
    for name, (value, said) in stated_engine_facts(scenario).items():
        constants[name] = value
        rows = [row for row in rows if (row["scope"], row["column"]) != ("engine", name)]
        rows.append(_given("engine", scenario.engine, name, value, scenario, said))
    for name, value in scenario_values(scenario).items():
        constants[name] = value
        rows.append(_given("scenario", "", name, value, scenario))
    by_service = {name: values[[models.index(each.model) for each in services]] for name, values in by_model.items()}
    origins = _origins(services, scenario, catalog)
    rows += [_given("stated", each.name, name, value, scenario) for each in services
             for name, value in stated_values(each).items()]  # fmt: skip
    for scope, by_key in (
        ("workload", {each.workload_key: workload_values(each) for each in services}),
        ("resident", {each.resident_key: resident_values(each, scenario, catalog) for each in services}),
        ("demand", {each.name: demand_values(each) | {RATE: arrivals(each, scenario, catalog)} for each in services}),
    ):
        basis = "derived" if scope == "resident" else "given"
        rows += [_given(scope, key, name, value, scenario, basis="not stated" if value == UNSTATED.get(name) else basis)
                 | origins.get((scope, key, name), {}) for key, found in by_key.items()
                 for name, value in found.items()]  # fmt: skip
        _spread(scope, by_key, services, constants, by_service)
    for leaf in LEAVES:
        if leaf.scope == "assumption" and leaf.name not in INTERPOLATED:
            row = assumption_row(leaf.name, scenario, catalog)
            constants[leaf.name] = float(row["value"])  # type: ignore[arg-type]
            rows.append(row)
    _utilisation(scenario, catalog, constants, by_service, rows)
    _network(scenario, catalog, constants, rows)
    if method.name == "four-bottleneck":
        complete(scenario, catalog, constants, by_gpu, rows)
    calibrated_key = _calibrated(scenario, catalog, constants, by_gpu, rows)
    for link in sorted(_links(catalog, gpus) | ({scenario.network} - {""})):
        for cards, point in catalog.links[link].points.items():
            rows += [fact_row("link", f"{link}@{cards}", name, fact) for name, fact in point.items() if name in LEAF]

    return FactTable(
        constants=constants,
        by_service=by_service,
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
        calibrated_key=calibrated_key,
        engine=scenario.engine,
        frame=pd.DataFrame(rows, columns=list(COLUMNS)),
    )


def _origins(
    services: Sequence[Service], scenario: Scenario, catalog: Catalog
) -> dict[tuple[str, str, str], dict[str, object]]:
    """(scope, key, leaf) -> where the value of a workload or a demand is from, where it is not simply stated."""
    found = {}
    for each in services:
        for name, said in provenance(each, scenario, catalog).items():
            scope = LEAF[name].scope if name in LEAF else ""
            found[scope, each.name if scope == "demand" else each.workload_key, name] = said
    return found


def _utilisation(
    scenario: Scenario,
    catalog: Catalog,
    constants: dict[str, float],
    by_service: dict[str, Values],
    rows: list[dict[str, object]],
) -> None:
    """Put the mean load of each workload's profile in the place of the assumption that stands in for one."""
    services = scenario.service_axis
    place = next(index for index, row in enumerate(rows) if row["column"] == UTILISATION)
    found = utilisation_rows(services, scenario, catalog, rows[place])
    rows[place : place + 1] = found.values()
    del constants[UTILISATION]
    by_key = {key: {UTILISATION: float(row["value"])} for key, row in found.items()}  # type: ignore[arg-type]
    _spread("workload", by_key, services, constants, by_service)


def _network(scenario: Scenario, catalog: Catalog, constants: dict[str, float], rows: list[dict[str, object]]) -> None:
    """The rate of the network that a scenario names, in the place of the assumption, unless it states its own."""
    name = "node_link_gb_per_s"
    if not scenario.network or name in stated_assumptions(scenario):
        return
    fact = catalog.links[scenario.network].facts[name]
    constants[name] = fact.value
    place = next(index for index, row in enumerate(rows) if row["column"] == name)
    rows[place] = fact_row("assumption", "", name, fact) | {"note": catalog.links[scenario.network].name}


def _calibrated(
    scenario: Scenario,
    catalog: Catalog,
    constants: dict[str, float],
    by_gpu: dict[str, Values],
    rows: list[dict[str, object]],
) -> NDArray[np.object_]:
    """Spread coefficients that an overlay measured over the cards they were measured on; their keys, one a card."""
    gpus, engine = scenario.matrix.gpu, scenario.engine
    keys = [gpu if any((name, engine, gpu) in catalog.calibrated for name in CALIBRATED) else "" for gpu in gpus]
    stated = {*stated_assumptions(scenario), *stated_engine_facts(scenario)}
    shared = {str(row["column"]): row for row in rows if row["column"] in CALIBRATED}
    for name in CALIBRATED if any(keys) else ():
        found = {} if name in stated else {gpu: catalog.calibrated.get((name, engine, gpu)) for gpu in gpus}
        values = []
        for gpu, key in zip(gpus, keys, strict=True):
            own = found.get(gpu)
            values.append(constants[name] if own is None else own.mid)
            if key:
                rows.append({**shared[name], "key": key} | (_measured_here(own) if own else {}))
        by_gpu[name] = np.array(values, dtype=np.float64)
        del constants[name]
    return np.array(keys, dtype=object)


def _measured_here(own: Assumption) -> dict[str, object]:
    return {
        "value": own.mid, "low": own.low, "high": own.high, "basis": own.basis, "source": own.source,
        "as_of": own.checked_on, "confirmed": True, "note": own.note,
    }  # fmt: skip


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


def _spread(
    scope: str,
    by_key: Mapping[str, Mapping[str, float]],
    services: Sequence[Service],
    constants: dict[str, float],
    by_service: dict[str, Values],
) -> None:
    """Add leaves of a scope: as constants where all services share one record, else as arrays over the services."""
    column = "name" if scope == "demand" else SCOPE_KEY[scope]
    records = [by_key[getattr(each, column)] for each in services]
    if scope != "demand" and len(by_key) == 1:
        constants.update(records[0])
    else:
        by_service.update({name: np.array([record[name] for record in records]) for name in records[0]})


def in_another_currency(name: str, scenario: Scenario, catalog: Catalog) -> str:
    """The currency an assumption stands in on file, where the run converts it; blank where it does not, and for what is
    on file under no such name."""
    if not {(name, scenario.region), (name, "global")} & set(catalog.assumptions):
        return ""
    row = assumption(catalog, name, scenario.region)
    converted = row.currency and row.currency != scenario.currency and name not in stated_assumptions(scenario)
    return row.currency if converted else ""


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
    stated = stated_assumptions(scenario)
    if name in stated:
        result |= {"value": stated[name][0], "basis": "given", "source": "scenario"}
        result["note"] = f"catalog: {row.mid:g}"
    return result
