"""What one reading of a vector says, in a few words."""

from clsviz.settings import Pooling
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.probes import Profile, Reading, Readout
from clsviz.words import numbers
from clsviz.words.labels import pooled

FITTING = "Fitting probes: the verdict comes when all are done."


_SENTENCES_PER_DIMENSION = 5
"""With fewer, a probe falls clearly short: for the built-in model's last layer R² is 0.57 with 5,000 sentences, and
about 0.35 with 1,000."""


_BEST_OF_LAYERS = 9.5
"""The 0.998 quantile of chi-square of one degree of freedom: what the largest of 25 stays below in 95 of 100 cases."""


def known(reading: Reading) -> float:
    """The R² of a reading that has one."""
    assert reading.r_squared is not None
    return reading.r_squared


def r_squared_of(reading: Reading) -> str:
    """R² to three decimals; how far below 0 it is says nothing, so that is left out."""
    value = round(known(reading), 3)
    return "R² below 0" if value < 0 else f"R² {value:.3f}"


def place(profile: Profile, layer: int | None) -> str:
    """After which layer."""
    if layer == 0:
        return "at the embedding layer"
    return "after the last layer" if layer in (None, profile.n_layers) else f"after layer {layer}"


def where(profile: Profile, layer: int | None) -> str:
    """The same after a space, or "" where there is one vector, from no known layer."""
    return "" if profile.is_of_one_vector else f" {place(profile, layer)}"


def vector(profile: Profile, pooling: Pooling = Pooling.CLS) -> str:
    """What the probes read, in a sentence."""
    return "the vectors" if profile.is_of_one_vector else f"the {pooled(pooling)}"


def clause(problem: str) -> str:
    """A problem, to stand within a sentence."""
    return f"{problem[:1].lower()}{problem[1:].partition(', so')[0].removesuffix('.')}"


def is_few(n_different: int, width: int) -> bool:
    """Whether there are few different sentences for probes of that many dimensions."""
    return n_different < _SENTENCES_PER_DIMENSION * width


def counted(n: int, n_different: int) -> str:
    """How many sentences there are, and of how many that is if some are the same or nearly."""
    if n_different == n:
        return numbers.counted(n)
    return f"{numbers.counted(n_different, 'different sentence')} (of {n:,})"


def untested(n: int, n_different: int, what: str) -> str:
    """That there are too few different sentences to tell something, or "" if there are enough.

    what: would be told, as a clause.
    """
    if n_different >= FEW_SENTENCES:
        return ""
    if not n:
        return "Not tested: there are no sentences."
    are = "is" if n_different == 1 else "are"
    return f"Not tested: {counted(n, n_different)} {are} too few to tell {what}. It takes at least {FEW_SENTENCES}."


def so_far(profile: Profile) -> str:
    """That not all layers are read yet, if so."""
    return " so far" if None in profile.line(Pooling.CLS, Readout.VECTOR) else ""


def stands_out(reading: Reading) -> bool:
    """False where other sentences might leave nothing of the R² of a probe, as far as its interval is known."""
    return reading.interval is None or reading.interval[0] > 0


def is_by_chance(reading: Reading, n_different: int) -> bool:
    """Whether the R² of a line, which is not held out, may be the best of many layers’ by chance.

    Of a line on nothing R² times the number of sentences is about chi-square of one degree of freedom.
    """
    return known(reading) * n_different < _BEST_OF_LAYERS


def off_by(error: float, unit: str) -> str:
    """By how much lengths are off, in their unit."""
    return f"less than 0.1 {unit}" if error < 0.05 else f"{error:.1f} {unit}"
