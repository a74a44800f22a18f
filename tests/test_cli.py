"""The command line: what each verb prints, where, and with which exit code."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from reports import cli, explain, pipeline
from reports.catalog.read import read_catalog
from reports.explain import evidence, number
from reports.pipeline import evaluate
from reports.recommend import OPTION
from reports.run import Run
from reports.scenario.read import read_scenario

MATRIX_COLUMNS = [
    "candidate_id", "method", "model", "quantization", "gpu", "count", "interconnect", "feasible",
    "binding_constraint", "memory_concurrency", "recommended_concurrency", "output_tokens_per_s", "tpot_ms", "ttft_ms",
    "cards_needed", "excuse",
]  # fmt: skip


@pytest.fixture
def example(repository: Path) -> str:
    """The smallest shipped scenario: six candidates."""
    return str(repository / "scenarios" / "eight-a100-7b.yaml")


@pytest.fixture
def quick_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for the workbook and the PDF, whose own tests look at them."""
    from reports.render import pdf, workbook

    monkeypatch.setattr(workbook, "write", lambda run, path: path.write_bytes(b"workbook"))
    monkeypatch.setattr(pdf, "write", lambda run, kind, language, path: path.write_bytes(b"pdf"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.run_command(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom reports.cli import run_command\nassert run_command(['--help']) == 0\n"
        "heavy = {'pandas', 'numpy', 'weasyprint', 'openpyxl', 'pydantic', 'yaml', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for verb in ("build", "check", "explain", "matrix", "catalog"):
        assert verb in done.stdout


@pytest.mark.parametrize("arguments", [["buld"], ["build"], ["matrix"], ["matrix", "a", "b"], ["build", "--jbos", "3"]])
def test_a_wrong_command_line(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert "Usage:" in err
    assert out == ""


def test_matrix_as_csv(capsys: pytest.CaptureFixture[str], example: str) -> None:
    code, out, err = run(capsys, "matrix", example)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, err) == (0, "")
    assert list(rows[0])[: len(MATRIX_COLUMNS)] == MATRIX_COLUMNS
    # the published table: 169, 93, 46 over NVLink, 50 over PCIe at int4
    loads = {(row["quantization"], row["interconnect"]): float(row["recommended_concurrency"]) for row in rows}
    assert loads["int4", "nvlink"] == 169
    assert loads["int8", "nvlink"] == 93
    assert loads["fp16", "nvlink"] == 46
    assert loads["int4", "pcie"] == 50


def test_matrix_as_json(capsys: pytest.CaptureFixture[str], example: str) -> None:
    code, out, _ = run(capsys, "matrix", example, "--format", "json")
    rows = json.loads(out)
    assert code == 0
    assert len(rows) == 6
    assert list(rows[0])[: len(MATRIX_COLUMNS)] == MATRIX_COLUMNS
    assert run(capsys, "matrix", example, "--json")[1] == out


def test_matrix_as_parquet(example: str) -> None:
    command = [sys.executable, "-m", "reports.cli", "matrix", example, "--format", "parquet"]
    done = subprocess.run(command, capture_output=True, check=True)
    table = pyarrow.parquet.read_table(io.BytesIO(done.stdout))
    assert table.column_names[: len(MATRIX_COLUMNS)] == MATRIX_COLUMNS
    assert table.num_rows == 6


def test_a_closed_pipe_is_no_error(example: str) -> None:
    command = f"{sys.executable} -m reports.cli matrix {example} | head -c 10"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "candidate_"


def test_set_and_override_reach_the_evaluation(
    capsys: pytest.CaptureFixture[str], example: str, repository: Path
) -> None:
    _, out, _ = run(capsys, "matrix", example, "--set", "rule_of_thumb.units=si")
    memory = {row["quantization"]: float(row["memory_concurrency"]) for row in csv.DictReader(io.StringIO(out))}
    assert memory == {"int4": 315, "int8": 313, "fp16": 309}  # the published table in consistent units
    monthly = str(repository / "scenarios" / "monthly-procurement.yaml")
    code, _, err = run(capsys, "matrix", monthly, "--override", "holyday")
    assert code == 2
    assert 'did you mean "holiday"?' in err


def test_an_unknown_format(capsys: pytest.CaptureFixture[str], example: str) -> None:
    code, _, err = run(capsys, "matrix", example, "--format", "jsn")
    assert code == 2
    assert 'did you mean "json"?' in err


def test_explain_shows_numbers_units_and_sources(capsys: pytest.CaptureFixture[str], example: str) -> None:
    code, out, _ = run(capsys, "explain", example, "published-example-7b.int4.a100-sxm4-80gb.8x.nvlink")
    assert code == 0
    # by hand: 8 x 80 GB x 0.8 - 7e9 x 0.5 x 1.1 bytes = 508.15 GB; 1.5 "GB" a request; floor(338.8) = 338
    assert "= maximum(8 * 80 * 0.8 - 3.85, 0) * 1\n    = 508.15 GB   [rule-of-thumb-note]" in out
    assert "= floor(508.15 / 1.5)\n    = 338 requests" in out
    # by hand: 8 x 2039 / (3.85 x 20) = 211.84; floor(211.84 x 0.8) = 169
    assert "= 169 requests" in out
    assert "rule_prefill_utilisation = 0.35 ratio" in out
    assert "basis given; source scenario; as of 2026-11-30; catalog: 0.4" in out


@pytest.fixture(scope="module")
def proposal(repository: Path) -> tuple[str, Run]:
    """A scenario with prices, evaluated once."""
    path = repository / "scenarios" / "capacity-proposal.yaml"
    book = read_catalog()
    return str(path), evaluate(read_scenario(path, book), book)


@pytest.fixture
def evaluated(proposal: tuple[str, Run], monkeypatch: pytest.MonkeyPatch) -> tuple[str, Run]:
    monkeypatch.setattr(pipeline, "evaluate", lambda scenario, book: proposal[1])
    return proposal


def test_explain_shows_all_blocks_of_an_option_of_the_short_list(
    capsys: pytest.CaptureFixture[str], evaluated: tuple[str, Run]
) -> None:
    path, found = evaluated
    listed = found.shortlist.iloc[0]
    _, out, _ = run(capsys, "explain", path, str(listed["candidate_id"]))
    titles = [line[3:] for line in out.splitlines() if line.startswith("== ")]
    blocks = dict.fromkeys(block.title for block in found.blocks)
    assert titles == [*blocks, "Cash flow over the horizon", f"Measured nearby: {listed['label']}", "Inputs"]
    assert "four of five servers between" in out
    assert f"    = {number(listed['rent_npv_amount']).strip('()')} currency   [methods-note]" in out
    assert "stands for" not in out
    # by hand: the price of the offer times its cards times 730 hours a month
    rent = listed["rented_cards"] * listed["rent_offer_price_per_card_hour"] * listed["rent_offer_exchange_rate"] * 730
    assert f"    = {number(rent)} currency/month" in out
    assert "rent_offer_price_per_card_hour = " in out


def test_explain_prices_a_candidate_that_another_stands_for(
    capsys: pytest.CaptureFixture[str], evaluated: tuple[str, Run]
) -> None:
    path, found = evaluated
    listed = found.shortlist.iloc[0]
    same = found.candidates
    for axis in OPTION:
        same = same[same[axis] == listed[axis]]
    other = same[same["feasible"] & (same["candidate_id"] != listed["candidate_id"])].iloc[0]
    _, out, _ = run(capsys, "explain", path, str(other["candidate_id"]))
    assert f"In the report {listed['candidate_id']} stands for this option" in out
    titles = {line[3:] for line in out.splitlines() if line.startswith("== ")}
    assert {"Cards for the demand", "Rent", "Buy", "Rent against buy", "Cash flow over the horizon"} <= titles


def test_explain_does_not_price_what_cannot_run(
    capsys: pytest.CaptureFixture[str], evaluated: tuple[str, Run]
) -> None:
    path, found = evaluated
    cannot = found.candidates[~found.candidates["feasible"]].iloc[0]
    _, out, _ = run(capsys, "explain", path, str(cannot["candidate_id"]))
    assert "feasible: no." in out
    assert "Not priced: it cannot serve the demand." in out
    assert "== Cards for the demand" in out
    assert "== Rent" not in out


def test_every_candidate_can_be_explained(evaluated: tuple[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = evaluated
    table = explain.shipped(found.catalog)
    monkeypatch.setattr(explain, "shipped", lambda catalog: table)  # one reading serves all
    for name in found.candidates["candidate_id"]:
        (one,) = evidence(found, str(name))
        assert one.steps
        assert [given.name for given in one.inputs if not given.source and given.value is not None] == []


def test_explain_as_json_and_an_unknown_candidate(capsys: pytest.CaptureFixture[str], example: str) -> None:
    name = "published-example-7b.int8.a100-sxm4-80gb.8x.pcie"
    code, out, _ = run(capsys, "explain", example, name, "--json")
    found: list[dict[str, Any]] = json.loads(out)
    assert code == 0
    assert found[0]["candidate_id"] == name
    assert all(given["source"] for given in found[0]["inputs"])
    assert all(step["unit"] and step["sources"] for step in found[0]["steps"])
    code, _, err = run(capsys, "explain", example, name.replace("int8", "int9"))
    assert code == 2
    assert f'did you mean "{name}"?' in err


def test_check_of_what_is_shipped(capsys: pytest.CaptureFixture[str], repository: Path) -> None:
    code, out, err = run(capsys, "check", str(repository / "scenarios"))
    assert (code, err) == (0, "")
    assert out.count(": good") == len(list((repository / "scenarios").glob("*.yaml"))) + 1
    code, out, _ = run(capsys, "check", str(repository / "scenarios"), "--json")
    assert json.loads(out)["problems"] == []
    assert run(capsys, "check", str(repository / "scenarios"), "--quiet")[1] == ""


def test_check_says_how_other_names_were_read(
    capsys: pytest.CaptureFixture[str], repository: Path, tmp_path: Path
) -> None:
    text = (repository / "scenarios" / "eight-a100-7b.yaml").read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace("a100-sxm4-80gb", "a100"))
    code, out, _ = run(capsys, "check", str(file))
    assert code == 0
    assert out.startswith(f"{file}: good\n    a100 read as a100-sxm4-80gb\ncatalogs: good")
    assert " read as " not in run(capsys, "check", str(repository / "scenarios" / "eight-a100-7b.yaml"))[1]


def test_catalog_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "catalog", "list")
    assert code == 0
    assert "gpu" in out
    code, out, _ = run(capsys, "catalog", "list", "models", "--json")
    assert "deepseek-r1" in {entry["id"] for entry in json.loads(out)}
    code, out, _ = run(capsys, "catalog", "show", "H20")
    assert code == 0
    assert out.startswith("id: h20-96gb\n")
    assert "memory_bandwidth_gb_per_s" in out
    code, _, err = run(capsys, "catalog", "show", "h20-96")
    assert code == 2
    assert 'did you mean "h20-96gb"?' in err
    code, _, err = run(capsys, "catalog", "list", "modles")
    assert code == 2
    assert "did you mean" in err


@pytest.mark.usefixtures("quick_documents")
def test_build_prints_files_sizes_and_the_answer(
    capsys: pytest.CaptureFixture[str], example: str, tmp_path: Path
) -> None:
    code, out, err = run(capsys, "build", example, "--out", str(tmp_path), "--set", "title.en=Mine")
    folder = tmp_path / "2026-11" / "eight-a100-7b"
    assert code == 0
    assert [line for line in err.splitlines() if not line.startswith("eight-a100-7b: ")] == []
    assert "eight-a100-7b: workbook ready\n" in err  # a plain line a file, no bar and no colour
    names = {path.name for path in folder.iterdir()}
    assert {"workbook.xlsx", "results.parquet", "cost_lines.csv", "summary.json", "manifest.json"} <= names
    assert {f"monthly-procurement.{language}.pdf" for language in ("en", "zh")} <= names
    files, answer = out.rstrip("\n").split("\n\n")
    assert len(files.splitlines()) == len(names)
    assert f"{folder / 'workbook.xlsx'}" in files
    assert files.splitlines()[0].endswith("B")
    assert 2 <= len(answer.splitlines()) <= 3
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["scenario"]["changes"][0]["path"] == "title.en"
    assert manifest["scenario"]["files"][0]["sha256"] == hashlib.sha256(Path(example).read_bytes()).hexdigest()
    assert {output["file"] for output in manifest["outputs"]} == names - {"manifest.json"}
    for output in manifest["outputs"]:
        data = (folder / output["file"]).read_bytes()
        assert (output["bytes"], output["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())


@pytest.mark.usefixtures("quick_documents")
def test_the_same_input_builds_the_same_bytes(capsys: pytest.CaptureFixture[str], example: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run(capsys, "build", example, "--out", str(tmp_path / name), "--quiet") == (0, "", "")
    one, two = (tmp_path / name / "2026-11" / "eight-a100-7b" for name in ("one", "two"))
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes(), path.name


@pytest.mark.usefixtures("quick_documents")
def test_a_batch_writes_what_it_can(capsys: pytest.CaptureFixture[str], example: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(Path(example).read_text().replace("a100-sxm4-80gb", "a101"))
    code, out, err = run(capsys, "build", str(broken), example, "--out", str(tmp_path / "out"), "--json")
    report = json.loads(out)
    assert code == 1
    assert [Path(one["scenario"]).name for one in report["built"]] == ["eight-a100-7b.yaml"]
    assert report["problems"][0]["line"] is not None
    assert (tmp_path / "out" / "2026-11" / "eight-a100-7b" / "manifest.json").is_file()
    assert not (tmp_path / "out" / "2026-11" / "broken").exists()
    code, _, err = run(capsys, "build", str(broken), "--out", str(tmp_path / "out"))
    assert code == 2
    assert 'unknown gpu "a101"' in err


def test_two_scenarios_of_one_name_are_refused(
    capsys: pytest.CaptureFixture[str], example: str, tmp_path: Path
) -> None:
    copy = tmp_path / Path(example).name
    copy.write_text(Path(example).read_text())
    code, _, err = run(capsys, "build", example, str(copy), "--out", str(tmp_path / "out"))
    assert code == 2
    assert err.count("has the same name as another scenario") == 2


def test_an_unexpected_error_is_one_line_unless_debugged(
    capsys: pytest.CaptureFixture[str], example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reports import pipeline

    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(pipeline, "build", breaks)
    code, _, err = run(capsys, "build", example, "--out", str(tmp_path))
    assert code == 1
    assert err.count("\n") == 1
    assert "unexpected ZeroDivisionError: a bug (run again with --debug for the traceback)" in err
    with pytest.raises(ZeroDivisionError):
        cli.run_command(["build", example, "--out", str(tmp_path), "--debug"])


def test_another_package_of_the_name_is_noticed(tmp_path: Path, repository: Path) -> None:
    """A foreign `__init__` beside our files: what is left when another distribution was installed over ours."""
    package = tmp_path / "reports"
    package.mkdir()
    modules = repository / "reports"
    for path in (*modules.glob("cli*.py"), modules / "errors.py", modules / "terminal.py"):
        (package / path.name).write_bytes(path.read_bytes())
    (package / "__init__.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "reports.cli", "check"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "is not the one of gpubook" in done.stderr


def test_no_progress_in_a_pipe(example: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "reports.cli", "matrix", example]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
