"""How long what is computed from vectors takes: python -m benchmarks.layers [--sentences N] [--model M] [--corpus C].

In a store of its own, it measures norms and then vectors of the same sentences in one process, reports the size of the
vectors on disk, and times everything that the pages “Where length lives” and “Does length bend my search?” compute from
the stored vectors.
"""

import argparse
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from clsviz import analysis
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.measurements import POOLED, Kind
from clsviz.progress import Progress
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.probes import Profile
from clsviz.store import Store

T = TypeVar("T")


def main() -> None:
    """Print one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--corpus", default="python-docs")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    n = options.sentences
    experiment = Experiment(model=options.model, corpus=options.corpus, sample_size=n, probe_size=n)
    with tempfile.TemporaryDirectory() as folder:
        store, encoders = Store(Path(folder)), Encoders()
        for kind in Kind:
            extraction = Extraction(experiment, store, encoders, kind=kind)
            extraction.run(Progress())
            print(f"{kind}: {extraction.sentences_per_second:,.0f} sentences/s")
        found = timed("from the store", lambda: stored(experiment, store))
        print_size(found, Path(folder))
        profile = predict(found, experiment)
        timed("lengths shuffled", lambda: analysis.layers.shuffled_probes(found, experiment.view, profile))
        timed("SentLen", lambda: analysis.layers.classify(found, experiment.view))
        timed("dimensions, gain and bias", lambda: analysis.layers.norm_breakdown(found, experiment.view))
        if len(found.vectors) >= FEW_SENTENCES:
            timed("similarity by length", lambda: [*analysis.search.compare(found, experiment.view)])
    print(f"memory at the peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def stored(experiment: Experiment, store: Store) -> Found:
    """Open what was measured before, as the page does."""
    extraction = Extraction(experiment, store, Encoders(), kind=Kind.VECTORS)
    extraction.look_up(Progress())
    assert extraction.found is not None
    assert not extraction.found.n_missing
    return extraction.found


def print_size(found: Found, folder: Path) -> None:
    """Print the size of the vectors on disk."""
    vectors = found.vectors
    n_slots = len(POOLED) * (vectors.n_layers + 1) + vectors.has_pooler
    n_numbers = len(vectors) * n_slots * vectors.width
    n_bytes = sum(path.stat().st_size for path in folder.glob("vectors-*/*.safetensors"))
    print(
        f"{len(vectors):,} sentences of {n_slots} vectors of {vectors.width}: {n_bytes / 1e6:,.1f} MB, "
        f"{n_bytes / n_numbers:.3f} bytes per number, including norms and everything else"
    )


def predict(found: Found, experiment: Experiment) -> Profile:
    """Run all probes, and print when the first reading is there and when all are."""
    began = time.perf_counter()
    for profile in analysis.layers.profiles(found, experiment.view):
        if len(profile.readings) == 1:
            print(f"first reading: {time.perf_counter() - began:.2f} s")
    print(f"all {len(profile.readings)} readings: {time.perf_counter() - began:.2f} s")
    return profile


def timed(name: str, action: Callable[[], T]) -> T:
    """Run `action` and print how long it took."""
    began = time.perf_counter()
    result = action()
    print(f"{name}: {time.perf_counter() - began:.2f} s")
    return result


if __name__ == "__main__":
    main()
