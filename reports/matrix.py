"""Scenario x Catalog -> the space of candidates: every combination of the five axes, each with its possible layouts.

A candidate is (service, quantization, gpu, count, interconnect); a layout splits its cards into replicas of tensor x
pipeline ranks. Nothing is dropped here: what cannot exist keeps an excuse code. Values are gathered from small tables
by integer codes, so that a million rows cost a million additions, not a million records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from reports.catalog.records import Catalog
from reports.columns import INTERPOLATED, LEAVES
from reports.facts import FactTable, collect
from reports.formulas.meta import info
from reports.methods import Block, Method
from reports.scenario.schema import Scenario
from reports.scenario.services import Service

Codes = NDArray[np.int64]
Values = NDArray[np.float64]

IN_SPACE = (
    "gpu", "host", "model", "quantization", "engine", "link", "assumption", "scenario", "workload", "resident",
    "demand", "layout",
)  # fmt: skip
"""Scopes whose leaves every candidate has; searches and the price book attach the others later."""

AXES = ("service", "quantization", "gpu", "count", "interconnect")

FEASIBLE = ""
NO_NVLINK = "no-nvlink"
NO_LINK = "no-link-data"
MISSING_FACT = "missing-fact"
CONTEXT_TOO_LONG = "context-too-long"
HEADS = "heads-do-not-split"
STATIC_EXCUSES = (FEASIBLE, NO_NVLINK, MISSING_FACT, CONTEXT_TOO_LONG, NO_LINK, HEADS)
"""Why a combination cannot exist whatever the load, the least fixable first; index 0 means it can."""


@dataclass(frozen=True)
class Layouts:
    """The layouts of every (gpu, count, interconnect), flat; ``start``/``size`` index them by group."""

    columns: Mapping[str, Values]
    link_key: NDArray[np.object_]
    static_excuse: Codes
    start: Codes
    size: Codes


@dataclass(frozen=True)
class Space:
    """All candidates of one scenario and method, as codes into small tables."""

    services: tuple[Service, ...]
    """The first axis."""
    axes: Mapping[str, tuple[str, ...]]
    codes: Mapping[str, Codes]
    layouts: Layouts
    group: Codes
    """Per candidate: its (gpu, count, interconnect) group in ``layouts``."""
    constants: Mapping[str, float]
    by_service: Mapping[str, Values]
    by_gpu: Mapping[str, Values]
    by_quantization: Mapping[str, Values]
    """Indexed by quantization code x 2 + (1 for a model with experts)."""
    by_gpu_quantization: Mapping[str, Values]
    """Indexed by (gpu code x quantizations + quantization code) x 2 + (1 for a model with experts)."""
    static_excuse: Codes
    """Per candidate, for reasons that no layout changes."""
    texts: FactTable

    def __len__(self) -> int:
        return len(self.group)

    def layout_rows(self, first: int, last: int) -> tuple[Codes, Codes]:
        """For candidates first..last: the candidate index of each layout row, and its row in ``layouts``."""
        groups = self.group[first:last]
        sizes = self.layouts.size[groups]
        owner = np.repeat(np.arange(first, last), sizes)
        offset = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return owner, np.repeat(self.layouts.start[groups], sizes) + offset

    def gather(self, names: Sequence[str], owner: Codes, layout: Codes) -> dict[str, Values | float]:
        """Values of leaves for the given layout rows; what is the same everywhere stays one number."""
        service, gpu, quantization = (self.codes[axis][owner] for axis in ("service", "gpu", "quantization"))
        experts = (self.by_service["experts"] > 0).astype(np.int64)[service]
        columns: dict[str, Values | float] = {}
        for name in names:
            if name in self.constants:
                columns[name] = self.constants[name]
            elif name in self.by_service:
                columns[name] = self.by_service[name][service]
            elif name in self.by_gpu:
                columns[name] = self.by_gpu[name][gpu]
            elif name in self.by_quantization:
                columns[name] = self.by_quantization[name][quantization * 2 + experts]
            elif name in self.by_gpu_quantization:
                pair = (gpu * len(self.axes["quantization"]) + quantization) * 2 + experts
                columns[name] = self.by_gpu_quantization[name][pair]
            else:
                columns[name] = self.layouts.columns[name][layout]
        return columns

    def frame(self, owner: Codes, layout: Codes) -> pd.DataFrame:
        """Axes, ids and the keys of the records each row's leaves come from, one row a (candidate, layout)."""
        names = {axis: pd.Categorical.from_codes(self.codes[axis][owner], list(self.axes[axis])) for axis in AXES[:3]}
        count = np.array(self.axes["count"], dtype=np.int64)[self.codes["count"][owner]]
        interconnect = pd.Categorical.from_codes(self.codes["interconnect"][owner], list(self.axes["interconnect"]))
        frame = pd.DataFrame({**names, "count": count, "interconnect": interconnect})
        service, gpu, quantization = (self.codes[axis][owner] for axis in ("service", "gpu", "quantization"))
        frame.insert(1, "model", _named([each.model for each in self.services], service))
        frame["workload_key"] = _named([each.workload_key for each in self.services], service)
        frame["resident_key"] = _named([each.resident_key for each in self.services], service)
        experts = (self.by_service["experts"] > 0)[service]
        frame["link_key"] = self.layouts.link_key[layout]
        frame["quantization_key"] = np.array(
            [key for name in self.axes["quantization"] for key in (name, f"{name}/moe")], dtype=object
        )[quantization * 2 + experts]
        pair = (gpu * len(self.axes["quantization"]) + quantization) * 2 + experts
        frame["dense_peak_fact"] = self.texts.dense_peak_fact[pair]
        frame["expert_peak_fact"] = self.texts.expert_peak_fact[pair]
        frame["native_compute"] = self.texts.native[pair]
        frame["engine"] = self.texts.engine
        frame["host"] = self.texts.host[gpu]
        if any(self.texts.calibrated_key):
            frame["calibrated_key"] = self.texts.calibrated_key[gpu]
        frame.insert(0, "candidate_id", candidate_ids(frame))
        return frame


def _named(names: Sequence[str], codes: Codes) -> pd.Categorical:
    """One name a row, chosen by its code; several codes may have one name."""
    once = list(dict.fromkeys(names))
    return pd.Categorical.from_codes(np.array([once.index(name) for name in names], dtype=np.int64)[codes], once)


def candidate_ids(frame: pd.DataFrame) -> pd.Series:
    """Readable ids such as ``qwen3-32b.fp8.h20-96gb.8x.nvlink``."""
    texts = [_texts(frame[axis]) for axis in AXES]
    texts[3] = compute.binary_join_element_wise(texts[3], pa.scalar("x"), pa.scalar(""))
    joined = compute.binary_join_element_wise(*texts, pa.scalar("."))
    return pd.Series(joined.to_pandas(), index=frame.index)


def _texts(column: pd.Series) -> pa.Array:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pa.array([str(name) for name in column.cat.categories]).take(pa.array(column.cat.codes.to_numpy()))
    return pa.array(column.to_numpy()).cast(pa.string())


def expand(scenario: Scenario, catalog: Catalog, method: Method) -> Space:
    """Cross the axes of the scenario and gather what the catalog knows about each."""
    table = collect(scenario, catalog, method)
    services = scenario.service_axis
    axes: dict[str, tuple[str, ...]] = {
        "service": tuple(each.name for each in services),
        "quantization": tuple(scenario.matrix.quantization),
        "gpu": tuple(scenario.matrix.gpu),
        "count": tuple(str(count) for count in scenario.matrix.count),
        "interconnect": tuple(scenario.matrix.interconnect),
    }
    shape = tuple(len(axes[axis]) for axis in AXES)
    grid = np.indices(shape).reshape(len(AXES), -1)
    allowed = np.array([[name in each.quantization for name in axes["quantization"]] for each in services])
    keep = allowed[grid[0], grid[1]]
    codes = {axis: grid[index][keep] for index, axis in enumerate(AXES)}
    counts = [int(count) for count in axes["count"]]
    experts = any(catalog.models[each.model].value("experts") > 0 for each in services)
    layouts = _layouts(catalog, method, axes, counts, experts, scenario.network)
    group = (codes["gpu"] * shape[3] + codes["count"]) * shape[4] + codes["interconnect"]

    static = np.zeros(len(group), dtype=np.int64)
    needed = [each.workload.input_tokens.p95 + each.workload.output_tokens.p95 for each in services]
    too_long = np.array([catalog.models[each.model].max_context_tokens < longest
                         for each, longest in zip(services, needed, strict=True)])  # fmt: skip
    missing = np.array([bool(names) for names in table.missing_gpu])[codes["gpu"]]
    static[too_long[codes["service"]]] = STATIC_EXCUSES.index(CONTEXT_TOO_LONG)
    static[missing] = STATIC_EXCUSES.index(MISSING_FACT)
    return Space(
        services=services,
        axes=axes,
        codes=codes,
        layouts=layouts,
        group=group,
        constants=table.constants,
        by_service=table.by_service,
        by_gpu=table.by_gpu,
        by_quantization=table.by_quantization,
        by_gpu_quantization=table.by_gpu_quantization,
        static_excuse=static,
        texts=table,
    )


def _layouts(
    catalog: Catalog,
    method: Method,
    axes: Mapping[str, tuple[str, ...]],
    counts: Sequence[int],
    experts: bool,
    network: str,
) -> Layouts:
    """Every split of each unit: ranks for which the link is known, pipeline stages only over whole groups."""
    rows: list[dict[str, float]] = []
    links: list[str] = []
    excuses: list[int] = []
    start, size = [], []
    for gpu in axes["gpu"]:
        for count in counts:
            for interconnect in axes["interconnect"]:
                start.append(len(rows))
                for split in _splits(catalog, gpu, count, interconnect, method, experts, network):
                    ranks = split.tensor * split.data
                    link = network if split.servers > 1 else _link(catalog, gpu, interconnect)
                    point = catalog.links[link].points.get(ranks, {}) if link else {}
                    rows.append(
                        {
                            "unit_cards": count,
                            "replicas": max(count // (ranks * split.pipeline), 1),
                            "tensor_parallel": split.tensor,
                            "data_parallel": split.data,
                            "pipeline_parallel": split.pipeline,
                            "stage_servers": split.servers,
                            "link_is_nvlink": float(interconnect == "nvlink"),
                            "allreduce_alpha_us": point["allreduce_alpha_us"].value if point else np.nan,
                            "allreduce_bus_gb_per_s": point["allreduce_bus_gb_per_s"].value if point else np.nan,
                        }
                    )
                    links.append(f"{link}@{ranks}" if link else "")
                    excuses.append(STATIC_EXCUSES.index(split.excuse))
                size.append(len(rows) - start[-1])
    names = [leaf.name for leaf in LEAVES if leaf.scope in ("layout", "link")]
    return Layouts(
        columns={name: np.array([row[name] for row in rows], dtype=np.float64) for name in names},
        link_key=np.array(links, dtype=object),
        static_excuse=np.array(excuses, dtype=np.int64),
        start=np.array(start, dtype=np.int64),
        size=np.array(size, dtype=np.int64),
    )


def _link(catalog: Catalog, gpu: str, interconnect: str) -> str | None:
    card = catalog.gpus[gpu]
    return card.nvlink if interconnect == "nvlink" else card.pcie


@dataclass(frozen=True)
class Split:
    """One way to lay out a replica."""

    tensor: int = 1
    data: int = 1
    """Attention data parallel: the attention of a request stays on one group, experts are shared by all."""
    pipeline: int = 1
    servers: int = 1
    """Servers that the ranks of one stage span; more than one over the scenario's network."""
    excuse: str = FEASIBLE


def _splits(
    catalog: Catalog, gpu: str, count: int, interconnect: str, method: Method, experts: bool, network: str
) -> list[Split]:
    """The layouts worth trying for one unit of cards; attention data parallelism needs experts and a fast link.

    Ranks reach beyond a server only where the scenario names a network, and then in whole servers.
    """
    link = _link(catalog, gpu, interconnect)
    if interconnect == "nvlink" and not (link and catalog.gpus[gpu].nvlink_domain_cards):
        return [Split(excuse=NO_NVLINK)]
    card = catalog.gpus[gpu]
    server_cards = int(catalog.hosts[card.host].facts["server_cards"].value) if card.host in catalog.hosts else count
    if method.pooled:  # the unit is one replica; what exceeds a server is counted as stages
        inside = min(count, server_cards)
        return [Split(tensor=inside, pipeline=-(-count // inside))]
    reach = max(card.nvlink_domain_cards, 1) if interconnect == "nvlink" else server_cards
    ranks = [1, *(n for n in sorted(catalog.links[link].points) if n <= min(count, reach))] if link else [1]
    splits = [Split(tensor=n) for n in ranks]
    if experts and interconnect == "nvlink":
        splits += [Split(tensor=n // data, data=data) for n in ranks for data in ranks[1:] if n % data == 0]
    stages = 2
    while ranks[-1] * stages <= count:
        splits.append(Split(tensor=ranks[-1], pipeline=stages))
        stages *= 2
    return [*splits, *_across(catalog, network, count, server_cards, reach, experts and interconnect == "nvlink")]


def _across(catalog: Catalog, network: str, count: int, server_cards: int, reach: int, experts: bool) -> list[Split]:
    """Layouts whose ranks span whole servers: tensor ranks, and groups of attention for models with experts."""
    if not network or reach != server_cards:
        return []
    found = []
    for ranks in sorted(catalog.links[network].points):
        if ranks > count or ranks % server_cards or ranks == server_cards:
            continue
        servers = ranks // server_cards
        groups = [2**step for step in range(ranks.bit_length()) if ranks % 2**step == 0] if experts else [1]
        found += [Split(tensor=ranks // data, data=data, servers=servers) for data in groups]
    return found


def leaf_names(method: Method, later: Sequence[Block] = ()) -> tuple[str, ...]:
    """Leaves of the space that a method, its searches, and later blocks (money) read, in the dictionary's order."""
    read = {solve.target for solve in method.solves} | {leaf.name for leaf in LEAVES if leaf.scope == "layout"}
    read |= {"input_p95_tokens", "output_p95_tokens"}  # quoted where a request exceeds the model's context
    for block in (*method.blocks(), *later):
        for function in block.formulas:
            read |= {block.resolve(parameter) for parameter in info(function).inputs}
    return tuple(leaf.name for leaf in LEAVES if leaf.name in read - set(INTERPOLATED) and leaf.scope in IN_SPACE)
