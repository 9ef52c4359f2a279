"""What the statistics find: plain values, which load none of the libraries that computed them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
