"""The SentLen task on the published file, where a visitor has it."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import streamlit as st

from clsviz import analysis, corpora, export, measuring, statistics, words
from clsviz.corpora import TaskFile
from clsviz.errors import ClsvizError, CorpusError
from clsviz.experiment import Experiment, Selection
from clsviz.measurements import Kind
from clsviz.measuring import Analysis, Extraction, Found, State, measure_texts
from clsviz.progress import Progress
from clsviz.settings import shown
from clsviz.ui.markdown import escape
from clsviz.ui.parts import share
from clsviz.ui.state import server, visitor

if TYPE_CHECKING:
    from clsviz.analysis.published import Published

_SIZES = (100, 250, 500, 1000, 2000, 5000)

_SIZE = 1000
"""Of each class of each partition, unless the visitor decides otherwise."""


def asked() -> tuple[str, int] | None:
    """The file that the visitor asked to be measured, and how many sentences of each class; None if none is."""
    file_and_size: tuple[str, int] | None = st.session_state.get("sentlen_asked")
    return file_and_size if file_and_size and file_and_size[0] == st.session_state.sentlen_file else None


def of(found: Found, experiment: Experiment) -> "Analysis[Published] | None":
    """The job that measures and classifies, running or done; None while nobody asked for it."""
    wanted = asked()
    if wanted is None:
        return None
    jobs, (name, per_class) = server.jobs(), wanted

    def steps(progress: Progress) -> "Iterator[Published]":
        progress.begin("Reading the file")
        file = _read(name).head(per_class)
        texts = file.sentences
        vectors = measure_texts(
            texts, experiment, found, jobs.store, jobs.encoders, progress, f"task {file.fingerprint}"
        )
        progress.begin("Fitting classifiers", len(statistics.sentlen.STRENGTHS))
        yield analysis.published.classify(file, vectors, experiment.view, progress.advance)

    key = "sentlen file", found.weights.fingerprint, name, per_class, _state(name), experiment.view
    return jobs.measure_more(key, steps, server.visitor())


def show(found: Found, experiment: Experiment) -> None:
    """Where the file is given, what it costs, and its result."""
    name, message = st.session_state.sentlen_file, st.session_state.get("sentlen_message")
    with st.expander("On the published task’s own file", expanded=bool(name or message)):
        st.markdown(words.sentlen.ABOUT_FILE)
        _choice()
        if message:
            st.error(escape(message))
        if name and (file := _opened(name)) is not None:
            job = of(found, experiment)
            _controls(found, experiment, file, job)
            if job is not None:
                _result(job)


def _choice() -> None:
    """The upload, and beside it the path where the visitor sits at this machine."""
    st.file_uploader(
        "The file",
        key="sentlen_upload",
        on_change=_keep_upload,
        help="Tab-separated text, which may be gzipped. It is kept in this server’s store.",
    )
    if not server.limits().is_public and visitor.is_local():
        st.text_input(
            "Or its path on this machine",
            value="" if corpora.is_upload(st.session_state.sentlen_file) else st.session_state.sentlen_file,
            key="sentlen_path",
            on_change=_take_path,
        )


def _keep_upload() -> None:
    """Keep the uploaded file and take it, or say why not."""
    st.session_state.sentlen_message = ""
    if (file := st.session_state.sentlen_upload) is None:
        return
    name = file.name if file.name.lower().endswith((".txt", ".txt.gz")) else f"{file.name}.txt"
    try:
        _take(corpora.keep_upload(file, name, server.jobs().store.corpora))
    except ClsvizError as error:
        st.session_state.sentlen_message = str(error)


def _take_path() -> None:
    st.session_state.sentlen_message = ""
    _take(st.session_state.sentlen_path.strip())


def _take(name: str) -> None:
    st.session_state.sentlen_file = name
    st.session_state.sentlen_asked = None


def _read(name: str) -> TaskFile:
    path, label = corpora.place_of(Selection(name), server.jobs().store.corpora)
    return corpora.read_task(path, label)


def _state(name: str) -> tuple[int, int] | None:
    """Size and time of the file: when they change, it is read again."""
    try:
        path, _ = corpora.place_of(Selection(name), server.jobs().store.corpora)
        status = path.stat()
    except (CorpusError, OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


def _opened(name: str) -> TaskFile | None:
    """The file without its sentences, read once; None, with the reason shown, if it cannot be used."""
    kept: tuple[object, TaskFile] | None = st.session_state.get("sentlen_opened")
    key = name, _state(name)
    if kept is not None and kept[0] == key:
        return kept[1]
    try:
        if not visitor.may_open(name):
            raise CorpusError(f"There is no file “{shown(name)}” here that you may open. Name a file, or upload it.")
        file = _read(name)
    except ClsvizError as error:
        st.error(escape(str(error)))
        return None
    st.session_state.sentlen_opened = (key, file.without_sentences)
    return file


def _controls(found: Found, experiment: Experiment, file: TaskFile, job: "Analysis[Published] | None") -> None:
    """How many sentences, what they cost, and the button that starts or stops it."""
    most = min(file.per_class_within(server.limits().task_size), int(file.counts.max()))
    sizes = [*(size for size in _SIZES if size < most), most]
    wanted = asked()
    chosen = wanted[1] if wanted and wanted[1] in sizes else max((n for n in sizes if n <= _SIZE), default=sizes[0])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        size = st.selectbox(
            "Of each class and partition",
            sizes,
            index=sizes.index(chosen),
            format_func=lambda n: f"all ({n:,})" if n == file.counts.max() else f"{n:,}",
            key="sentlen_size",
            on_change=_forget,
            width=220,
        )
        if job is None:
            st.button(
                "Measure and classify", icon=":material/science:", key="sentlen-start", on_click=_ask, args=[size]
            )
            st.markdown(escape(_cost(found, experiment, file, size)), width="content")
        elif job.state.is_active:
            st.button("Stop", icon=":material/stop:", key="sentlen-stop", on_click=_stop, args=[job])
    if job is not None and job.state.is_active:
        st.progress(min(job.done / job.total, 1.0) if job.total else 0.0, escape(_stage(job)))


def _cost(found: Found, experiment: Experiment, file: TaskFile, per_class: int) -> str:
    jobs = server.jobs()
    n = file.n_within(per_class)
    extraction = Extraction(experiment, jobs.store, jobs.encoders, machine=jobs.machine, kind=Kind.VECTORS)
    return words.sentlen.file_cost(n, extraction.seconds(found, n), measuring.gigabytes_of(found.vectors, n))


def _stage(job: "Analysis[Published]") -> str:
    if job.state is State.QUEUED:
        return words.waiting.in_queue(server.jobs().place_of(job))
    return f"{job.stage}, {job.done:,} of {job.total:,}" if job.total else job.stage or "Waiting"


def _ask(per_class: int) -> None:
    st.session_state.sentlen_asked = st.session_state.sentlen_file, per_class


def _forget() -> None:
    st.session_state.sentlen_asked = None


def _stop(job: "Analysis[Published]") -> None:
    """End it at once, for whoever looks at it; what was measured is kept."""
    job.cancel()
    _forget()


def _result(job: "Analysis[Published]") -> None:
    if job.error:
        st.error(escape(job.error))
    result = job.work.result
    if result is None:
        return
    st.markdown(escape(words.sentlen.of_file(result)))
    st.dataframe(
        export.tables.published(result),
        hide_index=True,
        column_config={
            "From": st.column_config.TextColumn(width="medium"),
            "Accuracy": st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
            "Lowest": st.column_config.NumberColumn("95% from", format="percent"),
            "Highest": st.column_config.NumberColumn("to", format="percent"),
        },
        placeholder="–",
        alt="Accuracy on the published file of the SentLen task",
    )
    for caveat in words.sentlen.file_caveats(result):
        st.warning(escape(caveat))
    st.caption(words.sentlen.CLASSIFIER)


def downloads(experiment: Experiment, found: Found, about: Callable[[], Mapping[str, object]]) -> None:
    """The accuracies as a table, if there are any."""
    job = of(found, experiment)
    result = job.work.result if job else None
    if result is not None:
        name = f"{share.file_name(experiment, found)}-sentlen-file"
        share.table_downloads("SentLen file", name, lambda: export.tables.published(result), about)
