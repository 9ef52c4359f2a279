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
        norms = (8 - 0.01 * lengths + random.normal(0, 0.2, n)).astype("float32")
        columns = {
            "sentence": [f"sentence {row}" for row in range(n)],
            "length": lengths,
            "norm": norms,
        }
        table = pd.DataFrame({**columns, "is_used": np.arange(n) % 10 > 0})
        facts = (Fact("slope", "", -0.01), Fact("intercept", "", 8.0), Fact("r_squared", "", 0.2))
        x = np.array([3.0, 40.0, 78.0])
        picture = {
            "labels": {"x": "Sentence length (tokens)", "y": "Norm of [CLS] after layer 2"},
            "curve": {"lengths": x, "norms": 8 - 0.01 * x},
            "bands": {
                "lengths": x,
                "median": 8 - 0.01 * x,
                "low": 7.5 - 0.01 * x,
                "high": 8.5 - 0.01 * x,
            },
        }
        layers = [{"layer": 0, "r_squared": None}, {"layer": 1, "r_squared": 0.1}]
        layers += [{"layer": 2, "r_squared": 0.2}, {"layer": "mean", "r_squared": 0.3}]
        values = {"table": table, "facts": facts, "picture": picture, "details": {"layers": layers}}
        return Result(
            "norms", "Does it?", "Hardly.", **{"about": {"unit": "tokens"}, **values, **changes}
        )

    return result_of
