"""Writes a server that was read as facts of a catalog: a host, its links, and the card that stands in them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reports.catalog.records import Catalog, Fact, Gpu, Link, as_date
from reports.catalog.tables import TABLES
from reports.errors import InputError, Problem
from reports.paths import catalogs_folder
from reports.probe import bandwidth, said, topology
from reports.probe.bandwidth import AllReduce, Transfer
from reports.probe.records import Card, Machine
from reports.probe.traps import Trap, card_id
from reports.writing import replace_folder, write_atomically

MACHINE = "machine.json"
PCIE3_GB_PER_S = 15.754
"""Sixteen lanes of PCIe 3.0 one way: 8 GT/s x 16 x 128/130 / 8; each generation doubles it."""
_OURS = {"hosts", "links", "gpus", "measured", "sources.csv", "README.md"}

README = """\
# A server that was read

Written by `gpubook probe`. Use it with `gpubook build SCENARIO --catalog` and this folder. Everything that was
measured has basis *measured* and the source in `sources.csv`; what the server does not say (power, height) is carried
over from the entry it replaces, with the source it has there. `measured/machine.json` holds all that was read.
"""


@dataclass(frozen=True)
class Probed:
    """What is written: the server, what is wrong with it, and what was measured on its links."""

    machine: Machine
    traps: tuple[Trap, ...]
    measured: tuple[Transfer | AllReduce, ...] = ()
    gpu: str = ""
    """Id of its card in the catalog."""
    interconnect: str = ""
    """nvlink or pcie: what the all-reduce ran over; '' to find out."""


def gpu_of(machine: Machine, measured: Sequence[Transfer | AllReduce], catalog: Catalog) -> str:
    """The one card of the catalog that all of it is about; '' when there are several, or none."""
    found = {card_id(card, catalog) for card in machine.cards if card.name}
    if not found:
        found = {card_id(Card(0, each.gpu_name), catalog) for each in measured if each.gpu_name}
    return found.pop() if len(found) == 1 else ""


def write(
    probed: Probed, catalog: Catalog, folder: Path, name: str = "", day: str = ""
) -> tuple[tuple[Path, ...], list[str]]:
    """Write the overlay; the files, and sentences on what could not be written. InputError when there is nothing."""
    folder = Path(folder)
    if folder.is_dir() and (strange := sorted(each.name for each in folder.iterdir() if each.name not in _OURS)):
        raise InputError(Problem(str(folder), "is not an overlay of a probe", read=", ".join(strange[:5]),
                                 expected="a new folder", hint="choose another with --out"))  # fmt: skip
    day = _day(day or probed.machine.day)
    probed = _without_folders(probed)
    text = json.dumps(_record(probed), ensure_ascii=False, indent=1, sort_keys=True, default=str)
    text = re.sub(r"\bNaN\b", "null", text) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    entry = _slug(name or f"probed-{probed.gpu or 'server'}-{digest[:6]}")
    source = f"probe-{day}-{digest[:8]}"
    entries, notes = _entries(probed, catalog, entry, source, day)
    if not entries:
        raise InputError(Problem(str(folder), "nothing to write: no card and no bandwidth of a known card was read",
                                 hint="; ".join(notes) or "give nvidia-smi -q -x, or --gpu NAME"))  # fmt: skip
    files = ", ".join(_files(probed)) or "this server"
    with replace_folder(folder) as draft:
        write_atomically(draft / "README.md", README)
        row = {"id": source, "title": f"Probe of {_what(probed)}", "locator": f"{files}; SHA-256 {digest}",
               "licence": "own work", "checked_on": day}  # fmt: skip
        header = list(TABLES["sources.csv"])
        cells = [str(row.get(column, "")).replace('"', "'") for column in header]
        write_atomically(
            draft / "sources.csv", ",".join(header) + "\n" + ",".join(f'"{cell}"' for cell in cells) + "\n"
        )
        (draft / "measured").mkdir()
        write_atomically(draft / "measured" / MACHINE, text)
        for place, content in entries.items():
            (draft / place).parent.mkdir(exist_ok=True)
            write_atomically(draft / place, content)
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file())), notes


def _without_folders(probed: Probed) -> Probed:
    """The same with the names of files alone: where they lay is nobody's business."""
    machine = probed.machine
    missing = list(machine.missing)
    for file in machine.files:
        missing = [sentence.replace(file, Path(file).name) for sentence in missing]
    files = tuple(Path(each).name for each in machine.files)
    measured = tuple(replace(each, file=Path(each.file).name) for each in probed.measured)
    return replace(probed, machine=replace(machine, files=files, missing=tuple(missing)), measured=measured)


def _day(text: str) -> str:
    try:
        as_date(text)
    except ValueError:
        raise InputError(
            Problem("--date", "is not a date" if text else "is needed: no file says when it was read", read=text,
                    expected="such as 2026-11-30")
        ) from None  # fmt: skip
    return text


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-.") or "probed"


def _files(probed: Probed) -> list[str]:
    return list(dict.fromkeys([*probed.machine.files, *(each.file for each in probed.measured)]))


def _what(probed: Probed) -> str:
    count = len(probed.machine.cards)
    return f"a server with {count} {probed.gpu or 'cards'}" if count else f"the links of {probed.gpu or 'a server'}"


def _record(probed: Probed) -> dict[str, Any]:
    return {"machine": said.record(probed.machine, probed.traps), "bandwidth": [vars(each) for each in probed.measured]}


# Entries -----------------------------------------------------------------------------------------------------------


def _entries(probed: Probed, catalog: Catalog, entry: str, source: str, day: str) -> tuple[dict[str, str], list[str]]:
    notes: list[str] = []
    entries: dict[str, str] = {}
    changed: dict[str, str] = {}
    card = catalog.gpus.get(probed.gpu)
    mixed = any(trap.code == "mixed-cards" for trap in probed.traps)
    if probed.machine.cards and not mixed:
        entries[f"hosts/{entry}.yaml"] = _host(probed, catalog, card, entry, source, day, notes)
        changed["host"] = entry
    elif mixed:
        notes.append("no host entry: the cards are not alike")
    if card is None:
        if probed.measured or probed.machine.cards:
            notes.append("the card is not one of the catalog, or not named: no card refers to what was written; "
                         "give --gpu NAME")  # fmt: skip
        return entries, notes
    narrow = _narrow_link(probed.machine, catalog, card)
    if narrow:
        changed["pcie"] = narrow
    for kind in ("nvlink", "pcie"):
        made = _link(kind, probed, catalog, replace(card, pcie=narrow or card.pcie), source, day, notes)
        if made:
            link = f"{entry}-{kind}"
            entries[f"links/{link}.yaml"] = made
            changed[kind] = link
    if changed:
        entries[f"gpus/{card.id}.yaml"] = _card_with(card, catalog, changed)
    return entries, notes


def _fact(value: float, low: float | None = None, high: float | None = None, note: str = "") -> str:
    if low is None and not note:
        return f"{value:.6g}"
    parts = [f"value: {value:.6g}"]
    parts += [f"low: {low:.6g}", f"high: {high:.6g}"] if low is not None and high is not None else []
    return "{" + ", ".join([*parts, *([f"note: {json.dumps(note, ensure_ascii=False)}"] if note else [])]) + "}"


def _carried(fact: Fact, note: str) -> str:
    """A fact of the entry that this one replaces, with the source it has there."""
    parts = [f"value: {fact.value:.6g}"]
    parts += [f"low: {fact.low:.6g}"] if fact.low is not None else []
    parts += [f"high: {fact.high:.6g}"] if fact.high is not None else []
    parts += [f"basis: {fact.basis}", f"source: {fact.source}", f'at: "{fact.at}"', f"confidence: {fact.confidence}"]
    parts += [f"confirmed: {str(fact.confirmed).lower()}", f"note: {json.dumps(fact.note or note, ensure_ascii=False)}"]
    return "{" + ", ".join(parts) + "}"


def _top(name: str, note: str, source: str, day: str, more: Mapping[str, str] | None = None) -> list[str]:
    added = [f"{key}: {value}" for key, value in (more or {}).items()]
    words = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in (("name", name), ("note", note))]
    proof = ["basis: measured", "confidence: high", "confirmed: true"]
    return [words[0], *added, words[1], f"source: {source}", f"at: {day}", *proof]


def _host(
    probed: Probed, catalog: Catalog, card: Gpu | None, entry: str, source: str, day: str, notes: list[str]
) -> str:
    machine = probed.machine
    processors = machine.processors
    kind = topology.kind_of(machine.topology)
    link = next((each for each in machine.cards if each.lanes_now == each.lanes_now), None)
    note = "; ".join(part for part in (
        processors.name, topology.WORDS.get(kind, ""), f"driver {machine.driver}" if machine.driver else "",
        *(f"trap: {trap.text}" for trap in probed.traps),
        "partial: " + ", ".join(machine.missing) if machine.missing else "",
    ) if part)  # fmt: skip
    facts = {
        "server_cards": float(len(machine.cards)), "cpu_sockets": processors.sockets, "cpu_cores": processors.cores,
        "cpu_threads": processors.threads, "cpu_clock_ghz": processors.highest_ghz, "numa_nodes": processors.numa_nodes,
        "pcie_lanes": link.lanes_now if link else float("nan"),
        "pcie_generation": link.generation_most if link else float("nan"),
    }  # fmt: skip
    text = _top(f"{entry}: {_what(probed)[2:]}", note, source, day)
    text += ["facts:", *(f"  {name}: {_fact(value)}" for name, value in facts.items() if value == value)]
    base = catalog.hosts.get(card.host) if card else None
    if base:
        if base.value("server_cards") == len(machine.cards):
            text += [f"  {name}: {_carried(fact, f'carried over from {base.id}')}" for name, fact in base.facts.items()
                     if name not in facts]  # fmt: skip
        else:
            notes.append(f"power and height of the server are left out: {base.id} has {base.value('server_cards'):.0f} "
                         f"cards, this server {len(machine.cards)}; add server_power_kw to the host entry")  # fmt: skip
    return "\n".join(text) + "\n"


def _narrow_link(machine: Machine, catalog: Catalog, card: Gpu) -> str:
    """The link of the catalog that the slot really has (pcie4-x8 for pcie4 at half width); '' where it is the same."""
    found = re.fullmatch(r"pcie(\d)", card.pcie)
    if not found or not machine.cards:
        return ""
    generation = min((value for each in machine.cards for value in (each.generation_slot, each.generation_most)
                      if value == value), default=float(found[1]))  # fmt: skip
    lanes = min((each.lanes_now for each in machine.cards if each.lanes_now == each.lanes_now), default=16.0)
    wanted = f"pcie{min(generation, float(found[1])):.0f}" + ("-x8" if lanes == 8 else "")
    return wanted if wanted != card.pcie and wanted in catalog.links else ""


def _link(kind: str, probed: Probed, catalog: Catalog, card: Gpu, source: str, day: str, notes: list[str]) -> str:
    """A link with what was measured; the points that were not are carried over. '' when nothing is about it."""
    base = catalog.links.get((card.nvlink if kind == "nvlink" else card.pcie) or "")
    ran_over = [each for each in probed.measured if isinstance(each, AllReduce) and _over(each, probed, card) == kind]
    copies = [each for each in probed.measured if isinstance(each, Transfer) and _carries(each, probed, card) == kind]
    points = _points(ran_over, base, notes)
    if not points and not copies:
        return ""
    text = _top(f"{probed.gpu} on its server, {kind}", "measured on this server; points without a fit of its own are "
                f"those of {base.id}" if base else "measured on this server", source, day, {"kind": kind})  # fmt: skip
    if copies:
        text.append("facts:")
        for transfer in ("h2d", "d2h", "d2d"):
            same = [each for each in copies if each.kind == transfer]
            if same:
                worst = min(same, key=lambda each: each.value)
                text.append(f"  {bandwidth.FACT[transfer]}: {_fact(worst.value, worst.low, worst.high, worst.note)}")
    text.append("points:" if points or (base and base.points) else "points: {}")
    carried = {cards: point for cards, point in (base.points if base else {}).items() if cards not in points}
    for cards in sorted({*points, *carried}):
        text.append(f"  {cards}:")
        if cards in points:
            text += points[cards]
        else:
            text += [f"    {name}: {_carried(fact, f'carried over from {base.id}')}" if base else ""
                     for name, fact in carried[cards].items()]  # fmt: skip
    return "\n".join(text) + "\n"


def _points(measured: Sequence[AllReduce], base: Link | None, notes: list[str]) -> dict[int, list[str]]:
    points: dict[int, list[str]] = {}
    for each in measured:
        if each.hosts > 1:
            notes.append(f"{Path(each.file).name}: ran over {each.hosts} servers; links between servers are no part of "
                         "a card's entry")  # fmt: skip
            continue
        error = each.error_p90
        note = f"error of the fit, median {each.error_median:.3f}, 90th percentile {error:.3f}; {each.rows} sizes"
        bus = _fact(each.bus_gb_per_s, each.bus_gb_per_s * max(1 - error, 0), each.bus_gb_per_s * (1 + error), note)
        known = base.points.get(each.ranks, {}).get("allreduce_alpha_us") if base else None
        if known and base and known.value < each.alpha_us:
            alpha = _carried(known, f"carried over from {base.id}")
            notes.append(f"{Path(each.file).name}: latency {each.alpha_us:.1f} us is that of NCCL; engines have "
                         f"one of their own for small messages: the {known.value:g} us of {base.id} stay")  # fmt: skip
        elif each.alpha_us == each.alpha_us:
            alpha = _fact(each.alpha_us)
        elif known:
            alpha = _carried(known, f"carried over from {base.id}" if base else "")
        else:
            notes.append(f"{Path(each.file).name}: no message up to 64 KiB, so no latency: run all_reduce_perf -b 8")
            continue
        points[each.ranks] = [f"    allreduce_alpha_us: {alpha}", f"    allreduce_bus_gb_per_s: {bus}"]
    return points


def _over(measured: AllReduce, probed: Probed, card: Gpu) -> str:
    """What an all-reduce ran over: as told, else NVLink where the card has it and PCIe could not be so fast."""
    if probed.interconnect:
        return probed.interconnect
    return "nvlink" if card.nvlink and measured.largest_bus_gb_per_s > _pcie_most(card) else "pcie"


def _carries(measured: Transfer, probed: Probed, card: Gpu) -> str:
    if measured.kind != "d2d":
        return "pcie"
    if probed.interconnect:
        return probed.interconnect
    return "nvlink" if card.nvlink and measured.value > _pcie_most(card) else "pcie"


def _pcie_most(card: Gpu) -> float:
    """GB/s of sixteen lanes one way, of the generation that the card's link names."""
    generation = re.match(r"pcie(\d)", card.pcie)
    return PCIE3_GB_PER_S * 2 ** (int(generation[1] if generation else 5) - 3)


def _card_with(card: Gpu, catalog: Catalog, changed: Mapping[str, str]) -> str:
    """The card's file with its host and links replaced by those of this server."""
    folders = [*(Path(each) for each in reversed(catalog.overlays)), catalogs_folder()]
    path = next(place for each in folders if (place := each / "gpus" / f"{card.id}.yaml").is_file())
    text = path.read_text(encoding="utf-8")
    for key, value in changed.items():
        text = re.sub(rf"^{key}:.*$", f"{key}: {value}", text, flags=re.MULTILINE)
    return text
