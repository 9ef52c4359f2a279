"""Does the norm follow the length? The line, the curve and the spread of norms."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import threadpoolctl
from numpy.typing import ArrayLike, NDArray

from clsviz.analyses import own_vectors
from clsviz.analyses.select import kind_of, layer_of, norms_of, resolve, select, used_of
from clsviz.errors import Undefined
from clsviz.jobs import ray
from clsviz.jobs.measure import Workspace, measure, prepare
from clsviz.measurements import Emitted, Norms
from clsviz.numbers import number
from clsviz.progress import Progress
from clsviz.settings import Experiment
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Measured, sample_of
from clsviz.sources.sentences import lengths as word_lengths
from clsviz.statistics import curve as curves
from clsviz.statistics import lengths as by_length
from clsviz.statistics import line as lines
from clsviz.statistics.curve import Curve
from clsviz.statistics.lengths import Spread
from clsviz.statistics.line import Line
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 1  # changes when the curve is computed in another way

MOST: Final = 100_000  # sentences that everything but the line is computed from
NEARLY_CONSTANT: Final = 0.001  # norms whose deviation is less of their mean differ on paper alone
RESOLVED: Final = 1 / 3  # an error that is more of the norms' deviation hides what they do


@dataclass(frozen=True, eq=False)
class NormFit:
    """Norms of the sentences of an experiment, and what is fitted to them.

    table: of `select`. used: its rows that enter the answer. line, curve, spread: None where
    undefined. heights_line: the line of norms on the heights of a significant curve, which says if
    few sentences decide it; of norms on lengths, where the curve is none.
    layers: {layer, r_squared, r_squared_interval, is_nearly_constant} of every measured vector.
    problem: why there is no line. caveats: sentences on own vectors.
    """

    measured: Measured
    layer: int
    table: "pd.DataFrame"
    used: "pd.DataFrame"
    line: Line | None = None
    curve: Curve | None = None
    spread: Spread | None = None
    heights_line: Line | None = None
    layers: list[dict[str, Any]] = field(default_factory=list)
    problem: Undefined | None = None
    caveats: tuple[str, ...] = ()


def norms(
    experiment: Experiment,
    workspace: Workspace,
    progress: Progress,
    texts: Any = None,
    cluster: str | None = None,
) -> NormFit:
    """Measure the norms of a sample, and fit them; publishes points before the line.

    texts: in memory, in the place of the corpus. cluster: the address of a Ray cluster that
    measures, or None. Raises ClsvizError.
    """
    prepared = prepare(experiment, workspace, progress, texts)
    experiment = resolve(experiment, prepared.weights)
    kind = kind_of(experiment)

    def publish(part: Measured) -> None:
        norms_of(part.norms, experiment, part.weights.label)  # fails with the first sentences
        if not part.is_complete:
            progress.publish(lambda: points(part, experiment))

    if cluster is not None:
        ray.measure(prepared, experiment, kind, workspace.measurements, cluster, progress)
    measured = measure(prepared, experiment, kind, workspace, progress, publish)
    with progress.at("analysis"):
        return fit(measured, experiment, workspace.results)


def norms_of_own(source: Any, experiment: Experiment, store: Results) -> NormFit:
    """The fit of own vectors, from any model or API; the cutoff is in words.

    Raises CorpusError where the file cannot be used.
    """
    own = own_vectors.read(source)
    view = replace(experiment, unit="words") if experiment.unit == "tokens" else experiment
    sample = sample_of(own.corpus, view)
    order = sample.order
    n_words = word_lengths(own.texts, "words")[order]
    arrays = Emitted.arrays(own.norms[order][:, None], n_words, np.zeros(len(order)))
    sizes = Norms.from_slices([arrays])
    weights = Weights(own.name, own.name, Path(own.name), own.fingerprint)
    key = f"own-{own.fingerprint}"
    measured = Measured(key, weights, sample, sizes, 0, 0.0, is_complete=True)
    return replace(fit(measured, view, store), caveats=own.caveats)


def points(measured: Measured, experiment: Experiment) -> NormFit:
    """The sentences that are measured so far, without a line."""
    table = select(measured, experiment)
    return NormFit(measured, layer_of(measured, experiment), table, table[table["is_used"]])


def fit(measured: Measured, experiment: Experiment, store: Results) -> NormFit:
    """Fit the norms of all sentences; raises SettingError where the model lacks the vector."""
    with threadpoolctl.threadpool_limits(1, user_api="blas"):  # more would wait for busy processors
        start = points(measured, experiment)
        layer, used = start.layer, used_of(start.table, measured.sample, store)
        fits: dict[str, Any] = {"used": used, "layers": _layers(measured, used)}
        some = used[:MOST]
        columns = some["length"], some["norm"], some["cluster"]
        view = experiment.length_cutoff, layer, experiment.pooling, experiment.unit
        key = "curve", VERSION, measured.key, len(start.table), *view
        try:
            fits["line"] = line_of(measured, layer, used, used["norm"])
            groups = some.get("row_group")
            curve = fits["curve"] = store.get(key, Curve, lambda: curves.fit(*columns, groups))
            heights = curve.predict(some["length"]) if curve.is_significant else some["length"]
            fits["heights_line"] = lines.fit(heights, *columns[1:], groups)
            with suppress(Undefined):
                fits["spread"] = by_length.spread(*columns)
        except Undefined as error:
            fits["problem"] = error
        return replace(start, **fits)


def line_of(measured: Measured, layer: int, used: "pd.DataFrame", norms: ArrayLike) -> Line:
    """The line of norms (n,) after a layer on the lengths of the sentences used.

    Raises Undefined where there is none, or where `check_precision` does.
    """
    check_precision(measured, layer, norms)
    return lines.fit(used["length"], norms, used["cluster"], used.get("row_group"))


def is_nearly_constant(line: Line) -> bool:
    """True if the norms of a line differ on paper only: what it says of them is partly rounding."""
    return line.norm_sd < NEARLY_CONSTANT * line.norm_mean


def check_precision(measured: Measured, layer: int, norms: ArrayLike) -> None:
    """Raise Undefined where the fast precision's error rivals the differences between norms (n,).

    The error is that of [CLS] after the layer; other vectors come from the same products.
    """
    _, error = fast_error(measured, layer)
    y = np.asarray(norms, np.float64)
    if error and error > RESOLVED * y.std() / abs(y.mean()):
        reason = f"The fast precision misses norms by up to {number(100 * error)}%, and they"
        raise Undefined(f"{reason} hardly differ by more.", "Choose the exact precision.")


def fast_error(measured: Measured, layer: int) -> tuple[int, float]:
    """The sentences that were also measured exactly, and the largest relative error among them."""
    errors = measured.norms.error[:, layer]
    errors = errors[np.isfinite(errors)]
    return len(errors), float(errors.max(initial=0))


def _layers(measured: Measured, used: "pd.DataFrame") -> list[dict[str, Any]]:
    """R² of the line on the norm of each measured vector; None where there is no line."""
    norms, means = measured.norms, measured.means
    if isinstance(norms, Emitted):
        return []
    columns: dict[int | str, NDArray[np.float32]] = dict(enumerate(norms.cls.T))
    if norms.pooler.shape[1]:
        columns["pooler"] = norms.pooler[:, 0]
    if means is not None:
        columns["mean"] = means.mean[:, -1]
    layers = []
    for name, column in columns.items():
        keys = "layer", "r_squared", "r_squared_interval", "is_nearly_constant"
        values: tuple[Any, ...] = None, None, None
        with suppress(Undefined):
            layer = name if isinstance(name, int) else norms.n_layers
            line = line_of(measured, layer, used, column[used.index])
            values = line.r2, list(line.r2_interval), is_nearly_constant(line)
        layers.append(dict(zip(keys, (name, *values), strict=True)))
    return layers
