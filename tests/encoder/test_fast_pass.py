import numpy as np
import pytest
import torch

from clsviz.encoder.fast_pass import LONGEST_PLAIN, attend

N_HEADS, WIDTH = 2, 8


def attention(qkv: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Softmax of the scores, times the values, in float64."""
    query, key, value = np.moveaxis(qkv.astype(np.float64), 2, 0)
    scores = np.einsum("nihw,njhw->nhij", query, key) / WIDTH**0.5 + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("nhij,njhw->nihw", weights / weights.sum(-1, keepdims=True), value)


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("n", "length"), [(3, 1), (7, 5), (100, LONGEST_PLAIN), (2, LONGEST_PLAIN + 1)])
def test_heads_gather_what_attention_is_defined_as(n: int, length: int, dtype: torch.dtype, has_bias: bool) -> None:
    """Also where there are more sentences than are taken at once, and large scores."""
    random = torch.Generator().manual_seed(0)
    qkv = torch.randn((n, length, 3, N_HEADS, WIDTH), generator=random).mul(3).to(dtype)
    bias = torch.randn((1, N_HEADS, length, length), generator=random) if has_bias else None
    heads = torch.full((n, length, N_HEADS, WIDTH), torch.nan, dtype=dtype)
    attend(qkv, bias, heads)
    expected = attention(qkv.float().numpy(), 0 if bias is None else bias.numpy())
    tolerance = 5e-5 if dtype == torch.float32 else 0.1 if length > LONGEST_PLAIN else 0.04
    np.testing.assert_allclose(heads.float().numpy(), expected, atol=tolerance, rtol=0)


def test_numbers_that_are_not_finite_spread_without_a_warning() -> None:
    qkv = torch.full((1, 4, 3, N_HEADS, WIDTH), torch.inf)
    heads = torch.empty((1, 4, N_HEADS, WIDTH))
    attend(qkv, None, heads)
    assert heads.isnan().all()
