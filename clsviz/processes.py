"""Processes that work for another one."""

import os
import signal
import threading
import time
from collections.abc import Callable


def end_with(parent: int, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Have this process end once its parent has, also where that was killed, and leave Ctrl+C to it.

    loky's workers outlive a parent that is killed, whatever their timeout. parent: its number. meanwhile: what is done
    twice a second until then.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches the whole group; the parent ends this process

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
            meanwhile()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
