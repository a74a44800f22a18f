"""Spares and availability: cases worked by hand, the least spares proved, and the spreadsheet form recalculated."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook
from recalculate import recalculate, same, values
from scenario_text import GOOD, problems, read

from reports.catalog.records import Catalog
from reports.evaluate import evaluate_frame
from reports.formulas import resilience
from reports.formulas.meta import binomial_tail, formula
from reports.given import stated_assumptions
from reports.plan import spares
from reports.render.translate import to_excel, to_latex


def option(**changes: float) -> dict[str, float]:
    """One option: 100 requests on units of 25 each, a unit fills a server, cards never fail, servers work 99 %."""
    stated = {
        "units_needed": 4.0, "unit_cards": 8.0, "server_cards": 8.0, "recommended_concurrency": 25.0,
        "demand_concurrency": 100.0, "safety_factor": 0.8, "card_failures_per_year": 0.0, "card_repair_h": 24.0,
        "server_failures_per_year": 1.0, "server_repair_h": 8760 / 99, "availability_target_share": 0.0,
        "spare_policy_units": 0.0, "spare_policy_servers": 0.0, "surge_share": 0.0, "development_share": 0.0,
        "startup_minutes": 10.0,
    }  # fmt: skip
    return stated | changes


def sized(*options: dict[str, float]) -> pd.DataFrame:
    return evaluate_frame(spares.size(pd.DataFrame(options)), (spares.PROOF,))


def test_binomial_tail_by_hand() -> None:
    # 4 of 5 at 0.9: 5 x 0.9^4 x 0.1 + 0.9^5 = 0.32805 + 0.59049
    assert binomial_tail(4, 5, 0.9) == pytest.approx(0.91854, rel=1e-12)
    assert binomial_tail([0, 3, 6, 1], [5, 3, 5, 0], [0.9, 0.9, 0.9, 0.9]).tolist() == pytest.approx([1, 0.729, 0, 0])
    assert np.isnan(binomial_tail([np.nan, 1], [2, 2], [0.5, np.nan])).all()


def test_availability_of_a_card_by_hand() -> None:
    # one failure in two years, 87.6 h of repair: 43.8 h of 8,760 + 43.8
    assert resilience.card_availability_share(0.5, 87.6) == pytest.approx(8760 / 8803.8, rel=1e-12)


def test_four_units_and_one_spare() -> None:
    # units of 0.99: 4 of 5 up is 0.99^4 x (0.99 + 5 x 0.01) = 0.96059601 x 1.04; without a spare 0.99^4
    row = sized(option(spare_policy_units=1)).iloc[0]
    assert row["sized_units"] == 5
    assert row["sized_cards"] == 40
    assert row["availability_share"] == pytest.approx(0.9990198504, rel=1e-12)
    assert row["fewer_availability_share"] == pytest.approx(0.96059601, rel=1e-12)
    assert row["card_loss_left_share"] == pytest.approx(1.0)
    assert row["server_loss_left_share"] == pytest.approx(1.0)
    assert row["card_loss_limit_share"] == pytest.approx(1.25), "a headroom of 20 % is a quarter more"


def test_cards_of_a_unit_fail_with_it() -> None:
    # cards of 0.9, two a unit, server 0.99: the unit is up 0.9^2 x 0.99 of the time
    ninth = 8760 / 9
    row = sized(option(unit_cards=2, server_cards=2, units_needed=1, card_failures_per_year=1, card_repair_h=ninth))
    assert row["unit_availability_share"].iloc[0] == pytest.approx(0.8019, rel=1e-12)
    wide = sized(option(unit_cards=16, server_cards=8, units_needed=1))
    assert wide["availability_share"].iloc[0] == pytest.approx(0.99**2, rel=1e-12), "two servers, both must work"


def test_units_of_one_server_go_down_together() -> None:
    # two units a server, 2 needed, 2 spare: two servers of 0.99. All cards good: lost only when both servers are.
    row = sized(option(unit_cards=4, units_needed=2, spare_policy_servers=1)).iloc[0]
    assert row["spare_units"] == 2
    assert row["availability_share"] == pytest.approx(1 - 0.01**2, rel=1e-12)
    # units of 0.9 in servers of two: 0.9801 x P(2 of 4) + 0.0198 x 0.9^2; P(2 of 4) = 1 - 0.1^4 - 4 x 0.9 x 0.1^3
    weak = option(unit_cards=1, server_cards=2, units_needed=2, spare_policy_servers=1,
                  card_failures_per_year=1, card_repair_h=8760 / 9)  # fmt: skip
    assert sized(weak)["availability_share"].iloc[0] == pytest.approx(0.9801 * 0.9963 + 0.0198 * 0.81, rel=1e-12)


@pytest.mark.parametrize(("target", "least"), [(0.0, 0), (0.96, 0), (0.961, 1), (0.999, 1), (0.9995, 2)])
def test_least_spares_for_a_target(target: float, least: int) -> None:
    # 0 spares 0.96059601, 1 spare 0.9990198504, 2 spares 0.99998044641 (0.99^6 + 6 x 0.99^5/100 + 15 x 0.99^4/10^4)
    row = sized(option(availability_target_share=target)).iloc[0]
    assert row["spare_units"] == least
    assert row["availability_share"] >= target
    if least:
        assert row["fewer_availability_share"] < target
    if least == 2:
        assert row["availability_share"] == pytest.approx(0.99998044641, rel=1e-9)


def test_reasons_for_spares_do_not_add_up() -> None:
    # a card (1), a server of two units (2), a quarter of four units in a rolling update (1), availability (2): the most
    row = sized(option(unit_cards=4, spare_policy_units=1, spare_policy_servers=1, surge_share=0.25)).iloc[0]
    assert row["spare_units"] == 2
    assert sized(option(spare_policy_units=3, availability_target_share=0.9995)).iloc[0]["spare_units"] == 3


def test_development_is_paid_and_serves_nothing() -> None:
    row = sized(option(development_share=0.1)).iloc[0]
    assert row["development_units"] == 1
    assert row["sized_cards"] == 40
    assert row["sized_units"] == 4
    assert row["card_loss_left_share"] == pytest.approx(0.75)


def test_rolling_update() -> None:
    # five units, ten minutes each, one at a time: 50 minutes; two at a time with a surge of half of four units
    assert sized(option(spare_policy_units=1))["rolling_update_h"].iloc[0] == pytest.approx(50 / 60)
    assert sized(option(surge_share=0.5))["rolling_update_h"].iloc[0] == pytest.approx(6 * 10 / 2 / 60)


def test_what_is_not_known_stays_blank() -> None:
    row = sized(option(units_needed=np.nan, availability_target_share=0.99)).iloc[0]
    assert np.isnan(row["sized_cards"])
    assert np.isnan(row["availability_share"])


POLICIES = """\
policies: {spare: server, headroom_share: 0.3, startup_minutes: 5}
"""


def test_policies_state_assumptions(tmp_path: Path, catalog: Catalog) -> None:
    stated = stated_assumptions(read(tmp_path, catalog, GOOD + POLICIES))
    assert {name: value for name, (value, _) in stated.items()} == {
        "spare_policy_units": 0, "spare_policy_servers": 1, "safety_factor": 0.7, "startup_minutes": 5,
    }  # fmt: skip


def test_a_policy_and_its_assumption_together_are_refused(tmp_path: Path, catalog: Catalog) -> None:
    (found,) = problems(tmp_path, catalog, GOOD + POLICIES + "assumptions: {safety_factor: 0.9}\n")
    assert "policies.headroom_share: and assumptions.safety_factor say the same" in found


@given(
    needed=st.integers(1, 40), cards=st.sampled_from([1, 2, 4, 8, 16]), target=st.sampled_from([0.99, 0.999, 0.99999]),
    rate=st.floats(0.01, 2), hours=st.floats(1, 200),
)  # fmt: skip
def test_at_the_spares_the_target_holds_and_with_one_fewer_it_fails(
    needed: int, cards: int, target: float, rate: float, hours: float
) -> None:
    row = sized(
        option(units_needed=needed, unit_cards=cards, availability_target_share=target, card_failures_per_year=rate,
               card_repair_h=hours, server_failures_per_year=rate, server_repair_h=hours)
    ).iloc[0]  # fmt: skip
    assert row["availability_share"] >= target
    assert row["spare_units"] == 0 or row["fewer_availability_share"] < target


@given(needed=st.integers(1, 12), spare=st.integers(0, 6), cards=st.sampled_from([1, 2, 4]), up=st.floats(0.8, 0.999))
def test_the_availability_is_never_promised_too_high(needed: int, spare: int, cards: int, up: float) -> None:
    """Against the exact sum over every number of lost servers, the last one partly filled."""
    rate, hours = 1.0, 8760 * (1 / up - 1)
    row = sized(
        option(units_needed=needed, unit_cards=cards, spare_policy_units=spare, card_failures_per_year=rate,
               card_repair_h=hours, server_failures_per_year=rate, server_repair_h=hours)
    ).iloc[0]  # fmt: skip
    units, together = needed + spare, 8 // cards
    full, rest = divmod(units, together)
    exact = 0.0
    for lost in range(full + 1):
        of_full = binomial_tail(full - lost, full, up) - binomial_tail(full - lost + 1, full, up)
        for last_up in (0, 1) if rest else (1,):
            share = (up if last_up else 1 - up) if rest else 1.0
            left = (full - lost) * together + rest * last_up
            exact += float(of_full * share * binomial_tail(needed, left, up**cards))
    assert row["availability_share"] <= exact + 1e-12


@formula(unit="ratio", label="Tail")
def tail(a: Any, b: Any, c: Any) -> Any:
    """For the notations."""
    return binomial_tail(a - 1, b, c)


def test_notations_of_the_tail() -> None:
    excel = to_excel(tail, {"a": "A1", "b": "B1", "c": "C1"}.__getitem__)
    assert excel == "IF(A1-1<1,1,IF(A1-1>B1,0,1-BINOMDIST(MAX(A1-1-1,0),B1,C1,TRUE)))"
    assert to_latex(tail, {"a": "k", "b": "n", "c": "p"}.__getitem__) == (
        r"P\left(\mathrm{Bin}(n,\, p) \ge k - 1\right)"
    )


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice recalculates the tail")
def test_the_spreadsheet_computes_the_same_tail(tmp_path: Path) -> None:
    book = Workbook()
    page: Any = book.active
    cases = [(k, n, p) for k in (0, 1, 2, 5, 41, 200) for n in (0, 1, 4, 40, 300) for p in (0.5, 0.97, 0.99996)]
    for row, (k, n, p) in enumerate(cases, 1):
        for column, value in enumerate((k, n, p), 2):
            page.cell(row, column, value)
        page.cell(row, 1, "=" + to_excel(tail, {"a": f"B{row}", "b": f"C{row}", "c": f"D{row}"}.__getitem__))
    path = tmp_path / "tail.xlsx"
    book.save(path)
    found = values(recalculate([path], tmp_path / "out")[0])
    wrong = [(case, found.get(("Sheet", f"A{row}")), float(tail(*case))) for row, case in enumerate(cases, 1)
             if not same(float(found.get(("Sheet", f"A{row}"), np.nan)), float(tail(*case)))]  # fmt: skip
    assert wrong == []
