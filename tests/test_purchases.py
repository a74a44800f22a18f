"""What a server is bought for: whose price comes first, cards and a host instead, the value left at the end."""

from __future__ import annotations

import numpy as np
import pytest
from price_frames import book, chosen, options, question

from reports.catalog.records import Catalog
from reports.cost.offers import attach
from reports.cost.purchases import REASONS as BUY_REASONS
from reports.cost.purchases import residual_row

# ---- buying ----


def test_a_server_of_the_region_comes_first() -> None:
    servers = [
        {"purchase_id": "elsewhere", "region": "eu", "currency": "CNY", "as_of": "2026-11-20", "confidence": "high"},
        {"purchase_id": "worldwide", "region": "global", "as_of": "2026-11-20"},
        {"purchase_id": "here", "region": "china", "currency": "CNY", "as_of": "2026-01-01"},
    ]
    scenario = question(currency="CNY", region="china")
    assert chosen(book([], servers), scenario)["purchase_id"] == "here"
    row = chosen(book([], servers[:2]), scenario)
    assert row["purchase_id"] == "worldwide"
    assert (row["server_price"], row["server_exchange_rate"], row["server_exchange_id"]) == (250_000, 7, "USD/CNY")
    assert chosen(book([], servers[:1]), scenario)["purchase_id"] == "elsewhere"


def test_a_confirmed_price_then_the_newest() -> None:
    servers = [
        {"purchase_id": "placeholder", "confirmed": False, "as_of": "2026-11-01"},
        {"purchase_id": "older", "as_of": "2025-11-01"},
        {"purchase_id": "newer", "as_of": "2026-03-01"},
        {"purchase_id": "from-later", "as_of": "2026-12-24"},
    ]
    assert chosen(book([], servers))["purchase_id"] == "newer"


def test_cards_and_a_host_stand_in_for_a_server() -> None:
    cards = {"purchase_id": "one", "kind": "card", "cards": 1, "price_low": 20_000.0, "price": 25_000.0}
    catalog = book([], [{**cards, "price_high": 30_000.0}, {"purchase_id": "other-size", "cards": 4}])
    frame, facts, _ = attach(options(), question(), catalog)
    row = frame.iloc[0]
    assert row["purchase_id"] == "one+host"
    assert row["server_price"] == 225_000  # 8 x 25,000 + 25,000
    known = facts.set_index("column").loc["server_price"]
    assert (known["low"], known["high"], known["basis"]) == (175_000, 280_000, "derived")
    assert "pcie_host_price_per_server" in known["note"]


def test_the_host_is_converted_into_the_currency_of_the_cards() -> None:
    cards = {"kind": "card", "cards": 1, "currency": "CNY", "price": 70_000.0}
    row = chosen(book([], [cards]), question(currency="CNY", region="china"))
    assert row["server_price"] == pytest.approx(8 * 70_000 + 25_000 * 7)


@pytest.mark.parametrize(
    ("catalog", "code"),
    [
        (book([], []), "no-purchase-price"),
        (book([], [{"cards": 4}]), "no-purchase-price"),
        (book([], [{"as_of": "2027-01-01"}]), "purchase-later"),
        (book([], power=None), "no-host-power"),
        (book([], [{"valid_until": "2026-11-29"}]), "purchase-expired"),
        (book([], [{"provider": "Denied Ltd"}]), "purchase-provider"),
    ],
)
def test_no_purchase_price_has_a_reason(catalog: Catalog, code: str) -> None:
    row = chosen(catalog, question(providers_denied=("denied ltd",)))
    assert row["buy_reason"] == code
    assert np.isnan(row["server_price"])
    assert BUY_REASONS[code].format(**row["buy_reason_values"])


# ---- the value left ----


@pytest.mark.parametrize(
    ("horizon", "share"),
    [(12, 0.35), (36, 0.35), (48, 0.225), (60, 0.1), (84, 0.1)],  # 48: half way from 0.35 to 0.1
)
def test_value_left_is_linear_between_three_and_five_years(horizon: int, share: float) -> None:
    row = residual_row(question(horizon=horizon), book())
    assert row["value"] == pytest.approx(share)
    assert row["basis"] == "derived"
    assert "residual_share_36_months (0.35)" in str(row["note"])
    assert "residual_share_60_months (0.1)" in str(row["note"])
