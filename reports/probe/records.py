"""What tools say about one server: cards, how they are joined, processors, interrupts; nothing of it is guessed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

GPU_DRIVERS = ("nvidia", "amdgpu", "davinci", "xe", "i915")
"""Names under which drivers of cards stand in /proc/interrupts."""


@dataclass(frozen=True)
class Card:
    """One card as a tool reports it; NaN and '' where the tool does not say."""

    index: int
    name: str = ""
    bus: str = ""
    """PCI address such as 0000:17:00.0."""
    memory_mib: float = math.nan
    generation_now: float = math.nan
    generation_most: float = math.nan
    """What card and slot can do together."""
    generation_card: float = math.nan
    generation_slot: float = math.nan
    lanes_now: float = math.nan
    lanes_most: float = math.nan
    state: str = ""
    """Performance state, P0 (busy) to P12 (idle)."""
    power_limit_w: float = math.nan
    power_default_w: float = math.nan
    numa: str = ""
    divided: bool = False
    """Whether MIG cuts it into several."""
    virtual: bool = False
    """Whether a virtual machine sees it: link and topology are what the machine was told."""


@dataclass(frozen=True)
class Processors:
    """The processors of the server."""

    name: str = ""
    sockets: float = math.nan
    cores: float = math.nan
    """Physical cores of all sockets."""
    threads: float = math.nan
    allowed_threads: float = math.nan
    """Threads that this process may use, where that is less."""
    highest_ghz: float = math.nan
    numa_nodes: float = math.nan
    virtual: bool = False


@dataclass(frozen=True)
class Interrupts:
    """How often each processor was interrupted by devices."""

    device: Mapping[int, int] = field(default_factory=dict)
    """Processor -> interrupts of all devices."""
    card: Mapping[int, int] = field(default_factory=dict)
    """Processor -> interrupts of drivers of cards."""
    lines: int = 0
    """Interrupt lines of devices that ever fired."""
    processors: int = 0


@dataclass(frozen=True)
class Topology:
    """The matrix of ``nvidia-smi topo -m``."""

    promised: int = 0
    """Cards that the header names."""
    rows: int = 0
    pairs: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """(lower, higher card) -> NV12, PIX, PXB, PHB, NODE or SYS."""
    numa: Mapping[int, str] = field(default_factory=dict)
    affinity: Mapping[int, str] = field(default_factory=dict)
    network: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every pair is known."""
        return len(self.pairs) >= self.promised * (self.promised - 1) // 2


@dataclass(frozen=True)
class Reading:
    """What one tool says in one file. ``missing``: sentences on what was cut off or could not be read."""

    file: str
    tool: str
    day: str = ""
    driver: str = ""
    cuda: str = ""
    cards: tuple[Card, ...] = ()
    promised_cards: int = 0
    topology: Topology = Topology()
    switches: Mapping[str, str] = field(default_factory=dict)
    """PCI address of a card -> the switch or root port it hangs on."""
    processors: Processors | None = None
    interrupts: Interrupts | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Machine:
    """One server, put together from all that was read."""

    cards: tuple[Card, ...] = ()
    topology: Topology = Topology()
    switches: Mapping[str, str] = field(default_factory=dict)
    processors: Processors = Processors()
    interrupts: Interrupts = Interrupts()
    driver: str = ""
    cuda: str = ""
    day: str = ""
    visible: str | None = None
    """CUDA_VISIBLE_DEVICES; None where it is not set or not known."""
    seen_by_pci: int = 0
    """Cards that the PCI bus lists, 0 where it was not read."""
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def number(text: str | None) -> float:
    """The first number of ``16x``, ``24564 MiB``, ``450.00 W``; NaN for N/A and everything else."""
    digits = ""
    for letter in (text or "").strip():
        if letter.isdigit() or (letter == "." and digits):
            digits += letter
        elif letter in ",_" and digits:
            continue
        else:
            break
    try:
        return float(digits.rstrip("."))
    except ValueError:
        return math.nan


def bus_address(text: str) -> str:
    """``00000000:17:00.0``, ``17:00.0``, ``17:00`` -> ``0000:17:00.0``; '' for anything else."""
    parts = text.strip().lower().split(":")
    if len(parts) not in (2, 3) or not all(parts):
        return ""
    domain, bus, device = (["0000", *parts])[-3:]
    slot, _, function = device.partition(".")
    try:
        return f"{int(domain, 16):04x}:{int(bus, 16):02x}:{int(slot, 16):02x}.{int(function or '0', 16):x}"
    except ValueError:
        return ""
