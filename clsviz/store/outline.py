"""Outlines: what is kept of sentences whose vectors were measured elsewhere, which is all but the vectors themselves.

    <store>/vectors-<digest of the key>/outline.safetensors

They come with clsviz, together with what was read from the vectors: a page whose readings all came along needs no more.
"""

import json
from dataclasses import asdict
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors import numpy as safetensors

from clsviz.atomic import new_file
from clsviz.measurements import POOLED
from clsviz.store.parts import Key
from clsviz.vectors import Vectors

_NAME = "outline.safetensors"

_PER_SENTENCE = ("n_tokens", "truncated", "cls_norms", "pooler_norms")


def write_outline(root: Path, key: Key, vectors: Vectors) -> None:
    """Keep all but the vectors in the store at `root`; raises StoreError."""
    arrays = {name: getattr(vectors, name) for name in _PER_SENTENCE} | {"layer_norms": vectors.layer_norms}
    arrays |= {f"{pooling}_norms": norms for pooling, norms in vectors.other_norms.items()}
    with new_file(root / key.folder_name / _NAME) as temporary:
        safetensors.save_file(arrays, temporary, metadata={"key": json.dumps(asdict(key), sort_keys=True)})


def read_outline(root: Path, key: Key) -> Vectors | None:
    """What `write_outline` kept; None if there is none."""
    try:
        with safe_open(root / key.folder_name / _NAME, framework="numpy") as tensors:
            arrays = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
            said = tensors.metadata()["key"]
    except (OSError, SafetensorError):
        return None
    if said != json.dumps(asdict(key), sort_keys=True):
        return None
    return Vectors(
        **{name: arrays[name] for name in _PER_SENTENCE},
        other_norms={pooling: arrays[f"{pooling}_norms"] for pooling in POOLED[1:]},
        layer_norms=arrays["layer_norms"],
        runs=(),
    )
