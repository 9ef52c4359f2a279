import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clsviz.settings import Pooling
from clsviz.statistics.probes import Sentences, travel
from clsviz.statistics.ridge import STRENGTHS, ridge_probe
from clsviz.vectors import Vectors

RANDOM = np.random.default_rng(0)
WIDTH = 12
ALONG, OTHER = RANDOM.normal(size=(2, WIDTH))


def sentences(n: int, *along: np.ndarray, mean: int = 20) -> Sentences:
    """Vectors whose length stands in one direction per layer, kept in 16 bits."""
    lengths = RANDOM.integers(mean - 15, mean + 15, n)
    layers = np.stack([0.1 * np.outer(lengths, direction) + RANDOM.normal(size=(n, WIDTH)) for direction in along])
    pooled = np.stack([layers] * 3).astype(np.float32)
    vectors = Vectors.pack(lengths.astype(np.int32), np.zeros(n, bool), pooled)
    return Sentences(vectors, np.arange(n), lengths, np.arange(n) % 5)


def test_a_direction_that_both_corpora_share_travels_and_another_does_not() -> None:
    here, there = sentences(300, ALONG, ALONG), sentences(200, ALONG, OTHER, mean=40)
    first, found = travel(here, there, Pooling.CLS)
    assert not first.is_complete
    assert found.is_complete
    shared, other = found.legs
    assert shared.across_r_squared > 0.5
    assert other.across_r_squared < 0 < 0.5 < other.there_r_squared
    for leg in found.legs:
        x, z = (of.vectors.of(Pooling.CLS, leg.layer) for of in (here, there))
        pipeline = make_pipeline(StandardScaler(), RidgeCV(STRENGTHS)).fit(x, here.lengths)
        predicted = pipeline.predict(z)
        assert leg.across_r_squared == pytest.approx(r2_score(there.lengths, predicted), abs=1e-3)
        assert leg.across_error == pytest.approx(mean_absolute_error(there.lengths, predicted), rel=1e-3)
        assert leg.within_error == ridge_probe(x, here.lengths, here.folds).error
        assert leg.there_error == ridge_probe(z, there.lengths, there.folds).error
    assert found.guess_error_across == pytest.approx(np.abs(there.lengths - here.lengths.mean()).mean())
    assert found.guess_error_across > 15 > 8 > found.guess_error_there


def test_only_the_sentences_that_are_used_are_read() -> None:
    here, there = sentences(300, ALONG), sentences(200, ALONG)
    half = np.arange(0, 200, 2)
    few = Sentences(there.vectors, half, there.lengths[half], np.arange(100) % 5)
    (found,) = travel(here, few, Pooling.MEAN)
    assert (found.n, found.n_there) == (300, 100)
    (whole,) = travel(here, there, Pooling.MEAN)
    assert found.legs[0].across_error != whole.legs[0].across_error
    assert found.legs[0].within_error == whole.legs[0].within_error


def test_what_cannot_be_read_is_missing() -> None:
    here = sentences(300, 0 * ALONG)
    constant = Vectors.pack(here.vectors.n_tokens, here.vectors.truncated, np.ones((3, 1, 300, WIDTH), np.float32))
    (found,) = travel(Sentences(constant, here.index, here.lengths, here.folds), here, Pooling.CLS)
    assert np.isnan([found.legs[0].within_r_squared, found.legs[0].across_error, found.legs[0].there_error]).all()
    few = Sentences(here.vectors, here.index[:4], here.lengths[:4], here.folds[:4])
    (found,) = travel(here, few, Pooling.CLS)
    assert np.isfinite(found.legs[0].within_r_squared)
    assert np.isnan(found.legs[0].across_r_squared)
