"""Checks a plan from its placement alone: every promise again, by other means than the program that made it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from reports.fleet.matrices import USES
from reports.fleet.problem import HOUSED, RACKS, FleetProblem

TOLERANCE = 1e-5

COLUMNS = ("rule", "of", "value", "bound", "holds")
"""``value`` must not exceed ``bound``."""

DEMAND, UNITS, SPARES, MACHINES, CARDS, CARD_TYPE, STAGES, MEMORY, TIME, SPARE_MACHINE = (
    "demand", "minimum-units", "spares", "machines", "machine-cards", "card-type", "stages", "shared-memory",
    "shared-time", "spare-machine",
)  # fmt: skip


def proof(
    problem: FleetProblem, placement: pd.DataFrame, machines: pd.DataFrame, served: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """One row a promise, of every service, source, machine, shared group and limit; a broken one has ``holds`` False.

    ``machines`` (source, machines) are those that run. ``served`` says what share of its required demand each service
    was promised; default: all of it.
    """
    layouts = problem.layouts.drop(columns=["service"])
    sources = problem.sources
    running = sources.drop(columns="machines").merge(machines[["source", "machines"]], on="source")
    rows = placement.merge(layouts, on="layout", how="left").merge(
        running[["source", "gpu", "machine_cards", "machines"]].rename(columns={"gpu": "source_gpu"}),
        on="source", how="left",
    )  # fmt: skip
    parts = [
        _services(problem, rows, served or {}),
        _frame(MACHINES, running["source"], running["machines"], sources.set_index("source")["machines"]
               .reindex(running["source"]).to_numpy()),
        *_machines(rows),
        *_units(rows),
        *_shared(problem, rows),
        _spare_machine(running, rows) if problem.spare_machine else pd.DataFrame(),
        _limits(problem, running),
    ]
    found = pd.concat([part for part in parts if len(part)], ignore_index=True)
    found["holds"] = found["value"] <= found["bound"] + TOLERANCE * np.maximum(found["bound"].abs(), 1)
    return found[list(COLUMNS)]


def _frame(rule: str, of: object, value: object, bound: object) -> pd.DataFrame:
    return pd.DataFrame({"rule": rule, "of": of, "value": value, "bound": bound})


def _services(problem: FleetProblem, rows: pd.DataFrame, served: Mapping[str, float]) -> pd.DataFrame:
    services = problem.services.set_index("service")
    carried = (rows["load"] * rows["share"]).groupby(rows["service"]).sum().reindex(services.index).fillna(0.0)
    promised = pd.Series(services.index, services.index).map(dict(served)).fillna(1.0) if served else 1.0
    names = services.index.to_numpy()
    demand = _frame(DEMAND, names, (services["required_share"] * promised).to_numpy(), carried.to_numpy())
    units = rows.groupby("service")["unit"].nunique() + _copies(rows)
    have = units.reindex(services.index).fillna(0.0)
    least = _frame(UNITS, names, (services["minimum_units"] * promised).to_numpy(dtype=float), have.to_numpy())
    largest = (rows["load"] * rows["share"]).groupby([rows["service"], rows["unit"]]).sum().groupby(level=0).max()
    left = carried - services["spare_units"] * largest.reindex(services.index).fillna(0.0)
    spared = _frame(SPARES, names, np.where(services["spare_units"] > 0, promised, 0.0), left.to_numpy())
    return pd.concat([demand, least, spared[spared["value"] > 0]])


def _copies(rows: pd.DataFrame) -> pd.Series:
    """Copies of a service in one shared group are rows of one unit number: each further one counts as well."""
    shared = rows[rows["host"] > 0].groupby("service")
    return (shared.size() - shared["unit"].nunique()).reindex(rows["service"].unique()).fillna(0.0)


def _machines(rows: pd.DataFrame) -> list[pd.DataFrame]:
    if rows.empty:
        return []
    used = rows.groupby("source").agg(value=("machine", "max"), bound=("machines", "first")).reset_index()
    cards = rows.groupby(["source", "machine"]).agg(value=("cards", "sum"), bound=("machine_cards", "first"))
    cards = cards.reset_index()
    named = cards["source"] + " #" + cards["machine"].astype(str)
    wrong = rows[rows["gpu"] != rows["source_gpu"]]
    return [
        _frame(MACHINES, used["source"], used["value"], used["bound"].fillna(0.0)),
        _frame(CARDS, named, cards["value"], cards["bound"].fillna(0.0)),
        _frame(CARD_TYPE, wrong["layout"], 1.0, 0.0) if len(wrong) else _frame(CARD_TYPE, [], [], []),
    ]


def _units(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """A unit has all its cards, in one source; a unit of several sources would count its cards at each."""
    alone = rows[rows["host"] == 0]
    if alone.empty:
        return []
    units = alone.groupby("unit").agg(
        layout=("layout", "first"), cards=("cards", "sum"), needed=("unit_cards", "first"),
        sources=("source", "nunique"), load=("load", "sum"), largest=("cards", "max"), stage=("stage_cards", "first"),
    )  # fmt: skip
    lacking = (units["needed"] - units["cards"]).abs() + (units["sources"] - 1) + (units["stage"] - units["largest"])
    return [_frame(STAGES, units["layout"], lacking, 0.0), _frame(STAGES, units["layout"], units["load"], 1.0)]


def _shared(problem: FleetProblem, rows: pd.DataFrame) -> list[pd.DataFrame]:
    shared = rows[rows["host"] > 0]
    if shared.empty:
        return []
    slower = 1 + shared["sharing"].map(dict(problem.interference)).fillna(0.0)
    memory = shared["weights_share"] + shared["load"] * shared["load_memory_share"]
    busy = (shared["least_time_share"] + shared["load"] * shared["load_time_share"]) * slower
    groups = [("shared " + memory.groupby(shared["host"]).sum().index.astype(str)), 1.0]
    return [
        _frame(MEMORY, groups[0], memory.groupby(shared["host"]).sum().to_numpy(), groups[1]),
        _frame(TIME, groups[0], busy.groupby(shared["host"]).sum().to_numpy(), groups[1]),
        _frame(STAGES, shared["layout"], shared["load"], 1.0),
    ]


def _spare_machine(running: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """In the room the cards in use leave as many free as the largest machine of their kind has."""
    housed = running[running["kind"].isin(HOUSED) & (running["machines"] > 0)]
    has = (housed["machines"] * housed["machine_cards"]).groupby(housed["gpu"]).sum()
    largest = housed.groupby("gpu")["machine_cards"].max()
    used = rows[rows["source"].isin(housed["source"])].groupby("source_gpu")["cards"].sum().reindex(has.index)
    return _frame(SPARE_MACHINE, has.index.to_numpy(), used.fillna(0.0).to_numpy(), (has - largest).to_numpy())


def _limits(problem: FleetProblem, running: pd.DataFrame) -> pd.DataFrame:
    """What the machines that run take of the site."""
    found = [
        _frame(name, [name], [float((running["machines"] * running[column].fillna(0.0)).sum())], [problem.limits[name]])
        for name, column in USES.items()
        if name in problem.limits
    ]
    if RACKS in problem.limits:
        inside = running[(running["rack_kind"] != "") & (running["machines"] > 0)]
        count = inside.groupby("rack_kind")["machines"].sum()
        held = inside.groupby("rack_kind")["rack_machines"].min()
        found.append(_frame(RACKS, [RACKS], [float(np.ceil(count / held).sum())], [problem.limits[RACKS]]))
    return pd.concat(found) if found else pd.DataFrame(columns=list(COLUMNS))
