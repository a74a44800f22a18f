"""Fits recover coefficients that made the data, hold near the prior when data are few, and leave groups out."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd
import pytest

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.field.fit import Coefficient, first_fit, fit, leave_one_out, start_value, usable
from reports.field.measured import frame
from reports.field.predict import predict

COEFFICIENTS = (Coefficient("eta_weights", 0.3, 1.0, 3.0), Coefficient("kernel_floor_us", 1.0, 20.0, 3.0))
TRUTH = {"eta_weights": 0.6, "kernel_floor_us": 8.0}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def synthetic(catalog: Catalog, models: tuple[str, ...] = ("qwen3-32b", "llama-3.1-8b-instruct")) -> pd.DataFrame:
    base: dict[str, Any] = {
        "source": "made", "gpu": "h100-sxm5-80gb", "quantization": "fp8", "kv_bytes_per_element": 2,
        "data_parallel": 1, "pipeline_parallel": 1, "engine": "vllm", "input_tokens": 512, "output_tokens": 512,
        "start": "steady", "metric": "tpot_ms", "use": "fit", "quality": "A", "value": 1.0,
    }  # fmt: skip
    rows = frame(
        [
            base | {"model": model, "tensor_parallel": cards, "gpu_count": cards, "batch_requests": batch}
            for model, cards, batch in product(models, (1, 2, 4), (1, 4, 8, 16))
        ]
    )
    rows["value"] = predict(rows, catalog, TRUTH)["predicted"]
    return rows


def test_a_fit_finds_what_made_the_data(catalog: Catalog) -> None:
    found = fit(synthetic(catalog), catalog, COEFFICIENTS)
    assert found.values["eta_weights"] == pytest.approx(0.6, rel=0.05)
    assert found.values["kernel_floor_us"] == pytest.approx(8.0, rel=0.05)
    assert found.after < 0.02 < found.before
    for name, truth in TRUTH.items():
        assert found.low[name] <= truth * 1.02
        assert found.high[name] >= truth * 0.98


def test_two_rows_hardly_move_it(catalog: Catalog) -> None:
    rows = synthetic(catalog)
    shipped = start_value("eta_weights", catalog)
    reluctant = (Coefficient("eta_weights", 0.3, 1.0, 0.05),)
    few = fit(rows.iloc[:2], catalog, reluctant).values["eta_weights"]
    assert abs(few - shipped) < abs(0.6 - shipped) / 2


def test_traps_teach_nothing(catalog: Catalog) -> None:
    rows = synthetic(catalog)
    spoilt = rows.assign(value=rows["value"] / 10, trap="faster-than-hardware")
    both = pd.concat([rows, spoilt], ignore_index=True)
    assert len(usable(both)) == len(rows)
    assert fit(both, catalog, COEFFICIENTS).values["eta_weights"] == pytest.approx(
        fit(rows, catalog, COEFFICIENTS).values["eta_weights"]
    )


def test_bounds_hold(catalog: Catalog) -> None:
    narrow = (Coefficient("eta_weights", 0.8, 0.9, 1.0),)
    assert 0.8 - 1e-9 <= fit(synthetic(catalog), catalog, narrow).values["eta_weights"] <= 0.9 + 1e-9


def test_nothing_to_fit(catalog: Catalog) -> None:
    with pytest.raises(InputError, match="none can be fitted"):
        fit(synthetic(catalog).assign(trap="duplicate"), catalog)


def test_leave_one_out_predicts_each_group_from_the_others(catalog: Catalog) -> None:
    rows = synthetic(catalog)
    found = leave_one_out(rows, catalog, "model", COEFFICIENTS)
    assert list(found.index) == list(rows.index)
    assert set(found["label"]) == {"interpolated"}
    error = (found["predicted"] / found["value"] - 1).abs().median()
    assert error < (predict(rows, catalog)["predicted"] / rows["value"] - 1).abs().median()
    with pytest.raises(InputError, match="cannot leave out"):
        leave_one_out(rows, catalog, "colour")


def test_the_prior_is_not_the_result(catalog: Catalog) -> None:
    """Leave-one-out must not lean on coefficients that have seen the rows it leaves out."""
    assert first_fit()["eta_weights"] == 0.859
    assert first_fit()["eta_weights"] != start_value("eta_weights", catalog)
