"""Verdicts of the search test on made-up vectors: without an effect, and with a known one.

python -m benchmarks.searches [N]: N samples of each kind, by default 500, always the same ones.
Without an effect, “Yes” should be rare; where the shortest fifth takes twice its share, common.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from clsviz.analyses.own_vectors import Indexed
from clsviz.analyses.search import evaluate, rank_all
from clsviz.results.search import verdict_of
from clsviz.settings import Experiment, SearchSettings
from clsviz.sources.searches import find

N_TEXTS, WIDTH, N_WORDS = 300, 64, 2000

NOISE = 1.5
"""Of a text's vector about its query's: recall is about a half, as of real searches."""

SHARED = 0.5
"""Length of the direction that all queries share."""

PULL = 0.57
"""Along it, the shortest fifth lies so much further that it takes twice its share of the places."""


def verdict(seed: int, *, is_bent: bool, n_equal: int) -> tuple[str, float]:
    """The answer for one sample, and the exposure of the shortest fifth; n_equal: of each query."""
    random = np.random.default_rng(seed)
    lengths = np.exp(random.normal(4, 0.8, N_TEXTS)).astype(np.int32) + 3
    texts = [" ".join(f"word{word}" for word in random.integers(N_WORDS, size=n)) for n in lengths]
    topics = np.arange(N_TEXTS) // n_equal
    titles = [f"title number{topic} word{random.integers(N_WORDS)}" for topic in topics]
    titles = [titles[topic * n_equal] for topic in topics]
    frame = pd.DataFrame({"title": titles, "text": texts})
    experiment = Experiment(corpus="memory", sample_size="all", column="text")
    searches = find(experiment, Path(), titles="title", texts=frame)
    shared = np.zeros(WIDTH)
    shared[0] = SHARED * np.sqrt(WIDTH)
    meanings = random.normal(size=(len(searches.relevant), WIDTH))
    noise = NOISE * random.normal(size=(N_TEXTS, WIDTH))
    is_short = lengths <= np.quantile(lengths, 0.2)
    pull = np.where(is_bent & is_short, PULL, 0.0)[:, None] * shared
    vectors = meanings[topics] + noise + pull
    indexed = Indexed(
        vectors.astype(np.float32),
        (meanings + shared).astype(np.float32),
        lengths,
        np.zeros(N_TEXTS, bool),
    )
    rankings = rank_all(searches, indexed, 0, None)
    answers = evaluate(searches, rankings, experiment, SearchSettings())
    return verdict_of(answers), answers.own.exposure[0] or 0.0


def main(n: int) -> None:
    """Print how often the verdict is “Yes”."""
    for is_bent in (False, True):
        results = [verdict(seed, is_bent=is_bent, n_equal=1 + 2 * (seed % 2)) for seed in range(n)]
        n_yes = sum(words.startswith("Yes") for words, _ in results)
        share = np.mean([exposure for _, exposure in results])
        kind = "shortest fifth favoured" if is_bent else "no effect"
        print(f"{kind}: “Yes” in {n_yes} of {n}; exposure of the shortest fifth {share:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
