"""What a hostile or unlucky user can do: each of these once broke a build, hung it, or was taken without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.scenario.check import check_scenarios
from reports.scenario.read import read_scenario
from reports.strict_yaml import parse
from reports.writing import replace_folder

SCENARIO = """\
title: {en: Hostile}
period: 2026-11
currency: USD
region: us
workload: {input_tokens: 512, output_tokens: 256, demand: {peak_concurrency: 10}}
targets: {tpot_ms: 50, ttft_ms: 2000}
matrix: {model: [qwen2.5-7b-instruct], quantization: [fp8], gpu: [l40s], count: [1, 2], interconnect: [pcie]}
reports: []
"""
OFFERS = (
    "offer_id,gpu,provider,segment,instance,instance_cards,region,currency,price_per_card_hour,term,as_of,source,basis\n"
)
OFFER = "a,l40s,P,neocloud,i,1,us,USD,1,on-demand,2026-11-20,own-judgement,published\n"


def refused(folder: Path, catalog: Catalog, text: str, *sets: str) -> str:
    path = folder / "s.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_scenario(path, catalog, sets=sets)
    return "\n".join(map(str, caught.value.problems)).replace(f"{folder}/", "")


@pytest.mark.parametrize("escape", ["\\0", "\\x01", "\\x1b", "\\x7f", "\\uFFFE"])
def test_a_control_character_behind_an_escape(escape: str) -> None:
    with pytest.raises(InputError, match="control character"):
        parse(f'a: "x{escape}"', "s.yaml")


def test_a_control_character_on_the_command_line(tmp_path: Path, catalog: Catalog) -> None:
    assert "control character in a text; read U+0001" in refused(tmp_path, catalog, SCENARIO, "title.en=a\x01b")


@pytest.mark.parametrize("text", ["\n".join(f"k{n}: 1" for n in range(150_000)), f"a: [{'1, ' * 300_000}]"])
def test_a_file_with_very_many_values_ends_at_once(text: str) -> None:
    start = time.monotonic()
    with pytest.raises(InputError, match="too many values"):
        parse(text, "s.yaml")
    assert time.monotonic() - start < 20


def test_very_many_unknown_keys_end_in_time(tmp_path: Path, catalog: Catalog) -> None:
    start = time.monotonic()
    assert "unknown key" in refused(tmp_path, catalog, SCENARIO + "\n".join(f"k{n}: 1" for n in range(9_000)))
    assert time.monotonic() - start < 30


def test_a_syntax_error_is_said_once() -> None:
    with pytest.raises(InputError) as caught:
        parse("a: b: c", "s.yaml")
    assert str(caught.value.problems[0]).count("is not valid YAML") == 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("period: 2026-11", "period: 0000-01", "s.yaml:2:9: period: has the wrong form"),
        ("{en: Hostile}", '{en: "  "}', "title.en: has the wrong form"),
        ("reports: []", "costs: {compare: [rent, rent]}", "costs.compare: lists the same item twice"),
        ("gpu: [l40s]", "gpu: [4090]", 'put it in quotes: "4090"'),
        ("gpu: [l40s]", "gpu: l40s", "write [l40s]"),
        ("peak_concurrency: 10", "peak_concurrency: 1,000", "numbers without separators"),
        ("count: [1, 2]", "count: [2, 2]", "is in the list twice"),
        ("reports: []", 'extends: "a\\0b"', "control character"),
        ("reports: []", f"extends: {'a' * 5000}", "extends: cannot be used: File name too long"),
    ],
)
def test_refused_in_words(tmp_path: Path, catalog: Catalog, old: str, new: str, words: str) -> None:
    assert old in SCENARIO
    assert words in refused(tmp_path, catalog, SCENARIO.replace(old, new))


def test_a_flag_is_not_suggested_for_a_number(tmp_path: Path, catalog: Catalog) -> None:
    assert "true or false" not in refused(tmp_path, catalog, SCENARIO.replace("concurrency: 10", "concurrency: yes"))


def test_links_in_a_circle(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    assert "links in a circle" in refused(tmp_path, catalog, SCENARIO + "extends: loop.yaml\n")
    assert check_scenarios([tmp_path / "loop.yaml"], catalog)


def test_set_takes_a_quoted_list(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    read = read_scenario(path, catalog, sets=["matrix.gpu=[\"l40s\", 'l4']"])
    assert read.matrix.gpu == ("l40s", "l4")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (OFFERS + OFFER.replace(",P,", ",P\x01,"), "rental.csv:2: provider: a control character"),
        (OFFERS + OFFER.replace("USD,1,", "USD,１２,"), "price_per_card_hour: is not a number"),
        (OFFERS + OFFER.replace("USD,1,", "USD,1e300,"), "price_per_card_hour: is out of range"),
        (OFFERS.replace(",", ";"), "rental.csv:1: has no commas"),
        ((OFFERS + OFFER).encode() + b"\xe9\n", "rental.csv:3: is not UTF-8 text"),
    ],
)
def test_an_offer_that_is_refused(tmp_path: Path, content: str | bytes, words: str) -> None:
    prices = tmp_path / "own" / "prices"
    prices.mkdir(parents=True)
    (prices / "rental.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_catalog([tmp_path / "own"])
    assert words in "\n".join(map(str, caught.value.problems))


def test_what_a_killed_run_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / ".s.draft.dead").mkdir()
    (tmp_path / ".s.old.dead" / "s").mkdir(parents=True)
    (tmp_path / ".s.old.dead" / "s" / "workbook.xlsx").write_bytes(b"last month")
    with pytest.raises(RuntimeError), replace_folder(tmp_path / "s"):
        raise RuntimeError
    assert [each.name for each in tmp_path.iterdir()] == ["s"]
    assert (tmp_path / "s" / "workbook.xlsx").read_bytes() == b"last month"


def test_a_draft_in_use_is_left_alone(tmp_path: Path) -> None:
    with replace_folder(tmp_path / "s") as first:
        with pytest.raises(InputError, match="is being written by another run"), replace_folder(tmp_path / "s"):
            pytest.fail("two runs write one folder")
        assert first.is_dir()
        (first / "a").write_text("first", encoding="utf-8")
    assert (tmp_path / "s" / "a").read_text(encoding="utf-8") == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["s"]


def test_a_file_in_the_place_of_the_folder_is_said_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="is a file"), replace_folder(tmp_path / "s"):
        pytest.fail("the work began")


@pytest.mark.parametrize(
    "words", ["matrix scenarios/eight-a100-7b.yaml", "catalog list gpu", "catalog show l40s --json"]
)
def test_a_closed_pipe_ends_well(repository: Path, words: str) -> None:
    command = f"{sys.executable} -m reports.cli {words} | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=repository, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


_SLEEPER = """
import sys, time
from pathlib import Path
from reports import cli, pipeline
from reports.writing import replace_folder

out = Path(sys.argv[1])

def slow(path, **options):
    with replace_folder(out / "s"):
        print("ready", flush=True)
        time.sleep(60)

pipeline.build = slow
sys.argv = ["gpubook", "build", "s.yaml"]
cli.main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGTERM, 143, "ended from outside"), (signal.SIGINT, 130, "interrupted")],
)
def test_an_end_from_outside_leaves_no_litter(
    tmp_path: Path, repository: Path, number: int, code: int, words: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _SLEEPER, str(tmp_path / "out")], cwd=repository, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    error = process.communicate(timeout=30)[1]
    assert process.returncode == code
    assert words in error
    assert "Traceback" not in error
    assert list((tmp_path / "out").iterdir()) == []
