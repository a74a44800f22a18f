"""The purchase itself: bill, days, payments, budget, quotes and costs per unit, by examples worked by hand."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.catalog.records import Catalog
from reports.cost import comparison, payments
from reports.cost.bill import CONTRACTS, COST_LINES, OUTLAY
from reports.errors import InputError
from reports.formulas import per_unit, purchase
from reports.pipeline import evaluate
from reports.run import Run
from reports.scenario.buying import quarter_of
from reports.scenario.read import read_scenario
from reports.units import day_number, day_of


def day(text: str) -> int:
    return day_number(datetime.date.fromisoformat(text))


@pytest.fixture(scope="module")
def run(repository: Path, catalog: Catalog) -> Run:
    sets = ("budget.amount=500000", "budget.next=700000", "budget.needed_by=2027-06-01")
    return evaluate(read_scenario(repository / "scenarios" / "capacity-proposal.yaml", catalog, sets=sets), catalog)


# Formulas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("servers", "adapters", "switches", "cables"),
    [(1, 0, 0, 0), (2, 4, 1, 4), (32, 64, 1, 64), (40, 80, 5, 160)],
)
def test_pieces_of_the_network(servers: int, adapters: int, switches: int, cables: int) -> None:
    """Two adapters a server, 64 ports a switch. 80 adapters: ceil(80 / 32) = 3 leaves, ceil(80 / 64) = 2 spines."""
    found = purchase.network_adapter_pieces(servers, 2)
    assert found == adapters
    assert purchase.network_switch_pieces(found, 64) == switches
    assert purchase.network_cable_pieces(found, 64) == cables
    assert purchase.network_optic_pieces(cables, 2) == 2 * cables


def test_the_network_budget_is_shared_out_by_list_prices() -> None:
    """4 x 1800 + 30000 + 8 x 700 + 4 x 100 = 43,200; a budget of 86,400 pays twice that."""
    listed = purchase.network_list_amount(4, 1800, 1, 30000, 8, 700, 4, 100)
    assert listed == 43_200
    ratio = purchase.network_budget_ratio(86_400, listed)
    assert ratio == 2
    amounts = (
        purchase.network_adapters_amount(4, 1800, ratio), purchase.network_switches_amount(1, 30000, ratio),
        purchase.network_optics_amount(8, 700, ratio), purchase.network_cables_amount(4, 100, ratio),
    )  # fmt: skip
    assert amounts == (14_400, 60_000, 11_200, 800)


@pytest.mark.parametrize(
    ("needed", "arrives", "servers", "network", "late"),
    [
        ("", "2027-02-08", "2026-12-14", "2026-11-30", 0),
        ("2027-06-01", "2027-06-01", "2027-04-06", "2027-03-23", 0),
        ("2027-01-01", "2027-02-08", "2026-12-14", "2026-11-30", 38),
    ],
)
def test_days_of_order_and_delivery(needed: str, arrives: str, servers: str, network: str, late: int) -> None:
    """Servers take 8 weeks, the network 10: what is ordered on 30 November arrives 70 days later."""
    wanted = day(needed) if needed else 0
    arrival = purchase.arrival_day(wanted, day("2026-11-30"), 8, 10)
    assert arrival == day(arrives)
    assert purchase.server_order_day(arrival, 8) == day(servers)
    assert purchase.network_order_day(arrival, 10) == day(network)
    assert purchase.late_days(arrival, wanted) == late


def test_days_count_as_spreadsheets_do() -> None:
    assert day_number(datetime.date(2026, 11, 30)) == 46356  # Excel and LibreOffice show 46356 as 2026-11-30
    assert day_of(46356) == datetime.date(2026, 11, 30)


def test_payments() -> None:
    """30 % of a million, then 90 and 10 % of the other 700,000."""
    deposit = purchase.deposit_amount(1e6, 0.3)
    assert deposit == 300_000
    assert purchase.delivery_payment_amount(1e6, deposit, 0.1) == pytest.approx(630_000)
    assert purchase.acceptance_payment_amount(1e6, deposit, 0.1) == pytest.approx(70_000)
    assert purchase.deposit_day(day("2026-12-14"), 30) == day("2027-01-13")
    assert purchase.delivery_payment_day(day("2027-02-08"), 30) == day("2027-03-10")
    assert purchase.acceptance_payment_day(day("2027-02-08"), 30, 30) == day("2027-04-09")


def test_what_the_next_money_buys() -> None:
    """A million buys two servers of 400,000: 16 cards, three units of five cards with 20 requests each."""
    servers = purchase.next_servers(1e6, 400_000)
    cards = purchase.next_cards(servers, 8)
    assert (servers, cards, purchase.next_concurrency(cards, 5, 20)) == (2, 16, 60)


def test_costs_per_unit() -> None:
    """730 a month, 10 million tokens out, three in for one out, 20 seats, 8 cards of a kilowatt at half idle power."""
    assert per_unit.all_mtok_per_month(10, 3000, 1000) == 40
    assert per_unit.rent_all_amount_per_mtok(730, 40) == 18.25
    assert per_unit.buy_all_amount_per_mtok(730, 40) == 18.25
    assert per_unit.rent_amount_per_seat_month(730, 20) == 36.5
    assert per_unit.buy_amount_per_card_month(730, 8) == 91.25
    energy = per_unit.rent_energy_kwh_per_month(8, 8, 8, 0.5, 0.5, 1.25)  # 8 kW x 0.75 x 1.25 x 730 h
    assert energy == pytest.approx(5475)
    assert per_unit.rent_energy_kwh_per_mtok(energy, 10) == pytest.approx(547.5)
    assert per_unit.rent_emissions_kg_per_month(energy, 0.4) == pytest.approx(2190)
    assert per_unit.buy_emissions_kg_per_mtok(2190, 10) == pytest.approx(219)


amount = st.floats(0, 1e9)


@given(amount, st.integers(2, 500), st.integers(1, 8), st.integers(16, 128), st.floats(0, 2), amount, amount)
def test_a_bill_always_adds_up(
    network: float, servers: int, adapters: int, ports: int, optics: float, hardware: float, tax: float
) -> None:
    nics = purchase.network_adapter_pieces(servers, adapters)
    cables = purchase.network_cable_pieces(nics, ports)
    pieces = (nics, purchase.network_switch_pieces(nics, ports), purchase.network_optic_pieces(cables, optics), cables)
    prices = (1800.0, 30_000.0, 700.0, 100.0)
    both = [each for pair in zip(pieces, prices, strict=True) for each in pair]
    ratio = purchase.network_budget_ratio(network, purchase.network_list_amount(*both))
    parts = [
        formula(count, price, ratio)
        for formula, count, price in zip(
            (purchase.network_adapters_amount, purchase.network_switches_amount, purchase.network_optics_amount,
             purchase.network_cables_amount), pieces, prices, strict=True)
    ]  # fmt: skip
    total = purchase.bill_outlay_amount(hardware, *parts, 0, 0, 0, tax)
    assert total == pytest.approx(hardware + network + tax, rel=1e-9)
    assert all(part >= 0 for part in parts)


@given(st.floats(1, 1e9), st.floats(0, 1), st.floats(0, 1))
def test_payments_always_pay_the_outlay(outlay: float, deposit: float, held: float) -> None:
    first = purchase.deposit_amount(outlay, deposit)
    rest = [pay(outlay, first, held) for pay in (purchase.delivery_payment_amount, purchase.acceptance_payment_amount)]
    assert first + sum(rest) == pytest.approx(outlay)
    assert min(first, *rest) >= 0


# An evaluated scenario -------------------------------------------------------------------------------------------


def test_every_bill_is_its_cost_lines(run: Run) -> None:
    lines = run.cost_lines[(run.cost_lines["option"] == "buy") & (run.cost_lines["view"] == "cash")]
    checked = 0
    for _, option in run.shortlist.iterrows():
        own = run.bill[run.bill["option_id"] == option["option_id"]]
        paid = lines[lines["candidate_id"] == option["candidate_id"]]
        for part, names in COST_LINES.items():
            known = paid[paid["line"].isin(names) & ((paid["month"] == 0) | (part == CONTRACTS))]
            assert own.loc[own["part"] == part, "amount"].sum() == pytest.approx(-known["amount"].sum())
            checked += len(own) > 0
    assert checked >= 4
    for row in run.bill[run.bill["amount"] > 0].to_dict("records"):
        assert row["quantity"] * row["unit_price"] == pytest.approx(row["amount"])
    days = run.bill.loc[(run.bill["item"] == "servers") & run.bill["recommended"], "order_date"]
    assert list(days) == ["2027-04-06"]  # 8 weeks before 1 June


def test_the_cash_plan_pays_the_bill(run: Run) -> None:
    bought = run.bill[run.bill["recommended"] & (run.bill["part"] == OUTLAY)]
    assert run.cash_plan["amount"].sum() == pytest.approx(bought["amount"].sum())
    # ordered on 6 April, delivered on 1 June, accepted on 1 July; each invoice is due 30 days later
    assert list(run.cash_plan["quarter"]) == ["2027-Q2", "2027-Q3", "2027-Q3"]
    assert payments.quarters(run.scenario, run.cash_plan, 1) == ["2026-Q4", "2027-Q1", "2027-Q2", "2027-Q3", "2027-Q4"]


def test_what_fits_the_budget(run: Run) -> None:
    """Two servers are needed; half a million buys one of them, 700,000 two more."""
    (row,) = run.budget_fits.to_dict("records")
    each = row["outlay_amount"] / 2
    assert 250_000 < each < 350_000
    assert (row["fitting_servers"], row["servers_needed"], row["fits"]) == (1, 2, False)
    assert row["lacking_amount"] == pytest.approx(each)
    assert (row["next_servers"], row["next_cards"]) == (2, 16)


def test_a_budget_serves_one_service_after_another(run: Run) -> None:
    """1.5 million: two servers of 400,000 first; 700,000 are left and buy two of three servers of 300,000."""
    common = {"next_servers": 0, "next_cards": 0, "next_concurrency": 0}
    options = [
        {"service": "a", "option_id": "a", "capex_amount": 8e5, "outlay_per_server_amount": 4e5, "servers_needed": 2},
        {"service": "b", "option_id": "b", "capex_amount": 9e5, "outlay_per_server_amount": 3e5, "servers_needed": 3},
    ]
    frame = payments.fits([{**each, **common} for each in options], 1.5e6)
    assert list(frame["left_budget_amount"]) == [1.5e6, 7e5]
    assert list(frame["fitting_servers"]) == [2, 2]
    assert list(frame["lacking_amount"]) == [0, 3e5]
    assert list(frame["fits"]) == [True, False]
    free = payments.fits([{**each, **common} for each in options], 0.0)
    assert list(free["fits"]) == [True, True]
    assert free["left_budget_amount"].isna().all()


def test_quotes_are_compared_at_equal_targets(run: Run) -> None:
    winner = run.winners().iloc[0]
    quotes = run.quotes
    assert 2 <= len(quotes) <= comparison.MOST
    assert set(quotes["way"]) == {"rent", "buy"}
    assert quotes["equivalent_amount_per_month"].is_monotonic_increasing
    for way in ("rent", "buy"):
        (used,) = quotes[(quotes["way"] == way) & quotes["used"]].to_dict("records")
        assert used["npv_amount"] == pytest.approx(winner[f"{way}_npv_amount"])
    for row in quotes[quotes["way"] == "rent"].to_dict("records"):
        assert row["cards"] >= winner["sized_cards"]
        taxed = row["cards"] * row["price"] * 730  # a quote in the currency of the scenario, no tax on services there
        assert row["amount_per_month"] == pytest.approx(taxed)
    assert all("valid_until" in row.split() for row in quotes["missing"])
    assert not comparison.excuses(run).empty


def test_summary_has_costs_per_unit_and_the_purchase(run: Run) -> None:
    from reports.outputs import summary

    data = summary(run)
    (best,) = data["recommendation"]
    winner = run.winners().iloc[0]
    seats = best["buy_amount_per_seat_month"] * winner["demand_concurrency"]
    assert seats == pytest.approx(best["buy_equivalent_amount_per_month"])
    assert best["rent_all_amount_per_mtok"] < best["rent_amount_per_mtok"]
    assert {"bill", "cash_plan", "budget", "quotes"} == set(data["purchase"])
    assert data["purchase"]["bill"][0]["item"] == "servers"


# Input -----------------------------------------------------------------------------------------------------------


def written(repository: Path, folder: Path, budget: str) -> Path:
    text = (repository / "scenarios" / "capacity-proposal.yaml").read_text()
    path = folder / "own.yaml"
    path.write_text(text + "\nbudget:\n" + budget)
    return path


def test_a_budget_may_be_in_another_currency(repository: Path, catalog: Catalog, tmp_path: Path) -> None:
    """6.7394 yuan a dollar since August 2026."""
    path = written(repository, tmp_path, "  amount: 6739400\n  currency: CNY\n  by_quarter: {2027-Q1: 673940}\n")
    budget = read_scenario(path, catalog).budget
    assert budget.amount == pytest.approx(1e6)
    assert budget.by_quarter["2027-Q1"] == pytest.approx(1e5)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("  amount: -5\n", "expected more than 0"),
        ("  amount: 10\n  by_quarter: {2027-Q1: 7, 2027-Q2: 4}\n", "adds up to 11"),
        ("  by_quarter: {2027-Q5: 7}\n", "2027-Q5"),
        ("  by_quarter: {2026-Q3: 7}\n", "over before the report"),
        ("  needed_by: 2026-11-01\n", "over before the report"),
        ("  next: 0\n", "expected more than 0"),
        ("  currency: JPY\n", "CNY"),
        ("  amuont: 5\n", "amount"),
    ],
)
def test_a_bad_budget_is_named_with_its_line(
    repository: Path, catalog: Catalog, tmp_path: Path, budget: str, said: str
) -> None:
    path = written(repository, tmp_path, budget)
    with pytest.raises(InputError) as caught:
        read_scenario(path, catalog)
    text = "\n".join(map(str, caught.value.problems))
    assert re.search(r"own\.yaml:\d+", text), text
    assert said in text


def test_quarters() -> None:
    assert quarter_of(datetime.date(2026, 12, 31)) == "2026-Q4"
    assert payments.days_of("2027-Q1") == (datetime.date(2027, 1, 1), datetime.date(2027, 3, 31))
    assert np.diff([each.toordinal() for each in payments.days_of("2028-Q1")]) == 90  # a leap year
