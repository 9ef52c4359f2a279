"""The sidebar: what costs model time and how far it is, and the view, which is instant.

Every widget gets its value twice: through the session's state, where it is kept, and as its default. Streamlit sends
the first only once, and drops it where a second run of the page begins before the browser has got it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import streamlit as st

from clsviz import analysis, corpora, models, words
from clsviz.corpora import Corpus, formats
from clsviz.corpora.segmentation import LONG_TEXT
from clsviz.errors import ClsvizError, CorpusError, ModelError
from clsviz.experiment import parse_setting
from clsviz.measuring import Found, MeasuringJob, State
from clsviz.settings import RANGES, Lengths, Pooling, Precision, Segmentation, Unit
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, session
from clsviz.words import duration

T = TypeVar("T")


_SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)


_PROBE_SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)


_CUTOFFS = (*range(5, 100, 5), *range(100, 200, 10), *range(200, 501, 50), 512)


_TEXT_HELP = {
    "configuration": "A dataset of the Hub may hold several, such as languages.",
    "split": "Parts of a dataset that are kept apart, such as for training and testing.",
    "column": "Of a table, the one that holds the text.",
}
"""The settings that choose among the texts of a corpus; each depends on those before it."""


POOLING_NAMES = {
    Pooling.CLS: "[CLS]",
    Pooling.MEAN: "Mean",
    Pooling.MAX: "Max",
    Pooling.POOLER: "Pooler output",
}


_POLL_SECONDS = 0.5


_STATUS_HEIGHT = 124  # of two lines, a bar and a button, so that nothing below moves


def sample_controls(job: MeasuringJob, *, of_vectors: bool = False) -> None:
    """The settings that cost model time, with what is wrong with them; of_vectors: of how many, instead of norms."""
    st.subheader("Sample", anchor=False)
    model_control(job.error)
    corpus_controls(job)
    size_controls(of_vectors=of_vectors)


def model_control(error: ClsvizError | None = None) -> None:
    """Which model; error: what is wrong with it, where that is found already."""
    names = _with([*models.MODELS, f"{models.UNTRAINED}minilm"], st.session_state.model)
    st.selectbox(
        "Model",
        names,
        index=names.index(st.session_state.model),
        format_func=model_label,
        key="model",
        on_change=_choose_model,
        accept_new_options=not server.limits().is_public,
        help="The encoder. You can type any id of the Hugging Face Hub, with or without a revision after an @, or on "
        "your own machine the path of a folder. “untrained:” before it puts random weights in the place of its own, "
        "as a control.",
    )
    _message("model_message", error if not isinstance(error, CorpusError) else None)


def corpus_controls(job: MeasuringJob) -> None:
    """Which corpus, which of its texts, and the visitor's own."""
    corpus_names = _with([*corpora.CORPORA, *st.session_state.get("uploads", [])], st.session_state.corpus)
    st.selectbox(
        "Corpus",
        corpus_names,
        index=corpus_names.index(st.session_state.corpus),
        format_func=_corpus_label,
        key="corpus",
        on_change=_choose_corpus,
        accept_new_options=not server.limits().is_public,
        help="Where the sentences come from. The first two are the docstrings of this Python and of its packages; the "
        "others come from the Hugging Face Hub. You can type the id of any dataset there, or on your own machine the "
        "path of a file.",
    )
    is_lost = corpora.is_upload(st.session_state.corpus) and isinstance(job.error, CorpusError)
    with st.expander("Use your own text", expanded=is_lost):
        st.file_uploader(
            "A file of text",
            type=sorted({suffix.rpartition(".")[2] for suffix in formats.SUFFIXES}),
            key="upload",
            on_change=_keep_upload,
            help="Lines of text, a table (CSV, TSV, JSON lines) or Parquet; all but the last also packed with gzip. It "
            "is kept in this server's store, so that the link goes on working.",
        )
    _message("corpus_message", job.error if isinstance(job.error, CorpusError) else None)
    _text_controls(job)


def size_controls(*, of_vectors: bool) -> None:
    """How large the sample is, which one it is, and how exactly it is measured."""
    largest = server.limits().sample_size
    st.select_slider(
        "Sentences",
        _with((size for size in _SIZES if size <= largest), st.session_state.sample_size, in_order=True),
        value=st.session_state.sample_size,
        format_func=lambda size: f"{size:,}",
        key="sample_size",
        help="How many sentences to draw from the corpus. A larger sample keeps those of a smaller one.",
    )
    if of_vectors:
        most = server.limits().probe_size
        st.select_slider(
            "Vectors of the first",
            _with((size for size in _PROBE_SIZES if size <= most), st.session_state.probe_size, in_order=True),
            value=st.session_state.probe_size,
            format_func=lambda size: f"{size:,}",
            key="probe_size",
            help="Of so many sentences, the first of the sample, whole vectors are measured. They take more room than "
            "norms: some 17 kB a sentence with the built-in model, 60 kB with BERT base.",
        )
    lowest, highest = RANGES["seed"]
    seed = st.session_state.seed
    st.number_input("Seed", lowest, highest, seed, key="seed", help="Another seed draws other sentences.")
    if of_vectors:  # which are always exact
        return
    st.segmented_control(
        "Precision",
        list(Precision),
        default=st.session_state.precision,
        format_func=str.capitalize,
        key="precision",
        required=True,
        help="Exact computes in float32. Fast multiplies matrices in bfloat16, and measures some sentences both ways "
        "to state its error; where the norm varies by less than that, it is not shown.",
    )


def model_label(name: str) -> str:
    """How a model is called in a list: no two alike, as the browser sends back what it shows."""
    text = models.label(name) if models.Name.parse(name).base in models.MODELS else name
    return text[:1].upper() + text[1:] if models.Name.parse(name).untrained else text


def _corpus_label(name: str) -> str:
    """How a corpus is called in its list: no two alike, as the browser sends back what it shows."""
    if not corpora.is_upload(name):
        return name if corpora.is_file(name) else corpora.label(name)
    try:
        file_name = corpora.upload_label(name, server.jobs().store.corpora)
    except CorpusError:
        file_name = corpora.label(name)
    return f"{file_name} ({name[7:11]})"


def _text_controls(job: MeasuringJob) -> None:
    """Which of a corpus's texts are taken, and what of them counts as a sentence, where there is a choice."""
    corpus = _known_corpus(job)
    if corpus is None and any(st.session_state[setting] for setting in _TEXT_HELP):
        st.button("Take what the corpus itself declares", on_click=_forget_texts, width="stretch")
    if corpora.is_built_in(st.session_state.corpus):
        st.session_state.segmentation = st.session_state.segmentation  # or it is forgotten with its control
        return
    with st.expander("Which texts", expanded=not corpora.is_in_catalogue(st.session_state.corpus)):
        for setting, options in _choices(corpus).items():
            decided = st.session_state[setting] or getattr(corpus.selection, setting) if corpus else ""
            if len(options) > 1:
                key = f"chosen_{setting}_{st.session_state.corpus}"
                st.session_state[key] = decided if decided in options else options[0]  # also after the browser's Back
                st.selectbox(
                    setting.capitalize(),
                    options,
                    index=options.index(st.session_state[key]),
                    key=key,
                    on_change=_choose_texts,
                    args=[setting],
                    help=_TEXT_HELP[setting],
                )
        st.segmented_control(
            "Cut into sentences",
            list(Segmentation),
            default=st.session_state.segmentation,
            format_func={
                Segmentation.AUTO: "Auto",
                Segmentation.NONE: "No",
                Segmentation.SENTENCES: "Yes",
            }.__getitem__,
            key="segmentation",
            required=True,
            help="Texts can be cut into sentences, by the rules of English. Auto: they are where they have more than "
            f"{LONG_TEXT} characters on average.",
        )


def _known_corpus(job: MeasuringJob) -> Corpus | None:
    """What is known of the chosen corpus: by the job, or while that is looking by the one before, so nothing jumps."""
    if job.work.corpus is not None:
        st.session_state.known_corpus = job.work.corpus
    known: Corpus | None = st.session_state.get("known_corpus")
    is_known = known is not None and known.selection.corpus == st.session_state.corpus
    return known if is_known and job.state is not State.FAILED else None


def _choices(corpus: Corpus | None) -> dict[str, tuple[str, ...]]:
    """The texts that could be chosen of a corpus."""
    if corpus is None:
        return {}
    return {"configuration": corpus.configurations, "split": corpus.splits, "column": corpus.columns}


def _choose_texts(setting: str) -> None:
    """Take the chosen configuration, split or column; what depends on it goes back to what the corpus declares."""
    settings = list(_TEXT_HELP)
    for later in settings[settings.index(setting) :]:
        st.session_state[later] = ""
    st.session_state[setting] = st.session_state[f"chosen_{setting}_{st.session_state.corpus}"]


def _forget_texts() -> None:
    for setting in _TEXT_HELP:
        st.session_state[setting] = ""


def view_controls(found: Found | None, poolings: Sequence[Pooling] = (Pooling.CLS, Pooling.POOLER)) -> None:
    """The settings of the view; poolings: those that can be chosen."""
    st.subheader("Shown", anchor=False)
    st.select_slider(
        "Length cutoff",
        _with(_CUTOFFS, st.session_state.length_cutoff, in_order=True),
        value=st.session_state.length_cutoff,
        format_func=lambda cutoff: f"under {cutoff}",
        key="length_cutoff",
        help="Only shorter sentences are shown and enter the regression. Tokens are counted without [CLS] and [SEP].",
    )
    _fit_to_model(found, poolings)
    st.segmented_control(
        "Vector",
        list(poolings),
        default=st.session_state.pooling,
        format_func=POOLING_NAMES.__getitem__,
        key="pooling",
        required=True,
        help="[CLS] is the vector of the token that stands for the whole sentence. The pooler output is what a dense "
        "layer and tanh make of it after the last layer."
        + (" Mean and maximum are taken over the vectors of all tokens." if Pooling.MEAN in poolings else ""),
    )
    n_layers = _n_layers(found)
    st.select_slider(
        "Layer",
        _with([*range(n_layers or 1), session.LAST], st.session_state.layer, in_order=True),
        value=st.session_state.layer,
        format_func=_layer_name(found, n_layers),
        key="layer",
        disabled=n_layers is None or st.session_state.pooling is Pooling.POOLER,
        help="After which layer the vector is taken; 0 is the embedding output.",
    )
    st.segmented_control(
        "Count length in",
        list(Unit),
        default=st.session_state.unit,
        format_func=str.capitalize,
        key="unit",
        required=True,
        help="Tokens are what this model’s tokenizer makes of a sentence; words, between white space, and characters "
        "are the same for all models.",
    )
    st.segmented_control(
        "Lengths",
        list(Lengths),
        default=st.session_state.lengths,
        format_func={Lengths.TRUE: "Their own", Lengths.SHUFFLED: "Shuffled"}.__getitem__,
        key="lengths",
        required=True,
        help="Shuffled, as a control, gives every sentence the length of a random other one: whatever R² is left then "
        "is chance.",
    )


def _layer_name(found: Found | None, n_layers: int | None) -> Callable[[int | str], str]:
    """How the slider calls a layer; in the fast precision it marks those that cannot be measured."""
    if found is None or found.audit is None or not len(found.measurements):
        return str

    lost = analysis.unmeasurable_layers(found, session.experiment().view)
    return lambda layer: (
        f"{layer} (not measurable)" if (n_layers if layer == session.LAST else layer) in lost else str(layer)
    )


def status(job: MeasuringJob, shown: tuple[bool, bool, bool], name: str = "") -> None:
    """How far the job is, with the button that starts or stops it; keeps itself up to date while the job is active.

    name: tells the buttons of several jobs apart.

    shown: the job's outline from before anything was drawn; the page is drawn again when it is no longer true. Not at
    once: a page that is broken off reaches the browser without the values that its controls were given.
    """
    is_in_browser = False

    def keep_up() -> None:
        nonlocal is_in_browser
        _status(job, name)  # first, as a click on its button must not be lost
        if is_in_browser and shown != outline(job):
            st.rerun()  # the whole page
        is_in_browser = True

    will_change = job.state.is_active or shown != outline(job)
    st.fragment(keep_up, run_every=_POLL_SECONDS if will_change else None)()


def show_notes(job: MeasuringJob) -> None:
    """What the visitor should know of their settings and of how the result came about."""
    notes = session.notes()
    if job.work.found:
        notes += words.notes(job.work.experiment, job.work.found)
        notes += words.differences(session.made_with(), job.work.found)
    for note in notes:
        st.warning(escape(note))


def outline(job: MeasuringJob) -> tuple[bool, bool, bool]:
    """What the rest of the page depends on: whether the job goes on, what is found, whether some is measured."""
    found = job.work.found
    return job.state.is_active, found is not None, found is not None and len(found.measurements) > 0


def _status(job: MeasuringJob, name: str) -> None:
    with st.container(height=_STATUS_HEIGHT, border=False):
        found = job.work.found
        n_measured, n_sampled = (len(found.measurements), len(found.sentences)) if found else (0, 0)
        state = job.state
        if state is State.RUNNING:
            _progress(job)
            _cancel_button(job, name)
        elif state is State.QUEUED:
            ahead = server.jobs().n_ahead_of(job)
            st.progress(0.0, f"Queued: {ahead} {'run' if ahead == 1 else 'runs'} ahead of this one")
            _cancel_button(job, name)
        elif state is State.LOOKING:
            _progress(job)
            _cancel_button(job, name)
        elif state is State.DONE:
            st.caption(f":material/check: {n_sampled:,} sentence{'' if n_sampled == 1 else 's'} measured")
        else:
            if st.button(
                _run_label(job), icon=":material/play_arrow:", type="primary", key=f"run{name}", width="stretch"
            ):
                session.start(job)
                st.rerun()
            if state is State.WAITING and job.cost and job.cost.megabytes:
                st.caption(f"It downloads about {job.cost.megabytes:,} MB first.")
            if n_measured:
                st.caption(f"{n_measured:,} of {n_sampled:,} sentences are measured.")


def _progress(job: MeasuringJob) -> None:
    stage, done, total, rate, left = job.stage, job.done, job.total, job.rate, job.seconds_left  # its thread goes on
    if not total:
        st.progress(0.0, escape(stage) or "Looking for what was measured before")
        return
    unit = f" {job.unit}" if job.unit else ""
    pace = f" · {rate:,.0f}{unit}/s · {duration(left)} left" if left is not None else ""
    st.progress(min(1.0, done / total), f"{escape(stage)} {done:,} of {total:,}{unit}{pace}")


def _run_label(job: MeasuringJob) -> str:
    if job.state is State.FAILED:
        return "Try again"
    if job.state is State.CANCELLED:
        return "Continue"
    if job.cost is None:
        return "Run"
    return f"Run · about {words.duration(job.cost.seconds)}"


def _cancel_button(job: MeasuringJob, name: str) -> None:
    if st.button("Cancel", icon=":material/stop_circle:", key=f"cancel{name}", width="stretch"):
        session.leave(job)
        if job.state.is_active:
            st.toast("Another visitor asked for the same, so it goes on.")
        st.rerun()


def _choose_model() -> None:
    """Take the chosen model, or say why not and go back to the one before."""
    _choose("model", session.model_problem, ModelError)


def _choose_corpus() -> None:
    """Take the chosen corpus, with what it declares itself, or say why not and go back to the one before."""
    if _choose("corpus", session.corpus_problem, CorpusError):
        _forget_texts()


def _choose(setting: str, problem_of: Callable[[str], str], error_type: type[ClsvizError]) -> bool:
    try:
        name = parse_setting(setting, str(st.session_state[setting]))
        if problem := problem_of(name):
            raise error_type(problem)
    except ClsvizError as error:
        st.session_state[setting] = getattr(session.before(), setting)
        st.session_state[f"{setting}_message"] = str(error)
        return False
    st.session_state[setting] = name
    st.session_state[f"{setting}_message"] = ""
    return True


def _keep_upload() -> None:
    """Make the uploaded file the corpus, or say why not."""
    st.session_state.corpus_message = ""
    if st.session_state.upload is None:
        return
    file = st.session_state.upload
    try:
        name = corpora.keep_upload(file, file.name, server.jobs().store.corpora)
    except ClsvizError as error:
        st.session_state.corpus_message = str(error)
    else:
        st.session_state.uploads = list(dict.fromkeys([*st.session_state.get("uploads", []), name]))
        st.session_state.corpus = name
        _forget_texts()


def _n_layers(found: Found | None) -> int | None:
    if found is None:
        return None
    return found.measurements.n_layers if len(found.measurements) else found.weights.n_layers


def _fit_to_model(found: Found | None, poolings: Sequence[Pooling]) -> None:
    """Bring layer and vector back to what the model and the page have, and say so."""
    if st.session_state.pooling not in poolings:
        note = "The norms of mean and maximum vectors are on the page “Where length lives”: here it is that of [CLS]."
        session.adjust(note, pooling=Pooling.CLS)
    n_layers = _n_layers(found)
    if found is None or n_layers is None:
        return
    model, layer = found.weights.label, st.session_state.layer
    if layer != session.LAST and layer >= n_layers:
        note = f"{model} has no layer {layer}: its last is {n_layers}." if layer > n_layers else ""
        session.adjust(note, layer=session.LAST)
    if st.session_state.pooling is Pooling.POOLER and len(found.measurements) and not found.measurements.has_pooler:
        session.adjust(f"{model} has no pooler: the norm is that of [CLS].", pooling=Pooling.CLS)


def _message(key: str, error: ClsvizError | None = None) -> None:
    if text := str(error or st.session_state.get(key, "")):
        st.error(escape(text))


def _with(options: Iterable[T], chosen: T, in_order: bool = False) -> list[T]:
    """The options, and the chosen one if it is not among them: a link may hold any value in range."""
    found = list(options)
    if chosen not in found:
        found.append(chosen)
        if in_order:
            found.sort(key=lambda option: (isinstance(option, str), option))
    return found
