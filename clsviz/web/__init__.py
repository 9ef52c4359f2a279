"""What the server answers beside the pages: headers, previews of links, and how it is doing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
