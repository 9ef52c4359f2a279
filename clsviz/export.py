"""What the user takes along: the table of measurements as CSV or Parquet, and the picture as a page of its own."""

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from urllib.parse import urlencode

import jinja2
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clsviz import analysis, figures, wording
from clsviz.experiment import CORPUS_PARAMETER, FINGERPRINT_DIGITS, MODEL_PARAMETER, Experiment
from clsviz.extraction import Found
from clsviz.measurements import MAX_LENGTH, Measurements
from clsviz.view import View, unmeasurable_layers

_REPORT = jinja2.Environment(autoescape=True).from_string("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ question }}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #27313f; background: #fff }
body { max-width: 64rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; line-height: 1.25 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0; overflow-wrap: anywhere }
th { font-weight: 500; color: #5b6675; white-space: nowrap }
</style>
</head>
<body>
<h1>{{ question }}</h1>
<p>{{ answer }}</p>
{{ figure | safe }}
{% for title, rows in tables.items() %}
<h2>{{ title }}</h2>
<table>
{% for name, value in rows.items() %}
<tr><th scope="row">{{ name }}</th><td>{{ value }}</td></tr>
{% endfor %}
</table>
{% endfor %}
</body>
</html>
""")


def table(sentences: Sequence[str], measurements: Measurements) -> pd.DataFrame:
    """A row a sentence: sentence, n_tokens, truncated, cls_0 to cls_L (norms), and pooler where there is one."""
    columns: dict[str, object] = {
        "sentence": list(sentences[: len(measurements)]),
        "n_tokens": measurements.n_tokens,
        "truncated": measurements.truncated,
    }
    columns |= {f"cls_{layer}": measurements.cls_norms[:, layer] for layer in range(measurements.n_layers + 1)}
    if measurements.has_pooler:
        columns["pooler"] = measurements.pooler_norms[:, 0]
    return pd.DataFrame(columns)


def about(experiment: Experiment, found: Found) -> dict[str, object]:
    """The settings of a result, and the fingerprints of what it is of, ready for JSON."""
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


def summary(experiment: Experiment, found: Found, view: View) -> dict[str, object]:
    """The result with its settings and fingerprints, ready for JSON; what is undefined is None, `problem` says why."""
    fit = view.fit

    def interval(ends: tuple[float, float]) -> list[float] | None:
        return list(ends) if all(map(math.isfinite, ends)) else None

    return about(experiment, found) | {
        "audit": None
        if view.audit is None
        else {
            **asdict(view.audit),
            "layers_not_measurable": unmeasurable_layers(found, experiment),
        },
        "n_used": len(view.index),
        "r_squared": fit and fit.r_squared,
        "r_squared_interval": fit and interval(fit.r_squared_interval),
        "slope": fit and fit.slope,
        "slope_interval": fit and interval(fit.slope_interval),
        "intercept": fit and fit.intercept,
        "intercept_interval": fit and interval(fit.intercept_interval),
        "spearman": fit and fit.spearman,
        "norm_mean": fit and fit.norm_mean,
        "norm_sd": fit and fit.norm_sd,
        "problem": view.problem or None,
    }


def link(experiment: Experiment, found: Found) -> dict[str, str]:
    """The experiment as URL parameters that pin what was found: commits, and what the fingerprints begin with."""
    return wording.pinned(experiment, found).to_query() | {
        MODEL_PARAMETER: found.weights.fingerprint[:FINGERPRINT_DIGITS],
        CORPUS_PARAMETER: found.corpus.fingerprint[:FINGERPRINT_DIGITS],
    }


def to_csv(table: pd.DataFrame) -> bytes:
    """As CSV in UTF-8."""
    return table.to_csv(index=False).encode()


def to_parquet(table: pd.DataFrame, about: Mapping[str, object]) -> bytes:
    """As Parquet, with `about` as JSON in the metadata of its schema, under the key “clsviz”."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), b"clsviz": json.dumps(about).encode()})
    buffer = io.BytesIO()
    pq.write_table(arrow, buffer)
    return buffer.getvalue()


def report(experiment: Experiment, found: Found, view: View) -> bytes:
    """The picture with its numbers and settings, as a page of its own that needs no network."""
    points = figures.Points(
        figures.labels_of([found.sentences[index] for index in view.index[: figures.MOST_POINTS]]),
        view.lengths[: figures.MOST_POINTS],
        view.norms[: figures.MOST_POINTS],
    )
    figure = figures.scatter(
        points,
        figures.Axes(wording.axis_title(experiment), int(view.lengths.max(initial=1)), unit=experiment.unit),
        figures.Palette(),
        fit=view.fit,
        bins=analysis.bins(view.lengths, view.norms),
    )
    return _REPORT.render(
        question=wording.question(experiment),
        answer=wording.result(view, experiment, len(found.measurements)),
        figure=figures.to_html(figure),  # the one piece that is markup
        tables={
            "Numbers": wording.numbers(view, experiment.unit),
            "Settings": {**wording.settings(experiment, found, view), "Command": wording.command(experiment, found)},
        },
    ).encode()
