"""What a model's published shape implies: parameters by kind, tokens a request holds, work of one attention step."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import PARAMETERS_PER_BILLION
from reports.formulas.meta import formula


@formula(unit="tokens", label="Tokens a request holds on average", symbol="S", sources=("workload", "roofline-note"))
def resident_tokens(input_mean_tokens: Any, output_mean_tokens: Any, output_deviation_tokens: Any) -> Any:
    """Prompt and half of the answer, averaged over those that run at one moment: long answers run longer, so a moment
    finds more of them than their share of the requests (mean square over twice the mean)."""
    return (
        input_mean_tokens + output_mean_tokens * (1 + (output_deviation_tokens / output_mean_tokens) ** 2) / 2
    )


@formula(unit="1e9", label="Parameters of the output head", symbol="P_{head}", sources=("roofline-note",))
def head_parameters_b(vocabulary_size: Any, hidden_size: Any) -> Any:
    """Vocabulary times hidden size; an untied model holds the same number again as input embeddings."""
    return vocabulary_size * hidden_size / PARAMETERS_PER_BILLION


@formula(unit="1e9", label="Parameters of one routed expert, all layers", symbol="e", sources=("roofline-note",))
def expert_parameters_b(hidden_size: Any, expert_intermediate_size: Any, expert_matrices: Any, moe_layers: Any) -> Any:
    """Gate, up and down projections of one expert index summed over the layers that have experts."""
    return expert_matrices * hidden_size * expert_intermediate_size * moe_layers / PARAMETERS_PER_BILLION


@formula(unit="1e9", label="Parameters outside experts and embeddings", symbol="R", sources=("roofline-note",))
def dense_parameters_b(
    parameters_b: Any, experts: Any, expert_parameters_b: Any, head_parameters_b: Any, tied_embeddings: Any
) -> Any:
    """What every token reads: attention, dense layers, shared experts, norms."""
    return np.maximum(parameters_b - experts * expert_parameters_b - head_parameters_b * (2 - tied_embeddings), 0)


@formula(unit="layers", label="Layers with full attention", symbol="L_{full}", sources=("roofline-note",))
def full_attention_layers(
    latent_attention: Any, layers: Any, kv_elements_per_token_full_layers: Any, kv_heads: Any, head_dim: Any
) -> Any:
    """From the KV elements that grow with the whole context; a latent model attends in every layer."""
    return np.where(latent_attention > 0, layers, kv_elements_per_token_full_layers / (2 * kv_heads * head_dim))


@formula(unit="tokens", label="Tokens attended to by one decode step", symbol="S_{att}", sources=("roofline-note",))
def attended_tokens(sparse_layers: Any, resident_tokens: Any, sparse_attention_tokens: Any) -> Any:
    """Sparse attention reads at most its top-k tokens; every other kind reads all that is resident."""
    return np.where(sparse_layers > 0, np.minimum(resident_tokens, sparse_attention_tokens), resident_tokens)


FORMULAS = (
    resident_tokens,
    head_parameters_b,
    expert_parameters_b,
    dense_parameters_b,
    full_attention_layers,
    attended_tokens,
)
