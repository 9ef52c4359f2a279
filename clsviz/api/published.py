"""A published probing task’s own file, on the vectors of a model."""

from pathlib import Path
from typing import TYPE_CHECKING

from clsviz import analysis, corpora, measuring, statistics, words
from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Encoders, Extraction, Found, Store
from clsviz.progress import Progress

if TYPE_CHECKING:
    from clsviz.analysis.probes import Published
    from clsviz.corpora import TaskFile


def open_task(path: Path, per_class: int | None) -> "TaskFile":
    """The task in a file, with at most so many sentences of each class in each partition; raises ClsvizError."""
    if per_class is not None and per_class < 1:
        raise SettingError(f"{per_class:,} sentences of each class cannot be taken; it must be 1 or more.")
    return corpora.read_task(path.expanduser()).head(per_class)


def cost_of_task(file: "TaskFile", found: Found, experiment: Experiment, store: Store, encoders: Encoders) -> str:
    """What measuring the sentences of a task takes, in words."""
    n = len(file.sentences)
    extraction = Extraction(experiment, store, encoders, kind=Kind.VECTORS)
    gigabytes = measuring.gigabytes_of(found.vectors, n)
    return words.sentlen.file_cost(n, extraction.seconds(found, n), gigabytes)


def classify_task(
    file: "TaskFile", found: Found, experiment: Experiment, store: Store, encoders: Encoders, progress: Progress
) -> "Published":
    """Measure the sentences of a task by the model that `found` is by, and classify them; raises ClsvizError."""
    vectors = measuring.measure_texts(
        file.sentences, experiment, found, store, encoders, progress, f"task {file.fingerprint}"
    )
    n_steps = len(statistics.sentlen.STRENGTHS)
    progress.begin("Fitting classifiers", n_steps)
    return analysis.probes.classify_published(file, vectors, experiment.view, progress.advance)
