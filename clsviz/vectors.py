"""Vectors of sentences, packed into two bytes per component, and what holds each kind of measurement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clsviz.measurements import POOLED, Kind, Measurements
from clsviz.settings import Pooling


@dataclass(frozen=True, eq=False)
class Packed:
    """Vectors of a run of n sentences, in two bytes a component; rows of a `slot` are of one pooling and layer.

    Every component is kept by how far it is from the mean of the run: so little is lost also where the vectors of all
    sentences are nearly alike, as they are in some layers.

    centres: float32 (slots, width), the mean vectors. scales: float32 (slots,), the largest distance of a component.
    deviations: float16 (slots, n, width), distances in units of the scale; an array, or what reads one from a file.
    """

    centres: NDArray[np.float32]
    scales: NDArray[np.float32]
    deviations: Any

    @classmethod
    def of(cls, vectors: Sequence[NDArray[np.float32]]) -> Self:
        """Pack vectors, float32 (n, width), a slot each."""
        centres = np.stack([slot.mean(axis=0) for slot in vectors])
        distances = [slot - centre for slot, centre in zip(vectors, centres, strict=True)]
        scales = np.array([np.abs(distance).max(initial=0) for distance in distances], np.float32)
        units = np.where(scales > 0, scales, np.float32(1))
        deviations = [(distance / unit).astype(np.float16) for distance, unit in zip(distances, units, strict=True)]
        return cls(centres, scales, np.stack(deviations))

    def unpack(self, slot: int) -> NDArray[np.float32]:
        """The vectors of a slot, float32 (n, width)."""
        vectors: NDArray[np.float32] = np.asarray(self.deviations[slot], np.float32)
        vectors *= self.scales[slot]
        vectors += self.centres[slot]
        return vectors


@dataclass(frozen=True, eq=False)
class Vectors(Measurements):
    """Vectors of n sentences, of every pooling after every layer; components are read when they are asked for.

    cls_norms, pooler_norms: as of `Measurements`, of the exact vectors.
    mean_norms, max_norms: float32 (n, n_layers + 1), the same of the other poolings.
    layer_norms: float32 (n_layers + 1, 2, width), gain and bias of the LayerNorm whose output the layer is; NaN where
        it is that of none.
    runs: the vectors, by runs of sentences; slots are cls after every layer, mean, max, and the pooler output.
    """

    mean_norms: NDArray[np.float32]
    max_norms: NDArray[np.float32]
    layer_norms: NDArray[np.float32]
    runs: tuple[Packed, ...]

    @property
    def width(self) -> int:
        """Components of a vector."""
        return int(self.layer_norms.shape[2])

    def norms(self, pooling: Pooling, layer: int | None) -> NDArray[np.float32]:
        """Norms of one exact vector, float32 (n,): as of `Measurements`, and of every pooling."""
        if pooling in (Pooling.MEAN, Pooling.MAX):
            norms = self.mean_norms if pooling is Pooling.MEAN else self.max_norms
            return norms[:, self.n_layers if layer is None else layer]
        return super().norms(pooling, layer)

    def of(self, pooling: Pooling, layer: int | None) -> NDArray[np.float32]:
        """Vectors of one pooling after one layer, as of `norms`, float32 (n, width)."""
        last = self.n_layers
        if pooling is Pooling.POOLER:
            if not self.has_pooler:
                raise IndexError("this model has no pooler")
            slot = len(POOLED) * (last + 1)
        else:
            slot = POOLED.index(pooling) * (last + 1) + range(last + 1)[last if layer is None else layer]
        unpacked = [np.empty((0, self.width), np.float32)]
        for run in self.runs:
            if sum(map(len, unpacked)) < len(self):  # of a `head` not all are needed
                unpacked.append(run.unpack(slot))
        return np.concatenate(unpacked)[: len(self)]

    @classmethod
    def pack(
        cls,
        n_tokens: NDArray[np.int32],
        truncated: NDArray[np.bool_],
        pooled: NDArray[np.float32],
        pooler: NDArray[np.float32] | None = None,
        layer_norms: NDArray[np.float32] | None = None,
    ) -> Self:
        """From float32 vectors by pooling and layer (3, n_layers + 1, n, width), and of the pooler (n, width)."""
        n_poolings, n_layers_and_one, _, width = pooled.shape
        slots = [*pooled.reshape(n_poolings * n_layers_and_one, -1, width), *([] if pooler is None else [pooler])]
        norms = np.stack([np.linalg.norm(slot, axis=1) for slot in slots], axis=1).astype(np.float32)
        of_cls, of_mean, of_max, of_pooler = np.split(norms, np.arange(1, n_poolings + 1) * n_layers_and_one, axis=1)
        nothing = np.full((n_layers_and_one, 2, width), np.nan, np.float32)
        return cls(
            n_tokens,
            truncated,
            of_cls,
            of_pooler,
            of_mean,
            of_max,
            nothing if layer_norms is None else layer_norms,
            (Packed.of(slots),),
        )

    def head(self, n: int) -> Self:
        """The first n."""
        return replace(self, **{name: getattr(self, name)[:n] for name in _BY_SENTENCE})

    @classmethod
    def none(cls) -> Self:
        """Of no sentence, by no model."""
        norms = np.empty((0, 1), np.float32)
        return cls(
            n_tokens=np.empty(0, np.int32),
            truncated=np.empty(0, np.bool_),
            cls_norms=norms,
            pooler_norms=norms[:, :0],
            mean_norms=norms,
            max_norms=norms,
            layer_norms=np.empty((1, 2, 0), np.float32),
            runs=(),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Several runs of sentences, measured by one model, as one; none but the last may be a `head`."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return cls.none()
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _BY_SENTENCE}
        return replace(parts[0], **joined, runs=tuple(run for part in parts for run in part.runs))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As they are stored: vectors of one run."""
        (run,) = self.runs
        mine = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "runs"}
        return mine | {field.name: getattr(run, field.name) for field in fields(run)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """What `to_arrays` gave: each an array, or what becomes one when it is sliced, as the deviations stay."""
        rest = {name: array[:] for name, array in arrays.items() if name != "deviations"}
        run = Packed(rest.pop("centres"), rest.pop("scales"), arrays["deviations"])
        return cls(**rest, runs=(run,))


_BY_SENTENCE = ("n_tokens", "truncated", "cls_norms", "pooler_norms", "mean_norms", "max_norms")
"""What of vectors has a row a sentence, beside the components."""


KINDS: dict[Kind, type[Measurements]] = {Kind.NORMS: Measurements, Kind.VECTORS: Vectors}
"""What holds each kind of measurement."""
