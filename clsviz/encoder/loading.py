"""Loading a tokenizer and a model from their files, and checking them before anything is measured."""

import json
from typing import Any

import torch
import transformers

from clsviz.encoder import anatomy
from clsviz.encoder.loaded import Loaded, max_length_of
from clsviz.encoder.memory import check_memory
from clsviz.encoder.pooler import pooler_of
from clsviz.encoder.special_tokens import frame_of
from clsviz.errors import ModelError, first_line
from clsviz.models import Weights
from clsviz.settings import printable

_UNTRAINED_SEED = 0


def load(weights: Weights) -> Loaded:
    """Load `weights`; raises ModelError if they are incomplete, too large, or not an encoder with a [CLS] token.

    Downloads nothing, and runs no code that comes with a model.
    """
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # what matters raises an error below
    try:
        tokenizer, model, loading = _read(weights)
        frame = frame_of(tokenizer, weights.name)
        max_length = max_length_of(tokenizer, model)
        vocabulary_size = int(model.get_input_embeddings().num_embeddings)
    except (ModelError, MemoryError):
        raise
    except Exception as error:  # damaged files, or a model that is not an encoder, may raise anything
        reason = first_line(error).rstrip(" .:")
        raise ModelError(
            f"{weights.name} cannot be loaded ({reason}). Its files may be damaged or missing: fetch them again, "
            "or choose another model."
        ) from error
    missing = set(loading["missing_keys"])
    without_pooler = {name for name in missing if name.startswith("pooler.")}
    if lacking := len(missing - without_pooler) + len(loading["mismatched_keys"]):
        raise ModelError(
            f"{weights.name} lacks {lacking} of its encoder's weights, or has them in a wrong shape. "
            "Choose another model."
        )
    if max_length <= len(frame):
        raise ModelError(
            f"{weights.name} reads at most {max_length} tokens, which leaves no room for a sentence beside the "
            f"{len(frame)} special tokens. Its configuration may be wrong."
        )
    if max([*frame.prefix, *frame.suffix]) >= vocabulary_size:
        raise ModelError(
            f"The tokenizer of {weights.name} has special tokens that the model does not know: they do not belong "
            "together. Fetch its files again."
        )
    if without_pooler:
        model.pooler = None  # randomly initialised
    has_pooler = getattr(model, "pooler", None) is not None
    pooler = pooler_of(model.eval())
    facts = anatomy.describe(model, tokenizer, frame, max_length, pooler)
    return Loaded(weights.name, tokenizer, model, frame, has_pooler, max_length, vocabulary_size, pooler, facts)


def _read(weights: Weights) -> tuple[Any, Any, dict[str, Any]]:
    safely: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    _check_type(weights)
    config = transformers.AutoConfig.from_pretrained(weights.folder, **safely)
    config._attn_implementation = None  # a configuration may name code on the Hub
    if config.is_encoder_decoder:
        raise ModelError(f"{weights.name} is an encoder with a decoder. Choose an encoder, such as bert-base-uncased.")
    if getattr(config, "is_decoder", False):
        raise ModelError(f"{weights.name} is a decoder. Choose an encoder, such as bert-base-uncased.")
    check_memory(weights, _n_weights(config))
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder, **safely)
    if tokenizer.is_fast:  # tokenizer.json may ask for truncation or padding
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
    with torch.random.fork_rng(devices=[]):  # loading does not disturb other random numbers
        if weights.untrained:
            torch.manual_seed(_UNTRAINED_SEED)
            model = transformers.AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False)
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


def _n_weights(config: Any) -> int:
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config, trust_remote_code=False)
    return sum(parameter.numel() for parameter in model.parameters())


def _check_type(weights: Weights) -> None:
    """Raise ModelError if the architecture is not part of transformers."""
    settings = json.loads((weights.folder / "config.json").read_bytes())
    kind = settings.get("model_type")
    if kind is None or kind in transformers.CONFIG_MAPPING:
        return
    if "auto_map" in settings:
        raise ModelError(
            f"{weights.name} cannot be loaded: it needs code that comes with it, and clsviz never runs such code. "
            "Choose another model."
        )
    raise ModelError(
        f"{weights.name} cannot be loaded: its type is “{printable(str(kind))}”, which transformers "
        f"{transformers.__version__} does not know. Choose another model."
    )
