"""Searches whose right texts are known: by titles, halves of texts, sentences, or people."""

import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clsviz import limits
from clsviz.errors import CorpusError, SettingError, Undefined, quote
from clsviz.progress import Progress, silent
from clsviz.settings import Experiment
from clsviz.sources import copies, corpora, judgements, sentences
from clsviz.sources.corpora import Corpus
from clsviz.sources.judgements import AS_NUMBERS, IDS, Judgements
from clsviz.sources.sampling import Sample

Task = Literal["titles", "halves", "cloze", "judged"]

TASKS: Final = ("", "titles", "halves", "cloze")

FEWEST: Final = 30  # of fewer searches, no fifth has enough to tell anything
MOST_TEXTS, MOST_SEARCHES = 100_000, 5_000  # of more, the seed draws so many
WINDOWS: Final = (2, 3, 5, 9)  # sentences of a window, with the one that searches

TITLES: Final = ("title", "headline", "heading", "subject", "summary", "name", "question")
"""Names that a column of titles tends to have, likeliest first."""


@dataclass(frozen=True, eq=False)
class Searches:
    """Different queries, the texts that they search, and the places of those that are right.

    texts, queries: tables of `sentence`. relevant: for each query, places of texts, intp, in order.
    grades: of these, float64; () where all are 1.
    rows: of the texts among all that there were, of which the seed may have drawn some.
    n_unknown_ids: different ids, or texts, that are called right and are not in the corpus.
    n_without_text: queries without a right text, which are left out. caveats: sentences.
    titles: the column that searches, where one does.
    """

    task: Task
    texts: Corpus
    queries: Corpus
    relevant: tuple[NDArray[np.intp], ...]
    rows: NDArray[np.intp]
    n_unknown_ids: int = 0
    n_without_text: int = 0
    caveats: tuple[str, ...] = ()
    titles: str = ""
    grades: tuple[NDArray[np.float64], ...] = ()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of texts, queries and what is right."""
        relevant = [places.tolist() for places in self.relevant]
        return copies.digest(self.texts.fingerprint, self.queries.fingerprint, relevant)

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
    judged: Judgements | None = None,
    texts: Any = None,
    progress: Progress = silent,
) -> Searches:
    """The searches that a corpus gives, or that people judged texts of the corpus for.

    task: titles, halves or cloze; "" for what suits the corpus. titles: the column that searches.
    judged: by people. texts: in memory, in the place of the corpus.
    Raises CorpusError and SettingError where a file or a setting cannot be used, and Undefined
    where there are under 30 searches.
    """
    is_on_hub = texts is None and corpora.is_on_hub(experiment.corpus)
    has_titles = bool(titles) or task == "titles"
    one_column = "Titles cannot search: of a dataset of the Hub, one column alone is read."
    mistakes = [
        (judged and (task or titles), "The searches are given.", "Leave task and titles out."),
        (task not in TASKS, f"task is {quote(task)}.", "Choose titles, halves or cloze."),
        (titles and task in TASKS[2:], f"task {task} takes no titles.", "Leave one out."),
        (has_titles and is_on_hub, one_column, "Download it as a file, or choose task halves."),
    ]
    for is_made, reason, remedy in mistakes:
        if is_made:
            raise SettingError(reason, remedy)
    names = IDS if judged else (titles,) if titles else TITLES
    corpus = whole_texts(experiment, root, names, texts, progress)
    if judged:
        return _judged(corpus, judged, experiment)
    columns = {name.strip().casefold(): name for name in corpus.table.column_names[::-1]}
    titles = titles or next((columns[name] for name in TITLES if name in columns), "")
    contents = corpus.table["sentence"].to_pylist()
    counts: dict[str, int] = {}
    kind: Task = "halves"
    language = corpus.reading.language
    is_cloze = task == "cloze" or (not task and corpus.reading.segmentation == "paragraphs")
    if has_titles or (titles and not task):
        kind, pairs = "titles", _titled(corpus, titles, contents)
        n_empty = len(contents) - len(pairs)
        counts = {f"Rows without a title, which are left out: {n_empty:,}.": n_empty}
    else:
        pairs = [] if is_cloze else _halves(contents, language)
        if is_cloze or (not task and not corpus.reading.column and len(pairs) < FEWEST):
            kind, pairs = "cloze", _windows(contents, language, experiment.seed)
        counts = dict.fromkeys(corpora.caveats_on(language, experiment), 1)
    texts = pa.array([text for _, text in pairs], pa.large_string())
    corpus, rows = replace(corpus, table=pa.table({"sentence": texts})), range(len(pairs))
    queries, named = [query for query, _ in pairs], [{row: 1.0} for row in rows]
    made = of_keys(corpus, rows, queries, named, experiment, task=kind, counts=counts)
    return replace(made, titles=titles if kind == "titles" else "")


def bounded(search: Experiment) -> Experiment:
    """A search in at most as many texts as a sample has sentences; shipped ones are few."""
    most = limits.number("sample_size")
    is_bounded = search.corpus in corpora.SHIPPED or most == float("inf")
    return search if is_bounded else replace(search, sample_size=int(most))


def whole_texts(
    experiment: Experiment, root: Path, names: Sequence[str], texts: Any, progress: Progress
) -> Corpus:
    """A corpus, or texts in memory, uncut, and with the columns of some names where it has them."""
    uncut = replace(experiment, segmentation="lines")
    if texts is not None:
        return corpora.from_texts(texts, uncut, names)
    if corpora.is_on_hub(experiment.corpus):
        uncut = replace(uncut, sample_size=_n_texts(experiment), language="")
        corpus = corpora.open_corpus(uncut, root, progress, names)
        language = experiment.language or corpus.reading.language
        return replace(corpus, reading=replace(corpus.reading, language=language))
    return corpora.open_corpus(experiment, root, progress, names)


def _titled(corpus: Corpus, column: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Titles and the texts below them."""
    is_text = column in ("sentence", corpus.reading.column)
    if is_text or column not in corpus.table.column_names:
        name = f" {quote(column)}" if column else " of titles"
        reason = f"{quote(corpus.label)} has no column{name} besides its texts."
        raise CorpusError(reason, "Name one that has titles, or choose another task.")
    rows = zip(corpus.table[column].to_pylist(), texts, strict=True)
    pairs = [(title, text) for title, text in rows if title and title.strip()]
    if not pairs:
        reason = f"All titles in column {quote(column)} of {quote(corpus.label)} are empty."
        raise CorpusError(reason, "Name another column, or choose the task halves.")
    return pairs


def _halves(texts: Iterable[str], language: str) -> list[tuple[str, str]]:
    """First and second halves of the texts that have two sentences, cut nearest to the middle."""
    pairs = []
    for text in texts:
        pieces = sentences.cut(text, language)
        if len(pieces) > 1:
            ends = list(accumulate(len(piece) + 1 for piece in pieces))
            middle = min(range(1, len(pieces)), key=lambda n: abs(ends[n - 1] - ends[-1] / 2))
            pairs.append((" ".join(pieces[:middle]), " ".join(pieces[middle:])))
    return pairs


def _windows(texts: Iterable[str], language: str, seed: int) -> list[tuple[str, str]]:
    """Inverse cloze: sentences, and the neighbours they are taken from, in windows of any size."""
    pieces = [piece for text in texts for piece in sentences.cut(text, language)]
    lettered = [piece for piece in pieces if any(map(str.isalpha, piece))]
    draw = random.Random(seed)  # noqa: S311 (nothing is secret)
    pairs, start = [], 0
    while start + (size := draw.choice(WINDOWS)) <= len(lettered):
        window = lettered[start : start + size]
        query = window.pop(draw.randrange(size))
        pairs.append((query, " ".join(window)))
        start += size
    return pairs


def _judged(corpus: Corpus, judged: Judgements, experiment: Experiment) -> Searches:
    """Searches that people judged, who name texts by id, which several may have, or as they are."""
    if judged.is_by_text:
        keys = list(map(fold, corpus.table["sentence"].to_pylist()))
        grades = ([(fold(text), grade) for text, grade in some] for some in judged.cells)
        named = [dict(sorted(some, key=itemgetter(1))) for some in grades]  # the highest stays
        return of_keys(corpus, keys, judged.queries, named, experiment, judged)
    if (column := judgements.find_column(corpus.table.column_names, IDS)) is None:
        reason = f"{quote(corpus.label)} has no column {quote(IDS[0])}, which "
        reason += f"{quote(judged.name)} names."
        raise CorpusError(reason, "Add one, or name the right texts themselves in a column text.")
    keys, named, is_numbers = judgements.match(corpus.table[column].to_pylist(), judged.cells)
    counts = {AS_NUMBERS: is_numbers}
    return of_keys(corpus, keys, judged.queries, named, experiment, judged, counts=counts)


def of_keys(
    corpus: Corpus,
    keys: Sequence[Hashable],
    queries: Sequence[str],
    named: Sequence[Mapping[Any, float]],
    experiment: Experiment,
    judged: Judgements | None = None,
    *,
    task: Task = "judged",
    counts: Mapping[str, int] | None = None,
) -> Searches:
    """Searches by queries for the texts whose keys are named, all that have them.

    Equal queries are one, and copies of a right text are right. keys: one for each text. named:
    those of each query, with grades. judged: where they are from. counts: caveats, each with the
    number of what it is about. Raises CorpusError where no text is right, Undefined where there are
    under 30.
    """
    texts = corpus.table["sentence"].to_pylist()
    places: dict[Hashable, list[int]] = defaultdict(list)
    equal: dict[str, list[int]] = defaultdict(list)
    for place, (key, text) in enumerate(zip(keys, texts, strict=True)):
        places[key].append(place)
        equal[text].append(place)
    merged: dict[str, tuple[str, dict[int, float]]] = {}
    places.pop("", None)
    for query, some in zip(queries, named, strict=True):
        relevant = merged.setdefault(fold(query), (query, {}))[1]
        for key, grade in some.items():
            for place in (copy for one in places.get(key, ()) for copy in equal[texts[one]]):
                relevant[place] = max(grade, relevant.get(place, grade))
    if judged and not any(relevant for _, relevant in merged.values()):
        if not any(judged.cells):
            reason = f"{quote(judged.name)} calls no text right: no grade is above 0."
            raise CorpusError(reason, "Give texts that are right a grade above 0.")
        reason = f"None of the texts that {quote(judged.name)} calls right is in "
        reason += f"{quote(corpus.label)}."
        raise CorpusError(reason, "Compare ids, or texts, of the two files.")
    n_unknown = len({key for some in named for key in some} - {*places, ""})
    n_blank = sum(not fold(query) for query in queries)
    merged.pop("", None)
    n_equal = len(queries) - n_blank - len(merged)
    n_without = sum(not relevant for _, relevant in merged.values())
    rows = _draw(len(texts), _n_texts(experiment), experiment.seed)
    new = {row: place for place, row in enumerate(rows.tolist())}
    numbered = [
        (query, sorted((new[n], grade) for n, grade in relevant.items() if n in new))
        for query, relevant in merged.values()
    ]
    possible = [(query, relevant) for query, relevant in numbered if relevant]
    chosen = [possible[n] for n in _draw(len(possible), MOST_SEARCHES, experiment.seed)]
    grades = tuple(np.array([grade for _, grade in relevant]) for _, relevant in chosen)
    n, n_all = len(chosen), len(possible)
    if n < FEWEST:
        reason = f"Only {n} different search{'es' * (n != 1)} can be made of {quote(corpus.label)}"
        remedy = "Give more texts or searches, or choose python-api."
        raise Undefined(f"{reason}, and {FEWEST} are needed.", remedy)
    n_rows, by_seed = len(rows), "drawn by the seed."
    counts = {
        f"Ids or texts that are called right and are not in the corpus: {n_unknown:,}.": n_unknown,
        **(judged.counts if judged else {}),
        **(counts or {}),
        f"Rows without a query, which are left out: {n_blank:,}.": n_blank,
        f"Queries that equal another, and are one search with it: {n_equal:,}.": n_equal,
        f"Queries without a right text, which are left out: {n_without:,}.": n_without,
        f"{n_rows:,} of {len(texts):,} texts are searched, {by_seed}": len(texts) - n_rows,
        f"{n:,} of {n_all:,} queries search, {by_seed}": n_all - n,
    }
    return Searches(
        task=task,
        texts=corpus_of(corpus, "texts", [texts[row] for row in rows]),
        queries=corpus_of(corpus, "queries", [query for query, _ in chosen]),
        relevant=tuple(np.array([n for n, _ in relevant], np.intp) for _, relevant in chosen),
        rows=rows,
        n_unknown_ids=n_unknown,
        n_without_text=n_without,
        caveats=(*corpus.reading.caveats, *(caveat for caveat, n in counts.items() if n)),
        grades=grades if any((some != 1).any() for some in grades) else (),
    )


def _n_texts(experiment: Experiment) -> int:
    return MOST_TEXTS if experiment.sample_size == "all" else experiment.sample_size


def fold(text: str) -> str:
    """A text to compare: white space and case make no difference."""
    return " ".join(text.split()).casefold()


def _draw(n: int, most: int, seed: int) -> NDArray[np.intp]:
    """At most so many of n places, drawn by the seed, in order."""
    return np.sort(np.random.RandomState(seed).permutation(n)[:most])


def corpus_of(corpus: Corpus, what: str, texts: Sequence[str]) -> Corpus:
    """Texts of a corpus as a corpus of their own."""
    table = pa.table({"sentence": pa.array(texts, pa.large_string())})
    reading = replace(corpus.reading, n_texts=len(texts), caveats=())
    return Corpus(
        corpus.name, f"{what} of {corpus.label}", copies.fingerprint(table), table, reading
    )
