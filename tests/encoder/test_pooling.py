import numpy as np
import pytest
import torch

from clsviz.encoder.batches import POOLINGS, pool
from clsviz.measurements import POOLED
from clsviz.settings import Pooling


def test_there_is_a_row_for_every_pooling() -> None:
    assert tuple(POOLINGS) == POOLED == (Pooling.CLS, Pooling.MEAN, Pooling.MAX)


@pytest.mark.parametrize("cls", [0, 1, -1])
def test_poolings_by_hand(cls: int) -> None:
    random = np.random.default_rng(0)
    runs = [random.normal(size=shape).astype(np.float32) for shape in ((2, 5, 4), (3, 2, 4))]
    pooled = pool([torch.from_numpy(run) for run in runs], cls).numpy()
    sentences = [sentence for run in runs for sentence in run]
    expected = [[s[cls] for s in sentences], [s.mean(0) for s in sentences], [s.max(0) for s in sentences]]
    np.testing.assert_allclose(pooled, np.array(expected), rtol=1e-6)
