"""What the YAML file of an entry may say: strict, every unknown key refused."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Basis = Literal["measured", "published", "derived", "judgement"]
Confidence = Literal["high", "medium", "low"]
ComputeType = Literal["16bit", "fp8", "int8", "fp4"]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FactFile(_File):
    """A fact; what it leaves out comes from the top of the file."""

    value: float = Field(ge=0, description="a number, 0 or more")
    low: float | None = Field(None, ge=0, description="the least it may be")
    high: float | None = Field(None, ge=0, description="the most it may be")
    basis: Basis | None = None
    source: str | None = None
    at: str | None = None
    confidence: Confidence | None = None
    confirmed: bool | None = None
    note: str = ""


Facts = dict[str, FactFile]


class EntryFile(_File):
    """What every entry has."""

    name: str = Field(min_length=1, description="the name as people write it")
    aliases: tuple[str, ...] = ()
    note: str = ""
    source: str = Field(min_length=1, description="the id of a row of sources.csv")
    at: str = Field(description="the day, month or year of the facts, such as 2026-11-30")
    basis: Basis = Field(description="measured, published, derived or judgement")
    confidence: Confidence = "medium"
    confirmed: bool = Field(description="true when someone has looked at the source")
    facts: Facts = Field(default_factory=dict)


class GpuFile(EntryFile):
    """catalogs/gpus/<slug>.yaml"""

    vendor: str
    arch: str
    form_factor: str = ""
    memory_type: str = ""
    compute_capability: str = ""
    release_year: int = Field(0, ge=0)
    nvlink: str | None = None
    nvlink_domain_cards: Literal[0, 2, 4, 8, 72] = 0
    pcie: str = Field(description="the id of a link of kind pcie")
    host: str = Field(description="the id of a host")
    exceptions: dict[str, str] = Field(default_factory=dict)


class ModelFile(EntryFile):
    """catalogs/models/<slug>.yaml"""

    huggingface_id: str = ""
    family: str = ""
    architecture: str = ""
    native_dtype: str = ""
    max_context_tokens: int = Field(gt=0, description="the longest context, in tokens")


class QualityFile(_File):
    """What a quantization costs in answers."""

    text: str = Field(min_length=1)
    basis: Basis
    source: str


class QuantizationFile(EntryFile):
    """catalogs/quantizations/<id>.yaml"""

    compute_types: tuple[ComputeType, ...] = Field(min_length=1)
    native_archs: tuple[str, ...] = ()
    moe_facts: Facts = Field(default_factory=dict)
    quality: QualityFile


class EngineFile(EntryFile):
    """catalogs/engines/<id>.yaml"""


class HostFile(EntryFile):
    """catalogs/hosts/<id>.yaml"""

    gpus: tuple[str, ...] = ()


class LinkFile(EntryFile):
    """catalogs/links/<id>.yaml"""

    kind: Literal["nvlink", "pcie"]
    points: dict[str, Facts] = Field(description="number of cards -> facts")
