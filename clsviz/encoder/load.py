"""Loading a model and its tokenizer by transformers, from local files; code that comes with a model is never run."""

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch
import transformers

from clsviz.encoder.anatomy import Anatomy, describe
from clsviz.encoder.batches import PoolerSteps, pooler_steps
from clsviz.encoder.fast_pass import first_position, position_table
from clsviz.encoder.tokenize import Tokenizer, frame_of
from clsviz.errors import ModelError, first_line
from clsviz.measurements import MAX_LENGTH
from clsviz.settings import printable
from clsviz.sources.models import Weights

_MEMORY_FACTOR = 1.5
"""Memory to load and run a model, relative to the size of its float32 weights."""
_CONTROL_GROUP = Path("/sys/fs/cgroup")
"""Where Linux reports a container's memory."""


@dataclass(frozen=True)
class Loaded:
    """A model loaded from its files, and what it takes to run it.

    name: what messages call it. model: of transformers, in float32, on the CPU, in evaluation mode.
    pooler: None where the model has no pooler, or one not built like BERT's. drawn: the digest of random weights, "" of
    trained ones.
    """

    name: str
    tokenizer: Tokenizer
    model: Any
    has_pooler: bool
    pooler: PoolerSteps | None
    anatomy: Anatomy
    drawn: str = ""


def load(weights: Weights) -> Loaded:
    """Load `weights`; raises ModelError if they are incomplete, too large, or not an encoder with a [CLS] token."""
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # what matters raises an error below
    try:
        tokenizer, model, loading = _read(weights)
        frame = frame_of(tokenizer, weights.name)
        max_length = _max_length(tokenizer, model)
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
    pooler = pooler_steps(model.eval())
    return Loaded(
        name=weights.name,
        tokenizer=Tokenizer(tokenizer, frame, max_length, vocabulary_size, weights.name),
        model=model,
        has_pooler=getattr(model, "pooler", None) is not None,
        pooler=pooler,
        anatomy=describe(model, tokenizer, frame, max_length, pooler),
        drawn=digest_of(model) if weights.untrained else "",
    )


def digest_of(model: torch.nn.Module) -> str:
    """A digest of the weights of a model, the same on machines that draw the same ones up to rounding.

    Processors round the logarithms and cosines of a normal draw differently in the last bit. So of each weight tensor
    its name, its shape, its norm and the first of its numbers count, both to three digits.
    """
    digest = hashlib.sha256()
    for name, weight in model.state_dict().items():
        numbers = weight.double().flatten()
        first = float(numbers[0]) if len(numbers) else 0.0
        digest.update(f"{name} {tuple(weight.shape)} {float(numbers.norm()):.3g} {first:.3g}\n".encode())
    return digest.hexdigest()


def _read(weights: Weights) -> tuple[Any, Any, dict[str, Any]]:
    """Tokenizer, model, and what transformers says of loading it; raises ModelError, or anything."""
    kind = (settings := json.loads((weights.folder / "config.json").read_bytes())).get("model_type")
    if kind is not None and kind not in transformers.CONFIG_MAPPING:
        if "auto_map" in settings:
            raise ModelError(
                f"{weights.name} cannot be loaded: it needs code that comes with it, and clsviz never runs such code. "
                "Choose another model."
            )
        raise ModelError(
            f"{weights.name} cannot be loaded: its type is “{printable(str(kind))}”, which transformers "
            f"{transformers.__version__} does not know. Choose another model."
        )
    # A configuration may name code on the Hub that computes attention: None has transformers choose its own.
    own_code: dict[str, Any] = {"trust_remote_code": False, "attn_implementation": None}
    config = transformers.AutoConfig.from_pretrained(weights.folder, local_files_only=True, **own_code)
    if config.is_encoder_decoder:
        raise ModelError(f"{weights.name} is an encoder with a decoder. Choose an encoder, such as bert-base-uncased.")
    if getattr(config, "is_decoder", False):
        raise ModelError(f"{weights.name} is a decoder. Choose an encoder, such as bert-base-uncased.")
    with torch.device("meta"):
        outline = transformers.AutoModel.from_config(config, **own_code)
    needed = _MEMORY_FACTOR * 4 * sum(parameter.numel() for parameter in outline.parameters())
    available = min(psutil.virtual_memory().available, container_memory())
    if needed > available:
        raise ModelError(
            f"{weights.label} needs about {needed / 1e9:,.1f} GB of memory, and {available / 1e9:,.1f} GB are free. "
            "Close other programs, or choose a smaller model."
        )
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        weights.folder, local_files_only=True, trust_remote_code=False
    )
    if tokenizer.is_fast:  # tokenizer.json may ask for truncation or padding
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
    with torch.random.fork_rng(devices=[]):  # loading does not disturb other random numbers
        if weights.untrained:
            torch.manual_seed(weights.seed)
            model = transformers.AutoModel.from_config(config, dtype=torch.float32, **own_code)
            return tokenizer, model, {"missing_keys": [], "mismatched_keys": []}
        model, loading = transformers.AutoModel.from_pretrained(
            weights.folder,
            config=config,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # `load` reports them
            local_files_only=True,
            **own_code,
        )
    return tokenizer, model, loading


def _max_length(tokenizer: Any, model: Any) -> int:
    """Most tokens that are read; values that mean no limit, such as XLNet's -1, do not count."""
    table = position_table(model)
    if table is None:
        n_positions = int(getattr(model.config, "max_position_embeddings", MAX_LENGTH))
    else:
        n_positions = int(table.num_embeddings) - first_position(table)
    return min(int(limit) for limit in (MAX_LENGTH, tokenizer.model_max_length, n_positions) if limit > 0)


def container_memory(control_group: Path = _CONTROL_GROUP) -> float:
    """Bytes that this container still lets its programs use; infinite without a container or a limit."""
    try:
        limit, used = (int((control_group / name).read_text()) for name in ("memory.max", "memory.current"))
        statistics = dict(line.split() for line in (control_group / "memory.stat").read_text().splitlines())
        return limit - used + int(statistics["inactive_file"])  # cached files, dropped when memory is needed
    except (OSError, ValueError, LookupError):
        return math.inf
