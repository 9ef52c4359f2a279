from .anatomy import Anatomy
from .encoder import Encoder
from .linear import Linear, has_fast_bfloat16
from .speed import product_rate
from .torch_import import guard_torch

__all__ = [
    "Anatomy",
    "Encoder",
    "Linear",
    "guard_torch",
    "has_fast_bfloat16",
    "product_rate",
]
