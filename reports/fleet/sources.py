"""Where cards can come from: the present fleet, servers to buy, instances to rent, each with what one machine costs.

What is owned costs its power, place and maintenance. What is leased or reserved is paid until it ends, whether used or
not, so that using it costs no more than its power and place; the lessor or provider takes care of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog
from reports.cost.purchases import RESIDUAL_POINTS
from reports.facts import assumption_row
from reports.fleet import prices
from reports.fleet.problem import BUY, HOUSED, LEASED, OWNED, RENT, RESERVED, SOURCE_COLUMNS
from reports.scenario.schema import Scenario

ROOM, OUTSIDE = "room", "outside"

MORE_COLUMNS = (
    "entry", "host", "rack_units", "server_amount", "book_value", "age_months", "ends", "residual_amount", "offer_id",
    "purchase_id", "provider", "term", "running_amount",
)  # fmt: skip
"""Beside the columns of the program: what the report says about a source."""

_TEXTS = {"ends": "", "offer_id": "", "purchase_id": "", "provider": "", "term": "", "host": "", "rack_kind": ""}
_NOWHERE = {"power_kw": 0.0, "cooling_kw": 0.0, "rack_machines": np.inf}


def sources(scenario: Scenario, catalog: Catalog, candidates: pd.DataFrame) -> pd.DataFrame:
    """One row a source: the present entries first in their order, then purchases, then rents, cards as in the matrix.

    ``candidates`` are those of the deciding method: their cards can be had, and they hold the assumptions of money.
    """
    bought = prices.servers(candidates, scenario, catalog)
    rows = [*_present(scenario, catalog, bought)]
    if "buy" in scenario.costs.compare:
        rows += _purchases(scenario, catalog, bought)
    if "rent" in scenario.costs.compare:
        rows += _rents(prices.instances(candidates, scenario, catalog))
    frame = pd.DataFrame([{**_TEXTS, **row} for row in rows], columns=[*SOURCE_COLUMNS, *MORE_COLUMNS])
    return frame.assign(machine_cards=frame["machine_cards"].astype(float), machines=frame["machines"].astype(float))


def housed(scenario: Scenario, power_kw: float, pue: float, rack_units: float) -> dict[str, float]:
    """What a machine takes of the room, and how many of its kind a rack holds."""
    room = scenario.room
    held = [np.inf]
    if room is not None and room.units_per_rack is not None and np.isfinite(rack_units):
        held.append(np.floor(room.units_per_rack / rack_units))
    if room is not None and room.kw_per_rack is not None and np.isfinite(power_kw):
        held.append(np.floor(room.kw_per_rack / power_kw))
    return {"power_kw": power_kw * pue, "cooling_kw": power_kw, "rack_machines": float(min(held))}


def rack_units(host: str, catalog: Catalog) -> float:
    """Height of a server; NaN where the catalog has none."""
    entry = catalog.hosts.get(host)
    return entry.value("server_rack_units") if entry else float("nan")


def _present(scenario: Scenario, catalog: Catalog, bought: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Machines of every entry; one whose cards do not divide evenly has machines of two sizes."""
    points = [
        (month, float(assumption_row(name, scenario, catalog)["value"]))  # type: ignore[arg-type]
        for month, name in RESIDUAL_POINTS
    ]
    for number, entry in enumerate(scenario.fleet, 1):
        server = bought.loc[entry.gpu]
        usual = float(server["server_cards"]) if np.isfinite(server["server_cards"]) else float(entry.cards)
        parts = _machines(entry.cards, entry.servers, int(usual))
        for part, (machines, cards) in enumerate(parts):
            share = machines * cards / entry.cards
            size = cards / usual
            name = f"{entry.kind}.{number}{'ab'[part] if len(parts) > 1 else ''}.{entry.gpu}"
            common = {
                "source": name, "kind": entry.kind, "gpu": entry.gpu, "machines": machines, "machine_cards": cards,
                "entry": number, "capex_amount": 0.0, "host": server["host"],
                "ends": entry.lease_ends.isoformat() if entry.lease_ends else "",
                "committed_amount": entry.amount_per_month * share if entry.kind in (LEASED, RESERVED) else 0.0,
            }  # fmt: skip
            if entry.kind not in HOUSED:
                yield {**common, "site": OUTSIDE, "amount": 0.0, **_NOWHERE}
                continue
            units = rack_units(server["host"], catalog)
            place = housed(scenario, server["server_power_kw"] * size, server["pue"], units)
            place["rack_machines"] = max(place["rack_machines"], 1.0)  # it stands there
            own = entry.kind == OWNED
            amount = float(server["running_amount" if own else "hosted_amount"]) * size
            yield {
                **common, "site": ROOM, "amount": amount if np.isfinite(amount) else 0.0, **place,
                "rack_kind": server["host"], "rack_units": units, "server_amount": server["server_amount"] * size,
                "book_value": entry.book_value * share if own else np.nan,
                "age_months": float(entry.age_months) if own else np.nan,
                "residual_amount": server["server_amount"] * size
                * prices.residual_share(entry.age_months, points) if own else np.nan,
            }  # fmt: skip


def _machines(cards: int, servers: int | None, usual: int) -> list[tuple[int, int]]:
    """(machines, cards of each): as stated, else whole servers of the usual size and one with the rest."""
    if servers is None:
        full, rest = divmod(cards, usual)
        return [pair for pair in ((full, usual), (1, rest)) if pair[0] and pair[1]]
    each, more = divmod(cards, servers)
    return [pair for pair in ((more, each + 1), (servers - more, each)) if pair[0] and pair[1]]


def _purchases(scenario: Scenario, catalog: Catalog, bought: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """A server of every card that has a price, as often as the plan wants; none where it cannot be housed."""
    for gpu, server in bought[bought["buy_amount"].notna()].iterrows():
        units = rack_units(server["host"], catalog)
        place = housed(scenario, server["server_power_kw"], server["pue"], units)
        yield {
            "source": f"buy.{gpu}", "kind": BUY, "gpu": gpu, "site": ROOM,
            "machines": np.inf if place["rack_machines"] >= 1 else 0.0, "machine_cards": server["server_cards"],
            "amount": server["buy_amount"], "committed_amount": 0.0, **place, "rack_kind": server["host"],
            "capex_amount": server["capex_amount"], "entry": 0, "host": server["host"], "rack_units": units,
            "server_amount": server["server_amount"], "purchase_id": server["purchase_id"],
            "running_amount": server["running_amount"],
        }  # fmt: skip


def _rents(offers: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for row in offers.to_dict("records"):
        yield {
            "source": f"rent.{row['gpu']}.{int(row['instance_cards'])}x", "kind": RENT, "gpu": row["gpu"],
            "site": OUTSIDE, "machines": np.inf, "machine_cards": row["instance_cards"], "amount": row["rent_amount"],
            "committed_amount": 0.0, **_NOWHERE, "capex_amount": 0.0, "entry": 0, "offer_id": str(row["offer_id"]),
            "provider": str(row["provider"]), "term": str(row["term"]),
        }  # fmt: skip
