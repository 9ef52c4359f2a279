from .anatomy import Anatomy, Architecture, Parameter, PoolerWeights, SpecialToken, TokenizerFacts
from .batches import is_out_of_memory
from .encoder import Encoder
from .linear import Linear, has_fast_bfloat16, product_rate

__all__ = [
    "Anatomy",
    "Architecture",
    "Encoder",
    "Linear",
    "Parameter",
    "PoolerWeights",
    "SpecialToken",
    "TokenizerFacts",
    "has_fast_bfloat16",
    "is_out_of_memory",
    "product_rate",
]
