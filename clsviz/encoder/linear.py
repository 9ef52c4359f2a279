"""Linear layers whose weights are laid out for this machine."""

import functools
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

ROWS = 64
"""The number of rows in a packed product is a multiple of this, so that there are few different ones."""


class Unsuited(Exception):  # noqa: N818  (no error: another way is taken)
    """A model to which a transformation does not apply; the message says why."""


class Linear(nn.Module):
    """A linear layer whose product is computed in `dtype`, from a weight laid out for this machine.

    weight: (out, in); bias: (out) or None. The result is in the precision of the product.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        super().__init__()
        weight = weight.detach().to(dtype)
        self._dtype = dtype
        self._packed = weight.device.type == "cpu" and can_pack(dtype)
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight) if self._packed else weight
        self._bias = None if bias is None else bias.detach().to(dtype)

    def forward(self, x: Tensor, activation: str = "") -> Tensor:
        """The product of x (…, in) with the weight, (…, out), through the activation of that name in `_ACTIVATIONS`."""
        x = x.to(self._dtype)
        if not self._packed:
            y = functional.linear(x, self._weight, self._bias)
            return _ACTIVATIONS[activation].function(y) if activation else y
        fused = _ACTIVATIONS[activation].fused if activation else ("none", [], "")
        rows = x.reshape(-1, x.shape[-1])
        n = len(rows)
        if n % ROWS:  # oneDNN keeps a kernel, with its workspace, for every number of rows it has met
            rows = functional.pad(rows, (0, 0, 0, -n % ROWS))
        result: Tensor = torch.ops.mkldnn._linear_pointwise(rows, self._weight, self._bias, *fused)
        return result[:n].view(*x.shape[:-1], -1)


class _Swapped(Linear):
    """A `Linear` in the place of a model's own: it takes and gives what the rest of the model computes in."""

    def forward(self, x: Tensor, activation: str = "") -> Tensor:
        return super().forward(x, activation).to(x.dtype)


def swap_linears(model: Any, dtype: torch.dtype) -> dict[str, nn.Module]:
    """Replace the linear layers of `model` in place, and give back those that were there, by name."""
    if dtype == torch.float32 and not (model.device.type == "cpu" and can_pack(dtype)):
        return {}  # nothing to gain
    linears = {name: module for name, module in model.named_modules() if type(module) is nn.Linear}
    for name, linear in linears.items():
        model.set_submodule(name, _Swapped(linear.weight, linear.bias, dtype))
    return dict(linears)


@functools.cache
def can_pack(dtype: torch.dtype) -> bool:
    """Whether this machine's PyTorch has oneDNN's packed linear layers in `dtype`, and gains by them."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False  # elsewhere the gain was not measured
    try:
        x = torch.ones((4, 16), dtype=dtype)
        weight = torch.ops.mkldnn._reorder_linear_weight(x)
        return bool((torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "") == 16).all())
    except (AttributeError, RuntimeError):
        return False


def has_fast_bfloat16(device: torch.device) -> bool:
    """Whether `device` computes products of bfloat16 faster than of float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "mps":
        return True
    capabilities = torch.cpu.get_capabilities()
    return can_pack(torch.bfloat16) and bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


@dataclass(frozen=True)
class _Activation:
    function: Callable[[Tensor], Tensor]
    fused: tuple[str, list[float], str]
    """What oneDNN calls it: name, parameters, variant."""


_ACTIVATIONS = {
    "gelu": _Activation(functional.gelu, ("gelu", [], "none")),
    "gelu-tanh": _Activation(functools.partial(functional.gelu, approximate="tanh"), ("gelu", [], "tanh")),
    "relu": _Activation(functional.relu, ("relu", [], "")),
}


def linear_of(module: Any, name: str, dtype: torch.dtype) -> Linear:
    linear = module.get_submodule(name)
    return Linear(linear.weight, linear.bias, dtype)


def activation_name(activation: Callable[[Tensor], Tensor]) -> str:
    """The name of an activation among those that can be fused, found by what it does, or ""."""
    x = torch.cat([torch.linspace(-6, 6, 241), torch.linspace(-60, 60, 121)])  # some are cut off far out
    expected = activation(x)
    for name, known in _ACTIVATIONS.items():
        if torch.allclose(known.function(x), expected, rtol=1e-6, atol=1e-6):
            return name
    return ""
