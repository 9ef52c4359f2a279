"""Loading a model of a known layout straight from its files.

The model classes of transformers take seconds to import. Where `layouts` describes a model, its configuration, its
tokenizer.json and its tensors are enough for `Blocks`. What comes of that is the same to the last bit as what
transformers loads; whoever keeps the results makes sure of it with `Encoder.agrees_with`.
"""

import json
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import tokenizers
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor, nn

from clsviz.encoder.any_encoder import Unsuited
from clsviz.encoder.choice import Choice, blocks_of
from clsviz.encoder.layouts import LAYOUTS, find_module
from clsviz.encoder.loaded import Loaded, max_length_of
from clsviz.encoder.memory import check_memory, is_out_of_memory
from clsviz.encoder.modules import modules_of
from clsviz.encoder.pooler import pooler_of
from clsviz.encoder.reference import gains_and_biases
from clsviz.encoder.special_tokens import frame_of
from clsviz.errors import ModelError, first_line
from clsviz.models import Weights

_ODD = ("is_decoder", "is_encoder_decoder", "add_cross_attention", "quantization_config", "transformers_weights")
"""Settings that make a model something else than its layout says."""


_NO_LIMIT = 10**9


class Backend:
    """A tokenizer.json, with as much of what transformers puts around it as is needed here."""

    is_fast = True
    pad_token_id = None  # sentences lie end to end, without padding

    def __init__(self, folder: Path) -> None:
        settings = folder / "tokenizer_config.json"
        self._settings: dict[str, Any] = json.loads(settings.read_bytes()) if settings.is_file() else {}
        self.backend_tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.backend_tokenizer.no_truncation()
        self.backend_tokenizer.no_padding()

    @property
    def model_max_length(self) -> int:
        """Most tokens it lets pass."""
        return int(self._settings.get("model_max_length") or _NO_LIMIT)

    @cached_property
    def cls_token_id(self) -> int | None:
        """The id of [CLS]; if the settings do not name it, it is what stands before every sentence."""
        token = self._settings.get("cls_token")
        if token is None:
            return next(iter(self("")["input_ids"]), None)
        return self.backend_tokenizer.token_to_id(token["content"] if isinstance(token, dict) else token)

    def __call__(self, sentence: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """The ids and the types of a sentence's tokens, by the names that transformers has for them."""
        encoded = self.backend_tokenizer.encode(sentence, add_special_tokens=add_special_tokens)
        return {"input_ids": encoded.ids, "token_type_ids": encoded.type_ids}

    def convert_ids_to_tokens(self, ids: int | list[int]) -> Any:
        """The token with this id, or all with these."""
        return (
            self.backend_tokenizer.id_to_token(ids)
            if isinstance(ids, int)
            else list(map(self.convert_ids_to_tokens, ids))
        )


@torch.inference_mode()
def load_directly(weights: Weights, device: torch.device, dtype: torch.dtype) -> tuple[Loaded, Choice]:
    """A model and its tokenizer on `device`, and the fast forward pass through it, with matrix products in `dtype`.

    Raises Unsuited where transformers has to load the model, which may also find out what is wrong with it; passes on
    what PyTorch raises when memory runs out.
    """
    if weights.untrained:
        raise Unsuited("transformers draws its weights")
    try:
        loaded = _loaded(weights)
        loaded.model.to(device)
        norms = _layer_norms(loaded.model)
        blocks = blocks_of(loaded, dtype)
    except (Unsuited, MemoryError):
        raise
    except Exception as error:  # damaged files may raise anything
        if is_out_of_memory(error):
            raise
        raise Unsuited(f"it cannot be loaded this way ({first_line(error)})") from error
    blocks.free_originals()
    return loaded, Choice(blocks, "", loaded.model.config.num_hidden_layers, norms)


def _loaded(weights: Weights) -> Loaded:
    config = _config(weights.folder)
    tokenizer = Backend(weights.folder)
    try:
        frame = frame_of(tokenizer, weights.name)
        model = modules_of(_tensors(weights), config)
    except ModelError as error:
        raise Unsuited(str(error)) from error
    max_length = max_length_of(tokenizer, model)
    words: Any = model.get_submodule("embeddings.word_embeddings")
    vocabulary_size = int(words.num_embeddings)
    if max_length <= len(frame) or max([*frame.prefix, *frame.suffix]) >= vocabulary_size:
        raise Unsuited("its tokenizer and its weights do not go together")
    pooler = pooler_of(model)
    has_pooler = hasattr(model, "pooler")
    return Loaded(weights.name, tokenizer, model, frame, has_pooler, max_length, vocabulary_size, pooler, None)


def _config(folder: Path) -> SimpleNamespace:
    """The settings that the forward pass depends on, as BERT calls them."""
    settings = json.loads((folder / "config.json").read_bytes())
    if any(settings.get(name) for name in _ODD):
        raise Unsuited("its configuration is not that of a plain encoder")
    is_distilled = settings["model_type"] == "distilbert"
    heads, layers, hidden, inner, activation = (
        ("n_heads", "n_layers", "dim", "hidden_dim", "activation")
        if is_distilled
        else ("num_attention_heads", "num_hidden_layers", "hidden_size", "intermediate_size", "hidden_act")
    )
    return SimpleNamespace(
        model_type=settings["model_type"],
        num_attention_heads=int(settings[heads]),
        num_hidden_layers=int(settings[layers]),
        num_hidden_groups=settings.get("num_hidden_groups"),
        hidden_size=int(settings[hidden]),
        intermediate_size=int(settings[inner]),
        activation=settings[activation],
        layer_norm_eps=1e-12 if is_distilled else float(settings["layer_norm_eps"]),
        pad_token_id=settings.get("pad_token_id"),
    )


def _tensors(weights: Weights) -> dict[str, Tensor]:
    """The tensors of the encoder, float32, by the names that its own code gives them."""
    (path,) = weights.folder.glob("*.safetensors")
    with safe_open(path, framework="pt") as file:
        names = [name for name in file.keys() if not name.endswith(("position_ids", "token_type_ids"))]  # noqa: SIM118
        # A model that was saved with a head has its encoder below a name of its own.
        (words,) = (name for name in names if f".{name}".endswith(".embeddings.word_embeddings.weight"))
        prefix = words.removesuffix("embeddings.word_embeddings.weight")
        own = [name for name in names if name.startswith(prefix)]
        n_weights = sum(int(np.prod(file.get_slice(name).get_shape())) for name in own)
        check_memory(weights, n_weights)
        return {_present(name.removeprefix(prefix)): file.get_tensor(name).float() for name in own}


def _present(name: str) -> str:
    """The name of a tensor as it is today: the first checkpoints of BERT have others."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _layer_norms(model: Any) -> NDArray[np.float32]:
    """Gain and bias of the LayerNorm whose output each layer is, as `Plain.layer_norms` finds them."""
    layout, n_layers = LAYOUTS[model.config.model_type], model.config.num_hidden_layers
    blocks = list(model.get_submodule(layout.blocks))
    is_projected = any(find_module(model, name) is not None for name in layout.embeddings[1:])
    norms: list[nn.LayerNorm | None] = [None if is_projected else model.embeddings.LayerNorm]
    norms += [blocks[layer * len(blocks) // n_layers].get_submodule(layout.norm) for layer in range(n_layers)]
    return gains_and_biases(norms, model.config.hidden_size)
