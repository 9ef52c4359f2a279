"""Measurements of sentences: the plain arrays that pass from the encoder to the store and on to the analysis.

Vectors are packed into two bytes per number.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import StoreError
from clsviz.settings import Pooling

MAX_LENGTH = 512
"""Most tokens read of a sentence, special ones included, even by models that could read more."""


POOLED = tuple(pooling for pooling in Pooling if pooling is not Pooling.POOLER)
"""Poolings that make a vector of the tokens after any layer, special ones included; the pooler takes the last alone."""


class Kind(StrEnum):
    """What is measured of each sentence."""

    NORMS = "norms"
    VECTORS = "vectors"
    MEANS = "means"


def kind_of(pooling: Pooling) -> Kind:
    """What is measured of a sample for the norm of one of its vectors: means and maxima need every token's vector."""
    return Kind.MEANS if pooling in POOLED[1:] else Kind.NORMS


@dataclass(frozen=True, eq=False)
class Measurements:
    """Norms of n sentences, in the order of the sentences.

    n_tokens: int32 (n,), number of tokens without special ones, before truncation.
    truncated: bool (n,), whether the model read only the beginning.
    cls_norms: float32 (n, n_layers + 1), L2 norm of [CLS] after every layer; 0 is the embedding output.
    pooler_norms: float32 (n, 1), L2 norm of the pooler output; (n, 0) where the model has no pooler.
    """

    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    cls_norms: NDArray[np.float32]
    pooler_norms: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.n_tokens)

    @property
    def n_layers(self) -> int:
        """Number of the last layer; 0 is the embedding output."""
        return int(self.cls_norms.shape[1]) - 1

    @property
    def has_pooler(self) -> bool:
        """Whether the model has a pooler."""
        return bool(self.pooler_norms.shape[1])

    @property
    def norms_by_pooling(self) -> dict[Pooling, NDArray[np.float32]]:
        """Norms after every layer, float32 (n, n_layers + 1), of those of `POOLED` that were measured."""
        return {Pooling.CLS: self.cls_norms}

    def norms(self, pooling: Pooling, layer: int | None) -> NDArray[np.float32]:
        """Norms of one vector after `layer` (None: the last) or of the pooler output, float32 (n,).

        Raises IndexError if the model has no such layer or no pooler, or if the pooling was not measured.
        """
        if pooling is Pooling.POOLER:
            return self.pooler_norms[:, 0]
        if pooling not in self.norms_by_pooling:
            raise IndexError(f"{pooling} was not measured")
        return self.norms_by_pooling[pooling][:, self.n_layers if layer is None else layer]

    def head(self, n: int) -> Self:
        """The first n sentences."""
        return type(self)(*(getattr(self, field.name)[:n] for field in fields(self)))

    @classmethod
    def none(cls) -> Self:
        """Measurements of no sentences."""
        return cls(
            np.empty(0, np.int32), np.empty(0, np.bool_), np.empty((0, 1), np.float32), np.empty((0, 0), np.float32)
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the measurements of several runs of sentences by one model."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return cls.none()
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to store, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """The inverse of `to_arrays`; a value is an array, or an object that becomes one when sliced."""
        return cls(**{name: array[:] for name, array in arrays.items()})


FIXED = 8
"""Word tokens that are drawn from every sentence, so that one with more of them has no longer an average."""

DEALT = 256
"""Sentences, one after the other, whose tokens are dealt out among them."""


@dataclass(frozen=True, eq=False)
class Means(Measurements):
    """Norms of n sentences that need the vectors of all their tokens; those of the tokens are after the last layer.

    mean_norms, max_norms: float32 (n, n_layers + 1), L2 norm of the mean and of the maximum over all tokens, special
        ones included, after every layer.
    n_pooled: int32 (n,), how many tokens that are. token_squares: float32 (n,), the mean of their squared L2 norms.
    fixed_norms: float32 (n,), L2 norm of the mean of FIXED random word tokens; NaN where there are fewer.
    dealt_norms: float32 (n,), L2 norm of the mean of as many tokens as the sentence has, drawn from it and its
        neighbours in the sample, DEALT of them at a time, each token once.
    """

    mean_norms: NDArray[np.float32]
    max_norms: NDArray[np.float32]
    n_pooled: NDArray[np.int32]
    token_squares: NDArray[np.float32]
    fixed_norms: NDArray[np.float32]
    dealt_norms: NDArray[np.float32]

    @property
    def norms_by_pooling(self) -> dict[Pooling, NDArray[np.float32]]:
        """As in `Measurements`."""
        return {pooling: getattr(self, f"{pooling}_norms") for pooling in POOLED}

    @classmethod
    def none(cls) -> Self:
        """Measurements of no sentences."""
        nothing = vars(Measurements.none())
        each = np.empty(0, np.float32)
        return cls(
            **nothing,
            mean_norms=each[:, None],
            max_norms=each[:, None],
            n_pooled=np.empty(0, np.int32),
            token_squares=each,
            fixed_norms=each,
            dealt_norms=each,
        )


_PER_SENTENCE = tuple(field.name for field in fields(Measurements))


def without_gain(gain: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Which dimensions of a LayerNorm with this gain, (width,), have none but for float32's rounding: bool (width,)."""
    sizes = np.abs(gain)
    return np.asarray(sizes <= np.finfo(np.float32).eps * sizes.max(initial=0))


@dataclass(frozen=True, eq=False)
class Packed:
    """Vectors of a run of n sentences, in two bytes per number; a `slot` holds the vectors of one pooling and layer.

    Numbers are stored as deviations from the mean vector of the run. This loses little, even where the vectors of all
    sentences are nearly the same, as they are in some layers.

    centres: float32 (slots, width), the mean vectors. scales: float32 (slots,), the largest deviation in each slot.
    deviations: float16 (slots, n, width), in units of the scale; an array, or an object that reads one from a file.
    """

    centres: NDArray[np.float32]
    scales: NDArray[np.float32]
    deviations: Any

    @classmethod
    def of(cls, vectors: Sequence[NDArray[np.float32]]) -> Self:
        """Pack vectors, float32 (n, width) per slot."""

        def pack(slot: NDArray[np.float32]) -> tuple[NDArray[np.float32], np.float32, NDArray[np.float16]]:
            centre = slot.mean(axis=0)
            distance = slot - centre
            scale = np.abs(distance).max(initial=0)
            return centre, scale, (distance / (scale or np.float32(1))).astype(np.float16)

        with ThreadPoolExecutor() as pool:  # a GPU gives vectors faster than one thread packs them
            centres, scales, deviations = zip(*pool.map(pack, vectors), strict=True)
        return cls(np.stack(centres), np.array(scales, np.float32), np.stack(deviations))

    def unpack(self, slot: int) -> NDArray[np.float32]:
        """The vectors of a slot, float32 (n, width)."""
        vectors: NDArray[np.float32] = np.asarray(self.deviations[slot], np.float32)
        vectors *= self.scales[slot]
        vectors += self.centres[slot]
        return vectors


@dataclass(frozen=True, eq=False)
class Vectors(Measurements):
    """Vectors of n sentences, by pooling and layer; they are read from disk only when needed.

    cls_norms, pooler_norms: as in `Measurements`, computed before packing.
    other_norms: float32 (n, n_layers + 1) for each of `POOLED` but [CLS], computed before packing; empty where there is
        only one vector of a sentence, which then stands in the place of [CLS].
    layer_norms: float32 (n_layers + 1, 2, width), gain and bias of the LayerNorm whose output the layer is; NaN if the
        layer is not the output of one.
    runs: the packed vectors of consecutive runs of sentences. Slots: all layers of the first of `poolings`, then of the
        second, and so on; the pooler output comes last.
    """

    other_norms: Mapping[Pooling, NDArray[np.float32]]
    layer_norms: NDArray[np.float32]
    runs: tuple[Packed, ...]

    @property
    def is_outline(self) -> bool:
        """Whether the vectors themselves are not here."""
        return len(self) > 0 and not self.runs

    @property
    def poolings(self) -> tuple[Pooling, ...]:
        """Those that there are after every layer: the first of `POOLED`."""
        return POOLED[: 1 + len(self.other_norms)]

    @property
    def width(self) -> int:
        """Dimensions of a vector."""
        return int(self.layer_norms.shape[2])

    @property
    def norms_by_pooling(self) -> dict[Pooling, NDArray[np.float32]]:
        """As in `Measurements`, computed before packing."""
        return {Pooling.CLS: self.cls_norms, **self.other_norms}

    def of(self, pooling: Pooling, layer: int | None) -> NDArray[np.float32]:
        """Vectors of one pooling after one layer (None: the last), float32 (n, width).

        Dimensions without gain (`gainless`) hold the bias alone.

        Raises IndexError as `norms` does, and StoreError if they are not here or can no longer be read from disk.
        """
        if self.is_outline:
            raise StoreError("These vectors were measured on another machine, and only their norms are here.")
        last = self.n_layers
        if pooling is Pooling.POOLER:
            if not self.has_pooler:
                raise IndexError("this model has no pooler")
            slot = len(self.poolings) * (last + 1)
        elif pooling not in self.poolings:
            raise IndexError(f"{pooling} was not measured")
        else:
            slot = self.poolings.index(pooling) * (last + 1) + range(last + 1)[last if layer is None else layer]
        unpacked = [np.empty((0, self.width), np.float32)]
        for run in self.runs:
            if sum(map(len, unpacked)) < len(self):  # a `head` does not need all runs
                unpacked.append(run.unpack(slot))
        vectors = np.concatenate(unpacked)[: len(self)]
        if pooling is not Pooling.POOLER:
            gainless = self.gainless(layer)
            vectors[:, gainless] = self.layer_norms[last if layer is None else layer, 1, gainless]
        return vectors

    def gainless(self, layer: int | None) -> NDArray[np.bool_]:
        """Which dimensions of the vectors after a layer (None: the last) have no gain, bool (width,).

        Their LayerNorm multiplies what is there by a factor below the rounding of float32 beside its largest: no norm,
        product or cosine of whole vectors can tell it from nothing, and 16 bits keep nothing of it. Only a probe that
        blows every dimension up to a variance of 1 could, if the vectors had not been stored.
        """
        return without_gain(self.layer_norms[self.n_layers if layer is None else layer, 0])

    @classmethod
    def pack(
        cls,
        n_tokens: NDArray[np.int32],
        truncated: NDArray[np.bool_],
        pooled: NDArray[np.float32],
        pooler: NDArray[np.float32] | None = None,
        layer_norms: NDArray[np.float32] | None = None,
    ) -> Self:
        """Pack float32 vectors by pooling and layer, (poolings, n_layers + 1, n, width), and of the pooler, (n, width).

        poolings: `POOLED`, or the first alone. layer_norms: all NaN by default.
        """
        n_poolings, n_layers_and_one, _, width = pooled.shape
        slots = [*pooled.reshape(n_poolings * n_layers_and_one, -1, width), *([] if pooler is None else [pooler])]
        norms = np.stack([np.linalg.norm(slot, axis=1) for slot in slots], axis=1).astype(np.float32)
        of_cls, *of_others, of_pooler = np.split(norms, np.arange(1, n_poolings + 1) * n_layers_and_one, axis=1)
        no_layer_norms = np.full((n_layers_and_one, 2, width), np.nan, np.float32)
        return cls(
            n_tokens,
            truncated,
            of_cls,
            of_pooler,
            dict(zip(POOLED[1:n_poolings], of_others, strict=True)),
            no_layer_norms if layer_norms is None else layer_norms,
            (Packed.of(slots),),
        )

    def head(self, n: int) -> Self:
        """The first n sentences."""
        return replace(
            self,
            **{name: getattr(self, name)[:n] for name in _PER_SENTENCE},
            other_norms={pooling: norms[:n] for pooling, norms in self.other_norms.items()},
        )

    @classmethod
    def none(cls) -> Self:
        """Vectors of no sentences."""
        nothing = vars(Measurements.none())
        others = dict.fromkeys(POOLED[1:], nothing["cls_norms"])
        return cls(**nothing, other_norms=others, layer_norms=np.empty((1, 2, 0), np.float32), runs=())

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the vectors of several runs of sentences by one model; only the last may be a `head`."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return cls.none()
        return replace(
            parts[0],
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in _PER_SENTENCE},
            other_norms={
                pooling: np.concatenate([part.other_norms[pooling] for part in parts])
                for pooling in parts[0].poolings[1:]
            },
            runs=tuple(run for part in parts for run in part.runs),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to store, by name; the norms of a pooling are named after it, such as mean_norms.

        For one run, or none: an outline.
        """
        return {
            **{name: getattr(self, name) for name in _PER_SENTENCE},
            **{f"{pooling}_norms": norms for pooling, norms in self.other_norms.items()},
            "layer_norms": self.layer_norms,
            **{field.name: getattr(run, field.name) for run in self.runs for field in fields(run)},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """The inverse of `to_arrays`; a value is an array, or an object that becomes one when sliced.

        The deviations are kept as they are, to be read later.
        """
        read = {name: array[:] for name, array in arrays.items() if name != "deviations"}
        return cls(
            **{name: read[name] for name in _PER_SENTENCE},
            other_norms={pooling: read[name] for pooling in POOLED[1:] if (name := f"{pooling}_norms") in read},
            layer_norms=read["layer_norms"],
            runs=(Packed(read["centres"], read["scales"], arrays["deviations"]),) if "deviations" in arrays else (),
        )


@dataclass(frozen=True, eq=False)
class PooledVectors:
    """Vectors of n texts after one layer, exactly as computed, of some poolings only.

    n_tokens, truncated: as in `Measurements`. vectors: float32 (n, width) by pooling.
    """

    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    vectors: Mapping[Pooling, NDArray[np.float32]]


KINDS: dict[Kind, type[Measurements]] = {Kind.NORMS: Measurements, Kind.VECTORS: Vectors, Kind.MEANS: Means}
"""The class that holds each kind of measurement."""
