"""How long may a chunk be?: sentences that find their piece, by its length."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from clsviz.encoder import pipeline
from clsviz.errors import SettingError, quote
from clsviz.experiment import Experiment
from clsviz.jobs.pieces import WAYS, Containment, key_of
from clsviz.results import origin, provenance
from clsviz.results.numbers import counted, percent, points
from clsviz.results.result import Fact, Result, first
from clsviz.results.search import BY, Similarity
from clsviz.sources.models import Weights
from clsviz.sources.pieces import Pieces
from clsviz.sources.searches import Searches
from clsviz.statistics.containment import (
    N_EQUAL,
    Recall,
    interval_of_mean,
    position_effect,
)
from clsviz.statistics.intervals import Interval

QUESTION: Final = "How long may a chunk be?"

DEFAULT_SENTENCES: Final = 2400

MOST_SENTENCES: Final = 20_000
"""Each is measured at every size of a piece."""

KEPT: Final = 0.75
"""Share of the sentences that pieces keep findable, at least, up to the advised length."""

ALL: Final = 0.95
"""Share above which the length of a piece makes no difference to care for."""

NEAREST: Final = 1.5
"""Times that the tokens of a pipeline may differ from those of the nearest measured size."""


@dataclass(frozen=True)
class Cut:
    """The settings of a chunk test besides those of the experiment.

    titles, searches: as in `searches.find`: judged searches for whole texts.
    piece_tokens, max_tokens_lost: tokens of the pieces of a pipeline, and the largest share of
    their sentences that may be lost. Raises SettingError where a value cannot be used.
    """

    titles: str = ""
    searches: Path | None = None
    similarity: Similarity = "cosine"
    piece_tokens: int | None = None
    max_tokens_lost: float | None = None

    def __post_init__(self) -> None:
        if self.similarity not in WAYS[:2]:
            reason = f"similarity is {quote(self.similarity)}."
            raise SettingError(reason, "Choose cosine or dot.")
        if (self.piece_tokens is None) != (self.max_tokens_lost is None):
            reason = "Only one of piece_tokens and max_tokens_lost is given."
            raise SettingError(reason, "Give both.")
        if self.piece_tokens is not None and self.piece_tokens < 1:
            reason = f"piece_tokens is {self.piece_tokens:,}."
            raise SettingError(reason, "Choose a number from 1.")
        if self.max_tokens_lost is not None and not 0 <= self.max_tokens_lost <= 1:
            reason = f"max_tokens_lost is {self.max_tokens_lost:g}."
            raise SettingError(reason, "Choose a share from 0 to 1.")


def check(experiment: Experiment) -> None:
    """Raise SettingError where a setting of a view is set that pieces do not have."""
    for name in ("precision", "probe_size", "length_cutoff", "layer", "unit", "segmentation"):
        value = getattr(experiment, name)
        if value != getattr(Experiment, name):
            reason = f"{name} is {quote(value)}; pieces have sentences and exact last vectors."
            raise SettingError(reason, f"Leave {name} out.")
    size = experiment.sample_size
    if size == "all" or size > MOST_SENTENCES:
        reason = f"sample_size is {quote(size)}."
        raise SettingError(reason, f"Choose at most {MOST_SENTENCES:,} sentences.")


@dataclass(frozen=True)
class Gain:
    """Recall among ten of judged searches by pieces of a size, less that by whole texts."""

    recall: float
    difference: float
    interval: Interval


@dataclass(frozen=True)
class Answer:
    """The numbers of a chunk test.

    recalls: by each of `WAYS`, of each size. gains: of each size, for judged searches, whose recall
    by whole texts is whole; () and NaN without them.
    """

    recalls: dict[str, list[Recall]]
    gains: tuple[Gain, ...]
    whole: float

    @classmethod
    def of(cls, measured: Containment, seed: int) -> Self:
        """From ranks; the seed repeats the draws of intervals."""
        sizes = measured.positions, measured.sizes, measured.n_pieces
        recalls = {
            way: [Recall.of(*columns, seed) for columns in zip(ranks, *sizes, strict=True)]
            for way, ranks in zip(WAYS, measured.ranks, strict=True)
        }
        if not len(measured.recalls):
            return cls(recalls, (), np.nan)
        *pieces, whole = measured.recalls
        gains = (
            Gain(
                float(recall.mean()),
                float((recall - whole).mean()),
                interval_of_mean(recall - whole, seed, n_tested=len(pieces)),
            )
            for recall in pieces
        )
        return cls(recalls, tuple(gains), float(whole.mean()))


def result(
    cut: Pieces,
    measured: Containment,
    searches: Searches | None,
    experiment: Experiment,
    settings: Cut,
    weights: Weights,
) -> Result:
    """The answer for the pieces of a view. searches: those of the measured recalls, or None."""
    import pandas as pd

    answer = Answer.of(measured, experiment.seed)
    own = answer.recalls[settings.similarity]
    tokens = [round(value) for value in measured.tokens]
    place = advised_of(own)
    if answer.gains:
        verdict, advice = _judged(answer, measured)
    else:
        verdict, advice = _contained(own, tokens, place)
        if place < advised_of(answer.recalls["cosine"]):
            advice = "Normalise your vectors: by cosine, longer pieces keep their sentences."
    sizes = {way: _sizes(measured, some) for way, some in answer.recalls.items()}
    excess = _excess(own, measured, settings)
    return Result(
        kind="pieces",
        question=QUESTION,
        verdict=verdict,
        advice=advice,
        facts=_facts(answer, own, tokens, max(place, 0), measured.ranks.shape[2]),
        details={
            "sizes": sizes[settings.similarity],
            **sizes,
            "whole": _whole(answer, measured),
            **excess,
        },
        picture={
            "advised": tokens[place] if 0 <= place < len(own) - 1 else None,
            "own": BY[settings.similarity],
        },
        caveats=_caveats(cut, measured, searches, excess, settings, weights, experiment),
        table=pd.DataFrame(_row(BY[way], entry) for way in WAYS for entry in sizes[way]),
        about={
            **asdict(experiment),
            **{name: str(value or "") for name, value in asdict(settings).items()},
            "model_fingerprint": weights.fingerprint,
            "corpus_fingerprint": cut.texts.fingerprint,
            "seconds": round(measured.seconds, 3),
        },
        command=_command(experiment, settings),
    )


def advised_of(recalls: Sequence[Recall]) -> int:
    """The place of the longest pieces that keep three in four sentences; −1 where none do."""
    return max((n for n, one in enumerate(recalls) if one.recall_at_1 >= KEPT), default=-1)


def _contained(own: Sequence[Recall], tokens: Sequence[int], advised: int) -> tuple[str, str]:
    """Verdict and advice by the sentences that find their piece."""
    longest = len(tokens) - 1
    near = max(min(advised, longest - 1), 0)
    shares = [percent(own[place].recall_at_1) for place in (near, longest)]
    if all(one.interval[0] >= ALL for one in own):
        verdict = (
            f"Any length up to {tokens[-1]} tokens: {shares[1]} of sentences find their piece."
        )
        return verdict, "Cut as suits your texts."
    verdict = f"Pieces of {tokens[near]} tokens keep a sentence findable in {shares[0]} of searches"
    advice = first(
        (advised < 0, "Choose another similarity or model: even single sentences are lost."),
        (advised == longest, f"Cut at up to {tokens[-1]} tokens: such pieces lose few sentences."),
        (
            True,
            f"Cut at about {tokens[near]} tokens: longer pieces lose a quarter of theirs or more.",
        ),
    )
    return f"{verdict}; of {tokens[-1]}, in {shares[1]}.", advice


def _judged(answer: Answer, measured: Containment) -> tuple[str, str]:
    """Verdict and advice by judged searches."""
    whole = percent(answer.whole)
    best = max(range(len(answer.gains)), key=lambda place: answer.gains[place].recall)
    recall = percent(answer.gains[best].recall)
    if answer.gains[best].interval[0] > 0:
        verdict = f"Cutting into pieces of {counted(measured.sizes[best])} raises recall from "
        return f"{verdict}{whole} to {recall}.", f"Cut at about {measured.tokens[best]:.0f} tokens."
    if all(gain.interval[1] < 0 for gain in answer.gains):
        return f"Cutting lowers recall from {whole} to {recall} or less.", "Leave texts whole."
    verdict = f"No sign that cutting helps: whole texts are found in {whole} of searches."
    return verdict, "Leave texts whole."


def _facts(
    answer: Answer, own: Sequence[Recall], tokens: Sequence[int], place: int, n: int
) -> tuple[Fact, ...]:
    words = answer.recalls["bm25"][-1].recall_at_1
    judged = [Fact("whole_recall_at_10", "recall of whole texts", answer.whole, None, "percent")]
    return (
        *judged[: len(answer.gains)],
        Fact(
            "recall_at_advised",
            f"found in pieces of {tokens[place]} tokens",
            own[place].recall_at_1,
            own[place].interval,
            "percent",
        ),
        Fact(
            "recall_at_longest",
            f"in pieces of {tokens[-1]}",
            own[-1].recall_at_1,
            own[-1].interval,
            "percent",
        ),
        Fact("bm25_at_longest", "by BM25", words, None, "percent"),
        Fact("n_searches", "searches", n, form="count"),
        Fact("advised_tokens", "tokens advised", tokens[place], form="count", is_quiet=True),
        Fact("n_used", "searches", n, form="count", is_quiet=True),
    )


def _sizes(measured: Containment, recalls: Sequence[Recall]) -> list[dict[str, Any]]:
    """Entries of JSON for each size."""
    names = ("sentences", "tokens", "n_pieces", "n_truncated")
    columns = measured.sizes, measured.tokens, measured.n_pieces, measured.n_truncated
    return [
        {**dict(zip(names, values, strict=True)), **asdict(recall)}
        for *values, recall in zip(*columns, recalls, strict=True)
    ]


def _row(way: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry as a row of the table."""
    rest = {name: value for name, value in entry.items() if name not in ("interval", "thirds")}
    low, high = entry["interval"]
    early, middle, late = entry["thirds"] or (None, None, None)
    thirds = {"first_third": early, "middle_third": middle, "last_third": late}
    return {"way": way, **rest, "low": low, "high": high, **thirds}


def _whole(answer: Answer, measured: Containment) -> dict[str, Any] | None:
    """Recall of judged searches by whole texts, and by pieces of each size."""
    if not answer.gains:
        return None
    pieces = [
        {"sentences": size, "recall_at_10": gain.recall, **asdict(gain)}
        for size, gain in zip(measured.sizes, answer.gains, strict=True)
    ]
    return {"recall_at_10": answer.whole, "pieces": pieces}


def _excess(own: Sequence[Recall], measured: Containment, settings: Cut) -> dict[str, Any]:
    """The size nearest to the pieces of a pipeline, if they surely lose more than they may."""
    if settings.piece_tokens is None or settings.max_tokens_lost is None:
        return {}
    far = np.abs(np.log(np.maximum(measured.tokens, 1) / np.float64(settings.piece_tokens)))
    place = int(far.argmin())
    name = f"{measured.tokens[place]:,.0f} tokens"
    if far[place] > np.log(NEAREST):
        reason = f"No size of pieces has about {settings.piece_tokens:,} tokens: the nearest is"
        raise SettingError(f"{reason} {name}.", "Give a number nearer to it, or longer texts.")
    low, high = own[place].interval
    kept = 1 - settings.max_tokens_lost
    is_undecided = low < kept <= high
    return {"exceeded": [name] * (high < kept), "undecided": [name] * is_undecided}


def _caveats(
    cut: Pieces,
    measured: Containment,
    searches: Searches | None,
    excess: Mapping[str, list[str]],
    settings: Cut,
    weights: Weights,
    experiment: Experiment,
) -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each."""
    steps = pipeline.read(weights.folder)
    ranks = measured.ranks[WAYS.index(settings.similarity)]
    effect, (low, high) = position_effect(
        ranks, measured.positions, measured.sizes, experiment.seed
    )
    n_truncated, n_few = sum(measured.n_truncated), min(measured.n_pieces)
    lost = f"lose over {percent(settings.max_tokens_lost or 0)} of their sentences"
    beyond, undecided = (", ".join(excess.get(key, [])) for key in ("exceeded", "undecided"))
    cases = [
        (True, "An exact sentence is the easiest query: real ones are found less often."),
        (
            low > 0 or high < 0,
            f"Sentences at the {'beginning' if effect > 0 else 'end'} of a piece are found less "
            f"often than at the other end: by about {points(abs(effect))}.",
        ),
        (n_truncated > 0, f"Pieces that the model reads in part, left out: {n_truncated:,}."),
        (
            measured.n_left_out > 0,
            f"Searches for pieces that the model reads in part, left out: {measured.n_left_out:,}.",
        ),
        (
            len(cut.sizes) > len(measured.sizes),
            "Longer pieces are not tried: the model reads too few of them as a whole.",
        ),
        (n_few < N_EQUAL, f"Fewer pieces compete as they grow longer: {n_few:,} at last."),
        (steps.has_prompt, pipeline.PROMPTED),
        (bool(steps.others), pipeline.before(steps.others)),
        (bool(beyond), f"Pieces of {beyond} {lost}."),
        (bool(undecided), f"Too few searches to tell if pieces of {undecided} {lost}."),
    ]
    judged = searches.caveats if searches else ()
    shipped = origin(key_of(cut, searches, weights, experiment, settings.similarity))
    own = (text for holds, text in cases if holds)
    return tuple(dict.fromkeys((*cut.caveats, *judged, *own, *shipped)))


def _command(experiment: Experiment, settings: Cut) -> str:
    """The command that repeats it; none does for texts in memory."""
    if experiment.corpus == "memory":
        return ""
    names = ("corpus", "pooling", "sample_size")  # whose defaults are others than a view's
    flags = {name: str(getattr(experiment, name)) for name in names}
    for name, value in asdict(settings).items():
        if value not in ("", None) and (name, value) != ("similarity", "cosine"):
            flags[name] = str(value)
    return provenance.command("chunk-test", experiment, flags)
