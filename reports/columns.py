"""The data dictionary (long because each leaf is a row): every column read that no formula makes, unit, scope, label.

The scope says which record a leaf comes from, hence which table of the Inputs sheet shows it and where its source is:

* ``gpu``, ``model``, ``quantization``, ``engine``, ``link``, ``host``: a catalog entry;
* ``assumption``: a row of catalogs/assumptions.csv, overridable in the scenario;
* ``scenario``: what the author of the scenario wrote; ``demand``: the same, one record a service; ``workload``:
  lengths, arrivals and targets, one record for all services that share the scenario's (key blank) and one for each
  that differs;
* ``stated``: users or monthly tokens that the arrivals of a demand follow from, one record a service;
* ``resident``: derived from a workload and a model: the memory that running requests hold;
* ``offer``: a rental price row; ``market``: all offers that are eligible for a card; ``purchase``: a purchase price;
  ``exchange``: an exchange rate (key ``USD/CNY``: CNY for one USD);
* ``measured``: how a load test was run, for the prediction of measured rows;
* ``delivery``: how long an order of a card takes; ``choice``: what the comparison of costs chose;
* ``layout``: chosen by the search for the best layout (shown as solved); ``solved``: found by a search and proved.

``live`` leaves may be edited in the workbook and everything follows; the others need a new run of the program.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Leaf:
    """One input column."""

    name: str
    unit: str
    scope: str
    label: str
    live: bool = False
    optional: bool = False
    """A fact that some entries rightly lack (no FP8 units); where a formula needs it, its dependants are blank."""


def _leaves(scope: str, *rows: tuple[str, str, str], live: bool = False, optional: bool = False) -> tuple[Leaf, ...]:
    return tuple(Leaf(name, unit, scope, label, live, optional) for name, unit, label in rows)


LEAVES: tuple[Leaf, ...] = (
    *_leaves(
        "gpu",
        ("memory_nominal_gb", "GB", "Memory, as sold"),
        ("memory_usable_gib", "GiB", "Memory the runtime sees"),
        ("memory_bandwidth_gb_per_s", "GB/s", "Memory bandwidth"),
        ("peak_16bit_tflops", "TFLOP/s", "Dense 16-bit peak"),
        ("tdp_w", "W", "Board power"),
        ("kernel_time_factor", "ratio", "Kernel floor against the reference generation"),
        ("rocm", "flag", "Runs on ROCm"),
    ),
    *_leaves(
        "gpu",
        ("peak_fp8_tflops", "TFLOP/s", "Dense FP8 peak"),
        ("peak_int8_tops", "TOP/s", "Dense INT8 peak"),
        ("peak_fp4_tflops", "TFLOP/s", "Dense FP4 peak"),
        optional=True,
    ),
    # chosen among the peaks above by the compute type of the quantization: same unit, same entry
    *_leaves(
        "gpu",
        ("dense_peak_tflops", "TFLOP/s", "Peak at the compute type of dense weights"),
        ("expert_peak_tflops", "TFLOP/s", "Peak at the compute type of expert weights"),
    ),
    *_leaves(
        "model",
        ("parameters_b", "1e9", "Parameters"),
        ("layers", "layers", "Layers"),
        ("hidden_size", "elements", "Hidden size"),
        ("attention_heads", "heads", "Attention heads"),
        ("kv_heads", "heads", "KV heads"),
        ("head_dim", "elements", "Head size"),
        ("vocabulary_size", "tokens", "Vocabulary"),
        ("tied_embeddings", "flag", "Input and output embeddings are one table"),
        ("moe_layers", "layers", "Layers with experts"),
        ("experts", "experts", "Routed experts"),
        ("experts_per_token", "experts", "Experts per token"),
        ("expert_intermediate_size", "elements", "Expert width"),
        ("expert_matrices", "matrices", "Matrices of an expert"),
        ("kv_elements_per_token", "elements", "KV elements per token, all layers"),
        ("kv_elements_per_token_full_layers", "elements", "KV elements per token, layers with full attention"),
        ("sliding_window_tokens", "tokens", "Sliding window (0: none)"),
        ("latent_attention", "flag", "Latent attention (MLA)"),
        ("latent_rank", "elements", "Rank of the latent cache"),
        ("rope_head_dim", "elements", "Rotary part of the latent cache"),
        ("v_head_dim", "elements", "Value head size"),
        ("linear_layers", "layers", "Layers with linear attention"),
        ("linear_state_elements", "elements", "State of all linear layers"),
        ("linear_state_bytes_per_element", "bytes", "Bytes per element of the linear state"),
        ("sparse_layers", "layers", "Layers with sparse attention"),
        ("multimodal", "flag", "Takes images"),
        ("block_scaled_weights", "flag", "The FP8 checkpoint has a scale for each block of weights"),
        ("vision_parameters_b", "1e9", "Parameters of the vision tower"),
    ),
    *_leaves(
        "quantization",
        ("nominal_bytes_per_parameter", "bytes", "Nominal bytes per parameter"),
        ("rule_weight_factor", "ratio", "Factor for layers left at 16 bit (rule of thumb)"),
        ("dense_bytes_per_parameter", "bytes", "Bytes per dense parameter, scales included"),
        ("expert_bytes_per_parameter", "bytes", "Bytes per expert parameter, scales included"),
        ("dense_read_factor", "ratio", "Read efficiency of dense weights against plain formats"),
        ("expert_read_factor", "ratio", "Read efficiency of expert weights against plain formats"),
        ("fp8_block_scales", "flag", "FP8 with block scales"),
        ("int4_experts", "flag", "Experts in INT4"),
        ("fp4_activations", "flag", "Activations are rounded to FP4 as well"),
        ("fused_experts", "flag", "Routing and experts run in one fused kernel"),
        ("expert_width_multiple", "elements", "Expert width is padded to a multiple of"),
    ),
    *_leaves(
        "engine",
        ("engine_time_factor", "ratio", "Factor on launch and host time"),
        ("engine_host_factor", "ratio", "Factor on host time per sequence"),
        ("engine_ttft_offset_ms", "ms", "Constant part of the time to first token"),
        ("engine_batch_requests", "requests", "Most requests scheduled at once"),
        ("free_share_flag", "flag", "Memory share counts what the weights leave"),
        ("full_reservation_flag", "flag", "Admits a request only when its whole answer fits"),
    ),
    *_leaves(
        "link",
        ("allreduce_alpha_us", "us", "Latency of a small all-reduce"),
        ("allreduce_bus_gb_per_s", "GB/s", "Bus rate of a large all-reduce"),
        optional=True,  # a single card has no link
    ),
    *_leaves(
        "assumption",
        ("memory_utilisation", "ratio", "Share of memory the engine may use"),
        ("memory_highest_utilisation", "ratio", "Highest share an engine is started with"),
        ("memory_tight_share", "ratio", "Room the highest share is good for"),
        ("overhead_base_gib", "GiB", "Engine overhead, constant part"),
        ("overhead_rocm_gib", "GiB", "Engine overhead, extra on ROCm"),
        ("overhead_multimodal_gib", "GiB", "Engine overhead, extra with images"),
        ("overhead_activation_factor", "ratio", "Engine overhead, factor on activation buffers"),
        ("overhead_moe_factor", "ratio", "Engine overhead, factor on expert scratch"),
        ("activation_buffer_copies", "copies", "Activation buffers held at once"),
        ("chunk_threshold_gb", "GB", "Cards below this memory take small prefill chunks"),
        ("chunk_small_tokens", "tokens", "Prefill chunk, small cards"),
        ("chunk_large_tokens", "tokens", "Prefill chunk, large cards"),
        ("eta_weights", "ratio", "Share of peak bandwidth, weights"),
        ("eta_experts", "ratio", "Share of peak bandwidth, expert weights"),
        ("eta_kv", "ratio", "Share of peak bandwidth, KV cache"),
        ("kernel_floor_us", "us", "Least time of a kernel"),
        ("kernels_per_layer", "kernels", "Kernels per layer"),
        ("kernels_per_moe_layer", "kernels", "More kernels in a layer with experts"),
        ("kernels_per_latent_layer", "kernels", "More kernels in a latent-attention layer"),
        ("kernels_per_fp8_block_layer", "kernels", "More kernels in a dense layer with FP8 block scales"),
        ("kernels_per_fp8_block_moe_layer", "kernels", "More kernels with FP8 block scales"),
        ("kernels_per_fp4_layer", "kernels", "More kernels in a dense layer with FP4 activations"),
        ("kernels_per_int4_moe_layer", "kernels", "More kernels with INT4 experts"),
        ("kernels_per_linear_layer", "kernels", "More kernels in a linear layer"),
        ("kernels_per_sparse_layer", "kernels", "More kernels in a sparse layer"),
        ("launch_reference_hidden_size", "elements", "Reference width of the kernel floor"),
        ("launch_width_exponent", "exponent", "Growth of the kernel floor with width"),
        ("mfu_prefill", "ratio", "Share of dense peak, prefill"),
        ("mfu_decode", "ratio", "Share of dense peak, decode"),
        ("mfu_moe", "ratio", "Further share with grouped experts"),
        ("moe_tile_tokens", "tokens", "Tokens a tile of an expert's matrix product holds"),
        ("mfu_attention", "ratio", "Share of dense peak, decode attention"),
        ("activation_passes", "passes", "Residual-size reads and writes per layer"),
        ("moe_activation_factor", "ratio", "More activation traffic per chosen expert"),
        ("host_base_ms", "ms", "Host time per step"),
        ("host_us_per_sequence", "us", "Host time per sequence"),
        ("host_reference_vocabulary_size", "tokens", "Vocabulary at which host time was fitted"),
        ("pipeline_hop_us", "us", "Hop between pipeline stages"),
        ("node_link_gb_per_s", "GB/s", "Network between servers, per card and direction"),
        ("dispatch_alpha_factor", "ratio", "Latency of expert dispatch against all-reduce"),
        ("data_parallel_prefill_factor", "ratio", "More prefill stall with attention data parallelism"),
        ("sparse_attention_tokens", "tokens", "Tokens that sparse attention keeps"),
        ("sparse_index_bytes_per_token", "bytes", "Index of sparse attention per layer and token"),
        ("ttft_launches", "ratio", "Launch floors before the first token"),
        ("ttft_steps", "ratio", "Steps in flight before the first token"),
        ("open_loop_steps", "ratio", "Steps in flight before the first token, independent arrivals"),
        ("ttft_queue_factor", "ratio", "Queue before the first token, per request in the group"),
        ("offline_prefill_factor", "ratio", "Prefill stall of offline runs against served ones"),
        ("burst_base_ms", "ms", "Constant part of the time to first token in a burst"),
        ("run_tail_factor", "ratio", "Tail of a finite run, in answers of mean length"),
        ("preemption_probability", "ratio", "Accepted probability that the running requests outgrow the memory"),
        ("utilisation_cap", "ratio", "Highest share of time that prompts may take, independent arrivals"),
        ("equal_tail_factor", "ratio", "Tail of a finite run of equal lengths, in answers"),
        ("rule_usable_memory_share", "ratio", "Usable share of memory (rule of thumb)"),
        ("rule_fragmentation_factor", "ratio", "Fragmentation of the KV room (rule of thumb)"),
        ("rule_prefill_utilisation", "ratio", "Prefill utilisation (rule of thumb)"),
        ("rule_prefill_utilisation_pcie", "ratio", "Prefill utilisation on PCIe (rule of thumb)"),
        ("rule_tokens_per_s", "tokens/s", "Token rate promised to a user (rule of thumb)"),
        ("rule_pcie_link_factor", "ratio", "Decode throughput left on PCIe (rule of thumb)"),
    ),
    *_leaves(
        "assumption",
        ("safety_factor", "ratio", "Safety factor: share of the limit that is recommended"),
        ("average_utilisation", "ratio", "Average load as a share of the peak"),
        ("annual_discount_rate", "ratio", "Discount rate per year"),
        ("pue", "ratio", "Power usage effectiveness (PUE)"),
        ("electricity_price_per_kwh", "currency/kWh", "Electricity"),
        ("colocation_price_per_kw_month", "currency/kW-month", "Colocation"),
        ("maintenance_share_per_year", "ratio/year", "Maintenance, share of hardware price"),
        ("network_share", "ratio", "Network, share of hardware price"),
        ("residual_share", "ratio", "Value left at the end of the horizon"),
        ("idle_power_share", "ratio", "Power at idle as a share of the most"),
        ("delivery_share", "ratio", "Delivery, share of hardware price"),
        ("installation_share", "ratio", "Installation, share of hardware price"),
        ("spare_parts_share", "ratio", "Spare parts, share of hardware price"),
        ("staff_fte_per_100_cards", "FTE", "Operations staff for 100 cards"),
        ("staff_cost_per_fte_year", "currency/FTE-year", "Cost of one full-time employee"),
        ("insurance_share_per_year", "ratio/year", "Insurance, share of hardware price"),
        ("licence_price_per_card_year", "currency/card-year", "Software licences"),
        ("vat_goods_ratio", "ratio", "Value-added tax on goods"),
        ("vat_services_ratio", "ratio", "Value-added tax on services and rent"),
        ("vat_recoverable_share", "ratio", "Value-added tax that is recovered"),
        ("rent_price_ratio_per_year", "ratio", "Rents against the year before"),
        ("rent_extras_price_per_card_month", "currency/card-month", "Egress and storage beside the rent"),
        ("service_life_months", "months", "Life of a server"),
        ("book_life_months", "months", "Life in the books"),
        ("tax_life_months", "months", "Life that the tax office allows"),
        ("income_tax_ratio", "ratio", "Income tax"),
        ("loan_rate_per_year", "ratio/year", "Interest of a loan"),
        ("loan_down_share", "ratio", "Own money in a financed purchase"),
        ("loan_months", "months", "Term of the loan"),
        ("lease_rate_per_year", "ratio/year", "Rate of a lease"),
        ("card_failures_per_year", "1/year", "Failures of a card"),
        ("card_repair_h", "h", "Repair or replacement of a card"),
        ("server_failures_per_year", "1/year", "Failures of a server, its cards apart"),
        ("server_repair_h", "h", "Repair of a server"),
        ("spare_policy_units", "units", "Losses of a card to survive, in units"),
        ("spare_policy_servers", "servers", "Losses of a server to survive"),
        ("surge_share", "ratio", "Units more during a rolling update"),
        ("development_share", "ratio", "Units for development and tests"),
        ("startup_minutes", "min", "Start of a replica until its first answer"),
        live=True,
    ),
    *_leaves(
        "workload",
        ("input_mean_tokens", "tokens", "Input length, mean"),
        ("input_p95_tokens", "tokens", "Input length, P95"),
        ("output_mean_tokens", "tokens", "Output length, mean"),
        ("output_p95_tokens", "tokens", "Output length, P95"),
        ("tpot_target_ms", "ms", "Target, time per output token"),
        ("ttft_target_ms", "ms", "Target, time to first token"),
        ("answer_target_ms", "ms", "Target, time of the whole answer (1e12: none)"),
        ("input_deviation_tokens", "tokens", "Input length, standard deviation"),
        ("output_deviation_tokens", "tokens", "Output length, standard deviation"),
        ("input_tail_tokens", "tokens", "Input length at the statistic of the TTFT target"),
        ("output_tail_tokens", "tokens", "Output length at the statistic of the answer target"),
        ("prefix_hit_share", "ratio", "Share of the input served from the prefix cache"),
        ("interarrival_scv", "ratio", "Squared variation of the time between arrivals (1: Poisson)"),
        ("closed_loop_flag", "flag", "A fixed number of requests is kept in flight"),
        ("burst_flag", "flag", "All requests start at once"),
        ("tpot_target_z", "deviations", "Statistic of the TPOT target: deviations above the mean"),
        ("answer_target_z", "deviations", "Statistic of the answer target: deviations above the mean"),
        ("ttft_target_tail_share", "ratio", "Share of requests that may miss the TTFT target (1: it is a mean)"),
        ("answer_target_tail_share", "ratio", "Share of requests that may miss the answer target (1: it is a mean)"),
        ("availability_target_share", "ratio", "Target, availability of the whole demand (0: none)"),
    ),
    *_leaves(
        "scenario",
        ("length_is_p95", "flag", "The rule of thumb counts P95 lengths"),
        ("units_as_published", "flag", "The rule of thumb mixes GB and GiB as published"),
        ("draft_tokens", "tokens", "Tokens drafted ahead at each step (0: no speculative decoding)"),
        ("draft_acceptance_ratio", "ratio", "Probability that a drafted token is accepted"),
        ("draft_step_share", "ratio", "Time to draft a token, share of a step"),
        ("kv_bytes_per_element", "bytes", "Bytes per KV-cache element"),
        ("horizon_months", "months", "Horizon"),
        ("declining_flag", "flag", "Depreciation by declining balance"),
        ("tax_shield_flag", "flag", "Income tax is counted"),
        ("lease_in_advance_flag", "flag", "Lease is paid at the start of a month"),
        ("quarter_offset_months", "months", "Months of the quarter that are over in month 0"),
    ),
    *_leaves(
        "scenario",
        ("order_budget_amount_per_quarter", "currency/quarter", "Budget for orders a quarter (0: no limit)"),
        live=True,
    ),
    *_leaves(
        "demand",
        ("demand_peak_concurrency", "requests", "Demand, requests at once"),
        ("demand_requests_per_s", "requests/s", "Demand, arrivals"),
        ("monthly_growth_rate", "ratio", "Growth of the demand a month"),
        ("growth_saturation_factor", "ratio", "Demand at saturation against today (0: none)"),
        ("demand_run_requests", "requests", "Demand, requests of a finite run (0: none)"),
        ("demand_run_hours", "h", "Demand, time for the finite run"),
        live=True,
    ),
    *_leaves(
        "resident",
        ("full_kv_elements", "elements", "KV elements of a request at its end, mean"),
        ("full_p95_kv_elements", "elements", "KV elements of a request with P95 input and P95 output at its end"),
        ("resident_kv_elements", "elements", "KV elements of a running request, mean"),
        ("resident_deviation_kv_elements", "elements", "KV elements of a running request, standard deviation"),
    ),
    *_leaves(
        "stated",
        ("stated_users", "users", "Users"),
        ("active_share", "ratio", "Users active in the busiest hour"),
        ("user_requests_per_hour", "requests/h", "Requests of an active user"),
        ("stated_input_mtok_per_month", "Mtok/month", "Prompt tokens of a month"),
        ("stated_output_mtok_per_month", "Mtok/month", "Answer tokens of a month"),
        live=True,
        optional=True,
    ),
    *_leaves(
        "layout",
        ("unit_cards", "cards", "Cards of one deployment unit"),
        ("replicas", "replicas", "Replicas in the unit"),
        ("tensor_parallel", "ranks", "Tensor parallel"),
        ("data_parallel", "ranks", "Attention data parallel"),
        ("pipeline_parallel", "ranks", "Pipeline parallel"),
        ("link_is_nvlink", "flag", "The engine uses NVLink"),
    ),
    *_leaves(
        "solved",
        ("tpot_requests", "requests", "Requests within the TPOT target"),
        ("ttft_requests", "requests", "Requests within the TTFT target"),
        ("answer_requests", "requests", "Requests within the answer target"),
        ("utilisation_requests", "requests", "Requests within the utilisation cap"),
        ("simulated_requests", "requests", "Requests that a simulation allows (1e12: not simulated)"),
        ("availability_spare_units", "units", "Fewest spare units for the availability"),
        ("loss_servers", "servers", "Lost servers at which the availability is best reckoned"),
        ("fewer_loss_servers", "servers", "The same with one spare unit fewer"),
    ),
    *_leaves("choice", ("order_flag", "flag", "Bought, so that growth is ordered")),
    *_leaves("delivery", ("lead_time_weeks", "weeks", "Lead time of an order"), live=True),
    *_leaves(
        "measured",
        ("offered_requests", "requests", "Requests the load test keeps in flight"),
        ("run_requests", "requests", "Requests of the whole load test"),
        ("arrival_requests_per_s", "requests/s", "Arrivals of the load test"),
        ("offline_flag", "flag", "The load test bypasses the server: all requests are there from the start"),
        ("equal_lengths_flag", "flag", "All requests of the load test have the same lengths"),
    ),
    *_leaves(
        "offer",
        ("rent_offer_price_per_card_hour", "offer currency/card-h", "Rent, cheapest eligible offer"),
        ("rent_instance_cards", "cards", "Cards of one rented instance"),
        ("rent_term_months", "months", "Months that the rent binds (0: on demand)"),
        live=True,
        optional=True,
    ),
    *_leaves(
        "market",
        ("rent_median_price_per_card_hour", "currency/card-h", "Rent, median of the eligible offers"),
        live=True,
        optional=True,
    ),
    # all exchange rates of one pair of currencies are one fact: change it once and every price follows
    *_leaves(
        "exchange",
        ("exchange_rate", "ratio", "Exchange rate"),
        ("rent_offer_exchange_rate", "ratio", "Exchange rate of the offer"),
        ("server_exchange_rate", "ratio", "Exchange rate of the server price"),
        live=True,
        optional=True,
    ),
    *_leaves(
        "purchase",
        ("server_price", "quote currency/server", "Server price"),
        live=True,
        optional=True,
    ),
    *_leaves(
        "host",
        ("server_cards", "cards", "Cards of one server"),
        ("server_power_kw", "kW", "Most power of one server"),
        live=True,
        optional=True,
    ),
    *_leaves(
        "fleet",
        ("given_cards", "cards", "Cards of the present fleet"),
        live=True,
        optional=True,
    ),
)

LEAF: dict[str, Leaf] = {leaf.name: leaf for leaf in LEAVES}


SCOPE_KEY: dict[str, str] = {
    "gpu": "gpu",
    "model": "model",
    "quantization": "quantization_key",
    "engine": "engine",
    "link": "link_key",
    "host": "host",
    "demand": "service",
    "stated": "service",
    "workload": "workload_key",
    "resident": "resident_key",
    "offer": "offer_id",
    "market": "rent_market",
    "purchase": "purchase_id",
    "delivery": "delivery_key",
    "fleet": "gpu",
    "choice": "",
    "scenario": "",
    "assumption": "",
    "layout": "",
    "solved": "",
}
"""Which column of a candidate or option row holds the key of the record a scope's leaves come from."""

INTERPOLATED = ("residual_share",)
"""Assumptions that no row states as such: attached with the prices, from rows at several horizons."""

CALIBRATED = (
    "eta_weights", "eta_experts", "eta_kv", "kernel_floor_us", "mfu_prefill", "mfu_decode", "host_us_per_sequence",
    "engine_ttft_offset_ms", "overhead_base_gib",
)  # fmt: skip
"""Coefficients of a machine and its set-up: a calibration states them for one card under one engine. A row of such a
card names it in ``calibrated_key``, and its record of all of them has that key."""

PROFILED = ("average_utilisation",)
"""Assumptions that a workload with an hourly profile replaces: their record has the key of the workload."""

CHOSEN_FACT: dict[str, str] = {"dense_peak_tflops": "dense_peak_fact", "expert_peak_tflops": "expert_peak_fact"}
"""Leaves that stand for one of several facts of the same record: which column of the row names the fact."""

EXCHANGE_KEY: dict[str, str] = {
    "rent_offer_exchange_rate": "rent_exchange_id",
    "server_exchange_rate": "server_exchange_id",
}
"""Leaves that stand for the fact ``exchange_rate`` of a pair of currencies: which column of the row names the pair."""


def fact_reference(row: dict[str, object], leaf: str) -> tuple[str, str, str]:
    """``(scope, key, column)`` in the facts frame of one leaf of one candidate or option row."""
    scope = LEAF[leaf].scope
    if leaf in EXCHANGE_KEY:
        return scope, str(row[EXCHANGE_KEY[leaf]]), "exchange_rate"
    key_column = SCOPE_KEY[scope]
    key = str(row[key_column]) if key_column else ""
    if leaf in CALIBRATED and row.get("calibrated_key"):
        key = str(row["calibrated_key"])
    if leaf in PROFILED:
        key = str(row.get("workload_key", ""))
    column = str(row[CHOSEN_FACT[leaf]]) if leaf in CHOSEN_FACT else leaf
    return scope, key, column
