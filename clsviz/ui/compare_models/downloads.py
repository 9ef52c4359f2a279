"""The comparison as a link and as files."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

import pandas as pd

from clsviz import analysis, export, models, words
from clsviz.analysis.compare import Row
from clsviz.experiment import Experiment
from clsviz.measuring import MeasuringJob
from clsviz.ui.parts import share


def copy_link(experiment: Experiment, rows: Sequence[Row], jobs: Sequence[MeasuringJob], query: dict[str, str]) -> None:
    """The link to this comparison, with the commits of what was found; its fingerprints are the first model's."""
    founds = [job.work.found for job in jobs]
    names = [found.weights.pinned if found else row.model for found, row in zip(founds, rows, strict=True)]
    if (found := founds[0]) and "models" in query:
        first = replace(experiment, model=rows[0].model)
        share.copy_link(first, found, query | {"models": ",".join(names)})


def show(experiment: Experiment, rows: Sequence[Row], jobs: Sequence[MeasuringJob], query: dict[str, str]) -> None:
    """The tables as files, made when asked for."""
    found = next((job.work.found for job in jobs if job.work.found), None)
    sentences = found.sentences if found else []
    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "Table": lambda: analysis.compare.table([_shareable(row) for row in rows]),
        "Layers": lambda: analysis.compare.curves(rows),
        "Sentences": lambda: analysis.compare.points(rows, sentences),
    }
    about = partial(_about, experiment, rows, jobs, query)

    def draw() -> None:
        for name, table in tables.items():
            share.table_downloads(name, f"clsviz-comparison-{name.lower()}", table, about)

    share.menu(draw, len(tables), is_disabled=not any(row.norms for row in rows))


def _shareable(row: Row) -> Row:
    """The same with a folder of this machine by its name alone."""
    folder = models.Name.parse(row.model).base
    problem = row.problem.replace(folder, words.shareable_model(folder))
    return replace(row, model=words.shareable_model(row.model), problem=problem)


def _about(
    experiment: Experiment, rows: Sequence[Row], jobs: Sequence[MeasuringJob], query: dict[str, str]
) -> dict[str, object]:
    """The settings and fingerprints, ready for JSON."""
    names = {
        "models": ",".join(words.shareable_model(row.model) for row in rows),
        "corpus": words.shareable_corpus(experiment.corpus),
    }
    return {
        "query": "?" + urlencode(query | {name: text for name, text in names.items() if name in query}),
        "models": [
            export.summary(
                *words.shareable(replace(experiment, model=row.model), job.work.found),
                row.norms.shown,
            )
            for row, job in zip(rows, jobs, strict=True)
            if row.norms and job.work.found
        ],
    }
