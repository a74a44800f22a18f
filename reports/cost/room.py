"""Whether the room can house the servers that an option would be bought as; one that it cannot is not bought."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog
from reports.formulas import buy, rent
from reports.scenario.schema import Scenario

REASONS: dict[str, str] = {
    "rack-power": "A server draws {server_kw} kW; a rack has {limit_kw} kW.",
    "rack-units": "A server takes {server_units} rack units; a rack has {limit_units}.",
    "room-power": "{servers} servers draw {power_kw} kW, cooling included; the room has {limit_kw} kW.",
    "room-cooling": "{servers} servers give off {heat_kw} kW; the cooling takes away {limit_kw} kW.",
    "room-racks": "{servers} servers take {racks} racks; the room has {limit_racks}.",
}
"""Why the servers of an option cannot be housed: code -> sentence with the numbers of ``buy_reason_values``."""

_UNPRICED = {"server_price": np.nan, "server_exchange_rate": np.nan, "purchase_id": "", "server_exchange_id": ""}


def refuse(frame: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> pd.DataFrame:
    """Options without a purchase price where the room is too small for their servers, and the reason with its numbers.

    Each option is judged as if it had the room to itself; what several share is the fleet plan's to say. What is not
    known (power, height) does not limit.
    """
    room = scenario.room
    if room is None or frame.empty:
        return frame
    stage = rent.stage_cards(
        *(frame[name].to_numpy(float) for name in ("tensor_parallel", "data_parallel", "stage_servers"))
    )
    cards = frame["server_cards"].to_numpy(float)
    with np.errstate(all="ignore"):
        servers = buy.servers_needed(frame["sized_cards"].to_numpy(float), cards, stage)
    power = frame["server_power_kw"].to_numpy(float)
    heights = {host: catalog.hosts[host].value("server_rack_units") for host in set(frame["host"]) & set(catalog.hosts)}
    units = frame["host"].map(heights).to_numpy(float)
    heat = buy.power_max_kw(servers, power)
    drawn = heat * frame["pue"].to_numpy(float)
    in_rack = np.full(len(frame), np.inf)
    for limit, each in ((room.kw_per_rack, power), (room.units_per_rack, units)):
        if limit is not None:
            in_rack = np.fmin(in_rack, np.floor(limit / each))
    with np.errstate(all="ignore"):
        racks = np.ceil(servers / in_rack)
    found = pd.Series("", index=frame.index, dtype=object)
    values: list[dict[str, object]] = [{} for _ in range(len(frame))]
    checks = (
        ("rack-power", power, room.kw_per_rack, {"server_kw": power}, "limit_kw"),
        ("rack-units", units, room.units_per_rack, {"server_units": units}, "limit_units"),
        ("room-power", drawn, room.power_kw, {"servers": servers, "power_kw": drawn}, "limit_kw"),
        ("room-cooling", heat, room.cooling_kw, {"servers": servers, "heat_kw": heat}, "limit_kw"),
        ("room-racks", racks, room.racks, {"servers": servers, "racks": racks}, "limit_racks"),
    )
    bought = frame["purchase_id"].astype(str).to_numpy() != ""
    for code, amount, limit, quoted, name in checks:
        if limit is None:
            continue
        for row in np.flatnonzero(bought & (found == "").to_numpy() & (amount > limit)):
            found.iloc[row] = code
            values[row] = {**{key: float(each[row]) for key, each in quoted.items()}, name: float(limit)}
    refused = (found != "").to_numpy()
    result = frame.copy()
    for column, blank in _UNPRICED.items():
        result[column] = result[column].where(~refused, blank)
    result["buy_reason"] = result["buy_reason"].where(~refused, found)
    given = zip(result["buy_reason_values"], values, refused, strict=True)
    result["buy_reason_values"] = [new if is_refused else old for old, new, is_refused in given]
    return result
