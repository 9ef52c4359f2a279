"""What is said is true of vectors whose bend is known."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.searched import N, found_of, lengths, noise, with_length

from clsviz import analysis, words
from clsviz.analysis.search import Similarity
from clsviz.experiment import Experiment, View
from clsviz.settings import Lengths, Unit
from clsviz.sources.models import Weights

VIEW = View()


@pytest.fixture(scope="module")
def bent(tiny_weights: Weights) -> Similarity:
    """A direction of the length, and sentences that share no more words than chance has it."""
    return analysis.search.last(found_of(tiny_weights, with_length(2)), VIEW)


@pytest.fixture(scope="module")
def straight(tiny_weights: Weights) -> Similarity:
    return analysis.search.last(found_of(tiny_weights, noise()), VIEW)


def numbers(text: str) -> list[float]:
    return [float(number.replace("−", "-")) for number in re.findall(r"−?\d+\.\d+", text)]


def test_no_relation_is_no_bend(straight: Similarity) -> None:
    assert words.similarity.verdict(straight) == (
        f"Not as far as these {N} sentences show: neither cosines nor nearest neighbours follow length more than "
        "chance would have it."
    )


def test_a_norm_alone_is_no_bend(tiny_weights: Weights, straight: Similarity) -> None:
    of_norms = next(analysis.search.compare(found_of(tiny_weights, noise() * lengths()[:, None]), VIEW))
    assert words.similarity.verdict(of_norms) == words.similarity.verdict(straight)


def test_a_direction_of_the_length_is_a_bend_beyond_words(bent: Similarity) -> None:
    text = words.similarity.verdict(bent)
    assert text.startswith("Largely: the longer a sentence, the longer its ten nearest (rank correlation ")
    own, by_words = numbers(text)
    assert own == pytest.approx(bent.bias.neighbour_correlation, abs=0.006)
    assert by_words == pytest.approx(bent.by_words.neighbour_correlation, abs=0.006)


def test_the_answer_has_at_most_25_words(bent: Similarity) -> None:
    for own in (-0.9, 0.0, 0.2, 0.5, 0.9):
        for by_words in (-0.5, own, 1.0):
            as_if = replace(
                bent,
                bias=replace(bent.bias, neighbour_correlation=own),
                by_words=replace(bent.by_words, neighbour_correlation=by_words),
            )
            said = words.similarity.verdict(as_if)
            assert len(said.split()) <= 25, said


def test_near_duplicates_are_not_taken_for_a_bend(tiny_weights: Weights) -> None:
    """Ten almost equal sentences each, with almost equal vectors: of one length, but because they say the same."""
    of = np.arange(N) // 12
    sentences = [f"{'word' * 3} {' '.join(f'v{of[i]}x{k}' for k in range(4 + of[i]))} n{i}" for i in range(N)]
    found = found_of(tiny_weights, noise()[of] + 0.01 * noise(seed=8), sentences)
    same = next(s for s in analysis.search.compare(found, View(unit=Unit.WORDS)) if s.by_words)
    assert same.bias.neighbour_correlation > 0.9
    text = words.similarity.verdict(same)
    assert text.startswith("About as much as shared words do: the longer a sentence, the longer its ten nearest")
    fewer = replace(same, bias=replace(same.bias, neighbour_correlation=0.5))
    assert words.similarity.verdict(fewer).startswith("Less than shared words do: ")


def test_cosines_may_follow_length_where_neighbours_do_not(straight: Similarity) -> None:
    text = words.similarity.verdict(replace(straight, bias=replace(straight.bias, length_share=0.2)))
    assert text.startswith("Not which sentences are nearest: ")
    assert "20.0% of the differences" in text


def test_the_other_way_round_is_said_so(bent: Similarity) -> None:
    text = words.similarity.verdict(replace(bent, bias=replace(bent.bias, neighbour_correlation=-0.4)))
    assert text.startswith("The other way round: the longer a sentence, the shorter its ten nearest")
    assert "−0.40" in text


@pytest.mark.parametrize(("value", "lead"), [(0.095, "Hardly"), (0.2, "A little"), (0.4, "Partly")])
def test_how_strongly_follows_the_correlation(bent: Similarity, value: float, lead: str) -> None:
    chance = replace(bent.chance, neighbour_correlation_limit=0.05)
    weaker = replace(bent, bias=replace(bent.bias, neighbour_correlation=value), by_words=None, chance=chance)
    assert words.similarity.verdict(weaker).startswith(f"{lead}: the longer")


def test_controls_are_named_first(bent: Similarity) -> None:
    text = words.similarity.answer(bent, Experiment(lengths=Lengths.SHUFFLED, model="untrained:minilm"))
    assert text.startswith("Control: these weights are random")
    assert "lengths are shuffled" in text


def test_shares_are_never_a_false_zero() -> None:
    assert words.similarity.percent(0.0004) == "under 0.1%"
    assert words.similarity.percent(0.046) == "4.6%"
    assert words.similarity.percent(0.0) == "0.0%"
