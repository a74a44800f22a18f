"""Reading a server from what its tools print: own small files in the shapes of the tools, for several topologies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reports import cli
from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.probe import detect, merge, nvidia_smi, pci_tree, processor, topology, traps
from reports.probe.records import Machine, bus_address, number
from reports.scenario.read import read_scenario

CARD = """\
  <gpu id="00000000:{bus}:00.0">
    <product_name>{name}</product_name>
    <mig_mode><current_mig>{mig}</current_mig></mig_mode>
    <mig_devices><mig_device><fb_memory_usage><total>9856 MiB</total></fb_memory_usage></mig_device></mig_devices>
    <gpu_virtualization_mode><virtualization_mode>None</virtualization_mode></gpu_virtualization_mode>
    <pci><pci_bus_id>00000000:{bus}:00.0</pci_bus_id><pci_gpu_link_info>
      <pcie_gen><max_link_gen>{most}</max_link_gen><current_link_gen>{now}</current_link_gen>
        <max_device_link_gen>4</max_device_link_gen><max_host_link_gen>{most}</max_host_link_gen></pcie_gen>
      <link_widths><max_link_width>16x</max_link_width><current_link_width>{lanes}x</current_link_width></link_widths>
    </pci_gpu_link_info></pci>
    <performance_state>{state}</performance_state>
    <fb_memory_usage><total>{memory} MiB</total><used>3 MiB</used></fb_memory_usage>
    <gpu_power_readings><current_power_limit>{limit}.00 W</current_power_limit>
      <default_power_limit>300.00 W</default_power_limit></gpu_power_readings>
  </gpu>
"""
USUAL = {"name": "NVIDIA A100 80GB PCIe", "mig": "Disabled", "most": 4, "now": 1, "lanes": 16, "state": "P8",
         "memory": 81920, "limit": 300}  # fmt: skip


def xml(*cards: dict[str, object], attached: int | None = None, prolog: str = "") -> str:
    filled = ({**USUAL, "bus": f"{17 + index * 10:02x}", **card} for index, card in enumerate(cards))
    body = "".join(CARD.format(**each) for each in filled)
    return (
        '$ nvidia-smi -q -x\n<?xml version="1.0" ?>\n'
        f'<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd"{prolog}>\n'
        "<nvidia_smi_log>\n  <timestamp>Tue Aug 4 10:11:12 2026</timestamp>\n  <driver_version>570.1</driver_version>\n"
        f"  <cuda_version>12.8</cuda_version>\n  <attached_gpus>{attached or len(cards)}</attached_gpus>\n{body}"
        "</nvidia_smi_log>\n"
    )


FOUR = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"


def matrix(*rows: str, header: str = FOUR) -> str:
    return (
        "\n".join([header, *rows, "", "Legend:", "  X    = Self", "  NV#  = Connection traversing a bonded set"]) + "\n"
    )


def square(kinds: list[str], numa: str = "0011") -> str:
    """Four cards: links of 01, 02, 03, 12, 13, 23."""
    of = dict(zip(("01", "02", "03", "12", "13", "23"), kinds, strict=True))
    rows = []
    for one in range(4):
        cells = [" X " if one == other else of["".join(sorted(f"{one}{other}"))] for other in range(4)]
        rows.append("\t".join([f"GPU{one}", *cells, "0-15", numa[one], "\tN/A"]))
    return matrix(*rows)


def read(folder: Path, **files: str) -> Machine:
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name}.txt")
        paths[-1].write_text(text, encoding="utf-8")
    return merge.machine(detect.read_all(paths))


def test_numbers_and_addresses_as_tools_write_them() -> None:
    assert [number(text) for text in ("16x", "24564 MiB", "450.00 W", "8_388_608")] == [16, 24564, 450, 8388608]
    assert all(number(text) != number(text) for text in ("N/A", "[N/A]", "", None))
    assert bus_address("00000000:17:00.0") == bus_address("17:00.0") == "0000:17:00.0"
    assert bus_address("nonsense") == ""


def test_cards_of_the_xml(tmp_path: Path) -> None:
    machine = read(tmp_path, smi=xml({}, {"lanes": 8, "mig": "Enabled"}))
    assert (machine.driver, machine.cuda, machine.day) == ("570.1", "12.8", "2026-08-04")
    first, second = machine.cards
    # the memory of a MIG part stands before the card's own
    assert (first.name, first.memory_mib, first.bus) == ("NVIDIA A100 80GB PCIe", 81920, "0000:11:00.0")
    assert (first.generation_now, first.generation_most, first.lanes_now, first.lanes_most) == (1, 4, 16, 16)
    assert (second.lanes_now, second.divided, first.divided) == (8, True, False)


def test_the_same_card_as_text_as_table_and_as_csv(tmp_path: Path) -> None:
    query = (
        "==============NVSMI LOG==============\n\nTimestamp : Tue Aug  4 10:11:12 2026\nDriver Version : 570.1\n"
        "CUDA Version : 12.8\n\nAttached GPUs : 1\nGPU 00000000:17:00.0\n    Product Name : NVIDIA L40S\n"
        "    MIG Mode\n        Current : N/A\n    PCI\n        Bus Id : 00000000:17:00.0\n        GPU Link Info\n"
        "            PCIe Generation\n                Max : 4\n                Current : 1\n"
        "            Link Width\n                Max : 16x\n                Current : 8x\n"
        "    Performance State : P8\n    FB Memory Usage\n        Total : 46068 MiB\n"
    )
    table = (
        "Tue Aug  4 10:11:12 2026\n| NVIDIA-SMI 570.1    Driver Version: 570.1     CUDA Version: 12.8     |\n"
        "|   0  NVIDIA L40S                    Off |   00000000:17:00.0 Off |                    0 |\n"
        "| N/A   41C    P8             69W /  350W |       0MiB /  46068MiB |      0%      Default |\n"
        "|                                         |                        |                  N/A |\n"
    )
    asked = "index, name, pci.bus_id, memory.total [MiB]\n0, NVIDIA L40S, 00000000:17:00.0, 46068 MiB\n"
    for name, text in (("query", query), ("table", table), ("asked", asked)):
        (card,) = read(tmp_path, **{name: text}).cards
        assert (card.name, card.memory_mib, card.bus) == ("NVIDIA L40S", 46068, "0000:17:00.0"), name
    merged = read(tmp_path, table=table, query=query)
    assert [(card.lanes_now, card.lanes_most, card.power_limit_w) for card in merged.cards] == [(8, 16, 350)]
    assert merged.missing == ()


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        (["NV18"] * 6, "nvlink-mesh"),
        (["NV12", "SYS", "SYS", "SYS", "SYS", "NV12"], "bridged-pairs"),
        (["PIX"] * 6, "single-switch"),
        (["PXB", "NODE", "NODE", "NODE", "NODE", "PXB"], "several-switches"),
        (["PHB"] * 6, "own-lanes"),
        (["NODE", "SYS", "SYS", "SYS", "SYS", "NODE"], "across-sockets"),
        (["NV2", "NV1", "PHB", "PHB", "NV1", "NV2"], "nvlink-part"),
    ],
)
def test_what_joins_four_cards(tmp_path: Path, kinds: list[str], found: str) -> None:
    assert topology.kind_of(read(tmp_path, topo=square(kinds)).topology) == found


def test_eight_cards_of_nvswitch_in_colour_with_glued_columns(tmp_path: Path) -> None:
    names = "  ".join(f"GPU{index}" for index in range(8))
    header = f"\t\x1b[4m{names}  NIC10NIC11  CPU Affinity  NUMA Affinity\x1b[0m"
    rows = [f"GPU{one}\t" + "\t".join("X" if one == other else "NV18" for other in range(8)) + "\tPXB\tNODE\t0-51\t1"
            for one in range(8)]  # fmt: skip
    machine = read(tmp_path, topo=matrix(*rows, header=header))
    assert topology.kind_of(machine.topology) == "nvswitch"
    assert machine.topology.network == ("NIC10", "NIC11")
    assert machine.topology.numa == dict.fromkeys(range(8), "1")


def test_a_matrix_that_is_cut_off_says_so_and_keeps_its_rows(tmp_path: Path) -> None:
    machine = read(tmp_path, topo="\n".join(square(["NV12"] * 6).splitlines()[:3]))
    assert "the matrix is incomplete: 2 of 4 rows" in machine.missing[0]
    assert machine.topology.pairs[0, 3] == "NV12"
    assert topology.kind_of(machine.topology) == ""


def test_cards_behind_one_switch_in_the_pci_tree() -> None:
    tree = (
        "-+-[0000:40]-+-00.0  Intel Corporation Device 09a2\n"
        " |           \\-01.0-[41-46]----00.0-[42-46]--+-00.0-[43]----00.0  NVIDIA Corporation GA100 [A100 PCIe 80GB]\n"
        " |                                           \\-01.0-[44]--+-00.0  NVIDIA Corporation GA100 [A100 PCIe 80GB]\n"
        " |                                                        \\-00.1  NVIDIA Corporation Audio Controller\n"
        " \\-[0000:c0]-+-01.1-[c1]----00.0  NVIDIA Corporation GA100 [A100 PCIe 80GB]\n"
        "             \\-02.1-[c2]----00.0  Mellanox Technologies MT2910 Family [ConnectX-7]\n"
    )
    found = pci_tree.read_tree(tree, "tree")
    assert found is not None
    assert found.switches == {
        "0000:43:00.0": "switch 0000:40/01.0/00.0", "0000:44:00.0": "switch 0000:40/01.0/00.0",
        "0000:c1:00.0": "port 0000:c0/01.1",
    }  # fmt: skip


def test_link_and_permission_in_lspci() -> None:
    device = "01:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)\n"
    link = "\tLnkCap: Port #0, Speed 16GT/s, Width x16, ASPM L1\n\tLnkSta: Speed 8GT/s (downgraded), Width x8\n"
    found = pci_tree.read_details(device + link, "vvv")
    assert found is not None
    assert [(card.generation_now, card.generation_card, card.lanes_now, card.lanes_most) for card in found.cards] == [
        (3, 4, 8, 16)
    ]
    denied = pci_tree.read_details(device + "\tCapabilities: <access denied>\n", "vvv")
    assert denied is not None
    assert "permission" in denied.missing[0]


def test_processors_of_lscpu_and_numactl(tmp_path: Path) -> None:
    lscpu = (
        "Architecture:  x86_64\nCPU(s):  128\n  Model name:  AMD EPYC 7763 64-Core Processor\n"
        "    Thread(s) per core:  1\n    Core(s) per socket:  64\n    Socket(s):  2\n    CPU max MHz:  3529.0520\n"
    )
    numa = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\nnode 1 cpus: 2 3\n"
    found = read(tmp_path, cpu=lscpu, numa=numa).processors
    assert (found.sockets, found.cores, found.threads, found.numa_nodes) == (2, 128, 128, 2)
    assert found.highest_ghz == pytest.approx(3.529052)


INTERRUPTS = """\
            CPU0       CPU1
  24:      900          0   PCI-MSI 1-edge      nvidia
  25:       95          {other}   PCI-MSI 2-edge      mlx5_comp0
 NMI:         5          5   Non-maskable interrupts
"""


def test_interrupts_that_all_land_on_one_processor(catalog: Catalog) -> None:
    for other, expected in ((5, ["interrupts"]), (400, [])):
        found = processor.read_interrupts(INTERRUPTS.format(other=other), "proc")
        assert found is not None
        assert found.interrupts is not None
        assert found.interrupts.card == {0: 900}
        machine = Machine(interrupts=found.interrupts)
        assert [each.code for each in traps.traps(machine, catalog)] == expected  # 995 of 1000; 995 of 1395


def test_traps_of_a_server_with_numbers(tmp_path: Path, catalog: Catalog) -> None:
    machine = read(tmp_path, smi=xml({"lanes": 8, "limit": 250}, {"most": 3, "state": "P0", "now": 1}))
    found = {each.code: each.text for each in traps.traps(machine, catalog)}
    assert found["narrow-link"].startswith("card 0: x8 of x16 lanes; 50% of the bandwidth")
    assert "generation 4 in a slot of generation 3: 50%" in found["old-slot"]
    assert found["slow-link"].startswith("card 1: the link runs at generation 1 of 3 in state P0")
    assert "250 W of 300 W" in found["power-limit"]
    assert set(found) == {"narrow-link", "old-slot", "slow-link", "power-limit"}
    # generation 1 of an idle card is no trap
    assert traps.traps(read(tmp_path, smi=xml({})), catalog) == ()


def test_hidden_cards_and_mixed_cards(tmp_path: Path, catalog: Catalog) -> None:
    machine = read(tmp_path, smi=xml({}, {}, {"name": "NVIDIA L40S", "memory": 46068}))
    found = {each.code: each.text for each in traps.traps(merge.machine([], None), catalog)}
    assert found == {}
    found = {each.code: each.text for each in traps.traps(replace(machine, visible="0,1"), catalog)}
    assert 'CUDA_VISIBLE_DEVICES="0,1" shows 2 of 3 cards' in found["hidden-cards"]
    assert "2 x NVIDIA A100 80GB PCIe" in found["mixed-cards"]
    assert "1 x NVIDIA L40S" in found["mixed-cards"]


SCENARIO = """\
title: {en: Probe}
period: 2026-11
currency: USD
region: us
workload: {input_tokens: 512, output_tokens: 256, demand: {peak_concurrency: 10}}
targets: {tpot_ms: 50, ttft_ms: 2000}
matrix: {model: [qwen2.5-7b-instruct], quantization: [fp16], gpu: [a100-sxm4-80gb], count: [1, 2], interconnect: [pcie]}
reports: []
"""


def test_a_pcie_card_where_the_scenario_says_sxm(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    scenario = read_scenario(tmp_path / "s.yaml", catalog)
    (trap,) = traps.traps(read(tmp_path, smi=xml({})), catalog, scenario)
    assert trap.code == "another-form"
    assert "asks for A100-SXM4-80GB" in trap.text
    assert "has A100-PCIe-80GB (PCIe)" in trap.text


# What is broken ------------------------------------------------------------------------------------------------------


def test_xml_that_breaks_off_keeps_the_cards_before(tmp_path: Path) -> None:
    whole = xml({}, {})
    machine = read(tmp_path, smi=whole[: whole.rindex("<performance_state>")])
    assert [card.name for card in machine.cards] == ["NVIDIA A100 80GB PCIe"] * 2
    said = "\n".join(machine.missing)
    assert "the XML breaks off in line" in said
    assert "card 1 does not say its memory" in said


def test_xml_with_entities_is_refused() -> None:
    bomb = xml({}, prolog=' [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]')
    with pytest.raises(InputError, match="declares XML entities"):
        nvidia_smi.read_xml(bomb, "bomb.xml")
    deep = "<nvidia_smi_log>" + "<a>" * 100_000
    with pytest.raises(InputError, match="nested too deep"):
        nvidia_smi.read_xml(deep, "deep.xml")


def test_fewer_cards_than_attached_are_said(tmp_path: Path) -> None:
    assert "3 cards are attached, 1 are described" in read(tmp_path, smi=xml({}, attached=3)).missing[0]


def test_every_file_that_cannot_be_used_is_listed(tmp_path: Path) -> None:
    texts = {
        "rocm.txt": "===== ROCm System Management Interface =====\n", "empty.txt": " \n", "log.txt": "INFO started\n",
        "failed.txt": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        detect.read_all([tmp_path / name for name in texts] + [tmp_path / "none.txt"])
    said = [str(problem).removeprefix(f"{tmp_path}/") for problem in caught.value.problems]
    assert [each.split(";")[0] for each in said] == [
        "rocm.txt: is output of rocm-smi, which is not read", "empty.txt: is empty",
        "log.txt:1: is not a tool output this program knows",
        "failed.txt: says that nvidia-smi has failed: no driver, or no permission",
        "none.txt: cannot be read: No such file or directory",
    ]  # fmt: skip


def test_files_of_two_servers_do_not_agree(tmp_path: Path) -> None:
    asked = "index, name, memory.total [MiB]\n0, NVIDIA L40S, 46068 MiB\n"
    assert any("do not agree" in each for each in read(tmp_path, smi=xml({}, {}), asked=asked).missing)


# The overlay ---------------------------------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.run_command([str(each) for each in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_overlay_is_a_catalog_whose_card_stands_in_this_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "smi.xml").write_text(xml(*[{"lanes": 8}] * 8), encoding="utf-8")
    out = tmp_path / "site"
    code, text, error = run(capsys, "probe", "--from", tmp_path / "smi.xml", "--out", out, "--name", "rack-7")
    assert (code, error) == (0, "")
    assert "trap: cards 0, 1, 2, 3, 4, 5, 6, 7: x8 of x16 lanes" in text
    book = read_catalog([out])
    host = book.hosts["rack-7"]
    assert (host.value("server_cards"), host.value("pcie_lanes"), host.value("pcie_generation")) == (8, 8, 4)
    assert (host.facts["server_cards"].basis, host.facts["server_cards"].at) == ("measured", "2026-08-04")
    # what the server does not say stays as it was, with its source: 8 x 300 W and 1.5 kW of host
    power = host.facts["server_power_kw"]
    assert (power.value, power.basis, power.source) == (3.9, "derived", "host-arithmetic")
    card = book.gpus["a100-pcie-80gb"]
    assert (card.host, card.pcie) == ("rack-7", "pcie4-x8")
    saved = json.loads((out / "measured" / "machine.json").read_text())
    assert len(saved["machine"]["cards"]) == 8
    assert str(tmp_path) not in (out / "measured" / "machine.json").read_text() + (out / "sources.csv").read_text()
    before = {path: path.read_bytes() for path in out.rglob("*.*")}
    run(capsys, "probe", "--from", tmp_path / "smi.xml", "--out", out, "--name", "rack-7")
    assert before == {path: path.read_bytes() for path in out.rglob("*.*")}


def test_mixed_cards_and_a_missing_day_write_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mixed.xml").write_text(xml({}, {"name": "NVIDIA L40S", "memory": 46068}), encoding="utf-8")
    code, _, error = run(capsys, "probe", "--from", tmp_path / "mixed.xml", "--out", tmp_path / "o")
    assert code == 2
    assert "no host entry: the cards are not alike" in error
    (tmp_path / "topo.txt").write_text(square(["PIX"] * 6), encoding="utf-8")
    code, _, error = run(capsys, "probe", tmp_path / "topo.txt", "--out", tmp_path / "o")
    assert (code, "--date: is needed" in error) == (2, True)
    assert not (tmp_path / "o").exists()


def test_the_verb_lists_what_is_wrong_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = run(capsys, "probe", "--from", "--interconnect", "wifi")
    assert code == 2
    assert "--from: names no file" in error
    assert "--interconnect: is unknown; read wifi" in error
