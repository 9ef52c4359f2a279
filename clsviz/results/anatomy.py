"""Inside the model: the way of [CLS] through its parts, and their weights."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.analyses.select import check_vector
from clsviz.encoder.anatomy import Anatomy
from clsviz.errors import quote
from clsviz.numbers import counted, number, percent
from clsviz.results.result import Fact, Result
from clsviz.settings import Experiment
from clsviz.sources.models import Weights, shapes

ROUNDING: Final = 1e-5  # the output of a pooler is between −1 and 1
MOST_TOKENS: Final = 64  # in a picture, and in a list

N_FIRST: Final = 5  # numbers of a vector in a sentence

HEADS: Final = ("classifier.", "pre_classifier.", "score.")
"""Names of weights that make classes of [CLS], in transformers."""


def result(parts: Anatomy, weights: Weights, text: str, experiment: Experiment) -> Result:
    """The answer for a model and a text in it; the table has a row for each parameter."""
    import pandas as pd

    table = pd.DataFrame(
        {
            "name": parts.names,
            "shape": [" × ".join(map(str, shape)) for shape in parts.shapes],
            "weights": [math.prod(shape) for shape in parts.shapes],
            "part": parts.parts,
        }
    )
    sizes = {
        str(part): int(n) for part, n in table.groupby("part", sort=False)["weights"].sum().items()
    }
    n_weights = sum(sizes.values())
    share = sizes.get("embeddings", 0) / n_weights
    norms = np.linalg.norm(parts.states.astype(np.float64), axis=1).tolist()
    counts = {
        "n_parameters": ("parameter tensors", len(table)),
        "n_vocabulary": ("tokens in the vocabulary", parts.vocabulary),
        "max_length": ("tokens read at most", parts.max_length),
        "width": ("numbers in a vector", parts.states.shape[1]),
        "n_heads": ("heads of attention in a layer", parts.n_heads),
    }
    return Result(
        kind="anatomy",
        question=f"What happens to [CLS] on its way through {weights.label}?",
        verdict=verdict_of(parts.n_layers, n_weights, share),
        facts=(
            *(
                Fact(key, *fact, form="count")
                for key, fact in counts.items()
                if fact[1] is not None
            ),
            Fact("n_weights", "weights", n_weights, None, "count", is_quiet=True),
            Fact("embeddings_share", "in the embeddings", share, None, "percent", is_quiet=True),
        ),
        details={
            "layers": [{"layer": n, "norm": norm} for n, norm in enumerate(norms)],
            "special_tokens": [
                dict(zip(("role", "token", "id"), row, strict=True)) for row in parts.special
            ],
        },
        picture={
            "steps": _steps(parts, sizes, norms),
            "tokens": parts.tokens[:MOST_TOKENS],
            "norms": np.linalg.norm(parts.vectors[:MOST_TOKENS], axis=2),
            "attention": parts.attention[:, :MOST_TOKENS],
        },
        caveats=_caveats(parts, weights),
        table=table,
        about={
            **{name: getattr(experiment, name) for name in ("model", "seed", "precision")},
            "model_fingerprint": weights.fingerprint,
            "model_class": parts.model_class,
        },
        weights=weights,
        answered=parts,
    )


def verdict_of(n_layers: int, n_weights: int, share: float) -> str:
    """The size of a model in a sentence; share: of the weights that is in the embeddings."""
    size = f"{n_weights / 1e6:,.1f} million" if n_weights >= 1e5 else f"{n_weights:,}"
    embedded = f"{percent(share)} of them in the embeddings"
    return f"{counted(n_layers, 'layer')}, {size} weights, {embedded}."


def hidden_state(states: NDArray[np.float32], experiment: Experiment, label: str) -> str:
    """A token after the layer of an experiment as text to copy; raises SettingError.

    states: (n_layers + 1, width), the token after every layer.
    """
    layer = check_vector(experiment, len(states) - 1, has_pooler=True, label=label, last=())
    return f"[{', '.join(f'{value:.7g}' for value in states[layer].tolist())}]"


def pooler(parts: Anatomy) -> tuple[str, str]:
    """The pooler in a sentence, and its output beside the one that NumPy computes of [CLS]."""
    if not len(parts.pooled):
        reason = "Some models come without one, and others lose it when they are fine-tuned."
        return "This model has no pooler", reason
    before, after = (number(float(np.linalg.norm(v))) for v in (parts.states[-1], parts.pooled))
    change = f"takes the norm from {before} to {after}"
    begin = f"[CLS] after the last layer begins {_numbers(parts.states[-1])}; the pooler’s output"
    begin += f" begins {_numbers(parts.pooled)}."
    if not len(parts.by_hand):
        return f"The pooler {change}", f"{begin} This pooler is built otherwise than BERT’s."
    difference = float(np.abs(parts.pooled - parts.by_hand).max())
    formula, comparison = "tanh(W·[CLS] + b)", f"differs by up to {number(difference)}"
    if difference <= ROUNDING:
        comparison = f"is the same up to rounding, {number(difference)}: it takes [CLS] alone, so"
        comparison += " pooler(last_hidden_state[:, :1]) is pooler_output"
    return f"The pooler is {formula}, and {change}", f"{begin} NumPy’s {formula} {comparison}."


def answers(parts: Anatomy, weights: Weights) -> list[tuple[str, str]]:
    """Questions about [CLS] that people ask, each with its answer and the reason."""
    cls, last = parts.tokens[0], parts.tokens[-1]
    pooling = weights.pipeline.pooling
    takes = "The files of this model here do not say which vector it was trained for."
    if pooling:
        takes = f"This model’s own pipeline takes the vector {quote(pooling)}."
    origin = "random here, else learned" if weights.is_untrained else "learned"
    return [
        (
            "Is it [0] or [-1]? Layers end with [-1], and tokens begin with [0]",
            f"hidden_states[-1] is the last layer. In it, [:, 0] is {cls}; [:, -1] is {last}, or"
            " padding where the batch has longer sentences.",
        ),
        (
            f"Is {cls} learned? Yes: one vector goes in for all, another comes out of each",
            f"The vector that goes in is row {parts.ids[0]:,} of the word embeddings, {origin}. It"
            f" begins {_numbers(parts.cls_input)}. Attention then mixes the other tokens in.",
        ),
        (
            "Why not the mean over all tokens? Models differ in what they are trained for",
            f"{takes} “Vector” chooses among [CLS], the mean and the pooler’s output.",
        ),
        (
            "How does a classifier use it? Dropout, one linear layer, softmax",
            "In training, dropout sets some of its numbers to 0. The linear layer makes as many"
            " numbers of it as there are classes, the logits, and softmax shares that sum to 1."
            " Training lowers the cross-entropy, −log of the share of the right class."
            f" {_head(weights.folder)}",
        ),
        (
            "Which layer? The last of a fine-tuned model, else the seventh or eighth of twelve",
            "This is a rule of thumb for models like BERT. “Where length lives” tests every layer,"
            " and finds which one a search should take.",
        ),
        (
            "Does the cosine of two raw [CLS] vectors mean anything? Not by design",
            "BERT’s author says that it was not trained for that. Models fine-tuned to compare"
            " sentences are.",
        ),
    ]


def _head(folder: Path) -> str:
    """The classification head in the files of a model, in a sentence."""
    sizes = [
        f"{name} {' × '.join(map(str, shape))}"
        for name, shape in shapes(folder).items()
        if name.startswith(HEADS)
    ]
    if not sizes:
        return "The files of this model have no head for classes; fine-tuning adds one."
    return f"The files of this model have a head: {', '.join(sizes)}."


def _steps(
    parts: Anatomy, sizes: Mapping[str, int], norms: Sequence[float]
) -> list[dict[str, Any]]:
    """Parts in the order of their use, with their weights and the norm of [CLS] after them."""
    layers = [f"layer {n}" if n else "embeddings" for n in range(parts.n_layers + 1)]
    after = {
        "input vector": float(np.linalg.norm(parts.cls_input)),
        **dict(zip(layers, norms, strict=True)),
    }
    if len(parts.pooled):
        after["pooler"] = float(np.linalg.norm(parts.pooled))
    names = dict.fromkeys([*after, *sizes])
    return [{"name": name, "weights": sizes.get(name), "norm": after.get(name)} for name in names]


def _caveats(parts: Anatomy, weights: Weights) -> tuple[str, ...]:
    layers, blocks = counted(parts.n_layers, "layer"), counted(parts.n_blocks, "block")
    shared = f"{layers} share {blocks}: their weights are counted at the first."
    read = f"{len(parts.ids):,} tokens, special ones included"
    cases = {
        "The weights are random.": weights.is_untrained,
        shared: parts.n_layers > parts.n_blocks,
        f"The model reads only the beginning of the sentence: {read}.": parts.is_cut,
    }
    return tuple(text for text, holds in cases.items() if holds)


def _numbers(vector: ArrayLike) -> str:
    """The first numbers of a vector."""
    values = np.asarray(vector)[:N_FIRST].tolist()
    return ", ".join(f"{value:.4f}" for value in values).replace("-", "−")
