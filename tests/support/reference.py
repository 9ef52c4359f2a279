"""What transformers itself computes, one sentence at a time, to compare with."""

from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers

from clsviz.encoder import Encoder
from clsviz.sources import models


def encoder_of(folder: Path, **settings: Any) -> Encoder:
    return Encoder(models.find(str(folder)), device="cpu", **settings)


def states_by_transformers(
    folder: Path, sentences: list[str], *, with_types: bool = False
) -> list[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Of each sentence, the vectors of all tokens after every layer, (length, width) each, and the pooler output."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    found = []
    for sentence in sentences:
        inputs = tokenizer(sentence, truncation=True, max_length=512, return_tensors="pt")
        if not with_types:
            inputs.pop("token_type_ids", None)
        with torch.inference_mode():
            output = model(**inputs, output_hidden_states=True)
        states = [state[0].numpy() for state in (*output.hidden_states[:-1], output.last_hidden_state)]
        pooler = getattr(output, "pooler_output", None)
        found.append((states, [] if pooler is None else [pooler[0].numpy()]))
    return found


def norms_by_transformers(folder: Path, sentences: list[str], *, cls: int = 0, with_types: bool = False) -> np.ndarray:
    """Norms of [CLS], which stands at `cls`, after every layer and of the pooler output, (n, n_layers + 1 or 2)."""
    found = states_by_transformers(folder, sentences, with_types=with_types)
    return np.array(
        [
            [np.linalg.norm(vector.astype(np.float64)) for vector in (*(state[cls] for state in states), *pooler)]
            for states, pooler in found
        ]
    )


def norms(encoder: Encoder, sentences: list[str]) -> np.ndarray:
    """The same as the encoder measures it."""
    measured = encoder.measure(sentences)
    return np.concatenate([measured.cls_norms, measured.pooler_norms], axis=1)


def frame_tokens(folder: Path, single: str) -> None:
    """Let the tokenizer put these special tokens around a sentence, such as "[CLS] $A [SEP]"."""
    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single=single, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.save(str(folder / "tokenizer.json"))
