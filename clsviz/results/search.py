"""Does length bend my search?: exposure of texts by length, and what to do about it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from clsviz.encoder import pipeline
from clsviz.errors import SettingError, quote
from clsviz.experiment import Experiment
from clsviz.jobs.search import Rankings
from clsviz.results import provenance
from clsviz.results.norms import IN_WORDS
from clsviz.results.numbers import counted, percent, times
from clsviz.results.result import Fact, Result, first
from clsviz.sources.models import Weights
from clsviz.sources.searches import Searches
from clsviz.statistics import exposure as exposures
from clsviz.statistics import fixes
from clsviz.statistics.exposure import FAIR, Fifth, Outcome, Ranking
from clsviz.statistics.fixes import Advice
from clsviz.statistics.jackknife import Interval
from clsviz.statistics.ranking import Relevance

if TYPE_CHECKING:
    import pandas as pd

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

    task, titles, searches: as in `searches.find`. vectors, query_vectors: files of own vectors.
    max_exposure: exposures surely beyond it, or below 1 / it, exceed it.
    length_power: of tokens, by which scores are multiplied as another fix to try.
    Raises SettingError where a value cannot be used.
    """

    task: str = ""
    titles: str = ""
    searches: Path | None = None
    vectors: Path | None = None
    query_vectors: Path | None = None
    similarity: Similarity = "cosine"
    max_exposure: float | None = None
    length_power: float | None = None

    def __post_init__(self) -> None:
        if self.similarity not in ("cosine", "dot"):
            reason = f"similarity is {quote(self.similarity)}."
            raise SettingError(reason, "Choose cosine or dot.")
        if (self.vectors is None) != (self.query_vectors is None):
            reason = "Only one of vectors and query_vectors is given."
            raise SettingError(reason, "Give both: of the texts, and of the queries.")
        if self.vectors is not None and (self.task or self.titles or self.searches is not None):
            reason = "Own vectors name the right texts by their ids."
            raise SettingError(reason, "Leave task, titles and searches out.")
        low, high = MOST_EXPOSURE
        if self.max_exposure is not None and not low <= self.max_exposure <= high:
            reason = f"max_exposure is {self.max_exposure:g}."
            raise SettingError(reason, f"Choose a number from {low:g} to {high:g}.")
        if self.length_power is not None and not -2 <= self.length_power <= 2:
            reason = f"length_power is {self.length_power:g}."
            raise SettingError(reason, "Choose a number from -2 to 2.")


DEFAULT_SEARCH: Final = Search()


def check(experiment: Experiment, search: Search) -> None:
    """Raise SettingError where a setting of a view is set that a search does not have."""
    if search.vectors is not None:
        for name in ("model", "corpus", "column", "encoding", "configuration", "split"):
            value = getattr(experiment, name)
            if value not in ("", "minilm", "python-api"):
                reason = f"{name} is {quote(value)}, which own vectors do not have."
                raise SettingError(reason, f"Leave {name} out.")
    fixed: dict[str, Any] = {"segmentation": ("auto", "lines", "paragraphs")}
    fixed |= {
        name: (getattr(Experiment, name),)
        for name in ("precision", "probe_size", "length_cutoff", "layer", "unit")
    }
    for name, values in fixed.items():
        if (value := getattr(experiment, name)) not in values:
            reason = f"{name} is {quote(value)}; a search has whole texts and exact last vectors."
            raise SettingError(reason, f"Leave {name} out.")


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
    ways = dict(zip(rankings.names, rankings.tens, strict=True))
    outcomes = {name: Outcome.of(tens, relevance, fifths) for name, tens in ways.items()}
    words = outcomes["bm25"]

    def summarize(name: str) -> Ranking:
        columns = relevance, rankings.n_tokens, fifths, samples
        shuffled = exposures.shuffled(ways[name], relevance, fifths, seed)
        against = None if name == "bm25" else words
        return exposures.summarize(outcomes[name], *columns, shuffled, against)

    own, other = outcomes[similarity], "dot" if similarity == "cosine" else "cosine"
    prefix = f"{similarity} "
    fixed = {way.removeprefix(prefix): way for way in outcomes if way.startswith(prefix)}
    if similarity == "dot":
        fixed = {"normalized": "cosine", **fixed}
    ranking = summarize(similarity)
    gains = {fix: outcomes[way].recall - own.recall for fix, way in fixed.items()}
    tested = {
        fix: (summarize(fixed[fix]), float(gain.mean()), exposures.mean_interval(gain, samples))
        for fix, gain in gains.items()
    }
    folds = fixes.folds_of(relevance.n_searches, seed)
    bends = any(fifth.stands_out for fifth in ranking.fifths)
    candidates = {fix: outcomes[way] for fix, way in fixed.items()}
    advice = fixes.advise(own, candidates, folds, bends, seed)
    return Answer(relevance, ranking, summarize(other), summarize("bm25"), tested, advice, own)


def result(
    searches: Searches,
    rankings: Rankings,
    experiment: Experiment,
    search: Search,
    weights: Weights | None = None,
    fingerprint: str = "",
) -> Result:
    """The answer for the searches of a view, by a model, or by own vectors with a fingerprint."""
    answers = answer(searches, rankings, search.similarity, experiment.seed)
    verdict = verdict_of(answers, search.similarity)
    excess = _excess(answers.own, search.max_exposure)
    table = _table(searches, rankings, answers, search.similarity)
    settings = {**asdict(experiment), **asdict(search)}
    paths = ("searches", "vectors", "query_vectors")
    settings |= {name: str(settings[name]) for name in paths if settings[name] is not None}
    if search.vectors is not None:
        settings |= dict.fromkeys(("model", "corpus"), search.vectors.name)
    fingerprints = {
        "model_fingerprint": weights.fingerprint if weights else fingerprint,
        "corpus_fingerprint": searches.fingerprint,
        "seconds": round(rankings.seconds, 3),
    }
    return Result(
        kind="search",
        question=QUESTION,
        verdict=verdict,
        advice=_advice(answers, verdict),
        facts=_facts(answers, rankings),
        details={**_details(searches, rankings, answers, search.similarity), **excess},
        picture={
            **_picture(answers, search.similarity),
            "unit": "tokens" if search.vectors is None else "words",
        },
        caveats=_caveats(searches, rankings, excess, search, weights),
        table=table,
        about={**settings, **fingerprints},
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
        Fact("truncated_share", "cut", truncated, None, "percent", is_quiet=True),
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
    n_hits = np.rint(recall * np.minimum(relevance.n_right, tens.shape[1])).astype(np.int32)
    return pd.DataFrame(
        {
            "query": searches.queries.table["sentence"].to_pandas().to_numpy(),
            "right": texts[nearest],
            "right_tokens": n_tokens[nearest],
            "right_rank": rankings.ranks[side],
            "n_right": relevance.n_right,
            "n_right_found": n_hits,
            "first": texts[tens[:, 0]],
            "first_tokens": n_tokens[tens[:, 0]],
            "mean_tokens": mean_tokens,
            "recall": recall,
            "misled": np.where(n_hits == 0, ratio, 0.0),
        }
    )


def misled(result: Result) -> "pd.DataFrame":
    """Rows of the searches that missed, and found texts of the most different lengths."""
    table = result.table
    order = np.argsort(-np.abs(table["misled"].to_numpy()), kind="stable")[:MOST_MISLED]
    rows: pd.DataFrame = table.iloc[order]
    return rows[rows["misled"] != 0]


def misled_title(rows: "pd.DataFrame") -> str:
    """What length did to the searches that it misled most."""
    if rows.empty:
        return "No search found only texts of other lengths"
    worst = float(rows["misled"].iloc[0])
    direction = "longer" if worst > 0 else "shorter"
    ratio = f"{np.exp(abs(worst)):.2g}"
    return (
        f"Length misled some: they found texts up to {ratio} times {direction} than the right one"
    )


def fix_title(result: Result) -> str:
    """What trying the fixes has found."""
    n, advised = counted(len(result.details["fixes"]), "fix").replace("fixs", "fixes"), ""
    if fix := result.details["advised_fix"]:
        advised = f"{FIXES[fix][0].lower()}{FIXES[fix][1:]}"
    return f"Of {n} tried, one is advised: {advised}" if fix else f"Of {n} tried, none is advised"


def fix_table(result: Result) -> "pd.DataFrame":
    """A row for each way to search: as it is, by words, and with every fix."""
    import pandas as pd

    details, similarity = result.details, BY[result.about["similarity"]]
    ways = [
        (f"As it is, by {similarity}", details),
        ("By BM25, which matches words", details["bm25"]),
        *((FIXES[fix], numbers) for fix, numbers in details["fixes"].items()),
    ]
    return pd.DataFrame(
        {
            "Way": way,
            "Recall": percent(numbers["recall_at_10"]),
            "Change": _change(numbers),
            "Shortest fifth": times(numbers["exposure"][0] or 0.0),
            "Longest fifth": times(numbers["exposure"][-1] or 0.0),
        }
        for way, numbers in ways
    )


def _change(numbers: Mapping[str, Any]) -> str:
    """A change of recall, with its interval."""
    if "difference" not in numbers:
        return ""
    change, (low, high) = numbers["difference"], numbers["interval"]
    return f"{percent(change)} ({percent(low)} to {percent(high)})"


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
    label = model.label if model else ""
    most = search.max_exposure or 1.0
    limits = f"{1 / most:.2g} to {most:g}"
    beyond, undecided = (", ".join(excess.get(key, [])) for key in ("exceeded", "undecided"))
    cases = [
        (
            truncated > 0,
            f"The model reads only the beginning of {percent(truncated)} of the texts.",
        ),
        (search.vectors is not None, IN_WORDS),
        (steps.has_prompt, pipeline.PROMPTED),
        (bool(steps.others), pipeline.before(steps.others)),
        (
            steps.normalizes and search.similarity == "dot",
            f"{label}’s own pipeline normalises vectors: dot product concerns those who do not.",
        ),
        (bool(beyond), f"Exposure is outside {limits} for fifths: {beyond}."),
        (
            bool(undecided),
            f"Too few searches to tell if exposure is within {limits} for fifths: {undecided}.",
        ),
    ]
    return (*searches.caveats, *(text for holds, text in cases if holds))


def _command(experiment: Experiment, search: Search) -> str:
    """The command that repeats a search test; none does for texts in memory."""
    if experiment.corpus == "memory":
        return ""
    names = ("corpus", "pooling", "sample_size")  # whose defaults are others than a view's
    own = {name: str(getattr(experiment, name)) for name in names}
    if search.vectors is not None:
        experiment, own = Experiment(seed=experiment.seed), {}
    changed = {
        name: str(value)
        for name, value in asdict(search).items()
        if value not in ("", None) and (name, value) != ("similarity", "cosine")
    }
    return provenance.command("search-test", experiment, {**own, **changed})
