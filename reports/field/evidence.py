"""What was measured near an option: its labels, its 80 % bands, and the nearest measured rows with both numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.catalog.records import Catalog
from reports.field import own
from reports.field.bands import FAMILY, LABELS, Known, labels
from reports.field.predict import predict
from reports.field.rules import rule

METRICS = ("tpot_ms", "output_tok_s", "per_gpu_output_tok_s", "ttft_ms", "kv_cache_tokens")
"""Metrics worth showing beside a candidate."""

COLUMNS = (
    "option_id", "rank", "row_id", "source", "date", "model", "gpu", "quantization", "engine", "input_tokens",
    "output_tokens", "batch_requests", "tensor_parallel", "metric", "measured", "predicted", "error_share", "distance",
)  # fmt: skip

BANDED = {"tpot_ms": "tpot_ms", "ttft_ms": "ttft_ms", "output_tokens_per_s": "output_tok_s"}
"""Column of an option -> metric whose label and band apply to it."""

BINDING = {"memory": "kv_cache_tokens", "ttft": "ttft_ms"}
"""Constraint that limits the load -> metric that says how sure the load is; all others: the time per token."""

Values = NDArray[np.float64]


def nearest(table: pd.DataFrame, keys: pd.DataFrame, catalog: Catalog, count: int = 0) -> pd.DataFrame:
    """(option index, rank, table index, distance): the nearest distinct tests of each key row.

    ``keys`` has model, gpu, quantization, engine, input_tokens, output_tokens, batch_requests (of one replica),
    tensor_parallel, data_parallel, interconnect and metric (the one that limits). Of one test only the nearest row is
    shown. ``count`` 0: as many as the rules say.
    """
    table = table[(table["problem"] == "") & (table["trap"] == "") & table["metric"].isin(METRICS)]
    if table.empty or keys.empty:
        return pd.DataFrame(columns=["option", "rank", "row", "distance"])
    space = _Space(table, catalog)
    found = []
    test = table.groupby(["model", "gpu", "quantization", "engine", "metric"], sort=False).ngroup().to_numpy()
    for option, key in zip(keys.index, keys.to_dict("records"), strict=True):
        distance = space.distances(pd.DataFrame([key]))
        order = np.argsort(distance, kind="stable")
        _, first = np.unique(test[order], return_index=True)
        chosen = order[np.sort(first)[: count or int(rule("nearest_rows"))]]
        found += [(option, rank, table.index[row], float(distance[row])) for rank, row in enumerate(chosen, start=1)]
    return pd.DataFrame(found, columns=["option", "rank", "row", "distance"])


class _Space:
    """Measured rows as points: a factor of e in model or card is a distance of 1; the rest is weighed by rules."""

    def __init__(self, table: pd.DataFrame, catalog: Catalog) -> None:
        names = ("memory_bandwidth_gb_per_s", "peak_16bit_tflops", "memory_nominal_gb")
        self.sizes = {name: np.log([max(entry.value("parameters_b"), 0.1), _active(entry)])
                      for name, entry in catalog.models.items()}  # fmt: skip
        self.cards = {
            card: np.log([max(entry.value(name), 1.0) for name in names]) for card, entry in catalog.gpus.items()
        }
        self.table = table
        self.points = self._points(table)
        self.family = table["metric"].map(FAMILY).to_numpy()

    def _points(self, rows: pd.DataFrame) -> Values:
        size = np.array([self.sizes[model] for model in rows["model"]])
        card = np.array([self.cards[gpu] for gpu in rows["gpu"]])
        parts = [size, card]
        for columns, weight in (
            (["input_tokens", "output_tokens"], "distance_length_weight"),
            (["batch_requests"], "distance_load_weight"),
            (["tensor_parallel", "data_parallel"], "distance_layout_weight"),
        ):
            parts.append(np.log(np.maximum(rows[columns].to_numpy(dtype=float), 1)) * rule(weight))
        return np.column_stack(parts)

    def distances(self, key: pd.DataFrame) -> Values:
        """From one key to every row of the table."""
        one, table = key.iloc[0], self.table
        gap = self.points - self._points(key)
        # what a log does not state (lengths, load) does not matter to memory; elsewhere it may be anything
        unknown = np.where(self.family == "memory", 0.0, 1.0)[:, None]
        gap = np.where(np.isnan(gap), unknown, gap)
        result: Values = np.sqrt((gap**2).sum(axis=1))
        result = result + rule("distance_other_format") * (table["quantization"] != one["quantization"]).to_numpy()
        near = np.where(result > 1, 1.0, rule("distance_other_card_near"))
        result = result + rule("distance_other_card") * near * (table["gpu"] != one["gpu"]).to_numpy()
        result = result + rule("distance_other_engine") * (table["engine"] != one["engine"]).to_numpy()
        linked = (table["tensor_parallel"] * table["data_parallel"] > 1) & (table["interconnect"] != "")
        result = result + rule("distance_other_link") * (linked & (table["interconnect"] != one["interconnect"]))
        wanted = FAMILY[str(one["metric"])]
        return np.asarray(result + rule("distance_other_metric") * (self.family != wanted), dtype=np.float64)


def _active(entry: object) -> float:
    value = entry.value("active_parameters_b")  # type: ignore[attr-defined]
    return float(value) if value > 0 else float(entry.value("parameters_b"))  # type: ignore[attr-defined]


def _binding(options: pd.DataFrame) -> pd.Series:
    """Metric that says most about the load of each option."""
    if "binding_constraint" not in options:
        return pd.Series("tpot_ms", index=options.index)
    limited = options["binding_constraint"].astype("category")
    metrics = [BINDING.get(str(name), "tpot_ms") for name in limited.cat.categories]
    return pd.Series(np.array([*metrics, "tpot_ms"], dtype=object)[limited.cat.codes], index=options.index)


def evidence(options: pd.DataFrame, catalog: Catalog, table: pd.DataFrame) -> pd.DataFrame:
    """The measured rows nearest to each of a frame of options (candidates of the roofline method, or its short list).

    Own rows of an overlay are looked through beside ``table``. Of an option these columns are read where present:
    option_id (or candidate_id), model, gpu, quantization, engine, input_mean_tokens, output_mean_tokens, load_requests,
    tensor_parallel, data_parallel, interconnect, binding_constraint.
    """
    table = pd.concat([table, own.own_rows(catalog)], ignore_index=True)
    identity = options["option_id"] if "option_id" in options else options["candidate_id"]
    keys = pd.DataFrame(
        {
            "model": options["model"].astype(str), "gpu": options["gpu"].astype(str),
            "quantization": options["quantization"].astype(str),
            "engine": options["engine"].astype(str) if "engine" in options else "vllm",
            "input_tokens": options.get("input_mean_tokens", np.nan),
            "output_tokens": options.get("output_mean_tokens", np.nan),
            "batch_requests": options.get("load_requests", np.nan),
            "tensor_parallel": options.get("tensor_parallel", np.nan),
            "data_parallel": options.get("data_parallel", np.nan),
            "interconnect": options["interconnect"].astype(str) if "interconnect" in options else "",
            "metric": _binding(options),
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


SHAPE = (
    "layers",
    "hidden_size",
    "attention_heads",
    "kv_heads",
    "vocabulary_size",
    "experts",
    "expert_intermediate_size",
)


def twins(catalog: Catalog) -> dict[str, str]:
    """Every model -> one name for all of its shape: Llama 3.3 70B is Llama 3.1 70B to a server."""
    first: dict[tuple[float, ...], str] = {}
    return {
        name: first.setdefault(tuple(catalog.models[name].value(fact) for fact in SHAPE), name)
        for name in sorted(catalog.models)
    }


def bands(frame: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """Labels and low/high of the numbers of any frame with model, gpu and quantization, on its index.

    Each number has the label of its own metric (``tpot_ms_label``, …); ``label`` is that of the load, which the metric
    of the binding constraint decides. No server across several machines was measured: its label is the widest.
    """
    known, shape = own.known(catalog), twins(catalog)
    frame = frame if "engine" in frame else frame.assign(engine="vllm")
    spread = frame["stage_servers"] > 1 if "stage_servers" in frame else pd.Series(False, index=frame.index)
    code, each = _distinct(frame.assign(spread=spread), ["model", "gpu", "quantization", "engine", "spread"])
    several = (each.pop("spread") == "True").to_numpy()
    keys = frozenset((shape.get(model, model), *more) for model, *more in known.keys)
    label = {
        metric: np.where(several, LABELS[2], labels(each.assign(model=each["model"].map(shape)), keys, metric))  # type: ignore[arg-type]
        for metric in dict.fromkeys([*BANDED.values(), *BINDING.values()])
    }
    return _bands(frame, code, each, known, label)


def _distinct(frame: pd.DataFrame, names: list[str]) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """The different combinations of some columns, and for each row which it has; names are compared once, not a million
    times."""
    columns = [frame[name].astype("category") for name in names]
    combined = np.zeros(len(frame), dtype=np.int64)
    for column in columns:
        combined = combined * len(column.cat.categories) + column.cat.codes.to_numpy()
    code, seen = pd.factorize(combined)
    found: dict[str, list[str]] = {}
    for name, column in zip(reversed(names), reversed(columns), strict=True):
        seen, here = np.divmod(seen, max(len(column.cat.categories), 1))
        found[name] = [str(column.cat.categories[index]) for index in here]
    return code, pd.DataFrame({name: found[name] for name in names})


def _bands(
    options: pd.DataFrame, code: NDArray[np.int64], each: pd.DataFrame, known: Known,
    of_each: dict[str, NDArray[np.object_]],
) -> pd.DataFrame:  # fmt: skip
    """Labels and low/high of each option's numbers. More tokens per second at the same load means a lower TPOT; the
    load an option may carry, and so the cards it needs, follow the band of what limits it."""
    distinct = list(each.itertuples(index=False, name=None))
    names = np.array(LABELS, dtype=object)
    label: dict[str, NDArray[np.int64]] = {}
    factors: dict[str, Values] = {}
    for metric, found in of_each.items():
        label[metric] = np.array([LABELS.index(said) for said in found], dtype=np.int64)[code]
        both = [known.factors(key, metric, "", said) for key, said in zip(distinct, found, strict=True)]
        factors[metric] = np.array(both, dtype=np.float64).reshape(-1, 2)[code]
    which, limits = _distinct(pd.DataFrame({"binding": _binding(options)}), ["binding"])
    is_binding = {metric: (limits["binding"] == metric).to_numpy()[which] for metric in label}
    of_load = np.select(list(is_binding.values()), list(label.values()), 0)
    made = pd.DataFrame({"label": names[of_load]}, index=options.index)

    def said(codes: NDArray[np.int64]) -> pd.Categorical:
        return pd.Categorical.from_codes(codes, list(LABELS))

    for column, metric in BANDED.items():
        if column in options:
            low, high = factors[metric].T
            made[f"{column}_low"], made[f"{column}_high"] = options[column] * low, options[column] * high
            made[f"{column}_label"] = said(label[metric])
    # where a latency limits the load: when steps take longer by a factor, about so many fewer requests keep the target
    memory = is_binding[BINDING["memory"]]
    latency = np.where(is_binding["ttft_ms"][:, None], factors["ttft_ms"], factors["tpot_ms"])
    low = np.where(memory, factors[BINDING["memory"]][:, 0], 1 / latency[:, 1])
    high = np.where(memory, factors[BINDING["memory"]][:, 1], 1 / latency[:, 0])
    if "recommended_concurrency" in options:
        made["recommended_concurrency_low"] = np.floor(options["recommended_concurrency"] * low)
        made["recommended_concurrency_high"] = np.floor(options["recommended_concurrency"] * high)
        made["recommended_concurrency_label"] = said(of_load)
    if "cards_needed" in options:
        made["cards_needed_label"] = said(of_load)
        unit = options.get("unit_cards", 1)
        made["cards_needed_low"] = np.minimum(
            np.ceil(options["cards_needed"] / high / unit) * unit, options["cards_needed"]
        )
        made["cards_needed_high"] = np.maximum(
            np.ceil(options["cards_needed"] / low / unit) * unit, options["cards_needed"]
        )
    return made
