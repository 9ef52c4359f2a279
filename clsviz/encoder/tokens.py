"""Sentences to token ids, as a model's own tokenizer cuts them."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clsviz.errors import CorpusError, ModelError, NoCls, quote
from clsviz.sources.models import OTHER_PAGES

SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Frame:
    """Special tokens around every sentence; the first is [CLS].

    prefix, suffix: token ids before and after the sentence. types: token types of the prefix, of
    each token of the sentence, and of the suffix; None if all are 0.
    """

    prefix: list[int]
    suffix: list[int]
    types: tuple[list[int], int, list[int]] | None

    def __len__(self) -> int:
        return len(self.prefix) + len(self.suffix)

    def token_types(self, length: int) -> list[int]:
        """The type of every token of a sentence, special ones included."""
        prefix, content, suffix = self.types or ([], 0, [])
        return [*prefix, *[content] * (length - len(prefix) - len(suffix)), *suffix]


def frame_of(tokenizer: Any, label: str) -> Frame:
    """The special tokens around any sentence; raises NoCls where [CLS] is not the first.

    [CLS] is looked for around a text that does not spell it: “a”, or one of the vocabulary where
    the tokenizer drops Latin letters.
    """
    words = (tokenizer.decode([n], skip_special_tokens=True) for n in range(len(tokenizer)))
    for text in itertools.chain("a", words):
        if content := tokenizer(text, add_special_tokens=False)["input_ids"]:
            encoded = tokenizer(text)
            ids = encoded["input_ids"]
            starts = [n for n in range(len(ids)) if ids[n : n + len(content)] == content]
            if tokenizer.cls_token_id is None or not starts:
                break
            start, stop = starts[0], starts[0] + len(content)
            if ids[:start][:1] != [tokenizer.cls_token_id]:
                reason = f"The tokenizer of {label} does not begin a sentence with [CLS]."
                raise NoCls(reason, OTHER_PAGES)
            types = encoded.get("token_type_ids") or [0]
            parts = (types[:start], types[start], types[stop:]) if any(types) else None
            return Frame(ids[:start], ids[stop:], parts)
    raise NoCls(f"{label} has no [CLS] token.", OTHER_PAGES)


class Tokenizer:
    """A tokenizer of transformers, with neither its truncation nor its padding.

    max_length: tokens that the model reads of a sentence, special ones included.
    n_known: tokens that it knows. Raises ModelError where the two do not belong together.
    """

    def __init__(self, tokenizer: Any, max_length: int, n_known: int, label: str) -> None:
        self._tokenizer = tokenizer
        self._backend = tokenizer.backend_tokenizer if tokenizer.is_fast else None
        if self._backend:  # tokenizer.json may ask for both
            self._backend.no_truncation()
            self._backend.no_padding()
        self.frame = frame_of(tokenizer, label)
        self.max_length = max_length
        self.label = label
        self._n_known = n_known
        self._check([self.frame.prefix, self.frame.suffix])
        if max_length <= len(self.frame):
            raise ModelError(
                f"{label} reads at most {max_length} tokens, and {len(self.frame)} are special.",
                "Its configuration may be wrong: choose another model.",
            )

    def ids(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids of each sentence, without special tokens and before truncation.

        Raises CorpusError where a sentence is not text, and ModelError where the tokenizer fails.
        """
        for sentence in sentences:
            if not isinstance(sentence, str):
                raise CorpusError(f"{quote(sentence)} is not a text.", "Pass sentences as strings.")
            if SURROGATE.search(sentence):
                reason = f"{quote(sentence)} holds half a character (a lone surrogate)."
                raise CorpusError(reason, "Remove it, or save the text as UTF-8 again.")
        try:
            if self._backend:
                rows = self._backend.encode_batch_fast(list(sentences), add_special_tokens=False)
                ids = [row.ids for row in rows]
            else:
                encode = self._tokenizer
                ids = [encode(one, add_special_tokens=False)["input_ids"] for one in sentences]
        except Exception as error:  # such as where it lacks a token for unknown text
            reason = f"The tokenizer of {self.label} cannot read a sentence ({quote(error)})."
            raise ModelError(reason, "Choose another model.") from error
        self._check(ids)
        return ids

    def _check(self, ids: Sequence[Sequence[int]]) -> None:
        """Raise ModelError for a token that the model does not know: a GPU's process would end."""
        largest = max((max(row, default=0) for row in ids), default=0)
        if largest >= self._n_known:
            raise ModelError(
                f"The tokenizer of {self.label} gives token {largest:,}, but the model knows only "
                f"{self._n_known:,} tokens.",
                "They do not belong together: fetch its files again.",
            )

    def with_special_tokens(self, ids: Sequence[int]) -> list[int]:
        """The tokens that the model reads: with special ones, truncated at the tokenizer's side."""
        room = self.max_length - len(self.frame)
        is_left = self._tokenizer.truncation_side == "left"
        read = ids[max(0, len(ids) - room) :] if is_left else ids[:room]
        return [*self.frame.prefix, *read, *self.frame.suffix]

    def words(self, text: str) -> tuple[tuple[str, int, int], ...]:
        """Words of a text, each with its first token and the one after its last.

        Special tokens count. There are none where the tokenizer does not tell.
        """
        if self._backend is None:
            return ()
        encoding = self._backend.encode(text, add_special_tokens=False)
        first = len(self.frame.prefix)
        offsets, room, words = encoding.offsets, self.max_length - len(self.frame), []
        for word, group in itertools.groupby(range(len(offsets)), encoding.word_ids.__getitem__):
            places = list(group)
            if word is not None and places[-1] < room:
                name = text[offsets[places[0]][0] : offsets[places[-1]][1]].strip()
                words.append((name, first + places[0], first + places[-1] + 1))
        return tuple(words)

    def names(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Tokens as the vocabulary writes them."""
        return tuple(map(str, self._tokenizer.convert_ids_to_tokens(list(ids))))

    @property
    def special(self) -> tuple[list[Any], ...]:
        """The role, such as cls, the token and the id of each special token, by id."""
        names = self._tokenizer.special_tokens_map
        ids = self._tokenizer.convert_tokens_to_ids(list(names.values()))
        rows = [
            [role.removesuffix("_token"), str(name), number]
            for (role, name), number in zip(names.items(), ids, strict=True)
            if number is not None
        ]
        return tuple(sorted(rows, key=lambda row: row[2]))
