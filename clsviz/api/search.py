"""Whether length bends a search, tested by searches whose right texts are known."""

import functools
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from clsviz import analysis, export, words
from clsviz.analysis import search_test as tests
from clsviz.analysis.search_test import Correction, SearchTest
from clsviz.api.inputs import Bar, Corpus, Settings, open_store, question, read_corpus, spelled_out
from clsviz.api.norms import numbers_table, to_html
from clsviz.errors import CorpusError, SettingError
from clsviz.experiment import Experiment, Selection
from clsviz.jobs import SHOWCASE, Encoders, Found, SearchVectors, drawn, encoder_of, search_vectors
from clsviz.progress import Progress
from clsviz.settings import Pooling, SimilarityFunction, Task
from clsviz.sources import models, searches
from clsviz.sources.sampling import Sample
from clsviz.sources.searches import Searches
from clsviz.store import Store
from clsviz.store.results import ResultCache

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.figures import ByFifth, Figure

SEARCH_CORPUS = "python-api"


@dataclass(frozen=True, eq=False, repr=False)
class SearchTestResult:
    """A search test of one model's vectors, as `search_test` returns it.

    test: every ranking, what fixes do, advice, examples. similarity: what ranks the texts. searches: queries, texts,
    and which are right. experiment, found: what was asked, model and corpus; None for vectors of one's own.

    >>> import clsviz
    >>> result = clsviz.search_test()
    >>> result.answer
    'At most a little: by cosine, the shortest fifth takes 1.3 times its share.'
    >>> result.table().shape[1]
    11
    """

    test: SearchTest
    similarity: SimilarityFunction
    searches: Searches
    experiment: Experiment | None = None
    found: Found | None = None

    def __len__(self) -> int:
        return self.test.n_searches

    def __repr__(self) -> str:
        model = f"{self.experiment.model} on " if self.experiment else ""
        return f"SearchTestResult({model}{self.searches.label}: {self.answer})"

    def _repr_html_(self) -> str:
        numbers = {"Evidence": self.evidence, "What to do": self.advice}
        return to_html(self.question, self.answer, numbers_table(numbers), {"Searches": self.test.task})

    @property
    def question(self) -> str:
        """What was asked, as a sentence."""
        return words.search.QUESTION

    @property
    def answer(self) -> str:
        """The verdict, in a sentence."""
        return words.search.verdict(self.test, self.similarity)

    @property
    def evidence(self) -> str:
        """The numbers behind the verdict."""
        return words.search.quiet_line(self.test, self.similarity)

    @property
    def advice(self) -> str:
        """What to do, in a sentence."""
        return words.search.advice(self.test.consequences[self.similarity].advice)

    @property
    def correction(self) -> Correction | None:
        """The advised fix as a formula with its numbers; None where nothing is to be done."""
        return self.test.consequences[self.similarity].correction

    @property
    def notes(self) -> list[str]:
        """What else to know, such as whom dot product concerns."""
        model = self.found.weights.label if self.found else ""
        notes = [words.search.normalizes(self.test, model)] if self.similarity is SimilarityFunction.DOT else []
        return [*filter(None, notes)]

    def table(self) -> "pd.DataFrame":
        """One row per ranking and fifth of the searched texts by length, the shortest first.

        Columns: ranking (such as “Mean, cosine”, or BM25), fix ("" without one), fifth, from_tokens, to_tokens, n_texts
        (int64), and float64, NaN where undefined: recall_at_10, ndcg_at_10, exposure, exposure_low and exposure_high
        (95% interval).
        """
        return export.search.table(self.test, self.similarity)

    def plot(self) -> "Figure":
        """Exposure and recall by fifths of the texts' lengths, a plotly Figure."""
        from clsviz import figures

        figure = figures.exposure_by_fifth(self.rows(), words.search.spans(self.test), figures.Palette())
        return figure.update_layout(template="plotly_white")

    def image(self, kind: str = "png") -> bytes:
        """The same as an image with question and verdict; kind: png, svg or pdf."""
        from clsviz.figures import static

        drawn = static.Exposures(self.rows(), words.search.spans(self.test))
        return static.image(drawn, self.question, self.answer, words.sharing.SITE, kind=kind)

    def rows(self) -> "list[ByFifth]":
        """The lines of the picture: the ranking asked for first."""
        from clsviz import figures

        return figures.by_fifth(words.search.lines(self.test, self.similarity))

    def summary(self) -> dict[str, object]:
        """The result with settings and fingerprints, ready for JSON: the keys of `clsviz search-test --json`."""
        about: dict[str, object] = {}
        if self.experiment and self.found:
            layer = self.experiment.layer
            n_layers = self.found.weights.n_layers
            about = export.about(self.experiment, self.found)
            about |= {"layer": n_layers if layer is None else layer, "n_sampled": len(self.searches.texts)}
        return about | export.search.summary(self.test, self.similarity)


@functools.partial(spelled_out, pooling=Pooling.MEAN.value)
def search_test(
    model: str | Experiment = "minilm",
    corpus: Corpus = SEARCH_CORPUS,
    *,
    titles: str = "",
    searches: str | os.PathLike[str] | None = None,
    similarity: str = "cosine",
    length_power: float | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> SearchTestResult:
    """Search a corpus with queries whose right texts are known, and tell whether texts of some lengths are favoured.

    titles: the column whose titles search for their texts (default: one that is called so). searches: a table of
    `query` and `text`, or of `query` and `ids`, separated by spaces, of the corpus's column `id`. Without either, one
    half of each text searches for the other, or sentences of a book for their surroundings. similarity: “cosine”, or
    “dot” for the dot product of vectors as they are pooled. length_power: scores are also tried times tokens^p.
    The other arguments are those of `measure`; pooling is “mean” unless it is given.

    Raises ClsvizError as `measure` does, and UnsearchableError where the texts give under 100 searches.

    >>> import clsviz
    >>> result = clsviz.search_test(similarity="dot")
    >>> result.answer
    'Yes: by dot product, the shortest fifth takes 3.8 times its share.'
    >>> result.correction.formula
    'vector / norm of the vector'
    """
    opened = open_store(store)
    if isinstance(model, Experiment):
        experiment = model
    else:
        chosen: Any = {"pooling": Pooling.MEAN.value, **settings}
        experiment = question(model, read_corpus(corpus, opened), None, seed, chosen, of_vectors=True)
    with Bar(progress) as bar:
        return run_test(
            experiment,
            opened,
            Encoders(),
            bar,
            titles=titles,
            judged=None if searches is None else Path(searches).expanduser(),
            similarity=parse_similarity(similarity),
            length_power=length_power,
        )


def parse_similarity(text: str) -> SimilarityFunction:
    """The similarity function of that name; raises SettingError."""
    try:
        return SimilarityFunction(text)
    except ValueError:
        raise SettingError(f"similarity is “{text}”; it must be cosine or dot.") from None


def run_test(
    experiment: Experiment,
    store: Store,
    encoders: Encoders,
    progress: Progress,
    *,
    titles: str = "",
    judged: Path | None = None,
    similarity: SimilarityFunction = SimilarityFunction.COSINE,
    length_power: float | None = None,
    most_texts: int = searches.MOST_TEXTS,
    cache: ResultCache | None = None,
) -> SearchTestResult:
    """Find or make the searches, measure what is missing, and test; raises ClsvizError as `search_test` does.

    cache: of results, by default what is on disk.
    """
    weights = drawn(models.fetch(experiment.model, progress), encoders, store)
    if weights.imported:
        raise SettingError("Imported vectors have no queries. Give vectors of both: clsviz.search_test_vectors.")
    if weights.n_layers is not None:
        analysis.check_layer(experiment.view, weights.n_layers)
    layer = None if experiment.layer == weights.n_layers or experiment.pooling is Pooling.POOLER else experiment.layer
    asked = searches.find_searches(
        experiment.selection,
        store.corpora,
        progress,
        titles=titles,
        judged=judged,
        seed=experiment.seed,
        most_texts=most_texts,
    )
    is_bundled = experiment.corpus == SEARCH_CORPUS
    key = tests.key_of(asked.corpus, weights, experiment.pooling, layer, length_power, is_bundled=is_bundled)

    def compute() -> SearchTest:
        encoder = encoder_of(weights, encoders, store)
        there = [pooling for pooling in tests.TESTED if pooling is not Pooling.POOLER or layer is None]
        poolings = dict.fromkeys([*there, experiment.pooling])
        if not encoder.has_pooler:
            if experiment.pooling is Pooling.POOLER:
                raise SettingError("This model has no pooler. Choose another pooling.")
            poolings.pop(Pooling.POOLER, None)
        vectors = search_vectors(asked, weights, [*poolings], layer, store, encoders, progress)
        return tests.run(asked, vectors, experiment.pooling, layer, progress, length_power=length_power)

    cache = cache or ResultCache(store.results, SHOWCASE / "results")
    test: SearchTest = cache.get_or_compute(key, compute)
    found = Found(
        weights, Sample(asked.corpus, asked.texts, "all texts, none cut into sentences"), seed=experiment.seed
    )
    return SearchTestResult(test, similarity, asked, replace(experiment, layer=layer), found)


def search_test_vectors(
    texts: Iterable[str],
    vectors: ArrayLike,
    queries: Iterable[str],
    query_vectors: ArrayLike,
    right: Iterable[int | Iterable[int]],
    *,
    n_tokens: ArrayLike | None = None,
    similarity: str = "cosine",
    length_power: float | None = None,
    progress: bool | None = None,
) -> SearchTestResult:
    """The same test of vectors from any model or API; no model is loaded.

    vectors: (n_texts, width). query_vectors: (n_queries, width). right: for each query the places of the right texts,
    or the only one. n_tokens: of each text (default: its words). Copies of a right text are right.

    Raises CorpusError where the numbers of rows do not match or vectors are not finite, and UnsearchableError where
    there are under 100 queries.

    >>> import clsviz, numpy
    >>> texts = [f"text {number}" + " word" * (number % 40) for number in range(200)]
    >>> vectors = numpy.random.default_rng(0).normal(size=(200, 8))
    >>> result = clsviz.search_test_vectors(texts, vectors, [f"query {n}" for n in range(200)], vectors, range(200))
    >>> result.answer
    'No sign of it: by cosine, no length is clearly found too often.'
    """
    there, asked = [*texts], [*queries]
    of_texts, of_queries = np.asarray(vectors, np.float32), np.asarray(query_vectors, np.float32)
    places = [[int(of)] if np.ndim(of) == 0 else [*map(int, of)] for of in right]  # type: ignore[arg-type]
    if of_texts.ndim != 2 or len(there) != len(of_texts):
        raise CorpusError(f"There are {len(there):,} texts, and vectors of the shape {of_texts.shape}.")
    lengths = np.array([len(text.split()) for text in there] if n_tokens is None else n_tokens, np.int32)
    if lengths.shape != (len(there),):
        raise CorpusError(f"There are {len(there):,} texts and {lengths.size:,} n_tokens.")
    if of_queries.ndim != 2 or not len(asked) == len(of_queries) == len(places):
        raise CorpusError(
            f"There are {len(asked):,} queries, {len(places):,} lists of right texts, and vectors of the shape "
            f"{of_queries.shape}."
        )
    if of_texts.shape[1] != of_queries.shape[1]:
        raise CorpusError(f"Texts have {of_texts.shape[1]:,} dimensions, queries {of_queries.shape[1]:,}.")
    for name, of in {"vectors": of_texts, "query_vectors": of_queries}.items():
        if len(wrong := np.flatnonzero(~np.isfinite(of).all(axis=1))):
            raise CorpusError(f"{name}[{wrong[0]}] has NaN, infinity, or a number too large for float32. Leave it out.")
    if any(not of or min(of) < 0 or max(of) >= len(there) for of in places):
        raise CorpusError(f"Each query needs right texts, which are numbers from 0 to {len(there) - 1:,}.")
    rows = [(query, {there[place] for place in of}) for query, of in zip(asked, places, strict=True)]
    found = searches.of_right_texts(Task.JUDGED, rows, there, Selection(corpus="own vectors"), "Own vectors")
    # They stand in the place of [CLS].
    whole = np.zeros(len(there), np.bool_)
    own = SearchVectors(lengths, whole, lambda _: of_texts, lambda _: of_queries, [Pooling.CLS])
    with Bar(progress) as bar:
        test = tests.run(found, own, Pooling.CLS, None, bar, length_power=length_power)
    return SearchTestResult(test, parse_similarity(similarity), found)
