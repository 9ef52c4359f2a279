"""The limits of a public server, where work starts: browsers may send any values of widgets."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import streamlit as st

from clsviz import limits
from clsviz.errors import SettingError, quote
from clsviz.settings import Experiment
from clsviz.sources import corpora, uploads
from clsviz.sources.models import UNTRAINED

HOME: Final = "Run clsviz on your own machine for it."


def listed(kind: str, known: Sequence[str]) -> list[str]:
    """The known values that this server offers; the first, the default, is among them.

    kind: models, corpora, or "" for what is not limited.
    """
    is_limited = kind and limits.is_public()
    return list(dict.fromkeys([known[0], *limits.names(kind)])) if is_limited else list(known)


def check_names(model: str, corpus: str) -> None:
    """Raise SettingError where the server does not measure a model or a corpus.

    A revision counts as a name of its own: on the Hub anybody may propose one.
    """
    base = model.removeprefix(UNTRAINED).strip()
    for kind, name, rest in (("model", base, ""), ("corpus", corpus, " or upload a file")):
        listed = limits.names("models" if kind == "model" else "corpora")
        is_upload = kind == "corpus" and name.startswith(uploads.PREFIX)
        if name not in listed and not is_upload:
            reason = f"{kind} is {quote(name)}, which this server does not measure."
            raise SettingError(reason, f"Choose {' or '.join(listed)}{rest}. {HOME}")


def check_size(experiment: Experiment) -> None:
    """Raise SettingError where the server does not measure a sample as large."""
    most = limits.number("sample_size")
    size = experiment.sample_size
    if most < experiment.most_sentences:
        words = size if size == "all" else f"{size:,}"
        reason = f"sample_size is {words}, and this server measures at most {most:,g} sentences."
        raise SettingError(reason, f"Choose a smaller one. {HOME}")


def bounded(search: Experiment) -> Experiment:
    """A search in at most as many texts as a sample has sentences; shipped ones are few."""
    most = limits.number("sample_size")
    is_bounded = search.corpus in corpora.SHIPPED or most == float("inf")
    return search if is_bounded else replace(search, sample_size=int(most))


def is_too_fast() -> bool:
    """True if this session has its page redrawn too often; notes that it is redrawn now."""
    times: deque[float] = st.session_state.setdefault("redraws", deque())
    now = time.monotonic()
    times.append(now)
    while times[0] < now - 60:
        times.popleft()
    return len(times) > limits.number("redraws")
