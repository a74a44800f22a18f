"""Long requests apart: two pools of cards, one for short and one for long prompts, against one pool for all.

For a grid of split lengths both pools and the one pool are evaluated by the same stages, with the same arrivals,
targets and policies: each pool has whole units, its own headroom and its own spares. Of a trace the rows are parted;
otherwise prompts and answers are taken to be independent of each other. Routing by the length costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from reports.plan.again import cheapest, combinations, priced_options
from reports.plan.changed import divided, with_services
from reports.run import Run
from reports.scenario.services import Service
from reports.scenario.targets import Targets
from reports.scenario.workload import Workload

GRID = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
"""Shares of the requests that go to the pool of short prompts; the split length is that percentile of the prompts."""

ALL, SHORT, LONG = "all", "short", "long"
COST, CARDS, LATENCY, NO = "cost", "cards", "latency", "no"
"""In what two pools are better: money; as much money and fewer cards; both alike and earlier first tokens; nothing."""

NOTICEABLE = 0.005
EARLIER = 0.1
"""Shares of the cost, and of the time to first token of the short requests, below which nothing is gained."""

COLUMNS = (
    "service", "split_share", "split_tokens", "pool", "option_id", "gpu", "cards", "servers", "amount_per_month",
    "ttft_ms", "tpot_ms", "better",
)  # fmt: skip


@dataclass(frozen=True)
class Split:
    """One way to part the requests of a service."""

    service: str
    share: float
    tokens: float
    pools: Mapping[str, str]
    """Pool -> name of the service that stands for it."""


def stage(run: Run) -> Run:
    """The run with the best split of every service that has prompts of different lengths, beside its one pool."""
    known = run.winners()[["service", "demand_concurrency", "request_time_s"]]
    winners = {str(row["service"]): row for row in known.to_dict("records")}
    services, splits = [], []
    for service in run.scenario.service_axis:
        if service.name in winners and service.demand.run is None:  # a run has no short requests to protect
            for split, parts in _splits(service, winners[service.name]):
                splits.append(split)
                services += parts
    if not services:
        return run
    once = {each.name: each for each in services}
    own = combinations(run.shortlist)
    wanted = [
        (name, *rest)
        for split in splits
        for name in split.pools.values()
        for service_name, *rest in own
        if service_name == split.service
    ]
    options = priced_options(with_services(run.scenario, list(once.values())), run.catalog, set(wanted))  # type: ignore[arg-type]
    best = cheapest(options)
    return replace(run, pools=pd.DataFrame(list(_chosen(splits, best)), columns=list(COLUMNS)))


def _splits(service: Service, winner: Mapping[str, Any]) -> Iterator[tuple[Split, list[Service]]]:
    """Every split of the grid, with the services that stand for its pools; the same arrivals go to all of them."""
    arrivals = float(winner["demand_concurrency"]) / float(winner["request_time_s"])

    def pool(name: str, workload: Workload, share: float) -> Service:
        demand = service.demand.model_copy(
            update={**dict.fromkeys(type(service.demand).model_fields), "by_model": {},
                    "requests_per_s": arrivals * share}
        )  # fmt: skip
        return replace(
            service, name=name, workload=workload.model_copy(update={"demand": demand}), workload_key=name,
            targets=service.targets if share == 1 else both_up(service.targets),
        )  # fmt: skip

    for wanted in GRID:
        found = divided(service.workload, wanted)
        if found is None:  # all prompts are of one length
            continue
        share, short, long = found
        names = {ALL: f"{service.name}+all", **{each: f"{service.name}+{each}+{wanted:g}" for each in (SHORT, LONG)}}
        parts = [pool(names[ALL], service.workload, 1.0), pool(names[SHORT], short, share),
                 pool(names[LONG], long, 1 - share)]  # fmt: skip
        yield Split(service.name, share, float(service.workload.input_tokens.quantile(wanted)), names), parts


def both_up(targets: Targets | None) -> Targets | None:
    """Targets of one of two pools that must both serve: the product of their availabilities is that of the service."""
    if targets is None or targets.availability is None:
        return targets
    return targets.model_copy(update={"availability": math.sqrt(targets.availability)})


def _chosen(splits: list[Split], best: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Three rows a service: the one pool and the two of the split that costs least."""
    for service in dict.fromkeys(split.service for split in splits):
        own = [split for split in splits if split.service == service and set(split.pools.values()) <= set(best)]
        if not own:
            continue
        split = min(own, key=lambda each: _cost(each, best))
        verdict = _verdict({pool: best[name] for pool, name in split.pools.items()})
        for pool, name in split.pools.items():
            row = best[name]
            yield {
                "service": service, "split_share": split.share, "split_tokens": split.tokens, "pool": pool,
                "option_id": ".".join([service, *(str(row[key]) for key in ("quantization", "gpu", "interconnect"))]),
                "gpu": str(row["gpu"]), "cards": row["sized_cards"], "servers": row["servers_needed"],
                "amount_per_month": row["monthly_cost_amount"], "ttft_ms": first_token_ms(row),
                "tpot_ms": row["tpot_ms"], "better": verdict,
            }  # fmt: skip


def _cost(split: Split, best: Mapping[str, Mapping[str, Any]]) -> tuple[float, float, float]:
    """Money, cards, and the first token of the short requests: what is compared, in this order."""
    short, long = best[split.pools[SHORT]], best[split.pools[LONG]]
    return (
        short["monthly_cost_amount"] + long["monthly_cost_amount"], short["sized_cards"] + long["sized_cards"],
        first_token_ms(short),
    )  # fmt: skip


def first_token_ms(answer: Mapping[str, Any]) -> float:
    """Time to first token at the statistic of the target (P99, P95) where the method says it, else its mean."""
    return float(answer.get("ttft_tail_ms", answer["ttft_ms"]))


def _verdict(pools: Mapping[str, Mapping[str, Any]]) -> str:
    one, short, long = pools[ALL], pools[SHORT], pools[LONG]
    cost = short["monthly_cost_amount"] + long["monthly_cost_amount"] - one["monthly_cost_amount"]
    cards = short["sized_cards"] + long["sized_cards"] - one["sized_cards"]
    if cost < -NOTICEABLE * one["monthly_cost_amount"]:
        return COST
    if cost > NOTICEABLE * one["monthly_cost_amount"] or cards > 0:
        return NO
    if cards < 0:
        return CARDS
    return LATENCY if first_token_ms(short) < (1 - EARLIER) * first_token_ms(one) else NO
