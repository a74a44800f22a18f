"""Which price an option gets: each eligibility rule alone, whole instances, exchange rates, the choice of a server."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest
from price_frames import LICENCE, book, chosen, options, question

from reports.columns import LEAF, fact_reference
from reports.cost.blocks import COST_BLOCKS
from reports.cost.eligibility import REASONS as RENT_REASONS
from reports.cost.eligibility import term_months
from reports.cost.offers import attach
from reports.cost.purchases import REASONS as BUY_REASONS
from reports.errors import InputError
from reports.facts import COLUMNS as FACT_COLUMNS
from reports.formulas.meta import info

# ---- eligibility, one rule at a time ----


@pytest.mark.parametrize(
    ("offer", "prices", "code"),
    [
        ({"status": "outlier"}, {}, "offers-unsound"),
        ({"status": "superseded"}, {}, "offers-unsound"),
        ({"as_of": "2026-05-01"}, {}, "offers-too-old"),  # 213 days before 2026-11-30
        ({"as_of": "2026-12-01"}, {}, "offers-too-old"),  # not known yet
        ({"region": "eu"}, {}, "offers-elsewhere"),
        ({}, {"regions": ("china",)}, "offers-elsewhere"),
        ({}, {"providers_denied": ("some cloud",)}, "offers-provider"),
        ({}, {"providers_allowed": ("Another",)}, "offers-provider"),
        ({"segment": "marketplace"}, {}, "offers-marketplace"),
        ({"term": "spot"}, {}, "offers-term"),
        ({}, {"terms": ("reserved-1y",)}, "offers-term"),
        ({"valid_until": "2026-11-29"}, {}, "offers-expired"),
        ({"as_of": "2026-12-01", "valid_until": "2027-12-01"}, {}, "offers-too-old"),  # not known yet
        ({"term": "reserved-4y"}, {}, "offers-beyond-horizon"),  # 48 months, the horizon is 36
        ({"region": "global"}, {"data_residency": "us"}, "offers-residency"),  # nobody knows where it stands
        ({"instance_cards": 4}, {}, "instances-too-small"),
        ({"gpu": "another"}, {}, "no-offer"),
    ],
)
def test_a_rule_refuses_and_says_why(offer: dict[str, Any], prices: dict[str, Any], code: str) -> None:
    row = chosen(book([offer]), question(**prices))
    assert row["rent_reason"] == code
    assert row["offer_id"] == ""
    assert np.isnan(row["rent_offer_price_per_card_hour"])
    assert RENT_REASONS[code].format(**row["rent_reason_values"])


@pytest.mark.parametrize(
    ("offer", "prices"),
    [
        ({"as_of": "2026-06-03"}, {}),  # exactly 180 days before 2026-11-30
        ({"as_of": "2026-11-30"}, {}),
        ({"region": "global"}, {}),
        ({"region": "eu"}, {"regions": ("EU",)}),
        ({}, {"providers_allowed": ("some cloud",)}),
        ({"segment": "marketplace"}, {"marketplaces": True}),
        ({"term": "spot"}, {"terms": ("spot",)}),
        ({"term": "reserved-1y"}, {}),
        ({"valid_until": "2026-11-30"}, {}),  # the last day counts
        ({"as_of": "2025-11-30", "valid_until": "2027-01-31", "price_kind": "quote"}, {}),  # judged by its last day
        ({"term": "reserved-3y"}, {}),  # 36 months, as the horizon
        ({"term": "reserved-4y"}, {"longer_than_horizon": True}),
        ({}, {"data_residency": "us"}),
    ],
)
def test_the_same_rules_let_through_what_they_should(offer: dict[str, Any], prices: dict[str, Any]) -> None:
    row = chosen(book([offer]), question(**prices))
    assert row["offer_id"] == "offer-0"
    assert (row["rent_reason"], row["rent_reason_values"]) == ("", {})


def test_an_export_licence_is_a_reason_only_where_the_scenario_refuses_it() -> None:
    catalog = dataclasses.replace(book([{"region": "china"}], [{"region": "china"}]), restrictions=LICENCE)
    refusing = chosen(catalog, question(region="china", export_restrictions="refuse"))
    assert (refusing["rent_reason"], refusing["buy_reason"]) == ("offers-restricted", "purchase-restricted")
    assert RENT_REASONS["offers-restricted"].format(**refusing["rent_reason_values"]) == (
        "1 offers in china, where card needs an export licence, which is refused."
    )
    assert "china" in BUY_REASONS["purchase-restricted"].format(**refusing["buy_reason_values"])
    warned = chosen(catalog, question(region="china"))
    assert (warned["rent_reason"], warned["buy_reason"]) == ("", "")
    elsewhere = chosen(dataclasses.replace(book(), restrictions=LICENCE), question(export_restrictions="refuse"))
    assert (elsewhere["rent_reason"], elsewhere["buy_reason"]) == ("", "")


def test_a_scenario_without_a_region_rents_anywhere() -> None:
    assert chosen(book([{"region": "asia"}]), question(region="global"))["offer_id"] == "offer-0"


def test_a_reason_quotes_the_numbers() -> None:
    # by hand: 2026-05-04 is 210 days before 2026-11-30 (27 + 30 + 31 + 31 + 30 + 31 + 30)
    row = chosen(book([{"as_of": "2026-05-04"}, {"as_of": "2025-01-01"}]))
    sentence = RENT_REASONS[row["rent_reason"]].format(**row["rent_reason_values"])
    assert sentence == "2 offers, the newest 210 days old; the limit is 180 days."


# ---- the cheapest is the least monthly cost of whole instances ----


def test_a_cheap_single_card_cannot_hold_a_replica_of_eight() -> None:
    catalog = book([{"instance_cards": 1, "price_per_card_hour": 1.0}, {"price_per_card_hour": 3.0}])
    assert chosen(catalog)["offer_id"] == "offer-1"
    assert chosen(catalog, None, {"tensor_parallel": 1.0})["offer_id"] == "offer-0"


def test_attention_groups_of_one_replica_sit_together() -> None:
    catalog = book([{"instance_cards": 4, "price_per_card_hour": 1.0}, {"instance_cards": 8}])
    row = chosen(catalog, None, {"tensor_parallel": 4.0, "data_parallel": 2.0})
    assert row["offer_id"] == "offer-1"


def test_pipeline_stages_may_sit_in_two_instances() -> None:
    row = chosen(book([{"instance_cards": 4}]), None, {"tensor_parallel": 4.0, "pipeline_parallel": 2.0})
    assert row["offer_id"] == "offer-0"


def test_whole_instances_decide_not_the_price_of_a_card() -> None:
    # by hand, 4 cards in stages of 4: eight cards at 2 are 16 an hour, four cards at 3 are 12 an hour
    catalog = book([{"price_per_card_hour": 2.0}, {"instance_cards": 4, "price_per_card_hour": 3.0}])
    four = chosen(catalog, None, {"tensor_parallel": 4.0, "sized_cards": 4.0})
    assert (four["offer_id"], four["rent_instance_cards"]) == ("offer-1", 4)
    # 8 cards: 16 against 24 an hour
    assert chosen(catalog, None, {"tensor_parallel": 4.0, "sized_cards": 8.0})["offer_id"] == "offer-0"


def test_equal_costs_take_the_newer_offer_and_then_the_id() -> None:
    assert chosen(book([{"as_of": "2026-10-01"}, {"as_of": "2026-11-01"}]))["offer_id"] == "offer-1"
    assert chosen(book([{}, {}]))["offer_id"] == "offer-0"


def test_currencies_compare_at_the_dated_rate() -> None:
    # by hand: 20 CNY at 7 CNY/USD is 2.857 USD, less than 3 USD; at the older 6 it would be 3.33
    offers = [{"price_per_card_hour": 3.0}, {"price_per_card_hour": 20.0, "currency": "CNY"}]
    rates = [("USD", "CNY", 6.0, "2026-01-01"), ("USD", "CNY", 7.0, "2026-11-01"), ("USD", "CNY", 5.0, "2026-12-05")]
    row = chosen(book(offers, exchange=rates))
    assert row["offer_id"] == "offer-1"
    assert row["rent_offer_price_per_card_hour"] == 20.0, "a price keeps its own currency"
    assert row["rent_offer_exchange_rate"] == pytest.approx(1 / 7)
    assert row["rent_exchange_id"] == "CNY/USD"
    assert row["rent_median_price_per_card_hour"] == pytest.approx((3.0 + 20 / 7) / 2)


def test_a_currency_without_a_rate_is_an_error() -> None:
    with pytest.raises(InputError, match="no exchange rate from EUR to USD"):
        chosen(book([{"currency": "EUR"}]))


def test_median_and_number_count_eligible_offers_only() -> None:
    prices = [{"price_per_card_hour": price} for price in (2.0, 3.0, 7.0)]
    row = chosen(book([*prices, {"price_per_card_hour": 0.5, "status": "outlier"}]))
    assert (row["rent_offers"], row["rent_median_price_per_card_hour"]) == (3, 3.0)


def test_an_infeasible_option_gets_no_offer_and_no_reason() -> None:
    frame, _, _ = attach(options({"feasible": False, "sized_cards": np.nan}, {}), question(), book())
    assert frame["offer_id"].tolist() == ["", "offer-0"]
    assert frame["rent_reason"].tolist() == ["", ""]


def test_options_are_priced_each_for_its_own_size_and_stay_in_order() -> None:
    catalog = book([{"instance_cards": 1, "price_per_card_hour": 1.0}, {"price_per_card_hour": 3.0}])
    before = options({"tensor_parallel": 1.0}, {}, {"tensor_parallel": 1.0, "sized_cards": 3.0})
    copy = before.copy()
    frame, _, _ = attach(before, question(), catalog)
    assert frame["offer_id"].tolist() == ["offer-0", "offer-1", "offer-0"]
    pd.testing.assert_frame_equal(before, copy)


# ---- what the cover must say ----


def test_warnings_name_old_prices_wide_spreads_and_long_terms() -> None:
    # by hand: 2026-08-01 is 121 days before 2026-11-30, over half of 180; 2 to 9 is 4.5 times
    offers = [
        {"price_per_card_hour": 2.0, "as_of": "2026-08-01", "term": "reserved-5y"},
        {"price_per_card_hour": 9.0},
    ]
    _, _, warnings = attach(options(), question(longer_than_horizon=True), book(offers, [{"as_of": "2026-01-01"}]))
    assert [message.format(**values) for message, values in warnings] == [
        "Rents older than half of the 180 days allowed: card (121 days).",
        "Rents that bind for longer than the horizon of 36 months: card (60 months).",
        "Eligible rents of a card differ more than 3 times: card (4.5 times).",
        "Purchase prices older than the 180 days allowed for rents: card (333 days).",
    ]


def test_quotes_are_named_with_their_last_day_and_expired_ones_too() -> None:
    own = {"price_kind": "quote", "provider": "Harbour", "valid_until": "2026-12-31"}
    servers = [
        {**own, "purchase_id": "own", "price": 260_000.0},
        {**own, "purchase_id": "gone", "valid_until": "2026-10-31"},
        {"purchase_id": "list", "price": 90_000.0, "price_low": 80_000.0},
    ]
    offers = [{"price_kind": "negotiated", "provider": "Quay", "price_per_card_hour": 1.0}]
    frame, _, warnings = attach(options(), question(), book(offers, servers))
    assert frame.iloc[0]["purchase_id"] == "own"  # what was offered to us comes before what others paid
    # by hand: cards at 260,000/8 and 90,000/8: 2.9 times, under 3; at 80,000 3.25 times
    assert [message.format(**values) for message, values in warnings] == [
        "card: the rent is a quote of Quay that does not say how long it holds.",
        "Quotes that have expired and are not used: Harbour card (2026-10-31).",
        "card: the purchase price is a quote of Harbour, valid until 2026-12-31.",
    ]
    servers[2]["price"] = 80_000.0
    wide = attach(options(), question(), book(offers, servers))[2]
    assert "Purchase prices of a card differ more than 3 times between sources: card (3.2 times)." in [
        message.format(**values) for message, values in wide
    ]


def test_of_two_quotes_the_cheaper_one_in_one_currency_is_taken() -> None:
    # by hand: 1,750,000 CNY at 7.0 are 250,000 USD, under 255,000
    own = {"price_kind": "quote", "price_low": 1.0, "price_high": 9e9}
    servers = [
        {**own, "purchase_id": "usd", "price": 255_000.0},
        {**own, "purchase_id": "cny", "price": 1_750_000.0, "currency": "CNY"},
    ]
    assert chosen(book([], servers))["purchase_id"] == "cny"


def test_an_old_exchange_rate_is_named() -> None:
    # by hand: 2026-05-01 is 213 days before 2026-11-30
    old = book(exchange=[("USD", "CNY", 7.0, "2026-05-01")])
    _, _, warnings = attach(options(), question("CNY"), old)
    assert [message.format(**values) for message, values in warnings] == [
        "Exchange rates older than the 180 days allowed for prices: USD/CNY (2026-05-01)."
    ]


def test_no_warning_when_all_is_well() -> None:
    assert attach(options(), question(), book())[2] == ()


def test_terms_in_months() -> None:
    assert [term_months(term) for term in ("on-demand", "spot", "reserved-1m", "reserved-3y", "reserved-x")] == [
        0, 0, 1, 36, 0,
    ]  # fmt: skip


# ---- the facts behind it ----


def test_every_price_leaf_of_an_option_has_its_fact() -> None:
    offers = [{"currency": "CNY", "price_per_card_hour": 20.0}, {}]
    frame, facts, _ = attach(options(), question(), book(offers))
    assert tuple(facts.columns) == FACT_COLUMNS
    known = facts.set_index(["scope", "key", "column"])
    assert known.index.is_unique
    row = {str(name): value for name, value in frame.iloc[0].to_dict().items()}
    read = {name for block in COST_BLOCKS for function in block.formulas for name in info(function).inputs}
    scopes = ("offer", "market", "exchange", "purchase", "host")
    leaves = [name for name in read if name in LEAF and LEAF[name].scope in scopes]
    assert len(leaves) == 9
    for leaf in leaves:
        assert known.loc[fact_reference(row, leaf), "value"] == pytest.approx(row[leaf]), leaf
    assert known.loc[("offer", "offer-0", "rent_offer_price_per_card_hour"), "unit"] == "CNY/card-h"
    assert known.loc[("market", "card@8", "rent_median_price_per_card_hour"), "note"].startswith("median of 2 eligible")
    assert known.loc[("exchange", "CNY/USD", "exchange_rate"), "live"]


def test_the_shipped_catalog_prices_an_eight_card_server() -> None:
    from reports.catalog.read import read_catalog

    catalog = read_catalog()
    frame, facts, _ = attach(options({"gpu": "h100-sxm5-80gb"}), question("CNY", "china"), catalog)
    row = frame.iloc[0]
    assert row["rent_instance_cards"] >= 8
    assert row["rent_region"] in ("china", "global")
    assert row["server_cards"] == 8
    assert row["server_price"] > 0
    assert not facts[["scope", "key", "column"]].duplicated().any()
