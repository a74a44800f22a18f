"""Exact bytes of a model from its files, and what a (stand-in for) PyTorch measures while it is loaded."""

from __future__ import annotations

import contextlib
import json
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports import cli
from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.probe import model_files, model_load

QWEN = {"num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
        "vocab_size": 152064, "torch_dtype": "bfloat16"}  # fmt: skip


def safetensors(path: Path, tensors: dict[str, tuple[str, list[int], int]]) -> None:
    header, place = {}, 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + size]}
        place += size
    raw = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(place))


def model(folder: Path) -> Path:
    """A quantized layer, an embedding and a norm: 12 x 8 in 16 bit, 16 in 8 bit with 4 scales, 8 in 32 bit."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(QWEN))
    safetensors(folder / "model-1.safetensors", {"model.embed_tokens.weight": ("BF16", [12, 8], 192)})
    safetensors(folder / "model-2.safetensors", {
        "model.layers.0.mlp.up_proj.weight": ("F8_E4M3", [4, 4], 16),
        "model.layers.0.mlp.up_proj.weight_scale": ("F32", [4], 16), "model.norm.weight": ("F32", [8], 32),
    })  # fmt: skip
    names = {"model.embed_tokens.weight": "model-1.safetensors", "model.norm.weight": "model-2.safetensors",
             "model.layers.0.mlp.up_proj.weight": "model-2.safetensors",
             "model.layers.0.mlp.up_proj.weight_scale": "model-2.safetensors"}  # fmt: skip
    index = {"metadata": {"total_size": 256}, "weight_map": names}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def test_bytes_are_added_up_tensor_by_tensor(tmp_path: Path, catalog: Catalog) -> None:
    found = model_files.read(model(tmp_path / "qwen2.5-7b-instruct"))
    data = model_files.record(found, catalog)
    assert (data["weight_bytes"], data["tensors"], data["exact"], data["missing"]) == (256, 4, True, [])
    assert data["bytes_by_part"] == {"embedding": 192, "feed-forward": 32, "norms": 32}
    assert data["bytes_by_type"] == {"BF16": 192, "F8_E4M3": 16, "F32": 48}
    # 2 x 28 layers x 4 heads x 128
    assert (data["kv_elements_per_token"], data["kv_bytes_per_token_16bit"]) == (28672, 57344)
    assert data["catalog_entry"] == "qwen2.5-7b-instruct"
    assert "KV cache the same" in "\n".join(model_files.lines(found, catalog))


@pytest.mark.parametrize(
    ("config", "elements"),
    [
        ({"num_hidden_layers": 61, "num_attention_heads": 128, "hidden_size": 7168, "kv_lora_rank": 512,
          "qk_rope_head_dim": 64}, 61 * 576),
        ({"text_config": {"num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
                          "head_dim": 128, "hidden_size": 2560}}, 2 * 36 * 8 * 128),
        ({"n_layer": 12, "n_head": 12, "hidden_size": 768}, 2 * 12 * 12 * 64),
        ({"num_hidden_layers": 4, "num_attention_heads": 2, "hidden_size": 8,
          "layer_types": ["linear_attention", "full_attention"] * 2}, 2 * 2 * 2 * 4),
    ],
)  # fmt: skip
def test_kv_cache_of_other_shapes(tmp_path: Path, config: dict[str, Any], elements: float) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = model_files.read(tmp_path / "config.json")
    assert model_files.kv_elements_per_token(found.text) == elements


def test_an_index_alone_gives_the_whole_and_says_so(tmp_path: Path, catalog: Catalog) -> None:
    place = model(tmp_path / "m") / "model.safetensors.index.json"
    found = model_files.read(place)
    said = "\n".join(model_files.lines(found, catalog))
    assert "256 bytes" in said
    assert "as the index states, not tensor by tensor" in said
    assert "missing: the safetensors files" in said


def test_a_shape_that_several_models_share(tmp_path: Path, catalog: Catalog) -> None:
    # Mixtral, Mistral and an example of a note have 32 layers of 4096 and 32 heads
    config = {"architectures": ["MixtralForCausalLM"], "num_hidden_layers": 32, "hidden_size": 4096,
              "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    entry = model_files.entry_of(model_files.read(tmp_path), catalog)
    assert entry is not None
    assert entry.id == "mixtral-8x7b-instruct-v0.1"


def test_missing_files_and_fields_are_said(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    (folder / "model-1.safetensors").unlink()
    found = model_files.read(folder)
    assert found.weight_bytes == 64
    assert found.missing == ("1 of 2 files that the index names, such as model-1.safetensors",)
    (tmp_path / "bare.json").write_text('{"architectures": ["X"]}')
    with pytest.raises(InputError, match="describes no model"):
        model_files.read(tmp_path / "bare.json")
    with pytest.raises(InputError, match="does not exist"):
        model_files.read(tmp_path / "none")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"version https://git-lfs", "no safetensors file, or cut off"),
        (struct.pack("<Q", 1 << 40) + b"{}", "no safetensors file, or cut off"),
        (struct.pack("<Q", 2) + b"[[", "a header that is not JSON"),
        (struct.pack("<Q", 15) + b'{"a": {"x": 1}}', "without dtype, shape or data_offsets"),
    ],
)
def test_damaged_headers(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=words):
        model_files.read(tmp_path)


def test_a_file_that_is_cut_off_in_its_data(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    data = (folder / "model-1.safetensors").read_bytes()
    (folder / "model-1.safetensors").write_bytes(data[:-10])
    with pytest.raises(InputError, match=r"cut off or damaged at the tensor model\.embed_tokens\.weight"):
        model_files.read(folder)


# Loading -------------------------------------------------------------------------------------------------------------


class Card:
    """Memory of a card: 1000 B of weights, 8 B a token of KV cache, 50 B a token of activations; a little noise."""

    def __init__(self, most: float = 1e9) -> None:
        self.held, self.peak, self.most, self.loads = 0.0, 0.0, most, 0

    def take(self, size: float) -> None:
        if self.held + size > self.most:
            raise RuntimeError("CUDA out of memory")
        self.held += size
        self.peak = max(self.peak, self.held)


def stand_ins(card: Card) -> tuple[Any, Any]:
    class Kept:
        def __init__(self, size: float) -> None:
            card.take(size)
            self.size = size

        def __del__(self) -> None:
            card.held -= self.size

    class Model(Kept):
        def __call__(self, prompt: Kept, use_cache: bool, num_logits_to_keep: int) -> Any:
            tokens = prompt.size
            cache = Kept(8 * tokens)
            card.take(50 * tokens)
            card.held -= 50 * tokens
            return SimpleNamespace(past_key_values=cache)

    def from_pretrained(path: str, torch_dtype: str, device_map: str) -> Model:
        card.loads += 1
        return Model(1000 + card.loads)

    def reset() -> None:
        card.peak = card.held

    cuda = SimpleNamespace(is_available=lambda: True, memory_allocated=lambda: card.held, empty_cache=lambda: None,
                           reset_peak_memory_stats=reset, max_memory_allocated=lambda: card.peak)  # fmt: skip
    torch = SimpleNamespace(cuda=cuda, long="long", no_grad=contextlib.nullcontext,
                            ones=lambda shape, dtype, device: Kept(shape[1]))  # fmt: skip
    return torch, SimpleNamespace(AutoModelForCausalLM=SimpleNamespace(from_pretrained=from_pretrained))


def test_a_model_is_loaded_three_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, transformers = stand_ins(Card())
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    folder = model(tmp_path / "m")
    loaded, reason = model_load.load(folder, model_files.read(folder))
    assert reason == ""
    assert loaded is not None
    # 1001, 1002, 1003
    assert loaded["weights_bytes"] == {"mean": 1002, "deviation": 1, "repeats": 3}
    assert loaded["kv_bytes_per_token"] == {"mean": 8, "deviation": 0, "repeats": 3}
    assert loaded["activation_bytes_1024_tokens"]["mean"] == 50 * 1024


def test_out_of_memory_keeps_what_was_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, transformers = stand_ins(Card(most=20_000))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    folder = model(tmp_path / "m")
    loaded, reason = model_load.load(folder, model_files.read(folder))
    assert loaded is not None
    assert set(loaded) == {"weights_bytes", "activation_bytes_256_tokens"}
    assert "CUDA out of memory" in reason


def test_the_verb_says_what_was_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert cli.run_command(["probe", "--model", str(model(tmp_path / "m"))]) == 0
    text = capsys.readouterr().out
    assert "weights: 256 bytes" in text
    assert "not measured on a card: PyTorch is not installed" in text
