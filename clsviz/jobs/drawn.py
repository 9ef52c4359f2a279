"""Untrained models: which random weights a machine draws is noted in the store, beside the results that are of them.

    <store>/drawn/<fingerprint of the model>.json

A model's configuration, seed and recipe do not settle the weights: another version of PyTorch may draw others. So their
digest is a part of what the store has results under. It is read from the note, which comes with clsviz for the models
whose results do, so that these are found before anything is drawn. Drawing compares.
"""

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clsviz.atomic import read_file, write_file
from clsviz.errors import ModelError
from clsviz.jobs.worker_process import Encoders
from clsviz.settings import Precision
from clsviz.sources.models import Weights
from clsviz.store.store import Store

if TYPE_CHECKING:
    from clsviz.encoder import Encoder

REDRAWN = (
    "PyTorch draws other random weights on this machine than those of the earlier results, so the results are measured "
    "again."
)


class RedrawnError(ModelError):
    """Results of an untrained model are of other random weights than those that were drawn now."""

    def __init__(self) -> None:
        super().__init__(f"{REDRAWN} Try again.")


def identified(weights: Weights, store: Store) -> Weights:
    """Weights whose fingerprint counts those that were drawn, as far as the store has noted which; others as they are.

    What this machine drew last counts more than what was drawn where the results were made that come with clsviz.
    """
    if not weights.untrained:
        return weights
    recipe = weights.identity
    shipped = [store.shipped] if store.shipped else []
    for root in [store.root, *shipped]:
        with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            note = json.loads(read_file(_note(root, recipe)))
            digest, before = str(note["digest"]), str(note["before"])
            fingerprint = hashlib.sha256(f"{recipe}\n{digest}".encode()).hexdigest()
            return replace(weights, fingerprint=fingerprint, recipe=recipe, drawn=digest, is_redrawn=bool(before))
    return replace(weights, fingerprint=recipe, recipe="", drawn="", is_redrawn=False)


def encoder_of(weights: Weights, encoders: Encoders, store: Store, precision: Precision = Precision.EXACT) -> "Encoder":
    """The encoder with these weights; what an untrained one drew is noted in the store, if it is news.

    Raises ModelError where it cannot be loaded, RedrawnError where `weights` are others than those that were drawn, and
    StoreError.
    """
    encoder = encoders.get(weights, precision)
    if weights.untrained and encoder.drawn != weights.drawn:
        note = json.dumps({"digest": encoder.drawn, "before": weights.drawn})
        write_file(_note(store.root, weights.identity), note.encode())
        if weights.drawn:
            raise RedrawnError
    return encoder


def drawn(weights: Weights, encoders: Encoders, store: Store) -> Weights:
    """As `identified`; an untrained model of which the store has no note is loaded, so that it has.

    Raises what `encoder_of` does.
    """
    weights = identified(weights, store)
    if weights.untrained and not weights.drawn:
        encoder_of(weights, encoders, store)
    return identified(weights, store)


def _note(root: Path, recipe: str) -> Path:
    return root / "drawn" / f"{recipe[:32]}.json"
