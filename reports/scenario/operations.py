"""How a service is run: engine switches, the fleet that is there, the room it stands in, what is kept in reserve."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reports.scenario.workload import Strict

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Kilowatts = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=1, le=1_000_000)]


class Speculative(Strict):
    """Speculative decoding: a draft proposes tokens, the model checks them in one step."""

    draft_tokens: Annotated[int, Field(ge=1, le=16)]
    """Tokens proposed at each step."""
    acceptance: Share
    """Probability that a proposed token is accepted, when those before it were."""
    draft_step_share: Share
    """Time of drafting one token as a share of a step of the model."""


class EngineSettings(Strict):
    """Settings of the engine that are not those of its entry in the catalog."""

    chunk_tokens: Annotated[int, Field(ge=16, le=1_000_000)] | None = None
    """Tokens of prefill and decode in one step, at most (chunked prefill)."""
    max_requests: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Requests that a replica runs at once, at most."""


class FleetEntry(Strict):
    """Cards of one kind that are there already: owned, leased, or reserved at a provider."""

    gpu: str
    """The card, by its id or any alias in the catalog."""
    cards: Whole
    servers: Whole | None = None
    """Servers they are in; default: whole servers of the card's usual size."""
    age_months: Annotated[int, Field(ge=0, le=240)] = 0
    """Months since they were bought."""
    book_value: Amount = 0.0
    """What they are still worth in the books, all together, in the scenario's currency."""
    lease_ends: datetime.date | None = None
    """Last day of the lease or reservation."""
    kind: Literal["owned", "leased", "reserved"] = "owned"
    amount_per_month: Amount = 0.0
    """What the lease or reservation costs a month, all together, in the scenario's currency."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> FleetEntry:
        if self.kind == "owned" and self.lease_ends is not None:
            raise ValueError("owned cards have no lease_ends; state kind leased or reserved")
        if self.kind == "owned" and self.amount_per_month:
            raise ValueError("owned cards have no amount_per_month; state kind leased or reserved")
        if self.kind != "owned" and self.book_value:
            raise ValueError(f"{self.kind} cards have no book_value; they belong to somebody else")
        if self.servers is not None and self.servers > self.cards:
            raise ValueError(f"servers ({self.servers}) are more than cards ({self.cards})")
        return self


class Room(Strict):
    """What the site can power, cool and hold; what is left out does not limit."""

    power_kw: Kilowatts | None = None
    """Power that the site can draw: servers times the power usage effectiveness (PUE), so cooling is counted."""
    cooling_kw: Kilowatts | None = None
    """Heat that can be taken away: what the servers draw, without the PUE."""
    racks: Annotated[int, Field(ge=1, le=100_000)] | None = None
    kw_per_rack: Kilowatts | None = None
    """Most power of one rack."""
    units_per_rack: Annotated[int, Field(ge=1, le=100)] | None = None
    """Rack units for servers in one rack."""


class Policies(Strict):
    """What is kept beyond the demand; what is left out is an assumption of the catalog."""

    spare: Literal["none", "card", "server"] | Annotated[int, Field(ge=0, le=10_000)] | None = None
    """Loss that must not be felt: none, of a card, of a server, or a number of units kept as spares."""
    headroom_share: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] | None = None
    """Share of the capacity that is kept free at the peak."""
    surge_share: Share | None = None
    """More replicas during a rolling update, as a share of those that run."""
    development_share: Share | None = None
    """Cards for development and tests, as a share of those that serve."""
    startup_minutes: Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)] | None = None
    """From the order to start a replica to its first answer."""
    preemption_probability: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None
    """Accepted probability that the running requests do not fit into memory together."""
    budget_per_quarter: Amount | None = None
    """Most that may be ordered in a quarter, in the scenario's currency."""


SAID_BY_POLICIES: dict[str, tuple[str, ...]] = {
    "spare": ("spare_policy_units", "spare_policy_servers"),
    "headroom_share": ("safety_factor",),
    **{name: (name,) for name in ("surge_share", "development_share", "startup_minutes", "preemption_probability")},
}
"""Policy -> the assumptions that it states; both together would say one thing twice."""
