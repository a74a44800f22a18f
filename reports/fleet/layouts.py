"""From evaluated candidates to the few ways to run a unit that can be part of a least-cost plan.

Every feasible candidate becomes one replica: its cards, its stages, the share of the demand it serves. A way that
another one can always stand in for is dropped: k units of the other in the same format on the same card, with k x its
cards not above, k x its share not below, and stages that fit wherever the first one's fit. A whole format is dropped
when another one stands in for it on every card. No plan gets dearer by that.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from reports.evaluate import evaluate_frame
from reports.fleet.problem import EXCLUSIVE, LAYOUT_COLUMNS
from reports.formulas import step
from reports.methods import Block
from reports.recommend import OPTION

SINGLE = "single"
SINGLE_STEP = Block("Step with a single request", step.FORMULAS, batch="single_requests", point=SINGLE)
"""What a shared card spends on a service however little it is asked: one step with one request."""

IDENTITY = ["service", "quantization", "gpu", "interconnect", "tensor_parallel", "data_parallel", "pipeline_parallel"]
TOLERANCE = 1e-9

_SHARED = ["weights_share", "load_memory_share", "least_time_share", "load_time_share"]


def layouts(candidates: pd.DataFrame, sharing: dict[str, str]) -> pd.DataFrame:
    """The ways that are left, with the columns of the fleet program, then those of the candidate.

    ``sharing`` is how each service may share its cards; a service that is not named does not.
    """
    feasible = candidates[candidates["feasible"].astype(bool)]
    if feasible.empty:
        return pd.DataFrame(columns=[*LAYOUT_COLUMNS, *candidates.columns])
    frame = feasible.reset_index(drop=True)
    if "data_parallel" not in frame:
        frame = frame.assign(data_parallel=1.0)
    stage = frame["tensor_parallel"] * frame["data_parallel"]
    service = frame["service"].astype(str)
    made = pd.DataFrame(
        {
            "layout": frame["candidate_id"].astype(str),
            "service": service,
            "gpu": frame["gpu"].astype(str),
            "unit_cards": stage * frame["pipeline_parallel"],
            "stage_cards": stage,
            "share": frame["recommended_concurrency"] / frame["replicas"] / frame["demand_concurrency"],
            "sharing": service.map(sharing).fillna(EXCLUSIVE),
            "format": frame["quantization"].astype(str),
        }
    )
    made = pd.concat([made, _on_shared_cards(frame, made["sharing"])], axis=1)
    made["capacity"] = frame["recommended_concurrency"] / frame["replicas"]
    made["demand"] = frame["demand_concurrency"]
    made["request_time_s"] = frame["request_time_s"]
    parts = [frame[name].astype(str) for name in OPTION]
    made["option_id"] = parts[0] + "." + parts[1] + "." + parts[2] + "." + parts[3]
    rest = frame[[name for name in IDENTITY if name not in made]]
    return _not_dominated(pd.concat([made, rest], axis=1).drop_duplicates(IDENTITY, ignore_index=True))


def _on_shared_cards(frame: pd.DataFrame, sharing: pd.Series) -> pd.DataFrame:
    """What a unit takes of the memory and the time of its cards; blank for services that do not share them.

    Time is counted in steps against the strictest target of those that share in the same way: with round robin every
    token of each service waits for one step of all the others.
    """
    result = pd.DataFrame(np.nan, index=frame.index, columns=_SHARED)
    rows = frame[(sharing != EXCLUSIVE).to_numpy()]
    if rows.empty or not {"kv_room_gib", "memory_requests", "tpot_target_ms"} <= set(rows):
        return result
    single = evaluate_frame(rows.drop(columns="single_requests", errors="ignore").assign(single_requests=1.0),
                            [SINGLE_STEP])  # fmt: skip
    strictest = rows.groupby(sharing[rows.index])["tpot_target_ms"].transform("min")
    first = single[f"tpot_ms@{SINGLE}"]
    fixed = rows["weights_gib"] + rows["overhead_gib"]
    usable = fixed + rows["kv_room_gib"]
    result.loc[rows.index, "weights_share"] = fixed / usable
    filled = rows["recommended_requests"] / rows["memory_requests"]
    result.loc[rows.index, "load_memory_share"] = rows["kv_room_gib"] / usable * filled.clip(upper=1.0)
    result.loc[rows.index, "least_time_share"] = first / strictest
    result.loc[rows.index, "load_time_share"] = (rows["tpot_ms"] - first).clip(lower=0.0) / strictest
    return result


def _not_dominated(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the ways that another one of the same format stands in for, then without the formats that another one
    of the service stands in for on every card; of two that are equal the first stays."""
    pairs = _pairs(frame)
    dropped = pairs.loc[pairs["better"] & (pairs["format"] == pairs["format_other"]), "_row"].unique()
    kept = frame.drop(index=dropped).reset_index(drop=True)
    pairs = _pairs(kept)
    across = pairs[pairs["better"] & (pairs["format"] != pairs["format_other"])]
    stood_in = across.groupby(["service", "format", "format_other"])["_row"].nunique().rename("stood").reset_index()
    have = kept.groupby(["service", "format"]).size().rename("have").reset_index()
    whole = stood_in.merge(have, on=["service", "format"])
    gone = whole.loc[whole["stood"] == whole["have"], ["service", "format"]].drop_duplicates()
    out = pd.MultiIndex.from_frame(kept[["service", "format"]]).isin(pd.MultiIndex.from_frame(gone))
    return kept[~out].reset_index(drop=True)


def _pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Every two ways of a service on a card; ``better`` where the other stands in for the first, or is its equal and
    comes before it."""
    names = ["unit_cards", "stage_cards", "share", *_SHARED]
    keys = ["service", "gpu"]
    left = frame[[*keys, "sharing", "format", *names]].assign(_row=np.arange(len(frame)))
    pairs = left.merge(left[[*keys, "format", "_row", *names]], on=keys, suffixes=("", "_other"))
    pairs = pairs[pairs["_row"] != pairs["_row_other"]].reset_index(drop=True)
    times = np.floor(pairs["unit_cards"] / pairs["unit_cards_other"])
    fits = (times >= 1) & (pairs["stage_cards"] % pairs["stage_cards_other"] == 0)
    reached = times * pairs["share_other"]
    serves = reached >= pairs["share"] * (1 - TOLERANCE)
    same_cards = pairs["unit_cards"] == pairs["unit_cards_other"]
    lighter = np.logical_and.reduce([(pairs[f"{name}_other"] <= pairs[name] * (1 + TOLERANCE)) for name in _SHARED])
    same = same_cards & (pairs["stage_cards"] == pairs["stage_cards_other"])
    same &= reached <= pairs["share"] * (1 + TOLERANCE)
    pairs["better"] = fits & serves & ((pairs["sharing"] == EXCLUSIVE) | (lighter & same_cards))
    pairs["better"] &= ~same | (pairs["_row_other"] < pairs["_row"])
    return pairs
