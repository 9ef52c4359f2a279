"""Atomic writes, and array files with a checksum."""

import contextlib
import json
import os
import shutil
import threading
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import StoreError, quote


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which becomes `path` at its end; after an error `path` is as before.

    A kill may leave a .tmp file. Raises StoreError where the disk is full or may not be written.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_native_id()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        is_blocked = isinstance(error, FileExistsError | IsADirectoryError | NotADirectoryError)
        action = "Remove what is in its way" if is_blocked else "Free some space"
        reason = f"{quote(path)} cannot be written ({error.strerror or error})."
        raise StoreError(reason, f"{action}, or choose another folder.") from error
    finally:
        remove(temporary)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all in it, as far as that is possible."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, str]) -> None:
    """Write arrays and a description, whole or not at all; raises StoreError.

    Anything else at this path is removed first.
    """
    from safetensors.numpy import save

    if os.path.isdir(path):
        remove(path)
    ordered = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with replacing(path) as file:
        file.write(save(ordered, {**about, "checksum": _checksum(ordered, about)}))


def read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]] | None:
    """The arrays and the description; None where there is no file, or a damaged one."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    damage = (
        OSError,
        SafetensorError,
        ValueError,
        KeyError,
        TypeError,
        RecursionError,
        MemoryError,
    )
    with contextlib.suppress(*damage):
        if path.is_file():  # reading a named pipe would wait for ever
            content = path.read_bytes()  # not mapped: a file cut while it is read kills the process
            arrays: dict[str, NDArray[Any]] = load(content)
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
