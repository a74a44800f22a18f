"""Short symbols of the inputs in equations; formulas carry their own. One without a symbol is its name in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reports.formulas.meta import Formula, info

SYMBOLS: dict[str, str] = {
    # card
    "memory_nominal_gb": "M_{nom}",
    "memory_usable_gib": "M",
    "memory_bandwidth_gb_per_s": "W",
    "peak_16bit_tflops": "F_{16}",
    "peak_fp8_tflops": "F_{8}",
    "peak_int8_tops": "F_{i8}",
    "peak_fp4_tflops": "F_{4}",
    "dense_peak_tflops": "F",
    "expert_peak_tflops": "F_{e}",
    "tdp_w": "P_{card}",
    "kernel_time_factor": "g",
    "rocm": "1_{rocm}",
    # model
    "parameters_b": "P",
    "layers": "L",
    "hidden_size": "d",
    "attention_heads": "n_{h}",
    "kv_heads": "n_{kv}",
    "head_dim": "d_{h}",
    "vocabulary_size": "V",
    "tied_embeddings": "1_{tied}",
    "moe_layers": "L_{e}",
    "experts": "E",
    "experts_per_token": "k",
    "expert_intermediate_size": "d_{e}",
    "expert_matrices": "n_{mat}",
    "kv_elements_per_token": "K",
    "kv_elements_per_token_full_layers": "K_{full}",
    "sliding_window_tokens": "w",
    "latent_attention": "1_{mla}",
    "latent_rank": "r",
    "rope_head_dim": "d_{r}",
    "v_head_dim": "d_{v}",
    "linear_layers": "L_{lin}",
    "linear_state_elements": "K_{lin}",
    "linear_state_bytes_per_element": "b_{lin}",
    "sparse_layers": "L_{sp}",
    "multimodal": "1_{mm}",
    "vision_parameters_b": "P_{vis}",
    # quantization
    "nominal_bytes_per_parameter": "b",
    "rule_weight_factor": "f_{16}",
    "dense_bytes_per_parameter": "b_{d}",
    "expert_bytes_per_parameter": "b_{e}",
    "dense_read_factor": "\\rho_{d}",
    "expert_read_factor": "\\rho_{e}",
    "fp8_block_scales": "1_{blk}",
    "int4_experts": "1_{i4}",
    "block_scaled_weights": "1_{scl}",
    "fp4_activations": "1_{a4}",
    "fused_experts": "1_{fus}",
    "expert_width_multiple": "q",
    # engine and link
    "engine_time_factor": "\\phi",
    "engine_host_factor": "\\phi_{h}",
    "engine_ttft_offset_ms": "t_{off}",
    "engine_batch_requests": "B_{cfg}",
    "allreduce_alpha_us": "\\alpha",
    "allreduce_bus_gb_per_s": "W_{bus}",
    # assumptions on capacity
    "memory_utilisation": "u_{mem}",
    "overhead_base_gib": "o_{0}",
    "overhead_rocm_gib": "o_{rocm}",
    "overhead_multimodal_gib": "o_{mm}",
    "overhead_activation_factor": "o_{act}",
    "overhead_moe_factor": "o_{e}",
    "activation_buffer_copies": "n_{buf}",
    "chunk_threshold_gb": "M_{th}",
    "chunk_small_tokens": "T_{small}",
    "chunk_large_tokens": "T_{large}",
    "eta_weights": "\\eta_{w}",
    "eta_kv": "\\eta_{kv}",
    "eta_experts": "\\eta_{e}",
    "free_share_flag": "1_{free}",
    "memory_highest_utilisation": "u_{top}",
    "memory_tight_share": "s_{top}^{mem}",
    "kernel_floor_us": "\\tau",
    "kernels_per_layer": "\\kappa",
    "kernels_per_moe_layer": "\\kappa_{e}",
    "kernels_per_latent_layer": "\\kappa_{mla}",
    "kernels_per_fp8_block_moe_layer": "\\kappa_{blk}",
    "kernels_per_int4_moe_layer": "\\kappa_{i4}",
    "kernels_per_fp8_block_layer": "\\kappa_{scl}",
    "kernels_per_fp4_layer": "\\kappa_{a4}",
    "kernels_per_linear_layer": "\\kappa_{lin}",
    "kernels_per_sparse_layer": "\\kappa_{sp}",
    "launch_reference_hidden_size": "d_{ref}",
    "launch_width_exponent": "\\gamma",
    "mfu_prefill": "\\mu_{pre}",
    "mfu_decode": "\\mu_{dec}",
    "mfu_moe": "\\mu_{e}",
    "moe_tile_tokens": "T_{tile}",
    "mfu_attention": "\\mu_{att}",
    "activation_passes": "n_{act}",
    "moe_activation_factor": "a_{e}",
    "host_base_ms": "h_{0}",
    "host_us_per_sequence": "h_{1}",
    "host_reference_vocabulary_size": "V_{ref}",
    "pipeline_hop_us": "\\tau_{pp}",
    "dispatch_alpha_factor": "a_{dis}",
    "data_parallel_prefill_factor": "f_{dp}",
    "sparse_attention_tokens": "s_{top}",
    "sparse_index_bytes_per_token": "b_{idx}",
    "ttft_launches": "c_{1}",
    "ttft_steps": "c_{2}",
    "ttft_queue_factor": "c_{3}",
    # rule of thumb
    "rule_usable_memory_share": "u",
    "rule_fragmentation_factor": "f_{frag}",
    "rule_prefill_utilisation": "\\mu_{pre}",
    "rule_prefill_utilisation_pcie": "\\mu_{pcie}",
    "rule_tokens_per_s": "v",
    "rule_pcie_link_factor": "f_{pcie}",
    # four bottlenecks
    "memory_searched_requests": "B_{mem}",
    "four_page_tokens": "s_{page}",
    "four_fragmentation_share": "f_{frag}",
    "four_compile_gb": "M_{comp}",
    "four_reserve_gb": "M_{res}",
    "host_link_gb_per_s": "W_{link}",
    "four_prefill_utilisation": "u_{pre}",
    "four_decode_utilisation": "u_{dec}",
    "cpu_cores": "n_{cpu}",
    "cpu_clock_ghz": "f_{cpu}",
    "asked_requests": "C_{ask}",
    "curve_first_tflops": "F_{1}",
    "four_curve_first_tokens": "s_{1}",
    "curve_second_tflops": "F_{2}",
    "four_curve_second_tokens": "s_{2}",
    "curve_third_tflops": "F_{3}",
    "four_curve_third_tokens": "s_{3}",
    "curve_fourth_tflops": "F_{4}",
    "four_curve_fourth_tokens": "s_{4}",
    "four_activation_factor": "a_{act}",
    "four_token_tflop": "w_{tok}",
    "four_link_bytes_per_token": "b_{card}",
    "four_host_bytes_per_token": "b_{host}",
    "four_link_loss_share_per_celsius": "\\lambda_{\\vartheta}",
    "four_link_celsius": "\\vartheta",
    "four_link_reference_celsius": "\\vartheta_{0}",
    "four_switch_pieces": "n_{sw}",
    "four_lane_pieces": "n_{lane}",
    "four_reference_ghz": "f_{0}",
    # money
    "safety_factor": "\\sigma",
    "average_utilisation": "u_{avg}",
    "annual_discount_rate": "r_{year}",
    "pue": "PUE",
    "electricity_price_per_kwh": "p_{el}",
    "colocation_price_per_kw_month": "p_{colo}",
    "maintenance_share_per_year": "s_{mnt}",
    "network_share": "s_{net}",
    "residual_share": "s_{res}",
    "idle_power_share": "s_{idle}",
    "rent_offer_price_per_card_hour": "p_{offer}",
    "rent_offer_exchange_rate": "x_{offer}",
    "rent_instance_cards": "n_{inst}",
    "rent_median_price_per_card_hour": "p_{med}",
    "exchange_rate": "x",
    "server_price": "p_{quote}",
    "server_exchange_rate": "x_{quote}",
    "server_cards": "n_{srv}",
    "server_power_kw": "P_{srv}",
    # scenario
    "input_mean_tokens": "s_{in}",
    "input_p95_tokens": "s_{in}^{95}",
    "output_mean_tokens": "s_{out}",
    "output_p95_tokens": "s_{out}^{95}",
    "length_is_p95": "1_{95}",
    "units_as_published": "1_{pub}",
    "kv_bytes_per_element": "b_{kv}",
    "tpot_target_ms": "TPOT^{*}",
    "ttft_target_ms": "TTFT^{*}",
    "horizon_months": "H",
    "demand_peak_concurrency": "D_{peak}",
    "demand_requests_per_s": "\\lambda_{in}",
    "demand_runs_per_month": "m_{job}",
    # layout and search
    "unit_cards": "N_{unit}",
    "replicas": "n_{rep}",
    "tensor_parallel": "tp",
    "data_parallel": "dp",
    "pipeline_parallel": "pp",
    "stage_servers": "n_{stg}",
    "link_is_nvlink": "1_{nvl}",
    "tpot_requests": "B_{TPOT}",
    "ttft_requests": "B_{TTFT}",
    # load tests
    "offline_prefill_factor": "f_{off}",
    "burst_base_ms": "t_{burst}",
    "run_tail_factor": "f_{tail}",
    "equal_tail_factor": "f_{tail}^{eq}",
    "open_loop_steps": "c_{4}",
    "offered_requests": "B_{off}",
    "run_requests": "n_{run}",
    "arrival_requests_per_s": "\\lambda_{run}",
    "offline_flag": "1_{off}",
    "burst_flag": "1_{burst}",
    "open_loop_flag": "1_{open}",
    "batch_requests": "B",
    "month": "m",
}
"""Column -> LaTeX in short form: words in a subscript or of several letters are set upright by ``upright``."""


def upright(symbol: str) -> str:
    """Words of two and more letters upright, single letters in italics, as printed mathematics does."""
    parts = []
    word = ""
    command = False
    for character in symbol + "\0":
        if character.isascii() and character.isalpha():
            word += character
            continue
        if word:
            parts.append(word if command or len(word) == 1 else rf"\mathrm{{{word}}}")
            word, command = "", False
        if character == "\\":
            command = True
        if character != "\0":
            parts.append(character)
    return "".join(parts)


def spelled(column: str) -> str:
    """A column name as words in upright letters: insurance share."""
    return rf"\mathrm{{{column.partition('@')[0].replace('_', chr(92) + ' ')}}}"


def symbols(formulas: Iterable[Formula]) -> Callable[[str], str]:
    """Column name -> LaTeX, for the columns the formulas make and for inputs; one without a symbol is its name."""
    own = {info(function).name: info(function).symbol for function in formulas if info(function).symbol}

    def symbol(column: str) -> str:
        short = own.get(column) or SYMBOLS.get(column)
        return upright(short) if short else spelled(column)

    return symbol
