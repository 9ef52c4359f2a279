from .listing import Listing, listed
from .rounds import DRAWING, Limits
from .source import Offline, Online
from .split import Draw, Split
from .storage import NotKeptError

__all__ = ["DRAWING", "Draw", "Limits", "Listing", "NotKeptError", "Offline", "Online", "Split", "listed"]
