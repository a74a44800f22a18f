"""Plain frames of small fleet problems, so that a case states only what it is about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from reports.fleet.problem import FleetProblem

SHARED = ("weights_share", "load_memory_share", "least_time_share", "load_time_share")


def service(name: str, tier: int = 1, **more: float) -> dict[str, Any]:
    """A service that needs its demand once, without spares."""
    return {
        "service": name, "tier": tier, "demand": 100.0, "required_share": 1.0, "minimum_units": 1.0,
        "spare_units": 0.0, **more,
    }  # fmt: skip


def way(of: str, cards: int, share: float, gpu: str = "g", **more: Any) -> dict[str, Any]:
    """A unit of so many cards in one stage that serves this share of the demand."""
    layout = f"{of}.{more.get('format', 'fp8')}.{gpu}.{cards}x"
    return {
        "layout": layout, "service": of, "gpu": gpu, "unit_cards": float(cards), "stage_cards": float(cards),
        "share": share, "format": "fp8", "sharing": "exclusive", **dict.fromkeys(SHARED, np.nan), **more,
    }  # fmt: skip


def source(name: str, kind: str, amount: float, cards: int = 8, gpu: str = "g", **more: Any) -> dict[str, Any]:
    """Machines of eight cards, as many as there are or as one likes; those in the room draw 10 kW, two in a rack."""
    inside = kind in ("owned", "leased", "buy")
    return {
        "source": name, "kind": kind, "gpu": gpu, "site": "room" if inside else "outside", "machines": np.inf,
        "machine_cards": float(cards), "amount": amount, "committed_amount": 0.0, "power_kw": 10.0 * inside,
        "cooling_kw": 8.0 * inside, "rack_kind": gpu if inside else "", "rack_machines": 2.0 if inside else np.inf,
        "capex_amount": 1000.0 if kind == "buy" else 0.0, **more,
    }  # fmt: skip


def problem(
    services: list[dict[str, Any]], layouts: list[dict[str, Any]], sources: list[dict[str, Any]], **more: Any
) -> FleetProblem:
    """All of it as frames."""
    return FleetProblem(pd.DataFrame(services), pd.DataFrame(layouts), pd.DataFrame(sources), **more)
