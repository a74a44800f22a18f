"""Summaries of other tools, server logs, refusals: small files in the shapes of the tools, worked by hand."""

from __future__ import annotations

import gzip
import json
import math
import tracemalloc
from pathlib import Path

import pytest
from result_files import BLOCK, VLLM, refusal, values, write

from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.field.readers.detect import read
from reports.field.readers.rows import date_of, number
from reports.field.reading import read_all

LLMPERF = {
    "version": "2023-08-31", "model": "org/m-13b", "num_concurrent_requests": 5, "mean_input_tokens": 550,
    "results_inter_token_latency_s_mean": 0.011, "results_ttft_s_mean": 0.5, "results_end_to_end_latency_s_mean": 2.5,
    "results_number_output_tokens_mean": 201.0, "results_number_errors": 0, "results_num_completed_requests": 50,
    "results_mean_output_throughput_token_per_s": 400.0, "timestamp": 1703136016,
}  # fmt: skip

OWN_TABLE = (
    "model,gpu,gpu_count,isl,osl,concurrency_or_batch,framework,framework_version,metric,value,weight_quant\n"
    "Llama-3.1-8B-Instruct,H100 SXM,1,1000,200,16,vllm,0.10.0,tpot_ms,9.5,fp16\n"
)


def test_llmperf_latency_without_the_first_token(tmp_path: Path) -> None:
    rows = read(write(tmp_path, LLMPERF))
    # (2.5 s - 0.5 s) / 200 = 10 ms; the 11 ms printed contain a share of the first token
    assert values(rows)["tpot_ms"] == pytest.approx(10.0)
    assert values(rows)["ttft_ms"] == 500.0
    assert "11 ms" in rows["note"][0]
    assert rows["date"][0] == "2023-12-21"


def test_llmperf_all_errors(tmp_path: Path) -> None:
    text = {**LLMPERF, "results_num_completed_requests": 0, "results_number_errors": 50}
    assert "every request failed" in refusal(write(tmp_path, text))


LOCUST = """\
Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,\
Average Content Size,Requests/s,Failures/s,50%,66%
POST,/v1/chat/completions,80,{failed},250,300.0,100,900,60,2.0,0.0,250,290
GET,/health,500,0,3,3.2,1,16,50,3.2,0.0,3,3
,Aggregated,580,0,6,65.5,1,900,147,5.2,0.0,6,20
"""


def test_locust_takes_the_endpoint_that_generates(tmp_path: Path) -> None:
    rows = read(write(tmp_path, LOCUST.format(failed=0)))
    assert values(rows) == {"req_s": 2.0}
    assert rows["use"][0] == "context"
    assert "/health" in rows["note"][0]


def test_locust_with_own_timings(tmp_path: Path) -> None:
    extra = "METRIC,ttft_ms,80,0,90,110.0,50,200,0,2.0,0,90,95\nMETRIC,tpot_ms,80,0,20,21.0,15,40,0,2.0,0,20,21\n"
    rows = read(write(tmp_path, LOCUST.format(failed=0) + extra))
    assert values(rows) == {"ttft_ms": 110.0, "tpot_ms": 21.0, "req_s": 2.0}


def test_locust_fast_because_everything_failed(tmp_path: Path) -> None:
    assert "every request failed" in refusal(write(tmp_path, LOCUST.format(failed=80)))


def test_optimum_benchmark_json_and_csv(tmp_path: Path) -> None:
    report = {
        "prefill": {"latency": {"unit": "s", "mean": 0.04}, "throughput": {"unit": "samples/s", "value": 50.0}},
        "decode": {"latency": {"unit": "s", "mean": 2.0}, "throughput": {"unit": "tokens/s", "value": 99.0},
                   "memory": {"unit": "MB", "max_global_vram": 17179.869184}},
        "per_token": {"latency": {"unit": "s", "mean": 0.0200}},
    }  # fmt: skip
    rows = read(write(tmp_path, report))
    # batch 50 x 0.04 = 2; 99 x 2.0 / 2 = 99 steps, 100 tokens; 2.0 s / 99 = 20.2 ms; 17179.869184e6 bytes = 16 GiB
    assert rows["batch_requests"][0] == 2.0
    assert rows["output_tokens"][0] == 100.0
    found = values(rows)
    assert found["tpot_ms"] == pytest.approx(2000 / 99)
    assert found["ttft_ms"] == 40.0
    assert found["peak_gib"] == pytest.approx(16.0)
    assert set(rows["use"]) == {"context"}
    header = "config.scenario.input_shapes.batch_size,config.scenario.input_shapes.sequence_length,"
    header += "config.scenario.generate_kwargs.max_new_tokens,report.prefill.latency.mean,report.decode.latency.mean"
    rows = read(write(tmp_path, f"{header}\n1,16,101,0.03,2.0\n"))
    assert values(rows) == {"tpot_ms": 20.0, "ttft_ms": 30.0}
    assert rows["input_tokens"][0] == 16.0


COLOUR = "\x1b[0;36m(EngineCore_DP0 pid=7)\x1b[0;0m "
VLLM_LOG = """\
(APIServer pid=1) INFO 12-10 10:12:27 [api_server.py:1772] vLLM API server version 0.12.0
(APIServer pid=1) INFO 12-10 10:12:27 [utils.py:253] non-default args: {'model': 'org/m-8B', 'max_model_len': 32000, \
'gpu_memory_utilization': 0.95, 'max_num_seqs': 64}
COLOURINFO 12-10 10:12:46 [core.py:93] Initializing a V1 LLM engine (v0.12.0) with config: model='org/m-8B', \
dtype=torch.bfloat16, max_seq_len=32000, tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, \
quantization=None, kv_cache_dtype=auto, device_config=cuda
COLOURINFO 12-10 10:12:53 [gpu_model_runner.py:3549] Model loading took 7.5000 GiB memory and 5.9 seconds
COLOURINFO 12-10 10:12:53 [gpu_model_runner.py:3549] Model loading took 7.5100 GiB memory and 5.9 seconds
COLOURINFO 12-10 10:13:15 [gpu_worker.py:359] Available KV cache memory: 7.00 GiB
COLOURINFO 12-10 10:13:15 [gpu_worker.py:359] Available KV cache memory: 6.90 GiB
COLOURINFO 12-10 10:13:16 [kv_cache_utils.py:1286] GPU KV cache size: 96,000 tokens
COLOURINFO 12-10 10:13:16 [kv_cache_utils.py:1291] Maximum concurrency for 32,000 tokens per request: TIMESx
"""


def vllm_log(times: str) -> str:
    return VLLM_LOG.replace("COLOUR", COLOUR).replace("TIMES", times)


def test_vllm_log_with_colours_and_two_workers(tmp_path: Path) -> None:
    rows = read(write(tmp_path, vllm_log("3.00")))
    found = values(rows)
    # the fuller card decides: the larger weights, the smaller room
    assert (found["kv_cache_tokens"], found["weights_gib"], found["available_kv_gib"]) == (96_000.0, 7.51, 6.9)
    first = rows.iloc[0]
    assert (first["model_name"], first["tensor_parallel"], first["memory_utilisation"]) == ("org/m-8B", 2.0, 0.95)
    assert (first["context_tokens"], first["kv_bytes_per_element"], first["sequence_limit"]) == (32_000.0, 2.0, 64.0)
    assert (first["quantization_name"], first["start"], first["trap"]) == ("bf16", "log", "")


def test_vllm_log_whose_concurrency_is_not_tokens_by_context(tmp_path: Path) -> None:
    rows = read(write(tmp_path, vllm_log("7.40")))
    tokens = rows[rows["metric"] == "kv_cache_tokens"].iloc[0]
    assert tokens["trap"] == "concurrency-not-tokens-by-context"
    assert tokens["use"] == "context"


def test_vllm_log_of_old_blocks(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "INFO 08-29 19:06:51 gpu_executor.py:121] # GPU blocks: 1000, # CPU blocks: 4096\n"
                                "INFO 08-29 19:07:51 gpu_executor.py:121] # GPU blocks: 2000, # CPU blocks: 4096\n"))
    assert list(rows["value"]) == [16_000.0, 32_000.0]  # 16 tokens a block
    text = "Initializing an LLM engine (v0.5.0) with config: model='m', block_size=32\n# cuda blocks: 100\n"
    assert list(read(write(tmp_path, text))["value"]) == [3200.0]


def test_vllm_log_of_a_failed_start(tmp_path: Path) -> None:
    text = ("ValueError: The model's max seq len (163840) is larger than the maximum number of tokens that can be "
            "stored in KV cache (13360). Try increasing `gpu_memory_utilization`\n")  # fmt: skip
    rows = read(write(tmp_path, text))
    assert values(rows) == {"kv_cache_tokens": 13_360.0}
    assert "the start failed" in rows["note"][0]
    text = ("(APIServer pid=1) INFO 08-18 02:57:52 [x.py:1] vLLM API server version 0.20.0\n"
            "Value error, max_model_len (999999) is greater than the derived max_model_len (2048)\n")  # fmt: skip
    assert "the server did not start: max_model_len 999999" in refusal(write(tmp_path, text))
    text = ("INFO vLLM API server version 0.11.0\nINFO Available KV cache memory: -1.44 GiB\n"
            "ValueError: No available memory for the cache blocks.\n")  # fmt: skip
    assert "had no room" in refusal(write(tmp_path, text))


def test_sglang_log_of_two_ranks(tmp_path: Path) -> None:
    lines = ["[2026-03-11 13:53:20] server_args=ServerArgs(model_path='org/m', tp_size=2, kv_cache_dtype='fp8_e5m2')"]
    for rank, used in (("TP0", 28.79), ("TP1", 28.80)):
        lines.append(f"[2026-03-11 13:53:21 {rank}] Load weight end. type=X, avail mem=32.02 GB, mem usage={used} GB.")
        sizes = "K size: 9.68 GB, V size: 9.68 GB"
        lines.append(f"[2026-03-11 13:53:23 {rank}] KV Cache is allocated. #tokens: 383872, {sizes}")
    rows = read(write(tmp_path, "\n".join(lines)))
    assert values(rows) == {"kv_cache_tokens": 383_872.0, "weights_gib": 28.8, "available_kv_gib": 19.36}
    first = rows.iloc[0]
    assert (first["tensor_parallel"], first["kv_bytes_per_element"], first["date"]) == (2.0, 1.0, "2026-03-11")


def test_trtllm_log_bytes_and_tokens(tmp_path: Path) -> None:
    text = ("[TensorRT-LLM][INFO] Loaded engine size: 1024 MiB\n"
            "[TensorRT-LLM][INFO] Allocate 21474836480 bytes for k/v cache.\n"
            "[TensorRT-LLM][INFO] Using 220800 tokens in paged KV cache.\n")  # fmt: skip
    assert values(read(write(tmp_path, text))) == {
        "kv_cache_tokens": 220_800.0, "weights_gib": 1.0, "available_kv_gib": 20.0,
    }  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
def test_a_long_log_needs_little_memory(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "server.log"
    line = b"INFO 12-10 10:14:00 [loggers.py:1] Engine 000: Avg generation throughput: 43.0 tokens/s, Running: 4 reqs\n"
    noise = line * 1000
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as file:
        file.write(vllm_log("3.00").encode())
        for _ in range(400):  # about 40 MB
            file.write(noise)
    tracemalloc.start()
    try:
        assert values(read(path))["kv_cache_tokens"] == 96_000.0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 32e6


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_packed_file_says_what_it_says_unpacked(tmp_path: Path, encoding: str) -> None:
    texts = {"a.log": vllm_log("3.00"), "b.json": json.dumps(LLMPERF), "c.csv": OWN_TABLE}
    for name, text in texts.items():
        plain, gz = tmp_path / name, tmp_path / f"{name}.gz"
        plain.write_bytes(text.encode(encoding))
        gz.write_bytes(gzip.compress(text.encode(encoding)))
        first, second = read(plain), read(gz)
        assert first.drop(columns=["file", "source_ref"]).equals(second.drop(columns=["file", "source_ref"])), name
        assert len(second) > 0


def test_a_packed_json_is_measured_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'{"completed": 1, "filler":\n"' + b"x" * (65 * 1024 * 1024) + b'"}'))
    assert path.stat().st_size < 100_000
    assert "too large for one result" in refusal(path)


def test_large_json_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, '{"completed": 1, "filler":\n"' + "x" * (65 * 1024 * 1024) + '"}')
    assert "too large for one result" in refusal(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        (b"\x1f\x8b\x08rest", "broken gzip file"),
        (gzip.compress(b"GPU KV cache size: 1,000 tokens\n" * 999, mtime=0)[:60], "broken gzip file"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"\x7fELF\x00\x00", "binary file"),
        ("hello\n", "not a file this program knows"),
        ('{"a": ', "ends in the middle"),
        ('{"a": 1}', "JSON of no benchmark"),
        ("[]", "empty list"),
        ("{" * 100_000, "not valid JSON"),
        ('{"experiments": [{"requests": []}]}', "profile_export_genai_perf.json"),
        ('{"avg_latency": 1.0, "latencies": [1.0]}', "vllm bench latency"),
        ('{"benchmarks": [{"mode": "sweep"}]}', "GuideLLM before 0.2"),
        ("Timestamp,User Count,Type,Name\n", "history file of Locust"),
        ('[{"error_code": null, "ttft_s": 0.1}]', "_summary.json"),
    ],
)
def test_what_is_refused_says_why(tmp_path: Path, content: str | bytes, words: str) -> None:
    path = write(tmp_path, content)
    message = refusal(path)
    assert words in message
    assert str(path) in message


def test_all_problems_of_all_files_at_once(tmp_path: Path, catalog: Catalog) -> None:
    good, empty, strange = write(tmp_path, VLLM, "a"), write(tmp_path, "", "b"), write(tmp_path, "hello", "c")
    with pytest.raises(InputError) as caught:
        read_all([good, empty, strange, tmp_path / "missing", tmp_path], catalog)
    assert len(caught.value.problems) == 4
    assert len(read_all([good, good], catalog)) == 6


def test_windows_text_is_read(tmp_path: Path) -> None:
    text = BLOCK.format(done=128, input=128000).replace("\n", "\r\n")
    assert values(read(write(tmp_path, text.encode("utf-16"))))["tpot_ms"] == 31.0
    assert values(read(write(tmp_path, b"\xef\xbb\xbf" + json.dumps(VLLM).encode())))["tpot_ms"] == 15.0


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,146.31", 1146.31), ("12,345,678", 12345678.0), ("51,20", 51.2), ("inf", math.inf), ("3", 3.0), (" 2.5 ", 2.5)],
)
def test_numbers_as_tools_write_them(text: str, value: float) -> None:
    assert number(text) == value


def test_what_is_not_a_number_or_a_date() -> None:
    assert all(math.isnan(number(each)) for each in ("N/A", "", None, True, {}, "1_000x", "12 ms"))
    assert [date_of(each) for each in (1703136016, 1762551534797067800, "20260230-1", "x", None)] == [
        "2023-12-21", "2025-11-07", "", "", "",
    ]  # fmt: skip
