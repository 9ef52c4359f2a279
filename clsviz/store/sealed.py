"""Files of arrays that know when they are damaged."""

import contextlib
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from clsviz import files
from clsviz.measurements import Arrays


def write(path: Path, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, str]) -> None:
    """Write arrays and a description, whole or not at all; raises StoreError.

    A folder of this name cannot be ours, and makes room.
    """
    if os.path.isdir(path):
        files.remove(path)
    ordered = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with files.replacing(path) as file:
        file.write(save(ordered, {**about, "checksum": _checksum(ordered, about)}))


def read(path: Path) -> tuple[Arrays, dict[str, str]] | None:
    """The arrays and the description; None where there is no file, or a damaged one."""
    with contextlib.suppress(OSError, SafetensorError, ValueError, KeyError, TypeError):
        if path.is_file():  # reading a named pipe would wait for ever
            content = path.read_bytes()  # not mapped: a file cut while it is read kills the process
            arrays: Arrays = load(content)
            # https://huggingface.co/docs/safetensors/index#format: the header's size, then JSON.
            header = content[8 : 8 + int.from_bytes(content[:8], "little")]
            about: dict[str, str] = json.loads(header)["__metadata__"]
            if about.pop("checksum") == _checksum(arrays, about):
                return arrays, about
    return None


def _checksum(arrays: Mapping[str, NDArray[Any]], about: Mapping[str, str]) -> str:
    shapes = {name: [str(array.dtype), array.shape] for name, array in arrays.items()}
    checksum = zlib.crc32(json.dumps([dict(about), shapes], sort_keys=True).encode())
    for name in sorted(arrays):
        checksum = zlib.crc32(arrays[name].tobytes(), checksum)
    return str(checksum)
