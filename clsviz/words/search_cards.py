"""What is said around a search test: its cards, each with its finding as its title, and how it came about."""

import shlex
from collections.abc import Mapping

from clsviz.analysis.search_test import Consequences, Correction, Example, Neighbours, SearchTest, Threshold
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import SEARCH_DEFAULTS, Fix, SimilarityFunction, Task
from clsviz.words.labels import POOLINGS
from clsviz.words.numbers import counted, duration
from clsviz.words.provenance import pinned
from clsviz.words.search import FIFTHS, FIXES, SEARCHES, advice, ranker
from clsviz.words.similarity import span

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
    kept = {
        "--model",
        "--corpus",
        "--configuration",
        "--split",
        "--column",
        "--reading",
        "--seed",
        "--pooling",
        "--layer",
    }
    of = pinned(experiment, found).to_flags(SEARCH_DEFAULTS)
    flags = {flag: value for flag, value in of.items() if flag in kept}
    flags |= {f"--{name}": value for name, value in extras.items() if value}
    return " ".join(["python -m clsviz search-test", *(f"{name} {shlex.quote(text)}" for name, text in flags.items())])
