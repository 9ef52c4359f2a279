"""What sentences are coloured by: a trait of their text, or another column of the table that they come from."""

import html
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import analysis, export, figures, words
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment, Selection
from clsviz.jobs import Found
from clsviz.progress import Progress
from clsviz.settings import Trait, printable
from clsviz.sources import catalogue, sampling
from clsviz.ui.markdown import escape
from clsviz.ui.state import server
from clsviz.ui.state.links import FIELD, field_of

if TYPE_CHECKING:
    from clsviz.analysis import ViewData
    from clsviz.analysis.fields import Field
    from clsviz.jobs import Analysis

_TABLE_COLUMN = "group_"
"""What the name of its column in tables begins with."""


def control(found: Found) -> None:
    """What can be chosen: the traits, and the other columns of the table."""
    colour = st.session_state.colour
    options = [*Trait, *(f"{FIELD}{name}" for name in found.corpus.fields)]
    if colour and colour not in options:  # of a link, or of another table
        options.append(colour)
    st.selectbox(
        "Colour by",
        options,
        index=options.index(colour) if colour else None,
        format_func=_label,
        placeholder="Colour by…",
        key="colour",
        persist_state="session",
        label_visibility="collapsed",
        width=230,
    )


def _label(colour: str) -> str:
    name = field_of(colour)
    return words.selection.TRAITS[Trait(colour)] if name is None else words.selection.column(name)


def groups(found: Found, experiment: Experiment) -> "export.Groups | None":
    """What the sentences of the sample are coloured by; None while nothing is chosen, or it cannot be read."""
    colour = st.session_state.colour
    if not colour:
        return None
    name = field_of(colour)
    if name is None:
        return export.Groups(words.selection.TRAITS[Trait(colour)], f"{_TABLE_COLUMN}{colour}", _has_trait(found))
    try:
        field = _field(found, experiment)
    except ClsvizError:  # which stands below the picture
        return None
    return None if field is None else export.Groups(words.selection.column(name), f"{_TABLE_COLUMN}{name}", field)


def is_coming(found: Found | None, experiment: Experiment) -> bool:
    """Whether the colours are still to come by themselves."""
    fetched = _fetched(found, experiment)
    return fetched is not None and fetched.state.is_active


def news(found: Found | None, experiment: Experiment) -> Hashable:
    """Changes when there is more to say of colours that are to come."""
    fetched = _fetched(found, experiment)
    return fetched and (fetched.state, fetched.done, fetched.total)


def show_legend(found: Found, shown: "ViewData", experiment: Experiment) -> None:
    """What the colours stand for, and the mean norm of each."""
    if not st.session_state.colour or not len(shown.index):
        return
    if field_of(st.session_state.colour) is None:
        said = words.selection.by_trait(st.session_state.colour, shown, _has_trait(found)[shown.index])
        st.caption(escape(said), width="stretch")
        return
    try:
        field = _field(found, experiment)
    except ClsvizError as error:
        st.caption(escape(error), width="stretch")
        return
    if field is None:
        _show_progress(found, experiment)
        return
    field = field.of(shown.index)
    st.html(_of_names(field, shown) if field.names else _of_numbers(field))


def _show_progress(found: Found, experiment: Experiment) -> None:
    fetched, name = _fetched(found, experiment), field_of(st.session_state.colour)
    if fetched is not None and name is not None:
        st.caption(escape(words.selection.reading(name, fetched.done, fetched.total)), width="stretch")


def _of_names(field: "Field", shown: "ViewData") -> str:
    """A dot and its name for each value, with how many there are."""
    entries = []
    for colour, code, name in export.entries_of(field):
        which = field.codes == code
        if which.any():
            about = words.selection.of_value(int(which.sum()), float(shown.norms[which].mean()))
            entries.append((colour, name, about))
    return _listed(entries)


def _listed(entries: Iterable[tuple[str, str, str]]) -> str:
    """Entries of a legend, as markup in which names are text."""
    items = (
        f'<span><span style="color:{colour}">●</span> {html.escape(printable(name))} '
        f'<span style="opacity:0.8">{html.escape(about)}</span></span>'
        for colour, name, about in entries
    )
    return f'<div class="legend">{" ".join(items)}</div>'


def _of_numbers(field: "Field") -> str:
    """The scale between its ends."""
    low, high = figures.colouring.ends_of(field.numbers)
    scale = ",".join(figures.colouring.SCALE)
    bar = f'<span class="scale" style="background:linear-gradient(90deg,{scale})"></span>'
    ends = [html.escape(words.selection.end_of_scale(end)) for end in (low, high)]
    n_without = int(np.isnan(field.numbers).sum())
    rest = _listed([(figures.colouring.OTHERS, words.selection.NO_VALUE, f"{n_without:,}")]) if n_without else ""
    return f'<div class="legend"><span>{ends[0]} {bar} {ends[1]}</span>{rest}</div>'


def _has_trait(found: Found) -> NDArray[np.bool_]:
    trait, sentences = st.session_state.colour, found.sentences
    key = "having", sample_of(found), trait
    return server.cache().get_or_compute(key, lambda: analysis.fields.having(trait, sentences))


def _field(found: Found, experiment: Experiment) -> "Field | None":
    """The values of the column, None while they are being fetched; raises ClsvizError."""
    if (fetched := _fetched(found, experiment)) is not None:
        if fetched.error is not None:
            raise fetched.error
        return fetched.work.result
    name = field_of(st.session_state.colour)
    assert name is not None  # asked before
    key = "field", sample_of(found), experiment.selection, name
    return server.cache().get_or_compute(key, lambda: _values(found, experiment.selection, name, Progress()))


def _fetched(found: Found | None, experiment: Experiment) -> "Analysis[Field] | None":
    """The job that fetches the column from the Hub; None where nothing is to be fetched."""
    name = field_of(st.session_state.colour)
    if found is None or name is None or not catalogue.is_on_hub(experiment.corpus):
        return None

    def fetch(progress: Progress) -> "Field":
        return _values(found, experiment.selection, name, progress)

    return server.jobs().fetch(("column", sample_of(found), name), fetch, server.visitor())


def sample_of(found: Found) -> Hashable:
    """The same for all measurements of the same sentences."""
    return found.corpus.fingerprint, found.seed, len(found.sentences)


def _values(found: Found, selection: Selection, name: str, progress: Progress) -> "Field":
    folder = server.jobs().store.corpora
    values = sampling.values_beside(found.sample, selection, found.seed, name, folder, progress)
    return analysis.fields.field(values)
