"""Compare models: search, probe and norm of several models on the same sentences."""

import shlex
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from clsviz.analyses import chunks as chunking
from clsviz.analyses.search import Rankings, key_of, run
from clsviz.encoder import pipeline
from clsviz.errors import SettingError, Undefined
from clsviz.experiment import Experiment, Pooling
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured, Prepared, measure
from clsviz.jobs.worker import Runner
from clsviz.progress import Progress
from clsviz.results import origin, provenance
from clsviz.results.chunks import DEFAULT_SENTENCES, EASY, Answer, advised_of
from clsviz.results.norms import layer_of, line_of
from clsviz.results.numbers import counted, folded, length, lowered, percent
from clsviz.results.probes import baseline_error, predict
from clsviz.results.result import Fact, Result, first
from clsviz.results.select import POOLINGS, left_out, remedy_of, select, used_of
from clsviz.sources.chunks import Chunks
from clsviz.sources.chunks import find as find_chunks
from clsviz.sources.searches import Searches
from clsviz.sources.searches import find as find_searches
from clsviz.statistics import ridge
from clsviz.statistics.exposure import Evaluation
from clsviz.statistics.intervals import (
    Contrast,
    Floats,
    check_different,
    clusterings,
    margin,
    means,
    wilson_bound,
)
from clsviz.statistics.line import r2_margin
from clsviz.store.measurements import Measurements
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 2  # changes when a number is computed in another way

QUESTION: Final = "Which model does what?"

MOST_MODELS: Final = 6
EQUAL: Final = 0.05  # recall that surely differs by less is about equal

SEARCH_CORPUS: Final = "python-api"
SEARCH_POOLING: Final[Pooling] = "mean"
"""Of the search, where no other is chosen."""

SEARCH: Final = (
    *("recall_at_10", "recall_at_10_low", "recall_at_10_high", "ndcg_at_10"),
    *("exposure_shortest", "exposure_shortest_low", "exposure_shortest_high"),
    *("exposure_longest", "exposure_longest_low", "exposure_longest_high", "recall_margin"),
)
"""Columns of the table: of a search, its recall and the exposure of two fifths of the texts."""

CHUNKS: Final = (
    *("chunk_tokens", "chunk_sentences", "n_chunks"),
    *("chunk_recall_at_1", "chunk_recall_at_1_low", "chunk_recall_at_1_high", "chunk_margin"),
)
"""Columns of the table: tokens of the chunks that keep three in four sentences; and of the longest
chunks that all models read, their sentences, their number, and the searches that find them first.
"""

LINE: Final = (
    *("r_squared", "r_squared_low", "r_squared_high", "slope", "slope_low", "slope_high"),
    *("intercept", "norm_mean", "norm_sd"),
)
COLUMNS: Final = (
    *("last_probe_error", "last_probe_error_low", "last_probe_error_high", "last_probe_r_squared"),
    *("probe_r_squared", "probe_layer", "guess_error", *LINE, "n_layers", "mean_tokens"),
)
"""Columns of the table: of held-out lengths by probes of [CLS] after the last layer and after the
best one, of guessing, and of the line of the norm on length."""

T = TypeVar("T")

Numbers = dict[str, float]

Stores = tuple[Measurements, Runner, Results]
"""Where vectors are, what measures those that are missing, and where numbers are."""


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
class Plan:
    """Models to compare on the same sentences, by the same searches and on the same chunks.

    prepared: the models, with one sample. searching: settings of the searches, None for none.
    searches, chunks: those, or why there are none.
    """

    prepared: Sequence[Prepared]
    experiment: Experiment
    searching: Experiment | None = None
    searches: Searches | str = ""
    chunks: Chunks | str = ""


def check(models: Sequence[str]) -> None:
    """Raise SettingError where these are not two to six different models."""
    if not 2 <= len(set(models)) == len(models) <= MOST_MODELS:
        reason = f"models is {', '.join(models) or 'empty'}."
        raise SettingError(reason, f"Name two to {MOST_MODELS} different models.")


def searching_of(experiment: Experiment, corpus: str, pooling: Pooling) -> Experiment | None:
    """The settings of the search in a corpus; None where there is none."""
    if not corpus:
        return None
    model, seed = experiment.model, experiment.seed
    return Experiment(model=model, seed=seed, corpus=corpus, sample_size="all", pooling=pooling)


def find(prepared: Sequence[Prepared], experiment: Experiment, store: Results) -> Comparison | None:
    """The stored numbers of a comparison, for which nothing need be measured; None if missing."""
    return store.find(_key(prepared, experiment), Comparison)


def find_texts(
    job: Job[tuple[Searches | str, Chunks | str]],
    searching: Experiment | None,
    has_chunks: bool,
    root: Path,
) -> Steps:
    """The searches of a corpus and its chunks, or why there are none; "" where none are wanted.

    Raises SettingError where no corpus is searched whose texts could be cut.
    """
    if searching is None and has_chunks:
        reason = "chunks is set, and search_corpus is empty."
        raise SettingError(reason, "Name the corpus whose texts are cut.")
    yield
    cutting = (
        replace(searching, sample_size=DEFAULT_SENTENCES) if searching and has_chunks else None
    )
    inputs = root, job.show
    job.result = _find(find_searches, searching, *inputs), _find(find_chunks, cutting, *inputs)


def _find(
    find_in: Callable[..., T], view: Experiment | None, root: Path, progress: Progress
) -> T | str:
    """What is made of a corpus, or why it cannot be; "" where there is no view."""
    try:
        return "" if view is None else find_in(view, root, progress=progress)
    except Undefined as error:
        return str(error)


def measure_all(job: Job[float], plan: Plan, stores: Stores) -> Steps:
    """Store all vectors that a comparison takes; the result is the seconds that measuring took."""
    tasks: list[tuple[str, int, Callable[..., Steps], tuple[Any, ...]]] = []
    view, (chunks, runner, results) = plan.searching, stores

    def add(model: str, n: int, steps: Callable[..., Steps], *inputs: Any) -> None:
        tasks.append((model, n, steps, inputs))

    if find(plan.prepared, plan.experiment, results) is None:
        n = min(len(plan.prepared[0].sample), plan.experiment.probe_size)
        for one in plan.prepared:
            model = one.weights.fingerprint
            add(model, n, measure, one, plan.experiment, "vectors", chunks, runner)
    for weights in [one.weights for one in plan.prepared]:
        model = weights.fingerprint
        if view is not None and isinstance(plan.searches, Searches):
            key = key_of(plan.searches, model, view, None)
            for sample in () if results.find(key, Rankings) else plan.searches.samples:
                inputs = Prepared(weights, sample), view, "last", chunks, runner
                add(model, len(sample), measure, *inputs)
        if isinstance(plan.chunks, Chunks):
            planned = chunking.Plan(weights, plan.chunks)
            add(model, plan.chunks.n_chunks, chunking.run, planned, view, "cosine", *stores)
    done, seconds, total = 0, 0.0, sum(n for _, n, *_ in tasks)
    for model, n, steps, inputs in tasks:
        job.model = model
        part: Job[Any] = Job()
        with suppress(Undefined):  # the answer says so
            for _ in steps(part, *inputs):
                job.show(done + part.done, total, "texts")
                yield
        done += n
        seconds += part.result.seconds if part.result else 0.0
    job.result = seconds


def answer(job: Job[Result], plan: Plan, seconds: float, stores: Stores) -> Steps:
    """Compare models, whose vectors are stored.

    seconds: that measuring took. Raises SettingError where a model lacks the layer or the vector.
    """
    prepared, experiment, view = plan.prepared, plan.experiment, plan.searching
    if find(prepared, experiment, stores[2]) is None:
        yield from _compare(job, prepared, experiment, stores)
    numbers = find(prepared, experiment, stores[2])
    assert numbers is not None  # it is stored now
    rows: list[Numbers] = []
    cuts: list[Numbers] = []
    if view is not None and isinstance(plan.searches, Searches):
        try:
            searched = [(plan.searches, one.weights, view, None, *stores) for one in prepared]
            rankings = yield from _finish(prepared, run, searched)
            rows = _search(plan.searches, rankings, view.seed)
        except Undefined as error:
            plan = replace(plan, searches=str(error))
    if view is not None and isinstance(plan.chunks, Chunks):
        try:
            planned = [chunking.Plan(one.weights, plan.chunks) for one in prepared]
            cutting = [(one, view, "cosine", *stores) for one in planned]
            measured = yield from _finish(prepared, chunking.run, cutting)
            cuts = _chunks(measured, view.seed)
        except Undefined as error:
            plan = replace(plan, chunks=str(error))
    table = _table(plan, numbers, rows, cuts)
    verdict = verdict_of(table, _is_telling(rows), next(filter(None, numbers.problems), ""))
    sizes = numbers.n_long, numbers.n
    advice = remedy_of(numbers.remedy, experiment, prepared[0].sample, *sizes)
    job.result = Result(
        kind="models",
        question=QUESTION,
        verdict=verdict,
        advice=advice if verdict.startswith("Can’t") else "",
        facts=_facts(table, numbers.is_equal_length),
        details={"models": [folded(row) for row in table.to_dict("records")]},
        caveats=_caveats(plan, numbers, rows, table),
        table=table,
        about={**provenance.source(prepared[0], experiment), "seconds": round(seconds, 3)},
        command=_command([plan]),
    )


def joined(results: Sequence[Result], plans: Sequence[Plan]) -> Result:
    """The answers on several corpora as one, whose table has a row for each model and corpus."""
    import pandas as pd

    one, is_same = results[0], len({result.verdict for result in results}) == 1
    verdicts = [f"{result.table['corpus'].iloc[0]}: {result.verdict}" for result in results]
    caveats = [caveat for result in results for caveat in result.caveats]
    return replace(
        one,
        verdict=one.verdict if is_same else "It depends on the corpus.",
        facts=(Fact("n_corpora", "corpora", len(results), form="count"),),
        details={"models": [model for result in results for model in result.details["models"]]},
        caveats=tuple(dict.fromkeys(caveats if is_same else verdicts + caveats)),
        table=pd.concat([result.table for result in results], ignore_index=True),
        about={**one.about, "seconds": sum(result.about["seconds"] for result in results)},
        command=_command(plans),
    )


def verdict_of(table: "pd.DataFrame", is_telling: bool, problem: str = "") -> str:
    """The answer in a sentence: of the search, or else of probes, or else of norms.

    is_telling: True if there is a search that finds more than chance. problem: why there is no
    line, or "".
    """
    recall, probe, norm = _leads(table)
    labels, errors, unit = list(table["label"]), table["last_probe_error"], table["unit"].iloc[0]
    a, b = labels[recall.most], labels[recall.least]
    near, far = probe.least, probe.most  # the smaller error gives more away
    misses = f"{length(errors[near], unit)} against {length(errors[far], unit).split()[0]}"
    gives = f"{labels[near]} gives length away more than {labels[far]}"
    both = " and ".join(labels) if len(labels) == 2 else f"All {len(labels)} models"
    varies = f"more of {labels[norm.most]}’s norms than of {labels[norm.least]}’s"
    recalls, r2s = _against(table["recall_at_10"], recall), _against(table["r_squared"], norm)
    is_equal = is_telling and recall.interval[1] < EQUAL
    is_undefined = bool(table[["last_probe_error", "r_squared"]].isna().all(axis=None))
    verdict = first(
        (
            is_telling and recall.is_sure,
            f"{a} finds the right text more often than {b}: {recalls}.",
        ),
        (is_equal, f"{both} find the right text about equally often."),
        (is_telling, f"Too close to call: too few searches to tell {a} from {b}."),
        (probe.is_sure and errors[near] < errors[far], f"{gives}: a probe misses by {misses}."),
        (norm.is_sure, f"A line accounts for {varies}: {r2s}."),
        (is_undefined, f"Can’t compare: {lowered(problem)}"),
        (True, "Too close to call."),
    )
    return f"U{verdict[1:]}" if verdict.startswith("untrained ") else verdict


def _leads(table: "pd.DataFrame") -> tuple[Contrast, Contrast, Contrast]:
    """Of recall, of the last probe's error as a share of that of guessing, and of the line's R²."""
    guess, margins = table["guess_error"], table["last_probe_error_margin"]
    return (
        Contrast.of(table["recall_at_10"], table["recall_margin"].max()),
        Contrast.of(table["last_probe_error"] / guess, (margins / guess).max()),
        Contrast.of(table["r_squared"], table["r_squared_margin"].max()),
    )


def _against(shares: "pd.Series[float]", lead: Contrast) -> str:
    """Two shares that differ, also as they are written."""
    high, low = shares[lead.most], shares[lead.least]
    if percent(high) == percent(low):
        return f"{100 * high:.2f}% against {100 * low:.2f}%"
    return f"{percent(high)} against {percent(low)}"


def _key(prepared: Sequence[Prepared], experiment: Experiment) -> tuple[object, ...]:
    sample = prepared[0].sample
    n = min(len(sample), experiment.probe_size)
    models = [one.weights.fingerprint for one in prepared]
    source = experiment.precision, sample.corpus.fingerprint, sample.seed, n
    view = experiment.length_cutoff, experiment.layer, experiment.pooling, experiment.unit
    return "compare", VERSION, models, *source, *view


def _measured(prepared: Prepared, experiment: Experiment, stores: Stores) -> Measured:
    """The vectors of a model, and its norms."""
    job: Job[Measured] = Job()
    for _ in measure(job, prepared, experiment, "vectors", *stores[:2]):
        pass
    assert job.result is not None  # it has taken its last step
    return job.result


def _compare(
    job: Job[Any], prepared: Sequence[Prepared], experiment: Experiment, stores: Stores
) -> Steps:
    """Compare models on the sentences that all of them read, and store the numbers.

    The vectors of one model at a time are read from the store, or measured.
    """
    sample, store = prepared[0].sample, stores[2]
    tables = [select(_measured(one, experiment, stores), experiment) for one in prepared]
    is_long = np.any([table["n_tokens"] >= experiment.length_cutoff for table in tables], axis=0)
    is_cut = np.any([table["truncated"] for table in tables], axis=0) & ~is_long
    parts = [used_of(table.assign(is_used=~is_long & ~is_cut), sample, store) for table in tables]
    models: list[Numbers] = []
    problems: list[Undefined] = []
    misses: dict[int, Floats] = {}
    lines: list[tuple[Floats, Floats]] = []
    for place, (one, used) in enumerate(zip(prepared, parts, strict=True)):
        measured, predictions = _measured(one, experiment, stores), []
        for layer in range(measured.norms.n_layers + 1):
            job.show(place, len(prepared), "models")
            yield
            try:
                predictions.append(predict(measured, Experiment(layer=layer), used))
            except Undefined:
                predictions.append(np.full(len(used), np.nan))
        numbers, problem = _numbers(measured, experiment, used, predictions)
        lengths, norms = used[["length", "norm"]].to_numpy(np.float64).T
        if np.isfinite(predictions[-1]).all():
            misses[place] = abs(predictions[-1] - lengths) / numbers["guess_error"]
        if not problem.reason:
            lines.append((lengths, norms))
        models.append(numbers)
        problems.append(problem)
    groupings = clusterings(parts[0]["cluster"], parts[0].get("row_group"))
    intervals, error_margin = means(list(misses.values()), groupings)
    for place, (low, high) in zip(misses, intervals, strict=True):
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
    store.get(_key(prepared, experiment), Comparison, lambda: computed)


def _numbers(
    measured: Measured, experiment: Experiment, used: "pd.DataFrame", predictions: Sequence[Floats]
) -> tuple[Numbers, Undefined]:
    """The columns of probes and of the line, NaN where undefined; and why there is no line, or "".

    predictions: held-out lengths by layer, each (n_used,).
    """
    numbers: Numbers = dict.fromkeys(COLUMNS, np.nan)
    numbers |= {"n_layers": len(predictions) - 1, "mean_tokens": float(used["n_tokens"].mean())}
    if not np.isnan(predictions).all():
        lengths = used["length"].to_numpy(np.float64)
        r2s, errors = np.transpose([ridge.score(lengths, row) for row in predictions])
        numbers |= {
            "last_probe_error": float(errors[-1]),
            "last_probe_r_squared": float(r2s[-1]),
            "probe_r_squared": float(np.nanmax(r2s)),
            "probe_layer": int(np.nanargmax(r2s)),
            "guess_error": baseline_error(used),
        }
    try:
        check_different(used["cluster"])
        line = line_of(measured, layer_of(measured, experiment), used, used["norm"])
    except Undefined as problem:
        return numbers, problem
    r2, slope = (line.r2, *line.r2_interval), (line.slope, *line.slope_interval)
    of_line = (*r2, *slope, line.intercept, line.norm_mean, line.norm_sd)
    return numbers | dict(zip(LINE, of_line, strict=True)), Undefined("")


def _finish(
    prepared: Sequence[Prepared], steps: Callable[..., Steps], inputs: Iterable[tuple[Any, ...]]
) -> Generator[None, None, list[Any]]:
    """The results of a job of each model, one after the other; Undefined names the model."""
    results = []
    for one, settings in zip(prepared, inputs, strict=True):
        part: Job[Any] = Job()
        try:
            yield from steps(part, *settings)
        except Undefined as error:
            reason = f"{one.weights.label}: {lowered(error.reason)}"
            raise Undefined(reason, error.remedy) from None
        results.append(part.result)
    return results


def _chunks(measured: Sequence[chunking.Containment], seed: int) -> list[Numbers]:
    """For each model CHUNKS; the margin is NaN where they do not read the same chunks."""
    last, rows = min(len(one.sizes) for one in measured) - 1, []
    firsts = [(one.ranks[0, last] == 1).astype(np.float64) for one in measured]
    is_paired = len({(one.n_chunks, one.n_left_out) for one in measured}) == 1
    n = len(firsts[0])
    spread = max(means(firsts, [np.arange(n)])[1], wilson_bound(n)) if is_paired else np.nan
    for one in measured:
        answer = Answer.of(one, "cosine", seed)
        advised = advised_of(answer.own)
        tokens = answer.tokens[advised] if advised >= 0 else np.nan
        recall = answer.own[last]
        chunks = one.sizes[last], one.n_chunks[last]
        columns = tokens, *chunks, recall.recall_at_1, *recall.interval, spread
        rows.append(dict(zip(CHUNKS, columns, strict=True)))
    return rows


def _search(searches: Searches, rankings: Sequence[Rankings], seed: int) -> list[Numbers]:
    """For each model the columns of a search; and truncated, the share of texts that it cuts."""
    draws, rows = [], []
    for one in rankings:
        evaluation = Evaluation.of(searches.relevant, one.n_tokens, seed)
        ranking = evaluation.rank(one.retrievers["cosine"])
        draws.append(evaluation.draws @ ranking.recalls / len(searches.relevant))
        numbers: list[float | None] = [ranking.recall, *ranking.recall_interval, ranking.ndcg]
        for end in (0, -1):
            numbers += [ranking.exposure[end], *(ranking.intervals[end] or (None, None))]
        row = dict(zip(SEARCH[:-1], np.array(numbers, np.float64).tolist(), strict=True))
        rows.append(row | {"truncated": float(one.truncated.mean())})
    recall_margin = margin(np.stack(draws), wilson_bound(len(searches.relevant)))
    of_all = {"recall_margin": recall_margin, "chance": evaluation.qrels.chance}
    return [row | of_all for row in rows]


def _is_telling(rows: Sequence[Numbers]) -> bool:
    """True if a model clearly finds the right text more often than by chance."""
    return any(row["recall_at_10_low"] > row["chance"] for row in rows)


def _table(
    plan: Plan, numbers: Comparison, rows: Sequence[Numbers], cuts: Sequence[Numbers]
) -> "pd.DataFrame":
    """A row for each model, for a paper; NaN where undefined.

    Columns: model, label, corpus, n_used; SEARCH, of the search; CHUNKS; COLUMNS; …_low
    and …_high are 95% intervals, and …_margin a difference beyond which two models of a corpus
    differ; then settings, revisions, fingerprints and versions.
    """
    import pandas as pd

    n_searches, search_corpus, search_fingerprint = 0, "", ""
    if isinstance(plan.searches, Searches):
        n_searches, search_corpus = len(plan.searches.relevant), plan.searches.texts.label
        search_fingerprint = plan.searches.fingerprint
    corpus, experiment = plan.prepared[0].sample.corpus, plan.experiment
    labels = Counter(one.weights.label for one in plan.prepared)
    view = ("seed", "precision", "length_cutoff", "unit", "pooling")
    table = []
    for place, one in enumerate(plan.prepared):
        weights, of_model = one.weights, numbers.models[place]
        search = rows[place] if rows else dict.fromkeys(SEARCH, np.nan)
        chunks = cuts[place] if cuts else dict.fromkeys(CHUNKS, np.nan)
        row = {
            "model": weights.name,
            "label": weights.label if labels[weights.label] == 1 else weights.name,
            "corpus": corpus.label,
            "n_used": numbers.n_used,
            **{name: search[name] for name in SEARCH},
            "n_searches": n_searches,
            **chunks,
            **of_model,
            "last_probe_error_margin": numbers.error_margin * of_model["guess_error"],
            "r_squared_margin": numbers.r_squared_margin,
            **{name: getattr(experiment, name) for name in view},
            "layer": of_model["n_layers"] if experiment.layer is None else experiment.layer,
            "model_revision": weights.revision,
            "model_fingerprint": weights.fingerprint,
            "corpus_revision": corpus.reading.revision,
            "corpus_fingerprint": corpus.fingerprint,
            "search_corpus": search_corpus,
            "search_fingerprint": search_fingerprint,
            **{f"version_{name}": number for name, number in provenance.versions().items()},
        }
        table.append(row)
    return pd.DataFrame(table).astype({"probe_layer": "Int64", "n_layers": "int64"})


def _facts(table: "pd.DataFrame", is_equal_length: bool) -> tuple[Fact, ...]:
    """Differences of the models that differ most, and counts."""
    recall, _, norm = _leads(table)
    errors: ArrayLike = table["last_probe_error"] if is_equal_length else []
    error = Contrast.of(errors, table["last_probe_error_margin"].max())
    chunks = Contrast.of(table["chunk_recall_at_1"], table["chunk_margin"].max())
    size = counted(int(table["chunk_sentences"].fillna(0).iloc[0]))
    leads = [
        ("recall_difference", "recall differs by", recall, "points"),
        ("chunk_difference", f"finding chunks of {size} by", chunks, "points"),
        ("error_difference", "the last probe’s error by", error, table["unit"].iloc[0]),
        ("r_squared_difference", "R² of the norm by", norm, "points"),
    ]
    facts = [
        Fact(key, label, lead.difference, lead.interval, form)
        for key, label, lead, form in leads
        if not np.isnan(lead.difference)
    ]
    facts.append(Fact("n_used", "sentences", int(table["n_used"].iloc[0]), form="count"))
    if n_searches := int(table["n_searches"].iloc[0]):
        facts.append(Fact("n_searches", "searches", n_searches, form="count"))
    return tuple(facts)


def _caveats(
    plan: Plan, numbers: Comparison, rows: Sequence[Numbers], table: "pd.DataFrame"
) -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each."""
    labels = list(table["label"])
    prepared, sample, searches = plan.prepared, plan.prepared[0].sample, plan.searches
    pooling = (plan.searching or plan.experiment).pooling
    caveats = []
    if isinstance(searches, Searches):
        where = f"in {searches.texts.label}, by cosine of the {POOLINGS[pooling]}"
        caveats.append(f"The search is {where}.")
        if not _is_telling(rows):
            caveats.append("All models find the right text hardly more often than chance.")
        shares = {label: row["truncated"] for label, row in zip(labels, rows, strict=True)}
        cut = ", ".join(f"{label} of {percent(share)}" for label, share in shares.items() if share)
        if cut:
            caveats.append(f"The models read only the beginning of long texts: {cut}.")
        caveats += searches.caveats
    elif searches:
        caveats.append(f"No search was tested: {searches}")
    if isinstance(plan.chunks, Chunks):
        n, chunks = f"{table['chunk_sentences'].iloc[0]:.0f} sentences", table["n_chunks"]
        caveats.append(f"Chunks of {n} are the longest that all models were tried on.")
        if chunks.nunique() > 1:
            numbers_of = ", ".join(
                f"{label} among {count:,.0f}" for label, count in zip(labels, chunks, strict=True)
            )
            caveats.append(f"Fewer chunks are found more easily: {numbers_of}.")
        caveats += [f"{EASY}: real ones are found less often.", *plan.chunks.caveats]
    elif plan.chunks:
        caveats.append(f"No chunks were tested: {plan.chunks}")
    n_long, n_truncated = numbers.n_long, numbers.n_truncated
    caveats += left_out(plan.experiment, sample, n_long, n_truncated, len(prepared))
    if numbers.n < len(sample):
        first_ones = f"the first {numbers.n:,} of {counted(len(sample))}"
        caveats.append(f"Models are compared on {first_ones}: see probe_size.")
    if not numbers.is_equal_length:
        means = zip(labels, numbers.models, strict=True)
        tokens = ", ".join(f"{of_model['mean_tokens']:.1f} by {label}" for label, of_model in means)
        equal = "words or characters as unit are the same for all models"
        caveats.append(f"Tokenizers differ: the same sentences have on average {tokens}; {equal}.")
    if any(one.weights.is_untrained for one in prepared):
        average = "[CLS] is nearly an average of the tokens, which gives length away"
        caveats.append(f"With random weights attention is almost even: {average}.")
    for label, one, problem in zip(labels, prepared, numbers.problems, strict=True):
        if problem:
            caveats.append(f"{label} has no line: {lowered(problem)}")
        if not one.weights.is_untrained:
            steps = pipeline.read(one.weights.folder).caveats(pooling)
            caveats += [f"{label}: {lowered(caveat)}" for caveat in steps]
    caveats += [*sample.corpus.reading.caveats, *origin(_key(prepared, plan.experiment))]
    return tuple(dict.fromkeys(caveats))  # the search may be in the same corpus


def _command(plans: Sequence[Plan]) -> str:
    """The command that repeats a comparison; none does for sentences in memory."""
    plan, corpora = plans[0], [plan.experiment.corpus for plan in plans]
    if "memory" in corpora:
        return ""
    view = replace(plan.experiment, model=Experiment.model, corpus=Experiment.corpus)
    flags = {"models": ",".join(one.weights.name for one in plan.prepared)}
    search_corpus = plan.searching.corpus if plan.searching else ""
    if search_corpus != SEARCH_CORPUS:
        flags["search_corpus"] = search_corpus
    if plan.searching and plan.searching.pooling != SEARCH_POOLING:
        flags["search_pooling"] = plan.searching.pooling
    several = "".join(f" --corpus {shlex.quote(corpus)}" for corpus in corpora)
    several += " --chunks" * bool(plan.chunks)
    return provenance.command("compare", view, flags) + several
