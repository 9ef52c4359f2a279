"""What a sample of a corpus costs: python -m benchmarks.corpora [--sentences N] [--megabytes N].

For .txt and .csv files of random sentences: the time from an empty store to a sample of N sentences, and the most
memory it takes. For a dataset of a million sentences in a thousand row groups, on a stand-in for the Hub on this
machine: the share of its bytes that a sample of N / 10 sentences reads. For datasets of 40 and of 200 files, whose
sentences are of other lengths in each: bytes and requests for 2,000 sentences, and by how much their mean length misses
that of all. Each runs in a process of its own.
"""

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.sources import sampling
from clsviz.sources.hub_dataset import Split
from clsviz.sources.hub_listing import open_listing
from clsviz.sources.hub_rounds import Limits

_DATASET = "owner/large"

_FILES_AT_ONCE = (16, 64)
"""Of how many files at once samples are drawn, where that is compared."""


def main() -> None:
    """Print one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--draws", type=int, default=20, help="of each dataset of many files")
    parser.add_argument("--corpus", help=argparse.SUPPRESS)  # in the process of its own
    parser.add_argument("--files-at-once", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.files_at_once:
        print(json.dumps(mean_lengths(options.corpus, options.sentences, options.files_at_once, options.draws)))
        return
    if options.corpus:
        print(json.dumps(measure(options.corpus, options.sentences)))
        return
    print(f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".txt", ".csv"):
            report_file(Path(folder) / f"large{suffix}", options.megabytes, options.sentences)
        report_dataset(Path(folder) / "large", options.sentences // 10)
        for n_files, n_groups in ((40, 50), (200, 10)):
            report_files(Path(folder) / f"{n_files}", n_files, n_groups, options.draws)


def measure(corpus: str, size: int) -> dict[str, float]:
    """The seconds that a sample takes with an empty store, and the most megabytes of memory in use so far."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        sample = sampling.find_sample(Selection(corpus), size, 0, Path(folder), Progress(), online=True)
    assert len(sample.sentences) == size
    status = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    return {"seconds": time.perf_counter() - began, "megabytes": peak}


def report_file(path: Path, megabytes: int, size: int) -> None:
    """Measure a sample of a file of random sentences."""
    write_file(path, megabytes * 10**6)
    found = _in_another_process(str(path), size)
    print(
        f"{size:,} sentences of {path.stat().st_size / 1e6:.0f} MB of {path.suffix}: {found['seconds']:.1f} s, "
        f"{found['megabytes']:.0f} MB of memory"
    )
    path.unlink()


def report_dataset(folder: Path, size: int) -> None:
    """Measure a sample of a dataset on the stand-in."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    stand_in = importlib.import_module("support.hub")  # at run time, since tests are not type-checked
    clients = importlib.import_module("support.hub_clients")
    write_dataset(folder / "data" / "train.parquet")
    n_bytes = (folder / "data" / "train.parquet").stat().st_size
    with stand_in.serve_hub() as hub:
        hub.add(_DATASET, folder, kind="dataset")
        found = _in_another_process(_DATASET, size, clients.environment(hub, folder / "cache"))
        share = hub.bytes_sent() / n_bytes
    print(
        f"{size:,} of 1,000,000 sentences in 1,000 row groups: {share:.1%} of {n_bytes / 1e6:.0f} MB read, "
        f"{found['seconds']:.1f} s"
    )


def mean_lengths(dataset: str, size: int, files_at_once: int, n_draws: int) -> list[float]:
    """The mean length in words of samples with the seeds 0, 1, …, each drawn as if for the first time."""
    found = []
    for seed in range(n_draws):
        with tempfile.TemporaryDirectory() as folder:
            listing = open_listing(Path(folder), dataset, "", "", Progress(), online=True)
            split = Split(listing, "", "", Path(folder), Limits(files_at_once=files_at_once), online=True)
            sentences = split.draw(size, seed, "text", Progress(), cut=False).sentences
        found.append(float(np.mean([len(sentence.split()) for sentence in sentences])))
    return found


def report_files(folder: Path, n_files: int, n_groups: int, n_draws: int, size: int = 2000) -> None:
    """Measure samples of a dataset of many files on the stand-in: their cost, and the error of their mean length."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    stand_in, clients = (importlib.import_module(f"support.{name}") for name in ("hub", "hub_clients"))
    mean = write_files(folder, n_files, n_groups)
    n_bytes = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    for files_at_once in _FILES_AT_ONCE:
        with stand_in.serve_hub() as hub:
            hub.add("owner/files", folder, kind="dataset")
            environment = clients.environment(hub, folder / "cache")
            options = [f"--files-at-once={files_at_once}", f"--draws={n_draws}"]
            means = np.array(_in_another_process("owner/files", size, environment, options))
            read, n_requests = hub.bytes_sent() / n_draws / 1e6, len(hub.requests) / n_draws
        print(
            f"{size:,} sentences of {n_files} files of {n_groups} row groups, {n_bytes / 1e6:.0f} MB, from up to "
            f"{files_at_once} at once: {read:.1f} MB in {n_requests:.0f} requests, mean length off by "
            f"{np.sqrt(np.mean((means / mean - 1) ** 2)):.1%} (root mean square of {n_draws} draws)"
        )


def write_files(folder: Path, n_files: int, n_groups: int, n_rows: int = 200) -> float:
    """Write sentences whose lengths depend on their file and their row group; returns their mean length in words."""
    random = np.random.default_rng(0)
    letters = random.integers(97, 123, (20_000, 12), np.uint8).view("S12").ravel()
    words = np.array([word[: 2 + index % 10].decode() for index, word in enumerate(letters)])
    n_words = 0
    for number in range(n_files):
        typical = 12 * np.exp(0.4 * random.standard_normal() + 0.4 * random.standard_normal(n_groups))
        lengths = 1 + random.poisson(np.repeat(typical, n_rows))
        n_words += int(lengths.sum())
        pieces = np.split(words[random.integers(0, len(words), lengths.sum())], np.cumsum(lengths)[:-1])
        path = folder / "data" / f"train-{number:05}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"text": [" ".join(piece) for piece in pieces]}), path, row_group_size=n_rows)
    return n_words / (n_files * n_groups * n_rows)


def random_sentences(n: int, seed: int = 0) -> pa.Array:
    """Distinct sentences of 10 words, as frequent as in a real text, each ending in its number."""
    random = np.random.default_rng(seed)
    letters = random.integers(97, 123, (20_000, 12), np.uint8).view("S12").ravel()
    words = pa.array([word[: 2 + index % 10].decode() for index, word in enumerate(letters)])
    ranks = np.minimum(random.zipf(1.3, (10, n)), len(words)) - 1
    numbers = pc.cast(pa.array(np.arange(n)), pa.string())
    return pc.binary_join_element_wise(*(words.take(pa.array(row)) for row in ranks), numbers, " ")


def write_dataset(path: Path, n: int = 1_000_000, n_row_groups: int = 1000) -> list[str]:
    """Write sentences to a Parquet file, and return them."""
    sentences = random_sentences(n)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"text": sentences}), path, row_group_size=n // n_row_groups)
    found: list[str] = sentences.to_pylist()
    return found


def write_file(path: Path, n_bytes: int) -> None:
    """Write `n_bytes` of sentences to a file, one per line, or in the second column of a table."""
    block = random_sentences(100_000)
    table = pa.table({"id": np.arange(len(block)), "text": block, "source": ["somewhere"] * len(block)})
    is_table = path.suffix == ".csv"
    options = pyarrow.csv.WriteOptions(include_header=False)
    with path.open("wb") as file:
        if is_table:
            file.write(b"id,text,source\n")
        while file.tell() < n_bytes:
            if is_table:
                pyarrow.csv.write_csv(table, file, options)
            else:
                file.write("\n".join([*block.to_pylist(), ""]).encode())


def _in_another_process(
    corpus: str, size: int, environment: dict[str, str] | None = None, options: Sequence[str] = ()
) -> Any:
    command = [sys.executable, "-m", "benchmarks.corpora", f"--corpus={corpus}", f"--sentences={size}", *options]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=os.environ | (environment or {}), check=True)
    return json.loads(run.stdout)


if __name__ == "__main__":
    main()
