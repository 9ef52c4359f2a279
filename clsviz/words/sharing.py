"""What is said of a link and of a picture elsewhere; how a picture is captioned, and how clsviz is cited for it."""

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from clsviz import __version__, jobs
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import DEFAULT_OVERLAYS, Lengths, Overlay
from clsviz.sources import catalogue, models
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.words.answer import in_numbers, key_numbers
from clsviz.words.labels import axis_title, is_imported, length_title
from clsviz.words.numbers import counted
from clsviz.words.provenance import command, corpus_name, origin, shareable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clsviz.analysis import ViewData

SITE = "clsviz"

ABOUT = "Does an encoder such as BERT write the length of a sentence into its [CLS] vector, and where? See it measured."
"""Of a link whose answer is not known yet."""

TO_MEASURE = "Open the link to measure it."
"""On a picture without points."""

EXAMPLES = "Examples"


def about_examples(n: int) -> str:
    """What stands above n examples."""
    return "Measured already: each opens at once." if n else "Nothing is measured yet."


def alt(experiment: Experiment, n: int) -> str:
    """A picture of n sentences in words."""
    if not n:
        return SITE
    length = length_title(experiment.view)
    against = f"{axis_title(experiment)} against {length[0].lower()}{length[1:]}"
    return f"{against}: {counted(n)}."


_DRAWN = {
    Overlay.CURVES: "dark curves: below which 5, 50 and 95% of the norms lie at each length",
    Overlay.MEDIANS: "dark bars: median and quartiles of sentences of similar length",
    Overlay.RANGES: "dark diamonds: median length and the range of nine in ten, of sentences of similar norm",
}

_SPECIAL = {**{character: f"\\{character}" for character in "&%$#_{}"}, "~": r"\textasciitilde{}"}
_SPECIAL |= {"^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "²": "$^2$", "−": "$-$", "–": "--"}
_SPECIAL |= {"“": "``", "”": "''", "’": "'", "·": "\\textperiodcentered{}", "ρ": "$\\rho$"}
"""What BibTeX and LaTeX would take for something else."""


def caption(
    experiment: Experiment,
    found: Found,
    shown: "ViewData",
    overlays: "Sequence[Overlay]" = DEFAULT_OVERLAYS,
    n_points: int | None = None,
    colour: str = "",
) -> str:
    """What the main page's picture shows, to stand under it in a paper.

    overlays: what is drawn over the sentences. n_points: how many of these are points over their density, if it is one.
    colour: what these are coloured by.
    """
    experiment, found = shareable(experiment, found)
    made = origin(found)
    coloured = [f"the colour of a point: {colour[:1].lower()}{colour[1:]}"] if colour else []
    line, has_curves = [], False
    if shown.fit:
        # No band if all sentences are there, nor if one group of them alone decides the line.
        has_band = shown.census is None and math.isfinite(shown.fit.slope_interval[0])
        line = ["red: the least-squares line" + (" with its 95% band" if has_band else "")]
        n_different = len(shown.index if shown.clusters is None else np.unique(shown.clusters))
        has_curves = n_different >= FEW_SENTENCES
    over = [_DRAWN[overlay] for overlay in overlays if overlay is not Overlay.CURVES or has_curves]
    drawn = "; ".join([*line, *over, *coloured])
    counted = " (lengths shuffled as a control)" if experiment.lengths is Lengths.SHUFFLED else ""
    drawn_as, slope = "one point per sentence", f"Slope per {experiment.unit.singular}"
    if n_points is not None:
        drawn_as = "as a density: the colour of a cell is the number of sentences of that length and norm, on a "
        drawn_as += f"logarithmic scale, and {n_points:,} of them, drawn at random, are points"
    parts = [
        f"{axis_title(experiment)} against sentence length in {experiment.unit}{counted}, {drawn_as}",
        f"Model: {made['Model']}",
        f"Corpus: {made['Corpus']}",
        in_numbers(shown, experiment, found.n_measured).rstrip(".") if shown.fit else shown.problem.rstrip("."),
        f"{slope} {key_numbers(shown, experiment.unit)[slope]}" if shown.fit else "",
        drawn[:1].upper() + drawn[1:],
        f"Measured with clsviz {__version__}",
    ]
    return ". ".join(filter(None, parts)) + "."


def bibtex(experiment: Experiment, found: Found, name: str = "measure", url: str = "", made_by: str = "") -> str:
    """An entry for clsviz, with the command of that name that measures the same, or with `made_by`.

    url: where it is to be seen.
    """
    experiment, found = shareable(experiment, found)
    corpus = corpus_name(experiment.corpus, found.corpus.label)
    key = "-".join(re.findall(r"\w+", f"clsviz {experiment.model} {corpus}", re.ASCII)).lower()
    year = jobs.origin().day[:4]
    model = models.label(experiment.model)
    title = f"clsviz {__version__}: whether {model} writes the length of a sentence into [CLS]"
    if is_imported(experiment):
        title = f"clsviz {__version__}: whether the vectors {model} hold the length of a sentence"
    made_by = made_by or command(experiment, found, name)
    if catalogue.is_upload(experiment.corpus) and not is_imported(experiment):
        made_by += f" (where {experiment.corpus} is the file {found.corpus.label}, uploaded)"
    fields = {
        "author": "{The clsviz developers}",
        "title": f"{{{_latex(title)}}}",
        "year": year,
        "version": __version__,
        **({"url": url} if url else {}),
        "note": f"Made by: {_latex(made_by)}",
    }
    rows = "\n".join(f"  {name} = {{{value}}}," for name, value in fields.items())
    return f"@software{{{key},\n{rows}\n}}"


def _latex(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)
