"""Chooses whole units and whole machines: the least cost for full demand, or the most demand served, tier by tier."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from reports.fleet.matrices import Matrices, Values, build
from reports.fleet.packing import Unpacked, pack
from reports.fleet.problem import Allocation, FleetProblem, require_columns

OPTIMAL, WITHIN_GAP, TIME_LIMIT, INFEASIBLE = "optimal", "within-gap", "time-limit", "infeasible"

GAP = 1e-3
"""Relative distance from the proved bound at which a solve stops: far below what prices are known to."""
WORK, LEAST_NODES = 1_000_000, 20
"""Nodes times columns after which a solve stops with the gap it has: the same on every machine."""
ANY_GAP = 0.1
SECONDS = 50.0
"""Most time of one plan, for the case that the work takes longer than expected; a plan that reaches it says so."""
PACKINGS = 6
"""Times a plan is solved again because its units did not fit into whole machines."""
_TIGHT = 1e-6


@dataclass
class Clock:
    """Time that is left for the solves of one plan. Only a solve that is cut off by it depends on the machine."""

    until: float

    @staticmethod
    def start(seconds: float) -> Clock:
        return Clock(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds, at least one, so that every solve may begin."""
        return max(self.until - time.monotonic(), 1.0)

    @property
    def ended(self) -> bool:
        """Whether a solve may have been cut off."""
        return time.monotonic() >= self.until


def least_cost(
    problem: FleetProblem, *, served: Mapping[str, float] | None = None, seconds: float = SECONDS, gap: float = GAP
) -> tuple[Allocation, pd.DataFrame]:
    """The cheapest plan that serves every service (or the given share of each), and where each of its units sits."""
    require_columns(problem)
    clock = Clock.start(seconds)
    names = problem.services["service"]
    least = np.array([(served or {}).get(name, 1.0) for name in names])

    def solve(matrices: Matrices, tidy: Matrices) -> Allocation:
        matrices = _with_served(matrices, least, np.ones(len(names)))
        cost = matrices.vector(machines=problem.sources["amount"].to_numpy(dtype=float))
        found = _solve(matrices, cost, clock, gap)
        if found.x is None:
            return _nothing(matrices, found)
        return _tidied(matrices, found, clock, tidy)

    return _packed(problem, solve)


def most_served(
    problem: FleetProblem, *, seconds: float = SECONDS, gap: float = GAP
) -> tuple[Allocation, pd.DataFrame]:
    """The plan that serves the most demand: of tier 1 first, then of tier 2 with tier 1 kept, and so on; then cheapest.

    Demand is counted in requests at once; headroom and spares are not kept when not all can be served.
    """
    require_columns(problem)
    bare = replace(problem, services=problem.services.assign(required_share=1.0, spare_units=0.0))
    clock = Clock.start(seconds)
    tiers = sorted(set(bare.services["tier"]))
    weight = bare.services["demand"].to_numpy(dtype=float)

    def solve(matrices: Matrices, tidy: Matrices) -> Allocation:
        least = np.zeros(len(bare.services))
        worst = 0.0
        for tier in tiers:
            inside = (bare.services["tier"] == tier).to_numpy()
            current = _with_served(matrices, least, np.where(inside | (least > 0), 1.0, 0.0))
            found = _solve(current, current.vector(served=-np.where(inside, weight, 0.0)), clock, gap)
            if found.x is None:
                return _nothing(matrices, found)
            worst = max(worst, float(found.mip_gap or 0.0))
            reached = np.clip(found.x[matrices.blocks["served"]], 0, 1)
            least = np.where(inside, np.maximum(reached - _TIGHT, 0), least)
        current = _with_served(matrices, least, np.maximum(least + 2 * _TIGHT, _TIGHT).clip(max=1.0))
        found = _solve(current, current.vector(machines=bare.sources["amount"].to_numpy(dtype=float)), clock, gap)
        if found.x is None:
            return _nothing(matrices, found)
        return replace(_tidied(current, found, clock, tidy), gap=max(worst, float(found.mip_gap or 0.0)))

    return _packed(bare, solve)


def least_exceeded(problem: FleetProblem, slack: Sequence[str], *, seconds: float = SECONDS) -> dict[str, float] | None:
    """How far the named limits must be exceeded so that all demand is served: the least sum of relative amounts.

    None when even that is not enough. Limits are relative to their size, machines of a source to how many there are.
    """
    matrices = build(problem, slack=slack)
    full = np.ones(len(problem.services))
    machines = problem.sources.set_index("source")["machines"]
    size = np.array(
        [
            machines[name.removeprefix("source:")] if name.startswith("source:") else problem.limits[name]
            for name in slack
        ],
        dtype=float,
    )
    cost = matrices.vector(slack=1 / np.maximum(size, 1e-3))
    found = _solve(_with_served(matrices, full, full), cost, Clock.start(seconds), GAP)
    if found.x is None:
        return None
    return {name: max(float(value), 0.0) for name, value in zip(slack, found.x[matrices.blocks["slack"]], strict=True)}


# ---- solving ----


def _with_served(matrices: Matrices, least: Values, most: Values) -> Matrices:
    lower, upper = matrices.lower.copy(), matrices.upper.copy()
    lower[matrices.blocks["served"]], upper[matrices.blocks["served"]] = least, most
    return replace(matrices, lower=lower, upper=upper)


def _solve(matrices: Matrices, cost: Values, clock: Clock, gap: float, nodes: int = 0) -> OptimizeResult:
    """The best plan that the allowed work finds; when it finds none, any plan that the time allows."""
    work = {"mip_rel_gap": gap, "node_limit": nodes or max(WORK // len(cost), LEAST_NODES)}
    found = _milp(matrices, cost, {**work, "time_limit": clock.left})
    if found.x is None and not nodes and int(found.status) != IMPOSSIBLE and not clock.ended:
        found = _milp(matrices, cost, {"mip_rel_gap": ANY_GAP, "time_limit": clock.left})
    return found


def _milp(matrices: Matrices, cost: Values, options: dict[str, float]) -> OptimizeResult:
    size = float(np.abs(cost).max(initial=0.0)) or 1.0
    return milp(
        cost / size,
        integrality=matrices.whole,
        bounds=Bounds(matrices.lower, matrices.upper),
        constraints=LinearConstraint(matrices.matrix, matrices.row_lower, matrices.row_upper),
        options=options,
    )


def _tidied(matrices: Matrices, found: OptimizeResult, clock: Clock, tidy: Matrices) -> Allocation:
    """On the same machines, the plan of fewest kinds of units (where those are marked), then of fewest cards in use."""
    lower, upper = tidy.lower.copy(), tidy.upper.copy()
    for name in ("machines", "formats"):
        if name in matrices.blocks:
            lower[tidy.blocks[name]] = upper[tidy.blocks[name]] = np.round(found.x[matrices.blocks[name]])
    served = matrices.blocks["served"]
    lower[tidy.blocks["served"]], upper[tidy.blocks["served"]] = matrices.lower[served], matrices.upper[served]
    cards = tidy.placed["unit_cards"].to_numpy(dtype=float)
    groups = tidy.hosts["stage_cards"].to_numpy(dtype=float)
    every = max(float(cards.max(initial=1.0)), 1.0)
    kinds = {"used": np.ones(len(cards)), "copied": np.ones(len(tidy.shared))} if "used" in tidy.blocks else {}
    cost = tidy.vector(units=cards / every * _CARD, hosts=groups / every * _CARD,
                       copies=np.full(len(tidy.shared), _CARD**2), **kinds)  # fmt: skip
    neat = _solve(replace(tidy, lower=lower, upper=upper), cost, clock, _TIDY_GAP, _TIDY_NODES)
    gap = float(found.mip_gap or 0.0)
    status = OPTIMAL if gap <= ROUNDED_GAP else WITHIN_GAP
    if clock.ended:
        status = TIME_LIMIT
    if neat.x is None:
        return _allocation(matrices, found.x, status, gap)
    return _allocation(tidy, neat.x, status, gap)


_CARD = 0.01
"""What a card weighs against one more kind of unit, where neither costs money."""
_TIDY_GAP, _TIDY_NODES = 0.05, 60
MARKED_COLUMNS = 1500
"""With more ways than this, plans are tidied by cards alone: to count kinds as well takes longer than to solve."""
ROUNDED_GAP = 1e-6
IMPOSSIBLE = 2
"""Status of a solve that proved that there is no plan."""


def _nothing(matrices: Matrices, found: OptimizeResult) -> Allocation:
    status = INFEASIBLE if int(found.status) == IMPOSSIBLE else TIME_LIMIT
    return _allocation(matrices, np.zeros(len(matrices.upper)), status, np.nan)


def _allocation(matrices: Matrices, x: Values, status: str, gap: float) -> Allocation:
    def block(name: str) -> Values:
        return np.asarray(x[matrices.blocks[name]], dtype=float)

    problem = matrices.problem
    units = matrices.placed[["layout", "service", "site"]].assign(units=np.round(block("units")))
    copies = matrices.shared[["layout", "service", "gpu", "stage_cards", "site", "sharing"]].assign(
        copies=np.round(block("copies")), load=block("load")
    )
    copies["load"] = _made_whole(problem, units, copies, block("served"))
    machines = problem.sources[["source"]].assign(machines=np.round(block("machines")))
    return Allocation(
        status=status,
        gap=gap,
        units=units[units["units"] > 0].reset_index(drop=True),
        copies=copies[copies["copies"] > 0].reset_index(drop=True),
        hosts=matrices.hosts.assign(hosts=np.round(block("hosts"))),
        machines=machines,
        served=problem.services[["service"]].assign(served_share=block("served")),
        objective=float((machines["machines"] * problem.sources["amount"]).sum()),
    )


def _made_whole(problem: FleetProblem, units: pd.DataFrame, copies: pd.DataFrame, served: Values) -> Values:
    """Loads of copies, up by the last millionth that a solve may leave of the demand."""
    load = copies["load"].to_numpy(dtype=float)
    if not len(copies):
        return load
    share = problem.layouts.set_index("layout")["share"]
    by = [
        (count * frame["layout"].map(share)).groupby(frame["service"]).sum().reindex(problem.services["service"])
        for frame, count in ((units, units["units"]), (copies, copies["load"]))
    ]
    whole, shared = (each.fillna(0.0).to_numpy() for each in by)
    lacking = problem.services["required_share"].to_numpy(dtype=float) * served - whole - shared
    with np.errstate(all="ignore"):
        factor = np.where((lacking > 0) & (lacking < 10 * _TIGHT) & (shared > 0), 1 + lacking / shared, 1.0)
    of = pd.Series(factor, index=problem.services["service"].to_numpy())
    return np.minimum(load * copies["service"].map(of).to_numpy(dtype=float), copies["copies"].to_numpy(dtype=float))


def _packed(
    problem: FleetProblem, solve: Callable[[Matrices, Matrices], Allocation]
) -> tuple[Allocation, pd.DataFrame]:
    """Solve, put every unit into a machine, and solve again with more room where one did not fit."""
    more_hosts: dict[tuple[object, ...], int] = {}
    more_cards: dict[tuple[str, str], float] = {}
    for _ in range(PACKINGS):
        plain = build(problem, more_hosts=more_hosts, more_cards=more_cards)
        small = len(plain.placed) <= MARKED_COLUMNS
        tidy = build(problem, more_hosts=more_hosts, more_cards=more_cards, marked=True) if small else plain
        allocation = solve(plain, tidy)
        if np.isnan(allocation.gap):
            return allocation, pd.DataFrame()
        try:
            trimmed = _trimmed(problem, allocation)
            return trimmed, pack(problem, trimmed)
        except Unpacked as left:
            for key, hosts in left.hosts.items():
                more_hosts[key] = more_hosts.get(key, 0) + hosts
            for place, cards in left.cards.items():
                more_cards[place] = more_cards.get(place, 0.0) + cards
    return replace(allocation, status=INFEASIBLE, gap=float("nan")), pd.DataFrame()


def _trimmed(problem: FleetProblem, allocation: Allocation) -> Allocation:
    """Without units that nobody needs: where a solve was cut short, machines with room to spare may hold some."""
    known = problem.layouts.set_index("layout")
    rows = allocation.units.assign(
        share=known["share"].reindex(allocation.units["layout"]).to_numpy(dtype=float),
        cards=known["unit_cards"].reindex(allocation.units["layout"]).to_numpy(dtype=float),
    ).sort_values("cards", ascending=False, kind="stable")
    shared = allocation.copies.assign(
        share=known["share"].reindex(allocation.copies["layout"]).to_numpy(dtype=float) * allocation.copies["load"]
    ).groupby("service")[["share", "copies"]].sum()
    kept = allocation.units["units"].to_numpy(dtype=float).copy()
    served = allocation.served.set_index("service")["served_share"]
    for service in problem.services.itertuples():
        own = rows[rows["service"] == service.service]
        if service.spare_units > 0 or own.empty:
            continue
        more = shared.loc[service.service] if service.service in shared.index else {"share": 0.0, "copies": 0.0}
        promised = float(served[service.service])
        surplus = float((own["share"] * own["units"]).sum() + more["share"]) - float(service.required_share) * promised
        units = float(own["units"].sum() + more["copies"]) - np.ceil(float(service.minimum_units) * promised - _TIGHT)
        for row in own.itertuples():
            gone = min(np.floor((surplus + _TIGHT**2) / row.share), units, row.units)
            if gone > 0:
                kept[row.Index] -= gone
                surplus, units = surplus - gone * row.share, units - gone
    units_left = allocation.units.assign(units=kept)
    return replace(allocation, units=units_left[units_left["units"] > 0].reset_index(drop=True))
