"""What sentences are coloured by: a trait of their text, or a column of the visitor's own table."""

import html
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import analysis, corpora, figures, words
from clsviz.errors import CorpusError
from clsviz.experiment import Experiment, Selection
from clsviz.measuring import Found
from clsviz.progress import Progress
from clsviz.settings import Trait, printable
from clsviz.ui.markdown import escape
from clsviz.ui.state import server
from clsviz.ui.state.links import FIELD, field_of

if TYPE_CHECKING:
    from clsviz.analysis import Shown
    from clsviz.analysis.fields import Field
    from clsviz.figures.colouring import Colours

_WITHOUT_NAME = words.selection.OTHER_VALUES, words.selection.NO_VALUE


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


def of(found: Found, shown: "Shown", experiment: Experiment) -> "NDArray[np.bool_] | Colours | None":
    """Which of the sentences shown have the trait, bool (n,), or the colour of each, or None for one and the same."""
    if not st.session_state.colour:
        return None
    if field_of(st.session_state.colour) is None:
        return _has_trait(found, shown)
    try:
        field = _field(found, shown, experiment)
    except CorpusError:  # which stands below the picture
        return None
    return figures.colouring.by_code(field.codes) if field.names else figures.colouring.by_number(field.numbers)


def show_legend(found: Found, shown: "Shown", experiment: Experiment) -> None:
    """What the colours stand for, and the mean norm of each."""
    if not st.session_state.colour or not len(shown.index):
        return
    if field_of(st.session_state.colour) is None:
        said = words.selection.by_trait(st.session_state.colour, shown, _has_trait(found, shown))
        st.caption(escape(said), width="stretch")
        return
    try:
        field = _field(found, shown, experiment)
    except CorpusError as error:
        st.caption(escape(error), width="stretch")
        return
    st.html(_of_names(field, shown) if field.names else _of_numbers(field))


def _of_names(field: "Field", shown: "Shown") -> str:
    """A dot and its name for each value, with how many there are."""
    colours = (*figures.colouring.NAMED[: len(field.names)], figures.colouring.OTHERS, figures.colouring.OTHERS)
    codes = (*range(len(field.names)), analysis.fields.OTHER, analysis.fields.NOTHING)
    entries = []
    for colour, code, name in zip(colours, codes, (*field.names, *_WITHOUT_NAME), strict=True):
        which = field.codes == code
        if which.any():
            about = words.selection.of_value(int(which.sum()), float(shown.norms[which].mean()))
            entries.append((colour, name, about))
    return _listed(entries)


def _listed(entries: Iterable[tuple[str, str, str]]) -> str:
    """Entries of a legend, as markup in which names are text."""
    items = (
        f'<span style="white-space:nowrap"><span style="color:{colour}">●</span> {html.escape(printable(name))} '
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


def _has_trait(found: Found, shown: "Shown") -> NDArray[np.bool_]:
    return _having(sample_of(found), st.session_state.colour, found.sentences)[shown.index]


def _field(found: Found, shown: "Shown", experiment: Experiment) -> "Field":
    """The values of the column; raises CorpusError."""
    name = field_of(st.session_state.colour)
    assert name is not None  # asked before
    return _read(sample_of(found), experiment.selection, name, found).of(shown.index)


def sample_of(found: Found) -> Hashable:
    """The same for all measurements of the same sentences."""
    return found.corpus.fingerprint, found.seed, len(found.sentences)


def _having(sample: Hashable, trait: Trait, sentences: list[str]) -> NDArray[np.bool_]:
    return server.shared().of(("having", sample, trait), lambda: analysis.traits.having(trait, sentences))


def _read(sample: Hashable, selection: Selection, name: str, found: Found) -> "Field":
    def read() -> "Field":
        folder = server.jobs().store.corpora
        return analysis.fields.field(corpora.values_beside(found.sample, selection, name, folder, Progress()))

    return server.shared().of(("field", sample, selection, name), read)
