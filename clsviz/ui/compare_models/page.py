"""Several models side by side, on the same sentences."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from clsviz import models, words
from clsviz.errors import ClsvizError, ModelError, SettingError
from clsviz.experiment import Experiment, parse_setting
from clsviz.measurements import Kind
from clsviz.measuring import Found, MeasuringJob, State
from clsviz.settings import Pooling, Precision
from clsviz.ui import controls
from clsviz.ui.compare_models import compared
from clsviz.ui.compare_models import rows as compared_rows
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, session, url, visitor, watching
from clsviz.ui.state.links import MOST_MODELS

PAGE = "compare-models"


_POLL_SECONDS = 0.5


_STATUS_HEIGHT, _LINE_HEIGHT = 110, 34  # a line may take two


def _models_control() -> None:
    offered = [*models.MODELS, f"{models.UNTRAINED}minilm"]
    st.multiselect(
        "Models",
        list(dict.fromkeys([*offered, *st.session_state.models])),
        default=st.session_state.models,
        format_func=controls.model.label,
        key="models",
        on_change=_choose_models,
        max_selections=MOST_MODELS,
        accept_new_options=not server.limits().is_public,
        select_all=False,
        help=f"Two to {MOST_MODELS}, which measure the same sentences. You can type any id of the Hugging Face "
        "Hub, or on your own machine the path of a folder; “untrained:” before it puts random weights in the place of "
        "its own.",
    )


def _choose_models() -> None:
    """Take the chosen models; of those that cannot be compared say why not, and leave them out."""
    names: list[str] = []
    message = ""
    for text in st.session_state.models:
        try:
            name = parse_setting("model", str(text))
            if problem := visitor.model_problem(name):
                raise ModelError(problem)
            if "," in name:
                raise ModelError(f"“{name}” has a comma, which stands between the models of a link. Rename the folder.")
            if name in names:
                raise ModelError(f"{name} is compared already.")
            if len(names) == MOST_MODELS:
                raise ModelError(f"{MOST_MODELS} models at most can be compared: {name} is left out.")
        except ClsvizError as error:
            message = str(error)
        else:
            names.append(name)
    st.session_state.models = names
    st.session_state.models_message = message
    st.session_state.models_were_cleared = not names


def _first_models() -> list[str]:
    """What is compared where nobody has said it: the current model with its untrained self."""
    name = models.Name.parse(st.session_state.model)
    own = "minilm" if "," in name.base else str(replace(name, untrained=False))
    return [own, f"{models.UNTRAINED}{own}"]


def _fit_view_to_models(founds: Sequence[Found]) -> tuple[Found | None, list[Pooling]]:
    """Bring layer and vector back to what all models have, and say so.

    Returns what has the fewest layers, and the vectors that all have.
    """
    poolings = [Pooling.CLS, Pooling.POOLER]
    known = [found for found in founds if len(found.measurements)]
    if not known:
        return None, poolings
    shallow = min(known, key=lambda found: found.measurements.n_layers)
    n_layers, layer = shallow.measurements.n_layers, st.session_state.layer
    if layer == n_layers and any(found.measurements.n_layers > n_layers for found in known):
        note = f"Layer {layer} is the last of {shallow.weights.label}: of every model it is now the last."
        session.adjust(note, layer=session.LAST)
    if lacks := next((found for found in known if not found.measurements.has_pooler), None):
        poolings.remove(Pooling.POOLER)
        if st.session_state.pooling is Pooling.POOLER:
            session.adjust(f"{lacks.weights.label} has no pooler: the norm is that of [CLS].", pooling=Pooling.CLS)
    return shallow, poolings


def _watch(experiment: Experiment, names: Sequence[str]) -> tuple[list[MeasuringJob], list[MeasuringJob]]:
    """The jobs of the models' norms, and of their vectors; where they cannot be, says why and stops."""
    try:
        asked = [(replace(experiment, model=name), kind) for kind in (Kind.NORMS, Kind.VECTORS) for name in names]
        jobs = watching.watch(*asked)
    except SettingError as error:
        st.error(escape(error))
        st.stop()
    return jobs[: len(names)], jobs[len(names) :]


def _keep_up(
    norms: Sequence[MeasuringJob], vectors: Sequence[MeasuringJob], names: Sequence[str], before: object
) -> None:
    """The status, which keeps itself up to date; the page is drawn again when what it depends on is other than before.

    Not at once: a page that is broken off reaches the browser without the values that its controls were given.
    """
    jobs = [*norms, *vectors]
    is_in_browser = False

    def keep_up() -> None:
        nonlocal is_in_browser
        _status(norms, vectors, names)
        if is_in_browser and before != _outlines(jobs):
            st.rerun()
        is_in_browser = True

    will_change = any(job.state.is_active for job in jobs) or before != _outlines(jobs)
    st.fragment(keep_up, run_every=_POLL_SECONDS if will_change else None)()


def _status(norms: Sequence[MeasuringJob], vectors: Sequence[MeasuringJob], names: Sequence[str]) -> None:
    """How far the models are, with the button that starts or stops them all."""
    jobs = [*norms, *vectors]
    with st.container(height=_STATUS_HEIGHT + _LINE_HEIGHT * len(names), border=False):
        waiting = [job for job in jobs if job.state in (State.WAITING, State.CANCELLED)]
        waiting = waiting or [job for job in jobs if job.state is State.FAILED]
        if any(job.state.is_active for job in jobs):
            done, total = _n_measured(jobs)
            st.progress(min(1.0, done / max(total, 1)), f"{done:,} of {total:,} in all")
            if st.button("Cancel", icon=":material/stop_circle:", key="cancel", width="stretch"):
                for job in jobs:
                    watching.leave(job)
                st.rerun()
        elif waiting and st.button(
            _run_label(waiting), icon=":material/play_arrow:", type="primary", key="run", width="stretch"
        ):
            for job in waiting:
                watching.start(job)
            st.rerun()
        st.caption("  \n".join(_progress(*of) for of in zip(compared_rows.labels(names), norms, vectors, strict=True)))


def _n_measured(jobs: Sequence[MeasuringJob]) -> tuple[int, int]:
    """Sentences that are measured, and all that are to be, with every kind of measurement counted."""
    founds = [job.work.found for job in jobs]
    sizes = [len(found.sentences) if found else 0 for found in founds]
    asked = [job.work.experiment.sample_size for job in jobs]
    known = max(sizes)  # the sample may be smaller than asked
    total = sum(size or min(known or size_asked, size_asked) for size, size_asked in zip(sizes, asked, strict=True))
    return sum(len(found.measurements) for found in founds if found), total


def _run_label(waiting: Sequence[MeasuringJob]) -> str:
    if all(job.state is State.FAILED for job in waiting):
        return "Try again"
    costs = [(job.work.experiment.model, job.cost) for job in waiting if job.cost]
    if any(job.state is State.CANCELLED for job in waiting) or not costs:
        return "Continue"
    seconds = sum(cost.seconds for _, cost in costs)
    megabytes = sum({name: cost.megabytes for name, cost in costs}.values())  # fetched once, for norms and vectors
    download = f", {megabytes:,} MB" if megabytes else ""
    return f"Run all · about {words.duration(seconds)}{download}"


def _progress(label: str, norms: MeasuringJob, vectors: MeasuringJob) -> str:
    """Where a model stands, in a line."""
    job = norms if norms.state is not State.DONE else vectors
    what = "norms" if job is norms else "vectors"
    found = job.work.found
    n_measured, n = (len(found.measurements), len(found.sentences)) if found else (0, 0)
    if job.state is State.DONE:
        return f":material/check: {escape(label)}: measured"
    if job.state is State.RUNNING:
        stage = what if job.stage.startswith("Measuring") else escape(job.stage) or "starting"
        unit = f" {job.unit}" if job.unit else ""
        text = f"{stage} {job.done:,} of {job.total:,}{unit}" if job.total else stage
    elif job.state is State.CANCELLED:
        text = f"stopped, {n_measured:,} of {n:,} {what}" if found else "stopped"
    elif job.state is State.WAITING and job.cost:
        text = f"{what} wait, about {words.duration(job.cost.seconds)}"
    else:
        text = {State.LOOKING: "looking", State.QUEUED: f"{what} queued", State.FAILED: "failed"}[job.state]
    icon = ":material/error:" if job.state is State.FAILED else ":material/pending:"
    return f"{icon} {escape(label)}: {text}"


def _errors(norms: Sequence[MeasuringJob], vectors: Sequence[MeasuringJob], names: Sequence[str]) -> None:
    """What is wrong with a model, under the box in which it was chosen."""
    if message := st.session_state.get("models_message", ""):
        st.error(escape(message))
    for label, *of_model in zip(compared_rows.labels(names), norms, vectors, strict=True):
        if error := next((job.error for job in of_model if isinstance(job.error, ModelError)), None):
            st.error(escape(f"{label}: {error}"))


def _outlines(jobs: Sequence[MeasuringJob]) -> object:
    """What the rest of the page depends on."""
    return [(controls.status.outline(job), job.error is not None) for job in jobs]


def page() -> None:
    """The page, drawn anew at every run."""
    url.restore(PAGE)

    if not st.session_state.models and not st.session_state.get("models_were_cleared"):
        st.session_state.models = _first_models()

    names = st.session_state.models or [st.session_state.model]

    norms, vectors = _watch(replace(session.experiment(), precision=Precision.EXACT), names)

    outlines = _outlines([*norms, *vectors])

    with st.sidebar:
        st.subheader("Sample", anchor=False)
        _models_control()
        _errors(norms, vectors, names)
        controls.corpus.show(norms[0])
        controls.size.show(of_vectors=True)
        _keep_up(norms, vectors, names, outlines)
        founds = [job.work.found for job in norms]
        shallow, poolings = _fit_view_to_models([found for found in founds if found])
        controls.view.show(shallow, poolings)
        st.toggle(
            "An axis of norms for each",
            value=st.session_state.axes,
            key="axes",
            help="Whether each picture has an axis of norms of its own, or all have the same, as their lengths have.",
        )

    experiment = session.experiment()  # the view may have been brought back to what the models have

    links = {"models": ",".join(st.session_state.models), "axes": "free" if st.session_state.axes else ""}

    query = url.write(experiment, PAGE, **links)

    controls.notes.show(norms[0])

    if experiment.precision is not Precision.EXACT:
        st.caption("Models are compared in the exact precision, as their vectors are.")

    compared.show(replace(experiment, precision=Precision.EXACT), names, norms, vectors, query)
