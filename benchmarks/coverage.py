"""How often the intervals of R² and of the spread hold the truth: python -m benchmarks.coverage [--repetitions N].

Lengths are drawn as those of a text are, log-normal around 15 tokens, up to 79. For R², norms lie on a line through
them, with noise that is normal, heavy-tailed (Student's t with 3 degrees of freedom, whose fourth moment is infinite),
or a funnel: a standard deviation that falls with the square root of the length. For the spread, norms are noise alone:
normal, heavy-tailed, or skewed (exponential, or the exponential of a normal one).
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clsviz.statistics.intervals import r_squared_interval
from clsviz.statistics.shape import spread

Floats = NDArray[np.float64]

SIZES, R_SQUARED = (50, 500), (0.0, 0.02, 0.3, 0.9)

SIZES_OF_SPREAD = 100, 200, 500, 2000

_POPULATION = 1_000_000


def lengths(n: int, random: np.random.Generator) -> Floats:
    """Lengths of n sentences."""
    return np.clip(np.rint(random.lognormal(np.log(15), 0.6, n)), 3, 79)


_ALL = lengths(_POPULATION, np.random.default_rng(0))

_MEAN, _SD, _INVERSE = float(_ALL.mean()), float(_ALL.std()), float((1 / _ALL).mean())

NOISE: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "normal": lambda x, random: random.standard_normal(len(x)),
    "t3": lambda x, random: random.standard_t(3, len(x)) / 3**0.5,
    "funnel": lambda x, random: random.standard_normal(len(x)) / (x * _INVERSE) ** 0.5,
}
"""Noise of mean 0 and variance 1, given lengths (n,)."""


AROUND: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "normal": lambda n, random: random.standard_normal(n),
    "t3": lambda n, random: random.standard_t(3, n),
    "exponential": lambda n, random: random.exponential(size=n),
    "log-normal": lambda n, random: random.lognormal(size=n),
}
"""Norms of n sentences that have nothing to do with lengths."""


def simulate(n: int, r_squared: float, noise: str, repetitions: int) -> float:
    """The share of samples of n sentences whose interval holds the R² that the norms are made with."""
    return float(np.mean([holds for holds, _ in _outcomes(n, r_squared, noise, repetitions)]))


def _outcomes(n: int, r_squared: float, noise: str, repetitions: int) -> list[tuple[bool, bool]]:
    """Of each sample, whether its interval holds the truth, and whether it is said to rest on few sentences."""
    random = np.random.default_rng([n, round(1000 * r_squared), *noise.encode()])
    found = []
    for _ in range(repetitions):
        x = lengths(n, random)
        y = r_squared**0.5 * (x - _MEAN) / _SD + (1 - r_squared) ** 0.5 * NOISE[noise](x, random)
        interval = r_squared_interval(x, y)
        low, high = interval.ends
        found.append((low <= r_squared <= high, interval.rests_on_few(n)))
    return found


def simulate_spread(n: int, noise: str, repetitions: int) -> float:
    """The share of samples of n sentences whose interval of the spread holds 1, where lengths have no part in norms.

    It is that of any other ratio, which shifts the interval of its logarithm and nothing else.
    """
    random = np.random.default_rng([n, *noise.encode()])
    held = []
    for _ in range(repetitions):
        _, (low, high) = spread(lengths(n, random), AROUND[noise](n, random))
        held.append(low <= 1 <= high)
    return float(np.mean(held))


def main() -> None:
    """Print the tables of docs/method.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5000)
    repetitions = parser.parse_args().repetitions
    print("| sentences | R² | " + " | ".join(NOISE) + " |\n|---|---|" + "---|" * len(NOISE))
    for n in SIZES:
        for r_squared in R_SQUARED:
            cells: list[Any] = []
            for noise in NOISE:
                outcomes = _outcomes(n, r_squared, noise, repetitions)
                few = np.mean([rests_on_few for _, rests_on_few in outcomes])
                cells.append(f"{np.mean([holds for holds, _ in outcomes]):.3f} ({few:.0%})")
            print(f"| {n} | {r_squared:g} | " + " | ".join(cells) + " |", flush=True)
    print()
    print("| sentences | " + " | ".join(AROUND) + " |\n|---|" + "---|" * len(AROUND))
    for n in SIZES_OF_SPREAD:
        held = [f"{simulate_spread(n, noise, repetitions):.3f}" for noise in AROUND]
        print(f"| {n} | " + " | ".join(held) + " |", flush=True)


if __name__ == "__main__":
    main()
