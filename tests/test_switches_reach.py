"""What a scenario says of its engine reaches the formulas and the simulation, with the number it states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports.catalog.records import Catalog
from reports.evaluate import evaluate
from reports.matrix import expand
from reports.methods import METHODS
from reports.scenario.read import read_scenario
from reports.scenario.schema import Scenario
from reports.simulate.step_model import units

METHOD = METHODS["roofline"]


def asked(repository: Path, catalog: Catalog, *sets: str) -> Scenario:
    small = ("matrix.gpu=[h100-sxm5-80gb]", "matrix.quantization=[fp8]", "matrix.count=[2]")
    path = repository / "scenarios" / "capacity-proposal.yaml"
    return read_scenario(path, catalog, sets=(*small, *sets))


def candidates(repository: Path, catalog: Catalog, *sets: str) -> pd.DataFrame:
    return evaluate(expand(asked(repository, catalog, *sets), catalog, METHOD), METHOD)


def test_the_chunk_of_a_prompt(repository: Path, catalog: Catalog) -> None:
    """A prompt of T tokens rides on T / 1024 steps."""
    found = candidates(repository, catalog, "engine_settings.chunk_tokens=1024")
    assert set(found["scheduling_tokens"]) == {1024}
    steps = found["computed_tokens"] / 1024 * found["step_ms"]
    assert np.allclose(found["prompt_ms"], found["prefill_ms"] + steps)
    with_limit = candidates(repository, catalog, "engine_settings.chunk_tokens=1024", "engine_settings.max_requests=64")
    (unit,) = units(METHOD, with_limit[with_limit["feasible"]].iloc[:1])
    assert (unit.engines.chunk_tokens, unit.engines.most_running) == (1024, 64)


def test_the_engine(repository: Path, catalog: Catalog) -> None:
    for name in ("vllm", "sglang", "tensorrt-llm"):
        found = candidates(repository, catalog, f"engine={name}")
        for fact in ("engine_time_factor", "engine_host_factor", "engine_ttft_offset_ms"):
            assert set(found[fact]) == {catalog.engines[name].value(fact)}, (name, fact)


def test_the_cap_on_utilisation(repository: Path, catalog: Catalog) -> None:
    found = candidates(repository, catalog, "assumptions.utilisation_cap=0.5")
    assert (found["queue_utilisation_ratio"] <= 0.5 * (1 + 1e-9)).all()
    wide = candidates(repository, catalog, "assumptions.utilisation_cap=0.9")
    assert (wide["recommended_concurrency"] >= found["recommended_concurrency"]).all()


def test_the_share_of_prompts_in_the_cache(repository: Path, catalog: Catalog) -> None:
    """A third in the cache: two thirds of the prompt are computed."""
    found = candidates(repository, catalog, "workload.prefix_cache_hit_share=0.25")
    plain = candidates(repository, catalog)
    assert found["computed_tokens"].to_numpy() == pytest.approx(plain["computed_tokens"].to_numpy() * 0.75)
