"""What was measured near an option: its label, its 80 % bands, and the nearest measured rows with both numbers."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.catalog.records import Catalog
from reports.field.bands import band, labels, shipped_keys
from reports.field.predict import predict

NEAREST = 5
METRICS = ("tpot_ms", "output_tok_s", "per_gpu_output_tok_s", "ttft_ms")
"""Metrics worth showing beside a candidate."""

OTHER_CARD = 2.0
OTHER_FORMAT = 1.0
OTHER_ENGINE = 0.3
"""Distance of another card, weight format or engine; a factor of e in size, length or load is a distance of 1."""

LENGTH_WEIGHT = 0.5
LOAD_WEIGHT = 0.3

COLUMNS = (
    "option_id", "rank", "row_id", "source", "date", "model", "gpu", "quantization", "engine", "input_tokens",
    "output_tokens", "batch_requests", "tensor_parallel", "metric", "measured", "predicted", "error_share", "distance",
)  # fmt: skip

BANDED = {"tpot_ms": "tpot_ms", "output_tokens_per_s": "output_tok_s"}
"""Column of an option -> metric whose band applies to it."""


def nearest(table: pd.DataFrame, keys: pd.DataFrame, catalog: Catalog, count: int = NEAREST) -> pd.DataFrame:
    """(option index, rank, table index, distance): the nearest distinct tests of each key row.

    ``keys`` has model, gpu, quantization, engine, input_tokens, output_tokens, batch_requests (of one replica). Of one
    test only the nearest row is shown.
    """
    table = table[(table["problem"] == "") & (table["trap"] == "") & table["metric"].isin(METRICS)]
    if table.empty or keys.empty:
        return pd.DataFrame(columns=["option", "rank", "row", "distance"])
    cards = _card_features(catalog)
    sizes = {
        name: np.log([max(entry.value("parameters_b"), 0.1), _active(entry)]) for name, entry in catalog.models.items()
    }
    of_table = _features(table, sizes, cards)
    found = []
    test = table.groupby(["model", "gpu", "quantization", "engine", "metric"], sort=False).ngroup().to_numpy()
    for option, key in zip(keys.index, keys.to_dict("records"), strict=True):
        distance = _distances(of_table, table, pd.DataFrame([key]), sizes, cards)
        order = np.argsort(distance, kind="stable")
        _, first = np.unique(test[order], return_index=True)
        chosen = order[np.sort(first)[:count]]
        found += [(option, rank, table.index[row], float(distance[row])) for rank, row in enumerate(chosen, start=1)]
    return pd.DataFrame(found, columns=["option", "rank", "row", "distance"])


def _active(entry: object) -> float:
    value = entry.value("active_parameters_b")  # type: ignore[attr-defined]
    return float(value) if value > 0 else float(entry.value("parameters_b"))  # type: ignore[attr-defined]


def _card_features(catalog: Catalog) -> dict[str, NDArray[np.float64]]:
    names = ("memory_bandwidth_gb_per_s", "peak_16bit_tflops", "memory_nominal_gb")
    return {
        card: np.log([max(entry.value(name), 1.0) for name in names]).astype(np.float64)
        for card, entry in catalog.gpus.items()
    }


def _features(
    rows: pd.DataFrame, sizes: dict[str, NDArray[np.float64]], cards: dict[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Model size and active size, card bandwidth, rate and memory, lengths, load: all logarithms, weighted."""
    size = np.array([sizes[model] for model in rows["model"]])
    card = np.array([cards[gpu] for gpu in rows["gpu"]])
    length = np.log(np.maximum(rows[["input_tokens", "output_tokens"]].to_numpy(dtype=float), 1)) * LENGTH_WEIGHT
    load = np.log(np.maximum(rows["batch_requests"].to_numpy(dtype=float), 1)) * LOAD_WEIGHT
    return np.column_stack([size, card, length, load])


def _distances(
    of_table: NDArray[np.float64], table: pd.DataFrame, key: pd.DataFrame, sizes: dict[str, NDArray[np.float64]],
    cards: dict[str, NDArray[np.float64]],
) -> NDArray[np.float64]:  # fmt: skip
    gap = np.nan_to_num(of_table - _features(key, sizes, cards), nan=1.0)
    one = key.iloc[0]
    result: NDArray[np.float64] = np.sqrt((gap**2).sum(axis=1))
    result = result + OTHER_FORMAT * (table["quantization"] != one["quantization"]).to_numpy()
    result = result + OTHER_CARD * (table["gpu"] != one["gpu"]).to_numpy() * (0.25 + 0.75 * (result > 1))
    return result + OTHER_ENGINE * (table["engine"] != one["engine"]).to_numpy()


def evidence(options: pd.DataFrame, catalog: Catalog, table: pd.DataFrame) -> pd.DataFrame:
    """The measured rows nearest to each of a frame of options (candidates of the roofline method, or its short list).

    Of an option these columns are read where present: option_id (or candidate_id), model, gpu, quantization, engine,
    input_mean_tokens, output_mean_tokens, load_requests, tpot_ms, output_tokens_per_s, recommended_concurrency,
    cards_needed.
    """
    identity = options["option_id"] if "option_id" in options else options["candidate_id"]
    keys = pd.DataFrame(
        {
            "model": options["model"].astype(str), "gpu": options["gpu"].astype(str),
            "quantization": options["quantization"].astype(str),
            "engine": options["engine"].astype(str) if "engine" in options else "vllm",
            "input_tokens": options.get("input_mean_tokens", np.nan),
            "output_tokens": options.get("output_mean_tokens", np.nan),
            "batch_requests": options.get("load_requests", np.nan),
        },
        index=options.index,
    )  # fmt: skip
    distinct = keys.drop_duplicates()
    near = nearest(table, distinct, catalog)
    same = keys.reset_index().merge(distinct.reset_index(names="first"), on=list(keys.columns), how="left")
    owner = same.set_index("index" if "index" in same else same.columns[0])["first"]
    rows = table.loc[near["row"].unique()] if len(near) else table.iloc[:0]
    shown = predict(rows, catalog) if len(rows) else rows.assign(predicted=np.nan)
    near = near.rename(columns={"option": "first"})
    lines = owner.rename("first").rename_axis("option").reset_index().merge(near, on="first", how="inner")
    facts = shown.loc[lines["row"]].reset_index(drop=True)
    lines = lines.reset_index(drop=True)
    made = pd.DataFrame({"option_id": identity.loc[lines["option"]].to_numpy(), "rank": lines["rank"]})
    for name in COLUMNS[2:]:
        if name not in ("measured", "error_share", "distance"):
            made[name] = facts[name]
    made["measured"] = facts["value"]
    made["error_share"] = made["predicted"] / made["measured"] - 1
    made["distance"] = lines["distance"]
    return made[list(COLUMNS)]


def bands(frame: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """Label and low/high of the numbers of any frame with model, gpu and quantization, on its index."""
    measured = shipped_keys()
    keys = frame[["model", "gpu", "quantization"]].astype(str)
    twins = {model: _twin(catalog, model, measured) for model in keys["model"].unique()}
    return _bands(frame, keys.assign(model=keys["model"].map(twins)))


SHAPE = (
    "layers",
    "hidden_size",
    "attention_heads",
    "kv_heads",
    "vocabulary_size",
    "experts",
    "expert_intermediate_size",
)


def _twin(catalog: Catalog, model: str, measured: Collection[tuple[str, str, str]]) -> str:
    """The measured model of the same shape (Llama 3.3 70B is Llama 3.1 70B to a server), or the model itself."""
    names = {name for name, _, _ in measured}
    if model in names:
        return model
    shape = [catalog.models[model].value(name) for name in SHAPE]
    same = (name for name in sorted(names) if [catalog.models[name].value(fact) for fact in SHAPE] == shape)
    return next(same, model)


def _bands(options: pd.DataFrame, keys: pd.DataFrame) -> pd.DataFrame:
    """Label and low/high of each option's numbers. More tokens per second at the same load means a lower TPOT; the
    load an option may carry, and so the cards it needs, follow the band of throughput."""
    label = labels(keys)
    made = pd.DataFrame({"label": label}, index=options.index)
    names, code = np.unique(label.astype(str), return_inverse=True)
    factors = {
        metric: np.array([band(metric, "", each) for each in names]).reshape(-1, 2)[code] for metric in BANDED.values()
    }
    for column, metric in BANDED.items():
        if column in options:
            low, high = factors[metric].T
            made[f"{column}_low"], made[f"{column}_high"] = options[column] * low, options[column] * high
    # the TPOT limit sets the load: when steps take longer by a factor, about so many fewer requests keep the target
    low, high = 1 / factors["tpot_ms"][:, 1], 1 / factors["tpot_ms"][:, 0]
    if "recommended_concurrency" in options:
        made["recommended_concurrency_low"] = np.floor(options["recommended_concurrency"] * low)
        made["recommended_concurrency_high"] = np.floor(options["recommended_concurrency"] * high)
    if "cards_needed" in options:
        unit = options.get("unit_cards", 1)
        made["cards_needed_low"] = np.minimum(
            np.ceil(options["cards_needed"] / high / unit) * unit, options["cards_needed"]
        )
        made["cards_needed_high"] = np.maximum(
            np.ceil(options["cards_needed"] / low / unit) * unit, options["cards_needed"]
        )
    return made
