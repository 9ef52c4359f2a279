"""Whether an encoder writes the length of a sentence into its [CLS] vector, and where.

The parts that load torch or the statistics libraries are imported when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
