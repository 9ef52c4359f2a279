import numpy as np
import pytest


@pytest.fixture(autouse=True)
def same_numbers(request: pytest.FixtureRequest) -> None:
    """A test draws the same numbers from its module's generator, whichever tests ran before it in this process."""
    if generator := getattr(request.module, "RANDOM", None):
        generator.bit_generator.state = np.random.default_rng(0).bit_generator.state
