"""Sentences per second of the encoder and its alternatives: python -m benchmarks.encoder.

Every way measures the same docstrings, in turns, in one run; the ratio to sentence-transformers is
the median over rounds. The ways:

    exact, fast              ours: norms of [CLS] after every layer, in both precisions
    pipeline                 ours: vectors that the model's own pipeline emits
    transformers             the encoder through the model's own code, as where it has no layout
    sentence-transformers    its encode with its defaults

Processes that compute at the same time change the ratios: the load of the machine is printed.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import pyarrow.parquet as pq
import torch

import clsviz.encoder  # noqa: F401  (before torch: it sets how PyTorch's threads wait)
from clsviz.encoder.encoder import Encoder
from clsviz.encoder.forward import has_bfloat16
from clsviz.encoder.passes import ModelPass
from clsviz.sources import models

LONGEST = 600
"""Characters of the longest sentence taken: all ways read it whole."""

BASE = "sentence-transformers"

Way = Callable[[Sequence[str]], object]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", nargs="*", help="beginnings of names; the base is always run")
    options = parser.parse_args()
    path = Path(str(files("clsviz.sources").joinpath("data", "python-docs.parquet")))
    texts = pq.read_table(path, columns=["sentence"])["sentence"].to_pylist()
    sentences = [text for text in texts if len(text) <= LONGEST][: options.sentences]
    weights = models.find("minilm")
    ways = {**our_ways(weights), BASE: sentence_transformers(weights)}
    names = [n for n in ways if n == BASE or n.startswith(tuple(options.ways or [""]))]
    rates = in_turns({name: ways[name] for name in names}, sentences, options.rounds)
    load = os.getloadavg()[0]
    print(f"{len(sentences):,} sentences, {options.rounds} rounds, load {load:.1f}")
    for name, rate in rates.items():
        ratios = [one / base for one, base in zip(rate, rates[BASE], strict=True)]
        print(
            f"{name:24}{statistics.median(rate):8,.0f}/s{statistics.median(ratios):8.2f} ×"
            f"   ({min(ratios):.2f} to {max(ratios):.2f})"
        )


def in_turns(ways: dict[str, Way], sentences: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Sentences per second of every way in every round, after one round that does not count."""
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for n in range(rounds + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            way(sentences)
            if n:
                rates[name].append(len(sentences) / (time.perf_counter() - began))
    return rates


def our_ways(weights: models.Weights) -> dict[str, Way]:
    """The encoder in both precisions, and through transformers' own pass."""
    from transformers import AutoModel

    exact, own = Encoder(weights, device="cpu"), Encoder(weights, device="cpu")
    own.forward = ModelPass(AutoModel.from_pretrained(weights.folder).eval(), own.tokenizer.frame)
    ways: dict[str, Way] = {"exact": lambda sentences: exact.run(sentences, "norms")}
    if has_bfloat16(torch.device("cpu")):
        fast = Encoder(weights, "fast", "cpu")
        ways["fast"] = lambda sentences: fast.run(sentences, "norms")
    ways["pipeline"] = lambda sentences: exact.run(sentences, "text")
    ways["transformers"] = lambda sentences: own.run(sentences, "norms")
    return ways


def sentence_transformers(weights: models.Weights) -> Way:
    """Its encode."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(weights.folder), device="cpu")
    return lambda sentences: model.encode(list(sentences), show_progress_bar=False)


if __name__ == "__main__":
    main()
