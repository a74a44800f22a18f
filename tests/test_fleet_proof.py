"""The proof of a plan finds what is wrong with it, whatever made it; ways that are dropped change no plan."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from fleet_frames import problem, service, source, way

from reports.fleet import proof as rules
from reports.fleet.layouts import _not_dominated
from reports.fleet.packing import used_machines
from reports.fleet.problem import FleetProblem
from reports.fleet.program import least_cost
from reports.fleet.proof import proof


def good() -> tuple[FleetProblem, pd.DataFrame]:
    """Two servers of 8 full of units of 4 cards; two services share a rented card."""
    small = {"weights_share": 0.3, "load_memory_share": 0.4, "least_time_share": 0.2, "load_time_share": 0.2}
    case = problem(
        [service("a"), service("b", minimum_units=1.0), service("c"), service("d")],
        [way("a", 4, 0.34), way("b", 4, 1.0), way("c", 1, 2.0, "h", sharing="mps", **small),
         way("d", 1, 2.0, "h", sharing="mps", **small)],
        [source("own", "owned", 1.0, machines=2.0), source("rent", "rent", 5.0, cards=1, gpu="h")],
        limits={"power_kw": 25.0, "racks": 1.0}, interference={"mps": 0.2},
    )  # fmt: skip
    return case, least_cost(case, gap=0.0)[1]


def broken(case: FleetProblem, placement: pd.DataFrame, machines: pd.DataFrame | None = None) -> set[str]:
    found = proof(case, placement, used_machines(case, placement) if machines is None else machines)
    return set(found.loc[~found["holds"], "rule"])


def test_a_good_plan_breaks_nothing() -> None:
    case, placement = good()
    assert len(placement) == 6
    assert broken(case, placement) == set()


def test_a_unit_that_is_missing() -> None:
    case, placement = good()
    assert rules.DEMAND in broken(case, placement.drop(index=placement.index[placement["service"] == "a"][0]))
    without = placement[placement["service"] != "b"]
    assert {rules.DEMAND, rules.UNITS} <= broken(case, without)


def test_a_machine_that_is_too_full() -> None:
    case, placement = good()
    crowded = placement.assign(machine=placement["machine"].where(placement["source"] != "own", 1))
    assert rules.CARDS in broken(case, crowded)


def test_a_machine_that_is_not_there() -> None:
    case, placement = good()
    moved = placement.copy()
    moved.loc[moved.index[moved["source"] == "own"][0], "machine"] = 3
    assert rules.MACHINES in broken(case, moved)
    three = used_machines(case, placement).assign(machines=lambda frame: frame["machines"] + (frame["source"] == "own"))
    assert {rules.MACHINES, "power_kw", "racks"} <= broken(case, placement, three)


def test_a_unit_on_the_wrong_card() -> None:
    case, placement = good()
    moved = placement.copy()
    moved.loc[moved.index[moved["service"] == "b"][0], "source"] = "rent"
    assert rules.CARD_TYPE in broken(case, moved)


def test_a_unit_with_too_few_cards_or_too_much_load() -> None:
    case, placement = good()
    cut = placement.copy()
    cut.loc[cut["service"] == "b", "cards"] = 3
    assert rules.STAGES in broken(case, cut)
    loaded = placement.copy()
    loaded.loc[loaded["service"] == "b", "load"] = 1.5
    assert rules.STAGES in broken(case, loaded)


def test_a_shared_card_that_is_too_full() -> None:
    case, placement = good()
    loaded = placement.copy()
    loaded.loc[loaded["service"] == "c", "load"] = 0.9
    assert rules.MEMORY in broken(case, loaded)
    slow = replace(case, interference={"mps": 0.8})
    assert rules.TIME in broken(slow, placement)


def test_spares_that_are_not_there() -> None:
    case, placement = good()
    spared = replace(case, services=case.services.assign(spare_units=1.0))
    assert rules.SPARES in broken(spared, placement)
    assert rules.SPARE_MACHINE in broken(replace(case, spare_machine=True), placement)


def test_ways_that_another_stands_in_for_are_dropped() -> None:
    """Two units of 1 card serve as much as one of 2: the larger goes. A unit of 4 that serves five times as much stays.

    The int4 ways are worse on every card: the format goes as a whole. On one card fp16 is better, so it stays there.
    """
    ways = pd.DataFrame(
        [
            way("a", 1, 0.1, format="fp8"), way("a", 2, 0.2, format="fp8"), way("a", 4, 0.5, format="fp8"),
            way("a", 1, 0.05, format="int4"), way("a", 2, 0.1, format="int4"),
            way("a", 1, 0.05, format="fp16"), way("a", 1, 0.3, "h", format="fp16"), way("a", 1, 0.2, "h", format="fp8"),
        ]
    )  # fmt: skip
    left = _not_dominated(ways)
    assert left["layout"].tolist() == [
        "a.fp8.g.1x", "a.fp8.g.4x", "a.fp16.g.1x", "a.fp16.h.1x", "a.fp8.h.1x",
    ]  # fmt: skip


@pytest.mark.parametrize("cards", [4, 8])
def test_dropped_ways_change_no_cost(cards: int) -> None:
    """The cheapest plan with all ways and with those that are left costs the same."""
    ways = [way("a", size, share) for size, share in ((1, 0.09), (2, 0.17), (4, 0.4), (8, 0.7))]
    ways += [way("b", size, share) for size, share in ((2, 0.5), (4, 1.0), (8, 1.9))]
    case = problem([service("a"), service("b")], ways, [source("rent", "rent", 10.0, cards=cards)])
    fewer = replace(case, layouts=_not_dominated(case.layouts))
    assert len(fewer.layouts) < len(case.layouts)
    assert least_cost(fewer, gap=0.0)[0].objective == pytest.approx(least_cost(case, gap=0.0)[0].objective)
