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

from clsviz.encoder.any_encoder import Unsuited
from clsviz.encoder.batches import to_device
from clsviz.encoder.choice import Forward
from clsviz.encoder.special_tokens import Frame
from clsviz.encoder.tokens import Tokenizer, Tokens
from clsviz.errors import AlterationError
from clsviz.settings import Alteration

Ids = NDArray[np.int32]


_ORDERED = 12
"""Tokens of the sentence that is read both ways round."""


_TOLERANCE = 1e-5
"""Largest relative change of [CLS] at which it counts as the same: that of sums in another order."""


def altered_tokens(alteration: Alteration, seed: int, ordinary: Ids) -> Callable[[Tokens], Tokens]:
    """What changes the tokens of sentences, if the alteration is one of tokens, and not their number.

    ordinary: the token ids to draw from; raises AlterationError where they are needed and there are none.
    """
    change = _CHANGES.get(alteration)
    if change is None:
        return lambda tokens: tokens
    if alteration is not Alteration.SHUFFLED and not len(ordinary):
        raise AlterationError("The tokenizer has no tokens to draw from, other than special ones.")
    number = list(_CHANGES).index(alteration)

    def alter(tokens: Tokens) -> Tokens:
        changed = [
            change(np.random.default_rng([seed, number, zlib.crc32(ids.tobytes())]), ids, ordinary)
            for ids in np.split(tokens.ids, tokens.starts[1:])
        ]
        return replace(tokens, ids=np.concatenate([*changed, tokens.ids[:0]]).astype(np.int32))

    return alter


_CHANGES: dict[Alteration, Callable[[np.random.Generator, Ids, Ids], Ids]] = {
    Alteration.SHUFFLED: lambda random, ids, _: random.permutation(ids),
    Alteration.RANDOM: lambda random, ids, ordinary: random.choice(ordinary, len(ids)),
    Alteration.REPEATED: lambda random, ids, ordinary: np.full_like(ids, random.choice(ordinary)),
}
"""How each alteration of tokens changes those of one sentence."""


def altered_frame(alteration: Alteration, frame: Frame, name: str) -> Frame:
    """The special tokens around a sentence, without the separator if the alteration is that one.

    Raises AlterationError unless one separator and [CLS] are all that the tokenizer of the model `name` puts there.
    """
    if alteration is not Alteration.NO_SEPARATOR:
        return frame
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
    alteration: Alteration, forward: Forward, frame: Frame, tokenizer: Tokenizer, device: torch.device, name: str
) -> Forward:
    """The forward pass over sentences in this frame, with one position for all tokens if the alteration is that one.

    Raises AlterationError unless position vectors are the only way in which the model `name` knows where tokens stand.
    """
    one_position = alteration is Alteration.ONE_POSITION
    try:
        altered = forward.altered(frame, one_position=one_position)
        is_blind = not one_position or _is_blind_to_order(altered, tokenizer, device)
    except Unsuited:
        is_blind = False
    if not is_blind:
        raise AlterationError(
            f"{name} does not know the positions of tokens from position vectors alone, so giving all tokens one "
            "position vector would not take their positions away."
        )
    return altered


@torch.inference_mode()
def _is_blind_to_order(forward: Forward, tokenizer: Tokenizer, device: torch.device) -> bool:
    """Whether [CLS] is the same whichever way round a sentence is read."""
    tokens = tokenizer.random_tokens([_ORDERED])
    both = Tokens(np.concatenate([tokens.ids, tokens.ids[::-1]]), tokens.n_tokens.repeat(2), np.arange(2))
    ids, lengths = tokenizer.rows(both, np.arange(2))
    return all(
        torch.linalg.vector_norm(first - second) <= _TOLERANCE * torch.linalg.vector_norm(first)
        for first, second in forward(to_device(ids, device), lengths)
    )
