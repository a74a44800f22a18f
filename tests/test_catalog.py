"""The shipped catalog: it loads, its facts are those of their sources, and every name finds its entry."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from reports.catalog import browse
from reports.catalog.read import INTERPOLATED, read_catalog
from reports.catalog.records import Catalog, as_date
from reports.catalog.select import UnknownName, assumption, find
from reports.columns import LEAVES

CARDS = {
    "a100-sxm4-80gb", "a100-pcie-80gb", "a800-sxm4-80gb", "h100-sxm5-80gb", "h800-sxm5-80gb", "h200-sxm-141gb",
    "h20-96gb", "h20-141gb", "b200-sxm-180gb", "b300-sxm-288gb", "gb200-nvl72", "l4", "l40s", "rtx-4090", "rtx-5090",
    "v100-sxm2-32gb", "mi300x", "ascend-910b-b3", "ascend-910c",
}  # fmt: skip
MODELS = {
    "qwen2.5-7b-instruct", "qwen2.5-72b-instruct", "qwen3-32b", "qwen3-235b-a22b", "llama-3.3-70b-instruct",
    "deepseek-r1", "deepseek-v3", "gpt-oss-120b", "kimi-k2-instruct", "glm-4.5", "published-example-7b",
}  # fmt: skip


def test_what_people_ask_for_is_there(catalog: Catalog) -> None:
    assert CARDS - set(catalog.gpus) == set()
    assert MODELS - set(catalog.models) == set()
    assert len(catalog.gpus) >= 60
    assert len(catalog.models) >= 90
    assert {"fp16", "fp8", "int8", "int4", "nvfp4", "mxfp4"} <= set(catalog.quantizations)
    assert {"vllm", "sglang", "tensorrt-llm", "tensorrt-llm-cpp"} <= set(catalog.engines)


def test_reading_is_fast() -> None:
    started = time.perf_counter()
    read_catalog()
    assert time.perf_counter() - started < 2.0  # about 0.25 s; the margin is for a busy machine


@pytest.mark.parametrize(
    ("kind", "name", "fact", "value"),
    [
        ("gpus", "h100-sxm5-80gb", "memory_bandwidth_gb_per_s", 3350),  # aiconfigurator h100_sxm.yaml
        ("gpus", "a100-sxm4-80gb", "memory_bandwidth_gb_per_s", 2039),  # NVIDIA A100 data sheet
        ("gpus", "a100-sxm4-80gb", "peak_16bit_tflops", 312),  # NVIDIA A100 data sheet, dense
        ("gpus", "l40s", "peak_fp8_tflops", 733),  # NVIDIA L40S data sheet, dense (half of 1,466)
        ("gpus", "h20-96gb", "peak_16bit_tflops", 148),  # InferSim hardware table
        ("gpus", "h100-sxm5-80gb", "memory_usable_gib", 79.2),  # seen by CUDA, roofline note section 1
        ("gpus", "rtx-4090", "memory_usable_gib", 23.6),  # the same
        ("gpus", "b200-sxm-180gb", "kernel_time_factor", 0.9),  # docs/ROOFLINE.md, table of coefficients
        ("models", "qwen2.5-7b-instruct", "kv_elements_per_token", 2 * 28 * 4 * 128),  # config.json: L 28, g 4, d 128
        ("models", "deepseek-v3", "kv_elements_per_token", 61 * (512 + 64)),  # config.json: L 61, latent 512 + rope 64
        ("models", "qwen3-32b", "parameters_b", 32.762),  # safetensors total 32.762123e9
        ("models", "qwen3.5-27b", "linear_state_elements", 48 * 48 * 128 * 128),  # 48 of 64 layers, 48 heads
        ("models", "published-example-7b", "parameters_b", 7.0),  # the published calculator
        ("quantizations", "nvfp4", "dense_bytes_per_parameter", 0.5 + 1 / 16),  # 4 bits, an 8-bit scale for 16
        ("quantizations", "mxfp4", "expert_bytes_per_parameter", 0.5 + 1 / 32),  # 4 bits, an 8-bit scale for 32
        ("hosts", "dgx-h100", "server_power_kw", 10.2),  # NVIDIA DGX H100 maximum
    ],
)
def test_facts(catalog: Catalog, kind: str, name: str, fact: str, value: float) -> None:
    assert getattr(catalog, kind)[name].facts[fact].value == pytest.approx(value, rel=1e-9)


def test_link_points(catalog: Catalog) -> None:
    """Roofline note section 3: H100 2.6 / 3.0 / 3.9 us at 2 / 4 / 8 cards, H100 and H200 301 to 366 GB/s."""
    points = catalog.links["nvswitch-hopper-h100"].points
    assert [round(points[cards]["allreduce_alpha_us"].value, 1) for cards in (2, 4, 8)] == [2.6, 3.0, 3.9]
    rates = [
        catalog.links[f"nvswitch-hopper-{card}"].points[cards]["allreduce_bus_gb_per_s"].value
        for card in ("h100", "h200") for cards in (2, 4, 8)
    ]
    assert round(min(rates)) == 301
    assert round(max(rates)) == 366


def test_published_assumptions(catalog: Catalog) -> None:
    """The safety of the published calculator; a region without a row of its own falls back to the global one."""
    safety = assumption(catalog, "safety_factor", "china")
    assert (safety.low, safety.mid, safety.high, safety.region) == (0.7, 0.8, 0.9, "global")


def test_network_share_is_of_the_servers(catalog: Catalog) -> None:
    """12 % of the cluster's capital is 0.12 / 0.88 = 0.136 of the servers in it."""
    assert assumption(catalog, "network_share", "us").mid == pytest.approx(0.12 / 0.88, rel=1e-4)


def test_every_assumption_a_formula_reads_is_there(catalog: Catalog) -> None:
    for leaf in LEAVES:
        if leaf.scope == "assumption" and leaf.name not in INTERPOLATED:
            assert assumption(catalog, leaf.name, "eu").unit == leaf.unit


def test_monthly_rent_is_per_730_hours(catalog: Catalog) -> None:
    """75,000 CNY a month for 8 cards is 12.84 CNY a card-hour at 730 hours (13.02 at the 720 it was quoted with)."""
    rental = catalog.rental
    offers = rental[(rental["provider"] == "CN bare metal") & (rental["gpu_name"] == "H100-SXM")]
    assert offers["price_per_card_hour"].tolist() == pytest.approx([75_000 / 8 / 730], rel=1e-4)
    assert offers["term"].tolist() == ["reserved-1m"]


def test_traps_of_the_price_sources(catalog: Catalog) -> None:
    rental = catalog.rental
    assert set(rental.loc[rental["gpu_name"] == "V100-16GB-SXM", "gpu"]) == {""}  # not the 32 GB card
    assert not (rental["gpu"] == "h20-96gb").any()  # nobody lists it
    assert "outlier" in set(rental["status"])
    assert "suspect" in set(rental["status"])
    vague = rental[rental["precision"] == "year"]
    assert set(vague["as_of"].str[4:]) == {"-01-01"}  # aged from the earliest day it can be
    whole_nodes = rental[rental["instance"].str.startswith("BM.GPU")]
    assert (whole_nodes["instance_cards"] > 1).all()
    assert {"h20-96gb", "h20-141gb"} <= set(catalog.purchase["gpu"])


def test_general_knowledge_is_unconfirmed(catalog: Catalog) -> None:
    for gpu in catalog.gpus.values():
        fact = gpu.facts["memory_nominal_gb"]
        if fact.source.startswith(("general-knowledge", "datasheet-and")):
            assert not fact.confirmed, gpu.id
            assert fact.basis in ("published", "derived"), gpu.id
    priced = catalog.purchase
    assert not priced.loc[priced["source"] == "general-knowledge-press", "confirmed"].any()


def test_extrapolated_links_are_labelled(catalog: Catalog) -> None:
    for link in catalog.links.values():
        for point in link.points.values():
            for fact in point.values():
                if fact.basis != "measured":
                    assert not fact.confirmed, link.id
                    assert "extrapolated" in link.note + fact.note, link.id


def test_an_incomplete_card_loads(catalog: Catalog) -> None:
    assert "peak_16bit_tflops" not in catalog.gpus["ascend-950pr"].facts
    assert math.isnan(catalog.gpus["ascend-950pr"].value("peak_16bit_tflops"))


def test_formats_compute_where_the_card_can(catalog: Catalog) -> None:
    mxfp4 = catalog.quantizations["mxfp4"]
    assert mxfp4.compute_types_on("Blackwell Ultra") == ("fp8", "16bit")
    assert mxfp4.compute_types_on("Hopper") == ("16bit",)
    assert catalog.quantizations["fp8"].compute_types_on("Ampere") == ("fp8", "16bit")


@pytest.mark.parametrize(
    ("kind", "written", "slug"),
    [
        ("gpu", "H100 SXM", "h100-sxm5-80gb"),
        ("gpu", "a100_sxm", "a100-sxm4-80gb"),
        ("gpu", "rtx 4090", "rtx-4090"),
        ("gpu", "H20-141GB (H20-3e)", "h20-141gb"),
        ("model", "Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b-instruct"),
        ("model", "llama-2-70b", "llama-2-70b-chat-hf"),
        ("quantization", "AWQ", "int4"),
        ("quantization", "bf16", "fp16"),
        ("engine", "trt-llm", "tensorrt-llm"),
    ],
)
def test_names(catalog: Catalog, kind: str, written: str, slug: str) -> None:
    entries = getattr(catalog, browse.KINDS[kind])
    assert find(entries, written, kind) == slug


def test_did_you_mean(catalog: Catalog) -> None:
    with pytest.raises(UnknownName, match='unknown gpu "h100-sxm-80gb"; did you mean "h100-sxm5-80gb"') as refusal:
        find(catalog.gpus, "h100-sxm-80gb", "gpu")
    assert isinstance(refusal.value, LookupError)
    with pytest.raises(UnknownName, match="did you mean"):
        assumption(catalog, "safety_factr", "global")


def test_browse(catalog: Catalog) -> None:
    for kind in browse.KINDS:
        assert len(browse.list_frame(catalog, kind)) > 0, kind
    entry, facts = browse.show(catalog, "gpus", "H100")
    assert entry.id == "h100-sxm5-80gb"
    assert facts.set_index("fact").loc["tdp_w", "unit"] == "W"
    _, points = browse.show(catalog, "link", "pcie4")
    assert "8 cards: allreduce_alpha_us" in set(points["fact"])
    with pytest.raises(UnknownName):
        browse.list_frame(catalog, "gpuz")


@pytest.mark.parametrize(
    ("text", "day"), [("2026", "2026-01-01"), ("2026-08", "2026-08-01"), ("2026-08-22", "2026-08-22")]
)
def test_dates(text: str, day: str) -> None:
    assert as_date(text).isoformat() == day


@pytest.mark.parametrize("text", ["26-08-22", "2026-8", "2026-13", "2026/08/22", "2025-2026", ""])
def test_no_dates(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the message is the text itself
        as_date(text)


def test_catalog_holds_no_paths_of_a_machine(repository: Path) -> None:
    for path in (repository / "catalogs").rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert "/work/" not in text, path
            assert "/tmp/" not in text, path
