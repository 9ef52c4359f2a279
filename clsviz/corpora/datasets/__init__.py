"""Text datasets of the Hub: a fair sample of them that leaves most unread."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
