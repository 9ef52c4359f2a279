"""What was found, and a view of it, to what a picture or a sentence needs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
