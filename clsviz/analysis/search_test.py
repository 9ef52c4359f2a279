"""Whether length bends a search, tested by searches whose right texts are known."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import UndefinedFitError, UnsearchableError
from clsviz.jobs import SearchVectors
from clsviz.progress import Progress
from clsviz.settings import Fix, Pooling, SimilarityFunction, Task
from clsviz.sources.catalogue import Corpus
from clsviz.sources.models import Weights
from clsviz.sources.searches import Searches
from clsviz.statistics.exposure import (
    FAIR,
    N_PLACES,
    FixResult,
    Outcome,
    Ranking,
    Relevance,
    fifths_of,
    paired_interval,
    ranking,
    resample,
)
from clsviz.statistics.intervals import Interval
from clsviz.statistics.ranking import POWERS, FittedFix, calibrate, fit_vectors, rank, rank_by_words, times_power
from clsviz.statistics.similarity import chance, directions_of, first_of_each, length_bias, length_groups
from clsviz.store.results import ResultKey

COSINE, DOT = SimilarityFunction.COSINE, SimilarityFunction.DOT

TESTED = (Pooling.MEAN, Pooling.CLS, Pooling.POOLER)
"""The poolings whose vectors people search with."""

N_EXAMPLES = 10

_MOST_CHARACTERS = 500
"""Of a text in an example."""

_PASSING = 0.01
"""The share of unrelated pairs that a threshold lets pass."""

_PAIRED_QUERIES, _PAIRED_TEXTS = 1000, 5000
"""Queries and texts whose pairs are looked at for the threshold, drawn by the seed."""

_FITTED = (Fix.CENTRED, Fix.ERASED, Fix.WHITENED, Fix.CALIBRATED, *POWERS)
"""Fixes that are fitted and tried, beside a power of the user's own."""

_WORTHWHILE = 0.01
"""A fix that adds less to recall is not advised for it."""


@dataclass(frozen=True)
class Ranker:
    """What ranks the texts: which vector, after which layer (None: the last), compared how."""

    pooling: Pooling
    layer: int | None
    similarity: SimilarityFunction


@dataclass(frozen=True)
class FoundText:
    """A text that a search found, or should have: itself, its length in tokens, and whether it is right."""

    text: str
    n_tokens: int
    is_right: bool


@dataclass(frozen=True)
class Example:
    """A search that missed: its query, the ten texts found (the best first), and the right text that ranks best."""

    query: str
    found: tuple[FoundText, ...]
    right: FoundText
    right_rank: int


@dataclass(frozen=True)
class Threshold:
    """A similarity that 1% of all unrelated pairs of query and text pass, and the share that passes in each fifth.

    shares: five, the shortest texts first; each would be 0.01 if length played no part.
    """

    similarity: float
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Advice:
    """What to do: chosen on half of the searches, reported on the other half.

    fix: None to leave it. recall_before, recall_after: recall@10 of the other half without and with it.
    interval: 95%, of their paired difference. costs: whether recall may fall, which is the price of fair exposure.
    """

    fix: Fix | None
    recall_before: float | None = None
    recall_after: float | None = None
    interval: tuple[float, float] | None = None
    costs: bool = False


@dataclass(frozen=True)
class Correction:
    """A fix as a formula for one's own search, with its numbers, fitted to all searches.

    formula: in plain text, of score, n (tokens of the text) and the names of the coefficients.
    """

    fix: Fix
    formula: str
    coefficients: Mapping[str, float]


@dataclass(frozen=True)
class Consequences:
    """What is told of one ranker: what fixes do to it, what to do, where length went wrong most, and thresholds.

    fixes: by fix; one that cannot be fitted is left out. correction: the advised fix as a formula, None without one.
    """

    fixes: Mapping[Fix, FixResult]
    advice: Advice
    correction: Correction | None
    examples: tuple[Example, ...]
    threshold: Threshold


_MOST_TEXTS = 5000
"""That are compared with each other, drawn by the seed."""


@dataclass(frozen=True)
class Neighbours:
    """Cosines of pairs of different texts, and the ten nearest of each, by tenths of the texts' lengths.

    n_texts: that are compared. spans: the shortest and the longest of each tenth, in tokens.
    cosines: the mean cosine of two texts by their tenths, ten by ten. times_found: how often a text of each tenth is
    among the ten nearest of another, on average. correlation: Spearman's ρ of a text's length with the mean length of
    its ten nearest; limit: what it stays below, without its sign, in 95 of 100 shuffles of the lengths.
    """

    n_texts: int
    spans: tuple[tuple[int, int], ...]
    cosines: tuple[tuple[float, ...], ...]
    times_found: tuple[float, ...]
    correlation: float
    limit: float


def neighbours_of(
    texts: Sequence[str], vectors: NDArray[np.float32], lengths: NDArray[np.int32], seed: int = 0
) -> Neighbours | None:
    """Of the different ones among the texts, (n,), with these vectors, (n, width); None where it is undefined."""
    index = first_of_each(texts)
    if len(index) > _MOST_TEXTS:
        index = np.sort(np.random.default_rng(seed).permutation(index)[:_MOST_TEXTS])
    directions, of = directions_of(vectors[index]), lengths[index]
    try:
        bias = length_bias(directions, of)
    except UndefinedFitError:
        return None
    return Neighbours(
        len(index),
        tuple(length_groups(of)[1]),
        tuple(tuple(map(float, row)) for row in bias.cosine_by_length),
        tuple(map(float, bias.times_found)),
        bias.neighbour_correlation,
        chance(directions, of, bias.neighbours).neighbour_correlation_limit,
    )


@dataclass(frozen=True)
class SearchTest:
    """Searches with known right texts, by the vectors of one model after one layer.

    task: where the searches come from. n_searches, n_texts: searches, and texts they search in.
    truncated_share: of the indexed texts that the model did not read whole.
    normalizes: whether the model's own pipeline divides its vectors by their norms, so that its dot product is the
        cosine; None where that is not known.
    rankings: by ranker, every pooling tested by both similarity functions. bm25: by shared words.
    consequences: of the rankers of the pooling asked for, by similarity function.
    pooling, layer: those asked for. neighbours: of the texts among themselves by cosine; None where undefined.
    """

    task: Task
    n_searches: int
    n_texts: int
    truncated_share: float
    normalizes: bool | None
    pooling: Pooling
    layer: int | None
    rankings: Mapping[Ranker, Ranking]
    bm25: Ranking
    consequences: Mapping[SimilarityFunction, Consequences]
    neighbours: Neighbours | None = None

    def ranking(self, similarity: SimilarityFunction, pooling: Pooling | None = None) -> Ranking:
        """By vectors of a pooling (by default the one asked for) and a similarity function."""
        return self.rankings[Ranker(pooling or self.pooling, self.layer, similarity)]


def key_of(
    corpus: Corpus,
    weights: Weights,
    pooling: Pooling,
    layer: int | None,
    length_power: float | None = None,
    *,
    is_bundled: bool = False,
) -> ResultKey:
    """What a test is computed from; corpus: of the searches. is_bundled: whether it may come with clsviz."""
    about = {
        "result": "search_test",
        "model": weights.fingerprint,
        "searches": corpus.fingerprint,
        "pooling": pooling,
        "layer": layer,
        "length_power": length_power,
    }
    return ResultKey(json.dumps(about, sort_keys=True), is_bundled)


def run(
    searches: Searches,
    vectors: SearchVectors,
    pooling: Pooling,
    layer: int | None,
    progress: Progress,
    *,
    length_power: float | None = None,
    seed: int = 0,
) -> SearchTest:
    """Search with every pooling that there is, and look closer at the one asked for.

    length_power: of the length in tokens, which scores are also multiplied by. seed: of folds and resamples.
    Raises UnsearchableError where the texts have too few lengths, and CancelledError.
    """
    lengths = vectors.n_tokens
    try:
        fifths = fifths_of(lengths)
    except UndefinedFitError as error:
        raise UnsearchableError(str(error)) from error
    relevance = Relevance.of(searches.right, len(searches.texts))
    resamples = resample(relevance.n_searches, seed)
    n_fixes = len(_FITTED) + (length_power is not None)
    progress.begin("Searching", 1 + 2 * len(vectors.poolings) + 2 * n_fixes)

    def step() -> None:
        progress.advance(progress.done + 1)

    by_words = Outcome.of(rank_by_words(searches.queries, searches.texts, progress.check), relevance, fifths)
    step()

    def ranked(outcome: Outcome, bm25: Outcome | None = by_words) -> Ranking:
        return ranking(outcome, relevance, lengths, fifths, resamples, bm25)

    outcomes: dict[Ranker, Outcome] = {}
    found: dict[SimilarityFunction, NDArray[np.intp]] = {}
    for tested in sorted(vectors.poolings, key=lambda one: one is pooling):  # the one asked for stays in memory
        texts, queries = vectors.texts(tested), vectors.queries(tested)
        for similarity in SimilarityFunction:
            ten = rank(_prepared(queries, similarity), _prepared(texts, similarity), check=progress.check)
            outcomes[Ranker(tested, layer, similarity)] = Outcome.of(ten, relevance, fifths)
            if tested is pooling:
                found[similarity] = ten
            step()
    # What follows beyond what the model reads has no part in a vector.
    whole = lengths[~vectors.truncated]
    read_lengths = np.minimum(lengths, whole.max()) if len(whole) else lengths
    consequences = {}
    for similarity in SimilarityFunction:
        alternatives = {}
        if similarity is DOT:
            alternatives[Fix.NORMALIZED] = outcomes[Ranker(pooling, layer, COSINE)]
        if pooling is not Pooling.MEAN and Pooling.MEAN in vectors.poolings:
            alternatives[Fix.MEAN_POOLED] = outcomes[Ranker(Pooling.MEAN, layer, similarity)]
        trial = _Trial(
            similarity,
            _prepared(queries, similarity),
            _prepared(texts, similarity),
            read_lengths,
            relevance,
            fifths,
            np.random.default_rng(seed).permutation(relevance.n_searches) % 2,
        )
        fixed = alternatives | trial.fixed(length_power, step, progress.check)
        own = outcomes[Ranker(pooling, layer, similarity)]
        advice = _advice(own, ranked(own), fixed, trial.folds, seed)
        differences = {fix: outcome.recall - own.recall for fix, outcome in fixed.items()}
        consequences[similarity] = Consequences(
            {
                fix: FixResult(ranked(fixed[fix]), float(of.mean()), paired_interval(of, resamples))
                for fix, of in differences.items()
            },
            advice,
            trial.correction(advice.fix, length_power),
            trial.examples(searches, lengths, found[similarity]),
            trial.threshold(seed),
        )
    return SearchTest(
        searches.task,
        relevance.n_searches,
        relevance.n_texts,
        float(vectors.truncated.mean()),
        vectors.normalizes,
        pooling,
        layer,
        {ranker: ranked(outcome) for ranker, outcome in outcomes.items()},
        ranked(by_words, None),
        consequences,
        neighbours_of(searches.texts, texts, lengths, seed),
    )


def _prepared(vectors: NDArray[np.float32], similarity: SimilarityFunction) -> NDArray[np.float32]:
    """The vectors whose product is the similarity; a zero vector has a cosine of 0 with all."""
    if similarity is DOT:
        return vectors
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions: NDArray[np.float32] = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return directions


def _advice(own: Outcome, ranking: Ranking, fixed: Mapping[Fix, Outcome], folds: NDArray[np.intp], seed: int) -> Advice:
    """The fix that raises recall most on one fold, if it does so on the other; else to leave it.

    Where a fifth stands out, and no fix raises recall, one that makes all exposures fair is named with its cost.
    """
    chosen_on, told_on = (np.flatnonzero(folds == fold) for fold in (0, 1))
    resamples = {len(fold): resample(len(fold), seed) for fold in (chosen_on, told_on)}

    def gain(fix: Fix, fold: NDArray[np.intp]) -> tuple[float, Interval]:
        difference = fixed[fix].recall[fold] - own.recall[fold]
        return float(difference.mean()), paired_interval(difference, resamples[len(fold)])

    def is_fair(fix: Fix, fold: NDArray[np.intp]) -> bool:
        exposure = fixed[fix].take(fold).exposure
        return bool(((exposure >= FAIR[0]) & (exposure <= FAIR[1]) | np.isnan(exposure)).all())

    def told(fix: Fix, *, costs: bool) -> Advice:
        before, after = (float(of.recall[told_on].mean()) for of in (own, fixed[fix]))
        return Advice(fix, before, after, gain(fix, told_on)[1], costs)

    gains = {fix: gain(fix, chosen_on) for fix in fixed}
    harmless = {fix: mean for fix, (mean, interval) in gains.items() if interval[0] >= 0}
    better = {fix: mean for fix, mean in harmless.items() if mean >= _WORTHWHILE or is_fair(fix, chosen_on)}
    bends = any(fifth.stands_out for fifth in ranking.fifths)
    if better and (bends or max(better.values()) >= _WORTHWHILE):
        best = max(better, key=better.__getitem__)
        if gain(best, told_on)[1][0] >= 0:
            return told(best, costs=False)
    if bends:
        fair = {fix: gains[fix][0] for fix in fixed if is_fair(fix, chosen_on) and is_fair(fix, told_on)}
        if fair:
            best = max(fair, key=fair.__getitem__)
            return told(best, costs=gain(best, told_on)[1][0] < 0)
    return Advice(None)


@dataclass(frozen=True, eq=False)
class _Trial:
    """What fixes are tried on: prepared vectors of queries and texts, lengths as read, and folds of the searches."""

    similarity: SimilarityFunction
    queries: NDArray[np.float32]
    texts: NDArray[np.float32]
    lengths: NDArray[np.int32]
    relevance: Relevance
    fifths: NDArray[np.intp]
    folds: NDArray[np.intp]

    def fit(self, fix: Fix, searches: NDArray[np.bool_], length_power: float | None) -> FittedFix:
        """Fit a fix to some of the searches and to texts that are right for these alone; raises UndefinedFitError."""
        if fix in POWERS or fix is Fix.TOKENS_POWER:
            return times_power(fix, POWERS.get(fix, length_power or 0.0), self.lengths)
        if fix is Fix.CALIBRATED:
            return calibrate(self.queries[searches], self.texts, self.lengths)
        is_of = searches[self.relevance.searches]
        own = np.setdiff1d(self.relevance.texts[is_of], self.relevance.texts[~is_of])
        return fit_vectors(fix, self.texts[own], self.lengths[own])

    def fixed(
        self, length_power: float | None, step: Callable[[], None], check: Callable[[], None]
    ) -> dict[Fix, Outcome]:
        """What is found with each fix, fitted to one fold and searched with the other; those that cannot be are not."""
        outcomes = {}
        for fix in [*_FITTED, *([] if length_power is None else [Fix.TOKENS_POWER])]:
            found = np.empty((len(self.queries), N_PLACES), np.intp)
            try:
                for fold in (0, 1):
                    fitted = self.fit(fix, self.folds != fold, length_power)
                    queries, texts = (
                        _prepared(np.asarray(fitted.apply(of), np.float32), self.similarity)
                        for of in (self.queries[self.folds == fold], self.texts)
                    )
                    found[self.folds == fold] = rank(queries, texts, fitted.shift, fitted.scale, check)
                outcomes[fix] = Outcome.of(found, self.relevance, self.fifths)
            except UndefinedFitError:
                pass
            step()
        return outcomes

    def correction(self, fix: Fix | None, length_power: float | None) -> Correction | None:
        """A fix as a formula, fitted to all searches."""
        if fix is None:
            return None
        if fix is Fix.NORMALIZED:
            return Correction(fix, "vector / norm of the vector", {})
        if fix is Fix.MEAN_POOLED:
            return Correction(fix, "mean of the token vectors", {})
        fitted = self.fit(fix, np.ones(len(self.queries), np.bool_), length_power)
        return Correction(fix, fitted.formula, fitted.coefficients)

    def examples(self, searches: Searches, lengths: NDArray[np.int32], found: NDArray[np.intp]) -> tuple[Example, ...]:
        """Missed searches whose ten differ most in length from the right text, by the logarithm of the ratio."""
        distances = np.zeros(len(found))
        for place, (ten, right) in enumerate(zip(found, searches.right, strict=True)):
            if not np.isin(ten, right).any():
                ratios = np.log(max(lengths[ten].mean(), 1) / np.maximum(lengths[right], 1))
                distances[place] = np.abs(ratios).min()
        examples = []
        for place in np.argsort(-distances, kind="stable")[:N_EXAMPLES]:
            if not distances[place]:
                break
            scores = self.texts @ self.queries[place]
            nearest = max(searches.right[place], key=scores.__getitem__)
            ten = [self._text(searches, lengths, text, is_right=False) for text in found[place]]
            missed = self._text(searches, lengths, nearest, is_right=True)
            n_before = int((scores > scores[nearest]).sum())
            examples.append(Example(searches.queries[place][:_MOST_CHARACTERS], tuple(ten), missed, n_before + 1))
        return tuple(examples)

    @staticmethod
    def _text(searches: Searches, lengths: NDArray[np.int32], text: int, *, is_right: bool) -> FoundText:
        return FoundText(searches.texts[text][:_MOST_CHARACTERS], int(lengths[text]), is_right)

    def threshold(self, seed: int) -> Threshold:
        """The similarity that 1% of unrelated pairs pass, of up to 1,000 queries and 5,000 texts."""
        rng = np.random.default_rng(seed)
        n, n_texts = self.relevance.n_searches, self.relevance.n_texts
        queries = np.sort(rng.permutation(n)[:_PAIRED_QUERIES])
        texts = np.sort(rng.permutation(n_texts)[:_PAIRED_TEXTS])
        scores = self.queries[queries] @ self.texts[texts].T
        row, column = np.full(n, -1), np.full(n_texts, -1)
        row[queries], column[texts] = np.arange(len(queries)), np.arange(len(texts))
        rows, columns = row[self.relevance.searches], column[self.relevance.texts]
        is_unrelated = np.ones(scores.shape, np.bool_)
        is_unrelated[rows[(rows >= 0) & (columns >= 0)], columns[(rows >= 0) & (columns >= 0)]] = False
        limit = float(np.quantile(scores[is_unrelated], 1 - _PASSING))
        passing = [
            (scores[:, of][is_unrelated[:, of]] > limit).mean() if of.any() else 0.0
            for of in (self.fifths[texts] == fifth for fifth in range(5))
        ]
        return Threshold(limit, tuple(map(float, passing)))
