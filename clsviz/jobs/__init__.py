"""Jobs: what is measured and computed, in the background and in turns."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
