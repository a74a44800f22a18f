"""Bad input: all problems at once, each with file and line; exit code 2; last month's report stays whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reports import cli

SCENARIO = """\
title: {en: Bad input}
period: 2026-11
currency: USD
region: us
method: rule-of-thumb
workload:
  input_tokens: 512
  output_tokens: 256
  demand: {peak_concurrency: 10}
matrix:
  model: [published-example-7b]
  quantization: [int4]
  gpu: [a100-sxm4-80gb]
  count: [8]
  interconnect: [nvlink]
"""

RENTAL_HEADER = (
    "offer_id,gpu,gpu_name,provider,segment,instance,instance_cards,region,location,currency,price_per_card_hour,term,"
    "as_of,precision,status,source,basis,confirmed,note\n"
)


def offer(name: str, price: str, source: str = "own-judgement", day: str = "2026-11-01") -> str:
    return (
        f"{name},a100-sxm4-80gb,,Us,neocloud,x8,8,us,,USD,{price},on-demand,{day},day,ok,{source},judgement,false,\n"
    )


Build = Callable[..., list[str]]


@pytest.fixture
def build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Build:
    """Builds a bad scenario over a good report of last month; checks what must hold, returns the problems."""

    def run(text: str | bytes = SCENARIO, *arguments: str) -> list[str]:
        last = tmp_path / "out" / "2026-11" / "s"
        last.mkdir(parents=True, exist_ok=True)
        (last / "workbook.xlsx").write_bytes(b"last month")
        path = tmp_path / "s.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        code = cli.run_command(["build", str(path), "--out", str(tmp_path / "out"), *arguments])
        printed = capsys.readouterr()
        assert code == 2, printed
        assert printed.out == ""
        assert "Traceback" not in printed.err
        assert [each.name for each in last.parent.iterdir()] == ["s"]
        assert {each.name: each.read_bytes() for each in last.iterdir()} == {"workbook.xlsx": b"last month"}
        *problems, total = printed.err.replace(f"{tmp_path}/", "").splitlines()
        assert total == f"gpubook: {len(problems)} problem{'s' if len(problems) != 1 else ''} in the input"
        return problems

    return run


def test_an_unknown_model(build: Build) -> None:
    found = build(SCENARIO.replace("published-example-7b", "qwen3-23b"))
    assert found[0].startswith('s.yaml:11:11: matrix.model[0]: unknown model "qwen3-23b"; did you mean "qwen3-')


def test_tabs(build: Build) -> None:
    found = build(SCENARIO.replace("  model:", "\tmodel:").replace("  count:", "\tcount:"))
    assert [line.split(";")[0] for line in found] == ["s.yaml:11:1: a tab", "s.yaml:14:1: a tab"]


def test_an_empty_axis(build: Build) -> None:
    found = build(SCENARIO.replace("[int4]", "[]").replace("[8]", "[]"))
    assert found == [
        "s.yaml:12:3: matrix.quantization: is empty; read an empty list; expected at least 1 item(s)",
        "s.yaml:14:3: matrix.count: is empty; read an empty list; expected at least 1 item(s)",
    ]


def test_dates_in_the_wrong_form(build: Build) -> None:
    found = build(SCENARIO.replace("2026-11", "11/2026") + "as_of: 30/11/2026\n")
    assert [line.split(":")[1] for line in found] == ["2", "16"]
    assert 'read "30/11/2026"; expected a date such as 2026-11-30' in found[1]


def test_several_mistakes_of_several_kinds(build: Build) -> None:
    text = SCENARIO.replace("published-example-7b", "none-such").replace("USD", "BTC").replace("[8]", "[-8]")
    found = build(text + "colour: red\n")
    assert [line.split(":")[1] for line in found] == ["3", "11", "14", "16"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"), (b"\x00\x01\x02", "not a text file"), ("title: 月".encode("gbk"), "is not UTF-8 text"),
        (b"a: &b [*b]", "an anchor"), (b"a: " + b"[" * 5000, "nested too deeply"), (b"- 1\n", "is not a scenario"),
        (b"!!python/object/apply:os.system ['true']", "a tag"), (b"title: {en: x}\ntitle: {en: y}\n", "given before"),
    ],
)  # fmt: skip
def test_files_that_are_no_scenarios(build: Build, content: bytes, expected: str) -> None:
    assert expected in build(content)[0]


def test_no_such_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "monthly.yaml").write_text(SCENARIO)
    assert cli.run_command(["build", str(tmp_path / "montly.yaml")]) == 2
    assert 'montly.yaml: no such file (did you mean "monthly.yaml"?)' in capsys.readouterr().err


def test_a_negative_price_in_an_overlay(build: Build, tmp_path: Path) -> None:
    prices = tmp_path / "mine" / "prices"
    prices.mkdir(parents=True)
    (prices / "rental.csv").write_text(RENTAL_HEADER + offer("good", "2.5") + offer("bad", "-2.5") + offer("zero", "0"))
    found = build(SCENARIO, "--catalog", str(tmp_path / "mine"))
    assert [line.split(": ")[0].rsplit("rental.csv:", 1)[1].split(":")[0] for line in found] == ["3", "4"]
    assert "-2.5" in found[0]


def test_a_row_without_a_source_and_other_mistakes_at_once(build: Build, tmp_path: Path) -> None:
    prices = tmp_path / "mine" / "prices"
    prices.mkdir(parents=True)
    rows = offer("a", "2.5", source="") + offer("b", "2.5", day="01.11.2026") + offer("c", "1,5")
    (prices / "rental.csv").write_text(RENTAL_HEADER + rows)
    found = build(SCENARIO, "--catalog", str(tmp_path / "mine"))
    lines = [line.split("rental.csv:", 1)[1].split(":")[0] for line in found]
    assert set(lines) == {"2", "3", "4"}
    assert "source" in found[0]


def test_a_card_without_a_source(build: Build, tmp_path: Path) -> None:
    gpus = tmp_path / "mine" / "gpus"
    gpus.mkdir(parents=True)
    (gpus / "x1.yaml").write_text("id: x1\nname: X1\nfacts:\n  tdp_w: {value: 300, at: 2026-11-30}\n")
    found = build(SCENARIO, "--catalog", str(tmp_path / "mine"))
    assert all("mine/gpus/x1.yaml" in line for line in found)
    assert any("source" in line for line in found)


def test_a_catalog_folder_that_is_not_there(build: Build, tmp_path: Path) -> None:
    assert "no such folder" in build(SCENARIO, "--catalog", str(tmp_path / "nothing"))[0]


def test_check_lists_the_problems_of_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(SCENARIO.replace("USD", "BTC"))
    (tmp_path / "b.yaml").write_text(SCENARIO.replace("[8]", "[0]"))
    (tmp_path / "c.yaml").write_text(SCENARIO)
    assert cli.run_command(["check", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert f"{tmp_path}/a.yaml:3:11: currency:" in err
    assert f"{tmp_path}/b.yaml:14:11: matrix.count[0]:" in err
    assert "gpubook: 2 problems in the input" in err


def test_a_failure_while_writing_leaves_last_month(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from reports.render import workbook

    def fails(run: object, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(workbook, "write", fails)
    last = tmp_path / "out" / "2026-11" / "s"
    last.mkdir(parents=True)
    (last / "workbook.xlsx").write_bytes(b"last month")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    assert cli.run_command(["build", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "out")]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert [each.name for each in last.parent.iterdir()] == ["s"]
    assert {each.name: each.read_bytes() for each in last.iterdir()} == {"workbook.xlsx": b"last month"}
