"""Files that are written whole or not at all."""

import contextlib
import os
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
        reason = f"{quote(path)} cannot be written ({error.strerror or error})."
        raise StoreError(reason, "Free some space, or choose another folder.") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
