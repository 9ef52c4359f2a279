from .anatomy import Anatomy
from .encoder import Encoder
from .linear import Linear, Unsuited, has_fast_bfloat16
from .loading import load
from .speed import product_rate
from .torch_import import guard_torch

__all__ = [
    "Anatomy",
    "Encoder",
    "Linear",
    "Unsuited",
    "guard_torch",
    "has_fast_bfloat16",
    "load",
    "product_rate",
]
