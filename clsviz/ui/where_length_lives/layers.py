"""The profile of the layers: the answer, the controls, the charts over layers, the vectors with their scatter."""

import time
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import analysis, export, figures, models, statistics, words
from clsviz.experiment import Experiment
from clsviz.measuring import Found, MeasuringJob
from clsviz.settings import Lengths, Pooling, Unit
from clsviz.ui.markdown import escape
from clsviz.ui.parts import picture, share
from clsviz.ui.state import server, session
from clsviz.ui.where_length_lives import carriers, cells

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.measuring import Analysis
    from clsviz.statistics import Profile


_POLL_SECONDS = 1.0


_PATIENCE_SECONDS = 1.0


_HEIGHT = 380


_FIRST_LOOK = 128
"""Sentences of the first profile; while more are measured, it is made anew whenever twice as many are there."""


def show(job: MeasuringJob, experiment: Experiment, query: dict[str, str]) -> None:
    """Draw it all; while anything is at work it redraws itself, as there is more to show."""
    is_in_browser = False
    shown = experiment, st.session_state.heat
    is_active = not _is_analysed(job, experiment)

    def keep_up() -> None:
        nonlocal is_in_browser
        if (session.experiment(), st.session_state.heat) != shown:  # something of the page was clicked
            st.rerun()
        _show(job, experiment, query)
        if is_in_browser and is_active and _is_analysed(job, experiment):
            st.rerun()  # there is no more to come
        is_in_browser = True

    st.fragment(keep_up, run_every=_POLL_SECONDS if is_active else None)()


def _shown(job: MeasuringJob, experiment: Experiment) -> Found | None:
    """What of the vectors is shown, or None while there are none: not every part that comes draws everything anew."""
    found = session.found(job, experiment)
    if found is None:
        return None

    n = len(found.measurements)
    if job.state.is_active:
        n = max((size for size in _sizes() if size <= n), default=0)
    return analysis.vectors.head(found, n) if n else None


def _profile(found: Found, experiment: Experiment) -> "Analysis[Profile]":
    """The profile of what is shown, running or done."""
    return server.analyse(analysis.vectors.profiles, found, experiment.view.of_all_vectors)


def _sizes() -> list[int]:
    return [_FIRST_LOOK << doubling for doubling in range(10)]


def _is_analysed(job: MeasuringJob, experiment: Experiment) -> bool:
    if job.state.is_active:
        return False
    found = _shown(job, experiment)
    return found is None or (not _profile(found, experiment).state.is_active and carriers.is_done(found, experiment))


def _show(job: MeasuringJob, experiment: Experiment, query: dict[str, str]) -> None:
    st.title(escape(f"Where does {models.label(experiment.model)} write the length of a sentence?"), anchor=False)
    found = _shown(job, experiment)
    task = _profile(found, experiment) if found else None
    if task:
        _wait_for_norms(task)
    profile = task.work.result if task else None
    if task is None:
        st.markdown(escape(picture.waiting(job)))
    else:
        st.markdown(escape(task.error or _answer(profile, experiment)))
    _metrics(profile)
    _controls(experiment)
    _charts(profile, experiment)
    if found is None or profile is None:
        return
    aside: dict[str, Any] = {"horizontal": True, "horizontal_alignment": "right"}
    with st.container(**aside), st.container(**aside, width="content"):
        share.copy_link(experiment, found, query)
        _downloads(experiment, found, profile, job.state.is_active)
    cells.show(profile, found, experiment)
    if not job.state.is_active:  # while they come, these would only be a little of what it takes
        carriers.show(found, experiment)
    _explain(found, experiment, profile)


def _wait_for_norms(task: "Analysis[Profile]") -> None:
    """Wait a moment for what is there in one, as all of the page rests on it: it would collapse without."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while task.state.is_active and time.monotonic() < deadline:
        profile = task.work.result
        if profile is not None:
            norms = [
                step
                for step in statistics.steps(profile.n_layers, profile.has_pooler)
                if step[2] is statistics.Readout.NORM
            ]
            if len(profile.readings) >= len(norms):
                return
        time.sleep(0.02)


def _answer(profile: "Profile | None", experiment: Experiment) -> str:
    if profile is None:
        return "Reading the lengths from the vectors."

    text = words.profile.paragraph(profile, models.label(experiment.model), experiment.unit)
    if experiment.lengths is Lengths.SHUFFLED:
        text = f"Control: the lengths are shuffled among the sentences, so that whatever is read is chance. {text}"
    if models.Name.parse(experiment.model).untrained:
        text = f"Control: these weights are random, so whatever is read is there without any training. {text}"
    return text


def _metrics(profile: "Profile | None") -> None:

    def r_squared(layer: int | None, readout: statistics.Readout) -> str:
        reading = profile.get(Pooling.CLS, layer, readout) if profile else None
        return "–" if reading is None or reading.r_squared is None else f"{reading.r_squared:.3f}".replace("-", "−")

    best = profile.best if profile else None
    last = f"layer {profile.n_layers}" if profile else "–"
    quiet: dict[str, Any] = {"border": True, "delta_color": "off", "delta_arrow": "off", "height": "stretch"}
    with st.grid(4, min_column_width=140):
        st.metric(
            "Best layer",
            r_squared(best.layer, statistics.Readout.VECTOR) if best else "–",
            f"layer {best.layer}" if best else "–",
            help="R² of the length as a linear probe reads it from the whole [CLS] vector, after the layer where that "
            "is highest.",
            **quiet,
        )
        for name, readout, about in (
            ("Last layer", statistics.Readout.VECTOR, "R² of the same probe after the last layer."),
            (
                "Last norm",
                statistics.Readout.NORM,
                "R² of the norm of [CLS] alone after the last layer, as on the main page.",
            ),
        ):
            st.metric(name, r_squared(None, readout), last, help=about, **quiet)
        st.metric(
            "Sentences",
            f"{profile.n:,}" if profile else "–",
            "under the cutoff",
            help="How many of those whose vectors are measured are under the length cutoff.",
            **quiet,
        )


def _controls(experiment: Experiment) -> None:
    """What would fool us, one click each; a second click takes it back."""
    is_shuffled = experiment.lengths is Lengths.SHUFFLED
    untrained = models.Name.parse(experiment.model).untrained
    base = experiment.model.removeprefix(models.UNTRAINED)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Controls:", width="content")
        _control(
            "Shuffled lengths",
            is_shuffled,
            {"lengths": Lengths.TRUE if is_shuffled else Lengths.SHUFFLED},
            "Gives every sentence the length of a random other one: R² must fall to 0.",
        )
        _control(
            "Untrained model",
            untrained,
            {"model": base if untrained else models.UNTRAINED + base},
            "The same architecture with random weights: what is there without any training. It is measured anew.",
        )
        for unit, about in (
            (Unit.WORDS, "Lengths in words, between white space, which no tokenizer decides."),
            (Unit.CHARACTERS, "Lengths in characters."),
        ):
            is_on = experiment.unit is unit
            _control(f"In {unit}", is_on, {"unit": Unit.TOKENS if is_on else unit}, about)


def _control(label: str, is_on: bool, settings: dict[str, object], about: str) -> None:
    st.button(
        label,
        key=f"control-{label}",
        type="primary" if is_on else "secondary",
        icon=":material/check:" if is_on else None,
        on_click=_set,
        args=[settings],
        help=about,
    )


def _set(settings: dict[str, object]) -> None:
    for name, value in settings.items():
        st.session_state[name] = value


def _charts(profile: "Profile | None", experiment: Experiment) -> None:

    n_layers = profile.n_layers if profile else 1
    lines = analysis.vectors.layer_lines(profile)
    wide, narrow = st.columns([3, 2])
    with wide:
        st.subheader("R² of the length, by layer", anchor=False)
        st.plotly_chart(
            figures.layer_lines(lines, picture.palette(), unit=experiment.unit, n_layers=n_layers),
            height=_HEIGHT,
            key="lines",
            config={"displayModeBar": False},
            alt="R² of the length as read from the norm, the direction and the whole vector after every layer.",
        )
    with narrow:
        st.subheader("How much the norm of [CLS] varies", anchor=False)
        st.plotly_chart(
            figures.norm_spread(_spread(profile), picture.palette()),
            height=_HEIGHT,
            key="spread",
            config={"displayModeBar": False},
            alt="Standard deviation of the norm of [CLS] as a share of its mean, after every layer.",
        )


def _spread(profile: "Profile | None") -> "pd.DataFrame":
    import pandas as pd

    readings = profile.line(Pooling.CLS, statistics.Readout.NORM) if profile else []
    rows = [(layer, reading.norm_mean, reading.norm_sd) for layer, reading in enumerate(readings) if reading]
    return pd.DataFrame(rows, columns=["layer", "mean", "sd"])


def _downloads(experiment: Experiment, found: Found, profile: "Profile", is_active: bool) -> None:

    name = f"{share.file_name(experiment, found)}-layers"
    with st.popover("Download", icon=":material/download:"):
        share.table_downloads("Layers", name, profile.table, lambda: export.about(experiment, found))
        share.table_downloads(
            "Norms",
            f"{share.file_name(experiment, found)}-norms",
            lambda: export.table(found.sentences, found.measurements),
            lambda: export.about(experiment, found),
        )
        if not is_active:
            carriers.downloads(experiment, found)


def _explain(found: Found, experiment: Experiment, profile: "Profile") -> None:
    view = picture.view_of(found, experiment)
    with st.expander("How to read this page"):
        st.markdown(words.HOW_TO_READ_LAYERS)
    with st.expander("How it was measured"):
        rows = words.probe_settings(experiment, found, profile.n, view.n_truncated)
        st.markdown("\n".join(f"- **{name}:** {escape(text)}" for name, text in rows.items()))
        st.markdown("The same without a browser:")
        st.code(words.command(experiment, found, "probe"), language="shell", wrap_lines=True)
