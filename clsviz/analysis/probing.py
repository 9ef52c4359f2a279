"""What becomes of probes of the length if it is erased from the vectors, or if they are read on another corpus."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clsviz import corpora, statistics
from clsviz.analysis.more import advised
from clsviz.analysis.norms import alike
from clsviz.analysis.vectors import defined, folds, used
from clsviz.experiment import View
from clsviz.measuring import Found
from clsviz.statistics.results import Erasure, Travel

if TYPE_CHECKING:
    from clsviz.statistics import Sentences


def erasures(found: Found, view: View) -> Iterator[Erasure]:
    """The length erased from the view's vectors, fold by fold; raises UndefinedFitError where that cannot be tested."""
    index, lengths = used(found, view)
    vectors = found.vectors.of(view.pooling, view.layer)[index]
    with advised(found, view):
        for erasure in statistics.erasure(vectors, lengths.tolist(), folds(found, index)):
            yield replace(erasure, n_clusters=_n_clusters(found, index[: erasure.n]))


def _n_clusters(found: Found, index: NDArray[np.intp]) -> int:
    return len(np.unique(alike(found)[index]))


def erasure_summary(found: Erasure) -> dict[str, object]:
    """What erasing leaves, ready for JSON: for each version of the vectors the means over folds, and the folds."""

    def row(values: tuple[float, ...]) -> float | None:
        return defined(float(np.mean(values))) if values else None

    return {
        "n_used": found.n,
        "n_clusters": found.n_clusters,
        **{
            name.replace(" ", "_"): {
                "linear_r_squared": row(left.linear),
                "linear_fold_r_squared": list(left.linear),
                "nonlinear_r_squared": row(left.nonlinear),
                "nonlinear_fold_r_squared": list(left.nonlinear),
                "neighbor_length_correlation": row(left.neighbours),
            }
            for name, left in found.left.items()
        },
    }


def travels(found: Found, there: Found, view: View) -> Iterator[Travel]:
    """Probes of the view's pooling trained on what was found, read on another corpus by the same model, by layer.

    Sentences of the other corpus that the first has as well are left out, so that no probe is tested on what it was
    trained on.
    """
    of_here, of_there = _sentences(found, view), _sentences(there, view, found)
    n_here, n_there = _n_clusters(found, of_here.index), _n_clusters(there, of_there.index)
    for travel in statistics.travel(of_here, of_there, view.pooling):
        yield replace(travel, n_clusters=n_here, n_clusters_there=n_there)


def _sentences(found: Found, view: View, other: Found | None = None) -> "Sentences":
    index, lengths = used(found, view)
    if other is not None:
        known = {corpora.canonical(other.sentences[i]) for i in used(other, view)[0]}
        new = np.array([corpora.canonical(found.sentences[i]) not in known for i in index], bool)
        index, lengths = index[new], lengths[new]
    return statistics.Sentences(found.vectors, index, lengths, folds(found, index))


def travel_summary(found: Travel, there: Found) -> dict[str, object]:
    """How the probe travels, ready for JSON; undefined values are None."""
    return {
        "corpus": there.corpus.selection.corpus,
        "corpus_fingerprint": there.corpus.fingerprint,
        "n_used": found.n,
        "n_used_there": found.n_there,
        "n_clusters": found.n_clusters,
        "n_clusters_there": found.n_clusters_there,
        "guess_error": defined(found.guess_error),
        "guess_error_across": defined(found.guess_error_across),
        "guess_error_there": defined(found.guess_error_there),
        "layers": [
            {name: list(value) if isinstance(value, tuple) else defined(value) for name, value in asdict(leg).items()}
            for leg in found.legs
        ],
    }
