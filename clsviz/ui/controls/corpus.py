"""Which corpus, which of its texts, and the visitor's own."""

from collections.abc import Hashable

import streamlit as st

from clsviz import corpora, words
from clsviz.corpora import Corpus
from clsviz.corpora.segmentation import LONG_TEXT
from clsviz.errors import ClsvizError, CorpusError, Subject
from clsviz.measuring import MeasuringJob, State
from clsviz.settings import Reading, Segmentation
from clsviz.ui.controls import choices, errors, folded, imports
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, session, visitor

_HEIGHT, _HEIGHT_OF_IMPORTS = 234, 132
"""Of what takes a file, and of what takes another one below it, about."""

_TEXT_HELP = {
    "configuration": "A Hub dataset may have several, such as one per language.",
    "split": "The parts a dataset is divided into, such as train and test.",
    "column": "The column that holds the text.",
}
"""The settings that choose among the texts of a corpus; each depends on those before it."""


def show(job: MeasuringJob) -> None:
    """The controls, with what is wrong with the corpus."""
    _list()
    is_lost = corpora.is_upload(st.session_state.corpus) and isinstance(job.error, CorpusError)
    is_public = server.limits().is_public
    if is_lost and st.session_state.get("lost") != st.session_state.corpus:
        st.session_state.lost, st.session_state.own_file = st.session_state.corpus, True
    label = "Use your own text" if is_public else "Use your own text or vectors"
    height = _HEIGHT + _HEIGHT_OF_IMPORTS * (not is_public)
    folded.show(folded.Box(label, "own_file", _own_file, height=height), chosen=_chosen)
    choices.show_message("corpus")
    errors.show(job.error, Subject.CORPUS)
    corpus = _known_corpus(job)
    if corpus is None and any(st.session_state[setting] for setting in _TEXT_HELP):
        st.button("Use the dataset’s defaults", on_click=_forget_texts, width="stretch")
    if not corpora.is_built_in(st.session_state.corpus):
        _texts(corpus)


def _own_file() -> None:
    """Where the visitor's own files are taken."""
    file = st.file_uploader(
        "A text file",
        key="upload",
        on_change=_keep_upload,
        max_upload_size=server.upload_megabytes(server.limits()),
        help="Plain text (a text on each line, or wrapped paragraphs), a table (CSV, TSV, JSON lines) or Parquet. "
        "All but Parquet may be gzipped.",
    )
    if file is not None and (message := st.session_state.get("upload_message", "")):  # and it is not kept
        st.error(escape(message))
    else:
        st.caption(words.reading.kept_for(server.limits().upload_seconds))
    if not server.limits().is_public:
        imports.show()


def _chosen() -> Hashable:
    """What a file may change of the rest of the page."""
    state = st.session_state
    names = "held", "corpus_message", "uploads"
    return session.measured(), *(str(state.get(name, "")) for name in names)


def _list() -> None:
    names = choices.including(st.session_state.corpus, [*corpora.CORPORA, *st.session_state.get("uploads", [])])
    st.selectbox(
        "Corpus",
        names,
        index=names.index(st.session_state.corpus),
        format_func=label,
        key="corpus",
        persist_state="session",
        on_change=_choose,
        accept_new_options=not server.limits().is_public,
        help="Where the sentences come from. The first three are docstrings: of Python 3.11, the same on every "
        "machine; of the Python installed here; and of its packages as well. The others come from the Hugging Face "
        "Hub. You can also type any Hub dataset id or, if clsviz runs on your machine, the path of a file.",
    )


def label(name: str) -> str:
    """What the list calls a corpus: no two are alike, because the browser sends back what it shows."""
    if not corpora.is_upload(name):
        return name if corpora.is_file(name) else corpora.label(name)
    try:
        file_name = corpora.upload_label(name, server.jobs().store.corpora)
    except CorpusError:
        file_name = corpora.label(name)
    return f"{file_name} ({name[7:11]})"


def _texts(corpus: Corpus | None) -> None:
    """Which of the corpus's texts are taken, and whether they are cut, which of a file its preview asks."""
    has_preview = corpora.is_own(st.session_state.corpus)  # with controls of its own
    if has_preview and all(len(options) < 2 for options in _options(corpus).values()):
        return
    with st.expander("Which texts", expanded=not corpora.is_in_catalogue(st.session_state.corpus)):
        for setting, options in _options(corpus).items():
            decided = st.session_state[setting] or getattr(corpus.selection, setting) if corpus else ""
            if len(options) > 1:
                key = _key_of(setting)
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
        if has_preview:
            return
        st.segmented_control(
            "Cut into sentences",
            list(Segmentation),
            default=st.session_state.segmentation,
            format_func=words.reading.SEGMENTATIONS.__getitem__,
            key="segmentation",
            persist_state="session",
            required=True,
            help="Cut texts into sentences, with rules for English. Auto does so if they average more than "
            f"{LONG_TEXT} characters.",
        )


def _known_corpus(job: MeasuringJob) -> Corpus | None:
    """What the job knows of the chosen corpus; while it is looking, what the job before knew, so that nothing jumps."""
    if job.work.corpus is not None:
        st.session_state.known_corpus = job.work.corpus
    known: Corpus | None = st.session_state.get("known_corpus")
    is_known = known is not None and known.selection.corpus == st.session_state.corpus
    return known if is_known and job.state is not State.FAILED else None


def _options(corpus: Corpus | None) -> dict[str, tuple[str, ...]]:
    """The configurations, splits and columns of a corpus."""
    if corpus is None:
        return {}
    return {"configuration": corpus.configurations, "split": corpus.splits, "column": corpus.columns}


def _key_of(setting: str) -> str:
    return f"chosen_{setting}_{st.session_state.corpus}"


def _choose() -> None:
    """Take the chosen corpus, with its own defaults, or say why not."""
    if choices.take_name("corpus", visitor.corpus_problem):
        _forget_texts()
        session.hold()


def _choose_texts(setting: str) -> None:
    """Take the chosen configuration, split or column; what depends on it goes back to the dataset's default."""
    settings = list(_TEXT_HELP)
    for later in settings[settings.index(setting) :]:
        st.session_state[later] = ""
    st.session_state[setting] = st.session_state[_key_of(setting)]


def _forget_texts() -> None:
    for setting in _TEXT_HELP:
        st.session_state[setting] = ""
    st.session_state.reading = Reading.AUTO


def _keep_upload() -> None:
    """Make the uploaded file the corpus, or say why not."""
    st.session_state.upload_message = ""
    if st.session_state.upload is None:
        return
    file = st.session_state.upload
    try:
        name = server.keep_upload(file)
    except ClsvizError as error:
        st.session_state.upload_message = str(error)
    else:
        st.session_state.corpus_message = ""
        st.session_state.uploads = list(dict.fromkeys([*st.session_state.get("uploads", []), name]))
        st.session_state.corpus = name
        _forget_texts()
        session.hold()
