"""Coefficients of the four bottlenecks that cannot be: refused with the arithmetic, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reports.catalog.records import Catalog
from reports.catalog.select import assumption
from reports.scenario.schema import ScenarioFile
from reports.scenario.targets import NO_TARGET_MS
from reports.strict_yaml import did_you_mean
from reports.yaml_problems import KeyPath

METHOD = "four-bottleneck"


@dataclass(frozen=True)
class Impossible:
    """Where it is stated, what is wrong with it, and what could be."""

    path: KeyPath
    message: str
    read: str
    expected: str
    hint: str = ""


def impossible(file: ScenarioFile, catalog: Catalog) -> Iterator[Impossible]:
    """What the method refuses of a scenario and the catalogs laid under it; nothing where another method is asked."""
    if METHOD not in file.method:
        return
    yield from _kv(file, catalog)
    yield from _activations(file, catalog)
    yield from _instructions(file, catalog)
    yield from _lanes(file)
    yield from _processor(file, catalog)
    yield from _promises(file)


def _value(file: ScenarioFile, catalog: Catalog, name: str) -> float:
    """The scenario's own value, else that of the catalogs."""
    return float(file.assumptions.get(name, assumption(catalog, name, file.region).mid))


def _path(name: str) -> KeyPath:
    return ("assumptions", name)


def _kv(file: ScenarioFile, catalog: Catalog) -> Iterator[Impossible]:
    name = "four_kv_bytes_per_token"
    stated = _value(file, catalog, name)
    most = _value(file, catalog, "four_kv_tolerance_factor")
    width = 1 if file.kv_cache == "fp8" else 2
    for model in dict.fromkeys([each.model for each in file.services] or file.matrix.model):
        elements = catalog.models[model].value("kv_elements_per_token")
        derived = elements * width
        if stated > most * derived:
            yield Impossible(
                _path(name),
                f"cannot be measured on {model}",
                f"{stated:,.0f} bytes a token",
                f"at most {most:.2f} x {derived:,.0f} = {most * derived:,.0f}",
                f"config.json gives {elements:,.0f} elements of {width} bytes; {stated:,.0f} is {stated / derived:.1f} "
                "times as much",
            )


def _activations(file: ScenarioFile, catalog: Catalog) -> Iterator[Impossible]:
    name = "four_activation_factor"
    factor = _value(file, catalog, name)
    workloads = [each.workload or file.workload for each in file.services] or [file.workload]
    for tokens in dict.fromkeys(each.input_tokens.p95 + each.output_tokens.p95 for each in workloads):
        needed = factor * tokens**1.5
        for gpu in file.matrix.gpu:
            memory = catalog.gpus[gpu].value("memory_nominal_gb")
            if needed > memory:
                yield Impossible(
                    _path(name),
                    f"leaves no request on {gpu}",
                    f"{factor:g} GB",
                    f"at most {memory / tokens**1.5:.3g} GB",
                    f"{factor:g} x 1^2 x {tokens:,.0f}^1.5 = {needed:,.0f} GB of activations for one request; a card "
                    f"has {memory:g} GB",
                )


def _instructions(file: ScenarioFile, catalog: Catalog) -> Iterator[Impossible]:
    name = "four_instructions_per_cycle_ratio"
    stated, most = _value(file, catalog, name), _value(file, catalog, "four_instructions_most_ratio")
    if not 0 < stated <= most:
        counted = _value(file, catalog, "four_instructions_b")
        hint = "a core retires no more"
        if counted and stated > 0:
            hint += f": {counted:g}e9 instructions take at least {counted:g} / {most:g} = {counted / most:.3g}e9 cycles"
            hint += f", not {counted / stated:.3g}e9"
        bounds = f"above 0, at most {most:g}"
        yield Impossible(_path(name), "cannot be", f"{stated:g} instructions a cycle", bounds, hint)


def _processor(file: ScenarioFile, catalog: Catalog) -> Iterator[Impossible]:
    name, known = file.four_bottleneck.processor, list(catalog.processors["processor"])
    if name is not None and name not in known:
        yield Impossible(("four_bottleneck", "processor"), "is not in the catalog", f'"{name}"',
                         "an id that gpubook catalog list processors shows", did_you_mean(name, known))  # fmt: skip


def _lanes(file: ScenarioFile) -> Iterator[Impossible]:
    four = file.four_bottleneck
    custom = four.topology == "custom-lanes"
    if custom != bool(four.lanes) or (custom and set(file.matrix.count) != {len(four.lanes)}):
        counts = ", ".join(str(count) for count in file.matrix.count)
        yield Impossible(
            ("four_bottleneck", "lanes"),
            "does not fit the topology",
            f"lanes of {len(four.lanes)} cards for {four.topology} and {counts} cards",
            "the lanes of each card with custom-lanes and one count, and none otherwise",
        )


def _promises(file: ScenarioFile) -> Iterator[Impossible]:
    for targets in dict.fromkeys([each.targets for each in file.services] or [file.targets]):
        if targets and not max(targets.ttft_ms, targets.tpot_ms) < NO_TARGET_MS:
            yield Impossible(
                ("targets",), "does not say how long a request may take", "one of TTFT and TPOT",
                "both ttft_ms and tpot_ms", "the four bottlenecks reckon with the time that they promise",
            )  # fmt: skip
