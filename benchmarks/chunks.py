"""The chunk test on made-up vectors: how often it finds that the position in a chunk matters.

python -m benchmarks.chunks [N]: N samples of each kind, by default 500, always the same ones. A
chunk is the sum of its sentences' random vectors; where the position matters, those at its end
have less weight.
"""

import sys
from pathlib import Path

import numpy as np

from clsviz.analyses.chunks import Index, contain
from clsviz.settings import Experiment
from clsviz.sources import chunks
from clsviz.statistics.containment import position_effect

N_SENTENCES, WIDTH = 1000, 24

FALLING = 0.5
"""Part of its weight that the last sentence of a chunk lacks, about."""


def main(n: int) -> None:
    """Print how often the interval of the effect leaves out 0."""
    words = np.random.RandomState(0).randint(10_000, size=(N_SENTENCES, 7))
    text = " ".join(f"Word {' '.join(f'w{word}' for word in row)}." for row in words)
    cut = chunks.find(Experiment(corpus="memory"), Path(), [text])
    for falling in (0.0, FALLING):
        n_sure = 0
        for seed in range(n):
            sentences = np.random.RandomState(seed).normal(size=(N_SENTENCES, WIDTH))
            indices = []
            for owners, positions in zip(cut.owners, cut.positions, strict=True):
                vectors = np.zeros((owners.max() + 1, WIDTH), np.float32)
                np.add.at(vectors, owners, sentences * (1 - falling * positions)[:, None])
                n_tokens = np.full(len(vectors), 9, np.int32)
                indices.append(Index(vectors, n_tokens, np.zeros(len(vectors), np.bool_)))
            one = contain(cut, indices)
            low, high = position_effect(one.ranks[0], one.positions, one.sizes, seed)[1]
            n_sure += low > 0 or high < 0
        print(f"weights that fall by {falling:g}: the position matters in {n_sure} of {n}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
