import numpy as np
import pytest

from clsviz.errors import UndefinedFitError
from clsviz.statistics.retrieval import tf_idf


def test_weights_are_those_of_the_formula() -> None:
    """Term frequency times 1 + ln((1 + n) / (1 + df)), divided by the norm."""
    weights = tf_idf(["a cat sat", "A cat, a cat", "dogs ran"]).toarray()
    rare, common = 1 + np.log(4 / 2), 1 + np.log(4 / 3)
    first = np.array([common, common, rare])
    second = np.array([2 * common, 2 * common])
    cosine = (first[:2] @ second) / (np.linalg.norm(first) * np.linalg.norm(second))
    assert weights[0] @ weights[1] == pytest.approx(cosine)
    assert weights[0] @ weights[2] == 0
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1)


def test_without_words_there_is_no_baseline() -> None:
    with pytest.raises(UndefinedFitError, match="no words"):
        tf_idf(["?!", "…"])
