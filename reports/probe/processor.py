"""Reads the processor side: lscpu, numactl --hardware, /proc/cpuinfo and /proc/interrupts."""

from __future__ import annotations

import re
from collections import Counter

from reports.probe.records import GPU_DRIVERS, Interrupts, Processors, Reading, number

MOST_PROCESSORS = 4096


def read_lscpu(text: str, file: str) -> Reading | None:
    """``lscpu``, old or indented; in a virtual machine the sockets may be made up."""

    def said(label: str) -> str:
        found = re.search(rf"^[ \t]*{label}:[ \t]+(.+?)[ \t]*$", text, re.MULTILINE)
        return found[1] if found else ""

    if not said("Model name") or not (said(r"Socket\(s\)") or said(r"CPU\(s\)")):
        return None
    sockets, per_socket = number(said(r"Socket\(s\)")), number(said(r"Core\(s\) per socket"))
    threads = number(said(r"CPU\(s\)"))
    missing = [word for word, value in (("cores", sockets * per_socket), ("threads", threads)) if value != value]
    processors = Processors(
        said("Model name"), sockets, sockets * per_socket, threads,
        highest_ghz=number(said("CPU max MHz")) / 1000, numa_nodes=number(said(r"NUMA node\(s\)")),
        virtual=bool(said("Hypervisor vendor")),
    )  # fmt: skip
    return Reading(file, "lscpu", processors=processors,
                   missing=(f"lscpu does not say {', '.join(missing)}",) if missing else ())  # fmt: skip


def read_numactl(text: str, file: str) -> Reading | None:
    """``numactl --hardware``: memory nodes and their processors."""
    nodes = re.findall(r"^node (\d+) cpus:((?: \d+)*)\s*$", text, re.MULTILINE)
    if not nodes:
        return None
    threads = sum(len(cpus.split()) for _, cpus in nodes)
    return Reading(file, "numactl --hardware",
                   processors=Processors(threads=float(threads), numa_nodes=float(len(nodes))))  # fmt: skip


def read_cpuinfo(text: str, file: str) -> Reading | None:
    """``/proc/cpuinfo``; on ARM it names no model and no cores."""
    threads = len(re.findall(r"^processor\s*:\s*\d+", text, re.MULTILINE))
    if not threads:
        return None
    names = re.findall(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    places = re.findall(r"^physical id\s*:\s*(\d+)$(?:.*\n)*?^core id\s*:\s*(\d+)$", text, re.MULTILINE)
    sockets = len({socket for socket, _ in places})
    missing = () if names and places else ("/proc/cpuinfo names no model or no cores",)
    processors = Processors(
        names[0].strip() if names else "", float(sockets or "nan"), float(len(set(places)) or "nan"), float(threads),
        virtual=bool(re.search(r"^flags\s*:.*\bhypervisor\b", text, re.MULTILINE)),
    )  # fmt: skip
    return Reading(file, "/proc/cpuinfo", processors=processors, missing=missing)


def read_interrupts(text: str, file: str) -> Reading | None:
    """``/proc/interrupts``: counts of every device line, by processor."""
    header = re.search(r"^[ \t]*((?:CPU\d+[ \t]*)+)$", text, re.MULTILINE)
    numbered = [int(each) for each in re.findall(r"\d+", header[1])] if header else []
    device: Counter[int] = Counter()
    card: Counter[int] = Counter()
    lines, most = 0, len(numbered)
    for row in re.finditer(r"^[ \t]*\d+:((?:[ \t]+\d+)+)[ \t]+(\D.*)$", text, re.MULTILINE):
        counts = [int(each) for each in row[1].split()[:MOST_PROCESSORS]]
        if not header and not re.search(r"MSI|IO-APIC|GIC|IOMMU|edge|fasteoi|level", row[2]):
            continue
        at = numbered if len(numbered) == len(counts) else range(len(counts))
        most = max(most, len(counts))
        found = {cpu: count for cpu, count in zip(at, counts, strict=True) if count}
        device.update(found)
        lines += bool(found)
        if any(re.search(rf"\b{name}", row[2]) for name in GPU_DRIVERS):
            card.update(found)
    if not header and not lines:
        return None
    missing = [] if header else ["the header with the processors is missing: columns counted from CPU 0"]
    if not card:
        missing.append("no interrupt of a card's driver")
    return Reading(file, "/proc/interrupts", interrupts=Interrupts(dict(device), dict(card), lines, most),
                   missing=tuple(missing))  # fmt: skip
