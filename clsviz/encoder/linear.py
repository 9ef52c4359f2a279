"""Linear layers whose weights are laid out for this machine.

`Linear` keeps its weight in the byte order that oneDNN multiplies fastest, as PyTorch's compiler does when it freezes a
model. The blocks of `fast_pass` are made of it, and `swap_linears` puts it into any other model.

PyTorch has no public name for these products. The two operators below are the only ones of its private interface that
clsviz uses: `can_pack` tries them whenever a layer is made, and where they are not there, or give something else, the
public linear layer takes their place.
"""

import functools
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from clsviz.encoder.batches import TOKEN_BUDGETS, best_device

_WINDOW_SECONDS = 0.25
ROWS = 64
"""Rows of a packed product are padded to a multiple of this, so that few different numbers of rows occur."""


class Linear(nn.Module):
    """A linear layer that computes its product in `dtype`, from a weight laid out for this machine.

    weight: (out, in); bias: (out,) or None. The result has `dtype`.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        super().__init__()
        weight = weight.detach().to(dtype)
        self._dtype = dtype
        self._packed = weight.device.type == "cpu" and can_pack(dtype)
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight) if self._packed else weight
        self._bias = None if bias is None else bias.detach().to(dtype)

    def forward(self, x: Tensor, activation: str = "") -> Tensor:
        """The linear layer's output for x (…, in), (…, out), through the activation of that name in `ACTIVATIONS`."""
        x = x.to(self._dtype)
        if not self._packed:
            y = functional.linear(x, self._weight, self._bias)
            return ACTIVATIONS[activation].function(y) if activation else y
        fused = ACTIVATIONS[activation].fused if activation else ("none", [], "")
        rows = x.reshape(-1, x.shape[-1])
        n = len(rows)
        if n % ROWS:  # oneDNN keeps a kernel and its workspace for every number of rows it has seen
            rows = functional.pad(rows, (0, 0, 0, -n % ROWS))
        result: Tensor = torch.ops.mkldnn._linear_pointwise(rows, self._weight, self._bias, *fused)
        return result[:n].view(*x.shape[:-1], -1)


class _Swapped(Linear):
    """A `Linear` in place of a model's own: its result has the dtype of its input, as the rest of the model expects."""

    def forward(self, x: Tensor, activation: str = "") -> Tensor:
        return super().forward(x, activation).to(x.dtype)


def swap_linears(model: Any, dtype: torch.dtype) -> dict[str, nn.Module]:
    """Replace the linear layers of `model` in place, and return the original ones by name."""
    if dtype == torch.float32 and not (model.device.type == "cpu" and can_pack(dtype)):
        return {}  # nothing to gain
    linears = {name: module for name, module in model.named_modules() if type(module) is nn.Linear}
    for name, linear in linears.items():
        model.set_submodule(name, _Swapped(linear.weight, linear.bias, dtype))
    return dict(linears)


def can_pack(dtype: torch.dtype) -> bool:
    """Whether PyTorch has oneDNN's packed linear layers in `dtype`, switched on and known to be faster here."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False  # not measured there
    if not torch.backends.mkldnn.enabled:
        return False
    try:
        x = torch.ones((4, 16), dtype=dtype)
        weight = torch.ops.mkldnn._reorder_linear_weight(x)
        return bool((torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "") == 16).all())
    except (AttributeError, RuntimeError):
        return False


def has_fast_bfloat16(device: torch.device) -> bool:
    """Whether `device` multiplies matrices faster in bfloat16 than in float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "mps":
        return True
    capabilities = torch.cpu.get_capabilities()
    return can_pack(torch.bfloat16) and bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


@dataclass(frozen=True)
class Activation:
    """An activation that oneDNN can fuse into a product."""

    function: Callable[[Tensor], Tensor]
    fused: tuple[str, list[float], str]
    """How oneDNN identifies it: name, parameters, variant."""


ACTIVATIONS = {
    "gelu": Activation(functional.gelu, ("gelu", [], "none")),
    "gelu-tanh": Activation(functools.partial(functional.gelu, approximate="tanh"), ("gelu", [], "tanh")),
    "relu": Activation(functional.relu, ("relu", [], "")),
}
"""Activations that can be fused into the product before them, by name."""


def linear_of(module: Any, name: str, dtype: torch.dtype) -> Linear:
    """A `Linear` with the weight and bias of the one called `name` in `module`."""
    linear = module.get_submodule(name)
    return Linear(linear.weight, linear.bias, dtype)


def activation_name(activation: Callable[[Tensor], Tensor]) -> str:
    """The name in `ACTIVATIONS` of an activation, found by comparing outputs, or "" if it is none of them."""
    x = torch.cat([torch.linspace(-6, 6, 241), torch.linspace(-60, 60, 121)])  # some are clipped far out
    expected = activation(x)
    for name, known in ACTIVATIONS.items():
        if torch.allclose(known.function(x), expected, rtol=1e-6, atol=1e-6):
            return name
    return ""


def product_rate(seconds: float) -> float:
    """Floating-point operations per second of the best device, in matrix products of the size of BERT base's.

    Takes that many seconds and counts the best quarter of a second, because other programs come and go.
    """
    device, (width, inner) = torch.device(best_device()), (768, 3072)
    n_tokens = TOKEN_BUDGETS[device.type]
    with torch.inference_mode():
        linear = Linear(torch.ones(inner, width, device=device), None, torch.float32)
        tokens = torch.ones(n_tokens, width, device=device)
        linear(tokens)  # the first call selects a kernel
        rates = []
        for _ in range(max(1, round(seconds / _WINDOW_SECONDS))):
            n, began = 0, time.perf_counter()
            while (passed := time.perf_counter() - began) < _WINDOW_SECONDS:
                float(linear(tokens)[0, 0])  # waits for a GPU
                n += 1
            rates.append(n * 2 * n_tokens * width * inner / passed)
        return max(rates)
