"""Sentences changed before the model reads them: their tokens, their positions, their separator.

None of it changes how many tokens a sentence has. What is drawn at random depends on the seed and the sentence’s own
tokens, and on nothing else that is measured.
"""

import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from clsviz.encoder.batches import to_device
from clsviz.encoder.fast_pass import UnsupportedModel
from clsviz.encoder.tokenize import Frame, Tokenizer, Tokens
from clsviz.encoder.verify import ForwardPass
from clsviz.errors import AlterationError
from clsviz.settings import Alteration

Ids = NDArray[np.int32]

_CHANGES: dict[Alteration, Callable[[np.random.Generator, Ids, Ids], Ids]] = {
    Alteration.SHUFFLED: lambda random, ids, _: random.permutation(ids),
    Alteration.RANDOM: lambda random, ids, ordinary: random.choice(ordinary, len(ids)),
    Alteration.REPEATED: lambda random, ids, ordinary: np.full_like(ids, random.choice(ordinary)),
}
"""How each alteration of tokens changes those of one sentence."""
_ORDERED = 12
"""Tokens of the sentence that is read both ways round."""
_TOLERANCE = 1e-5
"""Largest relative change of [CLS] at which it counts as the same: that of sums in another order."""


def altered_tokenizer(alteration: Alteration, seed: int, tokenizer: Tokenizer, name: str) -> Tokenizer:
    """One that changes the tokens of sentences, or leaves the separator out, if the alteration is such a one.

    name: the model's, for messages. Raises AlterationError where there are no tokens to draw from, or there is more
    than one separator and [CLS] around a sentence.
    """
    change, frame = _CHANGES.get(alteration), tokenizer.frame
    if change is None:
        frame = _without_separator(frame, name) if alteration is Alteration.NO_SEPARATOR else frame
        return tokenizer.altered(lambda tokens: tokens, frame)
    if alteration is not Alteration.SHUFFLED and not len(tokenizer.ordinary):
        raise AlterationError("The tokenizer has no tokens to draw from, other than special ones.")
    number = list(_CHANGES).index(alteration)

    def alter(tokens: Tokens) -> Tokens:
        changed = [
            change(np.random.default_rng([seed, number, zlib.crc32(ids.tobytes())]), ids, tokenizer.ordinary)
            for ids in np.split(tokens.ids, tokens.starts[1:])
        ]
        return replace(tokens, ids=np.concatenate([*changed, tokens.ids[:0]]).astype(np.int32))

    return tokenizer.altered(alter, frame)


def _without_separator(frame: Frame, name: str) -> Frame:
    if len(frame) != 2:
        others = "nothing but [CLS]" if len(frame) == 1 else f"{len(frame)} special tokens"
        raise AlterationError(
            f"The tokenizer of {name} puts {others} around a sentence, so there is no single [SEP] to leave out."
        )
    before, content, after = frame.types
    if frame.cls >= 0:
        return Frame([frame.prefix[frame.cls]], [], 0, ([before[frame.cls]], content, []))
    return Frame([], [frame.suffix[frame.cls]], -1, ([], content, [after[frame.cls]]))


def altered_forward(
    alteration: Alteration, forward: ForwardPass, tokenizer: Tokenizer, device: torch.device, name: str
) -> ForwardPass:
    """The forward pass over what an altered tokenizer gives, with one position if the alteration is that one.

    Raises AlterationError unless position vectors are the only way in which the model `name` knows where tokens stand.
    """
    if alteration is not Alteration.ONE_POSITION:
        return forward.altered(tokenizer.frame, one_position=False)
    try:
        altered = forward.altered(tokenizer.frame, one_position=True)
        is_blind = _is_blind_to_order(altered, tokenizer, device)
    except UnsupportedModel:
        is_blind = False
    if not is_blind:
        raise AlterationError(
            f"{name} does not know the positions of tokens from position vectors alone, so giving all tokens one "
            "position vector would not take their positions away."
        )
    return altered


@torch.inference_mode()
def _is_blind_to_order(forward: ForwardPass, tokenizer: Tokenizer, device: torch.device) -> bool:
    """Whether [CLS] is the same whichever way round a sentence is read."""
    tokens = tokenizer.random_tokens([_ORDERED])
    both = Tokens(np.concatenate([tokens.ids, tokens.ids[::-1]]), tokens.n_tokens.repeat(2), np.arange(2))
    ids, lengths = tokenizer.rows(both, np.arange(2))
    return all(
        torch.linalg.vector_norm(first - second) <= _TOLERANCE * torch.linalg.vector_norm(first)
        for first, second in forward(to_device(ids, device), lengths)
    )
