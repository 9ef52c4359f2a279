"""What growing a sentence word by word shows."""

import numpy as np
import pandas as pd

from clsviz.words.answer import SMALL_SPREAD
from clsviz.words.numbers import number


def growth_said(lines: pd.DataFrame) -> str:
    """How the norm changes as the sentence grows; for the table see `analysis.typed.with_norms`.

    The first variant in the table is the sentence as typed; "" for an empty table.
    """
    ends = [rows.sort_values("n_words") for _, rows in lines.groupby("variant", sort=False)]
    if not ends:
        return ""
    typed, *others = ends
    norms = typed["norm"].to_numpy()
    if len(norms) == 1:
        return f"The sentence has only one word (norm {number(norms[0])}), so there is nothing to grow."
    said = (
        f"As typed, the norm is {number(norms[0])} after the first word and {number(norms[-1])} after all "
        f"{len(norms)}, and stays between {number(norms.min())} and {number(norms.max())} along the way."
    )
    compared = [f"{rows['variant'].iloc[0]}, it ends at {number(rows['norm'].iloc[-1])}" for rows in others]
    said += f" With {'; with '.join(compared)}." if compared else ""
    apart = float(np.ptp(lines["norm"]))
    if apart < SMALL_SPREAD * norms.mean():
        said += f" That is hardly any change: all of these norms lie within {number(apart)} of one another."
    return said
