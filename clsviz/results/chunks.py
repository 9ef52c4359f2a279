"""How long may a chunk be?: sentences that find their chunk, by its length."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clsviz.analyses import chunks as chunking
from clsviz.analyses.chunks import KEPT, ChunkNumbers, OwnNumbers, advised_of, key_of, shares_of
from clsviz.analyses.select import resolve
from clsviz.errors import SettingError
from clsviz.numbers import counted, percent, points, rounded
from clsviz.results import provenance
from clsviz.results.result import Fact, Result, first, origin, vector_of
from clsviz.results.search import BY, pipeline_caveats, unread_facts
from clsviz.settings import ChunkTestSettings, Experiment
from clsviz.sources.chunks import SIZES
from clsviz.sources.models import MOST_TEXTS, unknown_tokens
from clsviz.statistics.containment import N_EQUAL, Recall
from clsviz.statistics.intervals import of_mean

if TYPE_CHECKING:
    import pandas as pd

QUESTION: Final = "How long may a chunk be?"

ALL: Final = 0.95
"""Share above which the length of a chunk makes no difference to care for."""

NEAREST: Final = 1.5
"""Times that the tokens of a pipeline may differ from those of the nearest measured size."""

EASY: Final = "An exact sentence is the easiest query, above all for a chunk that is nothing else"

STRINGS: Final = "Exact sentences reward the matching of strings: do not rank models by them"

ONE_LENGTH: Final = (
    "No one length suits every question: facts want 64 to 128 tokens, context 512 to 1,024 "
    "(arXiv 2505.21700)."
)

THIRDS: Final = ("first_third", "middle_third", "last_third")
ENDS: Final = ("low", "high", "low_of_equal", "high_of_equal")


def result(answer: ChunkNumbers, experiment: Experiment, settings: ChunkTestSettings) -> Result:
    """The answer in words."""
    inputs = answer.inputs
    weights, cut, searches = inputs.weights, inputs.chunks, inputs.judged
    place, verdict, advice = _contained(answer, experiment.seed)
    if answer.judged:
        place, verdict, advice = _judged(answer)
    if answer.own_chunks:
        verdict, advice = _own(answer.own_chunks, answer.n_equal, advice)
    if answer.overlap:
        advice += f" {_overlap(answer, settings.overlap or 0)}"
    best = None if place is None else answer.tokens[place]
    advised = best if answer.gains else answer.advised
    sizes = {way: _sizes(answer, recalls) for way, recalls in answer.recalls.items()}
    excess = _excess(answer, settings)
    judged = searches.caveats if searches else ()
    unknown = unknown_tokens(weights, cut.sentences[:MOST_TEXTS])
    own, view = _caveats(answer, excess, settings, experiment), resolve(experiment, weights)
    shipped = origin(key_of(inputs, cut.cut[0], view))
    return Result(
        kind="chunks",
        question=QUESTION,
        verdict=verdict,
        advice=advice,
        facts=_facts(answer, place, advised),
        details={
            "sizes": sizes[answer.similarity],
            **sizes,
            "n_equal": answer.n_equal,
            "advised_range": [end if np.isfinite(end) else None for end in answer.length[1]],
            "whole": _whole(answer),
            "own": _details(answer.own_chunks),
            "overlap": _details_of_overlap(answer),
            **excess,
        },
        picture={"advised": advised, "own": BY[answer.similarity]},
        caveats=tuple(dict.fromkeys((*unknown, *own, *cut.caveats, *judged, *shipped))),
        table=_table(sizes),
        about={
            **asdict(experiment),
            **provenance.values(settings),
            **vector_of(weights, view),
            "similarity": answer.similarity,
            "width": answer.measured[0].width,
            "model_fingerprint": weights.fingerprint,
            "corpus_fingerprint": cut.texts.fingerprint,
            "seconds": round(sum(one.seconds for one in answer.measured), 3),
        },
        command=provenance.command("chunk-test", experiment, provenance.values(settings))
        * (settings.chunks != "memory"),
        weights=weights,
        corpus=cut.texts,
        n_drawn=len(cut.sentences),
        answered=answer,
    )


def _contained(answer: ChunkNumbers, seed: int) -> tuple[int | None, str, str]:
    """The place of the longest chunks that suffice, verdict and advice, by sentences they hold."""
    own, cosine, tokens = answer.own, answer.recalls["cosine"], answer.tokens
    place, by_cosine, (low, high) = advised_of(own), advised_of(cosine), answer.length[1]
    place = place if low > 0 else -1
    shares, last = [percent(one.recall_at_1_of_equal) for one in own], len(own) - 1
    among = f"among {answer.n_equal} chunks"
    findable = f"keep three in four sentences findable, {among}"
    if all(one.interval_of_equal[0] >= ALL for one in own):
        verdict = f"Any length up to {tokens[last]} tokens: {shares[last]} of sentences find their"
        return place, f"{verdict} chunk, {among}.", "Cut as suits your texts."
    if place < 0:
        best = max(range(len(own)), key=lambda n: own[n].recall_at_1_of_equal)
        verdict = "No length tried surely keeps three in four sentences findable: at best "
        verdict += f"{shares[best]}, in chunks of {tokens[best]} tokens among {answer.n_equal}."
        advice = "Choose another similarity, vector or model."
    elif low == np.inf:
        verdict = f"Chunks of {tokens[last]} tokens, the longest tried, {findable}."
        advice = f"Cut at up to {tokens[last]} tokens."
    elif high == np.inf:
        verdict = f"Chunks of at most {rounded(low)} tokens, or longer ones, {findable}."
        advice = f"Cut at up to {rounded(low)} tokens."
    else:
        lengths = " to ".join(dict.fromkeys((rounded(low), rounded(high))))
        verdict = f"Chunks of at most {lengths} tokens {findable}."
        advice = f"Cut at {lengths} tokens{_losing(answer)}."
    ways = "cosine", answer.similarity
    first, second = (shares_of(answer.measured, way, answer.n_equal)[by_cosine] for way in ways)
    if place < by_cosine and of_mean(first - second, seed, -1.0)[0] > 0:
        share = percent(cosine[by_cosine].recall_at_1_of_equal)
        advice = f"Normalise your vectors: by cosine, chunks of {tokens[by_cosine]} tokens keep "
        advice += f"{share} of their sentences."
    return (place if place >= 0 else None), verdict, advice


def _own(own: OwnNumbers, n_equal: int, otherwise: str) -> tuple[str, str]:
    """Verdict and advice on the user's chunks; otherwise: that on chunks of sentences."""
    share, cut = percent(own.recall.recall_at_1_of_equal), percent(own.cut_in_two)
    verdict = f"Your chunks keep a sentence findable in {share} of searches, among {n_equal} "
    better = own.by_sentences
    if better.interval[0] > 0:
        advice = f"Make even chunks of whole sentences: of about {own.tokens:.0f} tokens, they "
        advice += f"keep {percent(better.recall)}, {points(better.difference)} more."
    elif own.recall.interval_of_equal[0] >= KEPT:
        advice = "Leave your chunks as they are."
    else:
        advice = otherwise
    return f"{verdict}chunks; {cut} of sentences are cut in two.", advice


def _overlap(answer: ChunkNumbers, share: float) -> str:
    """The effect of overlap, in a sentence."""
    assert answer.overlap
    place, variant, gain = answer.overlap
    ends = " to ".join(rounded(100 * end) for end in gain.interval)
    chunks = percent(variant.n_chunks / answer.measured[place].n_chunks - 1)
    size = answer.sizes[place]
    overlap = f"{percent(share)}, {chunking.n_shared(size, share)} of {counted(size)},"
    adds = f"Overlap of {overlap} adds {points(gain.difference)} ({ends})"
    return f"{adds} for {chunks} more vectors."


def _losing(answer: ChunkNumbers) -> str:
    """The shortest of the chunks tried that surely lose over a quarter of their sentences."""
    pairs = zip(answer.tokens, answer.own, strict=True)
    losing = [tokens for tokens, one in pairs if one.interval_of_equal[1] < KEPT]
    return f": of those tried, chunks of {losing[0]} lose over a quarter of theirs" * bool(losing)


def _judged(answer: ChunkNumbers) -> tuple[int | None, str, str]:
    """The same by judged searches."""
    assert answer.judged
    best, leave, advised = answer.best, "Leave texts whole", answer.advised
    place, recall = answer.gains.index(best), percent(best.recall)
    uncut = percent(answer.judged.recalls[-1].mean())
    if best.interval[0] > 0:
        chunks = f"chunks of {counted(answer.sizes[place])}"
        verdict = f"Cutting into {chunks} raises recall from {uncut} to {recall}."
        return place, verdict, f"Cut at about {answer.tokens[place]} tokens."
    if advised and answer.length[1][1] < np.inf:
        leave += f", though exact sentences would have chunks of at most {advised} tokens"
    leave += "."
    if all(gain.interval[1] < 0 for gain in answer.gains):
        return None, f"Cutting lowers recall from {uncut} to {recall} or less.", leave
    return None, f"No sign that cutting helps: whole texts have a recall of {uncut}.", leave


def _facts(answer: ChunkNumbers, place: int | None, advised: int | None) -> tuple[Fact, ...]:
    own, tokens, n = answer.own, answer.tokens, len(answer.inputs.chunks.queries)
    last, judged = len(own) - 1, list[Fact]()
    words = answer.recalls["bm25"][-1].recall_at_1_of_equal
    if answer.judged:
        best, uncut = answer.best, float(answer.judged.recalls[-1].mean())
        by = f"by chunks of {tokens[answer.gains.index(best)]} tokens"
        judged = [
            Fact("whole_recall_at_10", "recall of whole texts", uncut, None, "percent"),
            Fact("best_gain", by, best.difference, best.interval, "points"),
            Fact("n_judged", "judged searches", answer.judged.recalls.shape[1], None, "count"),
        ]
    own_chunks, facts = answer.own_chunks, list[Fact]()
    if own_chunks:
        recall, better, variant = own_chunks.recall, own_chunks.by_sentences, own_chunks.measured
        found = f"found in your {variant.n_chunks:,} chunks of {variant.tokens:.0f} tokens"
        of_equal = recall.recall_at_1_of_equal, recall.interval_of_equal
        cut = f"chunks of sentences, {own_chunks.tokens:.0f} tokens, keep more by"
        facts = [
            Fact("own_recall", f"{found}, among {answer.n_equal}", *of_equal, "percent"),
            Fact("own_contained", "of sentences not cut", own_chunks.contained, None, "percent"),
            Fact("by_sentences_gain", cut, better.difference, better.interval, "points"),
            *unread_facts("chunks", variant.truncated, variant.unread),
        ]
    elif answer.judged:
        facts = [*unread_facts("whole texts", answer.judged.truncated, answer.judged.unread)]
    for key, at in (("recall_at_advised", place), ("recall_at_longest", last)):
        label = f"found in chunks of {tokens[at or 0]} tokens"
        one = None if at is None else own[at]
        value, interval = (one.recall_at_1_of_equal, one.interval_of_equal) if one else (None, None)
        is_quiet = bool(own_chunks) or (key == "recall_at_advised" and at in (None, last))
        facts.append(Fact(key, label, value, interval, "percent", is_quiet))
    return (
        *judged,
        *facts,
        Fact("bm25_at_longest", "by BM25", words, None, "percent", bool(own_chunks)),
        Fact("n_searches", "searches", n, None, "count"),
        Fact("n_used", "searches", n, None, "count", is_quiet=True),
        Fact("advised_tokens", "tokens advised", advised, None, "count", is_quiet=True),
    )


def _sizes(answer: ChunkNumbers, recalls: Sequence[Recall]) -> list[dict[str, Any]]:
    """Entries of JSON for each size."""
    return [
        {
            "sentences": size,
            "tokens": one.tokens,
            "n_chunks": one.n_chunks,
            "n_truncated": round(one.truncated * one.n_chunks),
            **asdict(recall),
        }
        for size, one, recall in zip(answer.sizes, answer.measured, recalls, strict=True)
    ]


def _table(sizes: Mapping[str, Sequence[Mapping[str, Any]]]) -> "pd.DataFrame":
    """A row for each way to search and each size."""
    import pandas as pd

    rows = [{"way": BY[way], **entry} for way, entries in sizes.items() for entry in entries]
    table = pd.DataFrame(rows)
    ends = zip(table.pop("interval"), table.pop("interval_of_equal"), strict=True)
    table[[*ENDS]] = [(*first, *of_equal) for first, of_equal in ends]
    table[[*THIRDS]] = [thirds or (np.nan,) * 3 for thirds in table.pop("thirds")]
    return table


def _whole(answer: ChunkNumbers) -> dict[str, Any] | None:
    """Recall of judged searches by whole texts, and by chunks of each size."""
    if answer.judged is None:
        return None
    chunks = [
        {"sentences": size, "recall_at_10": gain.recall, **asdict(gain)}
        for size, gain in zip(answer.sizes, answer.gains, strict=True)
    ]
    uncut, truncated = float(answer.judged.recalls[-1].mean()), answer.judged.truncated
    return {"recall_at_10": uncut, "truncated_share": truncated, "chunks": chunks}


def _details(own: OwnNumbers | None) -> dict[str, Any] | None:
    """Entries of JSON on the user's chunks."""
    if own is None:
        return None
    return {
        "n_chunks": own.measured.n_chunks,
        "tokens": own.measured.tokens,
        **asdict(own.recall),
        "cut_in_two": own.cut_in_two,
        "contained": own.contained,
        "by_sentences": {"tokens": own.tokens, **asdict(own.by_sentences)},
    }


def _details_of_overlap(answer: ChunkNumbers) -> dict[str, Any] | None:
    """Entries of JSON on chunks that overlap."""
    if answer.overlap is None:
        return None
    place, variant, gain = answer.overlap
    size, before = answer.sizes[place], answer.measured[place].n_chunks
    return {"sentences": size, "n_chunks": variant.n_chunks, "before": before, **asdict(gain)}


def _why(answer: ChunkNumbers) -> str:
    """Why the position matters, by the control that shuffles the sentences of each text."""
    if answer.shuffled is None or np.isnan(answer.shuffled[0]):
        return ": for their place, or for what stands there in a text"
    sign = np.sign(answer.position[0])
    effect, (low, high) = sign * answer.shuffled[0], sorted(sign * np.array(answer.shuffled[1]))
    ends, is_place = f"{rounded(100 * low)} to {rounded(100 * high)}", low > 0
    why = "for their place" if is_place else "no sign that it is for their place"
    return f"; with shuffled texts by {points(effect)} ({ends}), {why}"


def _excess(answer: ChunkNumbers, settings: ChunkTestSettings) -> dict[str, Any]:
    """The user's chunks, and the size nearest to chunk_tokens, if they surely lose too much."""
    if settings.max_lost is None:
        return {}
    tried, own, wanted = dict[str, Recall](), answer.own_chunks, settings.chunk_tokens
    if own:
        tried[f"{own.measured.tokens:,.0f} tokens (your own)"] = own.recall
    if wanted is not None:
        tokens, place = answer.tokens, chunking.nearest(answer.tokens, wanted)
        name = f"{tokens[place]:,.0f} tokens"
        if not 1 / NEAREST <= tokens[place] / wanted <= NEAREST:
            reason = f"No size of chunks has about {wanted:,} tokens: the nearest is"
            raise SettingError(f"{reason} {name}.", "Give a number nearer to it.")
        tried[name] = answer.own[place]
    least, ends = 1 - settings.max_lost, {name: one.interval for name, one in tried.items()}
    return {
        "exceeded": [name for name, (_, high) in ends.items() if high < least],
        "undecided": [name for name, (low, high) in ends.items() if low < least <= high],
    }


def _caveats(
    answer: ChunkNumbers,
    excess: Mapping[str, list[str]],
    settings: ChunkTestSettings,
    experiment: Experiment,
) -> list[str]:
    """Everything that the test leaves out, or that is doubtful, a sentence each."""
    cut, weights, last = answer.inputs.chunks, answer.inputs.weights, answer.sizes[-1]
    effect, (low, high) = answer.position
    rare, often = ("beginning", "end")[:: 1 if effect > 0 else -1]
    n_truncated = sum(round(one.truncated * one.n_chunks) for one in answer.measured)
    fate = first(
        (cut.sizes[-1] > last, "left out: the model reads too few as a whole"),
        (len(cut.sizes) < len(SIZES), "not tried: too few texts are so long"),
        (True, "not tried"),
    )
    lost = f"lose over {percent(settings.max_lost or 0)} of their sentences among all chunks"
    beyond, undecided = (", ".join(excess.get(key, [])) for key in ("exceeded", "undecided"))
    cases = {
        f"{EASY}: real ones are found less often.": True,
        f"{STRINGS}.": True,
        f"Sentences at the {rare} of a chunk are found less often than those at the {often}, by "
        f"about {points(abs(effect))}{_why(answer)}.": low > 0 or high < 0,
        ONE_LENGTH: True,
        f"Chunks of over {counted(last)} are {fate}.": True,
        f"Chunks that the model reads only in part: {n_truncated:,}.": n_truncated,
        f"Only {answer.n_equal} chunks compete: among {N_EQUAL}, fewer sentences find theirs.": (
            answer.n_equal < N_EQUAL
        ),
        **pipeline_caveats(weights, experiment, answer.similarity),
        f"Chunks of {beyond} {lost}.": beyond,
        f"Too few searches to tell if chunks of {undecided} {lost}.": undecided,
    }
    return [text for text, holds in cases.items() if holds]
