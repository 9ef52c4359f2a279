"""A model in parts, and the way of [CLS] through it for one text."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from clsviz.encoder.encoder import Encoder

BLOCK: Final = re.compile(r"(?:^|[._])(?:layers?|layer_groups|blocks?|h)\.(\d+)\.")
"""The number of a block in the name of a parameter."""


@dataclass(frozen=True, eq=False)
class Anatomy:
    """A model, and a text in it.

    model_class: of transformers. n_layers: number of the last layer. n_blocks: of which it is made;
    fewer where layers share one. n_heads: of attention, or None. vocabulary: tokens that it knows.
    max_length: tokens that it reads, special ones included.
    names, shapes, parts: of each parameter; a part is “embeddings”, “layer 1”, “pooler” or “other”;
    that of a shared block is the first layer made of it.
    special: (role, token, id) of each special token.
    cls_input: float32 (any width,), the vector of [CLS] among those of the words.
    tokens, ids: that the model reads of the text. n_tokens: of all of it, without special ones.
    is_cut: True if the model reads only the beginning. words: as `Tokenizer.words`.
    vectors: as `Encoder.tokens`. attention: float32 (n_layers, n_tokens), the shares of [CLS]'s
    attention, a mean over heads; (0, n_tokens) where transformers does not give it, or nobody asks.
    pooled: float32 (width,), the pooler's output, or (0,). by_hand: float32 (width,), tanh(W·[CLS]
    + b) by NumPy for a pooler like BERT's, or (0,).
    """

    model_class: str
    n_layers: int
    n_blocks: int
    n_heads: int | None
    vocabulary: int
    max_length: int
    names: tuple[str, ...]
    shapes: tuple[list[int], ...]
    parts: tuple[str, ...]
    special: tuple[list[Any], ...]
    cls_input: NDArray[np.float32]
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    n_tokens: int
    is_cut: bool
    words: tuple[tuple[str, int, int], ...]
    vectors: NDArray[np.float32]
    attention: NDArray[np.float32]
    pooled: NDArray[np.float32]
    by_hand: NDArray[np.float32]

    @property
    def states(self) -> NDArray[np.float32]:
        """[CLS] after every layer, float32 (n_layers + 1, width)."""
        states: NDArray[np.float32] = self.vectors[0]
        return states


def dissect(encoder: "Encoder", text: str, has_attention: bool = True) -> Anatomy:
    """A model, and a text in it; raises CorpusError where it is not text, and ModelError."""
    arrays = encoder.run([text], "vectors")
    n_layers = arrays["cls"].shape[1] - 1
    tokenizer, model = encoder.tokenizer, encoder.forward.model
    ids = tokenizer.with_special_tokens(tokenizer.ids([text])[0])
    embeddings = model.get_input_embeddings()
    vectors, pooled = encoder.tokens(text), arrays["vectors"][0, n_layers + 2 :]
    numbers = {name: BLOCK.search(name) for name in encoder.shapes}
    blocks = {name: int(match[1]) for name, match in numbers.items() if match}
    n_blocks = 1 + max(blocks.values(), default=0)

    def part(name: str) -> str:
        if name in blocks:
            return f"layer {blocks[name] * n_layers // n_blocks + 1}"
        return "embeddings" if "embed" in name else "pooler" if "pooler" in name else "other"

    return Anatomy(
        model_class=type(model).__name__,
        n_layers=n_layers,
        n_blocks=n_blocks,
        n_heads=getattr(model.config, "num_attention_heads", None),
        vocabulary=int(embeddings.num_embeddings),
        max_length=tokenizer.max_length,
        names=tuple(encoder.shapes),
        shapes=tuple(encoder.shapes.values()),
        parts=tuple(map(part, encoder.shapes)),
        special=tokenizer.special,
        cls_input=embeddings.weight[ids[0]].detach().float().cpu().numpy().copy(),
        tokens=tokenizer.names(ids),
        ids=tuple(ids),
        n_tokens=int(arrays["n_tokens"][0]),
        is_cut=bool(arrays["truncated"][0]),
        words=tokenizer.words(text),
        vectors=vectors,
        attention=_attention(encoder, ids if has_attention else []).reshape(-1, len(ids)),
        pooled=pooled.ravel(),
        by_hand=_by_hand(getattr(model, "pooler", None), vectors[0, -1]),
    )


def _attention(encoder: "Encoder", ids: list[int]) -> NDArray[np.float32]:
    """The attention of [CLS] in every layer, or none, by a model of its own, which tells it."""
    import torch

    from clsviz.encoder import load

    none = np.empty(0, np.float32)
    if not ids:
        return none
    weights, types = encoder.weights, encoder.tokenizer.frame.token_types(len(ids))
    inputs = {"input_ids": ids, **({"token_type_ids": types} if any(types) else {})}
    _, model = load.load(weights)
    try:
        model.set_attn_implementation("eager")
        with torch.inference_mode():
            rows = {name: torch.tensor([row]) for name, row in inputs.items()}
            attentions = model(**rows, output_attentions=True, return_dict=True).attentions
        shares = np.stack([heads[0, :, 0].mean(dim=0).numpy() for heads in attentions])
        is_whole = shares.shape[1:] == (len(ids),) and np.allclose(shares.sum(axis=1), 1, atol=1e-3)
    except (AttributeError, LookupError, TypeError, ValueError, RuntimeError):
        return none
    return shares if is_whole else none


def _by_hand(pooler: Any, cls: NDArray[np.float32]) -> NDArray[np.float32]:
    from torch import nn

    dense, activation = getattr(pooler, "dense", None), getattr(pooler, "activation", None)
    if not isinstance(dense, nn.Linear) or not isinstance(activation, nn.Tanh):
        return np.empty(0, np.float32)
    weight, bias = (w.detach().cpu().numpy().astype(np.float64) for w in (dense.weight, dense.bias))
    return np.tanh(weight @ cls + bias).astype(np.float32)
