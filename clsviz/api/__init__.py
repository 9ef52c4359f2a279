"""What a notebook or a script calls: ask in one line, get a result that tabulates, fits and plots itself."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
