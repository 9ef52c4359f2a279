"""The Python interface: `clsviz.measure(…)`. Each question is one function."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from clsviz.analyses import chunks as chunking
from clsviz.analyses import compare as comparing
from clsviz.analyses import norms as measuring
from clsviz.analyses import probes as probing
from clsviz.analyses import search as searching
from clsviz.analyses import typed as tracing
from clsviz.analyses.recall import RecallSettings
from clsviz.analyses.typed import EXAMPLE, Trace
from clsviz.errors import ClsvizError, CorpusError, SettingError
from clsviz.jobs.measure import Workspace, draw, find_model
from clsviz.jobs.worker import IN_PROCESS, Runner
from clsviz.progress import Calls, Progress, silent
from clsviz.questions import COMMANDS, PAGES
from clsviz.report import page
from clsviz.results import anatomy as anatomy_words
from clsviz.results import chunks as chunk_words
from clsviz.results import compare as compare_words
from clsviz.results import norms as norm_words
from clsviz.results import probes as probe_words
from clsviz.results import provenance
from clsviz.results import search as search_words
from clsviz.results.result import Result
from clsviz.settings import (
    DEFAULTS,
    ChunkTestSettings,
    Experiment,
    Pooling,
    SearchSettings,
    Settings,
    Similarity,
    heeded,
    refuse,
)

Store: TypeAlias = str | Path | Workspace | None
"""The folder of what is stored, by default `default_store()`; the server gives its workspace."""

MOST_MODELS = 6  # that are compared

Shows: TypeAlias = Progress | Callable[[int, int, str], object]


def measure(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    vectors: str | Path | None = None,
    ray: str | None = None,
    store: Store = None,
    progress: Shows = silent,
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
    workspace, shows = Workspace.of(store, runner), _progress(progress)
    if vectors is not None:
        if ray is not None:
            raise SettingError("Own vectors are not measured on Ray.", "Leave ray out.")
        path = Path(vectors).expanduser()
        refuse("measure", experiment, has_own_vectors=True)
        fit = measuring.norms_of_own(path, experiment, workspace.results)
        return norm_words.result_of_own(fit, experiment, path)
    refuse("measure", experiment)
    in_words = shows.worded(lambda fit: norm_words.result(fit, experiment))
    fit = measuring.norms(experiment, workspace, in_words, texts, ray)
    result = norm_words.result(fit, experiment)
    if texts is None:
        return result
    order = fit.measured.sample.order[: len(result.table)].argsort()
    table = result.table.iloc[order].set_index("index").rename_axis(None)
    return replace(result, table=table, command="")


def probe(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    random_weights: bool | None = False,
    recall: bool | None = False,
    search_corpus: str = DEFAULTS["search_corpus"],
    search_titles: str = "",
    store: Store = None,
    progress: Shows = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[Settings],
) -> Result:
    """Predict the length of sentences from their vectors, after every layer.

    layer, pooling: the vector whose direction, with half as many sentences and with shuffled
    lengths, is tested too. random_weights: also with random weights, of three seeds; None: where
    they are stored. recall: also how often the same vectors of the texts of search_corpus are found
    by those of their titles, in the column search_titles; None: where that is stored.
    The other settings are those of `measure`.

    Returns R² and the error of held-out predictions as facts, and a table with a row for each
    vector: probe_error and norm_error are mean absolute errors, in the unit. Raises ClsvizError.
    """
    experiment, texts = _experiment(model, corpus, settings)
    refuse("probe", experiment)
    search = None
    if recall is not False:
        search = RecallSettings(search_corpus, search_titles, is_measured=bool(recall))
    elif (search_corpus, search_titles) != (DEFAULTS["search_corpus"], ""):
        raise SettingError("Probes search nothing without recall.", "Set recall, too.")
    in_words = _progress(progress).worded(lambda numbers: probe_words.result(numbers, experiment))
    inputs = experiment, Workspace.of(store, runner), in_words, texts
    numbers = probing.probes(*inputs, random_weights=random_weights, recall=search)
    result = probe_words.result(numbers, experiment)
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
    store: Store = None,
    progress: Shows = silent,
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
    experiment, texts = _experiment(model, corpus, settings, "search-test")
    files = {"searches": searches, "vectors": vectors, "query_vectors": query_vectors}
    search = SearchSettings(
        task=task,
        titles=titles,
        similarity=similarity,
        max_exposure=max_exposure,
        length_power=length_power,
        **{key: Path(name).expanduser() for key, name in files.items() if name is not None},
    )
    refuse("search-test", experiment, search)
    if search.vectors is not None:
        numbers = searching.search_own(experiment, search)
    else:
        inputs = Workspace.of(store, runner), _progress(progress), texts
        numbers = searching.search(experiment, search, *inputs)
    return search_words.result(numbers, experiment, search)


def chunk_test(
    model: str = "minilm",
    corpus: Any = "python-api",
    *,
    titles: str = "",
    searches: str | Path | None = None,
    similarity: Similarity = "cosine",
    chunk_tokens: int | None = None,
    max_lost: float | None = None,
    store: Store = None,
    progress: Shows = silent,
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
    experiment, texts = _experiment(model, corpus, settings, "chunk-test")
    judged = None if searches is None else Path(searches).expanduser()
    cut = ChunkTestSettings(titles, judged, similarity, chunk_tokens, max_lost)
    refuse("chunk-test", experiment, cut)
    inputs = Workspace.of(store, runner), _progress(progress), texts
    return chunk_words.result(chunking.chunk_test(experiment, cut, *inputs), experiment, cut)


def compare(
    models: Sequence[str] | str,
    corpus: Any = "python-docs",
    *,
    corpora: Sequence[str] = (),
    search_corpus: str = DEFAULTS["search_corpus"],
    search_pooling: Pooling = DEFAULTS["search_pooling"],
    chunks: bool = False,
    store: Store = None,
    progress: Shows = silent,
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
    check_models(names)
    experiment, texts = _experiment(names[0], corpus, settings)
    views = [replace(experiment, corpus=name) for name in dict.fromkeys(corpora)] or [experiment]
    search = comparing.search_of(experiment, search_corpus, search_pooling)
    inputs = names, views, search, Workspace.of(store, runner), _progress(progress), texts
    return compare_words.results(comparing.compare(*inputs, has_chunks=chunks))


def report(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    others: Sequence[str] = (),
    search_corpus: str = DEFAULTS["search_corpus"],
    search_pooling: Pooling = DEFAULTS["search_pooling"],
    store: Store = None,
    progress: Shows = silent,
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
    workspace, shows = Workspace.of(store, runner), _progress(progress)
    weights = find_model(experiment.model, experiment.seed, shows)
    sample = draw(experiment, workspace, shows, texts)
    options: dict[str, Any] = {"store": workspace, "progress": shows}
    view = {**asdict(experiment), "corpus": corpus, **options}
    del view["model"]
    search = comparing.search_of(experiment, search_corpus, search_pooling)
    searched: dict[str, Any] = {"search_corpus": search_corpus, "search_pooling": search_pooling}
    norm = {**view, "probe_size": heeded("measure", experiment).probe_size}
    asked: dict[str, Callable[[], Result]] = {
        "norm_vs_length": partial(measure, model, **norm),
        "where_length_lives": partial(probe, model, **view),
    }
    if search is not None:
        asked["search"] = partial(search_test, **asdict(search), **options)
        cut = {**asdict(search), "sample_size": COMMANDS["chunk-test"].defaults["sample_size"]}
        asked["chunks"] = partial(chunk_test, **cut, **options)
    if others:
        asked["compare"] = partial(compare, [model, *others], **view, **searched)
    inside = {name: getattr(experiment, name) for name in ("model", "seed", "precision")}
    asked["model"] = partial(anatomy, **inside, **options)
    answers: list[Result | tuple[str, ClsvizError]] = []
    for path, answer in asked.items():
        try:
            answers.append(answer())
        except ClsvizError as error:
            answers.append((PAGES[path].question, error))
    drawn = f"{len(sample):,} sentences, seed {experiment.seed}"
    about = provenance.method(weights, sample.corpus, drawn)
    return page(f"{weights.label} on {sample.corpus.label}", answers, about)


def anatomy(
    model: str = "minilm",
    text: str = EXAMPLE,
    *,
    seed: int = 0,
    precision: Any = "exact",
    store: Store = None,
    progress: Shows = silent,
    runner: Runner = IN_PROCESS,
) -> Result:
    """The model in parts, and [CLS] of a text after each; raises ClsvizError."""
    experiment = Experiment(model, seed=seed, precision=precision)
    workspace, shows = Workspace.of(store, runner), _progress(progress)
    weights = find_model(model, seed, shows)
    parts = tracing.dissect(weights, experiment.precision, text, workspace, shows)
    return anatomy_words.result(parts, weights, text, experiment)


def trace(
    model: str = "minilm",
    text: str = EXAMPLE,
    *,
    seed: int = 0,
    precision: Any = "exact",
    store: Store = None,
    progress: Shows = silent,
    runner: Runner = IN_PROCESS,
) -> Trace:
    """A sentence in a model, word by word; raises ClsvizError."""
    workspace, shows = Workspace.of(store, runner), _progress(progress)
    weights = find_model(model, seed, shows)
    return tracing.trace(weights, precision, text, workspace, shows)


def check_models(names: Sequence[str]) -> None:
    """Raise SettingError where these are not two to six different models."""
    if not 2 <= len(set(names)) == len(names) <= MOST_MODELS:
        reason = f"models is {', '.join(names) or 'empty'}."
        raise SettingError(reason, f"Name two to {MOST_MODELS} different models.")


def _progress(shows: Shows) -> Progress:
    return shows if isinstance(shows, Progress) else Calls(shows)


def _experiment(
    model: str, corpus: Any, settings: Settings, question: str = "measure"
) -> tuple[Experiment, Any]:
    """The settings of a call, and the sentences that take the place of a corpus, or None.

    question: whose defaults hold.
    """
    if corpus is None:
        raise CorpusError("The corpus is None.", "Give its name, or a list of sentences.")
    is_name = isinstance(corpus, str | Path)
    chosen: dict[str, Any] = {**COMMANDS[question].defaults, **settings}
    if chosen.get("sample_size") is None:
        chosen["sample_size"] = DEFAULTS["sample_size"] if is_name else "all"
    chosen |= {"model": model, "corpus": str(corpus) if is_name else "memory"}
    return Experiment(**chosen), None if is_name else corpus
