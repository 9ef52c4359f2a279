"""How fast a run was, and why it was not faster."""

from typing import TYPE_CHECKING

from clsviz.cli.output import one_line

if TYPE_CHECKING:
    from clsviz.measuring import Extraction, Found


def speed(extraction: "Extraction", found: "Found", seconds: float) -> dict[str, object]:
    """For JSON; sentences_per_second is None where all came from the store."""
    return {
        "seconds": seconds,
        "sentences_per_second": extraction.sentences_per_second,
        "slower_because": found.slow_path_reason or None,
    }


def slow_path(found: "Found") -> list[str]:
    """A note, where the model could not be run in the fastest way."""
    reason = found.slow_path_reason
    return [f"Not measured in the fastest way: {one_line(reason)}."] if reason else []
