"""The pipeline of sentence-transformers that a model may come with, read from its files alone."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clsviz.errors import ModelError, quote


@dataclass(frozen=True)
class Pipeline:
    """Steps around a model that change what it reads, and those that are only named.

    max_length: tokens that it reads of a text, special ones included; None where it does not say.
    lower_case: True if texts are lowercased. pooling: the vector that it takes, such as cls or mean;
    "" where it does not say. normalizes: True if it ends in vectors of norm 1. others: steps that
    change vectors otherwise.
    """

    max_length: int | None = None
    lower_case: bool = False
    pooling: str = ""
    normalizes: bool = False
    others: tuple[str, ...] = ()

    def caveats(self, pooling: str) -> tuple[str, ...]:
        """Sentences about the steps that are left out, for whoever looks at norms of a vector."""
        sentences = []
        if self.pooling not in ("", pooling):
            another = f"{quote(self.pooling)}; this is about {quote(pooling)}"
            sentences.append(f"The model’s own pipeline takes the vector {another}.")
        if self.normalizes:
            sentences.append("Its own pipeline normalizes vectors; norms are those before that.")
        if self.others:
            sentences.append(before(self.others))
        return tuple(sentences)


def read(folder: Path) -> Pipeline:
    """The pipeline of the model in a folder; raises ModelError where its files are damaged.

    The model may lie in a subfolder of its pipeline's.
    """
    roots = [root for root in (folder, folder.parent) if (root / "modules.json").is_file()]
    modules = _json(roots[0] / "modules.json") if roots else []
    try:
        steps = {
            str(step["type"]).rpartition(".")[2]: roots[0] / str(step["path"]) for step in modules
        }
        is_ours = steps.get("Transformer", folder).resolve() == folder.resolve()
        settings = [_json(path) for path in sorted(folder.glob("sentence_*_config.json"))[:1]]
        limit = settings[0].get("max_seq_length") if settings else None
        lower_case = bool(settings and settings[0].get("do_lower_case"))
        most = None if limit is None else int(limit)
        if not is_ours:
            return Pipeline(most, lower_case)
        pooling = _pooling(_json(steps["Pooling"] / "config.json")) if "Pooling" in steps else ""
        others = tuple(sorted(steps.keys() - {"Transformer", "Pooling", "Normalize"}))
        return Pipeline(most, lower_case, pooling, "Normalize" in steps, others)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(folder) from error


def before(others: tuple[str, ...]) -> str:
    """The caveat about steps that change vectors otherwise."""
    names = " and ".join(map(quote, others))
    return f"The model's own pipeline ends with {names}; vectors are those before that."


def _pooling(settings: dict[str, Any]) -> str:
    """The mode of a Pooling module, from its name or from older settings, pooling_mode_…."""
    if mode := settings.get("pooling_mode"):
        return mode if isinstance(mode, str) else "+".join(mode)
    names = [name for name, is_on in settings.items() if is_on is True]
    modes = [re.sub("^pooling_mode_|_tokens?$", "", name) for name in names]
    return "+".join(mode for mode in modes if not mode.startswith("include")) or "mean"


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> ModelError:
    return ModelError(f"The pipeline in {quote(path)} cannot be read.", "Fetch its files again.")
