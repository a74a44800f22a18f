"""`gpubook validate`: names that mean several cards, cells that cannot be, units, rows one by one, and exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.cli import run_command
from reports.errors import InputError
from reports.field import measured, reading, score
from reports.field.bands import add_bands
from reports.field.calibrate import calibrate
from reports.field.fit import Coefficient, leave_one_out
from reports.field.match import Given
from reports.field.names import card
from reports.field.predict import predict

HEADER = [
    "id", "source", "model", "weight_quant", "gpu", "gpu_mem_gb", "gpu_count", "tp", "interconnect", "framework", "isl",
    "osl", "concurrency_or_batch", "metric", "value", "notes",
]  # fmt: skip
PLAIN = {
    "source": "me", "model": "Llama-3.1-8B-Instruct", "weight_quant": "fp8", "gpu": "H100 SXM", "gpu_count": "1",
    "tp": "1", "framework": "vLLM", "isl": "512", "osl": "256", "concurrency_or_batch": "4", "metric": "tpot_ms",
    "value": "6.1",
}  # fmt: skip


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def table(path: Path, *changes: dict[str, str], sep: str = ",", encoding: str = "utf-8") -> Path:
    rows = [dict.fromkeys(HEADER, "") | PLAIN | {"id": f"r{number}"} | change for number, change in enumerate(changes)]
    pd.DataFrame(rows)[HEADER].to_csv(path, index=False, sep=sep, encoding=encoding)
    return path


def validated(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = run_command(["validate", *map(str, words)])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.mark.parametrize(
    ("name", "memory", "expected", "several"),
    [
        ("A100", None, "a100-sxm4-80gb", True), ("A100", 80, "a100-sxm4-80gb", True),
        ("A100 40GB", None, "a100-sxm4-40gb", True), ("H100", None, "h100-sxm5-80gb", True),
        ("H20", None, "h20-96gb", True), ("H20", 141, "h20-141gb", False), ("GH200", 144, "gh200-144gb", False),
        ("V100", None, "v100-sxm2-32gb", True), ("H200", None, "h200-sxm-141gb", True),
        ("RTX PRO 6000", None, "rtx-pro-6000-blackwell-server", True),
        # of one card each: the plain name, or a name that says all
        ("4090", None, "rtx-4090", False), ("NVIDIA GeForce RTX 4090", None, "rtx-4090", False),
        ("NVIDIA H100 80GB HBM3", None, "h100-sxm5-80gb", False), ("L40", None, "l40", False),
        ("NVIDIA A100-SXM4-80GB", None, "a100-sxm4-80gb", False), ("h20-141gb", None, "h20-141gb", False),
        ("H100 PCIe", None, "h100-pcie-80gb", False),
        ("H100", 640, "h100-sxm5-80gb", True),  # of all eight
    ],
)  # fmt: skip
def test_a_name_that_several_cards_share(
    name: str, memory: float | None, expected: str, several: bool, catalog: Catalog
) -> None:
    found = card(catalog, name, float("nan") if memory is None else memory, 8)
    assert (found.id, bool(found.choices)) == (expected, several)
    assert not several or found.id in found.choices


def test_calibrate_asks_which_card(tmp_path: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path / "t.csv", {"gpu": "A100"}, {"gpu": "A100", "osl": "128"})
    assert run_command(["calibrate", str(path), "--date", "2026-06-30"]) == 2
    said = capsys.readouterr().err
    assert f'{path}:2: "A100" may be several cards' in said
    assert "a100-pcie-40gb" in said
    assert "--gpu a100-sxm4-80gb" in said
    assert run_command(["calibrate", str(path), "--date", "2026-06-30", "--gpu", "H20"]) == 2
    assert '--gpu: "H20" may be several cards' in capsys.readouterr().err
    assert calibrate([path], catalog, Given(gpu="a100-sxm4-80gb"), date="2026-06-30").fitted_rows == 2


def test_validate_answers_with_the_default_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path / "t.csv", {"gpu": "A100", "value": "11.2"}, {})
    code, out, _ = validated(capsys, path)
    assert code == 0
    assert "1  A100: a100-sxm4-80gb, as its name does not say which of a100-sxm4-80gb, a100-pcie-40gb" in out
    record = json.loads(validated(capsys, path, "--json")[1])
    assert record["read_as"][0]["read_as"] == "a100-sxm4-80gb"
    assert (record["read_as"][0]["name"], record["read_as"][0]["rows"]) == ("A100", 1)


IMPOSSIBLE: tuple[tuple[dict[str, str], str], ...] = (
    ({"value": "inf"}, "not a number"),
    ({"value": "1e99"}, "of this world"),
    ({"value": "-4"}, "must be positive"),
    ({"tp": "2.5", "gpu_count": "2.5"}, "2.5 tensor ranks: must be a whole number"),
    ({"tp": "8", "gpu_count": "4"}, "8 ranks on 4 cards"),
    ({"tp": "0"}, "0 tensor ranks"),
    ({"isl": "-512"}, "-512 input tokens: must be above 0"),
    ({"osl": "1e12"}, "more than anything measured has"),
    ({"concurrency_or_batch": "0"}, "0 requests together: must be above 0"),
    ({"concurrency_or_batch": ""}, "concurrency not stated"),
    ({"notes": "gmu=1.2"}, "a memory share of 1.2"),
    ({"interconnect": "telepathy", "tp": "2", "gpu_count": "2"}, 'unknown interconnect "telepathy"'),
    ({"gpu_mem_gb": "40"}, "40 GB are not the memory of H100 SXM"),
)


def test_what_no_machine_can_be_is_listed_with_line_and_reason(tmp_path: Path, catalog: Catalog) -> None:
    path = table(tmp_path / "t.csv", *(change for change, _ in IMPOSSIBLE), {})
    found = predict(reading.load([path], catalog), catalog)
    listed = score.unmatched(found)
    assert [row["line"] for row in listed] == list(range(2, 2 + len(IMPOSSIBLE)))
    for (change, words), row in zip(IMPOSSIBLE, listed, strict=True):
        assert words in row["reason"], change
    assert found["predicted"].iloc[-1] > 0


def test_a_percentage_is_read_and_said(tmp_path: Path, catalog: Catalog) -> None:
    row = reading.load([table(tmp_path / "t.csv", {"notes": "gmu=90"})], catalog).iloc[0]
    assert (row["memory_utilisation"], row["problem"]) == (0.9, "")
    assert "memory share 90 read as per cent" in row["note"]


def test_seconds_for_milliseconds(tmp_path: Path, catalog: Catalog) -> None:
    """A prompt of 4,000 tokens takes 2 x 7e9 x 4000 / 1.98e15 = 28 ms at the very least: 0.2 are seconds."""
    seconds = [{"metric": "ttft_ms", "isl": "4000", "value": f"0.2{number}"} for number in range(5)]
    rows = reading.load([table(tmp_path / "s.csv", *seconds)], catalog)
    assert rows["value"].tolist() == pytest.approx([200, 210, 220, 230, 240])
    assert set(rows["note"]) == {"ttft_ms read as seconds"}
    assert set(rows["trap"]) == {""}
    # one of many is no unit: it cannot be, and is set aside
    rows = reading.load(
        [table(tmp_path / "m.csv", seconds[0], *({**each, "value": "2" + each["value"][2:]} for each in seconds[1:]))],
        catalog,
    )
    assert rows["trap"].tolist() == ["faster-than-hardware", "", "", "", ""]
    assert rows["value"].iloc[0] == 0.2


def test_fast_first_tokens_are_no_unit(tmp_path: Path, catalog: Catalog) -> None:
    """60 ms for 4,000 tokens are twice as long as arithmetic needs: possible, however much less than predicted."""
    rows = reading.load(
        [table(tmp_path / "t.csv", *({"metric": "ttft_ms", "isl": "4000", "concurrency_or_batch": "64",
                                      "value": f"6{number}.5"} for number in range(5)))],
        catalog,
    )  # fmt: skip
    assert rows["value"].between(60, 65).all()


MEMORY = "id,source,model,weight_quant,gpu,gpu_count,tp,gpu_memory_utilization,metric,value,framework_version,quality"


def test_gb_for_gib(tmp_path: Path, catalog: Catalog) -> None:
    """What the formulas say the weights take, written in GB under a name in GiB; the room beside it follows."""
    models = ["Llama-3.1-8B-Instruct", "Qwen2.5-7B-Instruct", "Qwen2.5-14B-Instruct", "Qwen3-8B"]
    path = tmp_path / "m.csv"

    def write(factor: float, values: list[float]) -> pd.DataFrame:
        lines = [MEMORY]
        for model, value in zip(models, values, strict=True):
            lines += [f"w,me,{model},bf16,H100 SXM,1,1,0.9,weights_gib,{value * factor},vLLM 0.12,A",
                      f"k,me,{model},bf16,H100 SXM,1,1,0.9,available_kv_gib,{50 * factor},vLLM 0.12,A"]  # fmt: skip
        path.write_text("\n".join(lines), encoding="utf-8")
        return reading.load([path], catalog)

    rows = write(1, [10.0] * 4)
    right = predict(rows, catalog)["predicted"][rows["metric"] == "weights_gib"].tolist()
    rows = write(2**30 / 1e9, right)
    assert rows["value"].tolist() == pytest.approx([each for weight in right for each in (weight, 50)])
    assert {"weights_gib read as GB", "available_kv_gib read as GB"} == set(rows["note"])
    assert write(1, right)["note"].eq("").all()


def test_rows_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = table(tmp_path / "t.csv", {}, {"value": "0.5"}, {"tp": "8", "gpu_count": "4"}), tmp_path / "rows.csv"
    code, _, _ = validated(capsys, path, "--rows", out)
    rows = pd.read_csv(out, keep_default_na=False)
    assert code == 0
    assert list(rows.columns)[:3] == ["row_id", "file", "line"]
    assert rows["line"].tolist() == [2, 3, 4]
    assert rows["row_id"].tolist() == ["r0", "r1", "r2"]
    good = rows.iloc[0]
    assert float(good["low"]) < float(good["predicted"]) < float(good["high"])
    assert (good["label"], good["reason"]) == ("interpolated", "")  # both were measured, not together
    assert rows["reason"].iloc[1].startswith("set aside: faster than the card allows")
    assert rows["reason"].iloc[2].startswith("8 ranks on 4 cards")
    assert rows["predicted"].iloc[2] == ""
    assert validated(capsys, path, "--rows", tmp_path)[0] == 2
    assert validated(capsys, path, "--rows", tmp_path / "no" / "rows.csv")[0] == 2
    # the same on standard output, and in JSON on request alone
    assert validated(capsys, path, "--format", "csv")[1] == out.read_text(encoding="utf-8")
    assert "row_by_row" not in json.loads(validated(capsys, path, "--json")[1])
    record = json.loads(validated(capsys, path, "--json", "--rows", "-")[1])
    assert [row["line"] for row in record["row_by_row"]] == [2, 3, 4]


def test_no_row_answered_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path / "t.csv", {"gpu": "H1000"}, {"gpu": "H1000", "osl": "9"}, {"isl": ""})
    code, out, err = validated(capsys, path)
    assert (code, out) == (2, "")
    assert f'{path.name}:2: unknown gpu "H1000"' in err
    assert "(rows: 2)" in err
    assert "lengths not stated" in err
    assert json.loads(validated(capsys, path, "--json")[1])["problems"]


def test_the_same_file_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path / "t.csv", {"value": "6.1"}, {"value": "6.15", "osl": "128"})
    copy = tmp_path / "copy.csv"
    shutil.copyfile(path, copy)
    code, out, _ = validated(capsys, path, copy)
    assert code == 0
    assert out.startswith(f"{copy}: the same content as {path}, read once\n2 rows for fitting, 2 answered")
    # other bytes, the same rows: one of each is set aside, though its figure has two digits only
    copy.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    record = json.loads(validated(capsys, path, copy, "--json")[1])
    assert record["by_metric"]["tpot_ms"]["n"] == 2
    assert record["set_aside"]["duplicate"]["rows"] == 2
    # a file that repeats itself
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:2] * 2)[:-1], encoding="utf-8")
    assert json.loads(validated(capsys, path, "--json")[1])["by_metric"]["tpot_ms"]["n"] == 1


def test_calibrate_reads_a_file_once(tmp_path: Path, catalog: Catalog) -> None:
    path = table(tmp_path / "t.csv", {"value": "6.1"}, {"value": "6.15", "osl": "128"})
    copy = tmp_path / "copy.csv"
    shutil.copyfile(path, copy)
    both = calibrate([path, copy], catalog, date="2026-06-30")
    alone = calibrate([path], catalog, date="2026-06-30")
    assert both.coefficients == alone.coefficients
    assert "read once" in both.notes[0]


def test_leave_out_learns_from_the_shipped_rows_too(catalog: Catalog) -> None:
    """Rows of one model alone teach nothing about it when it is left out; the others do."""
    base: dict[str, Any] = {
        "source": "made", "gpu": "h100-sxm5-80gb", "quantization": "fp8", "kv_bytes_per_element": 2, "use": "fit",
        "data_parallel": 1, "pipeline_parallel": 1, "tensor_parallel": 1, "gpu_count": 1, "engine": "vllm",
        "input_tokens": 512, "output_tokens": 512, "start": "steady", "metric": "tpot_ms", "value": 1.0,
    }  # fmt: skip
    both = measured.frame(
        [base | {"model": model, "batch_requests": batch}
         for model in ("qwen3-32b", "qwen3-14b", "llama-3.1-8b-instruct") for batch in (1, 2, 4, 8, 16)]
    )  # fmt: skip
    both["value"] = predict(both, catalog, {"eta_weights": 0.6})["predicted"]
    mine = both["model"] == "qwen3-32b"
    free = (Coefficient("eta_weights", 0.3, 1.0, 3.0),)
    found = leave_one_out(both[mine], catalog, "model", free, others=both)
    assert (found["predicted"] / found["value"] - 1).abs().max() < 0.03
    alone = leave_one_out(both[mine], catalog, "model", free)
    assert (alone["predicted"] / alone["value"] - 1).abs().max() > 0.1


def test_the_rows_of_an_overlay_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path / "t.csv", {"value": "6.1"}, {"value": "6.6", "concurrency_or_batch": "16"}, {"value": "0.4"})
    site = tmp_path / "site"
    assert run_command(["calibrate", str(path), "--date", "2026-06-30", "--out", str(site)]) == 0
    capsys.readouterr()
    code, out, _ = validated(capsys, site / "measured" / "calibration_rows.csv")
    assert code == 0
    assert "3 rows for fitting, 3 answered" in out
    assert "1  faster, or with more room, than the hardware allows" in out


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--interconnect", "foo", "--interconnect: unknown link; read foo; expected nvlink, pcie"),
        ("--date", "2030-01-01", "--date: is out of range"),
        ("--date", "1999", "--date: is out of range"),
        ("--date", "soon", "--date: is not a date"),
        ("--tp", "2.5", "--tp: is out of range; read 2.5"),
        ("--concurrency", "0", "--concurrency: is out of range"),
        ("--input-tokens", "-1", "--input-tokens: is out of range"),
        ("--output-tokens", "inf", "--output-tokens: is out of range"),
        ("--kv-cache", "int3", "--kv-cache: unknown type"),
    ],
)
def test_values_of_options(
    tmp_path: Path, option: str, value: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path / "t.csv", {})
    assert run_command(["calibrate", str(path), "--date", "2026-06-30", option, value]) == 2
    assert words in capsys.readouterr().err


def test_unknown_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = validated(capsys, table(tmp_path / "t.csv", {}), "--format", "cvs")
    assert code == 2
    assert "did you mean" in err


def test_classes_of_the_batch_are_in_the_order_of_numbers(tmp_path: Path, catalog: Catalog) -> None:
    batches = ["2000", "200", "64", "16", "3", "1"]
    path = table(tmp_path / "t.csv", *({"concurrency_or_batch": batch, "value": "99"} for batch in batches))
    lines = score.table(add_bands(predict(reading.load([path], catalog), catalog)), "batch")
    assert lines["batch_class"].astype(str).tolist() == ["to 1", "to 4", "to 16", "to 64", "to 256", "above 1024"]


@pytest.mark.parametrize(("sep", "encoding"), [(";", "utf-8"), ("\t", "utf-16"), (",", "utf-8-sig")])
def test_tables_as_spreadsheets_save_them(tmp_path: Path, sep: str, encoding: str, catalog: Catalog) -> None:
    path = table(tmp_path / "t.csv", {}, sep=sep, encoding=encoding)
    assert reading.load([path], catalog)["problem"].tolist() == [""]


def test_a_table_in_another_alphabet_names_the_line(tmp_path: Path, catalog: Catalog) -> None:
    path = table(tmp_path / "t.csv", {}, {"notes": "x"})
    path.write_bytes(path.read_bytes().replace(b",x", b",\xb2\xe2"))
    with pytest.raises(InputError, match=r"t\.csv:3: is not UTF-8 text"):
        reading.load([path], catalog)


def test_benchmark_results_are_validated_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.json"
    record = {
        "date": "20260630-120000", "backend": "vllm", "model_id": "org/Llama-3.1-8B-Instruct-FP8", "num_prompts": 160,
        "request_rate": "inf", "max_concurrency": 4, "completed": 160, "total_input_tokens": 160 * 512,
        "total_output_tokens": 160 * 256, "mean_tpot_ms": 6.0,
    }  # fmt: skip
    path.write_text(json.dumps(record), encoding="utf-8")
    code, _, err = validated(capsys, path)
    assert code == 2
    assert "--gpu" in err
    assert validated(capsys, path, "--gpu", "H100-SXM", "--tp", "1")[0] == 0


def test_huge_numbers_end_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"model_id": "x", "num_prompts": %s, "completed": 5, "mean_tpot_ms": 4}' % ("9" * 400))
    code, _, err = validated(capsys, path)
    assert code == 2
    assert "unexpected" not in err


def test_a_large_log_is_read_in_little_memory(tmp_path: Path) -> None:
    """60 MB of requests behind the start: the reader holds a few blocks of 4 MB, not the file."""
    import tracemalloc

    from reports.field.readers.detect import read

    path = tmp_path / "server.log"
    start = "INFO vLLM API server version 0.12.0\nINFO GPU KV cache size: 40,000 tokens\n"
    line = 'INFO: 127.0.0.1 - "POST /v1/chat/completions HTTP/1.1" 200 OK, GPU KV cache usage: 12.3%\n'
    path.write_text(start + line * 700_000, encoding="utf-8")
    tracemalloc.start()
    rows = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows["value"].tolist() == [40_000]
    assert peak < 40e6


def test_numbers_of_cells_are_finite(catalog: Catalog) -> None:
    assert np.isfinite(measured.shipped(catalog)["value"]).all()
