"""How fast this machine multiplies matrices, from which the time of a run is estimated before it starts."""

import functools
import threading
import time

import numpy as np

MEASURING_SECONDS = 2.0


class Machine:
    """The machine's rate: guessed at once, and measured in the kernels of the encoder when there is time for it."""

    def __init__(self) -> None:
        self._measured: float | None = None
        self._measuring = threading.Lock()

    @property
    def rate(self) -> float:
        """Floating-point operations per second of a large float32 product."""
        return self._measured or _guess()

    def measure(self) -> None:
        """Measure for two seconds, unless that was done; better while nothing else is at work."""
        from clsviz.encoder import product_rate  # torch takes seconds to import

        with self._measuring:
            if self._measured is None:
                self._measured = product_rate(MEASURING_SECONDS)


@functools.cache
def _guess() -> float:
    """The best of many short products, as others are at work while the page opens. Takes a tenth of a second."""
    left, right = np.ones((512, 512), np.float32), np.ones((512, 512), np.float32)
    seconds = []
    for _ in range(60):
        began = time.perf_counter()
        left @ right
        seconds.append(time.perf_counter() - began)
    return 2 * 512**3 / min(seconds)
