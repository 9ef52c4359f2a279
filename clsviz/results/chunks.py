"""How long may a chunk be?: sentences that find their chunk, by its length."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from clsviz.analyses.chunks import WAYS, Containment, Plan, key_of
from clsviz.errors import SettingError, quote
from clsviz.experiment import Experiment
from clsviz.results import origin, provenance
from clsviz.results.numbers import counted, percent, points
from clsviz.results.result import Fact, Result, first
from clsviz.results.search import BY, FIXED, Similarity, check_values, pipeline_caveats
from clsviz.sources.chunks import SIZES, Chunks
from clsviz.sources.models import Weights
from clsviz.statistics.containment import N_EQUAL, Recall, interval_of_mean, position_effect
from clsviz.statistics.intervals import Interval

if TYPE_CHECKING:
    import pandas as pd

QUESTION: Final = "How long may a chunk be?"

DEFAULT_SENTENCES: Final = 2400

MOST_SENTENCES: Final = 20_000
"""Each is measured at every size of a chunk."""

KEPT: Final = 0.75
"""Share of the sentences that chunks keep findable, at least, up to the advised length."""

ALL: Final = 0.95
"""Share above which the length of a chunk makes no difference to care for."""

NEAREST: Final = 1.5
"""Times that the tokens of a pipeline may differ from those of the nearest measured size."""

RANGES: Final = {"chunk_tokens": (1, 100_000), "max_lost": (0, 1)}

EASY: Final = "An exact sentence is the easiest query, above all for a chunk that is nothing else"

THIRDS: Final = ("first_third", "middle_third", "last_third")


@dataclass(frozen=True)
class ChunkTestSettings:
    """The settings of a chunk test besides those of the experiment.

    titles, searches: as in `searches.find`: judged searches for whole texts.
    chunk_tokens, max_lost: tokens of the chunks of a pipeline, and the largest share of
    their sentences that may be lost. Raises SettingError where a value cannot be used.
    """

    titles: str = ""
    searches: Path | None = None
    similarity: Similarity = "cosine"
    chunk_tokens: int | None = None
    max_lost: float | None = None

    def __post_init__(self) -> None:
        check_values(self.similarity, asdict(self), RANGES)
        if (self.chunk_tokens is None) != (self.max_lost is None):
            reason = "Only one of chunk_tokens and max_lost is given."
            raise SettingError(reason, "Give both.")


def check(experiment: Experiment) -> None:
    """Raise SettingError where a setting of a view is set that chunks do not have."""
    for name in (*FIXED, "segmentation"):
        value = getattr(experiment, name)
        if value != getattr(Experiment, name):
            reason = f"{name} is {quote(value)}; chunks have sentences and exact last vectors."
            raise SettingError(reason, f"Leave {name} out.")
    size = experiment.sample_size
    if size == "all" or size > MOST_SENTENCES:
        reason = f"sample_size is {quote(size)}."
        raise SettingError(reason, f"Choose at most {MOST_SENTENCES:,} sentences.")


@dataclass(frozen=True)
class Gain:
    """Recall among ten of judged searches by chunks of a size, less that by whole texts."""

    recall: float
    difference: float
    interval: Interval


@dataclass(frozen=True)
class Answer:
    """The numbers of a chunk test by a similarity.

    recalls: by each of `WAYS`, of each size. gains: of each size, for judged searches, whose recall
    by whole texts is uncut; () and NaN without them.
    """

    measured: Containment
    similarity: Similarity
    recalls: dict[str, list[Recall]]
    gains: tuple[Gain, ...] = ()
    uncut: float = np.nan

    @classmethod
    def of(cls, measured: Containment, similarity: Similarity, seed: int) -> Self:
        """From ranks; the seed repeats the draws of intervals."""
        sizes = measured.positions, measured.sizes, measured.n_chunks
        recalls = {
            way: [Recall.of(*columns, seed) for columns in zip(ranks, *sizes, strict=True)]
            for way, ranks in zip(WAYS, measured.ranks, strict=True)
        }
        if not len(measured.recalls):
            return cls(measured, similarity, recalls)
        *chunks, uncut = measured.recalls
        gains = (
            Gain(
                float(recall.mean()),
                float((recall - uncut).mean()),
                interval_of_mean(recall - uncut, seed, n_tested=len(chunks)),
            )
            for recall in chunks
        )
        return cls(measured, similarity, recalls, tuple(gains), float(uncut.mean()))

    @property
    def own(self) -> list[Recall]:
        """By the similarity."""
        return self.recalls[self.similarity]

    @property
    def tokens(self) -> list[int]:
        """Tokens of a chunk of each size, the median."""
        return list(map(round, self.measured.tokens))

    @property
    def best(self) -> Gain:
        """The gain of the size whose chunks have the largest recall of judged searches."""
        return max(self.gains, key=lambda gain: gain.recall)


def result(
    plan: Plan, measured: Containment, experiment: Experiment, settings: ChunkTestSettings
) -> Result:
    """The answer for the chunks of a view."""
    weights, cut, searches = plan.weights, plan.chunks, plan.searches
    answer = Answer.of(measured, settings.similarity, experiment.seed)
    place, verdict, advice = (
        _judged(answer) if answer.gains else _contained(answer, experiment.seed)
    )
    sizes = {way: _sizes(measured, recalls) for way, recalls in answer.recalls.items()}
    excess = _excess(answer.own, measured, settings)
    judged = searches.caveats if searches else ()
    own = _caveats(cut, answer, excess, settings, weights, experiment.seed)
    shipped = origin(key_of(plan, experiment, settings.similarity))
    return Result(
        kind="chunks",
        question=QUESTION,
        verdict=verdict,
        advice=advice,
        facts=_facts(answer, place),
        details={"sizes": sizes[answer.similarity], **sizes, "whole": _whole(answer), **excess},
        picture={
            "advised": None if place is None else answer.tokens[place],
            "own": BY[answer.similarity],
            "judged": [(gain.recall, gain.difference, *gain.interval) for gain in answer.gains],
            "uncut": answer.uncut,
        },
        caveats=tuple(dict.fromkeys((*cut.caveats, *judged, *own, *shipped))),
        table=_table(sizes),
        about={
            **asdict(experiment),
            **provenance.values(settings),
            "model_fingerprint": weights.fingerprint,
            "corpus_fingerprint": cut.texts.fingerprint,
            "seconds": round(measured.seconds, 3),
        },
        command=provenance.search_command("chunk-test", experiment, settings),
    )


def advised_of(recalls: Sequence[Recall]) -> int:
    """The place of the longest chunks that keep three in four sentences; −1 where none do."""
    return max((n for n, one in enumerate(recalls) if one.recall_at_1 >= KEPT), default=-1)


def _contained(answer: Answer, seed: int) -> tuple[int | None, str, str]:
    """The place of the advised size, verdict and advice, by sentences that find their chunk."""
    own, cosine, tokens = answer.own, answer.recalls["cosine"], answer.tokens
    place, by_cosine, last = advised_of(own), advised_of(cosine), len(own) - 1
    shares = [percent(one.recall_at_1) for one in own]
    if all(one.interval[0] >= ALL for one in own):
        verdict = f"Any length up to {tokens[last]} tokens: {shares[last]} of sentences find their"
        return place, f"{verdict} chunk.", "Cut as suits your texts."
    at = place if place >= 0 else max(range(len(own)), key=lambda n: own[n].recall_at_1)
    findable = f"keep a sentence findable in {shares[at]} of searches"
    if place < 0:
        verdict = f"No length that was tried: at best, chunks of {tokens[at]} tokens {findable}."
        advice = "Choose another similarity, vector or model."
    elif place == last:
        verdict = f"Chunks of {tokens[at]} tokens, the longest tried, {findable}."
        advice = f"Cut at up to {tokens[at]} tokens."
    else:
        verdict = f"Chunks of {tokens[at]} tokens {findable}; of {tokens[last]}, in {shares[last]}."
        advice = f"Cut at about {tokens[at]} tokens: longer chunks lose over a quarter of theirs."
    is_first = answer.measured.ranks[:, by_cosine] == 1
    by = is_first[0].astype(float) - is_first[WAYS.index(answer.similarity)]
    if place < by_cosine and interval_of_mean(by, seed)[0] > 0:
        share = percent(cosine[by_cosine].recall_at_1)
        advice = f"Normalise your vectors: by cosine, chunks of {tokens[by_cosine]} tokens keep "
        advice += f"{share} of their sentences."
    return (place if place >= 0 else None), verdict, advice


def _judged(answer: Answer) -> tuple[int | None, str, str]:
    """The same by judged searches."""
    best, uncut, leave = answer.best, percent(answer.uncut), "Leave texts whole."
    place, recall = answer.gains.index(best), percent(best.recall)
    if best.interval[0] > 0:
        chunks = f"chunks of {counted(answer.measured.sizes[place])}"
        verdict = f"Cutting into {chunks} raises recall from {uncut} to {recall}."
        return place, verdict, f"Cut at about {answer.tokens[place]} tokens."
    if all(gain.interval[1] < 0 for gain in answer.gains):
        return None, f"Cutting lowers recall from {uncut} to {recall} or less.", leave
    return None, f"No sign that cutting helps: whole texts have a recall of {uncut}.", leave


def _facts(answer: Answer, place: int | None) -> tuple[Fact, ...]:
    own, tokens, n = answer.own, answer.tokens, answer.measured.ranks.shape[2]
    last, words, judged = len(own) - 1, answer.recalls["bm25"][-1].recall_at_1, list[Fact]()
    if answer.gains:
        best = answer.best
        by = f"by chunks of {tokens[answer.gains.index(best)]} tokens"
        judged = [
            Fact("whole_recall_at_10", "recall of whole texts", answer.uncut, None, "percent"),
            Fact("best_gain", by, best.difference, best.interval, "points"),
            Fact("n_judged", "judged searches", answer.measured.recalls.shape[1], None, "count"),
        ]
    facts = []
    for key, at in (("recall_at_advised", place), ("recall_at_longest", last)):
        label = f"found in chunks of {tokens[at or 0]} tokens"
        value, interval = (None, None) if at is None else (own[at].recall_at_1, own[at].interval)
        is_quiet = key == "recall_at_advised" and at in (None, last)
        facts.append(Fact(key, label, value, interval, "percent", is_quiet))
    advised = None if place is None else tokens[place]
    return (
        *judged,
        *facts,
        Fact("bm25_at_longest", "by BM25", words, None, "percent"),
        Fact("n_searches", "searches", n, None, "count"),
        Fact("n_used", "searches", n, None, "count", is_quiet=True),
        Fact("advised_tokens", "tokens advised", advised, None, "count", is_quiet=True),
    )


def _sizes(measured: Containment, recalls: Sequence[Recall]) -> list[dict[str, Any]]:
    """Entries of JSON for each size."""
    names = ("sentences", "tokens", "n_chunks", "n_truncated")
    columns = measured.sizes, measured.tokens, measured.n_chunks, measured.n_truncated
    return [
        {**dict(zip(names, values, strict=True)), **asdict(recall)}
        for *values, recall in zip(*columns, recalls, strict=True)
    ]


def _table(sizes: Mapping[str, Sequence[Mapping[str, Any]]]) -> "pd.DataFrame":
    """A row for each way to search and each size."""
    import pandas as pd

    rows = [
        {
            "way": BY[way],
            **entry,
            **dict(zip(("low", "high"), entry["interval"], strict=True)),
            **dict(zip(THIRDS, entry["thirds"] or (None, None, None), strict=True)),
        }
        for way, entries in sizes.items()
        for entry in entries
    ]
    return pd.DataFrame(rows).drop(columns=["interval", "thirds"])


def _whole(answer: Answer) -> dict[str, Any] | None:
    """Recall of judged searches by whole texts, and by chunks of each size."""
    if not answer.gains:
        return None
    chunks = [
        {"sentences": size, "recall_at_10": gain.recall, **asdict(gain)}
        for size, gain in zip(answer.measured.sizes, answer.gains, strict=True)
    ]
    truncated = answer.measured.truncated
    return {"recall_at_10": answer.uncut, "truncated_share": truncated, "chunks": chunks}


def _excess(
    own: Sequence[Recall], measured: Containment, settings: ChunkTestSettings
) -> dict[str, Any]:
    """The size nearest to the chunks of a pipeline, if they surely lose more than they may."""
    if settings.chunk_tokens is None or settings.max_lost is None:
        return {}
    far = np.abs(np.log(np.maximum(measured.tokens, 1) / np.float64(settings.chunk_tokens)))
    place = int(far.argmin())
    name = f"{measured.tokens[place]:,.0f} tokens"
    if far[place] > np.log(NEAREST):
        reason = f"No size of chunks has about {settings.chunk_tokens:,} tokens: the nearest is"
        raise SettingError(f"{reason} {name}.", "Give a number nearer to it.")
    low, high = own[place].interval
    least = 1 - settings.max_lost
    return {"exceeded": [name] * (high < least), "undecided": [name] * (low < least <= high)}


def _caveats(
    cut: Chunks,
    answer: Answer,
    excess: Mapping[str, list[str]],
    settings: ChunkTestSettings,
    weights: Weights,
    seed: int,
) -> list[str]:
    """Everything that the test leaves out, or that is doubtful, a sentence each."""
    measured, ranks = answer.measured, answer.measured.ranks[WAYS.index(answer.similarity)]
    effect, (low, high) = position_effect(ranks, measured.positions, measured.sizes, seed)
    rare, often = ("beginning", "end")[:: 1 if effect > 0 else -1]
    n_truncated, n_few = sum(measured.n_truncated), measured.n_chunks[-1]
    fate = first(
        (len(cut.sizes) > len(measured.sizes), "left out: the model reads too few as a whole"),
        (len(cut.sizes) < len(SIZES), "not tried: too few texts are so long"),
        (True, "not tried"),
    )
    lost = f"lose over {percent(settings.max_lost or 0)} of their sentences"
    beyond, undecided = (", ".join(excess.get(key, [])) for key in ("exceeded", "undecided"))
    truncated = f"only the beginning of {percent(measured.truncated)} of the whole texts"
    cases = {
        f"{EASY}: real ones are found less often.": True,
        f"Sentences at the {rare} of a chunk are found less often than those at the {often}, by "
        f"about {points(abs(effect))}.": low > 0 or high < 0,
        f"Chunks of over {counted(measured.sizes[-1])} are {fate}.": True,
        f"Chunks that the model reads in part, left out: {n_truncated:,}.": n_truncated,
        f"Searches for them, left out at every size: {measured.n_left_out:,}.": measured.n_left_out,
        f"Fewer chunks compete as they grow longer: {n_few:,} at last.": n_few < N_EQUAL,
        f"The model reads {truncated}.": answer.gains and measured.truncated,
        **pipeline_caveats(weights, answer.similarity),
        f"Chunks of {beyond} {lost}.": beyond,
        f"Too few searches to tell if chunks of {undecided} {lost}.": undecided,
    }
    return [text for text, holds in cases.items() if holds]
