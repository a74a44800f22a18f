"""The fleet stage: what to keep, buy, rent and release so that all services run, and what the present fleet serves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog
from reports.cost.quotes import Listed
from reports.errors import GpubookError
from reports.facts import COLUMNS as FACT_COLUMNS
from reports.facts import assumption_row
from reports.fleet import frames, given, later
from reports.fleet.frames import Plan
from reports.fleet.layouts import layouts
from reports.fleet.packing import COLUMNS as PLACEMENT_COLUMNS
from reports.fleet.packing import used_machines
from reports.fleet.problem import (
    BUDGET,
    COOLING,
    MPS,
    POWER,
    PRESENT,
    RACKS,
    TIME_SLICED,
    FleetProblem,
)
from reports.fleet.program import INFEASIBLE, TIME_LIMIT, least_cost, most_served
from reports.fleet.proof import proof
from reports.fleet.shortage import COLUMNS as SHORTAGE_COLUMNS
from reports.fleet.shortage import shortage
from reports.fleet.sources import sources
from reports.plan.outlook import period_of
from reports.recommend import closest
from reports.run import Run
from reports.scenario.schema import Scenario

NOW = "now"
PLAN, LATER, PRESENT_ONLY = "plan", "later", "present"

NO_OPTION, NO_SOURCE, NOT_REACHED = "no-option", "no-source", "not-reached"
REASONS: dict[str, str] = {
    NO_OPTION: "No card meets the targets; the closest is {option}.",
    NO_SOURCE: "Runs on {gpus}, but these can neither be rented nor bought, and none is there.",
    NOT_REACHED: "The cards and limits that are left do not carry it.",
}
"""Why a service is not served, or not wholly: code -> sentence with the numbers of ``reason_values``."""

PLACEMENT_KINDS = {name: object if name in ("service", "layout", "source") else float for name in PLACEMENT_COLUMNS}
"""Columns of a placement that places nothing."""

SERVED = 1 - 1e-5
"""A share from here on is all of it: solves are exact to a millionth."""


def wanted(scenario: Scenario) -> bool:
    """Whether the scenario asks for a plan: it lists services, or the cards that are there."""
    return bool(scenario.services or scenario.fleet)


def stage(run: Run) -> Run:
    """The run with its fleet frames; unchanged where no services and no fleet are listed."""
    scenario = run.scenario
    if not wanted(scenario):
        return run
    own = run.candidates[run.candidates["method"] == run.method.name]
    problem, ways = question(scenario, run.catalog, own)
    planned = set(problem.services["service"])
    unserved = _without_plan(run, ways, [each.name for each in scenario.service_axis if each.name not in planned])
    plans, lacking = _plans(problem, scenario)
    for plan in plans:
        _require_proof(plan)
    pools = [frames.pools(plan) for plan in plans]
    carried = given.best(given.carried(own, given.given_cards(scenario), run.catalog))
    uses = [frames.uses(plan, pool) for plan, pool in zip(plans, pools, strict=True)]
    services = [_services(run, plan, use, unserved) for plan, use in zip(plans, uses, strict=True)]
    limits = [frames.limits(plan, plan.machines, lacking.get(plan.name, _no_shortage())) for plan in plans]
    return replace(
        run,
        facts=pd.concat([run.facts, _given_facts(scenario)], ignore_index=True) if scenario.fleet else run.facts,
        fleet=_joined(uses),
        fleet_pools=_joined(pools),
        fleet_services=_joined(services),
        fleet_limits=_joined(limits),
        given=carried,
        fleet_summary=_summary(plans, uses, services, pools),
    )


def _no_shortage() -> pd.DataFrame:
    return pd.DataFrame(columns=list(SHORTAGE_COLUMNS))


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True)


def question(
    scenario: Scenario, catalog: Catalog, candidates: pd.DataFrame
) -> tuple[FleetProblem, pd.DataFrame]:
    """What the program is asked, and every way to run a unit, also those that no machine can be had for.

    Services without any way, or without a machine for one, are not in the problem.
    """

    def value(name: str) -> float:
        return float(assumption_row(name, scenario, catalog)["value"])  # type: ignore[arg-type]

    axis = scenario.service_axis
    ways = layouts(candidates, {each.name: each.sharing for each in axis})
    found = sources(scenario, catalog, candidates)
    places = found[found["machines"] > 0].groupby("gpu")["machine_cards"].max()
    housed = ways[ways["stage_cards"] <= ways["gpu"].map(places)]
    planned = [each for each in axis if (housed["service"] == each.name).any()]
    demand = ways.groupby("service")["demand"].min()
    services = pd.DataFrame(
        {
            "service": [each.name for each in planned],
            "tier": [each.tier for each in planned],
            "demand": [float(demand[each.name]) for each in planned],
            "required_share": 1 + value("development_share") + value("surge_share"),
            "minimum_units": [float(each.min_replicas) for each in planned],
            "spare_units": value("spare_policy_units"),
        }
    )
    room, budget = scenario.room, scenario.policies.budget_per_quarter
    stated = {
        POWER: room.power_kw if room else None, COOLING: room.cooling_kw if room else None,
        RACKS: room.racks if room else None, BUDGET: budget,
    }  # fmt: skip
    problem = FleetProblem(
        services=services,
        layouts=housed[housed["service"].isin(services["service"])].reset_index(drop=True),
        sources=found,
        limits={name: float(limit) for name, limit in stated.items() if limit is not None},
        interference={TIME_SLICED: value("time_sliced_interference_share"), MPS: value("mps_interference_share")},
        spare_machine=value("spare_policy_servers") > 0,
    )
    return problem, ways


def _without_plan(run: Run, ways: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Why no plan can hold these services: no option meets the targets, or no machine with such a card can be had."""
    rows: list[tuple[str, str, object]] = []
    for name in names:
        able = ways[ways["service"] == name]
        if len(able):
            rows.append((name, NO_SOURCE, {"gpus": Listed(sorted(set(able["gpu"])))}))
            continue
        near = closest(run.excuses, name)
        values = {} if near is None else {
            "option": str(near["option_id"]), "code": str(near["code"]), "values": near["values"],
        }  # fmt: skip
        rows.append((name, NO_OPTION, values))
    return pd.DataFrame(rows, columns=["service", "reason", "reason_values"])


def _plans(problem: FleetProblem, scenario: Scenario) -> tuple[list[Plan], dict[str, pd.DataFrame]]:
    """The plan of now, the one a year on where anything changes, and what the present fleet serves; and shortages."""
    now, short = _plan(PLAN, NOW, problem)
    plans, lacking = [now], {PLAN: short}
    ahead = later.later(problem, now.machines, scenario) if len(problem.services) else None
    if ahead is not None:
        then, short = _plan(LATER, period_of(scenario, later.month(scenario)), ahead)
        plans.append(then)
        lacking[LATER] = short
    present = problem.sources[problem.sources["kind"].isin(PRESENT)].reset_index(drop=True)
    if len(present) and len(problem.services):
        alone = replace(problem, sources=present)
        plans.append(_most(PRESENT_ONLY, NOW, alone))
        lacking[PRESENT_ONLY] = shortage(alone)
    return plans, lacking


def _plan(name: str, month: str, problem: FleetProblem) -> tuple[Plan, pd.DataFrame]:
    """The cheapest plan for full demand; where there is none, the one that serves most, and what is lacking."""
    if not len(problem.services):
        nothing = problem.sources[["source"]].assign(machines=0.0)
        return Plan(name, month, problem, "nothing-to-serve", 0.0, _nothing_placed(), nothing), _no_shortage()
    allocation, placement = least_cost(problem)
    if allocation.status == INFEASIBLE:
        return _most(name, month, problem), shortage(problem)
    machines = allocation.machines if problem.spare_machine else used_machines(problem, placement)
    if placement.empty:
        return Plan(name, month, problem, TIME_LIMIT, np.nan, _nothing_placed(), machines), _no_shortage()
    return Plan(name, month, problem, allocation.status, allocation.gap, placement, machines), _no_shortage()


def _nothing_placed() -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in PLACEMENT_KINDS.items()})


def _most(name: str, month: str, problem: FleetProblem) -> Plan:
    """As much demand as the sources allow, tier by tier."""
    bare = replace(problem, services=problem.services.assign(required_share=1.0, spare_units=0.0), spare_machine=False)
    allocation, placement = most_served(bare)
    placed = placement if len(placement) else _nothing_placed()
    return Plan(name, month, bare, f"most-served-{allocation.status}", allocation.gap, placed,
                used_machines(bare, placed))  # fmt: skip


def _require_proof(plan: Plan) -> None:
    """A plan that breaks a promise is a bug of the program: nothing is delivered."""
    if plan.placement.empty:
        return
    rows = plan.placement.merge(plan.problem.layouts[["layout", "share"]], on="layout")
    carried = (rows["load"] * rows["share"]).groupby(rows["service"]).sum().clip(upper=1.0)
    whole = not plan.status.startswith("most-served")
    served = None if whole else {name: float(carried.get(name, 0.0)) for name in plan.problem.services["service"]}
    checked = plan.problem if whole else replace(
        plan.problem, services=plan.problem.services.assign(minimum_units=0.0)
    )  # fmt: skip
    broken = proof(checked, plan.placement, plan.machines, served)
    broken = broken[~broken["holds"]]
    if len(broken):
        first = broken.iloc[0]
        raise GpubookError(
            f"fleet plan {plan.name} breaks {first['rule']} of {first['of']}: {first['value']:.6g} against "
            f"{first['bound']:.6g} ({len(broken)} broken in all)"
        )


def _services(run: Run, plan: Plan, uses: pd.DataFrame, unserved: pd.DataFrame) -> pd.DataFrame:
    """One row a service of the scenario, in its order: what it gets, or why not."""
    used = uses[uses["service"] != ""].groupby("service").agg(
        served_share=("served_share", "sum"), units=("units", "sum"), cards=("cards", "sum"), amount=("amount", "sum"),
        demand_concurrency=("demand_concurrency", "max"),
    )  # fmt: skip
    axis = run.scenario.service_axis
    frame = pd.DataFrame({"service": [each.name for each in axis], "tier": [each.tier for each in axis],
                          "sharing": [each.sharing for each in axis]}).join(used, on="service")  # fmt: skip
    demand = plan.problem.services.set_index("service")["demand"]
    frame["demand_concurrency"] = frame["demand_concurrency"].fillna(frame["service"].map(demand))
    amounts = ["served_share", "units", "cards", "amount"]
    frame[amounts] = frame[amounts].fillna(0.0)
    frame["served_share"] = np.where(frame["served_share"] >= SERVED, 1.0, frame["served_share"])
    reasons = unserved.set_index("service")
    lacks = frame["served_share"] < 1
    codes = reasons["reason"].to_dict()
    short = np.where(lacks, NOT_REACHED, "")
    frame["reason"] = [codes.get(name, found) for name, found in zip(frame["service"], short, strict=True)]
    known = reasons["reason_values"].to_dict()
    frame["reason_values"] = [known.get(name, {}) for name in frame["service"]]
    return frame.assign(month=plan.month, plan=plan.name).reindex(columns=list(frames.SERVICE_COLUMNS))


def _given_facts(scenario: Scenario) -> pd.DataFrame:
    rows = [
        {
            "scope": "fleet", "key": gpu, "column": given.CARDS, "value": cards, "unit": "cards", "low": np.nan,
            "high": np.nan, "basis": "given", "source": "scenario", "as_of": scenario.as_of.isoformat(),
            "confirmed": True, "note": "", "live": True,
        }
        for gpu, cards in given.given_cards(scenario).items()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(FACT_COLUMNS))


def _summary(
    plans: list[Plan], uses: list[pd.DataFrame], services: list[pd.DataFrame], pools: list[pd.DataFrame]
) -> pd.DataFrame:
    """Figures of each plan as ``<plan>.<name>``."""
    rows: list[tuple[str, object]] = []
    for plan, use, service, pool in zip(plans, uses, services, pools, strict=True):
        running = pool[pool["source"] != frames.RELEASE]
        demand = service["demand_concurrency"].fillna(0.0)
        named = {
            "status": plan.status, "gap": plan.gap, "services": float(len(service)),
            "services_served": float((service["served_share"] >= 1).sum()),
            "not_served": Listed(service.loc[service["served_share"] < 1, "service"]),
            "demand_served_share": float((service["served_share"] * demand).sum() / demand.sum())
            if demand.sum() else np.nan,
            "amount_per_month": float(use["amount"].sum()),
            "committed_amount": float(pool["committed_amount"].sum()),
            "capex_amount": float(running["capex_amount"].sum()),
            "cards": float(running["cards"].sum()),
            "used_cards": float(running["used_cards"].sum()),
            "power_kw": float(running["power_kw"].sum()),
        }  # fmt: skip
        for action in frames.ACTIONS:
            named[f"{action}_cards"] = float(pool.loc[pool["source"] == action, "cards"].sum())
        rows += [(f"{plan.name}.{name}", value) for name, value in named.items()]
    return pd.DataFrame(rows, columns=["key", "value"])
