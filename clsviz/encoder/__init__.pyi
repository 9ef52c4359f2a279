from . import anatomy
from .batches import plan_batches, token_budget
from .blocks import Blocks
from .encoder import Encoder
from .linear import ROWS, Linear, activation_name, can_pack, has_fast_bfloat16
from .loading import load
from .speed import product_rate
from .torch_import import guard_torch

__all__ = [
    "ROWS",
    "Blocks",
    "Encoder",
    "Linear",
    "activation_name",
    "anatomy",
    "can_pack",
    "guard_torch",
    "has_fast_bfloat16",
    "load",
    "plan_batches",
    "product_rate",
    "token_budget",
]
