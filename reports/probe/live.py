"""Reads the server this runs on: /proc and /sys for the processors, NVML or nvidia-smi for the cards."""

from __future__ import annotations

import datetime
import importlib
import math
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reports.errors import InputError
from reports.probe import nvidia_smi, processor, topology
from reports.probe.records import Card, Processors, Reading, Topology, bus_address

NVML_PACKAGE = "pynvml"
PATIENCE_S = 60
MOST_LINKS = 18
_LEVELS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
_IDLE_NOTE = "no card could be read here: neither nvidia-ml-py (pip install 'gpubook[probe]') nor nvidia-smi answered"


def read(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> tuple[tuple[Reading, ...], str | None]:
    """Readings of this server, and CUDA_VISIBLE_DEVICES. What cannot be read is said in ``missing``."""
    found = [
        _proc(root, "proc/cpuinfo", processor.read_cpuinfo),
        _proc(root, "proc/interrupts", processor.read_interrupts),
    ]
    found.append(_system(root))
    cards = _nvml()
    if cards is None or not cards.cards:
        found += _printed() or [cards or Reading("this server", "NVML", missing=(_IDLE_NOTE,))]
    else:
        found.append(cards)
    return tuple(found), environment.get("CUDA_VISIBLE_DEVICES")


def today() -> str:
    """The day of a reading that is taken now."""
    return datetime.date.today().isoformat()


def _proc(root: Path, name: str, reader: Callable[[str, str], Reading | None]) -> Reading:
    path = root / name
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return Reading(f"/{name}", f"/{name}", missing=(f"cannot be read: {error.strerror}",))
    return reader(text, f"/{name}") or Reading(f"/{name}", f"/{name}", missing=("holds nothing known",))


def _system(root: Path) -> Reading:
    """Memory nodes, the highest clock, and how many threads this process may use."""
    nodes = [each for each in (root / "sys/devices/system/node").glob("node[0-9]*") if each.is_dir()]
    clocks = []
    for path in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/cpuinfo_max_freq"):
        try:
            clocks.append(int(path.read_text()) / 1e6)
        except (OSError, ValueError):
            continue
    allowed = float(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else math.nan
    try:
        quota, period = (root / "sys/fs/cgroup/cpu.max").read_text().split()
        allowed = min(allowed, int(quota) / int(period))
    except (OSError, ValueError):
        pass
    return Reading("/sys", "/sys", processors=Processors(
        highest_ghz=max(clocks, default=math.nan), numa_nodes=float(len(nodes) or "nan"), allowed_threads=allowed,
    ))  # fmt: skip


def _printed() -> list[Reading]:
    """What the nvidia-smi of this server prints, when it has one."""
    program = shutil.which("nvidia-smi")
    found: list[Reading] = []
    if program is None:
        return found
    for arguments, reader in ((["-q", "-x"], nvidia_smi.read_xml), (["topo", "-m"], topology.read)):
        name = " ".join(["nvidia-smi", *arguments])
        try:
            done = subprocess.run(
                [program, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, errors="replace", check=False
            )
            reading = reader(done.stdout, name)
            words = (done.stdout + done.stderr).strip().splitlines()
        except (OSError, subprocess.TimeoutExpired, InputError) as error:
            reading, words = None, [str(error)]
        found.append(reading or Reading(name, name, missing=(f"answered: {words[-1][:200] if words else 'nothing'}",)))
    return found


# NVML --------------------------------------------------------------------------------------------------------------


def _nvml() -> Reading | None:
    """The cards as NVML reports them; None without the package."""
    try:
        nvml: Any = importlib.import_module(NVML_PACKAGE)
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return Reading("NVML", "NVML", missing=(f"NVML could not be started: {error}",))
    try:
        return _asked(nvml)
    finally:
        nvml.nvmlShutdown()


class _Ask:
    """Asks NVML one thing after the other; what a driver or a missing permission refuses is noted once."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        self.refused: dict[str, str] = {}

    def __call__(self, name: str, *arguments: Any, otherwise: Any = math.nan) -> Any:
        try:
            return getattr(self.nvml, name)(*arguments)
        except AttributeError:
            self.refused[name] = "this version of nvidia-ml-py does not have it"
        except self.nvml.NVMLError as error:
            self.refused[name] = str(error)
        return otherwise


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _asked(nvml: Any) -> Reading:
    ask = _Ask(nvml)
    count = int(ask("nvmlDeviceGetCount", otherwise=0))
    handles = [ask("nvmlDeviceGetHandleByIndex", index, otherwise=None) for index in range(count)]
    cards = []
    for index, handle in enumerate(handles):
        if handle is None:
            continue
        memory = ask("nvmlDeviceGetMemoryInfo", handle, otherwise=None)
        pci = ask("nvmlDeviceGetPciInfo", handle, otherwise=None)
        state = ask("nvmlDeviceGetPerformanceState", handle)
        node = ask("nvmlDeviceGetNumaNodeId", handle, otherwise="")
        mig = ask("nvmlDeviceGetMigMode", handle, otherwise=(0, 0))
        cards.append(Card(
            index, _text(ask("nvmlDeviceGetName", handle, otherwise="")), bus_address(_text(pci.busId)) if pci else "",
            memory.total / 2**20 if memory else math.nan,
            float(ask("nvmlDeviceGetCurrPcieLinkGeneration", handle)),
            float(ask("nvmlDeviceGetMaxPcieLinkGeneration", handle)),
            float(ask("nvmlDeviceGetGpuMaxPcieLinkGeneration", handle)),
            lanes_now=float(ask("nvmlDeviceGetCurrPcieLinkWidth", handle)),
            lanes_most=float(ask("nvmlDeviceGetMaxPcieLinkWidth", handle)),
            state=f"P{state}" if state == state else "",
            power_limit_w=ask("nvmlDeviceGetEnforcedPowerLimit", handle) / 1000,
            power_default_w=ask("nvmlDeviceGetPowerManagementDefaultLimit", handle) / 1000,
            numa=str(node), divided=bool(mig[0]),
        ))  # fmt: skip
    cuda = ask("nvmlSystemGetCudaDriverVersion", otherwise=0)
    pairs = _pairs(ask, handles, cards)
    missing = tuple(f"{name} was refused: {reason}" for name, reason in ask.refused.items())
    return Reading(
        "NVML", "NVML", today(), _text(ask("nvmlSystemGetDriverVersion", otherwise="")),
        f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else "", tuple(cards), count,
        Topology(len(cards), len(cards), pairs, {card.index: card.numa for card in cards if card.numa}),
        missing=missing,
    )  # fmt: skip


def _pairs(ask: _Ask, handles: list[Any], cards: list[Card]) -> dict[tuple[int, int], str]:
    """What joins each pair: NVLinks that lead to the other card or to a switch, else the common bridge of the bus."""
    by_bus = {card.bus: card.index for card in cards if card.bus}
    links: dict[tuple[int, int], int] = {}
    to_switch: dict[int, int] = {}
    for card in cards:
        for link in range(MOST_LINKS):
            try:
                if not ask.nvml.nvmlDeviceGetNvLinkState(handles[card.index], link):
                    continue
                remote = ask.nvml.nvmlDeviceGetNvLinkRemotePciInfo(handles[card.index], link)
            except (AttributeError, ask.nvml.NVMLError):
                break  # no NVLink, or no more of them
            other = by_bus.get(bus_address(_text(remote.busId)))
            if other is None:
                to_switch[card.index] = to_switch.get(card.index, 0) + 1
            elif other > card.index:
                links[card.index, other] = links.get((card.index, other), 0) + 1
    pairs = {}
    for one in cards:
        for other_card in cards:
            pair = (one.index, other_card.index)
            if pair[0] >= pair[1]:
                continue
            count = links.get(pair, 0) or min(to_switch.get(pair[0], 0), to_switch.get(pair[1], 0))
            level = ask("nvmlDeviceGetTopologyCommonAncestor", handles[pair[0]], handles[pair[1]], otherwise=None)
            if count or level in _LEVELS:
                pairs[pair] = f"NV{count}" if count else _LEVELS[level]
    return pairs
