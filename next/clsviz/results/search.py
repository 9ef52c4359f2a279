"""Does length bend my search?: exposure of texts by length, and what to do about it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from clsviz.encoder import pipeline
from clsviz.errors import SettingError, Undefined, quote
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured, Prepared, measure
from clsviz.jobs.worker import Runner
from clsviz.measurements import Vectors
from clsviz.results import provenance
from clsviz.results.numbers import percent
from clsviz.results.result import Fact, Result, first
from clsviz.sources.models import Weights
from clsviz.sources.searches import Searches
from clsviz.statistics import exposure as exposures
from clsviz.statistics import fixes
from clsviz.statistics.exposure import FAIR, Fifth, Outcome, Ranking
from clsviz.statistics.fixes import Advice, Trial
from clsviz.statistics.jackknife import Interval
from clsviz.statistics.ranking import Floats32, Relevance, rank, rank_by_words, right_ranks, unit
from clsviz.store.chunks import Chunks
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 1
"""Changes when rankings are computed in another way."""

Similarity = Literal["cosine", "dot"]

QUESTION: Final = "Are texts of some lengths found more often than they are right?"

FIFTHS: Final = ("shortest", "second-shortest", "middle", "second-longest", "longest")

BY: Final[dict[str, str]] = {"cosine": "cosine", "dot": "dot product", "bm25": "BM25"}
"""Ways to search as sentences name them."""

FIXES: Final = {
    "normalized": "Normalise your vectors",
    "mean_pooled": "Take mean-pooled vectors",
    "centred": "Subtract the mean vector of your texts",
    "calibrated": "Calibrate scores by length",
    "tokens^p": "Multiply scores by your power of tokens",
}
"""Each fix as an imperative."""

MOST_MISLED: Final = 10

MOST_EXPOSURE: Final = (1.0, 1000.0)
"""Values that `max_exposure` can have."""


@dataclass(frozen=True)
class Search:
    """The settings of a search test besides those of the experiment.

    task, titles, searches: as in `searches.find`. query_vectors: a file of own vectors.
    max_exposure: exposures surely beyond it, or below 1 / it, exceed it.
    length_power: of tokens, by which scores are multiplied as another fix to try.
    Raises SettingError where a value cannot be used.
    """

    task: str = ""
    titles: str = ""
    searches: Path | None = None
    query_vectors: Path | None = None
    similarity: Similarity = "cosine"
    max_exposure: float | None = None
    length_power: float | None = None

    def __post_init__(self) -> None:
        if self.similarity not in ("cosine", "dot"):
            reason = f"similarity is {quote(self.similarity)}."
            raise SettingError(reason, "Choose cosine or dot.")
        low, high = MOST_EXPOSURE
        if self.max_exposure is not None and not low <= self.max_exposure <= high:
            reason = f"max_exposure is {self.max_exposure:g}."
            raise SettingError(reason, f"Choose a number from {low:g} to {high:g}.")
        if self.length_power is not None and not -2 <= self.length_power <= 2:
            reason = f"length_power is {self.length_power:g}."
            raise SettingError(reason, "Choose a number from -2 to 2.")


DEFAULT_SEARCH: Final = Search()


@dataclass(frozen=True, eq=False)
class Indexed:
    """Vectors of texts and queries, float32 (n, width), and n_tokens and truncated of the texts.

    means: those of the mean over all tokens, texts and queries, or () where the others are it.
    """

    texts: Floats32
    queries: Floats32
    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    means: tuple[Floats32, ...] = ()

    @classmethod
    def of(cls, texts: Measured, queries: Measured, experiment: Experiment) -> "Indexed":
        """From measured texts and queries; raises SettingError where the model lacks the vector."""
        both = [some.norms for some in (texts, queries)]
        vectors = [norms for norms in both if isinstance(norms, Vectors)]
        own = [some.of(experiment.pooling) for some in vectors]
        is_mean = experiment.pooling == "mean"
        means = () if is_mean else tuple(some.of("mean") for some in vectors)
        return cls(own[0], own[1], both[0].n_tokens, both[0].truncated, means)


@dataclass(frozen=True, eq=False)
class Rankings:
    """What all ways to search find, which is all that an answer takes.

    n_tokens, truncated: of the texts. names: of ways: bm25, cosine, dot, and each of the last two
    with a fix, as “dot calibrated”. tens: int32 (n_ways, n_searches, 10), places of texts.
    ranks, nearest: int32 (2, n_searches), by cosine and dot product: the rank of the best right
    text, from 1, and its place. coefficients: of fixes that were fitted to all searches.
    """

    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    names: tuple[str, ...]
    tens: NDArray[np.int32]
    ranks: NDArray[np.int32]
    nearest: NDArray[np.int32]
    coefficients: Mapping[str, Mapping[str, float]]


def key_of(
    searches: Searches, fingerprint: str, experiment: Experiment, search: Search
) -> tuple[object, ...]:
    """The key of the rankings in the store; fingerprint: of the model, or of own vectors."""
    about = fingerprint, experiment.pooling, experiment.seed, search.length_power
    return "search", VERSION, searches.fingerprint, *about


def check(experiment: Experiment) -> None:
    """Raise SettingError where a setting of a view is set that a search does not have."""
    fixed: dict[str, Any] = {"segmentation": ("auto", "lines", "paragraphs")}
    fixed |= {
        name: (getattr(Experiment, name),)
        for name in ("precision", "probe_size", "length_cutoff", "layer", "unit")
    }
    for name, values in fixed.items():
        if (value := getattr(experiment, name)) not in values:
            reason = f"{name} is {quote(value)}; a search has whole texts and exact last vectors."
            raise SettingError(reason, f"Leave {name} out.")


def run(
    job: Job[Result],
    searches: Searches,
    weights: Weights,
    experiment: Experiment,
    search: Search,
    chunks: Chunks,
    runner: Runner,
    store: Results,
) -> Steps:
    """Test a search: what is stored is read, the rest is measured, ranked and stored."""
    key = key_of(searches, weights.fingerprint, experiment, search)
    rankings, seconds = store.find(key, Rankings), 0.0
    if rankings is None:
        measured = []
        for sample in searches.samples:
            part: Job[Measured] = Job()
            whole = replace(experiment, probe_size=len(sample))
            prepared = Prepared(weights, sample)
            for _ in measure(part, prepared, whole, "vectors", chunks, runner):
                job.show(part.done, part.total, part.unit)
                yield
            if part.result is not None:
                measured.append(part.result)
        indexed = Indexed.of(measured[0], measured[1], experiment)
        seconds = sum(part.seconds for part in measured)
        power = search.length_power
        rankings = store.get(
            key, Rankings, lambda: rank_all(searches, indexed, experiment.seed, power)
        )
    about = {"model_fingerprint": weights.fingerprint, "seconds": round(seconds, 3)}
    job.result = result(searches, rankings, experiment, search, weights, about)


def rank_all(searches: Searches, indexed: Indexed, seed: int, power: float | None) -> Rankings:
    """Search by shared words, by both similarities, and by both with every fix.

    power: of the user's own fix, or None. Raises Undefined where the texts have too few lengths.
    """
    exposures.fifths_of(indexed.n_tokens)
    relevance = Relevance.of(searches.right, len(indexed.texts))
    folds = fixes.folds_of(relevance.n_searches, seed)
    texts, queries = (
        some.table["sentence"].to_pylist() for some in (searches.texts, searches.queries)
    )
    tens = {"bm25": rank_by_words(queries, texts)}
    ranks, nearest, coefficients = [], [], {}
    # Tokens beyond those that the model reads have no part in a vector.
    limit = indexed.n_tokens[~indexed.truncated].max(initial=0) or indexed.n_tokens.max()
    lengths = np.minimum(indexed.n_tokens, limit)
    for similarity in ("cosine", "dot"):
        own, asking, *means = (
            unit(vectors) if similarity == "cosine" else vectors
            for vectors in (indexed.texts, indexed.queries, *indexed.means)
        )
        tens[similarity] = rank(asking, own)
        if means:
            tens[f"{similarity} mean_pooled"] = rank(means[1], means[0])
        trial = Trial(asking, own, lengths, relevance, similarity == "cosine", power)
        for fix in trial.names:
            try:
                tens[f"{similarity} {fix}"] = trial.rank(fix, folds)
            except Undefined:  # too few texts to fit it: it is not among the fixes of the answer
                continue
            fitted = trial.fit(fix, np.ones(relevance.n_searches, np.bool_))
            coefficients[f"{similarity} {fix}"] = dict(fitted.coefficients)
        places, best = right_ranks(asking, own, relevance)
        ranks.append(places)
        nearest.append(best)
    return Rankings(
        n_tokens=indexed.n_tokens,
        truncated=indexed.truncated,
        names=tuple(tens),
        tens=np.stack([ten.astype(np.int32) for ten in tens.values()]),
        ranks=np.stack(ranks),
        nearest=np.stack(nearest),
        coefficients=coefficients,
    )


@dataclass(frozen=True, eq=False)
class Answer:
    """The numbers of a search test by one similarity.

    own, other, words: by the similarity, by the other one, by BM25. fixes: by name, with the
    difference of recall and its interval.
    """

    relevance: Relevance
    own: Ranking
    other: Ranking
    words: Ranking
    fixes: Mapping[str, tuple[Ranking, float, Interval]]
    advice: Advice | None
    outcome: Outcome


def answer(searches: Searches, rankings: Rankings, similarity: Similarity, seed: int) -> Answer:
    """Recall and exposure of every way by a similarity, and the advised fix."""
    relevance = Relevance.of(searches.right, len(rankings.n_tokens))
    fifths = exposures.fifths_of(rankings.n_tokens)
    samples = exposures.draws(relevance.n_searches, seed)
    found = dict(zip(rankings.names, rankings.tens, strict=True))
    outcomes = {name: Outcome.of(tens, relevance, fifths) for name, tens in found.items()}
    words = outcomes["bm25"]

    def summarize(outcome: Outcome, against: Outcome | None = words) -> Ranking:
        columns = relevance, rankings.n_tokens, fifths, samples
        return exposures.summarize(outcome, *columns, against)

    own = outcomes[similarity]
    fixed = {"normalized": outcomes["cosine"]} if similarity == "dot" else {}
    fixed |= {
        name.partition(" ")[2]: outcome
        for name, outcome in outcomes.items()
        if name.startswith(f"{similarity} ")
    }
    ranking = summarize(own)
    bends = any(fifth.stands_out for fifth in ranking.fifths)
    folds = fixes.folds_of(relevance.n_searches, seed)
    gains = {fix: outcome.recall - own.recall for fix, outcome in fixed.items()}
    return Answer(
        relevance=relevance,
        own=ranking,
        other=summarize(outcomes["dot" if similarity == "cosine" else "cosine"]),
        words=summarize(words, None),
        fixes={
            fix: (summarize(fixed[fix]), float(gain.mean()), exposures.mean_interval(gain, samples))
            for fix, gain in gains.items()
        },
        advice=fixes.advise(own, fixed, folds, bends, seed),
        outcome=own,
    )


def result(
    searches: Searches,
    rankings: Rankings,
    experiment: Experiment,
    search: Search,
    weights: Weights | None,
    about: Mapping[str, Any],
) -> Result:
    """The answer for the searches of a view; weights: None for own vectors."""
    answers = answer(searches, rankings, search.similarity, experiment.seed)
    verdict = verdict_of(answers, search.similarity)
    excess = _excess(answers.own, search.max_exposure)
    table = _table(searches, rankings, answers, search.similarity)
    settings = {**asdict(experiment), **asdict(search), **about}
    paths = ("searches", "query_vectors")
    settings |= {name: str(settings[name]) for name in paths if settings[name] is not None}
    return Result(
        kind="search",
        question=QUESTION,
        verdict=verdict,
        advice=_advice(answers, verdict),
        facts=_facts(answers, rankings),
        details={**_details(searches, rankings, answers, search.similarity), **excess},
        picture=_picture(answers, search.similarity),
        caveats=_caveats(searches, rankings, excess, search, weights),
        table=table,
        about={**settings, "corpus_fingerprint": searches.fingerprint},
        command=_command(experiment, search),
    )


def verdict_of(answers: Answer, similarity: Similarity) -> str:
    """The answer in a sentence."""
    own, words = answers.own, answers.words
    by = f"by {BY[similarity]}"
    standing = [fifth for fifth in own.fifths if fifth.stands_out]
    pairs = zip(own.fifths, words.fifths, strict=True)
    beyond = [fifth for fifth, other in pairs if fifth.is_more_than(other)]
    uneven = [fifth for fifth in own.fifths if fifth.is_uneven]
    undecided = [n for n, fifth in enumerate(own.fifths) if fifth.is_undecided]
    return first(
        (
            own.recall_interval[0] <= answers.relevance.chance,
            "Can’t tell: the search finds the right text hardly more often than chance.",
        ),
        (bool(beyond), f"Yes: {by}, {_share(own, beyond)}."),
        (
            bool(standing),
            f"Yes, but not clearly more than word matching: {_share(own, standing)}.",
        ),
        (
            bool(undecided),
            f"Can’t tell yet: too few searches for texts of the {_name(undecided)} fifth.",
        ),
        (bool(uneven), f"At most a little: {by}, {_share(own, uneven)}."),
        (True, f"Hardly: {by}, texts of every length are found about as often as they are right."),
    )


def _name(places: list[int]) -> str:
    return FIFTHS[places[0]] if places else ""


def _share(ranking: Ranking, fifths: list[Fifth]) -> str:
    """The fifth that takes most beyond its share, or else the one that takes least of it."""
    if not fifths:
        return ""
    favoured = max(fifths, key=_exposure)
    if _exposure(favoured) > 1:
        name = FIFTHS[ranking.fifths.index(favoured)]
        return f"the {name} fifth takes {_exposure(favoured):.2g} times its share"
    neglected = min(fifths, key=_exposure)
    share = f"{_exposure(neglected):.2g}" if _exposure(neglected) >= 0.01 else "under 0.01"
    name = FIFTHS[ranking.fifths.index(neglected)]
    return f"the {name} fifth takes only {share} times its share"


def _exposure(fifth: Fifth) -> float:
    return 0.0 if fifth.exposure is None else fifth.exposure


def _advice(answers: Answer, verdict: str) -> str:
    """What to do, in a sentence."""
    advice = answers.advice
    if verdict.startswith("Can’t"):
        return ""
    if advice is None:
        bends = any(fifth.stands_out for fifth in answers.own.fifths)
        return "Leave it: no fix clearly raises recall." if bends else "Leave it."
    before, after = percent(advice.before), percent(advice.after)
    direction = "rises" if advice.after > advice.before else "falls"
    change = f"recall {direction} from {before} to {after}"
    if before == after:
        change = f"recall stays at {after}"
    condition = " only if all lengths must be found equally often" if advice.is_at_a_cost else ""
    return f"{FIXES[advice.fix]}{condition}: {change}."


def _facts(answers: Answer, rankings: Rankings) -> tuple[Fact, ...]:
    own, words, relevance = answers.own, answers.words, answers.relevance
    n = relevance.n_searches
    truncated = float(rankings.truncated.mean())
    shares = [
        Fact(f"exposure_{name}", f"{name} fifth", fifth.exposure, fifth.interval, "times")
        for name, fifth in zip(FIFTHS, own.fifths, strict=True)
        if name in ("shortest", "longest")
    ]
    return (
        Fact("recall_at_10", "recall among ten", own.recall, own.recall_interval, "percent"),
        Fact("ndcg_at_10", "nDCG", own.ndcg),
        Fact("bm25_recall_at_10", "by BM25", words.recall, None, "percent"),
        *shares,
        Fact("n_searches", "searches", n, form="count"),
        Fact("n_texts", "texts", relevance.n_texts, form="count"),
        Fact("truncated_share", "cut", truncated, None, "percent", is_quiet=not truncated),
        Fact("n_used", "searches", n, form="count", is_quiet=True),
    )


def _details(
    searches: Searches, rankings: Rankings, answers: Answer, similarity: Similarity
) -> dict[str, Any]:
    """Entries of JSON besides the facts."""
    advised = answers.advice.fix if answers.advice else None
    other = "dot" if similarity == "cosine" else "cosine"
    correction = None
    if advised is not None:
        numbers = rankings.coefficients.get(f"{similarity} {advised}", {})
        correction = {"formula": fixes.FORMULAS[advised], "coefficients": dict(numbers)}
    return {
        **_ranking(answers.own),
        "task": searches.task,
        "bm25": _ranking(answers.words),
        "other_similarity": {"similarity": other, **_ranking(answers.other)},
        "fixes": {
            fix: {
                "recall_at_10": ranking.recall,
                "difference": difference,
                "interval": interval,
                "exposure": [fifth.exposure for fifth in ranking.fifths],
            }
            for fix, (ranking, difference, interval) in answers.fixes.items()
        },
        "advised_fix": advised,
        "correction": correction,
        "n_unknown_ids": searches.n_unknown_ids,
        "n_without_text": searches.n_without_text,
    }


def _ranking(ranking: Ranking) -> dict[str, Any]:
    return {
        "recall_at_10": ranking.recall,
        "ndcg_at_10": ranking.ndcg,
        "recall_interval": ranking.recall_interval,
        "exposure": [fifth.exposure for fifth in ranking.fifths],
        "exposure_interval": [fifth.interval for fifth in ranking.fifths],
        "fifths": [
            {
                "from_tokens": fifth.from_tokens,
                "to_tokens": fifth.to_tokens,
                "n_texts": fifth.n_texts,
                "recall_at_10": fifth.recall,
                "ndcg_at_10": fifth.ndcg,
            }
            for fifth in ranking.fifths
        ],
    }


def _table(
    searches: Searches, rankings: Rankings, answers: Answer, similarity: Similarity
) -> "pd.DataFrame":
    """A row for each search, in the order of the searches.

    Columns: query; right, its right text that ranks best, right_tokens and right_rank; n_right,
    n_right_found among the ten; first, the text that ranks first, and first_tokens; mean_tokens of
    the ten; recall; misled: where no right text is among the ten, the logarithm of how many times
    as long as the right text these are, else 0.
    """
    import pandas as pd

    texts = searches.texts.table["sentence"].to_pandas().to_numpy()
    side = ("cosine", "dot").index(similarity)
    tens = rankings.tens[rankings.names.index(similarity)]
    nearest, n_tokens = rankings.nearest[side], rankings.n_tokens
    relevance, recall = answers.relevance, answers.outcome.recall
    mean_tokens = n_tokens[tens].mean(axis=1)
    ratio = np.log(np.maximum(mean_tokens, 1) / np.maximum(n_tokens[nearest], 1))
    n_found = np.rint(recall * np.minimum(relevance.n_right, tens.shape[1])).astype(np.int32)
    return pd.DataFrame(
        {
            "query": searches.queries.table["sentence"].to_pandas().to_numpy(),
            "right": texts[nearest],
            "right_tokens": n_tokens[nearest],
            "right_rank": rankings.ranks[side],
            "n_right": relevance.n_right,
            "n_right_found": n_found,
            "first": texts[tens[:, 0]],
            "first_tokens": n_tokens[tens[:, 0]],
            "mean_tokens": mean_tokens,
            "recall": recall,
            "misled": np.where(n_found == 0, ratio, 0.0),
        }
    )


def misled(result: Result) -> "pd.DataFrame":
    """Rows of the searches that missed, and found texts of the most different lengths."""
    table = result.table
    order = np.argsort(-np.abs(table["misled"].to_numpy()), kind="stable")[:MOST_MISLED]
    rows: pd.DataFrame = table.iloc[order]
    return rows[rows["misled"] != 0]


def _picture(answers: Answer, similarity: Similarity) -> dict[str, Any]:
    """Lengths of the fifths, and the lines, the one that is asked about first."""
    other = "dot" if similarity == "cosine" else "cosine"
    lines = {BY[similarity]: answers.own, BY[other]: answers.other, BY["bm25"]: answers.words}
    if answers.advice and answers.advice.fix != "normalized":  # whose line is that of cosine
        lines[answers.advice.fix.replace("_", "-")] = answers.fixes[answers.advice.fix][0]
    return {
        "spans": [(fifth.from_tokens, fifth.to_tokens) for fifth in answers.own.fifths],
        "fair": FAIR,
        "lines": [
            {
                "name": name,
                "exposure": [fifth.exposure for fifth in ranking.fifths],
                "intervals": [fifth.interval for fifth in ranking.fifths],
                "recall": [fifth.recall for fifth in ranking.fifths],
            }
            for name, ranking in lines.items()
        ],
    }


def _excess(ranking: Ranking, most: float | None) -> dict[str, Any]:
    """The fifths whose exposure is surely beyond a limit, and those for which that is open."""
    if most is None:
        return {}
    names: dict[str, list[str]] = {"exceeded": [], "undecided": []}
    for name, fifth in zip(FIFTHS, ranking.fifths, strict=True):
        low, high = fifth.ends
        if low > most or high < 1 / most:
            names["exceeded"].append(name)
        elif low < 1 / most or high > most:
            names["undecided"].append(name)
    return names


def _caveats(
    searches: Searches,
    rankings: Rankings,
    excess: Mapping[str, list[str]],
    search: Search,
    model: Weights | None,
) -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each."""
    steps = pipeline.read(model.folder) if model else pipeline.Pipeline()
    truncated = float(rankings.truncated.mean())
    limit = f"{search.max_exposure or 0:g} times"
    label = model.label if model else ""
    beyond, undecided = (", ".join(excess.get(key, [])) for key in ("exceeded", "undecided"))
    cases = [
        (
            truncated > 0,
            f"The model reads only the beginning of {percent(truncated)} of the texts.",
        ),
        (bool(steps.others), pipeline.before(steps.others)),
        (
            steps.normalizes and search.similarity == "dot",
            f"{label}’s own pipeline normalises vectors: dot product concerns those who do not.",
        ),
        (bool(beyond), f"Exposure is beyond {limit} for fifths: {beyond}."),
        (
            bool(undecided),
            f"Too few searches to say if exposure is within {limit} for fifths: {undecided}.",
        ),
    ]
    return (*searches.caveats, *(text for holds, text in cases if holds))


def _command(experiment: Experiment, search: Search) -> str:
    """The command that repeats a search test; none does for texts in memory."""
    if experiment.corpus == "memory":
        return ""
    names = ("corpus", "pooling", "sample_size")  # whose defaults are others than a view's
    own = {name: str(getattr(experiment, name)) for name in names}
    changed = {
        name: str(value)
        for name, value in asdict(search).items()
        if value not in ("", None) and (name, value) != ("similarity", "cosine")
    }
    return provenance.command("search-test", experiment, {**own, **changed})
