"""Norm vs length: the answer to whether the norm follows the length of the sentence."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import threadpoolctl
from numpy.typing import ArrayLike, NDArray

from clsviz.encoder import pipeline
from clsviz.errors import SettingError, Undefined, quote
from clsviz.experiment import Experiment
from clsviz.jobs import own_vectors
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured
from clsviz.measurements import Norms
from clsviz.results import origin, provenance
from clsviz.results.numbers import counted, lowered, number, percent, rounded
from clsviz.results.result import Fact, Result, first
from clsviz.results.select import POOLINGS, left_out, remedy_of, select, used_of
from clsviz.sources.models import Weights
from clsviz.sources.sampling import sample_of
from clsviz.statistics import curve as curves
from clsviz.statistics import lengths as by_length
from clsviz.statistics import line as lines
from clsviz.statistics.curve import Curve
from clsviz.statistics.intervals import OTHER
from clsviz.statistics.lengths import Spread
from clsviz.statistics.line import Line
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 1  # changes when the curve is computed in another way

MOST: Final = 100_000  # sentences that everything but the line is computed from
NEARLY_CONSTANT: Final = 0.001  # norms whose deviation is less of their mean differ on paper alone
UNEVEN: Final = 1.25  # a ratio of spreads that is worth a headline
RESOLVED: Final = 1 / 3  # an error that is more of the norms' deviation hides what they do

LADDER: Final = {0.05: "Hardly", 0.25: "A little", 0.5: "Partly", 0.9: "Largely"}

OWN: Final = ("sample_size", "seed", "length_cutoff", "unit")
"""Settings that own vectors have."""

IN_WORDS: Final = "Lengths are in words, since own vectors come without tokens."
UNNORMALISED: Final = "Give the vectors as they are before they are normalised."
WAITING: Final = "The answer comes when all sentences are in."


def norms(measured: Measured, experiment: Experiment, store: Results) -> Result:
    """The answer for the sentences of a view; no verdict stands before all of them are measured.

    Raises SettingError where the model lacks the layer or the vector.
    """
    table = select(measured, experiment)
    used, layer = table[table["is_used"]], layer_of(measured, experiment)
    verdict, advice = WAITING, ""
    line: Line | None = None
    curve: Curve | None = None
    spread: Spread | None = None
    layers: list[dict[str, Any]] = []
    if measured.is_complete:
        used = used_of(table, measured.sample, store)
        layers = _layers(measured, used)
        some = used[:MOST]
        columns = some["length"], some["norm"], some["cluster"]
        view = experiment.length_cutoff, layer, experiment.pooling, experiment.unit
        key = "curve", VERSION, measured.key, len(table), *view
        try:
            line = line_of(measured, layer, used, used["norm"])
            groups = some.get("row_group")
            curve = store.get(key, Curve, lambda: curves.fit(*columns, groups))
            # As a line on lengths would, one on the heights of the curve says if few decide it.
            heights = curve.predict(some["length"]) if curve.stands_out else some["length"]
            along = lines.fit(heights, some["norm"], some["cluster"], groups)
            with suppress(Undefined):
                spread = by_length.spread(*columns)
            verdict = verdict_of(line, curve, spread, along)
        except Undefined as error:
            n_long = int((~table["is_used"] & ~table["truncated"]).sum())
            verdict = f"Can’t tell: {lowered(error.reason)}"
            advice = remedy_of(error.remedy, experiment, measured.sample, n_long)
    vector = POOLINGS[experiment.pooling]
    after = "" if experiment.layer is None else f" after layer {layer}"
    axis = f"Norm of the {vector} after layer {layer}".replace("the [CLS]", "[CLS]")
    return Result(
        kind="norms",
        question=f"Does {measured.weights.label} encode a sentence’s length in the norm of its"
        f" {vector}{after}?",
        verdict=verdict,
        advice=advice,
        facts=_facts(used, experiment.unit, line, curve, spread),
        details={"layers": layers},
        picture={
            "labels": {"x": f"Sentence length ({experiment.unit})", "y": axis},
            **_picture(used, line, curve),
        },
        caveats=_caveats(measured, experiment, table, len(used) > MOST),
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


def measure_vectors(path: Path, experiment: Experiment, store: Results) -> Result:
    """The answer for own vectors, from any model or API; the cutoff is in words.

    Raises CorpusError where the file cannot be used, SettingError where a setting cannot be heeded.
    """
    for name, text in experiment.to_query().items():
        if name not in OWN:
            reason = f"{name} is {quote(text)}, which own vectors do not have."
            raise SettingError(reason, f"Leave {name} out.")
    own = own_vectors.read(path)
    view = replace(experiment, unit="words") if experiment.unit == "tokens" else experiment
    sample = sample_of(own.corpus, view)
    n, order = len(sample), sample.order
    sizes = Norms(  # as if a model without layers had measured them
        n_tokens=own.n_words[order],
        truncated=np.zeros(n, np.bool_),
        cls=np.linalg.norm(own.vectors[order], axis=1)[:, None],
        pooler=np.empty((n, 0), np.float32),
        error=np.full((n, 1), np.nan, np.float32),
    )
    weights = Weights(own.name, own.name, path, own.fingerprint)
    key = f"own-{own.fingerprint}"
    result = norms(Measured(key, weights, sample, sizes, 0, 0.0, is_complete=True), view, store)
    labels = {"x": f"Text length ({view.unit})", "y": f"Norm of the vectors in {own.name}"}
    caveats = (caveat.replace(" tokens ", " words ") for caveat in result.caveats)
    return replace(
        result,
        advice=UNNORMALISED if result.advice == OTHER else result.advice,
        question=f"Do the norms of the vectors in {quote(own.name)} follow the texts’ lengths?",
        details={},
        picture={**result.picture, "labels": labels},
        caveats=(*[IN_WORDS] * (view.unit == "words"), *caveats),
        about={**result.about, "model": own.name, "corpus": own.name},
        command=provenance.command("measure", experiment, {"vectors": str(path)}),
    )


def layer_of(measured: Measured, experiment: Experiment) -> int:
    """The number of the layer that an experiment is about."""
    return measured.norms.n_layers if experiment.layer is None else experiment.layer


def verdict_of(line: Line, curve: Curve, spread: Spread | None, along: Line) -> str:
    """The answer in a sentence; where both stand out, line and curve compete on held-out sentences.

    spread: None where it is undefined. along: the line of the norms on the heights of a curve that
    stands out.
    """
    is_curve = curve.stands_out and (curve.r2 > curve.line_r2 or not line.stands_out)
    share = curve.r2 if is_curve else line.r2 if line.stands_out else 0.0
    direction = "rising" if line.slope > 0 else "falling"
    straight = f"a straight line, {direction} with length,"
    trend = "a smooth curve in length" if is_curve else straight
    amount = next((word for limit, word in LADDER.items() if share < limit), "Almost entirely")
    is_few_decide = along.is_few_decide if is_curve else line.is_few_decide
    uneven, share_of = _uneven(spread), f"{percent(share)} of the differences between norms"
    return first(
        (is_nearly_constant(line), "Only on paper: norms are nearly constant."),
        (is_few_decide, f"Uncertain: few sentences decide the {'curve' if is_curve else 'line'}."),
        (share < min(LADDER) and bool(uneven), f"On average, hardly; but {uneven}."),
        (share > 0, f"{amount}: {trend} accounts for {share_of}."),
        (True, "No sign of a trend: neither a line nor a curve stands out from chance."),
    )


def is_nearly_constant(line: Line) -> bool:
    """True if the norms of a line differ on paper only: what it says of them is partly rounding."""
    return line.norm_sd < NEARLY_CONSTANT * line.norm_mean


def _uneven(spread: Spread | None) -> str:
    """The end of the lengths at which norms clearly vary more, in words; "" for neither."""
    if spread is None or spread.is_by_slope or spread.interval[0] <= 1 <= spread.interval[1]:
        return ""
    short, long, ratio = "short", "long", spread.ratio
    if ratio < 1:
        short, long, ratio = long, short, 1 / ratio
    vary = f"vary {rounded(ratio)}× as much as {long} ones’"
    return f"{short} sentences’ norms {vary}" * (ratio >= UNEVEN)


def _layers(measured: Measured, used: "pd.DataFrame") -> list[dict[str, Any]]:
    """R² of the line on the norm of [CLS] after every layer, and of pooler and mean after the last.

    is_nearly_constant: of the norms. None where there is no line; vectors that are not measured are
    missing.
    """
    norms, means = measured.norms, measured.means
    columns: dict[int | str, NDArray[np.float32]] = dict(enumerate(norms.cls.T))
    if norms.pooler.shape[1]:
        columns["pooler"] = norms.pooler[:, 0]
    if means is not None:
        columns["mean"] = means.mean[:, -1]
    layers = []
    for name, column in columns.items():
        keys = "r_squared", "r_squared_interval", "is_nearly_constant"
        row: dict[str, Any] = {"layer": name, **dict.fromkeys(keys)}
        with suppress(Undefined):
            layer = name if isinstance(name, int) else norms.n_layers
            line = line_of(measured, layer, used, column[used.index])
            values = line.r2, list(line.r2_interval), is_nearly_constant(line)
            row |= zip(keys, values, strict=True)
        layers.append(row)
    return layers


def _facts(
    used: "pd.DataFrame", unit: str, line: Line | None, curve: Curve | None, spread: Spread | None
) -> tuple[Fact, ...]:
    n_used = Fact("n_used", "sentences", len(used), form="count")
    if line is None:
        return (n_used,)
    facts = [Fact("r_squared", "R²", line.r2, line.r2_interval, "percent")]
    if curve is not None:
        facts.append(Fact("curve_r_squared", "curve", curve.r2, form="percent"))
    if spread is not None:
        facts.append(Fact("spread_ratio", "spread", spread.ratio, spread.interval, "times"))
    lengths, norms = used["length"][:MOST], used["norm"][:MOST]
    shorter = float((lengths < lengths.median()).mean())
    extremes = "shorter than the median, of the 1% lowest and 1% highest norms"
    quiet = [
        ("slope", f"slope per {unit.removesuffix('s')}", line.slope, line.slope_interval, "number"),
        ("intercept", "intercept", line.intercept, None, "number"),
        ("norm_mean", "mean of the norms", line.norm_mean, None, "number"),
        ("norm_sd", "standard deviation of the norms", line.norm_sd, None, "number"),
        ("n_different", "different sentences", line.n_clusters, None, "count"),
        ("extremes_shorter", extremes, by_length.extremes(lengths, norms), None, "percent"),
        ("all_shorter", "shorter than the median, of all", shorter, None, "percent"),
    ]
    return (*facts, n_used, *(Fact(*row, is_quiet=True) for row in quiet))


def _picture(used: "pd.DataFrame", line: Line | None, curve: Curve | None) -> dict[str, Any]:
    """Medians and ranges by length, the line's interval, and the curve."""
    picture: dict[str, Any] = {}
    bands = by_length.bands(used["length"][:MOST], used["norm"][:MOST])
    if len(bands) > 1:
        picture["bands"] = {name: column.to_numpy() for name, column in bands.items()}
    if line is not None and line.is_bounded:
        lengths = np.linspace(used["length"].min(), used["length"].max(), 50)
        low, high = line.band(lengths)
        picture["line_band"] = {"lengths": lengths, "low": low, "high": high}
    if curve is not None:
        lengths = np.linspace(curve.knots[0], curve.knots[-1], 100)
        picture["curve"] = {"lengths": lengths, "norms": curve.predict(lengths)}
    return picture


def _caveats(
    measured: Measured, experiment: Experiment, table: "pd.DataFrame", is_large: bool
) -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each."""
    n_long = int((table["n_tokens"] >= experiment.length_cutoff).sum())
    n_truncated = int((~table["is_used"]).sum()) - n_long
    n_both, error = _fast(measured, layer_of(measured, experiment))
    cases = {
        f"All but the line is computed from the first {counted(MOST)}.": is_large,
        f"In the fast precision, norms of [CLS] differ by up to {number(100 * error)}%, in"
        f" {counted(n_both)} measured both ways.": n_both,
    }
    return (
        *left_out(experiment, measured.sample, n_long, n_truncated),
        *(caveat for caveat, holds in cases.items() if holds),
        *measured.sample.corpus.reading.caveats,
        *pipeline.read(measured.weights.folder).caveats(experiment.pooling),
        *origin(measured.key),
    )


def line_of(measured: Measured, layer: int, used: "pd.DataFrame", norms: ArrayLike) -> Line:
    """The line of norms (n,) after a layer on the lengths of the sentences used.

    Raises Undefined where there is none, or where `check_precision` does.
    """
    check_precision(measured, layer, norms)
    return lines.fit(used["length"], norms, used["cluster"], used.get("row_group"))


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
