"""The server under the cards, for the four bottlenecks: link to the host, curve of the card, processor, engine.

Each comes from the nearest record that has it: the scenario, what a probe measured on this host or link, the catalog's
entry, and last an assumption. The row in the facts frame says which it was.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reports.catalog.records import Catalog, Fact
from reports.catalog.select import assumption
from reports.columns import LEAF
from reports.scenario.schema import Scenario

Values = NDArray[np.float64]
Row = dict[str, object]

CURVE = ("curve_first_tflops", "curve_second_tflops", "curve_third_tflops", "curve_fourth_tflops")
HOST_LINK = "host_link_gb_per_s"
PROCESSOR = {"cpu_cores": "four_cpu_cores", "cpu_clock_ghz": "four_cpu_clock_ghz"}
"""Fact of a host -> the assumption that stands in for it."""
ENGINE_TIMES = ("tokenise_us_per_token", "sampling_ms", "scheduling_ms")
"""Assumptions for which the entry of the engine may have a fact of its own."""
LINK_RATE = {"nvswitch": "four_nvswitch_rate_gb_per_s"}
SWITCH_RATE = "four_switch_rate_gb_per_s"


def complete(
    scenario: Scenario,
    catalog: Catalog,
    constants: dict[str, float],
    by_gpu: dict[str, Values],
    rows: list[Row],
) -> None:
    """Fill in, in place, the leaves of the server that the catalog's entries lack, each with a row that says whence."""
    for name in ENGINE_TIMES:
        fact = catalog.engines[scenario.engine].facts.get(name)
        if fact is not None and name not in scenario.assumptions:
            constants[name] = fact.value
            place = next(index for index, row in enumerate(rows) if row["column"] == name)
            rows[place] = _of_fact("assumption", "", name, fact, catalog.engines[scenario.engine].name)
    for index, gpu in enumerate(scenario.matrix.gpu):
        card = catalog.gpus[gpu]
        link = catalog.links[card.pcie].facts.get("host_to_device_gb_per_s") if card.pcie in catalog.links else None
        name = LINK_RATE.get(scenario.four_bottleneck.topology, SWITCH_RATE)
        if HOST_LINK not in card.facts:
            measured = link is not None and name not in scenario.assumptions
            row = (_of_fact("gpu", gpu, HOST_LINK, link, catalog.links[card.pcie].name) if measured and link
                   else _assumed("gpu", gpu, HOST_LINK, name, scenario, catalog))  # fmt: skip
            _put(by_gpu, rows, row, index)
        for point in CURVE:
            if point not in card.facts:
                share = _assumed("gpu", gpu, point, "mfu_prefill", scenario, catalog)
                peak = card.value("peak_16bit_tflops")
                scaled = {key: float(share[key]) * peak for key in ("value", "low", "high")}  # type: ignore[arg-type]
                note = "default curve: efficiency times peak; none was measured"
                _put(by_gpu, rows, {**share, **scaled, "basis": "derived", "note": note}, index)
        for name, stand_in in PROCESSOR.items():
            host = catalog.hosts.get(card.host)
            stated = _processor(name, card.host, scenario, catalog)
            if stated and stand_in not in scenario.assumptions:
                replaced = ("host", card.host, name)
                rows[:] = [old for old in rows if (old["scope"], old["key"], old["column"]) != replaced]
                _put(by_gpu, rows, stated, index)
            elif host is None or name not in host.facts or stand_in in scenario.assumptions:
                row = _assumed("host", card.host, name, stand_in, scenario, catalog)
                replaced = ("host", card.host, name)
                rows[:] = [old for old in rows if (old["scope"], old["key"], old["column"]) != replaced]
                _put(by_gpu, rows, row, index)


def _processor(name: str, host: str, scenario: Scenario, catalog: Catalog) -> Row | None:
    """A fact of the processor that the scenario names: cores of all of them, or the clock with all cores busy."""
    four = scenario.four_bottleneck
    if four.processor is None:
        return None
    found = catalog.processors.set_index("processor").loc[four.processor]
    value = {"cpu_cores": float(found["cores"]) * four.processors, "cpu_clock_ghz": float(found["clock_ghz"])}[name]
    return {
        "scope": "host", "key": host, "column": name, "value": value, "unit": LEAF[name].unit, "low": np.nan,
        "high": np.nan, "basis": found["basis"], "source": found["source"], "as_of": found["as_of"],
        "confirmed": bool(found["confirmed"]), "note": f"{four.processors} x {found['name']}", "live": LEAF[name].live,
    }  # fmt: skip


def _put(by_gpu: dict[str, Values], rows: list[Row], row: Row, index: int) -> None:
    by_gpu[str(row["column"])][index] = float(row["value"])  # type: ignore[arg-type]
    rows.append(row)


def _of_fact(scope: str, key: str, column: str, fact: Fact, note: str) -> Row:
    return {
        "scope": scope, "key": key, "column": column, "value": fact.value, "unit": LEAF[column].unit,
        "low": np.nan if fact.low is None else fact.low, "high": np.nan if fact.high is None else fact.high,
        "basis": fact.basis, "source": fact.source, "as_of": fact.at, "confirmed": fact.confirmed, "note": note,
        "live": LEAF[column].live,
    }  # fmt: skip


def _assumed(scope: str, key: str, column: str, name: str, scenario: Scenario, catalog: Catalog) -> Row:
    """The row of an assumption under the name of the leaf that it stands in for, or the scenario's own value."""
    known = assumption(catalog, name, scenario.region)
    row: Row = {
        "scope": scope, "key": key, "column": column, "value": known.mid, "unit": LEAF[column].unit, "low": known.low,
        "high": known.high, "basis": known.basis, "source": known.source, "as_of": known.checked_on,
        "confirmed": known.basis != "judgement", "note": f"default: {name}", "live": LEAF[column].live,
    }  # fmt: skip
    if name in scenario.assumptions:
        row |= {"value": float(scenario.assumptions[name]), "basis": "given", "source": "scenario",
                "note": f"catalog: {known.mid:g}"}  # fmt: skip
    return row


def switches(scenario: Scenario) -> Mapping[str, float]:
    """Leaves of the scenario: what is switched on, and how the cards reach the host."""
    four = scenario.four_bottleneck
    return {
        "four_compile_flag": float(four.torch_compile),
        "four_offload_flag": float(four.offload_embeddings),
        "four_bridged_flag": float(four.topology == "bridged-pairs"),
        "four_nvswitch_flag": float(four.topology == "nvswitch"),
        "four_lanes_flag": float(four.topology == "custom-lanes"),
        "four_lane_pieces": float(sum(four.lanes)),
        "four_switch_pieces": float(four.switches),
        "asked_requests": float(four.aggressive_requests or 0),
    }
