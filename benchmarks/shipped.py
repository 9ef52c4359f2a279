"""Measures what comes with clsviz: the built-in model on the built-in corpus.

python -m benchmarks.shipped: replaces clsviz/results/data by what this machine measures.
"""

import shutil
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from clsviz.api import chunk_test, compare, measure, probe, search_test, trace
from clsviz.settings import Experiment
from clsviz.sources import models
from clsviz.store import SHIPPED
from clsviz.store.measurements import Measurements


def main() -> None:
    """Measure norms, and answer for every layer and vector."""
    shutil.rmtree(SHIPPED, ignore_errors=True)
    default = Experiment()
    views = [replace(default, pooling="mean"), replace(default, pooling="pooler"), default]
    for view in [*views, *(replace(default, layer=layer) for layer in range(1, 6))]:
        result = measure(**asdict(view), store=SHIPPED)
        print(f"{view.pooling}, layer {view.layer}: {result.verdict}")
    measurements = Measurements(SHIPPED)
    for folder in SHIPPED.glob("*-*"):
        measurements.merge(folder.name, 0, measurements.read(folder.name, default.sample_size))
    with tempfile.TemporaryDirectory() as store:
        add_probes(Path(store))
    with tempfile.TemporaryDirectory() as store:
        add_searches(Path(store))
    add_recall()
    trace(store=SHIPPED)  # of the sentence that pages on one sentence begin with


def add_probes(store: Path) -> None:
    """Add the numbers of probes of every layer and vector, without the vectors in the store."""
    default = Experiment()
    views = [replace(default, pooling=name) for name in ("mean", "pooler", "pipeline", "cls")]
    for view in [*views, *(replace(default, layer=layer) for layer in range(6))]:
        result = probe(**asdict(view), random_weights=view == default, store=store)
        print(f"{view.pooling}, layer {view.layer}: {result.numbers}")
    for path in (store / "results").iterdir():
        shutil.copy(path, SHIPPED / "results")


def add_recall() -> None:
    """Add the recall of every layer and vector, without the vectors in the store."""
    with tempfile.TemporaryDirectory() as store:
        print(probe(recall=True, store=store).advice)
        for path in Path(store, "results").iterdir():
            shutil.copy(path, SHIPPED / "results")


def add_searches(store: Path) -> None:
    """Add searches of the built-in corpus of titles, and the comparison with random weights."""
    print(search_test(store=store).numbers)
    print(chunk_test(store=store).numbers)
    print(compare(["minilm", f"{models.UNTRAINED}minilm"], store=store).verdict)
    for path in (store / "results").iterdir():
        shutil.copy(path, SHIPPED / "results")


if __name__ == "__main__":
    main()
