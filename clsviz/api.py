"""The Python interface: `clsviz.measure(…)`."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

from clsviz.analyses import own_vectors
from clsviz.analyses.chunks import plan as plan_chunks
from clsviz.analyses.chunks import run as search_chunks
from clsviz.analyses.search import rank_all
from clsviz.analyses.search import run as rank_texts
from clsviz.errors import ClsvizError, CorpusError, SettingError
from clsviz.experiment import Experiment, Pooling, Settings
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Prepared
from clsviz.jobs.measure import measure as measure_sample
from clsviz.jobs.ray import measure as measure_by_ray
from clsviz.jobs.worker import IN_PROCESS, Runner
from clsviz.progress import Progress, silent
from clsviz.report import page
from clsviz.results import SHIPPED, anatomy, chunks, probes, provenance
from clsviz.results import compare as comparing
from clsviz.results import search as searching
from clsviz.results.chunks import ChunkTestSettings
from clsviz.results.compare import SEARCH_CORPUS, SEARCH_POOLING
from clsviz.results.norms import measure_vectors, norms
from clsviz.results.probes import ControlProbes, ProbeScores
from clsviz.results.result import Result
from clsviz.results.search import Search, Similarity
from clsviz.results.select import kind_of
from clsviz.sources import corpora as sources
from clsviz.sources import sampling
from clsviz.sources.models import UNTRAINED
from clsviz.sources.models import find as find_model
from clsviz.sources.sampling import Sample
from clsviz.sources.searches import find as find_searches
from clsviz.store.measurements import Measurements
from clsviz.store.results import Results

P = ParamSpec("P")
T = TypeVar("T")


def measure(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    vectors: str | Path | None = None,
    ray: str | None = None,
    store: str | Path | None = None,
    progress: Progress = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[Settings],
) -> Result:
    """Fit the norm of a vector on the length of the sentence.

    corpus: a name, or sentences: a list, a pandas Series or DataFrame, or a datasets Dataset.
    sample_size: 5,000 by default of a name, and all of sentences.
    vectors: own ones, in the place of model and corpus: a .parquet or .npz of `text` and `vector`.
    ray: the address of a Ray cluster that measures, or “local” for one on this machine.
    store: the folder of what was measured before; by default `default_store()`.
    progress: called with what is done, of how much, and of what.
    runner: runs the model; by default in this process.
    The other settings are those of `Experiment`.

    Returns the line's R², slope and intervals as facts, and a table with a row for each sentence:
    of sentences in their order, with their index. Raises ClsvizError.
    """
    experiment, texts = _experiment(model, corpus, settings)
    bench = _Bench(store, progress, runner)
    if experiment.probe_size != Experiment.probe_size:
        reason = f"probe_size is {experiment.probe_size:,}, and norms take the whole sample."
        raise SettingError(reason, "Leave it out.")
    if vectors is not None:
        if ray is not None:
            raise SettingError("Own vectors are not measured on Ray.", "Leave ray out.")
        return measure_vectors(Path(vectors).expanduser(), experiment, bench.results)
    prepared = bench.prepare(experiment, texts)
    kind = kind_of(experiment)
    if ray is not None:
        measure_by_ray(prepared, experiment, kind, bench.stores[0], ray, progress)
    measured = bench.finish(measure_sample, prepared, experiment, kind, *bench.stores[:2])
    result = norms(measured, experiment, bench.results)
    if texts is None:
        return result
    order = prepared.sample.order[: len(result.table)].argsort()
    table = result.table.iloc[order].set_index("index").rename_axis(None)
    return replace(result, table=table, command="")


def probe(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    random_weights: bool = False,
    store: str | Path | None = None,
    progress: Progress = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[Settings],
) -> Result:
    """Predict the length of sentences from their vectors, after every layer.

    layer, pooling: the vector whose direction, with half as many sentences and with shuffled
    lengths, is tested too. random_weights: also with random weights, of three seeds.
    The other settings are those of `measure`.

    Returns R² and the error of held-out predictions as facts, and a table with a row for each
    vector: probe_error and norm_error are mean absolute errors, in the unit. Raises ClsvizError.
    """
    experiment, texts = _experiment(model, corpus, settings)
    bench = _Bench(store, progress, runner)
    probes.check(experiment)
    prepared = bench.prepare(experiment, texts)
    numbers, seconds = bench.read(prepared, experiment)
    random = []
    if random_weights:
        name = UNTRAINED + experiment.model.removeprefix(UNTRAINED)
        view = replace(experiment, layer=None, pooling="cls")
        for seed in probes.SEEDS:
            untrained = Prepared(find_model(name, seed, progress), prepared.sample)
            (scores, _), extra_seconds = bench.read(untrained, view)
            random.append(scores)
            seconds += extra_seconds
    result = probes.probes(prepared, numbers, experiment, random, seconds)
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
    runner: Runner = IN_PROCESS,
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
    experiment, texts = _experiment(model, corpus, {**defaults, **settings})
    files = {"searches": searches, "vectors": vectors, "query_vectors": query_vectors}
    search = Search(
        task=task,
        titles=titles,
        similarity=similarity,
        max_exposure=max_exposure,
        length_power=length_power,
        **{key: Path(name).expanduser() for key, name in files.items() if name is not None},
    )
    searching.check(experiment, search)
    if search.vectors is not None and search.query_vectors is not None:
        own = own_vectors.read(search.vectors)
        queries = own_vectors.read(search.query_vectors, "query", "ids")
        pairs, indexed = own_vectors.searches_of(own, queries, experiment)
        rankings = rank_all(pairs, indexed, experiment.seed, length_power)
        return searching.result(pairs, rankings, experiment, search, None, own.fingerprint)
    bench = _Bench(store, progress, runner)
    weights = find_model(experiment.model, experiment.seed, progress)
    choice: dict[str, Any] = {"task": task, "titles": titles, "judged": search.searches}
    pairs = find_searches(experiment, bench.root, **choice, texts=texts, progress=progress)
    searched = pairs, weights, experiment, length_power
    rankings = bench.finish(rank_texts, *searched, *bench.stores)
    return searching.result(pairs, rankings, experiment, search, weights)


def chunk_test(
    model: str = "minilm",
    corpus: Any = "python-api",
    *,
    titles: str = "",
    searches: str | Path | None = None,
    similarity: Similarity = "cosine",
    chunk_tokens: int | None = None,
    max_lost: float | None = None,
    store: str | Path | None = None,
    progress: Progress = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[Settings],
) -> Result:
    """Test how long a chunk of a text may be for its sentences to find it.

    corpus: texts with an order: a text file is one, and each row of a table, or of a list, is one.
    titles, searches: as of `search_test`: searches with right texts, which their best chunk finds.
    similarity: “cosine”, or “dot”. chunk_tokens, max_lost: tokens of the chunks of your
    pipeline, and the share of their sentences that may be lost; `details["exceeded"]` names them if
    they surely lose more. sample_size: sentences, by default 2,400. The other settings are those of
    `measure`.

    Returns the share of sentences that find their chunk, by its length, an advised length, and a
    table with a row for each way to search and each length. Raises ClsvizError, also where under
    100 sentences can search.
    """
    defaults: Settings = {"sample_size": chunks.DEFAULT_SENTENCES, "pooling": "mean"}
    experiment, texts = _experiment(model, corpus, {**defaults, **settings})
    judged = None if searches is None else Path(searches).expanduser()
    settings_of_cut = ChunkTestSettings(titles, judged, similarity, chunk_tokens, max_lost)
    chunks.check(experiment)
    bench = _Bench(store, progress, runner)
    planned = bench.finish(plan_chunks, experiment, bench.root, titles, judged, texts)
    containment = bench.finish(search_chunks, planned, experiment, similarity, *bench.stores)
    return chunks.result(planned, containment, experiment, settings_of_cut)


def compare(
    models: Sequence[str] | str,
    corpus: Any = "python-docs",
    *,
    corpora: Sequence[str] = (),
    search_corpus: str = SEARCH_CORPUS,
    search_pooling: Pooling = SEARCH_POOLING,
    chunks: bool = False,
    store: str | Path | None = None,
    progress: Progress = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[Settings],
) -> Result:
    """Compare models on the same sentences: search, probe and norm.

    models: two to six names, the first `probe_size` sentences of whose sample are compared where
    all of the models read them as a whole. corpora: several names, in the place of corpus.
    search_corpus: what all models search by cosine, as `search_test` does; "" for no search.
    search_pooling: the vector that searches. chunks: also cut the texts that are searched into
    chunks, as `chunk_test` does. The other settings are those of `measure`.

    Returns differences with intervals by a paired bootstrap as facts, and a table with a row for
    each model and corpus. Raises ClsvizError.
    """
    names = models.split(",") if isinstance(models, str) else models
    names = [name.strip() for name in names]
    comparing.check(names)
    experiment, texts = _experiment(names[0], corpus, settings)
    bench = _Bench(store, progress, runner)
    weights = [find_model(name, experiment.seed, progress) for name in names]
    views = [replace(experiment, corpus=name) for name in dict.fromkeys(corpora)] or [experiment]
    samples = [bench.sample(view, texts) for view in views]
    search = comparing.searching_of(experiment, search_corpus, search_pooling)
    texts_of_search = bench.finish(comparing.find_texts, search, chunks, bench.root)
    plans = [
        comparing.Plan([Prepared(one, sample) for one in weights], view, search, *texts_of_search)
        for view, sample in zip(views, samples, strict=True)
    ]
    results: list[Result] = []
    for plan in plans:
        seconds = bench.finish(comparing.measure_all, plan, bench.stores)
        results.append(bench.finish(comparing.answer, plan, seconds, bench.stores))
    return results[0] if len(results) == 1 else comparing.joined(results, plans)


def report(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    others: Sequence[str] = (),
    search_corpus: str = SEARCH_CORPUS,
    search_pooling: Pooling = SEARCH_POOLING,
    store: str | Path | None = None,
    progress: Progress = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[Settings],
) -> str:
    """All answers on a model and a corpus, as one HTML page that needs no network.

    others: models to compare with. search_corpus: what is searched; "" for no search.
    search_pooling: the vector that searches. The other settings are those of `measure`.

    Returns the page, of at most 4 MB. Raises ClsvizError where model or corpus cannot be read; an
    answer that fails otherwise says so in its place.
    """
    experiment, texts = _experiment(model, corpus, settings)
    bench = _Bench(store, progress, runner)
    prepared = bench.prepare(experiment, texts)
    weights, label = prepared.weights, prepared.sample.corpus.label
    options: dict[str, Any] = {"store": bench.root, "progress": progress, "runner": runner}
    view = {**asdict(experiment), "corpus": corpus, **options}
    del view["model"]
    search = comparing.searching_of(experiment, search_corpus, search_pooling)
    searched: dict[str, Any] = {"search_corpus": search_corpus, "search_pooling": search_pooling}
    norm = {**view, "probe_size": Experiment.probe_size}
    questions: dict[str, Callable[[], Result]] = {
        "Norm vs length": partial(measure, model, **norm),
        "Where length lives": partial(probe, model, **view),
    }
    if search is not None:
        questions["Does length bend my search?"] = partial(search_test, **asdict(search), **options)
        cut = {**asdict(search), "sample_size": chunks.DEFAULT_SENTENCES, **options}
        questions[chunks.QUESTION] = partial(chunk_test, **cut)
    if others:
        questions["Compare models"] = partial(compare, [model, *others], **view, **searched)
    inside = weights, experiment.precision, anatomy.EXAMPLE
    questions["Inside the model"] = lambda: anatomy.anatomy(
        anatomy.dissected(*inside, runner, bench.results), weights, anatomy.EXAMPLE, experiment
    )
    answers: list[Result | tuple[str, ClsvizError]] = []
    for question, answer in questions.items():
        try:
            answers.append(answer())
        except ClsvizError as error:
            answers.append((question, error))
    sample = f"{len(prepared.sample):,} sentences, seed {experiment.seed}"
    about = provenance.method(weights, prepared.sample.corpus, sample)
    return page(f"{weights.label} on {label}", answers, about)


def default_store() -> Path:
    """The folder of the environment variable CLSVIZ_STORE, or one of the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CLSVIZ_STORE") or Path(cache) / "clsviz")


class _Bench:
    """The store of a call, who is told of its progress, and what runs models for it."""

    def __init__(self, store: str | Path | None, progress: Progress, runner: Runner) -> None:
        self.root = default_store() if store is None else Path(store).expanduser()
        self.progress = progress
        self.results = Results(self.root, SHIPPED)
        self.stores = Measurements(self.root, SHIPPED), runner, self.results

    def finish(
        self, steps: Callable[Concatenate[Job[T], P], Steps], *args: P.args, **options: P.kwargs
    ) -> T:
        """Take all steps of a job; returns its result."""
        job: Job[T] = Job()
        last = job.done, job.total, job.unit
        for _ in chain(steps(job, *args, **options), [None]):  # and after the last step
            now = job.done, job.total, job.unit
            if now != last:
                self.progress(*now)
            last = now
        assert job.result is not None  # it has taken its last step
        return job.result

    def prepare(self, experiment: Experiment, texts: Any) -> Prepared:
        """The model and the sample of an experiment, or of sentences."""
        weights = find_model(experiment.model, experiment.seed, self.progress)
        return Prepared(weights, self.sample(experiment, texts))

    def sample(self, experiment: Experiment, texts: Any) -> Sample:
        """The sample of an experiment, or of sentences; raises CorpusError where it is empty."""
        if texts is None:
            sample = sampling.draw(experiment, self.root, self.progress)
        else:
            sample = sampling.sample_of(sources.from_texts(texts, experiment), experiment)
        if not len(sample):
            reason = f"{sample.corpus.label} holds no sentences."
            raise CorpusError(reason, "Choose another corpus.")
        return sample

    def read(
        self, prepared: Prepared, experiment: Experiment
    ) -> tuple[tuple[ProbeScores, ControlProbes], float]:
        """The numbers of probes, stored or computed, and the seconds that measuring took."""
        stored = probes.find(prepared, experiment, self.results)
        if stored is not None and stored[1] is not probes.PENDING:
            return stored, 0.0
        chunks, runner, results = self.stores
        measured = self.finish(measure_sample, prepared, experiment, "vectors", chunks, runner)
        return self.finish(probes.read, measured, experiment, results), measured.seconds


def _experiment(model: str, corpus: Any, settings: Settings) -> tuple[Experiment, Any]:
    """The settings of a call, and the sentences that take the place of a corpus, or None."""
    if corpus is None:
        raise CorpusError("The corpus is None.", "Give its name, or a list of sentences.")
    is_name = isinstance(corpus, str | Path)
    sample_size = settings.get("sample_size")
    if sample_size is None:
        sample_size = Experiment.sample_size if is_name else "all"
    chosen: dict[str, Any] = {**settings, "sample_size": sample_size}
    experiment = Experiment(model, str(corpus) if is_name else "memory", **chosen)
    return experiment, None if is_name else corpus
