"""What is shown of a link before it is opened: of what is stored, without measuring, building or fetching anything."""

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

import cachetools
import numpy as np

from clsviz import analysis, export, figures, words
from clsviz.analysis import search_test, showcase
from clsviz.analysis.random_weights import RandomWeights
from clsviz.analysis.search_test import SearchTest
from clsviz.cli.files import read_wanted
from clsviz.errors import ClsvizError, SettingError
from clsviz.experiment import Experiment
from clsviz.figures import static
from clsviz.jobs import SHOWCASE, Encoders, Extraction, Found, kind_of_norms
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import (
    CORPUS_PARAMETER,
    MODEL_PARAMETER,
    PAGE_PARAMETERS,
    SEARCH_DEFAULTS,
    TEXT_PARAMETER,
    Lengths,
    Pooling,
    SimilarityFunction,
)
from clsviz.sources import catalogue, models, searches
from clsviz.statistics import line
from clsviz.statistics.probes import Profile
from clsviz.store import Store
from clsviz.store.results import ResultCache
from clsviz.ui.first_steps import Example
from clsviz.ui.state import server, visitor
from clsviz.web.page import PAGE_PARAMETER, PICTURE, SIZE

MOST_SENTENCES = 20_000
"""A larger sample takes too long to read."""

_MOST_BYTES = 16_000_000
"""Of pictures that are kept."""

LISTED = Path(__file__).parents[2] / "deploy" / "showcase.toml"
"""What the showcase lists, in a checkout and in the image; an installed package has none."""

_NOT_OF_THE_EXPERIMENT = {*PAGE_PARAMETERS, TEXT_PARAMETER, MODEL_PARAMETER, CORPUS_PARAMETER}


@dataclass(frozen=True)
class Page:
    """A page as a link to it is previewed.

    question: of an experiment. answer: what the page says of what is stored, or "" where that is still to be computed.
    picture: what it shows of that, or None. kind: what the page rests on.
    """

    question: Callable[[Experiment], str]
    answer: Callable[[Found, Experiment, ResultCache], str] = lambda *_: ""
    picture: Callable[[Found, Experiment, ResultCache], "Picture | None"] = lambda *_: None
    kind: Kind = Kind.NORMS


SEARCH = "length_and_search"
"""The page that rests on no measurement of sentences, but on a test of its own."""

Picture = static.Scatter | static.Lines | static.Exposures


def _norm_vs_length(found: Found, experiment: Experiment, cache: ResultCache) -> str:
    if found.n_missing or not analysis.is_stored(found, experiment.view, cache):
        return ""
    shown = analysis.select(found, experiment.view, wait=False, cache=cache)
    shape = cache.get(analysis.result_key("shapes", found, view=experiment.view))
    return words.answer(shown, experiment, shape)


def _where_length_lives(found: Found, experiment: Experiment, cache: ResultCache) -> str:
    profile = _profile(found, experiment, cache)
    return words.profile.headline(profile, experiment) if profile else ""


def _profile(found: Found, experiment: Experiment, cache: ResultCache) -> Profile | None:
    profile: Profile | None = cache.get(analysis.result_key("profiles", found, view=experiment.view.of_all_vectors))
    return profile


def _errors(found: Found, experiment: Experiment, cache: ResultCache) -> static.Lines | None:
    """By how much length is missed after every layer."""
    profile = _profile(found, experiment, cache)
    if profile is None or profile.is_of_one_vector:
        return None
    random: RandomWeights | None = None
    if experiment.pooling is Pooling.CLS and experiment.lengths is Lengths.TRUE:
        random = cache.get(analysis.result_key("random_weights", found, view=experiment.view.of_all_vectors))
    return export.errors_for_image(profile, experiment, random)


PAGES = {
    "": Page(lambda experiment: words.question(experiment), _norm_vs_length, lambda *of: _scatter(*of)),
    "where_length_lives": Page(
        lambda experiment: words.question_of_layers(experiment), _where_length_lives, _errors, Kind.VECTORS
    ),
    SEARCH: Page(lambda _: words.search.QUESTION),
    "compare_models": Page(lambda experiment: words.question_of_models(experiment)),
    "try_a_sentence": Page(
        lambda experiment: words.question_of_sentence(experiment), picture=lambda *of: _scatter(*of)
    ),
    "inside_the_model": Page(lambda experiment: words.question_of_parts(experiment)),
}
"""By the path of each."""


@dataclass(frozen=True, eq=False)
class Preview:
    """What is known of a link: the question of its page, the answer or "", and the picture or None.

    query: of the link, without what it gets wrong. key: equal for two previews that look the same.
    """

    experiment: Experiment
    query: Mapping[str, str]
    question: str
    answer: str = ""
    picture: Picture | None = None
    key: Hashable = None

    @property
    def alt(self) -> str:
        """The picture in words."""
        if isinstance(self.picture, static.Scatter):
            return words.sharing.alt(self.experiment, len(self.picture.lengths))
        if isinstance(self.picture, static.Exposures):
            return "Exposure and recall by fifths of the texts’ lengths."
        return f"{self.picture.title} by layer." if isinstance(self.picture, static.Lines) else self.question


class Previews:
    """Previews of what the store has."""

    def __init__(self, store: Store | None = None) -> None:
        """store: by default that of the server."""
        self._store = store or Store(shipped=SHOWCASE)
        self._encoders = Encoders(0)  # none is ever loaded
        self._cache = ResultCache(self._store.results, SHOWCASE / "results")
        self._pictures: cachetools.LRUCache[Hashable, bytes] = cachetools.LRUCache(_MOST_BYTES, getsizeof=len)
        self._lock = threading.Lock()

    def of(self, page: str, query: Mapping[str, str]) -> Preview:
        """The preview of a link to the page with that path. Whatever the link gets wrong has its default.

        What is in a visitor's own file, or on this machine, is not shown to whoever knows its name.
        """
        shown = PAGES.get(page, PAGES[""])
        unread = self.unread(page, query)
        if page == SEARCH:
            return self._of_search(unread)
        asked, question, found = unread.experiment, unread.question, None
        if asked.sample_size <= MOST_SENTENCES and _is_for_all(asked):
            found = self._stored(asked, kind_of_norms(asked) if shown.kind is Kind.NORMS else shown.kind)
        if found is None:
            return unread
        try:
            of = found, asked, self._cache
            answer, picture = shown.answer(*of), shown.picture(*of)
        except ClsvizError:  # the model has no such layer, say: the page says so
            return unread
        key = page, question, answer, asked.view, found.key
        return replace(unread, answer=answer, picture=picture, key=key)

    def _of_search(self, unread: Preview) -> Preview:
        """The verdict and the picture of a test that is stored of the corpus that the page opens with."""
        asked, similarity = unread.experiment, SimilarityFunction(unread.query.get("similarity", "cosine"))
        if asked.corpus != SEARCH_DEFAULTS["corpus"] or not _is_for_all(asked):
            return unread
        try:
            searched = searches.find_searches(asked.selection, self._store.corpora, Progress())
            weights = models.find(asked.model)
        except ClsvizError:
            return unread
        layer = None if asked.layer == weights.n_layers or asked.pooling is Pooling.POOLER else asked.layer
        key = search_test.key_of(searched.corpus, weights, asked.pooling, layer, is_bundled=True)
        test: SearchTest | None = self._cache.get(key)
        if test is None:
            return unread
        drawn = static.Exposures(figures.by_fifth(words.search.lines(test, similarity)), words.search.spans(test))
        return replace(unread, answer=words.search.verdict(test, similarity), picture=drawn, key=(key, similarity))

    def picture(self, page: str, query: Mapping[str, str]) -> tuple[bytes, bool]:
        """The picture of a link, a PNG, and whether it has an answer."""
        preview = self.of(page, query)
        is_known = bool(preview.answer)
        with self._lock:
            if preview.key in self._pictures:
                return self._pictures[preview.key], is_known
        said = preview.answer or ("" if preview.picture else words.sharing.TO_MEASURE)
        drawn = static.image(preview.picture, preview.question, said, words.sharing.SITE, width=SIZE[0])
        with self._lock:
            self._pictures[preview.key] = drawn
        return drawn, is_known

    def unread(self, page: str, query: Mapping[str, str]) -> Preview:
        """The same without looking at what is stored."""
        defaults = SEARCH_DEFAULTS if page == SEARCH else {}
        asked = _experiment({**defaults, **query})
        of_link = asked.to_query(defaults)
        if page == SEARCH and query.get("similarity") in [*SimilarityFunction]:
            of_link["similarity"] = query["similarity"]
        question = PAGES.get(page, PAGES[""]).question(asked)
        return Preview(asked, of_link, question, key=question)

    def _stored(self, asked: Experiment, kind: Kind) -> Found | None:
        extraction = Extraction(asked, self._store, self._encoders, kind=kind, outlines=True)
        try:
            found = extraction.find_stored(Progress())
        except ClsvizError:  # what is missing or damaged is for the page to say
            return None
        return found if found is not None and len(found.measurements) else None


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
    return not (models.is_folder(models.Name.parse(asked.model).base) or catalogue.is_own(asked.corpus))


def _scatter(found: Found, asked: Experiment, cache: ResultCache) -> static.Scatter | None:
    """What the view shows of the first sentences that are measured; None if that is nothing."""
    analysis.check_pooling(asked.view, found.measurements)
    analysis.check_layer(asked.view, found.measurements.n_layers)
    index, _ = analysis.under_cutoff(found.measurements, asked.view)
    audit = analysis.audit_of(found, asked.view)
    if not len(index) or (found.audit is not None and (audit is None or not audit.keeps_r_squared)):
        return None
    lengths = analysis.lengths_of(found, asked.view, index)
    norms = found.measurements.norms(asked.pooling, asked.layer)[index]
    titles = words.length_title(asked.view), words.axis_title(asked)
    try:
        r_squared = line.r_squared(lengths, norms)
    except ClsvizError:  # there is no line
        return static.Scatter(lengths, norms, *titles)
    intercept, slope = np.polynomial.Polynomial.fit(lengths, norms.astype(float), 1).convert().coef.tolist()
    return static.Scatter(lengths, norms, *titles, (intercept, slope), r_squared)


def examples(listed: Path = LISTED) -> list[Example]:
    """Those that are stored; listed: the file of the showcase."""
    previews = Previews()
    offered = []
    for page, asked in dict.fromkeys(_listed(listed)):
        preview = previews.of(page, asked.to_query())
        if preview.picture is None and not preview.answer:
            continue
        query = urlencode(preview.query)
        picture = urlencode({**preview.query} | ({PAGE_PARAMETER: page} if page else {}))
        example = Example(
            link=f"./{page}" + (f"?{query}" if query else ""),
            picture=f".{PICTURE}" + (f"?{picture}" if picture else ""),
            alt=preview.alt,
            question=preview.question,
            answer=preview.answer,
        )
        offered.append(example)
    return offered


def _listed(listed: Path) -> Iterator[tuple[str, Experiment]]:
    for experiment in showcase.EXPERIMENTS:
        yield "", experiment
    for page in ("where_length_lives", "length_and_search"):
        yield page, showcase.DEFAULT
    try:
        wanted = read_wanted(listed) if listed.is_file() else []
    except SettingError:  # whoever measures what it lists is told
        wanted = []
    for one in wanted:
        page = "where_length_lives" if one.kind is Kind.VECTORS else ""
        yield page, one.experiment
