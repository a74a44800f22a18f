"""Exact bytes of a model from its files: every tensor of the safetensors headers, KV cache a token from config.json."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.catalog.records import Catalog, ModelEntry
from reports.errors import InputError, Problem
from reports.field.readers.text import load_json, refuse

MOST_HEADER_BYTES = 100_000_000
"""What the format itself allows."""
MOST_FILES = 10_000
TYPE_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "I64": 8, "I32": 4, "I16": 2,
    "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}  # fmt: skip
PARTS: tuple[tuple[str, str], ...] = (
    ("vision", r"vision|visual|image|multi_modal|mm_projector"),
    ("embedding", r"embed_tokens|wte\.|word_embeddings"),
    ("output head", r"lm_head|output\.weight$"),
    ("experts", r"\.experts?\.(?!shared)|block_sparse_moe\.experts|mlp\.experts"),
    ("attention", r"self_attn|attention|attn"),
    ("feed-forward", r"mlp|feed_forward|shared_expert|gate_proj|up_proj|down_proj"),
    ("norms", r"norm|ln_"),
)
"""Part of a model -> names of its tensors, the first that fits."""


@dataclass(frozen=True)
class Tensor:
    """One tensor as its file says: bytes are those between its offsets."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    file: str


@dataclass(frozen=True)
class ModelFiles:
    """What was read of a model, and in ``missing`` what was not there."""

    path: str
    config: Mapping[str, Any] = field(default_factory=dict)
    tensors: tuple[Tensor, ...] = ()
    stated_bytes: float = math.nan
    """Size that the index states, where the files themselves are not there."""
    index_tensors: int = 0
    missing: tuple[str, ...] = ()

    @property
    def weight_bytes(self) -> float:
        """Bytes of all tensors; else what the index states; NaN where neither is there."""
        return float(sum(each.bytes for each in self.tensors)) if self.tensors else self.stated_bytes

    @property
    def text(self) -> Mapping[str, Any]:
        """The configuration of the language model, also where it is nested."""
        nested: Mapping[str, Any] = next((self.config[key] for key in ("text_config", "llm_config", "language_config")
                       if isinstance(self.config.get(key), dict)), {})  # fmt: skip
        return {**self.config, **nested}


def read(path: Path) -> ModelFiles:
    """A folder, a config.json, or an index; InputError when nothing in it describes a model."""
    if not path.exists():
        raise refuse(path, "does not exist", expected="a folder with config.json, or one of its files")
    folder = path if path.is_dir() else path.parent
    missing: list[str] = []
    config: Mapping[str, Any] = {}
    index: Mapping[str, Any] = {}
    if path.is_dir():
        config = _json(folder / "config.json") if (folder / "config.json").is_file() else {}
        found = folder / "model.safetensors.index.json"
        index = _json(found) if found.is_file() else {}
    elif path.suffix == ".safetensors":
        return ModelFiles(str(path), tensors=tuple(header(path)), missing=("config.json: no KV cache a token",))
    else:
        data = _json(path)
        config, index = ({}, data) if isinstance(data.get("weight_map"), dict) else (data, {})
    if not config:
        missing.append("config.json: no KV cache a token")
    weight_map = index.get("weight_map") or {}
    if index and not (isinstance(weight_map, dict) and weight_map):
        missing.append("the weight_map of the index")
        weight_map = {}
    files = sorted(folder.glob("*.safetensors")) if path.is_dir() else []
    tensors, lacking = _tensors(folder, files, weight_map)
    missing += lacking
    stated = (index.get("metadata") or {}).get("total_size") if isinstance(index.get("metadata"), dict) else None
    if not tensors and not index and not _layers(config):
        raise refuse(path, "describes no model", read=", ".join(list(config)[:6]),
                     expected="config.json with num_hidden_layers, or a safetensors index")  # fmt: skip
    if not tensors:
        missing.append("the safetensors files: bytes are known as a whole only" if index else
                       "the safetensors files and their index: the bytes of the weights are not known")  # fmt: skip
    return ModelFiles(str(path), config, tuple(tensors), float(stated) if isinstance(stated, int | float) else math.nan,
                      len(weight_map), tuple(missing))  # fmt: skip


def _json(path: Path) -> Mapping[str, Any]:
    data = load_json(path)
    if not isinstance(data, dict):
        raise refuse(path, "is not a JSON object", 1, read=type(data).__name__)
    return data


def _tensors(folder: Path, files: Sequence[Path], weight_map: Mapping[str, Any]) -> tuple[list[Tensor], list[str]]:
    if len(files) > MOST_FILES:
        raise refuse(folder, "has too many safetensors files", read=str(len(files)))
    problems: list[Problem] = []
    tensors: list[Tensor] = []
    for each in files:
        try:
            tensors += header(each)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    named = {str(name) for name in weight_map.values()}
    absent = sorted(named - {each.name for each in files}) if files else []
    lacking = [f"{len(absent)} of {len(named)} files that the index names, such as {absent[0]}"] if absent else []
    unlisted = {each.name for each in tensors} ^ set(weight_map) if weight_map and files and not absent else set()
    if unlisted:
        lacking.append(f"{len(unlisted)} tensors stand in the index or in the files alone, such as {min(unlisted)}")
    return tensors, lacking


def header(path: Path) -> Iterator[Tensor]:
    """Tensors of one safetensors file from its header; InputError when header, offsets and size do not agree."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(MOST_HEADER_BYTES, size - 8):
            raise refuse(path, "is no safetensors file, or cut off", read=f"a header of {length} bytes in {size}",
                         hint="a pointer of Git LFS is not the file itself")  # fmt: skip
        raw = file.read(length)
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        raise refuse(path, "has a header that is not JSON") from None
    if not isinstance(data, dict):
        raise refuse(path, "has a header that is not an object")
    for name, said in data.items():
        if name == "__metadata__":
            continue
        try:
            begin, end = (int(each) for each in said["data_offsets"])
            shape = tuple(int(each) for each in said["shape"])
            dtype = str(said["dtype"])
        except (TypeError, KeyError, ValueError):
            raise refuse(path, f"describes the tensor {name} without dtype, shape or data_offsets") from None
        wanted = math.prod(shape) * TYPE_BYTES.get(dtype, 0)
        if begin < 0 or end < begin or 8 + length + end > size or (wanted and wanted != end - begin):
            raise refuse(path, f"is cut off or damaged at the tensor {name}", read=f"bytes {begin} to {end} of {size}",
                         expected=f"{wanted} bytes for {dtype} {list(shape)}")  # fmt: skip
        yield Tensor(name, dtype, shape, end - begin, path.name)


# What follows from it ------------------------------------------------------------------------------------------------


def part_of(name: str) -> str:
    """Which part of a model a tensor belongs to."""
    return next((part for part, names in PARTS if re.search(names, name)), "other")


def _layers(config: Mapping[str, Any]) -> float:
    for key in ("num_hidden_layers", "n_layer", "num_layers"):
        if isinstance(config.get(key), int | float):
            return float(config[key])
    nested = next((config[key] for key in ("text_config", "llm_config") if isinstance(config.get(key), dict)), None)
    return _layers(nested) if nested else 0.0


def kv_elements_per_token(config: Mapping[str, Any]) -> float:
    """Keys and values of one token over all layers; a latent instead of them where there is one; NaN when not stated.

    Layers with a window hold as much for each of their tokens, but keep only the window.
    """
    layers = _layers(config)
    if isinstance(config.get("kv_lora_rank"), int | float) and config.get("kv_lora_rank"):
        return layers * (config["kv_lora_rank"] + config.get("qk_rope_head_dim", 0)) if layers else math.nan
    heads = config.get("num_attention_heads") or config.get("n_head")
    kv_heads = config.get("num_key_value_heads") or heads
    width = config.get("head_dim") or (config.get("hidden_size", 0) / heads if heads else 0)
    kinds = config.get("layer_types")
    if isinstance(kinds, list):
        layers -= sum(str(kind).startswith("linear") for kind in kinds)
    return 2 * layers * kv_heads * width if layers and kv_heads and width else math.nan


def entry_of(found: ModelFiles, catalog: Catalog) -> ModelEntry | None:
    """The catalog's entry of the same shape: by name, then architecture, then KV cache where several have it."""
    config = found.text
    wanted = (_layers(config), config.get("hidden_size"), config.get("num_attention_heads"), config.get("vocab_size"))
    facts = ("layers", "hidden_size", "attention_heads", "vocabulary_size")
    alike = [each for each in catalog.models.values() if wanted == tuple(each.value(fact) for fact in facts)]
    place = f"{config.get('_name_or_path', '')} {Path(found.path).resolve()}".lower()
    architecture = str(next(iter(config.get("architectures") or ()), ""))
    kv = kv_elements_per_token(config)

    def unlike(each: ModelEntry) -> tuple[bool, bool, bool]:
        written = (each.id, each.huggingface_id.rsplit("/", 1)[-1].lower())
        named = any(name and name in place for name in written)
        return not named, each.architecture != architecture, each.value("kv_elements_per_token") != kv

    best = min(alike, key=unlike, default=None)
    # of the same size and otherwise unlike in everything: another model
    return best if best is not None and not all(unlike(best)) else None


def record(found: ModelFiles, catalog: Catalog) -> dict[str, Any]:
    """Everything as plain data, beside the catalog's entry."""
    kv = kv_elements_per_token(found.text)
    entry = entry_of(found, catalog)
    parts: dict[str, int] = {}
    types: dict[str, int] = {}
    for each in found.tensors:
        parts[part_of(each.name)] = parts.get(part_of(each.name), 0) + each.bytes
        types[each.dtype] = types.get(each.dtype, 0) + each.bytes
    return {
        "path": found.path, "weight_bytes": found.weight_bytes, "tensors": len(found.tensors) or found.index_tensors,
        "bytes_by_part": parts, "bytes_by_type": types,
        "bytes_by_tensor": {each.name: each.bytes for each in found.tensors},
        "kv_elements_per_token": kv, "kv_bytes_per_token_16bit": 2 * kv, "kv_bytes_per_token_8bit": kv,
        "exact": bool(found.tensors), "missing": list(found.missing),
        "catalog_entry": entry.id if entry else None,
        "catalog_kv_elements_per_token": entry.value("kv_elements_per_token") if entry else math.nan,
        "catalog_parameters_b": entry.value("parameters_b") if entry else math.nan,
    }  # fmt: skip


def lines(found: ModelFiles, catalog: Catalog) -> list[str]:
    """The same in lines, with how far the catalog's entry is off."""
    data = record(found, catalog)
    said = []
    weights = data["weight_bytes"]
    if weights == weights:
        how = "added up over all headers" if found.tensors else "as the index states, not tensor by tensor"
        said.append(f"weights: {weights:,.0f} bytes ({weights / 2**30:.3f} GiB) in {data['tensors']} tensors, {how}")
    for title, table in (("part", data["bytes_by_part"]), ("type", data["bytes_by_type"])):
        said += [f"  {title} {name}: {size:,} bytes ({size / weights:.1%})"
                 for name, size in sorted(table.items(), key=lambda each: -each[1])]  # fmt: skip
    if data["kv_elements_per_token"] == data["kv_elements_per_token"]:
        said.append(f"KV cache: {data['kv_bytes_per_token_16bit']:,.0f} bytes a token at 16 bit, "
                    f"{data['kv_bytes_per_token_8bit']:,.0f} at 8 bit")  # fmt: skip
    if data["catalog_entry"]:
        same = data["catalog_kv_elements_per_token"] == data["kv_elements_per_token"]
        said.append(f"catalog: {data['catalog_entry']}, KV cache " + ("the same" if same else
                    f"of {2 * data['catalog_kv_elements_per_token']:,.0f} bytes a token at 16 bit"))  # fmt: skip
        if weights == weights:
            said.append(f"  {weights / data['catalog_parameters_b'] / 1e9:.3f} bytes for each of its "
                        f"{data['catalog_parameters_b']:.3f}e9 parameters")  # fmt: skip
    else:
        said.append("catalog: no entry has this shape")
    return said + [f"missing: {each}" for each in found.missing]
