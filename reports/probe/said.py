"""A server in lines of text and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from reports.probe import topology
from reports.probe.bandwidth import WORDS, AllReduce, Transfer
from reports.probe.records import Card, Machine
from reports.probe.traps import MIB_PER_GB, Trap


def _known(value: float, text: str) -> str:
    return text.format(value) if value == value else ""


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _card(card: Card) -> str:
    link = _joined(
        _known(card.generation_now, "PCIe generation {:.0f}") + _known(card.generation_most, " of {:.0f}"),
        _known(card.lanes_now, "x{:.0f}") + _known(card.lanes_most, " of x{:.0f}"),
    )
    idle = card.generation_now < card.generation_most and card.state[:1] == "P" and card.state not in ("P0", "P1", "P2")
    return _joined(
        card.name or "card without a name", _known(card.memory_mib * MIB_PER_GB, "{:.1f} GB"), link,
        f"idle in {card.state}: the generation rises under load" if idle else card.state,
        f"NUMA {card.numa}" if card.numa else "", card.bus,
    )  # fmt: skip


def lines(machine: Machine, found: Sequence[Trap]) -> list[str]:
    """The report on a terminal: cards, links, processors, traps, what is missing."""
    said = []
    kinds = Counter(card.name or "card without a name" for card in machine.cards)
    if machine.cards:
        said.append(_joined(*(f"{count} x {name}" for name, count in kinds.items()),
                            f"driver {machine.driver}" if machine.driver else "",
                            f"CUDA {machine.cuda}" if machine.cuda else "",
                            f"read on {machine.day}" if machine.day else ""))  # fmt: skip
        said += [f"  {card.index}: {_card(card)}" for card in machine.cards]
    else:
        said.append("no card was read")
    said += _links(machine)
    processors = machine.processors
    if processors.name or processors.threads == processors.threads:
        said.append("processors: " + _joined(
            processors.name, _known(processors.sockets, "{:.0f} sockets"), _known(processors.cores, "{:.0f} cores"),
            _known(processors.threads, "{:.0f} threads"), _known(processors.highest_ghz, "up to {:.2f} GHz"),
            _known(processors.numa_nodes, "{:.0f} NUMA nodes"), "virtual" if processors.virtual else "",
        ))  # fmt: skip
    counts = machine.interrupts.device
    if counts:
        busiest = max(counts, key=lambda cpu: counts[cpu])
        said.append(f"interrupts: {machine.interrupts.lines} devices on {machine.interrupts.processors} processors; "
                    f"the busiest, CPU {busiest}, serves {counts[busiest] / sum(counts.values()):.0%}")  # fmt: skip
    said += [f"trap: {trap.text}" for trap in found]
    said += [f"missing: {sentence}" for sentence in machine.missing]
    return said


def _links(machine: Machine) -> list[str]:
    kind = topology.kind_of(machine.topology)
    said = [f"links: {topology.WORDS[kind]}"] if kind else []
    pairs = machine.topology.pairs
    for words, kinds in (("NVLink", ("NV",)), ("one PCIe switch", ("PIX", "PXB"))):
        groups = topology.joined(pairs, kinds)
        if groups and len(groups[0]) < machine.topology.promised:
            said.append(f"  {words}: " + ", ".join("-".join(map(str, group)) for group in groups))
    above: dict[str, list[str]] = {}
    for card in machine.cards:
        if card.bus in machine.switches:
            above.setdefault(machine.switches[card.bus], []).append(str(card.index))
    said += [f"  {place}: cards {', '.join(cards)}" for place, cards in sorted(above.items())]
    return said


def record(machine: Machine, found: Sequence[Trap]) -> dict[str, Any]:
    """Plain data for JSON."""
    data = asdict(machine)
    data["topology"]["pairs"] = {f"{one}-{other}": link for (one, other), link in machine.topology.pairs.items()}
    data["topology"]["kind"] = topology.kind_of(machine.topology)
    return data | {"traps": [asdict(trap) for trap in found]}


def bandwidth_lines(measured: Sequence[Transfer | AllReduce]) -> list[str]:
    """What was measured on the links, a line each."""
    said = []
    for each in measured:
        if isinstance(each, AllReduce):
            alpha = _known(each.alpha_us, "{:.1f} us + ") or "latency unknown, "
            said.append(
                f"all-reduce over {each.ranks} cards{f' on {each.hosts} servers' if each.hosts > 1 else ''}: {alpha}"
                f"{each.bus_gb_per_s:.1f} GB/s bus (fit of {each.rows} sizes, error {each.error_median:.1%} median, "
                f"{each.error_p90:.1%} 90th percentile); at {each.largest_bytes / 1e6:.0f} MB "
                f"{each.largest_bus_gb_per_s:.2f} GB/s [{each.gpu_name or 'card not named'}, {each.file}]"
            )
            said += [f"  {note}" for note in each.notes]
        else:
            said.append(f"{WORDS[each.kind]}: {each.value:.2f} GB/s ({each.low:.2f} to {each.high:.2f}; {each.note}) "
                        f"[{each.gpu_name or 'card not named'}, {each.file}]")  # fmt: skip
    return said
