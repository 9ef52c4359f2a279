"""What was read from the measurements that come with clsviz, so that every page opens with results.

Run as ``python -m clsviz.analysis.showcase``, this measures, reads and writes all of it again on the machine that runs
it, or with ``searches`` after it only the tests of searches. A page that asks for something else measures and computes
it there.
"""

import contextlib
import datetime
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from clsviz import analysis
from clsviz.analysis import compare, layers, probes, random_weights, search, search_test, typed
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment, Selection, View
from clsviz.jobs import Encoders, Extraction, Found, drawn, measure_texts, measure_untrained, search_vectors
from clsviz.measurements import MAX_LENGTH, Kind, Vectors
from clsviz.progress import Progress
from clsviz.settings import Alteration, Lengths, Pooling, Precision, Unit
from clsviz.sources import models
from clsviz.sources.models import UNTRAINED
from clsviz.sources.searches import find_searches
from clsviz.store import Store, write_outline
from clsviz.store.results import ResultCache, ResultKey, write
from clsviz.store.store import SHOWCASE, Origin, origin

if TYPE_CHECKING:
    from clsviz.encoder import Encoder

T = TypeVar("T")

DEFAULT = Experiment()

EXPERIMENTS = (DEFAULT, replace(DEFAULT, model=UNTRAINED + DEFAULT.model))
"""What the main page opens with, and the control that it is compared with."""

_RESULTS = SHOWCASE / "results"


def views(n_layers: int, poolings: Sequence[Pooling]) -> list[View]:
    """The view that pages open with, after every layer and of each pooling."""
    layers = [None, *range(n_layers)]
    views = [replace(DEFAULT.view, layer=layer, pooling=pooling) for pooling in poolings for layer in layers]
    return [view for view in views if view.pooling is not Pooling.POOLER or view.layer is None]


def controls() -> list[View]:
    """The same view with each control: lengths shuffled, and counted in other units."""
    view = DEFAULT.view
    return [
        replace(view, lengths=Lengths.SHUFFLED),
        replace(view, unit=Unit.WORDS),
        replace(view, unit=Unit.CHARACTERS),
    ]


def main() -> None:
    """Measure and read everything, with nothing taken over from before, or the tests of searches alone."""
    if sys.argv[1:] not in ([], ["searches"]):  # what it would measure anew, it deletes first
        sys.exit("usage: python -m clsviz.analysis.showcase [searches]")
    encoders = Encoders()
    if sys.argv[1:]:
        with tempfile.TemporaryDirectory(prefix="clsviz-showcase-") as folder:
            elsewhere = Store(Path(folder), shipped=SHOWCASE)  # which knows the random weights
            for experiment in EXPERIMENTS:
                read_searches(drawn(models.find(experiment.model), encoders, elsewhere), elsewhere, encoders)
        return
    with tempfile.TemporaryDirectory(prefix="clsviz-showcase-") as folder:
        elsewhere = Store(Path(folder))
        measured = measure(elsewhere, encoders)
        for experiment, (of_norms, of_means, of_vectors) in zip(EXPERIMENTS, measured, strict=True):
            print(f"Reading {len(of_norms.measurements):,} sentences by {of_norms.weights.label}", flush=True)
            is_default = experiment == DEFAULT
            read_norms(of_norms, [*views(of_norms.measurements.n_layers, (Pooling.CLS, Pooling.POOLER)), *controls()])
            read_means(of_means)
            every = [*views(of_vectors.measurements.n_layers, [*Pooling]), *controls()]
            read_vectors(of_vectors, every if is_default else views(0, [*Pooling]))
            read_searches(of_norms.weights, elsewhere, encoders)
            if is_default:
                read_similarity(of_vectors, elsewhere, encoders)
                read_random_weights(of_vectors, elsewhere, encoders)
                read_examples(encoders.get(of_norms.weights))


def measure(elsewhere: Store, encoders: Encoders) -> list[tuple[Found, Found, Found]]:
    """Measure norms, means and vectors of the experiments, with nothing taken over from before.

    elsewhere: an empty store for the vectors, of which only an outline comes with clsviz. Gives what was found of each.
    """
    shutil.rmtree(SHOWCASE, ignore_errors=True)
    store, measured = Store(SHOWCASE), []
    for experiment in EXPERIMENTS:
        norms = Extraction(experiment, store, encoders).run(Progress())
        means = Extraction(experiment, store, encoders, kind=Kind.MEANS).run(Progress())
        extraction = Extraction(experiment, elsewhere, encoders, kind=Kind.VECTORS)
        vectors = extraction.run(Progress())
        write_outline(SHOWCASE, extraction.key_of(vectors), vectors.vectors)
        measured.append((norms, means, vectors))
    for path in [*SHOWCASE.rglob("*.lock"), *SHOWCASE.rglob("speed.json")]:
        path.unlink()
    processor = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    made = Origin(day, processor[1] if processor else "unknown", version("torch"), version("transformers"))
    (SHOWCASE / "about.json").write_text(json.dumps(asdict(made), indent=1) + "\n", encoding="utf-8")
    origin.cache_clear()
    return measured


def read_norms(found: Found, views_read: Sequence[View]) -> None:
    """What the main page and the comparison show of norms."""
    cache = _Bundle()
    for view in views_read:
        shown = analysis.select(found, view, cache=cache)
        cache.put(analysis.result_key("quantiles", found, view=view), analysis.quantiles(shown))
        cache.put(analysis.result_key("flat", found, view=view), analysis.flat(shown, view))
        whole = replace(view, length_cutoff=MAX_LENGTH)
        cache.put(analysis.result_key("by_cutoff", found, view=whole), analysis.by_cutoff(found, whole))
        _put_last(cache, "shapes", analysis.shapes, found, view)


def read_means(found: Found) -> None:
    """What the main page shows of means: the view that it opens with for them."""
    view = DEFAULT.view.of_averaging
    read_norms(found, [view])
    _Bundle().put(analysis.result_key("averaging", found, view=view), analysis.averaging(found, view))


def read_vectors(found: Found, views_read: Sequence[View]) -> None:
    """What “Where length lives” and the comparison show."""
    cache, measurements = _Bundle(), found.vectors
    for view in dict.fromkeys(view.of_all_vectors for view in views_read):
        _put_last(cache, "profiles", layers.profiles, found, view)
    for view in views_read:
        analysis.select(found, view, cache=cache)
        if view.lengths is Lengths.SHUFFLED:
            _put_last(cache, "shuffles", random_weights.shuffles, found, view.of_all_layers)
        _put_last(cache, "classifications", layers.classifications, found, view)
        breakdown = layers.norm_breakdown(found, view)
        cache.put(analysis.result_key("norm_breakdown", found, view=view), breakdown)
        if view.pooling is Pooling.CLS:  # each takes a while, and is only a click away
            _put_last(cache, "erasures", probes.erasures, found, view)
    view = DEFAULT.view
    index, _ = analysis.under_cutoff(measurements, view)
    key = analysis.result_key("read_vectors", found, view=view, depends_on=analysis.digest(index))
    *_, profile = compare.read_vectors(found, view, index)
    cache.put(key, profile)


def read_similarity(found: Found, elsewhere: Store, encoders: Encoders) -> None:
    """What the page about search shows."""
    cache, view = _Bundle(), DEFAULT.view
    _put_last(cache, "compare", search.compare, found, view)
    *_, joined = search.join(
        found, view, lambda texts: measure_texts(texts, DEFAULT, found, elsewhere, encoders, Progress())
    )
    cache.put(analysis.result_key("join", found, view=view), joined)


def read_random_weights(found: Found, elsewhere: Store, encoders: Encoders) -> None:
    """What “Where length lives” sets beside the trained model: probes of untrained ones."""

    def measure(seed: int, alteration: Alteration | None) -> Vectors:
        return measure_untrained(seed, DEFAULT, found, elsewhere, encoders, Progress(), alteration)

    *_, result = random_weights.random_weights(found, DEFAULT.view, measure)
    _Bundle().put(analysis.result_key("random_weights", found, view=DEFAULT.view), result)


def read_searches(weights: models.Weights, elsewhere: Store, encoders: Encoders) -> None:
    """What the page about search opens with: every vector that people search with, after the last layer."""
    corpus = find_searches(Selection("python-api"), elsewhere.corpora, Progress())
    vectors = search_vectors(corpus, weights, search_test.TESTED, None, elsewhere, encoders, Progress())
    for pooling in search_test.TESTED:
        test = search_test.run(corpus, vectors, pooling, None, Progress())
        write(_RESULTS, search_test.key_of(corpus.corpus, weights, pooling, None, is_bundled=True), test)


def read_examples(encoder: "Encoder") -> None:
    """What the model makes of the pages' own examples, and what it is made of."""
    grown = typed.growth_texts(typed.EXAMPLE, seed=DEFAULT.seed, word=typed.first_words(typed.EXAMPLE)[0])
    texts: list[str] = grown["text"].tolist()
    for name, sentences, result in (
        ("typed", [typed.EXAMPLE], typed.measure(encoder, [typed.EXAMPLE])),
        ("growth", texts, typed.measure_norms(encoder, texts)),
        ("anatomy", [], encoder.anatomy),
        ("pooler_check", [typed.CHECK_EXAMPLE], typed.check(encoder, typed.CHECK_EXAMPLE)),
    ):
        write(_RESULTS, analysis.sentences_key(name, encoder.weights, Precision.EXACT, sentences), result)


class _Bundle(ResultCache):
    """Keeps results among those that come with clsviz, under their key alone: code and libraries do not count."""

    def put(self, key: Hashable, value: object) -> None:
        super().put(key, value)
        if isinstance(key, ResultKey) and value is not None:
            write(_RESULTS, key, value)

    def get_or_compute(self, key: Hashable, compute: Callable[[], T]) -> T:
        if key not in self:
            self.put(key, compute())
        value: T = self.get(key)
        return value


def _put_last(
    cache: ResultCache, name: str, steps: Callable[[Found, View], Iterator[object]], found: Found, view: View
) -> None:
    """Keep the last of the steps, if they can be taken."""
    with contextlib.suppress(UndefinedFitError):
        *_, result = steps(found, view)
        cache.put(analysis.result_key(name, found, view=view), result)


if __name__ == "__main__":
    main()
