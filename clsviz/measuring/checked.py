"""Which encoders were compared with what transformers loads, and agreed: remembered, as that takes seconds."""

import contextlib
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from clsviz.atomic import new_file, open_regular
from clsviz.errors import StoreError

if TYPE_CHECKING:
    from clsviz.encoder import AnyEncoder


class Checked:
    """The encoders that agreed, each a small file under what it depends on; another machine has to see for itself."""

    def __init__(self, folder: Path | None = None) -> None:
        """folder: where they are remembered; by default nowhere."""
        self._folder = folder

    def __contains__(self, encoder: "AnyEncoder") -> bool:
        if self._folder is None:
            return False
        about, name = _about(encoder)
        with contextlib.suppress(OSError), open_regular(self._folder / name) as file:
            return file.read() == about.encode()
        return False

    def add(self, encoder: "AnyEncoder") -> None:
        """Remember that it agreed, if it can be: an encoder may be checked once too often."""
        if self._folder is not None:
            about, name = _about(encoder)
            with contextlib.suppress(StoreError), new_file(self._folder / name) as temporary:
                temporary.write_bytes(about.encode())


def _about(encoder: "AnyEncoder") -> tuple[str, str]:
    """All that an encoder's numbers depend on, and the name of the file that says so."""
    model = {"model": encoder.weights.fingerprint, "precision": encoder.precision.numbers}
    about = json.dumps(model | encoder.circumstances, indent=1, sort_keys=True)
    return about, f"{hashlib.sha256(about.encode()).hexdigest()[:24]}.json"
