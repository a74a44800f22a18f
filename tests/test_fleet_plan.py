"""The fleet stage on real cards: where its amounts come from, what it says of each entry, and what it cannot serve."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scenario_text import problems, read

from reports import pipeline
from reports.catalog.records import Catalog
from reports.cost.room import refuse
from reports.fleet import given
from reports.fleet.plan import LATER, NO_OPTION, PLAN, PRESENT_ONLY, stage
from reports.fleet.sources import _machines, sources
from reports.render import view_growth
from reports.render.i18n import translator
from reports.render.wording import Wording
from reports.run import Run

TEXT = """\
title: {en: A pool}
period: 2026-11
currency: CNY
region: china
workload:
  input_tokens: 512
  output_tokens: 256
targets: {tpot_ms: 50, ttft_ms: 2000}
services:
  - {name: chat, model: qwen2.5-7b-instruct, tier: 1, demand: {peak_concurrency: 900}}
  - {name: code, model: qwen3-32b, tier: 2, demand: {peak_concurrency: 300, growth: {2027-03: 600}}}
matrix:
  quantization: [fp8]
  gpu: [h20-96gb, l40s]
  count: [1, 2, 4]
  interconnect: [nvlink, pcie]
prices: {regions: [china, global]}
fleet:
  - {gpu: l40s, cards: 12, age_months: 24, book_value: 300000}
  - {gpu: h20-96gb, cards: 8, kind: leased, lease_ends: 2027-06-30, amount_per_month: 60000}
room: {power_kw: 60, racks: 4, kw_per_rack: 15, units_per_rack: 40}
"""


@pytest.fixture(scope="module")
def run(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return pipeline.evaluate(read(tmp_path_factory.mktemp("fleet"), catalog, TEXT), catalog)


def of(frame: pd.DataFrame, plan: str = PLAN) -> pd.DataFrame:
    return frame[frame["plan"] == plan]


def figure(run: Run, key: str) -> float:
    return float(run.fleet_summary.set_index("key").loc[key, "value"])


# ---- what adds up ----


@pytest.mark.parametrize("plan", [PLAN, LATER, PRESENT_ONLY])
def test_amounts_and_cards_of_uses_and_sources_add_up(run: Run, plan: str) -> None:
    uses, pools = of(run.fleet, plan), of(run.fleet_pools, plan)
    assert uses["amount"].sum() == pytest.approx(pools["amount"].sum())
    assert uses["cards"].sum() == pytest.approx(pools["cards"].sum())
    assert uses.loc[uses["service"] != "", "cards"].sum() == pytest.approx(pools["used_cards"].sum())
    assert figure(run, f"{plan}.amount_per_month") == pytest.approx(pools["amount"].sum())


def test_every_present_card_is_kept_or_released(run: Run) -> None:
    """12 L40S stand in a server of 8 and one of 4; 8 H20 in one."""
    pools = of(run.fleet_pools)
    present = pools[pools["kind"].isin(["owned", "leased"])]
    assert present.groupby("gpu")["cards"].sum().to_dict() == {"l40s": 12, "h20-96gb": 8}
    assert set(present["source"]) <= {"keep", "release"}


def test_a_lease_is_paid_whether_it_is_used_or_not(run: Run) -> None:
    for plan in (PLAN, PRESENT_ONLY):
        assert of(run.fleet_pools, plan)["committed_amount"].sum() == pytest.approx(60000)


def test_a_year_on_the_lease_is_over_and_the_demand_has_grown(run: Run) -> None:
    later = of(run.fleet_pools, LATER)
    assert "leased" not in set(later["kind"])
    assert set(later["month"]) == {"2027-11"}
    demand = of(run.fleet_services, LATER).set_index("service")["demand_concurrency"]
    assert demand.to_dict() == pytest.approx({"chat": 900.0, "code": 600.0})
    assert later.loc[later["kind"] == "owned", "age_months"].unique().tolist() == [36.0]


def test_services_carry_their_demand(run: Run) -> None:
    """Units times capacity, worked from the frame, reach the demand that the scenario states."""
    uses = of(run.fleet)
    uses = uses[uses["service"] != ""]
    carried = (uses["load_units"] * uses["capacity"]).groupby(uses["service"]).sum()
    assert carried["chat"] >= 900
    assert carried["code"] >= 300
    assert (of(run.fleet_services)["served_share"] == 1).all()


def test_an_entry_of_twelve_cards_is_two_servers(run: Run) -> None:
    pools = of(run.fleet_pools, PRESENT_ONLY)
    assert set(pools.loc[pools["gpu"] == "l40s", "machine_cards"]) == {8.0, 4.0}


# ---- where amounts come from ----


def test_a_bought_server_costs_half_of_two(run: Run, catalog: Catalog) -> None:
    """The option that buys two servers has the same level payment as two servers of the pool."""
    found = sources(run.scenario, catalog, run.candidates).set_index("source")
    option = run.options[(run.options["gpu"] == "h20-96gb") & (run.options["servers_needed"] > 1)].iloc[0]
    each = option["buy_equivalent_amount_per_month"] / option["servers_needed"]
    assert found.loc["buy.h20-96gb", "amount"] == pytest.approx(each)
    assert found.loc["buy.h20-96gb", "capex_amount"] == pytest.approx(option["capex_amount"] / option["servers_needed"])


def test_a_rented_instance_costs_what_an_option_pays_for_one(run: Run, catalog: Catalog) -> None:
    found = sources(run.scenario, catalog, run.candidates)
    options = run.options[run.options["offer_id"] != ""]
    checked = 0
    for option in options.to_dict("records"):
        same = found[(found["offer_id"] == option["offer_id"])]
        if len(same):
            each = option["rent_equivalent_amount_per_month"] / option["rented_instances"]
            assert same["amount"].iloc[0] == pytest.approx(each)
            checked += 1
    assert checked


def test_owned_servers_cost_their_running(run: Run, catalog: Catalog) -> None:
    """A server of 4 costs half of one of 8; none has an outlay; what is leased is maintained by the lessor."""
    found = sources(run.scenario, catalog, run.candidates).set_index("source")
    whole, half = found.loc["owned.1a.l40s"], found.loc["owned.1b.l40s"]
    assert (whole["machine_cards"], half["machine_cards"]) == (8, 4)
    assert half["amount"] == pytest.approx(whole["amount"] / 2)
    assert half["power_kw"] == pytest.approx(whole["power_kw"] / 2)
    assert whole["power_kw"] == pytest.approx(4.5 * 1.3)  # kW of the server, PUE of the region
    assert whole["capex_amount"] == 0
    assert whole["rack_machines"] == 3  # 15 kW hold three of 4.5, 40 units ten of 4
    option = run.options[(run.options["gpu"] == "l40s") & (run.options["servers_needed"] > 0)].iloc[0]
    parts = ("energy", "colocation", "maintenance")
    running = sum(option[f"{part}_amount_per_month"] for part in parts) / option["servers_needed"]
    assert whole["amount"] == pytest.approx(running)  # no tax is left over: VAT is recovered
    leased = found.loc["leased.2.h20-96gb"]
    h20 = run.options[(run.options["gpu"] == "h20-96gb") & (run.options["servers_needed"] > 0)].iloc[0]
    hosted = sum(h20[f"{part}_amount_per_month"] for part in parts[:2]) / h20["servers_needed"]
    assert leased["amount"] == pytest.approx(hosted)  # the lessor maintains


@pytest.mark.parametrize(
    ("cards", "servers", "expected"),
    [
        (12, None, [(1, 8), (1, 4)]), (16, None, [(2, 8)]), (4, None, [(1, 4)]), (12, 2, [(2, 6)]),
        (11, 2, [(1, 6), (1, 5)]),
    ],
)
def test_cards_stand_in_whole_servers(cards: int, servers: int | None, expected: list[tuple[int, int]]) -> None:
    assert _machines(cards, servers, 8) == expected


# ---- the answer the other way round ----


@pytest.mark.parametrize(
    ("cards", "tensor", "stages", "replicas"),
    [
        (20, 4, 1, 5),  # two full servers hold two each, the four cards left one
        (20, 8, 1, 2),  # one in each full server; four cards hold none
        (20, 8, 2, 1),  # two stages of 8 in two servers
        (20, 3, 1, 5),  # two in each full server, one in the rest
        (7, 8, 1, 0),
    ],
)
def test_what_given_cards_hold(catalog: Catalog, cards: int, tensor: int, stages: int, replicas: int) -> None:
    """Servers of 8: worked by hand. A unit of two replicas carries 60, one replica 30, in 3 s each."""
    candidates = pd.DataFrame(
        {
            "service": ["s"], "quantization": ["fp8"], "gpu": ["h20-96gb"], "interconnect": ["nvlink"],
            "candidate_id": ["c"], "feasible": [True], "tensor_parallel": [tensor], "data_parallel": [1.0],
            "pipeline_parallel": [stages], "replicas": [2.0], "recommended_concurrency": [60.0],
            "request_time_s": [3.0], "demand_concurrency": [120.0],
        }
    )  # fmt: skip
    row = given.best(given.carried(candidates, {"h20-96gb": float(cards)}, catalog)).iloc[0]
    assert row["given_replicas"] == replicas
    assert row["given_concurrency"] == replicas * 30
    assert row["given_requests_per_s"] == pytest.approx(replicas * 10)
    assert row["given_demand_share"] == pytest.approx(replicas * 0.25)


def test_given_cards_of_the_run(run: Run) -> None:
    """Every service on every card that is there; no layout carries more than the one named."""
    assert set(map(tuple, run.given[["service", "gpu"]].to_numpy())) == {
        (service, gpu) for service in ("chat", "code") for gpu in ("l40s", "h20-96gb")
    }
    whole = given.carried(run.candidates, given.given_cards(run.scenario), run.catalog)
    most = whole.groupby(["service", "gpu"], observed=True)["given_concurrency"].max()
    for row in run.given.itertuples():
        assert row.given_concurrency == most[row.service, row.gpu]


# ---- what cannot be ----


def test_without_services_and_fleet_nothing_is_planned(run: Run) -> None:
    bare = replace(run, scenario=run.scenario.model_copy(update={"services": (), "fleet": ()}),
                   fleet=run.fleet.iloc[:0])  # fmt: skip
    assert stage(bare) is bare


def test_a_service_that_no_card_serves_is_named_with_the_closest(catalog: Catalog, tmp_path: Path) -> None:
    """One token in a microsecond: no card; the other service is planned all the same."""
    text = TEXT.replace("tier: 2, demand", "tier: 2, targets: {tpot_ms: 0.001}, demand")
    found = pipeline.evaluate(read(tmp_path, catalog, text), catalog)
    rows = of(found.fleet_services).set_index("service")
    assert rows.loc["code", "reason"] == NO_OPTION
    assert rows.loc["code", "reason_values"]["option"].startswith("code.fp8.")
    assert rows.loc["code", "reason_values"]["code"] == "tpot-target"
    assert rows.loc["chat", "served_share"] == 1


def test_a_room_that_is_too_small_serves_tier_one_first(catalog: Catalog, tmp_path: Path) -> None:
    """Nothing is rented; 9 kW power one server of 8 L40S (5.85 kW): tier 2 goes short, and power is named."""
    text = TEXT.replace("power_kw: 60", "power_kw: 9").replace("fleet:", "costs: {compare: [buy]}\nfleet:")
    found = pipeline.evaluate(read(tmp_path, catalog, text), catalog)
    rows = of(found.fleet_services).set_index("service")["served_share"]
    assert rows["code"] < 1
    limits = of(found.fleet_limits).set_index("resource")
    assert limits.loc["power_kw", "lacking"] > 0
    assert limits.loc["power_kw", "used"] <= 9
    assert bool(limits.loc["power_kw", "alone"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tier: 1", "tier: 1.5", "services[0].tier: cannot be used; read 1.5; expected a whole number"),
        ("gpu: l40s, cards: 12", "gpu: l40z, cards: 12", 'unknown gpu "l40z"; did you mean'),
        ("lease_ends: 2027-06-30", "lease_ends: 2026-06-30",
         "fleet[1].lease_ends: is over before the report is made; read 2026-06-30; expected a day from 2026-11-30 on"),
        ("power_kw: 60", "power_kw: 0", "room.power_kw: is out of range; read 0; expected more than 0"),
        ("gpu: [h20-96gb, l40s]", "gpu: [h20-96gb]", 'fleet[0].gpu: is not in matrix.gpu; read "l40s"'),
        ("cards: 12, age_months", "cards: 12, servers: 1, age_months",
         "fleet[0].cards: do not fit into these servers; read 12; expected at most 8 cards in 1 servers of 8"),
    ],
)  # fmt: skip
def test_bad_input(catalog: Catalog, tmp_path: Path, old: str, new: str, message: str) -> None:
    found = problems(tmp_path, catalog, TEXT.replace(old, new, 1))
    assert len(found) == 1
    assert message in found[0]


# ---- the room and a single option ----


def housed(run: Run, catalog: Catalog, room: str, **option: float) -> dict[str, object]:
    """One option in a room: three servers of 8 H20 at 6.5 kW and 8 units each, PUE 1.3."""
    from reports.scenario.operations import Room

    key, value = room.split("=")
    scenario = run.scenario.model_copy(update={"room": Room.model_validate({key: float(value)})})
    row = {
        "gpu": "h20-96gb", "host": "hgx-h20", "tensor_parallel": 4.0, "data_parallel": 1.0,
        "stage_servers": 1.0, "server_cards": 8.0,
        "server_power_kw": 6.5, "pue": 1.3, "sized_cards": 24.0, "purchase_id": "p", "server_price": 1.0,
        "server_exchange_rate": 1.0, "server_exchange_id": "CNY/CNY", "buy_reason": "", "buy_reason_values": {},
        **option,
    }  # fmt: skip
    frame = pd.DataFrame([row])
    frame["buy_reason_values"] = [{}]
    return dict(refuse(frame, scenario, catalog).iloc[0])


@pytest.mark.parametrize(
    ("room", "code", "values"),
    [
        ("power_kw=25", "room-power", {"servers": 3.0, "power_kw": 3 * 6.5 * 1.3, "limit_kw": 25.0}),
        ("cooling_kw=19", "room-cooling", {"servers": 3.0, "heat_kw": 19.5, "limit_kw": 19.0}),
        ("kw_per_rack=6", "rack-power", {"server_kw": 6.5, "limit_kw": 6.0}),
        ("units_per_rack=7", "rack-units", {"server_units": 8.0, "limit_units": 7.0}),
    ],
)
def test_servers_that_cannot_be_housed_are_not_bought(
    run: Run, catalog: Catalog, room: str, code: str, values: dict[str, float]
) -> None:
    found = housed(run, catalog, room)
    assert found["buy_reason"] == code
    assert found["buy_reason_values"] == pytest.approx(values)
    assert np.isnan(found["server_price"])
    assert found["purchase_id"] == ""


@pytest.mark.parametrize("room", ["power_kw=26", "cooling_kw=20", "kw_per_rack=7", "units_per_rack=8"])
def test_servers_that_fit_are_bought(run: Run, catalog: Catalog, room: str) -> None:
    found = housed(run, catalog, room)
    assert (found["buy_reason"], found["server_price"], found["purchase_id"]) == ("", 1.0, "p")


def test_an_option_that_cannot_be_powered_is_rented(catalog: Catalog, tmp_path: Path) -> None:
    """A room of 5 kW: not one server of either card (8.45 and 5.85 kW with cooling) can be bought."""
    text = TEXT[: TEXT.index("fleet:")] + "room: {power_kw: 5}\n"
    found = pipeline.evaluate(read(tmp_path, catalog, text), catalog)
    able = found.options[found.options["feasible"]]
    assert set(able["buy_reason"]) == {"room-power"}
    assert able["buy_equivalent_amount_per_month"].isna().all()
    assert set(found.winners()["way"]) == {"rent"}
    assert found.winners()["monthly_cost_amount"].notna().all()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_growth_page_says_where_the_plan_uses_other_cards(run: Run, language: str) -> None:
    """As it is, and with every use of the plan put on a card that no winner has."""
    translate = translator(language)
    for fleet in (run.fleet, run.fleet.assign(gpu="b300")):
        words = Wording(replace(run, fleet=fleet), language, translate)
        said = view_growth.alone(words, run.winners().to_dict("records"))
        for row in run.winners().to_dict("records"):
            used = of(fleet)[(of(fleet)["service"] == row["service"]) & (of(fleet)["cards"] > 0)]
            other = len(used) > 0 and set(used["gpu"]) != {row["gpu"]}
            assert (words.service(row["service"]) in said) == other, said
            if other:
                numbers = [f"{row['sized_cards']:g} ×", *(f"{n:g} ×" for n in used.groupby("gpu")["cards"].sum())]
                assert all(number in said for number in numbers), said
    translate.require_complete()
