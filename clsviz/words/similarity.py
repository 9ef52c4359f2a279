"""What is said of whether length bends a search: true whatever the vectors are."""

import math

from clsviz.analysis.search import Similarity
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import Lengths, Precision
from clsviz.sources import models
from clsviz.statistics.erasure import Remedy
from clsviz.words.provenance import length, origin, used, vector

QUESTION = "Does length bend my search?"

_STRENGTHS = [(0.1, "Hardly"), (0.3, "A little"), (0.6, "Partly")]
"""Words for a rank correlation below each limit, once it is told apart from chance."""

_ALIKE = 0.05
"""Correlations closer than this are about the same."""

REMEDIES = {
    None: "As it is",
    Remedy.CENTRED: "Centred",
    Remedy.WHITENED: "Whitened",
    Remedy.ERASED: "Length erased",
}

SHARED_WORDS = "Shared words (tf-idf)"


def answer(found: Similarity, experiment: Experiment) -> str:
    """Whether length bends a search, in a sentence; which controls are on comes first."""
    text = verdict(found)
    if experiment.lengths is Lengths.SHUFFLED:
        text = f"Control: lengths are shuffled across sentences, so whatever shows is chance. {text}"
    if models.Name.parse(experiment.model).untrained:
        text = f"Control: these weights are random, so whatever shows is there without training. {text}"
    return text


def verdict(found: Similarity) -> str:
    """Whether a sentence's nearest neighbours follow its length, beyond chance and beyond shared words."""
    own, limit = found.bias.neighbour_correlation, found.chance.neighbour_correlation_limit
    longer = f"the longer a sentence, the longer its ten nearest (rank correlation {_two(own)})"
    if own < -limit:
        return (
            f"The other way round: the longer a sentence, the shorter its ten nearest (rank correlation {_two(own)}, "
            f"with shuffled lengths {_two(found.chance.neighbour_correlation)})."
        )
    if own <= limit:
        n, share = len(found.index), found.bias.length_share  # cosines may still depend on length
        if share <= found.chance.length_share_limit:
            return (
                f"Not as far as these {n:,} sentences show: neither cosines nor nearest neighbours follow length more "
                "than chance would have it."
            )
        return (
            "Not which sentences are nearest: those of longer sentences are no longer, beyond chance, although length "
            f"accounts for {percent(share)} of the differences between cosines."
        )
    lead = next((word for least, word in _STRENGTHS if own < least), "Largely")
    if found.by_words is None:
        return f"{lead}: {longer}."
    by_words = found.by_words.neighbour_correlation
    # Twice the standard error of two independent correlations: closer ones may differ by chance.
    if abs(own - by_words) <= max(_ALIKE, 2 * math.sqrt(2 / (len(found.index) - 1))):
        return f"About as much as shared words do: {longer}, and those by shared words ({_two(by_words)})."
    if own < by_words:
        return f"Less than shared words do: {longer}, and more so those by shared words ({_two(by_words)})."
    return f"{lead}: {longer}; for those by shared words it is {_two(by_words)}."


def key_numbers(found: Similarity, experiment: Experiment) -> dict[str, str]:
    """The numbers behind the answer, by name."""
    unit = experiment.unit
    shared = f", shared words {percent(found.by_words.length_share)}" if found.by_words else ""
    words = f", shared words {_two(found.by_words.neighbour_correlation)}" if found.by_words else ""
    return {
        "Differences between cosines that two lengths account for": f"{percent(found.bias.length_share)} (shuffled "
        f"lengths {percent(found.chance.length_share)}{shared})",
        "Rank correlation of length and neighbours’ length": f"{_two(found.bias.neighbour_correlation)} (shuffled "
        f"lengths {_two(found.chance.neighbour_correlation)}{words})",
        "Difference in length": f"{found.bias.lengths_apart:.1f} {unit} between a sentence and one of its ten nearest, "
        f"{found.random_apart:.1f} between two random ones",
        "Sentences": f"{len(found.index):,}",
    }


def settings(experiment: Experiment, found: Found, similarity: Similarity) -> dict[str, str]:
    """How the result came about, by name."""
    n_used = len(similarity.index) + similarity.n_equal
    equal = f"; {similarity.n_equal:,} left out as equal to another but for case, accents or white space"
    return {
        **origin(found),
        "Compared": used(experiment, n_used, similarity.n_truncated) + (equal if similarity.n_equal else ""),
        "Length": length(experiment),
        "Vector": f"{vector(experiment, found)}, measured in {Precision.EXACT.numbers} and stored in 16 bits",
        "Map": "mean cosine over all pairs of different sentences, by tenths of the lengths; the share of the "
        "differences is R² of all cosines on the pair of tenths",
        "Neighbours": "the ten nearest other sentences by cosine, exact; Spearman’s ρ of a sentence’s length with "
        "their mean length",
        "Shuffled lengths": "means over 99 shuffles",
        "Shared words": "cosine of tf-idf vectors of the same sentences",
        "Remedies": "fitted to the sentences that are searched: for the correlation to four fifths, which the "
        "remaining fifth searches; for what stays and for cosines to all",
    }


def span(ends: tuple[int, int]) -> str:
    """A range of lengths."""
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"


def percent(share: float) -> str:
    """A share with one decimal."""
    return "under 0.1%" if 0 < share < 0.001 else f"{share:.1%}"


def _two(value: float) -> str:
    """A correlation to two decimals, never as −0.00."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
