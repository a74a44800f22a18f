"""Readers of benchmark results and server logs: small files written here in the shapes of the tools, worked by hand."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports.errors import InputError
from reports.field.readers.detect import read, read_all
from reports.field.readers.rows import COLUMNS, date_of, number


def write(folder: Path, content: str | bytes | dict[str, Any] | list[Any], name: str = "unhelpful.name") -> Path:
    """A file whose name says nothing about what is in it."""
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def values(rows: pd.DataFrame) -> dict[str, float]:
    return dict(zip(rows["metric"], rows["value"], strict=True))


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


VLLM = {
    "date": "20260401-101500", "backend": "vllm", "model_id": "org/model-8b-FP8", "num_prompts": 200,
    "request_rate": "inf", "max_concurrency": 16, "duration": 50.0, "completed": 200, "failed": 0,
    "total_input_tokens": 200_000, "total_output_tokens": 50_000, "request_throughput": 4.0,
    "output_throughput": 1000.0,
    "mean_ttft_ms": 80.0, "median_ttft_ms": 70.0, "mean_tpot_ms": 15.0, "median_tpot_ms": 14.0, "mean_itl_ms": 15.1,
}  # fmt: skip
"""16 requests in flight; 200 000 / 200 = 1000 tokens in and 250 out each; 50 000 tokens / 50 s = 1000 tok/s."""


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


BLOCK = """\
    ============ Serving Benchmark Result ============
    Successful requests:                     {done}
    Failed requests:                         0
    Maximum request concurrency:             32
    Benchmark duration (s):                  64.00
    Total input tokens:                      {input}
    Total generated tokens:                  64000
    Request throughput (req/s):              2.00
    Output token throughput (tok/s):         1,000.00
    ---------------Time to First Token----------------
    Mean TTFT (ms):                          1,146.31
    Median TTFT (ms):                        900.00
    -----Time per Output Token (excl. 1st token)------
    Mean TPOT (ms):                          31.00
    ---------------Inter-token Latency----------------
    Mean ITL (ms):                           31.00
    ==================================================
"""


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


LLMPERF = {
    "version": "2023-08-31", "model": "org/m-13b", "num_concurrent_requests": 5, "mean_input_tokens": 550,
    "results_inter_token_latency_s_mean": 0.011, "results_ttft_s_mean": 0.5, "results_end_to_end_latency_s_mean": 2.5,
    "results_number_output_tokens_mean": 201.0, "results_number_errors": 0, "results_num_completed_requests": 50,
    "results_mean_output_throughput_token_per_s": 400.0, "timestamp": 1703136016,
}  # fmt: skip


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


def test_a_long_log_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    line = b"INFO 12-10 10:14:00 [loggers.py:1] Engine 000: Avg generation throughput: 43.0 tokens/s, Running: 4 reqs\n"
    noise = line * 1000
    with path.open("wb") as file:
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


def test_large_json_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, '{"completed": 1, "filler":\n"' + "x" * (65 * 1024 * 1024) + '"}')
    assert "too large for one result" in refusal(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        (b"\x1f\x8b\x08rest", "gzip archive"),
        (b"\x7fELF\x00\x00", "binary file"),
        ("hello\n", "not a file this program knows"),
        ('{"a": ', "ends in the middle"),
        ('{"a": 1}', "JSON of no benchmark"),
        ("[]", "empty list"),
        ("{" * 100_000, "not valid JSON"),
        ('{"experiments": [{"requests": []}]}', "profile_export_genai_perf.json"),
        ('{"avg_latency": 1.0, "latencies": [1.0]}', "vllm bench latency"),
        ("Timestamp,User Count,Type,Name\n", "history file of Locust"),
        ('[{"error_code": null, "ttft_s": 0.1}]', "_summary.json"),
    ],
)
def test_what_is_refused_says_why(tmp_path: Path, content: str | bytes, words: str) -> None:
    path = write(tmp_path, content)
    message = refusal(path)
    assert words in message
    assert str(path) in message


def test_all_problems_of_all_files_at_once(tmp_path: Path) -> None:
    good, empty, strange = write(tmp_path, VLLM, "a"), write(tmp_path, "", "b"), write(tmp_path, "hello", "c")
    with pytest.raises(InputError) as caught:
        read_all([good, empty, strange, tmp_path / "missing", tmp_path])
    assert len(caught.value.problems) == 4
    assert len(read_all([good, good])) == 6


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
