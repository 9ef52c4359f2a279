"""The pipeline of sentence-transformers that a model may come with, read from its files alone."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clsviz.errors import ModelError, quote
from clsviz.sources import models
from clsviz.sources.models import LIMITS, PIPELINE, PROMPTS, pipeline_folder

PROMPTED = "The model’s own pipeline puts a prompt before texts; here they have none."


@dataclass(frozen=True)
class Pipeline:
    """Steps around a model that change what it reads, and those that are only named.

    max_length: tokens that it reads of a text, special ones included; None where it does not say.
    lower_case: True if texts are lowercased. has_prompt: True if a prompt precedes each. pooling:
    the vector that it takes, such as cls or mean; "" where it does not say. normalizes: True if it
    ends in vectors of norm 1. others: steps that change vectors otherwise. is_unknown: True if the
    model came from the Hub without a look for its pipeline.
    """

    max_length: int | None = None
    lower_case: bool = False
    has_prompt: bool = False
    pooling: str = ""
    normalizes: bool = False
    others: tuple[str, ...] = ()
    is_unknown: bool = False

    def caveats(self, pooling: str) -> tuple[str, ...]:
        """Sentences about the steps that are left out, for whoever looks at norms of a vector."""
        takes = f"takes the vector {quote(self.pooling)}; this is about {quote(pooling)}"
        normalizes = "Its own pipeline normalizes vectors; norms are those before that."
        cases = [
            (self.is_unknown, "The model’s own pipeline, if it has one, is not on this machine."),
            (self.has_prompt, PROMPTED),
            (self.pooling not in ("", pooling), f"The model’s own pipeline {takes}."),
            (self.normalizes, normalizes),
            (self.others, before(self.others)),
        ]
        return tuple(sentence for holds, sentence in cases if holds)


def before(others: tuple[str, ...]) -> str:
    """The caveat about steps that change vectors otherwise."""
    names = " and ".join(map(quote, others))
    return f"The model's own pipeline ends with {names}; vectors are those before that."


def read(folder: Path) -> Pipeline:
    """The pipeline of the model in a folder; raises ModelError where its files are damaged.

    The model may lie in a subfolder of its pipeline's. Limits are read as sentence-transformers
    does: only with a pipeline, and those of the tokenizer's settings first.
    """
    root = pipeline_folder(folder)
    if root is None:
        cache = folder.parent.parent / ".no_exist" / folder.name  # what the Hub lacks
        is_cached = folder.parent.name == "snapshots"
        return Pipeline(is_unknown=is_cached and not (cache / PIPELINE).exists())
    try:
        modules = json.loads((root / PIPELINE).read_bytes())
        steps = {str(step["type"]).rpartition(".")[2]: root / str(step["path"]) for step in modules}
        settings = next(map(_settings, sorted(folder.glob(LIMITS))), {})
        prompts = _settings(root / PROMPTS) if (root / PROMPTS).is_file() else {}
        of_tokenizer = settings.get("tokenizer_args") or settings.get("processor_kwargs") or {}
        limit = of_tokenizer.get("model_max_length") or settings.get("max_seq_length")
        default = (prompts.get("prompts") or {}).get(prompts.get("default_prompt_name"))
        return Pipeline(
            max_length=None if limit is None else int(limit),
            lower_case=bool(settings.get("do_lower_case")),
            has_prompt=bool(default),
            pooling=_pooling(steps["Pooling"] / "config.json") if "Pooling" in steps else "",
            normalizes="Normalize" in steps,
            others=tuple(sorted(steps.keys() - {"Transformer", "Pooling", "Normalize"})),
        )
    except (*models.DAMAGE, OverflowError) as error:
        reason = f"The pipeline in {quote(root)} cannot be read ({quote(error)})."
        raise ModelError(reason, "Fetch its files again.") from error


def _settings(path: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(path.read_bytes())
    return settings


def _pooling(path: Path) -> str:
    """The mode of a Pooling module, from its name or from older settings, pooling_mode_…."""
    settings = _settings(path)
    if mode := settings.get("pooling_mode"):
        return mode if isinstance(mode, str) else "+".join(mode)
    names = [name for name, is_on in settings.items() if is_on is True]
    modes = [re.sub("^pooling_mode_|_tokens?$", "", name) for name in names]
    return "+".join(mode for mode in modes if not mode.startswith("include")) or "mean"
