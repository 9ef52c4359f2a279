"""Pictures of norms and of errors by layer, to keep or to show elsewhere; the report with numbers and settings."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import jinja2
import numpy as np
from numpy.typing import NDArray

from clsviz import analysis, figures, words
from clsviz.analysis import ViewData
from clsviz.analysis.random_weights import Draws
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.export import tables
from clsviz.export.tables import Groups, Table
from clsviz.figures import static
from clsviz.jobs import Found
from clsviz.settings import DEFAULT_OVERLAYS, Overlay
from clsviz.statistics.lengths import bins, slices
from clsviz.statistics.probes import Profile
from clsviz.statistics.shape import shape as shape_of


@dataclass(frozen=True, eq=False)
class Seen:
    """What is seen in a picture beside the sentences and the line.

    own: the visitor's sentences. zoom: the ends of both axes, (4,), unless all is shown. selected: which of the
    sentences shown are, intp (n,). groups: what they are coloured by.
    """

    own: figures.Points | None = None
    overlays: Sequence[str] = DEFAULT_OVERLAYS
    zoom: Sequence[float] = ()
    selected: NDArray[np.intp] | None = None
    groups: Groups | None = None


def drawn(found: Found, shown: ViewData, seen: Seen) -> figures.Drawn:
    """Which of the sentences are points, and the density below them if they are too many."""
    of_all = density_of_all(shown)
    return figures.drawn(shown.lengths, shown.norms, len(found.measurements), seen.zoom, seen.selected, of_all)


def density_of_all(shown: ViewData) -> figures.Density | None:
    """The sentences that the line is of, in the finest bins that are kept; None unless they are of a whole corpus.

    There are N_BINS of them, times a power of two, so that they can be joined to so many of equal width. Norms in the
    outer bins of the census, far from all others, are left out.
    """
    census = shown.census
    if census is None or shown.fit is None:
        return None
    counts, edges = census.between(0, shown.length_cutoff).counts[:, census.bins.inner], census.bins.edges
    occurring = np.flatnonzero(counts.any(axis=1))
    if not len(occurring):
        return None
    first, last = occurring[[0, -1]]
    inner = np.flatnonzero(counts.any(axis=0))
    n_bins = figures.N_BINS
    while n_bins < inner[-1] + 1 - inner[0]:
        n_bins *= 2
    start = min(int(inner[0]), census.bins.n - n_bins)
    part = counts[first : last + 1, start : start + n_bins]
    return figures.Density(np.arange(first, last + 1, dtype=np.int32), edges[start : start + n_bins + 1], part)


def cells(found: Found, shown: ViewData, seen: Seen) -> Table:
    """What is seen of the density, as in `tables.cells`; empty where all sentences are points."""
    density = drawn(found, shown, seen).density
    return tables.cells(density) if density is not None else Table()


def legend(found: Found, shown: ViewData, seen: Seen) -> str:
    """What colours and points stand for in a density; nothing where all sentences are points."""
    of = drawn(found, shown, seen)
    if of.density is None:
        return ""
    n_more = len(of.points) - of.n_sampled
    return words.selection.density(shown.n, of.n_seen, of.n_sampled, n_more, is_zoomed=len(seen.zoom) > 0)


def picture(experiment: Experiment, found: Found, shown: ViewData, seen: Seen | None = None) -> figures.Figure:
    """Norm against length, with the line and the quantile curves: a point for each sentence, or their density.

    Where there are too few sentences for the curves, the medians take their place. seen: what else, or instead of them.
    """
    seen = seen or Seen()
    quantiles = analysis.quantiles(shown) if Overlay.CURVES in seen.overlays else None
    has_medians = Overlay.MEDIANS in seen.overlays or (Overlay.CURVES in seen.overlays and not quantiles)
    selected = np.empty(0, np.intp) if seen.selected is None else seen.selected
    of = drawn(found, shown, seen)
    points = figures.Points(
        figures.labels_of([found.sentences[i] for i in shown.index[of.points]]),
        shown.lengths[of.points],
        shown.norms[of.points],
    )
    figure = figures.scatter(
        points,
        figures.Axes(
            words.axis_title(experiment),
            int(shown.lengths.max(initial=1)),
            unit=experiment.unit,
            length_title=words.length_title(experiment.view),
            zoom=seen.zoom,
        ),
        figures.Palette(),
        density=of.density,
        fit=shown.fit,
        quantiles=quantiles,
        bins=bins(shown.lengths, shown.norms) if has_medians else None,
        slices=slices(shown.lengths, shown.norms) if Overlay.RANGES in seen.overlays else None,
        own=seen.own,
        selected=np.flatnonzero(np.isin(of.points, selected)) if len(selected) else None,
        **(seen.groups.look(shown.index, of.points) if seen.groups else {}),
    )
    if seen.groups:
        figures.colouring.add(figure, seen.groups.key(shown.index, figures.Palette()))
    return figure


def errors(profile: Profile | None, experiment: Experiment, draws: Draws | None = None) -> figures.Figure:
    """By how much lengths are missed after every layer; draws: of untrained models, or of shuffled lengths."""
    return figures.errors_by_layer(
        tables.errors_by_layer(profile, experiment.pooling),
        figures.Palette(),
        profile.guess_error if profile else np.nan,
        unit=experiment.unit,
        n_layers=profile.n_layers if profile else 1,
        drawn=draws.band() if draws else None,
        drawn_name=words.layer_cards.BANDS[experiment.lengths],
    )


def errors_for_image(profile: Profile, experiment: Experiment, draws: Draws | None = None) -> static.Lines:
    """The same as an image has it."""
    table, band = tables.errors_by_layer(profile, experiment.pooling), None
    if draws is not None:
        drawn = draws.band()
        name = words.layer_cards.BANDS[experiment.lengths]
        band = name, drawn["lowest"].to_numpy(float), drawn["highest"].to_numpy(float)
    values = {str(name): rows["error"].to_numpy(float) for name, rows in table.groupby("line", sort=False)}
    level = words.layer_cards.GUESSING, profile.guess_error
    return static.Lines(values, words.layer_cards.axis(experiment.unit), level, band)


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
