"""Ranks over several servers: only over a named network, in whole servers, at its rate, labelled as unmeasured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.field.evidence import bands
from reports.matrix import expand
from reports.methods import METHODS
from reports.pipeline import evaluate
from reports.run import Run
from reports.scenario.read import read_scenario
from reports.scenario.schema import Scenario

NETWORK = "network-400g"
SCENARIO = """
title: {en: Large}
period: 2026-11
currency: CNY
region: china
workload:
  input_tokens: 2000
  output_tokens: 500
  demand: {peak_concurrency: 30}
targets: {ttft_ms: 4000, tpot_ms: 200}
matrix:
  model: [deepseek-r1]
  quantization: [fp8]
  gpu: [h100-sxm5-80gb]
  count: [8, 16]
  interconnect: [nvlink]
"""


def scenario(folder: Path, catalog: Catalog, more: str = "") -> Scenario:
    path = folder / "large.yaml"
    path.write_text(SCENARIO + more, encoding="utf-8")
    return read_scenario(path, catalog)


def layouts(asked: Scenario, catalog: Catalog) -> set[tuple[int, int, int, int]]:
    """(tensor, data, pipeline, servers of a stage) of every layout of 16 cards."""
    found = expand(asked, catalog, METHODS["roofline"]).layouts.columns
    names = ("tensor_parallel", "data_parallel", "pipeline_parallel", "stage_servers")
    rows = zip(found["unit_cards"], *(found[name] for name in names), strict=True)
    return {tuple(int(value) for value in row[1:]) for row in rows if row[0] == 16}  # type: ignore[misc]


def test_ranks_span_servers_only_over_a_named_network(tmp_path: Path, catalog: Catalog) -> None:
    without = layouts(scenario(tmp_path, catalog), catalog)
    assert {servers for *_, servers in without} == {1}
    named = layouts(scenario(tmp_path, catalog, f"network: {NETWORK}\n"), catalog)
    assert named - without == {(16, 1, 1, 2), (8, 2, 1, 2), (4, 4, 1, 2), (2, 8, 1, 2), (1, 16, 1, 2)}
    assert without <= named


def test_the_link_of_such_a_layout_is_the_network(tmp_path: Path, catalog: Catalog) -> None:
    space = expand(scenario(tmp_path, catalog, f"network: {NETWORK}\n"), catalog, METHODS["roofline"])
    spread = space.layouts.columns["stage_servers"] == 2
    point = catalog.links[NETWORK].points[16]
    assert set(space.layouts.link_key[spread]) == {f"{NETWORK}@16"}
    assert set(space.layouts.columns["allreduce_bus_gb_per_s"][spread]) == {point["allreduce_bus_gb_per_s"].value}
    assert set(space.layouts.columns["allreduce_alpha_us"][spread]) == {point["allreduce_alpha_us"].value}
    assert space.constants["node_link_gb_per_s"] == 47
    own = "assumptions: {node_link_gb_per_s: 12.5}\n"
    stated = scenario(tmp_path, catalog, f"network: {NETWORK}\n{own}")
    assert expand(stated, catalog, METHODS["roofline"]).constants["node_link_gb_per_s"] == 12.5


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, catalog: Catalog) -> Run:
    return evaluate(scenario(tmp_path_factory.mktemp("net"), catalog, f"network: {NETWORK}\n"), catalog)


def test_a_model_too_large_for_a_server_runs_on_two(run: Run) -> None:
    """DeepSeek-R1 in FP8 weighs more than 8 x 80 GB hold."""
    by_count = run.candidates.set_index("count")
    assert not by_count.loc[8, "feasible"]
    assert by_count.loc[16, "feasible"]


def test_money_counts_whole_servers(run: Run) -> None:
    """16 cards whose ranks span two servers: 8 cards of each must sit in one machine."""
    option = run.options.iloc[0]
    assert option["unit_cards"] == 16
    cards_in_a_machine = option["tensor_parallel"] * option["data_parallel"] / option["stage_servers"]
    assert cards_in_a_machine == 8
    assert option["servers_needed"] == np.ceil(option["sized_cards"] / 8)
    assert option["rented_cards"] >= option["sized_cards"]


def test_nothing_across_servers_was_measured(catalog: Catalog, run: Run) -> None:
    frame = run.candidates[run.candidates["count"] == 16]
    here = frame.assign(stage_servers=1.0)
    assert (bands(frame.assign(stage_servers=2.0), catalog)["label"] == "extrapolated").all()
    assert (bands(here, catalog)["label"] != "extrapolated").all()


def test_an_unknown_network_is_refused(tmp_path: Path, catalog: Catalog) -> None:
    with pytest.raises(InputError, match=r'no network of the catalog.*did you mean "network-400g"'):
        scenario(tmp_path, catalog, "network: network-40g\n")
    with pytest.raises(InputError, match="no network of the catalog"):
        scenario(tmp_path, catalog, "network: pcie5\n")
