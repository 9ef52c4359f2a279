"""Choosing the fastest forward pass that reproduces a model's own.

1. `Blocks`, for BERT and models built like it: one loop over the blocks as plain tensors.
2. `swap_linears`, for any other model: its own code, with its linear layers replaced by `Linear`.
3. The model as it comes, where neither reproduces it.

Each candidate is compared with the model's own forward pass on a few random sentences before it is used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clsviz.encoder.any_encoder import Unsuited
from clsviz.encoder.batches import to_device
from clsviz.encoder.blocks import Blocks
from clsviz.encoder.linear import swap_linears
from clsviz.encoder.loaded import Loaded
from clsviz.encoder.memory import is_out_of_memory
from clsviz.encoder.reference import Plain
from clsviz.encoder.special_tokens import Frame
from clsviz.encoder.tokens import Tokenizer
from clsviz.errors import ModelError, first_line

TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 0.05}
"""Largest relative error of a norm at which a forward pass counts as reproducing the model's own."""


_PROBE_LENGTHS = (24, 9, 9, 3, 1)
"""Tokens of the random sentences that forward passes are compared on."""


Batch = tuple[Tensor, list[int]]
"""What a forward pass takes: token ids, int64 (n, width), padded on the right, longest first, and their lengths."""


class Forward(Protocol):
    """A forward pass through a model, over a `Batch`.

    pads: whether every sentence takes as much work as the longest in its batch.
    """

    pads: bool

    def altered(self, frame: Frame, *, one_position: bool) -> Self:
        """The same over sentences in this frame, all of whose tokens may get one position, that of the first.

        Raises Unsuited where the model knows the positions of tokens in another way than by position vectors.
        """

    def __call__(self, ids: Tensor, lengths: list[int]) -> list[Tensor]:
        """The vectors of [CLS] after every layer, and the pooler output if there is one: floating-point (n, width)."""

    def pooled(self, ids: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor | None]:
        """All of `measurements.POOLED` after every layer, (poolings, n_layers + 1, n, width), and the pooler output."""


@dataclass(frozen=True, eq=False)
class Choice:
    """The forward pass to use for a model, and what was learned while choosing it.

    slow_path_reason: why `forward` is not the fastest kind, or "". n_layers: number of the last layer.
    layer_norms: float32 (n_layers + 1, 2, width), as in `Vectors`.
    """

    forward: Forward
    slow_path_reason: str
    n_layers: int
    layer_norms: NDArray[np.float32]


@torch.inference_mode()
def choose(loaded: Loaded, device: torch.device, dtype: torch.dtype) -> Choice:
    """The fastest forward pass through `loaded`, with its matrix products in `dtype`.

    The model must be on `device`. It is modified: it loses the weights that the forward pass holds in another layout.
    Raises ModelError if the model cannot read a sentence, is a decoder, or has no forward pass in `dtype`; passes on
    what PyTorch raises when memory runs out.
    """
    probe = probe_of(Tokenizer(loaded), device)
    plain, reference = Plain(loaded, device), Plain(loaded, device, mixes_lengths=False)
    try:
        vectors = reference(*probe)
        padded = norms_of(plain(*probe))
        layer_norms = reference.layer_norms(*probe)
    except Exception as error:  # a model that is damaged, or no encoder of text, may raise anything
        if is_out_of_memory(error):
            raise
        raise ModelError(f"{loaded.name} cannot read a sentence: {first_line(error)}") from error
    last = vectors[-1 - loaded.has_pooler]
    if loaded.frame.cls >= 0 and torch.allclose(last[0], last[-1], rtol=1e-6, atol=0):
        raise ModelError(
            f"The [CLS] of {loaded.name} does not see the words that follow it: this is a decoder. Choose an encoder."
        )
    ignores_padding = torch.allclose(padded, norms_of(vectors), rtol=TOLERANCE[torch.float32], atol=0)
    try:
        forward, reason = _fastest(loaded, plain if ignores_padding else reference, reference, probe, dtype)
    except Unsuited as unsuited:
        raise ModelError(f"{loaded.name} can only be measured in the exact precision: {unsuited}.") from unsuited
    if reason and not ignores_padding:
        reason += "; padding changes its output, so each length is measured by itself"
    return Choice(forward, reason, len(vectors) - 1 - loaded.has_pooler, layer_norms)


def probe_of(tokenizer: Tokenizer, device: torch.device) -> Batch:
    """The random sentences that forward passes are compared on."""
    tokens = tokenizer.random_tokens(_PROBE_LENGTHS)
    ids, lengths = tokenizer.rows(tokens, np.arange(len(tokens)))
    return to_device(ids, device), lengths


def _fastest(
    loaded: Loaded, plain: Forward, reference: Forward, probe: Batch, dtype: torch.dtype
) -> tuple[Forward, str]:
    """The fastest forward pass that reproduces `reference` on `probe`, and why it is not the fastest kind, or "".

    plain: the model's own forward pass. reference: the same, one length at a time, so that a sentence's vectors depend
    on nothing else. Raises Unsuited where there is none in `dtype`.
    """
    expected = norms_of(reference(*probe))
    try:
        blocks = blocks_of(loaded, dtype)
        if not (_agrees(blocks, probe, expected, dtype) and _pools_alike(blocks, reference, probe, dtype)):
            raise Unsuited("the fast forward pass does not reproduce this model")
    except Unsuited as unsuited:
        reason = str(unsuited)
    else:
        blocks.free_originals()
        return blocks, ""
    replaced = swap_linears(loaded.model, dtype)
    if replaced and _agrees(plain, probe, expected, dtype):
        return plain, f"{reason}; its linear layers are replaced by faster ones"
    for name, module in replaced.items():
        loaded.model.set_submodule(name, module)
    if dtype != torch.float32:
        raise Unsuited(f"{reason}, and its linear layers cannot be replaced")
    return plain, f"{reason}; it runs unmodified"


def blocks_of(loaded: Loaded, dtype: torch.dtype) -> Blocks:
    """The fast forward pass through `loaded`, which must be on its device; raises Unsuited where it does not apply."""
    if loaded.frame.cls != 0:
        raise Unsuited("its [CLS] is not the first token")
    if loaded.frame.has_types:
        raise Unsuited("its tokens are of several types")
    return Blocks(loaded.model, dtype)


def norms_of(vectors: Sequence[Tensor]) -> Tensor:
    """L2 norms of vectors of n sentences, (n, width) each: float32 (n, number of vectors)."""
    return torch.stack([torch.linalg.vector_norm(vector.float(), dim=-1) for vector in vectors], dim=1)


def _agrees(forward: Forward, probe: Batch, expected: Tensor, dtype: torch.dtype) -> bool:
    return _is_alike(lambda: norms_of(forward(*probe)), expected, dtype)


def _pools_alike(forward: Forward, reference: Forward, probe: Batch, dtype: torch.dtype) -> bool:
    expected = torch.linalg.vector_norm(reference.pooled(*probe)[0], dim=-1)
    return _is_alike(lambda: torch.linalg.vector_norm(forward.pooled(*probe)[0], dim=-1), expected, dtype)


def _is_alike(compute: Callable[[], Tensor], expected: Tensor, dtype: torch.dtype) -> bool:
    try:
        norms = compute()
    except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        return False  # a model that is not built the way its type suggests
    return norms.shape == expected.shape and torch.allclose(norms, expected, rtol=TOLERANCE[dtype], atol=0)
