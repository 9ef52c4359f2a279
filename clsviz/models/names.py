"""The parts of a model's name, and its label."""

import os
from dataclasses import dataclass
from pathlib import Path

from clsviz import hub
from clsviz.errors import ModelError
from clsviz.models.catalogue import MODELS
from clsviz.models.imported import Imported
from clsviz.settings import printable

UNTRAINED = "untrained:"
"""Put before a model's name: its architecture with random weights."""


@dataclass(frozen=True)
class Name:
    """The parts of a model's name: [untrained:]base[@revision].

    base: a name in the catalogue, a repository on the Hugging Face Hub, or a local folder, which has no revision.
    """

    base: str
    revision: str = ""
    untrained: bool = False

    @classmethod
    def parse(cls, text: str) -> "Name":
        """The parts of `text`."""
        untrained = text.startswith(UNTRAINED)
        base = text.removeprefix(UNTRAINED).strip()
        if is_folder(base):
            return cls(base, "", untrained)
        base, _, revision = base.partition("@")
        return cls(base.strip(), revision.strip(), untrained)

    @property
    def repo(self) -> str:
        """Its repository on the Hub; "" for a local folder and the built-in model."""
        if is_folder(self.base):
            return ""
        return MODELS[self.base].repo if self.base in MODELS else self.base

    def __str__(self) -> str:
        return f"{UNTRAINED if self.untrained else ''}{self.base}{'@' if self.revision else ''}{self.revision}"


def label(name: str) -> str:
    """What to call the model `name` in a text; “this model” if that cannot be the name of one."""
    if imported := Imported.parse(name):
        return imported.label
    parsed = Name.parse(name)
    if parsed.base not in MODELS and not is_folder(parsed.base) and not hub.is_id(parsed.base):
        return "this model"
    text = MODELS[parsed.base].label if parsed.base in MODELS else Path(parsed.base).name or parsed.base
    if parsed.revision:
        text += f" @ {hub.shortened(parsed.revision)}"
    return f"untrained {text}" if parsed.untrained else text


def is_folder(name: str) -> bool:
    """Whether `name` means a folder on this machine rather than a repository on the Hub."""
    return name not in MODELS and (name.startswith(("/", "./", "../", "~", "\\")) or os.path.isdir(name))


def checked_name(text: str) -> Name:
    """The parts of `text`; raises ModelError if they cannot name a model."""
    name = Name.parse(text)
    if not is_folder(name.base):
        if name.base not in MODELS and not hub.is_id(name.base):
            raise ModelError(
                f"“{printable(text)}” is not the name of a model. Choose one from the list, or give an id from the "
                "Hugging Face Hub, as in owner/name."
            )
        if "@" in text and not hub.is_revision(name.revision):
            raise ModelError(
                f"“{printable(text)}” has no valid revision after the @. Name a branch, a tag or a full commit there, "
                "or leave out the @."
            )
    return name
