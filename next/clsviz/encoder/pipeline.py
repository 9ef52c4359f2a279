"""The pipeline of sentence-transformers that a model may come with, read from its files alone."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clsviz.errors import ModelError, quote


@dataclass(frozen=True)
class Pipeline:
    """Steps around a model that change what it reads, and those that are only named.

    max_length: tokens that it reads of a text, special ones included; None where it does not say.
    lower_case: whether texts are lowercased. caveats: sentences about the steps that are left out.
    """

    max_length: int | None = None
    lower_case: bool = False
    caveats: tuple[str, ...] = ()


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
        caveats = _caveats(steps) if is_ours else ()
        return Pipeline(None if limit is None else int(limit), lower_case, caveats)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(folder) from error


def _caveats(steps: dict[str, Path]) -> tuple[str, ...]:
    caveats = []
    if "Pooling" in steps:
        pooling = _pooling(_json(steps["Pooling"] / "config.json"))
        if pooling not in ("cls", "cls_token"):
            caveats.append(f"The model's own pipeline pools by {quote(pooling)}, not by [CLS].")
    if "Normalize" in steps:
        caveats.append("The model's own pipeline normalizes vectors; norms are those before that.")
    if others := sorted(steps.keys() - {"Transformer", "Pooling", "Normalize"}):
        names = " and ".join(map(quote, others))
        caveats.append(
            f"The model's own pipeline ends with {names}; vectors are those before that."
        )
    return tuple(caveats)


def _pooling(settings: dict[str, Any]) -> str:
    """The mode of a Pooling module, from its name or from older settings, pooling_mode_…."""
    if mode := settings.get("pooling_mode"):
        return mode if isinstance(mode, str) else "+".join(mode)
    prefix = "pooling_mode_"
    modes = [name.removeprefix(prefix) for name, is_on in settings.items() if is_on is True]
    return "+".join(mode for mode in modes if not mode.startswith("include")) or "mean"


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> ModelError:
    return ModelError(f"The pipeline in {quote(path)} cannot be read.", "Fetch its files again.")
