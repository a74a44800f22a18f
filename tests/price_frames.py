"""A price book of one card and its server, and the options that are priced from it, for the tests of prices."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pandas as pd

from reports.catalog.records import Assumption, Catalog, Fact, Gpu, Host
from reports.cost.offers import attach
from reports.scenario.operations import EngineSettings, Policies

AS_OF = datetime.date(2026, 11, 30)

OFFER = {
    "offer_id": "plain", "gpu": "card", "gpu_name": "Card", "provider": "Some Cloud", "segment": "neocloud",
    "instance": "x8", "instance_cards": 8, "region": "us", "location": "us-1", "currency": "USD",
    "price_per_card_hour": 3.0, "term": "on-demand", "as_of": "2026-11-01", "precision": "day", "status": "ok",
    "source": "list", "basis": "published", "confirmed": True, "note": "",
    "price_kind": "list", "vat": "unstated", "valid_until": "", "quoted_unit": "card-hour",
}  # fmt: skip
SERVER = {
    "purchase_id": "server-1", "gpu": "card", "item": "8 cards", "kind": "server", "cards": 8, "region": "us",
    "currency": "USD", "price_low": 200_000.0, "price": 250_000.0, "price_high": 300_000.0, "basis": "published",
    "confidence": "medium", "confirmed": True, "source": "quote", "as_of": "2026-10-01", "precision": "day", "note": "",
    "provider": "", "price_kind": "list", "vat": "unstated", "valid_until": "",
}  # fmt: skip
OPTION = {
    "option_id": "m.q.card.nvlink", "model": "m", "gpu": "card", "quantization": "q", "interconnect": "nvlink",
    "feasible": True, "unit_cards": 8.0, "sized_cards": 16.0, "tensor_parallel": 8.0, "data_parallel": 1.0,
    "stage_servers": 1.0,
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
        "terms": (), "longer_than_horizon": False, "data_residency": None, "export_restrictions": "warn",
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


LICENCE = pd.DataFrame([{"gpu": "card", "region": "china", "rule": "licence", "as_of": "2023-10-17"}])
