"""The jobs of a search test: one reads the texts and makes searches, the other measures vectors and tests them."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from clsviz import analysis
from clsviz.analysis.search_test import SearchTest
from clsviz.api.search import run_test
from clsviz.errors import ClsvizError, SettingError
from clsviz.experiment import Experiment
from clsviz.jobs import FREE_SECONDS, Analysis, Cost, Extraction, Found, State, identified, state_of_files
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import SEARCH_DEFAULTS, Pooling, Task
from clsviz.sources import catalogue, models, searches
from clsviz.sources.models import NotDownloadedError
from clsviz.sources.sampling import Sample
from clsviz.store.results import ResultKey
from clsviz.ui.state import server

_MOST_TEXTS_IN_PUBLIC = 5_000

_LONGEST_READ = 2_300
"""Characters of a text that a model reads, about: 512 tokens."""

_TEST_SECONDS = 5.0
"""About what searching takes once the vectors are there."""


@dataclass(frozen=True)
class Asked:
    """What a test would be of; the texts themselves are read again where they are measured.

    task, titles, corpus: of the searches. n_searches, n_texts: how many there are. found: the same, as what is measured
    is described elsewhere; None where the model is still to be downloaded. cost: of measuring all of it.
    """

    task: Task
    titles: str
    corpus: catalogue.Corpus
    n_searches: int
    n_texts: int
    found: Found | None
    cost: Cost


@dataclass(frozen=True)
class SearchJobs:
    """The job that reads the texts, and the one that tests the search; None until it is wanted.

    name: of the test. It is wanted once `start` was called with it, or when it is stored or takes only seconds.
    """

    name: Hashable
    asked: "Analysis[Asked]"
    test: "Analysis[SearchTest] | None"

    @property
    def is_active(self) -> bool:
        """Whether more is to come."""
        return self.asked.state.is_active or (self.test is not None and self.test.state.is_active)

    @property
    def error(self) -> ClsvizError | None:
        """Why there is no result."""
        return self.asked.error or (self.test.error if self.test else None)

    @property
    def is_done(self) -> bool:
        """Whether there is a result."""
        return self.test is not None and self.test.state is State.DONE

    @property
    def result(self) -> SearchTest | None:
        """The test, once all of it is computed."""
        return self.test.work.result if self.test is not None and self.is_done else None

    def news(self) -> Hashable:
        """Changes when there is more to see."""
        return self.asked.state, self.test.state if self.test else None, str(self.error)

    def start(self) -> None:
        """Have it tested, or tested again after an error."""
        tries = _of_session("search_tries")
        if self.error:
            tries[self.name] = tries.get(self.name, 0) + 1
        _of_session("search_wanted")[self.name] = True

    def stop(self) -> None:
        """Leave the test, which ends unless somebody else asks for it."""
        _of_session("search_wanted")[self.name] = False
        if self.test is not None:
            self.test.leave(("asked", server.visitor()))


def _of_session(name: str) -> dict[Hashable, Any]:
    """Something that this session knows of tests, by their names."""
    known: dict[Hashable, Any] = st.session_state.setdefault(name, {})
    return known


def ask(experiment: Experiment, titles: str = "", judged: str = "") -> SearchJobs:
    """Both jobs, which continue for as long as they are asked for.

    titles: the column of titles; judged: the name of the file of searches that was uploaded; each "" for none.
    """
    queue, cache, who = server.jobs(), server.cache(), server.visitor()
    file = queue.store.corpora / judged if judged else None
    most = _MOST_TEXTS_IN_PUBLIC if server.limits().is_public else searches.MOST_TEXTS
    of_files = titles, judged, state_of_files(experiment), server.limits().is_public
    of_texts = experiment.model, experiment.selection, experiment.seed, of_files
    name = "search test", of_texts, experiment.pooling, experiment.layer
    tries = _of_session("search_tries").get(name, 0)
    files: dict[str, Any] = {"titles": titles, "judged": file, "most_texts": most}

    def read(progress: Progress) -> Asked:
        """Find or make the searches, and estimate the cost of testing them."""
        if models.Imported.parse(experiment.model):
            raise SettingError("Imported vectors have no queries. Choose a model, or use clsviz.search_test_vectors.")
        selection, folder = experiment.selection, queue.store.corpora
        there = searches.find_searches(selection, folder, progress, seed=experiment.seed, **files)
        of = there.task, there.titles, there.corpus, len(there.queries), len(there.texts)
        try:
            weights = identified(models.find(experiment.model), queue.store)
        except NotDownloadedError:
            return Asked(*of, None, Cost(0, models.download_megabytes(experiment.model, progress)))
        found = Found(weights, Sample(there.corpus, [], "all texts, none cut into sentences"))
        texts = [text[:_LONGEST_READ] for text in (*there.texts, *there.queries)]
        to_measure = Found(weights, Sample(there.corpus, texts, ""))
        extraction = Extraction(experiment, queue.store, queue.encoders, machine=queue.machine, kind=Kind.VECTORS)
        has_trial = _result_key(found, experiment) not in cache  # or else nobody waits for it
        return Asked(*of, found, Cost(extraction.seconds(to_measure, len(texts), has_trial=has_trial) + _TEST_SECONDS))

    asked = queue.fetch(("searches", tries, of_texts), read, who)
    result = asked.work.result
    if result is None or asked.state is not State.DONE:
        return SearchJobs(name, asked, None)
    key = _result_key(result.found, experiment) if result.found else None  # of what is kept, once the model is here
    cost = result.cost.seconds
    is_wanted = _of_session("search_wanted").get(name, 0 < cost <= FREE_SECONDS)
    if not is_wanted and (key is None or key not in cache):
        return SearchJobs(name, asked, None)

    def test(progress: Progress) -> Any:
        yield run_test(experiment, queue.store, queue.encoders, progress, **files, cache=cache).test

    def kept() -> SearchTest | None:
        return cache.get(key) if key else None

    tested = queue.measure_more((name, tries), test, who, lambda: cost, kept=kept, can_rest=True)
    if result.found is None and tested.state is State.DONE:  # they are here by now
        asked = queue.fetch(("searches", name), read, who)
    return SearchJobs(name, asked, tested)


def _result_key(found: Found, experiment: Experiment) -> ResultKey:
    """Where the result is kept."""
    weights, layer = found.weights, experiment.layer
    if layer == weights.n_layers or experiment.pooling is Pooling.POOLER:
        layer = None
    is_bundled = experiment.corpus == SEARCH_DEFAULTS["corpus"]
    return analysis.search_test.key_of(found.corpus, weights, experiment.pooling, layer, is_bundled=is_bundled)


@st.cache_resource(max_entries=1, show_spinner=False)
def opening() -> SearchTest | None:
    """The test that the page opens with where nothing is chosen, if it is stored."""
    experiment = Experiment.from_query(SEARCH_DEFAULTS)
    try:
        asked = searches.find_searches(experiment.selection, server.jobs().store.corpora, Progress())
        weights = models.find(experiment.model)
    except ClsvizError:  # of a damaged installation
        return None
    key = analysis.search_test.key_of(asked.corpus, weights, experiment.pooling, None, is_bundled=True)
    test: SearchTest | None = server.cache().get(key)
    return test
