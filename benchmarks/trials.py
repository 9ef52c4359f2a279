"""Two fixes that the search test does not have, tried on held-out searches.

python -m benchmarks.trials TEXTS.csv QUERIES.csv: judged searches (`id`, `title`, `text`; `query`,
`ids`), then the built-in corpus by its titles. CSLS (Conneau et al. 2018) takes from the score of a
text its mean score with the nearest ten of *other* searches, so that hubs sink; it stands beside
“calibrate by length”. A text's mean vector of chunks stands beside its best chunk.
"""

import sys
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clsviz.encoder.encoder import Encoder
from clsviz.settings import Experiment
from clsviz.sources import searches, sentences
from clsviz.sources.searches import Searches
from clsviz.statistics import fixes
from clsviz.statistics.exposure import Evaluation
from clsviz.statistics.intervals import Floats, of_mean
from clsviz.statistics.ranking import Floats32, rank, rank_by_chunks, unit

NEAREST: Final = 10
"""Searches whose scores with a text are taken from it."""

SIZE: Final = 4
"""Sentences of a chunk."""


def main(texts: str, queries: str) -> None:
    """Print recall and exposure of each way, with what it adds."""
    root = Path("/tmp")
    judged = Experiment(corpus=texts, column="text", sample_size="all")
    shipped = Experiment(corpus="python-api", sample_size="all")
    report("judged", searches.find(judged, root, judged=Path(queries)))
    report("python-api", searches.find(shipped, root))


def report(name: str, made: Searches) -> None:
    """Print a line for each way to search."""
    encoder = Encoder("minilm")
    words, asked = (some.table["sentence"].to_pylist() for some in (made.texts, made.queries))
    parts = [sentences.cut(text) or [text] for text in words]
    cut = [[" ".join(one[at : at + SIZE]) for at in range(0, len(one), SIZE)] for one in parts]
    owners = np.repeat(np.arange(len(cut)), list(map(len, cut)))
    raw, queries, chunks = (
        encoder.vectors(some, "mean") for some in (words, asked, list(chain.from_iterable(cut)))
    )
    lengths = np.array([len(text.split()) for text in words], np.int32)
    evaluation = Evaluation.of(made.relevant, lengths, 0)
    folds = fixes.folds_of(len(asked))
    by = {"cosine": (unit(queries), unit(raw)), "dot": (queries, raw)}
    for similarity, (asking, indexed) in by.items():
        trial = fixes.Trial(asking, indexed, lengths, evaluation.qrels, similarity == "cosine")
        ways = {"as it is": rank(asking, indexed), "calibrated": trial.rank("calibrated", folds)}
        ways["CSLS"] = csls(asking, indexed, folds)
        show(f"{name}, {similarity}", ways, evaluation)
    means = np.zeros_like(raw)
    np.add.at(means, owners, unit(chunks))
    ways = {
        "whole text": rank(*by["cosine"]),
        "best chunk": rank_by_chunks(unit(queries), unit(chunks), owners),
        "mean of chunks": rank(unit(queries), unit(means)),
    }
    show(f"{name}, cosine", ways, evaluation)


def csls(queries: Floats32, texts: Floats32, folds: NDArray[np.intp]) -> NDArray[np.intp]:
    """The ten texts of each search; scores are less those with the nearest of the other half."""
    top_k = np.empty((len(queries), 10), np.intp)
    for fold in (0, 1):
        others = np.sort(texts @ queries[folds != fold].T, axis=1)[:, -NEAREST:]
        shift = others.mean(axis=1) / 2  # of twice the score
        top_k[folds == fold] = rank(queries[folds == fold], texts, shift, np.ones(len(texts)))
    return top_k


def show(name: str, ways: dict[str, NDArray[np.intp]], evaluation: Evaluation) -> None:
    """Print recall, what it is beyond that of the first way, and exposure by fifths."""
    first: Floats | None = None
    for way, top_k in ways.items():
        ranking = evaluation.rank(top_k)
        first = ranking.recalls if first is None else first
        low, high = of_mean(ranking.recalls - first, 0, -1.0) if way != next(iter(ways)) else (0, 0)
        exposure = " ".join(f"{one:.2f}" for one in ranking.quintiles["exposure"])
        recall = f"{ranking.recall:.3f} {ranking.recall - first.mean():+.3f}"
        print(f"{name}, {way}: {recall} ({low:+.3f} to {high:+.3f}); {exposure}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
