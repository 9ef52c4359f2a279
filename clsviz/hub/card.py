"""What the card of a repository declares."""

from typing import Any

import huggingface_hub
import yaml

from clsviz.hub.download import fetch
from clsviz.hub.repository import Repository
from clsviz.progress import Progress

_CARD = "README.md"


_STANDALONE = ".huggingface.yaml"
"""Declares the same, and wins over the card."""


def read_card(repository: Repository, progress: Progress) -> dict[str, Any]:
    """The settings at the head of the repository's card; none if there is no card or it has no head.

    Raises ValueError if they are not well-formed, ModelError or CorpusError if they cannot be fetched, and
    CancelledError.
    """
    files = [file for file in repository.files if file.path in (_CARD, _STANDALONE)]
    if not files:
        return {}
    folder = fetch(repository, files, progress)
    card: dict[str, Any] = {}
    try:
        if (folder / _CARD).is_file():
            card |= huggingface_hub.metadata_load(folder / _CARD) or {}
        if (folder / _STANDALONE).is_file():
            card |= yaml.safe_load((folder / _STANDALONE).read_bytes()) or {}
    except (yaml.YAMLError, TypeError) as error:
        raise ValueError("its card is malformed") from error
    return card
