"""Each headline of a search test, of made-up results."""

import re
from dataclasses import replace

import pytest

from clsviz import words
from clsviz.analysis.search_test import Advice, Consequences, FixResult, Ranker, SearchTest, Threshold
from clsviz.settings import Fix, Pooling, SimilarityFunction, Task
from clsviz.statistics.exposure import Fifth, Interval, Ranking

COSINE, DOT = SimilarityFunction

Exposure = tuple[float, float, float] | None
FAIR: Exposure = (1.0, 0.9, 1.1)


def ranking(*exposures: Exposure, recall: Interval = (0.9, 0.96), against: Interval | None = None) -> Ranking:
    fifths = tuple(
        Fifth(10 * i, 10 * i + 9, 84, 84, 0.9, 0.8, x and x[0], x and x[1:], against if i == 1 else None)
        for i, x in enumerate(exposures, 1)
    )
    return Ranking(sum(recall) / 2, recall, 0.8, fifths)


def searched(*exposures: Exposure, bm25: Exposure = FAIR, **other: Interval) -> SearchTest:
    nothing = Consequences({}, Advice(None), None, (), Threshold(0.5, (0.01,) * 5))
    return SearchTest(
        *(Task.TITLES, 420, 420, 0.0, True, Pooling.MEAN, None),
        {Ranker(Pooling.MEAN, None, s): ranking(*exposures, **other) for s in SimilarityFunction},
        ranking(bm25, FAIR, FAIR, FAIR, FAIR),
        dict.fromkeys(SimilarityFunction, nothing),
    )


SHORT, LONG = (3.41, 3.1, 3.7), (0.152, 0.1, 0.2)


@pytest.mark.parametrize(
    ("test", "headline"),
    [
        (
            searched(SHORT, FAIR, FAIR, FAIR, LONG, recall=(0.02, 0.06)),
            "Can’t tell: the search finds the right text hardly more often than chance.",
        ),
        (
            searched((0.9, 0.45, 1.4), FAIR, FAIR, FAIR, FAIR),
            "Can’t tell yet: too few searches for texts of the shortest fifth.",
        ),
        (searched(FAIR, FAIR, None, FAIR, FAIR), "Can’t tell yet: too few searches for texts of the middle fifth."),
        (
            searched(SHORT, (0.6, 0.4, 0.9), FAIR, FAIR, LONG),
            "Yes: by dot product, the shortest fifth takes 3.4 times its share.",
        ),
        (
            searched(FAIR, FAIR, FAIR, FAIR, LONG),
            "Yes: by dot product, the longest fifth takes only 0.15 times its share.",
        ),
        (
            searched(SHORT, FAIR, FAIR, FAIR, FAIR, bm25=(1.5, 1.4, 1.6), against=(0.6, 0.9)),
            "Yes: by dot product, the shortest fifth takes 3.4 times its share.",
        ),
        (
            searched(SHORT, FAIR, FAIR, FAIR, FAIR, bm25=SHORT, against=(-0.2, 0.2)),
            "Yes, but not clearly more than word matching: the shortest fifth takes 3.4 times its share.",
        ),
        (
            searched(*[FAIR] * 5),
            "Hardly: by dot product, texts of every length are found about as often as they are right.",
        ),
        (
            searched((1.3, 1.2, 1.4), FAIR, FAIR, FAIR, FAIR),
            "At most a little: by dot product, the shortest fifth takes 1.3 times its share.",
        ),
        (
            searched((1.1, 0.9, 1.4), FAIR, FAIR, FAIR, FAIR),
            "No sign of it: by dot product, no length is clearly found too often.",
        ),
    ],
)
def test_headlines(test: SearchTest, headline: str) -> None:
    assert words.search.verdict(test, DOT) == headline
    assert len(headline.split()) <= 20
    assert len(re.findall(r"\d[\d.]*", headline.replace("BM25", ""))) <= 1


def test_what_cannot_be_searched_gives_its_reason() -> None:
    assert words.search.cannot_tell("Texts have one sentence.") == "Can’t tell: texts have one sentence."


def test_the_quiet_line_has_recall_and_searches() -> None:
    line = words.search.quiet_line(replace(searched(*[FAIR] * 5), truncated_share=0.034))
    assert line == (
        "Recall of the right text among ten: 93%, by BM25 93% · 420 searches of titles for their texts, among 420 texts"
        " · 3% of the texts cut at the model’s limit"
    )


@pytest.mark.parametrize(
    ("advice", "sentence"),
    [
        (Advice(None), "Leave it."),
        (
            Advice(Fix.NORMALIZED, 0.352, 0.638),
            "Normalise your vectors: on held-out searches, recall rises from 35% to 64%.",
        ),
        (
            Advice(Fix.MEAN_POOLED, 0.911, 0.949),
            "Take mean-pooled vectors: on held-out searches, recall rises from 91% to 95%.",
        ),
        (
            Advice(Fix.CALIBRATED, 0.631, 0.629),
            "Calibrate scores by length: on held-out searches, recall stays at 63%.",
        ),
        (
            Advice(Fix.CALIBRATED, 0.63, 0.6, costs=True),
            "Calibrate scores by length only if lengths must be found alike: on held-out searches, recall falls from "
            "63% to 60%.",
        ),
    ],
)
def test_advice(advice: Advice, sentence: str) -> None:
    assert words.search.advice(advice) == sentence


def test_what_a_fix_costs_is_said_of_the_fifth_that_loses_most() -> None:
    test, fix = searched(SHORT, FAIR, FAIR, FAIR, LONG), Fix.NORMALIZED
    before = test.ranking(DOT)

    def cost(*recalls: float | None) -> str:
        fifths = tuple(replace(of, recall_at_10=to) for of, to in zip(before.fifths, recalls, strict=True))
        fixed = FixResult(replace(before, fifths=fifths), 0.0, (0.0, 0.0))
        of = replace(test.consequences[DOT], fixes={fix: fixed})
        return words.search.cost(replace(test, consequences={DOT: of}), DOT, fix)

    assert (
        cost(0.8, 0.95, 0.7, None, 0.9)
        == "In these searches, recall of texts of the middle fifth falls from 90% to 70%."
    )
    assert cost(0.89, 0.95, 0.9, None, 1.0) == ""
