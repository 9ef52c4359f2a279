"""The Python interface: `clsviz.measure(…)`."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from clsviz.errors import ClsvizError, CorpusError, SettingError, Undefined
from clsviz.experiment import Experiment, Pooling, Settings
from clsviz.jobs import own_vectors
from clsviz.jobs.jobs import Job
from clsviz.jobs.measure import Measured, Prepared
from clsviz.jobs.measure import measure as steps_of
from clsviz.jobs.search import Rankings, rank_all
from clsviz.jobs.search import run as rank_texts
from clsviz.jobs.worker import IN_PROCESS, Runner
from clsviz.measurements import Kind
from clsviz.progress import Progress, silent
from clsviz.report import page as report_page
from clsviz.results import anatomy, provenance
from clsviz.results import compare as comparing
from clsviz.results.anatomy import EXAMPLE
from clsviz.results.compare import SEARCH_CORPUS, SEARCH_POOLING
from clsviz.results.norms import norms
from clsviz.results.own_vectors import measure as measure_vectors
from clsviz.results.probes import SEEDS, UNCHECKED, Checks, Readings, probes
from clsviz.results.probes import check as check_probe
from clsviz.results.probes import find as find_readings
from clsviz.results.probes import read as read_lengths
from clsviz.results.result import Result
from clsviz.results.search import DEFAULT_SEARCH, Search, Similarity
from clsviz.results.search import check as check_search
from clsviz.results.search import result as search_result
from clsviz.results.select import kind_of
from clsviz.results.shipped import SHIPPED
from clsviz.sources import corpora, models, sampling
from clsviz.sources.models import UNTRAINED, Weights
from clsviz.sources.models import find as find_model
from clsviz.sources.searches import Searches
from clsviz.sources.searches import find as find_searches
from clsviz.store.chunks import Chunks
from clsviz.store.results import Results


def measure(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    vectors: str | Path | None = None,
    store: str | Path | None = None,
    progress: Progress = silent,
    **settings: Unpack[Settings],
) -> Result:
    """Fit the norm of a vector on the length of the sentence.

    corpus: a name, or sentences: a list, a pandas Series or DataFrame, or a datasets Dataset.
    sample_size: 5,000 by default of a name, and all of sentences.
    vectors: own ones, in the place of model and corpus: a .parquet or .npz of `text` and `vector`.
    store: the folder of what was measured before; by default `default_store()`.
    progress: called with what is done, of how much, and of what.
    The other settings are those of `Experiment`.

    Returns the line's R², slope and intervals as facts, and a table with a row for each sentence:
    of sentences in their order, with their index. Raises ClsvizError.
    """
    experiment = _experiment(model, corpus, settings)
    return measure_experiment(experiment, _texts(corpus), _path(vectors), store, progress)


def measure_experiment(
    experiment: Experiment,
    texts: Any = None,
    vectors: Path | None = None,
    store: str | Path | None = None,
    progress: Progress = silent,
    runner: Runner = IN_PROCESS,
) -> Result:
    """As `measure`, of settings in one value.

    texts: sentences, which take the place of the corpus. vectors: own ones, in that of both.
    """
    if experiment.probe_size != Experiment.probe_size:
        reason = f"probe_size is {experiment.probe_size:,}, and norms take the whole sample."
        raise SettingError(reason, "Leave it out.")
    root = default_store() if store is None else Path(store)
    if vectors is not None:
        return measure_vectors(vectors, experiment, Results(root, SHIPPED))
    prepared = _prepare(experiment, texts, root, progress)
    measured = _measure(prepared, experiment, kind_of(experiment), root, progress, runner)
    result = norms(measured, experiment, Results(root, SHIPPED))
    return result if texts is None else _in_order(result, prepared.sample)


def probe(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    random_weights: bool = False,
    store: str | Path | None = None,
    progress: Progress = silent,
    **settings: Unpack[Settings],
) -> Result:
    """Predict the length of sentences from their vectors, after every layer.

    layer, pooling: the vector whose direction, with half as many sentences and with shuffled
    lengths, is tested too. random_weights: also with random weights, of three seeds.
    The other settings are those of `measure`.

    Returns R² and the error of held-out predictions as facts, and a table with a row for each
    vector: probe_error and norm_error are mean absolute errors, in the unit. Raises ClsvizError.
    """
    experiment = _experiment(model, corpus, settings)
    return probe_experiment(experiment, random_weights, _texts(corpus), store, progress)


def probe_experiment(
    experiment: Experiment,
    random_weights: bool = False,
    texts: Any = None,
    store: str | Path | None = None,
    progress: Progress = silent,
    runner: Runner = IN_PROCESS,
) -> Result:
    """As `probe`, of settings in one value; texts take the place of the corpus."""
    check_probe(experiment)
    root = default_store() if store is None else Path(store)
    prepared = _prepare(experiment, texts, root, progress)
    numbers, seconds = _read(prepared, experiment, root, progress, runner)
    random = []
    if random_weights:
        name = UNTRAINED + experiment.model.removeprefix(UNTRAINED)
        view = replace(experiment, layer=None, pooling="cls")
        for seed in SEEDS:
            untrained = Prepared(models.find(name, seed, progress), prepared.sample)
            (readings, _), more_seconds = _read(untrained, view, root, progress, runner)
            random.append(readings)
            seconds += more_seconds
    result = probes(prepared, numbers, experiment, random, seconds)
    return result if texts is None else replace(result, command="")


def search_test(
    model: str = "minilm",
    corpus: Any = "python-api",
    *,
    task: str = "",
    titles: str = "",
    searches: str | Path | None = None,
    vectors: str | Path | None = None,
    query_vectors: str | Path | None = None,
    similarity: Similarity = "cosine",
    max_exposure: float | None = None,
    length_power: float | None = None,
    store: str | Path | None = None,
    progress: Progress = silent,
    **settings: Unpack[Settings],
) -> Result:
    """Test if a search finds texts of some lengths more often than they are right.

    corpus: a name, or texts: a list, a pandas Series or DataFrame, or a datasets Dataset.
    task: “titles”, “halves” or “cloze”; by default what suits the corpus. titles: the column that
    searches. searches: a file of `query` and `ids`, separated by spaces, or of `query` and `text`.
    vectors, query_vectors: own ones, in the place of model and corpus, as .parquet or .npz: `text`,
    `vector` and maybe `id`; `query`, `vector` and `ids` (without `id`, numbers of rows from 0).
    similarity: “cosine”, or “dot”. max_exposure: a limit; `details["exceeded"]` has the fifths
    that are surely beyond. length_power: of tokens, by which scores are multiplied as another fix.
    sample_size: texts, at most. The other settings are those of `measure`.

    Returns recall, nDCG and exposure by fifths of the texts' lengths, an advised fix, and a table
    with a row for each search. Raises ClsvizError, also where there are under 30 searches.
    """
    defaults: Settings = {"sample_size": "all", "pooling": "mean"}
    experiment = _experiment(model, corpus, {**defaults, **settings})
    search = Search(
        task=task,
        titles=titles,
        searches=_path(searches),
        vectors=_path(vectors),
        query_vectors=_path(query_vectors),
        similarity=similarity,
        max_exposure=max_exposure,
        length_power=length_power,
    )
    return search_test_experiment(experiment, search, _texts(corpus), store, progress)


def search_test_experiment(
    experiment: Experiment,
    search: Search = DEFAULT_SEARCH,
    texts: Any = None,
    store: str | Path | None = None,
    progress: Progress = silent,
    runner: Runner = IN_PROCESS,
) -> Result:
    """As `search_test`, of settings in two values; texts take the place of the corpus."""
    check_search(experiment, search)
    if search.vectors is not None and search.query_vectors is not None:
        own = own_vectors.read(search.vectors)
        queries = own_vectors.read(search.query_vectors, "query", "ids")
        searches, indexed = own_vectors.searches_of(own, queries, experiment)
        rankings = rank_all(searches, indexed, experiment.seed, search.length_power)
        return search_result(searches, rankings, experiment, search, None, own.fingerprint)
    root = default_store() if store is None else Path(store)
    weights = models.find(experiment.model, experiment.seed, progress)
    choice: dict[str, Any] = {
        "task": search.task,
        "titles": search.titles,
        "judged": search.searches,
    }
    searches = find_searches(experiment, root, **choice, texts=texts, progress=progress)
    job: Job[Rankings] = Job()
    stores = Chunks(root, SHIPPED), runner, Results(root, SHIPPED)
    for _ in rank_texts(job, searches, weights, experiment, search.length_power, *stores):
        progress(job.done, job.total, job.unit)
    assert job.result is not None  # it has taken its last step
    return search_result(searches, job.result, experiment, search, weights)


def _path(name: str | Path | None) -> Path | None:
    return None if name is None else Path(name).expanduser()


def compare(
    models: Sequence[str] | str,
    corpus: Any = "python-docs",
    *,
    search_corpus: str = SEARCH_CORPUS,
    search_pooling: Pooling = SEARCH_POOLING,
    store: str | Path | None = None,
    progress: Progress = silent,
    **settings: Unpack[Settings],
) -> Result:
    """Compare models on the same sentences: search, probe and norm.

    models: two to six names, the first `probe_size` sentences of whose sample are compared where
    all of the models read them as a whole. search_corpus: what all of them search by cosine, as
    `search_test` does; "" for no search. search_pooling: the vector that searches.
    The other settings are those of `measure`.

    Returns differences with intervals by a paired bootstrap as facts, and a table with a row for
    each model. Raises ClsvizError.
    """
    experiment = _experiment(Experiment.model, corpus, settings)
    names = models.split(",") if isinstance(models, str) else models
    options: dict[str, Any] = {"search_corpus": search_corpus, "search_pooling": search_pooling}
    texts = _texts(corpus)
    return compare_experiment(
        experiment, names, texts=texts, **options, store=store, progress=progress
    )


def compare_experiment(
    experiment: Experiment,
    models: Sequence[str],
    corpora: Sequence[str] = (),
    search_corpus: str = SEARCH_CORPUS,
    search_pooling: Pooling = SEARCH_POOLING,
    texts: Any = None,
    store: str | Path | None = None,
    progress: Progress = silent,
    runner: Runner = IN_PROCESS,
) -> Result:
    """As `compare`, of settings in one value; corpora: several, in the place of its corpus."""
    comparing.check(models)
    experiment = replace(experiment, model=models[0])
    corpora = list(dict.fromkeys(corpora)) or [experiment.corpus]
    root = default_store() if store is None else Path(store)
    weights = [find_model(name, experiment.seed, progress) for name in models]
    searching = comparing.searching_of(experiment, search_corpus, search_pooling)
    searches: Searches | str = ""
    if searching is not None:
        try:
            searches = find_searches(searching, root, progress=progress)
        except Undefined as error:
            searches = str(error)
    results = []
    for corpus in corpora:
        view = replace(experiment, corpus=corpus)
        first = _prepare(view, texts, root, progress)
        prepared = [Prepared(one, first.sample) for one in weights]
        settings = prepared, view, searching, searches
        results.append(_compare(*settings, root, progress, runner))
    if len(results) == 1:
        return results[0]
    return comparing.joined(results, corpora, experiment, searching)


def report(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    others: Sequence[str] = (),
    search_corpus: str = SEARCH_CORPUS,
    search_pooling: Pooling = SEARCH_POOLING,
    store: str | Path | None = None,
    progress: Progress = silent,
    **settings: Unpack[Settings],
) -> str:
    """All answers on a model and a corpus, as one HTML page that needs no network.

    others: models to compare with. search_corpus: what is searched; "" for no search.
    search_pooling: the vector that searches. The other settings are those of `measure`.

    Returns the page, of at most 4 MB. Raises ClsvizError where model or corpus cannot be read; an
    answer that fails otherwise says so in its place.
    """
    experiment = _experiment(model, corpus, settings)
    options: dict[str, Any] = {"search_corpus": search_corpus, "search_pooling": search_pooling}
    texts = _texts(corpus)
    return report_experiment(
        experiment, others, texts=texts, **options, store=store, progress=progress
    )


def report_experiment(
    experiment: Experiment,
    others: Sequence[str] = (),
    search_corpus: str = SEARCH_CORPUS,
    search_pooling: Pooling = SEARCH_POOLING,
    texts: Any = None,
    store: str | Path | None = None,
    progress: Progress = silent,
    runner: Runner = IN_PROCESS,
) -> str:
    """As `report`, of settings in one value; texts take the place of the corpus."""
    root = default_store() if store is None else Path(store)
    prepared = _prepare(experiment, texts, root, progress)
    weights, corpus = prepared.weights, prepared.sample.corpus
    options: dict[str, Any] = {"store": root, "progress": progress, "runner": runner}
    searching = comparing.searching_of(experiment, search_corpus, search_pooling)
    names = [experiment.model, *others]
    questions: dict[str, Callable[[], Result]] = {
        "Norm vs length": lambda: measure_experiment(
            replace(experiment, probe_size=Experiment.probe_size), texts, **options
        ),
        "Where length lives": lambda: probe_experiment(experiment, texts=texts, **options),
    }
    if searching is not None:
        questions["Does length bend my search?"] = partial(
            search_test_experiment, searching, **options
        )
    if others:
        questions["Compare models"] = lambda: compare_experiment(
            experiment, names, (), search_corpus, search_pooling, texts, **options
        )
    questions["Inside the model"] = lambda: _inside(weights, experiment, root, runner)
    answers: list[Result | tuple[str, ClsvizError]] = []
    for question, answer in questions.items():
        try:
            answers.append(answer())
        except ClsvizError as error:
            answers.append((question, error))
    sample = f"{len(prepared.sample):,} sentences, seed {experiment.seed}"
    about = provenance.method(weights, corpus, sample)
    return report_page(f"{weights.label} on {corpus.label}", answers, about)


def default_store() -> Path:
    """The folder of the environment variable CLSVIZ_STORE, or one of the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CLSVIZ_STORE") or Path(cache) / "clsviz")


def _experiment(model: str, corpus: Any, settings: Settings) -> Experiment:
    """The settings of a call, whose corpus may be sentences; raises SettingError."""
    if corpus is None:
        raise CorpusError("The corpus is None.", "Give its name, or a list of sentences.")
    is_name = isinstance(corpus, str | Path)
    sample_size = settings.get("sample_size")
    if sample_size is None:
        sample_size = Experiment.sample_size if is_name else "all"
    name = str(corpus) if is_name else "memory"
    chosen: dict[str, Any] = {**settings, "sample_size": sample_size}
    return Experiment(model, name, **chosen)


def _texts(corpus: Any) -> Any:
    """The sentences that a call takes in the place of a corpus, or None."""
    return None if isinstance(corpus, str | Path) else corpus


def _prepare(experiment: Experiment, texts: Any, root: Path, progress: Progress) -> Prepared:
    """The model and the sample of an experiment, or of sentences."""
    weights = models.find(experiment.model, experiment.seed, progress)
    if texts is None:
        return Prepared(weights, sampling.draw(experiment, root, progress))
    corpus = corpora.from_texts(texts, experiment)
    return Prepared(weights, sampling.sample_of(corpus, experiment))


def _measure(
    prepared: Prepared,
    experiment: Experiment,
    kind: Kind,
    root: Path,
    progress: Progress,
    runner: Runner,
) -> Measured:
    """Measure all of a sample, and store it."""
    job: Job[Measured] = Job()
    for _ in steps_of(job, prepared, experiment, kind, Chunks(root, SHIPPED), runner):
        progress(job.done, job.total, job.unit)
    if job.result is None:
        label = prepared.sample.corpus.label
        raise CorpusError(f"{label} holds no sentences.", "Choose another corpus.")
    progress(job.done, job.total, job.unit)
    return job.result


def _read(
    prepared: Prepared, experiment: Experiment, root: Path, progress: Progress, runner: Runner
) -> tuple[tuple[Readings, Checks], float]:
    """The numbers of probes, stored or computed, and the seconds that measuring took."""
    results = Results(root, SHIPPED)
    stored = find_readings(prepared, experiment, results)
    if stored is not None and stored[1] is not UNCHECKED:
        return stored, 0.0
    measured = _measure(prepared, experiment, "vectors", root, progress, runner)
    job: Job[tuple[Readings, Checks]] = Job()
    for _ in read_lengths(job, measured, experiment, results):
        progress(job.done, job.total, job.unit)
    assert job.result is not None  # it has taken its last step
    return job.result, measured.seconds


def _inside(weights: Weights, experiment: Experiment, root: Path, runner: Runner) -> Result:
    """The model in parts, with the example in it."""
    store, precision = Results(root, SHIPPED), experiment.precision
    parts = anatomy.dissected(weights, precision, EXAMPLE, runner, store)
    return anatomy.anatomy(parts, weights, EXAMPLE, experiment)


def _compare(
    prepared: Sequence[Prepared],
    experiment: Experiment,
    searching: Experiment | None,
    searches: Searches | str,
    root: Path,
    progress: Progress,
    runner: Runner,
) -> Result:
    """The answer on one corpus."""
    stores = Chunks(root, SHIPPED), runner, Results(root, SHIPPED)
    known = None if isinstance(searches, str) else searches
    measuring: Job[float] = Job()
    for _ in comparing.measure_all(measuring, prepared, experiment, searching, known, stores):
        progress(measuring.done, measuring.total, measuring.unit)
    job: Job[Result] = Job()
    settings = searching, searches, measuring.result or 0.0
    for _ in comparing.answer(job, prepared, experiment, *settings, stores):
        progress(job.done, job.total, job.unit)
    assert job.result is not None  # it has taken its last step
    return job.result


def _in_order(result: Result, sample: sampling.Sample) -> Result:
    """The result of sentences in memory: its table has their order and their index."""
    table = result.table.iloc[sample.order[: len(result.table)].argsort()].set_index("index")
    return replace(result, table=table.rename_axis(None), command="")
