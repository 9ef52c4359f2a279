from .listing import Listing, listed, open_listing
from .rounds import DRAWING, FILES_AT_ONCE
from .split import Draw, Split

__all__ = ["DRAWING", "FILES_AT_ONCE", "Draw", "Listing", "Split", "listed", "open_listing"]
