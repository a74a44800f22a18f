"""What a workload comes to: how much of its peak the load is on average, arrivals at the peak, and where each is from.

Also the stage that fills ``Run.workloads`` and ``Run.load``: lengths, resident tokens and arrivals with their spread,
and the load by hour of the week.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog
from reports.catalog.select import assumption
from reports.constants import TOKENS_PER_MILLION
from reports.formulas import demand as formulas
from reports.given import stated_assumptions
from reports.methods import Block
from reports.run import Run
from reports.scenario.lengths import Lengths
from reports.scenario.resident import resident_tokens
from reports.scenario.schema import Scenario
from reports.scenario.services import Service
from reports.scenario.traces import Trace, TraceLength
from reports.scenario.workload import Workload

UTILISATION = "average_utilisation"
BLOCK = Block("Demand", formulas.FORMULAS)
"""From users or monthly tokens to arrivals at the peak; read before the matrix is made."""
RATE = "demand_requests_per_s"
LENGTHS = {"input_tokens": "input", "output_tokens": "output"}

_UNSTATED: dict[str, object] = {"basis": "judgement", "source": "own-judgement"}

Said = dict[str, object]
"""Columns of a row of the facts frame that say where its value is from."""


def stated_or_mid(name: str, scenario: Scenario, catalog: Catalog) -> float:
    """An assumption: the scenario's own value, or the middle of its row."""
    stated = stated_assumptions(scenario)
    return stated[name][0] if name in stated else assumption(catalog, name, scenario.region).mid


def average_utilisation(service: Service, scenario: Scenario, catalog: Catalog) -> float:
    """Mean load over the peak: as stated, else the mean of the profile, else the assumption."""
    profile = service.workload.profile
    if UTILISATION not in stated_assumptions(scenario):
        if profile is not None:
            return profile.mean_share
        busy = _busy_shares(scenario.service_axis)
        if service.workload_key in busy:
            return busy[service.workload_key]
    return stated_or_mid(UTILISATION, scenario, catalog)


def _busy_shares(services: Sequence[Service]) -> dict[str, float]:
    """Workload -> share of the month in which its runs last, the busiest service's; only where all demand is runs."""
    found: dict[str, list[float | None]] = {}
    for each in services:
        found.setdefault(each.workload_key, []).append(each.demand.run.busy_share if each.demand.run else None)
    return {key: max(share for share in shares if share is not None)
            for key, shares in found.items() if None not in shares}  # fmt: skip


def utilisation_rows(
    services: Sequence[Service], scenario: Scenario, catalog: Catalog, row: Mapping[str, object]
) -> dict[str, Said]:
    """The row of the assumption for each workload: where it has a profile, the mean of that."""
    rows: dict[str, Said] = {}
    busy = _busy_shares(services) if UTILISATION not in stated_assumptions(scenario) else {}
    for each in services:
        key, profile = each.workload_key, each.workload.profile
        rows[key] = {**row, "key": key}
        if profile is None:
            if key in busy:
                rows[key] |= {
                    "value": busy[key], "low": np.nan, "high": np.nan, "basis": "derived", "source": "scenario",
                    "as_of": "", "confirmed": True, "note": "hours of the runs of a month over 730 h",
                }  # fmt: skip
            continue
        mean = f"mean over peak of the profile {profile.name}"
        if UTILISATION in stated_assumptions(scenario):
            rows[key]["note"] = f"{row['note']}; {mean}: {profile.mean_share:.3g}"
            continue
        rows[key] |= {
            "value": profile.mean_share, "low": np.nan, "high": np.nan,
            "basis": profile.basis, "source": profile.source, "as_of": profile.at,
            "confirmed": profile.basis != "judgement", "note": f"{mean}; {profile.note}",
        }  # fmt: skip
    return rows


def stated_values(service: Service) -> dict[str, float]:
    """Leaves of a demand that is stated as users or as monthly tokens; empty for the other forms."""
    users, tokens = service.demand.users, service.demand.tokens_per_month
    if users is not None:
        return {
            "stated_users": users.count, "active_share": users.active_share,
            "user_requests_per_hour": users.requests_per_hour,
        }  # fmt: skip
    if tokens is not None:
        return {
            "stated_input_mtok_per_month": (tokens.input or 0.0) / TOKENS_PER_MILLION,
            "stated_output_mtok_per_month": (tokens.output or 0.0) / TOKENS_PER_MILLION,
        }
    return {}


def arrivals(service: Service, scenario: Scenario, catalog: Catalog) -> float:
    """Requests per second at the peak, 0 where the demand is stated as concurrency."""
    demand, stated = service.demand, stated_values(service)
    if demand.users is not None:
        return float(formulas.users_requests_per_s(**stated))
    if demand.tokens_per_month is not None:
        return float(
            formulas.tokens_requests_per_s(
                **stated,
                input_mean_tokens=service.workload.input_tokens.mean,
                output_mean_tokens=service.workload.output_tokens.mean,
                average_utilisation=average_utilisation(service, scenario, catalog),
            )
        )
    return demand.requests_per_s or 0.0


def provenance(service: Service, scenario: Scenario, catalog: Catalog) -> dict[str, Said]:
    """Leaf of workload or demand -> where its value is from, for those that are not simply stated."""
    workload, found = service.workload, dict[str, Said]()
    for name, end in LENGTHS.items():
        said = _length_said(getattr(workload, name), workload, end, catalog)
        for statistic in ("mean", "p95", "deviation", "tail") if said else ():
            found[f"{end}_{statistic}_tokens"] = said
    trace = workload.traced
    if workload.burstiness is None:
        found["interarrival_scv"] = {**_UNSTATED, "note": "not stated: arrivals at random"}
        if trace is not None and trace.interarrival_scv is not None:
            found["interarrival_scv"] = {"basis": "measured", "note": f"gaps between the rows of {trace.file}"}
    if workload.prefix_cache_hit_share is None:
        found["prefix_hit_share"] = {**_UNSTATED, "note": "not stated: none"}
        if trace is not None and trace.prefix_hit_share is not None:
            found["prefix_hit_share"] = {"basis": "measured", "note": f"prefixes of {trace.file}, unlimited cache"}
    found["resident_tokens"] = {"basis": "derived", "note": "a running request at a random moment"}
    found |= _demand_said(service, scenario, catalog)
    return found


def _length_said(length: Lengths, workload: Workload, end: str, catalog: Catalog) -> Said:
    trace = workload.traced
    if isinstance(length, TraceLength) and trace is not None:
        basis = "judgement" if trace.estimated else "measured"
        how = "tokens estimated from characters, " if trace.estimated else ""
        return {"basis": basis, "note": f"{how}{trace.rows:,} rows of {trace.file}"}
    mix = catalog.lengths.get(workload.lengths or "")
    if mix is not None and length.mean == mix.stated[end]["mean"]:
        fact = mix.facts[f"{end}_mean_tokens"]
        return {"basis": fact.basis, "source": fact.source, "as_of": fact.at, "note": f"{mix.id}: {mix.note}"}
    return {}


def _demand_said(service: Service, scenario: Scenario, catalog: Catalog) -> dict[str, Said]:
    stated = stated_values(service)
    if "stated_users" in stated:
        note = f"{stated['stated_users']:,.6g} users x {stated['active_share']:g} active x "
        return {RATE: {"basis": "derived", "note": f"{note}{stated['user_requests_per_hour']:g} requests/h / 3600"}}
    if stated:
        parts = []
        for end in ("input", "output"):
            tokens, mean = stated[f"stated_{end}_mtok_per_month"], getattr(service.workload, f"{end}_tokens").mean
            if tokens:
                parts.append(f"{end} {tokens:,.6g} Mtok / {mean:,.6g}")
        used = average_utilisation(service, scenario, catalog)
        chosen = " or ".join(parts) + (", the larger" if len(parts) > 1 else "")
        note = f"requests a month: {chosen}; over 730 h and {used:.3g} of the peak"
        return {RATE: {"basis": "derived", "note": note}}
    return {}


def stage(run: Run) -> Run:
    """The run with its workloads, the load by hour of the week, and what a reader must know of traces."""
    workloads = {each.workload_key: each for each in run.scenario.service_axis}
    rows = [row for key, each in workloads.items() for row in _spread(key, each, run)]
    hours = [
        {"workload_key": key, "hour": hour, "share_of_peak": float(share)}
        for key, each in workloads.items()
        if each.workload.profile is not None
        for hour, share in enumerate(each.workload.profile.shares)
    ]
    traces = {each.workload.traced.file: each.workload.traced for each in workloads.values() if each.workload.traced}
    return replace(
        run,
        workloads=pd.DataFrame(rows, columns=list(run.workloads.columns)),
        load=pd.DataFrame(hours, columns=list(run.load.columns)),
        warnings=(*run.warnings, *(warning for trace in traces.values() for warning in _warnings(trace))),
    )


def _spread(key: str, service: Service, run: Run) -> Iterator[dict[str, Any]]:
    workload, said = service.workload, provenance(service, run.scenario, run.catalog)
    spreads = {
        "input_tokens": workload.input_tokens, "output_tokens": workload.output_tokens,
        "resident_tokens": resident_tokens(workload),
    }  # fmt: skip
    for quantity, spread in spreads.items():
        leaf = f"{LENGTHS[quantity]}_mean_tokens" if quantity in LENGTHS else quantity
        basis, source = _origin(said.get(leaf, {}), workload)
        yield {
            "workload_key": key, "quantity": quantity, "basis": basis, "source": source,
            **{name: float(getattr(spread, name)) for name in ("mean", "p50", "p95", "p99", "deviation")},
        }  # fmt: skip
    single = {"interarrival_scv": workload.interarrival_scv, "prefix_hit_share": workload.prefix_hit_share}
    if workload.joint is not None and workload.traced is not None:
        single["input_output_correlation"] = workload.traced.correlation
        said["input_output_correlation"] = {"basis": "measured"}
    for quantity, value in single.items():
        basis, source = _origin(said.get(quantity, {}), workload)
        yield {
            "workload_key": key, "quantity": quantity, "mean": float(value), "basis": basis, "source": source,
            **dict.fromkeys(("p50", "p95", "p99", "deviation"), np.nan),
        }  # fmt: skip


def _origin(said: Mapping[str, object], workload: Workload) -> tuple[str, str]:
    """(basis, source): an id of the catalog, the file of a trace, or scenario."""
    basis = str(said.get("basis", "given"))
    if basis in ("measured", "judgement") and workload.traced is not None and "source" not in said:
        return basis, workload.traced.file
    return basis, str(said.get("source", "scenario"))


def _warnings(trace: Trace) -> Iterator[tuple[str, dict[str, object]]]:
    if trace.estimated:
        yield "{file} has texts and no token counts: its lengths are estimated from characters.", {"file": trace.file}
    if trace.left_out:
        yield (
            "{file}: {count} of its requests have no prompt or no answer (0 tokens) and are left out.",
            {"file": trace.file, "count": trace.left_out},
        )
