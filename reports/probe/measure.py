"""Measures copies between host and cards with PyTorch, where it and a card are there: repeats, and an interval."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from scipy import special

from reports.probe.bandwidth import Transfer

SIZE_BYTES = 256 * 1024 * 1024
WARM_UP = 3
REPEATS = 20
CONFIDENCE = 0.95


def torch_with_cards() -> tuple[Any, str]:
    """PyTorch, and '' ; or None and the reason why nothing can be measured here."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None, "PyTorch is not installed"
    if not torch.cuda.is_available():
        return None, "PyTorch sees no card"
    return torch, ""


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean, and its low and high with 95 % confidence (Student's t)."""
    mean, count = float(values.mean()), len(values)
    if count < 2:
        return mean, mean, mean
    half = float(special.stdtrit(count - 1, (1 + CONFIDENCE) / 2) * values.std(ddof=1) / np.sqrt(count))
    return mean, mean - half, mean + half


def transfers(torch: Any) -> tuple[Transfer, ...]:
    """Host to card and back, pinned memory, for every visible card; GB/s."""
    found = []
    for index in range(torch.cuda.device_count()):
        device = torch.device("cuda", index)
        host = torch.empty(SIZE_BYTES, dtype=torch.uint8, pin_memory=True)
        card = torch.empty(SIZE_BYTES, dtype=torch.uint8, device=device)
        for kind, target, source in (("h2d", card, host), ("d2h", host, card)):
            rates = np.array(
                [SIZE_BYTES / _seconds(torch, device, target, source) / 1e9 for _ in range(WARM_UP + REPEATS)]
            )
            mean, low, high = interval(rates[WARM_UP:])
            found.append(Transfer(
                kind, mean, low, high, REPEATS, str(torch.cuda.get_device_name(index)), f"card {index} of this server",
                f"PyTorch, pinned memory, {SIZE_BYTES / 1e6:.0f} MB, mean of {REPEATS} repeats with its 95 % interval",
            ))  # fmt: skip
    return tuple(found)


def _seconds(torch: Any, device: Any, target: Any, source: Any) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize(device)
    with torch.cuda.device(device):
        begin.record()
        target.copy_(source, non_blocking=True)
        end.record()
    torch.cuda.synchronize(device)
    return float(begin.elapsed_time(end)) / 1000
