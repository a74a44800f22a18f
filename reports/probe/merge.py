"""Puts the readings of one server together: what one tool leaves out, another fills in; contradictions are said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace

from reports.probe.records import Card, Interrupts, Machine, Processors, Reading, Topology

_RANK = ("NVML", "nvidia-smi -q -x", "nvidia-smi -q", "nvidia-smi --query-gpu", "nvidia-smi", "nvidia-smi -L")


def machine(readings: Sequence[Reading], visible: str | None = None) -> Machine:
    """One server from what was read of it. ``visible`` is CUDA_VISIBLE_DEVICES where it is known."""
    missing = [f"{each.file}: {sentence}" for each in readings for sentence in each.missing]
    with_cards = sorted((each for each in readings if each.cards), key=_rank)
    counts = {each.tool: (each.file, len(each.cards)) for each in reversed(with_cards) if each.tool in _RANK}
    if len({count for _, count in counts.values()}) > 1:
        said = ", ".join(f"{tool} in {file} {count}" for tool, (file, count) in sorted(counts.items()))
        missing.append(f"the files do not agree on how many cards there are: {said}; are they of one server?")
    cards: tuple[Card, ...] = with_cards[0].cards if with_cards else ()
    for each in with_cards[1:]:
        cards = _filled(cards, each.cards)
    topology = next((each.topology for each in readings if each.topology.pairs), Topology())
    topology = topology if topology.pairs else next(
        (each.topology for each in readings if each.topology.promised), topology)  # fmt: skip
    if not cards and topology.promised:
        cards = tuple(Card(index) for index in range(topology.promised))
        missing.append("no file names the cards: give nvidia-smi -q -x too")
    elif topology.promised and len(cards) != topology.promised:
        missing.append(f"the topology shows {topology.promised} cards, the others {len(cards)}")
    cards = tuple(replace(card, numa=card.numa or topology.numa.get(card.index, "")) for card in cards)
    if cards and not any(card.lanes_now == card.lanes_now for card in cards):
        missing.append("no file shows the PCIe link of the cards: give nvidia-smi -q -x, or lspci -vvv")
    if any(card.name.endswith("...") for card in cards):
        missing.append("the names of the cards are cut off: give nvidia-smi -q -x, or -L")
    by_pci = [len(each.cards) for each in readings if each.tool.startswith("lspci") and len(each.cards) > 1]
    days = sorted(each.day for each in readings if each.day)
    return Machine(
        cards=cards, topology=topology,
        switches={bus: above for each in readings for bus, above in each.switches.items()},
        processors=_processors([each.processors for each in readings if each.processors]),
        interrupts=next((each.interrupts for each in readings if each.interrupts), Interrupts()),
        driver=next((each.driver for each in readings if each.driver), ""),
        cuda=next((each.cuda for each in readings if each.cuda), ""), day=days[-1] if days else "", visible=visible,
        seen_by_pci=max(by_pci, default=0), files=tuple(dict.fromkeys(each.file for each in readings)),
        missing=tuple(dict.fromkeys(missing)),
    )  # fmt: skip


def _rank(reading: Reading) -> int:
    return _RANK.index(reading.tool) if reading.tool in _RANK else len(_RANK)


def _blank(value: object) -> bool:
    return value in ("", False) or (isinstance(value, float) and math.isnan(value))


def _filled(cards: tuple[Card, ...], others: tuple[Card, ...]) -> tuple[Card, ...]:
    """The same cards with what they lack from others at the same address, or at the same place of equally many."""
    by_bus = {card.bus: card for card in others if card.bus}
    by_index = {card.index: card for card in others} if len(cards) == len(others) else {}
    found = []
    for card in cards:
        other = by_bus.get(card.bus) if card.bus and by_bus else by_index.get(card.index)
        if other is None:
            found.append(card)
            continue
        names = [each.name for each in fields(Card) if each.name != "index"]
        lacking = {name: getattr(other, name) for name in names if _blank(getattr(card, name))}
        if card.name.endswith("..."):
            lacking["name"] = other.name or card.name
        found.append(replace(card, **lacking))
    return tuple(found)


def _processors(found: Sequence[Processors]) -> Processors:
    merged = found[0] if found else Processors()
    for other in found[1:]:
        lacking = {each.name: getattr(other, each.name) for each in fields(Processors)
                   if _blank(getattr(merged, each.name))}  # fmt: skip
        merged = replace(merged, **lacking)
    return merged
