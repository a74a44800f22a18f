"""The ledger of every plan: whoever adds the cost lines up and discounts them gets what summary.json says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from openpyxl import load_workbook
from test_cost import ONE_PER_CENT_A_MONTH, priced
from test_hourly import SIZES, WEEK

from reports.catalog.records import Catalog
from reports.cost import ledger
from reports.cost.hourly import Offer, table
from reports.cost.lines import COLUMNS
from reports.cost.timeline import evaluate
from reports.outputs import summary
from reports.pipeline import evaluate as evaluate_scenario
from reports.render import workbook
from reports.run import Run
from reports.scenario.read import read_scenario


@pytest.fixture(scope="module")
def run(catalog: Catalog, repository: Path) -> Run:
    return evaluate_scenario(read_scenario(repository / "scenarios" / "eight-a100-7b.yaml", catalog), catalog)


def test_net_present_value_from_the_files_alone(run: Run, tmp_path: Path) -> None:
    run.cost_lines.to_csv(tmp_path / "cost_lines.csv", index=False)
    (tmp_path / "summary.json").write_text(json.dumps(summary(run)), encoding="utf-8")
    # from here on only what the files say
    lines = pd.read_csv(tmp_path / "cost_lines.csv")
    said = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert list(lines.columns) == list(COLUMNS)
    assert set(lines["view"]) == {"cash", "pnl"}
    rate = (1 + said["annual_discount_rate"]) ** (1 / 12) - 1
    horizon = lines["month"].max()
    annuity = sum((1 + rate) ** -month for month in range(1, horizon + 1))
    lines["worth"] = lines["amount"] / (1 + rate) ** lines["month"]
    cash = lines[lines["view"] == "cash"].groupby(["candidate_id", "option"])["worth"].sum()
    plans = {(plan["candidate_id"], plan["option"]): plan for plan in said["options"]}
    assert set(cash.index) == set(plans)
    assert len(plans) == len(said["options"])
    for key, plan in plans.items():
        assert cash[key] == pytest.approx(plan["npv"], rel=1e-9)
        assert -cash[key] / annuity == pytest.approx(plan["equivalent_monthly_cost"], rel=1e-9)
        assert plan["currency"] == said["currency"] == lines["currency"].unique().item()
    assert [plan["option"] for plan in said["options"] if plan["chosen"]] == [
        each["way"] for each in said["recommendation"]
    ]
    beside = {"rent-following-load", "rent-spot", "buy-on-loan", "lease", "hybrid"}
    assert beside <= {option for _, option in plans}


def test_books_and_cash_of_every_plan_add_up_to_the_same(run: Run) -> None:
    sums = run.cost_lines.groupby(["candidate_id", "option", "view"])["amount"].sum().unstack("view")
    assert sums["pnl"].to_numpy() == pytest.approx(sums["cash"].to_numpy(), rel=1e-9)


def test_every_amount_is_its_quantity_times_its_price(run: Run) -> None:
    lines = run.cost_lines
    assert (lines["quantity"] * lines["unit_price"]).to_numpy() == pytest.approx(
        lines["amount"].abs().to_numpy(), rel=1e-9
    )
    assert (lines["source"] != "").all()


def test_every_break_even_is_put_back_in_the_checks(run: Run, tmp_path: Path) -> None:
    workbook.write(run, tmp_path / "workbook.xlsx")
    rows = list(load_workbook(tmp_path / "workbook.xlsx", data_only=True)["Checks"].iter_rows(values_only=True))
    ties = [row for row in rows if "put back" in str(row[0]) and row[4]]
    capex = run.shortlist["capex_amount"].max()
    assert len(ties) == 3 * len(run.shortlist)
    assert all(row[4] == "holds" and abs(row[2] - row[3]) <= 1e-6 * capex for row in ties)


def case(**change: Any) -> tuple[dict[str, Any], pd.DataFrame]:
    options = priced({**SIZES, "sized_cards": 32.0, **change})
    long, _ = evaluate(options)
    return {**options.iloc[0].to_dict(), **SIZES}, long


def worth(parts: list[ledger.Part], view: str, rate: float) -> float:
    return sum(
        float(part.amounts @ (1 + rate) ** -np.arange(len(part.amounts))) for part in parts if view in part.views
    )


@pytest.mark.parametrize("life", [60.0, 24.0])
def test_lines_of_owned_reserved_and_hourly_cards_are_worth_what_the_table_says(life: float) -> None:
    change = {
        "annual_discount_rate": ONE_PER_CENT_A_MONTH, "rent_price_ratio_per_year": 0.8, "vat_services_ratio": 0.06,
        "vat_goods_ratio": 0.13, "vat_recoverable_share": 0.4, "egress_price_per_gb": 0.3, "sla_credit_share": 0.02,
        "early_termination_share": 0.5,
        "service_life_months": life,
    }  # fmt: skip
    row, months = case(**change)
    by_hour, booked = Offer(14.0, 8.0, 0.0, "hour"), Offer(10.0, 8.0, 36.0, "year")
    for best in table(row, WEEK, by_hour, booked).to_dict("records"):
        parts = list(ledger.by_the_hour(row, months, best, by_hour, booked))
        assert worth(parts, "cash", 0.01) == pytest.approx(-best["present_cost_amount"], rel=1e-9)
        assert worth(parts, "pnl", 0.0) == pytest.approx(worth(parts, "cash", 0.0), rel=1e-9)


def test_the_reserve_of_spot_is_a_line() -> None:
    row, months = case()
    best = {"owned_servers": 0.0, "reserved_instances": 0.0, "card_hours_per_month": 100.0}
    parts = {part.line: part for part in ledger.by_the_hour(row, months, best, Offer(12.5, 8.0), None, 0.25)}
    assert parts["rent"].amounts[1] == pytest.approx(-1_000)  # 100 h at the quoted 10
    assert parts["interruption-reserve"].amounts[1] == pytest.approx(-250)
    assert parts["rent"].amounts[0] == 0


def test_interest_of_a_loan_by_hand() -> None:
    # 1 % a month; the first month owes 80 % of the outlay
    row, months = case(loan_rate_per_year=0.12, loan_down_share=0.2)
    owed, paid = 0.8 * row["capex_amount"], row["loan_amount_per_month"]
    interest = months["loan_interest_amount"].to_numpy()
    for month in range(1, 37):
        assert interest[month] == pytest.approx(-owed * 0.01)
        owed = owed * 1.01 - paid
    assert owed == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("advance", [0.0, 1.0])
def test_right_of_use_and_interest_of_a_lease_by_hand(advance: float) -> None:
    row, months = case(lease_rate_per_year=0.12, lease_in_advance_flag=advance)
    paid = row["lease_amount_per_month"]
    right = paid * sum(1.01**-month for month in (range(36) if advance else range(1, 37)))
    assert months["lease_right_pnl_amount"].to_numpy()[1:] == pytest.approx(-right / 36)
    liability = right - paid * advance  # after the payment on day 0
    for month in range(1, 37):
        assert months["lease_interest_amount"].to_numpy()[month] == pytest.approx(-liability * 0.01, abs=1e-4)
        liability = liability * 1.01 - (paid if month < 36 or not advance else 0)
    assert liability == pytest.approx(0, abs=1e-4)
    spent = (months["lease_right_pnl_amount"] + months["lease_interest_amount"]).sum()
    assert spent == pytest.approx(-36 * paid)
