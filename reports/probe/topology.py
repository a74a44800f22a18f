"""Reads ``nvidia-smi topo -m`` and says what joins the cards: NVSwitch, bridged pairs, a PCIe switch, the socket."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from reports.probe.records import Reading, Topology

_DEVICE = re.compile(r"GPU\d+|NIC\d+|mlx\d+_(?:bond_)?\d+|[A-Za-z]\w*\d")
_CELL = re.compile(r"NV\d+|SYS|SOC|NODE|PHB|PXB|PIX|X")
_HEADER = re.compile(r"^[ \t]*GPU0(?:[ \t]*\S+\d)*[ \t]*(?:\tCPU|CPU Affinity|$)", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*GPU(\d+)[ \t]+((?:NV\d+|SYS|SOC|NODE|PHB|PXB|PIX|X)\b.*)$", re.MULTILINE)

WORDS = {
    "nvswitch": "every card reaches every other over NVLink (NVSwitch)",
    "nvlink-mesh": "NVLink between all cards, wired card to card",
    "bridged-pairs": "NVLink in pairs, PCIe between them",
    "nvlink-part": "NVLink between some cards only",
    "single-switch": "all cards behind one PCIe switch: they share its way to the host",
    "several-switches": "cards share PCIe switches in groups",
    "own-lanes": "every card has lanes of its own to the processor",
    "across-sockets": "PCIe only, and some pairs cross from one socket to the other",
}
"""What joins the cards -> in words."""


def read(text: str, file: str) -> Reading | None:
    """The matrix, with colour codes, tabs, or columns that run into each other; rows may be missing."""
    rows = list(_ROW.finditer(text))
    header = _HEADER.search(text)
    if not rows or not any("X" in row[2].split() for row in rows):
        return None
    devices = _DEVICE.findall(header[0].split("CPU Affinity")[0]) if header else []
    cards = [name for name in devices if name.startswith("GPU")]
    missing: list[str] = []
    if not header:
        cards = [f"GPU{row[1]}" for row in rows]
        devices = cards
        missing.append("the header of the matrix is missing: columns taken in the order of the rows")
    pairs: dict[tuple[int, int], str] = {}
    numa: dict[int, str] = {}
    affinity: dict[int, str] = {}
    described: set[int] = set()
    for row in rows:
        index = int(row[1])
        if index in described:
            break  # the next matrix in the file
        described.add(index)
        cells = list(_CELL.finditer(row[2]))[: len(devices)]
        if len(cells) < len(cards):
            missing.append(f"the row of GPU{index} has {len(cells)} of {len(devices)} cells")
        for name, cell in zip(devices, cells, strict=False):
            if not name.startswith("GPU") or cell[0] == "X":
                continue
            other = int(name[3:])
            pair = (min(index, other), max(index, other))
            if pairs.setdefault(pair, cell[0]) != cell[0]:
                missing.append(f"GPU{pair[0]} and GPU{pair[1]} are joined by {pairs[pair]} and by {cell[0]}")
        rest = [part for part in re.split(r"\s{2,}|\t+", row[2][cells[-1].end() :].strip()) if part] if cells else []
        if rest:
            affinity[index] = rest[0]
        if len(rest) > 1 and rest[1] != "N/A":
            numa[index] = rest[1]
    if len(described) < len(cards):
        missing.append(f"the matrix is incomplete: {len(described)} of {len(cards)} rows")
    network = tuple(name for name in devices if not name.startswith("GPU"))
    topology = Topology(len(cards), len(described), pairs, numa, affinity, network)
    return Reading(file, "nvidia-smi topo -m", topology=topology, promised_cards=len(cards), missing=tuple(missing))


def joined(pairs: Mapping[tuple[int, int], str], kinds: Iterable[str]) -> list[tuple[int, ...]]:
    """Groups of two or more cards that links of these kinds (beginnings of their names) connect."""
    beginnings = tuple(kinds)
    group = {card: {card} for pair in pairs for card in pair}
    for (one, other), kind in sorted(pairs.items()):
        if kind.startswith(beginnings) and group[one] is not group[other]:
            group[one] |= group[other]
            for card in group[other]:
                group[card] = group[one]
    return sorted({tuple(sorted(each)) for each in group.values() if len(each) > 1})


def kind_of(topology: Topology) -> str:
    """One of the keys of ``WORDS``; '' for one card, or where the matrix says too little."""
    pairs, count = topology.pairs, topology.promised
    if count < 2 or not topology.complete:
        return ""
    fast = [kind for kind in pairs.values() if kind.startswith("NV")]
    if fast:
        if len(fast) == len(pairs) and count > 2:
            return "nvswitch" if count > 4 and len(set(fast)) == 1 else "nvlink-mesh"
        degree = {card: sum(kind.startswith("NV") and card in pair for pair, kind in pairs.items())
                  for card in range(count)}  # fmt: skip
        return "bridged-pairs" if set(degree.values()) == {1} else "nvlink-part"
    behind = joined(pairs, ("PIX", "PXB"))
    if behind:
        return "single-switch" if len(behind[0]) == count else "several-switches"
    return "across-sockets" if any(kind in ("SYS", "SOC") for kind in pairs.values()) else "own-lanes"
