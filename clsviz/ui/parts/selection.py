"""The sentences that are selected in the scatter."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import export, words
from clsviz.measuring import Found
from clsviz.settings import Unit

if TYPE_CHECKING:
    from clsviz.analysis import Shown

_MOST_LISTED = 1_000


def show(found: Found, shown: "Shown", selected: NDArray[np.intp], unit: Unit) -> None:
    """The one sentence in full, or a list of several; selected: intp (n,), which of those shown."""
    if not len(shown.index):
        return
    if not len(selected):
        st.caption(
            "Click a point to read its sentence. To list several, pick the box or lasso tool above the picture and "
            "draw around them."
        )
        return
    if len(selected) == 1:
        _one(found, shown, int(selected[0]), unit)
        return
    more = f"; the first {_MOST_LISTED:,} are listed" if len(selected) > _MOST_LISTED else ""
    st.caption(f"{len(selected):,} sentences selected{more}.")
    four_digits = st.column_config.NumberColumn(format="%.4f")
    st.dataframe(
        export.tables.selected(found.sentences, selected[:_MOST_LISTED], shown, unit),
        hide_index=True,
        height=280,
        column_config={
            "Sentence": st.column_config.TextColumn(width="large"),
            "Norm": four_digits,
            "Residual": four_digits,
        },
        alt="The selected sentences",
    )


def _one(found: Found, shown: "Shown", index: int, unit: Unit) -> None:
    length, norm = int(shown.lengths[index]), float(shown.norms[index])
    residual = f" · residual {words.number(norm - float(shown.fit.predict(length)), sign='+')}" if shown.fit else ""
    with st.container(border=True):
        st.text(found.sentences[shown.index[index]])
        st.caption(f"{length} {unit} · norm {norm:.4f}{residual}")
