"""Probe vectors: where the length is written, layer by layer."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from clsviz import analysis, export, jobs, words
from clsviz.api.inputs import (
    DEFAULT_CORPUS,
    Bar,
    Corpus,
    Given,
    Settings,
    ViewSettings,
    extract,
    open_store,
    question,
    read_corpus,
    spelled_out,
    with_view,
)
from clsviz.api.norms import fit_of, to_html
from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found, measure_altered, measure_untrained
from clsviz.measurements import Kind, Vectors
from clsviz.progress import Progress
from clsviz.settings import ALTERED_DEFAULT, ALTERED_SIZES, Alteration
from clsviz.sources import published_task
from clsviz.statistics import sentlen
from clsviz.statistics.probes import steps
from clsviz.statistics.ridge import N_FOLDS
from clsviz.store import Store
from clsviz.store.results import ResultCache

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis.probes import Origin, Published
    from clsviz.analysis.random_weights import RandomWeights
    from clsviz.figures import Figure
    from clsviz.sources.published_task import TaskFile
    from clsviz.statistics.erasure import Erasure
    from clsviz.statistics.line import Fit
    from clsviz.statistics.probes import Profile, Travel


def open_task(path: Path, per_class: int | None) -> "TaskFile":
    """The task in a file, with at most so many sentences of each class in each partition; raises ClsvizError."""
    if per_class is not None and per_class < 1:
        raise SettingError(f"{per_class:,} sentences of each class cannot be taken; it must be 1 or more.")
    return published_task.read_task(path.expanduser()).head(per_class)


def cost_of_task(file: "TaskFile", found: Found, experiment: Experiment, store: Store, encoders: Encoders) -> str:
    """What measuring the sentences of a task takes, in words."""
    n = len(file.sentences)
    extraction = Extraction(experiment, store, encoders, kind=Kind.VECTORS)
    gigabytes = jobs.gigabytes_of(found.vectors, n)
    return words.sentlen.file_cost(n, extraction.seconds(found, n), gigabytes)


def classify_task(
    file: "TaskFile", found: Found, experiment: Experiment, store: Store, encoders: Encoders, progress: Progress
) -> "Published":
    """Measure the sentences of a task by the model that `found` is by, and classify them; raises ClsvizError."""
    vectors = jobs.measure_texts(
        file.sentences, experiment, found, store, encoders, progress, f"task {file.fingerprint}"
    )
    n_steps = len(sentlen.STRENGTHS)
    progress.begin("Fitting classifiers", n_steps)
    return analysis.probes.classify_published(file, vectors, experiment.view, progress.advance)


@dataclass(frozen=True, eq=False, repr=False)
class ProbeResult:
    """How well the length can be predicted from the vectors of one model, as `probe` returns it.

    experiment: what was asked.
    found: the sentences and their vectors.
    profile: R² by pooling, layer and readout, where a readout is the norm, the whole vector or its direction.
    given: the corpus as it was given.

    >>> import clsviz
    >>> result = clsviz.probe("minilm", "python-docs", n=200)
    >>> result.profile.best.r_squared > result.fit().r_squared
    True
    >>> result.table()["layer"].head(3).tolist()
    [0, 1, 2]
    """

    experiment: Experiment
    found: Found
    profile: "Profile"
    given: Given | None = None

    def __len__(self) -> int:
        return len(self.found.measurements)

    def __repr__(self) -> str:
        return f"ProbeResult({self.experiment.model} on {self.found.corpus.label}: {self.answer})"

    def _repr_html_(self) -> str:
        _, n_truncated = analysis.under_cutoff(self.found.measurements, self.experiment.view)
        rows = words.probe_settings(self.experiment, self.found, self.profile.n, n_truncated)
        lines: Any = export.tables.r_squared_by_layer(self.profile)
        table = lines.pivot_table(index="layer", columns="line", values="r_squared", sort=False)
        table = table.rename_axis(columns=None)
        html = table.to_html(float_format=lambda value: f"{value:.3f}", na_rep="–", border=0)
        return to_html(self.question, self.answer, html, rows)

    @property
    def question(self) -> str:
        """What was asked, as a sentence."""
        return words.question_of_layers(self.experiment)

    @property
    def answer(self) -> str:
        """What the numbers say, in two sentences at most."""
        return words.profile.answer(self.profile, self.experiment)

    @property
    def details(self) -> list[str]:
        """What else they say, a paragraph each: norm and direction, other vectors, and what to keep in mind."""
        return words.profile.details(self.profile, self.experiment.unit)

    @property
    def notes(self) -> list[str]:
        """What else to know, such as that the corpus has fewer sentences than were asked for."""
        return [*words.notes(self.experiment.for_vectors, self.found), *(self.given.notes if self.given else ())]

    def table(self) -> "pd.DataFrame":
        """One row per reading, that is per pooling, layer and readout.

        Columns: layer (Int64, missing for the pooler output), pooling, readout, r_squared (of the norm that of its
        regression on length, else cross-validated), lowest_fold and highest_fold (R² over the folds), error (mean
        absolute error of held-out lengths) and guess_error (that of guessing the mean length), norm_mean and norm_sd
        (of readings of the norm), norm_r_squared (of readings of the direction: R² of a probe that predicts the norm
        itself from it), all float64 and NaN where undefined, and problem (why, or "").
        """
        return self.profile.table()

    def fit(self, **view: Unpack[ViewSettings]) -> "Fit":
        """The regression line of norm on length, as `NormResult.fit`; pooling may also be “mean” or “max”."""
        return fit_of(self.found, with_view(self.experiment, view))

    def vectors(self, **view: Unpack[ViewSettings]) -> NDArray[np.float32]:
        """The vectors of one pooling after one layer, float32 (n, width).

        Those of texts in memory are in the order in which they were given, others in that of `found.sentences`.

        They are kept in 16 bits, as distances from the mean of their part; dimensions without LayerNorm gain hold its
        bias alone. Takes layer and pooling; raises SettingError where the model has no such layer or pooling.
        """
        experiment = with_view(self.experiment, view)
        analysis.check_layer(experiment.view, self.found.vectors.n_layers)
        analysis.check_pooling(experiment.view, self.found.vectors)
        vectors = self.found.vectors.of(experiment.pooling, experiment.layer)
        order = self.given.order(len(vectors), self.experiment) if self.given else None
        return vectors if order is None else vectors[np.argsort(order)]

    def erasure(self, *, progress: bool | None = None, **view: Unpack[ViewSettings]) -> "Erasure":
        """What is left of the length in the vectors of a view once it is erased by LEACE (Belrose et al. 2023).

        `left` holds, for the vectors before, after, and with shuffled lengths erased in its place, R² of a linear and a
        nonlinear probe and the correlation of lengths among neighbours, one number per fold. Takes a view; progress:
        whether to show a bar on stderr. Raises UndefinedFitError where there are too few sentences to tell.
        """
        experiment = with_view(self.experiment, view)
        with Bar(progress) as bar:
            return erase_length(self.found, experiment, bar)

    def travel_to(
        self,
        corpus: Corpus,
        *,
        store: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        **view: Unpack[ViewSettings],
    ) -> "tuple[Travel, Found]":
        """Read the probes of this corpus on another, whose vectors are measured first, as many as of this one.

        Takes the other corpus as `probe` does, and a view. Gives how the probes do after each layer, and the sentences
        of the other corpus. Raises ClsvizError as `probe` does.
        """
        experiment, opened = with_view(self.experiment, view), open_store(store)
        with Bar(progress) as bar:
            return read_elsewhere(self.found, experiment, read_corpus(corpus, opened).name, opened, bar)

    def origin(
        self,
        n: int = ALTERED_DEFAULT,
        *,
        store: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        **view: Unpack[ViewSettings],
    ) -> "Origin":
        """Where the probes may get the length from: the first n sentences altered, measured and probed again.

        `natural` holds a reading of [CLS] after each layer, `altered` the same of each alteration: tokens shuffled,
        tokens at random, one token repeated, one position for all, and without [SEP]; `redrawn` four more draws of the
        first three; `problems` says why one cannot be measured. Lengths are in tokens. Takes a view; raises ClsvizError
        as `probe` does.
        """
        experiment, opened = with_view(self.experiment, view), open_store(store)
        with Bar(progress) as bar:
            return read_altered(self.found, experiment, n, opened, bar)

    def random_weights(
        self, *, store: str | os.PathLike[str] | None = None, progress: bool = True, **view: Unpack[ViewSettings]
    ) -> "RandomWeights":
        """What the same probes read from the same architecture with random weights, drawn five times.

        `draws` holds, for each initialisation, a reading of [CLS] after each layer, the last with a learning curve;
        `without_positions` the same of the first with one position vector for all tokens, unless `problem` says why
        that cannot be. Their vectors are measured first. Takes a view; raises ClsvizError as `probe` does.
        """
        experiment, opened = with_view(self.experiment, view), open_store(store)
        with Bar(progress) as bar:
            return read_untrained(self.found, experiment, opened, bar)

    def sentlen_file(
        self,
        path: str | os.PathLike[str],
        per_class: int | None = None,
        *,
        store: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        **view: Unpack[ViewSettings],
    ) -> "Published":
        """The published SentLen task (Conneau et al. 2018) on its own file, for the vector of a view.

        path: tab-separated, a line per sentence: partition (tr, va or te), class, sentence. per_class: how many
        sentences of each class are taken of each partition, all by default; they are measured first, and kept. The
        classifier is a logistic regression on standardised features, its penalty chosen on the validation sentences;
        `vector` and `norm` hold the accuracy on the test sentences with its 95% interval. Raises CorpusError where the
        file is of another form, and ClsvizError as `probe` does.
        """
        experiment, opened = with_view(self.experiment, view), open_store(store)
        file, encoders = open_task(Path(path), per_class), Encoders()
        with Bar(progress) as bar:
            return classify_task(file, self.found, experiment, opened, encoders, bar)

    def plot(self) -> "Figure":
        """The picture of the page “Where length lives”, a plotly Figure: by how much lengths are missed, by layer."""
        return export.errors(self.profile, self.experiment).update_layout(template="plotly_white", height=450)

    def summary(self) -> dict[str, object]:
        """Numbers, controls, settings and fingerprints, ready for JSON: the keys of `clsviz probe --json`."""
        about = export.about(self.experiment, self.found)
        return about | analysis.layers.summary(self.found, self.experiment.view, self.profile)


@spelled_out
def probe(
    model: str | Experiment = "minilm",
    corpus: Corpus = DEFAULT_CORPUS,
    *,
    text: str = "",
    n: int | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> ProbeResult:
    """Measure whole vectors, and fit probes that predict the length from them, after every layer.

    The probes are ridge regressions, cross-validated in five folds.

    n: how many sentences, 1 to 20,000: the first n of the sample that `measure` draws with the same seed. By default
        all texts in memory, and 5,000 sentences of any other corpus.
    The other arguments are those of `measure`; pooling may also be “mean” or “max”. The precision is always exact.

    Raises ClsvizError as `measure` does. Too few sentences for a probe are no error: the table has the reason.

    >>> import clsviz
    >>> result = clsviz.probe("minilm", "python-docs", n=200)
    >>> result.vectors(layer=2).shape
    (200, 384)
    >>> sorted(set(result.table()["readout"]))
    ['direction', 'norm', 'vector']
    >>> result.fit(pooling="mean").n <= 200
    True
    """
    opened = open_store(store)
    given = read_corpus(corpus, opened, text)
    experiment = question(model, given, n, seed, settings, of_vectors=True)
    with Bar(progress) as bar:
        _, found = extract(experiment, Kind.VECTORS, opened, bar)
        return ProbeResult(experiment, found, read_lengths(found, experiment, bar), given)


def read_lengths(found: Found, experiment: Experiment, progress: Progress) -> "Profile":
    """Fit every probe; raises SettingError where the model lacks the experiment's layer or pooling."""
    analysis.check_layer(experiment.view, found.vectors.n_layers)
    analysis.check_pooling(experiment.view, found.vectors)
    n_steps = len(steps(found.vectors.n_layers, found.vectors.has_pooler, len(found.vectors.poolings)))
    progress.begin("Fitting probes", n_steps)
    for profile in analysis.layers.profiles(found, experiment.view):
        progress.advance(len(profile.readings))
    return profile


def erase_length(found: Found, experiment: Experiment, progress: Progress) -> "Erasure":
    """Erase the length from the vectors of the experiment's view, fold by fold; raises UndefinedFitError."""
    progress.begin("Erasing the length", N_FOLDS)
    for erasure in analysis.probes.erasures(found, experiment.view):
        progress.advance(erasure.n_done)
    return erasure


def read_elsewhere(
    found: Found, experiment: Experiment, corpus: str, store: Store, progress: Progress
) -> "tuple[Travel, Found]":
    """Measure the vectors of another corpus, and read the probes of this one on it; raises ClsvizError."""
    _, there = extract(experiment.of_corpus(corpus), Kind.VECTORS, store, progress)
    progress.begin("Reading probes on the other corpus", found.vectors.n_layers + 1)
    for travel in analysis.probes.travels(found, there, experiment.view):
        progress.advance(len(travel.legs))
    return travel, there


def read_untrained(found: Found, experiment: Experiment, store: Store, progress: Progress) -> "RandomWeights":
    """Measure and probe untrained models, or take what was kept; raises ClsvizError."""
    if found.weights.imported:
        raise found.weights.imported.no_model
    encoders, view = Encoders(), experiment.view.of_all_vectors

    def measure(seed: int, alteration: Alteration | None) -> Vectors:
        return measure_untrained(seed, experiment, found, store, encoders, progress, alteration)

    def compute() -> "RandomWeights":
        for result in analysis.random_weights.random_weights(found, view, measure):  # noqa: B007
            progress.check()
        return result

    cache = ResultCache(store.results, jobs.SHOWCASE / "results")
    return cache.get_or_compute(analysis.result_key("random_weights", found, view=view), compute)


def read_altered(found: Found, experiment: Experiment, n: int, store: Store, progress: Progress) -> "Origin":
    """Alter the first n sentences, measure them and probe them; raises SettingError where n is out of range."""
    low, high = ALTERED_SIZES
    if not low <= n <= high:
        raise SettingError(f"{n:,} sentences cannot be altered; it must be a number from {low:,} to {high:,}.")
    encoders = Encoders()

    def measure(alteration: Alteration, draw: int) -> Vectors:
        return measure_altered(n, alteration, experiment, found, store, encoders, progress, draw)

    for origin in analysis.probes.origins(found, experiment.view, n, measure):  # noqa: B007
        progress.check()
    return origin
