"""What is said of a search test, of made-up results."""

import re
from dataclasses import replace

from support.snapshots import assert_said

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
    """What is found of the fifths by length, of which those not given are fair."""
    nothing = Consequences({}, Advice(None), None, (), Threshold(0.5, (0.01,) * 5))
    exposures = (*exposures, *[FAIR] * (5 - len(exposures)))
    return SearchTest(
        *(Task.TITLES, 420, 420, 0.0, True, Pooling.MEAN, None),
        {Ranker(Pooling.MEAN, None, s): ranking(*exposures, **other) for s in SimilarityFunction},
        ranking(bm25, FAIR, FAIR, FAIR, FAIR),
        dict.fromkeys(SimilarityFunction, nothing),
    )


SHORT, LONG = (3.41, 3.1, 3.7), (0.152, 0.1, 0.2)

TESTS = {
    "no better than chance": searched(SHORT, FAIR, FAIR, FAIR, LONG, recall=(0.02, 0.06)),
    "too few searches for the shortest": searched((0.9, 0.45, 1.4)),
    "none for the middle": searched(FAIR, FAIR, None),
    "the shortest and the longest": searched(SHORT, (0.6, 0.4, 0.9), FAIR, FAIR, LONG),
    "the longest alone": searched(FAIR, FAIR, FAIR, FAIR, LONG),
    "more than by word matching": searched(SHORT, bm25=(1.5, 1.4, 1.6), against=(0.6, 0.9)),
    "not clearly more than that": searched(SHORT, bm25=SHORT, against=(-0.2, 0.2)),
    "fair": searched(),
    "a little": searched((1.3, 1.2, 1.4)),
    "nothing clear": searched((1.1, 0.9, 1.4)),
}

ADVICE = [
    Advice(None),
    Advice(Fix.NORMALIZED, 0.352, 0.638),
    Advice(Fix.MEAN_POOLED, 0.911, 0.949),
    Advice(Fix.CALIBRATED, 0.631, 0.629),
    Advice(Fix.CALIBRATED, 0.63, 0.6, costs=True),
]


def test_what_a_search_test_says() -> None:
    headlines = {name: words.search.verdict(test, DOT) for name, test in TESTS.items()}
    for headline in headlines.values():
        assert len(headline.split()) <= 20
        assert len(re.findall(r"\d[\d.]*", headline)) <= 1
    test, fix = TESTS["the shortest and the longest"], Fix.NORMALIZED
    before = test.ranking(DOT)

    def cost(*recalls: float | None) -> str:
        fifths = tuple(replace(of, recall_at_10=to) for of, to in zip(before.fifths, recalls, strict=True))
        fixed = FixResult(replace(before, fifths=fifths), 0.0, (0.0, 0.0))
        of = replace(test.consequences[DOT], fixes={fix: fixed})
        return words.search.cost(replace(test, consequences={DOT: of}), DOT, fix)

    assert cost(0.89, 0.95, 0.9, None, 1.0) == ""
    assert_said(
        "search",
        headlines
        | {
            "by cosine": words.search.verdict(TESTS["a little"], COSINE),
            "it cannot be tested": words.search.cannot_tell("Texts have one sentence."),
            "below, some cut": words.search.quiet_line(replace(TESTS["fair"], truncated_share=0.034)),
            "advice": [words.search.advice(advice) for advice in ADVICE],
            "what a fix costs the fifth that loses most": cost(0.8, 0.95, 0.7, None, 0.9),
        },
    )
