"""Where length lives: the answer to where the length of a sentence can be read from."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from clsviz.encoder import pipeline
from clsviz.errors import SettingError, Undefined
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured, Prepared
from clsviz.measurements import Vectors
from clsviz.results import origin, provenance
from clsviz.results.norms import is_nearly_constant, layer_of, line_of
from clsviz.results.numbers import counted, folded, length, lowered, percent
from clsviz.results.result import Fact, Result, first
from clsviz.results.select import check_vector, left_out, norms_of, remedy_of, select, used_of
from clsviz.statistics import ridge
from clsviz.statistics.intervals import Floats, check_different, folds
from clsviz.statistics.ranking import unit
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 3  # changes when a probe is computed in another way

SEEDS: Final = (0, 1, 2)  # of random weights to compare with

LAST: Final = {"mean": "mean-pooled", "pooler": "pooler output"}
"""Vectors after the last layer, besides that of [CLS]."""

ALIKE: Final = 1.1  # errors whose ratio is less are about the same

BY_CHANCE: Final = 9.5
"""R² times the number of sentences that the best of many layers may reach where there is nothing:
the .998 quantile of chi-square of one degree of freedom, as .998 to the 25th power is .95."""

ALMOST_ALL, MOST, HALF, PART, LITTLE = 0.9, 0.75, 0.5, 0.25, 0.05
"""R² from which on the words of a verdict hold."""

COLUMNS: Final = (
    *("probe_r_squared", "probe_r_squared_low", "probe_r_squared_high", "probe_error"),
    *("norm_r_squared", "norm_error"),
)
"""Of held-out lengths: by a probe of the vector, with an interval, and by a line on its norm."""


@dataclass(frozen=True, eq=False)
class Readings:
    """How well the lengths of n_used of n sentences are predicted from the vectors of a model.

    names: of the vectors: 0, 1, … for [CLS] after each layer; mean and pooler, after the last.
    numbers: float64 (n_names, 6), the columns of COLUMNS; NaN where undefined.
    problems: for each name, why there is no probe, or "". remedy: of the last layer's problem.
    guess_error: of guessing the mean length of the other folds.
    n_different: sentences used, near-duplicates counted once. n_truncated: those under the cutoff
        that the model does not read as a whole. width: of a vector.
    nearly_constant: names of vectors whose norms differ on paper only.
    """

    names: tuple[str, ...]
    numbers: Floats
    problems: tuple[str, ...]
    remedy: str
    guess_error: float
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
class Checks:
    """The same probe in other circumstances; NaN where undefined.

    direction: of vectors divided by their norms. half: of the first half of the sentences.
    shuffled: of lengths in random order, the mean of five.
    """

    direction_r2: float
    direction_error: float
    half_r2: float
    half_error: float
    shuffled_r2: float


UNCHECKED: Final = Checks(*[np.nan] * 5)
"""Stands for checks that are not computed yet: the answer does not wait for them."""


def check(experiment: Experiment) -> None:
    """Raise SettingError where a setting could not be heeded."""
    size, probe_size = experiment.sample_size, experiment.probe_size
    if size != "all" and size < probe_size != Experiment.probe_size:
        reason = f"probe_size is {probe_size:,}, and sample_size only {size:,}."
        raise SettingError(reason, "Raise sample_size.")


def find(
    prepared: Prepared | Measured, experiment: Experiment, store: Results
) -> tuple[Readings, Checks] | None:
    """The stored numbers of an experiment, for which nothing need be measured; None if missing.

    Checks that are missing alone are UNCHECKED. Raises SettingError where the model lacks the layer
    or the vector.
    """
    key = _key(prepared, experiment)
    readings = store.find(key, Readings)
    if readings is None:
        return None
    name = _name(experiment, readings.names, prepared.weights.label)
    return readings, store.find((*key, name), Checks) or UNCHECKED


def read(
    job: Job[tuple[Readings, Checks]], measured: Measured, experiment: Experiment, store: Results
) -> Steps:
    """Fit the probes of an experiment, a vector at a time, and store their numbers.

    The checks come last. measured: with vectors. Raises SettingError where the model lacks the
    layer or the vector.
    """
    vectors = measured.norms
    assert isinstance(vectors, Vectors)
    n_layers, (_, n_vectors, width) = vectors.n_layers, vectors.vectors.shape
    names = (*map(str, range(n_layers + 1)), *LAST)[:n_vectors]
    name = _name(experiment, names, measured.weights.label)
    table = select(measured, replace(experiment, layer=None, pooling="cls"))
    used = used_of(table, measured.sample, store)
    key = _key(measured, experiment)
    readings = store.find(key, Readings)
    if readings is None:
        rows = []
        for place, other in enumerate(names):
            job.show(place, n_vectors + 1, "vectors")
            yield
            rows.append(_row(measured, other, used))
        numbers, problems, are_flat = zip(*rows, strict=True)
        is_under_cutoff = table["n_tokens"] < experiment.length_cutoff
        computed = Readings(
            names=names,
            numbers=np.stack(numbers),
            problems=tuple(problem.reason if problem else "" for problem in problems),
            remedy=problems[n_layers].remedy if problems[n_layers] else "",
            guess_error=np.nan if all(problems) else guess_error(used),
            n=len(vectors),
            n_used=len(used),
            n_different=used["cluster"].nunique(),
            n_truncated=int((table["truncated"] & is_under_cutoff).sum()),
            width=width,
            nearly_constant=tuple(compress(names, are_flat)),
        )
        readings = store.get(key, Readings, lambda: computed)
    job.result = readings, UNCHECKED
    job.show(n_vectors, n_vectors + 1, "vectors")
    yield
    view = _view(name)
    vector = vectors.of(view.pooling, view.layer)[used.index]
    checks = store.get((*key, name), Checks, lambda: _checks(vector, used))
    job.show(n_vectors + 1, n_vectors + 1, "vectors")
    job.result = readings, checks


def probes(
    prepared: Prepared | Measured,
    numbers: tuple[Readings, Checks],
    experiment: Experiment,
    random: Sequence[Readings] = (),
    seconds: float = 0.0,
) -> Result:
    """The answer of stored or computed numbers.

    random: those of the same architecture with random weights. seconds: that measuring took.
    """
    readings, checks = numbers
    name = _name(experiment, readings.names, prepared.weights.label)
    table = _table(readings, random)
    of_cls = table[table["vector"] == "cls"]
    band = of_cls[["layer", "random_low", "random_high"]].set_axis(["layer", "low", "high"], axis=1)
    layers = of_cls[["layer", *COLUMNS, "is_nearly_constant"]].to_dict("records")
    sizes = prepared.sample, readings.n_long, readings.n
    return Result(
        kind="probes",
        question=f"Where can length be read from in {prepared.weights.label}?",
        verdict=verdict_of(readings, experiment.unit),
        advice="" if readings.has_probe else remedy_of(readings.remedy, experiment, *sizes),
        facts=_facts(readings, checks, name, experiment.unit),
        details={
            "layers": [folded(row) for row in layers],
            "random_weights": band.to_dict("records") if random else None,
        },
        picture={"guess": readings.guess_error, "unit": experiment.unit},
        caveats=_caveats(prepared, readings, experiment, random),
        table=table,
        about={
            **provenance.source(prepared, experiment),
            "n_measured": readings.n,
            "seconds": round(seconds, 3),
        },
        command=provenance.command("probe", experiment) + " --random-weights" * bool(random),
    )


def verdict_of(readings: Readings, unit: str) -> str:
    """The answer in a sentence: of the best layer of those that stand out from chance."""
    r2, low, _, error, *_ = readings.numbers[: readings.n_layers + 1].T
    with np.errstate(invalid="ignore"):
        stands_out = (low > 0) & (r2 * readings.n_different >= BY_CHANCE)
    best = int(np.argmax(np.where(stands_out, r2, -np.inf)))
    b = float(r2[best]) if stands_out[best] else 0.0
    fades = not r2[-1] >= MOST or error[-1] >= max(2 * error[best], 0.5)  # of a whole number
    at_best, at_last = (length(error[layer], unit) for layer in (best, -1))
    only = "only " * (not at_best.startswith("under"))
    after, misses = _after(str(best)), "a linear probe misses length by"
    hardly = "a linear probe finds almost no length in the [CLS] vector, after any layer"
    return first(
        (not readings.has_probe, f"Can’t tell: {lowered(readings.problems[readings.n_layers])}"),
        (b >= ALMOST_ALL and fades, f"Yes, but it fades: {after}, {misses} {only}{at_best}."),
        (b >= ALMOST_ALL, f"Yes, to the last layer: there {misses} {at_last}."),
        (b >= HALF, f"Largely: {misses} {at_best} {after}."),
        (b >= PART, f"Partly: {misses} {at_best} {after}."),
        (b >= LITTLE, f"A little: {after}, a linear probe beats guessing somewhat."),
        (True, f"Hardly: with this many sentences, {hardly}."),
    )


def findings(result: Result) -> list[tuple[str, str]]:
    """For each check that is computed and defined, what it finds, and what that means."""
    keys = "vector_error", "direction_error", "half_error", "shuffled_probe_r_squared"
    error, direction, half, shuffled = np.array([result.fact(key) for key in keys], np.float64)
    unit = result.picture["unit"]
    both = f"A probe of the whole vector, with all sentences, misses by {length(error, unit)}."
    is_better, is_worse = ALIKE * direction < error, direction > ALIKE * error
    does = "better" if is_better else "worse" if is_worse else "as well"
    halves_do = "worse" if half > ALIKE * error else "almost as well"
    amount, meaning = "nothing", "the probe does not make up what it finds"
    if shuffled >= 0.01:
        amount, meaning = "something", "as much of what it finds may be chance"
    order = "The lengths are put in a random order, five times. An R² of 0 or less is guessing"
    cases = {
        f"The direction alone does {does}: it misses by {length(direction, unit)}": (
            f"Each vector is divided by its norm, so that all have size 1. {both}"
        ),
        f"Half as many sentences do {halves_do}: a probe misses by {length(half, unit)}": (
            f"{both} Twice as many may lower that about as much again."
        ),
        f"In shuffled lengths, a probe finds {amount}: R² {percent(shuffled)}": (
            f"{order}: {meaning}."
        ),
    }
    values = direction, half, shuffled
    return [case for case, value in zip(cases.items(), values, strict=True) if not np.isnan(value)]


def _key(prepared: Prepared | Measured, experiment: Experiment) -> tuple[object, ...]:
    sample, n = prepared.sample, min(len(prepared.sample), experiment.probe_size)
    model = prepared.weights.fingerprint, experiment.precision
    view = experiment.length_cutoff, experiment.unit
    return "probes", VERSION, *model, sample.corpus.fingerprint, sample.seed, n, *view


def _name(experiment: Experiment, names: Sequence[str], label: str) -> str:
    """The name of an experiment's vector in `Readings`, of a model's; raises SettingError.

    label: of the model, for the message.
    """
    n_layers = sum(map(str.isdecimal, names)) - 1
    layer = check_vector(experiment, n_layers, "pooler" in names, label)
    return str(layer) if experiment.pooling == "cls" else experiment.pooling


def _view(name: str) -> Experiment:
    """The layer and the pooling of a name of `Readings`."""
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


def guess_error(used: "pd.DataFrame") -> float:
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


def _checks(vectors: NDArray[np.float32], used: "pd.DataFrame") -> Checks:
    """The checks of one vector of the sentences used (n, width)."""
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
    return Checks(*direction, *half, score(vectors, shuffled)[0])


def _table(readings: Readings, random: Sequence[Readings]) -> "pd.DataFrame":
    """A row for each vector: the points of the picture.

    random_low, random_high: the errors of [CLS] with random weights.
    """
    import pandas as pd

    names, last = readings.names, readings.n_layers
    is_cls = np.array([name.isdecimal() for name in names])
    table = pd.DataFrame(readings.numbers, columns=COLUMNS)
    table.insert(0, "vector", np.where(is_cls, "cls", names))
    table.insert(1, "layer", [int(name) if name.isdecimal() else last for name in names])
    error = COLUMNS.index("probe_error")
    errors = [other.numbers[:, error] for other in random] or [np.full(len(names), np.nan)]
    is_flat = pd.Series([name in readings.nearly_constant for name in names], dtype=object)
    table["is_nearly_constant"] = is_flat.where(table["norm_error"].notna(), None)
    table["random_low"] = np.where(is_cls, np.fmin.reduce(errors), np.nan)
    table["random_high"] = np.where(is_cls, np.fmax.reduce(errors), np.nan)
    return table


def _facts(readings: Readings, checks: Checks, name: str, unit: str) -> tuple[Fact, ...]:
    """Those of the experiment's vector, then those of others, which are in JSON alone."""
    vector = f"[CLS] after layer {name}" if name.isdecimal() else LAST[name]
    rows = dict(zip(readings.names, readings.numbers.tolist(), strict=True))
    r2, low, high, error, _, norm_error = rows[name]
    share, quiet = "percent", True
    facts = [
        Fact("vector_r_squared", f"{vector}: R²", r2, (low, high), share),
        Fact("vector_error", "misses by", error, None, unit),
        Fact("guess_error", "guessing", readings.guess_error, None, unit),
        Fact("vector_norm_error", "a line on its norm (held-out)", norm_error, None, unit),
        Fact("direction_error", "direction alone", checks.direction_error, None, unit),
        Fact("half_error", "half as many sentences", checks.half_error, None, unit),
        Fact("shuffled_probe_r_squared", "shuffled lengths: R²", checks.shuffled_r2, None, share),
        Fact("direction_r_squared", "direction alone: R²", checks.direction_r2, None, share, quiet),
        Fact("half_r_squared", "half as many sentences: R²", checks.half_r2, None, share, quiet),
    ]
    for other, label in LAST.items():
        r2, _, _, error, *_ = rows.get(other, [np.nan] * len(COLUMNS))
        facts.append(Fact(f"{other}_probe_r_squared", f"{label}: R²", r2, None, share, quiet))
        facts.append(Fact(f"{other}_probe_error", label, error, None, unit, quiet))
    return (
        *(replace(fact, is_quiet=True) if np.isnan(fact.value or 0.0) else fact for fact in facts),
        Fact("n_used", "sentences", readings.n_used, form="count"),
    )


def _caveats(
    prepared: Prepared | Measured,
    readings: Readings,
    experiment: Experiment,
    random: Sequence[Readings],
) -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each."""
    sample, n, n_different = prepared.sample, readings.n, readings.n_different
    has_probe, has_line = np.isfinite(readings.numbers[:, [0, 4]]).T
    vectors = np.array([_after(name) for name in readings.names])
    caveats = [
        f"There is no probe {vector}: {lowered(problem)}"
        for vector, problem in zip(vectors, readings.problems, strict=True)
        if problem and has_probe.any()
    ]
    if where := ", ".join(vectors[has_probe & ~has_line]):
        caveats.append(f"Norms are constant, or not resolved by the precision, {where}.")
    if where := ", ".join(map(_after, readings.nearly_constant)):
        caveats.append(f"Norms differ by less than 0.1% of their mean, on paper only, {where}.")
    caveats += left_out(experiment, sample, readings.n_long, readings.n_truncated)
    if n < len(sample):
        caveats.append(f"Probes take the first {n:,} of {counted(len(sample))}: see probe_size.")
    if has_probe.any() and n_different < 5 * readings.width:
        few = f"{counted(n_different, 'different sentence')} are few for {readings.width:,}"
        caveats.append(f"{few} dimensions: with more, a probe may miss by less.")
    if last := [one.numbers[one.n_layers] for one in random if one.has_probe]:
        r2, *_, error, _, _ = np.max(last, axis=0).tolist()
        misses = f"probes of the last layer miss length by {length(error, experiment.unit)}"
        reason = ": attention is almost even there, so [CLS] is nearly an average of the tokens"
        caveats.append(f"With random weights, {misses}{reason * (r2 >= HALF)}.")
    return (
        *caveats,
        *prepared.sample.corpus.reading.caveats,
        *pipeline.read(prepared.weights.folder).caveats(experiment.pooling),
        *origin(_key(prepared, experiment)),
    )


def _after(name: str) -> str:
    if name.isdecimal():
        return f"after layer {name}{' (embeddings)' * (name == '0')}"
    return f"of the {LAST[name]}"
