"""The files of a model: which it needs, what is wrong with them, and their fingerprint."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from clsviz.atomic import sha256
from clsviz.errors import ModelError, first_line

WEIGHTS = ("*.safetensors", "*.safetensors.index.json")

TOKENIZER_SETTINGS = "tokenizer_config.json"

TOKENIZER = (
    "tokenizer.json", TOKENIZER_SETTINGS, "special_tokens_map.json", "added_tokens.json",
    "vocab.txt", "vocab.json", "merges.txt", "bpe.codes", "*.model",
)  # fmt: skip

VOCABULARY = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
"""Without one of these, the other files do not make a tokenizer."""

FILES = ("config.json", *TOKENIZER, *WEIGHTS)

DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What reading a file raises if it does not hold what it should."""

_DECODER = re.compile(r".*ForCausalLM|(?!XLNet|.*With).*LMHeadModel")
"""Classes that predict the next token. XLNet's and XLM's have such names too, but see both sides of a token."""


def transformer_path(folder: Path) -> str:
    """The subfolder that modules.json names for the transformer, ending in “/”, or "" if it names none.

    Repositories of sentence-transformers may have the model in a folder of its own.
    """
    try:
        if not (folder / "modules.json").is_file():
            return ""
        modules = json.loads((folder / "modules.json").read_bytes())
        paths = [str(module["path"]) for module in modules if str(module["type"]).endswith(".Transformer")]
    except DAMAGE:
        return ""
    is_plain = bool(paths) and re.fullmatch(r"\w[\w.-]*", paths[0]) is not None
    return f"{paths[0]}/" if is_plain else ""


def refuse_lacking(name: str, has_configuration: bool, has_vocabulary: bool) -> None:
    """Raise ModelError if the configuration or the tokenizer is missing."""
    if not has_configuration:
        raise ModelError(f"{name} is not a model: it has no config.json. Choose another.")
    if not has_vocabulary:
        raise ModelError(
            f"{name} has no tokenizer beside its weights. Choose another, or save its tokenizer there too."
        )


def refuse_pickle(name: str, weights: list[str], all_files: list[str]) -> None:
    """Raise ModelError if no weights are safetensors; `all_files` are searched for other formats."""
    if any(path.endswith(".safetensors") for path in weights):
        return
    if not any(path.endswith((".bin", ".pt", ".h5", ".ckpt", ".msgpack")) for path in all_files):
        raise ModelError(f"{name} holds no model weights: it has no model.safetensors. Choose another.")
    raise ModelError(
        f"{name} has no weights in the safetensors format. Other formats can run code when loaded, so they are "
        "refused. Look on its page for a pull request that adds model.safetensors and name it with @refs/pr/ and its "
        "number, or convert them with transformers' save_pretrained."
    )


def refuse_decoder(name: str, path: Path) -> None:
    """Raise ModelError if the configuration alone shows that this is not an encoder, before its weights are fetched."""
    try:
        config = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return  # loading it tells what is wrong
    if not isinstance(config, dict):
        return
    architectures = config.get("architectures") or []
    kinds = [str(kind) for kind in architectures] if isinstance(architectures, list) else []
    if config.get("is_encoder_decoder") or any(kind.endswith("ForConditionalGeneration") for kind in kinds):
        raise ModelError(f"{name} is an encoder with a decoder. Choose an encoder, such as bert-base-uncased.")
    if config.get("is_decoder") or any(_DECODER.fullmatch(kind) for kind in kinds):
        raise ModelError(f"{name} is a decoder, which has no [CLS]. Choose an encoder, such as bert-base-uncased.")


def checked_files(name: str, folder: Path, untrained: bool) -> list[Path]:
    """The files that a model in `folder` is loaded from, sorted; raises ModelError if one is missing or damaged."""
    if not os.path.isdir(folder):
        raise ModelError(f"There is no folder {name}.")
    refuse_lacking(name, (folder / "config.json").is_file(), bool(matching(folder, VOCABULARY)))
    if not untrained:
        refuse_pickle(name, [path.name for path in matching(folder, WEIGHTS[:1])], os.listdir(folder))
    from safetensors import SafetensorError, safe_open

    patterns = ("config.json", *TOKENIZER) if untrained else FILES
    files = matching(folder, patterns)
    try:
        strangers = weight_files_named(folder) - {path.name for path in files}
        for path in matching(folder, () if untrained else WEIGHTS[:1]):
            with safe_open(path, framework="numpy"):
                pass  # only to see that its header can be read
    except (*DAMAGE, SafetensorError) as error:
        raise ModelError(f"{name} is damaged ({first_line(error)}). Fetch its files again.") from error
    if strangers and not untrained:
        raise ModelError(f"{name} names weights that are not in its folder: {', '.join(sorted(strangers))}.")
    # Some programs fetch other vocabularies beside a tokenizer.json too, and the fingerprint must not depend on that.
    has_all = any(path.name == "tokenizer.json" for path in files)
    unread = [pattern for pattern in (*VOCABULARY, "merges.txt", "bpe.codes") if pattern != "tokenizer.json"]
    return [path for path in files if not (has_all and any(path.match(pattern) for pattern in unread))]


def weight_files_named(folder: Path) -> set[str]:
    """Names of the files that hold the weights, as the configuration and the indexes say."""
    config = json.loads((folder / "config.json").read_bytes())
    if not isinstance(config, dict):
        raise ValueError("its config.json holds no settings")
    names = {config.get("transformers_weights")} - {None}
    for index in matching(folder, WEIGHTS[1:]):
        names |= set(json.loads(index.read_bytes())["weight_map"].values())
    return set(map(str, names))


def matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """The files directly in `folder` that match any of the patterns, sorted."""
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def fingerprint(files: Iterable[Path]) -> str:
    """SHA-256 over the names and contents of files, in hexadecimal."""
    digests = {path.name: sha256(path) for path in files}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()
