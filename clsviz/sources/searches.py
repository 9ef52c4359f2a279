"""Searches whose right texts are known: by titles, halves of texts, sentences, or people."""

import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clsviz.errors import CorpusError, SettingError, Undefined, quote
from clsviz.experiment import Experiment
from clsviz.progress import Progress, silent
from clsviz.sources import copies, corpora, sampling, sentences, tables
from clsviz.sources.corpora import Corpus
from clsviz.sources.sampling import Sample

Task = Literal["titles", "halves", "cloze", "judged"]

FEWEST: Final = 30
"""Of fewer searches, no fifth has enough to tell anything."""

MOST_TEXTS, MOST_SEARCHES = 100_000, 5_000
"""Texts that are indexed, and searches among them; of more, the seed draws so many."""

WINDOWS: Final = (2, 3, 5, 9)
"""Sentences of a window, the one that searches for the others included."""

TITLES: Final = ("title", "headline", "heading", "subject", "summary", "name", "question")
"""Names that a column of titles tends to have, likeliest first."""

ID: Final = "id"

NUMBER: Final = re.compile(r"[+-]?\d+(\.0*)?|\d(\.\d+)?e\+\d\d")
"""A number that may be whole, as tables write it."""

Query = tuple[str, Iterable[int]]
"""A query, and the places of the texts that are right for it."""


@dataclass(frozen=True, eq=False)
class Searches:
    """Different queries, the texts that they search, and the places of those that are right.

    texts, queries: tables of `sentence`. right: for each query, places of texts, intp, in order.
    rows: of the texts among all that there were, of which the seed may have drawn some.
    n_unknown_ids: different ids, or texts, that are called right and are not in the corpus.
    n_without_text: queries without a right text, which are left out. caveats: sentences.
    titles: the column that searches, where one does.
    """

    task: Task
    texts: Corpus
    queries: Corpus
    right: tuple[NDArray[np.intp], ...]
    rows: NDArray[np.intp]
    n_unknown_ids: int = 0
    n_without_text: int = 0
    caveats: tuple[str, ...] = ()
    titles: str = ""

    @property
    def fingerprint(self) -> str:
        """Of texts, queries and what is right."""
        right = [places.tolist() for places in self.right]
        content = json.dumps([self.texts.fingerprint, self.queries.fingerprint, right])
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def samples(self) -> tuple[Sample, Sample]:
        """All texts and all queries, in their order."""
        both = (self.texts, self.queries)
        texts, queries = (Sample(some, 0, np.arange(some.table.num_rows)) for some in both)
        return texts, queries


def find(
    experiment: Experiment,
    root: Path,
    *,
    task: str = "",
    titles: str = "",
    judged: Path | None = None,
    texts: Any = None,
    progress: Progress = silent,
) -> Searches:
    """The searches that a corpus gives, or that a file names right texts of the corpus for.

    task: titles, halves or cloze; "" for what suits the corpus. titles: the column that searches.
    judged: a table of `query` and `ids`, separated by spaces, or of `query` and `text`.
    texts: in memory, in the place of the corpus.
    Raises CorpusError and SettingError where a file or a setting cannot be used, and Undefined
    where there are under 30 searches.
    """
    if judged is not None and (task or titles):
        raise SettingError("The searches are in a file.", "Leave task and titles out.")
    if titles and task not in ("", "titles"):
        raise SettingError(f"task is {quote(task)}, which takes no titles.", "Leave one out.")
    if task not in ("", "titles", "halves", "cloze"):
        raise SettingError(f"task is {quote(task)}.", "Choose titles, halves or cloze.")
    if (titles or task == "titles") and texts is None and corpora.is_on_hub(experiment.corpus):
        reason = "Titles cannot search: of a dataset of the Hub, one column alone is read."
        raise SettingError(reason, "Download it as a file, or take halves as the task.")
    names = (ID,) if judged is not None else (titles,) if titles else TITLES
    corpus = _whole_texts(experiment, root, names, texts, progress)
    if judged is not None:
        return _of_judged(corpus, judged, experiment, progress)
    columns = {name.strip().casefold(): name for name in corpus.table.column_names[::-1]}
    likely = next((columns[name] for name in TITLES if name in columns), "")
    if task == "titles" or titles or (likely and not task):
        return _of_titles(corpus, titles or likely, experiment)
    whole = corpus.table["sentence"].to_pylist()
    is_cloze = task == "cloze" or (not task and corpus.reading.segmentation == "paragraphs")
    pairs = [] if is_cloze else _halves(whole)
    is_book = not task and not corpus.reading.column and len(pairs) < FEWEST  # or lines of one
    if is_cloze or is_book:
        return _of_pairs("cloze", corpus, _windows(whole, experiment.seed), experiment)
    return _of_pairs("halves", corpus, pairs, experiment)


def _whole_texts(
    experiment: Experiment, root: Path, names: Sequence[str], texts: Any, progress: Progress
) -> Corpus:
    """The corpus with its texts uncut, and with the columns of some names where it has them."""
    uncut = replace(experiment, segmentation="lines", sample_size=MOST_TEXTS)
    if texts is not None:
        return corpora.from_texts(texts, uncut, names)
    if corpora.is_on_hub(experiment.corpus):
        size = experiment.sample_size
        some = replace(uncut, sample_size=MOST_TEXTS if size == "all" else size)
        sample = sampling.draw(some, root, progress)
        return replace(sample.corpus, table=sample.rows())
    return corpora.open_corpus(experiment, root, progress, names)


def _of_titles(corpus: Corpus, column: str, experiment: Experiment) -> Searches:
    """Titles search for their texts."""
    is_text = column in ("sentence", corpus.reading.column)
    if is_text or column not in corpus.table.column_names:
        name = f" {quote(column)}" if column else " of titles"
        reason = f"{quote(corpus.label)} has no column{name} besides its texts."
        raise CorpusError(reason, "Name one that has titles, or choose another task.")
    titles = [title or "" for title in corpus.table[column].to_pylist()]
    has_title = [bool(title.strip()) for title in titles]
    if not any(has_title):
        reason = f"All titles in column {quote(column)} of {quote(corpus.label)} are empty."
        raise CorpusError(reason, "Name another column, or choose the task halves.")
    texts = corpus.table["sentence"].filter(pa.array(has_title)).to_pylist()
    queries = [(title, [place]) for place, title in enumerate(filter(str.strip, titles))]
    n_empty = len(titles) - len(queries)
    caveats = [f"Rows without a title, which are left out: {n_empty:,}."] if n_empty else []
    searches = _make("titles", corpus, texts, queries, experiment, caveats)
    return replace(searches, titles=column)


def _of_pairs(
    task: Task, corpus: Corpus, pairs: Sequence[tuple[str, str]], experiment: Experiment
) -> Searches:
    """Queries search for a text of their own, among all these texts."""
    queries = [(query, [place]) for place, (query, _) in enumerate(pairs)]
    return _make(task, corpus, [text for _, text in pairs], queries, experiment)


def _halves(texts: Iterable[str]) -> list[tuple[str, str]]:
    """First and second halves of the texts that have two sentences, cut nearest to the middle."""
    pairs = []
    for text in texts:
        pieces = sentences.cut(text)
        if len(pieces) > 1:
            ends = list(accumulate(len(piece) + 1 for piece in pieces))
            middle = min(range(1, len(pieces)), key=lambda n: abs(ends[n - 1] - ends[-1] / 2))
            pairs.append((" ".join(pieces[:middle]), " ".join(pieces[middle:])))
    return pairs


def _windows(texts: Iterable[str], seed: int) -> list[tuple[str, str]]:
    """Inverse cloze: sentences, and the neighbours they are taken from, in windows of any size."""
    pieces = [piece for text in texts for piece in sentences.cut(text)]
    lettered = [piece for piece in pieces if any(map(str.isalpha, piece))]
    draw = random.Random(seed)  # noqa: S311 (nothing is secret)
    pairs, start = [], 0
    while start + (size := draw.choice(WINDOWS)) <= len(lettered):
        window = lettered[start : start + size]
        query = window.pop(draw.randrange(size))
        pairs.append((query, " ".join(window)))
        start += size
    return pairs


def _of_judged(corpus: Corpus, path: Path, experiment: Experiment, progress: Progress) -> Searches:
    """Searches of a file that names right texts by id, which several may have, or as they are."""
    columns = read_judged(path, progress)
    if not any(columns["ids"]):
        keys = list(map(fold, corpus.table["sentence"].to_pylist()))
        named = [[fold(text)] for text in columns["text"]]
        return of_keys(corpus, keys, columns["query"], named, experiment, path.name)
    if ID not in corpus.table.column_names:
        reason = f"{quote(corpus.label)} has no column {quote(ID)}, which {quote(path.name)} names."
        raise CorpusError(reason, "Add one, or name the right texts themselves in a column text.")
    keys = list(map(id_of, corpus.table[ID].to_pylist()))
    known = set(keys)  # an id may have spaces in it
    wholes = [(cell, id_of(cell)) for cell in columns["ids"]]
    named = [
        [whole] if whole in known else list(map(id_of, cell.split())) for cell, whole in wholes
    ]
    return of_keys(corpus, keys, columns["query"], named, experiment, path.name)


def of_keys(
    corpus: Corpus,
    keys: Sequence[str],
    queries: Sequence[str],
    named: Sequence[Sequence[str]],
    experiment: Experiment,
    source: str,
) -> Searches:
    """Searches by queries for the texts whose keys are named, all that have them.

    keys: one for each text. named: those of each query. source: of the queries, by name.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        places[key].append(place)
    relevant = [[key for key in some if key] for some in named]
    right = [[place for key in some for place in places.get(key, ())] for some in relevant]
    if not any(right):
        reason = f"None of the texts that {quote(source)} calls right is in {quote(corpus.label)}."
        raise CorpusError(reason, "Compare ids, or texts, of the two files.")
    n_unknown = len({key for some in relevant for key in some} - places.keys())
    caveat = f"Ids or texts that are called right and are not in the corpus: {n_unknown:,}."
    texts = corpus.table["sentence"].to_pylist()
    pairs = list(zip(queries, right, strict=True))
    searches = _make("judged", corpus, texts, pairs, experiment, [caveat] if n_unknown else [])
    return replace(searches, n_unknown_ids=n_unknown)


def read_judged(path: Path, progress: Progress = silent) -> dict[str, list[str]]:
    """The columns query, ids and text of a file, as texts, "" where there is none."""
    names = ("query", "ids", "text")
    columns: dict[str, list[str]] = {name: [] for name in names}
    for batch in tables.open_table(path, path.name, "", progress).batches(Counter(), progress):
        for name in names:
            has_it = name in batch.column_names
            cells = batch[name].to_pylist() if has_it else [""] * len(batch)
            columns[name] += [cell or "" for cell in cells]
    for row, cell in enumerate(columns["ids"], 1):
        if cell.startswith("[") and cell.endswith("]"):
            reason = f"ids in row {row:,} of {quote(path.name)} are lists."
            raise CorpusError(reason, "Write the ids of a query as one text, separated by spaces.")
    if not any(columns["query"]) or not (any(columns["ids"]) or any(columns["text"])):
        reason = f"{quote(path.name)} lacks a column query, or one named ids or text."
        remedy = "Write the ids of a query as one text, separated by spaces, not as a list."
        raise CorpusError(reason, remedy)
    return columns


def id_of(cell: str | None) -> str:
    """An id to compare: whole numbers are alike however they are written, and long ones exact."""
    text = (cell or "").strip()
    if NUMBER.fullmatch(text):
        number = Decimal(text)
        if number == number.to_integral_value():
            return f"{number.to_integral_value():f}"
    return text


def fold(text: str) -> str:
    """A text to compare: white space and case make no difference."""
    return " ".join(text.split()).casefold()


def _make(
    task: Task,
    corpus: Corpus,
    texts: Sequence[str],
    queries: Sequence[Query],
    experiment: Experiment,
    caveats: Sequence[str] = (),
) -> Searches:
    """Searches among texts; equal queries are one, and copies of a right text are right."""
    copies: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        copies[text].append(place)
    merged: dict[str, tuple[str, set[int]]] = {}
    for query, right in queries:
        places = merged.setdefault(fold(query), (query, set()))[1]
        places.update(copy for place in right for copy in copies[texts[place]])
    n_blank = sum(not fold(query) for query, _ in queries)
    merged.pop("", None)
    n_equal = len(queries) - n_blank - len(merged)
    answered = [(query, right) for query, right in merged.values() if right]
    n_without = len(merged) - len(answered)
    size = experiment.sample_size
    n_texts = min(len(texts), MOST_TEXTS if size == "all" else size)
    rows = _some(len(texts), n_texts, experiment.seed)
    new = dict(zip(rows.tolist(), range(n_texts), strict=True))
    possible = [
        (query, [new[place] for place in right if place in new]) for query, right in answered
    ]
    possible = [(query, right) for query, right in possible if right]
    chosen = [possible[n] for n in _some(len(possible), MOST_SEARCHES, experiment.seed)]
    if len(chosen) < FEWEST:
        different = f"Only {len(chosen)} different search{'es' * (len(chosen) != 1)}"
        reason = f"{different} can be made of {quote(corpus.label)}, and {FEWEST} are needed."
        raise Undefined(reason, "Give more texts or searches, or choose python-api.")
    counts = {
        f"Rows without a query, which are left out: {n_blank:,}.": n_blank,
        f"Queries that equal another, and are one search with it: {n_equal:,}.": n_equal,
        f"Queries without a right text, which are left out: {n_without:,}.": n_without,
        f"{n_texts:,} of {len(texts):,} texts are searched, drawn by the seed.": len(texts)
        - n_texts,
        f"{len(chosen):,} of {len(possible):,} queries search, drawn by the seed.": len(possible)
        - len(chosen),
    }
    return Searches(
        task=task,
        texts=_corpus(corpus, "texts", [texts[row] for row in rows]),
        queries=_corpus(corpus, "queries", [query for query, _ in chosen]),
        right=tuple(np.array(sorted(right), np.intp) for _, right in chosen),
        rows=rows,
        n_without_text=n_without,
        caveats=(*corpus.reading.caveats, *caveats, *(text for text, n in counts.items() if n)),
    )


def _some(n: int, most: int, seed: int) -> NDArray[np.intp]:
    """At most so many of n places, drawn by the seed, in order."""
    return np.sort(np.random.RandomState(seed).permutation(n)[:most])


def _corpus(corpus: Corpus, what: str, texts: Sequence[str]) -> Corpus:
    """Texts of a corpus as a corpus of their own."""
    table = pa.table({"sentence": pa.array(texts, pa.large_string())})
    reading = replace(corpus.reading, n_texts=len(texts), caveats=())
    return Corpus(
        corpus.name, f"{what} of {corpus.label}", copies.fingerprint(table), table, reading
    )
