"""What is said of whether length bends a search: verdict, evidence, what to do."""

from clsviz.analysis.search_test import Advice, Correction, SearchTest
from clsviz.settings import Fix, Pooling, SimilarityFunction, Task
from clsviz.statistics.exposure import FAIR, N_PLACES, Fifth, Ranking
from clsviz.words.labels import POOLINGS
from clsviz.words.numbers import counted
from clsviz.words.similarity import span

QUESTION = "Does length bend my search?"

FIFTHS = ("shortest", "second-shortest", "middle", "second-longest", "longest")

BY = {SimilarityFunction.COSINE: "by cosine", SimilarityFunction.DOT: "by dot product"}

BM25 = "BM25 (shared words)"

SEARCHES = {
    Task.TITLES: "of titles for their texts",
    Task.HALVES: "of first halves for second halves",
    Task.INVERSE_CLOZE: "of sentences for their surroundings",
    Task.JUDGED: "with right texts given",
}

FIXES = {
    Fix.NORMALIZED: "Normalised",
    Fix.CENTRED: "Centred",
    Fix.ERASED: "Length erased (LEACE)",
    Fix.WHITENED: "Whitened",
    Fix.CALIBRATED: "Calibrated by length",
    Fix.MEAN_POOLED: "Mean-pooled",
    Fix.SQRT_TOKENS: "Times √tokens",
    Fix.TOKENS_TENTH: "Times tokens^0.1",
    Fix.TOKENS_POWER: "Times tokens^p",
}
"""What each is called on a picture or in a table."""

_DO = {
    Fix.NORMALIZED: "Normalise your vectors",
    Fix.CENTRED: "Subtract the mean vector of your texts",
    Fix.ERASED: "Erase length from your vectors (LEACE)",
    Fix.WHITENED: "Whiten your vectors",
    Fix.CALIBRATED: "Calibrate scores by length",
    Fix.MEAN_POOLED: "Take mean-pooled vectors",
    Fix.SQRT_TOKENS: "Multiply scores by √tokens",
    Fix.TOKENS_TENTH: "Multiply scores by tokens^0.1",
    Fix.TOKENS_POWER: "Multiply scores by your power of tokens",
}

ABOUT_EXPOSURE = (
    "Exposure: how often texts of a length are found, over how often they are right. 1 is fair; what is shaded, "
    f"{FAIR[0]} to {FAIR[1]}, nearly so; bars are 95% intervals."
)

HOW_TO_READ = """\
Each search has texts that are known to be right. The indexed texts are divided into fifths by their length in \
tokens. Exposure is a fifth’s share of the ten places of all searches, over its share of the right texts: 1 is fair, \
2 is twice its share. Recall is the share of right texts among the ten. BM25 ranks by shared words alone: longer texts \
say more, so read exposure next to BM25’s."""


_COVARIANCE = """\
mean = vectors.mean(axis=0)  # of the indexed texts
values, axes = np.linalg.eigh(np.cov(vectors.T))
values, axes = values[values > 1e-6 * values[-1]], axes[:, values > 1e-6 * values[-1]]
"""

_WHITENING = f"""\
{_COVARIANCE}whiten = axes / np.sqrt(values)
vectors, queries = (vectors - mean) @ whiten, (queries - mean) @ whiten"""

_LEACE = f"""\
{_COVARIANCE}x = np.log(n_tokens)  # of each indexed text
along = axes / np.sqrt(values) @ axes.T @ np.cov(vectors.T, x)[-1, :-1]
along /= np.linalg.norm(along)
read, write = axes / np.sqrt(values) @ axes.T @ along, axes * np.sqrt(values) @ axes.T @ along
vectors, queries = (v - np.outer((v - mean) @ read, write) for v in (vectors, queries))"""


def verdict(test: SearchTest, similarity: SimilarityFunction = SimilarityFunction.COSINE) -> str:
    """The headline of one way to rank, by the vectors of the pooling asked for."""
    ranking = test.ranking(similarity)
    if is_near_chance(test, similarity):
        return "Can’t tell: the search finds the right text hardly more often than chance."
    standing_out = [fifth for fifth in ranking.fifths if fifth.stands_out]
    undecided = next((index for index, fifth in enumerate(ranking.fifths) if fifth.is_undecided), None)
    # One length that is clearly favoured is an answer, however little is known of another.
    if not standing_out and undecided is not None:
        return f"Can’t tell yet: too few searches for texts of the {FIFTHS[undecided]} fifth."
    beyond = [fifth for fifth, bm25 in zip(ranking.fifths, test.bm25.fifths, strict=True) if fifth.more_than(bm25)]
    if beyond:
        return f"Yes: {BY[similarity]}, {_share(ranking, beyond)}."
    if standing_out:
        return f"Yes, but not clearly more than word matching: {_share(ranking, standing_out)}."
    if all(fifth.is_fair for fifth in ranking.fifths):
        return f"Hardly: {BY[similarity]}, texts of every length are found about as often as they are right."
    if besides := [fifth for fifth in ranking.fifths if fifth.is_not_one]:
        return f"At most a little: {BY[similarity]}, {_share(ranking, besides)}."
    return f"No sign of it: {BY[similarity]}, no length is clearly found too often."


def is_near_chance(test: SearchTest, similarity: SimilarityFunction) -> bool:
    """Whether the interval of recall reaches that of ten texts drawn at random."""
    return test.ranking(similarity).recall_interval[0] <= N_PLACES / test.n_texts


def cannot_tell(reason: str) -> str:
    """The headline where no search can be made of the texts, from the reason as a sentence."""
    return f"Can’t tell: {reason[:1].lower()}{reason[1:]}"


def _share(ranking: Ranking, fifths: list[Fifth]) -> str:
    """Of these fifths, whose intervals leave out 1, the one that takes most beyond its share, else the least."""

    def exposure(fifth: Fifth) -> float:
        assert fifth.exposure is not None  # it has an interval
        return fifth.exposure

    favoured = max(fifths, key=exposure)
    if exposure(favoured) > 1:
        return f"the {_name(ranking, favoured)} fifth takes {exposure(favoured):.2g} times its share"
    neglected = min(fifths, key=exposure)
    times = f"{exposure(neglected):.2g}" if exposure(neglected) >= 0.01 else "under 0.01"
    return f"the {_name(ranking, neglected)} fifth takes only {times} times its share"


def _name(ranking: Ranking, fifth: Fifth) -> str:
    return FIFTHS[ranking.fifths.index(fifth)]


def quiet_line(test: SearchTest, similarity: SimilarityFunction = SimilarityFunction.COSINE) -> str:
    """The numbers that stand under the headline."""
    recall, bm25 = test.ranking(similarity).recall_at_10, test.bm25.recall_at_10
    cut = "under 1%" if test.truncated_share < 0.01 else f"{test.truncated_share:.0%}"
    truncated = f" · {cut} of the texts cut at the model’s limit" if test.truncated_share else ""
    return (
        f"Recall of the right text among ten: {recall:.0%}, by BM25 {bm25:.0%} · "
        f"{test.n_searches:,} searches {SEARCHES[test.task]}, among {counted(test.n_texts, 'text')}{truncated}"
    )


def normalizes(test: SearchTest, model: str) -> str:
    """Whom dot product concerns, where the model's own pipeline normalises; "" otherwise."""
    if not test.normalizes:
        return ""
    return f"{model}’s own pipeline normalises vectors: dot product concerns those who leave that step out."


def advice(advice: Advice) -> str:
    """What to do, in a sentence."""
    if advice.fix is None:
        return "Leave it."
    before, after = f"{advice.recall_before:.0%}", f"{advice.recall_after:.0%}"
    if before == after:
        change = f"recall stays at {after}"
    elif (advice.recall_after or 0) > (advice.recall_before or 0):
        change = f"recall rises from {before} to {after}"
    else:
        change = f"recall falls from {before} to {after}"
    if advice.costs:
        return f"{_DO[advice.fix]} only if lengths must be found alike: on held-out searches, {change}."
    return f"{_DO[advice.fix]}: on held-out searches, {change}."


def ranker(pooling: Pooling, similarity: SimilarityFunction) -> str:
    """What a way to rank is called, such as “Mean, cosine”."""
    return f"{POOLINGS[pooling].short}, {BY[similarity].removeprefix('by ')}"


def lines(test: SearchTest, similarity: SimilarityFunction) -> dict[str, Ranking]:
    """What the picture shows, by name and always in this order: cosine, dot product, BM25, the advised fix."""
    found = {ranker(test.pooling, one): test.ranking(one) for one in SimilarityFunction} | {"BM25": test.bm25}
    of = test.consequences[similarity]
    if of.advice.fix not in (None, Fix.NORMALIZED):  # normalised, the dot product is the cosine
        found[FIXES[of.advice.fix]] = of.fixes[of.advice.fix].ranking
    return found


def spans(test: SearchTest) -> list[str]:
    """The token range of each fifth, the shortest first."""
    return [span((fifth.from_tokens, fifth.to_tokens)) for fifth in test.bm25.fifths]


def python_lines(correction: Correction) -> str:
    """A few lines of Python that apply a correction to one's own search."""
    numbers = "\n".join(f"{name} = {value!r}" for name, value in correction.coefficients.items())
    match correction.fix:
        case Fix.NORMALIZED | Fix.MEAN_POOLED:
            body = "vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)  # texts, and likewise queries"
            if correction.fix is Fix.MEAN_POOLED:
                body = "vectors = token_vectors.mean(axis=1)  # of texts and of queries, special tokens included"
        case Fix.CENTRED:
            body = (
                "mean = vectors.mean(axis=0)  # of the indexed texts\n"
                "vectors, queries = vectors - mean, queries - mean  # before you normalise them"
            )
        case Fix.ERASED | Fix.WHITENED:
            body = _LEACE if correction.fix is Fix.ERASED else _WHITENING
        case Fix.CALIBRATED:
            body = (
                "x = np.log(n_tokens)  # of each indexed text\n"
                "mean = m0 + m1 * x + m2 * x**2\n"
                "spread = np.maximum(s0 + s1 * x + s2 * x**2, s_least)\n"
                "scores = (scores - mean) / spread  # scores: (queries, texts)"
            )
        case _:
            body = "scores *= n_tokens**p  # scores: (queries, texts)"
    return "\n".join(filter(None, ["import numpy as np", "", numbers, body]))
