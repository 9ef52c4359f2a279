"""Models of which only the vectors are here: names for vectors or norms that were imported, made of their content."""

import hashlib
import re
from dataclasses import dataclass, replace

from clsviz.errors import ModelError
from clsviz.experiment import Experiment
from clsviz.settings import Unit

_NAME = re.compile(r"imported:(\w[\w.-]{0,59})@([0-9a-f]{32})(-norms)?(-words)?")

_OWN_NAME = re.compile(r"\w[\w.-]{0,59}")


@dataclass(frozen=True)
class Imported:
    """The parts of a name: imported:LABEL@DIGEST, with -norms or -words behind it.

    label: what the user calls the vectors. digest: of the texts, their vectors or norms, and their lengths. only_norms:
    whether norms were imported, and not the vectors. in_words: whether the lengths of the texts in tokens are not
    known, and words stand in their place.
    """

    label: str
    digest: str
    only_norms: bool = False
    in_words: bool = False

    @classmethod
    def parse(cls, name: str) -> "Imported | None":
        """The parts of `name`, or None if it is not one of these."""
        match = _NAME.fullmatch(name)
        return cls(match[1], match[2], bool(match[3]), bool(match[4])) if match else None

    def __str__(self) -> str:
        return f"imported:{self.label}@{self._content}"

    @property
    def _content(self) -> str:
        return f"{self.digest}{'-norms' if self.only_norms else ''}{'-words' if self.in_words else ''}"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what was imported, in hexadecimal; what it is called is not in it."""
        return hashlib.sha256(f"imported {self._content}".encode()).hexdigest()

    @property
    def no_model(self) -> ModelError:
        """The error for whatever needs the model itself."""
        if self.only_norms:
            return ModelError(f"Of {self.label} only norms were imported: there are no vectors, and no model to run.")
        return ModelError(f"The vectors of {self.label} were imported: there is no model to run.")


def as_counted(experiment: Experiment) -> Experiment:
    """The same with lengths in words where they were asked for in tokens, whose number was not imported."""
    name = Imported.parse(experiment.model)
    is_unknown = name is not None and name.in_words and experiment.unit is Unit.TOKENS
    return replace(experiment, unit=Unit.WORDS) if is_unknown else experiment


def check_label(text: str) -> str:
    """`text`, which the user may call their vectors; raises ModelError otherwise."""
    if not _OWN_NAME.fullmatch(text):
        raise ModelError(
            "The name of imported vectors must be 1 to 60 letters, digits, points, hyphens or underscores, and begin "
            "with a letter or a digit."
        )
    return text
