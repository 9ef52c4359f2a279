"""What was read from the measurements that come with clsviz, so that every page opens with results.

Run as ``python -m clsviz.analysis.showcase``, this measures, reads and writes all of it anew on the machine that runs
it. A page that asks for something else measures and computes it there.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from clsviz import analysis
from clsviz.analysis import compare, layers, probes, search, typed
from clsviz.analysis.kept import Kept, Question, question, question_of_sentences, write
from clsviz.encoder import AnyEncoder
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment, View
from clsviz.measurements import MAX_LENGTH, POOLED
from clsviz.measuring import SHOWCASE, Encoders, Found, Store, measure_showcase, measure_texts
from clsviz.models import UNTRAINED
from clsviz.progress import Progress
from clsviz.settings import Lengths, Pooling, Precision, Unit
from clsviz.vectors import Vectors

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
    """Measure and read everything, with nothing taken over from before."""
    encoders = Encoders()
    with tempfile.TemporaryDirectory(prefix="clsviz-showcase-") as folder:
        elsewhere = Store(Path(folder))
        measured = measure_showcase(EXPERIMENTS, elsewhere, encoders)
        for experiment, (of_norms, of_vectors) in zip(EXPERIMENTS, measured, strict=True):
            print(f"Reading {len(of_norms.measurements):,} sentences by {of_norms.weights.label}", flush=True)
            is_default = experiment == DEFAULT
            read_norms(of_norms)
            read_vectors(of_vectors, None if is_default else [DEFAULT.view])
            if is_default:
                read_similarity(of_vectors, elsewhere, encoders)
                read_examples(encoders.get(of_norms.weights))


def read_norms(found: Found) -> None:
    """What the main page and the comparison show of norms."""
    kept = _Writer()
    for view in [*views(found.measurements.n_layers, (Pooling.CLS, Pooling.POOLER)), *controls()]:
        shown = analysis.select(found, view, kept=kept)
        kept.of(question(analysis.quantiles, found, view=view), partial(analysis.quantiles, shown))
        kept.of(question(analysis.flat, found, view=view), partial(analysis.flat, shown, view))
        whole = replace(view, length_cutoff=MAX_LENGTH)
        kept.of(question(analysis.by_cutoff, found, view=whole), partial(analysis.by_cutoff, found, whole))
        _last(kept, analysis.shapes, found, view)


def read_vectors(found: Found, views_read: list[View] | None = None) -> None:
    """What “Where length lives” and the comparison show; by default for every vector."""
    kept, measurements = _Writer(), found.vectors
    poolings = (*POOLED, Pooling.POOLER)
    every = [*views(measurements.n_layers, poolings), *controls()] if views_read is None else views_read
    for view in dict.fromkeys(view.of_all_vectors for view in every):
        _last(kept, layers.profiles, found, view)
    for view in every:
        analysis.select(found, view, kept=kept)
        _last(kept, layers.classifications, found, view)
        kept.of(question(layers.norm_breakdown, found, view=view), partial(layers.norm_breakdown, found, view))
        if view.pooling is Pooling.CLS:  # each takes a while, and is only a click away
            _last(kept, probes.erasures, found, view)
    view = DEFAULT.view
    index, _ = analysis.under_cutoff(measurements, view)
    _last(kept, partial(compare.read_vectors, index=index), found, view, compare.read_vectors, analysis.digest(index))


def read_similarity(found: Found, elsewhere: Store, encoders: Encoders) -> None:
    """What the page about search shows."""
    kept, view = _Writer(), DEFAULT.view
    _last(kept, search.compare, found, view)

    def measure(texts: Sequence[str]) -> Vectors:
        return measure_texts(texts, DEFAULT, found, elsewhere, encoders, Progress())

    _last(kept, partial(search.join, measure=measure), found, view, search.join)


def read_examples(encoder: AnyEncoder) -> None:
    """What the model makes of the pages' own examples, and what it is made of."""

    def keep(name: str, sentences: list[str], result: object) -> None:
        write(_RESULTS, question_of_sentences(name, encoder.weights, Precision.EXACT, sentences), result)

    keep("typed", [typed.EXAMPLE], typed.measure(encoder, [typed.EXAMPLE]))
    grown = typed.growth_texts(typed.EXAMPLE, seed=DEFAULT.seed, word=typed.first_words(typed.EXAMPLE)[0])[
        "text"
    ].tolist()
    keep("growth", grown, typed.measure_norms(encoder, grown))
    keep("anatomy", [], encoder.anatomy)
    keep("pooler_check", [typed.CHECK_EXAMPLE], typed.check(encoder, typed.CHECK_EXAMPLE))


class _Writer(Kept):
    """Keeps results among those that come with clsviz, under what was asked alone: code and libraries do not count."""

    def __init__(self) -> None:
        super().__init__(None)

    def put(self, asked: Question, result: object) -> None:
        if result is not None:
            write(_RESULTS, asked, result)


def _last(
    kept: Kept,
    steps: Callable[[Found, View], Iterator[object]],
    found: Found,
    view: View,
    work: Callable[..., object] | None = None,
    extra: str = "",
) -> None:
    """Keep the last of the steps, if they can be taken; work: what they are known as, by default their own name."""
    try:
        *_, result = steps(found, view)
    except UndefinedFitError:
        return
    kept.put(question(work or steps, found, view=view, extra=extra), result)


if __name__ == "__main__":
    main()
