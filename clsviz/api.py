"""The Python interface: `clsviz.measure(…)`. Each question is one function."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias, Unpack

from clsviz import limits
from clsviz.analyses import chunks as chunking
from clsviz.analyses import compare as comparing
from clsviz.analyses import norms as measuring
from clsviz.analyses import probes as probing
from clsviz.analyses import search as searching
from clsviz.analyses import typed as tracing
from clsviz.analyses.recall import RecallSettings
from clsviz.analyses.typed import EXAMPLE, Trace
from clsviz.errors import ClsvizError, CorpusError, SettingError, quote
from clsviz.jobs.measure import Workspace, draw, find_model
from clsviz.jobs.worker import IN_PROCESS, Encode, Functions, Runner
from clsviz.progress import Calls, Progress, silent
from clsviz.questions import COMMANDS, PAGES
from clsviz.report import card, page
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
    OF_EXPERIMENT,
    SETTINGS,
    ChunkTestSettings,
    Experiment,
    Pooling,
    SearchSettings,
    Settings,
    Similarity,
    heeded,
    refuse,
    settings_of,
)
from clsviz.sources.chunks import name_of
from clsviz.sources.models import MPNET, UNTRAINED

Store: TypeAlias = str | Path | Workspace | None
"""The folder of what is stored, by default `default_store()`; the server gives its workspace."""


class OrFunction(Settings, total=False):
    """The same, with a function in the place of the model; `search_test` says what they mean."""

    encode: Encode
    encode_query: Encode
    count_tokens: Callable[[str], int]
    name: str


NO_FUNCTIONS: Final[Mapping[str, Encode]] = {}

MOST_MODELS = 6  # that are compared

Shows: TypeAlias = Progress | Callable[[int, int, str], object]


def measure(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    vectors: Any = None,
    ray: str | None = None,
    store: Store = None,
    progress: Shows = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[Settings],
) -> Result:
    """Fit the norm of a vector on the length of the sentence.

    corpus: a name, or sentences: a list, a pandas Series or DataFrame, or a datasets Dataset.
    sample_size: 5,000 by default of a name, and all of sentences.
    vectors: own ones, in the place of model and corpus: a .parquet or .npz of `text` and `vector`,
    or what pandas and datasets have.
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
        refuse("measure", experiment, has_own_vectors=True)
        fit = measuring.norms_of_own(vectors, experiment, workspace.results)
        return norm_words.result_of_own(fit, experiment, vectors)
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
    **settings: Unpack[OrFunction],
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
    search = None
    if recall is not False:
        search = RecallSettings(search_corpus, search_titles, is_measured=bool(recall))
    elif (search_corpus, search_titles) != (DEFAULTS["search_corpus"], ""):
        raise SettingError("Probes search nothing without recall.", "Set recall, too.")
    encode = settings.get("encode")
    if encode and random_weights:
        raise SettingError("A function has no random weights.", "Leave random_weights out.")
    with _encoding(model, settings, store, runner) as (model, workspace):
        experiment, texts = _experiment(model, corpus, settings)
        refuse("probe", experiment)
        words = partial(probe_words.result, experiment=experiment)
        inputs = experiment, workspace, _progress(progress).worded(words), texts
        result = words(probing.probes(*inputs, random_weights=random_weights, recall=search))
    return replace(result, command="") if encode or texts is not None else result


def search_test(
    model: str = "minilm",
    corpus: Any = "python-api",
    *,
    task: str = "",
    titles: str = "",
    searches: Any = None,
    queries: Any = None,
    vectors: Any = None,
    query_vectors: Any = None,
    similarity: Similarity = "auto",
    max_exposure: float | None = None,
    max_truncated: float | None = None,
    length_power: float | None = None,
    store: Store = None,
    progress: Shows = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[OrFunction],
) -> Result:
    """Test if a search finds texts of some lengths more often than they are right.

    corpus: a name, or texts: a list, a pandas Series or DataFrame, or a datasets Dataset.
    task: “titles”, “halves” or “cloze”; by default what suits the corpus. titles: the column that
    searches. searches: judgements of people, in a file, or as what pandas and datasets have:
    `query` and `ids`, or `query` and `text`, and maybe `score`; TREC's qrels, or a folder of BEIR's
    layout. queries: a table of `id` and `text`, where searches have ids of queries.
    vectors, query_vectors: own ones, in the place of model and corpus: `text`, `vector` and maybe
    `id`; `query`, `vector`, `ids` and maybe `score` (without `id`, numbers of rows from 0).
    similarity: “cosine”, “dot”, or “auto”, which the model names. max_exposure, max_truncated:
    limits; `details["exceeded"]` has the fifths that are surely beyond the first, and “truncated
    texts” if more of them than the second are cut. length_power: of tokens, by which scores are
    multiplied as another fix.
    encode: a function from a list of texts to an array (n, width), in the place of the model;
    encode_query: the same of queries. count_tokens: of a text; else lengths are words. name: under
    which its vectors are stored; without one nothing is.
    sample_size: texts, at most. The other settings are those of `measure`.

    Returns recall, nDCG and exposure by fifths of the texts' lengths, an advised fix, and a table
    with a row for each search. Raises ClsvizError, also where there are under 30 searches.
    """
    search = SearchSettings(
        *(task, titles, searches, queries, vectors, query_vectors),
        *(similarity, max_exposure, max_truncated, length_power),
    )
    encode = settings.get("encode")
    if encode and max_truncated is not None:
        raise SettingError("Of a function no limit is known.", "Leave max_truncated out.")
    with _encoding(model, settings, store, runner) as (model, workspace):
        experiment, texts = _experiment(model, corpus, settings, "search-test")
        refuse("search-test", experiment, search)
        if search.vectors is not None:
            numbers = searching.search_own(experiment, search)
        else:
            inputs = workspace, _progress(progress), texts
            numbers = searching.search(experiment, search, *inputs)
    result = search_words.result(numbers, experiment, search)
    return replace(result, command="") if encode else result


def chunk_test(
    model: str = "minilm",
    corpus: Any = "python-api",
    *,
    titles: str = "",
    searches: Any = None,
    queries: Any = None,
    similarity: Similarity = "auto",
    chunks: Any = "",
    overlap: float | None = None,
    chunk_tokens: int | None = None,
    max_lost: float | None = None,
    store: Store = None,
    progress: Shows = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[OrFunction],
) -> Result:
    """Test how long a chunk of a text may be for its sentences to find it.

    corpus: texts with an order: a text file is one, and each row of a table, or of a list, is one.
    titles, searches, queries: as of `search_test`; their right texts are found by the best chunk.
    similarity: as of `search_test`. chunks: those that your splitter makes of the texts: a file, a
    list, a Series or a DataFrame. overlap: the share of a chunk's sentences that the next repeats,
    as another way to cut. chunk_tokens, max_lost: tokens of the chunks of your pipeline, and the
    share of the sentences that these, or your chunks, may lose; `details["exceeded"]` names them if
    they surely lose more. sample_size: sentences, by default 2,400. The other settings are those
    of `measure`, or a function's, as of `search_test`.

    Returns the share of sentences that find their chunk, by its length, an advised length, and a
    table with a row for each way to search and each length. Raises ClsvizError, also where under
    100 sentences can search.
    """
    of_pipeline = chunk_tokens, max_lost, name_of(chunks)
    cut = ChunkTestSettings(titles, searches, queries, similarity, *of_pipeline, overlap)
    encode = settings.get("encode")
    with _encoding(model, settings, store, runner) as (model, workspace):
        experiment, texts = _experiment(model, corpus, settings, "chunk-test")
        refuse("chunk-test", experiment, cut)
        inputs = workspace, _progress(progress), texts, chunks
        numbers = chunking.chunk_test(experiment, cut, *inputs)
    result = chunk_words.result(numbers, experiment, cut)
    return replace(result, command="") if encode else result


def compare(
    models: Sequence[str] | str = (),
    corpus: Any = "python-docs",
    *,
    corpora: Sequence[str] = (),
    search_corpus: str = DEFAULTS["search_corpus"],
    search_pooling: Pooling = DEFAULTS["search_pooling"],
    chunks: bool = False,
    own_chunks: Any = "",
    encode: Mapping[str, Encode] = NO_FUNCTIONS,
    count_tokens: Callable[[str], int] | None = None,
    store: Store = None,
    progress: Shows = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[Settings],
) -> Result:
    """Compare models on the same sentences: search, probe and norm.

    models: two to six names, compared on those of the first `probe_size` sentences that all of the
    models read as a whole. One is compared with its untrained architecture; the built-in one, as
    long as nothing else is set, with MPNet, whose answers come with clsviz.
    corpora: several names, in the place of corpus.
    search_corpus: what all models search by cosine, as `search_test` does; "" for no search.
    search_pooling: the vector that searches. chunks: also cut the texts that are searched, as
    `chunk_test` does; own_chunks: as chunks there. encode: functions by names, compared with the
    models, or with each other; see `search_test`. The other settings are those of `measure`.

    Returns differences with intervals by a paired bootstrap as facts, and a table with a row for
    each model and corpus. Raises ClsvizError.
    """
    names = models.split(",") if isinstance(models, str) else models
    if not isinstance(encode, Mapping) or not all(isinstance(name, str) for name in encode):
        remedy = 'Write encode={"name": function}.'
        raise SettingError("encode has functions without names.", remedy)
    names = [name.strip() for name in (*names, *encode) if name.strip()] or [DEFAULTS["model"]]
    experiment, texts = _experiment(names[0], corpus, settings)
    has_chunks = chunks or bool(name_of(own_chunks))
    if len(names) == 1 and not encode:
        others = search_corpus, search_pooling, has_chunks, texts, *corpora
        defaults = DEFAULTS["search_corpus"], DEFAULTS["search_pooling"], False, None
        is_default = (experiment, others) == (Experiment(), defaults)
        base = names[0].removeprefix(UNTRAINED)
        names += [MPNET if is_default else UNTRAINED + base if base == names[0] else base]
    check_models(names)
    views = [replace(experiment, corpus=name) for name in dict.fromkeys(corpora)] or [experiment]
    search = comparing.search_of(experiment, search_corpus, search_pooling, has_chunks)
    if encode:
        _check_private()
        runner = Functions(encode, None, count_tokens)
    inputs = names, views, search, Workspace.of(store, runner), _progress(progress), texts
    numbers = comparing.compare(*inputs, has_chunks=has_chunks, own=own_chunks)
    result = compare_words.results(numbers)
    return replace(result, command="") if encode else result


def report(
    model: str = "minilm",
    corpus: Any = "python-docs",
    *,
    others: Sequence[str] = (),
    search_corpus: str = DEFAULTS["search_corpus"],
    search_pooling: Pooling = DEFAULTS["search_pooling"],
    search_titles: str = "",
    search_column: str = "",
    search_encoding: str = "",
    similarity: Similarity = "auto",
    own_chunks: Any = "",
    is_card: bool = False,
    store: Store = None,
    progress: Shows = silent,
    runner: Runner = IN_PROCESS,
    **settings: Unpack[OrFunction],
) -> str:
    """All answers on a model and a corpus, as one HTML page that needs no network.

    others: models to compare with. search_corpus: what is searched; "" for no search.
    search_pooling: the vector that searches. search_titles, search_column, search_encoding,
    similarity: as titles, column, encoding and similarity of `search_test`. own_chunks: as chunks
    of `chunk_test`. is_card: the verdicts in Markdown instead, for the page of a model. The other
    settings are those of `measure`, or a function's, as of `search_test`.

    Returns the page, of at most 4 MB. Raises ClsvizError where model or corpus cannot be read; an
    answer that fails otherwise says so in its place.
    """
    encode = settings.get("encode")
    with _encoding(model, settings, store, runner) as (model, workspace):
        of_search = {"titles": search_titles, "similarity": similarity}
        of_corpus: dict[str, Any] = {"column": search_column, "encoding": search_encoding}
        experiment, texts = _experiment(model, corpus, settings)
        shows, runner = _progress(progress), workspace.runner
        weights = find_model(experiment.model, experiment.seed, shows, runner)
        sample = draw(experiment, workspace, shows, texts)
        options: dict[str, Any] = {"store": workspace, "progress": shows}
        view = {**asdict(heeded("probe", experiment)), "corpus": corpus, **options}
        del view["model"]
        file = name_of(own_chunks)
        search = comparing.search_of(experiment, search_corpus, search_pooling, bool(file))
        searched: dict[str, Any]
        searched = {"search_corpus": search_corpus, "search_pooling": search_pooling}
        norm = {**view, **asdict(heeded("measure", experiment)), "corpus": corpus}
        calls: dict[str, Callable[[], Result]] = {
            "norm_vs_length": partial(measure, **norm),
            "where_length_lives": partial(probe, model, **view),
        }
        if search is not None:
            searching = {**asdict(replace(search, **of_corpus)), **of_search, **options}
            calls["search"] = partial(search_test, **searching)
            n = COMMANDS["chunk-test"].defaults["sample_size"]
            cutting = {**searching, "sample_size": n, "chunks": own_chunks}
            calls["chunks"] = partial(chunk_test, **cutting)
        if others:
            calls["compare"] = partial(compare, [model, *others], **view, **searched)
        inside = {name: getattr(experiment, name) for name in ("model", "seed", "precision")}
        calls["model"] = partial(anatomy, **inside, **options)
        if encode:
            del calls["norm_vs_length"], calls["model"]
        answers: dict[str, Result | ClsvizError] = {}
        for path, answer in calls.items():
            try:
                result = answer()
                answers[result.question] = result
            except ClsvizError as error:
                answers[PAGES[path].question] = error
        title = f"{weights.label} on {sample.corpus.label}"
        if is_card:
            also = {"others": list(others) or (), **searched, "similarity": of_search["similarity"]}
            also |= {"search_titles": of_search["titles"], "own_chunks": file}
            also |= {f"search_{name}": value for name, value in of_corpus.items()}
            command = provenance.command("report", experiment, also)
            command = "" if encode else command and f"{command} --output card.md"
            return card(title, answers, command)
        size = f"{len(sample):,} sentences, seed {experiment.seed}"
        about = provenance.method(weights, sample.corpus, size)
        return page(title, answers, about)


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


@contextmanager
def _encoding(
    model: str, settings: OrFunction, store: Store, runner: Runner
) -> Iterator[tuple[str, Workspace]]:
    """The name of the model, and a workspace; of a function without a name, one that goes.

    What is of the function leaves the settings.
    """
    encode, query = settings.pop("encode", None), settings.pop("encode_query", None)
    count, name = settings.pop("count_tokens", None), settings.pop("name", "")
    if encode is None:
        if query or count or name:
            reason = "encode_query, count_tokens and name belong to a function."
            raise SettingError(reason, "Give encode, too.")
        yield model, Workspace.of(store, runner)
        return
    _check_private()
    if not isinstance(model, str) or model != DEFAULTS["model"]:
        raise SettingError("model and encode are both given.", "Leave one of them out.")
    label = name or "your function"
    with TemporaryDirectory() as folder:
        functions = Functions({label: encode}, query, count)
        yield label, Workspace.of(store if name else folder, functions)


def _check_private() -> None:
    """Raise SettingError on a public server, where no function of a visitor's is run."""
    if limits.is_public():
        raise SettingError("A public server runs no functions.", "Run clsviz on your own machine.")


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
    for name in set(settings) - {*OF_EXPERIMENT}:
        known = [*SETTINGS, "store", "progress", "runner", "text"]
        names = get_close_matches(name, known, 1, 0.5) or [
            row.keyword(question) for row in settings_of(question).values()
        ]
        remedy = f"Did you mean {', '.join(names)}?"
        raise SettingError(f"There is no keyword {quote(name)}.", remedy)
    chosen: dict[str, Any] = {**COMMANDS[question].defaults, **settings}
    if chosen.get("sample_size") is None:
        chosen["sample_size"] = DEFAULTS["sample_size"] if is_name else "all"
    chosen |= {"model": model, "corpus": str(corpus) if is_name else "memory"}
    return Experiment(**chosen), None if is_name else corpus
