"""Measures what comes with clsviz: the built-in model on the built-in corpus.

python -m benchmarks.shipped: replaces clsviz/results/data by what this machine measures.
"""

import shutil
from dataclasses import replace

from clsviz.api import measure_experiment
from clsviz.experiment import Experiment
from clsviz.results.shipped import SHIPPED
from clsviz.store.chunks import Chunks


def main() -> None:
    """Measure norms and means, and answer for every layer and vector."""
    shutil.rmtree(SHIPPED, ignore_errors=True)
    default = Experiment()
    views = [replace(default, pooling="mean"), replace(default, pooling="pooler"), default]
    for view in [*views, *(replace(default, layer=layer) for layer in range(1, 6))]:
        result = measure_experiment(view, store=SHIPPED)
        print(f"{view.pooling}, layer {view.layer}: {result.verdict}")
    chunks = Chunks(SHIPPED)
    for folder in SHIPPED.glob("*-*"):
        chunks.merge(folder.name, 0, chunks.read(folder.name, default.sample_size))


if __name__ == "__main__":
    main()
