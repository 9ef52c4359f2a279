"""Whether length bends a search: similarity by length, neighbours, remedies."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from clsviz import analysis, export, figures, words
from clsviz.api.inputs import (
    DEFAULT_CORPUS,
    Bar,
    Corpus,
    Settings,
    extract,
    open_store,
    question,
    read_corpus,
    spelled_out,
)
from clsviz.api.norms import numbers_table, to_html
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Found, measure_texts
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis.search import Joined, Similarity
    from clsviz.figures import Figure
    from clsviz.measurements import Vectors


@dataclass(frozen=True, eq=False, repr=False)
class SimilarityResult:
    """How far the similarity of one model's vectors follows the lengths of sentences, as `similarity` returns it.

    experiment: what was asked.
    found: the sentences and their vectors.
    similarity: cosines by length, neighbours, remedies, other poolings, and the controls.
    joined: a row for texts of 1, 2, 4 and 8 sentences; empty where there are too few, and `joined_problem` says so.

    >>> import clsviz
    >>> result = clsviz.similarity("minilm", "python-docs", n=200, pooling="mean")
    >>> result.similarity.bias.cosine_by_length.shape
    (10, 10)
    >>> result.remedies()["remedy"].tolist()[:2]
    ['As it is', 'Centred']
    """

    experiment: Experiment
    found: Found
    similarity: "Similarity"
    joined: "tuple[Joined, ...]"
    joined_problem: str = ""

    def __len__(self) -> int:
        return len(self.similarity.index)

    def __repr__(self) -> str:
        return f"SimilarityResult({self.experiment.model} on {self.found.corpus.label}: {self.answer})"

    def _repr_html_(self) -> str:
        numbers = words.similarity.key_numbers(self.similarity, self.experiment)
        rows = words.similarity.settings(self.experiment, self.found, self.similarity)
        return to_html(self.question, self.answer, numbers_table(numbers), rows)

    @property
    def question(self) -> str:
        """What was asked, as a sentence."""
        return words.similarity.QUESTION

    @property
    def answer(self) -> str:
        """What the numbers say, in a sentence."""
        return words.similarity.answer(self.similarity, self.experiment)

    @property
    def notes(self) -> list[str]:
        """What else to know, such as that the corpus has fewer sentences than were asked for."""
        return words.notes(self.experiment.for_vectors, self.found)

    def table(self) -> "pd.DataFrame":
        """One row per pair of tenths by length, 100 in all.

        Columns: from_length, to_length, other_from_length, other_to_length (int64, the shortest and the longest of
        each), and float64: cosine (the mean of two sentences, one from each), cosine_shuffled (with the lengths
        shuffled) and cosine_of_shared_words (of tf-idf vectors; NaN where the sentences have no words).
        """
        return export.similarity.pairs(self.similarity)

    def remedies(self) -> "pd.DataFrame":
        """One row per way to compare: the vector as it is and after each remedy, other poolings, shared words.

        Columns: vector, remedy, and float64, NaN where undefined: length_share_of_cosine (R² of the cosines of all
        pairs on the tenths that the two lengths are in), neighbor_length_correlation (Spearman's ρ of a sentence's
        length with the mean length of its ten nearest), held_out_correlation (the same where a fifth of the sentences
        searches the others, which alone the remedy was fitted to), neighbor_length_difference (how far the lengths of
        a sentence and one of its ten nearest are apart, on average, in the unit of length), neighbors_kept (the share
        of the ten that are those of the vector as it is); and problem (why there are no numbers, or "").
        """
        return export.similarity.ways(self.similarity, is_imported=words.is_imported(self.experiment))

    def neighbors(self) -> "pd.DataFrame":
        """One row per sentence compared: sentence, length, and the mean length of its ten nearest, also by words."""
        return export.similarity.neighbours(self.found, self.similarity)

    def plot(self) -> "Figure":
        """The map of the page “Does length bend my search?”, a plotly Figure: mean cosines by the two lengths."""
        figure = figures.length_map(
            self.similarity.bias.cosine_by_length,
            [words.similarity.span(ends) for ends in self.similarity.ranges],
            figures.Palette(),
            self.experiment.unit,
        )
        return figure.update_layout(template="plotly_white")

    def summary(self) -> dict[str, object]:
        """Numbers, controls, settings and fingerprints, ready for JSON: the keys of `clsviz similarity --json`."""
        about = export.about(self.experiment, self.found)
        return about | export.similarity.summary(self.similarity, self.joined, self.joined_problem)


@spelled_out
def similarity(
    model: str | Experiment = "minilm",
    corpus: Corpus = DEFAULT_CORPUS,
    *,
    text: str = "",
    n: int | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> SimilarityResult:
    """Measure whole vectors, and tell how far cosine similarity, and so a search, follows the lengths of sentences.

    n: how many sentences, 1 to 20,000: the first n of the sample that `measure` draws with the same seed. By default
        all texts in memory, and 5,000 sentences of any other corpus.
    The other arguments are those of `measure`; pooling may also be “mean” or “max”. The precision is always exact.

    Raises ClsvizError as `measure` does, and where there are fewer than 100 different sentences, all of one length or
    with vectors of one direction.

    >>> import clsviz
    >>> result = clsviz.similarity("minilm", "python-docs", n=200, pooling="mean")
    >>> 0 <= result.similarity.bias.length_share <= 1
    True
    >>> result.table().shape
    (100, 7)
    >>> [row.n_sentences for row in result.joined]
    [1, 2, 4, 8]
    """
    opened = open_store(store)
    given = read_corpus(corpus, opened, text)
    experiment = question(model, given, n, seed, settings, of_vectors=True)
    encoders = Encoders()
    with Bar(progress) as bar:
        _, found = extract(experiment, Kind.VECTORS, opened, bar, encoders)
        return compare_lengths(found, experiment, opened, encoders, bar)


def compare_lengths(
    found: Found, experiment: Experiment, store: Store, encoders: Encoders, progress: Progress
) -> SimilarityResult:
    """Compare what was found, and measure joined sentences; raises ClsvizError as `similarity` does."""
    view = experiment.view
    progress.begin("Comparing", analysis.search.n_steps(found, view))
    for n_done, compared in enumerate(analysis.search.compare(found, view), start=1):  # noqa: B007
        progress.advance(n_done)
    if found.weights.imported:
        return SimilarityResult(experiment, found, compared, (), str(found.weights.imported.no_model))

    def measure(texts: Sequence[str]) -> "Vectors":
        return measure_texts(texts, experiment, found, store, encoders, progress)

    joined: tuple[Joined, ...] = ()
    problem = ""
    try:
        *_, joined = analysis.search.join(found, view, measure)
    except UndefinedFitError as error:
        problem = str(error)
    return SimilarityResult(experiment, found, compared, joined, problem)
