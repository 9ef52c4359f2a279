"""Verdicts of the search test in made-up worlds: where lengths say nothing, and where they do.

python -m benchmarks.searches [N] [WORLD …]: N samples of each world, by default 100 of all, always
the same ones. Where lengths say nothing, “Yes” should be said in at most .05 of the samples,
“Somewhat” in .1, and .95 of the intervals should hold 1; where they do, the mean exposure.
"""

import sys
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from clsviz.analyses.search import SearchNumbers
from clsviz.results.search import verdict_of
from clsviz.statistics.exposure import Evaluation, Ranking
from clsviz.statistics.ranking import rank, unit

WIDTH: Final = 64

NOISE: Final = 1.5
"""Of a text's vector about its query's: recall is about a half, as of real searches."""

SHARED: Final = 0.5
"""Length of the direction that all queries share."""


@dataclass(frozen=True)
class World:
    """Searches among n texts, each for its own, whose lengths say nothing unless there is a pull.

    hubs: the standard deviation of the texts' log norms, which dot products heed. direction: that
    of texts along the direction that all queries share. families, size: near-duplicates of one
    length, as many as so many, and their number. pull: how much further along that direction the
    shortest fifth lies. n_searches: of the n possible ones, or 0 for all.
    """

    n: int
    hubs: float = 0.0
    direction: float = 0.0
    families: int = 0
    size: int = 0
    pull: float = 0.0
    n_searches: int = 0

    def ranking(self, seed: int) -> tuple[Evaluation, Ranking]:
        """The evaluation and the ranking of one sample."""
        random, n = np.random.default_rng(seed), self.n
        lengths = np.exp(random.normal(4, 0.8, n)).astype(np.int32) + 3
        meanings = random.normal(size=(n, WIDTH))
        along = random.normal(size=n) * self.direction
        norms = np.exp(self.hubs * random.normal(size=n))
        families = np.arange(n)
        if self.families:
            members = self.families * self.size
            families[:members] = np.repeat(families[: members : self.size], self.size)
            lengths, norms, along = lengths[families], norms[families], along[families]
            meanings = 0.7 * meanings[families] + 0.7 * meanings
        shared = np.eye(WIDTH)[0] * SHARED * np.sqrt(WIDTH)
        along += self.pull * (lengths <= np.quantile(lengths, 0.2))
        texts = meanings + NOISE * random.normal(size=(n, WIDTH)) + along[:, None] * shared
        texts, queries = texts * norms[:, None], meanings + shared
        if not self.hubs:
            texts, queries = unit(texts), unit(queries)
        own = np.sort(random.permutation(n)[: self.n_searches or n])
        evaluation = Evaluation.of([np.array([text]) for text in own], lengths, 0, families)
        return evaluation, evaluation.rank(rank(queries[own], texts))


WORLDS: Final = {
    "300 texts": World(300),
    "2,000 texts": World(2000),
    "300, 150 searches": World(300, n_searches=150),
    "300, norms .3": World(300, hubs=0.3),
    "300, norms .6": World(300, hubs=0.6),
    "2,000, norms .3": World(2000, hubs=0.3),
    "2,000, norms .6": World(2000, hubs=0.6),
    "300, direction": World(300, direction=0.6),
    "2,000, direction": World(2000, direction=0.6),
    "300, 10 families of 15": World(300, families=10, size=15),
    "2,000, 20 families of 50": World(2000, families=20, size=50),
    **{
        f"1,000, pull {pull}, {n} searches": World(1000, pull=pull, n_searches=n)
        for pull in (0.17, 0.26)
        for n in (60, 150, 1000)
    },
}


def main(n: int, names: list[str]) -> None:
    """Print a line for each world."""
    columns = ("Yes", "Somewhat", "Hardly", "No sign", "Can’t tell")
    print("world".ljust(32), *columns, "exposure of the shortest fifth", "intervals hold it")
    for name in names or WORLDS:
        world, words, rows = WORLDS[name], Counter[str](), []
        for seed in range(n):
            evaluation, own = world.ranking(seed)
            numbers = evaluation.qrels, own, own, own, {}, None
            verdict = verdict_of(SearchNumbers(None, None, None, "", "cosine", *numbers))
            words.update(column for column in columns if verdict.startswith(column))
            rows.append(own.quintiles[["low", "exposure", "high"]].to_numpy())
        low, exposure, high = np.moveaxis(rows, 2, 0)
        truth = exposure.mean(axis=0) if world.pull else np.ones(5)
        shares = [f"{words[column] / n:{len(column)}.2f}" for column in columns]
        holds = ((low <= truth) & (truth <= high)).mean()
        print(name.ljust(32), *shares, f"{exposure[:, 0].mean():.2f}  {holds:.3f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, sys.argv[2:])
