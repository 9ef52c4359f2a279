"""Norm vs length: the answer to whether the norm follows the length of the sentence."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import threadpoolctl
from numpy.typing import ArrayLike, NDArray

from clsviz.encoder import pipeline
from clsviz.errors import Undefined
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured
from clsviz.results import provenance
from clsviz.results.numbers import counted, number, percent
from clsviz.results.result import Fact, Result, first
from clsviz.results.select import POOLINGS, select
from clsviz.sources.near_duplicates import near_duplicates
from clsviz.statistics import curve as curves
from clsviz.statistics import lengths as by_length
from clsviz.statistics import line as lines
from clsviz.statistics.curve import Curve
from clsviz.statistics.lengths import Spread
from clsviz.statistics.line import Line
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 1
"""Changes when an expensive number is computed in another way."""

FEW: Final = 100
"""With fewer different sentences there is no verdict."""

NEARLY_CONSTANT: Final = 0.001
"""Norms with a smaller standard deviation, as a share of their mean, differ on paper alone."""

UNEVEN: Final = 1.25
"""A larger ratio of spreads is worth a headline."""

RESOLVED: Final = 1 / 3
"""An error that is a larger share of the norms' standard deviation hides what they do."""

MOST: Final = 100_000
"""Sentences that everything but the line is computed from."""

LADDER: Final = {0.05: "Hardly", 0.25: "A little", 0.5: "Partly", 0.9: "Largely"}

WAITING: Final = "The answer comes when all sentences are in."


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of near-duplicates: intp (n,), equal where sentences belong together."""

    numbers: NDArray[np.intp]


def norms(measured: Measured, experiment: Experiment, store: Results) -> Result:
    """The answer for the sentences of a view; no verdict stands before all of them are measured.

    Raises SettingError where the model lacks the layer or the vector.
    """
    table = select(measured, experiment)
    used = table[table["is_used"]]
    verdict, advice = WAITING, ""
    line: Line | None = None
    curve: Curve | None = None
    spread: Spread | None = None
    layers: list[dict[str, Any]] = []
    if measured.is_complete:
        clusters = clusters_of(measured, store)[used.index]
        groups = used["row_group"].to_numpy() if "row_group" in used else None
        layers = _layers(measured, used, clusters, groups)
        try:
            check_precision(measured, layer_of(measured, experiment), used["norm"])
            line = lines.fit(used["length"], used["norm"], clusters, groups)
            if line.n_clusters >= FEW:
                curve = _curve(measured, experiment, used, clusters, groups, store)
                spread = _spread(used[:MOST], clusters[:MOST])
            verdict = verdict_of(line, curve, spread)
        except Undefined as error:
            verdict = f"Can’t tell: {error.reason[0].lower()}{error.reason[1:]}"
            advice = error.remedy
    return Result(
        kind="norms",
        question=_question(measured, experiment),
        verdict=verdict,
        advice=advice,
        facts=_facts(used, experiment.unit, line, curve, spread),
        details={"layers": layers},
        picture=_picture(measured, experiment, used, line, curve),
        caveats=_caveats(measured, experiment, table),
        table=table,
        about=provenance.about(measured, experiment),
        command=provenance.command("measure", experiment),
        is_complete=measured.is_complete,
    )


def answer(job: Job[Result], measured: Measured, experiment: Experiment, store: Results) -> Steps:
    """Compute the answer in the background."""
    with threadpoolctl.threadpool_limits(1, user_api="blas"):  # more would wait for busy processors
        job.result = norms(measured, experiment, store)
    yield from ()


def layer_of(measured: Measured, experiment: Experiment) -> int:
    """The number of the layer that an experiment is about."""
    return measured.norms.n_layers if experiment.layer is None else experiment.layer


def verdict_of(line: Line, curve: Curve | None, spread: Spread | None) -> str:
    """The answer in a sentence; where both stand out, line and curve compete on held-out sentences.

    curve, spread: None where they are undefined.
    """
    trends: list[tuple[float, float, str]] = []
    if line.stands_out:
        direction = "rising" if line.slope > 0 else "falling"
        held_out = line.r2 if curve is None else curve.line_r2
        trends.append((held_out, line.r2, f"a straight line, {direction} with length,"))
    if curve is not None and curve.stands_out:
        trends.append((curve.r2, curve.r2, "a smooth curve in length"))
    _, share, what = max(trends, default=(0.0, 0.0, ""))
    amount = next((word for limit, word in LADDER.items() if share < limit), "Almost entirely")
    return first(
        (line.n_clusters < FEW, "Too few sentences to say."),
        (
            line.norm_sd < NEARLY_CONSTANT * line.norm_mean,
            "Only on paper: norms are nearly constant.",
        ),
        (line.is_few_decide, "Uncertain: few sentences decide the line."),
        (share < min(LADDER) and is_uneven(spread), f"On average, hardly; but {_uneven(spread)}."),
        (
            bool(trends),
            f"{amount}: {what} accounts for {percent(share)} of the differences between norms.",
        ),
        (True, "No sign of a trend: neither a line nor a curve stands out from chance."),
    )


def is_uneven(spread: Spread | None) -> bool:
    """True if norms at one end of the lengths clearly vary more than at the other."""
    if spread is None or spread.is_by_slope:
        return False
    low, high = spread.interval
    return not low <= 1 <= high and not 1 / UNEVEN < spread.ratio < UNEVEN


def _uneven(spread: Spread | None) -> str:
    if spread is None:
        return ""
    ends = ("short", "long") if spread.ratio > 1 else ("long", "short")
    ratio = max(spread.ratio, 1 / spread.ratio)
    return f"{ends[0]} sentences’ norms vary {ratio:.2g}× as much as {ends[1]} ones’"


def clusters_of(measured: Measured, store: Results) -> NDArray[np.intp]:
    """Groups of near-duplicates among the measured sentences, intp (n,)."""
    sample, n = measured.sample, len(measured.norms)
    key = "near-duplicates", VERSION, sample.corpus.fingerprint, sample.seed, n
    return store.get(
        key, Clusters, lambda: Clusters(near_duplicates(sample.sentences(0, n)))
    ).numbers


def _curve(
    measured: Measured,
    experiment: Experiment,
    used: "pd.DataFrame",
    clusters: NDArray[np.intp],
    groups: NDArray[Any] | None,
    store: Results,
) -> Curve:
    layer = layer_of(measured, experiment)
    view = experiment.length_cutoff, layer, experiment.pooling, experiment.unit
    key = "curve", VERSION, measured.key, len(measured.norms), *view

    def fit() -> Curve:
        columns = used["length"][:MOST], used["norm"][:MOST], clusters[:MOST]
        return curves.fit(*columns, None if groups is None else groups[:MOST])

    return store.get(key, Curve, fit)


def _spread(used: "pd.DataFrame", clusters: NDArray[np.intp]) -> Spread | None:
    try:
        return by_length.spread(used["length"], used["norm"], clusters)
    except Undefined:
        return None


def _layers(
    measured: Measured,
    used: "pd.DataFrame",
    clusters: NDArray[np.intp],
    groups: NDArray[Any] | None,
) -> list[dict[str, Any]]:
    """R² of the line on the norm of [CLS] after every layer, and of pooler and mean after the last.

    None where there is no line; vectors that are not measured are missing.
    """
    norms, means = measured.norms, measured.means
    columns: dict[int | str, NDArray[np.float32]] = dict(enumerate(norms.cls.T))
    if norms.pooler.shape[1]:
        columns["pooler"] = norms.pooler[:, 0]
    if means is not None:
        columns["mean"] = means.mean[:, -1]
    layers = []
    for name, column in columns.items():
        try:
            layer = name if isinstance(name, int) else norms.n_layers
            check_precision(measured, layer, column[used.index])
            line = lines.fit(used["length"], column[used.index], clusters, groups)
            r2, interval = line.r2, list(line.r2_interval)
        except Undefined:
            r2, interval = None, None
        layers.append({"layer": name, "r_squared": r2, "r_squared_interval": interval})
    return layers


def _question(measured: Measured, experiment: Experiment) -> str:
    layer = "" if experiment.layer is None else f" after layer {experiment.layer}"
    norm = f"the norm of its {POOLINGS[experiment.pooling]}{layer}"
    return f"Does {measured.weights.label} encode a sentence’s length in {norm}?"


def _facts(
    used: "pd.DataFrame", unit: str, line: Line | None, curve: Curve | None, spread: Spread | None
) -> tuple[Fact, ...]:
    facts = []
    if line is not None:
        facts.append(Fact("r_squared", "R²", line.r2, line.r2_interval, "percent"))
    if curve is not None:
        facts.append(Fact("curve_r_squared", "curve", curve.r2, None, "percent"))
    if spread is not None:
        facts.append(Fact("spread_ratio", "spread", spread.ratio, spread.interval, "times"))
    facts.append(Fact("n_used", "sentences", len(used), None, "count"))
    if line is not None:
        lengths, norms = used["length"][:MOST], used["norm"][:MOST]
        shorter = float((lengths < lengths.median()).mean())
        quiet = [
            Fact("slope", f"slope per {unit.removesuffix('s')}", line.slope, line.slope_interval),
            Fact("intercept", "intercept", line.intercept),
            Fact("norm_mean", "mean of the norms", line.norm_mean),
            Fact("norm_sd", "standard deviation of the norms", line.norm_sd),
            Fact("n_different", "different sentences", line.n_clusters, None, "count"),
            Fact("shortest", f"shortest, in {unit}", int(used["length"].min()), None, "count"),
            Fact("longest", f"longest, in {unit}", int(used["length"].max()), None, "count"),
            Fact(
                "extremes_shorter",
                "shorter than the median, of the 1% lowest and 1% highest norms",
                by_length.extremes(lengths, norms),
                None,
                "percent",
            ),
            Fact("all_shorter", "shorter than the median, of all", shorter, None, "percent"),
        ]
        facts += [replace(fact, is_quiet=True) for fact in quiet]
    return tuple(facts)


def _picture(
    measured: Measured,
    experiment: Experiment,
    used: "pd.DataFrame",
    line: Line | None,
    curve: Curve | None,
) -> dict[str, Any]:
    """Labels of the axes, medians and ranges by length, the line's interval, and the curve."""
    layer = layer_of(measured, experiment)
    norm = f"Norm of the {POOLINGS[experiment.pooling]} after layer {layer}"
    labels = {"x": f"Sentence length ({experiment.unit})", "y": norm.replace("the [CLS]", "[CLS]")}
    picture: dict[str, Any] = {"labels": labels}
    bands = by_length.bands(used["length"][:MOST], used["norm"][:MOST])
    if len(bands.n) > 1:
        middles = (bands.first + bands.last) / 2
        picture["bands"] = {
            "lengths": middles,
            "median": bands.median,
            "low": bands.low,
            "high": bands.high,
        }
    if line is not None and line.is_bounded:
        lengths = np.linspace(used["length"].min(), used["length"].max(), 50)
        low, high = line.band(lengths)
        picture["line_band"] = {"lengths": lengths, "low": low, "high": high}
    if curve is not None:
        lengths = np.linspace(curve.knots[0], curve.knots[-1], 100)
        picture["curve"] = {"lengths": lengths, "norms": curve.predict(lengths)}
    return picture


def _caveats(measured: Measured, experiment: Experiment, table: "pd.DataFrame") -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each."""
    corpus, n = measured.sample.corpus, len(measured.sample)
    is_long = table["n_tokens"] >= experiment.length_cutoff
    n_long, n_truncated = int(is_long.sum()), int((table["truncated"] & ~is_long).sum())
    n_both, error = _fast(measured, layer_of(measured, experiment))
    asked = experiment.sample_size
    cases = [
        (
            n_long > 0,
            f"{counted(n_long)} of {experiment.length_cutoff:,} tokens or more are left out.",
        ),
        (n_truncated > 0, f"{counted(n_truncated)} longer than the model reads are left out."),
        (
            asked != "all" and n < asked,
            f"The corpus has {counted(n)}: the sample is all of them.",
        ),
        (len(table) > MOST, f"All but the line is computed from the first {counted(MOST)}."),
        (
            experiment.precision == "fast",
            f"In the fast precision, norms of {counted(n_both)} measured both ways differ by up to"
            f" {number(100 * error)}%.",
        ),
    ]
    caveats = [text for holds, text in cases if holds]
    steps = pipeline.read(measured.weights.folder)
    return (*caveats, *corpus.reading.caveats, *steps.caveats(experiment.pooling))


def check_precision(measured: Measured, layer: int, norms: ArrayLike) -> None:
    """Raise Undefined where the fast precision's error rivals the differences between norms (n,).

    The error is that of [CLS] after the layer; other vectors come from the same products.
    """
    _, error = _fast(measured, layer)
    y = np.asarray(norms, np.float64)
    if error and error > RESOLVED * y.std() / abs(y.mean()):
        reason = f"The fast precision misses norms by up to {number(100 * error)}%, and they"
        raise Undefined(f"{reason} hardly differ by more.", "Choose the exact precision.")


def _fast(measured: Measured, layer: int) -> tuple[int, float]:
    """The sentences that were also measured exactly, and the largest relative error among them."""
    errors = measured.norms.error[:, layer]
    errors = errors[np.isfinite(errors)]
    return len(errors), float(errors.max(initial=0))
