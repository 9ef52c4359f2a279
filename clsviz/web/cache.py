"""Pictures that were drawn before."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable


class Pictures:
    """The most recently used pictures, up to a number of them and of their bytes; safe to share between threads."""

    def __init__(self, most: int = 256, most_bytes: int = 16_000_000) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def n_bytes(self) -> int:
        """How large they are together."""
        with self._lock:
            return sum(map(len, self._kept.values()))

    def get(self, key: Hashable, draw: Callable[[], bytes]) -> bytes:
        """The picture known by `key`, drawn if it is not there."""
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        picture = draw()
        with self._lock:
            self._kept[key] = picture
            while self._kept and (
                len(self._kept) > self._most or sum(map(len, self._kept.values())) > self._most_bytes
            ):
                self._kept.popitem(last=False)
        return picture
