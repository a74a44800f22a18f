"""What the YAML file of an entry may say: strict, every unknown key refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

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
    source: str | None = Field(None, min_length=1, description="the id of a row of sources.csv")
    at: str | None = Field(None, min_length=1, description="a day, month or year")
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
    at: str = Field(min_length=1, description="the day, month or year of the facts, such as 2026-11-30")
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
    release_year: int | None = Field(None, gt=0, description="left out where it is not known")
    nvlink: str | None = None
    nvlink_domain_cards: Literal[0, 2, 4, 8, 72] = 0
    pcie: str = Field(min_length=1, description="the id of a link of kind pcie")
    host: str = Field(min_length=1, description="the id of a host")
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
    source: str = Field(min_length=1, description="the id of a row of sources.csv")


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


class LinkFile(EntryFile):
    """catalogs/links/<id>.yaml"""

    kind: Literal["nvlink", "pcie", "network"]
    points: dict[str, Facts] = Field(description="number of cards -> facts")


class LoadProfileFile(EntryFile):
    """catalogs/profiles/load/<id>.yaml"""

    shares: dict[str, tuple[float, ...]] = Field(
        min_length=1, description="every_day, weekday, weekend or a weekday -> 24 numbers, from 0 h on"
    )


class LengthMixFile(EntryFile):
    """catalogs/profiles/lengths/<id>.yaml"""


File = TypeVar("File", bound=EntryFile)


def salvaged(schema: type[File], data: Mapping[str, Any]) -> File:
    """What is usable of a refused file, so that its other problems are found too; never part of a catalog.

    A value that is missing or refused has its default, or is empty.
    """
    values = {name: _usable(field, data.get(name)) for name, field in schema.model_fields.items()}
    return schema.model_construct(**values)


def _usable(field: Any, value: Any) -> Any:
    for candidate in (value, _good_items(value)):
        try:
            return TypeAdapter(Annotated[field.annotation, field]).validate_python(candidate)
        except ValidationError:
            continue
    return _EMPTY.get(field.annotation, "") if field.is_required() else field.get_default(call_default_factory=True)


def _good_items(value: Any) -> Any:
    """Of facts (or of points with facts) those that are good by themselves."""
    if not isinstance(value, Mapping):
        return value
    points = {name: _good_items(item) for name, item in value.items() if _has_parts(item)}
    return points | {name: item for name, item in value.items() if not _has_parts(item) and _is_good(item)}


def _has_parts(item: Any) -> bool:
    return isinstance(item, Mapping) and any(isinstance(part, Mapping) for part in item.values())


def _is_good(item: Any) -> bool:
    try:
        FactFile.model_validate(item)
    except ValidationError:
        return False
    return True


_EMPTY: dict[Any, Any] = {
    bool: False,
    int: 0,
    tuple[ComputeType, ...]: ("16bit",),
    QualityFile: QualityFile.model_construct(text="", basis="judgement", source=""),
    dict[str, Facts]: {},
    dict[str, tuple[float, ...]]: {},
    Literal["nvlink", "pcie"]: "pcie",
}
"""What stands for a required value of each type that cannot be used; text is empty."""
