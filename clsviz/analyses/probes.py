"""Where length can be read from: probes of every vector, and their controls."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Final, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from clsviz.analyses.norms import is_nearly_constant, line_of
from clsviz.analyses.recall import LayerSearch, RecallSettings, by_layer
from clsviz.analyses.select import check_vector, layer_of, norms_of, resolve, select, used_of
from clsviz.errors import ClsvizError, NoCls, SettingError, Undefined
from clsviz.jobs.measure import Workspace, find_model, measure, prepare, stored
from clsviz.measurements import Emitted, Kind, Last, Vectors
from clsviz.progress import Progress
from clsviz.settings import Experiment, Pooling
from clsviz.sources.models import UNTRAINED, Weights
from clsviz.sources.sampling import Measured, Prepared
from clsviz.sources.searches import fold
from clsviz.statistics import ridge
from clsviz.statistics.intervals import Floats, check_different, folds
from clsviz.statistics.ranking import unit
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 4  # changes when a probe is computed in another way

SEEDS: Final = (0, 1, 2)  # of random weights to compare with

LAST: Final = ("mean", "pooler")
"""Vectors after the last layer, besides that of [CLS]."""

N_WORDS: Final = 384
"""Columns that words are hashed into, for the control that knows no more than which occur."""

COLUMNS: Final = (
    *("probe_r_squared", "probe_r_squared_low", "probe_r_squared_high", "probe_error"),
    *("norm_r_squared", "norm_error"),
)
"""Of held-out lengths: by a probe of the vector, with an interval, and by a line on its norm."""


@dataclass(frozen=True, eq=False)
class ProbeScores:
    """How well the lengths of n_used of n sentences are predicted from the vectors of a model.

    names: of the vectors: 0, 1, … for [CLS] after each layer; mean and pooler, after the last;
        pipeline, that of the model's own. Without [CLS] there is the last alone.
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
        """True if there is a probe of [CLS] after any layer, or of any vector without [CLS]."""
        return bool(np.isfinite(self.numbers[: self.n_layers + 1 or None, 0]).any())

    def error(self, name: str) -> float:
        """The error of a vector's probe; NaN where there is none."""
        errors = dict(zip(self.names, self.numbers[:, COLUMNS.index("probe_error")], strict=True))
        return float(errors.get(name, np.nan))


@dataclass(frozen=True)
class ControlProbes:
    """Control probes: direction only, half the data, shuffled lengths, words; NaN where undefined.

    direction: of vectors divided by their norms. half: of the first half of the sentences.
    shuffled: of lengths in random order, the mean of five. words: of which words occur alone.
    """

    direction_r2: float
    direction_error: float
    half_r2: float
    half_error: float
    shuffled_r2: float
    words_r2: float
    words_error: float


PENDING: Final = ControlProbes(*[np.nan] * 7)
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
    no_cls, vector = prepared.weights.no_cls, (experiment.layer, experiment.pooling)
    if no_cls and vector not in ((None, "cls"), (None, "pipeline")):
        remedy = "Leave layer out, and choose pipeline as pooling."
        raise NoCls(f"{prepared.weights.label} {no_cls}.", remedy)

    def publish(part: ProbeNumbers) -> None:
        progress.publish(lambda: part)

    numbers = _numbers(prepared, experiment, workspace, progress, publish)
    if recall is not None:
        publish(numbers)
        model = prepared.weights, numbers.scores.names
        search = by_layer(*model, experiment, recall, workspace, progress)
        seconds = numbers.seconds + (search.seconds if search else 0.0)
        numbers = replace(numbers, recall=search, seconds=seconds)
    if random_weights is False:
        return numbers
    publish(numbers)
    name = UNTRAINED + experiment.model.removeprefix(UNTRAINED)
    view = replace(experiment, layer=None, pooling="cls", text_prompt=None)
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
    weights, sample = prepared.weights, prepared.sample
    few = Prepared(weights, replace(sample, order=sample.order[: experiment.probe_size]))
    emitting = resolve(replace(experiment, layer=None, pooling="pipeline"), weights)
    kinds: list[Kind] = [] if weights.no_cls else ["vectors"]
    if _can_emit(emitting, weights) and not _is_of_vectors(emitting, weights):
        kinds.append("text")

    def check(part: Measured) -> None:
        if experiment.pooling != "pipeline" and not isinstance(part.norms, Emitted):
            norms_of(part.norms, experiment, weights.label)

    inputs = workspace, progress, check
    seconds = sum(measure(few, emitting, kind, *inputs).seconds for kind in kinds)
    with progress.at("analysis"):
        measured, *others = [stored(few, emitting, kind, workspace) for kind in kinds]
        emitted = others[0] if others else _emitted(measured, emitting)
        scores = score(measured, experiment, workspace.results, progress, emitted)
        publish(ProbeNumbers(prepared, scores, PENDING))
        controls = control(measured, experiment, scores, workspace.results, emitted)
    return ProbeNumbers(prepared, scores, controls, seconds=seconds)


def _can_emit(emitting: Experiment, weights: Weights) -> bool:
    """True if the pipeline emits vectors of these weights, in this precision."""
    is_trained = not weights.is_untrained and emitting.precision == "exact"
    return emitting.pooling == "pipeline" and (weights.pipeline.is_own or is_trained)


def _is_of_vectors(emitting: Experiment, weights: Weights) -> bool:
    """True if what the pipeline emits follows from [CLS] or the mean after the last layer."""
    return weights.pipeline.is_own and not emitting.text_prompt and not weights.no_cls


def _emitted(measured: Measured, emitting: Experiment) -> Measured | None:
    """What a pipeline without prompts emits, of the vectors after the last layer."""
    own, norms = measured.weights.pipeline, measured.norms
    if isinstance(norms, Emitted):
        return measured
    if not (_can_emit(emitting, measured.weights) and isinstance(norms, Vectors)):
        return None
    texts = norms.of(cast(Pooling, own.pooling)), norms.n_tokens, norms.truncated
    arrays = Emitted.arrays(*texts, is_unit=own.normalizes)
    return replace(measured, norms=Emitted.from_slices([arrays]))


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
    name = name_of(experiment, scores.names, prepared.weights)
    return scores, store.find((*key, name), ControlProbes) or PENDING


def score(
    measured: Measured,
    experiment: Experiment,
    store: Results,
    progress: Progress,
    emitted: Measured | None = None,
) -> ProbeScores:
    """Fit the probes of an experiment, a vector at a time, and store their scores.

    measured: with vectors of [CLS], or emitted where there are none. emitted: with those of the
    pipeline. Raises SettingError where the model lacks the layer or the vector.
    """
    vectors, names = measured.norms, tuple[str, ...]()
    assert isinstance(vectors, Last)
    if not isinstance(vectors, Emitted):
        layers = map(str, range(vectors.n_layers + 1))
        names = (*layers, *LAST)[: vectors.vectors.shape[1]]
    names += ("pipeline",) * bool(emitted)
    name_of(experiment, names, measured.weights)
    table, used = _sentences(measured, experiment, store)
    key = key_of(measured, experiment)
    known = store.find(key, ProbeScores)
    if known is not None:
        return known
    rows = []
    for place, name in enumerate(names):
        progress(place, len(names) + 1, "vectors")
        of_name = emitted if name == "pipeline" and emitted else measured
        rows.append(_row(of_name, name, used))
    numbers, problems, are_flat = zip(*rows, strict=True)
    computed = ProbeScores(
        names=names,
        numbers=np.stack(numbers),
        problems=tuple(problem.reason if problem else "" for problem in problems),
        remedy=(problems[max(vectors.n_layers, 0)] or Undefined("")).remedy,
        baseline_error=np.nan if all(problems) else baseline_error(used),
        n=len(vectors),
        n_used=len(used),
        n_different=used["cluster"].nunique(),
        n_truncated=int((table["truncated"] & ~table["is_long"]).sum()),
        width=vectors.vectors.shape[2],
        nearly_constant=tuple(compress(names, are_flat)),
    )
    progress(len(names), len(names) + 1, "vectors")
    return store.put(key, computed)


def control(
    measured: Measured,
    experiment: Experiment,
    scores: ProbeScores,
    store: Results,
    emitted: Measured | None = None,
) -> ControlProbes:
    """The controls of an experiment's vector, stored or computed."""
    name = name_of(experiment, scores.names, measured.weights)
    view, used = _view(name), _sentences(measured, experiment, store)[1]
    norms = (emitted if name == "pipeline" and emitted else measured).norms
    assert isinstance(norms, Last)
    vector = norms.of(view.pooling, view.layer)[used.index]
    key = (*key_of(measured, experiment), name)
    return store.get(key, ControlProbes, lambda: _controls(vector, used))


def _sentences(
    measured: Measured, experiment: Experiment, store: Results
) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """All sentences, and those that enter the answer."""
    pooling: Pooling = "pipeline" if isinstance(measured.norms, Emitted) else "cls"
    table = select(measured, replace(experiment, layer=None, pooling=pooling))
    return table, used_of(table, measured.sample, store)


def key_of(prepared: Prepared | Measured, experiment: Experiment) -> tuple[object, ...]:
    """The key of the scores in the store."""
    sample, n = prepared.sample, min(len(prepared.sample), experiment.probe_size)
    model = prepared.weights.key("pipeline"), experiment.precision
    prompt = resolve(replace(experiment, pooling="pipeline"), prepared.weights).text_prompt
    view = experiment.length_cutoff, experiment.unit, *filter(None, [prompt])
    return "probes", VERSION, *model, sample.corpus.fingerprint, sample.seed, n, *view


def name_of(experiment: Experiment, names: Sequence[str], weights: Weights) -> str:
    """The name of an experiment's vector in `ProbeScores`, of a model's; raises SettingError.

    A model without [CLS] has one vector.
    """
    if weights.no_cls:
        return "pipeline"
    experiment, label = resolve(experiment, weights), weights.label
    n_layers = sum(map(str.isdecimal, names)) - 1
    layer = check_vector(experiment, n_layers, "pooler" in names, label)
    if experiment.pooling == "pipeline" and "pipeline" not in names:
        reason = f"{label} emits its vectors with its own weights, in the exact precision only."
        raise SettingError(reason, "Choose cls or mean as pooling.")
    return str(layer) if experiment.pooling == "cls" else experiment.pooling


def _view(name: str) -> Experiment:
    """The layer and the pooling of a name of `ProbeScores`."""
    return Experiment.parse({"layer" if name.isdecimal() else "pooling": name})


def predict(measured: Measured, view: Experiment, used: "pd.DataFrame") -> Floats:
    """Held-out lengths of the sentences used by a probe of a vector, float64 (n_used,).

    Raises Undefined where there is no probe.
    """
    assert isinstance(measured.norms, Last)
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
    words = score(words_of(used["sentence"]), y)
    return ControlProbes(*direction, *half, score(vectors, shuffled)[0], *words)


def words_of(sentences: Iterable[str]) -> Floats:
    """Which words occur in each of n sentences, hashed into columns: 0 or 1, float64 (n, 384)."""
    rows = [{crc32(word.encode()) % N_WORDS for word in fold(text).split()} for text in sentences]
    occurs = np.zeros((len(rows), N_WORDS))
    for row, places in enumerate(rows):
        occurs[row, list(places)] = 1
    return occurs
