"""Parts of clsviz that run as programs of their own, in another process."""

import os
from pathlib import Path


def environment() -> dict[str, str]:
    """The variables with which Python finds this very clsviz, wherever it is started."""
    places = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
