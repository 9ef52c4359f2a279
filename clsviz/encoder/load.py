"""Models and tokenizers by transformers, from local files; no model's own code is run."""

import json
from pathlib import Path
from typing import Any

import psutil
import torch
import transformers

from clsviz.encoder.pipeline import Pipeline
from clsviz.encoder.tokens import Tokenizer
from clsviz.errors import ClsvizError, ModelError, quote
from clsviz.settings import SETTINGS
from clsviz.sources.models import ANOTHER, Weights

MEMORY = 1.5  # to load and run a model, relative to its weights in float32
LONGEST = 8192  # tokens that are read of a sentence where neither model nor tokenizer has a limit
WRAPPERS = r"^(?:_orig_mod\.|module\.)+"  # of torch.compile and DataParallel, before names
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
        _check_code(weights)
        config = transformers.AutoConfig.from_pretrained(weights.folder, **FILES, **OWN_CODE)
        n_layers, ends = getattr(config, "num_hidden_layers", 0), SETTINGS["layer"].ends
        if ends and n_layers > ends[1]:
            reason = f"{weights.label} has {n_layers:,} layers by its configuration."
            raise ModelError(reason, ANOTHER)  # building them would take hours
        with torch.device("meta"):
            n_weights = sum(weight.numel() for weight in _random(config).parameters())
        needed, free = MEMORY * 4 * n_weights / 1e9, _free_memory() / 1e9
        if needed > free:
            reason = f"{weights.label} needs about {needed:,.1f} GB of memory; {free:,.1f} GB"
            remedy = "Close other programs, or choose a smaller model."
            raise ModelError(f"{reason} are free.", remedy)
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


def _check_code(weights: Weights) -> None:
    """Raise ModelError where transformers has no code of its own for a model."""
    settings = json.loads((weights.folder / "config.json").read_bytes())
    kind, is_custom = settings.get("model_type"), "auto_map" in settings
    if kind not in transformers.CONFIG_MAPPING and (kind or is_custom):
        cause = f"is of the type {quote(kind)}, unknown to transformers {transformers.__version__}"
        if is_custom:
            cause = "needs code that comes with it, which is never run"
        raise ModelError(f"{weights.label} {cause}.", "Choose another model.")


def _free_memory() -> float:
    """Bytes that this machine, or its Linux container, may still use."""
    free = psutil.virtual_memory().available
    try:
        limit, used, statistics = (
            Path(f"/sys/fs/cgroup/memory.{name}").read_text() for name in ("max", "current", "stat")
        )
        cached = dict(map(str.split, statistics.splitlines()))["inactive_file"]  # freed when needed
        return min(free, int(limit) - int(used) + int(cached))
    except (OSError, ValueError, LookupError):  # it is no container, or has no limit
        return free


def _random(config: Any) -> Any:
    return transformers.AutoModel.from_config(
        config, dtype=torch.float32, trust_remote_code=False, **OWN_CODE
    )


def _trained(weights: Weights, config: Any) -> Any:
    """The model with its weights, and without a pooler where they have none."""
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
        key_mapping={WRAPPERS: ""},
        **FILES,
        **OWN_CODE,
    )
    missing = loading["missing_keys"]
    others = [name for name in missing if not name.startswith("pooler.")]
    if n_bad := len(others) + len(loading["mismatched_keys"]):
        reason = f"{weights.label} lacks {n_bad} of its weights, or has them in a wrong shape."
        raise ModelError(reason, "Choose another model.")
    if missing:
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
        padding = -1 if table.padding_idx is None else table.padding_idx
        n_positions = table.num_embeddings - padding - 1
    limits = (pipeline.max_length or tokenizer.model_max_length, n_positions, LONGEST)
    max_length = min(int(limit) for limit in limits if limit > 0)
    return Tokenizer(tokenizer, max_length, model.get_input_embeddings().num_embeddings, label)
