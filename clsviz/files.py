"""Files that are written whole or not at all."""

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

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
