from dataclasses import replace

import numpy as np
import pytest

from clsviz.analysis.layers import MOST_ADDED, MOST_DRAWN, every_layer, with_others
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.measurements import Measurements
from clsviz.settings import Lengths, Pooling, Precision
from clsviz.sources.sampling import Sample


def measured(n: int = 900) -> Measurements:
    """Made up: constant embeddings, then norms that follow length, then norms that do not; every tenth is truncated."""
    random = np.random.default_rng(3)
    lengths = random.integers(2, 60, n).astype(np.int32)
    noise = random.normal(size=(2, n))
    norms = np.stack([np.full(n, 7.25), 8 + 0.05 * lengths + noise[0], 1e3 + 1e-2 * noise[1]], axis=1)
    return Measurements(lengths, np.arange(n) % 10 == 0, norms.astype(np.float32), np.empty((n, 0), np.float32))


def found(made: Measurements) -> Found:
    return Found(None, Sample(None, [f"{'word ' * n}number" for n in made.n_tokens], ""), measurements=made)


def test_every_layer_has_the_line_through_all_that_is_shown_and_draws_some() -> None:
    made = measured()
    every = every_layer(found(made), View(length_cutoff=40, layer=2, pooling=Pooling.POOLER))
    shown = np.flatnonzero((made.n_tokens < 40) & ~made.truncated)
    assert every.n == len(shown) > MOST_DRAWN == len(every.index)
    np.testing.assert_array_equal(every.index, shown[:MOST_DRAWN])
    np.testing.assert_array_equal(every.lengths, made.n_tokens[every.index])
    assert [after.layer for after in every.layers] == [0, 1, 2]
    constant, *layers = every.layers
    assert (constant.r_squared, constant.slope, constant.problem) == (None, None, "constant")
    for after in layers:
        x, y = made.n_tokens[shown].astype(float), made.cls_norms[shown, after.layer].astype(float)
        (intercept, slope), *_ = np.linalg.lstsq(np.stack([np.ones_like(x), x], axis=1), y)
        residuals = y - intercept - slope * x
        assert after.r_squared == pytest.approx(1 - residuals.var() / y.var(), abs=1e-6)
        assert after.slope == pytest.approx(slope, rel=1e-4)
        assert after.intercept == pytest.approx(intercept, rel=1e-6)
        assert (after.mean, after.sd) == pytest.approx((y.mean(), y.std(ddof=1)))
        np.testing.assert_array_equal(after.norms, made.cls_norms[every.index, after.layer])


def test_where_there_are_too_few_sentences_there_is_no_line() -> None:
    every = every_layer(found(measured().head(3)), View(length_cutoff=2))
    assert every.n == 0
    assert {after.problem for after in every.layers} == {"no line"}
    one = every_layer(found(measured().head(2)), View())  # the first is truncated
    assert (one.n, one.layers[1].r_squared) == (1, None)


def test_a_layer_whose_fast_norms_are_too_far_off_has_no_r_squared() -> None:
    fast = measured()
    signs = np.where(np.arange(len(fast)) % 2, 1, -1)[:, None]
    exact = replace(fast, cls_norms=(fast.cls_norms + signs * [0, 1e-4, 1]).astype(np.float32))
    audited = replace(found(fast), precision=Precision.FAST, audit=found(exact.head(256)))
    problems = [after.problem for after in every_layer(audited, View()).layers]
    assert problems[1:] == ["", "not measurable"]


def test_selected_sentences_are_drawn_beside_the_first_ones() -> None:
    made, view = measured(), View(length_cutoff=40, lengths=Lengths.SHUFFLED)
    every = every_layer(found(made), view)
    shown = np.flatnonzero((made.n_tokens < 40) & ~made.truncated)
    hidden = np.flatnonzero(made.n_tokens >= 40)[0]
    wanted = np.array([every.index[3], shown[450], shown[-1], hidden])
    more = with_others(every, found(made), view, wanted)
    assert more.index.tolist() == [*every.index.tolist(), shown[450], shown[-1]]
    assert more.n == every.n
    for before, after in zip(every.layers, more.layers, strict=True):
        np.testing.assert_array_equal(after.norms, made.cls_norms[more.index, after.layer])
        assert (after.r_squared, after.mean) == (before.r_squared, before.mean)
    whole = every_layer(found(made), View(length_cutoff=40, lengths=Lengths.SHUFFLED)).lengths
    np.testing.assert_array_equal(more.lengths[:MOST_DRAWN], whole)
    assert len(with_others(every, found(made), view, shown).index) == min(len(shown), MOST_DRAWN + MOST_ADDED)
    assert with_others(every, found(made), view, every.index) is every
