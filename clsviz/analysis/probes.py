"""What becomes of probes of the length: erased, on another corpus, of altered sentences, on a published task."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clsviz.analysis.layers import finite_or_none, folds, head, reading_summary, used_sentences
from clsviz.analysis.view import advised, check_layer, check_pooling, near_duplicates
from clsviz.errors import AlterationError, UndefinedFitError
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.measurements import Vectors
from clsviz.settings import DRAWS, N_ALTERED, RANDOM_ALTERATIONS, Alteration, Lengths, Pooling, Unit
from clsviz.sources.near_duplicates import canonical
from clsviz.statistics import probes, ridge, sentlen
from clsviz.statistics.erasure import Erasure, erasure
from clsviz.statistics.lengths import shuffled
from clsviz.statistics.probes import Reading, Sentences, Travel, read_vector
from clsviz.statistics.sentlen import Result

if TYPE_CHECKING:
    from clsviz.sources.published_task import TaskFile


def erasures(found: Found, view: View) -> Iterator[Erasure]:
    """The length erased from the view's vectors, fold by fold; raises UndefinedFitError where that cannot be tested."""
    index, lengths = used_sentences(found, view)
    vectors = found.vectors.of(view.pooling, view.layer)[index]
    with advised(found, view):
        for erased in erasure(vectors, lengths.tolist(), folds(found, view, index)):
            yield replace(erased, n_clusters=_n_different(found, view, index[: erased.n]))


def _n_different(found: Found, view: View, index: NDArray[np.intp]) -> int:
    return len(np.unique(near_duplicates(found, view)[index]))


def erasure_summary(found: Erasure) -> dict[str, object]:
    """What erasing leaves, ready for JSON: for each version of the vectors the means over folds, and the folds."""

    def row(values: tuple[float, ...]) -> float | None:
        return finite_or_none(float(np.mean(values))) if values else None

    return {
        "n_used": found.n,
        "n_clusters": found.n_clusters,
        **{
            name.replace(" ", "_"): {
                "linear_r_squared": row(left.linear),
                "linear_fold_r_squared": list(left.linear),
                "nonlinear_r_squared": row(left.nonlinear),
                "nonlinear_fold_r_squared": list(left.nonlinear),
                "neighbor_length_correlation": row(left.neighbours),
            }
            for name, left in found.left.items()
        },
    }


def travels(found: Found, there: Found, view: View) -> Iterator[Travel]:
    """Probes of the view's pooling trained on what was found, read on another corpus by the same model, by layer.

    Sentences of the other corpus that the first has as well are left out, so that no probe is tested on what it was
    trained on.
    """
    of_here, of_there = _sentences(found, view), _sentences(there, view, found)
    n_here, n_there = _n_different(found, view, of_here.index), _n_different(there, view, of_there.index)
    for travel in probes.travel(of_here, of_there, view.pooling):
        yield replace(travel, n_clusters=n_here, n_clusters_there=n_there)


def _sentences(found: Found, view: View, other: Found | None = None) -> Sentences:
    index, lengths = used_sentences(found, view)
    if other is not None:
        known = {canonical(other.sentences[i]) for i in used_sentences(other, view)[0]}
        new = np.array([canonical(found.sentences[i]) not in known for i in index], bool)
        index, lengths = index[new], lengths[new]
    return Sentences(found.vectors, index, lengths, folds(found, view, index))


def travel_summary(found: Travel, there: Found) -> dict[str, object]:
    """How the probe travels, ready for JSON; undefined values are None."""
    return {
        "corpus": there.corpus.selection.corpus,
        "corpus_fingerprint": there.corpus.fingerprint,
        "n_used": found.n,
        "n_used_there": found.n_there,
        "n_clusters": found.n_clusters,
        "n_clusters_there": found.n_clusters_there,
        "guess_error": finite_or_none(found.guess_error),
        "guess_error_across": finite_or_none(found.guess_error_across),
        "guess_error_there": finite_or_none(found.guess_error_there),
        "layers": [
            {
                name: list(value) if isinstance(value, tuple) else finite_or_none(value)
                for name, value in asdict(leg).items()
            }
            for leg in found.legs
        ],
    }


@dataclass(frozen=True, eq=False)
class Origin:
    """How well linear probes of [CLS] predict the length of natural and of altered sentences, as far as that is known.

    n: sentences used. n_clusters: how many of them differ by more than a few words. width: dimensions of a vector.
    guess_error: mean absolute error of guessing the mean length.
    natural: after each layer from 0 on. altered: the same of each alteration, in the order of `Alteration`; lengths are
    those of the natural sentences, in tokens, and so are the folds. problems: why an alteration cannot be measured.
    redrawn: the further draws of alterations that are drawn at random, each with its layers.
    """

    n: int
    n_clusters: int
    n_layers: int
    width: int
    guess_error: float
    natural: tuple[Reading, ...] = ()
    altered: Mapping[Alteration, tuple[Reading, ...]] = field(default_factory=dict)
    problems: Mapping[Alteration, str] = field(default_factory=dict)
    redrawn: Mapping[Alteration, tuple[tuple[Reading, ...], ...]] = field(default_factory=dict)

    @property
    def n_done(self) -> int:
        """How many of N_ALTERED readings of the sentences are done, or cannot be."""
        every = [*self.altered.values(), *(layers for draws in self.redrawn.values() for layers in draws)]
        cannot = sum(DRAWS if alteration in RANDOM_ALTERATIONS else 1 for alteration in self.problems)
        return sum(len(layers) > self.n_layers for layers in every) + cannot

    @property
    def is_complete(self) -> bool:
        """Whether every alteration is measured, or cannot be."""
        return self.n_done == N_ALTERED

    def draws(self, alteration: Alteration, layer: int) -> list[float]:
        """R² after a layer in every draw of an alteration that is done there and has one."""
        every = [self.altered.get(alteration, ()), *self.redrawn.get(alteration, ())]
        values = [layers[layer].r_squared for layers in every if layer < len(layers)]
        return [value for value in values if value is not None]

    @property
    def best(self) -> Reading | None:
        """The reading of natural sentences with the highest R², the earliest on a tie; None while there is none."""
        known = [reading for reading in self.natural if reading.r_squared is not None]
        return max(known, key=lambda reading: reading.r_squared or 0.0, default=None)


def origins(found: Found, view: View, n: int, measure: Callable[[Alteration, int], Vectors]) -> Iterator[Origin]:
    """Probe the natural sentences among the first n, then alter them in each way, measure and probe them again.

    Yields what is known after each layer. measure: gives the vectors of the first n sentences that were found, altered,
    by the same model, in the draw of that number; raises AlterationError where the model cannot read them.
    """
    first = head(found, n)
    index, lengths = used_sentences(first, replace(view, unit=Unit.TOKENS))
    of_folds = folds(first, view, index)
    guess_error = ridge.guess_error(lengths, of_folds)
    n_different = _n_different(first, view, index)
    origin = Origin(len(index), n_different, found.vectors.n_layers, found.vectors.width, guess_error)
    for natural in _probe_layers(first.vectors, index, lengths, of_folds):
        origin = replace(origin, natural=natural)
        yield origin
    for alteration in Alteration:
        try:
            vectors = measure(alteration, 0)
        except AlterationError as error:
            origin = replace(origin, problems={**origin.problems, alteration: str(error)})
            yield origin
            continue
        for readings in _probe_layers(vectors, index, lengths, of_folds):
            origin = replace(origin, altered={**origin.altered, alteration: readings})
            yield origin
    for alteration in [one for one in origin.altered if one in RANDOM_ALTERATIONS]:
        for draw in range(1, DRAWS):
            before = origin.redrawn.get(alteration, ())
            for readings in _probe_layers(measure(alteration, draw), index, lengths, of_folds):
                origin = replace(origin, redrawn={**origin.redrawn, alteration: (*before, readings)})
                yield origin


def _probe_layers(
    vectors: Vectors, index: NDArray[np.intp], lengths: NDArray[np.integer], of_folds: NDArray[np.intp]
) -> Iterator[tuple[Reading, ...]]:
    """Probes of [CLS], one more layer at a time."""
    readings: tuple[Reading, ...] = ()
    for layer in range(vectors.n_layers + 1):
        of_layer = vectors.of(Pooling.CLS, layer)[index]
        readings = (*readings, read_vector(Pooling.CLS, layer, of_layer, lengths, of_folds))
        yield readings


def origin_summary(found: Origin) -> dict[str, object]:
    """What was found, ready for JSON: for natural and for altered sentences an entry per layer, or why there is none.

    Undefined values are None.
    """

    def rows(readings: tuple[Reading, ...]) -> list[dict[str, object]]:
        return [reading_summary(reading) | {"fold_r_squared": list(reading.fold_r_squared)} for reading in readings]

    return {
        "n_used": found.n,
        "n_clusters": found.n_clusters,
        "guess_error": finite_or_none(found.guess_error),
        "natural": rows(found.natural),
        **{str(alteration): rows(readings) for alteration, readings in found.altered.items()},
        "draws": {
            str(alteration): [found.draws(alteration, layer) for layer in range(found.n_layers + 1)]
            for alteration in found.redrawn
        },
        "problems": {str(alteration): problem for alteration, problem in found.problems.items()},
    }


@dataclass(frozen=True, eq=False)
class Published:
    """How well the classes of a task file can be told from vectors of that width, and from their norms alone.

    vector, norm: None where undefined, and `problem` says why. guessing: accuracy of always answering the class that is
    commonest among the training sentences. n_truncated: sentences of which the model reads only the beginning.
    n_shared: test sentences that are among the training sentences as well, but for case, accents and white space.
    """

    file: str
    fingerprint: str
    n_classes: int
    n_train: int
    n_dev: int
    n_test: int
    width: int
    guessing: float
    vector: Result | None = None
    norm: Result | None = None
    problem: str = ""
    n_truncated: int = 0
    n_shared: int = 0


def classify_published(
    file: "TaskFile", vectors: Vectors, view: View, on_step: Callable[[int], None] = lambda _: None
) -> Published:
    """Train on the training sentences of a task, choose on the validation sentences, and count right ones of the test.

    vectors: of the sentences of the file, in their order. view: which of them; with shuffled lengths the classes are
    shuffled among the sentences of each partition. on_step: called for each classifier that is fitted. Raises
    SettingError if there is no such vector.
    """
    check_pooling(view, vectors)
    check_layer(view, vectors.n_layers)
    labels = file.labels.copy()
    train, dev, test = (np.flatnonzero(file.partitions == number) for number in range(3))
    if view.lengths is Lengths.SHUFFLED:
        for partition in (train, dev, test):
            labels[partition] = shuffled(labels[partition])
    task = sentlen.Task(labels, train, dev, test)
    known = {canonical(file.sentences[i]) for i in train}
    found = Published(
        file.name,
        file.fingerprint,
        len(file.classes),
        *(len(train), len(dev), len(test)),
        vectors.width,
        float(np.mean(task.labels[test] == np.bincount(task.labels[train]).argmax())),
        n_truncated=int(vectors.truncated.sum()),
        n_shared=sum(canonical(file.sentences[i]) in known for i in test),
    )
    try:
        of_vector = sentlen.classify(vectors.of(view.pooling, view.layer), task, on_step)
        found = replace(found, vector=of_vector)
        return replace(found, norm=sentlen.classify(vectors.norms(view.pooling, view.layer), task, on_step))
    except UndefinedFitError as error:
        return replace(found, problem=str(error))


def published_summary(found: Published) -> dict[str, object]:
    """What was found, ready for JSON; undefined values are None."""
    return {
        "file": found.file,
        "file_fingerprint": found.fingerprint,
        "n_classes": found.n_classes,
        "n_train": found.n_train,
        "n_validation": found.n_dev,
        "n_test": found.n_test,
        "n_test_also_in_train": found.n_shared,
        "n_truncated": found.n_truncated,
        "accuracy": found.vector and found.vector.accuracy,
        "interval": found.vector and list(found.vector.interval),
        "accuracy_norm_only": found.norm and found.norm.accuracy,
        "interval_norm_only": found.norm and list(found.norm.interval),
        "guessing": found.guessing,
        "classifier": "logistic regression",
        "problem": found.problem or None,
    }
