"""The page “Try a sentence”: what a model makes of the visitor's own sentences."""

import html
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.analysis import CorpusContext
from clsviz.analysis.typed import EXAMPLE, TypedSentences
from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.jobs import RATE_OF_VECTORS, Found, MeasuringJob, State, kind_of_norms, measurement_key
from clsviz.measurements import Kind
from clsviz.settings import Lengths, Pooling, Precision, printable
from clsviz.sources import models
from clsviz.statistics import similarity
from clsviz.statistics.similarity import Nearest
from clsviz.ui import sidebar, status, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, colouring, layout, own, plot, redrawn, selection, share
from clsviz.ui.state import server, session, url, watching

if TYPE_CHECKING:
    from clsviz.analysis import ViewData
    from clsviz.experiment import View

PAGE = "try-a-sentence"

_NOTHING_YET = {
    State.WAITING: "Press Measure. The model or the corpus has to be downloaded or built first.",
    State.FAILED: "Nothing was measured; the error says why.",
    State.CANCELLED: "Stopped before the model was ready. Press Measure to continue.",
}

_MOST_TOKENS = 128

_CHIP = (
    "display:inline-flex;flex-direction:column;align-items:center;padding:2px 8px;border-radius:6px;"
    "border:1px solid rgba(128,128,128,0.45);line-height:1.35"
)

_HEIGHT_OF_LAYERS, _HEIGHT_OF_GROWTH = 380, 400

_POOLER_COLUMNS = {
    "sentence": "Sentence",
    "cls": "Raw [CLS]",
    "dense": "After dense",
    "pooler": "Pooler output",
    "near_one": "Beyond ±0.99",
}

_NEAREST = 10

_TYPICAL_OF, _PAIRS_OF = 2_000, 1_000
"""The first corpus sentences, whose pairs give the average similarity and the ranks."""


def page() -> None:
    """Draw the page; what is below the notes redraws itself while the corpus is measured, as there is more."""
    _, jobs = watching.begin(PAGE, others=_wanted)
    if len(jobs) > 1 and st.session_state.pop("nearest_wanted", False):
        jobs = [jobs[0], watching.start(jobs[1])]
    sidebar.show(jobs[0])
    redrawn.show(
        lambda: _show(jobs),
        lambda: [measurement_key(*wanted) for wanted in _wanted(session.experiment())],
        lambda: any(job.state.is_active for job in jobs),
        lambda: [watching.news(job) for job in jobs],
    )


def _wanted(experiment: Experiment) -> list[tuple[Experiment, Kind]]:
    """What is measured of the corpus: the norms of the view, and vectors once the nearest sentences are asked for."""
    kinds = kind_of_norms(experiment), *([Kind.VECTORS] if st.session_state.nearest else [])
    return [(experiment, kind) for kind in kinds]


def _show(jobs: list[MeasuringJob]) -> None:
    """The answer, the picture with its controls, and what is known of one sentence below; jobs: norms, and vectors."""
    _reset_for_new_text()
    experiment, found = view.fit(jobs[0].work.found), jobs[0].work.found
    sidebar.show_notes_of_view()
    question = words.question_of_sentence(experiment)
    if words.is_imported(experiment):
        layout.head(question, words.waiting.NO_SENTENCE)
        url.write(experiment, PAGE, **_query())
        return
    # A height makes it there while it is empty; the style says which.
    answer_place = st.container(key="head_place", height=1, border=False)
    own.one_or_several()
    measuring_place = st.container()
    cards_place = st.container(key="cards", height=1, border=False)
    with st.grid(2, min_column_width=400):
        picture_place = st.container(key="picture_place", height=1, border=False)
        growth_place = st.container(key="growth_place", height=1, border=False)
    with view.strip(3):
        view.controls(found)
    tools_place = st.container(key="tools", height=40, border=False, horizontal=True, horizontal_alignment="right")
    sentences = own.typed()
    typed: TypedSentences | None = None
    if found is not None:
        with measuring_place:  # where it says that it is being measured, or why it cannot be
            work = partial(analysis.typed.measure, sentences=sentences or [EXAMPLE])
            typed = own.try_sentences("typed", found.weights, sentences or [EXAMPLE], work)
            typed = typed or own.before("typed", found.weights)
        if typed is not None and not typed.has(experiment.view):
            typed = None  # the controls are about to follow
    # Lengths are always the sentences' own: shuffling is a control for R², which this page does not show.
    as_they_are = replace(experiment, lengths=Lengths.TRUE)
    corpus, at = None, 0
    if (measured := watching.found(jobs[0], as_they_are)) is not None:
        corpus = server.cache().get_or_compute(
            ("corpus context", measured.key, as_they_are.view),
            lambda: analysis.corpus_context(measured, as_they_are.view),
        )
    with answer_place:
        answer, about = _nothing_yet(jobs[0]) if found is None else "Measuring your sentence…", ""
        if typed is not None:
            if not 1 <= st.session_state.sentence <= len(typed.sentences):
                st.session_state.sentence = 1
            at = int(st.session_state.sentence) - 1
            answer = words.try_a_sentence.headline(typed, at, corpus, experiment.view)
            about = words.try_a_sentence.numbers(typed, at, corpus, experiment.view)
            about = about if sentences else f"{words.try_a_sentence.EXAMPLE} · {about}"
        layout.head(question, answer, about, terms=words.glossary.TRY_A_SENTENCE)
    with picture_place:
        shown = _show_picture(typed, measured, as_they_are)
    if found is None or typed is None:
        with growth_place:
            _show_growth_before()
        url.write(experiment, PAGE, **_query())
        return
    with cards_place:
        _show_cards(typed, jobs, experiment, shown)
    with growth_place:
        grown = _show_growth(found, typed.sentences[at], corpus, experiment)
    _show_nearest(typed, at, jobs, experiment)
    of_one = typed, at, corpus, experiment
    for title, key, draw in (
        (words.try_a_sentence.tokens_title(typed, at), "tokens_box", partial(_show_tokens, typed, at)),
        (words.try_a_sentence.layers_title(typed, at), "layers_box", partial(_show_layers, *of_one)),
        (words.try_a_sentence.pooler_title(typed, at), "pooler_box", partial(_show_pooler, *of_one)),
    ):
        with st.expander(title, key=key, on_change="rerun") as place:
            if place.open:
                draw()
    query = url.write(experiment, PAGE, **_query())
    with tools_place.container(horizontal=True, width="content"):
        share.copy_link(experiment, found, query)
        _downloads(typed, at, grown, corpus, jobs, experiment, found)


def _reset_for_new_text() -> None:
    """Go back to the first sentence and word when the text has changed.

    While a visitor types, the browser may still send a word of the sentence before, which a list gives as its text.
    """
    state = st.session_state
    is_new = state.get("text_chosen_from", state.text) != state.text
    if is_new or not all(isinstance(number, int) for number in (state.sentence, state.word)):
        state.sentence = state.word = 1
    state.text_chosen_from = state.text


def _query() -> dict[str, str]:
    """The page's own settings as URL parameters; "" for defaults. Numbers, so that no link contains text unasked."""
    state = st.session_state
    numbers = {name: str(state[name]) if state[name] != 1 else "" for name in ("sentence", "word")}
    return {"nearest": "yes" if state.nearest else ""} | numbers


def _nothing_yet(job: MeasuringJob) -> str:
    """Why nothing is known of the model."""
    if n_ahead := server.jobs().n_ahead(job):
        return f"{words.waiting.in_queue(n_ahead)}. Then the model is loaded."
    return _NOTHING_YET.get(job.state, "Looking for the model; this takes a moment.")


def _show_picture(typed: TypedSentences | None, found: Found | None, experiment: Experiment) -> "ViewData | None":
    """The scatter of the main page as far as the corpus is measured, with a star for each typed sentence.

    Returns what it shows of the corpus, None while that is nothing.
    """
    if found is None:
        chart.show_empty(experiment, "No points.")
        st.caption("")
        return None
    chart.follow(experiment)
    shown, points, name = chart.view_of(found, experiment), None, "yours"
    if typed is not None:
        of_view = experiment.view
        points = figures.Points(
            figures.labels_of(typed.sentences),
            typed.lengths(of_view),
            typed.vectors.norms(of_view.pooling, of_view.layer),
        )
        if typed.sentences == [EXAMPLE] and not st.session_state.text.strip():
            name = "example"
    selected = chart.show(experiment, found, shown, points, st.session_state.overlays, name)
    colouring.show_legend(found, shown, experiment)
    selection.show(experiment, found, shown, selected, share.file_name(experiment, found))
    return shown


def _show_cards(
    typed: TypedSentences, jobs: list[MeasuringJob], experiment: Experiment, shown: "ViewData | None"
) -> None:
    """Each sentence beside the corpus; how similar the two are, or one to all others; and which is looked at below."""
    of_view, n = experiment.view, len(typed.sentences)
    norms = typed.vectors.norms(of_view.pooling, of_view.layer)
    no_tokens: list[list[str]] = [[] for _ in typed.sentences]  # a box below has them
    own.show_measured(
        typed.sentences, no_tokens, typed.lengths(of_view), norms, typed.vectors.truncated, of_view.unit, shown
    )
    if n == 1:
        return
    if n == 2:
        found = watching.found(jobs[1], experiment) if len(jobs) > 1 else None
        pair = _similarity_table(typed, found, of_view).iloc[0]
        percent = pair.get("percentile")
        st.markdown(words.try_a_sentence.similarity(float(pair["similarity"]), of_view, percent))
    view.select(
        "Sentence",
        "sentence",
        range(1, n + 1),
        lambda number: f"{number}. {typed.sentences[number - 1]}",
        help="Which sentence the headline and everything below is about.",
    )


def _show_tokens(typed: TypedSentences, at: int) -> None:
    """The tokens as chips with their ids, in the order in which the model reads them."""
    st.caption(escape(words.try_a_sentence.tokens(typed, at, _MOST_TOKENS)))
    chips = [
        f'<span style="{_CHIP}"><span style="font-family:monospace">{html.escape(printable(token))}</span>'
        f'<span style="font-size:0.75rem;opacity:0.75">{token_id}</span></span>'
        for token, token_id in typed.tokens[at][:_MOST_TOKENS]
    ]
    st.html(f'<div style="display:flex;flex-wrap:wrap;gap:4px">{"".join(chips)}</div>')


def _show_layers(typed: TypedSentences, at: int, corpus: CorpusContext | None, experiment: Experiment) -> None:
    """One line per sentence, over the middle half of the corpus."""
    table = analysis.typed.layer_table(typed, corpus)
    if len(typed.sentences) > 1:  # numbered, or equal sentences would share a line
        table["name"] = table["sentence"].astype(str) + ". " + table["name"]
    findings = words.try_a_sentence.layers(typed, at, corpus)
    st.markdown(escape(findings))
    figure = figures.layer_path(table, corpus.layer_band if corpus else None, figures.Palette())
    plot.show(figure, key="path", alt=f"Norm of [CLS] after every layer. {findings}", height=_HEIGHT_OF_LAYERS)
    if note := words.try_a_sentence.layers_note(corpus, experiment.length_cutoff):
        st.caption(escape(note))


def _show_growth(
    found: Found, sentence: str, corpus: CorpusContext | None, experiment: Experiment
) -> pd.DataFrame | None:
    """The norm as the sentence grows word by word; returns its table, None while there is none."""
    its_words = analysis.typed.first_words(sentence)
    if not 1 <= st.session_state.word <= len(its_words):
        st.session_state.word = 1
    word = its_words[int(st.session_state.word) - 1]
    texts = analysis.typed.growth_texts(sentence, seed=experiment.seed, word=word)
    prefixes = texts["text"].tolist()
    work = partial(analysis.typed.measure_norms, sentences=prefixes)
    vectors = own.try_sentences("growth", found.weights, prefixes, work)
    if vectors is None:
        _show_growth_before()
        return None
    grown = analysis.typed.with_norms(texts, vectors, experiment.view)
    band = corpus.length_band(int(grown["tokens"].max())) if corpus else None
    findings = words.try_a_sentence.growth_said(grown)
    title = words.axis_title(experiment)
    figure = figures.growth(grown, band, figures.Palette(), title, unit=experiment.unit)
    alt = f"The norm after every added word. {findings}"
    plot.show(figure, key="growth", alt=alt, height=_HEIGHT_OF_GROWTH, is_kept=True)
    view.select(
        "Word to repeat",
        "word",
        range(1, len(its_words) + 1),
        lambda number: its_words[number - 1],
        width=260,
        help="One of the lines repeats this word as many times as the sentence has words.",
    )
    note = words.try_a_sentence.growth_note(corpus, experiment.length_cutoff, has_band=band is not None)
    st.caption(escape(f"{findings} {note}"))
    return grown


def _show_growth_before() -> None:
    """What was drawn of the sentence before, dimmed: nothing below moves while the next is measured."""
    if not plot.show_before("growth", words.try_a_sentence.SENTENCE_BEFORE):
        st.container(height=_HEIGHT_OF_GROWTH, border=False)


def _show_pooler(typed: TypedSentences, at: int, corpus: CorpusContext | None, experiment: Experiment) -> None:
    """Raw [CLS], the pooler output and what lies between them, and a table if there are several sentences."""
    findings = escape(words.try_a_sentence.pooler(typed, at, models.label(experiment.model)))
    if typed.dense_norms is None or typed.output_norms is None:
        st.markdown(findings)
        return
    quartiles = corpus.quartiles if corpus else {}
    metrics = (
        ("Raw [CLS]", typed.raw_norms, Pooling.CLS, "[CLS] as it leaves the last layer."),
        (
            "After dense",
            typed.dense_norms,
            None,
            "[CLS] after the pooler’s dense layer, a matrix and a bias learned with the model.",
        ),
        (
            f"After {'tanh' if typed.is_tanh else 'activation'}",
            typed.output_norms,
            Pooling.POOLER,
            "The pooler output.",
        ),
    )
    with st.grid(3, min_column_width=150):
        for label, norms, pooling, about in metrics:
            middle = quartiles.get(pooling) if pooling else None
            st.metric(
                label,
                words.number(float(norms[at])),
                f"corpus {middle[0]:.2f} to {middle[1]:.2f}" if middle else "–",
                delta_color="off",
                delta_arrow="off",
                border=True,
                help=about + (" Below it, the range of norms that holds the middle half of the corpus." * bool(middle)),
                height="stretch",
            )
    st.markdown(findings)
    if len(typed.sentences) > 1:
        digits = st.column_config.NumberColumn(format="%.4f")
        numbers = {_POOLER_COLUMNS[name]: digits for name in ("cls", "dense", "pooler")}
        numbers[_POOLER_COLUMNS["near_one"]] = st.column_config.NumberColumn(format="percent")
        table = analysis.typed.pooler_table(typed).rename(columns=_POOLER_COLUMNS)
        st.dataframe(table, hide_index=True, column_config=numbers, alt="Norms before, within and after the pooler")


def _show_nearest(typed: TypedSentences, at: int, jobs: list[MeasuringJob], experiment: Experiment) -> None:
    """Which corpus sentences are nearest to one, and how near the other typed ones are, once the visitor asks."""

    def want() -> None:  # having read what it costs; whoever opens a link has not read it
        st.session_state.nearest_wanted = st.session_state.nearest

    st.subheader("Which corpus sentences are nearest?", anchor=False)
    view.switch("Find the nearest corpus sentences", "nearest", on_change=want)
    if len(jobs) < 2:
        n, seconds = min(experiment.sample_size, experiment.probe_size), None
        if (found := jobs[0].work.found) is not None:
            n = min(n, len(found.sentences))  # a corpus may have fewer than are asked for
            of_exact, store = (found.weights.fingerprint, Precision.EXACT.numbers), server.jobs().store
            rate_of_norms = store.rate(*of_exact)
            rate = store.rate(*of_exact, Kind.VECTORS) or (rate_of_norms and rate_of_norms * RATE_OF_VECTORS)
            seconds = n / rate if rate else None
        st.caption(escape(words.try_a_sentence.nearest_cost(n, seconds)))
        return
    job, of_view = jobs[1], experiment.view
    if job.state is not State.DONE:
        status.draw(job, "vectors")
    found = watching.found(job, experiment)
    if found is None:
        if job.state is State.WAITING:
            st.caption("Press Measure for the corpus’s vectors.")
        elif job.state.is_active:
            st.caption("The first results appear as soon as some of the corpus’s vectors are measured.")
        return

    def compute() -> tuple[Nearest, float, pd.DataFrame]:
        corpus = found.vectors.head(_TYPICAL_OF).of(of_view.pooling, of_view.layer)
        typical = similarity.typical_similarity(corpus)
        return _nearest(typed, at, found, of_view), typical, _similarity_table(typed, found, of_view)

    key = "similar", found.weights.fingerprint, *typed.sentences, at, found.key, of_view
    try:
        nearest, typical, pairs = server.cache().get_or_compute(key, compute)
    except SettingError as error:
        st.info(escape(error))
        return
    sentence = typed.sentences[at]
    st.markdown(escape(words.try_a_sentence.nearest(sentence, of_view, nearest, typical)))
    about_count = "How often this exact sentence occurs among those compared."
    selection.show_nearest(nearest.table, "The corpus sentences whose vectors are nearest", about_count)
    if len(typed.sentences) > 1:
        is_first = pairs["first"] == at + 1
        rows = pairs[is_first | (pairs["second"] == at + 1)]
        others = rows["second_sentence"].where(is_first, rows["first_sentence"])
        st.markdown(escape(words.try_a_sentence.similarities(sentence, of_view, others.tolist())))
        st.dataframe(
            pd.DataFrame({"Sentence": others, "Similarity": rows["similarity"], "Less alike": rows["percentile"]}),
            hide_index=True,
            column_config={
                "Sentence": st.column_config.TextColumn(width="medium"),
                "Similarity": st.column_config.NumberColumn(format="%.4f", width="small"),
                "Less alike": st.column_config.NumberColumn(
                    format="%.1f%%",
                    width="small",
                    help=f"Percentage of all pairs of the first {_PAIRS_OF:,} corpus sentences that are less alike.",
                ),
            },
            alt="The other typed sentences with their similarities",
        )
    st.caption(escape(words.try_a_sentence.cosine_note(experiment)))


def _nearest(typed: TypedSentences, at: int, found: Found, of_view: "View") -> Nearest:
    """The corpus sentences nearest to one, as in `similarity.nearest`, among those whose vectors are measured."""
    vector = typed.vectors.of(of_view.pooling, of_view.layer)[at]
    return similarity.nearest(vector, found.vectors.of(of_view.pooling, of_view.layer), found.sentences, _NEAREST)


def _similarity_table(typed: TypedSentences, found: Found | None, of_view: "View") -> pd.DataFrame:
    """The pairs of typed sentences, as in `analysis.typed.similarity_table`, among those of the corpus if measured."""
    return analysis.typed.similarity_table(typed, found.vectors.head(_PAIRS_OF) if found else None, of_view)


def _downloads(
    typed: TypedSentences,
    at: int,
    grown: pd.DataFrame | None,
    corpus: CorpusContext | None,
    jobs: list[MeasuringJob],
    experiment: Experiment,
    found: Found,
) -> None:
    """Every table that this page draws, made when asked for."""
    of_view = experiment.view
    vectors = watching.found(jobs[1], experiment) if len(jobs) > 1 else None
    has_band = corpus is not None and corpus.layer_band is not None
    # Each table, and the corpus measurements that are in it.
    tables: dict[str, tuple[Callable[[], pd.DataFrame], Found | None]] = {
        "Tokens": (lambda: analysis.typed.token_table(typed), None),
        "Norms by layer": (lambda: analysis.typed.layer_table(typed, corpus), found if has_band else None),
    }
    if grown is not None:
        tables["Norms by word"] = lambda: grown.rename(columns={"tokens": "length"}), None
        band = corpus.length_band(int(grown["tokens"].max())) if corpus else None
        if band is not None:
            tables["Corpus by length"] = lambda: band, found
    tables["Pooler"] = lambda: analysis.typed.pooler_table(typed), None
    if vectors is not None:
        tables["Nearest"] = lambda: _nearest(typed, at, vectors, of_view).table, vectors
    if len(typed.sentences) > 1:
        tables["Similarity"] = lambda: _similarity_table(typed, vectors, of_view), vectors
    name = share.file_name(experiment, found)

    def about(measured: Found | None) -> dict[str, object]:
        """How a table was made, ready for JSON; measured: the corpus measurements that are in it, if any.

        The visitor's own sentences are always measured exactly, whatever the precision of the corpus.
        """
        public, of_model = words.shareable(experiment, found)
        facts: dict[str, object] = {
            "model": of_model.weights.pinned,
            "model_fingerprint": of_model.weights.fingerprint,
            "seed": experiment.seed,
            "length_cutoff": experiment.length_cutoff,
            "layer": typed.vectors.n_layers if experiment.layer is None else experiment.layer,
            "pooling": experiment.pooling,
            "unit": experiment.unit,
            "numbers": Precision.EXACT.numbers,
            "query": "?" + urlencode(export.link(public, of_model)),
        }
        if measured is not None:
            of_corpus = words.shareable(experiment, measured)[1]
            facts |= {
                "corpus": of_corpus.corpus.pinned,
                "corpus_fingerprint": of_corpus.corpus.fingerprint,
                "corpus_numbers": of_corpus.precision.numbers,
                "lengths": Lengths.TRUE,
                "n_measured": len(of_corpus.measurements),
            }
        return facts

    def draw() -> None:
        for label, (table, measured) in tables.items():
            file = f"{name}-{label.lower().replace(' ', '-')}"
            share.table_downloads(label, file, table, partial(about, measured))

    share.menu(draw, len(tables))
