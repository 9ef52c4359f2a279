"""A result with its settings and fingerprints, ready for JSON, as a link, and as the table of a paper in Markdown."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from clsviz import analysis, words
from clsviz.analysis import ViewData, unmeasurable_layers
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment, View
from clsviz.jobs import Found
from clsviz.measurements import MAX_LENGTH
from clsviz.settings import ALL, CORPUS_PARAMETER, FINGERPRINT_DIGITS, MODEL_PARAMETER, Lengths, Pooling
from clsviz.statistics.shape import Shape
from clsviz.words.numbers import r_squared


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


_HEAD = (
    *("Corpus", "Model", "Sentences", "R² of the line", "Slope per {unit}", "R² of the curve"),
    *("Probe error, first layer", "Probe error, last layer", "Guessing"),
)

_VERSIONS = {
    "clsviz": "clsviz",
    "python": "Python",
    "torch": "torch",
    "transformers": "transformers",
    "numpy": "numpy",
    "scikit_learn": "scikit-learn",
}

_NOTE = (
    "In parentheses 95% intervals, and for errors the range with random weights ({n}). Line and curve: R² of the norm "
    "of {vector} on length; the curve’s is cross-validated, and can be negative. Errors: mean absolute error of a "
    "cross-validated linear probe of [CLS], in {unit}."
)


def markdown(table: pd.DataFrame) -> str:
    """The table of `paper_table`: its main columns, then what each row was measured with, then the versions."""
    rows: Sequence[Mapping[Hashable, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    first = rows[0]
    n_random = max(row["n_random"] for row in rows)
    draws = "one draw of them" if n_random == 1 else f"{n_random} draws of them"
    vector = words.POOLINGS[first["pooling"]].described
    layer = "" if first["layer"] is None or first["pooling"] == "pooler" else f" after layer {first['layer']}"
    unit = str(first["unit"])
    lines = [
        _row(name.format(unit=unit.removesuffix("s")) for name in _HEAD),
        _row(["---"] * 2 + ["---:"] * (len(_HEAD) - 2)),
    ]
    for row in rows:
        cells = [_escaped(row["corpus"]), _escaped(row["label"]), f"{row['n_sentences']:,}"]
        cells.append(_ranged(row["r_squared"], row["r_squared_low"], row["r_squared_high"], r_squared))
        cells.append(_ranged(row["slope"], row["slope_low"], row["slope_high"], words.number))
        cells.append(_ranged(row["curve_r_squared"], row["curve_low"], row["curve_high"], r_squared))
        for at in ("first", "last"):
            cells.append(_ranged(row[f"{at}_error"], row[f"random_{at}_low"], row[f"random_{at}_high"], _error))
        lines.append(_row([*cells, _error(row["guess_error"]) if row["guess_error"] is not None else "–"]))
    lines += ["", _NOTE.format(n=draws, vector=vector + layer, unit=unit)]
    for row in rows:
        if row["problem"]:
            lines += ["", _escaped(f"{row['label']} on {row['corpus']}: {row['problem']}")]
    lines += [
        "",
        "| Measured with | |",
        "|---|---|",
        *dict.fromkeys(line for row in rows for line in _made_with(row)),
    ]
    return "\n".join(lines) + "\n"


def _ranged(value: float | None, low: float | None, high: float | None, name: Any) -> str:
    """A number, and in parentheses from where to where it may be; a dash where it is not known."""
    if value is None:
        return "–"
    if low is None or high is None:
        return str(name(value))
    ends = dict.fromkeys(name(end) for end in (low, high))
    return f"{name(value)} ({' to '.join(ends)})".replace("-", "−")


def _error(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _made_with(row: Mapping[Hashable, Any]) -> list[str]:
    """Lines of the second table: model, corpus, settings and versions."""
    commits = [f", revision {row[name]}" if row[name] else "" for name in ("model_commit", "corpus_commit")]
    rests = [row[name][:16] for name in ("model_fingerprint", "corpus_fingerprint")]
    near = "grouped" if row["near_duplicates"] == "grouped" else "not grouped"
    measured = f", measured on {row['measured_on']}" if row["measured_on"] else ""
    return [
        _row([_escaped(row["label"]), f"`{row['model']}`{commits[0]}, fingerprint {rests[0]}"]),
        _row([_escaped(row["corpus"]), f"{row['drawn']}{commits[1]}, fingerprint {rests[1]}"]),
        _row(
            [
                "Settings",
                f"under {row['length_cutoff']} tokens; at most {row['max_length']} tokens read; {row['numbers']}; "
                f"lengths in {row['unit']}; near-duplicates {near}; probes of the first {row['probe_size']:,}",
            ]
        ),
        _row(["Versions", ", ".join(f"{label} {row[name]}" for name, label in _VERSIONS.items()) + measured]),
    ]


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: object) -> str:
    """Text in a cell: names of files may hold anything."""
    return "".join(f"\\{letter}" if letter in "\\|*_`<>[]" else letter for letter in str(text).replace("\n", " "))
