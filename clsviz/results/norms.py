"""Norm vs length: the answer to whether the norm follows the length of the sentence."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clsviz.analyses.norms import MOST, NormFit, fast_error, is_nearly_constant
from clsviz.analyses.select import resolve
from clsviz.errors import Constant, quote
from clsviz.numbers import counted, lowered, number, percent, rounded
from clsviz.results import provenance
from clsviz.results.result import POOLINGS, Fact, Result, first, left_out, origin, remedy_of
from clsviz.settings import Experiment
from clsviz.sources.models import MOST_TEXTS, OTHER_PAGES, unknown_tokens
from clsviz.sources.sentences import letters_count
from clsviz.statistics import lengths as by_length
from clsviz.statistics.curve import Curve
from clsviz.statistics.lengths import Spread
from clsviz.statistics.line import Line

if TYPE_CHECKING:
    import pandas as pd

UNEVEN: Final = 1.25  # a ratio of spreads that is worth a headline

SHORT: Final = 20  # tokens; the blog post that began it all took sentences below as short

LADDER: Final = {0.05: "Hardly", 0.25: "A little", 0.5: "Partly", 0.9: "Largely"}

IN_WORDS: Final = "Lengths are in words, since own vectors come without tokens."
UNNORMALISED: Final = "Give the vectors as they are before they are normalised."
UNIT: Final = "The model’s own pipeline normalises its vectors: all norms are 1."
WAITING: Final = "The answer comes when all sentences are in."


def result(fit: NormFit, experiment: Experiment) -> Result:
    """The answer in words; no verdict stands before all sentences are measured."""
    measured, layer, line, curve = fit.measured, fit.layer, fit.line, fit.curve
    asked, experiment = experiment, resolve(experiment, measured.weights)
    verdict, advice = WAITING, ""
    if fit.problem is not None:
        n_long = int((fit.table["is_long"] & ~fit.table["truncated"]).sum())
        verdict = f"Can’t tell: {lowered(fit.problem.reason)}"
        advice = remedy_of(fit.problem.remedy, experiment, measured.sample, n_long)
        if isinstance(fit.problem, Constant) and experiment.pooling == "pipeline":
            advice = OTHER_PAGES if measured.weights.no_cls else "Choose cls or mean as pooling."
    elif line and curve and fit.heights_line:
        verdict = verdict_of(line, curve, fit.spread, fit.heights_line)
    vector = POOLINGS[experiment.pooling]
    after = "" if experiment.layer is None else f" after layer {layer}"
    at = f" after layer {layer}" * (experiment.pooling != "pipeline")
    axis = f"Norm of the {vector}{at}".replace("the [CLS]", "[CLS]")
    return Result(
        kind="norms",
        question=f"Does {measured.weights.label} encode a sentence’s length in the norm of its"
        f" {vector}{after}?",
        verdict=verdict,
        advice=advice,
        facts=_facts(fit, experiment.unit),
        details={"layers": fit.layers},
        picture={
            "labels": {"x": f"Sentence length ({experiment.unit})", "y": axis},
            **_picture(fit.used, line, curve),
        },
        caveats=_caveats(fit, experiment),
        table=fit.table,
        about=provenance.about(measured, experiment),
        command=provenance.command("measure", asked),
        is_complete=measured.is_complete,
        weights=measured.weights,
        corpus=measured.sample.corpus,
        n_drawn=len(measured.norms),
        answered=fit,
    )


def result_of_own(fit: NormFit, experiment: Experiment, source: Any) -> Result:
    """The answer for own vectors, in a file or in memory."""
    name, is_file = fit.measured.weights.name, isinstance(source, str | Path)
    view = replace(experiment, unit="words") if experiment.unit == "tokens" else experiment
    answer = result(fit, view)
    vectors = str(source) if is_file else "memory"
    return replace(
        answer,
        advice=UNNORMALISED if isinstance(fit.problem, Constant) else answer.advice,
        question=f"Do the norms of the vectors in {quote(name)} follow the texts’ lengths?",
        details={},
        picture={
            **answer.picture,
            "labels": {"x": f"Text length ({view.unit})", "y": f"Norm of the vectors in {name}"},
        },
        caveats=(*[IN_WORDS] * (view.unit == "words"), *_caveats(fit, view, "words")),
        about={**answer.about, "model": name, "corpus": name},
        command=provenance.command("measure", experiment, {"vectors": vectors}),
        weights=None,
    )


def verdict_of(line: Line, curve: Curve, spread: Spread | None, along: Line) -> str:
    """The answer in a sentence.

    spread: None where it is undefined. along: the line of the norms on the heights of a curve that
    stands out.
    """
    is_curve = is_by_curve(line, curve)
    share = curve.r2 if is_curve else line.r2 if line.is_significant else 0.0
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


def is_by_curve(line: Line, curve: Curve) -> bool:
    """True if the curve is the answer: both stand out, and it is better, or it does alone."""
    return curve.is_significant and (curve.r2 > curve.line_r2 or not line.is_significant)


def lengths_of(table: "pd.DataFrame", rows: list[int]) -> str:
    """The lengths of sentences that were picked, next to those of all, in two sentences."""
    picked, used = table["n_tokens"].iloc[rows], table["n_tokens"][table["is_used"]]
    share, of_all = (percent((lengths < SHORT).mean()) for lengths in (picked, used))
    these = f"Of these {counted(len(picked))}, {share} have fewer than {SHORT} tokens"
    median = f"Their median is {picked.median():g} tokens (all: {used.median():g})"
    return f"{these} (all: {of_all}). {median}."


def _uneven(spread: Spread | None) -> str:
    """The end of the lengths at which norms clearly vary more, in words; "" for neither."""
    if spread is None or spread.is_by_slope or spread.interval[0] <= 1 <= spread.interval[1]:
        return ""
    short, long, ratio = "short", "long", spread.ratio
    if ratio < 1:
        short, long, ratio = long, short, 1 / ratio
    vary = f"vary {rounded(ratio)}× as much as {long} ones’"
    return f"{short} sentences’ norms {vary}" * (ratio >= UNEVEN)


def _facts(fit: NormFit, unit: str) -> tuple[Fact, ...]:
    used, line, curve, spread = fit.used, fit.line, fit.curve, fit.spread
    n_used = Fact("n_used", "sentences", len(used), form="count")
    if line is None:
        r = float(used["length"].corr(used["norm"]))
        is_known = not fit.measured.is_complete and bool(np.isfinite(r))
        return (*[Fact("r_squared", "R² so far", r**2, form="percent")] * is_known, n_used)
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
        is_answer = line is not None and is_by_curve(line, curve)
        norms = curve.predict(lengths)
        picture["curve"] = {"lengths": lengths, "norms": norms, "is_answer": is_answer}
    return picture


def _caveats(fit: NormFit, experiment: Experiment, unit: str = "tokens") -> tuple[str, ...]:
    """Everything left out or doubtful, what matters most first. unit: of the cutoff."""
    measured, n_long = fit.measured, int(fit.table["is_long"].sum())
    n_truncated = int((~fit.table["is_used"]).sum()) - n_long
    n_both, error = fast_error(measured, fit.layer)
    cases = {
        f"All but the line is computed from the first {counted(MOST)}.": len(fit.used) > MOST,
        f"In the fast precision, norms of [CLS] differ by up to {number(100 * error)}%, in"
        f" {counted(n_both)} measured both ways.": n_both,
    }
    return (
        *measured.weights.pipeline.caveats(experiment.pooling),
        *[UNIT] * (experiment.pooling == "pipeline" and measured.weights.pipeline.normalizes),
        *fit.caveats,
        *unknown_tokens(measured.weights, measured.sample.sentences(0, MOST_TEXTS)),
        *letters_count(fit.table["sentence"], experiment.unit),
        *(caveat for caveat, holds in cases.items() if holds),
        *measured.sample.corpus.reading.caveats,
        *left_out(experiment, measured.sample, n_long, n_truncated, unit=unit),
        *origin(measured.key),
    )
