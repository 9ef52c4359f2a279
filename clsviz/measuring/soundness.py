"""Whether what a part holds can be what an encoder measured.

An encoder gives no numbers that are not finite: a model that computes such is refused while it measures. So in a part
they are damage, as is whatever else no encoder gives.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clsviz.measurements import POOLED, Kind, Measurements
from clsviz.vectors import Packed, Vectors

_LARGEST_DEVIATION = int(np.float16(1).view(np.uint16))
"""The bits of 1: a deviation is at most the scale. Those of anything larger, infinite or undefined are larger."""


_WITHOUT_SIGN = 0x7FFF


@dataclass(frozen=True)
class Shape:
    """How much is measured of each sentence.

    width: dimensions of a vector, or 0 where only norms are measured. n_poolings: how many of `POOLED` there are.
    """

    n_layers: int
    has_pooler: bool
    width: int = 0
    n_poolings: int = len(POOLED)

    @classmethod
    def of(cls, measurements: Measurements) -> "Shape":
        """That of some measurements."""
        n_layers, has_pooler = measurements.n_layers, measurements.has_pooler
        if not isinstance(measurements, Vectors):
            return cls(n_layers, has_pooler)
        return cls(n_layers, has_pooler, measurements.width, len(measurements.poolings))

    def described(self) -> dict[str, int | bool]:
        """As a part says it of itself; parts of models do not tell their poolings, which are all."""
        return {name: value for name, value in asdict(self).items() if (name, value) != ("n_poolings", len(POOLED))}

    def arrays(self, kind: Kind, n: int) -> dict[str, tuple[str, list[int]]]:
        """What a part of n sentences holds: type, as safetensors calls it, and shape of each array by its name."""
        layers, pooler = self.n_layers + 1, int(self.has_pooler)
        expected = {
            "n_tokens": ("I32", [n]),
            "truncated": ("BOOL", [n]),
            "cls_norms": ("F32", [n, layers]),
            "pooler_norms": ("F32", [n, pooler]),
        }
        if kind is Kind.VECTORS:
            n_slots = self.n_poolings * layers + pooler
            expected |= {f"{pooling}_norms": ("F32", [n, layers]) for pooling in POOLED[1 : self.n_poolings]}
            expected |= {
                "layer_norms": ("F32", [layers, 2, self.width]),
                "centres": ("F32", [n_slots, self.width]),
                "scales": ("F32", [n_slots]),
                "deviations": ("F16", [n_slots, n, self.width]),
            }
        return expected


def is_described(arrays: Mapping[str, Any], expected: Mapping[str, tuple[str, list[int]]]) -> bool:
    """Whether arrays have the names, types and shapes expected; an array tells its `dtype` and `shape`."""
    return {name: (array.dtype, array.shape) for name, array in arrays.items()} == dict(expected)


def is_plausible(measured: Measurements, max_length: int) -> bool:
    """Whether all numbers are such as an encoder gives that reads at most `max_length` tokens of a sentence."""
    n_tokens, truncated = measured.n_tokens, measured.truncated
    longest_whole, shortest_cut = n_tokens[~truncated].max(initial=0), n_tokens[truncated].min(initial=max_length)
    if n_tokens.min(initial=0) < 0 or longest_whole >= shortest_cut:
        return False
    norms = [measured.cls_norms, measured.pooler_norms]
    if not isinstance(measured, Vectors):
        return _are_norms(*norms)
    of_layers = np.isfinite(measured.layer_norms)
    is_known = of_layers.all(axis=(1, 2)) | np.isnan(measured.layer_norms).all(axis=(1, 2))
    return (
        bool(is_known.all())
        and _are_norms(*norms, *measured.other_norms.values())
        and all(map(_is_packed, measured.runs))
    )


def _are_norms(*arrays: NDArray[np.float32]) -> bool:
    return all(bool((np.isfinite(array) & (array >= 0)).all()) for array in arrays)


def _is_packed(run: Packed) -> bool:
    if not (np.isfinite(run.centres).all() and _are_norms(run.scales)):
        return False
    slots = (np.asarray(run.deviations[slot]).view(np.uint16) & _WITHOUT_SIGN for slot in range(len(run.scales)))
    return all(int(slot.max(initial=0)) <= _LARGEST_DEVIATION for slot in slots)
