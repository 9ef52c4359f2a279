"""Search, probe, norm and chunks of several models on the same sentences."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from clsviz.analyses import chunks as chunking
from clsviz.analyses.chunks import ChunkInputs, ChunkNumbers
from clsviz.analyses.norms import line_of
from clsviz.analyses.probes import baseline_error, predict
from clsviz.analyses.search import Rankings, ranked
from clsviz.analyses.select import layer_of, norms_of, resolve, select, used_of
from clsviz.errors import NotMeasured, SettingError, Undefined
from clsviz.jobs.measure import Workspace, draw, find_model, measure, stored
from clsviz.jobs.worker import NoRunner
from clsviz.measurements import Kind, Last
from clsviz.numbers import lowered
from clsviz.progress import Progress
from clsviz.questions import DEFAULT_CHUNKED
from clsviz.settings import Experiment, Pooling
from clsviz.sources.chunks import Chunks, name_of
from clsviz.sources.chunks import find as find_chunks
from clsviz.sources.models import RECORDED, Weights
from clsviz.sources.sampling import Measured, Prepared
from clsviz.sources.searches import Searches, bounded
from clsviz.sources.searches import find as find_searches
from clsviz.statistics import intervals, ridge
from clsviz.statistics.exposure import Evaluation
from clsviz.statistics.intervals import Floats
from clsviz.statistics.line import r2_margin

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 3  # changes when a number is computed in another way

SEARCH: Final = (
    *("recall_at_10", "recall_at_10_low", "recall_at_10_high", "ndcg_at_10"),
    *("exposure_shortest", "exposure_shortest_low", "exposure_shortest_high"),
    *("exposure_longest", "exposure_longest_low", "exposure_longest_high", "recall_margin"),
)
"""Columns of the table: of a search, its recall and the exposure of two fifths of the texts."""

CHUNKS: Final = (
    *("chunk_tokens", "chunk_sentences", "n_chunks"),
    *("chunk_recall_at_1", "chunk_recall_at_1_low", "chunk_recall_at_1_high"),
)
"""Columns of the table: tokens of the chunks that keep three in four sentences; and of the longest
chunks that all models read, their sentences, their number, and the searches that find them first.
"""

OWN: Final = (
    *("own_chunk_recall_at_1", "own_chunk_recall_at_1_low", "own_chunk_recall_at_1_high"),
    *("own_chunk_recall_at_1_margin", "own_chunks_cut_in_two", "own_chunks_truncated"),
)
"""Columns of the table where the user has chunks: searches that find one of these first, and shares
of sentences in none of them, and of chunks that the model reads in part."""

LINE: Final = (
    *("r_squared", "r_squared_low", "r_squared_high", "slope", "slope_low", "slope_high"),
    *("intercept", "norm_mean", "norm_sd"),
)
COLUMNS: Final = (
    *("last_probe_error", "last_probe_error_low", "last_probe_error_high", "last_probe_r_squared"),
    *("probe_r_squared", "probe_layer", "guess_error", *LINE, "n_layers", "mean_tokens", "width"),
)
"""Columns of the table: of held-out lengths by probes of the vector, and of [CLS] after the best
layer, of guessing, and of the line of the norm on length; width: numbers of the vector."""

Numbers = dict[str, float]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Numbers of models on the n_used of n sentences that all of them read as a whole.

    models: of each, the numbers of COLUMNS; NaN where undefined.
    problems: why a model has no line, or "". remedy: of the first problem.
    error_margin, r_squared_margin: two models that differ by more differ beyond chance; errors
    are shares of those of guessing.
    n_long, n_truncated: sentences over the cutoff by a model, and others that a model does not read
    as a whole.
    is_equal_length: True if all models give every sentence the same length.
    """

    models: tuple[Numbers, ...]
    problems: tuple[str, ...]
    remedy: str
    error_margin: float
    r_squared_margin: float
    n: int
    n_used: int
    n_long: int
    n_truncated: int
    is_equal_length: bool


@dataclass(frozen=True, eq=False)
class CompareInputs:
    """Models to compare on the same sentences, by the same searches and on the same chunks.

    prepared: the models, with one sample. search: settings of the searches, None for none.
    searches, chunks: those, or why there are none. own_chunks: the name of the user's, or "".
    """

    prepared: Sequence[Prepared]
    experiment: Experiment
    search: Experiment | None = None
    searches: Searches | str = ""
    chunks: Chunks | str = ""
    own_chunks: str = ""


@dataclass(frozen=True, eq=False)
class CompareNumbers:
    """The comparison of models on one corpus.

    searched, cut: for each model the numbers of SEARCH and of CHUNKS, or none. seconds: that
    measuring took.
    """

    inputs: CompareInputs
    comparison: Comparison
    searched: Sequence[Numbers]
    cut: Sequence[Numbers]
    seconds: float


def compare(
    names: Sequence[str],
    experiments: Sequence[Experiment],
    search: Experiment | None,
    workspace: Workspace,
    progress: Progress,
    texts: Any = None,
    *,
    has_chunks: bool = False,
    own: Any = "",
) -> list[CompareNumbers]:
    """Compare models on a sample of each experiment, and by searches of one corpus.

    names: of the models. texts: in memory, in the place of the corpus. has_chunks: also cut the
    texts that are searched. own: the user's chunks of these, if any. Raises ClsvizError.
    """
    if RECORDED.keys() & {*names} and not isinstance(workspace.runner, NoRunner):
        from_store = replace(workspace, runner=NoRunner())
        with suppress(NotMeasured):  # then its weights are not needed
            inputs = names, experiments, search, from_store, progress, texts
            return compare(*inputs, has_chunks=has_chunks, own=own)
    seed, runner = experiments[0].seed, workspace.runner
    weights = [find_model(name, seed, progress, runner) for name in names]
    samples = [draw(view, workspace, progress, texts) for view in experiments]
    with progress.at("fetch"):
        cutting = replace(search, sample_size=DEFAULT_CHUNKED) if search and has_chunks else None
        searches = _find(find_searches, search, workspace, progress)
        chunks = _find(partial(find_chunks, own=own), cutting, workspace, progress)
        of_search = search, searches, chunks, name_of(own)
    made = [
        CompareInputs([Prepared(one, sample) for one in weights], view, *of_search)
        for view, sample in zip(experiments, samples, strict=True)
    ]
    return [_compare(inputs, workspace, progress) for inputs in made]


def search_of(
    experiment: Experiment, corpus: str, pooling: Pooling, has_chunks: bool = False
) -> Experiment | None:
    """The settings of the search in a corpus; None where there is none, and nothing to cut."""
    if not corpus and has_chunks:
        reason = "Chunks are set, and search_corpus is empty."
        raise SettingError(reason, "Name the corpus whose texts are cut.")
    if not corpus:
        return None
    names = ("model", "seed", "query_prompt", "text_prompt")
    settings: dict[str, Any] = {name: getattr(experiment, name) for name in names}
    view = Experiment(corpus=corpus, sample_size="all", pooling=pooling, **settings)
    return bounded(view)


def view_of(inputs: CompareInputs, weights: Weights) -> tuple[Experiment, Kind]:
    """The vector of a model that is probed, and its measurement.

    Where a model has no [CLS], all are compared by the vectors that they emit.
    """
    view = replace(inputs.experiment, query_prompt=None, text_prompt=None)
    if any(one.weights.no_cls for one in inputs.prepared):
        view = replace(view, pooling="pipeline", layer=None)
    view = resolve(view, weights)
    return view, "text" if view.pooling == "pipeline" else "vectors"


def _find(
    find_in: Callable[..., T], view: Experiment | None, workspace: Workspace, progress: Progress
) -> T | str:
    """What is made of a corpus, or why it cannot be; "" where there is no view."""
    try:
        return "" if view is None else find_in(view, workspace.root, progress=progress)
    except Undefined as error:
        return str(error)


def _compare(inputs: CompareInputs, workspace: Workspace, progress: Progress) -> CompareNumbers:
    """Measure everything of a model before the next one is loaded; then compare."""
    prepared, experiment = inputs.prepared, inputs.experiment
    known = workspace.results.find(compare_key(inputs), Comparison)
    n = 0 if known else min(len(prepared[0].sample), experiment.probe_size)
    n_chunks = inputs.chunks.n_chunks if isinstance(inputs.chunks, Chunks) else 0
    total = len(prepared) * (n + _n_searched(inputs) + n_chunks)
    done, seconds = 0, 0.0

    def check(part: Measured) -> None:
        norms_of(part.norms, view_of(inputs, part.weights)[0], part.weights.label)

    rankings: list[Rankings] = []
    cuts: list[ChunkNumbers] = []
    for one in prepared:
        if known is None:
            part = progress.part(done, total, "texts")
            few = replace(one, sample=replace(one.sample, order=one.sample.order[:n]))
            seconds += measure(few, *view_of(inputs, one.weights), workspace, part, check).seconds
            done += n
        search = inputs.search and resolve(inputs.search, one.weights)
        try:
            if isinstance(inputs.searches, Searches) and search:
                of_model = inputs.searches, one.weights, search, None, workspace
                rankings.append(ranked(*of_model, progress.part(done, total, "texts")))
                done += _n_searched(inputs)
        except Undefined as error:
            inputs = replace(inputs, searches=_of_model(one.weights, error))
        try:
            if isinstance(inputs.chunks, Chunks) and search:
                cut, yours = ChunkInputs(one.weights, inputs.chunks), inputs.chunks.own
                on = search, workspace, progress.part(done, total, "texts")
                measured = chunking.by_sizes(cut, *on)
                own = chunking.contained(cut, yours, *on) if yours else None
                cuts.append(ChunkNumbers.of(cut, measured, "cosine", experiment.seed, own=own))
                done += n_chunks
        except Undefined as error:
            inputs = replace(inputs, chunks=_of_model(one.weights, error))
    searched = rankings if isinstance(inputs.searches, Searches) else []
    cuts = cuts if isinstance(inputs.chunks, Chunks) else []
    seconds += sum(one.seconds for one in searched)
    seconds += sum(size.seconds for one in cuts for size in one.measured)
    with progress.at("analysis"):
        comparison = known or _computed(inputs, workspace, progress)
        rows: list[Numbers] = []
        try:
            if searched and isinstance(inputs.searches, Searches):
                rows = _search(inputs.searches, searched, experiment.seed)
        except Undefined as error:
            inputs = replace(inputs, searches=str(error))
    return CompareNumbers(inputs, comparison, rows, _chunks(cuts, experiment.seed), seconds)


def compare_key(inputs: CompareInputs) -> tuple[object, ...]:
    """The key of the comparison in the store."""
    prepared, experiment = inputs.prepared, inputs.experiment
    sample = prepared[0].sample
    n = min(len(sample), experiment.probe_size)
    views = [view_of(inputs, one.weights)[0].pooling for one in prepared]
    fingerprints = [
        one.weights.key(view) + ("-pipeline" * (view == "pipeline"))
        for one, view in zip(prepared, views, strict=True)
    ]
    source = experiment.precision, sample.corpus.fingerprint, sample.seed, n
    view = experiment.length_cutoff, experiment.layer, experiment.pooling, experiment.unit
    return "compare", VERSION, fingerprints, *source, *view


def _of_model(weights: Weights, error: Undefined) -> str:
    """Why a model cannot be tested."""
    return str(Undefined(f"{weights.label}: {lowered(error.reason)}", error.remedy))


def _n_searched(inputs: CompareInputs) -> int:
    """Texts and queries that each model measures."""
    searches = inputs.searches
    return sum(map(len, searches.samples)) if isinstance(searches, Searches) else 0


def _computed(inputs: CompareInputs, workspace: Workspace, progress: Progress) -> Comparison:
    """Compare models on the sentences that all of them read, and store the numbers.

    The vectors of one model at a time are read from the store.
    """
    prepared, experiment, store = inputs.prepared, inputs.experiment, workspace.results
    sample = prepared[0].sample
    n = min(len(sample), experiment.probe_size)
    few = [replace(one, sample=replace(sample, order=sample.order[:n])) for one in prepared]
    views = [view_of(inputs, one.weights) for one in few]
    pairs = list(zip(few, views, strict=True))
    tables = [select(stored(one, *view, workspace), view[0]) for one, view in pairs]
    is_long = np.any([table["is_long"] for table in tables], axis=0)
    is_cut = np.any([table["truncated"] for table in tables], axis=0) & ~is_long
    parts = [used_of(table.assign(is_used=~is_long & ~is_cut), sample, store) for table in tables]
    models: list[Numbers] = []
    problems: list[Undefined] = []
    misses: dict[int, Floats] = {}
    lines: list[tuple[Floats, Floats]] = []
    for place, ((one, (view, kind)), used) in enumerate(zip(pairs, parts, strict=True)):
        measured, predictions = stored(one, view, kind, workspace), []
        is_of_layers = view.pooling == "cls" and view.layer is None
        layers = range(measured.norms.n_layers + 1) if is_of_layers else ()
        for probed in [Experiment(layer=layer) for layer in layers] or [view]:
            progress(place, len(prepared), "models")
            try:
                predictions.append(predict(measured, probed, used))
            except Undefined:
                predictions.append(np.full(len(used), np.nan))
        numbers, problem = _numbers(measured, view, used, predictions)
        lengths, norms = used[["length", "norm"]].to_numpy(np.float64).T
        if np.isfinite(predictions[-1]).all():
            misses[place] = abs(predictions[-1] - lengths) / numbers["guess_error"]
        if not problem.reason:
            lines.append((lengths, norms))
        models.append(numbers)
        problems.append(problem)
    groupings = intervals.clusterings(parts[0]["cluster"], parts[0].get("row_group"))
    ends, error_margin = intervals.means(list(misses.values()), groupings)
    for place, (low, high) in zip(misses, ends, strict=True):
        guess = models[place]["guess_error"]
        models[place] |= {
            "last_probe_error_low": low * guess,
            "last_probe_error_high": high * guess,
        }
    computed = Comparison(
        models=tuple(models),
        problems=tuple(problem.reason for problem in problems),
        remedy=next((problem.remedy for problem in problems if problem.remedy), ""),
        error_margin=error_margin,
        r_squared_margin=r2_margin(lines, groupings),
        n=len(is_long),
        n_used=len(parts[0]),
        n_long=int(is_long.sum()),
        n_truncated=int(is_cut.sum()),
        is_equal_length=all(used["length"].equals(parts[0]["length"]) for used in parts),
    )
    return store.put(compare_key(inputs), computed)


def _numbers(
    measured: Measured, experiment: Experiment, used: "pd.DataFrame", predictions: Sequence[Floats]
) -> tuple[Numbers, Undefined]:
    """The columns of probes and of the line, NaN where undefined; and why there is no line, or "".

    predictions: held-out lengths by layer, or of the vector alone, each (n_used,).
    """
    numbers: Numbers = dict.fromkeys(COLUMNS, np.nan)
    assert isinstance(measured.norms, Last)
    numbers |= {
        "n_layers": measured.norms.n_layers,
        "mean_tokens": float(used["n_tokens"].mean()),
        "width": measured.norms.vectors.shape[2],
    }
    if not np.isnan(predictions).all():
        lengths = used["length"].to_numpy(np.float64)
        r2s, errors = np.transpose([ridge.score(lengths, row) for row in predictions])
        numbers |= {
            "last_probe_error": float(errors[-1]),
            "last_probe_r_squared": float(r2s[-1]),
            "probe_r_squared": float(np.nanmax(r2s)),
            "probe_layer": int(np.nanargmax(r2s)) if len(r2s) > 1 else np.nan,
            "guess_error": baseline_error(used),
        }
    try:
        intervals.check_different(used["cluster"])
        line = line_of(measured, layer_of(measured, experiment), used, used["norm"])
    except Undefined as problem:
        return numbers, problem
    r2, slope = (line.r2, *line.r2_interval), (line.slope, *line.slope_interval)
    of_line = (*r2, *slope, line.intercept, line.norm_mean, line.norm_sd)
    return numbers | dict(zip(LINE, of_line, strict=True)), Undefined("")


def _chunks(cuts: Sequence[ChunkNumbers], seed: int) -> list[Numbers]:
    """For each model CHUNKS, and OWN where the user has chunks."""
    last, rows = min((len(one.own) for one in cuts), default=0) - 1, list[Numbers]()
    own = [(one.own_chunks.measured.ranks[0] == 1).astype(float) for one in cuts if one.own_chunks]
    for one in cuts:
        recall, size = one.own[last], (one.sizes[last], one.measured[last].n_chunks)
        columns = one.advised or np.nan, *size, recall.recall_at_1, *recall.interval
        rows.append(dict(zip(CHUNKS, columns, strict=True)))
        if yours := one.own_chunks:
            recalls = yours.recall.recall_at_1, *yours.recall.interval, _margin(own, seed)
            shares = yours.cut_in_two, yours.measured.truncated
            rows[-1] |= dict(zip(OWN, (*recalls, *shares), strict=True))
    return rows


def _margin(recalls: Sequence[Floats], seed: int) -> float:
    """By how much models differ beyond chance, from the recalls of each on the same searches."""
    n = len(recalls[0])
    draws = intervals.resample(recalls, np.arange(n), seed) / n
    return intervals.margin(draws, intervals.wilson_bound(n))


def _search(searches: Searches, rankings: Sequence[Rankings], seed: int) -> list[Numbers]:
    """For each model the columns of a search; and truncated, the share of texts that it cuts."""
    recalls, rows = [], []
    for one in rankings:
        evaluation = Evaluation.of(searches.relevant, one.n_tokens, seed, one.families)
        ranking = evaluation.rank(one.retrievers["cosine"])
        recalls.append(ranking.recalls)
        numbers: list[float | None] = [ranking.recall, *ranking.recall_interval, ranking.ndcg]
        for end in (0, -1):
            numbers += [ranking.exposure[end], *(ranking.intervals[end] or (None, None))]
        row = dict(zip(SEARCH[:-1], np.array(numbers, np.float64).tolist(), strict=True))
        rows.append(row | {"truncated": float(one.truncated.mean())})
    of_all = {"recall_margin": _margin(recalls, seed), "chance": evaluation.qrels.chance}
    return [row | of_all for row in rows]
