import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

from clsviz import words
from clsviz.experiment import Experiment
from clsviz.settings import Lengths, Pooling, Unit
from clsviz.statistics.probes import Profile, Reading, Readout, readings
from clsviz.statistics.ridge import unit
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


def off_by(profile: Profile, layer: int | None, readout: Readout, unit: str = "tokens") -> str:
    """The error of a reading, computed from its predictions or from a line through all sentences."""
    reading = profile.get(Pooling.CLS, layer, readout)
    assert reading is not None
    if reading.predictions is None:
        return f"{reading.error:.1f} {unit}"
    error = np.abs(reading.predictions - LENGTHS[: profile.n]).mean()
    return f"{error:.1f} {unit}" if error >= 0.05 else f"less than 0.1 {unit}"


def said(profile: Profile, unit: str = "tokens") -> str:
    """The answer with the rest."""
    return " ".join([words.profile.in_brief(profile, "MiniLM", unit), *words.profile.details(profile, unit)])


def n_sentences(text: str) -> int:
    return text.replace("?", ".").count(". ") + 1


GUESS = f"{np.abs(LENGTHS - LENGTHS.mean()).mean():.1f}"


@pytest.mark.parametrize("spread", [0, 0.003])
def test_where_the_norm_is_the_length_a_line_on_it_reads_it_and_a_probe_of_the_direction_less(spread: float) -> None:
    profile = profile_of(7 * CONSTANT, LENGTHS[:, None] * unit(CONSTANT + spread * NOISE))
    answer = words.profile.in_brief(profile, "MiniLM")
    assert answer.startswith(
        "A linear probe of the [CLS] vector of MiniLM predicts the length of held-out sentences best after the last "
        f"layer: it misses by {off_by(profile, 1, Readout.VECTOR)} on average, where guessing the mean length misses "
        f"by {GUESS} ({r_squared(profile, 1, Readout.VECTOR)}). There, a straight line on the norm alone misses by "
        "less than 0.1 tokens (R² 1.000)."
    )
    rest = " ".join(words.profile.details(profile))
    assert "a straight line on the norm reads R² 1.000" in rest
    assert ("reads less than one of the whole vector" in rest) == (spread > 0)
    assert ("Its direction gives no R²: The direction is the same for all" in rest) == (spread == 0)
    assert "barely varies" not in rest
    assert "tell the two apart" not in rest


def test_where_the_norm_is_the_length_and_the_direction_random_a_linear_probe_does_not_see_it() -> None:
    text = said(profile_of(7 * CONSTANT, LENGTHS[:, None] * RANDOM_DIRECTIONS))
    assert "A linear probe hardly predicts the length of held-out sentences from the [CLS] vector of MiniLM" in text
    misses = "which a linear probe of the whole vector misses."
    assert f"But after the last layer a straight line on the norm reads R² 1.000, {misses}" in text


def layer_norm_outputs(shift: float) -> np.ndarray:
    """Gain times z plus bias, where z has a mean of 0, a variance of 1, and the length in one direction."""
    gain, bias = RANDOM.uniform(0.9, 1.1, WIDTH), 3 * RANDOM.normal(size=WIDTH)
    along = unit(RANDOM.normal(size=(1, WIDTH)))
    z = unit(RANDOM.normal(size=(N, WIDTH))) * 3 + shift * (LENGTHS[:, None] - 40) * along
    z = (z - z.mean(axis=1, keepdims=True)) / z.std(axis=1, keepdims=True)
    vectors: np.ndarray = gain * z + bias
    return vectors


def test_a_layer_norms_direction_is_not_said_to_exclude_the_norm() -> None:
    """“The direction and not the norm” would be false: the norm of these follows from their direction."""
    profile = profile_of(7 * CONSTANT, layer_norm_outputs(0.1))
    direction = profile.get(Pooling.CLS, 1, Readout.DIRECTION)
    norm = profile.get(Pooling.CLS, 1, Readout.NORM)
    assert direction is not None
    assert norm is not None
    assert (norm.r_squared or 0.0) < (direction.r_squared or 0.0) - 0.3
    assert direction.norm_r_squared > 0.9
    text = said(profile)
    assert (
        f"the direction alone reads about as much as one of the whole vector: it misses by {direction.error:.1f}"
        in text
    )
    assert f"There, a straight line on the norm reads {r_squared(profile, 1, Readout.NORM)}." in text
    assert (
        "That does not tell the two apart: a linear probe reads the norm itself from the direction as well (R² "
        f"{direction.norm_r_squared:.4f})." in text
    )
    for claim in ("rather than", "much better than from the norm", "without the other", "carries", "encodes"):
        assert claim not in text


def test_a_norm_that_is_independent_of_the_direction_is_said_not_to_be_read_from_it() -> None:
    profile = profile_of(7 * CONSTANT, ENCODING * (7 + NOISE[:, :1] ** 2))
    text = said(profile)
    assert "A linear probe hardly reads the norm itself from the direction (R² 0.0" in text
    assert f"There, a straight line on the norm reads {r_squared(profile, 1, Readout.NORM)}." in text


def test_a_norm_that_is_the_same_for_all_is_told() -> None:
    text = said(profile_of(7 * CONSTANT, 7 * ENCODING))
    assert "reads about as much as one of the whole vector" in text
    assert "There, the norm is the same for all 500 sentences" in text
    assert "tell the two apart" not in text


@pytest.mark.parametrize(
    ("value", "said_of_it"),
    [(0.02, "hardly reads the norm itself"), (0.3, "reads only some of the norm itself"), (0.6, "does not tell the")],
)
def test_a_norm_that_is_read_in_part_is_not_said_to_be_unread(value: float, said_of_it: str) -> None:
    profile = profile_of(7 * CONSTANT, ENCODING * (7 + NOISE[:, :1] ** 2))
    key = (Pooling.CLS, 1, Readout.DIRECTION)
    readings = dict(profile.readings) | {key: replace(profile.readings[key], norm_r_squared=value)}
    assert f"{said_of_it}" in said(replace(profile, readings=readings))


def test_a_small_spread_is_told() -> None:
    assert (
        "a straight line on the norm reads R² 1.000, though the norm barely varies (standard deviation 2.3 × 10⁻⁴, "
        "around a mean of 7.00)." in said(profile_of(7 * CONSTANT, ENCODING * (7 + 1e-5 * LENGTHS[:, None])))
    )
    assert "barely varies" not in said(profile_of(7 * CONSTANT, ENCODING * (7 + 0.1 * LENGTHS[:, None])))


def test_of_noise_a_line_reads_nothing_and_no_more_is_claimed() -> None:
    profile = profile_of(NOISE, NOISE[::-1])
    text = said(profile)
    assert profile.best is not None
    best = r_squared(profile, profile.best.layer, Readout.VECTOR)
    assert f"from the [CLS] vector of MiniLM, after any layer: {best} at best." in text
    assert "A straight line on its norm reads R² 0.0" in text
    assert "hardly better than guessing on the mean" in text
    assert "direction" not in text
    assert "embedding layer" not in text


def test_a_norm_that_is_a_u_of_the_length_is_said_to_give_no_line_and_not_to_tell_nothing() -> None:
    """“Nor does its norm tell more” would be false: this norm tells the length up to its side of the mean."""
    far = np.abs(LENGTHS - LENGTHS.mean())
    text = said(profile_of(7 * CONSTANT, (1 + far[:, None]) * RANDOM_DIRECTIONS))
    assert "A straight line on its norm reads R² 0.0" in text
    for claim in ("does no better", "tell more", "no more"):
        assert claim not in text.split("Compared")[0]


def test_of_few_sentences_of_noise_nothing_is_promised_and_nothing_ruled_out() -> None:
    """“With more sentences, probes predict better” would be false: of noise they never do."""
    few, many = profile_of(NOISE, NOISE[::-1], n=110), profile_of(NOISE, NOISE[::-1])
    for profile in (few, many):
        assert profile.best is not None
        assert (profile.best.r_squared or 0.0) < 0.05
    text = said(few)
    assert "but 110 sentences are too few for 24 dimensions to rule it out." in text
    assert "a probe may miss what it would find with more" in text
    assert "better" not in text.split("Compared")[0]
    assert "rule it out" not in said(many)


@pytest.mark.parametrize("n", [4, 9, 12, 99])
def test_a_few_sentences_are_not_tested_whatever_their_vectors_hold(n: int) -> None:
    """“After no layer can the length be read” would be false of 12 sentences: these vectors hold it."""
    assert "misses by" in said(profile_of(7 * CONSTANT, ENCODING))
    profile = profile_of(7 * CONSTANT, ENCODING, n=n)
    answer = words.profile.in_brief(profile, "MiniLM")
    assert answer == (
        f"Not tested: {n} sentences are too few to tell whether a linear probe predicts the length. "
        "It takes at least 100."
    )
    rest = " ".join(words.profile.details(profile))
    assert ("A probe needs at least 10 sentences, and there are only" in rest) == (n < 10)
    assert ("say little" in rest) == (n >= 10)
    assert "Compared" not in rest
    assert "hardly" not in rest


def test_the_length_that_is_read_worse_after_the_last_layer() -> None:
    half = 0.5 * ENCODING + 0.3 * RANDOM_DIRECTIONS
    profile = profile_of(7 * CONSTANT, 7 * ENCODING, half, NOISE, mean=7 * ENCODING, pooler=np.tanh(NOISE))
    answer = words.profile.in_brief(profile, "MiniLM", "words")
    assert f"best after layer 1: it misses by {off_by(profile, 1, Readout.VECTOR, 'words')} on average" in answer
    last, norm = r_squared(profile, None, Readout.VECTOR), r_squared(profile, None, Readout.NORM)
    assert answer.endswith(
        f"After the last layer it misses by {off_by(profile, 3, Readout.VECTOR, 'words')} ({last}), and a straight "
        f"line on the norm alone misses by {off_by(profile, 3, Readout.NORM, 'words')} ({norm})."
    )
    assert n_sentences(answer) == 2
    text = said(profile, "words")
    assert "After layer 1, a linear probe of the direction alone reads about as much" in text
    mean = r_squared(profile, None, Readout.VECTOR, Pooling.MEAN)
    pooler = r_squared(profile, None, Readout.VECTOR, Pooling.POOLER)
    assert (
        f"Compared with [CLS] after the last layer ({last}), a linear probe does better on the mean of all token "
        f"vectors ({mean}) and hardly better than guessing on the pooler output ({pooler})." in text
    )
    assert "At the embedding layer, [CLS] is the same for every sentence: only its own embedding" in text


def test_controls_stand_first_and_their_words_claim_no_more() -> None:
    profile = profile_of(NOISE, ENCODING)
    shuffled = Experiment(lengths=Lengths.SHUFFLED)
    answer = words.profile.answer(profile, shuffled)
    assert answer.startswith("Control, with lengths shuffled across sentences: a linear probe of the [CLS] vector")
    both = words.profile.answer(profile, replace(shuffled, model="untrained:minilm"))
    assert both.startswith("Control, with lengths shuffled across sentences and random weights: a linear probe")
    assert words.profile.answer(profile, Experiment()).startswith("A linear probe of the [CLS] vector of MiniLM-L6")
    assert words.profile.answer(None, Experiment()) == words.readings.FITTING


CONTROLS = {
    "": Experiment(),
    "Lengths shuffled: ": Experiment(lengths=Lengths.SHUFFLED),
    "Untrained: ": Experiment(model="untrained:minilm"),
    "Shuffled, untrained: ": Experiment(model="untrained:minilm", lengths=Lengths.SHUFFLED),
}


FADING = 0.5 * ENCODING + 0.05 * RANDOM_DIRECTIONS
"""Of which a probe reads about half as well as of ENCODING."""


def with_length(strength: float, seed: int = 0) -> np.ndarray:
    """Vectors in which the length shows so much beside noise."""
    random = np.random.default_rng(seed)
    vectors: np.ndarray = random.normal(size=(N, WIDTH))
    vectors[:, 0] += strength * (LENGTHS - LENGTHS.mean()) / LENGTHS.std()
    return vectors


@pytest.mark.parametrize(
    ("layers", "headline"),
    [
        (
            (7 * CONSTANT, with_length(9), NOISE),
            r"Yes, but it fades: after layer 1, a linear probe misses length by only [\d.]+ tokens\.",
        ),
        (
            (with_length(9), 7 * CONSTANT),
            r"Yes, but it fades: at the embeddings, a linear probe misses length by only [\d.]+ tokens\.",
        ),
        ((7 * CONSTANT, with_length(40), with_length(9)), "Yes, but it fades: after layer 1, "),
        (
            (7 * CONSTANT, with_length(9), with_length(8)),
            r"Yes, to the last layer: there a linear probe misses length by [\d.]+ tokens\.",
        ),
        ((7 * CONSTANT, with_length(400), with_length(190)), "Yes, to the last layer: "),  # both to the token
        (
            (7 * CONSTANT, with_length(1.5), NOISE),
            r"Largely: a linear probe misses length by [\d.]+ tokens after layer 1\.",
        ),
        (
            (7 * CONSTANT, NOISE, with_length(0.8)),
            r"Partly: a linear probe misses length by [\d.]+ tokens after layer 2\.",
        ),
        ((7 * CONSTANT, with_length(0.5), NOISE), r"A little: after layer 1, a linear probe beats guessing somewhat\."),
        ((LENGTHS[:, None] * RANDOM_DIRECTIONS, NOISE), r"A linear probe hardly finds it; a line on a norm does\."),
        (
            (NOISE, NOISE[::-1]),
            r"Hardly: with this many sentences, a linear probe finds almost no length in the \[CLS\] vector, after any "
            r"layer\.",
        ),
        ((7 * CONSTANT, 3 * CONSTANT), r"Can’t tell: the vector is the same for all sentences\."),
    ],
)
def test_each_headline_is_said_of_what_it_is_true_of(layers: tuple[np.ndarray, ...], headline: str) -> None:
    profile = profile_of(*layers)
    said = words.headline.answer(profile, Experiment())
    assert re.match(headline, said), said
    error = re.search(r"misses length by (?:only )?([\d.]+) tokens", said)
    if error:
        at = profile.get(Pooling.CLS, None, Readout.VECTOR) if "last layer" in said else profile.best
        assert at is not None
        assert at.predictions is not None
        assert float(error[1]) == pytest.approx(np.abs(at.predictions - LENGTHS).mean(), abs=0.05)


def test_the_line_below_the_headline_has_the_numbers() -> None:
    profile = profile_of(7 * CONSTANT, 7 * ENCODING, FADING)
    last, norm = (profile.get(Pooling.CLS, 2, readout) for readout in (Readout.VECTOR, Readout.NORM))
    assert last is not None
    assert norm is not None
    assert words.headline.in_numbers(profile, Experiment(length_cutoff=90, unit=Unit.WORDS)) == (
        f"{last.error:.1f} words after the last layer · guessing {GUESS} · a line on the last norm {norm.error:.1f} · "
        f"{r_squared(profile, 1, Readout.VECTOR)} at best, {last.r_squared:.3f} after the last layer, "
        f"{norm.r_squared:.3f} of the last norm · 500 sentences under 90 tokens"
    )
    constant = words.headline.in_numbers(profile_of(7 * ENCODING, 7 * CONSTANT), Experiment())
    assert "norm" not in constant
    assert "after the last" not in constant
    paragraphs = words.profile.in_full(profile, Experiment())
    assert paragraphs[0].startswith("A linear probe of the [CLS] vector of MiniLM-L6 predicts the length")
    assert paragraphs[1:] == words.profile.details(profile)


def test_the_headline_is_of_the_vector_that_is_chosen() -> None:
    profile = profile_of(7 * CONSTANT, 7 * ENCODING, NOISE, mean=with_length(9), pooler=with_length(1.5))
    for pooling, start in (
        (Pooling.CLS, "Yes, but it fades: after layer 1, "),
        (Pooling.MEAN, "Yes, to the last layer: there a linear probe misses length by "),
        (Pooling.POOLER, "Largely: a linear probe misses length by "),
    ):
        experiment = Experiment(pooling=pooling)
        best = profile.best_of(pooling)
        assert best is not None
        assert words.headline.answer(profile, experiment).startswith(start)
        assert f"R² {best.r_squared:.3f}" in words.headline.in_numbers(profile, experiment)
    nothing = profile_of(7 * CONSTANT, 7 * ENCODING, pooler=NOISE)
    assert words.headline.answer(nothing, Experiment(pooling=Pooling.POOLER)).endswith("in the pooler output.")


def test_what_other_sentences_might_take_away_is_not_told() -> None:
    """The best of several probes of nothing may reach R² 0.05 with a hundred sentences."""
    profile = profile_of(with_length(0.5), NOISE)
    assert profile.best is not None
    step = Pooling.CLS, 0, Readout.VECTOR
    by_chance = replace(profile.best, r_squared=0.06, interval=(-0.02, 0.12))
    said = words.headline.answer(replace(profile, readings={**profile.readings, step: by_chance}), Experiment())
    assert said.startswith("Hardly: ")


def test_a_direction_or_a_mean_is_better_or_worse_only_where_the_same_sentences_say_so() -> None:
    profile = profile_of(7 * CONSTANT, with_length(1), mean=with_length(2))
    assert "a linear probe does better on the mean" in " ".join(words.profile.details(profile))
    profile = profile_of(7 * CONSTANT, with_length(2), mean=with_length(1))
    assert "a linear probe does worse on the mean" in " ".join(words.profile.details(profile))
    profile = profile_of(7 * CONSTANT, with_length(1), mean=with_length(1, seed=1))
    assert "a linear probe does about as well on the mean" in " ".join(words.profile.details(profile))
    mean = profile.readings[Pooling.MEAN, 1, Readout.VECTOR]
    low, high = mean.beyond_cls or (1, 1)
    assert low < 0 < high
    nothing = profile_of(7 * CONSTANT, NOISE, mean=NOISE[::-1])
    assert "a linear probe does hardly better than guessing on the mean" in " ".join(words.profile.details(nothing))


def test_the_best_of_many_lines_on_nothing_is_no_finding() -> None:
    """Of 200 layers of noise some line has an R² that would be one alone, with so few sentences."""
    n = 110
    norms = np.random.default_rng(3).normal(10, 1, (200, n))
    r_squared = np.array([np.corrcoef(LENGTHS[:n], row)[0, 1] ** 2 for row in norms])
    best = norms[np.argmin(np.abs(r_squared - 0.07))]
    padded = np.concatenate([best, np.ones(N - n)])[:, None]
    profile = profile_of(padded * RANDOM_DIRECTIONS, NOISE, n=n)
    reading = profile.get(Pooling.CLS, 0, Readout.NORM)
    assert reading is not None
    assert 0.05 <= (reading.r_squared or 0) < 9.5 / n
    assert "norm" not in words.headline.answer(profile, Experiment())
    assert "misses" not in words.profile.in_brief(profile, "MiniLM")


def test_the_headline_says_what_cannot_be_said() -> None:
    assert words.headline.answer(None, Experiment()) == words.readings.FITTING
    assert words.headline.in_numbers(None, Experiment()) == ""
    few = words.headline.answer(profile_of(7 * CONSTANT, ENCODING, n=99), Experiment())
    assert few == "Can’t tell: 99 sentences are too few."
    assert words.headline.answer(Profile(0, 8, 2, False, {}), Experiment()) == "Can’t tell: there are no sentences."
    of_wide = words.headline.answer(profile_of(NOISE, NOISE[::-1], n=110), Experiment())
    assert of_wide == "Can’t tell: 110 sentences are few for 24 dimensions."
    unknown = profile_of(7 * CONSTANT, 7 * ENCODING, made=1)
    assert words.headline.answer(unknown, Experiment()) == words.readings.FITTING
    assert words.headline.in_numbers(unknown, Experiment()) == "500 sentences under 80 tokens"


def test_there_is_no_verdict_until_every_layer_was_read() -> None:
    layers = (7 * CONSTANT, 7 * ENCODING, NOISE)
    n_norms = 9
    for made in range(n_norms + 2, 22):
        profile = profile_of(*layers, made=made)
        is_read = None not in profile.line(Pooling.CLS, Readout.VECTOR)
        assert is_read == (made >= n_norms + 3)
        assert (words.headline.answer(profile, Experiment()) == words.readings.FITTING) != is_read
        assert words.headline.answer(profile, Experiment(pooling=Pooling.MEAN)) == words.readings.FITTING or made > 14
        assert ("after the last layer ·" in words.headline.in_numbers(profile, Experiment())) == is_read
        assert ("So far," in words.profile.in_full(profile, Experiment())[-1]) == (made < 21)


HEADLINE_CONTROLS = {
    "": Experiment(),
    "Lengths shuffled: ": Experiment(lengths=Lengths.SHUFFLED),
    "Random weights: ": Experiment(model="untrained:minilm"),
    "Lengths shuffled, random weights: ": Experiment(model="untrained:minilm", lengths=Lengths.SHUFFLED),
}


def test_the_headline_names_the_controls_and_is_at_most_20_words() -> None:
    hardly, by_norm = (NOISE, NOISE[::-1]), (LENGTHS[:, None] * RANDOM_DIRECTIONS, NOISE)
    by_probe, last = (7 * ENCODING, 7 * CONSTANT, NOISE), (7 * CONSTANT, LENGTHS[:, None] * CONSTANT)
    for layers, n, made in itertools.product((hardly, by_norm, by_probe, last), (N, 110), (7, 10, 10**6)):
        profile = profile_of(*layers, n=n, made=made)
        if not profile.is_read(Pooling.CLS):
            continue
        plain = words.headline.answer(profile, Experiment()).replace("with this many sentences, ", "")
        for controls, experiment in HEADLINE_CONTROLS.items():
            headline = words.headline.answer(profile, experiment)
            assert len(headline.split()) <= 20, headline
            assert headline.startswith(controls)
            assert controls == "" or headline == controls + plain[0].lower() + plain[1:]


def test_a_last_layer_that_is_constant_is_told() -> None:
    text = said(profile_of(7 * CONSTANT, 7 * ENCODING, 7 * CONSTANT))
    assert "After the last layer no probe could be fitted: the vector is the same for all sentences" in text
    assert "Compared" not in text


def test_to_constant_vectors_no_probe_is_fitted() -> None:
    text = said(profile_of(7 * CONSTANT, 3 * CONSTANT, mean=ENCODING))
    assert text.startswith(
        "No linear probe could be fitted to the [CLS] vector of MiniLM after any layer. The vector is the same for all"
    )
    better = "a linear probe does better on the mean of all token vectors (R² 0.99"
    assert f"Compared with [CLS] after the last layer (no R²), {better}" in text


def test_few_sentences_for_so_many_dimensions_are_told() -> None:
    text = said(profile_of(CONSTANT + NOISE, ENCODING, n=119))
    assert "119 sentences are few for vectors of 24 dimensions" in text
    assert "are few" not in said(profile_of(CONSTANT + NOISE, ENCODING, n=120))


def test_a_model_of_one_layer_without_a_pooler() -> None:
    text = said(profile_of(NOISE, 7 * ENCODING))
    assert "best after the last layer" in text
    assert "pooler" not in text
    assert "embedding" not in text
    assert "best at the embedding layer" in said(profile_of(7 * ENCODING))


def test_what_is_not_read_yet_is_not_told() -> None:
    layers = (7 * CONSTANT, 7 * ENCODING, NOISE)
    n_norms = 9
    assert said(profile_of(*layers, made=1)) == (
        "How well a linear probe predicts length from the [CLS] vector of MiniLM is not known yet. "
        "So far, 1 of 21 readings are done."
    )
    two_layers = said(profile_of(*layers, made=n_norms + 2))
    assert "best so far after layer 1" in two_layers
    assert "last layer" not in two_layers
    assert "direction" not in two_layers
    assert "11 of 21" in two_layers
    vectors = said(profile_of(*layers, made=n_norms + 3))
    assert "After the last layer it misses by" in vectors
    assert "so far after" not in vectors
    assert "direction" not in vectors
    for made in range(1, 22):
        text = said(profile_of(*layers, made=made))
        assert ("So far," in text) == (made < 21)
        assert "None" not in text
        assert "nan" not in text


def test_little_is_not_told_as_all_of_a_little() -> None:
    """A direction that reads 0.03 of the length does not do what a vector of 0.07 does."""
    step = {readout: (Pooling.CLS, 1, readout) for readout in Readout}
    made = {
        step[Readout.NORM]: Reading(*step[Readout.NORM], 0.02, (0.02,), norm_mean=7.0, norm_sd=1.0, error=9.0),
        step[Readout.VECTOR]: Reading(*step[Readout.VECTOR], 0.07, (0.07,), error=8.0),
        step[Readout.DIRECTION]: Reading(*step[Readout.DIRECTION], 0.03, (0.03,), error=8.5),
    }
    text = said(Profile(1000, 8, 2, False, made, guess_error=9.5))
    assert "it misses by 8.0 tokens on average, where guessing the mean length misses by 9.5 (R² 0.070)" in text
    assert "reads less than one of the whole vector: it misses by 8.5 tokens (R² 0.030)" in text


def test_copies_of_a_few_sentences_are_no_test() -> None:
    """Three hundred lines of six sentences: a probe has seen what it is tested on, or all but one of six lengths."""
    profile = replace(profile_of(7 * CONSTANT, ENCODING, n=300), n_clusters=6)
    answer = (
        "Not tested: 6 different sentences (of 300) are too few to tell whether a linear probe predicts the length. "
        "It takes at least 100."
    )
    assert words.profile.in_brief(profile, "MiniLM") == answer
    assert words.headline.answer(profile, Experiment()) == "Can’t tell: 6 different sentences (of 300) are too few."
    assert "R²" not in words.headline.in_numbers(profile, Experiment())
    assert "The figures below are those of 6 different sentences (of 300), and say little." in said(profile)
    nearly = replace(profile_of(7 * CONSTANT, ENCODING), n_clusters=110)
    assert "110 different sentences (of 500) are few for vectors of 24 dimensions" in said(nearly)


@pytest.mark.parametrize(("n", "said"), [(0, "there are no sentences."), (1, "1 sentence is too few to tell ")])
def test_hardly_any_sentences_are_counted_in_grammar(n: int, said: str) -> None:
    text = words.profile.in_brief(Profile(n, 8, 2, False, {}), "MiniLM")
    assert text.startswith(f"Not tested: {said}")


def test_of_one_length_it_is_not_concluded_that_the_vectors_are_one() -> None:
    """Their norm is the same, and no probe can be fitted: but because there is nothing to predict."""
    vectors = np.stack([7 * RANDOM_DIRECTIONS, NOISE])
    packed = Vectors.pack(np.full(N, 6, np.int32), np.zeros(N, bool), np.stack([vectors] * 3).astype(np.float32), None)
    *_, profile = readings(packed, np.arange(N), np.full(N, 6), FOLDS)
    text = said(profile)
    assert "All 500 sentences have the same length, so there is nothing to predict." in text
    assert "is the same for every sentence" not in text
    assert "At the embedding layer, [CLS] is the same for every sentence" in said(profile_of(7 * CONSTANT, ENCODING))
