"""The jobs of the compared models: which models, how far each is, and what is known of each as rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from clsviz import analysis, words
from clsviz.analysis.compare import Row
from clsviz.errors import ClsvizError, ModelError, Subject
from clsviz.experiment import Experiment, parse_setting
from clsviz.jobs import Found, MeasuringJob, State, measurement_key
from clsviz.measurements import Kind
from clsviz.settings import MOST_MODELS, Precision
from clsviz.sources import models
from clsviz.ui import sidebar, status
from clsviz.ui.markdown import escape
from clsviz.ui.parts import redrawn
from clsviz.ui.state import server, visitor, watching


@dataclass(frozen=True, eq=False)
class Compared:
    """The names of the models, and for each the job that measures its norms, and the one of its vectors."""

    names: list[str]
    norms: list[MeasuringJob]
    vectors: list[MeasuringJob]

    @property
    def all(self) -> list[MeasuringJob]:
        """The jobs of norms, then those of vectors."""
        return [*self.norms, *self.vectors]

    @property
    def is_active(self) -> bool:
        """True while anything is being measured."""
        return any(job.state.is_active for job in self.all)

    def outline(self) -> object:
        """What the rest of the page depends on."""
        return [(status.outline(job), job.error is not None) for job in self.all]


def watch(experiment: Experiment) -> Compared:
    """The chosen models, by default the current one and its untrained self, and their jobs; raises SettingError.

    Of vectors that were imported there is no untrained self; the built-in model takes its place.
    """
    state = st.session_state
    if not state.models and not state.get("models_were_cleared"):
        name = models.Name.parse(state.model)
        trained = "minilm" if "," in name.base else str(replace(name, untrained=False))
        is_imported = models.Imported.parse(state.model) is not None
        state.models = [trained, "minilm" if is_imported else f"{models.UNTRAINED}{trained}"]
    names = state.models or [state.model]
    # The jobs of norms that this session watches already.
    keys = [measurement_key(replace(experiment, model=name), Kind.NORMS) for name in names]
    known = [state.get("watched", {}).get(key) for key in keys]
    wanted = [(replace(experiment, model=name), kind) for kind in (Kind.NORMS, Kind.VECTORS) for name in names]
    jobs = watching.watch(*wanted, suffices=lambda found: _is_kept(found, experiment, known))
    return Compared(names, jobs[: len(names)], jobs[len(names) :])


def choose_models(compared: Compared) -> None:
    """The box, and under it the errors about models."""
    state = st.session_state
    offered = [*models.MODELS, f"{models.UNTRAINED}minilm", *(one.model for one in sidebar.imported())]

    def choose() -> None:
        """Take the chosen models, leaving out those that cannot be compared, and say why."""
        names: list[str] = []
        message = ""
        for text in state.models if isinstance(state.models, list) else []:
            try:
                name: str = parse_setting("model", str(text))
                if problem := visitor.model_problem(name):
                    raise ModelError(problem)
                if "," in name:
                    raise ModelError(f"“{name}” contains a comma, which separates models in a link. Rename the folder.")
                if name in names:
                    raise ModelError(f"{name} is already in the comparison.")
                if len(names) == MOST_MODELS:
                    raise ModelError(f"At most {MOST_MODELS} models can be compared, so {name} was left out.")
                names.append(name)
            except ClsvizError as error:
                message = str(error)
        state.models, state.models_message, state.models_were_cleared = names, message, not names

    st.multiselect(
        "Models",
        list(dict.fromkeys([*offered, *state.models])),
        default=state.models,
        format_func=sidebar.label_of_model,
        key="models",
        persist_state="session",
        on_change=choose,
        max_selections=MOST_MODELS,
        accept_new_options=not server.limits().is_public,
        select_all=False,
        help=f"Two to {MOST_MODELS} models, all measured on the same sentences. You can also type any Hugging Face Hub "
        "id or, if clsviz runs on your machine, the path of a folder. Put “untrained:” in front for random weights.",
    )
    sidebar.show_message("models")
    _show_errors_of_models(compared)


def _show_errors_of_models(compared: Compared) -> None:
    labels = analysis.compare.labels(compared.names)
    for label, *jobs in zip(labels, compared.norms, compared.vectors, strict=True):
        errors = [job.error for job in jobs if job.error and job.error.subject is Subject.MODEL]
        if errors:
            st.error(escape(f"{label}: {errors[0]}"))


def show_status(compared: Compared, before: object, place: str = "") -> None:
    """How far the models are, with the button that starts or stops them all; it keeps itself up to date.

    before: the outline of the jobs before anything was drawn. Once that no longer holds, the page is drawn again.
    place: tells the buttons of several places apart.
    """
    will_change = compared.is_active or before != compared.outline()
    redrawn.follow(lambda: _draw_status(compared, place), compared.outline, before, 1.0 if will_change else None)


def show_status_on_a_phone(compared: Compared, before: object) -> None:
    """The same in the main column, for screens that hide the sidebar, while there is something to do or to know."""
    with st.container():  # holds its place while it is empty
        if any(job.state is not State.DONE for job in compared.all):
            with st.container(key="phone"):
                _show_errors_of_models(compared)  # the status shows those of the run
                show_status(compared, before, "-phone")


def _draw_status(compared: Compared, place: str) -> None:
    labels = analysis.compare.labels(compared.names)
    of_models = list(zip(labels, compared.norms, compared.vectors, strict=True))
    waiting = [job for job in compared.all if job.state in (State.WAITING, State.CANCELLED)]
    waiting = waiting or [job for job in compared.all if job.state is State.FAILED]
    with st.container(key=f"status_of_models{place}"):
        if compared.is_active:  # how many sentences are measured of how many, once for norms and once for vectors
            founds = [job.work.found for job in compared.all]
            sizes = [len(found.sentences) if found else 0 for found in founds]
            asked = [job.work.experiment.sample_size for job in compared.all]
            most = max(sizes)  # the corpus may have fewer sentences than asked for
            total = sum(size or min(most or wanted, wanted) for size, wanted in zip(sizes, asked, strict=True))
            done = sum(len(found.measurements) for found in founds if found)
            st.progress(min(1.0, done / max(total, 1)), f"{done:,} of {total:,} in total")
            if st.button("Cancel", icon=":material/stop_circle:", key=f"cancel{place}", width="stretch"):
                for job in compared.all:
                    watching.leave(job)
                st.rerun()
            st.caption(words.waiting.when_left(server.limits().unwatched_seconds))
        elif waiting:
            if any(job.is_refused for job in waiting):
                st.caption(words.waiting.refused(server.limits().visitor_jobs or 0))
            label, costs = "Measure", [(job.work.experiment.model, job.cost) for job in waiting if job.cost]
            if costs and all(job.state is State.WAITING for job in waiting):
                # Downloaded once for norms and vectors.
                megabytes = sum({name: cost.megabytes for name, cost in costs}.values())
                label += f" · about {words.duration(sum(cost.seconds for _, cost in costs))}"
                label += f" · {megabytes:,} MB" if megabytes else ""
            if st.button(label, icon=":material/play_arrow:", type="primary", key=f"run{place}", width="stretch"):
                for job in waiting:
                    watching.start(job)
                st.rerun()
        st.caption("  \n".join(_progress(*of_model) for of_model in of_models))
    stopped: dict[str, list[str]] = {}  # by errors that no control is to blame for, the models that each stopped
    for label, *jobs in of_models:
        errors = [job.error for job in jobs if job.error and job.error.subject in status.OF_THE_RUN]
        for message in dict.fromkeys(map(str, errors)):
            stopped.setdefault(message, []).append(label)
    for message, names in stopped.items():
        st.error(escape(f"{', '.join(names)}: {message}"))


def _progress(label: str, norms: MeasuringJob, vectors: MeasuringJob) -> str:
    """Where one model stands, in a line."""
    job = norms if norms.state is not State.DONE else vectors
    what = "norms" if job is norms else "vectors"
    found = job.work.found
    if job.state is State.DONE:
        return f":material/check: {escape(label)}: measured"
    if job.state is State.RUNNING:
        stage = what if job.stage.startswith("Measuring") else escape(job.stage) or "starting"
        unit = f" {job.unit}" if job.unit else ""
        text = f"{stage} {job.done:,} of {job.total:,}{unit}" if job.total else stage
    elif job.state is State.CANCELLED:
        text = f"stopped at {len(found.measurements):,} of {len(found.sentences):,} {what}" if found else "stopped"
    elif job.state is State.WAITING:
        text = f"{what} waiting" + (f", about {words.duration(job.cost.seconds)}" if job.cost else "")
    else:
        text = {State.LOOKING: "looking up", State.QUEUED: f"{what} queued", State.FAILED: "failed"}[job.state]
    icon = ":material/error:" if job.state is State.FAILED else ":material/pending:"
    return f"{icon} {escape(label)}: {text}"


def rows(compared: Compared, experiment: Experiment) -> list[Row]:
    """What is known of each model so far, in the order of their names."""
    labels = analysis.compare.labels(compared.names)
    experiments = [replace(experiment, model=name) for name in compared.names]
    founds = [watching.found(job, of_model) for job, of_model in zip(compared.norms, experiments, strict=True)]
    indices = iter(analysis.compare.common([found.measurements for found in founds if found], experiment.view))
    is_settled = not any(job.state.is_active for job in compared.norms)  # until then, the sentences may change
    known, cache = [], server.cache()
    for label, of_model, job, of_vectors, found in zip(
        labels, experiments, compared.norms, compared.vectors, founds, strict=True
    ):
        row = Row(of_model.model, label, problem=str(job.error or of_vectors.error or ""))
        if found is not None:
            index, vectors, view = next(indices), of_vectors.work.found, of_model.view
            key = "norms of", found.key, view, analysis.digest(index)
            row = replace(
                row,
                n_sampled=len(found.sentences),
                is_whole=not found.n_missing,
                norms=cache.get_or_compute(key, partial(analysis.compare.norms_of, found, view, index, cache)),
                sentences_per_second=job.work.sentences_per_second
                or _rate(found.weights.fingerprint, len(found.measurements)),
                n_parameters=found.weights.n_parameters,
            )
            if is_settled and of_vectors.state is State.DONE and vectors:
                if lack_vectors([of_vectors], compared.norms, of_model):
                    row = replace(row, is_read=False)
                else:  # every layer is probed; the probes continue only while somebody is looking
                    view, index = view.of_all_vectors, index[index < len(vectors.measurements)]
                    read = partial(analysis.compare.read_vectors, index=index)
                    probes = server.analyse("read_vectors", read, vectors, view, analysis.digest(index))
                    problem = str(probes.error or row.problem)
                    is_read = not probes.state.is_active
                    row = replace(row, profile=probes.work.result, is_read=is_read, problem=problem)
        known.append(row)
    return known


def lack_vectors(vectors: Sequence[MeasuringJob], norms: Sequence[MeasuringJob], experiment: Experiment) -> bool:
    """True if the next run of the page will measure vectors, as what is kept turned out not to suffice."""
    done = [job for job in vectors if job.state is State.DONE]
    return any(watching.lacks_vectors(job, lambda found: _is_kept(found, experiment, norms)) for job in done)


def _is_kept(found: Found, experiment: Experiment, norms: Sequence[MeasuringJob | None]) -> bool:
    """True if the probes of a model are there without its vectors.

    norms: the jobs of all models. Until they have ended, nobody knows which sentences are compared: then perhaps.
    """
    known = [job.work.found.measurements for job in norms if job and job.work.found]
    if not known or any(job is None or job.state.is_active for job in norms):
        return True
    index = analysis.compare.common(known, experiment.view)[0]
    digest = analysis.digest(index[index < len(found.measurements)])
    return server.is_stored("read_vectors", found, experiment.view.of_all_vectors, digest)


@st.cache_resource(max_entries=24, show_spinner=False)
def _rate(fingerprint: str, n_measured: int) -> float | None:
    """Sentences per second when the model was last measured on this machine; looked up again when there are more."""
    return server.jobs().store.rate(fingerprint, Precision.EXACT.numbers)
