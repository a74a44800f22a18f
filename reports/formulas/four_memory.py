"""Memory of the four bottlenecks: what is loaded, what each request keeps, what a step needs, and how many fit.

The need grows with the number of requests in more than one way (pages, tokens of a step, a measured polynomial), so no
quotient says how many fit: the largest load is searched, exactly, since the need never falls as requests are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import BYTES_PER_16BIT, BYTES_PER_GB, PARAMETERS_PER_BILLION
from reports.formulas.memory import scheduling_tokens
from reports.formulas.meta import ceil, floor, formula

SOURCE = ("four-bottleneck-note",)


@formula(unit="tokens", label="Tokens a request keeps", symbol="s", sources=SOURCE)
def context_tokens(input_p95_tokens: Any, output_p95_tokens: Any) -> Any:
    """Prompt and answer at their 95th percentiles together: nobody is thrown out while all requests are that long."""
    return input_p95_tokens + output_p95_tokens


@formula(unit="GB", label="Weights as loaded", symbol="M_w", sources=SOURCE)
def weights_gb(
    parameters_b: Any,
    vocabulary_size: Any,
    hidden_size: Any,
    tied_embeddings: Any,
    nominal_bytes_per_parameter: Any,
    four_offload_flag: Any,
    four_sharding_factor: Any,
) -> Any:
    """Layers at the format's bytes, embedding and output table at 16 bit; the embedding may lie in host memory. What
    sharding replicates or pads is a factor on all of it."""
    return (
        (
            (parameters_b * PARAMETERS_PER_BILLION - vocabulary_size * hidden_size * (2 - tied_embeddings))
            * nominal_bytes_per_parameter
            + vocabulary_size * hidden_size * (2 - tied_embeddings - four_offload_flag) * BYTES_PER_16BIT
        )
        * four_sharding_factor
        / BYTES_PER_GB
    )


@formula(unit="GB", label="LoRA adapters", symbol="M_{lora}", sources=SOURCE)
def adapters_gb(four_lora_copies: Any, four_lora_gb: Any) -> Any:
    """Adapters that stay loaded beside the weights."""
    return four_lora_copies * four_lora_gb


@formula(unit="bytes", label="KV cache of a token", symbol="k_{tok}", sources=SOURCE)
def kv_token_bytes(four_kv_bytes_per_token: Any, kv_elements_per_token: Any, kv_bytes_per_element: Any) -> Any:
    """As measured where somebody did, else what the shape of the model gives at the type of the cache."""
    return np.where(four_kv_bytes_per_token > 0, four_kv_bytes_per_token, kv_elements_per_token * kv_bytes_per_element)


@formula(unit="GB", label="KV cache of a request", symbol="m_{kv}", sources=SOURCE)
def kv_request_gb(context_tokens: Any, four_page_tokens: Any, kv_token_bytes: Any, four_page_padding_share: Any) -> Any:
    """Whole pages, and what the allocator pads."""
    return (
        ceil(context_tokens / four_page_tokens)
        * four_page_tokens
        * kv_token_bytes
        * (1 + four_page_padding_share)
        / BYTES_PER_GB
    )


@formula(unit="GB", label="Memory that does not depend on the load", symbol="M_0", sources=SOURCE)
def fixed_gb(
    weights_gb: Any,
    adapters_gb: Any,
    four_compile_flag: Any,
    four_compile_gb: Any,
    unit_cards: Any,
    four_reserve_gb: Any,
) -> Any:
    """Weights, adapters, what torch.compile keeps where it is on, and the reserve of the engine on each card."""
    return weights_gb + adapters_gb + four_compile_flag * four_compile_gb + unit_cards * four_reserve_gb


@formula(unit="GB", label="Memory that can be used", symbol="M", sources=SOURCE)
def memory_pool_gb(unit_cards: Any, memory_nominal_gb: Any, four_fragmentation_share: Any) -> Any:
    """All cards, less the fragments of the worst card: dividing every need by 1 less that share is the same."""
    return unit_cards * memory_nominal_gb * (1 - four_fragmentation_share)


@formula(unit="GB", label="Room for requests", symbol="M_{kv}", sources=SOURCE)
def kv_space_gb(memory_pool_gb: Any, fixed_gb: Any) -> Any:
    """What is left before the first request."""
    return np.maximum(memory_pool_gb - fixed_gb, 0)


@formula(unit="requests", label="Requests that memory surely does not exceed", symbol="B_{top}", sources=SOURCE)
def memory_ceiling_requests(kv_space_gb: Any, kv_request_gb: Any) -> Any:
    """The KV cache alone fills the room: where the search starts."""
    return floor(kv_space_gb / kv_request_gb)


BEFORE = (
    context_tokens,
    weights_gb,
    adapters_gb,
    kv_token_bytes,
    kv_request_gb,
    scheduling_tokens,
    fixed_gb,
    memory_pool_gb,
    kv_space_gb,
    memory_ceiling_requests,
)


@formula(unit="GB", label="Activations of a step", symbol="M_{act}", sources=SOURCE)
def activations_gb(
    batch_requests: Any,
    unit_cards: Any,
    scheduling_tokens: Any,
    hidden_size: Any,
    activation_buffer_copies: Any,
    four_activation_factor: Any,
    context_tokens: Any,
) -> Any:
    """Buffers of the prompt's chunk and of one token of every running request, on each card; or the measured
    polynomial, the square of the requests times the 1.5th power of their tokens, where its factor is given."""
    return np.where(
        four_activation_factor > 0,
        four_activation_factor * batch_requests**2 * context_tokens * np.sqrt(context_tokens),
        unit_cards
        * (scheduling_tokens + batch_requests)
        * hidden_size
        * BYTES_PER_16BIT
        * activation_buffer_copies
        / BYTES_PER_GB,
    )


@formula(unit="GB", label="Memory needed", symbol="M_{need}", sources=SOURCE)
def memory_needed_gb(fixed_gb: Any, batch_requests: Any, kv_request_gb: Any, activations_gb: Any) -> Any:
    """Of so many requests together; it never falls as one more is added."""
    return fixed_gb + batch_requests * kv_request_gb + activations_gb


@formula(unit="GB", label="Memory that one request more would take", symbol="\\Delta M", sources=SOURCE)
def memory_next_gb(
    kv_request_gb: Any,
    four_activation_factor: Any,
    batch_requests: Any,
    context_tokens: Any,
    unit_cards: Any,
    hidden_size: Any,
    activation_buffer_copies: Any,
) -> Any:
    """Its keys and values, and what the activations grow by."""
    return kv_request_gb + np.where(
        four_activation_factor > 0,
        four_activation_factor * (2 * batch_requests + 1) * context_tokens * np.sqrt(context_tokens),
        unit_cards * hidden_size * BYTES_PER_16BIT * activation_buffer_copies / BYTES_PER_GB,
    )


@formula(unit="GB", label="Memory left over", symbol="M_{left}", sources=SOURCE)
def memory_left_gb(memory_pool_gb: Any, memory_needed_gb: Any) -> Any:
    """Less than one request more would take: the proof that the search found the limit."""
    return memory_pool_gb - memory_needed_gb


AT_LIMIT = (activations_gb, memory_needed_gb, memory_next_gb, memory_left_gb)

FORMULAS = (*BEFORE, *AT_LIMIT)
