from .anatomy import Anatomy, Architecture, Parameter, PoolerWeights, SpecialToken, TokenizerFacts
from .any_encoder import AnyEncoder
from .batches import is_out_of_memory
from .encoder import Encoder
from .linear import Linear, has_fast_bfloat16, product_rate
from .process import Process
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
    "guard_torch",
    "has_fast_bfloat16",
    "is_out_of_memory",
    "product_rate",
]
