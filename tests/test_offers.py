"""Which price an option gets: each eligibility rule alone, whole instances, exchange rates, the choice of a server."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.catalog.records import Assumption, Catalog, Fact, Gpu, Host
from reports.columns import LEAF, fact_reference
from reports.cost.blocks import COST_BLOCKS
from reports.cost.eligibility import REASONS as RENT_REASONS
from reports.cost.offers import attach, term_months
from reports.cost.purchases import REASONS as BUY_REASONS
from reports.cost.purchases import residual_row
from reports.errors import InputError
from reports.facts import COLUMNS as FACT_COLUMNS
from reports.formulas.meta import info
from reports.scenario.operations import EngineSettings, Policies

AS_OF = datetime.date(2026, 11, 30)

OFFER = {
    "offer_id": "plain", "gpu": "card", "gpu_name": "Card", "provider": "Some Cloud", "segment": "neocloud",
    "instance": "x8", "instance_cards": 8, "region": "us", "location": "us-1", "currency": "USD",
    "price_per_card_hour": 3.0, "term": "on-demand", "as_of": "2026-11-01", "precision": "day", "status": "ok",
    "source": "list", "basis": "published", "confirmed": True, "note": "",
}  # fmt: skip
SERVER = {
    "purchase_id": "server-1", "gpu": "card", "item": "8 cards", "kind": "server", "cards": 8, "region": "us",
    "currency": "USD", "price_low": 200_000.0, "price": 250_000.0, "price_high": 300_000.0, "basis": "published",
    "confidence": "medium", "confirmed": True, "source": "quote", "as_of": "2026-10-01", "precision": "day", "note": "",
}  # fmt: skip
OPTION = {
    "option_id": "m.q.card.nvlink", "model": "m", "gpu": "card", "quantization": "q", "interconnect": "nvlink",
    "feasible": True, "unit_cards": 8.0, "sized_cards": 16.0, "tensor_parallel": 8.0, "data_parallel": 1.0,
}  # fmt: skip


def fact(value: float) -> Fact:
    return Fact(value, None, None, "published", "data-sheet", "2026-01", True, "high")


def assumption(name: str, low: float, mid: float, high: float, currency: str = "") -> Assumption:
    return Assumption(name, "global", currency, low, mid, high, "ratio", "judgement", "own", "", "2026-11-30", "")


def book(
    offers: list[dict[str, Any]] | None = None,
    servers: list[dict[str, Any]] | None = None,
    exchange: list[tuple[str, str, float, str]] = (("USD", "CNY", 7.0, "2026-11-01"),),  # type: ignore[assignment]
    power: float | None = 10.0,
) -> Catalog:
    """A catalog of one card, its server, and the given prices (fields that differ from the plain row)."""
    host_facts = {"server_cards": fact(8.0), **({"server_power_kw": fact(power)} if power else {})}
    assumptions = [
        assumption("service_life_months", 240, 240, 240),  # longer than any horizon here: nothing is renewed
        assumption("residual_share_36_months", 0.15, 0.35, 0.5),
        assumption("residual_share_60_months", 0.0, 0.1, 0.2),
        assumption("pcie_host_price_per_server", 15_000.0, 25_000.0, 40_000.0, "USD"),
        assumption("rent_spread_warning_ratio", 2.0, 3.0, 5.0),
    ]
    rows = [{**OFFER, "offer_id": f"offer-{n}", **each} for n, each in enumerate([{}] if offers is None else offers)]
    bought = [{**SERVER, **each} for each in ([{}] if servers is None else servers)]
    empty: Mapping[str, Any] = {}
    return Catalog(
        gpus={"card": Gpu("card", "Card", (), {}, host="box")},
        models=empty, quantizations=empty, engines=empty,
        hosts={"box": Host("box", "Box", (), host_facts)},
        links=empty, assumptions={(each.name, each.region): each for each in assumptions}, sources=empty,
        rental=pd.DataFrame(rows, columns=list(OFFER)), purchase=pd.DataFrame(bought, columns=list(SERVER)),
        api=pd.DataFrame(),
        exchange=pd.DataFrame(
            [(base, quote, rate, "rates", day) for base, quote, rate, day in exchange],
            columns=["base", "quote", "rate", "source", "as_of"],
        ),
    )  # fmt: skip


def question(currency: str = "USD", region: str = "us", horizon: int = 36, **prices: Any) -> Any:
    defaults: dict[str, Any] = {
        "max_age_days": 180, "regions": (), "providers_allowed": (), "providers_denied": (), "marketplaces": False,
        "terms": (),
    }  # fmt: skip
    return SimpleNamespace(
        name="s", as_of=AS_OF, currency=currency, region=region, assumptions={},
        policies=Policies(), engine_settings=EngineSettings(), room=None, fleet=(),
        prices=SimpleNamespace(**{**defaults, **prices}), costs=SimpleNamespace(horizon_months=horizon),
    )  # fmt: skip


def options(*changes: dict[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame([{**OPTION, **change} for change in changes or ({},)])
    return frame.astype({"gpu": "category", "model": "category"})


def chosen(catalog: Catalog, scenario: Any = None, *changes: dict[str, Any]) -> pd.Series:
    frame, _, _ = attach(options(*changes), scenario or question(), catalog)
    return frame.iloc[0]


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
    ],
)
def test_the_same_rules_let_through_what_they_should(offer: dict[str, Any], prices: dict[str, Any]) -> None:
    row = chosen(book([offer]), question(**prices))
    assert row["offer_id"] == "offer-0"
    assert (row["rent_reason"], row["rent_reason_values"]) == ("", {})


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
    _, _, warnings = attach(options(), question(), book(offers, [{"as_of": "2026-01-01"}]))
    assert [message.format(**values) for message, values in warnings] == [
        "Rents older than half of the 180 days allowed: card (121 days).",
        "Rents that bind for longer than the horizon of 36 months: card (60 months).",
        "Eligible rents of a card differ more than 3 times: card (4.5 times).",
        "Purchase prices older than the 180 days allowed for rents: card (333 days).",
    ]


def test_no_warning_when_all_is_well() -> None:
    assert attach(options(), question(), book())[2] == ()


def test_terms_in_months() -> None:
    assert [term_months(term) for term in ("on-demand", "spot", "reserved-1m", "reserved-3y", "reserved-x")] == [
        0, 0, 1, 36, 0,
    ]  # fmt: skip


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
    ],
)
def test_no_purchase_price_has_a_reason(catalog: Catalog, code: str) -> None:
    row = chosen(catalog)
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
