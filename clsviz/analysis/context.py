"""The corpus that a visitor's own sentences are compared with."""

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clsviz.analysis.growth import layer_band, length_band
from clsviz.analysis.more import NOT_KNOWN, More, more_than
from clsviz.analysis.norms import audit_of, lengths_of, under_cutoff, unmeasurable_layers
from clsviz.experiment import View
from clsviz.measuring import Found
from clsviz.settings import Pooling


class Missing(Enum):
    """Why the corpus's norms cannot be compared with."""

    VECTORS = "vectors are not measured"
    PRECISION = "the error of the fast precision exceeds the variation of the norms"


@dataclass(frozen=True, eq=False)
class CorpusContext:
    """The measured corpus sentences under the length cutoff.

    lengths: int32 (n,), in the view's unit. norms: float32 (n,), of the view's vector; None if `missing` says why.
    layer_band: quartiles of the norm of [CLS] after every layer, as in `growth.layer_band`.
    quartiles: lower and upper quartile of the norm of the last [CLS] and of the pooler output, where known.
    more: what may add sentences to these.
    """

    lengths: NDArray[np.int32]
    norms: NDArray[np.float32] | None
    missing: Missing | None
    layer_band: pd.DataFrame | None
    quartiles: dict[Pooling, tuple[float, float]]
    more: More = NOT_KNOWN

    def length_band(self, longest: int) -> pd.DataFrame | None:
        """Norm by length up to `longest`, as in `growth.length_band`; None where norms are missing or too few."""
        return None if self.norms is None else length_band(self.lengths, self.norms, longest)


def corpus_context(norms: Found, vectors: Found | None, view: View) -> CorpusContext:
    """What is known of the corpus for a view, from its norms and, once they are measured, its vectors.

    Norms of mean and max vectors are known only from the vectors.
    """
    measurements = norms.measurements
    index, _ = under_cutoff(measurements, view)
    of_view = (vectors or norms) if view.pooling in (Pooling.MEAN, Pooling.MAX) else norms
    missing = _missing(norms, vectors, view)
    shown, _ = under_cutoff(of_view.measurements, view)
    return CorpusContext(
        lengths_of(of_view, view, shown),
        None if missing else of_view.measurements.norms(view.pooling, view.layer)[shown],
        missing,
        layer_band(measurements.cls_norms[index], unmeasurable_layers(norms, view)),
        _quartiles(norms, view, index),
        more_than(of_view, view),
    )


def _quartiles(found: Found, view: View, index: NDArray[np.intp]) -> dict[Pooling, tuple[float, float]]:
    if len(index) < 3:
        return {}
    measurements = found.measurements
    quartiles = {}
    for pooling in (Pooling.CLS, *([Pooling.POOLER] if measurements.has_pooler else [])):
        if not _is_unmeasurable(found, replace(view, pooling=pooling, layer=None)):
            low, high = np.quantile(measurements.norms(pooling, None)[index], (0.25, 0.75))
            quartiles[pooling] = float(low), float(high)
    return quartiles


def _missing(norms: Found, vectors: Found | None, view: View) -> Missing | None:
    if view.pooling in (Pooling.MEAN, Pooling.MAX):  # whose norms are always exact
        return None if vectors else Missing.VECTORS
    return Missing.PRECISION if _is_unmeasurable(norms, view) else None


def _is_unmeasurable(found: Found, view: View) -> bool:
    """Whether the fast precision errs too much for the norms to be compared with exact ones."""
    if found.audit is None:
        return False
    audit = audit_of(found, view)
    return audit is None or not audit.is_measurable
