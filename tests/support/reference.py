"""What transformers itself computes, one sentence at a time, to compare with."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from clsviz import models
from clsviz.encoder import Encoder


def encoder_of(folder: Path, **settings: Any) -> Encoder:
    return Encoder(models.find(str(folder)), device="cpu", **settings)


def norms_by_transformers(folder: Path, sentences: list[str]) -> np.ndarray:
    """Norms of [CLS] after every layer and of the pooler output, (n, n_layers + 1 or 2)."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    rows = []
    for sentence in sentences:
        inputs = tokenizer(sentence, truncation=True, max_length=512, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        with torch.inference_mode():
            output = model(**inputs, output_hidden_states=True)
        vectors = [*(state[0, 0] for state in output.hidden_states[:-1]), output.last_hidden_state[0, 0]]
        if getattr(output, "pooler_output", None) is not None:
            vectors.append(output.pooler_output[0])
        rows.append([float(vector.double().norm()) for vector in vectors])
    return np.array(rows)


def norms(encoder: Encoder, sentences: list[str]) -> np.ndarray:
    """The same as the encoder measures it."""
    measured = encoder.measure(sentences)
    return np.concatenate([measured.cls_norms, measured.pooler_norms], axis=1)
