"""What a view shows of what was measured: it filters and selects, and never touches the model."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import SettingError, TooFewError, UndefinedFitError
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.measurements import MAX_LENGTH, POOLED, Means, Measurements, Vectors
from clsviz.settings import RANGES, Lengths, NearDuplicates, Pooling, Precision, Unit
from clsviz.sources.models import Weights
from clsviz.statistics import line, shape
from clsviz.statistics.intervals import FEWEST_OF_LINE
from clsviz.statistics.lengths import lengths_in, shuffled
from clsviz.statistics.line import Audit, Fit, Flat, audit
from clsviz.statistics.shape import Quantiles, Shape
from clsviz.statistics.summary import Census
from clsviz.store.results import ResultCache, ResultKey

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.statistics.means import Averaging


@dataclass(frozen=True)
class More:
    """What may add sentences to those of a view.

    by_cutoff: whether the length cutoff leaves out some that the model reads whole. by_sample: whether the corpus has,
    or may have, some that are not in the sample. is_to_come: whether some of the sample are not measured yet.
    """

    by_cutoff: bool = False
    by_sample: bool = True
    is_to_come: bool = False

    @property
    def advice(self) -> str:
        """What to do where the sentences are too few, in a sentence."""
        if self.is_to_come:
            return "Not all of the sample is measured yet."
        if self.by_cutoff:
            return "Raise the length cutoff, or take more." if self.by_sample else "Raise the length cutoff."
        return "Take more." if self.by_sample else "The corpus has no more: choose a larger one."


NOT_KNOWN = More()
"""Where nobody looked; most corpora have more than a sample."""


def more_than(found: Found, view: View, is_wanted: Callable[[str], bool] = lambda _: True) -> More:
    """What may add sentences to those that a view shows of what was found.

    is_wanted: whether a sentence is one of those that are too few.
    """
    cutoffs = slice(view.length_cutoff, RANGES["length_cutoff"][1])
    if found.census is not None:
        by_cutoff = bool(found.census.vector(view.pooling, view.layer).n[cutoffs].any())
    else:
        lengths = found.measurements.n_tokens
        left_out = (cutoffs.start <= lengths) & (lengths < cutoffs.stop) & ~found.measurements.truncated
        by_cutoff = any(is_wanted(found.sentences[i]) for i in np.flatnonzero(left_out))
    return More(by_cutoff, not found.is_of_all, found.n_missing > 0)


@contextmanager
def advised(found: Found, view: View) -> Iterator[None]:
    """Where there are too few sentences, what to do about it is said as well."""
    try:
        yield
    except TooFewError as error:
        raise UndefinedFitError(f"{error} {more_than(found, view).advice}") from None


T = TypeVar("T")

_NONE_READ = "The model reads only the beginning of every sentence, and only whole ones are compared. Cut them shorter."

MOST_AT_ONCE = 20_000
"""Sentences among which near-duplicates are found in well under a second."""


@dataclass(frozen=True, eq=False)
class ViewData:
    """The sentences shown, and the line through them.

    index: intp (n,), which of the measured sentences are shown. norms: float32 (n,).
    lengths: int32 (n,), in the view's unit, and shuffled if the view says so.
    fit: the regression, or None if there is none; `problem` then says why.
    n_truncated: how many sentences under the cutoff are left out because the model saw only part of them.
    audit: what the fast precision costs here, or None if the norms are exact.
    clusters: intp (n,), of the sentences that are the same or nearly; None while that is not known, and the intervals
        of the fit take all sentences for independent. row_groups: int64 (n,), where they come from, if that is known.
    census: of all sentences of a whole corpus, if the line is theirs: those in `index` are then some of them.
    length_cutoff: below which the line is of those in the census.
    more: what may add sentences to these.
    """

    index: NDArray[np.intp]
    lengths: NDArray[np.int32]
    norms: NDArray[np.float32]
    fit: Fit | None
    problem: str
    n_truncated: int = 0
    audit: Audit | None = None
    clusters: NDArray[np.intp] | None = None
    row_groups: NDArray[np.int64] | None = None
    census: Census | None = None
    length_cutoff: int = MAX_LENGTH + 1
    more: More = NOT_KNOWN

    @property
    def n(self) -> int:
        """How many sentences the line is of, or would be."""
        if self.census is None:
            return len(self.index)
        return int(self.census.n[: self.length_cutoff].sum())

    @property
    def is_constant(self) -> bool:
        """True where there is no line because every sentence has the same norm, up to rounding."""
        is_of_several = self.n >= FEWEST_OF_LINE and len(self.distinct_lengths) > 1
        return self.fit is None and is_of_several and bool(np.isfinite(self.norms).all())

    @property
    def distinct_lengths(self) -> NDArray[np.integer]:
        """The lengths that the sentences of the line have, each once, ascending."""
        if self.census is None:
            return np.unique(self.lengths)
        return np.flatnonzero(self.census.n[: self.length_cutoff])


def select(found: Found, view: View, *, wait: bool = True, cache: ResultCache | None = None) -> ViewData:
    """What `view` shows of what was found; raises SettingError if the model has no such norm.

    wait: whether to find near-duplicates where that takes seconds. cache: where the line is looked for first.
    Nothing is shown in a fast precision whose error exceeds the variation of the norm, or that R² feels.
    """
    measurements = found.measurements
    check_pooling(view, measurements)
    check_layer(view, measurements.n_layers)
    audit = audit_of(found, view)
    if found.audit is not None and (audit is None or not audit.keeps_r_squared):
        nothing = np.empty(0, np.intp)
        return ViewData(
            nothing, measurements.n_tokens[:0], np.empty(0, np.float32), None, _unmeasurable(audit), 0, audit
        )
    index, n_truncated = under_cutoff(measurements, view)
    if found.census is not None and view.unit is Unit.TOKENS and view.lengths is Lengths.TRUE:
        n_truncated = found.census.n_truncated(view.length_cutoff)
        census = found.census.vector(view.pooling, view.layer)
        norms = measurements.norms(view.pooling, view.layer)[index]
        shown = ViewData(
            index, lengths_of(found, view, index), norms, None, "", census=census, length_cutoff=view.length_cutoff
        )
        try:
            shown = replace(shown, fit=census.fit(view.length_cutoff))
        except UndefinedFitError as error:
            shown = replace(shown, problem=str(error))
    else:
        shown = select_index(found, view, index, wait=wait, cache=cache)
    shown = replace(shown, n_truncated=n_truncated, audit=audit, more=more_than(found, view))
    if shown.problem and shown.n < FEWEST_OF_LINE:
        shown = replace(shown, problem=f"{shown.problem} {shown.more.advice}")
    if shown.problem and len(measurements) and measurements.truncated.all():
        shown = replace(shown, problem=_NONE_READ)
    elif shown.problem and n_truncated:
        problem = f"{shown.problem} {n_truncated:,} left out because the model reads only their beginning."
        shown = replace(shown, problem=problem)
    return shown


def select_index(
    found: Found, view: View, index: NDArray[np.intp], *, wait: bool = True, cache: ResultCache | None = None
) -> ViewData:
    """The sentences in `index`, and the line through them; raises IndexError if the model has no such layer."""
    lengths = lengths_of(found, view, index)
    norms = found.measurements.norms(view.pooling, view.layer)[index]
    clusters = None
    if clusters_ready(found, view, cache) or wait:  # in this order: what is stored, the sample knows from then on
        clusters = near_duplicates(found, view, cache)[index]
    row_groups = None if found.sample.row_groups is None else found.sample.row_groups[index]

    def regress() -> tuple[Fit | None, str]:
        try:
            return line.fit(lengths, norms, clusters, row_groups), ""
        except UndefinedFitError as error:
            return None, str(error)

    cache = None if clusters is None else cache
    fit, problem = _cached(cache, regress, "line", found, view, digest(index))
    return ViewData(index, lengths, norms, fit, problem, clusters=clusters, row_groups=row_groups)


def is_stored(found: Found, view: View, cache: ResultCache) -> bool:
    """Whether the line that `select` gives is there without computing it."""
    index, _ = under_cutoff(found.measurements, view)
    keys = [result_key("line", found, view=view, depends_on=digest(index))]
    if view.near_duplicates is NearDuplicates.GROUPED:
        keys.append(result_key("clusters", found))
    return all(key in cache for key in keys)


def result_key(name: str, *founds: Found, view: View | None = None, depends_on: str = "") -> ResultKey:
    """The key of the result called `name` of measurements under a view; depends_on: what else it is computed from.

    Names are in the results that come with clsviz: one that changes means `make showcase`. Results of a part of a
    sample, while more is measured, are not written to disk.
    """
    of = [
        {
            "model": found.weights.fingerprint,
            "corpus": found.corpus.fingerprint,
            "seed": found.seed,
            "precision": found.precision.numbers,
            "kind": type(found.measurements).__name__,
            "n": len(found.measurements),
            "n_measured": found.n_measured,
            "n_audited": len(found.audit.measurements) if found.audit else 0,
        }
        for found in founds
    ]
    about = {"result": name, "of": of, "view": view and asdict(view), "depends_on": depends_on}
    is_bundled = all(found.n_shipped == len(found.measurements) for found in founds)
    is_whole = not any(found.n_missing for found in founds)
    return ResultKey(json.dumps(about, sort_keys=True), is_bundled, is_whole)


def sentences_key(name: str, weights: Weights, precision: Precision, sentences: list[str]) -> ResultKey:
    """The key of what a model makes of sentences; of these only our own examples are on disk, never a visitor’s."""
    about = {"result": name, "model": weights.fingerprint, "precision": precision.numbers, "sentences": sentences}
    return ResultKey(json.dumps(about, sort_keys=True), is_bundled=True, is_stored=False)


def _cached(
    cache: ResultCache | None,
    compute: Callable[[], T],
    name: str,
    found: Found,
    view: View | None = None,
    depends_on: str = "",
) -> T:
    if cache is None:
        return compute()
    return cache.get_or_compute(result_key(name, found, view=view, depends_on=depends_on), compute)


def digest(index: NDArray[np.intp]) -> str:
    """What tells one choice of sentences from another."""
    return hashlib.sha256(index.tobytes()).hexdigest()


def clusters_ready(found: Found, view: View, cache: ResultCache | None = None) -> bool:
    """Whether it is known which of the sentences are near-duplicates, or can be in no time.

    cache: where it is looked for; the sample then knows it.
    """
    is_grouped = view.near_duplicates is NearDuplicates.GROUPED
    if not is_grouped or len(found.sentences) <= MOST_AT_ONCE or found.sample.knows_clusters:
        return True
    if cache is None or (stored := cache.get(result_key("clusters", found))) is None:
        return False
    found.sample.learn_clusters(stored)
    return True


def near_duplicates(found: Found, view: View, cache: ResultCache | None = None) -> NDArray[np.intp]:
    """The group of near-duplicates that each sentence of the sample counts as one of, intp (n,).

    cache: where those of the sample are looked for first.
    """
    if view.near_duplicates is NearDuplicates.INDEPENDENT:
        return np.arange(len(found.sentences))
    return _cached(cache, lambda: found.sample.clusters, "clusters", found)


def shapes(found: Found, view: View) -> Iterator[Shape]:
    """How the norms of a view depend on length beyond the line, in the steps of `shape.shapes`.

    Raises UndefinedFitError where that cannot be said.
    """
    shown = select(found, view)
    if shown.census is not None:
        raise UndefinedFitError("Curves are told of samples only: draw up to 1,000,000 sentences instead of all.")
    with advised(found, view):
        yield from shape.shapes(shown.lengths, shown.norms, shown.clusters)


def first_shape(found: Found, view: View, shown: ViewData, cache: ResultCache | None = None) -> Shape | None:
    """The first step of `shapes`, which is enough for the answer; None where it cannot be said."""
    if shown.census is not None:
        return None

    def first() -> Shape | None:
        try:
            return next(shape.shapes(shown.lengths, shown.norms, shown.clusters))
        except UndefinedFitError:
            return None

    return _cached(cache, first, "first_shape", found, view)


def averaging(found: Found, view: View) -> "Averaging | None":
    """What averaging has to do with the norm of the mean after the last layer, whatever the view's vector and unit.

    None where it cannot be said.
    """
    from clsviz.statistics.means import averaging as of_means

    measured = found.measurements
    index, _ = under_cutoff(measured, view)
    if not isinstance(measured, Means):
        return None
    try:
        return of_means(measured, index, near_duplicates(found, view)[index])
    except UndefinedFitError:
        return None


def quantiles(shown: ViewData) -> Quantiles | None:
    """The quantile curves of what is shown, or None where they are not defined."""
    try:
        return shape.quantiles(shown.lengths, shown.norms, shown.clusters)
    except UndefinedFitError:
        return None


def flat(shown: ViewData, view: View) -> Flat | None:
    """R² on a flat distribution of lengths, or None where few sentences have them, or in characters."""
    if view.unit is Unit.CHARACTERS:
        return None
    try:
        if shown.census is not None:
            return shown.census.flat()
        return line.flat(shown.lengths, shown.norms)
    except UndefinedFitError:
        return None


def by_cutoff(found: Found, view: View) -> "pd.DataFrame":
    """The line at each of several cutoffs, whatever the view's own, as in `line.by_cutoff`."""
    whole = select(found, replace(view, length_cutoff=MAX_LENGTH + 1))
    if whole.census is not None:
        return whole.census.by_cutoff()
    n_tokens = found.measurements.n_tokens[whole.index]
    return line.by_cutoff(n_tokens, whole.lengths, whole.norms, whole.clusters, whole.row_groups)


def lengths_of(found: Found, view: View, index: NDArray[np.intp]) -> NDArray[np.int32]:
    """Lengths of some of the measured sentences as the view counts them, int32 (len(index),)."""
    sentences = [] if view.unit is Unit.TOKENS else [found.sentences[i] for i in index]
    counted = lengths_in(view.unit, sentences, found.measurements.n_tokens[index])
    return np.asarray(shuffled(counted), np.int32) if view.lengths is Lengths.SHUFFLED else counted


def check_pooling(view: View, measurements: Measurements) -> None:
    """Raise SettingError if the model lacks the view's pooling, or if it was not measured."""
    if view.pooling is Pooling.POOLER and not measurements.has_pooler:
        raise SettingError("pooling is pooler, but this model has no pooler. Choose cls.")
    if isinstance(measurements, Vectors):
        if view.pooling not in (*measurements.poolings, Pooling.POOLER):
            raise SettingError(f"pooling is {view.pooling}, but there is one vector of each sentence only. Choose cls.")
    elif view.pooling in POOLED[1:] and not isinstance(measurements, Means):
        raise SettingError(
            f"pooling is {view.pooling}, whose norms are a measurement of their own that is not here. Measure with "
            "that pooling, or choose cls."
        )


def check_layer(view: View, n_layers: int) -> None:
    """Raise SettingError if a model with `n_layers` layers lacks the view's layer."""
    if view.layer and not n_layers:
        raise SettingError(f"layer is {view.layer}, but these vectors are from no known layer. Leave out the layer.")
    if (view.layer or 0) > n_layers:
        raise SettingError(f"layer is {view.layer}, but this model has layers 0 to {n_layers}.")


def audit_of(found: Found, view: View) -> Audit | None:
    """The fast norms of the view's vector compared with exact ones; None if either are missing.

    Compared on the sentences that the view shows, or on all if it shows fewer than 3.
    """
    if found.audit is None:
        return None
    n = min(len(found.audit.measurements), len(found.measurements))
    exact, fast = found.audit.measurements.head(n), found.measurements.head(n)
    index, _ = under_cutoff(exact, view)
    index = index if len(index) >= 3 else np.arange(n)
    if not n:
        return None
    norms = (measurements.norms(view.pooling, view.layer)[index] for measurements in (exact, fast))
    return audit(lengths_of(found.audit, view, index), *norms)


def unmeasurable_layers(found: Found, view: View) -> list[int]:
    """Layers after which the fast precision errs too much for the norm of [CLS]."""
    if found.audit is None:
        return []
    layers = range(found.measurements.n_layers + 1)
    audits = {layer: audit_of(found, replace(view, pooling=Pooling.CLS, layer=layer)) for layer in layers}
    return [layer for layer, audit in audits.items() if audit is not None and not audit.keeps_r_squared]


def under_cutoff(measurements: Measurements, view: View) -> tuple[NDArray[np.intp], int]:
    """The sentences under the cutoff that were read whole, intp (n,), and how many under it were not."""
    short = measurements.n_tokens < view.length_cutoff
    index = np.flatnonzero(short & ~measurements.truncated)
    return index, int(np.count_nonzero(short)) - len(index)


def _unmeasurable(audit: Audit | None) -> str:
    if audit is None:
        return "The error of the fast precision is not known yet: some sentences have to be measured exactly first."
    why = (
        f"the norm varies by {audit.norm_sd:.2g} (standard deviation), and the error reaches {audit.largest_error:.2g}"
    )
    if audit.is_measurable and audit.r_squared_change is not None:
        why = f"on {audit.n:,} sentences measured both ways, R² differs by {abs(audit.r_squared_change):.3f}"
    return f"Not measurable in the fast precision: {why}. Choose the exact precision."
