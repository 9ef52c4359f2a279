"""What growing a sentence showed."""

import numpy as np
import pandas as pd

from clsviz.words.answer import SMALL_SPREAD
from clsviz.words.numbers import number


def growth_said(lines: pd.DataFrame) -> str:
    """What growing a sentence showed, in words that are true of any; for the table see `layer_figures.growth`.

    The line as typed comes first; "" where there is none.
    """
    ends = [rows.sort_values("n_words") for _, rows in lines.groupby("variant", sort=False)]
    if not ends:
        return ""
    typed, *others = ends
    norms = typed["norm"].to_numpy()
    if len(norms) == 1:
        return f"The sentence has one word, and with it the norm {number(norms[0])}: there is nothing to grow."
    said = (
        f"As typed, the norm is {number(norms[0])} after the first word and {number(norms[-1])} after all "
        f"{len(norms)}, and between {number(norms.min())} and {number(norms.max())} on the way."
    )
    compared = [f"{rows['variant'].iloc[0]}, it ends at {number(rows['norm'].iloc[-1])}" for rows in others]
    said += f" With {'; with '.join(compared)}." if compared else ""
    apart = float(np.ptp(lines["norm"]))
    if apart < SMALL_SPREAD * norms.mean():
        said += f" That is hardly any change: all these norms lie within {number(apart)} of each other."
    return said
