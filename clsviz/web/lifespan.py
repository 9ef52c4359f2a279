"""What the server does when it ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.concurrency import run_in_threadpool

from clsviz.ui.state import server


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Lets jobs end like any others that are cancelled, before Python ends: torch, and executors, must still work."""
    yield
    await run_in_threadpool(server.close)
