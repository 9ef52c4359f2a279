"""Sentences that are already in memory, as a corpus of the store."""

import io
import os
from collections.abc import Iterable, Mapping

import orjson

from clsviz import corpora
from clsviz.errors import CorpusError
from clsviz.measuring import Store

Corpus = str | os.PathLike[str] | Iterable[str]
"""A name or path, or the sentences themselves: a list, a pandas Series, a column of a datasets.Dataset."""


_FILE_NAME = "sentences.jsonl"


def corpus_name(corpus: Corpus, store: Store) -> str:
    """The name under which an experiment finds `corpus`.

    Sentences in memory are first written to the store under a name made of their content, like an uploaded file: the
    same sentences are the same corpus in every session. Raises CorpusError where an item is not text, or there is none.
    """
    if isinstance(corpus, str):
        return corpus
    if isinstance(corpus, os.PathLike):
        return os.path.abspath(os.path.expanduser(corpus))
    if isinstance(corpus, Mapping) or hasattr(corpus, "columns") or hasattr(corpus, "column_names"):
        kind = type(corpus).__name__
        raise CorpusError(
            f'corpus is a {kind}, which may have several columns. Give one of them, such as table["text"].'
        )
    content = b"\n".join(_line(number, text) for number, text in enumerate(corpus, 1))
    if not content:
        raise CorpusError("corpus holds no sentences. Give at least one; a line needs three.")
    return corpora.keep_upload(io.BytesIO(content), _FILE_NAME, store.corpora)


def _line(number: int, text: object) -> bytes:
    if not isinstance(text, str):
        raise CorpusError(
            f"Item {number:,} of corpus is a {type(text).__name__}, not text. Leave it out or convert it."
        )
    try:
        return orjson.dumps({"text": str(text)})
    except orjson.JSONEncodeError:
        raise CorpusError(
            f"Item {number:,} of corpus holds half a character (a lone surrogate). Leave it out."
        ) from None
