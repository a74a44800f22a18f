"""From evaluated candidates to a recommendation: least cards for each option, ranked by monthly cost, with reasons.

An option is a (service, quantization, gpu, interconnect); among its counts and layouts the one that serves the demand
with the fewest cards stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from reports.constraints import LAYOUT_EXCUSES, QUOTES, binding, quoted

OPTION = ["service", "quantization", "gpu", "interconnect"]
SHORTLIST_ROWS = 12
"""The workbook calculates this many options side by side; more do not fit a page."""


PRICED = ("winner", "dearer", "no-price")
"""Codes of options that meet the targets: their sentences speak of money."""


def conclude(candidates: pd.DataFrame, method: str) -> pd.DataFrame:
    """Candidates with their binding constraint and ``cards_needed``, the same for all counts of an option.

    Columns that mean nothing for an infeasible row (capacity, cards) are blank there, never 0 or a neighbour's.
    """
    frame = candidates.copy()
    frame["excuse_code"] = np.array(LAYOUT_EXCUSES, dtype=object)[frame["excuse_code"].to_numpy()]
    frame["binding_constraint"] = binding(method, frame)
    blank = ~frame["feasible"].to_numpy(dtype=bool)
    for name in (
        "recommended_concurrency", "output_tokens_per_s", "units_needed", "demand_cards", "headroom_share",
        "output_mtok_per_month",
    ):  # fmt: skip
        if name in frame:
            frame[name] = np.where(blank, np.nan, frame[name].to_numpy(dtype=np.float64))
    if "demand_cards" in frame:
        frame["cards_needed"] = frame.groupby(OPTION, observed=True, sort=False)["demand_cards"].transform("min")
    return frame


def options(candidates: pd.DataFrame) -> pd.DataFrame:
    """One row an option: its candidate with the fewest cards, spares included (then smallest unit, then least TPOT).

    Among infeasible candidates of an option the one that came closest stands for it.
    """
    closeness = candidates["excuse_code"].map({code: index for index, code in enumerate(LAYOUT_EXCUSES)})
    keys = pd.DataFrame(
        {
            "cards": candidates["sized_cards"].fillna(np.inf),
            "closeness": -closeness.astype(float),
            "unit": np.where(candidates["feasible"], candidates["count"], -candidates["count"]),
            "tpot": candidates["tpot_ms"].fillna(np.inf),
        }
    )
    order = keys.sort_values(["cards", "closeness", "unit", "tpot"], kind="stable").index
    best = candidates.loc[order].drop_duplicates(OPTION, keep="first").sort_index()
    frame = best.reset_index(drop=True)
    frame.insert(
        0,
        "option_id",
        frame["service"].astype(str)
        + "." + frame["quantization"].astype(str)
        + "." + frame["gpu"].astype(str)
        + "." + frame["interconnect"].astype(str),
    )  # fmt: skip
    return frame


def mark(ranked: pd.DataFrame) -> pd.DataFrame:
    """Ranked options with ``winner`` and ``pareto`` (nothing else is both cheaper and faster), and the final code."""
    frame = ranked.copy()
    frame["winner"] = frame["rank"] == 1
    frame["pareto"] = False
    for _, group in frame[frame["rank"].notna()].groupby("service", observed=True, sort=False):
        by_cost = group.sort_values(["monthly_cost_amount", "tpot_ms"], kind="stable")
        best_so_far = by_cost["tpot_ms"].cummin().shift(fill_value=np.inf)
        frame.loc[by_cost.index, "pareto"] = (by_cost["tpot_ms"] < best_so_far).to_numpy()
    feasible, priced = frame["feasible"].to_numpy(dtype=bool), frame["rank"].notna().to_numpy()
    frame["excuse_code"] = np.select(
        [frame["winner"], feasible & priced, feasible], list(PRICED), frame["excuse_code"]
    )
    return frame


def shortlist(marked: pd.DataFrame) -> pd.DataFrame:
    """Each service's winner, then the next best of every service in turn, another card before another format."""
    ranked = marked[marked["rank"].notna()].copy()
    first_of_card = ~ranked.sort_values("rank").duplicated(["service", "gpu"]).reindex(ranked.index)
    ranked["_turn"] = (
        ranked.assign(_later=~first_of_card)
        .sort_values(["_later", "rank"])
        .groupby("service", observed=True)
        .cumcount()
    )
    ranked["_service"] = ranked["service"].cat.codes if hasattr(ranked["service"], "cat") else ranked["service"]
    ordered = ranked.sort_values(["winner", "_turn", "_service"], ascending=[False, True, True], kind="stable")
    keep = max(SHORTLIST_ROWS, int(ordered["winner"].sum()))
    return ordered.head(keep).drop(columns=["_turn", "_service"]).reset_index(drop=True)


def excuses(candidates: pd.DataFrame, marked: pd.DataFrame) -> pd.DataFrame:
    """Why each infeasible candidate cannot run and why each option did not win: a code and the numbers to quote."""
    infeasible = candidates[~candidates["feasible"]].copy().assign(option_id="")
    best = marked["service"].astype(str).map(
        marked[marked["winner"]].set_index("service")["monthly_cost_amount"].rename(index=str)
    )
    against = marked.assign(more_share=marked["monthly_cost_amount"] / best - 1, cards=marked["cards_needed"])
    parts = []
    for source in (infeasible, against):
        for (method, code), rows in source.groupby(["method", "excuse_code"], sort=False, observed=True):
            if code in PRICED:
                columns = rows[["cards", "monthly_cost_amount", "more_share"]].rename(
                    columns={"monthly_cost_amount": "monthly_amount"}
                )
                values = columns.to_dict("records")
            else:
                values = quoted(str(code), str(method), rows)
            part = rows[["candidate_id", "method", "option_id", "service", "model"]].astype(str)
            constraint = rows["binding_constraint"].where(rows["binding_constraint"] != "", str(code))
            parts.append(part.assign(code=code, constraint=constraint, values=values))
    names = ["candidate_id", "method", "option_id", "service", "model", "code", "constraint", "values"]
    return pd.concat(parts)[names].reset_index(drop=True) if parts else pd.DataFrame(columns=names)


def closest(found: pd.DataFrame, service: str) -> pd.Series | None:
    """The option of a service that came closest to working, as a row of ``excuses``; None when it has none.

    Codes are in the order in which they come closer; of options with the same one, that which misses its bound least.
    """
    own = found[(found["service"].astype(str) == service) & (found["option_id"] != "")]
    if own.empty:
        return None
    order = {code: index for index, code in enumerate(LAYOUT_EXCUSES)}
    misses = [_miss(str(code), values) for code, values in zip(own["code"], own["values"], strict=True)]
    ranked = own.assign(_code=own["code"].map(order).fillna(-1), _miss=misses)
    return ranked.sort_values(["_code", "_miss"], ascending=[False, True], kind="stable").iloc[0]


def _miss(code: str, values: Mapping[str, object]) -> float:
    """How many times its bound the value is that a sentence quotes; endless where it quotes no such pair."""
    quotes = QUOTES.get(code, ())
    if len(quotes) != 2:
        return np.inf
    value, bound = (float(values.get(name, np.nan)) for name in quotes)  # type: ignore[arg-type]
    return value / bound if bound > 0 and np.isfinite(value) else np.inf
