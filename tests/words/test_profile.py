import itertools

import numpy as np
import pytest

from clsviz import words
from clsviz.settings import Pooling
from clsviz.statistics import Profile, Reading, Readout, readings, unit
from clsviz.vectors import Vectors

N, WIDTH = 500, 24
RANDOM = np.random.default_rng(0)
LENGTHS = RANDOM.integers(3, 80, N)
FOLDS = RANDOM.permutation(np.arange(N) % 5)
CONSTANT = np.tile(unit(RANDOM.normal(size=(1, WIDTH))), (N, 1))
NOISE = RANDOM.normal(size=(N, WIDTH))
RANDOM_DIRECTIONS = unit(RANDOM.normal(size=(N, WIDTH)))
ENCODING = unit(CONSTANT + 0.02 * np.outer(LENGTHS - 40, unit(RANDOM.normal(size=(1, WIDTH)))) + 0.02 * NOISE)
"""Of norm 1; the direction holds the length."""


def profile_of(
    *layers: np.ndarray, mean: np.ndarray | None = None, pooler: np.ndarray | None = None, n: int = N, made: int = 10**6
) -> Profile:
    """What is read of [CLS] vectors after every layer, in so many steps at most; the other poolings are as they are."""
    cls = np.stack(layers)[:, :n]
    pooled = np.stack([cls, cls if mean is None else np.stack([mean] * len(cls))[:, :n], cls]).astype(np.float32)
    pooler = None if pooler is None else pooler[:n].astype(np.float32)
    vectors = Vectors.pack(LENGTHS[:n].astype(np.int32), np.zeros(n, bool), pooled, pooler)
    *_, profile = itertools.islice(readings(vectors, np.arange(n), LENGTHS[:n], FOLDS[:n]), made)
    return profile


def r_squared(profile: Profile, layer: int | None, readout: Readout, pooling: Pooling = Pooling.CLS) -> str:
    reading = profile.get(pooling, layer, readout)
    assert isinstance(reading, Reading)
    assert reading.r_squared is not None
    return f"R² {reading.r_squared:.3f}" if reading.r_squared > 0 else "R² below 0"


def n_sentences(text: str) -> int:
    return text.replace("?", ".").count(". ") + 1


@pytest.mark.parametrize("spread", [0, 0.003])
def test_where_the_norm_is_the_length_it_is_the_norm_that_carries_it(spread: float) -> None:
    profile = profile_of(7 * CONSTANT, LENGTHS[:, None] * unit(CONSTANT + spread * NOISE))
    text = words.profile.paragraph(profile, "MiniLM")
    assert text.startswith(
        "Sentence length in tokens can almost entirely be predicted from the [CLS] vector of MiniLM, best after "
        f"the last layer ({r_squared(profile, 1, Readout.VECTOR)}, by a linear probe"
    )
    assert (
        f"the norm alone gives R² 1.000, while the direction alone {'does worse' if spread else 'gives no R²'}" in text
    )
    assert "length can be predicted from the norm rather than from the direction" in text
    assert "barely varies" not in text
    assert "much better than from the norm" not in text


def test_where_the_norm_is_the_length_and_the_direction_random_a_linear_probe_does_not_see_it() -> None:
    text = words.profile.paragraph(profile_of(7 * CONSTANT, LENGTHS[:, None] * RANDOM_DIRECTIONS), "MiniLM")
    assert "can hardly be predicted from the [CLS] vector of MiniLM after any layer" in text
    unseen = "which a linear probe of the whole vector does not pick up"
    assert f"But after the last layer the norm alone gives R² 1.000, {unseen}" in text


def test_where_the_direction_holds_the_length_it_is_not_the_norm() -> None:
    profile = profile_of(7 * CONSTANT, 7 * ENCODING)
    text = words.profile.paragraph(profile, "MiniLM")
    assert "can almost entirely be predicted" in text
    assert f"the direction alone does as well ({r_squared(profile, 1, Readout.DIRECTION)}), and the norm alone" in text
    assert (
        "the norm alone gives no R²: length can be predicted from the direction much better than from the norm." in text
    )
    noisy = profile_of(7 * CONSTANT, ENCODING * (7 + NOISE[:, :1] ** 2))
    text = words.profile.paragraph(noisy, "MiniLM")
    assert (
        f"and the norm alone gives {r_squared(noisy, 1, Readout.NORM)}: length can be predicted from the direction"
        in text
    )


def test_a_norm_that_holds_some_of_the_length_beside_the_direction() -> None:
    profile = profile_of(7 * CONSTANT, ENCODING * (7 + 0.01 * LENGTHS[:, None] + 0.25 * NOISE[:, :1]))
    text = words.profile.paragraph(profile, "MiniLM")
    assert 0.25 < float(r_squared(profile, 1, Readout.NORM).removeprefix("R² ")) < 0.6
    assert "length can be predicted from the direction alone, and partly from the norm alone." in text


def test_where_norm_and_direction_both_hold_it_either_does_and_a_small_spread_is_told() -> None:
    profile = profile_of(7 * CONSTANT, ENCODING * (7 + 1e-5 * LENGTHS[:, None]))
    text = words.profile.paragraph(profile, "MiniLM")
    assert "though it barely varies (standard deviation 2.3 × 10⁻⁴, around a mean of 7.00): either one predicts" in text
    wide = words.profile.paragraph(profile_of(7 * CONSTANT, ENCODING * (7 + 0.1 * LENGTHS[:, None])), "MiniLM")
    assert "either one predicts length without the other" in wide
    assert "barely varies" not in wide


def test_of_noise_nothing_is_read() -> None:
    profile = profile_of(NOISE, NOISE[::-1])
    text = words.profile.paragraph(profile, "MiniLM")
    assert profile.best is not None
    best = r_squared(profile, profile.best.layer, Readout.VECTOR)
    assert f"can hardly be predicted from the [CLS] vector of MiniLM after any layer: {best} at best" in text
    assert "Its norm does no better: R² 0.0" in text
    assert "from the direction" not in text
    assert "embedding layer" not in text


def test_the_length_that_is_lost_on_the_way_to_the_last_layer() -> None:
    half = 0.5 * ENCODING + 0.3 * RANDOM_DIRECTIONS
    profile = profile_of(7 * CONSTANT, 7 * ENCODING, half, NOISE, mean=7 * ENCODING, pooler=np.tanh(NOISE))
    text = words.profile.paragraph(profile, "MiniLM", unit="words")
    assert "Sentence length in words can almost entirely be predicted" in text
    assert f"best after layer 1 ({r_squared(profile, 1, Readout.VECTOR)}" in text
    norm = r_squared(profile, None, Readout.NORM)
    last = r_squared(profile, None, Readout.VECTOR)
    assert f"After the last layer it can hardly be predicted ({last}), where the norm alone gives {norm}." in text
    assert "After layer 1, the direction alone does as well" in text
    mean = r_squared(profile, None, Readout.VECTOR, Pooling.MEAN)
    pooler = r_squared(profile, None, Readout.VECTOR, Pooling.POOLER)
    assert (
        f"Compared with [CLS] after the last layer ({last}), the mean of all token vectors does better ({mean})" in text
    )
    assert f" and the pooler output does no better ({pooler})." in text
    assert "At the embedding layer, [CLS] is the same for every sentence, as usual: only its own embedding" in text
    assert n_sentences(text) <= 6


def test_a_length_that_is_kept_is_said_to_be() -> None:
    profile = profile_of(7 * CONSTANT, 7 * ENCODING, 7 * ENCODING + 0.1 * NOISE)
    text = words.profile.paragraph(profile, "MiniLM")
    assert f"Little of that is lost by the last layer ({r_squared(profile, 2, Readout.VECTOR)})" in text
    assert "about as well" in text


def test_a_last_layer_that_is_constant_is_told() -> None:
    text = words.profile.paragraph(profile_of(7 * CONSTANT, 7 * ENCODING, 7 * CONSTANT), "MiniLM")
    assert "After the last layer it cannot be predicted: the vector is the same for all sentences" in text
    assert "Compared" not in text


def test_of_constant_vectors_nothing_can_be_read() -> None:
    text = words.profile.paragraph(profile_of(7 * CONSTANT, 3 * CONSTANT, mean=ENCODING), "MiniLM")
    assert text.startswith(
        "Length cannot be predicted from the [CLS] vector of MiniLM after any layer. The vector is the same for all"
    )
    assert (
        "Compared with [CLS] after the last layer (no R²), the mean of all token vectors does better (R² 0.99" in text
    )


def test_few_sentences() -> None:
    layers = (7 * CONSTANT, 7 * ENCODING)
    assert "That is only 40 sentences; take more for a firm answer." in words.profile.paragraph(
        profile_of(*layers, n=40), "MiniLM"
    )
    text = words.profile.paragraph(profile_of(CONSTANT + NOISE, ENCODING, n=119), "MiniLM")
    assert text.startswith("119 sentences are too few for firm figures with 24-dimensional vectors")
    assert "too few" not in words.profile.paragraph(profile_of(CONSTANT + NOISE, ENCODING, n=120), "MiniLM")
    text = words.profile.paragraph(profile_of(*layers, n=9), "MiniLM")
    assert "A probe needs at least 10 sentences, and there are only 9" in text
    assert "be predicted, best" not in text
    assert "from the direction" not in text


def test_a_model_of_one_layer_without_a_pooler() -> None:
    text = words.profile.paragraph(profile_of(NOISE, 7 * ENCODING), "tiny")
    assert "best after the last layer" in text
    assert "pooler" not in text
    assert "embedding" not in text
    only = words.profile.paragraph(profile_of(7 * ENCODING), "tiny")
    assert "best at the embedding layer" in only


def test_what_is_not_read_yet_is_not_told() -> None:
    layers = (7 * CONSTANT, 7 * ENCODING, NOISE)
    n_norms = 9
    begun = words.profile.paragraph(profile_of(*layers, made=1), "MiniLM")
    assert begun == (
        "How well length can be predicted from the [CLS] vector of MiniLM is not known yet. "
        "So far, 1 of 21 readings are done."
    )
    norms = profile_of(*layers, made=n_norms)
    text = words.profile.paragraph(norms, "MiniLM")
    assert f"Its norm does best after the last layer: the norm alone gives {r_squared(norms, 2, Readout.NORM)}" in text
    two_layers = words.profile.paragraph(profile_of(*layers, made=n_norms + 2), "MiniLM")
    assert "best among the layers done so far after layer 1" in two_layers
    assert "last layer" not in two_layers
    assert "direction" not in two_layers
    assert "11 of 21" in two_layers
    vectors = words.profile.paragraph(profile_of(*layers, made=n_norms + 3), "MiniLM")
    assert "After the last layer it can hardly be predicted" in vectors
    assert "so far, after" not in vectors
    assert "direction" not in vectors
    for made in range(1, 22):
        text = words.profile.paragraph(profile_of(*layers, made=made), "MiniLM")
        assert ("So far," in text) == (made < 21)
        assert "None" not in text
        assert "nan" not in text


def test_little_is_not_told_as_all_of_a_little() -> None:
    """A norm that holds 0.02 of the length does not do what a vector of 0.07 does."""
    step = {readout: (Pooling.CLS, 1, readout) for readout in Readout}
    made = {
        step[Readout.NORM]: Reading(*step[Readout.NORM], 0.02, (0.02,), norm_mean=7.0, norm_sd=1.0),
        step[Readout.VECTOR]: Reading(*step[Readout.VECTOR], 0.07, (0.07,)),
        step[Readout.DIRECTION]: Reading(*step[Readout.DIRECTION], 0.03, (0.03,)),
    }
    text = words.profile.paragraph(Profile(1000, 8, 2, False, made), "MiniLM")
    assert "can only weakly be predicted" in text
    assert "neither alone does as well as the whole vector" in text


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (-3.0, "hardly"),
        (0.04, "hardly"),
        (0.05, "only weakly"),
        (0.3, "partly"),
        (0.6, "largely"),
        (0.9, "almost entirely"),
    ],
)
def test_strengths_in_words(value: float, word: str) -> None:
    assert words.profile.strength(value) == word
