"""Reads what others measured: nccl-tests all_reduce_perf, bandwidthTest, nvbandwidth, p2pBandwidthLatencyTest."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from reports.errors import InputError, Problem
from reports.field.readers.text import refuse
from reports.probe.detect import whole_text

KNOWN = "nccl-tests or rccl-tests all_reduce_perf, CUDA bandwidthTest, nvbandwidth, or p2pBandwidthLatencyTest"
FACT = {"h2d": "host_to_device_gb_per_s", "d2h": "device_to_host_gb_per_s", "d2d": "device_to_device_gb_per_s"}
WORDS = {"h2d": "host to card", "d2h": "card to host", "d2d": "card to card"}
SMALL_BYTES = 1 << 16
"""Latency shows in messages up to here; without one of them it is not known."""
MIB = 1 << 20


_TOOLS = re.compile(
    r"\bbusbw\b|Avg bus bandwidth|bandwidthTest|CUDA Bandwidth Test|nvbandwidth|memcpy (?:CE|SM) |_memcpy_(?:ce|sm)"
    r"|P2P=(?:En|Dis)abled"
)


@dataclass(frozen=True)
class Transfer:
    """One copy between host and card or card and card: middle, lowest and highest of what was measured, in GB/s."""

    kind: str
    value: float
    low: float
    high: float
    count: int
    """Cards, pairs, sizes or repeats behind it."""
    gpu_name: str
    file: str
    note: str


@dataclass(frozen=True)
class AllReduce:
    """One table of all_reduce_perf: latency and bus bandwidth that fit its rows."""

    ranks: int
    hosts: int
    gpu_name: str
    file: str
    alpha_us: float
    """NaN where no small message was sent."""
    bus_gb_per_s: float
    error_median: float
    error_p90: float
    """Relative errors of the fit."""
    largest_bytes: float
    largest_bus_gb_per_s: float
    rows: int
    notes: tuple[str, ...] = ()


def read(path: Path) -> tuple[Transfer | AllReduce, ...]:
    """Everything that one file measured; InputError with the reason when there is nothing usable in it."""
    text = whole_text(path)
    file = str(path)
    found: list[Transfer | AllReduce] = [*_all_reduce(text, file), *_bandwidth_test(text, file)]
    found += [*_nvbandwidth(text, file), *_peer_test(text, file)]
    if found:
        return tuple(found)
    if waived := re.findall(r"^(?:Waiving (\w+)|(\w+) was waived|\[?(\w+) WAIVED)", text, re.MULTILINE | re.IGNORECASE):
        raise refuse(path, "measured nothing: the test was waived (no peer access between the cards)",
                     read="".join(waived[0]), expected="a table of GB/s")  # fmt: skip
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    raise refuse(path, "is not a bandwidth measurement this program knows", 1, read=f'"{first[:60]}"', expected=KNOWN)


def is_known(text: str) -> bool:
    """Whether a file holds the output of one of the bandwidth tools."""
    return bool(_TOOLS.search(text)) or any(True for _ in _rows(text))


def read_all(paths: Sequence[Path]) -> tuple[Transfer | AllReduce, ...]:
    """All files; InputError lists every one that cannot be used."""
    found: list[Transfer | AllReduce] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            found += read(path)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return tuple(found)


# all_reduce_perf ---------------------------------------------------------------------------------------------------

_PREFIX = re.compile(r"^\s*(?:\[\d+,\d+\]<\w+>:|\d+:(?=\s))?\s*")
_RANK = re.compile(
    r"#?\s*Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+ on\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s+(.+?)\s*$"
)


def _rows(text: str) -> Iterator[tuple[int, float, list[float], str, float]]:
    """(line, bytes, [time, algorithm, bus bandwidth] out of place and in place, operation, wrong values)."""
    for number, line in enumerate(text.splitlines(), start=1):
        cells = _PREFIX.sub("", line).split()
        if not 11 <= len(cells) <= 13 or not cells[2][:1].isalpha():
            continue
        if not all(cell.replace("_", "").isdigit() for cell in cells[:2]):
            continue
        try:
            figures = [float(cell) for cell in (*cells[-8:-5], *cells[-4:-1])]
        except ValueError:
            continue
        wrong = [float(cell) if re.fullmatch(r"[\d.]*\d(?:e\+\d+)?", cell) else 0.0 for cell in (cells[-5], cells[-1])]
        yield number, float(cells[0].replace("_", "")), figures, cells[3] if cells[3].isalpha() else "", max(wrong)


def _all_reduce(text: str, file: str) -> Iterator[AllReduce]:
    rows = [row for row in _rows(text) if row[1] > 0]
    if not rows:
        if re.search(r"Avg bus bandwidth|\bbusbw\b", text):
            raise refuse(
                file, "has the frame of nccl-tests and no row with a size", expected="all_reduce_perf -b 8 -e 1G -f 2"
            )
        return
    devices = [found for line in text.splitlines() if (found := _RANK.search(_PREFIX.sub("", line)))]
    numbers = [int(each[1]) for each in devices]
    if len(set(numbers)) < len(numbers):
        raise refuse(file, "has the same rank twice: the processes ran alone, nccl-tests was built without MPI",
                     read=f"Rank {max(numbers, key=numbers.count)} x {max(map(numbers.count, numbers))}",
                     hint="build with MPI=1, or use one process with -g 8")  # fmt: skip
    if re.search(r"Out of bounds values\s*:\s*[1-9]\d*\s+FAILED", text) or any(row[4] >= 1 for row in rows):
        line = next((row[0] for row in rows if row[4] >= 1), None)
        raise refuse(file, "has wrong results: the links of this server corrupt data", line, hint="look into dmesg")
    ratios = [figures[2] / figures[1] for _, _, figures, _, _ in rows if figures[1] >= 1]
    ratio = median(ratios) if ratios else math.nan
    ranks = len(devices)
    by_ratio = round(2 / (2 - ratio)) if 1 <= ratio < 2 else 0
    if not ratio >= 0.995:
        reason = "no row reaches 1 GB/s" if ratio != ratio else f"bus over algorithm bandwidth is {ratio:.3g}"
        raise refuse(file, f"is no all-reduce over several cards: {reason}", rows[-1][0],
                     expected="2 (n - 1) / n, at least 1, from all_reduce_perf")  # fmt: skip
    notes = []
    if not ranks:
        ranks = by_ratio
        notes.append(f"the header is missing: {ranks} cards follow from bus over algorithm bandwidth")
    elif abs(ratio - 2 * (ranks - 1) / ranks) > 0.02:
        raise refuse(file, f"names {ranks} ranks, but bus over algorithm bandwidth is {ratio:.3g}",
                     expected=f"{2 * (ranks - 1) / ranks:.3g} of an all-reduce over {ranks}")  # fmt: skip
    hosts = len({each[2] for each in devices})
    if hosts == 0 and ranks > 8:
        hosts = math.ceil(ranks / 8)
        notes.append(f"no host is named: {ranks} cards taken as {hosts} servers of 8")
    sizes = np.array([row[1] for row in rows])
    times = np.array([(row[2][0] + row[2][3]) / 2 for row in rows])
    alpha, bus, errors = _fit(sizes, times, ranks)
    last = rows[int(sizes.argmax())]
    names = sorted({each[3] for each in devices})
    if len(names) > 1:
        notes.append(f"the cards are not alike: {', '.join(names)}")
    yield AllReduce(
        ranks, max(hosts, 1), names[0] if len(names) == 1 else "", file, alpha, bus, float(np.median(errors)),
        float(np.quantile(errors, 0.9)), last[1], (last[2][2] + last[2][5]) / 2, len(rows), tuple(notes),
    )  # fmt: skip


def _fit(sizes: np.ndarray, times: np.ndarray, ranks: int) -> tuple[float, float, np.ndarray]:
    """Latency in us and bus bandwidth in GB/s with the least relative error of time = latency + moved / bandwidth."""
    moved = sizes * 2 * (ranks - 1) / ranks
    if sizes.min() > SMALL_BYTES:  # no latency in the data: the bandwidth of the largest message
        bus = float(moved[-1] / times[-1] / 1000)
        return math.nan, bus, np.abs(moved / bus / 1000 / times - 1)[sizes >= sizes.max() / 2]
    solution = np.linalg.lstsq(np.column_stack([1 / times, moved / times]), np.ones(len(times)), rcond=None)[0]
    alpha, slope = float(solution[0]), float(solution[1])
    if alpha <= 0 or slope <= 0:
        alpha, slope = float(times[sizes <= SMALL_BYTES].min()), float(times[-1] / moved[-1])
    return alpha, 1 / slope / 1000, np.abs((alpha + moved * slope) / times - 1)


# bandwidthTest -----------------------------------------------------------------------------------------------------

_SECTION = re.compile(r"(Host to Device|Device to Host|Device to Device) Bandwidth, (\d+) Device")
_SHMOO = re.compile(r"bandwidthTest-(H2D|D2H|D2D)-(\w+), Bandwidth = ([\d.]+) ([GM])B/s,.*?Size = (\d+) bytes")


def _device(text: str) -> str:
    names = dict(re.findall(r"^\s*Device:? (\d+)[:,] (.+?)(?:, pciBusID.*)?\s*$", text, re.MULTILINE))
    return next(iter(names.values())) if len(set(names.values())) == 1 else ""


def _bandwidth_test(text: str, file: str) -> Iterator[Transfer]:
    measured: dict[tuple[str, str], dict[float, float]] = {}
    for kind, memory, rate, unit, size in _SHMOO.findall(text):
        measured.setdefault((kind.lower(), memory.lower()), {})[float(size)] = float(rate) / (
            1000 if unit == "M" else 1
        )
    starts = list(_SECTION.finditer(text))
    for start, stop in zip(starts, [*(each.start() for each in starts[1:]), len(text)], strict=False):
        block = text[start.end() : stop]
        memory = "pageable" if "PAGEABLE" in block else "pinned"
        unit = 1000.0 if "Bandwidth(MB/s)" in block else 1.0
        for size, rate in re.findall(r"^\s*(\d+)\s+([\d.]+)\s*$", block, re.MULTILINE):
            kind = start[1].lower().replace("host", "h").replace("device", "d").replace(" to ", "2")
            measured.setdefault((kind, memory), {})[float(size)] = float(rate) / unit
    for (kind, memory), rates in measured.items():
        if kind == "d2d" or memory.startswith("page"):
            continue  # inside the memory of one card, or copied twice by the host: no property of the link
        large = [rate for size, rate in rates.items() if size >= max(rates) / 2]
        note = f"bandwidthTest, pinned memory, {max(rates) / 1e6:.0f} MB; low and high over the largest sizes"
        yield Transfer(kind, rates[max(rates)], min(large), max(large), len(large), _device(text), file, note)
    if measured and not any(kind != "d2d" and not memory.startswith("page") for kind, memory in measured):
        raise refuse(
            file, "has no copy between host and card from pinned memory", expected="bandwidthTest --memory=pinned"
        )


# Matrices ----------------------------------------------------------------------------------------------------------


def _matrix(lines: Sequence[str]) -> list[list[float]]:
    """Rows under a line of column numbers; N/A is NaN; ends at the first line that is no row."""
    rows: list[list[float]] = []
    width = 0
    for line in lines:
        cells = line.split()
        if cells[:1] == ["D\\D"]:
            cells = cells[1:]
        if not width:
            if cells and all(cell.isdigit() for cell in cells):
                width = len(cells)
                if [int(cell) for cell in cells] != list(range(width)):
                    return []
            elif cells:
                return []
            continue
        if len(cells) != width + 1 or not cells[0].isdigit():
            break
        rows.append([float(cell) if re.fullmatch(r"\d+(?:\.\d+)?", cell) else math.nan for cell in cells[1:]])
    return rows


def _of_matrix(kind: str, rows: list[list[float]], gpu_name: str, file: str, note: str) -> Iterator[Transfer]:
    between = kind == "d2d"
    values = [value for one, row in enumerate(rows) for other, value in enumerate(row)
              if value > 0 and not (between and one == other)]  # fmt: skip
    if values:
        what = f"{len(values)} pairs" if between else f"{len(values)} cards"
        yield Transfer(kind, median(values), min(values), max(values), len(values), gpu_name, file,
                       f"{note}; middle, lowest and highest of {what}")  # fmt: skip


_TESTS = {
    "host_to_device_memcpy_ce": "h2d", "device_to_host_memcpy_ce": "d2h", "device_to_device_memcpy_read_ce": "d2d",
    "device_to_device_memcpy_write_ce": "d2d",
}  # fmt: skip


def _nvbandwidth(text: str, file: str) -> Iterator[Transfer]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        found = re.match(r"\s*Running (\w+)\.", line)
        if found and found[1] in _TESTS and number + 2 < len(lines) and "(GB/s)" in lines[number + 1]:
            rows = _matrix(lines[number + 2 : number + 200])
            yield from _of_matrix(_TESTS[found[1]], rows, _device(text), file, f"nvbandwidth {found[1]}")


def _peer_test(text: str, file: str) -> Iterator[Transfer]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("Unidirectional P2P=Enabled Bandwidth"):
            rows = _matrix(lines[number + 1 : number + 200])
            peers = "CAN Access Peer" in text and "CANNOT Access Peer" not in text
            note = "p2pBandwidthLatencyTest, one way, peer access " + ("on" if peers else "not between all cards")
            yield from _of_matrix("d2d", rows, _device(text), file, note)
