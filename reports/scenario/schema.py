"""What may be written in a scenario; the JSON schema for editors is generated from here."""

from __future__ import annotations

import calendar
import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator

from reports.scenario.buying import Budget
from reports.scenario.look import Look
from reports.scenario.operations import EngineSettings, FleetEntry, Policies, Room, Speculative
from reports.scenario.services import Service, ServiceEntry, by_model, listed
from reports.scenario.targets import Targets
from reports.scenario.workload import Strict, Workload

MethodName = Literal["roofline", "rule-of-thumb", "four-bottleneck"]
Language = Literal["en", "zh"]
Currency = Literal["CNY", "USD", "EUR"]
Region = Literal["china", "us", "eu", "global"]
Interconnect = Literal["nvlink", "pcie"]
ReportKind = Literal["monthly-procurement", "capacity-proposal", "technical-appendix"]

Text = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S", description="text that can be seen")]
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


class Matrix(Strict):
    """The five axes; every combination is a candidate."""

    model: tuple[str, ...] = Field(min_length=1, max_length=500)
    """Models, by their id or any alias in the catalog; left out where services are listed."""
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


class FourBottleneck(Strict):
    """The server as the four bottlenecks see it; its numbers are assumptions, or facts of hosts, links and cards."""

    topology: Literal["single-switch", "bridged-pairs", "nvswitch", "custom-lanes"] = "single-switch"
    """How cards reach the host and each other: one or more shared PCIe switches, the same with bridges in pairs,
    NVSwitch, or lanes of their own."""
    switches: Annotated[int, Field(ge=1, le=16)] = 1
    """PCIe switches of the server, each with a link of its own to the host."""
    lanes: tuple[Annotated[int, Field(ge=1, le=16)], ...] = ()
    """PCIe lanes of each card; for custom-lanes."""
    processor: str | None = None
    """The server's processor, an id of catalogs/processors.csv; none: what a probe found, or the assumptions."""
    processors: Annotated[int, Field(ge=1, le=16)] = 2
    """How many of them the server has."""
    torch_compile: bool = False
    offload_embeddings: bool = False
    """Whether the input embedding lies in host memory."""
    aggressive_requests: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """More requests at once than the safe limit: the report says what becomes of the targets."""


class PricePin(Strict):
    """One state of the price book, as ``gpubook catalog pin`` prints it."""

    as_of: datetime.date
    """Rows dated later are not used."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="64 hexadecimal digits")]
    """Of all rows up to that day; another one stops the build."""
    rows: dict[Literal["rental", "purchase", "api", "exchange"], Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict
    )
    """How many rows each table had: says what changed."""


class Prices(Strict):
    """Which prices are eligible, and which state of the price book they come from."""

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
    pin: PricePin | None = None
    """The state of the price book this report is made from; default: all rows up to as_of."""
    longer_than_horizon: bool = False
    """Whether offers that bind for longer than the horizon are eligible."""
    data_residency: Literal["china", "us", "eu"] | None = None
    """Only offers known to stand there; default: where the regions allow."""
    export_restrictions: Literal["warn", "refuse", "ignore"] = "warn"
    """What happens with cards that need an export licence in the region: named on the cover, refused, or nothing."""


class Costs(Strict):
    """What is compared, and over how long."""

    horizon_months: Annotated[int, Field(ge=1, le=240)] = 36
    compare: tuple[Literal["rent", "buy"], ...] = Field(default=("rent", "buy"), min_length=1)

    depreciation: Literal["straight-line", "declining-balance"] = "straight-line"
    """How the books write servers off; the cash view does not depend on it."""
    tax_shield: bool = False
    """Whether the cash flows after income tax are shown too: rent, depreciation and running cost are expenses."""
    lease_payments: Literal["in-arrears", "in-advance"] = "in-arrears"
    """When a lease is paid: at the end or at the start of a month."""

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
    services: tuple[ServiceEntry, ...] = Field(default=(), max_length=500)
    """Models with a demand, targets and a priority of their own, instead of matrix.model."""
    matrix: Matrix
    speculative: Speculative | None = None
    """Speculative decoding; default: none."""
    engine_settings: EngineSettings = EngineSettings()
    """How the engine is started; default: as the engine's entry in the catalog."""
    network: str = Field(default="", max_length=80)
    """The network between servers, a link of kind network in the catalog: ranks may then span whole servers."""
    fleet: tuple[FleetEntry, ...] = Field(default=(), max_length=1000)
    """Cards that are there already."""
    room: Room | None = None
    """What the site can power, cool and hold; default: anything."""
    policies: Policies = Policies()
    """Reserves; what is left out is an assumption of the catalog."""
    budget: Budget = Budget()
    """What may be spent on the purchase, and by when; default: no limit."""
    rule_of_thumb: RuleOfThumb = RuleOfThumb()
    four_bottleneck: FourBottleneck = FourBottleneck()
    assumptions: Mapping[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    """Own values for rows of catalogs/assumptions.csv: name -> value in the row's unit; money in this currency."""
    prices: Prices = Prices()
    costs: Costs = Costs()
    reports: tuple[ReportKind, ...] = ("monthly-procurement",)
    """Which PDF reports are written; the workbook always is."""
    theme: str = Field(default="", max_length=200)
    """A file beside this one with the company's own colours, logo, header, footer and disclaimer."""
    templates: str = Field(default="", max_length=200)
    """A folder beside this file with own page blocks and style sheets, laid over the shipped templates."""
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
    look: Look = Look()
    """What the theme file says."""
    own_templates: Mapping[str, str] = Field(default_factory=dict)
    """Path inside the template folder -> text."""
    own_workloads: frozenset[str] = frozenset()
    """Services whose workload or targets differ from the scenario's."""
    text: str = ""
    """The whole scenario as one file: extended, overridden and set, in JSON, which is YAML too."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, the deciding one first."""
        return self.method

    @property
    def service_axis(self) -> tuple[Service, ...]:
        """The first axis of the matrix: the services, or one for each model when none are listed."""
        formats = {model: self.matrix.quantization_by_model.get(model, self.matrix.quantization)
                   for model in self.matrix.model}  # fmt: skip
        if self.services:
            return listed(self.services, self.own_workloads, formats)
        return by_model(self.matrix.model, self.workload, self.targets, formats)

    def demand_for(self, service: str) -> tuple[float, float]:
        """(peak concurrency, requests per second) of a service, 0 for the one that is not stated."""
        (found,) = (each for each in self.service_axis if each.name == service)
        return found.demand.peak_concurrency or 0.0, found.demand.requests_per_s or 0.0


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
    schema["$defs"]["ServiceEntry"]["required"] = ["model", "name"]  # its workload may be the scenario's
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
