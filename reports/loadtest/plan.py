"""What a load test asks and what must hold, from the scenario and the recommended load of one candidate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reports.errors import InputError, Problem
from reports.run import Run
from reports.scenario.services import Service
from reports.scenario.targets import NO_TARGET_MS
from reports.strict_yaml import did_you_mean

STEPS = (0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)
"""Users of each step over the recommended concurrency."""
PAIRS = 2000
"""Requests drawn for each mix; a longer test begins again."""
STEP_REQUESTS = 500
"""Answers that the smallest step should see: a P99 then rests on five of them."""
LEAST_STEP_S, MOST_STEP_S = 60, 1800
WARM_UP_ANSWERS = 2.0
"""Lives of a mean request before a step is measured."""
FAILED_SHARE = 0.01
TIMEOUT_FACTOR = 20
STATISTICS = ("mean", "p50", "p95", "p99")

AS_STATED, TOGETHER, OPPOSITE = "as stated", "long with long", "long with short"
MIXES = (AS_STATED, TOGETHER, OPPOSITE)
"""All three have the scenario's lengths of prompts and of answers; only which prompt gets which answer differs."""


def candidate_row(run: Run, candidate: str) -> pd.Series:
    """The evaluated candidate; InputError when there is none, or it cannot serve at all."""
    found = run.candidates[run.candidates["candidate_id"].astype(str) == candidate]
    if found.empty:
        ids = run.candidates["candidate_id"].astype(str)
        raise InputError(
            Problem(run.scenario.name, "no such candidate", read=f'"{candidate}"',
                    expected=f"one of the {len(ids)} ids that `gpubook matrix` lists, such as {ids.iloc[0]}",
                    hint=did_you_mean(candidate, ids))
        )  # fmt: skip
    row = found.iloc[0]
    if not row["recommended_concurrency"] >= 1:
        raise InputError(
            Problem(
                run.scenario.name,
                "has no recommended load to test",
                where=candidate,
                expected="a feasible candidate",
                hint=str(row.get("excuse_code", "")),
            )
        )
    return row


def make(
    run: Run, candidate: str, *, units: int = 1, seed: int = 1, statistic: str = ""
) -> tuple[dict[str, Any], dict[str, list[list[int]]]]:
    """The plan, and the requests of each mix as (prompt, answer) in tokens."""
    row = candidate_row(run, candidate)
    service = next(each for each in run.scenario.service_axis if each.name == row["service"])
    if service.targets is None:
        raise InputError(Problem(run.scenario.name, "has no targets, so nothing can hold or fail", where="targets"))
    if statistic not in ("", *STATISTICS):
        raise InputError(Problem("--statistic", "is unknown", read=statistic, expected=", ".join(STATISTICS)))
    model = run.catalog.models[row["model"]]
    engine = run.catalog.engines[run.scenario.engine]
    recommended = int(row["recommended_concurrency"]) * units
    mixes, clipped = _mixes(service, seed, model.max_context_tokens)
    # prefill and decode of a mean request
    request_s = (float(row["ttft_ms"]) + float(row["tpot_ms"]) * service.workload.output_tokens.mean) / 1000
    steps = _steps(recommended)
    step_s = min(max(math.ceil(STEP_REQUESTS * request_s / steps[0]), LEAST_STEP_S), MOST_STEP_S)
    plan = {
        "written_by": "gpubook loadtest", "scenario": run.scenario.name, "candidate": candidate,
        "service": service.name, "model": model.id, "model_name": model.huggingface_id or model.name,
        "gpu": str(row["gpu"]), "quantization": str(row["quantization"]), "kv_cache": run.scenario.kv_cache,
        "engine": engine.id, "interconnect": str(row["interconnect"]), "unit_cards": int(row["unit_cards"]),
        "tensor_parallel": int(row["tensor_parallel"]), "data_parallel": int(row["data_parallel"]),
        "pipeline_parallel": int(row["pipeline_parallel"]), "replicas": int(row["replicas"]) * units, "units": units,
        "recommended_concurrency": recommended, "safety_factor": float(row["safety_factor"]),
        "predicted": {"ttft_ms": float(row["ttft_ms"]), "tpot_ms": float(row["tpot_ms"])},
        "targets": _targets(service, statistic), "most_failed_share": FAILED_SHARE, "steps": steps,
        "step_seconds": step_s, "warm_up_seconds": math.ceil(max(WARM_UP_ANSWERS * request_s, 5)),
        "spawn_rate": max(steps[-1] // 10, 1), "timeout_seconds": math.ceil(max(TIMEOUT_FACTOR * request_s, 60)),
        "seed": seed, "mixes": list(MIXES), "prefix_hit_share": float(service.workload.prefix_hit_share),
        "path": "/v1/chat/completions",
        "more_body": {"ignore_eos": True}, "clipped_requests": clipped,
        "input_mean_tokens": service.workload.input_tokens.mean,
        "input_deviation_tokens": service.workload.input_tokens.deviation,
        "output_mean_tokens": service.workload.output_tokens.mean,
        "output_deviation_tokens": service.workload.output_tokens.deviation,
    }  # fmt: skip
    return plan, mixes


def _targets(service: Service, statistic: str) -> Mapping[str, Any]:
    targets = service.targets
    assert targets is not None
    found: dict[str, dict[str, Any]] = {
        "ttft_ms": {"ms": targets.ttft_ms, "statistic": statistic or targets.ttft_statistic},
        "tpot_ms": {"ms": targets.tpot_ms, "statistic": statistic or targets.tpot_statistic},
        "answer_ms": {"ms": targets.answer_ms, "statistic": statistic or targets.answer_statistic},
    }
    return {name: each for name, each in found.items() if each["ms"] < NO_TARGET_MS}


def _steps(recommended: int) -> list[int]:
    """Whole users of every step, each once: down below the recommendation, up above it."""
    users = [math.floor(recommended * share + 1e-9) if share < 1 else math.ceil(recommended * share - 1e-9)
             for share in STEPS]  # fmt: skip
    return sorted({max(each, 1) for each in users})


def _mixes(service: Service, seed: int, most_tokens: int) -> tuple[dict[str, list[list[int]]], int]:
    """The same prompts and answers, drawn once, put together in three ways; what is too long for the model is cut."""
    drawn = service.workload.draw(PAIRS, np.random.default_rng(seed))
    prompt, answer = drawn.input_tokens, drawn.output_tokens
    order = np.argsort(prompt, kind="stable")
    ways = {AS_STATED: answer, TOGETHER: np.sort(answer)[_ranks(order)], OPPOSITE: np.sort(answer)[::-1][_ranks(order)]}
    clipped = 0
    mixes: dict[str, list[list[int]]] = {}
    for name, answers in ways.items():
        fitting = np.minimum(prompt, np.maximum(most_tokens - answers, 1))
        clipped += int((fitting < prompt).sum())
        mixes[name] = np.column_stack([fitting, answers]).tolist()
    return mixes, clipped


def _ranks(order: Any) -> Any:
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks
