"""What the server does when it starts, and when it ends."""

import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.concurrency import run_in_threadpool

from clsviz import web
from clsviz.ui import state
from clsviz.ui.state import runners

_SWITCH_SECONDS = 0.001
"""After so long a thread gives Python to another: what is measured asks for it thousands of times a second."""


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """For `st.App`: makes ready in the background as the server starts, and ends its jobs when it ends.

    They end like any others that are cancelled, before Python does: torch, and executors, must still work.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)  # before what is made ready, which changes it for a while and back to this
    runners.hear_out()
    # No daemon: Python must not end while something is imported.
    thread = threading.Thread(target=lambda: web.readying.make_ready())
    thread.start()
    yield
    await run_in_threadpool(thread.join)
    await run_in_threadpool(lambda: state.server.close())
