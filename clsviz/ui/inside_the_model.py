"""The page “Inside the model”: its parts, where [CLS] begins, and whether the pooler output follows from it."""

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from clsviz import analysis, figures, words
from clsviz.analysis.typed import CHECK_EXAMPLE, Check
from clsviz.errors import ClsvizError, ModelError, Subject
from clsviz.experiment import Experiment
from clsviz.jobs import MeasuringJob, State, identified
from clsviz.measurements import Kind
from clsviz.sources import models
from clsviz.sources.models import Weights
from clsviz.ui import sidebar, status
from clsviz.ui.markdown import escape
from clsviz.ui.parts import layout, own, plot, share
from clsviz.ui.state import server, session, url, visitor, watching

if TYPE_CHECKING:
    from clsviz.encoder import Anatomy

PAGE = "inside-the-model"

_HEIGHT_OF_TABLE, _HEIGHT_OF_BAR, _HEIGHT_OF_AXES = 320, 28, 70

_FIRST = 5
"""How many numbers of a vector are shown."""

_MOST_LAYERS = 13
"""Shown without scrolling."""

_NORM_COLUMNS = {
    "layer": "Layer",
    "norm": "Norm",
    "from_direction": "From the direction",
    "difference": "Difference",
}

_COLUMNS = {"component": "Dimension", "cls": "[CLS]", "expected": "tanh(W [CLS] + b)", "pooler": "Pooler output"}


def page() -> None:
    """Draw the page; what needs a sentence appears once it is measured."""
    url.restore(PAGE)
    experiment = session.experiment()
    question = words.question_of_parts(experiment)
    if words.is_imported(experiment) and not visitor.model_problem(experiment.model):
        with st.sidebar:
            sidebar.show_model()
        url.write(experiment, PAGE)
        layout.head(question, words.waiting.NO_PAGE, None)
        return
    weights, job, error = _weights_or_job(experiment.model)
    anatomy = None
    with st.sidebar:
        sidebar.show_model(error)
        if weights is not None:  # under the box of the model: that it is being loaded, or why it cannot be
            anatomy = _anatomy(weights)
        if job is not None:
            status.show(job, status.outline(job))
    if job is not None:
        status.show_on_a_phone(job, status.outline(job))
    else:
        with st.container(key="phone"):
            status.show_error(error, *Subject)
            if weights is not None and anatomy is None:
                _anatomy(weights)
    url.write(experiment, PAGE)
    sidebar.show_notes_of_view()
    numbers = ""
    if weights is None:
        answer = _waiting(job)
    elif anatomy is None:
        answer = "This model is not loaded yet: progress, or the error, is shown next to it."
    else:
        answer, numbers = words.anatomy.answer(anatomy), words.anatomy.in_numbers(anatomy)
    layout.head(question, answer, numbers, terms=words.glossary.INSIDE_THE_MODEL)
    if weights is None or anatomy is None:
        plot.show_before("way")
        return
    own.line()
    typed = own.typed()
    sentence = next(iter(typed), CHECK_EXAMPLE)
    check = own.try_sentences("pooler_check", weights, [sentence], partial(analysis.typed.check, sentence=sentence))
    check = check or own.before("pooler_check", weights)
    groups, steps = anatomy.group_table(), words.anatomy.steps(anatomy, check) if check else []
    figure, alt = figures.way_of_cls(groups, steps, figures.Palette()), words.anatomy.way(steps, groups, weights.label)
    height = _HEIGHT_OF_AXES + _HEIGHT_OF_BAR * (anatomy.architecture.n_layers or len(groups)) + 3 * _HEIGHT_OF_BAR
    is_before = check is not None and check.sentence != sentence
    plot.show(figure, key="way", alt=alt, height=height, is_dimmed=is_before, is_kept=True)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        own.offer_for_link()
        _downloads(experiment, weights, anatomy, check)
    box = partial(layout.box, height=_HEIGHT_OF_TABLE)
    if check is not None:
        st.caption(escape(words.anatomy.checked_sentence(check, len(typed))))
        beginning = words.anatomy.beginning(anatomy, check, untrained=weights.untrained)

        def show_beginning() -> None:  # the vector that [CLS] enters the model with
            vector = anatomy.cls_embedding
            numbers = "  ".join(f"{value:+.6f}".replace("-", "−") for value in vector[:_FIRST])
            more = f"  … {len(vector) - _FIRST:,} more" if len(vector) > _FIRST else ""
            st.markdown(escape(beginning))
            st.code(numbers + more, language=None, wrap_lines=True)

        box(words.anatomy.beginning_title(anatomy, check), "beginning", show_beginning)
        box(words.anatomy.pooler_title(anatomy, check), "pooler_check", partial(_show_check, anatomy, check))
        box(words.anatomy.norm_title(check), "direction", partial(_show_direction, check))
    box(words.anatomy.parameters_title(anatomy), "parameters", partial(_show_parameters, anatomy, weights.label))
    box(words.anatomy.facts_title(anatomy), "facts", partial(_show_facts, anatomy, weights))


def _weights_or_job(name: str) -> tuple[Weights | None, MeasuringJob | None, ClsvizError | None]:
    """The model's weights if they are on this machine; otherwise the job that could fetch them, or what is wrong."""
    try:
        if problem := visitor.model_problem(name):
            raise ModelError(problem)
        weights = identified(models.find(name), server.jobs().store)
    except models.NotDownloadedError:
        # The smallest job that fetches a model: it measures one sentence of a corpus that needs no network.
        (job,) = watching.watch((Experiment(model=name, sample_size=1), Kind.NORMS))
        return None, job, job.error
    except ClsvizError as error:
        watching.watch()
        return None, None, error
    watching.watch()
    return weights, None, None


def _anatomy(weights: Weights) -> "Anatomy | None":
    """The parts of the model; None, with the reason shown here, while it is being loaded."""
    return own.try_sentences("anatomy", weights, [], lambda encoder: encoder.anatomy)


def _waiting(job: MeasuringJob | None) -> str:
    """Why there is nothing to show yet."""
    if job is None or job.state is State.FAILED:
        return "This model cannot be opened; the error says why."
    if job.state is State.LOOKING:
        return "This model is not on this machine yet. Looking up its size…"
    if job.state.is_active:
        return "Downloading the model."
    size = f" (about {job.cost.megabytes:,} MB)" if job.cost and job.cost.megabytes else ""
    return f"Its weights are not on this machine yet. Press the button to download them{size}."


def _show_parameters(anatomy: "Anatomy", label: str) -> None:
    """The table of all parameters."""
    st.dataframe(
        anatomy.parameter_table(),
        hide_index=True,
        height=_HEIGHT_OF_TABLE,
        column_config={
            "name": st.column_config.TextColumn("Name", width="large"),
            "shape": st.column_config.TextColumn("Shape", width=100),
            "weights": st.column_config.NumberColumn("Weights", format="localized", width=100),
            "group": st.column_config.TextColumn("Group", width=100),
            "part": st.column_config.TextColumn("Part", width=100),
        },
        alt=f"The {len(anatomy.parameters)} named parameters of {label}",
    )


def _show_facts(anatomy: "Anatomy", weights: Weights) -> None:
    """How the model is built, how it reads a sentence, and its special tokens."""
    built, reading, special = st.columns([4, 5, 5], gap="medium")
    with built:
        st.subheader("How it is built", anchor=False)
        share.facts(words.anatomy.model_facts(anatomy, weights))
    with reading:
        st.subheader("How it reads a sentence", anchor=False)
        share.facts(words.anatomy.tokenizer_facts(anatomy))
    with special:
        st.subheader("Special tokens", anchor=False)
        tokens = anatomy.tokenizer.special_tokens
        st.dataframe(
            pd.DataFrame(
                [(token.id, token.token, words.anatomy.role(token.role)) for token in tokens],
                columns=["Id", "Token", "Role"],
            ),
            hide_index=True,
            column_config={
                "Id": st.column_config.NumberColumn(format="%d", width="small"),
                "Token": st.column_config.TextColumn(width="small"),
            },
            alt="The special tokens with their ids",
        )


def _show_check(anatomy: "Anatomy", check: Check) -> None:
    """The sentence's tokens, the verdict, and the vectors it rests on."""
    if anatomy.pooler:
        st.markdown(words.anatomy.HOW_CHECKED)
    left, right = st.columns(2, gap="medium")
    whole = st.column_config.NumberColumn(format="%d", width="small")
    with left:
        st.caption(f"As the model reads it: {len(check.tokens):,} tokens")
        rows = [(position, token, token_id) for position, (token, token_id) in enumerate(check.tokens)]
        st.dataframe(
            pd.DataFrame(rows, columns=["Position", "Token", "Id"]),
            hide_index=True,
            height=_HEIGHT_OF_TABLE,
            column_config={"Position": whole, "Id": whole},
            alt="The tokens of the sentence with their ids",
        )
    with right:
        _show_verdict(*words.anatomy.verdict(anatomy, check))
        table = analysis.typed.dimension_table(anatomy, check).drop(columns="input_embedding")
        digits = st.column_config.NumberColumn(format="%.6f")
        st.dataframe(
            table.dropna(subset="cls").rename(columns=_COLUMNS),
            hide_index=True,
            height=_HEIGHT_OF_TABLE - 72,
            column_config=dict.fromkeys(_COLUMNS.values(), digits) | {_COLUMNS["component"]: whole},
            alt="[CLS] after the last layer and the pooler output, one dimension per row",
        )


def _show_verdict(is_right: bool | None, text: str) -> None:
    if is_right is None:
        st.info(escape(text))
    elif is_right:
        st.success(escape(text), icon=":material/check:")
    else:
        st.warning(escape(text), icon=":material/warning:")


def _show_direction(check: Check) -> None:
    """Whether the norm follows from the direction: the verdict, and both norms after every layer."""
    st.markdown(words.anatomy.NORM_AND_DIRECTION)
    left, right = st.columns(2, gap="medium")
    with left:
        st.dataframe(
            analysis.typed.norm_table(check).rename(columns=_NORM_COLUMNS),
            hide_index=True,
            height="content" if len(check.layers) <= _MOST_LAYERS else _HEIGHT_OF_TABLE,
            column_config={
                "Layer": st.column_config.NumberColumn(format="%d", width="small"),
                **dict.fromkeys(("Norm", "From the direction"), st.column_config.NumberColumn(format="%.6f")),
                "Difference": st.column_config.NumberColumn(format="%+.6f"),
            },
            placeholder="–",
            alt="The norm of [CLS] after every layer, measured and recomputed from its direction",
        )
    with right:
        _show_verdict(*words.anatomy.norm_verdict(check))


def _downloads(experiment: Experiment, weights: Weights, anatomy: "Anatomy", check: Check | None) -> None:
    """The tables as files, made when asked for; without the sentence's while it is not measured."""
    about: dict[str, object] = {
        "model": experiment.model,
        "model_commit": weights.commit or None,
        "model_fingerprint": weights.fingerprint,
        "architecture": anatomy.architecture.model_class,
        "max_length": anatomy.max_length,
    }
    name = f"clsviz-{weights.fingerprint[:12]}"

    def draw() -> None:
        share.table_downloads("Parameters", f"{name}-parameters", anatomy.parameter_table, lambda: about)
        if check is not None:
            of_sentence = about | {"tokens": [token_id for _, token_id in check.tokens]}
            values = partial(analysis.typed.dimension_table, anatomy, check)
            share.table_downloads(escape("Values of [CLS]"), f"{name}-cls", values, lambda: of_sentence)
            norms = partial(analysis.typed.norm_table, check)
            share.table_downloads("Norms by layer", f"{name}-norms", norms, lambda: of_sentence)

    share.menu(draw, 1 if check is None else 3)
