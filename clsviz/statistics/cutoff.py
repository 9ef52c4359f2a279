"""How much the length cutoff, and which lengths a corpus happens to have, decide the line."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from statsmodels.regression.linear_model import WLS

from clsviz.errors import UndefinedFitError
from clsviz.statistics.correlation import explain_undefined
from clsviz.statistics.line import fit
from clsviz.statistics.results.line import CUTOFF_COLUMNS, CUTOFFS, FLAT_LENGTHS, Flat


def flat(lengths: ArrayLike, norms: ArrayLike) -> Flat:
    """Regress norms on lengths, both (n,), by least squares, with each sentence weighted by 1 / those of its length.

    Raises UndefinedFitError where the sentences with FLAT_LENGTHS determine no line.
    """
    x, y = np.asarray(lengths, dtype=int), np.asarray(norms, dtype=float)
    inside = (x >= FLAT_LENGTHS.start) & (x < FLAT_LENGTHS.stop)
    x, y = x[inside], y[inside]
    explain_undefined(x.astype(float), y)
    counts = np.bincount(x, minlength=FLAT_LENGTHS.stop)
    line = WLS(y - y.mean(), np.stack([np.ones(len(x)), x], axis=1), weights=1 / counts[x]).fit()
    return Flat(float(line.rsquared), tuple(length for length in FLAT_LENGTHS if not counts[length]))


def by_cutoff(
    n_tokens: ArrayLike,
    lengths: ArrayLike,
    norms: ArrayLike,
    clusters: NDArray[np.intp] | None = None,
    row_groups: NDArray[np.int64] | None = None,
    cutoffs: Iterable[int] = CUTOFFS,
) -> pd.DataFrame:
    """The line through the sentences of fewer than so many tokens, for each of several cutoffs.

    n_tokens, lengths, norms, clusters, row_groups: (n,), of all sentences, as `fit` takes them.
    Columns: length_cutoff, n (sentences), r_squared, lower and upper (its 95% interval), slope. Cutoffs whose sentences
    determine no line are left out, and so are those that leave out no more sentences than the one before.
    """
    tokens, x, y = np.asarray(n_tokens), np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    rows: list[tuple[float, ...]] = []
    for cutoff in sorted(set(cutoffs)):
        under = np.flatnonzero(tokens < cutoff)
        if rows and len(under) == rows[-1][1]:
            continue
        by = (groups if groups is None else groups[under] for groups in (clusters, row_groups))
        try:
            line = fit(x[under], y[under], *by)
        except UndefinedFitError:
            continue
        rows.append((cutoff, line.n, line.r_squared, *line.r_squared_interval, line.slope))
    return pd.DataFrame(rows, columns=CUTOFF_COLUMNS).astype({"length_cutoff": int, "n": int})
