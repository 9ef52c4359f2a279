"""The pictures of norms and of errors by layer, to keep or to show elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz import analysis, figures, words
from clsviz.analysis import ViewData
from clsviz.analysis.random_weights import Draws
from clsviz.experiment import Experiment
from clsviz.export import tables
from clsviz.export.groups import Groups
from clsviz.export.tables import Table
from clsviz.figures import static
from clsviz.jobs import Found
from clsviz.settings import DEFAULT_OVERLAYS, Overlay
from clsviz.statistics.lengths import bins, slices
from clsviz.statistics.probes import Profile


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
    cells = analysis.cells_of_all(shown, figures.N_BINS)
    of_all = cells and figures.Density(*cells)
    return figures.drawn(shown.lengths, shown.norms, len(found.measurements), seen.zoom, seen.selected, of_all)


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
    return words.view.density(shown.n, of.n_seen, of.n_sampled, n_more, is_zoomed=len(seen.zoom) > 0)


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
