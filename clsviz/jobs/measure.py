"""Measuring a sample, a slice of about a second at a time, in the workspace of a call."""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from clsviz import limits
from clsviz.errors import CorpusError
from clsviz.jobs.worker import IN_PROCESS, Runner
from clsviz.measurements import FORMS, Arrays, Kind, Last, Means
from clsviz.progress import Progress
from clsviz.settings import Experiment, Precision
from clsviz.sources import corpora, sampling
from clsviz.sources.models import Weights, count_weights
from clsviz.sources.sampling import Measured, Prepared, Sample
from clsviz.store import SHIPPED, default_store
from clsviz.store.measurements import MERGED, Measurements, n_sentences
from clsviz.store.results import Results

SLICE_SECONDS = 1.0
FIRST_SLICE = 16
"""Sentences whose time is not known yet: so many long ones take a large model half a minute."""

GROWTH = 1.5
"""A result is published with so many times the sentences of the last: pages are drawn for it."""

FEW = 500  # fewer sentences say little about the speed


@dataclass(frozen=True)
class Workspace:
    """What a question needs besides its settings.

    root: the store's folder, in which measurements and results are. runner: runs models.
    speeds: of measuring, by precision: sentences times weights in a second.
    """

    root: Path
    measurements: Measurements
    results: Results
    runner: Runner
    speeds: dict[Precision, float] = field(default_factory=dict)

    @classmethod
    def of(cls, store: "str | Path | Workspace | None" = None, runner: Runner = IN_PROCESS) -> Self:
        """The workspace of a store; by default of `default_store()`."""
        if isinstance(store, cls):
            return store
        root = default_store() if store is None else Path(str(store)).expanduser()
        stores = Measurements(root, SHIPPED, limits.number("store_bytes")), Results(root, SHIPPED)
        return cls(root, *stores, runner)

    def note_speed(
        self, weights: Weights, precision: Precision, n_sentences: int, seconds: float
    ) -> None:
        """Note how long so many sentences took."""
        n_weights = count_weights(weights.folder)
        if n_sentences >= FEW and n_weights:
            self.speeds[precision] = n_sentences * n_weights / seconds

    def estimate(self, n_weights: int, n_sentences: int, precision: Precision) -> float | None:
        """Seconds for a number of sentences; None where nothing has been measured yet.

        n_weights: of the model, as `count_weights` has it: the time grows with them.
        """
        speed = self.speeds.get(precision)
        return n_sentences * n_weights / speed if speed and n_weights else None


def prepare(
    experiment: Experiment, workspace: Workspace, progress: Progress, texts: Any = None
) -> Prepared:
    """Find the model and draw the sample, downloading what this machine lacks.

    texts: in memory, in the place of the corpus. Raises CorpusError where the sample is empty.
    """
    weights = find_model(experiment.model, experiment.seed, progress, workspace.runner)
    return Prepared(weights, draw(experiment, workspace, progress, texts))


def find_model(name: str, seed: int, progress: Progress, runner: Runner = IN_PROCESS) -> Weights:
    """A model, with a seed of random weights; downloads what this machine lacks."""
    with progress.at("fetch"):
        return runner.find(name, seed, progress)


def draw(
    experiment: Experiment, workspace: Workspace, progress: Progress, texts: Any = None
) -> Sample:
    """The sample of an experiment, or of texts in memory; raises CorpusError where it is empty."""
    with progress.at("fetch"):
        if texts is None:
            sample = sampling.draw(experiment, workspace.root, progress)
        else:
            sample = sampling.sample_of(corpora.from_texts(texts, experiment), experiment)
    if not len(sample):
        raise CorpusError(f"{sample.corpus.label} holds no sentences.", "Choose another corpus.")
    return sample


def measure(
    prepared: Prepared,
    experiment: Experiment,
    kind: Kind,
    workspace: Workspace,
    progress: Progress,
    publish: Callable[[Measured], object] = lambda _: None,
) -> Measured:
    """Measure a sample: what is stored is read, the rest is run and stored.

    experiment: with the prompts of emitted vectors. kind: such as norms, or vectors, which are
    measured of the first `probe_size` sentences.
    publish: takes what is measured so far, and raises where that suffices to know that it cannot be
    used.
    """
    weights, sample = prepared.weights, prepared.sample
    runner, measurements = workspace.runner, workspace.measurements
    if kind == "vectors":
        sample = replace(sample, order=sample.order[: experiment.probe_size])
    key, total = key_of(prepared, experiment, kind), len(sample)

    def result() -> Measured:
        norms = FORMS[kind].from_slices([*measured, *slices])
        is_complete = done == total
        stored = measurements.read(key.replace(kind, "means", 1), total) if is_complete else []
        has_means = sum(map(n_sentences, stored)) == done
        means = Means.from_slices(stored) if has_means else None
        return Measured(key, weights, sample, norms, n_new, seconds, is_complete, means)

    measured, slices = measurements.read(key, total), list[Arrays]()
    done = merged = sum(map(n_sentences, measured))
    n_new, size, seconds, published = 0, FIRST_SLICE, 0.0, 0
    progress(done, total, "sentences")
    if done < total:
        with progress.at("model", weights):
            runner.load(weights, experiment.precision, kind)
            while done < total:
                if done >= max(1, GROWTH * published):
                    publish(result())
                    published = done
                progress(done, total, "sentences")  # another job may measure the same meanwhile
                arrays = measurements.read_from(key, done, total)
                if arrays is None:
                    sentences = sample.sentences(done, min(done + size, total))
                    began = time.monotonic()
                    of_model = weights, experiment.precision, sentences, kind
                    arrays = runner.run(*of_model, prompt_of(experiment, kind))
                    last = time.monotonic() - began
                    seconds, n_new = seconds + last, n_new + len(sentences)
                    size = max(FIRST_SLICE, round(len(sentences) * SLICE_SECONDS / last))
                    measurements.append(key, done, arrays)
                slices.append(arrays)
                done += n_sentences(arrays)
                if len(slices) == MERGED:
                    measured.append(measurements.merge(key, merged, slices))
                    slices, merged = [], done
            progress(done, total, "sentences")
    workspace.note_speed(weights, experiment.precision, n_new, seconds)
    complete = result()
    publish(complete)
    return complete


def stored(
    prepared: Prepared, experiment: Experiment, kind: Kind, workspace: Workspace
) -> Measured:
    """A sample that `measure` has stored: whoever waits for a turn need not hold its vectors."""
    sample, key = prepared.sample, key_of(prepared, experiment, kind)
    if kind == "vectors":
        sample = replace(sample, order=sample.order[: experiment.probe_size])
    norms = FORMS[kind].from_slices(workspace.measurements.read(key, len(sample)))
    is_complete = len(norms) == len(sample)
    return Measured(key, prepared.weights, sample, norms, 0, 0.0, is_complete)


def last_vectors(
    prepared: Prepared,
    experiment: Experiment,
    workspace: Workspace,
    progress: Progress,
    role: Kind = "text",
) -> tuple[Last, float]:
    """Measure the vectors of a sample after the last layer, or those emitted; and the seconds.

    role: of the sample, query or text. Raises SettingError, with the first texts, where the model
    lacks the pooling.
    """

    def check(part: Measured) -> None:
        assert isinstance(part.norms, Last)
        part.norms.of(experiment.pooling)

    kind = role if experiment.pooling == "pipeline" else "last"
    measured = measure(prepared, experiment, kind, workspace, progress, check)
    assert isinstance(measured.norms, Last)  # it is of the kind last, or emitted
    return measured.norms, measured.seconds


def prompt_of(experiment: Experiment, kind: Kind) -> str:
    """The prompt before each sentence of a kind."""
    prompts = {"query": experiment.query_prompt, "text": experiment.text_prompt}
    return prompts.get(kind) or ""


def key_of(prepared: Prepared, experiment: Experiment, kind: Kind) -> str:
    """The name under which a measurement of a sample, large or small, is stored."""
    weights, sample = prepared.weights, prepared.sample
    fingerprint, end = weights.fingerprint, ""
    if kind in ("query", "text"):
        digest = hashlib.sha256(prompt_of(experiment, kind).encode())
        fingerprint, end = weights.key("pipeline"), f"-{digest.hexdigest()[:8]}"
    corpus = f"{sample.corpus.fingerprint}-{sample.seed}"
    return f"{kind}-{fingerprint}-{corpus}-{experiment.precision}{end}"


def measure_texts(
    weights: Weights,
    experiment: Experiment,
    kind: Kind,
    texts: Sequence[str],
    workspace: Workspace,
    progress: Progress,
) -> Arrays:
    """Measure sentences that a visitor typed; nothing of them is stored."""
    with progress.at("model", weights):
        workspace.runner.load(weights, experiment.precision, kind)
        prompt = prompt_of(experiment, kind)
        return workspace.runner.run(weights, experiment.precision, texts, kind, prompt)
