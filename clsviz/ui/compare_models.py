"""The page “Compare models”: several models side by side, on the same sentences."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.analysis.compare import Row
from clsviz.errors import Subject
from clsviz.experiment import Experiment
from clsviz.jobs import Found, MeasuringJob, State
from clsviz.settings import SEARCH_DEFAULTS, Pooling, Precision, Unit
from clsviz.sources import catalogue, models
from clsviz.ui import compare_jobs as jobs
from clsviz.ui import search_jobs, sidebar, view
from clsviz.ui.compare_jobs import Compared
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, layout, plot, preview, redrawn, share
from clsviz.ui.search_jobs import SearchJobs
from clsviz.ui.state import session, url

PAGE = "compare-models"

_MOST_DRAWN = 2_000
"""How many points each picture has at most; the numbers use all of them."""

_MOST_ADDED = 200
"""How many more, because they are selected."""

_HEIGHT_OF_CURVES, _HEIGHT_OF_NORMS = 420, 280

_MARGIN = 0.04


def page() -> None:
    """Draw the page; while anything is being measured or probed what is below the notes redraws itself."""
    url.restore(PAGE)
    compared = jobs.watch(replace(session.experiment(), precision=Precision.EXACT))
    first, outline = compared.norms[0], compared.outline()
    with st.sidebar:
        jobs.choose_models(compared)
        # The job that knows most of the corpus: one whose error is about it, else one that has opened it.
        failed = [job for job in compared.all if job.error and job.error.subject is Subject.CORPUS]
        of = next(iter([*failed, *(job for job in compared.all if job.work.corpus)]), first)
        sidebar.show_corpus(of.error, of.work.corpus, is_failed=of.state is State.FAILED)
        sidebar.show_settings(of_vectors=True)
        jobs.show_status(compared, outline)
    jobs.show_status_on_a_phone(compared, outline)
    shallowest, poolings = _fit_view_to_models(compared.norms)
    experiment = view.fit(shallowest, poolings)
    links = {"models": ",".join(st.session_state.models), "axes": "free" if st.session_state.axes else ""}
    query = url.write(experiment, PAGE, **links)
    sidebar.show_notes(first)
    sidebar.show_notes_of_view()
    with st.container():  # holds its place while it is empty
        errors = [job.error for job in compared.all[1:] if job.error and job.error.subject is Subject.SETTINGS]
        for message in dict.fromkeys(map(str, errors)):
            if message != str(first.error):  # which the notes say
                st.error(escape(message))
        if experiment.precision is not Precision.EXACT:
            st.caption("Models are always compared in exact precision, because vectors are measured in it.")
    experiment = replace(experiment, precision=Precision.EXACT)
    place = st.empty()
    if not any(job.work.found for job in compared.norms):  # something to read while libraries are loaded for the rest
        place.header(words.comparison.waiting([job.state for job in compared.all]), anchor=False)
    if jobs.lack_vectors(compared.vectors, compared.norms, experiment):
        st.rerun()
    jobs.rows(compared, experiment)
    place.empty()

    def chosen() -> object:
        lacks_vectors = jobs.lack_vectors(compared.vectors, compared.norms, experiment)
        return session.experiment(), st.session_state.axes, lacks_vectors

    def ask() -> list[SearchJobs]:
        """The jobs of each model's search: of one's own file, or else of the texts that are shipped for it."""
        of_means = replace(experiment, pooling=Pooling.MEAN, layer=None)
        if not catalogue.is_own(experiment.corpus):
            of_means = replace(Experiment.from_query(SEARCH_DEFAULTS), seed=experiment.seed)
        return [search_jobs.ask(replace(of_means, model=name)) for name in compared.names]

    of_searches = ask()

    def draw() -> None:
        nonlocal of_searches
        of_searches = ask()
        _show(compared, experiment, query, shallowest, poolings, of_searches)

    def is_active() -> bool:
        is_read = all(row.is_read for row in jobs.rows(compared, experiment))
        return compared.is_active or not is_read or any(job.is_active for job in of_searches)

    redrawn.show(draw, chosen, is_active)
    preview.explain(first)


def _fit_view_to_models(norms: Sequence[MeasuringJob]) -> tuple[Found | None, list[Pooling]]:
    """Bring layer and vector back to what all models have, and note it.

    Returns what was found of the model with the fewest layers, and the poolings that all models have; None until it is
    known of each model that is being measured.
    """
    poolings = [Pooling.CLS, Pooling.POOLER]
    founds = [job.work.found for job in norms]
    known = [found for found in founds if found and len(found.measurements)]
    is_open = any(job.state.is_active and found not in known for job, found in zip(norms, founds, strict=True))
    if is_open or not known:
        return None, poolings
    shallowest = min(known, key=lambda found: found.measurements.n_layers)
    n_layers, layer = shallowest.measurements.n_layers, st.session_state.layer
    if layer == n_layers and any(found.measurements.n_layers > n_layers for found in known):
        note = f"Layer {layer} is the last layer of {shallowest.weights.label}. Every model now shows its last layer."
        session.adjust(note, layer=session.LAST)
    if lacks := next((found for found in known if not found.measurements.has_pooler), None):
        poolings.remove(Pooling.POOLER)
        if st.session_state.pooling is Pooling.POOLER:
            session.adjust(words.waiting.no_pooler(lacks.weights.label), pooling=Pooling.CLS)
    return shallowest, poolings


def _show(
    compared: Compared,
    experiment: Experiment,
    query: dict[str, str],
    shallowest: Found | None,
    poolings: Sequence[Pooling],
    of_searches: Sequence[SearchJobs],
) -> None:
    """The answer, the pictures with their controls, the table, and the layers."""
    rows = [
        replace(row, search=job.result, search_problem=str(job.error or ""))
        for row, job in zip(jobs.rows(compared, experiment), of_searches, strict=True)
    ]
    founds = [job.work.found for job in compared.norms]
    is_searching = any(job.is_active for job in of_searches)  # what they find comes first: no answer before
    answer = words.comparison.searches(rows) or ("" if is_searching else words.comparison.headline(rows))
    waiting = words.comparison.SEARCHING if is_searching else words.comparison.waiting([j.state for j in compared.all])
    layout.head(
        words.question_of_models(experiment),
        answer or waiting,
        words.comparison.in_numbers(rows, experiment) if answer else "",
        words.comparison.caveats(rows, experiment),
        terms=words.glossary.COMPARE_MODELS,
    )
    with st.grid(2, min_column_width=300):
        with st.container():
            _show_searches(rows, of_searches)
        with st.container():
            _show_errors(rows, experiment.unit)
    with view.strip():
        view.controls(shallowest, poolings)
        with st.container(gap="xsmall"):
            view.switch(
                "Norms as they are",
                "axes",
                help="Draw each model’s norms on an axis of its own. Otherwise they are distances from the model’s "
                "mean, in its standard deviations, on one axis for all.",
            )
            view.toggle_shuffled_lengths(session.experiment())
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(escape(words.comparison.tokenizers(rows, experiment.unit)), width="stretch")
        if experiment.unit is Unit.TOKENS and analysis.compare.tokens_agree(rows) is False:
            in_words = {"unit": Unit.WORDS}
            st.button("Count in words", on_click=st.session_state.update, args=[in_words], key="count_in_words")
        with st.container(horizontal=True, horizontal_alignment="right", width="content"):
            if founds[0] and "models" in query:  # with the commits that were found; the fingerprints are the first's
                names = [found.weights.pinned if found else row.model for found, row in zip(founds, rows, strict=True)]
                first = replace(experiment, model=rows[0].model)
                share.copy_link(first, founds[0], query | {"models": ",".join(names)})
            _downloads(experiment, rows, founds, query)
    if len(st.session_state.models) < 2:
        st.info("Choose at least two models in the sidebar.", icon=":material/compare_arrows:")
    _show_table(rows, experiment.unit)
    st.subheader("Norm against length", anchor=False)
    _show_pictures(experiment, rows, founds)
    norms = words.comparison.norm_curves(experiment.unit)
    _show_curves(rows, "norm", norms, "R² of the norm", (-_MARGIN, 1 + _MARGIN), height=_HEIGHT_OF_NORMS)
    measured = [(row, found) for row, found in zip(rows, founds, strict=True) if found and row.norms]

    def how_it_was_measured() -> None:
        share.facts(words.comparison.settings(experiment, measured))

    share.explain(words.comparison.HOW_TO_READ, how_it_was_measured if measured else None)


def _show_pictures(experiment: Experiment, rows: Sequence[Row], founds: Sequence[Found | None]) -> None:
    """Norm against length for every model, with an empty picture for those that are not measured yet."""
    is_scaled = not st.session_state.axes
    selected = [chart.selected_sentences(found, experiment) if found else np.empty(0, np.intp) for found in founds]

    def draw() -> Any:
        nothing = figures.Points(np.empty(0, object), np.empty(0, np.int32), np.empty(0, np.float32))
        panels, chosen = [], []
        for row, found, sentences in zip(rows, founds, selected, strict=True):
            points, marked = nothing, np.empty(0, np.intp)
            if row.norms is not None and found is not None:
                shown = row.norms.shown
                marked = np.flatnonzero(np.isin(shown.index, sentences))
                beyond = marked[marked >= _MOST_DRAWN][:_MOST_ADDED]
                drawn = np.append(np.arange(min(_MOST_DRAWN, len(shown.index))), beyond)
                labels = figures.labels_of([found.sentences[i] for i in shown.index[drawn]])
                points = figures.Points(labels, shown.lengths[drawn], shown.norms[drawn])
                marked = np.flatnonzero(np.isin(drawn, marked))
            chosen.append(marked)
            panels.append((row.label, points, row.fit))
        unit = experiment.unit
        return figures.small_multiples(
            panels, figures.Palette(), shared_y=is_scaled, unit=unit, is_scaled=is_scaled, selected=chosen
        )

    key = [(row.label, row.norms, marked.tobytes()) for row, marked in zip(rows, selected, strict=True)]
    figure = plot.once(("small multiples", *key, experiment.view, is_scaled), draw)
    plot.show(figure, key="small_multiples", alt=words.comparison.pictures(rows, experiment.view))
    most = max((len(row.norms.shown.index) for row in rows if row.norms), default=0)
    if most > _MOST_DRAWN:
        st.caption(words.selection.part_drawn(_MOST_DRAWN, most, "Each picture"))


def _show_searches(rows: Sequence[Row], of_searches: Sequence[SearchJobs]) -> None:
    """What the searches are of, the picture of those that are tested, and a button for the others."""
    corpus = next((job.asked.work.result.corpus.label for job in of_searches if job.asked.work.result), "")
    about = words.comparison.about_searches(rows, corpus)
    st.caption(escape(about))
    if any(row.search for row in rows):
        lines = figures.by_fifth(words.comparison.rankings(rows))
        figure = figures.exposure_by_fifth(
            lines, words.comparison.fifths(rows), figures.Palette(), height=_HEIGHT_OF_CURVES
        )
        plot.show(figure, key="searches", alt=about, height=_HEIGHT_OF_CURVES)
    waiting = [
        (row, job) for row, job in zip(rows, of_searches, strict=True) if job.asked.work.result and not job.is_done
    ]
    active = [(row, job) for row, job in waiting if job.is_active]
    if active:
        row, job = next(((row, job) for row, job in active if job.test and job.test.total), active[0])
        now = job.test or job.asked
        st.progress(
            min(1.0, now.done / now.total) if now.total else 0.0,
            escape(
                f"{row.label}: {now.stage or 'waiting'}" + (f" {now.done:,} of {now.total:,}" if now.total else "…")
            ),
        )
        if st.button("Cancel", icon=":material/stop_circle:", key="cancel_searches"):
            for _, one in active:
                one.stop()
            st.rerun()
    elif waiting:
        costs = [job.asked.work.result.cost for _, job in waiting if job.asked.work.result]
        if st.button(words.comparison.measure_searches(costs), key="measure_searches", icon=":material/play_arrow:"):
            for _, job in waiting:
                job.start()
            st.rerun()


def _show_errors(rows: Sequence[Row], unit: Unit) -> None:
    """By how much the probes miss length, layer by layer, over the relative depth.

    While no model is probed, the errors of the settings before stay, dimmed.
    """
    if any(row.profile for row in rows):
        st.session_state.probed_before = rows
    probed: Sequence[Row] = st.session_state.get("probed_before", rows)
    is_before = probed is not rows
    guess = next((row.profile.guess_error for row in probed if row.profile), None)
    errors = analysis.compare.curves(probed)["error"].to_numpy(float)
    most = float(np.nanmax(errors, initial=guess or 1.0))
    text = f"{words.waiting.SETTINGS_BEFORE}." if is_before else words.comparison.probe_curves(rows, unit)
    _show_curves(probed, "error", text, f"Error in {unit}", (0.0, 1.15 * most), guess, is_dimmed=is_before)


def _show_curves(
    rows: Sequence[Row],
    name: str,
    text: str,
    title: str,
    span: tuple[float, float],
    guess: float | None = None,
    height: int = _HEIGHT_OF_CURVES,
    *,
    is_dimmed: bool = False,
) -> None:
    """One value of each model by layer, under a text that says what it is."""

    def draw() -> Any:
        table = analysis.compare.curves(rows).rename(columns={name: "value"})
        return figures.relative_depth(table, figures.Palette(), y_title=title, span=span, guess=guess)

    key = tuple((row.label, row.norms, row.profile) for row in rows)
    with st.container(key=f"{name}_curves"):
        figure = plot.once(("curves", name, title, span, guess, key), draw)
        st.caption(escape(text))
        plot.show(figure, key=f"curves_{name}", alt=text, height=height, is_dimmed=is_dimmed)


def _show_table(rows: Sequence[Row], unit: Unit) -> None:
    """One row per model, with what is wrong with it; clicking a column's name sorts by it."""
    numbers = analysis.compare.table(rows)
    intervals = [
        f"{low:.3f} to {high:.3f}" if np.isfinite(low) else None
        for low, high in zip(numbers["r_squared_low"], numbers["r_squared_high"], strict=True)
    ]
    numbers.insert(4, "interval", intervals)
    columns = _columns(unit, has_searches=any(row.search for row in rows))
    if "recall_at_10" in columns:
        numbers[["recall_at_10", "recall_at_10_dot"]] *= 100
    if (numbers["problem"] != "").any():
        columns["problem"] = st.column_config.TextColumn("Problem", width="large")
        if any(row.norms is None and row.problem for row in rows):  # beside the name, not at the far end
            columns = {name: columns[name] for name in ("label", "problem", *columns)}
    st.dataframe(
        numbers,
        column_order=list(columns),
        column_config=columns,
        hide_index=True,
        placeholder="–",
        key="comparison",
        alt="The compared models, one per row, with how well a line in length fits their norms, and "
        "how well length can be read from their vectors",
    )


def _columns(unit: Unit, *, has_searches: bool) -> dict[str, Any]:
    """The columns that are shown, in their order, with their configuration.

    has_searches: whether there is what searches found, by cosine of mean-pooled vectors and by their dot product.
    """
    lengths = {"tokens": "mean_tokens"} if unit is Unit.TOKENS else {unit: "mean_length", "tokens": "mean_tokens"}
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    exposure, percent = "Exposure of the {} fifth, by cosine: 1 is fair.", "%.0f%%"
    searches = {
        "recall_at_10": number(
            "Recall", format=percent, help="Right texts among ten, by cosine of mean-pooled vectors."
        ),
        "recall_at_10_dot": number("By dot product", format=percent, help="The same, by dot product of raw means."),
        "exposure_shortest": number("Shortest", format="%.2f", help=exposure.format("shortest")),
        "exposure_longest": number("Longest", format="%.2f", help=exposure.format("longest")),
    }
    return {
        "label": text("Model", pinned=True),
        **(searches if has_searches else {}),
        "r_squared": number("R²", format="%.3f", help="Share of the norm’s variance that the line accounts for."),
        "interval": text("95% interval", help="95% interval of R²."),
        "slope": number(f"Slope per {unit.singular}", format="%.3g", help=f"Change in the norm per {unit.singular}."),
        "spearman": number("Spearman’s ρ", format="%.2f", help="Rank correlation of norm and length."),
        "probe_r_squared": number(
            "Probe R²",
            format="%.3f",
            help="How well a linear probe predicts length from the whole [CLS] vector (cross-validated R²), at the "
            "layer where it does best.",
        ),
        "probe_layer": number("Best layer", format="%d", help="0 is the embedding output."),
        "sentences_per_second": number(
            "Sentences/s", format="%.0f", help="From the last time its norms were measured on this machine."
        ),
        "n_parameters": number(
            "Matrix weights",
            format="compact",
            help="Weights in the matrices that every token is multiplied by. Embeddings do not count.",
        ),
        "norm_mean": number("Mean norm", format="%.3f", help="Mean of the norm over the sentences."),
        "norm_sd": number("SD of norm", format="%.3g", help="Standard deviation of the norm over the sentences."),
        **{
            name: number(f"{unit_name.capitalize()} per sentence", format="%.1f", help="Mean over the sentences.")
            for unit_name, name in lengths.items()
        },
        "n_sentences": number("Sentences", format="localized", help="How many sentences the numbers are based on."),
    }


def _downloads(
    experiment: Experiment, rows: Sequence[Row], founds: Sequence[Found | None], query: dict[str, str]
) -> None:
    """The tables as files, made when asked for."""

    def shareable(row: Row) -> Row:  # with a folder of this machine by its name alone
        folder = models.Name.parse(row.model).base
        problem = row.problem.replace(folder, words.shareable_model(folder))
        return replace(row, model=words.shareable_model(row.model), problem=problem)

    sentences = next((found.sentences for found in founds if found), [])
    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "Table": lambda: analysis.compare.table([shareable(row) for row in rows]),
        "Layers": lambda: analysis.compare.curves(rows),
        "Sentences": lambda: analysis.compare.points(rows, sentences),
    }

    def about() -> dict[str, object]:
        names = {
            "models": ",".join(words.shareable_model(row.model) for row in rows),
            "corpus": words.shareable_corpus(experiment.corpus),
        }
        return {
            "query": "?" + urlencode(query | {name: text for name, text in names.items() if name in query}),
            "models": [
                export.summary(*words.shareable(replace(experiment, model=row.model), found), row.norms.shown)
                for row, found in zip(rows, founds, strict=True)
                if row.norms and found
            ],
        }

    def draw() -> None:
        for name, table in tables.items():
            share.table_downloads(name, f"clsviz-comparison-{name.lower()}", table, about)

    share.menu(draw, len(tables), is_disabled=not any(row.norms for row in rows))
