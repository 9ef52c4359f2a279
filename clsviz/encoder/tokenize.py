"""Tokenizing: from sentences to token ids, and on to the padded rows that a model takes."""

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clsviz.errors import ModelError, first_line


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


@dataclass(frozen=True, eq=False)
class Tokens:
    """n sentences as token ids without special tokens, each distinct sentence once.

    ids: int32, the tokens of all distinct sentences end to end. n_tokens: int32, the number of tokens of each.
    order: intp (n,), which distinct sentence each sentence is.
    """

    ids: NDArray[np.int32]
    n_tokens: NDArray[np.int32]
    order: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each distinct sentence starts in `ids`."""
        starts: NDArray[np.int64] = np.cumsum(self.n_tokens) - self.n_tokens
        return starts


class Tokenizer:
    """A model's tokenizer and the frame of special tokens around a sentence; safe to share between threads.

    max_length: tokens, special ones included, beyond which a sentence is truncated.
    """

    def __init__(self, tokenizer: Any, frame: Frame, max_length: int, vocabulary_size: int, name: str) -> None:
        """tokenizer: of transformers. vocabulary_size: tokens that the model knows. name: what messages call it."""
        self.frame = frame
        self.max_length = max_length
        self._name = name
        self._tokenizer = tokenizer
        self._vocabulary_size = vocabulary_size
        self._room = max_length - len(frame)
        padding = tokenizer.pad_token_id or 0
        self._padding = padding if padding < vocabulary_size else 0  # any token the model knows: it is masked
        self._alter: Callable[[Tokens], Tokens] = lambda tokens: tokens
        self._lock = threading.Lock()

    def altered(self, alter: Callable[[Tokens], Tokens], frame: Frame) -> "Tokenizer":
        """One that changes the tokens of each sentence, but not their number, and puts others around them."""
        changed = copy.copy(self)
        changed._alter, changed.frame = alter, frame
        return changed

    @cached_property
    def ordinary(self) -> NDArray[np.int32]:
        """The ids of the tokens that stand for text, without special, added and unused ones."""
        tokenizer = self._tokenizer
        if tokenizer.is_fast:
            vocabulary = tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False)
            others = set(tokenizer.backend_tokenizer.get_added_tokens_decoder())
        else:
            vocabulary, others = tokenizer.get_vocab(), set(tokenizer.all_special_ids)
        others |= {*self.frame.prefix, *self.frame.suffix}
        known = {number for token, number in vocabulary.items() if not _is_unused(token)} - others
        return np.array(sorted(number for number in known if number < self._vocabulary_size), np.int32)

    def tokenize(self, sentences: Sequence[str]) -> Tokens:
        """The tokens of each sentence, before truncation.

        Raises ModelError where the tokenizer fails, or gives a token the model does not know: on a GPU that would end
        the process.
        """
        distinct = list(dict.fromkeys(sentences))
        token_ids = self._token_ids(distinct)
        n_tokens = np.fromiter(map(len, token_ids), np.int32, len(distinct))
        ids = np.fromiter((token for row in token_ids for token in row), np.int32, int(n_tokens.sum()))
        if ids.max(initial=0) >= self._vocabulary_size:
            raise ModelError(
                f"The tokenizer of {self._name} gives token {ids.max():,}, but the model knows only "
                f"{self._vocabulary_size:,} tokens: they do not belong together. Fetch its files again."
            )
        position = {sentence: index for index, sentence in enumerate(distinct)}
        order = np.fromiter((position[sentence] for sentence in sentences), np.intp, len(sentences))
        return self._alter(Tokens(ids, n_tokens, order))

    def random_tokens(self, lengths: Sequence[int]) -> Tokens:
        """Distinct sentences of random tokens, always the same; lengths without special tokens, cut to what fits."""
        n_tokens: NDArray[np.int32] = np.minimum(lengths, self._room).astype(np.int32)
        ids = np.random.default_rng(0).integers(self._vocabulary_size, size=n_tokens.sum(), dtype=np.int32)
        return Tokens(ids, n_tokens, np.arange(len(n_tokens)))

    def names(self, sentence: str) -> list[str]:
        """The tokens of a sentence as text, without special tokens, before truncation."""
        names: list[str] = self._tokenizer.convert_ids_to_tokens(self._token_ids([sentence])[0])
        return names

    def framed(self, sentence: str) -> list[tuple[str, int]]:
        """Every token the model reads of a sentence, as text and id: with special tokens, after truncation."""
        content = self._token_ids([sentence])[0][: self._room]
        ids = [*self.frame.prefix, *content, *self.frame.suffix]
        return [(str(self._tokenizer.convert_ids_to_tokens(token)), token) for token in ids]

    def framed_lengths(self, tokens: Tokens) -> NDArray[np.int32]:
        """Number of tokens the model reads of each distinct sentence: with special tokens, after truncation."""
        lengths: NDArray[np.int32] = np.minimum(tokens.n_tokens, self._room) + np.int32(len(self.frame))
        return lengths

    def is_truncated(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether the model reads only the beginning of each of the n sentences, bool (n,)."""
        truncated: NDArray[np.bool_] = tokens.n_tokens[tokens.order] > self._room
        return truncated

    def rows(self, tokens: Tokens, batch: NDArray[np.intp]) -> tuple[Tensor, list[int]]:
        """Some of the distinct sentences as a model takes them: token ids, int64 (n, width), and each row's length.

        Padded on the right, whatever the tokenizer's habit, so that no position depends on the longest row.
        """
        frame, lengths = self.frame, self.framed_lengths(tokens)[batch]
        width = int(lengths.max(initial=0))
        columns = np.arange(width - len(frame))
        n_content = (lengths - len(frame))[:, None]
        is_content = columns < n_content
        ids = np.full((len(batch), width), self._padding, np.int64)
        ids[:, : len(frame.prefix)] = frame.prefix
        content = ids[:, len(frame.prefix) : len(frame.prefix) + len(columns)]
        content[is_content] = tokens.ids[(tokens.starts[batch][:, None] + columns)[is_content]]
        after = len(frame.prefix) + n_content + np.arange(len(frame.suffix))
        np.put_along_axis(ids, after, np.array([frame.suffix], np.int64), axis=1)
        return torch.from_numpy(ids), lengths.tolist()

    def _token_ids(self, sentences: Sequence[str]) -> list[list[int]]:
        if not sentences:
            return []
        try:
            if self._tokenizer.is_fast:
                encoded = self._tokenizer.backend_tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
                return [one.ids for one in encoded]
            with self._lock:  # calling it changes its settings
                ids: list[list[int]] = self._tokenizer(list(sentences), add_special_tokens=False, verbose=False)[
                    "input_ids"
                ]
            return ids
        except Exception as error:  # a tokenizer may raise anything, such as when it has no token for unknown text
            raise ModelError(f"The tokenizer of {self._name} cannot read a sentence: {first_line(error)}") from error


def _is_unused(token: str) -> bool:
    """Whether a token was left free for others, and so stands for no text."""
    return token.strip("[]<>").startswith(("unused", "madeupword", "extra_id_")) and token[0] in "[<m"
