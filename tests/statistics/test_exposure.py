from dataclasses import replace

import numpy as np
import pytest

from clsviz.errors import Undefined
from clsviz.statistics import exposure
from clsviz.statistics.exposure import Fifth, Outcome
from clsviz.statistics.ranking import Relevance

N = 400
LENGTHS = np.arange(10, 10 + N, dtype=np.int32)
FIFTH = Fifth(1, 9, 80, 80, 0.5, 0.5, 1.0, (0.9, 1.1))


def searches(favour: float, seed: int = 0) -> tuple[np.ndarray, Relevance]:
    """Tens of 400 searches, each for a text of its own; the shortest fifth is drawn more often."""
    random = np.random.RandomState(seed)
    weights = np.where(np.arange(N) < N // 5, favour, 1.0)
    tens = [random.choice(N, 10, replace=False, p=weights / weights.sum()) for _ in range(N)]
    return np.array(tens), Relevance.of([np.array([place]) for place in range(N)], N)


def summarize(tens: np.ndarray, relevance: Relevance, lengths: np.ndarray = LENGTHS, words=None):
    fifths = exposure.fifths_of(lengths)
    chance = exposure.shuffled(tens, relevance, fifths)
    draws = exposure.draws(relevance.n_searches)
    outcome = Outcome.of(tens, relevance, fifths)
    return exposure.summarize(outcome, relevance, lengths, fifths, draws, chance, words)


def test_exposure_is_the_share_of_places_over_the_share_of_what_is_right() -> None:
    tens, relevance = searches(favour=3.0)
    ranking = summarize(tens, relevance)
    for place, fifth in enumerate(ranking.fifths):
        found = ((tens >= 80 * place) & (tens < 80 * (place + 1))).mean()
        assert fifth.exposure == pytest.approx(found / 0.2)
    assert ranking.fifths[0].stands_out == 1
    assert (ranking.fifths[4].from_tokens, ranking.fifths[4].to_tokens) == (330, 409)


def test_an_interval_is_that_of_searches_drawn_again() -> None:
    tens, relevance = searches(favour=1.5)
    shares = (tens < 80).mean(axis=1)
    random = np.random.RandomState(5)
    again = []
    for _ in range(4000):
        drawn = random.randint(0, N, N)
        again.append(shares[drawn].mean() / (drawn < 80).mean())
    interval = summarize(tens, relevance).fifths[0].interval
    assert interval == pytest.approx(np.quantile(again, [0.025, 0.975]), rel=0.03)


def test_fifths_of_few_right_texts_have_no_interval() -> None:
    tens, _ = searches(favour=1.0)
    right = [np.array([place if place < 19 else 80 + place % 320]) for place in range(N)]
    fifths = summarize(tens, Relevance.of(right, N)).fifths
    assert fifths[0].interval is None
    assert fifths[0].is_undecided
    assert fifths[1].interval is not None


def test_equal_lengths_share_a_fifth() -> None:
    lengths = np.array([*[5] * 3, *range(6, 30)], np.int32)
    assert len(set(exposure.fifths_of(lengths)[:3])) == 1


@pytest.mark.parametrize("lengths", [[7] * 100, [*[7] * 60, *range(40)], range(10)])
def test_lengths_without_five_fifths_are_undefined(lengths) -> None:
    with pytest.raises(Undefined):
        exposure.fifths_of(np.array(lengths, np.int32))


def test_a_few_texts_found_by_every_search_do_not_stand_out() -> None:
    tens, relevance = searches(favour=1.0)
    tens[:, :2] = [1, 2]
    fifth = summarize(tens, relevance).fifths[0]
    assert fifth.interval[0] > 1.25
    assert (fifth.stands_out, fifth.is_undecided) == (0, True)


def test_a_fifth_stands_out_beyond_words_where_the_difference_is_clear() -> None:
    tens, relevance = searches(favour=3.0)
    fifths = exposure.fifths_of(LENGTHS)
    for favour, is_more in ((3.0, False), (1.0, True), (1.8, True)):
        others = searches(favour, seed=7)[0]
        words = Outcome.of(others, relevance, fifths)
        own = summarize(tens, relevance, words=words).fifths[0]
        assert own.is_more_than(summarize(others, relevance).fifths[0]) == is_more


CASES = {
    (0.9, 1.1): (0, False, False),
    (1.05, 1.2): (0, False, False),
    (1.05, 1.3): (0, False, True),
    (1.3, 3.0): (1, False, True),
    (0.1, 0.7): (-1, False, True),
    (0.4, 1.1): (0, True, False),
    None: (0, True, False),
}


@pytest.mark.parametrize("interval", CASES)
def test_an_interval_decides(interval) -> None:
    fifth = replace(FIFTH, interval=interval)
    assert (fifth.stands_out, fifth.is_undecided, fifth.is_uneven) == CASES[interval]
