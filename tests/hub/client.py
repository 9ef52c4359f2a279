"""Functions that tests run in a process whose clients ask the stand-in."""

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clsviz.experiment import Experiment
from clsviz.progress import Cancelled
from clsviz.sources import hub_datasets, models
from clsviz.sources.corpora import Corpus
from clsviz.sources.models import Weights
from clsviz.sources.row_groups import Limits

Run = Callable[..., Any]
"""Runs one of the functions in that process."""

PATIENCE = 0.7
SMALL = {"round_rows": 100, "patience": PATIENCE}


def find(name: str, seed: int = 0) -> Weights:
    return models.find(name, seed, patience=PATIENCE)


def draw(root: Path, corpus: str, **settings: Any) -> Corpus:
    limits = Limits(**(SMALL | settings.pop("limits", {})))
    return hub_datasets.draw(Experiment(corpus=corpus, **settings), root, limits=limits)


def cancel_after(n: int, name: str, root: Path | None = None) -> str:
    """What ends a download, or a draw, whose progress is cancelled at its n-th call."""
    calls = itertools.count(1)

    def progress(done: int, total: int, unit: str) -> None:
        assert 0 <= done <= total
        if next(calls) >= n:
            raise Cancelled

    try:
        if root:
            experiment = Experiment(corpus=name, sample_size=300)
            hub_datasets.draw(experiment, root, progress, Limits(**SMALL))
        else:
            models.find(name, 0, progress, PATIENCE)
    except Cancelled:
        return "cancelled"
    return "done"


def draw_in_folder_of(name: str, root: Path) -> Corpus:
    """A draw where a local folder has the name of the dataset."""
    (root / name / "data").mkdir(parents=True)
    (root / name / "data" / "train.csv").write_text("text\nOf this machine.\n")
    with contextlib.chdir(root):
        return draw(root, name)
