"""Models on the Hugging Face Hub: which files they need, and the folder of the user's cache that holds them."""

import contextlib
import fnmatch
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from clsviz import hub
from clsviz.errors import ModelError
from clsviz.models import files as model_files
from clsviz.models.catalogue import MODELS
from clsviz.models.names import Name, checked_name
from clsviz.progress import Progress, interruptible


class NotDownloadedError(ModelError):
    """The model is on the Hugging Face Hub, and not yet on this machine."""


class Needed(NamedTuple):
    """What a model needs of its repository.

    below: the folder in the repository that holds the model, ending in “/”, or "". files: in the order in which they
    are downloaded.
    """

    repository: "hub.Repository"
    below: str
    files: "list[hub.File]"


def download_megabytes(name: str, progress: Progress) -> int:
    """How many megabytes a model of the Hub takes to download; the Hub is asked unless the model is in the catalogue.

    Raises ModelError where the Hub has no such model.
    """
    parsed = checked_name(name)
    if parsed.base in MODELS:
        return 1 if parsed.untrained else MODELS[parsed.base].megabytes
    return 1 + sum(file.size for file in needed(parsed, progress).files) // 10**6


def cached(name: Name) -> Path:
    """The folder of the user's cache that holds a model of the Hub; raises NotDownloadedError."""
    folder = hub.cached_folder(name.repo, name.revision or None, ("config.json", "modules.json"))
    if folder is None or not _is_complete(folder, name.untrained):
        raise NotDownloadedError(f"{name} has to be downloaded from the Hugging Face Hub first.")
    return folder


def cached_or_downloaded(name: Name, progress: Progress) -> Path:
    """The folder of the user's cache that holds a model of the Hub, downloaded if need be.

    Raises ModelError and CancelledError.
    """
    with contextlib.suppress(NotDownloadedError):
        return cached(name)
    repository, below, files = needed(name, progress)
    n_settings = sum(not fnmatch.fnmatch(file.path, "*.safetensors*") for file in files)
    folder = hub.fetch(repository, files[:n_settings], progress)
    model_files.refuse_decoder(str(name), folder / below / "config.json")
    if len(files) > n_settings:
        hub.fetch(repository, files[n_settings:], progress)
    if not repository.matching([below + model_files.TOKENIZER_SETTINGS]):
        hub.note_absence(repository, below + model_files.TOKENIZER_SETTINGS)
    hub.remember(repository, name.revision or None)
    return folder


def needed(name: Name, progress: Progress) -> Needed:
    """Ask the Hub what a model needs; raises ModelError where something is missing."""
    progress.begin(f"Looking for {name.repo} on the Hugging Face Hub")
    try:
        found = interruptible(lambda: hub.open_repository(name.repo, "model", name.revision or None), progress)
    except ModelError as error:
        raise ModelError(f"{error}{hub.suggestion(name.base, MODELS)}") from error
    # The Hub may answer with a newer name of the repository, under which the cache would not be found again.
    repository = replace(found, name=name.repo)
    if not name.untrained:
        paths = [file.path for file in repository.files]
        model_files.refuse_pickle(str(name), paths, paths)
    below = ""
    if modules := repository.matching(["modules.json"]):
        below = model_files.transformer_path(hub.fetch(repository, modules, progress))
    return Needed(repository, below, _files_of(name, repository, below))


def _files_of(name: Name, repository: "hub.Repository", below: str) -> "list[hub.File]":
    """The files that a model needs, in the folder `below`.

    The configuration comes after the tokenizer, so that where it is cached, all settings are. The weights come last,
    after their index, so that where they are cached, everything is.
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
    """Whether the cache holds all of a model, in the `folder` of its commit: other programs may have left a part."""
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
        return True  # loading it tells what is wrong
    return untrained or named <= {path.name for path in model_files.matching(part, model_files.WEIGHTS[:1])}
