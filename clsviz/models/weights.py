"""A model's files in a local folder, and what their headers say."""

import functools
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors import safe_open

from clsviz.models.catalogue import MODELS
from clsviz.models.imported import Imported
from clsviz.models.names import Name


@dataclass(frozen=True)
class Weights:
    """A model's files in a local folder, and what they hold.

    fingerprint: SHA-256 over the names and contents of all files that its measurements depend on, in hexadecimal.
    commit: that of its repository on the Hugging Face Hub, or "" if it has none. untrained: whether random weights,
    always the same ones, take the place of those in the folder. Of imported vectors there are no files.
    """

    name: str
    label: str
    folder: Path
    fingerprint: str
    commit: str = ""
    untrained: bool = False

    @property
    def imported(self) -> Imported | None:
        """What was imported in place of a model, if that is so."""
        return Imported.parse(self.name)

    @property
    def pinned(self) -> str:
        """The name with its commit, if it has one, so that it always means these weights."""
        return str(replace(Name.parse(self.name), revision=self.commit)) if self.commit else self.name

    @functools.cached_property
    def n_layers(self) -> int | None:
        """Number of the last layer, or None if the configuration does not say it in a usual way."""
        if self.imported:
            return 0
        return _number(self._config, "num_hidden_layers", "n_layers")

    @functools.cached_property
    def width(self) -> int | None:
        """Dimensions of a vector, or None if the configuration does not say it in a usual way."""
        return None if self.imported else _number(self._config, "hidden_size", "dim", "d_model")

    @functools.cached_property
    def n_parameters(self) -> int:
        """Weights that every token is multiplied by: all matrices except the embeddings."""
        if self.imported:
            return 0
        n = 0
        for path in self.folder.glob("*.safetensors"):
            with safe_open(path, framework="numpy") as tensors:
                shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys() if "embedding" not in name]  # noqa: SIM118
            n += sum(math.prod(shape) for shape in shapes if len(shape) == 2)
        if n and "num_hidden_groups" not in self._config:  # ALBERT runs the same layer several times
            return n
        width = _number(self._config, "hidden_size", "dim") or 768
        inner = _number(self._config, "intermediate_size", "hidden_dim") or 4 * width
        return (self.n_layers or 12) * (4 * width**2 + 2 * width * inner)

    @functools.cached_property
    def _config(self) -> dict[str, Any]:
        config: dict[str, Any] = json.loads((self.folder / "config.json").read_bytes())
        return config


def _number(config: dict[str, Any], *names: str) -> int | None:
    found = [config[name] for name in names if isinstance(config.get(name), int)]
    return found[0] if found else None


def n_parameters(name: str) -> int:
    """`Weights.n_parameters` of a model that is not on this machine; if the catalogue lacks it, that of BERT base."""
    base = Name.parse(name).base
    return 10**6 * (MODELS[base].megaparameters if base in MODELS else MODELS["bert-base-uncased"].megaparameters)
