"""Settings (to be replaced)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clsviz.experiment import *  # noqa
from clsviz.experiment import Experiment

Similarity = Literal["cosine", "dot"]


@dataclass(frozen=True)
class SearchSettings:
    task: str = ""
    titles: str = ""
    searches: Path | None = None
    vectors: Path | None = None
    query_vectors: Path | None = None
    similarity: Similarity = "cosine"
    max_exposure: float | None = None
    length_power: float | None = None


@dataclass(frozen=True)
class ChunkTestSettings:
    titles: str = ""
    searches: Path | None = None
    similarity: Similarity = "cosine"
    chunk_tokens: int | None = None
    max_lost: float | None = None


def refuse(question: str, experiment: Experiment, settings: Any = None) -> None:
    pass
