"""What the report reads of a fleet plan: who uses which cards, what happens to each source, what is served."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.fleet.matrices import USES
from reports.fleet.problem import BUY, PRESENT, RACKS, RENT, FleetProblem

KEEP, RELEASE = "keep", "release"
ACTIONS = (KEEP, BUY, RENT, RELEASE)

USE_COLUMNS = (
    "month", "plan", "service", "tier", "option_id", "candidate_id", "gpu", "source", "source_id", "units", "cards",
    "load_units", "capacity", "demand_concurrency", "request_time_s", "served_share", "shared", "amount",
)  # fmt: skip
"""One row a use of cards. ``units`` run, on shared cards too, and carry the load of ``load_units`` full ones;
``served_share`` is the share of the demand that this row carries. Rows without a service are cards that nobody uses."""

POOL_COLUMNS = (
    "month", "plan", "source_id", "kind", "source", "gpu", "host", "machines", "machine_cards", "cards", "used_cards",
    "used_share", "amount", "committed_amount", "power_kw", "cooling_kw", "rack_kind", "rack_machines", "capex_amount",
    "entry", "age_months", "book_value", "residual_amount", "ends", "offer_id", "purchase_id", "provider", "term",
)  # fmt: skip
"""One row a source and what is done with it; amounts are of all its machines, a month."""

SERVICE_COLUMNS = (
    "month", "plan", "service", "tier", "demand_concurrency", "served_share", "units", "cards", "amount", "sharing",
    "reason", "reason_values",
)  # fmt: skip

LIMIT_COLUMNS = ("month", "plan", "resource", "used", "limit", "lacking", "alone")


@dataclass(frozen=True)
class Plan:
    """One solved and proved plan."""

    name: str
    """plan, or present: what the present fleet alone serves."""
    month: str
    problem: FleetProblem
    status: str
    gap: float
    placement: pd.DataFrame
    machines: pd.DataFrame


def uses(plan: Plan, pools: pd.DataFrame) -> pd.DataFrame:
    """Every service on every source, then the cards of each source that no service uses."""
    rows = plan.placement.merge(plan.problem.layouts.drop(columns="service"), on="layout")
    keys = ["service", "layout", "source"]
    found = rows.groupby(keys, sort=False).agg(
        units=("unit", "nunique"), copies=("host", lambda host: int((host > 0).sum())), cards=("cards", "sum"),
        load_units=("load", "sum"), capacity=("capacity", "first"), share=("share", "first"),
        demand_concurrency=("demand", "first"), request_time_s=("request_time_s", "first"), gpu=("gpu", "first"),
        option_id=("option_id", "first"),
    ).reset_index()  # fmt: skip
    found["shared"] = found["copies"] > 0
    found["units"] = np.where(found["shared"], found["copies"], found["units"]).astype(float)
    found["served_share"] = found["load_units"] * found["share"]
    found["cards"] = _split_shared_cards(plan, rows, found)
    tiers = plan.problem.services.set_index("service")["tier"]
    found["tier"] = found["service"].map(tiers)
    found = found.rename(columns={"source": "source_id", "layout": "candidate_id"})
    running = pools[pools["source"] != RELEASE]
    found = found.merge(running[["source_id", "source"]], on="source_id", how="left")
    price = (running["amount"] / running["cards"]).set_axis(running["source_id"])
    found["amount"] = found["cards"] * found["source_id"].map(price)
    idle = _idle(found, pools)
    everything = pd.concat([found, idle], ignore_index=True) if len(idle) else found
    return everything.assign(month=plan.month, plan=plan.name).reindex(columns=list(USE_COLUMNS))


def _split_shared_cards(plan: Plan, rows: pd.DataFrame, found: pd.DataFrame) -> pd.Series:
    """Cards of a shared group go to its services in proportion to what they take of it, memory or time."""
    shared = rows[rows["host"] > 0]
    if shared.empty:
        return found["cards"].astype(float)
    slower = 1 + shared["sharing"].map(dict(plan.problem.interference)).fillna(0.0)
    memory = shared["weights_share"] + shared["load"] * shared["load_memory_share"]
    busy = (shared["least_time_share"] + shared["load"] * shared["load_time_share"]) * slower
    taken = np.maximum(memory, busy)
    part = taken / taken.groupby(shared["host"]).transform("sum")
    cards = (part * shared["stage_cards"]).groupby([shared[key] for key in ("service", "layout", "source")]).sum()
    index = pd.MultiIndex.from_frame(found[["service", "layout", "source"]])
    alone = found["cards"].where(~found["shared"], 0.0)
    return alone + pd.Series(cards.reindex(index).fillna(0.0).to_numpy(), index=found.index)


def _idle(found: pd.DataFrame, pools: pd.DataFrame) -> pd.DataFrame:
    """Cards of each source that no service uses, with the rest of its amount."""
    used = found.groupby("source_id")["amount"].sum()
    rest = pools.assign(
        _cards=pools["cards"] - pools["used_cards"],
        _amount=pools["amount"] - np.where(pools["source"] == RELEASE, 0.0, pools["source_id"].map(used).fillna(0.0)),
    )
    rest = rest[rest["_cards"] > 0]
    return pd.DataFrame(
        {
            "service": "", "gpu": rest["gpu"], "source": rest["source"], "source_id": rest["source_id"],
            "cards": rest["_cards"], "units": 0.0, "load_units": 0.0, "served_share": 0.0, "shared": False,
            "option_id": "", "candidate_id": "", "amount": rest["_amount"],
        }
    )  # fmt: skip


def pools(plan: Plan) -> pd.DataFrame:
    """Every source that runs, and what is left of the present ones: released, but paid for until their end."""
    sources = plan.problem.sources
    running = sources["source"].map(plan.machines.set_index("source")["machines"]).fillna(0.0)
    used = plan.placement.groupby("source")["cards"].sum() if len(plan.placement) else pd.Series(dtype=float)
    kept = _pool(sources, running, sources["source"].map(used).fillna(0.0))
    kept["source"] = kept["kind"].where(kept["kind"].isin([BUY, RENT]), KEEP)
    present = sources["kind"].isin(PRESENT)
    left = (sources["machines"] - running).where(present, 0.0)
    released = _pool(sources, left, 0.0).assign(source=RELEASE)
    released["amount"] = released["committed_amount"]
    released[["power_kw", "cooling_kw"]] = 0.0
    found = pd.concat([kept[kept["machines"] > 0], released[released["machines"] > 0]], ignore_index=True)
    return found.assign(month=plan.month, plan=plan.name).reindex(columns=list(POOL_COLUMNS))


def _pool(sources: pd.DataFrame, machines: pd.Series, used: pd.Series | float) -> pd.DataFrame:
    frame = sources.rename(columns={"source": "source_id"}).drop(columns="machines")
    there = sources["machines"].where(sources["machines"] > 0)
    part = np.where(np.isfinite(there), machines / there, 0.0)
    frame["machines"] = machines
    frame["cards"] = machines * frame["machine_cards"]
    frame["used_cards"] = used
    frame["used_share"] = frame["used_cards"] / frame["cards"].where(frame["cards"] > 0)
    frame["committed_amount"] = frame["committed_amount"] * np.nan_to_num(part)
    frame["amount"] = machines * frame["amount"] + frame["committed_amount"]
    for name in ("power_kw", "cooling_kw", "capex_amount"):
        frame[name] = (machines * frame[name]).fillna(0.0)
    for name in ("book_value", "residual_amount"):
        frame[name] = frame[name] * (np.nan_to_num(part) if name == "book_value" else machines)
    return frame


def limits(plan: Plan, machines: pd.DataFrame, lacking: pd.DataFrame) -> pd.DataFrame:
    """What the plan takes of every limit that the site has, and how much more the whole demand would need."""
    sources = plan.problem.sources.drop(columns="machines").merge(machines, on="source")
    used = {name: float((sources["machines"] * sources[column].fillna(0.0)).sum()) for name, column in USES.items()}
    racked = sources[(sources["rack_kind"] != "") & (sources["machines"] > 0)]
    count = racked.groupby("rack_kind")["machines"].sum() / racked.groupby("rack_kind")["rack_machines"].min()
    used[RACKS] = float(np.ceil(count).sum())
    short = lacking.set_index("resource") if len(lacking) else pd.DataFrame(columns=["lacking", "alone"])
    rows = [
        (plan.month, plan.name, name, used[name], limit, short["lacking"].get(name, 0.0),
         bool(short["alone"].get(name, False)))
        for name, limit in plan.problem.limits.items()
    ]  # fmt: skip
    rows += [
        (plan.month, plan.name, row.resource, row.limit, row.limit, row.lacking, bool(row.alone))
        for row in lacking.itertuples()
        if str(row.resource).startswith("source:")
    ]
    return pd.DataFrame(rows, columns=list(LIMIT_COLUMNS))
