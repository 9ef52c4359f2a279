"""The special tokens that a tokenizer puts around a sentence, and the position of [CLS] among them."""

from dataclasses import dataclass
from typing import Any

from clsviz.errors import ModelError


@dataclass(frozen=True)
class Frame:
    """What the tokenizer puts around every sentence.

    prefix, suffix: token ids before and after it. cls: the position of [CLS], counted from the end if negative.
    types: token type ids of the prefix, of every token of the sentence, and of the suffix.
    """

    prefix: list[int]
    suffix: list[int]
    cls: int
    types: tuple[list[int], int, list[int]]

    @property
    def has_types(self) -> bool:
        """Whether any token type differs from 0, the default of models."""
        return any([*self.types[0], self.types[1], *self.types[2]])

    def __len__(self) -> int:
        return len(self.prefix) + len(self.suffix)


def frame_of(tokenizer: Any, name: str) -> Frame:
    """The frame around any sentence; raises ModelError if it holds no [CLS].

    [CLS] is found by its id, in the frame alone: a sentence that spells out the special token does not confuse it.
    """
    if tokenizer.cls_token_id is None:
        raise ModelError(f"{name} has no [CLS] token. Choose an encoder, such as bert-base-uncased.")
    content = tokenizer("a", add_special_tokens=False)["input_ids"]
    encoded = tokenizer("a")
    framed = encoded["input_ids"]
    types = encoded.get("token_type_ids") or [0] * len(framed)
    starts = [i for i in range(len(framed)) if framed[i : i + len(content)] == content]
    if content and starts:
        start, stop = starts[0], starts[0] + len(content)
        prefix, suffix = framed[:start], framed[stop:]
        around = types[:start], types[start], types[stop:]
        if tokenizer.cls_token_id in prefix:
            return Frame(prefix, suffix, prefix.index(tokenizer.cls_token_id), around)
        if tokenizer.cls_token_id in suffix:
            return Frame(prefix, suffix, suffix.index(tokenizer.cls_token_id) - len(suffix), around)
    raise ModelError(f"The tokenizer of {name} adds no [CLS] to a sentence. Choose another encoder.")
