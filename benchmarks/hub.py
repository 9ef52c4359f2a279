"""The error and the cost of a sample from 40 unequal files on a stand-in for the Hub.

python -m benchmarks.hub. The error is that of the sample's mean length, relative, its RMS over the
seeds.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE / "tests" / "hub"))

import standin  # noqa: E402

NAME = "owner/unequal"
N_FILES, N_SENTENCES, N_SEEDS = 40, 2000, 20

LAYOUTS = {
    "row groups of 1,000": (1000, False),
    "row groups of 100": (100, False),
    "row groups of 1,000, files sorted by length": (1000, True),
}
"""Rows of a row group, and whether each file is sorted."""

DRAW = """
import json, sys
from pathlib import Path
from clsviz.experiment import Experiment
from clsviz.sources import hub_datasets
name, folder, n_sentences, n_seeds = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
means = []
for seed in range(n_seeds):
    experiment = Experiment(corpus=name, sample_size=n_sentences, seed=seed)
    sentences = hub_datasets.draw(experiment, folder / str(seed)).table["sentence"].to_pylist()
    assert len(sentences) == n_sentences
    means.append(sum(map(len, sentences)) / n_sentences)
print(json.dumps(means))
"""


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


def measure(hub: standin.Standin, mean: float) -> str:
    """The error and the cost of `N_SEEDS` samples."""
    hub.requests.clear()
    with tempfile.TemporaryDirectory() as scratch:
        environment = os.environ | hub.environment | {"HF_HOME": scratch, "PYTHONPATH": str(HERE)}
        command = [sys.executable, "-c", DRAW, NAME, f"{scratch}/store"]
        start = time.perf_counter()
        done = subprocess.run(
            [*command, str(N_SENTENCES), str(N_SEEDS)],
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        seconds = (time.perf_counter() - start) / N_SEEDS
    errors = np.array(json.loads(done.stdout)) / mean - 1
    return (
        f"{100 * np.sqrt(np.mean(errors**2)):.2f}% error (bias {100 * np.mean(errors):+.2f}%), "
        f"{hub.bytes_of() / N_SEEDS / 1e6:.2f} MB, {len(hub.requests) / N_SEEDS:.1f} requests, "
        f"{seconds:.2f} s"
    )


def main() -> None:
    """Print error and cost by layout."""
    for layout, (n_rows, is_sorted) in LAYOUTS.items():
        files, mean = make_files(n_rows, is_sorted)
        with standin.serve() as hub:
            hub.add(NAME, files)
            print(f"{layout}, {sum(map(len, files.values())) / 1e6:.1f} MB: {measure(hub, mean)}")


if __name__ == "__main__":
    main()
