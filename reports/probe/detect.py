"""Picks the readers for a file by what it contains; one file may hold the output of several tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from reports.errors import InputError, Problem
from reports.field.readers.text import clean, head, refuse
from reports.probe import nvidia_smi, pci_tree, processor, topology
from reports.probe.records import Reading

MOST_BYTES = 16 * 1024 * 1024
"""What tools print about one server is a few hundred kilobytes."""

KNOWN = (
    "nvidia-smi (-q -x, -q, the table, --query-gpu, -L), nvidia-smi topo -m, lspci (-tv, -vvv), lscpu, "
    "numactl --hardware, /proc/cpuinfo or /proc/interrupts"
)

READERS: tuple[Callable[[str, str], Reading | None], ...] = (
    nvidia_smi.read_xml, nvidia_smi.read_query, nvidia_smi.read_csv, nvidia_smi.read_table, nvidia_smi.read_list,
    topology.read, pci_tree.read_tree, pci_tree.read_details, processor.read_lscpu, processor.read_numactl,
    processor.read_cpuinfo, processor.read_interrupts,
)  # fmt: skip
"""In the order in which their cards are believed."""

_OTHERS = (
    ("ROCm System Management Interface", "is output of rocm-smi, which is not read", "give lspci -tv and lscpu"),
    ("AMDSMI", "is output of amd-smi, which is not read", "give lspci -tv and lscpu"),
    ("npu-smi", "is output of npu-smi, which is not read", "give lspci -tv and lscpu"),
    ("hl-smi", "is output of hl-smi, which is not read", "give lspci -tv and lscpu"),
    ("NVIDIA-SMI has failed", "says that nvidia-smi has failed: no driver, or no permission", "run it where it works"),
    ("Failed to initialize NVML", "says that NVML could not be started: no driver, or no permission",
     "run it where it works"),
    ("No devices were found", "says that no card was found", "run it on the server itself, not in a container"),
    ("couldn't communicate with the NVIDIA driver", "says that nvidia-smi has failed", "run it where it works"),
)  # fmt: skip
"""What is recognised and cannot be used: a word of it, what it is, what to do."""


def whole_text(path: Path) -> str:
    """A file of tool output as text without colour codes; InputError when it is none, or too large."""
    head(path)  # refuses folders, archives, binary and empty files in words
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise refuse(path, "is too large for what tools say about one server", read=f"{size / 1e6:.0f} MB",
                     expected=f"at most {MOST_BYTES / 1e6:.0f} MB")  # fmt: skip
    raw = path.read_bytes()
    utf16 = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = raw.decode("utf-16" if utf16 else "utf-8-sig", "replace").replace("\r\n", "\n")
    return "\n".join(clean(line) for line in text.split("\n"))


def read(path: Path) -> tuple[Reading, ...]:
    """What the file says, one reading a tool; InputError with the reason when nothing in it is known."""
    text = whole_text(path)
    found = tuple(each for reader in READERS if (each := reader(text, str(path))) is not None)
    if found:
        return found
    for word, message, hint in _OTHERS:
        if word.lower() in text.lower():
            raise refuse(path, message, expected=KNOWN, hint=hint)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    raise refuse(path, "is not a tool output this program knows", 1, read=f'"{first[:60]}"', expected=KNOWN)


def read_all(paths: Sequence[Path]) -> tuple[Reading, ...]:
    """All files; InputError lists every one that cannot be used."""
    found: list[Reading] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            found += read(path)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return tuple(found)
