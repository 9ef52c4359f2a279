"""From a model's files to a tokenizer and a model that can run, checked before anything is measured with them."""

import json
from dataclasses import dataclass
from typing import Any

import torch
import transformers

from clsviz.encoder import anatomy
from clsviz.encoder.memory import check_memory
from clsviz.encoder.pooler import Pooler, pooler_of
from clsviz.encoder.special_tokens import Frame, frame_of
from clsviz.errors import ModelError, first_line
from clsviz.measurements import MAX_LENGTH
from clsviz.models import Weights
from clsviz.settings import printable

_UNTRAINED_SEED = 0


@dataclass(frozen=True)
class Loaded:
    """A model as it comes from its files, and what it takes to run it.

    name: as messages call it. model: in float32, on the CPU, in evaluation mode. max_length: tokens that it reads,
        special ones included. pooler: its steps, or None where it has none or is built otherwise. anatomy: what it is
        made of, as it came.
    """

    name: str
    tokenizer: Any
    model: Any
    frame: Frame
    has_pooler: bool
    max_length: int
    vocabulary_size: int
    pooler: Pooler | None
    anatomy: anatomy.Anatomy


def load(weights: Weights) -> Loaded:
    """Load `weights`; raises ModelError where they are no encoder with a [CLS] token, or incomplete.

    Nothing is fetched, and no code that comes with a model is run.
    """
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # what matters is raised below
    try:
        tokenizer, model, loading = _read(weights)
        frame = frame_of(tokenizer, weights.name)
        max_length = _max_length(tokenizer, model)
        vocabulary_size = int(model.get_input_embeddings().num_embeddings)
    except (ModelError, MemoryError):
        raise
    except Exception as error:  # whatever a library makes of files that are damaged, or of a model that is no encoder
        reason = first_line(error).rstrip(" .:")
        raise ModelError(
            f"{weights.name} cannot be loaded ({reason}). Its files may be damaged, or lacking: fetch them again, "
            "or choose another model."
        ) from error
    missing = set(loading["missing_keys"])
    without_pooler = {name for name in missing if name.startswith("pooler.")}
    if lacking := len(missing - without_pooler) + len(loading["mismatched_keys"]):
        raise ModelError(
            f"{weights.name} lacks {lacking} of its encoder's weights, or has them in another shape. Choose another."
        )
    if max_length <= len(frame):
        raise ModelError(
            f"{weights.name} reads {max_length} tokens at most, which leaves no room for a sentence between the "
            f"{len(frame)} special ones. Its configuration may be wrong."
        )
    if max([*frame.prefix, *frame.suffix]) >= vocabulary_size:
        raise ModelError(
            f"The tokenizer of {weights.name} has special tokens that the model does not know: they do not belong "
            "together. Fetch its files again."
        )
    if without_pooler:
        model.pooler = None  # made of chance instead of weights
    has_pooler = getattr(model, "pooler", None) is not None
    pooler = pooler_of(model.eval())
    facts = anatomy.describe(model, tokenizer, frame, max_length, pooler)
    return Loaded(weights.name, tokenizer, model, frame, has_pooler, max_length, vocabulary_size, pooler, facts)


def _read(weights: Weights) -> tuple[Any, Any, dict[str, Any]]:
    safely: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    _check_type(weights)
    config = transformers.AutoConfig.from_pretrained(weights.folder, **safely)
    config._attn_implementation = None  # a configuration may name one that is fetched from the Hub, and is code
    if config.is_encoder_decoder:
        raise ModelError(f"{weights.name} is an encoder with a decoder. Choose an encoder, such as bert-base-uncased.")
    if getattr(config, "is_decoder", False):
        raise ModelError(f"{weights.name} is a decoder. Choose an encoder, such as bert-base-uncased.")
    check_memory(weights, config)
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder, **safely)
    if tokenizer.is_fast:  # their tokenizer.json may cut or pad, and neither is wanted
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
    with torch.random.fork_rng(devices=[]):  # what chance gives others does not depend on what is loaded
        if weights.untrained:
            torch.manual_seed(_UNTRAINED_SEED)
            model = transformers.AutoModel.from_config(  # type: ignore[no-untyped-call]
                config, dtype=torch.float32, trust_remote_code=False
            )
            return tokenizer, model, {"missing_keys": [], "mismatched_keys": []}
        model, loading = transformers.AutoModel.from_pretrained(
            weights.folder,
            config=config,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # the caller reports them
            **safely,
        )
    return tokenizer, model, loading


def _check_type(weights: Weights) -> None:
    """Raise ModelError where the configuration names an architecture that could only come with the model."""
    settings = json.loads((weights.folder / "config.json").read_bytes())
    kind = settings.get("model_type")
    if kind is None or kind in transformers.CONFIG_MAPPING:
        return
    if "auto_map" in settings:
        raise ModelError(
            f"{weights.name} cannot be loaded: it needs code that comes with it, and such code never runs here. Choose "
            "another model."
        )
    raise ModelError(
        f"{weights.name} cannot be loaded: it is of the type “{printable(str(kind))}”, which transformers "
        f"{transformers.__version__} does not know. Choose another model."
    )


def _max_length(tokenizer: Any, model: Any) -> int:
    """Tokens that are read at most; limits that are none, as XLNet's of -1, do not count."""
    limits = [MAX_LENGTH, tokenizer.model_max_length, _positions(model)]
    return min(int(limit) for limit in limits if limit > 0)


def _positions(model: Any) -> int:
    """Tokens that the model has position embeddings for; RoBERTa and its kin reserve the first ones."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if table is None:
        return int(getattr(model.config, "max_position_embeddings", MAX_LENGTH))
    return int(table.num_embeddings) - (0 if table.padding_idx is None else table.padding_idx + 1)
