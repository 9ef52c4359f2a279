"""How far a piece of work is."""

from collections.abc import Callable

Progress = Callable[[int, int, str], None]
"""Takes how much is done, of how much, and of what, such as “sentences”; it may raise Cancelled."""


class Cancelled(Exception):
    """Nobody wants the work any more."""


def silent(done: int, total: int, unit: str) -> None:
    """Shows nothing."""
