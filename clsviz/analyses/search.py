"""Texts ranked for searches by every retriever: measured once, then stored; and evaluated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from clsviz.analyses import own_vectors
from clsviz.analyses.own_vectors import Indexed
from clsviz.analyses.select import lengths, prompts_of, resolve, similarity_of
from clsviz.errors import SettingError, Undefined, quote
from clsviz.jobs.measure import Workspace, last_vectors, measure_texts
from clsviz.measurements import FORMS, Kind, Last
from clsviz.progress import Progress
from clsviz.settings import Experiment, SearchSettings, Similarity
from clsviz.sources import judgements, searches
from clsviz.sources.models import Weights, limit_of
from clsviz.sources.near_duplicates import near_duplicates
from clsviz.sources.sampling import Prepared
from clsviz.sources.searches import Searches
from clsviz.statistics import fixes
from clsviz.statistics.exposure import Evaluation, Ranking
from clsviz.statistics.fixes import Effect, advise
from clsviz.statistics.intervals import Floats, Interval, of_mean
from clsviz.statistics.lengths import unread_share
from clsviz.statistics.ranking import Floats32, Qrels, rank, rank_by_words, relevant_ranks, unit

OTHER: Final[dict[str, Similarity]] = {"cosine": "dot", "dot": "cosine"}

NEUTRAL: Final = " It goes on like this, and there is no more to say about it here."

LENGTHENED: Final[dict[str, Callable[[str], str]]] = {
    "cut to half": lambda text: text[: len(text) // 2],
    "repeated": lambda text: f"{text} {text}",
    "padded to twice": lambda text: text + (NEUTRAL * len(text))[: len(text)],
}
"""Changes of the length of a text."""

MOST_LENGTHENED, SHORTEST = 200, 10
"""Searches whose right text is changed, and tokens of it, at least."""

VERSION: Final = 4  # changes when rankings are computed in another way


@dataclass(frozen=True, eq=False)
class Rankings:
    """Top-10 rankings of every retriever: all an answer needs.

    n_tokens, truncated, families: of the texts; near-duplicates share a family. names: of
    retrievers: bm25, cosine, dot, and each of the last two with a fix, as “dot calibrated”.
    top_k: unsigned (n_retrievers, n_searches, 10), places of texts.
    ranks, nearest: int32 (2, n_searches), by cosine and dot product: the rank of the best right
    text, from 1, and its place. matches: float64 (2, 5, 6), as `Evaluation.matches` has them, by
    cosine and dot product. coefficients: of fixes that were fitted to all searches.
    seconds: that measuring took. width: of a vector.
    """

    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    families: NDArray[np.intp]
    names: tuple[str, ...]
    top_k: NDArray[np.unsignedinteger]
    ranks: NDArray[np.int32]
    nearest: NDArray[np.int32]
    matches: Floats
    coefficients: Mapping[str, Mapping[str, float]]
    seconds: float
    width: int = 0

    @property
    def retrievers(self) -> dict[str, NDArray[np.unsignedinteger]]:
        """The ten texts of each search, by the name of the way."""
        return dict(zip(self.names, self.top_k, strict=True))


@dataclass(frozen=True, eq=False)
class Lengthened:
    """Ranks of a right text of n searches as it is, and made shorter and longer as LENGTHENED says.

    ranks: int32 (2, 4, n), by cosine and dot product. gains: float64 (2, 3, n), of its score.
    """

    ranks: NDArray[np.int32]
    gains: Floats
    seconds: float

    def changes(self, similarity: str, seed: int) -> list[tuple[float, Interval]]:
        """Places lost by each, on average, with intervals."""
        ranks = self.ranks[list(OTHER).index(similarity)].astype(float)
        return [(float(one.mean()), of_mean(one, seed)) for one in ranks[1:] - ranks[0]]


@dataclass(frozen=True, eq=False)
class SearchNumbers:
    """Searches, what every retriever ranks first for them, and its evaluation by a similarity.

    model: what ranked, or None for own vectors. fingerprint: of the model or the vectors.
    own, other, words: by the similarity, by the other one, by BM25. fixes: by name, each with its
    effect. advice: the effect of the one that is advised. lengthened: None of own vectors, and
    where the model reads too few texts of twice the length. limit: as `limit_of` has it.
    """

    searches: Searches
    rankings: Rankings
    model: Weights | None
    fingerprint: str
    similarity: Similarity
    qrels: Qrels
    own: Ranking
    other: Ranking
    words: Ranking
    fixes: Mapping[str, tuple[Ranking, Effect]]
    advice: Effect | None
    lengthened: Lengthened | None = None
    limit: int = 0

    @property
    def truncated(self) -> tuple[float, float]:
        """Shares of texts, and of their tokens, that the model does not read."""
        both = self.rankings.n_tokens, self.rankings.truncated
        return float(both[1].mean()), unread_share(*both, self.limit)


def search(
    experiment: Experiment,
    settings: SearchSettings,
    workspace: Workspace,
    progress: Progress,
    texts: Any = None,
) -> SearchNumbers:
    """Make searches of a corpus, rank its texts by every retriever, and evaluate them.

    texts: in memory, in the place of the corpus. Raises ClsvizError, Undefined where there are
    under 30 searches.
    """
    choice: dict[str, Any] = {"task": settings.task, "titles": settings.titles}
    with progress.at("fetch"):
        if settings.searches is not None:
            choice["judged"] = judgements.read(settings.searches, settings.queries, progress)
        weights = workspace.runner.find(experiment.model, experiment.seed, progress)
        made = searches.find(experiment, workspace.root, **choice, texts=texts, progress=progress)
    if experiment.language and made.task in ("titles", "judged"):
        reason = f"language is {quote(experiment.language)}, and whole texts are searched."
        raise SettingError(reason, "Leave language out.")
    experiment = resolve(experiment, weights)
    rankings = ranked(made, weights, experiment, settings.length_power, workspace, progress)
    lengthened = _lengthened(made, rankings, weights, experiment, workspace, progress)
    with progress.at("analysis"):
        numbers = evaluate(made, rankings, experiment, settings, weights)
        return replace(numbers, lengthened=lengthened)


def _lengthened(
    made: Searches,
    rankings: Rankings,
    weights: Weights,
    experiment: Experiment,
    workspace: Workspace,
    progress: Progress,
) -> Lengthened | None:
    """Change the length of a right text of some searches; the changed texts are never stored."""
    lengths, truncated = rankings.n_tokens, rankings.truncated
    pairs = np.array([relevant[0] for relevant in made.relevant])
    limit = lengths[~truncated].max(initial=0)
    if not truncated.any():
        limit = limit_of(weights, experiment.text_prompt) or np.inf
    is_read = (lengths[pairs] >= SHORTEST) & (2 * lengths[pairs] <= limit)
    order = np.random.RandomState(experiment.seed).permutation(len(pairs))
    rows = order[is_read[order]][:MOST_LENGTHENED]
    if len(rows) < searches.FEWEST:
        return None
    key = ("lengthened", *key_of(made, weights.key(experiment.pooling), experiment, None))
    known = workspace.results.find(key, Lengthened)
    if known is not None:
        return replace(known, seconds=0.0)
    indexed = index(made, weights, experiment, workspace, progress)
    own = made.texts.table["sentence"].take(pairs[rows]).to_pylist()
    texts = [change(text) for change in LENGTHENED.values() for text in own]
    kind: Kind = "text" if experiment.pooling == "pipeline" else "last"
    arrays = measure_texts(weights, experiment, kind, texts, workspace, progress)
    changed = FORMS[kind].from_slices([arrays])
    assert isinstance(changed, Last)  # both kinds are
    new = changed.of(experiment.pooling)
    ranks, gains = [], []
    for scale in (unit, lambda vectors: vectors):
        queries, vectors = scale(indexed.queries[rows]), scale(indexed.texts)
        scores = queries @ vectors.T
        before = scores[np.arange(len(rows)), pairs[rows]]
        after = np.einsum("nj,vnj->vn", queries, scale(new).reshape(-1, *queries.shape))
        for row, wrong in zip(rows, scores, strict=True):
            wrong[made.relevant[row]] = -np.inf
        ranks.append([1 + (scores > one[:, None]).sum(axis=1) for one in (before, *after)])
        gains.append(after - before)
    arrays_of = np.array(ranks, np.int32), np.array(gains, np.float64)
    return workspace.results.put(key, Lengthened(*arrays_of, indexed.seconds))


def search_own(experiment: Experiment, settings: SearchSettings) -> SearchNumbers:
    """The same by own vectors."""
    own = own_vectors.read(settings.vectors)
    queries = own_vectors.read(settings.query_vectors, "query")
    made, indexed = own_vectors.searches_of(own, queries, experiment)
    rankings = rank_all(made, indexed, experiment.seed, settings.length_power)
    return evaluate(made, rankings, experiment, settings, None, own.fingerprint)


def evaluate(
    made: Searches,
    rankings: Rankings,
    experiment: Experiment,
    settings: SearchSettings,
    model: Weights | None = None,
    fingerprint: str = "",
) -> SearchNumbers:
    """Recall and exposure of every retriever by a similarity, and the advised fix.

    Fifths are by lengths in the unit of the experiment.
    """
    seed = experiment.seed
    similarity = similarity_of(settings.similarity, experiment, model)
    texts = made.texts.table["sentence"].to_pylist()
    sizes = lengths(texts, rankings.n_tokens, experiment.unit)
    evaluation = Evaluation.of(made.relevant, sizes, seed, rankings.families, made.grades)
    words = evaluation.rank(rankings.retrievers["bm25"])
    prefix = f"{similarity} "
    of_similarity, known = dict[str, Ranking](), dict[bytes, Ranking]()
    for name, top_k in rankings.retrievers.items():
        if name in OTHER or name.startswith(prefix):
            key = top_k.tobytes()  # dot product ranks vectors of norm 1 as cosine does
            if key not in known:
                known[key] = evaluation.rank(top_k, words)
            of_similarity[name.removeprefix(prefix)] = known[key]
    own, other = of_similarity.pop(similarity), of_similarity.pop(OTHER[similarity])
    fixed = {"normalized": other, **of_similarity} if similarity == "dot" else of_similarity
    n = len(fixed)
    effects = {fix: (one, Effect.of(fix, own, one, seed, n)) for fix, one in fixed.items()}
    return SearchNumbers(
        made,
        rankings,
        model,
        model.fingerprint if model else fingerprint,
        similarity,
        evaluation.qrels,
        own,
        other,
        words,
        effects,
        advise(effect for _, effect in effects.values()),
        limit=limit_of(model, experiment.text_prompt) if model else 0,
    )


def key_of(
    made: Searches, fingerprint: str, experiment: Experiment, power: float | None
) -> tuple[object, ...]:
    """The key of the rankings in the store; fingerprint: of the model, or of own vectors."""
    settings = experiment.pooling, experiment.seed, power
    return "search", VERSION, made.fingerprint, fingerprint, *settings, *prompts_of(experiment)


def rank_all(made: Searches, indexed: Indexed, seed: int, power: float | None) -> Rankings:
    """Search by shared words, by both similarities, and by both with every fix.

    power: of the user's own fix, or None. Raises Undefined where the texts have too few lengths.
    """
    words = [some.table["sentence"].to_pylist() for some in (made.queries, made.texts)]
    families = near_duplicates(words[1])
    evaluation = Evaluation.of(made.relevant, indexed.n_tokens, seed, families)
    qrels, n = evaluation.qrels, len(made.relevant)
    folds = fixes.folds_of(n, seed)
    top_k = {"bm25": rank_by_words(*words)}
    coefficients, nearest, matches = {}, [], []
    # Tokens beyond those that the model reads have no part in a vector.
    limit = indexed.n_tokens[~indexed.truncated].max(initial=0) or indexed.n_tokens.max()
    lengths = np.minimum(indexed.n_tokens, limit)
    vectors = indexed.queries, indexed.texts, *indexed.others[::-1]
    for similarity in ("cosine", "dot"):
        is_cosine = similarity == "cosine"
        queries, texts, *others = map(unit, vectors) if is_cosine else vectors
        top_k[similarity] = rank(queries, texts)
        if others:
            top_k[f"{similarity} {indexed.other}"] = rank(*others)
        trial = fixes.Trial(queries, texts, lengths, qrels, is_cosine, power)
        for fix in trial.names:
            try:
                top_k[f"{similarity} {fix}"] = trial.rank(fix, folds)
            except Undefined:  # too few texts to fit it: it is not among the fixes of the answer
                continue
            fitted = trial.fit(fix, np.ones(n, np.bool_))
            coefficients[f"{similarity} {fix}"] = dict(fitted.coefficients)
        nearest.append(relevant_ranks(queries, texts, qrels))
        matches.append(evaluation.matches(queries, texts))
    return Rankings(
        n_tokens=indexed.n_tokens,
        truncated=indexed.truncated,
        families=families,
        names=tuple(top_k),
        top_k=np.stack(list(top_k.values())).astype(np.min_scalar_type(qrels.n_texts)),
        ranks=np.stack([ranks for ranks, _ in nearest]),
        nearest=np.stack([places for _, places in nearest]),
        matches=np.stack(matches),
        coefficients=coefficients,
        seconds=indexed.seconds,
        width=indexed.texts.shape[1],
    )


def ranked(
    made: Searches,
    weights: Weights,
    experiment: Experiment,
    power: float | None,
    workspace: Workspace,
    progress: Progress,
) -> Rankings:
    """Rank the texts for all searches: what is stored is read, the rest is measured and stored."""
    key = key_of(made, weights.key(experiment.pooling), experiment, power)
    rankings = workspace.results.find(key, Rankings)
    if rankings is not None:
        return replace(rankings, seconds=0.0)
    indexed = index(made, weights, experiment, workspace, progress)
    with progress.at("analysis"):
        new = rank_all(made, indexed, experiment.seed, power)
        return workspace.results.put(key, new)


def index(
    made: Searches,
    weights: Weights,
    experiment: Experiment,
    workspace: Workspace,
    progress: Progress,
) -> Indexed:
    """Measure texts and queries; raises SettingError where the model lacks the vector."""
    of_texts, of_queries = (Prepared(weights, sample) for sample in made.samples)
    n_texts, n = len(of_texts.sample), len(of_texts.sample) + len(of_queries.sample)
    of_texts_only = progress.part(0, n, "texts")
    texts, seconds = last_vectors(of_texts, experiment, workspace, of_texts_only)
    rest = progress.part(n_texts, n, "texts")
    queries, seconds_of_queries = last_vectors(of_queries, experiment, workspace, rest, "query")
    pooling = experiment.pooling
    vectors, others = (texts.of(pooling), queries.of(pooling)), tuple[Floats32, ...]()
    seconds += seconds_of_queries
    if any(prompts_of(experiment)):
        plain = replace(experiment, query_prompt="", text_prompt="")
        bare = index(made, weights, plain, workspace, progress)
        others, seconds = (bare.texts, bare.queries), seconds + bare.seconds
    elif pooling not in ("mean", "pipeline"):
        others = texts.of("mean"), queries.of("mean")
    name = "unprompted" if pooling == "pipeline" else "mean_pooled"
    return Indexed(*vectors, texts.n_tokens, texts.truncated, others, name, seconds)
