"""Models by transformers and sentence-transformers, of local files; no model's own code is run."""

import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import torch
import transformers

from clsviz.encoder.tokens import Tokenizer
from clsviz.errors import ClsvizError, ModelError, quote
from clsviz.measurements import Arrays, Emitted, Kind
from clsviz.settings import SETTINGS
from clsviz.sources.models import ANOTHER, Weights, shapes
from clsviz.sources.pipeline import Pipeline, pipeline_folder

MEMORY = 1.5  # to load and run a model, relative to its weights in float32
LONGEST = 8192  # tokens that are read of a sentence where neither model nor tokenizer has a limit
WRAPPERS = r"^(?:_orig_mod\.|module\.)+"  # of torch.compile and DataParallel, before names
FILES: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
OWN_CODE: dict[str, Any] = {"attn_implementation": None}
"""A configuration may name code on the Hub, for attention too: None means transformers' own."""


def load(weights: Weights) -> tuple[Tokenizer, Any]:
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
        _check_memory(weights, n_weights)
        tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder, **FILES)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(weights.seed)  # of random weights; a missing pooler is drawn, too
            model = _random(config) if weights.is_untrained else _trained(weights, config)
        return _tokenizer(tokenizer, model, weights.pipeline, weights.label), model.eval()
    except (ClsvizError, MemoryError):
        raise
    except Exception as error:  # damaged files and models of images or sound may raise anything
        raise _not_loaded(weights, error) from error


class Modules:
    """The model's own pipeline, by the modules of sentence-transformers."""

    def __init__(self, weights: Weights) -> None:
        """Load them; raises ModelError where they are damaged, incomplete or too large."""
        root = pipeline_folder(weights.folder)
        if weights.is_untrained or root is None:
            reason = f"{weights.label} has a pipeline of its own, which random weights do not fit."
            raise ModelError(reason, "Choose mean as pooling, or another model.")
        transformers.utils.logging.disable_progress_bar()
        transformers.utils.logging.set_verbosity_error()  # missing weights raise an error below
        self.weights = weights
        try:
            stored = shapes(weights.folder)
            _check_memory(weights, sum(map(math.prod, stored.values())))
            with warnings.catch_warnings(action="ignore"):  # of older names of modules
                from sentence_transformers import SentenceTransformer

                self._model = SentenceTransformer(
                    str(root),
                    device="cuda" if torch.cuda.is_available() else "cpu",
                    model_kwargs={"use_safetensors": True, "dtype": torch.float32, **OWN_CODE},
                    config_kwargs=dict(OWN_CODE),
                    **FILES,
                )
            self._check_complete(set(stored))
        except (ClsvizError, MemoryError):
            raise
        except Exception as error:
            raise _not_loaded(weights, error) from error

    def run(self, sentences: Sequence[str], kind: Kind, prompt: str = "") -> Arrays:
        """Vectors of queries or texts, as `Emitted` has them; see `Encoder.run`."""
        encode = self._model.encode_query if kind == "query" else self._model.encode_document
        try:
            n_tokens = self._count(sentences)
            room = self._room()
            n_read = self._count([prompt + text for text in sentences]) if prompt else n_tokens
            vectors = encode(list(sentences), prompt=prompt, show_progress_bar=False)
        except Exception as error:  # such as out of memory, or text that it cannot read
            reason = f"{self.weights.label} cannot read a text ({quote(error)})."
            raise ModelError(reason, "Choose a smaller model, or another.") from error
        arrays = Emitted.arrays(vectors, n_tokens, [n > room for n in n_read])
        if not torch.from_numpy(vectors).isfinite().all():
            reason = f"{self.weights.label} gives vectors that are not finite."
            raise ModelError(reason, "Its weights may be damaged: fetch them again.")
        return arrays

    def _count(self, sentences: Sequence[str]) -> list[int]:
        """Tokens of each sentence, without special ones and before truncation."""
        tokenizer = self._model.tokenizer
        if hasattr(tokenizer, "encode_batch"):  # of word vectors
            rows = tokenizer.encode_batch(list(sentences), add_special_tokens=False)
            return [len(row.ids) for row in rows]
        ids = tokenizer(list(sentences), add_special_tokens=False)["input_ids"]
        return list(map(len, ids))

    def _room(self) -> float:
        """Tokens of a sentence that the model reads, at most."""
        if hasattr(self._model.tokenizer, "encode_batch"):
            return math.inf
        n_special = len(self._model.tokenizer("")["input_ids"])
        return (self._model.max_seq_length or math.inf) - n_special

    def _check_complete(self, stored: set[str]) -> None:
        """Raise ModelError where the files lack weights: transformers would draw them at random."""
        model = self._model.transformers_model
        parameters = dict(model.named_parameters()) if model else {}
        ends = {name.split(".", n)[-1] for name in stored for n in range(3)}  # after a prefix
        missing = [
            name
            for name in parameters
            if not {name, name.split(".", 1)[-1]} & ends and "pooler" not in name
        ]
        if missing:
            reason = f"{self.weights.label} lacks {len(missing):,} of its weights."
            raise ModelError(reason, "Choose another model.")


def _not_loaded(weights: Weights, error: Exception) -> ModelError:
    reason = f"{weights.label} cannot be loaded ({quote(error)})."
    remedy = "It is of a kind that is not supported, or damaged: "
    return ModelError(reason, f"{remedy}choose another, or fetch it again.")


def _check_memory(weights: Weights, n_weights: int) -> None:
    """Raise ModelError where a model needs more memory than is free."""
    needed, free = MEMORY * 4 * n_weights / 1e9, _free_memory() / 1e9
    if needed > free:
        reason = f"{weights.label} needs about {needed:,.1f} GB of memory; {free:,.1f} GB"
        remedy = "Close other programs, or choose a smaller model."
        raise ModelError(f"{reason} are free.", remedy)


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
