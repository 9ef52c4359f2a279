"""The sentences that are selected in the scatter."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import export, words
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import Unit
from clsviz.ui.markdown import escape
from clsviz.ui.parts import colouring, marks
from clsviz.ui.state.links import LONGEST_SEARCH

if TYPE_CHECKING:
    from clsviz.analysis import ViewData

_MOST_LISTED = 1_000


def show_search(found: Found, shown: "ViewData", experiment: Experiment) -> None:
    """What sentences are coloured by, and what is looked for in them."""
    with st.container(horizontal=True, vertical_alignment="center"):
        colouring.control(found)
        st.text_input(
            "Find sentences",
            value=st.session_state.find,
            key="find",
            persist_state="session",
            max_chars=LONGEST_SEARCH,
            placeholder="Find sentences that contain…",
            label_visibility="collapsed",
            icon=":material/search:",
            width=300,
            live=True,
        )
        colouring.show_legend(found, shown, experiment)


def show(experiment: Experiment, found: Found, shown: "ViewData", selected: NDArray[np.intp], name: str) -> None:
    """The one sentence in full, or a table of several.

    selected: intp (n,), which of those shown. name: of the table as a file, without an ending.
    """
    if not len(shown.index):
        return
    if not len(selected):
        st.caption("Nothing found." if st.session_state.find.strip() else words.selection.HOW_TO_SELECT)
    elif len(selected) == 1:
        _one(found, shown, int(selected[0]), experiment.unit)
    else:
        _several(experiment, found, shown, selected, name)


def _several(experiment: Experiment, found: Found, shown: "ViewData", selected: NDArray[np.intp], name: str) -> None:
    unit, groups = experiment.unit, colouring.groups(found, experiment)
    more = f" · the first {_MOST_LISTED:,} are listed" if len(selected) > _MOST_LISTED else ""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(escape(words.selection.selected(shown, selected) + more))
        st.download_button(
            "Selected (CSV)",
            lambda: export.to_csv(export.tables.named(found.sentences, selected, shown, unit, groups)),
            f"{name}-selected.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    digits = st.column_config.NumberColumn(format="%.5g")
    st.dataframe(
        export.tables.selected(found.sentences, selected[:_MOST_LISTED], shown, unit, groups),
        hide_index=True,
        height=280,
        column_config={
            "Sentence": st.column_config.TextColumn(width="large"),
            "Norm": digits,
            "Residual": digits,
        },
        alt="The selected sentences",
    )


def _one(found: Found, shown: "ViewData", index: int, unit: Unit) -> None:
    """The sentence, and steps to those with the next lower and the next higher norm."""
    length, norm = int(shown.lengths[index]), float(shown.norms[index])
    residual = f" · residual {words.number(norm - float(shown.fit.predict(length)), sign='+')}" if shown.fit else ""
    order = np.lexsort((shown.index, shown.norms))
    place = int(np.flatnonzero(order == index)[0])
    with st.container(border=True):
        st.text(found.sentences[shown.index[index]])
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.caption(
                f"{length} {unit} · norm {words.number(norm)}{residual} · number {place + 1:,} of {len(order):,} by "
                "norm",
                width="content",
            )
            with st.container(horizontal=True, width="content"):
                for label, icon, step in (("Lower norm", "arrow_downward", -1), ("Higher norm", "arrow_upward", 1)):
                    is_there = 0 <= place + step < len(order)
                    st.button(
                        label,
                        icon=f":material/{icon}:",
                        on_click=marks.mark_one,
                        args=[int(shown.index[order[place + step]])] if is_there else [0],
                        disabled=not is_there,
                    )
