"""What may be written in a scenario; the JSON schema for editors is generated from here."""

from __future__ import annotations

import calendar
import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from reports.scenario.workload import Strict, Workload

MethodName = Literal["roofline", "rule-of-thumb"]
Language = Literal["en", "zh"]
Currency = Literal["CNY", "USD", "EUR"]
Region = Literal["china", "us", "eu", "global"]
Interconnect = Literal["nvlink", "pcie"]
ReportKind = Literal["monthly-procurement", "capacity-proposal", "technical-appendix"]
Statistic = Literal["mean", "p50", "p95", "p99"]

Text = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S", description="text that can be seen")]
Milliseconds = Annotated[float, Field(gt=0, le=1e7, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=100_000)]
Period = Annotated[str, Field(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$", description="a month such as 2026-11")]

RULE_OF_THUMB = "rule-of-thumb"
METHODS: tuple[str, ...] = get_args(MethodName)
AXES = ("model", "quantization", "gpu", "count", "interconnect")


def _each_once(value: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(value)) != len(value):
        raise ValueError("lists the same item twice")
    return value


class Title(Strict):
    """The title of the report in each language; English stands in where another is missing."""

    en: Text
    zh: str = Field(default="", max_length=200)

    def __getitem__(self, language: str) -> str:
        return getattr(self, language) or self.en


class Targets(Strict):
    """What users are promised: time per output token (TPOT) and time to first token (TTFT), one of each."""

    tpot_mean: Milliseconds | None = Field(default=None, alias="tpot_ms")
    """Mean time per output token."""
    tpot_p50: Milliseconds | None = Field(default=None, alias="tpot_p50_ms")
    tpot_p95: Milliseconds | None = Field(default=None, alias="tpot_p95_ms")
    tpot_p99: Milliseconds | None = Field(default=None, alias="tpot_p99_ms")
    ttft_mean: Milliseconds | None = Field(default=None, alias="ttft_ms")
    """Mean time to first token."""
    ttft_p50: Milliseconds | None = Field(default=None, alias="ttft_p50_ms")
    ttft_p95: Milliseconds | None = Field(default=None, alias="ttft_p95_ms")
    ttft_p99: Milliseconds | None = Field(default=None, alias="ttft_p99_ms")

    @model_validator(mode="after")
    def _one_each(self) -> Targets:
        wrong = [kind for kind in ("tpot", "ttft") if len(self._stated(kind)) != 1]
        if wrong:
            forms = " and ".join(f"one of {', '.join(target_keys(kind))}" for kind in wrong)
            raise ValueError(f"state exactly {forms}")
        return self

    def _stated(self, kind: str) -> list[tuple[Statistic, float]]:
        found = [(statistic, getattr(self, f"{kind}_{statistic}")) for statistic in get_args(Statistic)]
        return [(statistic, value) for statistic, value in found if value is not None]

    @property
    def tpot_ms(self) -> float:
        """Target for the time per output token."""
        return self._stated("tpot")[0][1]

    @property
    def tpot_statistic(self) -> Statistic:
        """Which statistic of the time per output token the target is for."""
        return self._stated("tpot")[0][0]

    @property
    def ttft_ms(self) -> float:
        """Target for the time to first token."""
        return self._stated("ttft")[0][1]

    @property
    def ttft_statistic(self) -> Statistic:
        """Which statistic of the time to first token the target is for."""
        return self._stated("ttft")[0][0]


def target_keys(kind: str) -> list[str]:
    """The keys that state one target: ``tpot_ms``, ``tpot_p50_ms``, …"""
    return [str(field.alias) for name, field in Targets.model_fields.items() if name.startswith(kind)]


class Matrix(Strict):
    """The five axes; every combination is a candidate."""

    model: tuple[str, ...] = Field(min_length=1, max_length=500)
    """Models, by their id or any alias in the catalog."""
    quantization: tuple[str, ...] = Field(min_length=1, max_length=50)
    gpu: tuple[str, ...] = Field(min_length=1, max_length=500)
    count: tuple[Count, ...] = Field(min_length=1, max_length=128)
    """Cards of one deployment unit; several units serve a demand together."""
    interconnect: tuple[Interconnect, ...] = Field(min_length=1)
    """The link the engine uses: pcie on any card, nvlink where the card has it."""
    quantization_by_model: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Model -> the only quantizations it may use."""


class RuleOfThumb(Strict):
    """Switches of the rule of thumb; its numbers are assumptions."""

    units: Literal["si", "as_published"] = "si"
    """as_published divides GB by GiB, like the published calculator."""
    lengths: Literal["p95", "mean"] = "p95"
    """Which length of a request fills the KV cache."""


class Prices(Strict):
    """Which rental offers are eligible."""

    max_age_days: Annotated[int, Field(ge=0, le=36_500)] = 180
    """Offers dated earlier than this before as_of are not used."""
    regions: tuple[str, ...] = ()
    """Regions as the price book writes them; default: the scenario's region and global (global alone: everywhere)."""
    providers_allowed: tuple[str, ...] = ()
    """Only these providers; default: all."""
    providers_denied: tuple[str, ...] = ()
    marketplaces: bool = False
    """Whether offers of marketplaces (single cards of private owners) are eligible."""
    terms: tuple[str, ...] = ()
    """on-demand, spot, reserved-1m, reserved-1y, …; default: every term of the price book but spot."""


class Costs(Strict):
    """What is compared, and over how long."""

    horizon_months: Annotated[int, Field(ge=1, le=240)] = 36
    compare: tuple[Literal["rent", "buy"], ...] = Field(default=("rent", "buy"), min_length=1)

    _once = field_validator("compare")(_each_once)


class ScenarioFile(Strict):
    """One question: this workload, these candidates, these targets, these prices."""

    title: Title
    period: Period
    """Month of the report, such as 2026-11."""
    as_of: datetime.date | None = None
    """Day that prices and ages are counted from; default: the last day of the period."""
    currency: Currency
    region: Region = "global"
    """Where the cards stand: decides electricity, colocation and which offers are near."""
    languages: tuple[Language, ...] = Field(default=("en",), min_length=1)
    method: tuple[MethodName, ...] = Field(default=("roofline",), min_length=1)
    """One method, or several to compare; the first one decides."""
    engine: str = "vllm"
    kv_cache: Literal["16bit", "fp8"] = "16bit"
    workload: Workload
    targets: Targets | None = None
    """Required by every method but the rule of thumb."""
    matrix: Matrix
    rule_of_thumb: RuleOfThumb = RuleOfThumb()
    assumptions: Mapping[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    """Own values for rows of catalogs/assumptions.csv: name -> value in the row's unit; money in this currency."""
    prices: Prices = Prices()
    costs: Costs = Costs()
    reports: tuple[ReportKind, ...] = ("monthly-procurement",)
    """Which PDF reports are written; the workbook always is."""
    client: str = Field(default="", max_length=200)
    """Proposals only: who it is for."""
    version: str = Field(default="", max_length=40)
    """Proposals only: such as 1.0."""
    validity: datetime.date | None = None
    """Proposals only: last day on which the proposal holds."""
    classification: str = Field(default="", max_length=80)
    """Proposals only: such as Confidential."""

    _once = field_validator("languages", "method", "reports")(_each_once)


class Scenario(ScenarioFile):
    """A scenario that was read: names are catalog ids, defaults are filled in, changes and files are known."""

    name: str
    """The file's name without its extension."""
    as_of: datetime.date
    changes: tuple[tuple[str, Any, Any], ...] = ()
    """(path, old, new) of everything an override, --set or --period changed."""
    files: tuple[tuple[str, str], ...] = ()
    """(path from the scenario's folder, SHA-256) of the scenario and of the file it extends."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, the deciding one first."""
        return self.method

    def demand_for(self, model: str) -> tuple[float, float]:
        """(peak concurrency, requests per second) for a model, 0 for the one that is not stated."""
        demand = self.workload.demand
        stated = demand.by_model.get(model, demand)
        return stated.peak_concurrency or 0.0, stated.requests_per_s or 0.0


def last_day(period: str) -> datetime.date:
    """Last day of a month written as ``2026-11``."""
    year, month = (int(part) for part in period.split("-"))
    return datetime.date(year, month, calendar.monthrange(year, month)[1])


def json_schema() -> dict[str, Any]:
    """JSON schema of a scenario file, for editors that complete and check while typing."""
    schema = ScenarioFile.model_json_schema()
    properties = schema["properties"]
    methods = {"enum": list(METHODS), "type": "string"}
    several = {"items": methods, "minItems": 1, "type": "array"}
    properties["method"] = {"description": properties["method"]["description"], "anyOf": [methods, several]}
    lengths = schema["$defs"]["Workload"]["properties"]
    for key in ("input_tokens", "output_tokens"):
        lengths[key] = {"anyOf": [{"type": "number", "minimum": 1}, lengths[key]]}
    properties["extends"] = {"type": "string", "description": "A scenario beside this one that gives the defaults."}
    properties["overrides"] = {
        "type": "object",
        "additionalProperties": {"type": "object"},
        "description": "Name -> the part of a scenario it replaces; chosen by --override NAME.",
    }
    for part in (schema, *(schema["$defs"][name] for name in ("Title", "Workload", "Matrix"))):
        part.pop("required", None)  # what is missing may come from the file it extends
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "gpubook scenario"}


def schema_text() -> str:
    """The JSON schema as it is committed in catalogs/schema/scenario.json."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def write_schema(folder: Path) -> Path:
    """Write scenario.json into ``catalogs/schema``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "scenario.json"
    path.write_text(schema_text(), encoding="utf-8")
    return path


if __name__ == "__main__":
    from reports.paths import catalogs_folder

    print(write_schema(catalogs_folder() / "schema"))
