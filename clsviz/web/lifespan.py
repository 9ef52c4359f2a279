"""What the server does when it starts, and when it ends."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.concurrency import run_in_threadpool

from clsviz.ui.state import server
from clsviz.web import readying


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """For `st.App`: makes ready in the background as the server starts, and ends its jobs when it ends.

    They end like any others that are cancelled, before Python does: torch, and executors, must still work.
    """
    thread = threading.Thread(target=readying.make_ready)  # no daemon: Python must not end while something is imported
    thread.start()
    yield
    await run_in_threadpool(thread.join)
    await run_in_threadpool(server.close)
