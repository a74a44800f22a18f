"""Reading the server this runs on: /proc and /sys under a folder of our own, and stand-ins for NVML and nvidia-smi."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from reports import cli
from reports.probe import live, merge, topology
from reports.probe.records import Machine

CPUINFO = "processor\t: {}\nmodel name\t: Example CPU\nphysical id\t: {}\ncore id\t\t: {}\nflags\t\t: fpu\n\n"


def root_of(folder: Path) -> Path:
    """Two sockets of two cores with two threads each."""
    (folder / "proc").mkdir()
    text = "".join(CPUINFO.format(thread, thread // 4, thread // 2 % 2) for thread in range(8))
    (folder / "proc/cpuinfo").write_text(text)
    (folder / "proc/interrupts").write_text("   CPU0 CPU1\n 1: 10 0 PCI-MSI-edge nvidia\n 2: 5 0 PCI-MSI-edge eth0\n")
    for node in range(2):
        (folder / f"sys/devices/system/node/node{node}").mkdir(parents=True)
    (folder / "sys/devices/system/cpu/cpu0/cpufreq").mkdir(parents=True)
    (folder / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").write_text("3500000\n")
    (folder / "sys/fs/cgroup").mkdir(parents=True)
    (folder / "sys/fs/cgroup/cpu.max").write_text("50000 100000\n")
    return folder


class NVMLError(Exception):
    pass


def fake_nvml(cards: int, *, allowed: bool = True, switch: bool = False) -> Any:
    """NVML with two NVLinks between cards 0 and 1 (or twelve to switches), all behind one PCIe switch."""

    def refused(*ignored: object) -> None:
        raise NVMLError("Insufficient Permissions")

    def link_state(handle: int, link: int) -> int:
        if link >= (12 if switch else 2) or (not switch and handle > 1):
            raise NVMLError("Invalid Argument")
        return 1

    def remote(handle: int, link: int) -> Any:
        return SimpleNamespace(busId="00000000:90:00.0" if switch else f"00000000:{(1 - handle) + 16:02X}:00.0")

    module: Any = ModuleType("pynvml")
    vars(module).update(
        NVMLError=NVMLError, nvmlInit=lambda: None, nvmlShutdown=lambda: None, nvmlDeviceGetCount=lambda: cards,
        nvmlDeviceGetHandleByIndex=lambda index: index, nvmlDeviceGetName=lambda handle: b"NVIDIA A100-SXM4-80GB",
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=80 * 2**30),
        nvmlDeviceGetPciInfo=lambda handle: SimpleNamespace(busId=f"00000000:{handle + 16:02X}:00.0".encode()),
        nvmlDeviceGetCurrPcieLinkGeneration=lambda handle: 4, nvmlDeviceGetMaxPcieLinkGeneration=lambda handle: 4,
        nvmlDeviceGetGpuMaxPcieLinkGeneration=lambda handle: 4, nvmlDeviceGetCurrPcieLinkWidth=lambda handle: 8,
        nvmlDeviceGetMaxPcieLinkWidth=lambda handle: 16, nvmlDeviceGetPerformanceState=lambda handle: 0,
        nvmlDeviceGetEnforcedPowerLimit=refused if not allowed else lambda handle: 400_000,
        nvmlDeviceGetPowerManagementDefaultLimit=lambda handle: 400_000,
        nvmlDeviceGetMigMode=lambda handle: (0, 0), nvmlSystemGetDriverVersion=lambda: b"570.1",
        nvmlSystemGetCudaDriverVersion=lambda: 12080, nvmlDeviceGetTopologyCommonAncestor=lambda one, other: 10,
        nvmlDeviceGetNvLinkState=link_state, nvmlDeviceGetNvLinkRemotePciInfo=remote,
    )  # fmt: skip
    return module


def machine(folder: Path, **environment: str) -> Machine:
    readings, visible = live.read(root_of(folder), environment)
    return merge.machine(readings, visible)


def test_the_processor_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    found = machine(tmp_path, CUDA_VISIBLE_DEVICES="0")
    processors = found.processors
    assert (processors.name, processors.sockets, processors.cores, processors.threads) == ("Example CPU", 2, 4, 8)
    assert (processors.numa_nodes, processors.highest_ghz, processors.allowed_threads) == (2, 3.5, 0.5)
    assert found.interrupts.device == {0: 15}
    assert found.visible == "0"
    assert any("neither nvidia-ml-py" in sentence for sentence in found.missing)


def test_cards_of_nvml_in_bridged_pairs_and_on_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(2))
    (tmp_path / "a").mkdir()
    found = machine(tmp_path / "a")
    assert (found.driver, found.cuda, found.topology.pairs) == ("570.1", "12.8", {(0, 1): "NV2"})
    card = found.cards[1]
    assert (card.name, card.memory_mib, card.bus) == ("NVIDIA A100-SXM4-80GB", 81920, "0000:11:00.0")
    assert (card.lanes_now, card.lanes_most, card.state, card.power_limit_w) == (8, 16, "P0", 400)
    # this version of the package has no question for the NUMA node
    assert any("nvmlDeviceGetNumaNodeId was refused" in sentence for sentence in found.missing)
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(8, switch=True))
    (tmp_path / "b").mkdir()
    assert topology.kind_of(machine(tmp_path / "b").topology) == "nvswitch"


def test_what_a_missing_permission_hides_is_said_and_the_rest_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(1, allowed=False))
    found = machine(tmp_path)
    assert any("GetEnforcedPowerLimit was refused: Insufficient Permissions" in each for each in found.missing)
    assert found.cards[0].power_limit_w != found.cards[0].power_limit_w
    assert found.cards[0].power_default_w == 400


def test_nvidia_smi_stands_in_for_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\n[ \"$1\" = topo ] && { echo 'no topology here'; exit 1; }\n"
        'echo \'<nvidia_smi_log><attached_gpus>1</attached_gpus><gpu id="00000000:17:00.0">'
        "<product_name>NVIDIA L40S</product_name></gpu></nvidia_smi_log>'\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    (tmp_path / "root").mkdir()
    found = machine(tmp_path / "root")
    assert [card.name for card in found.cards] == ["NVIDIA L40S"]
    assert any("nvidia-smi topo -m: answered: no topology here" in sentence for sentence in found.missing)


def test_the_verb_here_reports_the_processors(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_command(["probe", "--json"]) == 0
    assert '"processors"' in capsys.readouterr().out
