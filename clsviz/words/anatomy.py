"""What a model is made of, and what becomes of [CLS] in it, in prose."""

from typing import TYPE_CHECKING

import numpy as np

from clsviz.analysis.typed import DIRECTION_TOLERANCE, TOLERANCE, Check, largest_error
from clsviz.encoder import Anatomy
from clsviz.sources.models import Weights
from clsviz.words.numbers import number

if TYPE_CHECKING:
    import pandas as pd

_LONGEST_QUOTE = 120

_ROLES = {
    "cls": "whole sentence",
    "sep": "end of a sentence",
    "pad": "padding",
    "unk": "unknown piece of text",
    "mask": "masked word, in training",
    "bos": "start of a text",
    "eos": "end of a text",
}

_SHARES = ((0.5, "over half"), (0.4, "nearly half"), (0.28, "about a third"), (0.22, "about a quarter"))


def answer(anatomy: Anatomy) -> str:
    """The model in one sentence: its layers, its weights, and how many of them are in the embeddings."""
    n, n_layers = anatomy.n_weights, anatomy.architecture.n_layers
    digits = next(((n / size, name) for size, name in ((1e9, " billion"), (1e6, " million")) if n >= size), None)
    weights = f"{digits[0]:.1f}{digits[1]} weights" if digits else f"{n:,} weights"
    layers = f"{n_layers} layer{'' if n_layers == 1 else 's'}, " if n_layers else ""
    groups = anatomy.group_table().set_index("group")["share"]
    embeddings = float(groups.get("Embeddings", 0.0))
    share = next((text for least, text in _SHARES if embeddings > least), f"{embeddings:.0%}")
    return f"{layers}{weights}, {share} of them in the embeddings."


def in_numbers(anatomy: Anatomy) -> str:
    """What stands below it."""
    built = anatomy.architecture
    parts = [
        built.model_class,
        f"{built.n_heads} attention heads in each layer" if built.n_heads else "",
        f"{built.hidden_size:,} numbers in a vector" if built.hidden_size else "",
        f"a vocabulary of {anatomy.n_embedded:,} tokens",
        f"{anatomy.n_weights:,} weights in {len(anatomy.parameters)} named parameters",
    ]
    return " · ".join(filter(None, parts))


def steps(anatomy: Anatomy, check: Check) -> list[tuple[str, float]]:
    """The steps of [CLS] through the model, each with the norm after it."""
    token, _ = anatomy.cls
    names = ["Embeddings", *(f"Layer {of.layer}" for of in check.layers[1:])]
    norms = [(token, float(np.linalg.norm(anatomy.cls_embedding)))]
    norms += [(name, of.norm) for name, of in zip(names, check.layers, strict=True)]
    if anatomy.has_pooler:
        norms.append(("Pooler", float(np.linalg.norm(check.pooler))))
    return norms


def way(steps: list[tuple[str, float]], groups: "pd.DataFrame", label: str) -> str:
    """The picture in words; for the table see `Anatomy.group_table`."""
    largest = groups.nlargest(1, "weights").iloc[0]
    text = f"Of the weights of {label}, {largest['group']} has the most, {largest['share']:.0%}."
    return " ".join([text, *(f"{name}: norm {number(norm, digits=2)}." for name, norm in steps)])


def parameters_title(anatomy: Anatomy) -> str:
    """What the table of parameters shows, as the title of a box."""
    largest = max(anatomy.parameters, key=lambda parameter: parameter.size)
    share = largest.size / anatomy.n_weights
    return f"{len(anatomy.parameters)} parameters; the largest, {largest.name}, has {share:.0%} of the weights"


def facts_title(anatomy: Anatomy) -> str:
    """How the model is built and reads, as the title of a box."""
    return f"It reads up to {anatomy.max_length:,} tokens, out of a vocabulary of {anatomy.n_embedded:,}"


def beginning_title(anatomy: Anatomy, check: Check) -> str:
    """Where [CLS] begins, as the title of a box."""
    same = ", the same for every sentence" if anatomy.cls_place == 0 else ""
    return f"{anatomy.cls[0]} begins with norm {number(check.layers[0].norm, digits=2)} after the embeddings{same}"


def pooler_title(anatomy: Anatomy, check: Check) -> str:
    """Whether the pooler output was found again, as the title of a box."""
    is_right, _ = verdict(anatomy, check)
    if is_right is None:
        return "The pooler output is not recomputed" if anatomy.has_pooler else "There is no pooler"
    if is_right:
        return "The pooler, applied to the [CLS] vector, gives the pooler output"
    return "The pooler, applied to the [CLS] vector, does not give the pooler output"


def norm_title(check: Check) -> str:
    """Whether the norm follows from the direction, as the title of a box."""
    checked = [of for of in check.layers if not np.isnan(of.from_direction)]
    follows = [of.layer for of in checked if of.error <= DIRECTION_TOLERANCE]
    others = [of.layer for of in checked if of.error > DIRECTION_TOLERANCE]
    if not checked:
        return "Whether the norm follows from the direction is not checked"
    text = f"The norm follows from the direction after {_layers(follows)}" if follows else ""
    if not others:
        return text
    return f"{text}, but not after {_layers(others)}" if text else "The norm does not follow from the direction"


def role(name: str) -> str:
    """What a special token stands for, by its name in transformers."""
    return _ROLES.get(name, name)


def model_facts(anatomy: Anatomy, weights: Weights) -> dict[str, str]:
    """How the model is built, by name."""
    built = anatomy.architecture
    pooler = "a dense layer and tanh" if anatomy.pooler else "not like BERT’s"
    facts = {
        "Class": f"{built.model_class} (type {built.model_type})",
        "Attention": f"{built.n_heads} heads in every layer" if built.n_heads else "",
        "Feed-forward": f"{built.inner_size:,} wide, {built.activation}" if built.inner_size else built.activation,
        "LayerNorm": f"ε = {number(built.layer_norm_eps)}" if built.layer_norm_eps is not None else "",
        "Positions": built.positions,
        "Pooler": pooler if anatomy.has_pooler else "none",
        "Weights": "randomly initialised, as a control" if weights.untrained else "",
        "Fingerprint": weights.fingerprint[:16],
    }
    return {name: text for name, text in facts.items() if text}


def tokenizer_facts(anatomy: Anatomy) -> dict[str, str]:
    """What the tokenizer does, by name."""
    facts = anatomy.tokenizer
    unlike = "" if facts.n_tokens == anatomy.n_embedded else f"; the model has room for {anatomy.n_embedded:,}"
    case = {True: "lower-cased", False: "case kept", None: ""}[facts.lower_cases]
    accents = {True: "accents stripped", False: "accents kept", None: ""}[facts.strips_accents]
    before, after = (" ".join(token for token, _ in side) for side in (facts.prefix, facts.suffix))
    types = {*facts.types[0], facts.types[1], *facts.types[2]}
    place = anatomy.cls_place
    ordinal = {0: "first", -1: "last"}.get(place, f"position {place}")
    limit = f"{facts.model_max_length:,} tokens according to the tokenizer; " if facts.model_max_length else ""
    return {
        "Class": facts.class_name,
        "Vocabulary": f"{facts.n_tokens:,} tokens{unlike}",
        "Case and accents": ", ".join(filter(None, [case, accents])) or "not stated",
        "Around a sentence": f"{before} … {after}".strip(),
        "[CLS]": f"{ordinal}; written {anatomy.cls[0]}, id {anatomy.cls[1]:,}",
        "Token types": f"{types.pop()} for all"
        if len(types) == 1
        else f"{facts.types[1]} for words, others for the special tokens",
        "Padding": f"on the {facts.padding_side} by default; clsviz always pads on the right, and masks it",
        "Maximum length": f"{limit}clsviz reads {anatomy.max_length:,}",
    }


def beginning(anatomy: Anatomy, check: Check, *, untrained: bool) -> str:
    """The vector that [CLS] enters the model with, and its norm before the first layer."""
    vector, (token, token_id) = anatomy.cls_embedding, anatomy.cls
    origin = "drawn at random" if untrained else "learned in training"
    text = (
        f"{token} enters as row {token_id:,} of the word embeddings: {len(vector):,} numbers, {origin}, with norm "
        f"{number(float(np.linalg.norm(vector)))}. After layer 0, the embedding output, its norm is "
        f"{number(check.layers[0].norm)}"
    )
    is_constant = anatomy.cls_place == 0  # elsewhere its position may depend on the words
    return text + (
        ", the same for every sentence, because none of the words has reached it yet." if is_constant else "."
    )


def checked_sentence(check: Check, n_typed: int) -> str:
    """Which sentence all that follows is about; n_typed: how many the visitor typed."""
    which = {0: "An example, since you have not typed a sentence", 1: "Your sentence"}
    sentence = check.sentence if len(check.sentence) <= _LONGEST_QUOTE else f"{check.sentence[:_LONGEST_QUOTE]}…"
    return f"{which.get(n_typed, f'The first of your {n_typed:,}')}: “{sentence}”"


HOW_CHECKED = (
    "The pooler output is recomputed from the [CLS] vector after the last layer, as tanh(W [CLS] + b) in float64, and "
    "compared with what the model gave."
)


def verdict(anatomy: Anatomy, check: Check) -> tuple[bool | None, str]:
    """Whether the pooler output is what the pooler makes of [CLS], None where that cannot be checked, and in words."""
    if not anatomy.has_pooler:
        return None, "This model has no pooler, so there is nothing to check."
    error = largest_error(anatomy, check)
    if error is None:
        return None, "This model’s pooler is not built like BERT’s, so it is not recomputed here."
    if error <= TOLERANCE:
        return True, f"Yes: none of its {len(check.pooler):,} numbers differs by more than {number(error)}."
    return False, (
        f"No: it differs by up to {number(error)}. This model’s pooler takes something other than the last layer’s "
        "[CLS] as input."
    )


NORM_AND_DIRECTION = (
    "A LayerNorm gives every vector a mean of 0 and a variance of 1, and then applies its gain and bias. So the norm "
    "of what comes out follows from its direction: dividing by the norm does not take it away."
)


def norm_verdict(check: Check) -> tuple[bool | None, str]:
    """Whether the norm of [CLS] follows from its direction, None where that cannot be checked, and in words."""
    checked = [of for of in check.layers if not np.isnan(of.from_direction)]
    if not checked:
        return None, "No layer of this model ends with a LayerNorm that has gain and bias, so this is not checked."
    same = [of for of in checked if of.error <= DIRECTION_TOLERANCE]
    others = [of for of in checked if of.error > DIRECTION_TOLERANCE]
    text = "No. "
    if same:
        text = "Yes" if len(same) == len(check.layers) else f"Yes, after {_layers([of.layer for of in same])}"
        text += f": recomputed from the direction alone, it differs by less than {DIRECTION_TOLERANCE:.3%}. "
    for of in others:
        text += f"Not after layer {of.layer}, where it differs by {100 * of.error:.2g}%"
        if of.n_gainless:
            plural = "s, and what they" if of.n_gainless > 1 else ", and what it"
            text += f": the LayerNorm has no gain in {of.n_gainless} dimension{plural} held is missing"
        text += ". "
    return not others, text.strip()


def _layers(layers: list[int]) -> str:
    if len(layers) == 1:
        return f"layer {layers[0]}"
    if layers == list(range(layers[0], layers[-1] + 1)):
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layers {', '.join(map(str, layers[:-1]))} and {layers[-1]}"
