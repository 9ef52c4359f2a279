"""A result with its settings and fingerprints, ready for JSON, and as a link."""

import math
from dataclasses import asdict, fields
from urllib.parse import urlencode

from clsviz import analysis, words
from clsviz.analysis import ViewData, unmeasurable_layers
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment, View
from clsviz.jobs import Found
from clsviz.measurements import MAX_LENGTH
from clsviz.settings import ALL, CORPUS_PARAMETER, FINGERPRINT_DIGITS, MODEL_PARAMETER, Lengths, Pooling
from clsviz.statistics.shape import Shape


def about(experiment: Experiment, found: Found) -> dict[str, object]:
    """The settings of a result and the fingerprints of its model and corpus, ready for JSON."""
    layer = found.measurements.n_layers if experiment.layer is None else experiment.layer
    return {
        "model": experiment.model,
        "model_commit": found.weights.commit or None,
        "model_fingerprint": found.weights.fingerprint,
        "corpus": experiment.corpus,
        "corpus_commit": found.corpus.pinned.partition("@")[2] or None,
        "corpus_fingerprint": found.corpus.fingerprint,
        "configuration": found.corpus.selection.configuration or None,
        "split": found.corpus.selection.split or None,
        "column": found.corpus.selection.column or None,
        "segmentation": found.corpus.selection.segmentation,
        "reading": found.corpus.selection.reading,
        "drawn": found.sample.drawn,
        "sample_size": found.n_measured if experiment.sample_size == ALL else experiment.sample_size,
        "probe_size": experiment.probe_size,
        "seed": experiment.seed,
        "length_cutoff": experiment.length_cutoff,
        "layer": None if found.weights.imported else layer,
        "pooling": experiment.pooling,
        "unit": experiment.unit,
        "lengths": experiment.lengths,
        "near_duplicates": experiment.near_duplicates,
        "max_length": None if found.weights.imported else MAX_LENGTH,
        "precision": found.precision,
        "numbers": found.precision.numbers,
        "n_sampled": found.n_measured,
        "query": "?" + urlencode(link(experiment, found)),
    }


def summary(experiment: Experiment, found: Found, shown: ViewData) -> dict[str, object]:
    """The result with its settings and fingerprints, ready for JSON; undefined values are None, `problem` says why.

    The line of a whole corpus, of which `is_of_all` is true, has no intervals: no sentence was left to chance.
    `averaging` is known where the view is of the mean.
    """
    fit = shown.fit
    is_of_mean = experiment.pooling is Pooling.MEAN and experiment.lengths is Lengths.TRUE
    averaging = analysis.averaging(found, experiment.view) if is_of_mean else None
    sampled = None if shown.census else fit
    return about(experiment, found) | {
        "audit": None
        if shown.audit is None
        else {
            **asdict(shown.audit),
            "layers_not_measurable": unmeasurable_layers(found, experiment.view),
        },
        "n_used": shown.n,
        "is_of_all": shown.census is not None,
        "n_clusters": fit and fit.n_clusters,
        "r_squared": fit and fit.r_squared,
        "r_squared_interval": sampled and _defined(sampled.r_squared_interval),
        "r_squared_rests_on_few": sampled and sampled.rests_on_few,
        "slope": fit and fit.slope,
        "slope_interval": sampled and _defined(sampled.slope_interval),
        "intercept": fit and fit.intercept,
        "intercept_interval": sampled and _defined(sampled.intercept_interval),
        "spearman": fit and fit.spearman,
        "norm_mean": fit and fit.norm_mean,
        "norm_sd": fit and fit.norm_sd,
        "problem": shown.problem or None,
        "averaging": averaging and asdict(averaging),
    }


def shape(found: Found, shown: ViewData, view: View) -> dict[str, object]:
    """What a straight line leaves out, ready for JSON; undefined values are None, `shape_problem` says why."""
    try:
        *_, whole = analysis.shapes(found, view)
        numbers, problem = asdict(whole), None
    except UndefinedFitError as error:
        numbers, problem = dict.fromkeys(field.name for field in fields(Shape)), shown.problem or str(error)
    for name in ("quantile_slopes", "quantile_intercepts"):
        numbers[name] = numbers[name] and {str(key): value for key, value in numbers[name].items()}
    flat = analysis.flat(shown, view)
    return {
        **{name: _defined(value) for name, value in numbers.items()},
        "shape_problem": problem,
        "flat_r_squared": flat and flat.r_squared,
        "flat_lengths_absent": flat and list(flat.absent),
        "by_cutoff": [
            {
                "length_cutoff": row.length_cutoff,
                "n": row.n,
                "r_squared": row.r_squared,
                "r_squared_interval": [row.lower, row.upper],
                "slope": row.slope,
            }
            for row in analysis.by_cutoff(found, view).itertuples()
        ],
    }


def _defined(value: object) -> object:
    """The value, an interval as a list; or None in place of a number or an interval that is not finite."""
    if isinstance(value, tuple):
        return list(value) if all(map(math.isfinite, value)) else None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def link(experiment: Experiment, found: Found) -> dict[str, str]:
    """The experiment as URL parameters that pin what was found: its commits, and the start of each fingerprint."""
    return words.pinned(experiment, found).to_query() | {
        MODEL_PARAMETER: found.weights.fingerprint[:FINGERPRINT_DIGITS],
        CORPUS_PARAMETER: found.corpus.fingerprint[:FINGERPRINT_DIGITS],
    }
