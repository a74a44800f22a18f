"""The fleet program on cases small enough to work by hand, and properties that hold for every fleet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fleet_frames import problem, service, source, way
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.fleet.packing import used_machines
from reports.fleet.problem import Allocation, FleetProblem
from reports.fleet.program import INFEASIBLE, OPTIMAL, least_cost, most_served
from reports.fleet.proof import proof
from reports.fleet.shortage import shortage


def solved(case: FleetProblem) -> tuple[Allocation, pd.DataFrame, dict[str, float]]:
    """The cheapest plan, its placement, and machines by source; the proof must find nothing."""
    allocation, placement = least_cost(case, gap=0.0)
    machines = used_machines(case, placement) if not case.spare_machine else allocation.machines
    assert proof(case, placement, machines)["holds"].all()
    return allocation, placement, dict(zip(machines["source"], machines["machines"], strict=True))


def served(case: FleetProblem) -> dict[str, float]:
    """Share of each service in the plan that serves most."""
    allocation, placement = most_served(case, gap=0.0)
    bare = replace(case, services=case.services.assign(required_share=1.0, spare_units=0.0, minimum_units=0.0))
    shares = dict(zip(allocation.served["service"], allocation.served["served_share"], strict=True))
    assert proof(bare, placement, used_machines(bare, placement), shares)["holds"].all()
    return {name: round(share, 4) for name, share in shares.items()}


def test_two_services_share_one_server() -> None:
    """Three units of 1 card (3 x 0.4 >= 1) and one of 4 cards are 7 of the 8 cards of a server: one is enough."""
    case = problem(
        [service("a"), service("b")], [way("a", 1, 0.4), way("b", 4, 1.0)], [source("buy", "buy", 100.0)]
    )
    allocation, placement, machines = solved(case)
    assert allocation.status == OPTIMAL
    assert machines == {"buy": 1}
    assert placement["cards"].sum() == 7


def test_a_stage_sits_in_one_machine() -> None:
    """Machines of 6 cards hold one stage of 4 each: two of them need two machines, though 8 cards are 1.33 machines.

    The two cards left over in each hold the four units of the other service.
    """
    case = problem(
        [service("a"), service("b")], [way("a", 1, 0.25), way("b", 4, 0.5)],
        [source("buy", "buy", 100.0, cards=6)],
    )  # fmt: skip
    _, placement, machines = solved(case)
    assert machines == {"buy": 2}
    assert (placement[placement["service"] == "b"].groupby("machine")["cards"].sum() == 4).all()


def test_the_stages_of_a_pipeline_may_sit_in_two_machines() -> None:
    """A unit of 16 cards in two stages of 8 fills two machines of 8; machines of 4 hold no stage."""
    layouts = [way("a", 16, 1.0, stage_cards=8.0)]
    whole = problem([service("a")], layouts, [source("buy", "buy", 100.0)])
    assert solved(whole)[2] == {"buy": 2}
    halves = problem([service("a")], layouts, [source("buy", "buy", 100.0, cards=4)])
    assert least_cost(halves)[0].status == INFEASIBLE


def test_what_is_paid_anyway_is_used_first() -> None:
    """A lease costs 10 more when used, a rented machine 50: one machine of each, not two rented ones."""
    case = problem(
        [service("a")], [way("a", 8, 0.5)],
        [source("lease", "leased", 10.0, machines=1.0, committed_amount=500.0), source("rent", "rent", 50.0)],
    )  # fmt: skip
    assert solved(case)[2] == {"lease": 1, "rent": 1}


def test_all_units_of_a_service_have_one_format() -> None:
    """One machine is there of each card: fp8 runs on g alone, int4 on h alone, 16-bit on both and takes two machines.

    Mixed, fp8 and int4 would do with both machines at no cost; in one format only the 16-bit units can, which takes a
    third, rented machine.
    """
    layouts = [
        way("a", 8, 0.5, format="fp8"), way("a", 8, 0.5, "h", format="int4"),
        way("a", 8, 0.34, format="fp16"), way("a", 8, 0.34, "h", format="fp16"),
    ]  # fmt: skip
    own = [source("g1", "owned", 0.0, machines=1.0), source("h1", "owned", 0.0, gpu="h", machines=1.0)]
    case = problem([service("a")], layouts, [*own, source("rent", "rent", 50.0)])
    _, placement, machines = solved(case)
    assert machines == {"g1": 1, "h1": 0, "rent": 1}
    assert set(placement["layout"]) == {"a.fp8.g.8x"}
    only = problem([service("a")], layouts, [*own, source("rent", "rent", 50.0, gpu="h")])
    assert solved(only)[2] == {"g1": 0, "h1": 1, "rent": 1}


def test_a_fixed_fleet_drops_the_lower_tier() -> None:
    """Eight cards: tier 1 takes three units of 2 cards, tier 2 gets the two cards left: two of its four units."""
    layouts = [way("first", 2, 0.34), way("second", 1, 0.25)]
    case = problem(
        [service("second", tier=2), service("first", tier=1)], layouts, [source("own", "owned", 1.0, machines=1.0)]
    )
    assert served(case) == {"first": 1.0, "second": 0.5}
    full = problem([service("second", tier=2), service("first", tier=1)],
                   [way("first", 8, 1.0), way("second", 1, 0.25)],
                   [source("own", "owned", 1.0, machines=1.0)])  # fmt: skip
    assert served(full) == {"first": 1.0, "second": 0.0}


def test_in_one_tier_the_larger_demand_wins() -> None:
    """One machine, two services that each fill it: 300 requests are served, not 100."""
    case = problem(
        [service("small"), service("large", demand=300.0)], [way("small", 8, 1.0), way("large", 8, 1.0)],
        [source("own", "owned", 1.0, machines=1.0)],
    )  # fmt: skip
    assert served(case) == {"small": 0.0, "large": 1.0}


def test_a_room_for_one_server_leaves_the_rest_to_rent() -> None:
    """Two machines are needed; 15 kW power one server of 10 kW: the other is rented, though it costs more."""
    case = problem(
        [service("a")], [way("a", 8, 0.5)], [source("buy", "buy", 100.0), source("rent", "rent", 300.0)],
        limits={"power_kw": 15.0},
    )  # fmt: skip
    assert solved(case)[2] == {"buy": 1, "rent": 1}
    free = replace(case, limits={})
    assert solved(free)[2] == {"buy": 2, "rent": 0}


def test_an_impossible_room_says_what_it_lacks() -> None:
    """Two servers of 10 kW at 15 kW: 5 kW, a third of what there is, are lacking; racks and budget suffice."""
    case = problem(
        [service("a")], [way("a", 8, 0.5)], [source("buy", "buy", 100.0)],
        limits={"power_kw": 15.0, "racks": 1.0, "budget": 2000.0},
    )  # fmt: skip
    assert least_cost(case)[0].status == INFEASIBLE
    found = shortage(case)
    assert list(found["resource"]) == ["power_kw"]
    assert found.loc[0, "lacking"] == pytest.approx(5.0)
    assert found.loc[0, "lacking_share"] == pytest.approx(1 / 3)
    assert bool(found.loc[0, "alone"])


@pytest.mark.parametrize(
    ("limits", "named", "lacking"),
    [
        ({"cooling_kw": 20.0}, "cooling_kw", 4.0),  # three servers of 8 kW
        ({"racks": 1.0}, "racks", 1.0),  # two in a rack: three need two racks
        ({"budget": 2500.0}, "budget", 500.0),  # three servers at 1000
    ],
)
def test_the_resource_that_fails_is_named(limits: dict[str, float], named: str, lacking: float) -> None:
    case = problem([service("a")], [way("a", 8, 0.34)], [source("buy", "buy", 100.0)], limits=limits)
    assert least_cost(case)[0].status == INFEASIBLE
    found = shortage(case)
    assert (found.loc[0, "resource"], found.loc[0, "lacking"]) == (named, pytest.approx(lacking))


def test_two_resources_that_fail_together() -> None:
    """Neither more power nor more money alone is enough; together 5 kW and 1000 are."""
    case = problem([service("a")], [way("a", 8, 0.5)], [source("buy", "buy", 100.0)],
                   limits={"power_kw": 15.0, "budget": 1000.0})  # fmt: skip
    found = shortage(case).set_index("resource")
    assert not found["alone"].any()
    assert found["lacking"].to_dict() == pytest.approx({"power_kw": 5.0, "budget": 1000.0})


def test_a_fixed_fleet_lacks_machines() -> None:
    """Three machines are needed, two are there: one of either kind would do."""
    own = [source("own", "owned", 1.0, machines=1.0), source("lease", "leased", 1.0, machines=1.0)]
    found = shortage(problem([service("a")], [way("a", 8, 0.34)], own))
    assert dict(zip(found["resource"], found["lacking"], strict=True)) == {"source:own": 1.0, "source:lease": 1.0}


def shared_way(of: str, **more: float) -> dict[str, Any]:
    """One card: weights take 0.3 of the memory, a full load 0.4 more; a step takes 0.2 of the target, 0.6 full."""
    return way(of, 1, 2.0, sharing="mps", weights_share=0.3, load_memory_share=0.4, least_time_share=0.2,
               load_time_share=0.4, **more)  # fmt: skip


def test_small_services_share_a_card() -> None:
    """Half a unit each: memory 2 x (0.3 + 0.2) = 1, time 2 x (0.2 + 0.2) = 0.8, and 0.96 with an allowance of 20 %."""
    case = problem([service("a"), service("b")], [shared_way("a"), shared_way("b")],
                   [source("rent", "rent", 10.0, cards=1)], interference={"mps": 0.2})  # fmt: skip
    _, placement, machines = solved(case)
    assert machines == {"rent": 1}
    assert placement["host"].tolist() == [1, 1]
    assert placement["cards"].sum() == 1


def test_services_that_disturb_each_other_too_much_get_a_card_each() -> None:
    """With an allowance of 30 % the time is 0.8 x 1.3 = 1.04 of the target."""
    case = problem([service("a"), service("b")], [shared_way("a"), shared_way("b")],
                   [source("rent", "rent", 10.0, cards=1)], interference={"mps": 0.3})  # fmt: skip
    assert solved(case)[2] == {"rent": 2}


def test_three_services_do_not_fit_into_the_memory_of_one_card() -> None:
    """3 x 0.5 = 1.5 cards of memory: two cards, and the placement keeps every group within one."""
    names = ("a", "b", "c")
    case = problem([service(name) for name in names], [shared_way(name) for name in names],
                   [source("rent", "rent", 10.0, cards=1)], interference={"mps": 0.0})  # fmt: skip
    _, _, machines = solved(case)
    assert machines == {"rent": 2}


def test_fewest_units_and_headroom() -> None:
    """At least two units run, though one carries all; 1.2 of the demand takes three units of half of it."""
    buy = [source("rent", "rent", 10.0, cards=1)]
    assert solved(problem([service("a", minimum_units=2.0)], [way("a", 1, 1.0)], buy))[2] == {"rent": 2}
    assert solved(problem([service("a", required_share=1.2)], [way("a", 1, 0.5)], buy))[2] == {"rent": 3}


def test_a_spare_unit_and_a_spare_machine() -> None:
    """Two units carry the demand: a third may fail. One server holds them: a second stands by."""
    rent = [source("rent", "rent", 10.0, cards=1)]
    assert solved(problem([service("a", spare_units=1.0)], [way("a", 1, 0.5)], rent))[2] == {"rent": 3}
    buy = problem([service("a")], [way("a", 4, 0.5)], [source("buy", "buy", 100.0)], spare_machine=True)
    assert solved(buy)[2] == {"buy": 2}


def test_fewest_kinds_of_units_where_money_is_the_same() -> None:
    """Four cards are rented anyway: one unit of 4 serves as well as a mixture of units of 2 and 1."""
    case = problem([service("a")], [way("a", 1, 0.2), way("a", 2, 0.45), way("a", 4, 1.0)],
                   [source("rent", "rent", 10.0, cards=4)])  # fmt: skip
    _, placement, _ = solved(case)
    assert placement["layout"].tolist() == ["a.fp8.g.4x"]


# ---- properties ----


@st.composite
def fleets(draw: st.DrawFn) -> FleetProblem:
    """Up to three services on up to two cards, some machines there, some to be rented."""
    names = [f"s{index}" for index in range(draw(st.integers(1, 3)))]
    layouts = []
    for name in names:
        for gpu in ("g", "h"):
            for cards in (1, 2, 4):
                if draw(st.booleans()):
                    share = draw(st.integers(5, 60)) / 100
                    layouts.append(way(name, cards, share * cards, gpu))
    for name in names:
        layouts.append(way(name, 8, draw(st.integers(20, 100)) / 100))
    services = [
        service(name, tier=draw(st.integers(1, 2)), demand=float(draw(st.integers(1, 500)))) for name in names
    ]
    own = [
        source(f"own-{gpu}", "owned", float(draw(st.integers(0, 5))), gpu=gpu, machines=float(draw(st.integers(0, 3))))
        for gpu in ("g", "h")
    ]
    rent = [source(f"rent-{gpu}", "rent", float(draw(st.integers(20, 60))), gpu=gpu) for gpu in ("g", "h")]
    return problem(services, layouts, [*own, *rent])


def more_of(case: FleetProblem, name: str) -> FleetProblem:
    """The same with one machine more of a source."""
    sources = case.sources.copy()
    sources.loc[sources["source"] == name, "machines"] += 1
    return replace(case, sources=sources)


@settings(max_examples=6, deadline=None)
@given(fleets(), st.sampled_from(["own-g", "own-h"]))
def test_more_cards_never_cost_more_and_never_serve_less(case: FleetProblem, name: str) -> None:
    before, _, _ = solved(case)
    after, _, _ = solved(more_of(case, name))
    assert after.objective <= before.objective + 1e-6
    owned = case.sources["kind"] == "owned"
    fixed = replace(case, sources=case.sources[owned].reset_index(drop=True))
    weight = dict(zip(case.services["service"], case.services["demand"], strict=True))
    first = min(case.services["tier"])
    top = case.services.loc[case.services["tier"] == first, "service"]
    less, more = served(fixed), served(more_of(fixed, name))
    assert sum(more[each] * weight[each] for each in top) >= sum(less[each] * weight[each] for each in top) - 0.1


@settings(max_examples=6, deadline=None)
@given(fleets())
def test_a_plan_costs_no_more_than_each_service_alone(case: FleetProblem) -> None:
    """With nothing there already, sharing machines can only save."""
    rented = replace(case, sources=case.sources[case.sources["kind"] == "rent"].reset_index(drop=True))
    together = solved(rented)[0].objective
    alone = 0.0
    for name in case.services["service"]:
        one = replace(rented, services=case.services[case.services["service"] == name].reset_index(drop=True))
        one = replace(one, layouts=case.layouts[case.layouts["service"] == name].reset_index(drop=True))
        alone += solved(one)[0].objective
    assert together <= alone + 1e-6
    assert np.isfinite(together)
