"""The bill of materials: what is ordered with a purchase, how many, of which source, for how much, and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reports.units import day_of

COLUMNS = (
    "service", "option_id", "part", "item", "quantity", "unit", "unit_price", "amount", "source", "lead_time_weeks",
    "order_date", "recommended",
)  # fmt: skip

OUTLAY, CONTRACTS = "outlay", "contracts"
"""Parts of the bill: paid for the purchase, and signed with it but paid over the horizon."""


@dataclass(frozen=True)
class Item:
    """One line of the bill. Quantity, amount, lead time and order day are columns of the option."""

    item: str
    label: str
    part: str
    quantity: str
    unit: str
    amount: str
    source: str
    """A column that names a price row, or ``assumption:<name>``."""
    lead: str = ""
    order: str = ""
    ratio: str = ""
    """Column: what says how many there are of it."""


SERVER = {"lead": "lead_time_weeks", "order": "server_order_day"}
NETWORK = {"lead": "network_lead_time_weeks", "order": "network_order_day"}

ITEMS: tuple[Item, ...] = (
    Item("servers", "Servers", OUTLAY, "servers_needed", "server", "hardware_amount", "purchase_id", **SERVER),
    Item("cards", "Cards, in the servers", OUTLAY, "bought_cards", "card", "", "purchase_id", **SERVER),
    Item("network-adapters", "Network adapters", OUTLAY, "network_adapter_pieces", "piece", "network_adapters_amount",
         "assumption:adapter_price_per_piece", **NETWORK, ratio="adapter_pieces_per_server"),
    Item("switches", "Switches", OUTLAY, "network_switch_pieces", "piece", "network_switches_amount",
         "assumption:switch_price_per_piece", **NETWORK, ratio="port_pieces_per_switch"),
    Item("optics", "Optics", OUTLAY, "network_optic_pieces", "piece", "network_optics_amount",
         "assumption:optic_price_per_piece", **NETWORK, ratio="optic_pieces_per_link"),
    Item("cables", "Cables", OUTLAY, "network_cable_pieces", "piece", "network_cables_amount",
         "assumption:cable_price_per_piece", **NETWORK),
    Item("delivery", "Delivery", OUTLAY, "servers_needed", "server", "delivery_amount", "assumption:delivery_share",
         **SERVER),
    Item("installation", "Installation", OUTLAY, "servers_needed", "server", "installation_amount",
         "assumption:installation_share", **SERVER),
    Item("spare-parts", "Spare parts", OUTLAY, "servers_needed", "server", "spare_parts_amount",
         "assumption:spare_parts_share", **SERVER),
    Item("purchase-tax", "Tax on the purchase not recovered", OUTLAY, "servers_needed", "server",
         "purchase_tax_amount", "assumption:vat_goods_ratio"),
    Item("licences", "Licences", CONTRACTS, "licence_card_years", "card-year", "licence_total_amount",
         "assumption:licence_price_per_card_year", **SERVER),
    Item("support", "Support and maintenance", CONTRACTS, "support_server_years", "server-year",
         "support_total_amount", "assumption:maintenance_share_per_year", **SERVER),
)  # fmt: skip
"""In the order of the bill. Cards have no amount of their own: they are in the price of the server."""

COST_LINES: dict[str, tuple[str, ...]] = {
    OUTLAY: ("servers", "network", "delivery", "installation", "spare-parts", "purchase-tax"),
    CONTRACTS: ("licences", "maintenance"),
}
"""Part of the bill -> the cost lines that it adds up to: those of day 0, and those of all months."""

TOTALS = {OUTLAY: "bill_outlay_amount", CONTRACTS: "bill_total_amount"}


def bill(shortlist: pd.DataFrame) -> pd.DataFrame:
    """One row an item of every short-listed option that has a purchase price; ``COLUMNS`` say which."""
    return pd.DataFrame(
        [row for option in shortlist.to_dict("records") if np.isfinite(option["capex_amount"])
         for row in _rows({str(name): value for name, value in option.items()})],
        columns=list(COLUMNS),
    )  # fmt: skip


def _rows(option: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for each in ITEMS:
        quantity = float(option[each.quantity])
        amount = float(option[each.amount]) if each.amount else np.nan
        yield {
            "service": str(option["service"]), "option_id": option["option_id"], "part": each.part, "item": each.item,
            "quantity": quantity, "unit": each.unit, "amount": amount,
            "unit_price": amount / quantity if quantity else np.nan,
            "source": each.source if each.source.startswith("assumption:") else str(option[each.source]),
            "lead_time_weeks": float(option[each.lead]) if each.lead else np.nan,
            "order_date": day_of(option[each.order]).isoformat() if each.order else "",
            "recommended": bool(option["winner"]) and option["way"] == "buy",
        }  # fmt: skip
