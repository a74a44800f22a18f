"""What a plan for a server would get wrong: narrow links, hidden or mixed cards, interrupts on one processor."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from reports.catalog.records import Catalog
from reports.catalog.select import UnknownName, names_of, plain
from reports.field import names
from reports.field.rules import rule
from reports.probe import topology
from reports.probe.records import Card, Machine
from reports.scenario.schema import Scenario

_BUSY = ("P0", "P1", "P2", "P3")
MIB_PER_GB = 2**20 / 1e9


@dataclass(frozen=True)
class Trap:
    """One thing that makes this server another than the one in the plan."""

    code: str
    text: str
    """A sentence with the numbers in it, and what to do."""


def card_id(card: Card, catalog: Catalog) -> str:
    """The catalog's id of a card, by its name and memory; '' when the catalog does not have it."""
    name = card.name.removeprefix("NVIDIA Corporation ")
    if "[" in name and "]" in name:  # lspci: chip, then the product in brackets
        name = name[name.rindex("[") + 1 : name.rindex("]")]
    if name.endswith("..."):  # the table cuts names: the one card that begins so
        begins = plain(name.removeprefix("NVIDIA ")[:-3])
        begun = {each.id for each in catalog.gpus.values() for known in names_of(each) if known.startswith(begins)}
        return begun.pop() if len(begun) == 1 else ""
    try:
        found = names.card(catalog, name, card.memory_mib * MIB_PER_GB)
    except UnknownName:
        return ""
    return found.id


def traps(machine: Machine, catalog: Catalog, scenario: Scenario | None = None) -> tuple[Trap, ...]:
    """Every trap that the readings show, the most harmful first."""
    found = [*_missing_cards(machine), *_kinds(machine), *_wanted(machine, catalog, scenario), *_links(machine)]
    found += [*_cards(machine), *_joins(machine), *_processors(machine)]
    return tuple(found)


def _listed(cards: list[Card]) -> str:
    numbers = ", ".join(str(card.index) for card in cards)
    return f"card{'s' if len(cards) > 1 else ''} {numbers}"


def _missing_cards(machine: Machine) -> list[Trap]:
    found = []
    count = len(machine.cards)
    if machine.visible is not None:
        seen = [each for each in machine.visible.split(",") if each.strip()]
        if "-1" in seen:
            seen = seen[: seen.index("-1")]
        if not count or len(seen) < count:
            found.append(
                Trap(
                    "hidden-cards",
                    f'CUDA_VISIBLE_DEVICES="{machine.visible}" shows {len(seen)} of '
                    f"{count} cards to an engine; unset it, or plan with {len(seen)}",
                )
            )
    if 0 < count < machine.seen_by_pci:
        found.append(
            Trap(
                "lost-cards",
                f"the PCI bus lists {machine.seen_by_pci} cards, the driver {count}: "
                "one does not start; look into dmesg for Xid",
            )
        )
    return found


def _kinds(machine: Machine) -> list[Trap]:
    kinds = Counter((card.name, card.memory_mib) for card in machine.cards if card.name)
    if len({(name, "" if math.isnan(memory) else memory) for name, memory in kinds}) < 2:
        return []
    said = ", ".join(f"{count} x {name}" for (name, _), count in sorted(kinds.items(), key=lambda each: str(each)))
    return [
        Trap(
            "mixed-cards",
            f"the cards are not alike ({said}): one model over all of them runs at the pace and "
            "memory of the weakest; no host entry can stand for both",
        )
    ]


def _wanted(machine: Machine, catalog: Catalog, scenario: Scenario | None) -> list[Trap]:
    if scenario is None or not machine.cards:
        return []
    here = dict.fromkeys(card_id(card, catalog) for card in machine.cards if card.name)
    found = []
    for each in here:
        if not each or each in scenario.matrix.gpu:
            continue
        card = catalog.gpus[each]
        family = card.name.split("-")[0]
        others = [catalog.gpus[gpu] for gpu in scenario.matrix.gpu]
        alike = [other for other in others if other.name.split("-")[0] == family]
        forms = [other for other in alike if other.form_factor != card.form_factor]
        if forms:
            found.append(
                Trap(
                    "another-form",
                    f"the scenario asks for {forms[0].name} ({forms[0].form_factor}), this "
                    f"server has {card.name} ({card.form_factor}): another power and other links",
                )
            )
        else:
            asked = ", ".join(other.name for other in (alike or others)[:4])
            found.append(Trap("another-card", f"this server has {card.name}, the scenario asks for {asked}"))
    if len(machine.cards) < min(scenario.matrix.count):
        found.append(
            Trap(
                "too-few-cards",
                f"the smallest unit of the scenario has {min(scenario.matrix.count)} cards, "
                f"this server {len(machine.cards)}",
            )
        )
    return found


def _links(machine: Machine) -> list[Trap]:
    found = []
    narrow = [card for card in machine.cards if card.lanes_now < card.lanes_most]
    if narrow:
        found.append(
            Trap(
                "narrow-link",
                f"{_listed(narrow)}: x{narrow[0].lanes_now:.0f} of "
                f"x{narrow[0].lanes_most:.0f} lanes; {narrow[0].lanes_now / narrow[0].lanes_most:.0%} of the "
                "bandwidth to the host: another slot, a riser, or shared lanes",
            )
        )
    slot = [
        card
        for card in machine.cards
        if card.generation_slot < card.generation_card or card.generation_most < card.generation_card
    ]
    if slot:
        most = min(value for value in (slot[0].generation_slot, slot[0].generation_most) if value == value)
        share = 2 ** (most - slot[0].generation_card)
        found.append(
            Trap(
                "old-slot",
                f"{_listed(slot)}: PCIe generation {slot[0].generation_card:.0f} in a slot of "
                f"generation {most:.0f}: {share:.0%} of the bandwidth",
            )
        )
    slow = [card for card in machine.cards if card.generation_now < card.generation_most and card.state in _BUSY]
    if slow:
        found.append(
            Trap(
                "slow-link",
                f"{_listed(slow)}: the link runs at generation {slow[0].generation_now:.0f} of "
                f"{slow[0].generation_most:.0f} in state {slow[0].state}, so it is not idle",
            )
        )
    return found


def _cards(machine: Machine) -> list[Trap]:
    found = []
    capped = [card for card in machine.cards if card.power_limit_w < card.power_default_w]
    if capped:
        found.append(
            Trap(
                "power-limit",
                f"{_listed(capped)}: limited to {capped[0].power_limit_w:.0f} W of "
                f"{capped[0].power_default_w:.0f} W: prompts take longer than the data sheet says",
            )
        )
    divided = [card for card in machine.cards if card.divided]
    if divided:
        found.append(Trap("divided-card", f"{_listed(divided)}: MIG is on, an engine sees a part of the card"))
    if any(card.virtual for card in machine.cards):
        found.append(
            Trap(
                "virtual-machine",
                "a virtual machine: link, sockets and topology may be made up; measure "
                "the bandwidth (gpubook probe --bandwidth)",
            )
        )
    return found


def _joins(machine: Machine) -> list[Trap]:
    kind = topology.kind_of(machine.topology)
    pairs = machine.topology.pairs
    found = []
    crossing = [pair for pair, link in pairs.items() if link in ("SYS", "SOC")]
    if crossing and kind == "across-sockets":
        found.append(
            Trap(
                "across-sockets",
                f"{len(crossing)} of {len(pairs)} pairs of cards cross the link between "
                "sockets: a tensor-parallel unit over them is slower than on one socket",
            )
        )
    if kind == "single-switch":
        found.append(
            Trap(
                "one-switch",
                f"all {machine.topology.promised} cards share one PCIe switch: together they "
                "have the host bandwidth of one slot",
            )
        )
    unequal = Counter(link for link in pairs.values() if link.startswith("NV"))
    if len(unequal) > 1:
        said = ", ".join(f"{count} pairs {link}" for link, count in sorted(unequal.items()))
        found.append(
            Trap(
                "unequal-nvlink",
                f"NVLink is not the same between all cards ({said}): the slowest pair sets the pace of an all-reduce",
            )
        )
    return found


def _processors(machine: Machine) -> list[Trap]:
    found = []
    counts = machine.interrupts.device
    total = sum(counts.values())
    if total and machine.interrupts.lines > 1:
        busiest = max(counts, key=lambda cpu: (counts[cpu], -cpu))
        share = counts[busiest] / total
        if share >= rule("interrupts_on_one_processor"):
            found.append(
                Trap(
                    "interrupts",
                    f"{share:.0%} of the interrupts of {machine.interrupts.lines} devices are served "
                    f"by CPU {busiest}: start irqbalance, or spread them by hand",
                )
            )
    processors = machine.processors
    if processors.allowed_threads < processors.threads:
        found.append(
            Trap(
                "few-threads",
                f"this process may use {processors.allowed_threads:.0f} of "
                f"{processors.threads:.0f} processor threads (container or affinity)",
            )
        )
    return found
