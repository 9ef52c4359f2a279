"""The chunk test on made-up vectors: how often it finds that the position in a chunk matters.

python -m benchmarks.chunks [N]: N samples of each kind, by default 500, always the same ones. A
chunk is the sum of its sentences' random vectors. Where the position matters, those at its end have
less weight. Where the first sentence of each text has double weight, wherever it stands, its
position in a chunk does not matter, and only chunks of shuffled sentences can tell.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np

from clsviz.analyses.chunks import Containment, Index, contain
from clsviz.settings import Experiment
from clsviz.sources import chunks
from clsviz.statistics.containment import position_effect

N_SENTENCES, WIDTH = 1000, 24

LENGTH: Final = 10
"""Sentences of a text, where there are several."""

FALLING: Final = 0.5
"""Part of its weight that the last sentence of a chunk lacks, about."""


LOUD: Final = 2.0
"""Weight of the first sentence of a text."""

CONTROL, SIZE = ", shuffled within texts", 5
"""The control, and the sentences of its chunks."""


def main(n: int) -> None:
    """Print how often the interval of the effect leaves out 0."""
    words = np.random.RandomState(0).randint(10_000, size=(N_SENTENCES, 7))
    lines = [f"Word {' '.join(f'w{word}' for word in row)}." for row in words]
    book = [" ".join(lines)]
    texts = [" ".join(lines[at : at + LENGTH]) for at in range(0, N_SENTENCES, LENGTH)]
    kinds = [
        ("weights are equal", book, 0.0, 1.0),
        (f"weights fall by {FALLING:g} in a chunk", book, FALLING, 1.0),
        (f"first sentences of texts weigh {LOUD:g}", texts, 0.0, LOUD),
    ]
    for name, some, falling, loud in kinds:
        cut = chunks.find(Experiment(corpus="memory"), Path(), some)
        weights = np.where(np.arange(N_SENTENCES) % LENGTH, 1.0, loud)
        n_sure, effects = {"": 0, CONTROL: 0}, {"": 0.0, CONTROL: 0.0}
        cuttings = [*cut.cut, cut.recut(SIZE, seed=0)]
        for seed in range(n):
            sentences = np.random.RandomState(seed).normal(size=(N_SENTENCES, WIDTH))
            measured, asking = list[Containment](), None
            for one in cuttings:
                vectors = np.zeros((len(one.sample), WIDTH), np.float32)
                in_chunk = weights * (1 - falling * one.positions)
                np.add.at(vectors, one.owners, sentences * in_chunk[:, None])
                n_tokens = np.full(len(vectors), 9, np.int32)
                index = Index(vectors, n_tokens, np.zeros(len(vectors), np.bool_))
                asking = asking or index  # the first size is that of sentences
                measured.append(contain(cut, one, asking, index))
            *in_order, shuffled = ((one.ranks[0], one.positions) for one in measured)
            for kind, some, sizes in (("", in_order, cut.sizes), (CONTROL, [shuffled], [SIZE])):
                ranks, positions = (np.array(rows) for rows in zip(*some, strict=True))
                effect, (low, high) = position_effect(ranks, positions, sizes, seed)
                n_sure[kind] += low > 0 or high < 0
                effects[kind] += effect / n
        for kind, count in n_sure.items():
            print(f"{name}{kind}: the position matters in {count} of {n}, by {effects[kind]:+.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
