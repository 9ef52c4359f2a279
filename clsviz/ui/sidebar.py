"""The sidebar: model, corpus, and behind “Settings” how much of it is measured, and how; and the notes on a page.

Every control gets its value twice: through the session's state, where it is kept, and as its default. Streamlit sends
the first only once, and drops it if a second run of the page begins before the browser has received it. With
persist_state it keeps the values of controls that a page does not draw.
"""

from collections.abc import Callable, Iterable

import streamlit as st

from clsviz import jobs, words
from clsviz.errors import ClsvizError, CorpusError, Subject
from clsviz.experiment import Experiment, parse_setting
from clsviz.jobs import MeasuringJob, State
from clsviz.progress import Progress
from clsviz.settings import ALL, RANGES, NearDuplicates, Precision, Reading, Segmentation, Unit
from clsviz.sources import catalogue, models, uploads
from clsviz.sources.catalogue import Corpus
from clsviz.sources.segmentation import LONG_TEXT
from clsviz.ui import status, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import layout, preview, redrawn
from clsviz.ui.state import server, session, visitor

INSTANT = Experiment()
"""Where a newcomer starts: it shows something at once."""

ORIGINAL = Experiment(model="bert-base-uncased", corpus="bookcorpus", sample_size=100_000, length_cutoff=80)

_SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)

_PROBE_SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)

_HEIGHT_OF_UPLOAD, _HEIGHT_OF_SETTINGS, _HEIGHT_OF_PRESETS = 234, 384, 195
"""What opens in the sidebar, about, in pixels."""

_TEXT_HELP = {
    "configuration": "A Hub dataset may have several, such as one per language.",
    "split": "The parts a dataset is divided into, such as train and test.",
    "column": "The column that holds the text.",
}
"""The settings that choose among the texts of a corpus; each depends on those before it."""

_MOST_LEFT_RUNNING = 3


def show(job: MeasuringJob, *, of_vectors: bool = False, has_presets: bool = False) -> None:
    """All that stands around what a page is about: the sidebar, its status for phones, notes, and a file's preview.

    of_vectors: whether vectors are measured, and not norms. has_presets: whether all settings can be set at once.
    """
    outline = status.outline(job)
    with st.sidebar:
        show_model(job.error)
        show_corpus(job.error, job.work.corpus, is_failed=job.state is State.FAILED)
        show_settings(of_vectors=of_vectors, has_presets=has_presets)
        status.show(job, outline)
        _left_running()
    status.show_on_a_phone(job, outline)
    show_notes(job)


def show_notes(job: MeasuringJob) -> None:
    """How the result differs from what was asked for, and how a file is read that is to be measured."""
    found, notes = job.work.found, []
    if found is not None:
        notes = [*words.notes(job.work.experiment, found), *words.differences(session.made_with(), found)]
    _list_notes(notes, job.error)
    preview.show(job)


def show_notes_of_view() -> None:
    """Settings that could not be used, until one is changed."""
    _list_notes(session.notes())


def _list_notes(notes: Iterable[str], error: ClsvizError | None = None) -> None:
    with st.container():  # holds its place while it is empty: nothing below is there twice for a moment
        status.show_error(error, Subject.SETTINGS)
        for note in notes:
            st.warning(escape(note))


def show_model(error: ClsvizError | None = None) -> None:
    """The control of the model; error: what is wrong, if that is known already, shown here if it is about the model."""
    own = [one.model for one in imported()]

    def choose() -> None:
        if _take_name("model", visitor.model_problem):
            chosen = next((one for one in imported() if one.model == st.session_state.model), None)
            if chosen is not None:  # imported vectors come with their texts
                session.choose(chosen.experiment)

    view.select(
        "Model",
        "model",
        [*models.MODELS, f"{models.UNTRAINED}minilm", *own],
        label_of_model,
        on_change=choose,
        accept_new_options=not server.limits().is_public,
        help="The encoder. You can also type any Hugging Face Hub id, optionally with @ and a revision, or, if clsviz "
        "runs on your machine, the path of a folder. Put “untrained:” in front for the same architecture with random "
        "weights, as a control.",
    )
    show_message("model")
    status.show_error(error, Subject.MODEL)


def imported() -> list[jobs.Import]:
    """The vectors that were imported here; none on a public server."""
    return [] if server.limits().is_public else jobs.list_imports(server.jobs().store)


def label_of_model(name: str) -> str:
    """What a list calls a model: no two are alike, because the browser sends back what it shows.

    A model of the Hub goes by the name that one types for it, or else that would be offered as one to add.
    """
    if imported := models.Imported.parse(name):
        return f"{imported.label} (imported, {imported.digest[:4]})"
    known = models.MODELS.get(models.Name.parse(name).base)
    if known is None or known.repo:
        return name
    label = models.label(name)
    return label[:1].upper() + label[1:]


def _take_name(setting: str, problem_of: Callable[[str], str]) -> bool:
    """True if the name in the control of `setting` can be used; if not, go back to the one before and say why.

    problem_of: why this visitor may not ask for a name, or "".
    """
    try:
        name = parse_setting(setting, str(st.session_state[setting]))
        problem = problem_of(name)
    except ClsvizError as error:
        problem = str(error)
    st.session_state[f"{setting}_message"] = problem
    st.session_state[setting] = getattr(session.before(), setting) if problem else name
    return not problem


def show_message(setting: str) -> None:
    """Why what was last chosen for `setting` was refused, if it was."""
    if message := st.session_state.get(f"{setting}_message", ""):
        st.error(escape(message))


def show_corpus(error: ClsvizError | None, found: Corpus | None, *, is_failed: bool) -> None:
    """The corpus, which of its texts, and the visitor's own, with what is wrong with them.

    found: what the corpus is, once a job knows.
    """
    state = st.session_state

    def choose() -> None:
        if _take_name("corpus", visitor.corpus_problem):
            _forget_texts()
            session.hold()

    view.select(
        "Corpus",
        "corpus",
        [*catalogue.CORPORA, *state.get("uploads", [])],
        label_of_corpus,
        on_change=choose,
        accept_new_options=not server.limits().is_public,
        help="Where the sentences come from. The first four are docstrings: of Python 3.11, the same on every "
        "machine, as sentences and as whole texts with titles; of the Python installed here; and of its packages as "
        "well. The others come from the Hugging Face Hub. You can also type any Hub dataset id or, if clsviz runs on "
        "your machine, the path of a file.",
    )
    is_lost = catalogue.is_upload(state.corpus) and isinstance(error, CorpusError)
    if is_lost and state.get("lost") != state.corpus:
        state.lost, state.own_file = state.corpus, True
    layout.box(
        "Use your own text",
        "own_file",
        lambda: _upload("upload"),
        height=_HEIGHT_OF_UPLOAD,
        chosen=lambda: (session.measured(), *(str(state.get(name, "")) for name in ("held", "corpus_message"))),
    )
    show_message("corpus")
    status.show_error(error, Subject.CORPUS)
    # While the job is looking, what the job before knew, so that nothing jumps.
    if found is not None:
        state.known_corpus = found
    corpus: Corpus | None = state.get("known_corpus")
    if corpus is not None and (corpus.selection.corpus != state.corpus or is_failed):
        corpus = None
    if corpus is None and any(state[setting] for setting in _TEXT_HELP):
        st.button("Use the dataset’s defaults", on_click=_forget_texts, width="stretch")
    if not catalogue.is_built_in(state.corpus):
        _texts(corpus)


def label_of_corpus(name: str) -> str:
    """What a list calls a corpus: no two are alike, because the browser sends back what it shows."""
    if not catalogue.is_upload(name):
        return name if catalogue.is_file(name) else catalogue.label(name)
    try:
        file_name = uploads.upload_label(name, server.jobs().store.corpora)
    except CorpusError:
        file_name = catalogue.label(name)
    return f"{file_name} ({name[7:11]})"


def choose_corpus(name: str) -> None:
    """Go to a corpus, with its own defaults."""
    st.session_state.corpus, st.session_state.corpus_message = name, ""
    _forget_texts()


def own_text(key: str, about: str) -> None:
    """A button that opens the box for a file of the visitor's own. key: of the box; about: what stands above it."""
    with st.popover("Try it on your own text", icon=":material/upload_file:", key=f"{key}_place", on_change="rerun"):
        st.caption(about)
        _upload(key)


def uploader(label: str, key: str, take: Callable[[str], None], about: str) -> bool:
    """Where a file is chosen, which is kept, and taken by its name; False if it cannot be, and why stands here."""
    state = st.session_state

    def keep() -> None:
        state[f"{key}_message"] = ""
        try:
            if state[key] is not None:
                take(server.keep_upload(state[key]))
        except ClsvizError as error:
            state[f"{key}_message"] = str(error)

    most = server.upload_megabytes(server.limits())
    file = st.file_uploader(label, key=key, on_change=keep, max_upload_size=most, help=about)
    if file is None or not state.get(f"{key}_message", ""):
        return True
    show_message(key)
    return False


def _upload(key: str) -> None:
    """Where a file is chosen, which then is the corpus, or this place says why not."""
    state = st.session_state

    def take(name: str) -> None:
        if f"{key}_place" in state:  # whoever has chosen a file looks for what is made of it
            state[f"{key}_place"] = False
        state.uploads = list(dict.fromkeys([*state.get("uploads", []), name]))
        choose_corpus(name)
        session.hold()

    about = "Plain text (a text on each line, or wrapped paragraphs), a table (CSV, TSV, JSON lines) or Parquet. "
    if uploader("A text file", key, take, f"{about}All but Parquet may be gzipped."):
        st.caption(words.reading.kept_for(server.limits().upload_seconds))


def _texts(corpus: Corpus | None) -> None:
    """Which of the corpus's texts are taken, and whether they are cut; the preview of a file asks the latter."""
    state, has_preview = st.session_state, catalogue.is_own(st.session_state.corpus)
    options: dict[str, tuple[str, ...]] = {}
    if corpus is not None:
        options = {"configuration": corpus.configurations, "split": corpus.splits, "column": corpus.columns}
    options = {setting: names for setting, names in options.items() if len(names) > 1}
    if has_preview and not options:
        return

    def choose(setting: str, key: str) -> None:  # what depends on it goes back to the dataset's default
        settings = list(_TEXT_HELP)
        for later in settings[settings.index(setting) :]:
            state[later] = ""
        state[setting] = state[key]

    with st.expander("Which texts", expanded=not catalogue.is_in_catalogue(state.corpus)):
        for setting, names in options.items():
            decided = state[setting] or (getattr(corpus.selection, setting) if corpus else "")
            key = f"chosen_{setting}_{state.corpus}"
            state[key] = decided if decided in names else names[0]  # also after the browser's Back
            st.selectbox(
                setting.capitalize(),
                names,
                index=names.index(state[key]),
                key=key,
                on_change=choose,
                args=[setting, key],
                help=_TEXT_HELP[setting],
            )
        if has_preview:
            return
        view.choice(
            "Cut into sentences",
            "segmentation",
            Segmentation,
            words.reading.SEGMENTATIONS.__getitem__,
            help="Cut texts into sentences, with rules for English. Auto does so if they average more than "
            f"{LONG_TEXT} characters.",
        )


def _forget_texts() -> None:
    for setting in _TEXT_HELP:
        st.session_state[setting] = ""
    st.session_state.reading = Reading.AUTO
    st.session_state.titles = st.session_state.searches = ""


def show_settings(*, of_vectors: bool, has_presets: bool = False) -> None:
    """Whatever is rarely changed."""
    in_words = words.cutoff_unit(session.experiment()) is Unit.WORDS
    if in_words and st.session_state.unit is Unit.TOKENS:
        st.session_state.unit = Unit.WORDS  # where there are no tokens; also while nobody sees the control

    def draw() -> None:
        if has_presets:
            _presets()
        _sample(of_vectors=of_vectors)
        view.choice(
            "Count length in",
            "unit",
            [Unit.WORDS, Unit.CHARACTERS] if in_words else Unit,
            help="Tokens are what this model’s tokenizer splits a sentence into. Words (separated by white space) and "
            "characters are the same for all models.",
        )
        view.choice(
            "Near-duplicates",
            "near_duplicates",
            NearDuplicates,
            help="Sentences that are the same but for case, punctuation or numbers, or long and nearly the same. "
            "Grouped, intervals count them as one, and a probe is trained on all of a group or tested on all of it. "
            "Independent, each counts as a sentence of its own.",
        )

    def is_estimating() -> bool:
        is_open = has_presets and bool(st.session_state.get("settings"))
        return is_open and server.jobs().estimate(ORIGINAL, now=False) is None

    layout.box(
        "Settings",
        "settings",
        draw,
        icon=":material/tune:",
        height=_HEIGHT_OF_SETTINGS + _HEIGHT_OF_PRESETS * has_presets,
        chosen=lambda: (session.measured(), *map(st.session_state.get, ("probe_size", "unit", "near_duplicates"))),
        is_active=is_estimating,
    )


def _presets() -> None:
    """The two buttons that set everything, and what the original experiment costs on this machine."""
    presets = (
        ("Instant", "bolt", INSTANT, "The built-in model on Python’s docstrings. Needs no network."),
        (
            "The original",
            "history_edu",
            ORIGINAL,
            f"BERT base on {ORIGINAL.sample_size:,} sentences of BookCorpus, keeping those under "
            f"{ORIGINAL.length_cutoff} tokens: the 2021 experiment. Nothing starts until you press Measure.",
        ),
    )
    with st.container(horizontal=True):
        clicked = [
            st.button(
                label,
                icon=f":material/{icon}:",
                on_click=session.choose,
                args=[experiment],
                width="stretch",
                help=about,
                disabled=experiment is INSTANT and session.measured() == INSTANT.measurement_key,
            )
            for label, icon, experiment, about in presets
        ]
    if any(clicked):
        st.rerun()  # the whole page, also where only the view changes
    cost = server.jobs().estimate(ORIGINAL)
    if cost:
        st.caption(escape(f"The original {words.cost(cost)}."))
        return
    of_corpus = catalogue.download_megabytes(ORIGINAL.corpus, ORIGINAL.sample_size)
    megabytes = models.download_megabytes(ORIGINAL.model, Progress()) + of_corpus
    st.caption(f"The original downloads up to {megabytes:,} MB. Estimating how long it takes on this machine…")


def _sample(*, of_vectors: bool) -> None:
    """How large the sample is, which one it is, and how exactly it is measured; vectors are always exact."""
    state, limits = st.session_state, server.limits()
    sizes = [size for size in _SIZES if size <= limits.sample_size] + [ALL] * (not limits.is_public)
    about = "How many sentences to draw from the corpus. A larger sample contains the smaller ones."

    def name(size: int) -> str:
        return "All" if size == ALL else f"{size:,}"

    view.slider("Sentences", "sample_size", sizes, name, about)
    if of_vectors:
        sizes = [size for size in _PROBE_SIZES if size <= limits.probe_size]
        about = (
            "Whole vectors are measured for this many sentences, from the start of the sample. They take more room "
            "than norms: about 17 kB per sentence with the built-in model, 60 kB with BERT base."
        )
        view.slider("Vectors for the first", "probe_size", sizes, name, about)
    is_imported = models.Imported.parse(state.model) is not None
    if not is_imported or state.seed:
        lowest, highest = RANGES["seed"]
        st.number_input(
            "Seed",
            lowest,
            highest,
            state.seed,
            key="seed",
            persist_state="session",
            help="A different seed draws different sentences.",
        )
    if not of_vectors and (not is_imported or state.precision is not Precision.EXACT):
        view.choice(
            "Precision",
            "precision",
            Precision,
            help="Exact computes in float32. Fast multiplies matrices in bfloat16 and measures some sentences both "
            "ways to report its error. A norm that varies by less than that error is not shown.",
        )


def _left_running() -> None:
    """Runs that the visitor started and left for other settings: how far each is, with a way back to it."""

    def draw() -> None:
        jobs = server.jobs().left_running(server.visitor())
        for number, job in enumerate(jobs[:_MOST_LEFT_RUNNING]):
            with st.container(border=True, key=f"background_{number}", gap="xsmall"):
                found, experiment = job.work.found, job.work.experiment
                done, total = (len(found.measurements), len(found.sentences)) if found else (0, 0)
                st.caption(escape(words.waiting.in_background(experiment, done, total)))
                with st.container(horizontal=True):
                    st.button("Show it", key=f"show_{number}", on_click=session.choose, args=[experiment])
                    st.button("Cancel it", key=f"cancel_background_{number}", on_click=job.cancel)
        if len(jobs) > _MOST_LEFT_RUNNING:
            st.caption(f"And {len(jobs) - _MOST_LEFT_RUNNING:,} more.")

    def outline() -> set[int]:
        return {id(job) for job in server.jobs().left_running(server.visitor())}

    if before := outline():
        redrawn.follow(draw, outline, before, 1.0)
