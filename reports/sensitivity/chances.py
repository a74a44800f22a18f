"""All inputs drawn at once, 10,000 times: how often each way is the cheapest, and the range of its cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.sensitivity.inputs import Uncertain
from reports.sensitivity.recost import Recost

Values = NDArray[np.float64]

DRAWS = 10_000
SEED = 20_261_130
"""Fixed: the same scenario gives the same chances on every machine and day."""

COLUMNS = (
    "service", "option_id", "way", "cheapest_share", "cost_p10", "cost_p50", "cost_p90", "cards_p10", "cards_p50",
    "cards_p90",
)  # fmt: skip


def triangular(share: Values, low: float, mid: float, high: float) -> Values:
    """Quantiles of the triangular distribution from ``low`` over its mode ``mid`` to ``high``."""
    if high <= low:
        return np.full_like(share, mid)
    turn = (mid - low) / (high - low)
    rising = low + np.sqrt(share * (high - low) * (mid - low))
    falling = high - np.sqrt((1 - share) * (high - low) * (high - mid))
    return np.where(share < turn, rising, falling)


def draw(inputs: Sequence[Uncertain], draws: int = DRAWS) -> Values:
    """Values of every input, shaped (inputs, draws).

    Inputs are independent. Each has a stream of its own, named by its fact, so that adding one input leaves the draws
    of the others as they were.
    """
    values = np.empty((len(inputs), draws))
    for index, each in enumerate(inputs):
        name = f"{each.scope}|{each.key}|{each.column}".encode()
        stream = np.random.default_rng([SEED, *name])
        values[index] = triangular(stream.random(draws), each.low, each.mid, each.high)
    return values


def chances(rows: pd.DataFrame, recost: Recost, inputs: Sequence[Uncertain], ways: Sequence[str]) -> pd.DataFrame:
    """One row a (short-listed option, way): how often it is the cheapest of its service, and P10, P50, P90."""
    columns = recost(recost.moved(inputs, draw(inputs)))
    costs = recost.costs(columns, ways)
    cards = np.broadcast_to(np.asarray(columns["sized_cards"], dtype=float), costs.shape[1:])
    found = []
    services = rows["service"].astype(str).to_numpy()
    for service in dict.fromkeys(services):
        at = np.flatnonzero(services == service)
        of_service = costs[:, at, :].reshape(len(ways) * len(at), -1)
        best = np.argmin(of_service, axis=0)
        priced = np.isfinite(of_service).any(axis=0)
        for position in range(len(of_service)):
            way, index = ways[position // len(at)], at[position % len(at)]
            cost = of_service[position]
            if not np.isfinite(cost).any():
                continue
            low, mid, high = np.quantile(cost[np.isfinite(cost)], (0.1, 0.5, 0.9))
            few, some, many = np.quantile(cards[index][np.isfinite(cards[index])], (0.1, 0.5, 0.9))
            found.append(
                {
                    "service": service, "option_id": str(rows["option_id"].iloc[index]), "way": way,
                    "cheapest_share": float(np.mean((best == position) & priced)),
                    "cost_p10": low, "cost_p50": mid, "cost_p90": high,
                    "cards_p10": few, "cards_p50": some, "cards_p90": many,
                }
            )  # fmt: skip
    return pd.DataFrame(found, columns=list(COLUMNS))
