"""What is shown of a link before it is opened: of what is stored, without measuring, building or fetching anything."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz import analysis, corpora, models, statistics
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import SHOWCASE, Encoders, Extraction, Found, Store
from clsviz.progress import Progress
from clsviz.settings import CORPUS_PARAMETER, MODEL_PARAMETER, PAGE_PARAMETERS, TEXT_PARAMETER
from clsviz.store.results import ResultCache
from clsviz.ui.state import server, visitor
from clsviz.web.pages import PAGES, Page

MOST_SENTENCES = 20_000
"""A larger sample takes too long to read."""

_NOT_OF_THE_EXPERIMENT = {*PAGE_PARAMETERS, TEXT_PARAMETER, MODEL_PARAMETER, CORPUS_PARAMETER}


@dataclass(frozen=True, eq=False)
class Scatter:
    """The sentences of a view: lengths int32 (n,), norms float32 (n,). r_squared: of the line through them."""

    lengths: NDArray[np.int32]
    norms: NDArray[np.float32]
    r_squared: float | None


@dataclass(frozen=True, eq=False)
class Preview:
    """What is known of a link: the question of its page, the answer or "", and the picture or None.

    key: equal for two previews that look the same.
    """

    experiment: Experiment
    question: str
    answer: str = ""
    scatter: Scatter | None = None
    key: Hashable = None


class Previews:
    """Previews of what the store has."""

    def __init__(self, store: Store | None = None) -> None:
        """store: by default that of the server."""
        self._store = store or Store(shipped=SHOWCASE)
        self._encoders = Encoders(0)  # none is ever loaded
        self._cache = ResultCache(self._store.results, SHOWCASE / "results")

    def of(self, page: str, query: Mapping[str, str]) -> Preview:
        """The preview of a link to the page with that path. Whatever the link gets wrong has its default.

        What is in a visitor's own file, or on this machine, is not shown to whoever knows its name.
        """
        shown = PAGES.get(page, PAGES[""])
        asked, question = self._asked(page, query)
        found = None
        if asked.sample_size <= MOST_SENTENCES and _is_for_all(asked):
            found = self._stored(asked, shown.kind)
        if found is None:
            return Preview(asked, question, key=question)
        try:
            answer, scatter = self._answer(shown, found, asked), _scatter(found, asked)
        except ClsvizError:  # the model has no such layer, say: the page says so
            return Preview(asked, question, key=question)
        return Preview(asked, question, answer, scatter, (question, answer, asked.view, found.key))

    def unread(self, page: str, query: Mapping[str, str]) -> Preview:
        """The same without looking at what is stored."""
        asked, question = self._asked(page, query)
        return Preview(asked, question, key=question)

    def _asked(self, page: str, query: Mapping[str, str]) -> tuple[Experiment, str]:
        asked = _experiment(query)
        return asked, PAGES.get(page, PAGES[""]).question(asked)

    def _stored(self, asked: Experiment, kind: Kind) -> Found | None:
        extraction = Extraction(asked, self._store, self._encoders, kind=kind, outlines=True)
        try:
            found = extraction.find_stored(Progress())
        except ClsvizError:  # what is missing or damaged is for the page to say
            return None
        return found if found is not None and len(found.measurements) else None

    def _answer(self, page: Page, found: Found, asked: Experiment) -> str:
        return page.answer(found, asked, self._cache)


def _experiment(query: Mapping[str, str]) -> Experiment:
    """The experiment of a link, as its page would read it."""

    def ignore(_: ClsvizError) -> None:
        """The page says what is wrong with the link."""

    settings = {name: text for name, text in query.items() if name not in _NOT_OF_THE_EXPERIMENT}
    asked = Experiment.from_query(settings, ignore)
    # Whether a file may be opened depends on the visitor, of whom nothing is known here: it is not opened at all.
    return visitor.admitted(asked, ignore) if server.limits().is_public or _is_for_all(asked) else asked


def _is_for_all(asked: Experiment) -> bool:
    """Whether neither the model nor the corpus is one's own."""
    return not (models.is_folder(models.Name.parse(asked.model).base) or corpora.is_own(asked.corpus))


def _scatter(found: Found, asked: Experiment) -> Scatter | None:
    """What the view shows of the first sentences that are measured; None if that is nothing."""
    analysis.check_pooling(asked.view, found.measurements)
    analysis.check_layer(asked.view, found.measurements.n_layers)
    index, _ = analysis.under_cutoff(found.measurements, asked.view)
    audit = analysis.audit_of(found, asked.view)
    if not len(index) or (found.audit is not None and (audit is None or not audit.keeps_r_squared)):
        return None
    lengths = analysis.lengths_of(found, asked.view, index)
    norms = found.measurements.norms(asked.pooling, asked.layer)[index]
    try:
        r_squared = statistics.r_squared(lengths, norms)
    except ClsvizError:
        r_squared = None
    return Scatter(lengths, norms, r_squared)
