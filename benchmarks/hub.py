"""The error and the cost of a sample from 40 unequal files on a stand-in for the Hub.

python -m benchmarks.hub. The error is that of the sample's mean length, relative, its RMS over the
seeds.
"""

import io
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hub"))

import standin

N_FILES, N_SENTENCES, N_SEEDS = 40, 2000, 20

LAYOUTS = {
    "row groups of 1,000": (1000, False),
    "row groups of 100": (100, False),
    "row groups of 1,000, files sorted by length": (1000, True),
}
"""Rows of a row group, and whether each file is sorted."""


def make_files(n_rows: int, is_sorted: bool) -> tuple[dict[str, bytes], float]:
    """Files of 500 to 16,000 texts with a mean length of its own each, and the mean of all."""
    random = np.random.RandomState(0)
    files: dict[str, bytes] = {}
    n_characters = n_texts = 0
    for number in range(N_FILES):
        n = int(500 * 2 ** random.uniform(0, 5))
        lengths = np.clip(random.lognormal(random.normal(4, 0.4), 0.5, n), 8, 190).astype(int)
        if is_sorted:
            lengths.sort()
        texts = ["".join(chr(97 + c) for c in random.randint(0, 26, length)) for length in lengths]
        file = io.BytesIO()
        pq.write_table(pa.table({"text": texts}), file, row_group_size=n_rows)
        files[f"data/train-{number:05}.parquet"] = file.getvalue()
        n_characters += int(lengths.sum())
        n_texts += n
    return files, n_characters / n_texts


def mean_length(name: str, seed: int) -> float:
    """The mean length of a sample."""
    from clsviz.settings import Experiment
    from clsviz.sources import hub_datasets

    experiment = Experiment(corpus=name, sample_size=N_SENTENCES, seed=seed)
    with tempfile.TemporaryDirectory() as store:
        sentences = hub_datasets.draw(experiment, Path(store)).table["sentence"].to_pylist()
    assert len(sentences) == N_SENTENCES
    return sum(map(len, sentences)) / N_SENTENCES


def main() -> None:
    """Print error and cost by layout."""
    with tempfile.TemporaryDirectory() as home, standin.serve() as hub:
        os.environ |= hub.environment | {"HF_HOME": home}  # before the Hub's client is imported
        for number, (layout, how) in enumerate(LAYOUTS.items()):
            name = f"owner/unequal{number}"
            files, mean = make_files(*how)
            hub.add(name, files)
            hub.requests.clear()
            began = time.perf_counter()
            errors = np.array([mean_length(name, seed) for seed in range(N_SEEDS)]) / mean - 1
            seconds = (time.perf_counter() - began) / N_SEEDS
            print(
                f"{layout}, {sum(map(len, files.values())) / 1e6:.1f} MB: "
                f"{100 * np.sqrt(np.mean(errors**2)):.2f}% error "
                f"(bias {100 * np.mean(errors):+.2f}%), {hub.bytes_of() / N_SEEDS / 1e6:.2f} MB, "
                f"{len(hub.requests) / N_SEEDS:.1f} requests, {seconds:.2f} s"
            )


if __name__ == "__main__":
    main()
