"""Whether length bends a search: verdict, evidence, what to do; the cards, and how it was tested."""

import shlex
from collections.abc import Mapping

from clsviz.analysis.search_test import Advice, Consequences, Correction, Example, Neighbours, SearchTest, Threshold
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import SEARCH_DEFAULTS, Fix, Pooling, SimilarityFunction, Task
from clsviz.statistics.exposure import FAIR, N_PLACES, Fifth, Ranking
from clsviz.words.labels import POOLINGS
from clsviz.words.numbers import counted, duration
from clsviz.words.provenance import pinned
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
        return f"the {FIFTHS[ranking.fifths.index(favoured)]} fifth takes {exposure(favoured):.2g} times its share"
    neglected = min(fifths, key=exposure)
    times = f"{exposure(neglected):.2g}" if exposure(neglected) >= 0.01 else "under 0.01"
    return f"the {FIFTHS[ranking.fifths.index(neglected)]} fifth takes only {times} times its share"


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


OFFER = "Search Python’s API docs instead"

OWN_TEXT = (
    "Give a table with titles and texts, or any text file. Titles search for their texts; without titles, one half of "
    "a text searches for the other, or a sentence for what stands around it."
)

EXAMPLE = "An example: searches of Python’s API docs, until there is a result."

MISSED = "Searches that found texts of other lengths"

ABOUT_MISSED = (
    "Searches that missed the right text, and found texts of the most different lengths. Open one to see the ten that "
    "were found, with their tokens as bars, and the right one."
)

NONE_MISSED = "No search missed its right text for one of another length."

ABOUT_THRESHOLD = (
    "Pairs of a query and a text that is not right for it, by fifths of the texts’ lengths. If length played no part, "
    "1.0% of each fifth would pass."
)

ABOUT_FIXES = (
    "Each fix is fitted to one half of the searches and tested on the other, both ways round. Change: recall with the "
    "fix less recall without it, and its 95% interval."
)

ABOUT_RANKINGS = "Exposure: how often texts of a fifth are found, over how often they are right."

ABOUT_NEIGHBOURS = (
    "Each cell: the mean cosine of two of the texts, one from each tenth by length. Long texts may well be about the "
    "same things, so this alone says nothing about a search."
)


def ready(task: Task, n_searches: int, n_texts: int, seconds: float, megabytes: int) -> str:
    """What can be measured, and what it takes."""
    cost = f"This downloads about {megabytes:,} MB first." if megabytes else f"This takes about {duration(seconds)}."
    return f"Ready: {n_searches:,} searches {SEARCHES[task]}, among {counted(n_texts, 'text')}. {cost} Press Measure."


def measuring(label: str) -> str:
    """While a test is being computed."""
    return f"Measuring {label}: the verdict comes when all of it is computed."


def what_to_do(test: SearchTest, similarity: SimilarityFunction) -> str:
    """The advice; and why nothing is to be done, where some lengths are favoured."""
    said = test.consequences[similarity].advice
    bends = any(fifth.stands_out for fifth in test.ranking(similarity).fifths)
    return "Leave it: no fix clearly raises recall." if said.fix is None and bends else advice(said)


def titles_of(task: Task, titles: str) -> str:
    """Where the searches come from, in a sentence."""
    return {
        Task.TITLES: f"Each “{titles or 'title'}” searches for its text.",
        Task.HALVES: "The first half of each text searches for the second.",
        Task.INVERSE_CLOZE: "A sentence searches for the passage that it was taken out of.",
        Task.JUDGED: "The searches of your file, with the texts that it names as right.",
    }[task]


def example(example: Example) -> str:
    """A search that missed, in a line: its query, and the lengths of what it found and should have found."""
    tokens = [text.n_tokens for text in example.found]
    query = example.query if len(example.query) <= 70 else f"{example.query[:69].rstrip()}…"
    return (
        f"{query} — found texts of {span((min(tokens), max(tokens)))} tokens; the right one has "
        f"{example.right.n_tokens:,} and ranks {example.right_rank:,}."
    )


def apply(correction: Correction) -> str:
    """The title of the card with a correction."""
    return f"Apply it: {FIXES[correction.fix][:1].lower()}{FIXES[correction.fix][1:]}, as a formula and in Python"


def cost(test: SearchTest, similarity: SimilarityFunction, fix: Fix) -> str:
    """For which fifth recall falls most where a fix is applied, of all searches; "" where by under two points."""
    before, after = test.ranking(similarity).fifths, test.consequences[similarity].fixes[fix].ranking.fifths
    recalls = zip(FIFTHS, (one.recall_at_10 for one in before), (one.recall_at_10 for one in after), strict=True)
    falls = [(was - now, name, was, now) for name, was, now in recalls if was is not None and now is not None]
    most, name, was, now = max(falls, default=(0.0, "", 0.0, 0.0))
    return (
        f"In these searches, recall of texts of the {name} fifth falls from {was:.0%} to {now:.0%}."
        if most >= 0.02
        else ""
    )


def threshold(threshold: Threshold) -> str:
    """How many unrelated pairs of the shortest and the longest pass a similarity that 1% of all pass."""
    low, high = threshold.shares[0], threshold.shares[-1]
    return (
        f"A threshold of {threshold.similarity:.2g} lets 1% of unrelated pairs pass: {low:.1%} with texts of the "
        f"shortest fifth, {high:.1%} of the longest"
    )


def fixes(of: Consequences) -> str:
    """Which of the fixes does most for recall."""
    if not of.fixes:
        return "No fix could be fitted"
    fix, best = max(of.fixes.items(), key=lambda item: item[1].difference)
    n = len(of.fixes)
    if best.interval[0] <= 0:
        return f"None of {n} fixes clearly raises recall"
    return f"Of {n} fixes, “{FIXES[fix]}” raises recall most, by {100 * best.difference:.0f} points"


def rankings(test: SearchTest) -> str:
    """Which vector and similarity find most."""
    best, ranking = max(test.rankings.items(), key=lambda item: item[1].recall_at_10)
    return (
        f"Of all poolings, {ranker(best.pooling, best.similarity)} finds the right text most often: "
        f"{ranking.recall_at_10:.0%}; BM25 {test.bm25.recall_at_10:.0%}"
    )


def neighbours(of: Neighbours) -> str:
    """Whether a text's nearest texts follow its length."""
    ends = f"(rank correlation {of.correlation:.2f}; shuffled lengths stay below {of.limit:.2f})".replace("-", "−")
    if abs(of.correlation) <= of.limit:
        return f"By cosine, a text’s ten nearest hardly follow its length {ends}"
    return f"By cosine, the longer a text, the {'longer' if of.correlation > 0 else 'shorter'} its ten nearest {ends}"


def times_found(of: Neighbours) -> str:
    """How often the shortest and the longest are near others."""
    return (
        f"A text of the shortest tenth ({span(of.spans[0])} tokens) is among the ten nearest of "
        f"{of.times_found[0]:.1f} others, one of the longest ({span(of.spans[-1])}) of {of.times_found[-1]:.1f}; "
        "without a preference both would be of 10."
    )


def settings(test: SearchTest, found: Found, titles: str) -> dict[str, str]:
    """How the result came about, by name."""
    n_layers, pooling = found.weights.n_layers, POOLINGS[test.pooling].described
    layer = f" after layer {n_layers if test.layer is None else test.layer} of {n_layers}" if n_layers else ""
    return {
        "Model": f"{found.weights.label} ({found.weights.pinned}), fingerprint {found.weights.fingerprint[:16]}",
        "Texts": f"{found.corpus.label}, {counted(test.n_texts, 'text')}, none cut into sentences, fingerprint "
        f"{found.corpus.fingerprint[:16]}",
        "Searches": f"{test.n_searches:,}. {titles_of(test.task, titles)} Identical texts are all right",
        "Vector": f"{pooling}{layer}, exact; dot product is of vectors as they are pooled",
        "Length": "tokens before truncation; fifths lie between the 20, 40, 60 and 80% quantiles of all texts",
        "BM25": "k1 1.2, b 0.75, lower case, words of two letters or more",
        "Intervals": "95%, by resampling searches 1,000 times; none with fewer than 20 right texts in a fifth",
    }


def command(experiment: Experiment, found: Found, extras: Mapping[str, str]) -> str:
    """The command line that measures the same; extras: flags beside the settings, by name."""
    kept = {"--model", "--corpus", "--configuration", "--split", "--column", "--reading", "--seed"}
    kept |= {"--pooling", "--layer"}
    of = pinned(experiment, found).to_flags(SEARCH_DEFAULTS)
    flags = {flag: value for flag, value in of.items() if flag in kept}
    flags |= {f"--{name}": value for name, value in extras.items() if value}
    return " ".join(["python -m clsviz search-test", *(f"{name} {shlex.quote(text)}" for name, text in flags.items())])
