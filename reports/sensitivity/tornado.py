"""One input at a time at its low and its high: what it does to the cost, to the cards, and to the decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.sensitivity.inputs import Uncertain
from reports.sensitivity.recost import Recost

Values = NDArray[np.float64]

COLUMNS = (
    "service", "option_id", "way", "scope", "key", "column", "label", "unit", "basis", "low", "mid", "high",
    "cost_at_low", "cost", "cost_at_high", "swing", "cards_at_low", "cards", "cards_at_high", "way_at_low",
    "way_at_high", "option_at_low", "option_at_high", "decides", "switching_value", "rank",
)  # fmt: skip

PLAN = ""
"""``option_id`` and ``service`` of the rows about the whole plan: all winners together, each the way it was chosen."""

STEPS = 40
"""Halvings of the search for a switching value: to 1e-12 of the range."""


def tornado(rows: pd.DataFrame, recost: Recost, inputs: Sequence[Uncertain], ways: Sequence[str]) -> pd.DataFrame:
    """Rows for every winner and for the plan: each input that moves its cost, the largest swing first.

    ``decides``: at the low or the high another way or another option of the short list is cheaper.
    ``switching_value``: between low and high, where that happens first as seen from the mid; NaN when it does not.
    """
    if not inputs:
        return pd.DataFrame(columns=list(COLUMNS))
    middle = np.array([[each.mid] for each in inputs])
    ends = np.repeat(middle, 2 * len(inputs) + 1, axis=1)
    for index, each in enumerate(inputs):
        ends[index, 1 + 2 * index], ends[index, 2 + 2 * index] = each.low, each.high
    columns = recost(recost.moved(inputs, ends))
    costs = recost.costs(columns, ways)
    cards = np.broadcast_to(np.asarray(columns["sized_cards"], dtype=float), costs.shape[1:])
    winners = [int(index) for index in np.flatnonzero(rows["winner"].to_numpy(dtype=bool))]
    services = rows["service"].astype(str).to_numpy()
    found: list[dict[str, object]] = []
    plan = np.zeros(ends.shape[1])
    plan_cards = np.zeros(ends.shape[1])
    for winner in winners:
        way = ways.index(str(rows["way"].iloc[winner])) if str(rows["way"].iloc[winner]) in ways else 0
        plan = plan + costs[way, winner]
        plan_cards = plan_cards + cards[winner]
        rivals = np.flatnonzero(services == services[winner])
        best = np.argmin(costs[:, rivals, :].reshape(len(ways) * len(rivals), -1), axis=0)
        decided = [
            (ways[each // len(rivals)], str(rows["option_id"].iloc[rivals[each % len(rivals)]])) for each in best
        ]
        for index, each in enumerate(inputs):
            low, high = 1 + 2 * index, 2 + 2 * index
            row = _row(each, costs[way, winner], cards[winner], low, high)
            decides = decided[low] != decided[0] or decided[high] != decided[0]
            if row["swing"] == 0 and not decides:
                continue
            found.append(
                {
                    **row, "service": services[winner], "option_id": str(rows["option_id"].iloc[winner]),
                    "way": ways[way], "way_at_low": decided[low][0], "way_at_high": decided[high][0],
                    "option_at_low": decided[low][1], "option_at_high": decided[high][1], "decides": decides,
                    "switching_value": _switch(recost, inputs, index, ways, rivals, low if decided[low] != decided[0]
                                               else high, best[0]) if decides else np.nan,
                }
            )  # fmt: skip
    for index, each in enumerate(inputs):
        row = _row(each, plan, plan_cards, 1 + 2 * index, 2 + 2 * index)
        if row["swing"]:
            blank = dict.fromkeys(("way", "way_at_low", "way_at_high", "option_at_low", "option_at_high"), "")
            found.append({**row, **blank, "service": PLAN, "option_id": PLAN, "decides": False,
                          "switching_value": np.nan})  # fmt: skip
    frame = pd.DataFrame(found, columns=list(COLUMNS))
    frame["rank"] = frame.groupby("option_id", sort=False)["swing"].rank(ascending=False, method="first")
    order = frame.sort_values(["service", "rank"], kind="stable") if len(frame) else frame
    return order.reset_index(drop=True)


def _row(each: Uncertain, costs: Values, cards: Values, low: int, high: int) -> dict[str, object]:
    return {
        "scope": each.scope, "key": each.key, "column": each.column, "label": each.label, "unit": each.unit,
        "basis": each.basis, "low": each.low, "mid": each.mid, "high": each.high,
        "cost_at_low": costs[low], "cost": costs[0], "cost_at_high": costs[high],
        "swing": float(np.ptp([costs[low], costs[0], costs[high]])) if np.isfinite(costs[0]) else 0.0,
        "cards_at_low": cards[low], "cards": cards[0], "cards_at_high": cards[high],
    }  # fmt: skip


def _switch(
    recost: Recost, inputs: Sequence[Uncertain], index: int, ways: Sequence[str], rivals: NDArray[np.int64],
    end: int, first: np.int64,
) -> float:  # fmt: skip
    """Where, from the mid to the end that decides otherwise, the decision of the mid stops holding.

    By halving; cards and servers come in steps, so the decision may return in between: what is found is one such
    point, the one that halving from the mid reaches.
    """
    each = inputs[index]
    stays, leaves = each.mid, each.low if end == 1 + 2 * index else each.high
    for _ in range(STEPS):
        half = (stays + leaves) / 2
        costs = recost.costs(recost(recost.moved([each], np.array([[half]]))), ways)
        best = np.argmin(costs[:, rivals, :].reshape(len(ways) * len(rivals), -1), axis=0)[0]
        stays, leaves = (half, leaves) if best == first else (stays, half)
    return (stays + leaves) / 2
