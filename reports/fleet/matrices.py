"""The integer program as sparse matrices: one column a decision, one row a promise, built from the frames at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from reports.fleet.problem import BUDGET, COOLING, EXCLUSIVE, HOUSED, POWER, RACKS, FleetProblem

Values = NDArray[np.float64]
Codes = NDArray[np.int64]

HOST = ["gpu", "stage_cards", "site", "sharing"]
"""Cards that several services share: a group of this size, at this place, in this mode."""

USES: dict[str, str] = {POWER: "power_kw", COOLING: "cooling_kw", BUDGET: "capex_amount"}
"""Limit -> the column of a source that says what one machine takes of it; racks are counted apart."""

ROUNDING = 1e-9


@dataclass
class Builder:
    """Columns and rows as they are added; a block of columns is known by its name."""

    blocks: dict[str, slice] = field(default_factory=dict)
    lower: list[Values] = field(default_factory=list)
    upper: list[Values] = field(default_factory=list)
    whole: list[Values] = field(default_factory=list)
    entries: list[tuple[Codes, Codes, Values]] = field(default_factory=list)
    row_lower: list[Values] = field(default_factory=list)
    row_upper: list[Values] = field(default_factory=list)
    columns: int = 0
    rows: int = 0

    def add(self, name: str, upper: ArrayLike, *, whole: bool, lower: float = 0.0) -> None:
        """A block of columns with their upper bounds."""
        top = np.asarray(upper, dtype=float)
        self.blocks[name] = slice(self.columns, self.columns + len(top))
        self.upper.append(top)
        self.lower.append(np.full(len(top), lower))
        self.whole.append(np.full(len(top), float(whole)))
        self.columns += len(top)

    def promise(
        self, count: int, *terms: tuple[str, ArrayLike, ArrayLike, ArrayLike], least: ArrayLike = -np.inf,
        most: ArrayLike = np.inf,
    ) -> None:
        """``count`` rows; a term is (block, its column numbers, their rows 0.., their factors)."""
        for block, columns, rows, factors in terms:
            at = np.asarray(columns, dtype=np.int64) + self.blocks[block].start
            row = np.asarray(rows, dtype=np.int64) + self.rows
            self.entries.append((row, at, np.broadcast_to(np.asarray(factors, dtype=float), row.shape)))
        self.row_lower.append(np.broadcast_to(np.asarray(least, dtype=float), (count,)))
        self.row_upper.append(np.broadcast_to(np.asarray(most, dtype=float), (count,)))
        self.rows += count


@dataclass(frozen=True)
class Matrices:
    """The program, and the frames whose rows its columns stand for."""

    problem: FleetProblem
    blocks: Mapping[str, slice]
    """units, copies, load, hosts, machines, racks, served, slack: where in the vector of decisions they are."""
    placed: pd.DataFrame
    """One row a column of ``units``: a layout at a site that can hold its stages."""
    shared: pd.DataFrame
    """One row a column of ``copies`` and of ``load``."""
    hosts: pd.DataFrame
    rack_kinds: tuple[str, ...]
    slack: tuple[str, ...]
    matrix: csr_array
    row_lower: Values
    row_upper: Values
    lower: Values
    upper: Values
    whole: Values

    def vector(self, **parts: ArrayLike) -> Values:
        """A vector over all columns with the given values in the named blocks, 0 elsewhere."""
        result = np.zeros(len(self.upper))
        for name, values in parts.items():
            result[self.blocks[name]] = values
        return result


def build(
    problem: FleetProblem, *, more_hosts: Mapping[tuple[object, ...], int] | None = None,
    more_cards: Mapping[tuple[str, str], float] | None = None, slack: Sequence[str] = (), marked: bool = False,
) -> Matrices:
    """The matrices of a problem; ``marked`` adds columns ``used`` and ``copied`` that say which ways a plan uses.

    ``more_hosts`` and ``more_cards`` keep room for what did not pack into whole machines the time before. ``slack``
    names limits, or sources as ``source:<id>``, that may be exceeded: the columns ``slack`` say by how much.
    """
    services, sources = problem.services, problem.sources
    placed = _placed(problem)
    shared = placed[(placed["sharing"] != EXCLUSIVE) & (placed["unit_cards"] == placed["stage_cards"])]
    shared = shared[shared[["weights_share", "least_time_share"]].notna().all(axis=1)].reset_index(drop=True)
    hosts = shared[HOST].drop_duplicates().reset_index(drop=True)
    builder = Builder()
    builder.add("units", placed["most"], whole=True)
    builder.add("copies", shared["most"], whole=True)
    builder.add("load", shared["most"], whole=False)
    builder.add("hosts", np.full(len(hosts), max(float(shared["most"].sum()), 1.0)), whole=True)
    free = _most_machines(problem, placed)
    builder.add("machines", np.minimum(sources["machines"].to_numpy(dtype=float), free), whole=True)
    racked = sources[(sources["rack_kind"] != "") & np.isfinite(sources["rack_machines"])]
    kinds = tuple(sorted(set(racked["rack_kind"].astype(str)))) if RACKS in problem.limits else ()
    builder.add("racks", np.full(len(kinds), max(problem.limits.get(RACKS, 0.0), 1.0) * 2 + free.max(initial=0.0)),
                whole=True)
    builder.add("served", np.ones(len(services)), whole=False)
    builder.add("slack", np.full(len(slack), np.inf), whole=False)
    _demand(builder, problem, placed, shared)
    _formats(builder, problem, placed, shared)
    if marked:
        _marks(builder, placed, shared)
    _shared_cards(builder, problem, shared, hosts, more_hosts or {})
    _cards(builder, problem, placed, hosts, more_cards or {}, free)
    _limits(builder, problem, kinds, slack, free)
    rows, columns, factors = (np.concatenate([entry[part] for entry in builder.entries]) for part in range(3))
    return Matrices(
        problem, builder.blocks, placed, shared, hosts, kinds, tuple(slack),
        csr_array((factors, (rows, columns)), shape=(builder.rows, builder.columns)),
        np.concatenate(builder.row_lower), np.concatenate(builder.row_upper),
        np.concatenate(builder.lower), np.concatenate(builder.upper), np.concatenate(builder.whole),
    )  # fmt: skip


def _placed(problem: FleetProblem) -> pd.DataFrame:
    """Every layout at every site whose machines hold one of its stages, with the most units that can make sense."""
    usable = problem.sources[problem.sources["machines"] > 0]
    largest = usable.groupby(["gpu", "site"], sort=True)["machine_cards"].max().rename("largest").reset_index()
    placed = problem.layouts.merge(largest, on="gpu")
    placed = placed[placed["stage_cards"] <= placed["largest"]]
    wanted = problem.services[["service", "required_share", "minimum_units", "spare_units"]]
    placed = placed.merge(wanted, on="service").sort_values(["service", "layout", "site"], kind="stable")
    units = np.ceil(placed["required_share"] / placed["share"] * (1 - ROUNDING))
    placed["most"] = np.maximum(units, placed["minimum_units"]) + placed["spare_units"]
    return placed.reset_index(drop=True)


def _most_machines(problem: FleetProblem, placed: pd.DataFrame) -> Values:
    """No plan needs more machines of a source than all services on its card alone would fill."""
    cards = (placed["most"] * placed["unit_cards"]).groupby([placed["gpu"], placed["service"]]).max()
    by_gpu = cards.groupby(level=0).sum() if len(cards) else cards
    stages = placed.groupby("gpu")["stage_cards"].max() if len(placed) else pd.Series(dtype=float)
    gpus = problem.sources["gpu"]
    needed = gpus.map(by_gpu).fillna(0.0).to_numpy(dtype=float)
    stage = gpus.map(stages).fillna(1.0).to_numpy(dtype=float)
    size = problem.sources["machine_cards"].to_numpy(dtype=float)
    fit = np.maximum(np.floor(size / stage) * stage, 1.0)
    return np.ceil(needed / np.minimum(fit, size)) + len(problem.services)


def _codes(values: pd.Series, known: pd.Series) -> NDArray[np.int64]:
    return np.asarray(pd.Index(known).get_indexer(values), dtype=np.int64)


def _demand(builder: Builder, problem: FleetProblem, placed: pd.DataFrame, shared: pd.DataFrame) -> None:
    """Units and copies carry the served share of the demand; the least units run; what fails is spared."""
    services = problem.services
    count, every = len(services), np.arange(len(services))
    of_unit, of_copy = (_codes(frame["service"], services["service"]) for frame in (placed, shared))
    units, copies = np.arange(len(placed)), np.arange(len(shared))
    carried = (
        ("units", units, of_unit, placed["share"].to_numpy(dtype=float)),
        ("load", copies, of_copy, shared["share"].to_numpy(dtype=float)),
    )
    required = services["required_share"].to_numpy(dtype=float)
    builder.promise(count, *carried, ("served", every, every, -required), least=0)
    least = services["minimum_units"].to_numpy(dtype=float)
    builder.promise(
        count, ("units", units, of_unit, 1.0), ("copies", copies, of_copy, 1.0), ("served", every, every, -least),
        least=0,
    )
    spare = services["spare_units"].to_numpy(dtype=float)
    if not (spare > 0).any():
        return
    builder.add("loss", np.full(count, np.inf), whole=False)
    _marks(builder, placed, shared)
    builder.promise(count, *carried, ("loss", every, every, -spare), ("served", every, every, -1.0), least=0)
    for mark, frame, service in (("used", placed, of_unit), ("copied", shared, of_copy)):
        row = np.arange(len(frame))
        share = frame["share"].to_numpy(dtype=float)
        builder.promise(len(frame), ("loss", service, row, 1.0), (mark, row, row, -share), least=0)


def _marks(builder: Builder, placed: pd.DataFrame, shared: pd.DataFrame) -> None:
    """1 in ``used`` and ``copied`` for every way that has a unit or a copy."""
    if "used" in builder.blocks:
        return
    for kind, mark, frame in (("units", "used", placed), ("copies", "copied", shared)):
        row = np.arange(len(frame))
        builder.add(mark, np.ones(len(frame)), whole=True)
        most = frame["most"].to_numpy(dtype=float)
        builder.promise(len(frame), (kind, row, row, 1.0), (mark, row, row, -most), most=0)


def _formats(builder: Builder, problem: FleetProblem, placed: pd.DataFrame, shared: pd.DataFrame) -> None:
    """All units of a service have one format."""
    pairs = placed[["service", "format"]].drop_duplicates().reset_index(drop=True)
    several = pairs.groupby("service")["format"].transform("size") > 1
    pairs = pairs[several].reset_index(drop=True)
    if pairs.empty:
        return
    builder.add("formats", np.ones(len(pairs)), whole=True)
    names = pd.Series(pairs["service"].unique())
    of, each = _codes(pairs["service"], names), np.arange(len(pairs))
    builder.promise(len(names), ("formats", each, of, 1.0), least=1, most=1)
    index = pd.MultiIndex.from_frame(pairs)
    most = np.zeros(len(pairs))
    terms = []
    for kind, frame in (("units", placed), ("copies", shared)):
        row = index.get_indexer(pd.MultiIndex.from_frame(frame[["service", "format"]]))
        inside = row >= 0
        taken = frame["share"].to_numpy(dtype=float)[inside]
        np.maximum.at(most, row[inside], taken * frame["most"].to_numpy(dtype=float)[inside])
        terms.append((kind, np.flatnonzero(inside), row[inside], taken))
    builder.promise(len(pairs), *terms, ("formats", each, each, -2 * most), most=0)



def _shared_cards(
    builder: Builder, problem: FleetProblem, shared: pd.DataFrame, hosts: pd.DataFrame,
    more: Mapping[tuple[object, ...], int],
) -> None:
    """Copies on one group of cards fit into its memory and into its time, interference included."""
    if shared.empty:
        return
    host = pd.MultiIndex.from_frame(hosts).get_indexer(pd.MultiIndex.from_frame(shared[HOST]))
    row, each = np.arange(len(shared)), np.arange(len(hosts))
    kept = -np.array([more.get(key, 0) for key in hosts.itertuples(index=False, name=None)], dtype=float)
    slower = 1 + shared["sharing"].map(dict(problem.interference)).fillna(0.0).to_numpy(dtype=float)
    builder.promise(len(shared), ("load", row, row, 1.0), ("copies", row, row, -1.0), most=0)
    for base, full, factor in (
        ("weights_share", "load_memory_share", np.ones(len(shared))), ("least_time_share", "load_time_share", slower),
    ):  # fmt: skip
        builder.promise(
            len(hosts), ("copies", row, host, shared[base].to_numpy(dtype=float) * factor),
            ("load", row, host, shared[full].to_numpy(dtype=float) * factor), ("hosts", each, each, -1.0), most=kept,
        )  # fmt: skip


def _cards(
    builder: Builder, problem: FleetProblem, placed: pd.DataFrame, hosts: pd.DataFrame,
    more: Mapping[tuple[str, str], float], free: Values,
) -> None:
    """Stages of at least t cards take no more than t x floor(machine / t) cards of each machine, for every t in use.

    Where each stage size divides the next (1, 2, 4, 8, 16: all that the links have) this is not a relaxation: filled
    largest first, whole stages then fit into whole machines.
    """
    sources = problem.sources
    sizes = pd.concat([placed[["gpu", "site", "stage_cards"]], hosts[["gpu", "site", "stage_cards"]]])
    thresholds = sizes.drop_duplicates().sort_values(["gpu", "site", "stage_cards"], kind="stable")
    thresholds = thresholds.reset_index(drop=True)

    def at_least(frame: pd.DataFrame, cards: str) -> tuple[Values, Values, Values]:
        """(column, threshold row, cards) of every column whose stages reach the threshold."""
        own = frame.assign(_column=np.arange(len(frame)), _cards=frame[cards].astype(float))
        pairs = own.merge(thresholds.assign(_row=np.arange(len(thresholds))), on=["gpu", "site"], suffixes=("", "_t"))
        pairs = pairs[pairs["stage_cards"] >= pairs["stage_cards_t"]]
        return pairs["_column"].to_numpy(), pairs["_row"].to_numpy(), pairs["_cards"].to_numpy(dtype=float)

    machines = sources.assign(_column=np.arange(len(sources)))
    rooms = machines.merge(thresholds.assign(_row=np.arange(len(thresholds))), on=["gpu", "site"])
    holds = (np.floor(rooms["machine_cards"] / rooms["stage_cards"]) * rooms["stage_cards"]).to_numpy(dtype=float)
    kept = np.array([more.get((row.gpu, row.site), 0.0) for row in thresholds.itertuples()], dtype=float)
    terms = [
        ("units", *at_least(placed, "unit_cards")), ("hosts", *at_least(hosts, "stage_cards")),
        ("machines", rooms["_column"], rooms["_row"], -holds),
    ]  # fmt: skip
    if problem.spare_machine:
        housed = rooms[rooms["kind"].isin(HOUSED)].assign(_holds=holds[rooms["kind"].isin(HOUSED).to_numpy()])
        gpus = sorted(set(housed["gpu"]))
        builder.add("spare", np.ones(len(gpus)), whole=True)
        largest = housed.groupby(["_row", "gpu"], sort=True)["_holds"].max().reset_index()
        terms.append(("spare", _codes(largest["gpu"], pd.Series(gpus)), largest["_row"], largest["_holds"]))
        own = machines[machines["kind"].isin(HOUSED) & machines["gpu"].isin(gpus)]
        row = _codes(own["gpu"], pd.Series(gpus))
        builder.promise(
            len(gpus), ("machines", own["_column"], row, 1.0),
            ("spare", np.arange(len(gpus)), np.arange(len(gpus)), -np.bincount(row, free[own["_column"]], len(gpus))),
            most=0,
        )  # fmt: skip
    builder.promise(len(thresholds), *terms, most=-kept)


def _limits(
    builder: Builder, problem: FleetProblem, kinds: Sequence[str], slack: Sequence[str], free: Values
) -> None:
    """Power, cooling, racks and money of the site; machines of what is there already."""
    sources = problem.sources
    every = np.arange(len(sources))
    position = {name: np.array([index]) for index, name in enumerate(slack)}

    def loosened(name: str) -> list[tuple[str, ArrayLike, ArrayLike, ArrayLike]]:
        return [("slack", position[name], np.zeros(1), -1.0)] if name in position else []

    for name, column in USES.items():
        if name in problem.limits:
            use = sources[column].fillna(0.0).to_numpy(dtype=float)
            builder.promise(1, ("machines", every, np.zeros(len(every)), use), *loosened(name),
                            most=problem.limits[name])
    if kinds:
        kind = _codes(sources["rack_kind"], pd.Series(kinds))
        inside = kind >= 0
        each = np.arange(len(kinds))
        room = sources.loc[inside, "rack_machines"].groupby(kind[inside]).min().reindex(each).to_numpy(dtype=float)
        of = kind[inside]
        builder.promise(len(kinds), ("machines", every[inside], of, 1.0), ("racks", each, each, -room), most=0)
        builder.promise(1, ("racks", each, np.zeros(len(each)), 1.0), *loosened(RACKS), most=problem.limits[RACKS])
    for name in slack:
        if name.startswith("source:"):
            index = int(np.flatnonzero(sources["source"].to_numpy() == name.removeprefix("source:"))[0])
            at = builder.blocks["machines"].start + index
            most = float(sources["machines"].iloc[index])
            tops = np.concatenate(builder.upper)
            tops[at] = most + free[index]
            builder.upper = [tops]
            builder.promise(1, ("machines", np.array([index]), np.zeros(1), 1.0), *loosened(name), most=most)
