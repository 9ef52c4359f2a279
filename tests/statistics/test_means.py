"""What averaging makes of the norm of a mean, on made-up tokens whose norms and agreement are known."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from clsviz.measurements import FIXED, Means
from clsviz.statistics.means import averaging
from clsviz.words.averaging import accounts, title

WIDTH = 40

Scale = Callable[[int], float]


def measured(size: Scale, common: Scale, n: int = 800, flat: float = 0.0) -> Means:
    """Sentences of 3 to 40 tokens: each a common vector and one of its own, in sizes that depend on the length.

    flat: how much of every mean is one and the same vector.
    """
    random = np.random.default_rng(0)
    direction = np.eye(WIDTH)[0]
    rows = []
    for length in random.integers(3, 41, n):
        own = random.normal(0, 1, (length, WIDTH)) / np.sqrt(WIDTH)
        tokens = size(length) * (common(length) * direction + own) + flat * direction
        picked = tokens[random.permutation(length)[:FIXED]].mean(0) if length >= FIXED else np.full(WIDTH, np.nan)
        strangers = random.normal(0, 1, (length, WIDTH)) / np.sqrt(WIDTH) + direction
        means = tokens.mean(0), tokens.max(0), picked, strangers.mean(0)
        rows.append((length, (tokens**2).sum(1).mean(), *(np.linalg.norm(mean) for mean in means)))
    lengths, squares, mean, largest, fixed, dealt = np.array(rows).astype(np.float32).T
    tokens = lengths.astype(np.int32)
    return Means(
        *(tokens, np.zeros(n, bool), mean[:, None], np.empty((n, 0), np.float32), mean[:, None], largest[:, None]),
        *(tokens, squares, fixed, dealt),
    )


def of(size: Scale, common: Scale, flat: float = 0.0) -> str:
    return title(averaging(measured(size, common, flat=flat), np.arange(800)), untrained=False)


def test_the_numbers_are_those_of_least_squares_on_the_identity() -> None:
    means = measured(lambda n: 1 - n / 80, lambda n: 1.0)
    found = averaging(means, np.arange(800))
    m, y = means.n_pooled.astype(float), means.mean_norms[:, 0].astype(float) ** 2
    # What two different tokens of a sentence have in common, out of the square of their sum.
    products = ((m**2 * y) - m * means.token_squares) / (m * (m - 1))
    alone = means.token_squares.mean() / m + products.mean() - products.mean() / m
    design = np.column_stack([np.ones(800), alone])
    (_, slope), residuals, *_ = np.linalg.lstsq(design, y, rcond=None)
    assert found.on_averaging is not None
    assert found.on_averaging.slope == pytest.approx(slope, rel=1e-4)
    assert found.on_averaging.r_squared == pytest.approx(1 - residuals[0] / ((y - y.mean()) ** 2).sum(), rel=1e-4)
    unexplained = y - alone
    assert found.accounted_for == pytest.approx(1 - unexplained.var() / y.var(), rel=1e-4)
    assert found.fixed is not None
    assert found.fixed.n == (means.n_tokens >= FIXED).sum()


def test_where_averaging_is_all_there_is_it_has_that_slope() -> None:
    found = averaging(measured(lambda n: 1.0, lambda n: 0.5), np.arange(800))
    assert found.on_averaging is not None
    assert found.on_averaging.slope == pytest.approx(1, abs=0.1)
    assert found.accounted_for is not None
    assert found.accounted_for > 0.5
    assert found.fixed is not None
    assert found.fixed.r_squared < 0.02
    assert title(found, untrained=True).endswith("Averaging alone would give about that slope.")


@pytest.mark.parametrize(
    ("size", "common", "expected"),
    [
        (
            lambda n: 1 - n / 80,
            lambda n: 1.0,
            "of that slope; in this trained model the token vectors themselves shrink.",
        ),
        (lambda n: 1.0, lambda n: 1.5 - n / 40, "the token vectors themselves shrink and agree less."),
        (
            lambda n: (1 + (1.5 - n / 40) ** 2) ** -0.5,
            lambda n: 1.5 - n / 40,
            "the token vectors themselves agree less.",
        ),
        (
            lambda n: 1 + n / 40,
            lambda n: 1.0,
            "Averaging alone would make them shorter; in this trained model the token ",
        ),
        (lambda n: 1 + n / 1000, lambda n: 1.0, "as steep; in this trained model the token vectors themselves grow."),
    ],
)
def test_what_the_tokens_do_is_said_where_they_do_it(size: Scale, common: Scale, expected: str) -> None:
    text = of(size, common)
    assert expected in text
    is_longer = "Averaging alone would make them shorter" in text
    assert text.startswith(f"Longer sentences have {'longer' if is_longer else 'shorter'} mean vectors (R² 0.")


def test_no_trend_is_claimed_where_none_shows() -> None:
    random = np.random.default_rng(1)
    means = measured(lambda n: 1.0, lambda n: 1.0)
    shuffled: NDArray[np.float32] = random.permutation(means.mean_norms)
    found = averaging(Means(**{**vars(means), "mean_norms": shuffled}), np.arange(800))
    assert title(found, untrained=False).startswith("Mean-pooled vectors: no sign that")
    assert "misses the squared norm by more than its mean does" in accounts(found)


def test_norms_that_hardly_vary_are_said_to() -> None:
    text = of(lambda n: 1 - n / 80, lambda n: 1.0, flat=1000)
    assert text.startswith("On paper only, longer sentences have shorter mean vectors (R² 0.")
    assert "Averaging" not in text
