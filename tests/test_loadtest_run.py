"""A load test from its plan to the verdict, run by the real Locust against a stub whose latency follows a law."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openai_stub import Stub

from reports import cli
from reports.catalog.records import Catalog
from reports.field import measured
from reports.field.readers import detect
from reports.loadtest import results, verdict
from reports.loadtest.folder import write

PLAN: dict[str, Any] = {
    "scenario": "s", "candidate": "qwen2.5-7b-instruct.fp8.l40s.1x.pcie", "model": "qwen2.5-7b-instruct",
    "model_name": "Qwen/Qwen2.5-7B-Instruct", "gpu": "l40s", "quantization": "fp8", "kv_cache": "16bit",
    "engine": "vllm", "interconnect": "pcie", "unit_cards": 1, "tensor_parallel": 1, "data_parallel": 1,
    "pipeline_parallel": 1, "replicas": 1, "units": 1, "recommended_concurrency": 6, "safety_factor": 0.8,
    "targets": {"ttft_ms": {"ms": 200, "statistic": "p99"}, "tpot_ms": {"ms": 100, "statistic": "p99"}},
    "most_failed_share": 0.01, "steps": [6, 7], "step_seconds": 1.3, "warm_up_seconds": 0.6, "spawn_rate": 100,
    "timeout_seconds": 20, "seed": 1, "prefix_hit_share": 0, "path": "/v1/chat/completions",
    "mixes": ["as stated", "long with long", "long with short"], "more_body": {"ignore_eos": True},
    "input_mean_tokens": 30, "input_deviation_tokens": 16, "output_mean_tokens": 6, "output_deviation_tokens": 1.6,
}  # fmt: skip
MIXES = {"as stated": [[10, 8], [30, 6], [50, 4]], "long with long": [[10, 1], [10, 5]]}
"""Two steps of a second around the one that must fail, and a mix in which every second request fails."""


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    code = cli.run_command([str(each) for each in arguments])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return printed.out


def test_locust_finds_the_limit_of_the_law(
    tmp_path: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "test"
    write(PLAN, MIXES, ["en", "zh"], folder)
    stub = Stub()
    done = subprocess.run(
        [sys.executable, "-m", "locust", "-f", "locustfile.py", "--headless", "--host", stub.address, "--csv",
         "locust", "--only-summary"],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    stub.shutdown()
    assert "as stated, 7 users" in done.stdout, done.stdout + done.stderr
    assert stub.most == 7
    assert {"ignore_eos", "max_tokens", "messages", "model", "stream", "stream_options", "temperature"} == set(
        stub.bodies[0]
    )
    # the worst mix counts: every second request of it fails
    text = run(capsys, "loadtest", "--read", folder)
    assert text.startswith("does not hold at any number that was tried (recommended: 6)\nfirst failing: 6;"), text
    assert "requests failed" in text
    assert 'note: mix "long with short" was not run' in text
    # the law: 6 in flight wait 80 ms, 7 wait 320; the target is 200
    plan, steps = results.read([folder], catalog)
    found = verdict.judge(plan, [each for each in steps if each.mix == "as stated"])
    assert (found.holds_at, found.first_failing, found.run_at_most) == (6, 7, 4), text  # 6 x 0.8, whole
    assert found.outcome == "confirmed"
    first = next(each for each in steps if (each.mix, each.users) == ("as stated", 6))
    assert first.failed == 0
    assert first.value("ttft_ms", "p50") == pytest.approx(80, rel=0.35)
    assert 3.5 < first.value("tpot_ms", "p50") < 20  # 4 ms and what the machine adds
    # prompts have as many words as the mix asks for
    assert set(first.input_tokens) == {10, 30, 50}
    # what calibrate takes: our own table, and the statistics of Locust itself
    run(capsys, "loadtest", "--read", folder, "--out", tmp_path / "verdict")
    rows = measured.read(tmp_path / "verdict" / "loadtest_rows.csv", catalog)
    assert list(rows["metric"]) == ["ttft_ms", "tpot_ms"]
    assert set(rows["problem"]) == {""}
    assert (rows["batch_requests"] == 6).all()
    assert (rows["model"] == "qwen2.5-7b-instruct").all()
    own = detect.read(folder / "locust_stats.csv", catalog)
    assert {"ttft_ms", "tpot_ms"} <= set(own["metric"])
