"""What a load test asks, and how it is judged: answers written by hand, results of other tools, broken files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports import cli
from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.field import measured
from reports.loadtest import plan as plans
from reports.loadtest import results, verdict
from reports.loadtest.folder import commands, minutes

COLUMNS = ["mix", "users", "day", "finished_s", "ttft_ms", "tpot_ms", "answer_ms", "input_tokens", "output_tokens",
           "wanted_input_tokens", "wanted_output_tokens", "error"]  # fmt: skip
PLAN: dict[str, Any] = {
    "scenario": "s", "candidate": "c", "model": "qwen2.5-7b-instruct", "model_name": "Qwen/Qwen2.5-7B-Instruct",
    "gpu": "l40s", "quantization": "fp8", "kv_cache": "16bit", "engine": "vllm", "interconnect": "pcie",
    "unit_cards": 2, "tensor_parallel": 1, "data_parallel": 1, "pipeline_parallel": 1, "replicas": 2, "units": 1,
    "recommended_concurrency": 10, "safety_factor": 0.8, "most_failed_share": 0.01, "steps": [8, 10, 12],
    "targets": {"ttft_ms": {"ms": 200, "statistic": "p99"}, "tpot_ms": {"ms": 50, "statistic": "mean"}},
    "mixes": ["as stated", "long with long"], "step_seconds": 60, "warm_up_seconds": 5, "seed": 1,
    "path": "/v1/chat/completions", "input_mean_tokens": 300, "input_deviation_tokens": 100, "output_mean_tokens": 100,
    "output_deviation_tokens": 10,
}  # fmt: skip


def answers(folder: Path, *steps: tuple[str, int, list[float], float, int], plan: dict[str, Any] | None = None) -> Path:
    """Steps of (mix, users, first tokens in ms, time per token, failures) as the Locust file writes them."""
    folder.mkdir(exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(plan or PLAN))
    with (folder / "results.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for mix, users, ttft, tpot, failures in steps:
            for each in ttft:
                writer.writerow([mix, users, "2026-11-20", 1, each, tpot, each + 99 * tpot, 300, 100, 300, 100, ""])
            for _ in range(failures):
                writer.writerow([mix, users, "2026-11-20", 1, "", "", 5, "", "", 300, 100, "HTTP 503"])
    return folder


def judged(folder: Path, catalog: Catalog) -> verdict.Verdict:
    plan, steps = results.read([folder], catalog)
    return verdict.judge(plan, steps)


GOOD = [100.0] * 200


def test_the_worst_mix_decides(tmp_path: Path, catalog: Catalog) -> None:
    slow = [100.0] * 197 + [300.0] * 3  # the 198th of 200 is the P99
    found = judged(answers(tmp_path / "t", ("as stated", 8, GOOD, 20, 0), ("as stated", 10, GOOD, 30, 0),
                           ("as stated", 12, GOOD, 60, 0), ("long with long", 8, GOOD, 20, 0),
                           ("long with long", 10, slow, 20, 0)), catalog)  # fmt: skip
    assert (found.holds_at, found.first_failing, found.worst_mix) == (8, 10, "long with long")
    assert (found.run_at_most, found.outcome) == (6, "refuted")  # 8 x 0.8
    assert found.margin_share == pytest.approx(-0.2)
    reasons = {(each.mix, each.users): each.reasons for each in found.steps}
    assert reasons["as stated", 12] == ("mean of tpot_ms is 60, over 50",)
    assert reasons["long with long", 10] == ("p99 of ttft_ms is 300, over 200",)


def test_two_of_two_hundred_may_be_late(tmp_path: Path, catalog: Catalog) -> None:
    found = judged(answers(tmp_path / "t", ("as stated", 10, [100.0] * 198 + [300.0] * 2, 20, 0)), catalog)
    assert (found.holds_at, found.outcome) == (10, "confirmed")
    # but the 95 % interval of a P99 of 200 answers reaches from the 196th to the slowest
    assert "the target lies within the 95 % interval 100 to 300" in found.steps[0].doubts[0]
    assert found.notes == ('mix "long with long" was not run', "no step failed: the limit lies above 10; add steps to "
                           "plan.json to find it")  # fmt: skip


def test_errors_few_answers_and_a_step_above_a_failed_one(tmp_path: Path, catalog: Catalog) -> None:
    found = judged(answers(tmp_path / "t", ("as stated", 8, [100.0] * 20, 20, 0), ("as stated", 10, GOOD, 20, 3),
                           ("as stated", 12, GOOD, 20, 0)), catalog)  # fmt: skip
    assert (found.holds_at, found.first_failing) == (8, 10)
    assert found.steps[1].reasons == ("3 of 203 requests failed",)
    assert found.steps[0].doubts == ("ttft_ms: 20 answers are few for a p99",)
    nothing = judged(answers(tmp_path / "n", ("as stated", 8, [], 20, 5)), catalog)
    assert (nothing.holds_at, nothing.run_at_most) == (0, 0)


def test_statistics_by_hand() -> None:
    step = results.Step("m", 1, "Locust", times={"ttft_ms": [float(value) for value in range(1, 101)]})
    assert [step.value("ttft_ms", name) for name in ("mean", "p50", "p95", "p99")] == [50.5, 50, 95, 99]
    # ranks 50 +- 1.96 x 5: from the 40th to the 61st
    assert step.between("ttft_ms", "p50") == (40, 61)
    low, high = step.between("ttft_ms", "mean")
    assert (high - low) / 2 == pytest.approx(1.96 * 29.0115 / 10, rel=1e-3)


def test_rows_for_calibration_are_of_one_replica(tmp_path: Path, catalog: Catalog) -> None:
    folder = answers(tmp_path / "t", ("as stated", 8, GOOD, 20, 0), ("as stated", 10, GOOD, 60, 0),
                     ("long with long", 8, GOOD, 25, 0))  # fmt: skip
    plan, steps = results.read([folder], catalog)
    verdict.write(plan, verdict.judge(plan, steps), steps, tmp_path / "v")
    rows = measured.read(tmp_path / "v" / "loadtest_rows.csv", catalog)
    assert list(zip(rows["metric"], rows["value"], strict=True)) == [("ttft_ms", 100), ("tpot_ms", 20)]
    assert (rows["batch_requests"] == 4).all()  # 8 users over two replicas
    assert (rows["gpu_count"] == 1).all()
    assert set(rows["problem"]) == {""}
    assert set(rows["date"]) == {"2026-11-20"}


def test_results_of_vllm_bench_are_judged_too(tmp_path: Path, catalog: Catalog) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps(PLAN))
    for users, p99 in ((8, 150.0), (10, 260.0)):
        said = {
            "date": "20261120-101112", "backend": "openai-chat", "model_id": "Qwen/Qwen2.5-7B-Instruct",
            "tokenizer_id": "Qwen/Qwen2.5-7B-Instruct", "num_prompts": 100, "request_rate": "inf",
            "max_concurrency": users, "duration": 50.0, "completed": 100, "failed": 0, "total_input_tokens": 30000,
            "total_output_tokens": 10000, "request_throughput": 2.0, "output_throughput": 200.0,
            "total_token_throughput": 800.0, "mean_ttft_ms": 90.0, "median_ttft_ms": 80.0, "p99_ttft_ms": p99,
            "mean_tpot_ms": 20.0, "median_tpot_ms": 20.0, "p99_tpot_ms": 25.0, "mean_itl_ms": 20.0,
        }  # fmt: skip
        (folder / f"vllm-{users}.json").write_text(json.dumps(said))
    found = judged(folder, catalog)
    assert (found.holds_at, found.first_failing, found.notes) == (8, 10, ())
    assert found.steps[1].reasons == ("p99 of ttft_ms is 260, over 200",)
    said = json.loads((folder / "vllm-8.json").read_text())
    for name in ("p99_ttft_ms", "mean_tpot_ms", "median_tpot_ms", "p99_tpot_ms", "mean_itl_ms"):
        del said[name]
    (folder / "vllm-8.json").write_text(json.dumps(said))
    found = judged(folder, catalog)
    assert (found.holds_at, found.first_failing, found.outcome) == (0, 10, "refuted")
    assert "at 8: not judged, a time that has a target was not measured" in found.notes[0]
    said["model_id"] = "Qwen/Qwen3-8B"
    (folder / "vllm-8.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match="is of another model than the plan; read Qwen/Qwen3-8B"):
        judged(folder, catalog)


# What is broken ------------------------------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    code = cli.run_command([str(each) for each in arguments])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    return printed.err


def test_broken_results_name_their_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = answers(tmp_path / "t", ("as stated", 8, [100.0], 20, 0))
    with (folder / "results.csv").open("a") as file:
        file.write("as stated,eight,,1,1,1,1,1,1,1,1,\nas stated,8,,1,-5,1,1,1,1,1,1,\n")
    text = refused(capsys, "loadtest", "--read", folder)
    assert "results.csv:3: is not a line of a load test" in text
    assert "results.csv:4: is not a line of a load test" in text
    (folder / "results.csv").write_text(",".join(COLUMNS) + "\n")
    assert "has a header and no answer" in refused(capsys, "loadtest", "--read", folder)
    (folder / "results.csv").unlink()
    assert "has no results.csv; expected a run of the Locust file" in refused(capsys, "loadtest", "--read", folder)
    (folder / "plan.json").write_text('{"targets": {}}')
    assert "is no plan of a load test" in refused(capsys, "loadtest", "--read", folder)
    assert "needs the plan of the test once" in refused(capsys, "loadtest", "--read", tmp_path)
    assert "cannot be read" in refused(capsys, "loadtest", "--read", folder / "plan.json", folder / "none.csv")


def test_options_that_are_missing_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = refused(capsys, "loadtest", "scenario.yaml")
    assert "takes a scenario and a candidate" in text
    assert "--out: is missing" in text


# What is asked -------------------------------------------------------------------------------------------------------

SCENARIO = """\
title: {en: Load test, zh: 压力测试}
period: 2026-11
currency: USD
region: us
languages: [en, zh]
workload:
  input_tokens: {distribution: uniform, low: 100, high: 500}
  output_tokens: {distribution: uniform, low: 40, high: 80}
  demand: {peak_concurrency: 20}
targets: {tpot_p99_ms: 100, ttft_p99_ms: 2000}
matrix: {model: [qwen2.5-7b-instruct], quantization: [fp8], gpu: [l40s], count: [1], interconnect: [pcie]}
reports: []
"""
CANDIDATE = "qwen2.5-7b-instruct.fp8.l40s.1x.pcie"


def test_a_folder_from_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    folder = tmp_path / "out"
    assert cli.run_command(["loadtest", str(tmp_path / "s.yaml"), CANDIDATE, "--out", str(folder)]) == 0
    assert "recommended:" in capsys.readouterr().out
    assert sorted(each.name for each in folder.iterdir()) == [
        "README.md", "README.zh.md", "commands.sh", "locustfile.py", "mixes.json", "plan.json",
    ]  # fmt: skip
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    recommended = plan["recommended_concurrency"]
    assert plan["steps"][0] == int(0.8 * recommended + 1e-9)
    assert plan["steps"] == sorted(set(plan["steps"]))
    assert recommended in plan["steps"]
    assert plan["targets"] == {"ttft_ms": {"ms": 2000, "statistic": "p99"}, "tpot_ms": {"ms": 100, "statistic": "p99"}}
    mixes = {name: np.array(pairs) for name, pairs in json.loads((folder / "mixes.json").read_text()).items()}
    first, together, opposite = (mixes[name] for name in plans.MIXES)
    for other in (together, opposite):  # the same prompts, the same answers, put together otherwise
        assert (np.sort(other, axis=0) == np.sort(first, axis=0)).all()
    assert first[:, 0].mean() == pytest.approx(300, rel=0.02)
    assert np.corrcoef(first.T)[0, 1] == pytest.approx(0, abs=0.06)
    assert np.corrcoef(together.T)[0, 1] > 0.99
    assert np.corrcoef(opposite.T)[0, 1] < -0.99
    chinese = (folder / "README.zh.md").read_text(encoding="utf-8")
    assert "首词元时间：P99 不超过 2000 毫秒" in chinese
    assert str(recommended) in (folder / "README.md").read_text(encoding="utf-8")
    # results of a run are not written over
    (folder / "results.csv").write_text("mine")
    text = refused(capsys, "loadtest", tmp_path / "s.yaml", CANDIDATE, "--out", folder)
    assert "holds other files; read results.csv" in text


def test_the_same_load_in_other_tools() -> None:
    text = commands({**PLAN, "model_name": "a/model; rm -rf x"})
    runs = [line for line in text.splitlines() if line.startswith("vllm bench serve")]
    assert [line.split("--max-concurrency ")[1].split()[0] for line in runs] == ["8", "10", "12"]
    assert "--rate 8,10,12" in text
    assert text.count("'a/model; rm -rf x'") == 4  # a name is one word for the shell
    assert minutes(PLAN) == pytest.approx(3 * 3 * 65 / 60)


@pytest.mark.parametrize(
    ("recommended", "steps"), [(1, [1, 2]), (2, [1, 2, 3, 4]), (10, [8, 9, 10, 11, 12, 14, 15, 18, 20])]
)
def test_steps_are_whole_users(recommended: int, steps: list[int]) -> None:
    assert plans._steps(recommended) == steps
