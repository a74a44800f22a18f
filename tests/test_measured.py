"""Measured tables are read into one shape: names, layouts, loads, traps, and what is wrong with a row."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.field import measured, notes, reading
from reports.field.names import model_id, quantization_id, version_number

THROUGHPUT = (
    "id,source,source_ref,date,model,params_total_b,params_active_b,weight_quant,kv_dtype,gpu,gpu_mem_gb,gpu_count,tp,pp,"
    "ep,interconnect,framework,framework_version,isl,osl,concurrency_or_batch,metric,value,notes,quality,model_norm,use"
)
MEMORY = (
    "id,source,source_ref,model,weight_quant,kv_dtype,gpu,gpu_mem_gb,gpu_count,tp,gpu_memory_utilization,max_model_len,"
    "seq_len,batch,metric,value,framework_version,notes,quality,model_norm"
)
PLAIN = {
    "id": "a1", "source": "lab", "source_ref": "r", "date": "2026-01", "model": "Qwen/Qwen3-32B", "weight_quant": "fp8",
    "gpu": "H100 SXM", "gpu_mem_gb": "80", "gpu_count": "2", "tp": "2", "pp": "1", "interconnect": "nvswitch",
    "framework": "vllm", "framework_version": "0.12.0", "isl": "1024", "osl": "512", "concurrency_or_batch": "16",
    "metric": "tpot_ms", "value": "15.123", "notes": "", "quality": "A", "model_norm": "qwen3-32b", "use": "fit",
}  # fmt: skip


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def write(path: Path, header: str, *changes: dict[str, str]) -> Path:
    rows = [dict.fromkeys(header.split(","), "") | PLAIN | change for change in changes]
    pd.DataFrame(rows)[header.split(",")].to_csv(path, index=False)
    return path


def one(path: Path, catalog: Catalog, header: str = THROUGHPUT, **change: str) -> pd.Series:
    return measured.read(write(path / "rows.csv", header, change), catalog).iloc[0]


def test_shape_is_recognised_by_its_columns() -> None:
    assert measured.shape_of(THROUGHPUT.split(",")) == "throughput"
    assert measured.shape_of(MEMORY.split(",")) == "memory"
    assert measured.shape_of(list(measured.CANONICAL)) == "own"
    assert measured.shape_of(["time", "level"]) == ""


def test_a_plain_row(tmp_path: Path, catalog: Catalog) -> None:
    row = one(tmp_path, catalog)
    assert (row["model"], row["gpu"], row["quantization"], row["engine"]) == (
        "qwen3-32b", "h100-sxm5-80gb", "fp8", "vllm",
    )  # fmt: skip
    assert (row["tensor_parallel"], row["data_parallel"], row["batch_requests"], row["start"]) == (2, 1, 16, "steady")
    assert (row["problem"], row["trap"], row["interconnect"], row["line"]) == ("", "", "nvlink", 2)


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("agg; tp=4 pp=1 attn_dp=8; spec-decode not stated", {"data_parallel": 8.0}),
        ("open-loop request rate 4.0 req/s; n_req=720 dur_s=204.73", {"request_rate_per_s": 4.0, "requests": 720.0}),
        ("open-loop QPS=INF, 500 requests", {"burst": True, "requests": 500.0}),
        ("max-load offline; parallelism DEP2PP2 (x)", {"offline": True, "deployed_data_parallel": 2.0}),
        ("max_num_seqs=64 gmu=0.98", {"sequence_limit": 64.0, "utilisation": 0.98}),
        ("SPECULATIVE DECODING; flags", {"speculative": True}),
    ],
)
def test_notes(note: str, said: dict[str, object]) -> None:
    assert said.items() <= notes.parse(note).items()


def test_no_speculative_decoding_is_not_speculative() -> None:
    assert "speculative" not in notes.parse("no spec decode; tp=2")
    assert "speculative" not in notes.parse("mean/median not stated; spec-decode not stated")


def test_attention_data_parallel_ranks_are_the_same_cards(tmp_path: Path, catalog: Catalog) -> None:
    """tp 4 and attn_dp 4 name four cards: one tensor rank in each of four groups; concurrency is already the total."""
    row = one(tmp_path, catalog, tp="4", gpu_count="16", ep="16", notes="tp=4 attn_dp=4", concurrency_or_batch="128")
    assert (row["tensor_parallel"], row["data_parallel"], row["gpu_count"], row["batch_requests"]) == (1, 4, 4, 128)


def test_ranks_multiplied_twice(tmp_path: Path, catalog: Catalog) -> None:
    """64 data ranks with experts over 8 cards: 8 x 8 counted the same eight cards twice."""
    row = one(tmp_path, catalog, tp="1", gpu_count="64", ep="8", notes="tp=1 attn_dp=64")
    assert (row["tensor_parallel"], row["data_parallel"], row["gpu_count"]) == (1, 8, 8)


def test_instances_behind_a_proxy_share_the_load(tmp_path: Path, catalog: Catalog) -> None:
    row = one(tmp_path, catalog, tp="1", gpu_count="2", notes="instances=2 x (tp1 pp1)", concurrency_or_batch="400")
    assert (row["batch_requests"], row["gpu_count"]) == (200, 2)


def test_start_patterns(tmp_path: Path, catalog: Catalog) -> None:
    starts = {
        "open-loop": "open-loop request rate 2 req/s; n_req=100",
        "burst": "all requests at once (rate inf); n_req=100",
        "offline": "max-load offline",
    }
    for start, note in starts.items():
        assert one(tmp_path, catalog, notes=note, concurrency_or_batch="")["start"] == start
    assert one(tmp_path, catalog, notes="static batch, no in-flight batching")["start"] == "static"


def test_engine_version_chooses_the_engine(tmp_path: Path, catalog: Catalog) -> None:
    for version, engine in (("0.17", "tensorrt-llm-cpp"), ("0.20", "tensorrt-llm"), ("1.2-dev", "tensorrt-llm")):
        assert one(tmp_path, catalog, framework="TensorRT-LLM", framework_version=version)["engine"] == engine
    assert version_number("v0.5.4") == pytest.approx(0.05)


def test_memory_chooses_between_cards_of_one_name(tmp_path: Path, catalog: Catalog) -> None:
    assert one(tmp_path, catalog, gpu="A100", gpu_mem_gb="40")["gpu"] == "a100-sxm4-40gb"
    row = one(tmp_path, catalog, gpu="A100", gpu_mem_gb="80")
    assert row["gpu"] == "a100-sxm4-80gb"
    assert "form factor not stated" in row["note"]
    assert "MiB" in one(tmp_path, catalog, gpu_mem_gb="81559")["note"]


def test_precisions(catalog: Catalog) -> None:
    assert quantization_id(catalog, "bf16 (native)", "deepseek-r1") == "fp8"
    assert quantization_id(catalog, "bf16 (native)", "qwen3-32b") == "fp16"
    assert quantization_id(catalog, "nvfp4", "gpt-oss-120b") == "mxfp4"
    assert model_id(catalog, "RedHatAI/Qwen3-14B-FP8-dynamic")[0] == "qwen3-14b"


def test_what_is_wrong_is_said_and_nothing_is_guessed(tmp_path: Path, catalog: Catalog) -> None:
    path = write(
        tmp_path / "bad.csv", THROUGHPUT,
        {"gpu": "H1000 SXM"}, {"value": "-3"}, {"value": "many"}, {"osl": "1"}, {"isl": ""}, {"metric": "joy"},
    )  # fmt: skip
    rows = measured.read(path, catalog)
    problems = list(rows["problem"])
    assert "did you mean" in problems[0]
    assert "must be positive" in problems[1]
    assert "not a number" in problems[2]
    assert "no TPOT" in problems[3]
    assert "lengths not stated" in problems[4]
    assert "not predicted" in problems[5]
    assert list(rows["line"]) == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"value": "inf"}, "value: not a number: 'inf'"),
        ({"value": "1e15"}, "must be positive and of this world"),
        ({"tp": "2.5", "gpu_count": "4"}, "2.5 tensor ranks: must be a whole number"),
        ({"tp": "0"}, "0 tensor ranks"),
        ({"gpu_count": "-2"}, "-2 cards"),
        ({"concurrency_or_batch": ""}, "concurrency not stated"),
        ({"concurrency_or_batch": "", "metric": "output_tok_s", "notes": "static batch"}, "concurrency not stated"),
        ({"concurrency_or_batch": "-3"}, "-3 requests together: must be above 0"),
        ({"isl": "inf"}, "isl: not a number"),
        ({"isl": "2e12"}, "more than anything measured has"),
        ({"notes": "gpu_memory_utilization=1.2"}, "a memory share of 1.2"),
        ({"notes": "--gpu-memory-utilization 1.2"}, "a memory share of 1.2"),
        ({"gpu_memory_utilization": "1.2"}, "a memory share of 1.2"),
        ({"metric": "ttft_ms", "value": "-20"}, "ttft_ms of -20: must be positive"),
    ],
)
def test_a_cell_that_cannot_be_is_named(tmp_path: Path, catalog: Catalog, change: dict[str, str], problem: str) -> None:
    row = one(tmp_path, catalog, THROUGHPUT + ",gpu_memory_utilization", **change)
    assert problem in row["problem"]
    assert row["line"] == 2


def test_a_share_of_memory_in_per_cent_is_read_as_such(tmp_path: Path, catalog: Catalog) -> None:
    row = one(tmp_path, catalog, THROUGHPUT + ",gpu_memory_utilization", gpu_memory_utilization="92")
    assert (row["problem"], row["memory_utilisation"]) == ("", 0.92)
    assert "read as per cent" in row["note"]


def test_a_file_of_another_shape_is_refused(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "x.csv").write_text("time,level\n1,info\n")
    with pytest.raises(InputError, match="not a table of measured rows"):
        measured.read(tmp_path / "x.csv", catalog)


def test_memory_shape(tmp_path: Path, catalog: Catalog) -> None:
    change = {
        "metric": "weights_gb", "value": "10.737", "gpu_memory_utilization": "90 (stated)", "max_model_len": "8192",
        "framework_version": "vLLM 0.12.0", "kv_dtype": "fp8",
    }  # fmt: skip
    row = one(tmp_path, catalog, MEMORY, **change)
    assert row["metric"] == "weights_gib"
    assert row["value"] == pytest.approx(10.0, rel=1e-4)  # 10.737e9 bytes are 10 GiB
    assert (row["memory_utilisation"], row["engine"], row["kv_bytes_per_element"]) == (0.9, "vllm", 1)


def test_traps(tmp_path: Path, catalog: Catalog) -> None:
    long = {"osl": "8192", "value": "8.0001", "concurrency_or_batch": "4"}
    path = write(
        tmp_path / "traps.csv", THROUGHPUT,
        {"source": "a"}, {"source": "a", "model": "Qwen3 32B"},  # the same figure twice
        {"source": "b", "osl": "1024", "value": "10.001", "concurrency_or_batch": "4"}, {"source": "b", **long},
        {"source": "c", "notes": "SPECULATIVE DECODING", "value": "3.3331"},
    )  # fmt: skip
    rows = measured.read(path, catalog)
    assert list(rows["trap"]) == [
        "",
        "duplicate",
        "suspected-speculative",
        "suspected-speculative",
        "speculative-decoding",
    ]


def test_faster_than_the_card_allows(tmp_path: Path, catalog: Catalog) -> None:
    """32e9 bytes over two cards of 3.35e12 bytes a second take 4.8 ms; 3 ms is not possible."""
    path = write(tmp_path / "fast.csv", THROUGHPUT, {"value": "3.001"}, {"value": "15.001"})
    assert list(reading.load([path], catalog)["trap"]) == ["faster-than-hardware", ""]


def test_weights_that_cannot_fit(tmp_path: Path, catalog: Catalog) -> None:
    """65 GB of 16-bit weights on one card of 24 GB."""
    path = write(tmp_path / "big.csv", THROUGHPUT, {"gpu": "RTX 4090", "gpu_mem_gb": "24", "tp": "1", "gpu_count": "1",
                                                    "weight_quant": "bf16", "value": "150.01"})  # fmt: skip
    assert reading.load([path], catalog)["trap"][0] == "weights-do-not-fit"


def test_the_shipped_table(catalog: Catalog) -> None:
    rows = measured.shipped(catalog)
    assert len(rows) > 5000
    assert (rows["problem"] == "").all()
    assert set(rows["use"]) == {"fit"}
    assert "duplicate" not in set(rows["trap"])


def test_a_header_without_rows_is_an_input_problem(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,gpu,metric,value,isl,osl,concurrency_or_batch,weight_quant,framework\n")
    with pytest.raises(InputError, match="has a header and no rows"):
        measured.read(path, catalog)
