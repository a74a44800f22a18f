"""What a given number of cards carries: the answer the other way round, from cards to demand."""

from __future__ import annotations

from typing import Any

from reports.formulas.meta import floor, formula

_SOURCE = ("methods-note",)


@formula(unit="stages", label="Stages that the given cards hold", symbol="n_{st}", sources=_SOURCE)
def given_stages(given_cards: Any, server_cards: Any, tensor_parallel: Any, data_parallel: Any) -> Any:
    """Whole stages in each full server, and in the one with the rest; cards that fill no whole stage carry nothing."""
    return floor(given_cards / server_cards) * floor(server_cards / (tensor_parallel * data_parallel)) + floor(
        (given_cards - floor(given_cards / server_cards) * server_cards) / (tensor_parallel * data_parallel)
    )


@formula(unit="replicas", label="Replicas that the given cards hold", symbol="n_{giv}", sources=_SOURCE)
def given_replicas(given_stages: Any, pipeline_parallel: Any) -> Any:
    """Whole replicas out of the stages that fit."""
    return floor(given_stages / pipeline_parallel)


@formula(unit="requests", label="Requests at once that the given cards carry", symbol="D_{giv}", sources=_SOURCE)
def given_concurrency(given_replicas: Any, recommended_concurrency: Any, replicas: Any) -> Any:
    """Replicas times what one of them is recommended to carry."""
    return given_replicas * recommended_concurrency / replicas


@formula(unit="requests/s", label="Arrivals that the given cards carry", symbol="\\lambda_{giv}", sources=_SOURCE)
def given_requests_per_s(given_concurrency: Any, request_time_s: Any) -> Any:
    """Little's law: requests at once over the time of one."""
    return given_concurrency / request_time_s


@formula(unit="ratio", label="Demand that the given cards serve", symbol="D_{giv}/D", sources=_SOURCE)
def given_demand_share(given_concurrency: Any, demand_concurrency: Any) -> Any:
    """1 and above: these cards alone carry this service."""
    return given_concurrency / demand_concurrency


FORMULAS = (given_stages, given_replicas, given_concurrency, given_requests_per_s, given_demand_share)
