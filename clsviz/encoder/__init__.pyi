from .anatomy import Anatomy, Architecture, PoolerWeights, SpecialToken, TokenizerFacts
from .encoder import Encoder
from .linear import Linear, Unsuited, has_fast_bfloat16
from .loading import load
from .parameters import Parameter
from .speed import product_rate
from .torch_import import guard_torch

__all__ = [
    "Anatomy",
    "Architecture",
    "Encoder",
    "Linear",
    "Parameter",
    "PoolerWeights",
    "SpecialToken",
    "TokenizerFacts",
    "Unsuited",
    "guard_torch",
    "has_fast_bfloat16",
    "load",
    "product_rate",
]
