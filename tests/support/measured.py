"""Measurements made up."""

import numpy as np

from clsviz.measurements import Measurements
from clsviz.store import Key

KEY = Key(model="m" * 64, corpus="c" * 64, seed=0, max_length=512, precision="float32")


def measurements(n: int, start: int = 0) -> Measurements:
    index = np.arange(start, start + n)
    return Measurements(
        n_tokens=index.astype(np.int32),
        truncated=index > 62,
        cls_norms=(index[:, None] + [0.0, 0.1, 0.2]).astype(np.float32),
        pooler_norms=(index[:, None] + 0.5).astype(np.float32),
    )
