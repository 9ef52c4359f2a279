"""Where length lives: the answer to where the length of a sentence can be read from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from clsviz.encoder import pipeline
from clsviz.errors import SettingError, Undefined
from clsviz.experiment import Experiment, Pooling
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured, Prepared
from clsviz.measurements import Vectors
from clsviz.results import provenance
from clsviz.results.norms import check_precision, clusters_of, layer_of
from clsviz.results.numbers import counted, length, percent
from clsviz.results.result import Fact, Result, first
from clsviz.results.select import norms_of, select
from clsviz.statistics import line as lines
from clsviz.statistics import ridge
from clsviz.statistics.bootstrap import folds
from clsviz.statistics.jackknife import Floats, check_different
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 2
"""Changes when a probe is computed in another way."""

SEEDS: Final = (0, 1, 2)
"""Of random weights to compare with."""

N_SHUFFLES: Final = 5
"""One random order of the lengths may do better than most."""

LAST: Final = {"mean": "mean-pooled", "pooler": "pooler output"}
"""Vectors after the last layer, besides that of [CLS]."""

BY_CHANCE: Final = 9.5
"""R² times the number of sentences that the best of many layers may reach where there is nothing:
the .998 quantile of chi-square of one degree of freedom, as .998 to the 25th power is .95."""

ALMOST_ALL, MOST, HALF, PART, LITTLE = 0.9, 0.75, 0.5, 0.25, 0.05
"""R² from which on the words of a verdict hold."""

NEARLY: Final = 1.1
"""An error of so many times another is hardly larger."""

CHANCE: Final = 0.01
"""R² below it is that of guessing."""

WHOLE: Final = 0.5
"""A smaller error is none, as lengths are whole numbers."""

FEW_PER_DIMENSION: Final = 5
"""With fewer different sentences for each dimension, a probe misses much that more would find."""

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

    @property
    def n_layers(self) -> int:
        """Number of the last layer; 0 is the embedding output."""
        return sum(name.isdecimal() for name in self.names) - 1


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


@dataclass(frozen=True, eq=False)
class Lengths:
    """The sentences that probes use: rows of what is measured, lengths, clusters, row groups.

    n_truncated: sentences under the cutoff that the model does not read as a whole.
    """

    rows: NDArray[np.intp]
    lengths: Floats
    clusters: NDArray[np.intp]
    groups: NDArray[Any] | None
    n_truncated: int


def find(
    prepared: Prepared | Measured, experiment: Experiment, store: Results
) -> tuple[Readings, Checks] | None:
    """The stored numbers of an experiment, for which nothing need be measured; None if missing.

    Checks that are missing alone are UNCHECKED. Raises SettingError where the model lacks the layer
    or the vector.
    """
    readings = store.find(_key(prepared, experiment), Readings)
    if readings is None:
        return None
    name = readings.names[place_of(readings.names, experiment, prepared.weights.label)]
    checks = store.find((*_key(prepared, experiment), name), Checks)
    return readings, UNCHECKED if checks is None else checks


def read(
    job: Job[tuple[Readings, Checks]], measured: Measured, experiment: Experiment, store: Results
) -> Steps:
    """Fit the probes of an experiment, a vector at a time, and store their numbers.

    The checks come last. measured: with vectors. Raises SettingError where the model lacks the
    layer or the vector.
    """
    vectors = measured.norms
    assert isinstance(vectors, Vectors)
    layers = [str(layer) for layer in range(vectors.n_layers + 1)]
    names = (*layers, *list(LAST)[: vectors.vectors.shape[1] - len(layers)])
    name = names[place_of(names, experiment, measured.weights.label)]
    used = _used(measured, experiment, store)
    readings = store.find(_key(measured, experiment), Readings)
    if readings is None:
        rows: list[tuple[float, ...]] = []
        problems: dict[str, Undefined] = {}
        for done, other in enumerate(names):
            job.show(done, len(names) + 1, "vectors")
            yield
            try:
                probe = _probe(vectors, other, used)
            except Undefined as error:
                probe, problems[other] = (np.nan,) * 4, error
            rows.append((*probe, *_line(measured, other, used)))
        computed = _readings(vectors, used, names, rows, problems)
        readings = store.get(_key(measured, experiment), Readings, lambda: computed)
    job.result = readings, UNCHECKED
    total = len(names) + 1
    job.show(total - 1, total, "vectors")
    yield
    vector = vectors.of(*_pooling_of(name))[used.rows]
    key = *_key(measured, experiment), name
    checks = store.get(key, Checks, lambda: _checks(vector, used))
    job.show(total, total, "vectors")
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
    place = place_of(readings.names, experiment, prepared.weights.label)
    table = _table(readings, random)
    of_cls = table[table["vector"] == "cls"].to_dict("records")
    band = [{side: row[f"random_{side}"] for side in ("low", "high")} for row in of_cls]
    layers = [{"layer": layer} for layer in range(len(of_cls))]
    is_undefined = bool(np.isnan(readings.numbers[: len(of_cls), 0]).all())
    return Result(
        kind="probes",
        question=f"Where can length be read from in {prepared.weights.label}?",
        verdict=verdict_of(readings, experiment.unit),
        advice=readings.remedy if is_undefined else "",
        facts=_facts(readings, checks, place, experiment.unit),
        details={
            "layers": [layer | _numbers(row) for layer, row in zip(layers, of_cls, strict=True)],
            "random_weights": [a | b for a, b in zip(layers, band, strict=True)]
            if random
            else None,
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
    problem = readings.problems[readings.n_layers]
    r2, low, _, error, *_ = readings.numbers[: readings.n_layers + 1].T
    with np.errstate(invalid="ignore"):
        stands_out = (low > 0) & (r2 * readings.n_different >= BY_CHANCE)
    best = int(np.argmax(np.where(stands_out, r2, -np.inf)))
    b = float(r2[best]) if stands_out[best] else 0.0
    fades = not r2[-1] >= MOST or error[-1] >= max(2 * error[best], WHOLE)
    at_best, at_last = (f"misses length by {length(error[layer], unit)}" for layer in (best, -1))
    only = at_best.replace("by ", "by only ").replace("only under", "under")
    after = _after(str(best))
    return first(
        (bool(np.isnan(r2).all()), f"Can’t tell: {problem[:1].lower()}{problem[1:]}"),
        (b >= ALMOST_ALL and fades, f"Yes, but it fades: {after}, a linear probe {only}."),
        (b >= ALMOST_ALL, f"Yes, to the last layer: there a linear probe {at_last}."),
        (b >= HALF, f"Largely: a linear probe {at_best} {after}."),
        (b >= PART, f"Partly: a linear probe {at_best} {after}."),
        (b >= LITTLE, f"A little: {after}, a linear probe beats guessing somewhat."),
        (
            True,
            "Hardly: with this many sentences, a linear probe finds almost no length in the [CLS]"
            " vector, after any layer.",
        ),
    )


def findings(result: Result) -> list[tuple[str, str]]:
    """For each check that is computed and defined, what it finds, and what that means."""
    unit = result.picture["unit"]
    values = {fact.key: np.nan if fact.value is None else fact.value for fact in result.facts}
    error, direction, half, shuffled = (
        values[key]
        for key in ("vector_error", "direction_error", "half_error", "shuffled_probe_r_squared")
    )
    both = f"A probe of the whole vector, with all sentences, misses by {length(error, unit)}."
    cases = [
        (
            direction,
            first(
                (direction <= NEARLY * error, "The direction alone does as well"),
                (True, "The direction alone does worse"),
            )
            + f": it misses by {length(direction, unit)}",
            f"Each vector is divided by its norm, so that all have size 1. {both}",
        ),
        (
            half,
            first(
                (half <= NEARLY * error, "Half as many sentences do almost as well"),
                (True, "Half as many sentences do worse, so more may do better"),
            )
            + f": a probe misses by {length(half, unit)}",
            f"Where the error hardly falls, more sentences would hardly lower it further. {both}",
        ),
        (
            shuffled,
            first(
                (shuffled < CHANCE, "With shuffled lengths, a probe finds nothing"),
                (True, "Even with shuffled lengths, a probe finds something"),
            )
            + f": R² {percent(shuffled)}",
            "The lengths are put in a random order, five times. An R² of 0 or less is guessing: "
            "the probe does not make up what it finds.",
        ),
    ]
    return [(title, text) for value, title, text in cases if not np.isnan(value)]


def check(experiment: Experiment) -> None:
    """Raise SettingError where a setting could not be heeded."""
    size, probe_size = experiment.sample_size, experiment.probe_size
    if size != "all" and size < probe_size != Experiment.probe_size:
        reason = f"probe_size is {probe_size:,}, and the sample has {size:,} sentences."
        raise SettingError(reason, "Raise sample_size.")


def place_of(names: Sequence[str], experiment: Experiment, label: str) -> int:
    """The place of an experiment's vector in `names`; raises SettingError where there is none.

    names: of the vectors, as in `Readings`. label: of the model, for the message.
    """
    layer, last = experiment.layer, sum(name.isdecimal() for name in names) - 1
    if experiment.pooling != "cls" and layer not in (None, last):
        reason = (
            f"layer is {layer}, and probes of {LAST[experiment.pooling]} vectors take the last."
        )
        raise SettingError(reason, "Choose the last layer, or cls as pooling.")
    number = str(last if layer is None else layer)
    name = number if experiment.pooling == "cls" else experiment.pooling
    if name in names:
        return names.index(name)
    if experiment.pooling == "cls":
        reason = f"layer is {layer}, and {label} has layers 0 to {last}."
        raise SettingError(reason, "Choose one of them.")
    raise SettingError(f"{label} has no {LAST[name]}.", "Choose another pooling.")


def _pooling_of(name: str) -> tuple[Pooling, int | None]:
    """The pooling and the layer of a name of `Readings`."""
    if name.isdecimal():
        return "cls", int(name)
    return ("mean" if name == "mean" else "pooler"), None


def _key(prepared: Prepared | Measured, experiment: Experiment) -> tuple[object, ...]:
    sample, n = prepared.sample, min(len(prepared.sample), experiment.probe_size)
    model = prepared.weights.fingerprint, experiment.precision
    view = experiment.length_cutoff, experiment.unit
    return "probes", VERSION, *model, sample.corpus.fingerprint, sample.seed, n, *view


def _used(measured: Measured, experiment: Experiment, store: Results) -> Lengths:
    """The sentences under the cutoff that the model reads as a whole."""
    table = select(measured, replace(experiment, layer=None, pooling="cls"))
    used = table[table["is_used"]]
    rows = used.index.to_numpy()
    groups = used["row_group"].to_numpy() if "row_group" in used else None
    lengths = used["length"].to_numpy(np.float64)
    n_truncated = int(np.sum(table["truncated"] & (table["n_tokens"] < experiment.length_cutoff)))
    return Lengths(rows, lengths, clusters_of(measured, store)[rows], groups, n_truncated)


def _probe(vectors: Vectors, name: str, used: Lengths) -> tuple[float, ...]:
    """R² with its interval, and error, of a probe of a vector; raises Undefined."""
    check_different(used.clusters)
    x = vectors.of(*_pooling_of(name))[used.rows]
    predictions = ridge.predict(x, used.lengths[:, None], folds(used.clusters))[:, 0]
    r2, error = ridge.score(used.lengths, predictions)
    interval = ridge.r2_interval(used.lengths, predictions, used.clusters, used.groups)
    return r2, *interval, error


def _line(measured: Measured, name: str, used: Lengths) -> tuple[float, float]:
    """R² and error of a line on the norm of a vector; NaN where undefined."""
    pooling, layer = _pooling_of(name)
    view = Experiment(pooling=pooling, layer=layer)
    norms = norms_of(measured.norms, view, measured.weights.label)[used.rows].astype(np.float64)
    try:
        check_different(used.clusters)
        check_precision(measured, layer_of(measured, view), norms)
        lines.check(used.lengths, norms)
    except Undefined:
        return np.nan, np.nan
    predictions = ridge.predict_by_line(norms, used.lengths, folds(used.clusters))
    return ridge.score(used.lengths, predictions)


def _readings(
    vectors: Vectors,
    used: Lengths,
    names: tuple[str, ...],
    rows: Sequence[Sequence[float]],
    problems: Mapping[str, Undefined],
) -> Readings:
    last, guess_error = str(vectors.n_layers), np.nan
    if len(problems) < len(names):
        guesses = ridge.guess(used.lengths, folds(used.clusters))
        guess_error = float(abs(used.lengths - guesses).mean())
    return Readings(
        names=names,
        numbers=np.array(rows),
        problems=tuple(problems[name].reason if name in problems else "" for name in names),
        remedy=problems[last].remedy if last in problems else "",
        guess_error=guess_error,
        n=len(vectors),
        n_used=len(used.rows),
        n_different=len(np.unique(used.clusters)),
        n_truncated=used.n_truncated,
        width=int(vectors.vectors.shape[2]),
    )


def _checks(vectors: NDArray[np.float32], used: Lengths) -> Checks:
    """The checks of one vector of the sentences used (n, width)."""
    try:
        check_different(used.clusters)
    except Undefined:
        return Checks(*[np.nan] * 5)
    n, y = len(vectors) // 2, used.lengths[:, None]
    orders = [np.random.RandomState(seed).permutation(len(y)) for seed in range(N_SHUFFLES)]
    direction = _held_out(ridge.directions(vectors), y, used.clusters)
    half = _held_out(vectors[:n], y[:n], used.clusters[:n])
    shuffled = _held_out(vectors, np.hstack([y[order] for order in orders]), used.clusters)
    return Checks(*direction, *half, shuffled[0])


def _held_out(
    vectors: NDArray[np.floating], targets: Floats, clusters: NDArray[np.intp]
) -> tuple[float, float]:
    """R² and error of probes, the means of m targets (n, m); NaN where undefined."""
    try:
        return ridge.score(targets, ridge.predict(vectors, targets, folds(clusters)))
    except Undefined:
        return np.nan, np.nan


def _table(readings: Readings, random: Sequence[Readings]) -> "pd.DataFrame":
    """A row for each vector: the points of the picture.

    random_low, random_high: the errors of [CLS] with random weights.
    """
    import pandas as pd

    n_layers = readings.n_layers
    is_cls = np.array([name.isdecimal() for name in readings.names])
    table = pd.DataFrame(readings.numbers, columns=COLUMNS)
    table.insert(
        0, "layer", [int(name) if name.isdecimal() else n_layers for name in readings.names]
    )
    table.insert(0, "vector", np.where(is_cls, "cls", readings.names))
    error = COLUMNS.index("probe_error")
    errors = [other.numbers[:, error] for other in random] or [np.full(len(is_cls), np.nan)]
    table["random_low"] = np.where(is_cls, np.fmin.reduce(errors), np.nan)
    table["random_high"] = np.where(is_cls, np.fmax.reduce(errors), np.nan)
    return table


def _numbers(row: Mapping[Any, float]) -> dict[str, Any]:
    """The numbers of a row of the table, as JSON has them."""
    low, high = row["probe_r_squared_low"], row["probe_r_squared_high"]
    interval = None if np.isnan(low) else [low, high]
    numbers = {name: row[name] for name in COLUMNS if not name.endswith(("low", "high"))}
    return {**numbers, "probe_r_squared_interval": interval}


def _facts(readings: Readings, checks: Checks, place: int, unit: str) -> tuple[Fact, ...]:
    """Those of the experiment's vector, then those of others, which are in JSON alone."""
    name = readings.names[place]
    vector = f"[CLS] after layer {name}" if name.isdecimal() else LAST[name]
    r2, low, high, error, _, norm_error = readings.numbers[place].tolist()

    def fact(
        key: str, label: str, value: float, form: str = unit, is_quiet: bool = False, **options: Any
    ) -> Fact:
        is_quiet = is_quiet or bool(np.isnan(value))
        return Fact(key, label, float(value), form=form, is_quiet=is_quiet, **options)

    facts = [
        fact("vector_r_squared", f"{vector}: R²", r2, "percent", interval=(low, high)),
        fact("vector_error", "misses by", error),
        fact("guess_error", "guessing", readings.guess_error),
        fact("vector_norm_error", "a line on its norm (held-out)", norm_error),
        fact("direction_error", "direction alone", checks.direction_error),
        fact("half_error", "half as many sentences", checks.half_error),
        fact("shuffled_probe_r_squared", "shuffled lengths: R²", checks.shuffled_r2, "percent"),
        fact("direction_r_squared", "direction alone: R²", checks.direction_r2, is_quiet=True),
        fact("half_r_squared", "half as many sentences: R²", checks.half_r2, is_quiet=True),
    ]
    for other, label in LAST.items():
        is_there = other in readings.names
        numbers = readings.numbers[readings.names.index(other)] if is_there else [np.nan] * 4
        facts.append(fact(f"{other}_probe_r_squared", f"{label}: R²", numbers[0], is_quiet=True))
        facts.append(fact(f"{other}_probe_error", label, numbers[3], is_quiet=True))
    return (*facts, Fact("n_used", "sentences", readings.n_used, form="count"))


def _caveats(
    prepared: Prepared | Measured,
    readings: Readings,
    experiment: Experiment,
    random: Sequence[Readings],
) -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each."""
    corpus, n = prepared.sample.corpus, len(prepared.sample)
    asked, n_truncated = experiment.sample_size, readings.n_truncated
    n_long = readings.n - readings.n_used - n_truncated
    is_few = readings.n_different < FEW_PER_DIMENSION * readings.width
    cases = [
        (
            n_long > 0,
            f"{counted(n_long)} of {experiment.length_cutoff:,} tokens or more are left out.",
        ),
        (n_truncated > 0, f"{counted(n_truncated)} longer than the model reads are left out."),
        (asked != "all" and n < asked, f"The corpus has {counted(n)}: the sample is all of them."),
        (readings.n < n, f"Probes take the first {readings.n:,} of {counted(n)}: see probe_size."),
        (
            is_few,
            f"{counted(readings.n_different, 'different sentence')} are few for"
            f" {readings.width:,} dimensions: with more, a probe may miss by less.",
        ),
        (bool(random), _untrained(random, experiment.unit)),
    ]
    undefined = [
        f"There is no probe {_after(name)}: {problem[:1].lower()}{problem[1:]}"
        for name, problem in zip(readings.names, readings.problems, strict=True)
        if problem and not np.isnan(readings.numbers).all()
    ]
    no_line = np.isnan(readings.numbers[:, 4]) & ~np.isnan(readings.numbers[:, 0])
    if no_line.any():
        where = ", ".join(
            _after(name) for name, is_one in zip(readings.names, no_line, strict=True) if is_one
        )
        undefined.append(f"Norms are constant, or not resolved by the precision, {where}.")
    caveats = [text for holds, text in cases if holds]
    steps = pipeline.read(prepared.weights.folder)
    return (*undefined, *caveats, *corpus.reading.caveats, *steps.caveats(experiment.pooling))


def _untrained(random: Sequence[Readings], unit: str) -> str:
    """What probes of [CLS] after the last layer do with random weights."""
    if not random:
        return ""
    r2, *_, error, _, _ = np.max([one.numbers[one.n_layers] for one in random], axis=0).tolist()
    text = f"With random weights, probes of the last layer miss length by {length(error, unit)}"
    reason = ": attention is almost even there, so [CLS] is nearly an average of the tokens"
    return f"{text}{reason * (r2 >= HALF)}."


def _after(name: str) -> str:
    if name.isdecimal():
        return f"after layer {name}{' (embeddings)' * (name == '0')}"
    return f"of the {LAST[name]}"
