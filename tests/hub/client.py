"""Functions that ask the stand-in in a process of their own, and files for it to serve."""

import contextlib
import io
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import save

from clsviz.progress import Cancelled, Progress
from clsviz.settings import Experiment
from clsviz.sources import hub_datasets, models
from clsviz.sources.corpora import Corpus
from clsviz.sources.models import Weights
from clsviz.sources.row_groups import Limits

Run = Callable[..., Any]
"""Runs one of the functions in that process."""

PATIENCE, IMPATIENCE = 60.0, 0.7
"""Seconds without a byte: more than a busy machine takes, and those of a Hub that fails."""


def find(
    name: str, seed: int = 0, n_calls: float = math.inf, patience: float = PATIENCE
) -> Weights:
    return models.find(name, seed, cancelling(n_calls), patience)


def draw(
    root: Path,
    corpus: str,
    limits: dict[str, Any] | None = None,
    n_calls: float = math.inf,
    folder: str = ".",
    patience: float = PATIENCE,
    **settings: Any,
) -> Corpus:
    sizes = Limits(**({"round_rows": 100, "patience": patience} | (limits or {})))
    with contextlib.chdir(folder):
        experiment = Experiment(corpus=corpus, **settings)
        return hub_datasets.draw(experiment, root, cancelling(n_calls), sizes)


def cancelling(n: float) -> Progress:
    """Cancels at the n-th call."""
    calls = itertools.count(1)

    def progress(done: int, total: int, unit: str) -> None:
        assert 0 <= done <= total
        if next(calls) >= n:
            raise Cancelled

    return progress


def parquet(columns: dict[str, Any], rows: int = 20) -> bytes:
    """A Parquet file with row groups of some rows."""
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, row_group_size=rows)
    return file.getvalue()


def dataset(n: int = 500) -> dict[str, bytes]:
    """A dataset of one file and one split."""
    texts = [f"Sentence number {index}." for index in range(n)]
    return {"data/train-0.parquet": parquet({"id": list(range(n)), "text": texts})}


def model(**config: object) -> dict[str, bytes]:
    """The files of a model, with weights that nobody loads."""
    return {
        "config.json": json.dumps({"model_type": "bert", **config}).encode(),
        "tokenizer.json": b"{}",
        "model.safetensors": save({"weight": np.zeros(300_000, np.float32)}),
    }
