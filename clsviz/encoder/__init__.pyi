from .anatomy import Anatomy, Architecture, PoolerWeights, SpecialToken, TokenizerFacts
from .any_encoder import AnyEncoder, Unsuited
from .encoder import Encoder
from .linear import Linear, has_fast_bfloat16
from .loading import load
from .memory import is_out_of_memory
from .parameters import Parameter
from .process import Process
from .speed import product_rate
from .torch_import import guard_torch

__all__ = [
    "Anatomy",
    "AnyEncoder",
    "Architecture",
    "Encoder",
    "Linear",
    "Parameter",
    "PoolerWeights",
    "Process",
    "SpecialToken",
    "TokenizerFacts",
    "Unsuited",
    "guard_torch",
    "has_fast_bfloat16",
    "is_out_of_memory",
    "load",
    "product_rate",
]
