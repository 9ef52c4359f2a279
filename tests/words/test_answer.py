from pathlib import Path

import numpy as np
import pytest

from clsviz import words
from clsviz.corpora import Corpus, Sample
from clsviz.experiment import Experiment
from clsviz.measuring import Found
from clsviz.models import Weights
from clsviz.settings import Pooling, Unit
from clsviz.statistics import fit, slices


def line(strength: float, n: int = 500, scale: float = 1.0) -> object:
    """A fit whose R² is about `strength`."""
    random = np.random.default_rng(0)
    lengths = random.integers(3, 80, n)
    standard = (lengths - lengths.mean()) / lengths.std()
    noise = random.normal(size=n)
    return fit(lengths, 10 + scale * (strength**0.5 * standard + (1 - strength) ** 0.5 * noise))


@pytest.mark.parametrize(
    ("strength", "word"),
    [(0.03, "Hardly"), (0.15, "Weakly"), (0.4, "Partly"), (0.75, "Largely"), (0.97, "Almost entirely")],
)
def test_the_answer_says_how_much(strength: float, word: str) -> None:
    answer = words.answer(line(strength), Experiment(), 600)
    assert answer.startswith(f"{word}, as far as a straight line can tell. Length explains ")
    assert "500 of 600 sentences, those under 80 tokens" in answer
    assert "hardly varies" not in answer
    assert "only" not in answer


def test_a_line_that_may_be_chance_is_not_called_weak() -> None:
    random = np.random.default_rng(1)
    by_chance = fit(random.integers(3, 80, 30), 10 + random.normal(size=30))
    assert by_chance.r_squared_interval[0] == 0
    answer = words.answer(by_chance, Experiment(), 30)
    assert answer.startswith("A straight line here cannot be told apart from chance. Length explains ")


def test_of_norms_that_are_a_u_of_the_length_only_the_line_is_denied() -> None:
    lengths = np.tile(np.arange(3, 60), 20)
    answer = words.answer(fit(lengths, 9 + ((lengths - 31) / 20) ** 2), Experiment(), len(lengths))
    assert answer.startswith("A straight line here cannot be told apart from chance.")


def test_the_numbers_of_the_answer_are_those_of_the_fit() -> None:
    found = line(0.4)
    low, high = found.r_squared_interval
    answer = words.answer(found, Experiment(), 500)
    assert f"{100 * found.r_squared:.1f}%" in answer
    assert f"(R² {found.r_squared:.3f}, 95% interval {low:.3f} to {high:.3f};" in answer


def test_a_norm_that_hardly_varies_is_said_to() -> None:
    answer = words.answer(line(0.6, scale=0.0002), Experiment(), 500)
    assert "the norm barely varies: its standard deviation is 2.0 × 10⁻⁴, around a mean of 10.00" in answer


def test_few_sentences_are_said_to_be_few() -> None:
    assert "only 40 sentences" in words.answer(line(0.1, n=40), Experiment(), 40)


@pytest.mark.parametrize(
    ("experiment", "question"),
    [
        (Experiment(), "Does MiniLM-L6 encode the length of a sentence in the norm of its [CLS]?"),
        (
            Experiment("google/electra-base", layer=3),
            "Does electra-base encode the length of a sentence in the norm of its [CLS] after layer 3?",
        ),
        (
            Experiment(layer=0),
            "Does MiniLM-L6 encode the length of a sentence in the norm of its [CLS] at the embedding layer?",
        ),
        (
            Experiment("bert-base-uncased", pooling=Pooling.POOLER),
            "Does BERT base, uncased encode the length of a sentence in the norm of its pooler output?",
        ),
    ],
)
def test_the_question_names_model_and_vector(experiment: Experiment, question: str) -> None:
    assert words.question(experiment) == question


def test_the_axis_is_called_as_in_the_original() -> None:
    assert words.axis_title(Experiment().view) == "Norm of the [CLS] embedding"
    assert words.axis_title(Experiment(layer=2).view) == "Norm of the [CLS] embedding, layer 2"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7.53164, "7.5316"),
        (-0.0049, "−0.0049"),
        (0.0, "0.0000"),
        (0.00049, "4.9 × 10⁻⁴"),
        (-1.234e-12, "−1.2 × 10⁻¹²"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert words.number(value) == text


def test_signed_numbers() -> None:
    assert words.number(0.25, sign="+") == "+0.2500"
    assert words.number(-0.25, sign="+") == "−0.2500"
    assert words.number(0.2549, digits=2) == "0.25"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (8.4, "8 s"), (89, "89 s"), (95, "2 min"), (3600, "60 min"), (9000, "2.5 h")]
)
def test_durations(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


def test_the_other_direction_in_words() -> None:
    lengths = np.concatenate([np.full(500, 5), np.arange(10, 60).repeat(20), np.full(500, 8)])
    norms = np.concatenate([np.linspace(1, 2, 500), np.linspace(5, 6, 1000), np.linspace(9, 10, 500)])
    text = words.lengths_at_norms(slices(lengths, norms), Unit.TOKENS)
    assert "of the 1% of sentences with the lowest norms" in text
    assert "nine in ten are 5 to 5 tokens long" in text
    assert "of the middle half, 12 to 57" in text
    assert "too few" in words.lengths_at_norms(slices([1, 2], [3, 4]), Unit.TOKENS)


def of(experiment: Experiment) -> Found:
    """What is found where names already say which commit they mean."""
    weights = Weights(experiment.model, "", Path(), "")
    corpus = Corpus(experiment.selection, "", "", None, experiment.corpus)
    return Found(weights, Sample(corpus, [], ""))


def test_the_command_measures_the_same() -> None:
    experiment = Experiment(model="/a folder/it's", sample_size=50, layer=0)
    assert words.command(experiment, of(experiment)) == (
        "python -m clsviz measure --model '/a folder/it'\"'\"'s' --sample-size 50 --layer 0"
    )
    assert words.command(Experiment(), of(Experiment())) == "python -m clsviz measure"
