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
from clsviz.sources.models import ANOTHER, Weights

MEMORY = 1.5
"""Memory to load and run a model, relative to its weights in float32."""

LONGEST = 8192
"""Tokens that are read of a sentence where neither model nor tokenizer has a limit."""

OWN_CODE: dict[str, Any] = {"trust_remote_code": False, "attn_implementation": None}
"""A configuration may name code on the Hub, for attention too: None means transformers' own."""


def load(weights: Weights, pipeline: Pipeline) -> tuple[Tokenizer, Any]:
    """The tokenizer, and the model in float32 on the CPU, in evaluation mode.

    Raises ModelError where files are damaged or incomplete, the model is too large, or it is not an
    encoder with a [CLS] token.
    """
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # missing weights raise an error below
    try:
        config = _config(weights)
        _check_memory(config, weights.label)
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            weights.folder, local_files_only=True, trust_remote_code=False
        )
        model = _model(weights, config).eval()
        return _tokenizer(tokenizer, model, pipeline, weights.label), model
    except (ClsvizError, MemoryError):
        raise
    except Exception as error:  # damaged files and models of images or sound may raise anything
        reason = f"{weights.label} cannot be loaded ({quote(error)})."
        remedy = (
            "It is of a kind that is not supported, or damaged: choose another, or fetch it again."
        )
        raise ModelError(reason, remedy) from error


def _config(weights: Weights) -> Any:
    settings = json.loads((weights.folder / "config.json").read_bytes())
    kind = settings.get("model_type")
    if kind not in transformers.CONFIG_MAPPING and "auto_map" in settings:
        reason = f"{weights.label} needs code that comes with it, which is never run."
        raise ModelError(reason, "Choose another model.")
    if kind is not None and kind not in transformers.CONFIG_MAPPING:
        version = transformers.__version__
        reason = f"{weights.label} is of the type {quote(kind)}, unknown to transformers {version}."
        raise ModelError(reason, "Choose another model.")
    config = transformers.AutoConfig.from_pretrained(
        weights.folder, local_files_only=True, **OWN_CODE
    )
    if config.is_encoder_decoder:
        raise ModelError(f"{weights.label} is an encoder-decoder.", ANOTHER)
    if getattr(config, "is_decoder", False):
        raise ModelError(f"{weights.label} is a decoder.", ANOTHER)
    return config


def _check_memory(config: Any, label: str) -> None:
    with torch.device("meta"):
        shapes = transformers.AutoModel.from_config(config, **OWN_CODE)
    needed = MEMORY * 4 * sum(parameter.numel() for parameter in shapes.parameters())
    free = min(psutil.virtual_memory().available, _container_memory())
    if needed > free:
        raise ModelError(
            f"{label} needs about {needed / 1e9:,.1f} GB of memory; {free / 1e9:,.1f} GB are free.",
            "Close other programs, or choose a smaller model.",
        )


def _container_memory(control_group: Path = Path("/sys/fs/cgroup")) -> float:
    """Bytes that a Linux container may still use; infinite where there is no limit."""
    try:
        limit, used = (int((control_group / f"memory.{n}").read_text()) for n in ("max", "current"))
        lines = (control_group / "memory.stat").read_text().splitlines()
        cached = int(dict(line.split() for line in lines)["inactive_file"])  # dropped when needed
        return limit - used + cached
    except (OSError, ValueError, LookupError):
        return math.inf


def _model(weights: Weights, config: Any) -> Any:
    if weights.is_untrained:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(weights.seed)
            return transformers.AutoModel.from_config(config, dtype=torch.float32, **OWN_CODE)
    if not any(weights.folder.glob("*.safetensors")):
        raise ModelError(
            f"{weights.label} has no weights as safetensors, and other formats may run code.",
            "Convert them with save_pretrained of transformers, or choose another model.",
        )
    with torch.random.fork_rng(devices=[]):  # missing weights are drawn
        model, loading = transformers.AutoModel.from_pretrained(
            weights.folder,
            config=config,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # counted below
            local_files_only=True,
            **OWN_CODE,
        )
    missing = set(loading["missing_keys"])
    pooler = {name for name in missing if name.startswith("pooler.")}
    if n_bad := len(missing - pooler) + len(loading["mismatched_keys"]):
        reason = f"{weights.label} lacks {n_bad} of its weights, or has them in a wrong shape."
        raise ModelError(reason, "Choose another model.")
    if pooler:
        model.pooler = None
    return model


def _tokenizer(tokenizer: Any, model: Any, pipeline: Pipeline, label: str) -> Tokenizer:
    if pipeline.lower_case and tokenizer.is_fast:
        from tokenizers import normalizers

        backend = tokenizer.backend_tokenizer
        steps = [normalizers.Lowercase(), *filter(None, [backend.normalizer])]
        backend.normalizer = normalizers.Sequence(steps)
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if isinstance(table, torch.nn.Embedding):  # RoBERTa's positions begin after that of padding
        reserved = 0 if table.padding_idx is None else table.padding_idx + 1
        n_positions = table.num_embeddings - reserved
    else:
        n_positions = getattr(model.config, "max_position_embeddings", LONGEST)
    limits = (pipeline.max_length or tokenizer.model_max_length, n_positions, LONGEST)
    max_length = min(int(limit) for limit in limits if limit > 0)
    n_tokens = int(model.get_input_embeddings().num_embeddings)
    result = Tokenizer(tokenizer, max_length, n_tokens, label)
    frame = [*result.frame.prefix, *result.frame.suffix]
    if max(frame) >= n_tokens:
        raise result.mismatch(max(frame))
    if max_length <= len(frame):
        reason = (
            f"{label} reads at most {max_length} tokens, of which {len(frame)} are special ones."
        )
        raise ModelError(reason, "Its configuration may be wrong: choose another model.")
    return result
