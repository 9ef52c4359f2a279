"""A result with its settings and fingerprints, ready for JSON, and as a link."""

import math
from dataclasses import asdict, fields
from urllib.parse import urlencode

from clsviz import words
from clsviz.analysis import Shown, shape_of, unmeasurable_layers
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.measurements import MAX_LENGTH
from clsviz.measuring import Found
from clsviz.settings import CORPUS_PARAMETER, FINGERPRINT_DIGITS, MODEL_PARAMETER
from clsviz.statistics import Shape


def about(experiment: Experiment, found: Found) -> dict[str, object]:
    """The settings of a result and the fingerprints of its model and corpus, ready for JSON."""
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
        "sample_size": experiment.sample_size,
        "probe_size": experiment.probe_size,
        "seed": experiment.seed,
        "length_cutoff": experiment.length_cutoff,
        "layer": found.measurements.n_layers if experiment.layer is None else experiment.layer,
        "pooling": experiment.pooling,
        "unit": experiment.unit,
        "lengths": experiment.lengths,
        "max_length": MAX_LENGTH,
        "precision": found.precision,
        "numbers": found.precision.numbers,
        "n_sampled": len(found.measurements),
        "query": "?" + urlencode(link(experiment, found)),
    }


def summary(experiment: Experiment, found: Found, shown: Shown) -> dict[str, object]:
    """The result with its settings and fingerprints, ready for JSON; undefined values are None, `problem` says why."""
    fit = shown.fit
    return about(experiment, found) | {
        "audit": None
        if shown.audit is None
        else {
            **asdict(shown.audit),
            "layers_not_measurable": unmeasurable_layers(found, experiment.view),
        },
        "n_used": len(shown.index),
        "r_squared": fit and fit.r_squared,
        "r_squared_interval": fit and _defined(fit.r_squared_interval),
        "slope": fit and fit.slope,
        "slope_interval": fit and _defined(fit.slope_interval),
        "intercept": fit and fit.intercept,
        "intercept_interval": fit and _defined(fit.intercept_interval),
        "spearman": fit and fit.spearman,
        "norm_mean": fit and fit.norm_mean,
        "norm_sd": fit and fit.norm_sd,
        "problem": shown.problem or None,
    }


def shape(found: Found, shown: Shown) -> dict[str, object]:
    """What a straight line leaves out, ready for JSON; undefined values are None, `shape_problem` says why."""
    try:
        numbers, problem = asdict(shape_of(found, shown)), None
    except UndefinedFitError as error:
        numbers, problem = dict.fromkeys(field.name for field in fields(Shape)), str(error)
    if numbers["quantile_slopes"]:
        numbers["quantile_slopes"] = {str(key): slope for key, slope in numbers["quantile_slopes"].items()}
    defined = {name: _defined(value) for name, value in numbers.items()}
    return {**defined, "shape_problem": problem}


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
