"""The progress of work: it shows how much is done, gives up turns, and ends what nobody wants."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from clsviz.sources.models import Weights

Resource = Literal["fetch", "model", "analysis"]
"""Used by few jobs of a server at a time: the network and files, a model, the processor."""


class Cancelled(Exception):
    """Nobody wants the work any more."""


class Progress:
    """Shows nothing, and waits for nobody: the progress of a call from Python."""

    def __call__(self, done: int, total: int, unit: str) -> None:
        """Show how much is done, of how much, and of what, such as “sentences”.

        Other jobs may have their turn meanwhile. Raises Cancelled where nobody wants the work.
        """

    def publish(self, make: Callable[[], Any]) -> None:
        """Show the result of what is done so far, such as the first points of a picture.

        make: returns it; where nobody looks it is not called.
        """

    @contextmanager
    def at(self, resource: Resource, weights: "Weights | None" = None) -> Iterator[None]:
        """The lines within use a resource. weights: of the model that they run."""
        yield

    def worded(self, words: Callable[[Any], Any]) -> "Progress":
        """The same progress, where what is published goes through a function first."""
        return _Worded(self, words)

    def part(self, done: int, total: int, unit: str) -> "Progress":
        """The progress of a part of the work; so much of all was done before it."""
        return _Part(self, done, total, unit)


class _Part(Progress):
    """Its parts count as units of the whole; what they publish is for nobody else."""

    def __init__(self, whole: Progress, done: int, total: int, unit: str) -> None:
        self._whole, self._done, self._total, self._unit = whole, done, total, unit
        self.at = whole.at  # type: ignore[method-assign]

    def __call__(self, done: int, total: int, unit: str) -> None:
        self._whole(self._done + done, max(self._total, self._done + total), self._unit)


class _Worded(Progress):
    def __init__(self, progress: Progress, words: Callable[[Any], Any]) -> None:
        self._progress, self._words = progress, words
        self.at = progress.at  # type: ignore[method-assign]

    def __call__(self, done: int, total: int, unit: str) -> None:
        self._progress(done, total, unit)

    def publish(self, make: Callable[[], Any]) -> None:
        """Publish the same in words."""
        self._progress.publish(lambda: self._words(make()))


class Calls(Progress):
    """Calls a function with each new state."""

    def __init__(self, function: Callable[[int, int, str], object]) -> None:
        self._function = function
        self._last = (0, 0, "")

    def __call__(self, done: int, total: int, unit: str) -> None:
        """Call it, unless nothing is new."""
        if (done, total, unit) != self._last:
            self._last = done, total, unit
            self._function(done, total, unit)


silent = Progress()
