"""What lasts from one run of a page to the next: the server's, one visitor's, and what stands in the link."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
