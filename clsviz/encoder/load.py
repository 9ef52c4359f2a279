"""Models and tokenizers by transformers, from local files; no model's own code is run."""

import json
import math
from pathlib import Path
from typing import Any

import psutil
import torch
import transformers

from clsviz.encoder.pipeline import Pipeline
from clsviz.encoder.tokens import Tokenizer
from clsviz.errors import ClsvizError, ModelError, quote
from clsviz.sources.models import Weights

MEMORY = 1.5
"""Memory to load and run a model, relative to its weights in float32."""

LONGEST = 8192
"""Tokens that are read of a sentence where neither model nor tokenizer has a limit."""

FILES: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
OWN_CODE: dict[str, Any] = {"attn_implementation": None}
"""A configuration may name code on the Hub, for attention too: None means transformers' own."""


def load(weights: Weights, pipeline: Pipeline) -> tuple[Tokenizer, Any]:
    """The tokenizer, and the model in float32 on the CPU, in evaluation mode.

    Raises ModelError where files are damaged or incomplete, the model is too large, or it is not an
    encoder with a [CLS] token.
    """
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # missing weights raise an error below
    try:
        _check_type(weights)
        config = transformers.AutoConfig.from_pretrained(weights.folder, **FILES, **OWN_CODE)
        _check_memory(config, weights.label)
        tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder, **FILES)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(weights.seed)  # of random weights; a missing pooler is drawn, too
            model = _random(config) if weights.is_untrained else _trained(weights, config)
        return _tokenizer(tokenizer, model, pipeline, weights.label), model.eval()
    except (ClsvizError, MemoryError):
        raise
    except Exception as error:  # damaged files and models of images or sound may raise anything
        reason = f"{weights.label} cannot be loaded ({quote(error)})."
        remedy = "It is of a kind that is not supported, or damaged: "
        raise ModelError(reason, f"{remedy}choose another, or fetch it again.") from error


def _check_type(weights: Weights) -> None:
    settings = json.loads((weights.folder / "config.json").read_bytes())
    kind = settings.get("model_type")
    if kind in transformers.CONFIG_MAPPING:
        return
    if "auto_map" in settings:
        reason = f"{weights.label} needs code that comes with it, which is never run."
        raise ModelError(reason, "Choose another model.")
    if kind is not None:
        version = transformers.__version__
        reason = f"{weights.label} is of the type {quote(kind)}, unknown to transformers {version}."
        raise ModelError(reason, "Choose another model.")


def _check_memory(config: Any, label: str) -> None:
    with torch.device("meta"):
        n_weights = sum(weight.numel() for weight in _random(config).parameters())
    needed = MEMORY * 4 * n_weights
    free = min(psutil.virtual_memory().available, _container_memory())
    if needed > free:
        raise ModelError(
            f"{label} needs about {needed / 1e9:,.1f} GB of memory; {free / 1e9:,.1f} GB are free.",
            "Close other programs, or choose a smaller model.",
        )


def _container_memory() -> float:
    """Bytes that a Linux container may still use; infinite where there is no limit."""
    try:
        limit, used, statistics = (
            Path(f"/sys/fs/cgroup/memory.{name}").read_text() for name in ("max", "current", "stat")
        )
        cached = dict(map(str.split, statistics.splitlines()))["inactive_file"]  # freed when needed
        return int(limit) - int(used) + int(cached)
    except (OSError, ValueError, LookupError):
        return math.inf


def _random(config: Any) -> Any:
    return transformers.AutoModel.from_config(
        config, dtype=torch.float32, **OWN_CODE, trust_remote_code=False
    )


def _trained(weights: Weights, config: Any) -> Any:
    """The model with its weights, and without a pooler where it has none for it."""
    if not any(weights.folder.glob("*.safetensors")):
        raise ModelError(
            f"{weights.label} has no weights as safetensors, and other formats may run code.",
            "Convert them with save_pretrained of transformers, or choose another model.",
        )
    model, loading = transformers.AutoModel.from_pretrained(
        weights.folder,
        config=config,
        dtype=torch.float32,
        use_safetensors=True,
        ignore_mismatched_sizes=True,  # counted below
        output_loading_info=True,
        **FILES,
        **OWN_CODE,
    )
    has_pooler = not any(name.startswith("pooler.") for name in loading["missing_keys"])
    missing = [name for name in loading["missing_keys"] if not name.startswith("pooler.")]
    if n_bad := len(missing) + len(loading["mismatched_keys"]):
        reason = f"{weights.label} lacks {n_bad} of its weights, or has them in a wrong shape."
        raise ModelError(reason, "Choose another model.")
    if not has_pooler:
        model.pooler = None
    return model


def _tokenizer(tokenizer: Any, model: Any, pipeline: Pipeline, label: str) -> Tokenizer:
    if pipeline.lower_case and tokenizer.is_fast:
        from tokenizers import normalizers

        backend = tokenizer.backend_tokenizer
        steps = [normalizers.Lowercase(), *filter(None, [backend.normalizer])]
        backend.normalizer = normalizers.Sequence(steps)
    n_positions = getattr(model.config, "max_position_embeddings", LONGEST)
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if isinstance(table, torch.nn.Embedding):  # RoBERTa's positions begin after that of padding
        n_positions = table.num_embeddings
        n_positions -= 0 if table.padding_idx is None else table.padding_idx + 1
    limits = (pipeline.max_length or tokenizer.model_max_length, n_positions, LONGEST)
    max_length = min(int(limit) for limit in limits if limit > 0)
    return Tokenizer(tokenizer, max_length, model.get_input_embeddings().num_embeddings, label)
