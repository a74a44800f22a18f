"""The answer the other way round: what a given number of cards of one kind carries, for every service and layout."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog
from reports.evaluate import evaluate_frame
from reports.formulas import given
from reports.methods import Block
from reports.scenario.schema import Scenario

BLOCK = Block("What the given cards carry", given.FORMULAS)
CARDS = "given_cards"

COLUMNS = (
    "service", "gpu", CARDS, "option_id", "candidate_id", "given_replicas", "given_concurrency",
    "given_requests_per_s", "given_demand_share",
)  # fmt: skip


def given_cards(scenario: Scenario) -> dict[str, float]:
    """gpu -> cards of the present fleet, whatever kind they are."""
    found: dict[str, float] = {}
    for entry in scenario.fleet:
        found[entry.gpu] = found.get(entry.gpu, 0.0) + entry.cards
    return found


def carried(candidates: pd.DataFrame, cards: Mapping[str, float], catalog: Catalog) -> pd.DataFrame:
    """Candidates with the columns of ``BLOCK``: what the cards would carry if this service had all of them.

    ``cards`` is gpu -> number of cards. Candidates of other cards, and infeasible ones, have blanks.
    """
    gpus = candidates["gpu"].astype(str)
    hosts = {gpu: catalog.hosts.get(catalog.gpus[gpu].host) for gpu in gpus.unique()}
    size = {gpu: host.value("server_cards") if host else np.nan for gpu, host in hosts.items()}
    number = gpus.map(dict(cards)).astype(float).where(candidates["feasible"].astype(bool))
    frame = candidates.assign(given_cards=number)
    if "data_parallel" not in frame:
        frame = frame.assign(data_parallel=1.0)
    if "server_cards" not in frame:
        frame = frame.assign(server_cards=gpus.map(size).astype(float).fillna(number))
    return evaluate_frame(frame.drop(columns=list(BLOCK.made()), errors="ignore"), [BLOCK])


def of_candidate(candidate: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> dict[str, float]:
    """The same columns of one candidate; empty where no card of its kind is there, or where it cannot run."""
    cards = given_cards(scenario)
    if candidate["gpu"].astype(str).iloc[0] not in cards or not candidate["feasible"].iloc[0]:
        return {}
    row = carried(candidate, cards, catalog).iloc[0]
    return {name: float(row[name]) for name in (CARDS, "server_cards", *BLOCK.made())}


def best(evaluated: pd.DataFrame) -> pd.DataFrame:
    """One row a (service, card): the layout with which the given cards carry most; of equal ones the first."""
    known = evaluated[evaluated[CARDS].notna()]
    order = known.sort_values("given_concurrency", ascending=False, kind="stable")
    found = order.drop_duplicates(["service", "gpu"]).sort_index()
    parts = [found[name].astype(str) for name in ("service", "quantization", "gpu", "interconnect")]
    option = parts[0] + "." + parts[1] + "." + parts[2] + "." + parts[3] if len(found) else pd.Series(dtype=object)
    return found.assign(option_id=option)[list(COLUMNS)].reset_index(drop=True)
