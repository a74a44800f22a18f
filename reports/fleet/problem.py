"""What the fleet program is given: services, ways to run each, where cards can come from, and the limits of the site.

Plain frames, so that the solver can be tried without a scenario. All capacities are shares: one unit of a layout
serves ``share`` of the demand of its service, whatever that demand was stated in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

EXCLUSIVE, TIME_SLICED, MPS = "exclusive", "time-sliced", "mps"
OWNED, LEASED, RESERVED, BUY, RENT = "owned", "leased", "reserved", "buy", "rent"
PRESENT = (OWNED, LEASED, RESERVED)
"""Kinds of sources that are there already; the others can be had more of."""
HOUSED = (OWNED, LEASED, BUY)
"""Kinds of sources that stand in the room and are paid power for; the others stand at a provider."""

POWER, COOLING, RACKS, BUDGET = "power_kw", "cooling_kw", "racks", "budget"
LIMITS = (POWER, COOLING, RACKS, BUDGET)
"""Resources of the site. Racks are whole racks, each with servers of one kind."""

SERVICE_COLUMNS = ("service", "tier", "demand", "required_share", "minimum_units", "spare_units")
"""``demand`` weighs services of one tier against each other; ``required_share`` is 1 plus the headroom;
``spare_units`` of its largest unit may fail while the demand is still served."""

LAYOUT_COLUMNS = (
    "layout", "service", "gpu", "unit_cards", "stage_cards", "share", "format", "sharing", "weights_share",
    "load_memory_share", "least_time_share", "load_time_share",
)  # fmt: skip
"""One way to run one unit. A unit is one replica: ``unit_cards`` in stages of ``stage_cards``, each stage in one
machine. All units of a service have one ``format``: its users get the same answers from all. The last four say what a
unit takes of the memory and of the time of its cards when these are shared: its weights, and the more at full load; a
step with one request over the latency target, and the more at full load."""

SOURCE_COLUMNS = (
    "source", "kind", "gpu", "site", "machines", "machine_cards", "amount", "committed_amount", "power_kw",
    "cooling_kw", "rack_kind", "rack_machines", "capex_amount",
)  # fmt: skip
"""``machines`` is the most there are (infinite for what can be bought or rented), ``amount`` what using one machine
costs a month, ``committed_amount`` what is paid a month for all of them whether used or not."""


@dataclass(frozen=True)
class FleetProblem:
    """One question to the program."""

    services: pd.DataFrame
    layouts: pd.DataFrame
    sources: pd.DataFrame
    limits: Mapping[str, float] = field(default_factory=dict)
    """Resource -> its limit; what is left out does not limit."""
    interference: Mapping[str, float] = field(default_factory=dict)
    """Kind of sharing -> the share by which services on shared cards slow each other down."""
    spare_machine: bool = False
    """Whether one machine of every card in the room stays free, so that the units of any other can move there."""


@dataclass(frozen=True)
class Allocation:
    """What the program chose: whole units by layout and site, copies on shared cards, machines by source."""

    status: str
    """optimal, within-gap, time-limit, infeasible."""
    gap: float
    """(cost - bound) / cost of the deciding solve; 0 when the optimum is proved."""
    units: pd.DataFrame
    """layout, site, units (exclusive, whole)."""
    copies: pd.DataFrame
    """layout, site, copies (whole, on shared cards), load (units of load all copies carry together)."""
    hosts: pd.DataFrame
    """gpu, stage_cards, site, hosts: groups of cards that several services share."""
    machines: pd.DataFrame
    """source, machines, racks are whole numbers."""
    served: pd.DataFrame
    """service, served_share (of the required share, at most 1)."""
    objective: float = 0.0


def require_columns(problem: FleetProblem) -> None:
    """A frame without one of its columns is a programming error that is named here, not in the solver."""
    for frame, names in (
        (problem.services, SERVICE_COLUMNS), (problem.layouts, LAYOUT_COLUMNS), (problem.sources, SOURCE_COLUMNS),
    ):  # fmt: skip
        absent = [name for name in names if name not in frame]
        if absent:
            raise LookupError(f"the fleet program needs the columns {', '.join(absent)}")
