"""Progress as a bar on stderr."""

from typing import NoReturn, Self

from tqdm import tqdm

from clsviz.progress import Progress


class Bar(Progress):
    """A bar on stderr for each stage that takes longer than a second; a context manager."""

    def __init__(self, is_shown: bool = True) -> None:
        super().__init__()
        self._is_shown = is_shown
        self._bar: tqdm[NoReturn] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object = None, *_: object) -> None:
        if kind is not None:
            self.cancel()  # stops what other threads are still doing
        self._close()

    def begin(self, stage: str, total: int = 0, done: int = 0, unit: str = "") -> None:
        """Replace the bar by one for this stage."""
        super().begin(stage, total, done, unit)
        self._close()
        if total and self._is_shown:
            self._bar = tqdm(desc=stage, total=total, initial=done, unit=unit, delay=1, leave=False)

    def advance(self, done: int) -> None:
        """Move the bar to `done`."""
        super().advance(done)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
