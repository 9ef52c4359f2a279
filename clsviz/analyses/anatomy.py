"""A model in parts, and a text in it."""

from typing import Final

from clsviz.encoder.anatomy import Anatomy
from clsviz.jobs.workspace import Workspace
from clsviz.progress import Progress
from clsviz.settings import Precision
from clsviz.sources.models import Weights

VERSION: Final = 1
"""Changes when models are taken apart, or sentences measured word by word, in another way."""

EXAMPLE: Final = "Sinan loves a beautiful day"
"""The sentence of a visitor who has typed none; all that is measured of it is stored."""


def dissect(
    weights: Weights, precision: Precision, text: str, workspace: Workspace, progress: Progress
) -> Anatomy:
    """The model in parts, with a text in it; of texts the example alone is stored.

    Raises ModelError or SettingError.
    """
    key = "anatomy", VERSION, weights.fingerprint, precision
    known = workspace.results.find(key, Anatomy) if text == EXAMPLE else None
    if known is not None:
        return known
    with progress.at("model", weights):
        workspace.runner.load(weights, precision)
        parts = workspace.runner.dissect(weights, precision, text)
    return workspace.results.put(key, parts) if text == EXAMPLE else parts
