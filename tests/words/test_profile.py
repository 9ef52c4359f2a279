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
        "The length of a sentence in tokens can almost entirely be read from the [CLS] vector of MiniLM, best after "
        f"the last layer ({r_squared(profile, 1, Readout.VECTOR)}, by a linear probe"
    )
    assert "the norm alone gives R² 1.000, and the direction alone gives" in text
    assert "it is the norm that carries the length" in text
    assert "hardly varies" not in text
    assert "not the norm" not in text


def test_where_the_norm_is_the_length_and_the_direction_random_a_linear_probe_does_not_see_it() -> None:
    text = words.profile.paragraph(profile_of(7 * CONSTANT, LENGTHS[:, None] * RANDOM_DIRECTIONS), "MiniLM")
    assert "can hardly be read from the [CLS] vector of MiniLM after any layer" in text
    assert (
        "But after the last layer the norm alone gives R² 1.000, which a linear probe of the vector cannot see" in text
    )


def test_where_the_direction_holds_the_length_it_is_not_the_norm() -> None:
    profile = profile_of(7 * CONSTANT, 7 * ENCODING)
    text = words.profile.paragraph(profile, "MiniLM")
    assert "can almost entirely be read" in text
    assert f"the direction alone gives as much ({r_squared(profile, 1, Readout.DIRECTION)}), and the norm alone" in text
    assert "the norm alone gives nothing: it is the direction that carries the length, not the norm." in text
    noisy = profile_of(7 * CONSTANT, ENCODING * (7 + NOISE[:, :1] ** 2))
    text = words.profile.paragraph(noisy, "MiniLM")
    assert f"and the norm alone gives {r_squared(noisy, 1, Readout.NORM)}: it is the direction that carries" in text


def test_a_norm_that_holds_some_of_the_length_beside_the_direction() -> None:
    profile = profile_of(7 * CONSTANT, ENCODING * (7 + 0.01 * LENGTHS[:, None] + 0.25 * NOISE[:, :1]))
    text = words.profile.paragraph(profile, "MiniLM")
    assert 0.25 < float(r_squared(profile, 1, Readout.NORM).removeprefix("R² ")) < 0.6
    assert "the direction holds the length without the norm, and the norm partly." in text


def test_where_norm_and_direction_both_hold_it_either_does_and_a_small_spread_is_told() -> None:
    profile = profile_of(7 * CONSTANT, ENCODING * (7 + 1e-5 * LENGTHS[:, None]))
    text = words.profile.paragraph(profile, "MiniLM")
    assert "though it hardly varies (standard deviation 2.3 × 10⁻⁴, around 7.00): either holds the length" in text
    wide = words.profile.paragraph(profile_of(7 * CONSTANT, ENCODING * (7 + 0.1 * LENGTHS[:, None])), "MiniLM")
    assert "either holds the length without the other" in wide
    assert "hardly varies" not in wide


def test_of_noise_nothing_is_read() -> None:
    profile = profile_of(NOISE, NOISE[::-1])
    text = words.profile.paragraph(profile, "MiniLM")
    assert profile.best is not None
    best = r_squared(profile, profile.best.layer, Readout.VECTOR)
    assert f"can hardly be read from the [CLS] vector of MiniLM after any layer: {best} at best" in text
    assert "Nor does its norm tell more: R² 0.0" in text
    assert "carries" not in text
    assert "embedding layer" not in text


def test_the_length_that_is_lost_on_the_way_to_the_last_layer() -> None:
    half = 0.5 * ENCODING + 0.3 * RANDOM_DIRECTIONS
    profile = profile_of(7 * CONSTANT, 7 * ENCODING, half, NOISE, mean=7 * ENCODING, pooler=np.tanh(NOISE))
    text = words.profile.paragraph(profile, "MiniLM", unit="words")
    assert "The length of a sentence in words can almost entirely be read" in text
    assert f"best after layer 1 ({r_squared(profile, 1, Readout.VECTOR)}" in text
    norm = r_squared(profile, None, Readout.NORM)
    last = r_squared(profile, None, Readout.VECTOR)
    assert f"It can hardly be read after the last layer ({last}), where the norm alone gives {norm}." in text
    assert "After layer 1, the direction alone gives as much" in text
    mean = r_squared(profile, None, Readout.VECTOR, Pooling.MEAN)
    pooler = r_squared(profile, None, Readout.VECTOR, Pooling.POOLER)
    assert f"Beside [CLS] after the last layer ({last}), the mean of all tokens’ vectors gives more ({mean})" in text
    assert f" and the pooler output gives no more ({pooler})." in text
    assert "At the embedding layer [CLS] is the same for all sentences, as is usual: only its position" in text
    assert n_sentences(text) <= 6


def test_a_length_that_is_kept_is_said_to_be() -> None:
    profile = profile_of(7 * CONSTANT, 7 * ENCODING, 7 * ENCODING + 0.1 * NOISE)
    text = words.profile.paragraph(profile, "MiniLM")
    assert f"Little of that is lost up to the last layer ({r_squared(profile, 2, Readout.VECTOR)})" in text
    assert "about as much" in text


def test_a_last_layer_that_is_constant_is_told() -> None:
    text = words.profile.paragraph(profile_of(7 * CONSTANT, 7 * ENCODING, 7 * CONSTANT), "MiniLM")
    assert "After the last layer it cannot be read: the vector is the same for all sentences" in text
    assert "Beside" not in text


def test_of_constant_vectors_nothing_can_be_read() -> None:
    text = words.profile.paragraph(profile_of(7 * CONSTANT, 3 * CONSTANT, mean=ENCODING), "MiniLM")
    assert text.startswith(
        "After no layer can the length be read from the [CLS] vector of MiniLM. The vector is the same for all"
    )
    assert "Beside [CLS] after the last layer (nothing), the mean of all tokens’ vectors gives more (R² 0.99" in text


def test_few_sentences() -> None:
    layers = (7 * CONSTANT, 7 * ENCODING)
    assert "These are only 40 sentences: take more for a firm answer." in words.profile.paragraph(
        profile_of(*layers, n=40), "MiniLM"
    )
    text = words.profile.paragraph(profile_of(CONSTANT + NOISE, ENCODING, n=119), "MiniLM")
    assert text.startswith("These are only 119 sentences for the 24 components of a vector, too few for firm figures")
    assert "only" not in words.profile.paragraph(profile_of(CONSTANT + NOISE, ENCODING, n=120), "MiniLM")
    text = words.profile.paragraph(profile_of(*layers, n=9), "MiniLM")
    assert "A probe needs at least 10 sentences, and there are only 9" in text
    assert "be read best" not in text
    assert "carries" not in text


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
        "How well the length can be read from the [CLS] vector of MiniLM is not known yet. "
        "This is what is known so far: 1 of 21 readings are made."
    )
    norms = profile_of(*layers, made=n_norms)
    text = words.profile.paragraph(norms, "MiniLM")
    assert f"most can be read after the last layer: the norm alone gives {r_squared(norms, 2, Readout.NORM)}" in text
    two_layers = words.profile.paragraph(profile_of(*layers, made=n_norms + 2), "MiniLM")
    assert "best, of the layers read so far, after layer 1" in two_layers
    assert "last layer" not in two_layers
    assert "direction" not in two_layers
    assert "11 of 21" in two_layers
    vectors = words.profile.paragraph(profile_of(*layers, made=n_norms + 3), "MiniLM")
    assert "hardly be read after the last layer" in vectors
    assert "so far, after" not in vectors
    assert "direction" not in vectors
    for made in range(1, 22):
        text = words.profile.paragraph(profile_of(*layers, made=made), "MiniLM")
        assert ("known so far" in text) == (made < 21)
        assert "None" not in text
        assert "nan" not in text


def test_little_is_not_told_as_all_of_a_little() -> None:
    """A norm that holds 0.02 of the length does not carry what a vector of 0.07 holds."""
    step = {readout: (Pooling.CLS, 1, readout) for readout in Readout}
    made = {
        step[Readout.NORM]: Reading(*step[Readout.NORM], 0.02, (0.02,), norm_mean=7.0, norm_sd=1.0),
        step[Readout.VECTOR]: Reading(*step[Readout.VECTOR], 0.07, (0.07,)),
        step[Readout.DIRECTION]: Reading(*step[Readout.DIRECTION], 0.03, (0.03,)),
    }
    text = words.profile.paragraph(Profile(1000, 8, 2, False, made), "MiniLM")
    assert "can weakly be read" in text
    assert "neither holds alone what the vector holds" in text


@pytest.mark.parametrize(
    ("value", "word"),
    [(-3.0, "hardly"), (0.04, "hardly"), (0.05, "weakly"), (0.3, "partly"), (0.6, "largely"), (0.9, "almost entirely")],
)
def test_strengths_in_words(value: float, word: str) -> None:
    assert words.profile.strength(value) == word
