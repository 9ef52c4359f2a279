"""Coroutines, run from tests: in a thread of their own, as in this one Playwright's loop may be running."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T], seconds: float = 60) -> T:
    """What it returns; raises TimeoutError if it takes longer."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, asyncio.wait_for(coroutine, seconds)).result()
