"""What two principal components of the vectors show of length."""

from clsviz.statistics.probes import MOST_PROJECTED, Projection
from clsviz.words.readings import untested

ABOUT = (
    "Principal components are the directions along which the vectors vary most; the picture has the first two, of the "
    f"first {MOST_PROJECTED:,} sentences at most. They are found without the lengths. The rest of the vector is not in "
    "the picture, so what it does not show may still be there."
)

ASK = "Project the vectors"

NEEDS_VECTORS = (
    "This takes the vectors themselves, of which only the results came with clsviz: they are measured first."
)


def said(found: Projection | None, vector: str, whole: float | None, n_different: int | None = None) -> str:
    """What the two components show.

    vector: what it is called. whole: R² of length from the whole vector, if known. n_different: different sentences, if
    that is not all of them.
    """
    if found is None:
        return "Projecting the vectors…"
    first, second = found.shares
    beside = "" if whole is None else f" (from the whole vector: {_r_squared(whole)})"
    variance = (
        f"The two directions hold {_percent(first + second)} of the variance of {vector} ({_percent(first)} and "
        f"{_percent(second)})"
    )
    n_different = found.n if n_different is None else n_different
    if not_tested := untested(found.n, n_different, "whether these two numbers alone predict the length"):
        return f"{variance}. {not_tested}"
    return (
        f"{variance}; from these two numbers alone, a linear probe predicts the length of held-out sentences "
        f"at R² {_r_squared(found.r_squared)}{beside}."
    )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"


def _r_squared(value: float) -> str:
    """How far below 0 it is says nothing."""
    return "below 0" if round(value, 2) < 0 else f"{abs(value):.2f}"
