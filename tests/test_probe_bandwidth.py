"""Bandwidths that others measured, and those that a (stand-in for) PyTorch measures here."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reports import cli
from reports.catalog.read import read_catalog
from reports.errors import InputError
from reports.probe import bandwidth, measure
from reports.probe.bandwidth import AllReduce, Transfer


def nccl(
    ranks: int, alpha_us: float, bus_gb_per_s: float, sizes: tuple[int, ...], *, prefix: str = "", old: bool = False,
    header: bool = True, wrong: int = 0, same_rank: bool = False,
) -> str:  # fmt: skip
    """A table that follows time = latency + moved / bandwidth exactly, as all_reduce_perf prints it."""
    share = 2 * (ranks - 1) / ranks
    lines = ["# nThread 1 nGpus 8 minBytes 8 maxBytes 1073741824"]
    for rank in range(ranks if header else 0):
        number = 0 if same_rank else rank
        lines.append(
            f"#  Rank {number:2} Group  0 Pid {100 + rank} on host1 device {rank:2} [0000:19:00] NVIDIA A100-SXM4-80GB"
        )
    lines.append(
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw"
    )
    lines.append(
        "           0     0     float     sum      -1     0.10    0.00    0.00      0     0.10    0.00    0.00      0"
    )
    for size in sizes:
        time_us = alpha_us + size * share / bus_gb_per_s / 1000
        rate = size / time_us / 1000
        one = f"{time_us:.3f} {rate:.4f} {rate * share:.4f}"
        root, error = ("", "N/A") if old else ("-1", str(wrong))
        lines.append(f"{size:12_} {size // 4:12} float sum {root} {one} {error} {one} {error}")
        lines.append("host1:880:880 [1] NCCL INFO comm 0x55ba rank 0 nranks 2 - a line in between")
    lines.append(f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}")
    return "\n".join(prefix + line for line in lines) + "\n# Avg bus bandwidth    : 1.0\n"


SIZES = tuple(8 * 4**power for power in range(14))


def only(folder: Path, text: str) -> AllReduce | Transfer:
    (folder / "file.txt").write_text(text, encoding="utf-8")
    (found,) = bandwidth.read(folder / "file.txt")
    return found


@pytest.mark.parametrize("look", [{}, {"prefix": "[1,0]<stdout>:"}, {"prefix": "0: "}, {"old": True}])
def test_latency_and_bandwidth_of_a_table_that_follows_the_law(tmp_path: Path, look: dict[str, Any]) -> None:
    found = only(tmp_path, nccl(8, 20.0, 230.0, SIZES, **look))
    assert isinstance(found, AllReduce)
    assert (found.ranks, found.hosts, found.gpu_name, found.rows) == (8, 1, "NVIDIA A100-SXM4-80GB", 14)
    assert found.alpha_us == pytest.approx(20, rel=1e-3)
    assert found.bus_gb_per_s == pytest.approx(230, rel=1e-3)
    # 512 MiB moved: 536870912 x 1.75 / 230e3 + 20 = 4104.9 us, so 228.88 GB/s
    assert found.largest_bus_gb_per_s == pytest.approx(228.88, rel=1e-3)


@pytest.mark.parametrize(("ranks", "hosts"), [(2, 1), (8, 1), (16, 2)])
def test_without_a_header_the_cards_follow_from_the_ratio(tmp_path: Path, ranks: int, hosts: int) -> None:
    found = only(tmp_path, nccl(ranks, 20.0, 230.0, SIZES, header=False))
    assert isinstance(found, AllReduce)
    assert (found.ranks, found.hosts) == (ranks, hosts)
    assert "the header is missing" in found.notes[0]


def test_large_messages_alone_say_nothing_about_latency(tmp_path: Path) -> None:
    found = only(tmp_path, nccl(2, 20.0, 190.0, (1 << 27, 1 << 28, 1 << 29)))
    assert isinstance(found, AllReduce)
    assert np.isnan(found.alpha_us)
    # 2^29 B over 2 cards move 536.87 MB: 2825.6 + 20 us, so 188.66 GB/s
    assert found.bus_gb_per_s == pytest.approx(188.66, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (nccl(2, 20, 190, SIZES, same_rank=True), "the same rank twice"),
        (nccl(2, 20, 190, SIZES, wrong=3), "corrupt data"),
        (nccl(2, 20, 190, ()), "no row with a size"),
        ("1024 256 float sum -1 1e 1 x.y - - 10 1 1 -\n", "is not a bandwidth measurement"),
        ("1024 256 float none -1 10 100.0 50.0 0 10 100.0 50.0 0\n", "is no all-reduce over several cards"),
        (nccl(8, 20, 230, SIZES).replace("Rank  7", "Rank 7 of"), "names 7 ranks"),
        ("nvbandwidth Version: v0.2\nWaiving device_to_device_memcpy_write_ce.\n", "the test was waived"),
        ("NOTE: nvbandwidth\nnothing\n", "is not a bandwidth measurement"),
        ("bandwidthTest-D2D-Pinned, Bandwidth = 700 GB/s, Time = 0.1 s, Size = 32000000 bytes, NumDevsUsed = 1\n",
         "no copy between host and card"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_says_why(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "file.txt").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        bandwidth.read(tmp_path / "file.txt")


def test_matrices_leave_the_diagonal_out(tmp_path: Path) -> None:
    between = ("Running device_to_device_memcpy_write_ce.\nmemcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
               "           0         1         2\n 0       N/A     270.0     276.0\n 1     272.0      0.00     274.0\n"
               " 2     275.0     273.0       N/A\n\nSUM device_to_device_memcpy_write_ce 1640.0\n")  # fmt: skip
    found = only(tmp_path, between)
    assert isinstance(found, Transfer)
    # 270 272 273 274 275 276: the middle is 273.5
    assert (found.kind, found.value, found.low, found.high, found.count) == ("d2d", 273.5, 270, 276, 6)
    host = ("Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
            "          0         1\n0     26.03     13.10\n")  # fmt: skip
    found = only(tmp_path, host)
    assert isinstance(found, Transfer)
    assert (found.kind, found.value, found.low, found.high) == ("h2d", 19.565, 13.10, 26.03)


def test_bandwidth_test_in_both_layouts(tmp_path: Path) -> None:
    classic = ("[CUDA Bandwidth Test] - Starting...\n Device 0: NVIDIA L40S\n Quick Mode\n\n"
               " Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
               "   Transfer Size (Bytes)\tBandwidth(MB/s)\n   32000000\t\t\t25100.0\n\n"
               " Device to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
               "   Transfer Size (Bytes)\tBandwidth(MB/s)\n   32000000\t\t\t650000.0\n\nResult = PASS\n")  # fmt: skip
    found = only(tmp_path, classic)
    assert isinstance(found, Transfer)
    assert (found.kind, found.value, found.gpu_name) == ("h2d", 25.1, "NVIDIA L40S")
    row = "bandwidthTest-D2H-Pinned, Bandwidth = {} GB/s, Time = 0.1 s, Size = {} bytes, NumDevsUsed = 1\n"
    found = only(
        tmp_path, "".join(row.format(rate, size) for rate, size in ((0.4, 1000), (12.1, 36000000), (12.4, 68000000)))
    )
    assert isinstance(found, Transfer)
    assert (found.kind, found.value, found.low, found.count) == ("d2h", 12.4, 12.1, 2)


def test_peer_copies_one_way(tmp_path: Path) -> None:
    text = (
        "Device: 0, NVIDIA L40S, pciBusID: 1\nDevice: 1, NVIDIA L40S, pciBusID: 2\nDevice=0 CAN Access Peer Device=1\n"
        "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n"
        "   D\\D     0      1\n     0 800.0  11.0\n     1 11.0 800.0\n"
        "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n"
        "   D\\D     0      1\n     0 800.0  26.0\n     1 25.0 800.0\n"
    )
    found = only(tmp_path, text)
    assert isinstance(found, Transfer)
    assert (found.value, found.low, found.high, found.gpu_name) == (25.5, 25.0, 26.0, "NVIDIA L40S")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.run_command([str(each) for each in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_measured_links_in_an_overlay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "reduce.txt").write_text(nccl(8, 3.0, 230.0, SIZES), encoding="utf-8")
    (tmp_path / "copy.txt").write_text(
        "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n 0 1\n0 24.0 26.0\n",
        encoding="utf-8",
    )
    code, text, error = run(capsys, "probe", "--bandwidth", tmp_path / "reduce.txt", tmp_path / "copy.txt", "--out",
                            tmp_path / "site", "--name", "rack", "--date", "2026-11-20")  # fmt: skip
    assert (code, error) == (0, "")
    assert "all-reduce over 8 cards: 3.0 us + 230.0 GB/s bus" in text
    book = read_catalog([tmp_path / "site"])
    card = book.gpus["a100-sxm4-80gb"]
    assert (card.nvlink, card.pcie) == ("rack-nvlink", "rack-pcie")
    point = book.links["rack-nvlink"].points[8]
    assert point["allreduce_alpha_us"].value == pytest.approx(3, rel=1e-2)
    assert point["allreduce_bus_gb_per_s"].value == pytest.approx(230, rel=1e-2)
    assert point["allreduce_bus_gb_per_s"].basis == "measured"
    shipped = read_catalog().links
    # two and four cards were not measured: as they were, with the source they had
    two = book.links["rack-nvlink"].points[2]["allreduce_bus_gb_per_s"]
    before = shipped["nvswitch-ampere"].points[2]["allreduce_bus_gb_per_s"]
    assert (two.value, two.source, two.at) == (before.value, before.source, before.at)
    assert book.links["rack-pcie"].facts["host_to_device_gb_per_s"].value == 25
    assert set(book.links["rack-pcie"].points) == set(shipped["pcie4"].points)


def test_the_latency_of_nccl_does_not_replace_a_smaller_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "reduce.txt").write_text(nccl(8, 38.0, 230.0, SIZES), encoding="utf-8")
    _, text, _ = run(capsys, "probe", "--bandwidth", tmp_path / "reduce.txt", "--out", tmp_path / "site", "--date",
                     "2026-11-20", "--name", "rack")  # fmt: skip
    assert "latency 38.0 us is that of NCCL" in text
    kept = read_catalog().links["nvswitch-ampere"].points[8]["allreduce_alpha_us"].value
    assert read_catalog([tmp_path / "site"]).links["rack-nvlink"].points[8]["allreduce_alpha_us"].value == kept


def test_files_without_a_bandwidth_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.txt").write_text("GPU 0: NVIDIA L40S (UUID: GPU-0)\n", encoding="utf-8")
    code, _, error = run(capsys, "probe", "--bandwidth", tmp_path / "list.txt")
    assert (code, "no file holds a bandwidth" in error) == (2, True)


# Measured here -------------------------------------------------------------------------------------------------------


class Event:
    times: list[float] = []  # noqa: RUF012 - milliseconds that the next copies take

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        pass

    def elapsed_time(self, end: Event) -> float:
        return Event.times.pop(0)


class Context:
    def __init__(self, device: object) -> None:
        self.device = device

    def __enter__(self) -> None:
        pass

    def __exit__(self, *ignored: object) -> None:
        pass


def fake_torch(cards: int) -> Any:
    tensor = SimpleNamespace(copy_=lambda source, non_blocking: None)
    cuda = SimpleNamespace(
        is_available=lambda: cards > 0, device_count=lambda: cards, Event=Event, synchronize=lambda device: None,
        get_device_name=lambda index: "NVIDIA L40S", device=Context,
    )  # fmt: skip
    return SimpleNamespace(cuda=cuda, uint8="uint8", device=lambda *place: place, empty=lambda size, **more: tensor)


def test_repeats_give_a_mean_and_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(1))
    # 268435456 B in 10 and in 12.5 ms: 26.84 and 21.47 GB/s; three warm-up copies are slow and do not count
    Event.times = [99.0] * 3 + [10.0, 12.5] * 10 + [99.0] * 3 + [10.0] * 20
    torch, reason = measure.torch_with_cards()
    assert reason == ""
    there, back = measure.transfers(torch)
    assert (there.kind, back.kind, there.count) == ("h2d", "d2h", 20)
    assert there.value == pytest.approx((26.8435 + 21.4748) / 2, rel=1e-4)
    # deviation 2.7544 (n - 1), t(19, 97.5 %) = 2.0930, root of 20: half the interval is 1.2891
    assert there.high - there.value == pytest.approx(1.2891, rel=1e-3)
    assert back.low == pytest.approx(back.value)


def test_without_a_card_the_reason_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(0))
    assert measure.torch_with_cards() == (None, "PyTorch sees no card")
    code, text, _ = run(capsys, "probe", "--bandwidth")
    assert code == 0
    assert "no bandwidth was measured: PyTorch sees no card" in text
