"""Results to draw, without a model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clsviz.results.result import Fact, Result

Draw = Callable[..., Result]


@pytest.fixture
def result_of() -> Draw:
    """A result of kind norms with n sentences, every tenth unused; changes by name."""

    def result_of(n: int = 200, **changes: Any) -> Result:
        random = np.random.RandomState(0)
        lengths = random.randint(3, 79, n).astype("int32")
        columns = {
            "sentence": [f"sentence {row}" for row in range(n)],
            "length": lengths,
            "norm": (8 - 0.01 * lengths + random.normal(0, 0.2, n)).astype("float32"),
            "is_used": np.arange(n) % 10 > 0,
        }
        facts = (Fact("slope", "", -0.01), Fact("intercept", "", 8.0), Fact("r_squared", "", 0.2))
        x = np.array([3.0, 40.0, 78.0])
        y = 8 - 0.01 * x
        picture = {
            "labels": {"x": "Sentence length (tokens)", "y": "Norm of [CLS] after layer 2"},
            "curve": {"lengths": x, "norms": y, "is_answer": False},
            "bands": {"lengths": x, "median": y, "low": y - 0.5, "high": y + 0.5},
        }
        r2s = {0: None, 1: 0.1, 2: 0.2, "mean": 0.3}
        values = {
            "table": pd.DataFrame(columns),
            "facts": facts,
            "picture": picture,
            "details": {
                "layers": [
                    {"layer": name, "r_squared": r2, "is_nearly_constant": name == 1}
                    for name, r2 in r2s.items()
                ]
            },
            "about": {"unit": "tokens"},
        }
        return Result("norms", "Does it?", "Hardly.", **{**values, **changes})

    return result_of
