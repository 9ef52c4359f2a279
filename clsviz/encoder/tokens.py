"""Sentences to token ids, as a model's own tokenizer cuts them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clsviz.errors import CorpusError, ModelError, quote
from clsviz.sources.models import ANOTHER


@dataclass(frozen=True)
class Frame:
    """Special tokens around every sentence; the first is [CLS].

    prefix, suffix: token ids before and after the sentence. types: token types of the prefix, of
    each token of the sentence, and of the suffix.
    """

    prefix: list[int]
    suffix: list[int]
    types: tuple[list[int], int, list[int]]

    def __len__(self) -> int:
        return len(self.prefix) + len(self.suffix)

    @property
    def has_types(self) -> bool:
        """True if a type is not 0, which models take where they get none."""
        return any([*self.types[0], self.types[1], *self.types[2]])

    def token_types(self, length: int) -> list[int]:
        """The type of every token of a sentence, special ones included."""
        prefix, content, suffix = self.types
        return [*prefix, *[content] * (length - len(self)), *suffix]


def frame_of(tokenizer: Any, label: str) -> Frame:
    """The special tokens around any sentence; raises ModelError where [CLS] is not the first.

    [CLS] is looked for around a text that does not spell it: “a”, or one of the vocabulary where
    the tokenizer drops Latin letters.
    """
    words = (tokenizer.decode([n], skip_special_tokens=True) for n in range(len(tokenizer)))
    texts = itertools.chain("a", words)
    contents = ((text, tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts)
    text, content = next((pair for pair in contents if pair[1]), ("", []))
    encoded = tokenizer(text)
    framed = encoded["input_ids"]
    types = encoded.get("token_type_ids") or [0] * len(framed)
    starts = [i for i in range(len(framed)) if framed[i : i + len(content)] == content]
    if tokenizer.cls_token_id is None or not content or not starts:
        raise ModelError(f"{label} has no [CLS] token.", ANOTHER)
    start, stop = starts[0], starts[0] + len(content)
    if framed[:start][:1] != [tokenizer.cls_token_id]:
        raise ModelError(f"The tokenizer of {label} does not begin a sentence with [CLS].", ANOTHER)
    return Frame(framed[:start], framed[stop:], (types[:start], types[start], types[stop:]))


class Tokenizer:
    """A tokenizer of transformers, with neither its truncation nor its padding.

    max_length: tokens that the model reads of a sentence, special ones included.
    """

    def __init__(self, tokenizer: Any, max_length: int, vocabulary_size: int, label: str) -> None:
        if tokenizer.is_fast:  # tokenizer.json may ask for both
            tokenizer.backend_tokenizer.no_truncation()
            tokenizer.backend_tokenizer.no_padding()
        self.frame = frame_of(tokenizer, label)
        self.max_length = max_length
        self.label = label
        self._tokenizer = tokenizer
        self._vocabulary_size = vocabulary_size

    def ids(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids of each sentence, without special tokens and before truncation.

        Raises CorpusError where a sentence is not text, and ModelError where the tokenizer fails.
        """
        for sentence in sentences:
            _check(sentence)
        try:
            if self._tokenizer.is_fast:
                encode = self._tokenizer.backend_tokenizer.encode_batch_fast
                ids = [row.ids for row in encode(list(sentences), add_special_tokens=False)]
            else:
                encode = self._tokenizer
                ids = [encode(one, add_special_tokens=False)["input_ids"] for one in sentences]
        except Exception as error:  # such as where it lacks a token for unknown text
            reason = f"The tokenizer of {self.label} cannot read a sentence ({quote(error)})."
            raise ModelError(reason, "Choose another model.") from error
        largest = max((max(row, default=0) for row in ids), default=0)
        if largest >= self._vocabulary_size:  # on a GPU it would end the process
            raise self.mismatch(largest)
        return ids

    def framed(self, ids: Sequence[int]) -> list[int]:
        """The tokens that the model reads: with special ones, truncated."""
        room = self.max_length - len(self.frame)
        return [*self.frame.prefix, *ids[:room], *self.frame.suffix]

    def names(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Tokens as the vocabulary writes them."""
        return tuple(map(str, self._tokenizer.convert_ids_to_tokens(list(ids))))

    @property
    def special(self) -> tuple[list[Any], ...]:
        """The role, such as cls, the token and the id of each special token, by id."""
        roles = self._tokenizer.special_tokens_map.items()
        tokens = [(role.removesuffix("_token"), str(name)) for role, name in roles]
        ids = self._tokenizer.convert_tokens_to_ids([name for _, name in tokens])
        rows = [[*token, id_] for token, id_ in zip(tokens, ids, strict=True) if id_ is not None]
        return tuple(sorted(rows, key=lambda row: row[2]))

    def mismatch(self, token: int) -> ModelError:
        """The error of a token that the model does not know."""
        return ModelError(
            f"The tokenizer of {self.label} gives token {token:,}, but the model knows only "
            f"{self._vocabulary_size:,} tokens.",
            "They do not belong together: fetch its files again.",
        )


def _check(sentence: object) -> None:
    if not isinstance(sentence, str):
        raise CorpusError(f"{quote(sentence)} is not a text.", "Pass sentences as strings.")
    try:
        sentence.encode()
    except UnicodeEncodeError:
        reason = f"{quote(sentence)} holds half a character (a lone surrogate)."
        raise CorpusError(reason, "Remove it, or save the text as UTF-8 again.") from None
