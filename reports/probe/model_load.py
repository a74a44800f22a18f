"""Loads a model in steps with PyTorch and measures what it takes: weights, KV cache a token, activations; repeats."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from reports.probe.measure import torch_with_cards
from reports.probe.model_files import ModelFiles

PROMPTS = (256, 1024)
"""Tokens of the two prompts whose difference is the KV cache of a token."""
REPEATS = 3

Loaded = dict[str, dict[str, float]]


def load(path: Path, found: ModelFiles) -> tuple[Loaded | None, str]:
    """Mean and standard deviation over repeats, in bytes; or None and why nothing was loaded."""
    torch, reason = torch_with_cards()
    if torch is None:
        return None, reason
    if not path.is_dir():
        return None, "a folder with the weights is needed"
    try:
        transformers = importlib.import_module("transformers")
    except ImportError:
        return None, "the package transformers is not installed"
    runs: list[dict[str, float]] = []
    stopped = ""
    for _ in range(REPEATS):
        run: dict[str, float] = {}
        try:
            _steps(torch, transformers, path, found, run)
        except (RuntimeError, OSError, ValueError) as error:  # out of memory is a RuntimeError
            stopped = f"stopped after {', '.join(run) or 'nothing'}: {str(error)[:200]}"
        if run:
            runs.append(run)
        torch.cuda.empty_cache()
        if stopped:
            break
    names = list(dict.fromkeys(name for run in runs for name in run))
    values = {name: np.array([run[name] for run in runs if name in run]) for name in names}
    return {
        name: {"mean": float(each.mean()), "deviation": float(each.std(ddof=1)) if len(each) > 1 else 0.0,
               "repeats": float(len(each))}
        for name, each in values.items()
    } or None, stopped  # fmt: skip


def _steps(torch: Any, transformers: Any, path: Path, found: ModelFiles, run: dict[str, float]) -> None:
    """One load: each figure is put into ``run`` as soon as it is known, so that what was reached is kept."""
    cuda = torch.cuda
    before = cuda.memory_allocated()
    model = transformers.AutoModelForCausalLM.from_pretrained(str(path), torch_dtype="auto", device_map="cuda:0")
    run["weights_bytes"] = cuda.memory_allocated() - before
    kept: list[float] = []
    for tokens in PROMPTS:
        prompt = torch.ones((1, tokens), dtype=torch.long, device="cuda:0")
        start = cuda.memory_allocated()
        cuda.reset_peak_memory_stats()
        with torch.no_grad():
            output = model(prompt, use_cache=True, num_logits_to_keep=1)
        peak = cuda.max_memory_allocated() - start
        cache = output.past_key_values
        del output
        kept.append(cuda.memory_allocated() - start)
        run[f"activation_bytes_{tokens}_tokens"] = peak - kept[-1]
        del cache, prompt
    run["kv_bytes_per_token"] = (kept[1] - kept[0]) / (PROMPTS[1] - PROMPTS[0])
    del model


def lines(loaded: Loaded | None, reason: str) -> list[str]:
    """What was measured, or that it was not and why."""
    said = [
        f"measured: {name.replace('_', ' ')}: {each['mean']:,.0f} +- {each['deviation']:,.0f} "
        f"({each['repeats']:.0f} loads)"
        for name, each in (loaded or {}).items()
    ]
    if reason:
        said.append(f"not measured on a card: {reason}; the figures above are computed from the files" if not loaded
                    else reason)  # fmt: skip
    return said
