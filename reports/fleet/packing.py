"""Puts every unit of a plan into a machine: largest stages first, into the fullest machine that still holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from reports.fleet.matrices import HOST
from reports.fleet.problem import BUY, LEASED, OWNED, RENT, RESERVED, Allocation, FleetProblem

ORDER = {OWNED: 0, LEASED: 1, RESERVED: 2, BUY: 3, RENT: 4}
"""What is there already is filled first, what is rented last."""

COLUMNS = ("unit", "service", "layout", "source", "machine", "cards", "load", "host")
"""One row a stage: ``machine`` counts from 1 within its source, ``load`` is the share of a full unit that it carries,
``host`` numbers the groups of shared cards (0: not shared); the cards of a shared group are on its first row."""

FULL = 1 + 1e-5


class Unpacked(Exception):
    """Units that found no machine: how many more shared groups, or cards at a place, to keep room for."""

    def __init__(self) -> None:
        super().__init__("units do not fit into whole machines")
        self.hosts: dict[tuple[object, ...], int] = {}
        self.cards: dict[tuple[str, str], float] = {}


@dataclass
class _Item:
    """Cards that are placed together: a unit with its stages, or a group of shared cards with its copies."""

    gpu: str
    site: str
    stage: int
    stages: int
    rows: list[tuple[str, str, float]]
    """(service, layout, load) of the unit, or of every copy."""
    shared: bool = False


@dataclass
class _Source:
    name: str
    gpu: str
    site: str
    free: list[int] = field(default_factory=list)

    def places(self, stage: int, stages: int) -> list[int] | None:
        """A machine for each stage, the fullest that holds it; None when they do not all fit."""
        left = list(self.free)
        chosen = []
        for _ in range(stages):
            best = min((room for room in left if room >= stage), default=None)
            if best is None:
                return None
            machine = left.index(best)
            left[machine] -= stage
            chosen.append(machine)
        return chosen


def pack(problem: FleetProblem, allocation: Allocation) -> pd.DataFrame:
    """One row a stage of every unit with the machine it is in. Raises Unpacked with what did not fit."""
    known = problem.layouts.set_index("layout")
    left = Unpacked()
    items = [*_exclusive(known, allocation), *_groups(known, problem, allocation, left)]
    if left.hosts:
        raise left
    items.sort(key=lambda item: (-item.stage, -item.stages, item.rows[0]))
    sources = list(_sources(problem, allocation))
    rows: list[tuple[object, ...]] = []
    hosts = 0
    for number, item in enumerate(items, 1):
        for source in sources:
            if (source.gpu, source.site) != (item.gpu, item.site):
                continue
            machines = source.places(item.stage, item.stages)
            if machines is not None:
                break
        else:
            place = (item.gpu, item.site)
            left.cards[place] = left.cards.get(place, 0.0) + item.stage * item.stages
            continue
        for machine in machines:
            source.free[machine] -= item.stage
        hosts += item.shared
        if item.shared:
            cards = [item.stage] + [0] * (len(item.rows) - 1)
            rows += [
                (number, service, layout, source.name, machines[0] + 1, taken, load, hosts)
                for (service, layout, load), taken in zip(item.rows, cards, strict=True)
            ]
        else:
            service, layout, load = item.rows[0]
            rows += [
                (number, service, layout, source.name, machine + 1, item.stage, load / item.stages, 0)
                for machine in machines
            ]
    if left.cards:
        raise left
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _sources(problem: FleetProblem, allocation: Allocation) -> Iterator[_Source]:
    chosen = problem.sources.merge(allocation.machines.rename(columns={"machines": "used"}), on="source")
    chosen = chosen.assign(_order=chosen["kind"].map(ORDER)).sort_values(["_order", "source"], kind="stable")
    for row in chosen.itertuples():
        yield _Source(str(row.source), str(row.gpu), str(row.site), [int(row.machine_cards)] * int(row.used))


def _exclusive(known: pd.DataFrame, allocation: Allocation) -> Iterator[_Item]:
    for row in allocation.units.itertuples():
        layout = known.loc[row.layout]
        stage = int(layout["stage_cards"])
        stages = round(float(layout["unit_cards"]) / stage)
        for _ in range(int(row.units)):
            yield _Item(str(layout["gpu"]), str(row.site), stage, stages, [(str(row.service), str(row.layout), 1.0)])


def _groups(
    known: pd.DataFrame, problem: FleetProblem, allocation: Allocation, left: Unpacked
) -> Iterator[_Item]:
    """Copies sorted into groups of shared cards, the largest first, each into the first group that holds it."""
    given = allocation.hosts.set_index(HOST)["hosts"]
    for key, copies in allocation.copies.groupby(HOST, sort=True):
        slower = 1 + float(problem.interference.get(str(key[3]), 0.0))
        wanted = []
        for row in copies.itertuples():
            layout, load = known.loc[row.layout], float(row.load) / float(row.copies)
            memory = float(layout["weights_share"]) + load * float(layout["load_memory_share"])
            busy = (float(layout["least_time_share"]) + load * float(layout["load_time_share"])) * slower
            wanted += [(max(memory, busy), memory, busy, str(row.service), str(row.layout), load)] * int(row.copies)
        groups: list[tuple[float, float, list[tuple[str, str, float]]]] = []
        for _, memory, busy, service, name, load in sorted(wanted, key=lambda each: (-each[0], each[3], each[4])):
            for index, (used, running, members) in enumerate(groups):
                if used + memory <= FULL and running + busy <= FULL:
                    groups[index] = (used + memory, running + busy, [*members, (service, name, load)])
                    break
            else:
                groups.append((memory, busy, [(service, name, load)]))
        lacking = len(groups) - int(given.get(key, 0))
        if lacking > 0:
            left.hosts[tuple(key)] = lacking
        gpu, stage, site, _ = key
        for _, _, members in groups:
            yield _Item(str(gpu), str(site), int(stage), 1, members, shared=True)


def used_machines(problem: FleetProblem, placement: pd.DataFrame) -> pd.DataFrame:
    """source, machines that hold at least one stage, cards in use."""
    if placement.empty:
        return problem.sources[["source"]].assign(machines=0.0, cards=0.0)
    found = placement.groupby("source").agg(machines=("machine", "nunique"), cards=("cards", "sum"))
    return problem.sources[["source"]].join(found, on="source").fillna({"machines": 0.0, "cards": 0.0}).astype(
        {"machines": np.float64, "cards": np.float64}
    )
