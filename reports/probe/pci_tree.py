"""Reads lspci: -tv (which cards share a switch), -vvv (link as negotiated), and the plain list of devices."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reports.probe.records import Card, Reading, bus_address, number

_NO_CARD = re.compile(
    r"audio|nvswitch|connectx|bluefield|mellanox|\busb\b|ucsi|bridge|switch|ethernet|infiniband|nvme", re.IGNORECASE
)
_CARD = re.compile(
    r"NVIDIA|Instinct|\[AMD/ATI\].*(?:Radeon|MI\d{2,3}|Aqua|Aldebaran|Arcturus)|Ascend|Gaudi|Habana", re.IGNORECASE
)
_TOKEN = re.compile(
    r"\[(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}(?:-[0-9a-f]{2})?\]|(?<![0-9a-f.:])[0-9a-f]{2}\.[0-7](?![0-9a-f])"
)
_CLASS = r"(?:3D controller|VGA compatible controller|Display controller|Processing accelerators?)"
_DEVICE = re.compile(rf"^([0-9a-f:]+\.[0-7]) {_CLASS}(?: \[\w+\])?: (.+)$", re.MULTILINE | re.IGNORECASE)
_GENERATION = {"2.5": 1.0, "5": 2.0, "8": 3.0, "16": 4.0, "32": 5.0, "64": 6.0}


def _is_card(description: str) -> bool:
    return bool(_CARD.search(description)) and not _NO_CARD.search(description)


def read_tree(text: str, file: str) -> Reading | None:
    """``lspci -tv``: every card with the switch, or else the root port, above it."""
    if not re.search(r"^\s*-?[-+\\|]*-?\[(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}\]-", text, re.MULTILINE):
        return None
    cards: list[Card] = []
    switches: dict[str, str] = {}
    for path, description in _leaves(text):
        if not path[-1].endswith(".0") or not _is_card(description):
            continue
        # [domain:bus], root port, [buses], upstream port of a switch, [buses], …, [bus of the card], card
        buses = [part.strip("[]").split("-")[0] for part in path if part.startswith("[")]
        domain = buses[0].partition(":")[0] if ":" in buses[0] else "0000"
        bus = buses[-1].rpartition(":")[2]
        address = bus_address(f"{domain}:{bus}:{path[-1]}")
        ports = [part for part in path[:-1] if not part.startswith("[")]
        cards.append(Card(len(cards), description.strip(), address))
        above = "/".join([buses[0], *ports[:2]])
        switches[address] = f"switch {above}" if len(ports) > 1 else f"port {above}"
    missing = () if cards else ("the tree shows no accelerator",)
    return Reading(file, "lspci -tv", cards=tuple(cards), promised_cards=len(cards), switches=switches, missing=missing)


def _leaves(text: str) -> Iterator[tuple[list[str], str]]:
    """(path from the root, description) of every device of the tree; children stand right of their parent."""
    stack: list[tuple[int, str]] = []
    for line in text.splitlines()[:20_000]:
        if not re.match(r"^[\s|+\\-]*(?:\[|[0-9a-f]{2}\.[0-7])", line):
            continue
        place = 0
        tokens: list[tuple[int, str]] = []
        while (found := _TOKEN.search(line, place)) and re.fullmatch(r"[\s|+\\-]*", line[place : found.start()]):
            tokens.append((found.start(), found[0]))
            place = found.end()
        if not tokens:
            continue
        while stack and stack[-1][0] >= tokens[0][0]:
            stack.pop()
        stack += tokens
        if not tokens[-1][1].startswith("["):
            yield [name for _, name in stack], line[place:]


def read_details(text: str, file: str) -> Reading | None:
    """``lspci -vvv``: link capability and state of each card; the plain list gives names and places."""
    found = [each for each in _DEVICE.finditer(text) if _is_card(each[2])]
    if not found:
        return None
    cards: list[Card] = []
    for each in found:
        following = re.search(r"^[0-9a-f:]+\.[0-7] \w", text[each.end() :], re.MULTILINE)
        block = text[each.end() : each.end() + following.start() if following else len(text)]
        able, state = (re.search(rf"{name}:.*?Speed ([\d.]+)GT/s[^,]*, Width x(\d+)", block)
                       for name in ("LnkCap", "LnkSta"))  # fmt: skip
        node = re.search(r"NUMA node: (\d+)", block)
        cards.append(Card(
            len(cards), re.sub(r" \(rev \w+\).*", "", each[2]), bus_address(each[1]),
            generation_now=_GENERATION.get(state[1], float("nan")) if state else float("nan"),
            generation_card=_GENERATION.get(able[1], float("nan")) if able else float("nan"),
            lanes_now=number(state[2]) if state else float("nan"),
            lanes_most=number(able[2]) if able else float("nan"), numa=node[1] if node else "",
        ))  # fmt: skip
    detailed = any(card.lanes_most == card.lanes_most for card in cards)
    if not detailed and "LnkCap" not in text and "Capabilities: <access denied>" in text:
        missing: tuple[str, ...] = ("the link of the cards: lspci was run without permission (use sudo)",)
    else:
        missing = ()
    return Reading(file, "lspci -vvv" if detailed else "lspci", cards=tuple(cards), promised_cards=len(cards),
                   missing=missing)  # fmt: skip
