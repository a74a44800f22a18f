"""What the free text beside a measured row says: parallel layout, arrivals, length of the run, speculative decoding."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_NUMBER = r"(\d+(?:\.\d+)?)"

PATTERNS: dict[str, re.Pattern[str]] = {
    "data_parallel": re.compile(r"\battn_dp=(\d+)"),
    "deployed_data_parallel": re.compile(r"\bDEP(\d+)(?:PP\d+)?\b(?=\s|;|\(|$)"),
    "request_rate_per_s": re.compile(rf"(?:request rate|QPS=|rate=)\s*{_NUMBER}", re.IGNORECASE),
    "requests": re.compile(rf"\b(?:n_req|num_requests)=\s*{_NUMBER}|\b{_NUMBER} (?:requests|prompts)\b"),
    "duration_s": re.compile(rf"\b(?:dur_s|elapsed)=\s*{_NUMBER}"),
    "peak_requests": re.compile(rf"\bpeak concurrent {_NUMBER}"),
    "sequence_limit": re.compile(rf"\bmax_num_seqs=\s*{_NUMBER}|--max-num-seqs[ =]{_NUMBER}"),
    "chunk_tokens": re.compile(rf"--max-num-batched-tokens[ =]{_NUMBER}"),
    "utilisation": re.compile(rf"\bgmu=\s*{_NUMBER}|gpu[-_]memory[-_]utilization[ =]{_NUMBER}"),
    "instances": re.compile(rf"\binstances={_NUMBER} x"),
    "instance_tensor_parallel": re.compile(r"\binstances=\d+ x \(tp(\d+)"),
    "total_tokens_per_request": re.compile(rf"mean in\+out tokens/req={_NUMBER}"),
    "total_tokens": re.compile(rf"\btotal_tokens={_NUMBER}"),
}

FLAGS: dict[str, re.Pattern[str]] = {
    "speculative": re.compile(r"(?<!no )\bspec(?:ulative|ulative[- ]decoding)\b|\bspeculative[-_]", re.IGNORECASE),
    "burst": re.compile(r"\ball requests at once|rate[ =]inf|QPS=INF|\brequests at once", re.IGNORECASE),
    "offline": re.compile(r"\boffline\b", re.IGNORECASE),
    "static": re.compile(r"\bstatic batch", re.IGNORECASE),
    "short_prompt": re.compile(r"\bshort prompt|\bshort context", re.IGNORECASE),
    "recipe_attention_data_parallel": re.compile(r"attention-DP per recipe", re.IGNORECASE),
    "layer_split": re.compile(r"layer/pipeline split|layer split", re.IGNORECASE),
    "disaggregated": re.compile(r"^disagg\b", re.IGNORECASE),
    "enable_dp_attention": re.compile(r"--enable-dp-attention", re.IGNORECASE),
    "prefix_cache": re.compile(r"prefix[- ]cache|cache hits", re.IGNORECASE),
    "hybrid_tokens": re.compile(r"concurrency x max_model_len", re.IGNORECASE),
    "median": re.compile(r";\s*mean;\s*median=", re.IGNORECASE),
}


def parse(note: str) -> dict[str, Any]:
    """Numbers and flags found in one note; what is not mentioned is absent."""
    found: dict[str, Any] = {}
    for name, pattern in PATTERNS.items():
        hit = pattern.search(note)
        if hit:
            found[name] = float(next(group for group in hit.groups() if group is not None))
    for name, pattern in FLAGS.items():
        if pattern.search(note):
            found[name] = True
    if "not stated" in note and re.search(r"spec-decode not stated", note):
        found.pop("speculative", None)
    return found


def parser() -> Callable[[str], dict[str, Any]]:
    """``parse`` with a memory: files repeat few notes over many rows."""
    seen: dict[str, dict[str, Any]] = {}

    def remembered(note: str) -> dict[str, Any]:
        if note not in seen:
            if len(seen) > 100_000:
                seen.clear()
            seen[note] = parse(note)
        return seen[note]

    return remembered
