"""Services: models with a workload, targets and a rank of their own; without a list of them, one service a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional

from pydantic import Field, create_model

from reports.scenario.targets import Targets
from reports.scenario.workload import DEMAND_KEYS, Demand, Strict, Workload

Sharing = Literal["exclusive", "time-sliced", "mps"]

ServiceName = Annotated[
    str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,58}[a-z0-9])?$", description="small letters, digits and hyphens")
]
TIERS = 9


class ServiceEntry(Strict):
    """One service: a model with its demand; what it leaves out of workload and targets is the scenario's."""

    name: ServiceName
    """Small letters, digits and hyphens; stands in the ids of candidates."""
    model: str
    """Its model, by id or any alias in the catalog."""
    tier: Annotated[int, Field(ge=1, le=TIERS)] = 1
    """Priority when not all can be served: 1 is served first."""
    demand: Demand | None = None
    """Its own demand; default: the one of the scenario's workload."""
    workload: Workload
    """What differs from the scenario's workload: lengths, prefix cache, arrivals."""
    targets: Targets | None = None
    """What differs from the scenario's targets."""
    quantization: Annotated[tuple[str, ...], Field(min_length=1, max_length=50)] | None = None
    """The only quantizations it may use, out of matrix.quantization."""
    sharing: Sharing = "exclusive"
    """Whether its cards may serve other services at the same time, and how."""
    min_replicas: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Replicas that run even when fewer would carry the demand."""


@dataclass(frozen=True)
class Service:
    """One entry of the first axis of the matrix, with everything that holds for it."""

    name: str
    """Key of the axis: the name in ``services``, or the id of the model."""
    model: str
    """Id of its model in the catalog."""
    workload: Workload
    """Lengths and arrivals, its own or the scenario's; ``demand`` is that of this service."""
    targets: Targets | None
    quantization: tuple[str, ...]
    """The quantizations it may use."""
    workload_key: str = ""
    """Key of the facts on its workload and targets: its name, or blank where they are the scenario's."""
    tier: int = 1
    sharing: Sharing = "exclusive"
    min_replicas: int = 1

    @property
    def demand(self) -> Demand:
        """How many requests it gets."""
        return self.workload.demand

    @property
    def resident_key(self) -> str:
        """Key of the facts on the memory its requests hold: they follow from workload and model."""
        return f"{self.workload_key}/{self.model}"


def partial(model: type[Strict]) -> type[Strict]:
    """The same keys with the same forms and bounds, none of them required: for what other parts are laid over."""
    fields: dict[str, Any] = {}
    for name, known in model.model_fields.items():
        inner: Any = known.annotation
        if isinstance(inner, type) and issubclass(inner, Strict):
            inner = partial(inner)
        if known.discriminator:
            inner = Annotated[inner, Field(discriminator=known.discriminator)]
        elif known.metadata:
            inner = Annotated[inner, *known.metadata]
        optional = Optional[inner]  # noqa: UP045 - made at run time
        fields[name] = (optional, Field(default=None, alias=known.alias, description=known.description))
    return create_model(model.__name__, __base__=Strict, **fields)


def constructed(model: type[Strict], given: Any) -> Any:
    """What was read as ``partial`` in its own class: defaults where nothing is stated, None where there is none."""
    values = {}
    for name, known in model.model_fields.items():
        inner: Any = known.annotation
        value = getattr(given, name)
        if value is None and not known.is_required():
            value = known.get_default(call_default_factory=True)
        elif value is not None and isinstance(inner, type) and issubclass(inner, Strict):
            value = constructed(inner, value)
        values[name] = value
    return model.model_construct(**values)


def by_model(
    models: tuple[str, ...], workload: Workload, targets: Targets | None, quantizations: Mapping[str, tuple[str, ...]]
) -> tuple[Service, ...]:
    """One service a model, named after it, all with the scenario's workload and targets."""
    return tuple(
        Service(model, model, _with_demand_of(workload, model), targets, quantizations[model]) for model in models
    )


def listed(
    entries: tuple[ServiceEntry, ...], own: frozenset[str], quantizations: Mapping[str, tuple[str, ...]]
) -> tuple[Service, ...]:
    """The services of a scenario that lists them; ``own`` names those that differ in workload or targets."""
    return tuple(
        Service(
            name=each.name, model=each.model, workload=each.workload, targets=each.targets,
            quantization=each.quantization or quantizations[each.model],
            workload_key=each.name if each.name in own else "",
            tier=each.tier, sharing=each.sharing, min_replicas=each.min_replicas,
        )
        for each in entries
    )  # fmt: skip


def _with_demand_of(workload: Workload, model: str) -> Workload:
    own = workload.demand.by_model.get(model)
    if own is None:
        return workload
    stated = {name: getattr(own, name) for name in own.model_fields_set}
    demand = workload.demand.model_copy(update={**dict.fromkeys(DEMAND_KEYS), **stated, "by_model": {}})
    return workload.model_copy(update={"demand": demand})
