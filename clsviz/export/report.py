"""The picture with its numbers and settings, as a page of its own."""

import contextlib

import jinja2

from clsviz import analysis, figures, words
from clsviz.analysis import ViewData
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.export.picture import Seen, legend, picture
from clsviz.jobs import Found
from clsviz.statistics.shape import shape as shape_of

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
{% if legend %}<p>{{ legend }}</p>{% endif %}
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


def report(experiment: Experiment, found: Found, shown: ViewData, seen: Seen | None = None) -> bytes:
    """The picture, as it is seen, with its numbers and settings, as an HTML page that needs no network."""
    shape = None
    if shown.census is None:  # curves are told of samples only, here as on the page
        with contextlib.suppress(UndefinedFitError):
            shape = shape_of(shown.lengths, shown.norms, shown.clusters)
    made_of = words.shareable(experiment, found)
    return _REPORT.render(
        question=words.question(experiment),
        answer=words.result(shown, experiment, found.n_measured, shape),
        figure=figures.to_html(picture(experiment, found, shown, seen)),  # the one piece that is markup
        legend=legend(found, shown, seen or Seen()),
        tables={
            "Numbers": words.key_numbers(shown, experiment.unit, analysis.flat(shown, experiment.view), shape),
            "Settings": {**words.settings(*made_of, shown), "Command": words.command(*made_of)},
        },
    ).encode()
