"""Readers of benchmark results and server logs: small files written here in the shapes of the tools, worked by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from result_files import BLOCK, VLLM, refusal, values, write

from reports.field.readers.detect import read
from reports.field.readers.rows import COLUMNS


def test_vllm_bench_serve(tmp_path: Path) -> None:
    rows = read(write(tmp_path, VLLM))
    assert tuple(rows.columns) == COLUMNS
    assert values(rows) == {"tpot_ms": 15.0, "ttft_ms": 80.0, "output_tok_s": 1000.0}
    first = rows.iloc[0]
    assert (first["input_tokens"], first["output_tokens"], first["batch_requests"]) == (1000.0, 250.0, 16.0)
    assert (first["engine"], first["start"], first["date"]) == ("vllm", "steady", "2026-04-01")
    assert first["gpu"] == first["gpu_name"] == ""
    assert math.isnan(first["tensor_parallel"])
    assert not rows["problem"].any()


def test_every_request_failed_is_no_measurement(tmp_path: Path) -> None:
    failed = {**VLLM, "completed": 0, "failed": 200, "mean_ttft_ms": 0.0, "mean_tpot_ms": 0.0, "output_throughput": 0.0,
              "total_output_tokens": 0, "total_input_tokens": 0}  # fmt: skip
    assert "every request failed" in refusal(write(tmp_path, failed))


def test_a_run_with_failures_is_context_only(tmp_path: Path) -> None:
    # 50 of 200 failed: what is left is fast because the others were turned away
    rows = read(write(tmp_path, {**VLLM, "completed": 150, "total_output_tokens": 50_000}))
    assert set(rows["use"]) == {"context"}
    assert set(rows["trap"]) == {"failed-requests"}
    assert "50 of 200 requests failed" in rows["note"][0]


def test_names_without_ms_are_seconds(tmp_path: Path) -> None:
    fork = {
        "model_id": "m", "request_rate": "inf", "max_concurrency": 4, "completed": 40, "duration": 70.0,
        "total_input_tokens": 40_000, "total_output_tokens": 5_000, "output_throughput": 71.43, "num_prompts": 40,
        "median_ttft": 1.25, "median_tpot": 0.045,
    }  # fmt: skip
    rows = read(write(tmp_path, fork))
    assert values(rows) == {"tpot_ms": 45.0, "ttft_ms": 1250.0, "output_tok_s": 71.43}
    assert rows["statistic"][0] == "median"
    assert rows["engine"][0] == ""


def test_negative_tpot_is_listed_and_the_rest_kept(tmp_path: Path) -> None:
    rows = read(write(tmp_path, {**VLLM, "mean_tpot_ms": -3.0}))
    problems = dict(zip(rows["metric"], rows["problem"], strict=True))
    assert "negative" in problems["tpot_ms"]
    assert problems["output_tok_s"] == ""


def test_bare_infinity_and_nan(tmp_path: Path) -> None:
    text = json.dumps({**VLLM, "request_rate": math.inf, "mean_ttft_ms": math.nan})
    assert "Infinity" in text
    assert "NaN" in text
    rows = read(write(tmp_path, text))
    assert values(rows)["ttft_ms"] == 70.0  # the mean is no number: the median stands in
    assert rows["start"][0] == "steady"


def test_throughput_per_card_is_recognised(tmp_path: Path) -> None:
    # 50 000 tokens / 50 s = 1000 tok/s; 250 is a quarter of it
    assert "per card against total" in refusal(write(tmp_path, {**VLLM, "output_throughput": 250.0}))


def test_seconds_named_milliseconds(tmp_path: Path) -> None:
    # 16 requests at 0.015 ms a token would make a million tokens a second, not 1000
    rows = read(write(tmp_path, {**VLLM, "mean_tpot_ms": 0.015, "mean_itl_ms": 0.015}))
    assert "seconds read as milliseconds" in dict(zip(rows["metric"], rows["problem"], strict=True))["tpot_ms"]


def test_open_loop_and_burst(tmp_path: Path) -> None:
    rows = read(write(tmp_path, {**VLLM, "request_rate": 3.5, "max_concurrency": None}))
    assert (rows["start"][0], rows["request_rate_per_s"][0]) == ("open-loop", 3.5)
    rows = read(write(tmp_path, {**VLLM, "max_concurrency": None}))
    assert (rows["start"][0], rows["requests"][0]) == ("burst", 200.0)
    assert math.isnan(rows["batch_requests"][0])


def test_several_tokens_a_chunk_are_speculative(tmp_path: Path) -> None:
    rows = read(write(tmp_path, {**VLLM, "mean_itl_ms": 38.0}))
    assert set(rows["trap"]) == {"speculative-decoding"}


def test_sweep_csv_with_the_same_fields(tmp_path: Path) -> None:
    names = list(VLLM)
    text = ",".join(names) + "\n" + ",".join(str(VLLM[name]) for name in names) + "\n"
    assert values(read(write(tmp_path, text)))["tpot_ms"] == 15.0


SGLANG = {
    "backend": "sglang", "dataset_name": "random", "request_rate": math.inf, "max_concurrency": 8,
    "sharegpt_output_len": None, "random_input_len": 512, "duration": 100.0, "completed": 100,
    "total_input_tokens": 51_200, "total_output_tokens": 25_600, "total_output_tokens_retokenized": 25_500,
    "output_throughput": 256.0, "mean_ttft_ms": 120.0, "mean_tpot_ms": 30.0, "mean_itl_ms": 30.0, "accept_length": None,
}  # fmt: skip


def test_sglang_json_lines(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({**SGLANG, "max_concurrency": each}) for each in (8, 16))
    rows = read(write(tmp_path, lines + "\n"))
    assert list(rows["batch_requests"]) == [8.0] * 3 + [16.0] * 3
    assert list(rows["line"]) == [1.0] * 3 + [2.0] * 3
    assert set(rows["engine"]) == {"sglang"}


def test_sglang_speculation_and_server_info(tmp_path: Path) -> None:
    record = {**SGLANG, "accept_length": 2.8, "server_info": {"model_path": "org/m", "tp_size": 4}}
    rows = read(write(tmp_path, record))
    assert set(rows["trap"]) == {"speculative-decoding"}
    assert (rows["model_name"][0], rows["tensor_parallel"][0]) == ("org/m", 4.0)


def test_sglang_one_batch_is_in_seconds(tmp_path: Path) -> None:
    record = {"run_name": "a", "batch_size": 8, "input_len": 256, "output_len": 32,
              "prefill_latency": 0.05, "median_decode_latency": 0.012, "median_decode_throughput": 666.7,
              "overall_throughput": 100.0}  # fmt: skip
    rows = read(write(tmp_path, record))
    assert values(rows) == {"tpot_ms": 12.0, "ttft_ms": 50.0}
    assert rows["start"][0] == "static"


def test_broken_json_line_says_where(tmp_path: Path) -> None:
    text = json.dumps(SGLANG) + "\n" + json.dumps(SGLANG)[:40] + "\n"
    assert ":2: " in refusal(write(tmp_path, text))


def test_console_block_with_flags_beside_it(tmp_path: Path) -> None:
    text = BLOCK.format(done=128, input=128000) + (
        "\n  command: >\n    --tensor-parallel-size 4\n    --kv-cache-dtype fp8 --gpu-memory-utilization=0.85\n"
        "vllm bench serve --model org/m-AWQ --num-prompts 128\n"
    )
    rows = read(write(tmp_path, text))
    assert values(rows) == {"tpot_ms": 31.0, "ttft_ms": 1146.31, "output_tok_s": 1000.0}
    first = rows.iloc[0]
    assert (first["input_tokens"], first["output_tokens"], first["batch_requests"]) == (1000.0, 500.0, 32.0)
    assert (first["model_name"], first["tensor_parallel"]) == ("org/m-AWQ", 4.0)
    assert (first["kv_bytes_per_element"], first["memory_utilisation"]) == (1.0, 0.85)
    assert first["engine"] == ""  # the client does not know what serves


def test_console_block_of_two_servers(tmp_path: Path) -> None:
    text = BLOCK.format(done=128, input=128000) + "--tensor-parallel-size 2\n" * 2
    rows = read(write(tmp_path, text))
    assert (rows["batch_requests"][0], rows["gpu_count"][0]) == (16.0, 4.0)


def test_console_block_where_all_failed(tmp_path: Path) -> None:
    assert "every request failed" in refusal(write(tmp_path, BLOCK.format(done=0, input=0)))


def test_console_block_without_concurrency_uses_throughput_times_latency(tmp_path: Path) -> None:
    text = BLOCK.format(done=128, input=128000).replace("    Maximum request concurrency:             32\n", "")
    # 2 req/s x (1.14631 s + 499 x 0.031 s) = 2 x 16.61531 = 33.2 in flight, far from all 128
    rows = read(write(tmp_path, text))
    assert rows["start"][0] == "steady"
    assert rows["batch_requests"][0] == pytest.approx(33.23, abs=0.01)


def guidellm_metric(mean: float) -> dict[str, Any]:
    return {"successful": {"mean": mean, "median": mean, "count": 10}, "errored": {"mean": 0.0}}


GUIDELLM = {
    "metadata": {"version": 2, "guidellm_version": "0.8"},
    "benchmarks": [
        {
            "config": {"strategy": {"type_": "concurrent", "streams": 8}, "backend": {"kind": "x", "model": "org/m"}},
            "scheduler_state": {"start_time": 1786678147.2},
            "metrics": {
                "request_totals": {"successful": 100, "errored": 0, "incomplete": 0, "total": 100},
                "prompt_token_count": guidellm_metric(512.0), "output_token_count": guidellm_metric(128.0),
                "time_to_first_token_ms": guidellm_metric(90.0), "inter_token_latency_ms": guidellm_metric(20.0),
                "time_per_output_token_ms": guidellm_metric(20.5), "output_tokens_per_second": guidellm_metric(380.0),
            },
        }
    ],
}  # fmt: skip


def test_guidellm_report(tmp_path: Path) -> None:
    rows = read(write(tmp_path, GUIDELLM))
    # the time per output token of GuideLLM contains the first token: the inter-token latency is the TPOT
    assert values(rows) == {"tpot_ms": 20.0, "ttft_ms": 90.0, "output_tok_s": 380.0}
    first = rows.iloc[0]
    assert (first["model_name"], first["batch_requests"], first["input_tokens"]) == ("org/m", 8.0, 512.0)
    assert first["date"] == "2026-08-14"


def test_guidellm_older_layout_and_failures(tmp_path: Path) -> None:
    metrics = {**GUIDELLM["benchmarks"][0]["metrics"]}  # type: ignore[index]
    metrics.pop("request_totals")
    old = {
        "benchmarks": [
            {"args": {"strategy": {"type_": "constant", "rate": 4.0}}, "worker": {"backend_model": "org/old"},
             "run_stats": {"requests_made": {"successful": 0, "errored": 50, "total": 50}}, "metrics": metrics},
            {"args": {"strategy": {"type_": "constant", "rate": 2.0}}, "worker": {"backend_model": "org/old"},
             "run_stats": {"requests_made": {"successful": 50, "errored": 0, "total": 50}}, "metrics": metrics},
        ]
    }  # fmt: skip
    rows = read(write(tmp_path, old))
    assert list(rows["problem"] != "") == [True] * 3 + [False] * 3
    assert (rows["start"][3], rows["request_rate_per_s"][3], rows["model_name"][3]) == ("open-loop", 2.0, "org/old")


AIPERF = {
    "request_throughput": {"unit": "requests/sec", "avg": 2.0}, "request_latency": {"unit": "ms", "avg": 4000.0},
    "request_count": {"unit": "requests", "avg": 64.0}, "time_to_first_token": {"unit": "s", "avg": 0.05},
    "inter_token_latency": {"unit": "ms", "avg": 20.0, "p50": 19.0}, "inter_chunk_latency": {"unit": "ms", "avg": 20.0},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 396.0},
    "output_sequence_length": {"unit": "tokens", "avg": 198.0},
    "input_sequence_length": {"unit": "tokens", "avg": 100.0},
    "input_config": {"endpoint": {"model_names": ["org/m"]}, "loadgen": {"concurrency": 8}},
    "telemetry_data": {"endpoints": {"a": {"gpus": {"gpu_0": {"gpu_name": "NVIDIA H100 80GB HBM3"}}}}},
    "start_time": "2026-02-03T10:00:00",
}  # fmt: skip


def test_aiperf_json(tmp_path: Path) -> None:
    rows = read(write(tmp_path, AIPERF))
    assert values(rows) == {"tpot_ms": 20.0, "ttft_ms": 50.0, "output_tok_s": 396.0}
    first = rows.iloc[0]
    assert (first["gpu_name"], first["model_name"], first["batch_requests"]) == ("NVIDIA H100 80GB HBM3", "org/m", 8.0)


def test_aiperf_chunks_of_several_tokens(tmp_path: Path) -> None:
    rows = read(write(tmp_path, {**AIPERF, "inter_chunk_latency": {"unit": "ms", "avg": 55.0}}))
    assert set(rows["trap"]) == {"speculative-decoding"}


GENAI_CSV = """\
Metric,avg,min,max,p99
Time To First Token (ms),"1,146.31",900.00,1200.00,1199.00
Request Latency (ms),"4,000.00",3900,4100,4100
Inter Token Latency (ms),15.00,14,16,16
Output Sequence Length,191.00,191,191,191
Input Sequence Length,550.00,550,550,550

Metric,Value
Output Token Throughput (per sec),382.00
Request Throughput (per sec),2.00
Request Count (count),40.00
"""


def test_genai_perf_csv_numbers_as_text(tmp_path: Path) -> None:
    rows = read(write(tmp_path, GENAI_CSV))
    assert values(rows) == {"tpot_ms": 15.0, "ttft_ms": 1146.31, "output_tok_s": 382.0}
    # the table does not state the concurrency: 2 req/s x 4 s = 8
    assert rows["batch_requests"][0] == 8.0


def test_genai_perf_csv_of_nothing(tmp_path: Path) -> None:
    text = GENAI_CSV.replace("15.00,14,16,16", "N/A,,,").replace('"1,146.31"', "0.00").replace("382.00", "0.0")
    assert "0.0: nothing was measured" in refusal(write(tmp_path, text))


def test_console_table_with_a_wrapped_label(tmp_path: Path) -> None:
    text = """\
                    NVIDIA AIPerf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┓
┃               Metric ┃      avg ┃      min ┃
┡━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━┩
│  Time to First Token │    50.00 │    30.65 │
│                 (ms) │          │          │
│ Request Latency (ms) │ 2,000.00 │ 1,900.00 │
│  Inter Token Latency │     3.40 │     3.36 │
│                 (ms) │          │          │
│      Output Sequence │   100.00 │   100.00 │
│      Length (tokens) │          │          │
│   Request Throughput │     0.50 │      N/A │
│       (requests/sec) │          │          │
└──────────────────────┴──────────┴──────────┘
"""
    rows = read(write(tmp_path, text))
    assert values(rows) == {"tpot_ms": 3.4, "ttft_ms": 50.0, "req_s": 0.5}
    assert (rows["output_tokens"][0], rows["batch_requests"][0]) == (100.0, 1.0)


def test_trtllm_bench_report(tmp_path: Path) -> None:
    text = """\
===========================================================
= PYTORCH BACKEND
===========================================================
Model:			org/m-8B
TensorRT-LLM Version:	1.1.0
Quantization:		FP8
KV Cache Dtype:		FP8
= WORLD + RUNTIME INFORMATION
TP Size:                2
PP Size:                1
= REQUEST DETAILS
Number of requests:             1000
Number of concurrent requests:  64.0
Average Input Length (tokens):  128.0
Average Output Length (tokens): 256.0
= PERFORMANCE OVERVIEW
Request Throughput (req/sec):                     10.0
Total Output Throughput (tokens/sec):             2560.0
Per GPU Output Throughput (tps/gpu):              1280.0
"""
    rows = read(write(tmp_path, text))
    first = rows.iloc[0]
    assert values(rows) == {"output_tok_s": 2560.0}
    assert (first["tensor_parallel"], first["gpu_count"], first["batch_requests"]) == (2.0, 2.0, 64.0)
    assert (first["quantization_name"], first["kv_bytes_per_element"], first["engine_version"]) == ("FP8", 1.0, "1.1.0")


def test_trtllm_bench_bare_overview(tmp_path: Path) -> None:
    text = """\
Request Throughput (req/sec):                     20.0
Total Output Throughput (tokens/sec):             2560.0
Total Token Throughput (tokens/sec):              7680.0
Total Latency (ms):                               50000.0
Per GPU Output Throughput (tps/gpu):              640.0
"""
    first = read(write(tmp_path, text)).iloc[0]
    # 20/s x 50 s = 1000 requests; 2560/20 = 128 out; (7680 - 2560)/20 = 256 in; 2560/640 = 4 cards
    assert (first["requests"], first["output_tokens"], first["input_tokens"]) == (1000.0, 128.0, 256.0)
    assert first["gpu_count"] == 4.0


def test_trtllm_bench_json_and_legacy_lines(tmp_path: Path) -> None:
    report = {
        "engine": {"model": "org/m", "version": "1.0"}, "world_info": {"tp_size": 1, "pp_size": 1},
        "request_info": {"num_requests": 10, "avg_input_length": 64.0, "avg_output_length": 32.0},
        "performance": {"request_throughput_req_s": 5.0, "system_output_throughput_tok_s": 160.0},
        "streaming_metrics": {"avg_ttft_ms": 40.0, "avg_tpot_ms": 9.0},
    }  # fmt: skip
    assert values(read(write(tmp_path, report))) == {"output_tok_s": 160.0, "tpot_ms": 9.0, "ttft_ms": 40.0}
    line = (
        "[BENCHMARK] model_name gpt world_size 1 precision float16 batch_size 8 input_length 60 output_length 20 "
        "gpu_peak_mem(gb) 4.28 tokens_per_sec 3477.28 latency(ms) 46.0 compute_cap sm80\n"
    )
    rows = read(write(tmp_path, line))
    assert values(rows) == {"output_tok_s": 3477.28, "peak_gib": 4.28}
    assert (rows["batch_requests"][0], rows["start"][0]) == (8.0, "static")
