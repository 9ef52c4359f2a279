"""The pipeline of sentence-transformers that a model may come with, read from its files alone."""

import contextlib
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from clsviz.errors import ModelError, quote

MODULES: Final = "modules.json"
"""Names the steps around a model, and the folder of each."""

PROMPTS: Final = "config_sentence_transformers.json"
LIMITS: Final = "sentence_*_config.json"
CONFIG: Final = "config.json"
TOKENIZER: Final = "tokenizer_config.json"
WEIGHTS: Final = "model.safetensors"

DAMAGE: Final = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Raised where a file of settings is not what it should be."""

NO_LIMIT: Final = 1_000_000  # transformers writes 1e30 where there is none

MODELS: Final = ("Transformer", "StaticEmbedding")
WEIGHTED: Final = ("StaticEmbedding", "Dense", "LayerNorm")
STEPS: Final = (*MODELS, *WEIGHTED[1:], "Pooling", "Normalize", "Dropout")
"""Steps that may be run: those that a model is, those with weights of their own, and all."""

OWN: Final = (("Transformer", "Pooling"), ("Transformer", "Pooling", "Normalize"))
"""Steps that our own pass computes where they pool [CLS] or the mean."""


@dataclass(frozen=True)
class Pipeline:
    """Steps from a text to the vector that a model emits.

    steps: names of the modules; () where there is no pipeline. max_length: tokens that it reads of
    a text, special ones included; None where it does not say. lower_case: True if texts are
    lowercased. pooling: such as cls, mean or cls+mean. includes_prompt: True if the tokens of a
    prompt are pooled. prompts: by name. truncate_dim: numbers of a vector that are emitted, or
    None for all. similarity: that the model was trained for, or "". fingerprint: of all that
    changes vectors but the transformer and the prompts. is_unknown: True if the model came from the
    Hub without a look for its pipeline.
    """

    steps: tuple[str, ...] = ()
    max_length: int | None = None
    lower_case: bool = False
    pooling: str = ""
    includes_prompt: bool = True
    prompts: tuple[tuple[str, str], ...] = ()
    truncate_dim: int | None = None
    similarity: str = ""
    fingerprint: str = ""
    is_unknown: bool = False

    @property
    def normalizes(self) -> bool:
        """True if every vector has norm 1."""
        return self.steps[-1:] == ("Normalize",) and self.truncate_dim is None

    @property
    def is_own(self) -> bool:
        """True if our own pass computes it, without sentence-transformers."""
        is_plain = self.includes_prompt and self.truncate_dim is None
        return self.steps in OWN and self.pooling in ("cls", "mean") and is_plain

    def prompt(self, role: str) -> str:
        """The prompt before a query, or before a text; as `encode_query`, `encode_document` do."""
        return dict(self.prompts).get({"query": "query", "text": "document"}[role], "")

    def caveats(self, pooling: str, *, is_of_norms: bool = True) -> tuple[str, ...]:
        """Sentences about the steps that a vector leaves out. is_of_norms: nothing is searched."""
        own, vector, is_other = "The model’s own pipeline", quote(pooling), pooling != "pipeline"
        roles = ["queries"] * (not is_of_norms and self.prompt("query") != "")
        roles += ["texts"] * (self.prompt("text") != "")
        before = " and ".join(roles)
        others = " and ".join(map(quote, sorted({*self.steps} - {*OWN[1]})))
        names = [name for name, text in self.prompts if text and name not in ("query", "document")]
        spare = " and ".join(map(quote, names))
        cases = {
            f"{own}, if it has one, is not on this machine.": self.is_unknown,
            f"{own} puts a prompt before {before}; the vector {vector} has none.": is_other
            and roles,
            f"{own} takes the vector {quote(self.pooling)}; this is about {vector}.": (
                is_other and self.pooling not in ("", pooling)
            ),
            f"{own} normalizes vectors; norms are those before that.": (
                is_of_norms and is_other and self.normalizes
            ),
            f"{own} has {others}; {vector} comes before that.": is_other and others,
            f"Its files also have the prompts {spare}, which encode_query and encode_document "
            "leave out: see text_prompt.": not is_other and spare,
        }
        return tuple(sentence for sentence, holds in cases.items() if holds)


NONE: Final = Pipeline()


def _steps(root: Path) -> list[tuple[str, str]]:
    """The class and the path of each step that modules.json names; none where it is damaged."""
    with contextlib.suppress(*DAMAGE):
        steps = json.loads((root / MODULES).read_bytes())
        return [(_kind(step), str(step["path"])) for step in steps]
    return []


def first_step(root: Path) -> str:
    """The first step that modules.json names, or ""."""
    return next((kind for kind, _ in _steps(root)), "")


def nested_path(root: Path) -> str:
    """The subfolder that modules.json names for the model, or ""."""
    kind, path = next(iter(_steps(root)), ("", ""))
    return path if kind in MODELS and re.fullmatch(r"\w[\w.-]*", path) else ""


def pipeline_folder(folder: Path) -> Path | None:
    """The folder of the pipeline whose model lies in a folder: itself, its parent or None."""
    for root in (folder, folder.parent):
        if (root / MODULES).is_file() and root / nested_path(root) == folder:
            return root
    return None


def files_of(root: Path) -> list[str]:
    """The files of steps after the first, and its prompts, as far as a pipeline may have them."""
    plain = [path for _, path in _steps(root)[1:] if re.fullmatch(r"\w[\w.-]*", path)]
    return [PROMPTS, *(f"{path}/{name}" for path in plain for name in (CONFIG, WEIGHTS))]


def read(folder: Path) -> Pipeline:
    """The pipeline of the model in a folder; raises ModelError where its files are damaged.

    The model may lie in a subfolder of its pipeline's. Limits are read as sentence-transformers
    does: only with a pipeline, and those of the tokenizer's settings first.
    """
    root = pipeline_folder(folder)
    if root is None:
        cache = folder.parent.parent / ".no_exist" / folder.name  # what the Hub lacks
        is_cached = folder.parent.name == "snapshots"
        return Pipeline(is_unknown=is_cached and not (cache / MODULES).exists())
    try:
        modules = json.loads((root / MODULES).read_bytes())
        kinds = tuple(map(_kind, modules))
        paths = [str(step["path"]) for step in modules]
        if outside := [path for path in paths if not re.fullmatch(r"(\w[\w.-]*)?", path)]:
            reason = f"The model’s own pipeline has a step in {quote(outside[0])}."
            raise ModelError(reason, "Name a folder next to modules.json.")
        folders = [root / path for path in paths]
        _check(kinds, folders)
        limits = next(map(_settings, sorted(folder.glob(LIMITS))), {})
        settings = _settings(root / PROMPTS) if (root / PROMPTS).is_file() else {}
        has_pooling = "Pooling" in kinds
        pooling = _settings(folders[kinds.index("Pooling")] / CONFIG) if has_pooling else {}
        of_tokenizer = limits.get("tokenizer_args") or limits.get("processor_kwargs") or {}
        limit = of_tokenizer.get("model_max_length") or limits.get("max_seq_length")
        prompts = {name: text or "" for name, text in (settings.get("prompts") or {}).items()}
        similarity = settings.get("similarity_fn_name")
        pipeline = Pipeline(
            steps=kinds,
            max_length=None if limit is None else int(limit),
            lower_case=bool(limits.get("do_lower_case")),
            pooling=_pooling(pooling) if has_pooling else "",
            includes_prompt=bool(pooling.get("include_prompt", True)),
            prompts=tuple((str(name), str(text)) for name, text in prompts.items()),
            truncate_dim=settings.get("truncate_dim"),
            similarity=similarity if similarity in ("cosine", "dot") else "",
        )
        return replace(pipeline, fingerprint=_fingerprint(pipeline, folders[1:]))
    except (*DAMAGE, OverflowError) as error:
        reason = f"The pipeline in {quote(root)} cannot be read ({quote(error)})."
        raise ModelError(reason, "Fetch its files again.") from error


def limit_of_tokenizer(folder: Path) -> int:
    """Tokens of a text, at most, by the settings of the tokenizer in a folder; 0 for no limit."""
    try:
        limit = int(_settings(folder / TOKENIZER)["model_max_length"])
    except (*DAMAGE, OverflowError):
        return 0
    return limit if limit < NO_LIMIT else 0


def _kind(module: Mapping[str, Any]) -> str:
    """The class of a module of sentence-transformers' own; others as they are written."""
    return re.sub(r"^sentence_transformers\.(\w+\.)*", "", str(module["type"]))


def _check(kinds: Sequence[str], folders: Sequence[Path]) -> None:
    """Raise ModelError where a step may not be run or read, or has weights in an unsafe format."""
    if others := [kind for kind in kinds if kind not in STEPS]:
        reason = f"The model’s own pipeline has {quote(others[0])}, which is not run here: "
        raise ModelError(f"{reason}only {', '.join(STEPS)} are.", "Choose another model.")
    for kind, folder in zip(kinds, folders, strict=True):
        if kind in WEIGHTED and not (folder / WEIGHTS).is_file():
            reason = f"The step {kind} of the model’s own pipeline has no {WEIGHTS}."
            raise ModelError(reason, "Fetch its files again, or convert them to safetensors.")


def _settings(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes()))


def _pooling(settings: Mapping[str, Any]) -> str:
    """The mode of a Pooling module, from its name or from older settings, pooling_mode_…."""
    if mode := settings.get("pooling_mode"):
        return mode if isinstance(mode, str) else "+".join(mode)
    names = [name for name, is_on in settings.items() if is_on is True]
    modes = [re.sub("^pooling_mode_|_tokens?$", "", name) for name in names]
    return "+".join(mode for mode in modes if not mode.startswith("include")) or "mean"


def _fingerprint(pipeline: Pipeline, folders: Sequence[Path]) -> str:
    """Of the steps' settings and weights, 16 hexadecimal digits; prompts are part of other keys."""
    digest = hashlib.sha256(repr(replace(pipeline, prompts=(), similarity="")).encode())
    for path in (folder / name for folder in folders for name in (CONFIG, WEIGHTS)):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
