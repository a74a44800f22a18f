"""Writes the folder of a load test: plan, requests, the Locust file, the same in other tools, and how to run it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from reports.errors import InputError, Problem
from reports.paths import templates_folder
from reports.render.i18n import translator
from reports.writing import replace_folder, write_atomically

PLAN, MIXES, RESULTS, LOCUSTFILE, COMMANDS = "plan.json", "mixes.json", "results.csv", "locustfile.py", "commands.sh"
_OURS = {PLAN, MIXES, LOCUSTFILE, COMMANDS, "README.md", "README.zh.md"}
PROMPTS_PER_USER = 10


def refuse_used(folder: Path) -> None:
    """InputError where something else than a load test lies in the folder, results of a run above all."""
    if folder.is_dir() and (strange := sorted(each.name for each in folder.iterdir() if each.name not in _OURS)):
        raise InputError(Problem(str(folder), "holds other files", read=", ".join(strange[:5]), expected="a new folder",
                                 hint="choose another with --out; results of a run are not written over"))  # fmt: skip


def write(
    plan: Mapping[str, Any], mixes: Mapping[str, Sequence[Sequence[int]]], languages: Sequence[str], folder: Path
) -> tuple[Path, ...]:
    """Write the folder in one step."""
    folder = Path(folder)
    refuse_used(folder)
    with replace_folder(folder) as draft:
        write_atomically(draft / PLAN, json.dumps(plan, ensure_ascii=False, indent=1) + "\n")
        write_atomically(draft / MIXES, json.dumps(mixes, separators=(",", ":")) + "\n")
        write_atomically(draft / LOCUSTFILE, (templates_folder() / "loadtest" / LOCUSTFILE).read_bytes())
        write_atomically(draft / COMMANDS, commands(plan))
        for language in languages:
            name = "README.md" if language == "en" else f"README.{language}.md"
            write_atomically(draft / name, readme(plan, language))
    return tuple(sorted(folder.iterdir()))


def readme(plan: Mapping[str, Any], language: str) -> str:
    """How to run the test and how to read its result."""
    environment = SandboxedEnvironment(
        loader=FileSystemLoader(templates_folder()), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        autoescape=False, keep_trailing_newline=True,
    )  # fmt: skip
    translate = translator(language)
    text = environment.get_template("loadtest/README.md.j2").render(plan=plan, _=translate, minutes=minutes(plan))
    translate.require_complete()
    return text


def minutes(plan: Mapping[str, Any]) -> float:
    """The longest the test may take: every step of every mix."""
    step = plan["step_seconds"] + plan["warm_up_seconds"]
    return float(3 * len(plan["steps"]) * step) / 60


def commands(plan: Mapping[str, Any]) -> str:
    """Much the same with the two benchmarks that serving engines bring along, each step of it."""
    model, host = shlex.quote(plan["model_name"]), '"$HOST"'
    lines = [
        "#!/bin/sh", "# Much the same load with other tools: one mix, lengths by mean and spread.",
        'HOST="${1:?usage: commands.sh http://SERVER:8000}"', "set -e", "",
        "# vLLM: one run for each step; stop at the first that misses a target.",
        *(_vllm(plan, model, host, users) for users in plan["steps"]), "",
        "# GuideLLM: all steps in one run.", _guidellm(plan, model, host),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _vllm(plan: Mapping[str, Any], model: str, host: str, users: int) -> str:
    ratio = min(plan["output_deviation_tokens"] / plan["output_mean_tokens"] * 3**0.5, 0.9)
    options = {
        "--backend": "openai-chat", "--endpoint": plan["path"], "--base-url": host, "--model": model,
        "--dataset-name": "random", "--random-input-len": f"{plan['input_mean_tokens']:.0f}",
        "--random-output-len": f"{plan['output_mean_tokens']:.0f}", "--random-range-ratio": f"{ratio:.2f}",
        "--max-concurrency": users, "--num-prompts": users * PROMPTS_PER_USER, "--seed": plan["seed"],
        "--percentile-metrics": "ttft,tpot,itl,e2el", "--metric-percentiles": "50,95,99",
        "--result-filename": f"vllm-{users}.json", "--metadata": f"tensor_parallel_size={plan['tensor_parallel']}",
    }  # fmt: skip
    return "vllm bench serve --ignore-eos --save-result " + " ".join(
        f"{name} {value}" for name, value in options.items()
    )


def _guidellm(plan: Mapping[str, Any], model: str, host: str) -> str:
    data = ",".join((
        f"prompt_tokens={plan['input_mean_tokens']:.0f}", f"prompt_tokens_stdev={plan['input_deviation_tokens']:.0f}",
        f"output_tokens={plan['output_mean_tokens']:.0f}", f"output_tokens_stdev={plan['output_deviation_tokens']:.0f}",
    ))  # fmt: skip
    rates = ",".join(str(users) for users in plan["steps"])
    return (f"guidellm benchmark --target {host} --model {model} --rate-type concurrent --rate {rates} "
            f"--max-seconds {plan['step_seconds']} --data {shlex.quote(data)} --output-path guidellm.json")  # fmt: skip
