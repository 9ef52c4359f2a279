"""What is known of the compared models, drawn: the answer, the table, a picture of each, and their layers."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.experiment import Experiment
from clsviz.measuring import MeasuringJob, State
from clsviz.settings import Unit
from clsviz.ui.compare_models import rows as compared_rows
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, share

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis.comparison import Row


_POLL_SECONDS = 1.0


_MOST_DRAWN = 2_000
"""Points in the picture of a model: its numbers are of all sentences."""


_CURVES_HEIGHT = 340


_LOWEST_R_SQUARED, _MARGIN = -0.2, 0.04


def show(
    experiment: Experiment,
    names: Sequence[str],
    norms: Sequence[MeasuringJob],
    vectors: Sequence[MeasuringJob],
    query: dict[str, str],
) -> None:
    """Draw it all; while there is more to come it redraws itself."""
    question = f"Which model encodes the length of a sentence in the norm of {words.vector_name(experiment.view)}?"
    st.title(escape(question), anchor=False)
    place = st.empty()
    if not any(job.work.found for job in norms):  # something to read while libraries are loaded for the rest
        place.markdown(escape(_waiting([*norms, *vectors])))
    known = compared_rows.rows_of(experiment, names, norms, vectors)
    place.empty()
    is_open = _is_open(known, [*norms, *vectors])
    first: list[Row] | None = known
    is_in_browser = False

    def draw() -> None:
        nonlocal first, is_in_browser
        rows = first or compared_rows.rows_of(experiment, names, norms, vectors)
        first = None
        _draw(experiment, rows, norms, vectors, query)
        if is_in_browser and is_open and not _is_open(rows, [*norms, *vectors]):
            st.rerun()  # without polling
        is_in_browser = True

    st.fragment(draw, run_every=_POLL_SECONDS if is_open else None)()


def _is_open(rows: "Sequence[Row]", jobs: Sequence[MeasuringJob]) -> bool:
    return any(job.state.is_active for job in jobs) or not all(row.is_read for row in rows)


def _draw(
    experiment: Experiment,
    rows: "list[Row]",
    norms: Sequence[MeasuringJob],
    vectors: Sequence[MeasuringJob],
    query: dict[str, str],
) -> None:

    st.markdown(escape(words.comparison.answer(rows, experiment) or _waiting([*norms, *vectors])))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(escape(words.comparison.tokenizers(rows, experiment.unit)), width="stretch")
        if experiment.unit is Unit.TOKENS and analysis.comparison.tokens_agree(rows) is False:
            st.button("Count in words", on_click=_count_in_words, key="count_in_words")
        _copy_link(experiment, rows, norms, query)
        _downloads(experiment, rows, norms, query)
    if len(st.session_state.models) < 2:
        st.info("Choose at least two models in the sidebar to compare them.", icon=":material/compare_arrows:")
    _table(rows, experiment.unit)
    _pictures(experiment, rows, norms)
    _curves(rows, experiment.unit)
    _explain(experiment, rows, norms)


def _waiting(jobs: Sequence[MeasuringJob]) -> str:
    if any(job.state.is_active for job in jobs):
        return "The models are measured one after another. Every row and picture fills as soon as there is something."
    if any(job.state is State.WAITING for job in jobs):
        return (
            "Press Run all in the sidebar to measure the models. It takes time, or a download, so it does not start by "
            "itself."
        )
    if all(job.state is State.FAILED for job in jobs):
        return "Nothing was measured. The sidebar says why."
    return "No model is measured on the whole sample yet. Press Continue in the sidebar to go on."


def _count_in_words() -> None:
    st.session_state.unit = Unit.WORDS


def _table(rows: "Sequence[Row]", unit: Unit) -> None:
    """The numbers, a row a model; a click on a column's name sorts by it."""
    numbers = analysis.comparison.table(rows)
    ends = [
        f"{low:.3f} to {high:.3f}" if np.isfinite(low) else None
        for low, high in zip(numbers["r_squared_low"], numbers["r_squared_high"], strict=True)
    ]
    numbers.insert(4, "interval", ends)
    columns = _columns(unit)
    if (numbers["problem"] != "").any():
        columns["problem"] = st.column_config.TextColumn("What is missing", width="large")
        if any(row.norms is None and row.problem for row in rows):  # beside the name, not at the far end
            columns = {name: columns[name] for name in ("label", "problem", *columns)}
    st.dataframe(
        numbers,
        column_order=list(columns),
        column_config=columns,
        hide_index=True,
        placeholder="–",
        key="comparison",
        alt="The compared models, a row each, with what their norms and vectors say of the length",
    )


def _columns(unit: Unit) -> dict[str, Any]:
    """The columns that are always shown, in their order, and how."""
    of_the_length = {"tokens": "mean_tokens"} if unit is Unit.TOKENS else {unit: "mean_length", "tokens": "mean_tokens"}
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    return {
        "label": text("Model", pinned=True),
        "r_squared": number("R²", format="%.3f", help="Share of the norm’s variance that the line explains."),
        "interval": text("95% interval", help="Of R²."),
        "slope": number(
            f"Slope per {unit.singular}", format="%.3g", help=f"Change of the norm with every {unit.singular}."
        ),
        "spearman": number("Spearman’s ρ", format="%.2f", help="Rank correlation of norm and length."),
        "probe_r_squared": number(
            "Probe R²",
            format="%.3f",
            help="How well a linear probe reads the length from the whole [CLS] vector, cross-validated, after the "
            "layer from which it reads it best.",
        ),
        "probe_layer": number("at layer", format="%d", help="0 is the embedding output."),
        "sentences_per_second": number("Sentences/s", format="%.0f", help="When its norms were last measured here."),
        "n_parameters": number(
            "Weights in products",
            format="compact",
            help="Weights that every token is multiplied with; embeddings are none.",
        ),
        "norm_mean": number("Norm", format="%.3f", help="Its mean over the sentences."),
        "norm_sd": number("Its spread", format="%.3g", help="Standard deviation of the norm over the sentences."),
        **{
            name: number(f"{unit_name.capitalize()} a sentence", format="%.1f", help="On average.")
            for unit_name, name in of_the_length.items()
        },
        "n_sentences": number("Sentences", format="localized", help="On which these numbers rest."),
    }


def _pictures(experiment: Experiment, rows: "Sequence[Row]", jobs: Sequence[MeasuringJob]) -> None:
    """Norm against length of every model; those of which nothing is measured yet have their place."""
    st.subheader(f"{words.axis_title(experiment.view)} against length", anchor=False)
    nothing = figures.Points(np.empty(0, object), np.empty(0, np.int32), np.empty(0, np.float32))
    panels = []
    for row, job in zip(rows, jobs, strict=True):
        points, found = nothing, job.work.found
        if row.norms is not None and found is not None:
            view = row.norms.shown
            sentences = [found.sentences[i] for i in view.index[:_MOST_DRAWN]]
            points = figures.Points(figures.labels_of(sentences), view.lengths[:_MOST_DRAWN], view.norms[:_MOST_DRAWN])
        panels.append((row.label, points, row.fit))
    figure = figures.small_multiples(panels, chart.palette(), shared_y=not st.session_state.axes, unit=experiment.unit)
    said = "; ".join(f"{row.label}: " + (f"R² {row.fit.r_squared:.3f}" if row.fit else "no line") for row in rows)
    st.plotly_chart(
        figure,
        key="small_multiples",
        config={"displayModeBar": False},
        alt=f"{words.axis_title(experiment.view)} against sentence length, a picture for each model. {said}.",
    )
    most = max((len(row.norms.shown.index) for row in rows if row.norms), default=0)
    if most > _MOST_DRAWN:
        st.caption(f"Drawn are {_MOST_DRAWN:,} of {most:,} sentences in each picture; the numbers are of all.")


def _curves(rows: "Sequence[Row]", unit: Unit) -> None:
    """How much of the length is in the norm and in the whole vector, layer by layer, over the relative depth."""
    st.subheader("Layer by layer", anchor=False)
    curves = analysis.comparison.curves(rows)
    low = float(np.nanmin(curves[["norm", "vector"]].to_numpy(float), initial=0))
    parts = {
        "norm": (f"From the norm of [CLS]: R² of the line over the length in {unit}.", "R² of the norm"),
        "vector": (
            f"From the whole [CLS] vector: cross-validated R² of a linear probe, {_read_of(rows)}.",
            "R² of a probe",
        ),
    }
    for place, (name, (text, title)) in zip(st.columns(2, vertical_alignment="bottom"), parts.items(), strict=True):
        figure = figures.relative_depth(curves.rename(columns={name: "value"}), chart.palette(), y_title=title)
        figure.update_yaxes(range=[max(low, _LOWEST_R_SQUARED) - _MARGIN, 1 + _MARGIN])
        with place:
            st.caption(escape(text))
            st.plotly_chart(
                figure, height=_CURVES_HEIGHT, key=f"curves_{name}", config={"displayModeBar": False}, alt=text
            )


def _read_of(rows: "Sequence[Row]") -> str:
    """Of how many sentences the probes are."""
    numbers = sorted({row.profile.n for row in rows if row.profile})
    if not numbers:
        return "as soon as the vectors are measured"
    return f"of the first {' or '.join(f'{n:,}' for n in numbers)} sentences"


def _copy_link(
    experiment: Experiment, rows: "Sequence[Row]", jobs: Sequence[MeasuringJob], query: dict[str, str]
) -> None:
    """The link to this comparison, with the commits of what was found; its fingerprints are of the first model."""
    founds = [job.work.found for job in jobs]
    names = [found.weights.pinned if found else row.model for found, row in zip(founds, rows, strict=True)]
    if (found := founds[0]) and "models" in query:
        first = replace(experiment, model=rows[0].model)
        share.copy_link(first, found, query | {"models": ",".join(names)})


def _downloads(
    experiment: Experiment, rows: "Sequence[Row]", jobs: Sequence[MeasuringJob], query: dict[str, str]
) -> None:
    """What is drawn, as files, made when asked for."""
    found = next((job.work.found for job in jobs if job.work.found), None)
    sentences = found.sentences if found else []

    def points() -> "pd.DataFrame":
        return analysis.comparison.points(rows, sentences)

    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "Table": lambda: analysis.comparison.table(rows),
        "Layers": lambda: analysis.comparison.curves(rows),
        "Sentences": points,
    }
    with st.popover("Download", icon=":material/download:", disabled=not any(row.norms for row in rows)):
        for name, table in tables.items():
            about = functools.partial(_about, experiment, rows, jobs, query)
            share.table_downloads(name, f"clsviz-comparison-{name.lower()}", table, about)


def _about(
    experiment: Experiment, rows: "Sequence[Row]", jobs: Sequence[MeasuringJob], query: dict[str, str]
) -> dict[str, object]:
    """The settings and fingerprints, ready for JSON."""
    return {
        "query": "?" + urlencode(query),
        "models": [
            export.summary(replace(experiment, model=row.model), job.work.found, row.norms.shown)
            for row, job in zip(rows, jobs, strict=True)
            if row.norms and job.work.found
        ],
    }


def _explain(experiment: Experiment, rows: "Sequence[Row]", jobs: Sequence[MeasuringJob]) -> None:
    """How to read the page, and how it came about."""
    with st.expander("How to read this page"):
        st.markdown(_HOW_TO_READ)
    known = [(row, job.work.found) for row, job in zip(rows, jobs, strict=True)]
    measured = [(row, found) for row, found in known if found and row.norms]
    if not measured:
        return
    first, found = measured[0]
    assert first.norms is not None  # it is one of the measured
    settings = words.settings(replace(experiment, model=first.model), found, first.norms.shown)
    shared = {name: settings[name] for name in ("Corpus", "Sample", "Length", "Precision", "Line")}
    shared["Sample"] = f"{len(found.sentences):,} sentences, {found.sample.drawn}"
    shared["Compared"] = (
        f"sentences of fewer than {experiment.length_cutoff} tokens for every model, that all of them read whole"
    )
    of_models = {
        f"Model {row.label}": f"{found.weights.pinned}, fingerprint {found.weights.fingerprint[:16]}"
        for row, found in measured
    }
    with st.expander("How it was measured"):
        st.markdown("\n".join(f"- **{escape(name)}:** {escape(text)}" for name, text in (of_models | shared).items()))


_HOW_TO_READ = """\
All models measure the same sentences. R² is the share of the norm’s variance that a straight line over the length \
explains: 0 is nothing, 1 is all. It says nothing about how much the norm varies at all: see its spread. The slope \
depends on the size of a model’s vectors as well, so it compares badly between models; R² and Spearman’s ρ do not.

The lower pictures show every layer, from the embeddings to the last, whatever the number of layers. On the left, how \
much of the length is in the norm of [CLS]; on the right, how well a linear probe reads it from the whole vector. The \
difference is what a model knows of the length, and does not write into the norm. A model with random weights is a \
control: what it shows as well is the architecture’s doing, not the training’s."""
