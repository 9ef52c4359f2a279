"""What all visitors of one server share."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from clsviz.encoder import guard_torch
from clsviz.experiment import View
from clsviz.limits import Limits, limits_of
from clsviz.measuring import SHOWCASE, Analysis, Encoders, Found, Jobs, Store

T = TypeVar("T")


@dataclass(frozen=True)
class _Server:
    limits: Limits
    jobs: Jobs


@st.cache_resource(show_spinner=False)
def _server() -> _Server:
    """Created once, when the first visitor comes."""
    guard_torch()  # jobs import it while pages compute
    limits = limits_of(os.environ)
    store = Store(shipped=SHOWCASE)
    encoders = Encoders.of(store, limits.n_encoders)
    return _Server(limits, Jobs(store, encoders, unwatched_seconds=limits.unwatched_seconds))


def limits() -> Limits:
    """What this server allows its visitors."""
    return _server().limits


def jobs() -> Jobs:
    """The jobs of all visitors."""
    return _server().jobs


def analyse(steps: Callable[[Found, View], Iterator[T]], found: Found, view: View) -> Analysis[T]:
    """The job that takes `steps` with what was found and a view of it, shared by everyone who looks at the same."""
    return jobs().analyse((steps.__module__, steps.__qualname__, found.key, view), lambda: steps(found, view))


def analyse_pair(
    steps: Callable[[Found, Found, View], Iterator[T]], found: Found, other: Found, view: View
) -> Analysis[T]:
    """As `analyse`, for two of what was found."""
    key = steps.__module__, steps.__qualname__, found.key, other.key, view
    return jobs().analyse(key, lambda: steps(found, other, view))


def compute(work: Callable[[Found, View], T], found: Found, view: View) -> Analysis[T]:
    """As `analyse`, for work that has a single result."""
    key = work.__module__, work.__qualname__, found.key, view
    return jobs().analyse(key, lambda: iter([work(found, view)]))
