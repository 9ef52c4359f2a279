from .census import Counted, is_kept, take_census
from .eviction import RECENT_SECONDS, clean, evict
from .parts import Key, borders, missing, n_between, part_stop, read_outline, write_outline
from .remote import Bucket
from .store import Store, is_url

__all__ = [
    "RECENT_SECONDS",
    "Bucket",
    "Counted",
    "Key",
    "Store",
    "borders",
    "clean",
    "evict",
    "is_kept",
    "is_url",
    "missing",
    "n_between",
    "part_stop",
    "read_outline",
    "take_census",
    "write_outline",
]
