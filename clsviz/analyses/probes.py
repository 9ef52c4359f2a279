"""Where length can be read from: probes of every vector, and their controls."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from clsviz.analyses.norms import is_nearly_constant, line_of
from clsviz.analyses.recall import LayerSearch, RecallSettings, by_layer
from clsviz.analyses.select import check_vector, layer_of, norms_of, select, used_of
from clsviz.errors import ClsvizError, Undefined
from clsviz.jobs.measure import Workspace, find_model, measure, prepare, stored
from clsviz.measurements import Vectors
from clsviz.progress import Progress
from clsviz.settings import Experiment
from clsviz.sources.models import UNTRAINED
from clsviz.sources.sampling import Measured, Prepared
from clsviz.statistics import ridge
from clsviz.statistics.intervals import Floats, check_different, folds
from clsviz.statistics.ranking import unit
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 3  # changes when a probe is computed in another way

SEEDS: Final = (0, 1, 2)  # of random weights to compare with

LAST: Final = ("mean", "pooler")
"""Vectors after the last layer, besides that of [CLS]."""

COLUMNS: Final = (
    *("probe_r_squared", "probe_r_squared_low", "probe_r_squared_high", "probe_error"),
    *("norm_r_squared", "norm_error"),
)
"""Of held-out lengths: by a probe of the vector, with an interval, and by a line on its norm."""


@dataclass(frozen=True, eq=False)
class ProbeScores:
    """How well the lengths of n_used of n sentences are predicted from the vectors of a model.

    names: of the vectors: 0, 1, … for [CLS] after each layer; mean and pooler, after the last.
    numbers: float64 (n_names, 6), the columns of COLUMNS; NaN where undefined.
    problems: for each name, why there is no probe, or "". remedy: of the last layer's problem.
    baseline_error: of guessing the mean length of the other folds.
    n_different: sentences used, near-duplicates counted once. n_truncated: those under the cutoff
        that the model does not read as a whole. width: of a vector.
    nearly_constant: names of vectors whose norms differ on paper only.
    """

    names: tuple[str, ...]
    numbers: Floats
    problems: tuple[str, ...]
    remedy: str
    baseline_error: float
    n: int
    n_used: int
    n_different: int
    n_truncated: int
    width: int
    nearly_constant: tuple[str, ...] = ()

    @property
    def n_layers(self) -> int:
        """Number of the last layer; 0 is the embedding output."""
        return sum(name.isdecimal() for name in self.names) - 1

    @property
    def n_long(self) -> int:
        """Number of sentences over the cutoff."""
        return self.n - self.n_used - self.n_truncated

    @property
    def has_probe(self) -> bool:
        """True if there is a probe of [CLS] after any layer."""
        return bool(np.isfinite(self.numbers[: self.n_layers + 1, 0]).any())


@dataclass(frozen=True)
class ControlProbes:
    """Control probes: direction only, half the data, shuffled lengths; NaN where undefined.

    direction: of vectors divided by their norms. half: of the first half of the sentences.
    shuffled: of lengths in random order, the mean of five.
    """

    direction_r2: float
    direction_error: float
    half_r2: float
    half_error: float
    shuffled_r2: float


PENDING: Final = ControlProbes(*[np.nan] * 5)
"""Placeholder until the controls are computed: the answer does not wait for them."""


@dataclass(frozen=True, eq=False)
class ProbeNumbers:
    """The scores of an experiment, their controls, and scores with random weights of every seed.

    seconds: that measuring took. recall: of searches by the same vectors, or None.
    """

    prepared: Prepared
    scores: ProbeScores
    controls: ControlProbes
    random: list[ProbeScores] = field(default_factory=list)
    seconds: float = 0.0
    recall: LayerSearch | None = None


def probes(
    experiment: Experiment,
    workspace: Workspace,
    progress: Progress,
    texts: Any = None,
    *,
    random_weights: bool | None = False,
    recall: RecallSettings | None = None,
) -> ProbeNumbers:
    """Fit probes to the vectors of a sample; publishes scores before their controls.

    random_weights: True measures the model with random weights, too; None takes their scores where
    they are stored. recall: of which searches the same vectors find right texts, too.
    Raises SettingError where the model lacks the layer or the vector.
    """
    prepared = prepare(experiment, workspace, progress, texts)

    def publish(part: ProbeNumbers) -> None:
        progress.publish(lambda: part)

    numbers = _numbers(prepared, experiment, workspace, progress, publish)
    if recall is not None:
        publish(numbers)
        model = prepared.weights, numbers.scores.names
        found = by_layer(*model, experiment, recall, workspace, progress)
        numbers = replace(numbers, recall=found)
    if random_weights is False:
        return numbers
    publish(numbers)
    name = UNTRAINED + experiment.model.removeprefix(UNTRAINED)
    view = replace(experiment, layer=None, pooling="cls")
    try:
        untrained = [Prepared(find_model(name, seed, progress), prepared.sample) for seed in SEEDS]
    except ClsvizError:  # nobody has asked for what a Hub that is not reached would be needed for
        if random_weights is None:
            return numbers
        raise
    if random_weights is None:
        known = [find(one, view, workspace.results) for one in untrained]
        random = [scores for scores, _ in filter(None, known)]
        return replace(numbers, random=random if len(random) == len(SEEDS) else [])
    n = min(len(prepared.sample), experiment.probe_size)
    seconds, random = numbers.seconds, []
    for place, one in enumerate(untrained):
        part = progress.part(place * n, len(untrained) * n, "sentences")
        of_seed = _numbers(one, view, workspace, part)
        random.append(of_seed.scores)
        seconds += of_seed.seconds
    return replace(numbers, random=random, seconds=seconds)


def _numbers(
    prepared: Prepared,
    experiment: Experiment,
    workspace: Workspace,
    progress: Progress,
    publish: Callable[[ProbeNumbers], None] = lambda _: None,
) -> ProbeNumbers:
    """The numbers of a model: stored, or measured and computed."""
    known = find(prepared, experiment, workspace.results)
    if known is not None and known[1] is not PENDING:
        return ProbeNumbers(prepared, *known)
    if known is not None:
        publish(ProbeNumbers(prepared, *known))
    label = prepared.weights.label

    def check(part: Measured) -> None:
        norms_of(part.norms, experiment, label)

    seconds = measure(prepared, experiment, "vectors", workspace, progress, check).seconds
    with progress.at("analysis"):
        measured = stored(prepared, experiment, "vectors", workspace)
        scores = score(measured, experiment, workspace.results, progress)
        publish(ProbeNumbers(prepared, scores, PENDING))
        controls = control(measured, experiment, scores, workspace.results)
    return ProbeNumbers(prepared, scores, controls, seconds=seconds)


def find(
    prepared: Prepared | Measured, experiment: Experiment, store: Results
) -> tuple[ProbeScores, ControlProbes] | None:
    """The stored numbers of an experiment, for which nothing need be measured; None if missing.

    Controls that are missing alone are PENDING. Raises SettingError where the model lacks the layer
    or the vector.
    """
    key = key_of(prepared, experiment)
    scores = store.find(key, ProbeScores)
    if scores is None:
        return None
    name = name_of(experiment, scores.names, prepared.weights.label)
    return scores, store.find((*key, name), ControlProbes) or PENDING


def score(
    measured: Measured, experiment: Experiment, store: Results, progress: Progress
) -> ProbeScores:
    """Fit the probes of an experiment, a vector at a time, and store their scores.

    measured: with vectors. Raises SettingError where the model lacks the layer or the vector.
    """
    vectors = measured.norms
    assert isinstance(vectors, Vectors)
    n_layers, (_, n_vectors, width) = vectors.n_layers, vectors.vectors.shape
    names = (*map(str, range(n_layers + 1)), *LAST)[:n_vectors]
    name_of(experiment, names, measured.weights.label)
    table, used = _sentences(measured, experiment, store)
    key = key_of(measured, experiment)
    known = store.find(key, ProbeScores)
    if known is not None:
        return known
    rows = []
    for place, name in enumerate(names):
        progress(place, n_vectors + 1, "vectors")
        rows.append(_row(measured, name, used))
    numbers, problems, are_flat = zip(*rows, strict=True)
    computed = ProbeScores(
        names=names,
        numbers=np.stack(numbers),
        problems=tuple(problem.reason if problem else "" for problem in problems),
        remedy=problems[n_layers].remedy if problems[n_layers] else "",
        baseline_error=np.nan if all(problems) else baseline_error(used),
        n=len(vectors),
        n_used=len(used),
        n_different=used["cluster"].nunique(),
        n_truncated=int((table["truncated"] & ~table["is_long"]).sum()),
        width=width,
        nearly_constant=tuple(compress(names, are_flat)),
    )
    progress(n_vectors, n_vectors + 1, "vectors")
    return store.put(key, computed)


def control(
    measured: Measured, experiment: Experiment, scores: ProbeScores, store: Results
) -> ControlProbes:
    """The controls of an experiment's vector, stored or computed."""
    assert isinstance(measured.norms, Vectors)
    name = name_of(experiment, scores.names, measured.weights.label)
    view, used = _view(name), _sentences(measured, experiment, store)[1]
    vector = measured.norms.of(view.pooling, view.layer)[used.index]
    key = (*key_of(measured, experiment), name)
    return store.get(key, ControlProbes, lambda: _controls(vector, used))


def _sentences(
    measured: Measured, experiment: Experiment, store: Results
) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """All sentences, and those that enter the answer."""
    table = select(measured, replace(experiment, layer=None, pooling="cls"))
    return table, used_of(table, measured.sample, store)


def key_of(prepared: Prepared | Measured, experiment: Experiment) -> tuple[object, ...]:
    """The key of the scores in the store."""
    sample, n = prepared.sample, min(len(prepared.sample), experiment.probe_size)
    model = prepared.weights.fingerprint, experiment.precision
    view = experiment.length_cutoff, experiment.unit
    return "probes", VERSION, *model, sample.corpus.fingerprint, sample.seed, n, *view


def name_of(experiment: Experiment, names: Sequence[str], label: str) -> str:
    """The name of an experiment's vector in `ProbeScores`, of a model's; raises SettingError.

    label: of the model, for the message.
    """
    n_layers = sum(map(str.isdecimal, names)) - 1
    layer = check_vector(experiment, n_layers, "pooler" in names, label)
    return str(layer) if experiment.pooling == "cls" else experiment.pooling


def _view(name: str) -> Experiment:
    """The layer and the pooling of a name of `ProbeScores`."""
    return Experiment.parse({"layer" if name.isdecimal() else "pooling": name})


def predict(measured: Measured, view: Experiment, used: "pd.DataFrame") -> Floats:
    """Held-out lengths of the sentences used by a probe of a vector, float64 (n_used,).

    Raises Undefined where there is no probe.
    """
    assert isinstance(measured.norms, Vectors)
    check_different(used["cluster"])
    vectors = measured.norms.of(view.pooling, view.layer)[used.index]
    lengths = used[["length"]].to_numpy(np.float64)
    return ridge.predict(vectors, lengths, folds(used["cluster"]))[:, 0]


def baseline_error(used: "pd.DataFrame") -> float:
    """The error of guessing the mean length of the other folds; raises Undefined."""
    guesses = ridge.guess(used["length"], folds(used["cluster"]))
    return float(abs(used["length"] - guesses).mean())


def _row(
    measured: Measured, name: str, used: "pd.DataFrame"
) -> tuple[Floats, Undefined | None, bool]:
    """The numbers of a vector, float64 (6,), why there is no probe, and if norms hardly differ."""
    row, view, is_flat = np.full(len(COLUMNS), np.nan), _view(name), False
    y = used["length"].to_numpy(np.float64)
    try:
        predictions = predict(measured, view, used)
    except Undefined as problem:
        return row, problem, is_flat
    r2, error = ridge.score(y, predictions)
    interval = ridge.r2_interval(y, predictions, used["cluster"], used.get("row_group"))
    row[:4] = r2, *interval, error
    norms = norms_of(measured.norms, view, measured.weights.label)[used.index]
    with suppress(Undefined):
        is_flat = is_nearly_constant(line_of(measured, layer_of(measured, view), used, norms))
        row[4:] = ridge.score(y, ridge.predict_by_line(norms, y, folds(used["cluster"])))
    return row, None, is_flat


def _controls(vectors: NDArray[np.float32], used: "pd.DataFrame") -> ControlProbes:
    """The controls of one vector of the sentences used (n, width)."""
    y, clusters = used[["length"]].to_numpy(np.float64), used["cluster"].to_numpy()
    n = len(y) // 2
    orders = [np.random.RandomState(seed).permutation(len(y)) for seed in range(5)]
    shuffled = np.hstack([y[order] for order in orders])

    def score(x: NDArray[np.floating], targets: Floats) -> tuple[float, float]:
        """The score of probes of the first sentences, with the mean of several targets."""
        try:
            check_different(clusters)
            return ridge.score(targets, ridge.predict(x, targets, folds(clusters[: len(x)])))
        except Undefined:
            return np.nan, np.nan

    direction, half = score(unit(vectors.astype(np.float64)), y), score(vectors[:n], y[:n])
    return ControlProbes(*direction, *half, score(vectors, shuffled)[0])
