import numpy as np
import pytest
from support.measured import measurements

from clsviz.measurements import Measurements
from clsviz.settings import Pooling


def test_norms_of_a_layer_of_the_last_and_of_the_pooler() -> None:
    found = measurements(3)
    np.testing.assert_allclose(found.norms(Pooling.CLS, 1), [0.1, 1.1, 2.1], rtol=1e-6)
    np.testing.assert_array_equal(found.norms(Pooling.CLS, None), found.norms(Pooling.CLS, 2))
    np.testing.assert_allclose(found.norms(Pooling.POOLER, 1), [0.5, 1.5, 2.5])
    with pytest.raises(IndexError):
        found.norms(Pooling.CLS, 3)


def test_parts_join_to_the_whole() -> None:
    whole = measurements(10)
    joined = Measurements.concatenate([Measurements.none(), measurements(4), measurements(6, start=4)])
    for name in ("n_tokens", "truncated", "cls_norms", "pooler_norms"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
        assert getattr(joined, name).dtype == getattr(whole, name).dtype
    assert len(whole.head(3)) == 3
    assert whole.head(3).n_tokens.tolist() == [0, 1, 2]
