"""Datasets of the Hugging Face Hub: a fair sample of a split without downloading it.

Row groups of all files come in random order, enough at a time to fill a round, and the sentences of
a round in random order.
"""

import contextlib
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clsviz.errors import CorpusError, SettingError
from clsviz.progress import Progress, silent
from clsviz.settings import Experiment
from clsviz.sources import copies, hub, languages, row_groups, sentences, tables
from clsviz.sources.corpora import Corpus, Reading, caveats_of, caveats_on, choose, cut
from clsviz.sources.row_groups import Files, Limits


class Suggestion(NamedTuple):
    """A dataset that is suggested, and its parts that count where the experiment names none."""

    label: str
    configuration: str = ""
    column: str = ""


DATASETS: Final[dict[str, Suggestion]] = {
    "bookcorpus/bookcorpus": Suggestion("BookCorpus"),
    "Salesforce/wikitext": Suggestion("WikiText-103", "wikitext-103-raw-v1"),
    "fancyzhx/ag_news": Suggestion("AG News"),
    "stanfordnlp/imdb": Suggestion("IMDb reviews"),
    "stanfordnlp/snli": Suggestion("SNLI premises", column="premise"),
}

RECIPE: Final = 1  # raised when the same seed draws other sentences from the same files
CONVERSION: Final = "refs/convert/parquet"
CONVERTED: Final = re.compile(r"([^/]+)/([^/]+)/\d{4,}\.parquet")
HEAD_TEXTS: Final = 200
CARD: Final = "README.md"
LARGEST_CARD: Final = 5_000_000  # bytes, of which the library may read a megabyte in two seconds
SCHEMA: Final = pa.schema({"sentence": pa.large_string(), "row_group": pa.int32()})
LIMITS: Final = Limits()


@dataclass(frozen=True)
class State:
    """The account of the rounds so far; the copy of each round has the one after it.

    columns: that hold text. n_groups: row groups so far. doubts: numbers of texts, and of what is
    left out, by kind.
    """

    repository: str
    commit: str
    configuration: str
    split: str
    column: str = ""
    columns: list[str] = field(default_factory=list)
    segmentation: str = "auto"
    n_rounds: int = 0
    n_groups: int = 0
    doubts: dict[str, int] = field(default_factory=dict)
    is_complete: bool = False
    language: str = ""


def draw(
    experiment: Experiment, root: Path, progress: Progress = silent, limits: Limits = LIMITS
) -> Corpus:
    """A sample of a dataset of the Hub in the order of the seed: a larger one begins with it.

    root: the store's folder, whose copy is read instead of the Hub where it suffices. The table has
    `sentence` and `row_group` (int32). Raises CorpusError, SettingError, HubError or StoreError.
    """
    if experiment.encoding or experiment.segmentation == "paragraphs":
        remedy = "Leave encoding out, and choose auto, sentences or lines as segmentation."
        raise SettingError("A dataset of the Hub has no encoding and no paragraphs.", remedy)
    name, revision = hub.split_name(experiment.corpus, "dataset")
    suggestion = DATASETS.get(name, Suggestion(name))
    parts = (experiment.configuration, experiment.split, experiment.column)
    languages.check(experiment.language)
    recipe: list[Any] = [experiment.segmentation, experiment.seed, RECIPE, sentences.RECIPE]
    recipe += filter(None, [experiment.language])
    folder = root / "corpora" / f"hub-{copies.digest(name, revision, *parts, *recipe)[:32]}"
    size = sys.maxsize if experiment.sample_size == "all" else experiment.sample_size
    table, state = stored_rounds(folder)
    if state is None or not (state.is_complete or len(table) >= size):
        configuration = experiment.configuration or suggestion.configuration
        column = experiment.column or suggestion.column
        experiment = replace(experiment, configuration=configuration, column=column)
        n = len(table)
        for batch, account in read_rounds(experiment, state, progress, limits):
            path = folder / f"{account.n_rounds:06}.arrow"
            copies.write(path, SCHEMA, [batch], partial(asdict, account))
            n += len(batch)
            if n >= size:
                break
        table, state = stored_rounds(folder)
    if state is None or not len(table):
        raise CorpusError(f"{name} has no text that can be read.", "Choose another dataset.")
    part = (state.configuration, state.split, state.column, state.segmentation)
    fingerprint = copies.digest(state.repository, state.commit, *part, *recipe[1:])[:32]
    caveats = caveats_of(state.doubts)
    caveats += caveats_on(state.language, experiment, state.segmentation)
    if state.split.startswith("partial-"):
        caveats.append("The Hub has converted only the first part of this split to Parquet.")
    if experiment.sample_size != "all" and len(table) < size:
        caveats.append(f"The split holds only {len(table):,} sentences: all are in the sample.")
    others = tuple(column for column in state.columns if column != state.column)
    n_texts, how = state.doubts["texts"], state.segmentation
    read = n_texts, others, tuple(caveats), state.commit, state.language
    reading = Reading(state.column, "", how, *read)
    table = table.slice(0, size)
    return Corpus(experiment.corpus, suggestion.label, fingerprint, table, reading)


def stored_rounds(folder: Path) -> tuple[pa.Table, State | None]:
    """The sentences of the rounds in a folder, up to the first that is missing or damaged."""
    with contextlib.suppress(OSError):  # it is not stored
        os.utime(folder)  # so that those that nobody reads are known
    rounds: list[pa.Table] = [SCHEMA.empty_table()]
    state = None
    while (copy := copies.read(folder / f"{len(rounds):06}.arrow", State)) is not None:
        rounds.append(copy[0])
        state = copy[2]
    return pa.concat_tables(rounds), state


def read_rounds(
    experiment: Experiment, state: State | None, progress: Progress, limits: Limits
) -> Iterator[tuple[pa.Table, State]]:
    """The rounds of a split that follow `state`: the sentences of each, and the state after it."""
    repository, state, paths = find_split(experiment, state, progress, limits)
    files = Files(repository, progress, limits)
    sizes = {path: repository.sizes[path] for path in paths}
    seed = experiment.seed
    n_rounds = 0
    unread: set[str] = set()
    for number, window in enumerate(row_groups.windows(sizes, seed, limits.files_at_once)):
        footers = files.footers(sorted({part.path for part in window}))
        if not state.column:
            state = choose_column(state, footers, experiment)
        order, lacking = row_groups.deal(window, footers, state.column, [seed, number])
        unread |= lacking
        state = replace(state, doubts=state.doubts | {"unread_files": len(unread)})
        for groups in row_groups.rounds(order, limits):
            n_rounds += 1
            if n_rounds > state.n_rounds:
                state = replace(state, n_rounds=n_rounds)
                batch, state = cut_round(files.texts(groups, state.column), state, seed)
                yield batch, state
    yield SCHEMA.empty_table(), replace(state, n_rounds=n_rounds + 1, is_complete=True)


def choose_column(
    state: State, footers: Mapping[str, pq.FileMetaData], experiment: Experiment
) -> State:
    """The state with its column: the one that is named, or the likeliest one."""
    columns: defaultdict[str, tables.Column] = defaultdict(tables.Column)
    for path, footer in footers.items():
        for name, leaf in tables.text_leaves(footer, path).items():
            for number in range(footer.num_row_groups):
                about = footer.row_group(number).column(leaf)
                columns[name].n_texts += about.num_values
                columns[name].n_with_letters += about.num_values
                columns[name].n_characters += about.total_uncompressed_size
    column = tables.choose_column(columns, experiment.column, state.repository)
    return replace(state, column=column, columns=tables.text_columns(columns))


def cut_round(
    groups: list[pa.ChunkedArray | None], state: State, seed: int
) -> tuple[pa.Table, State]:
    """The sentences of row groups in random order, and the state after them."""
    doubts = Counter(state.doubts)
    doubts["damaged_groups"] += groups.count(None)
    readable = [(number, texts) for number, texts in enumerate(groups, state.n_groups) if texts]
    chunks = [chunk for _, texts in readable for chunk in texts.chunks]
    numbers = pa.array([number for number, texts in readable for _ in texts], pa.int32())
    table = pa.table([pa.chunked_array(chunks, pa.large_string()), numbers], SCHEMA)
    how = state.segmentation
    texts = table["sentence"].filter(pc.invert(tables.is_blank(table["sentence"])))
    language = state.language
    if (how == "auto" or not language) and len(texts):  # 200 texts from all over the round
        head = texts.to_pylist()[:: max(1, len(texts) // HEAD_TEXTS)]
        language = language or languages.of_texts(head)
        is_long = sum(map(len, head)) > sentences.LONG_TEXT * len(head)
        how = how if how != "auto" else "sentences" if is_long else "lines"
    cuts = cut(table, Reading("sentence", "", how, language=language), ["row_group"], doubts)
    order = np.random.RandomState([seed, state.n_rounds]).permutation(len(cuts))
    n_groups = state.n_groups + len(groups)
    counts: dict[str, Any] = {"n_groups": n_groups, "doubts": dict(doubts)}
    state = replace(state, segmentation=how, language=language, **counts)
    return cuts.take(order).cast(SCHEMA).combine_chunks(), state


def find_split(
    experiment: Experiment, state: State | None, progress: Progress, limits: Limits
) -> tuple[hub.Repository, State, list[str]]:
    """The repository of a split, its state, which is `state` if there is one, and its files.

    The files are the dataset's own where it has Parquet files, else those that the Hub has
    converted it to; loading scripts never run. Raises CorpusError, SettingError or HubError.
    """
    name, revision = hub.split_name(experiment.corpus, "dataset")
    configuration, split = experiment.configuration, experiment.split
    if state:
        revision, configuration, split = state.commit, state.configuration, state.split
    repository = hub.open_repository(name, "dataset", revision, limits.patience)
    splits = converted(repository, configuration)
    splits = splits or declared(repository, configuration, progress, limits)
    if not splits and not revision:
        with contextlib.suppress(CorpusError):  # it has no such revision
            repository = hub.open_repository(name, "dataset", CONVERSION, limits.patience)
            splits = converted(repository, configuration)
    if not splits:
        reason = f"{name} has no Parquet files, and the Hub has not converted it to Parquet."
        raise CorpusError(reason, "Download the file you want, and choose it as corpus.")
    configuration, paths = splits
    split = choose(name, "split", split, list(paths), ["train", "partial-train", *paths])
    how = experiment.segmentation
    part = repository.name, repository.commit, configuration, split
    start = State(*part, segmentation=how, language=experiment.language)
    return repository, state or start, paths[split]


Splits = tuple[str, Mapping[str, list[str]]]
"""A configuration, and the Parquet files of each of its splits."""


def converted(repository: hub.Repository, configuration: str) -> Splits | None:
    """The files of a repository that looks as the Hub's conversion does; else None."""
    paths = [path for path in sorted(repository.sizes) if not path.startswith(".")]
    matches = list(filter(None, map(CONVERTED.fullmatch, paths)))
    if not matches or len(matches) < len(paths):
        return None
    splits: dict[str, dict[str, list[str]]] = {match[1]: {} for match in matches}
    for match in matches:
        splits[match[1]].setdefault(match[2], []).append(match[0])
    name = choose(repository.name, "configuration", configuration, list(splits), ["default"])
    return name, splits[name]


def declared(
    repository: hub.Repository, configuration: str, progress: Progress, limits: Limits
) -> Splits | None:
    """The Parquet files that the library finds in a repository; None where it finds no such."""
    if not any(path.endswith(".parquet") for path in repository.sizes):
        return None
    if (n_bytes := repository.sizes.get(CARD, 0)) > LARGEST_CARD:
        reason = f"{repository.name} has a {CARD} of {n_bytes / 1e6:,.0f} MB."
        raise CorpusError(reason, "Download the file you want, and choose it as corpus.")
    import datasets

    address = f"hf://datasets/{repository.name}"  # a mere name may open a folder of this machine
    commit = repository.commit
    builder = None
    check = partial(progress, 0, 1, "files")
    with hub.asking(repository.name, "dataset", commit, limits.patience, check, is_lenient=True):
        try:
            builder = datasets.load_dataset_builder(address, configuration or None, revision=commit)
        except ValueError:  # several configurations, or the card makes no sense
            names = datasets.get_dataset_config_names(address, revision=commit)
            choose(repository.name, "configuration", configuration, names, [])
            raise
    if builder is None or builder.name != "parquet":
        return None
    splits = {
        str(split): sorted(address.partition(f"@{commit}/")[2] for address in addresses)
        for split, addresses in (builder.config.data_files or {}).items()
    }
    return str(builder.config.name), splits
