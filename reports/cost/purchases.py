"""What a server costs to buy, and what is left of it at the end: a server's price first, else its cards and a host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from reports.catalog.exchange import exchange_rate
from reports.catalog.records import Catalog
from reports.catalog.select import assumption
from reports.columns import LEAF
from reports.cost import room
from reports.cost.quotes import (
    BINDING,
    DAYS,
    PURCHASE_QUOTES,
    TIMES,
    Listed,
    Warnings,
    ages,
    exchange_row,
    expired,
    overdue,
    quoted,
    refused,
    worst_first,
)
from reports.facts import assumption_row, fact_row
from reports.formulas import buy
from reports.scenario.schema import Scenario

HOST_SHARE = "pcie_host_price_per_server"
"""Assumption: what a server costs beside its cards, used only where no server price is on file."""

RESIDUAL_36, RESIDUAL_60 = "residual_share_36_months", "residual_share_60_months"
RESIDUAL_POINTS: tuple[tuple[float, str], ...] = ((36.0, RESIDUAL_36), (60.0, RESIDUAL_60))
"""Months at which the catalog states the value left, and the assumption that states it."""

REASONS: dict[str, str] = {
    "no-host": "The catalog names no server that takes {gpu}.",
    "no-host-power": "The catalog has no power figure for the server {host}.",
    "no-purchase-price": "No price of a server or card of {gpu} is on file.",
    "purchase-provider": "{prices} purchase prices of {gpu}, none of an allowed provider; they are of: {found}.",
    "purchase-expired": "All {prices} quotes of {gpu} have expired; the last was valid until {valid_until}.",
    "purchase-restricted": "{gpu} needs an export licence in {region}, and the scenario refuses such cards.",
    "purchase-later": "All {prices} purchase prices of {gpu} are dated after {as_of}.",
    **room.REASONS,
}
"""Why a purchase has no price: code -> sentence with the numbers that ``buy_reason_values`` holds."""

WIDE_PURCHASES = "Purchase prices of a card differ more than {ratio_limit} times between sources: {cards}."
OLD_PRICES = "Purchase prices older than the {limit_days} days allowed for rents: {cards}."

CONFIDENCE_ORDER = {"high": 0, "medium": 1, "low": 2}


@dataclass(frozen=True)
class Purchase:
    """What one card is bought as: the server, its price in the currency of the quote, or the reason there is none."""

    gpu: str
    host: str
    purchase_id: str = ""
    currency: str = ""
    price: float = np.nan
    low: float = np.nan
    high: float = np.nan
    server_cards: float = np.nan
    server_power_kw: float = np.nan
    basis: str = ""
    source: str = ""
    as_of: str = ""
    confirmed: bool = False
    note: str = ""
    age_days: int = 0
    provider: str = ""
    price_kind: str = ""
    valid_until: str = ""
    spread_ratio: float = np.nan
    """Dearest over cheapest price of a card in such a server, where several are on file."""
    reason: str = ""
    reason_values: Any = None


def attach(
    frame: pd.DataFrame, scenario: Scenario, catalog: Catalog
) -> tuple[pd.DataFrame, list[dict[str, object]], Warnings]:
    """Options with the server they would be bought as, the facts of it, and warnings about old prices."""
    gpus = frame["gpu"].astype(str)
    chosen = {gpu: choose(gpu, scenario, catalog) for gpu in dict.fromkeys(gpus)}
    rate = {
        each.currency: exchange_rate(catalog.exchange, each.currency, scenario.currency, scenario.as_of).rate
        for each in chosen.values()
        if each.currency
    }
    result = frame.copy()
    columns: dict[str, dict[str, Any]] = {
        "host": {gpu: each.host for gpu, each in chosen.items()},
        "purchase_id": {gpu: each.purchase_id for gpu, each in chosen.items()},
        "server_price": {gpu: each.price for gpu, each in chosen.items()},
        "server_exchange_rate": {gpu: rate.get(each.currency, np.nan) for gpu, each in chosen.items()},
        "server_exchange_id": {
            gpu: f"{each.currency}/{scenario.currency}" if each.currency else "" for gpu, each in chosen.items()
        },
        "server_cards": {gpu: each.server_cards for gpu, each in chosen.items()},
        "server_power_kw": {gpu: each.server_power_kw for gpu, each in chosen.items()},
        "purchase_as_of": {gpu: each.as_of for gpu, each in chosen.items()},
        "buy_reason": {gpu: each.reason for gpu, each in chosen.items()},
        "buy_reason_values": {gpu: each.reason_values or {} for gpu, each in chosen.items()},
    }
    for column, values in columns.items():
        result[column] = [values[gpu] for gpu in gpus]
    result = room.refuse(result, scenario, catalog)
    rows = [row for each in chosen.values() for row in _facts(each, catalog)]
    rows += [exchange_row(currency, scenario, catalog) for currency in sorted(rate)]
    feasible = set(gpus[frame["feasible"].to_numpy(dtype=bool)])
    return result, rows, _warnings([chosen[gpu] for gpu in sorted(feasible)], scenario, catalog)


def choose(gpu: str, scenario: Scenario, catalog: Catalog) -> Purchase:
    """The price to use for one card.

    A server (or rack) of the size of its host comes before cards plus a host. Then a quote that was made to us and
    still holds, the cheapest first, comes before what others paid; a price of the scenario's region
    comes before a worldwide one and that before another region's, a confirmed one before a placeholder, a newer one
    before an older one.
    """
    host = catalog.gpus[gpu].host
    if host not in catalog.hosts:
        return Purchase(gpu, host, reason="no-host", reason_values={"gpu": gpu})
    entry = catalog.hosts[host]
    cards, power = entry.value("server_cards"), entry.value("server_power_kw")
    known = Purchase(gpu, host, server_cards=cards, server_power_kw=power)
    if not np.isfinite(power):
        return _without(known, "no-host-power", host=host)
    prices = catalog.purchase[catalog.purchase["gpu"] == gpu]
    prices = prices.assign(age_days=ages(prices["as_of"], scenario))
    dated = prices[prices["age_days"] >= 0]
    if len(prices) and dated.empty:
        return _without(known, "purchase-later", gpu=gpu, prices=len(prices), as_of=scenario.as_of.isoformat())
    here = pd.DataFrame({"gpu": [gpu], "region": [scenario.region]})
    if refused(here["gpu"], here["region"], scenario, catalog).any():
        return _without(known, "purchase-restricted", gpu=gpu, region=scenario.region)
    allowed = dated[provider_allowed(dated["provider"], scenario)]
    if len(dated) and allowed.empty:
        names = Listed(sorted(set(dated["provider"])))
        return _without(known, "purchase-provider", gpu=gpu, prices=len(dated), found=names)
    valid = allowed[~expired(allowed["valid_until"], scenario)]
    if len(allowed) and valid.empty:
        last = str(allowed["valid_until"].max())
        return _without(known, "purchase-expired", gpu=gpu, prices=len(allowed), valid_until=last)
    for kinds, price in ((("server", "rack"), _server), (("card", "baseboard"), _cards_and_host)):
        rows = valid[valid["kind"].isin(kinds)]
        rows = rows[rows["cards"] == cards] if price is _server else rows[rows["cards"] <= cards]
        if len(rows):
            converted = _converted(rows, scenario, catalog)
            found = price(_first(converted, scenario), known, scenario, catalog)
            near = converted[converted["age_days"] <= scenario.prices.max_age_days]["card_amount"]
            return replace(found, spread_ratio=float(near.max() / near.min()) if len(near) else np.nan)
    return _without(known, "no-purchase-price", gpu=gpu)


def _without(known: Purchase, reason: str, **values: object) -> Purchase:
    fields = {**known.__dict__, "reason": reason, "reason_values": values}
    return Purchase(**fields)


def provider_allowed(provider: pd.Series, scenario: Scenario) -> pd.Series:
    """A price without a provider is an estimate of the market: no list of providers touches it."""
    folded, prices = provider.astype(str).str.casefold(), scenario.prices
    denied = folded.isin([each.casefold() for each in prices.providers_denied])
    allowed = folded.isin([each.casefold() for each in prices.providers_allowed]) if prices.providers_allowed else True
    return (folded == "") | (allowed & ~denied)


def _converted(rows: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> pd.DataFrame:
    """Rows with the price of one card in the scenario's currency."""
    currencies = rows["currency"].astype(str)
    rates = {
        each: exchange_rate(catalog.exchange, each, scenario.currency, scenario.as_of).rate
        for each in sorted(currencies.unique())
    }
    return rows.assign(card_amount=rows["price"] / rows["cards"] * currencies.map(rates).astype(float))


def _first(rows: pd.DataFrame, scenario: Scenario) -> dict[str, Any]:
    here, anywhere, ours = (
        rows["region"] == scenario.region,
        rows["region"] == "global",
        rows["currency"] == scenario.currency,
    )
    distance = np.select([here, anywhere & ours, anywhere, ours], [0, 1, 2, 3], 4)
    confidence = rows["confidence"].map(CONFIDENCE_ORDER).fillna(len(CONFIDENCE_ORDER))
    ours_alone = rows["price_kind"].isin(BINDING) & (here | anywhere)
    quote_amount = rows["card_amount"].where(ours_alone, np.inf)
    doubt = ~rows["confirmed"].astype(bool)
    keyed = rows.assign(_quote=quote_amount, _distance=distance, _doubt=doubt, _confidence=confidence)
    order = ["_quote", "_distance", "_doubt", "age_days", "_confidence", "purchase_id"]
    ordered = keyed.sort_values(order, kind="stable")
    return {str(name): value for name, value in ordered.iloc[0].to_dict().items()}


def _server(row: dict[str, Any], known: Purchase, scenario: Scenario, catalog: Catalog) -> Purchase:
    prices = {"price": float(row["price"]), "low": float(row["price_low"]), "high": float(row["price_high"])}
    note = f"{row['kind']} of {int(row['cards'])} cards, {row['region']}, confidence {row['confidence']}"
    return _priced(known, row, row["purchase_id"], prices, str(row["basis"]), note)


def _cards_and_host(row: dict[str, Any], known: Purchase, scenario: Scenario, catalog: Catalog) -> Purchase:
    """Cards (or baseboards) for a whole server plus a host, in the currency of the cards."""
    pieces = known.server_cards / float(row["cards"])
    share = assumption_row(HOST_SHARE, scenario, catalog)  # in the scenario's currency
    back = exchange_rate(catalog.exchange, scenario.currency, str(row["currency"]), scenario.as_of).rate
    prices = {
        name: float(row[column]) * pieces + float(share[bound]) * back  # type: ignore[arg-type]
        for name, column, bound in (
            ("price", "price", "value"),
            ("low", "price_low", "low"),
            ("high", "price_high", "high"),
        )
    }
    each = f"{float(row['price']):g} {row['currency']}"
    note = f"{pieces:g} x {row['kind']} at {each} ({row['purchase_id']}) + {HOST_SHARE}"
    return _priced(known, row, f"{row['purchase_id']}+host", prices, "derived", note)


def _priced(
    known: Purchase, row: dict[str, Any], purchase_id: str, prices: dict[str, float], basis: str, note: str
) -> Purchase:
    said = str(row["note"]) if pd.notna(row["note"]) else ""
    fields = {
        **known.__dict__, **prices, "purchase_id": purchase_id, "currency": str(row["currency"]), "basis": basis,
        "source": row["source"], "as_of": str(row["as_of"])[:10], "confirmed": bool(row["confirmed"]),
        "note": f"{note}; {said}" if said else note, "age_days": int(row["age_days"]),
        "provider": str(row["provider"]), "price_kind": str(row["price_kind"]), "valid_until": str(row["valid_until"]),
    }  # fmt: skip
    return Purchase(**fields)


def _facts(each: Purchase, catalog: Catalog) -> Iterable[dict[str, object]]:
    if each.host in catalog.hosts:
        facts = catalog.hosts[each.host].facts
        for column in ("server_cards", "server_power_kw"):
            if column in facts:
                yield fact_row("host", each.host, column, facts[column], live=LEAF[column].live)
    if each.purchase_id:
        yield {
            "scope": "purchase", "key": each.purchase_id, "column": "server_price", "value": each.price,
            "unit": f"{each.currency}/server", "low": each.low, "high": each.high, "basis": each.basis,
            "source": each.source, "as_of": each.as_of, "confirmed": each.confirmed, "note": each.note, "live": True,
        }  # fmt: skip


def _warnings(chosen: Sequence[Purchase], scenario: Scenario, catalog: Catalog) -> Warnings:
    limit = scenario.prices.max_age_days
    bought = [each for each in chosen if each.purchase_id]
    old = [(each.gpu, float(each.age_days)) for each in bought if each.age_days > limit]
    spread = assumption(catalog, "rent_spread_warning_ratio", scenario.region).mid
    wide = [(each.gpu, round(each.spread_ratio, 1)) for each in bought if each.spread_ratio > spread]
    used = pd.DataFrame([vars(each) for each in bought], columns=[field.name for field in fields(Purchase)])
    mine = catalog.purchase[catalog.purchase["gpu"].isin([each.gpu for each in chosen])]
    found: list[tuple[str, dict[str, object]]] = []
    if old:
        found.append((OLD_PRICES, {"limit_days": limit, "cards": worst_first(old, DAYS)}))
    if wide:
        found.append((WIDE_PURCHASES, {"ratio_limit": f"{spread:g}", "cards": worst_first(wide, TIMES)}))
    return (*found, *overdue(mine, scenario), *quoted(used, PURCHASE_QUOTES))


def residual_row(scenario: Scenario, catalog: Catalog) -> dict[str, object]:
    """The facts row of ``residual_share`` at the scenario's horizon: linear between two assumptions."""
    rows = [assumption_row(name, scenario, catalog) for _, name in RESIDUAL_POINTS]
    months = [month for month, _ in RESIDUAL_POINTS]
    life = float(assumption_row("service_life_months", scenario, catalog)["value"])  # type: ignore[arg-type]
    horizon = float(scenario.costs.horizon_months)
    age = horizon - life * float(buy.renewal_times(horizon, life))  # of the servers that are there at the end

    def at_horizon(bound: str) -> float:
        return float(np.interp(age, months, [float(row[bound]) for row in rows]))  # type: ignore[arg-type]

    names = " and ".join(f"{name} ({row['value']:g})" for (_, name), row in zip(RESIDUAL_POINTS, rows, strict=True))
    return {
        **rows[0], "column": "residual_share", "value": at_horizon("value"), "low": at_horizon("low"),
        "high": at_horizon("high"), "basis": "derived", "unit": LEAF["residual_share"].unit, "live": True,
        "confirmed": all(row["confirmed"] for row in rows),
        "note": f"linear between {names} at an age of {age:g} months, constant outside them",
    }  # fmt: skip
