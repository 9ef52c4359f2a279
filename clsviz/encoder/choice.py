"""The fast ways through a model: the same numbers as its own forward pass, with less work around them.

`accelerate` takes any Hugging Face encoder and gives back the fastest forward pass that reproduces the model's own:

1. `Blocks`, for BERT and the models built like it: one loop over the blocks as plain tensors.
   - Sentences lie end to end and attention runs over groups of equal length, so nothing is padded and nothing masked.
   - Query, key and value are one product; GELU is fused into the product before it.
   - Of the last block only [CLS] is computed. Its keys and values never are: as (W q) x = q (W' x), the query goes
     through the key's matrix instead of every token, and the sum of the tokens, weighted by attention, through the
     value's.
2. `swap_linears`, for any other: the model's own code, with its linear layers replaced by `Linear`.
3. The model as it is, where neither reproduces it.

`Linear` keeps its weight in the order of bytes that oneDNN multiplies fastest, as PyTorch's compiler does when it
freezes a model. In bfloat16 only the products are computed in it: the sums that pass from block to block, and their
LayerNorm, stay in float32. That costs no time, and makes the mean error of the built-in model's norm 5 times smaller
after the last layer, and over 30 times after the others, than in a model that is bfloat16 throughout.

`python -m benchmarks.encoder` measures the gain beside the plain model and others, and how far it is from what the
machine can do. On two cores of an AMD EPYC (Zen 4) the built-in model spent 87% of its time inside the products and 7%
in attention (PyTorch's profiler, 1,024 docstring sentences, float32): what is left to gain is in the products.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from clsviz.encoder.blocks import Blocks
from clsviz.encoder.linear import Unsuited, swap_linears
from clsviz.encoder.memory import is_out_of_memory


class Forward(Protocol):
    """A way through a model, for token ids, int64 (n, width), padded on the right, longest first, and their lengths."""

    def __call__(self, ids: Tensor, lengths: list[int]) -> list[Tensor]:
        """The vectors of [CLS] after every layer, and the pooler output if there is one: floating-point (n, hidden)."""

    def pooled(self, ids: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor | None]:
        """All of `measurements.POOLED` after every layer, (3, n_layers + 1, n, hidden), and the pooler output."""


TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 0.05}
"""By how much of itself a norm may differ from the model's own for a way to count as reproducing it."""


def accelerate(
    model: Any, plain: Forward, reference: Forward, probe: tuple[Tensor, list[int]], dtype: torch.dtype, obstacle: str
) -> tuple[Forward, str]:
    """The fastest forward pass that reproduces the model's own, and why it is not the fastest kind ("" where it is).

    plain: the model's own forward pass. reference: the same, so run that nothing but a sentence itself can change its
    vectors: what a way gives for `probe` is compared with it. obstacle: why `Blocks` cannot be used, if so. `model` is
    changed: what is computed otherwise is taken from it. Raises Unsuited where there is no way in `dtype`, and what
    PyTorch raises when memory runs out.
    """
    expected = norms_of(reference(*probe))
    try:
        if obstacle:
            raise Unsuited(obstacle)
        blocks = Blocks(model, dtype)
        if not (_agrees(blocks, probe, expected, dtype) and _pools_alike(blocks, reference, probe, dtype)):
            raise Unsuited("the fast forward pass does not reproduce this model")
    except Unsuited as unsuited:
        reason = str(unsuited)
    else:
        blocks.take_over()
        return blocks, ""
    replaced = swap_linears(model, dtype)
    if replaced and _agrees(plain, probe, expected, dtype):
        return plain, f"{reason}; its linear layers are replaced by faster ones"
    for name, module in replaced.items():
        model.set_submodule(name, module)
    if dtype != torch.float32:
        raise Unsuited(f"{reason}, and its linear layers cannot be replaced")
    return plain, f"{reason}; it runs as it is"


def norms_of(vectors: Sequence[Tensor]) -> Tensor:
    """L2 norms of vectors of n sentences, float32 (n, number of vectors)."""
    return torch.stack([torch.linalg.vector_norm(vector.float(), dim=-1) for vector in vectors], dim=1)


def _agrees(forward: Forward, probe: tuple[Tensor, list[int]], expected: Tensor, dtype: torch.dtype) -> bool:
    return _is_alike(lambda: norms_of(forward(*probe)), expected, dtype)


def _pools_alike(forward: Forward, reference: Forward, probe: tuple[Tensor, list[int]], dtype: torch.dtype) -> bool:
    expected = torch.linalg.vector_norm(reference.pooled(*probe)[0], dim=-1)
    return _is_alike(lambda: torch.linalg.vector_norm(forward.pooled(*probe)[0], dim=-1), expected, dtype)


def _is_alike(compute: Callable[[], Tensor], expected: Tensor, dtype: torch.dtype) -> bool:
    try:
        norms = compute()
    except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        return False  # a model that is built otherwise than it seems
    return norms.shape == expected.shape and torch.allclose(norms, expected, rtol=TOLERANCE[dtype], atol=0)
