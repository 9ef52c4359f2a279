"""The jobs of the page: one reads the texts and makes searches, the other measures vectors and tests them."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal

import streamlit as st

from clsviz import analysis, words
from clsviz.analysis.search_test import SearchTest
from clsviz.api.search import run_test
from clsviz.errors import ClsvizError, SettingError, UnsearchableError
from clsviz.experiment import Experiment
from clsviz.jobs import FREE_SECONDS, Analysis, Cost, Extraction, Found, State, state_of_files
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import SEARCH_DEFAULTS, Pooling, Task
from clsviz.sources import catalogue, models, searches
from clsviz.sources.models import NotDownloadedError, Weights
from clsviz.sources.sampling import Sample
from clsviz.store.results import ResultKey
from clsviz.ui import status
from clsviz.ui.markdown import escape
from clsviz.ui.parts import redrawn
from clsviz.ui.state import server, session

_MOST_TEXTS_IN_PUBLIC = 5_000

_LONGEST_READ = 2_300
"""Characters of a text that a model reads, about: 512 tokens."""

_TEST_SECONDS = 5.0
"""About what searching takes once the vectors are there."""

_PATIENCE_SECONDS, _POLL_SECONDS = 0.7, 0.5


@dataclass(frozen=True)
class Asked:
    """What a test would be of; the texts themselves are read again where they are measured.

    task, titles, corpus: of the searches. n_searches, n_texts: how many there are. weights: None where they are still
    to be downloaded. cost: of measuring all of it.
    """

    task: Task
    titles: str
    corpus: catalogue.Corpus
    n_searches: int
    n_texts: int
    weights: Weights | None
    cost: Cost

    @property
    def found(self) -> Found | None:
        """The same, as what is measured is described elsewhere."""
        if self.weights is None:
            return None
        return Found(self.weights, Sample(self.corpus, [], "all texts, none cut into sentences"))


@dataclass(frozen=True)
class SearchJobs:
    """The job that reads the texts, and the one that tests the search; None until it is wanted."""

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


def of_searches() -> tuple[str, str]:
    """The column of titles and the file of searches, each "" if none is chosen."""
    return st.session_state.titles, st.session_state.searches


def _key(experiment: Experiment) -> Hashable:
    """Of what is searched; together with the vector, of a test."""
    names = experiment.model, experiment.selection, experiment.seed, *of_searches()
    return *names, state_of_files(experiment), server.limits().is_public


def ask() -> SearchJobs:
    """Both jobs, which go on for as long as they are asked for."""
    experiment, state = session.experiment(), st.session_state
    queue, cache, titles, who = server.jobs(), server.cache(), state.titles, server.visitor()
    judged = queue.store.corpora / state.searches if state.searches else None
    most = _MOST_TEXTS_IN_PUBLIC if server.limits().is_public else searches.MOST_TEXTS

    def read(progress: Progress) -> Asked:
        if models.Imported.parse(experiment.model):
            raise SettingError("Imported vectors have no queries. Choose a model, or use clsviz.search_test_vectors.")
        there = searches.find_searches(
            experiment.selection,
            queue.store.corpora,
            progress,
            titles=titles,
            judged=judged,
            seed=experiment.seed,
            most_texts=most,
        )
        try:
            weights: Weights | None = models.find(experiment.model)
        except NotDownloadedError:
            weights = None
        n = len(there.queries), len(there.texts)
        found_here = Asked(there.task, there.titles, there.corpus, *n, weights, Cost(0))
        if weights is None:
            cost = Cost(0, models.download_megabytes(experiment.model, progress))
        else:
            key = _result_key(found_here, experiment)
            is_kept = key is not None and key in cache  # then nobody waits for a trial
            texts = [text[:_LONGEST_READ] for text in (*there.texts, *there.queries)]
            extraction = Extraction(experiment, queue.store, queue.encoders, machine=queue.machine, kind=Kind.VECTORS)
            found = Found(weights, Sample(there.corpus, texts, ""))
            cost = Cost(extraction.seconds(found, len(texts), has_trial=not is_kept) + _TEST_SECONDS)
        return replace(found_here, cost=cost)

    asked = queue.fetch(("searches", state.get("search_tries", 0), _key(experiment)), read, who)
    result = asked.work.result
    if result is None or asked.state is not State.DONE:
        return SearchJobs(asked, None)
    key = _result_key(result, experiment)
    name = _name()
    starts_itself = 0 < result.cost.seconds <= FREE_SECONDS and state.get("search_stopped") != name
    if not (state.get("search_started") == name or starts_itself or (key is not None and key in cache)):
        return SearchJobs(asked, None)

    def test(progress: Progress) -> Any:
        run = run_test(
            experiment,
            queue.store,
            queue.encoders,
            progress,
            titles=titles,
            judged=judged,
            most_texts=most,
            cache=cache,
        )
        return iter([run.test])

    kept: Callable[[], SearchTest | None] = lambda: cache.get(key) if key else None  # noqa: E731
    seconds = result.cost.seconds
    tested = queue.measure_more(name, test, who, lambda: seconds, kept=kept, can_rest=True)
    if result.weights is None and tested.state is State.DONE:  # they are here by now
        asked = queue.fetch(("searches", name), read, who)
    return SearchJobs(asked, tested)


def _result_key(asked: Asked, experiment: Experiment) -> ResultKey | None:
    """Where the result is kept; None while the model is not here."""
    weights, layer = asked.weights, experiment.layer
    if weights is None:
        return None
    if layer == weights.n_layers or experiment.pooling is Pooling.POOLER:
        layer = None
    is_bundled = experiment.corpus == SEARCH_DEFAULTS["corpus"]
    return analysis.search_test.key_of(asked.corpus, weights, experiment.pooling, layer, is_bundled=is_bundled)


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


def wait_a_moment(jobs: SearchJobs) -> None:
    """What is stored is there in a moment: then the page is drawn once, and with its picture."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while jobs.asked.state.is_active and time.monotonic() < deadline:
        time.sleep(0.01)


def show_status(name: str) -> None:
    """How far the test is, with the button that starts or stops it; it keeps itself up to date."""
    before, is_in_browser = ask(), False

    def keep_up() -> None:
        nonlocal is_in_browser
        jobs = ask()
        with st.container(key=f"status{name}"):
            _draw_status(jobs, name)
        if is_in_browser and jobs.news() != before.news():
            st.rerun()
        is_in_browser = True

    redrawn.repeat(keep_up, _POLL_SECONDS if before.is_active else None)


def _draw_status(jobs: SearchJobs, name: str) -> None:
    job: Analysis[Any] = jobs.test or jobs.asked
    state, asked = st.session_state, jobs.asked.work.result
    if job.state is State.QUEUED and jobs.test:
        st.progress(0.0, words.waiting.in_queue(server.jobs().n_ahead(job)))
    elif job.state.is_active:
        left = f" · {words.duration(job.seconds_left)} left" if job.seconds_left is not None and job.rate else ""
        text = f"{job.stage} {job.done:,} of {job.total:,}{left}" if job.total else f"{job.stage or 'Starting'}…"
        st.progress(min(1.0, job.done / job.total) if job.total else 0.0, escape(text))
    if jobs.test and job.state.is_active:
        if st.button("Cancel", icon=":material/stop_circle:", key=f"cancel{name}", width="stretch"):
            state.search_stopped, state.search_started = _name(), None
            job.leave(("asked", server.visitor()))
            st.rerun()
    elif job.state is State.DONE and jobs.test and asked:
        st.caption(f":material/check: {asked.n_searches:,} searches among {asked.n_texts:,} texts tested")
    elif isinstance(jobs.error, UnsearchableError | SettingError):  # the headline says why, and what to do
        return
    elif (not job.state.is_active and asked) or jobs.error:
        measure_button(jobs, f"run{name}", width="stretch")
    status.show_error(jobs.error, *status.OF_THE_RUN)


def measure_button(jobs: SearchJobs, key: str, width: Literal["content", "stretch"] = "content") -> None:
    """Starts the test, or starts it again after an error."""
    asked, state = jobs.asked.work.result, st.session_state

    def start() -> None:
        if jobs.error:
            state.search_tries = state.get("search_tries", 0) + 1
        state.search_started = _name()

    cost = f" · about {words.duration(asked.cost.seconds)}" if asked and asked.cost.seconds and not jobs.error else ""
    label = f"Measure{cost}"
    if st.button(label, icon=":material/play_arrow:", type="primary", key=key, width=width, on_click=start):
        st.rerun()  # the whole page


def _name() -> Hashable:
    """Of the test that the settings ask for, as its job is known."""
    experiment = session.experiment()
    tries = st.session_state.get("search_tries", 0)
    return "search test", tries, _key(experiment), experiment.pooling, experiment.layer
