"""How fast models were measured here: of each folder of parts, how many sentences the largest had, and its seconds."""

import contextlib
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clsviz.atomic import new_file, open_regular
from clsviz.errors import StoreError

_SPEED = "speed.json"


def note(folder: Path, n_sentences: int, seconds: float) -> None:
    """Note how long a part took, if none of this folder was larger."""
    path = folder / _SPEED
    if seconds > 0 and n_sentences >= _speed(path)[0]:
        with contextlib.suppress(StoreError), new_file(path) as temporary:  # an estimate is not worth a complaint
            temporary.write_text(json.dumps([n_sentences, seconds]))


def rate(keys: Iterable[Path], model: str, precision: str) -> float | None:
    """Sentences per second at which the model with this fingerprint was last measured, or None.

    keys: the files beside the parts that say what they are of.
    """
    known = [(0, 1.0)]
    with contextlib.suppress(OSError):  # of a store that cannot be looked into
        for path in keys:
            key = _json_in(path)
            if isinstance(key, dict) and (key.get("model"), key.get("precision")) == (model, precision):
                known.append(_speed(path.with_name(_SPEED)))
    # The largest part says most; of equal ones the fastest, since other programs come and go.
    n_sentences, seconds = max(known, key=lambda speed: (speed[0], -speed[1]))
    return n_sentences / seconds if n_sentences else None


def _speed(path: Path) -> tuple[int, float]:
    """Sentences in the largest part of a key, and the seconds they took; no sentences if that is not known."""
    try:
        n_sentences, seconds = _json_in(path)
        if int(n_sentences) > 0 and 0 < float(seconds) < math.inf:
            return int(n_sentences), float(seconds)
    except (TypeError, ValueError, OverflowError):
        pass
    return 0, 1.0


def _json_in(path: Path) -> Any:
    """What a small file says, or None."""
    try:
        with open_regular(path) as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
