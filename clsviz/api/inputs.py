"""What users give: a model, a corpus, sentences or vectors, settings and a store; and a bar of how far it is."""

import difflib
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypedDict, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray
from tqdm import tqdm

from clsviz import analysis, jobs
from clsviz.errors import CorpusError, SettingError
from clsviz.experiment import Experiment, parse_setting
from clsviz.jobs import SHOWCASE, Encoders, Extraction, Found
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import RANGES, Segmentation, shown
from clsviz.sources import models, own_vectors, segmentation, uploads
from clsviz.sources.sampling import sample_order
from clsviz.store import Store, is_url
from clsviz.store.results import ResultCache

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

Function = TypeVar("Function", bound=Callable[..., Any])


class Bar(Progress):
    """A bar on stderr for each stage that takes longer than a second; a context manager.

    is_shown: by default only where somebody watches: on a terminal or in a notebook.
    """

    def __init__(self, is_shown: bool | None = None) -> None:
        super().__init__()
        self._is_shown = sys.stderr.isatty() or "ipykernel" in sys.modules if is_shown is None else is_shown
        self._bar: tqdm[NoReturn] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object = None, *_: object) -> None:
        if kind is not None:
            self.cancel()  # stops what other threads are still doing
        self._close()

    def begin(self, stage: str, total: int = 0, done: int = 0, unit: str = "") -> None:
        """Replace the bar by one for this stage."""
        super().begin(stage, total, done, unit)
        self._close()
        if total and self._is_shown:
            self._bar = tqdm(desc=stage, total=total, initial=done, unit=unit, delay=1, leave=False)

    def advance(self, done: int) -> None:
        """Move the bar to `done`."""
        super().advance(done)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


Corpus = str | os.PathLike[str] | Iterable[str]
"""A name or path, or the texts themselves: a list, a pandas Series or DataFrame, a datasets.Dataset or its column."""

DEFAULT_CORPUS, DEFAULT_N = Experiment.corpus, Experiment.sample_size


class ViewSettings(TypedDict, total=False):
    """What selects among the measured sentences and norms, and never runs the model: fields of Experiment."""

    length_cutoff: int
    layer: int | str | None
    pooling: str
    unit: str
    lengths: str
    near_duplicates: str


class Settings(ViewSettings, total=False):
    """The fields of Experiment that have no argument of their own."""

    configuration: str
    split: str
    column: str
    segmentation: str
    reading: str
    precision: str
    probe_size: int


def spelled_out(function: Function, **own: str) -> Function:
    """The function with each of its settings in its signature, as `help` and notebooks show it.

    own: defaults of this function alone. From the type of `**settings` an editor knows them, but not Python.
    """
    signature = inspect.signature(function)
    *named, rest = signature.parameters.values()
    of_view = "ViewSettings" in str(rest.annotation)
    defaults = {field.name: getattr(field.default, "value", field.default) for field in fields(Experiment)} | own
    settings = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=annotation)
        for name, annotation in (ViewSettings if of_view else Settings).__annotations__.items()
    ]
    function.__signature__ = signature.replace(parameters=[*named, *settings])  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True, eq=False)
class Given:
    """A corpus as the caller gave it.

    name: under which an experiment finds it. index: of texts in memory, the pandas Index (n,) of those that can be
    measured, in the order given; None of a name or path. n_left_out: how many of them cannot be measured.
    """

    name: str
    index: "pd.Index[Any] | None" = None
    n_left_out: int = 0

    @property
    def notes(self) -> list[str]:
        """How many texts were left out."""
        if not self.n_left_out:
            return []
        n = f"{self.n_left_out:,} texts are" if self.n_left_out > 1 else "One text is"
        return [f"{n} left out: blank, or over {segmentation.MAX_CHARACTERS:,} characters long."]

    def order(self, n: int, experiment: Experiment) -> NDArray[np.intp] | None:
        """Which of the texts given each of the first n sentences of the sample is, intp (n,).

        None where they are not in memory, or were cut into sentences.
        """
        if self.index is None or experiment.segmentation is not Segmentation.NONE:
            return None
        return sample_order(len(self.index), experiment.seed)[:n]

    def arranged(self, table: "pd.DataFrame", experiment: Experiment) -> "pd.DataFrame":
        """A table with a row for each of the first sentences of the sample, in the order and with the index given."""
        order = self.order(len(table), experiment)
        if order is None or self.index is None:
            return table
        return table.set_axis(self.index[order]).iloc[np.argsort(order)]


def read_corpus(corpus: Corpus, store: Store, text: str = "") -> Given:
    """A corpus as a user gives it. Texts in memory are kept in the store, whatever holds them, by their content.

    So the same texts are the same corpus in every session. text: the column of a table that holds them. Raises
    CorpusError where an item is not text, or there is none.
    """
    if isinstance(corpus, Mapping):
        columns: Iterable[object] | None = corpus
    else:
        columns = getattr(corpus, "column_names", getattr(corpus, "columns", None))
    if text and columns is None:
        raise CorpusError(f"text is “{shown(text)}”, but corpus is not a table in memory. Of a file, give column.")
    if isinstance(corpus, str):
        return Given(corpus)
    if isinstance(corpus, os.PathLike):
        return Given(os.path.abspath(os.path.expanduser(corpus)))
    if columns is not None:
        names = [*map(str, columns)]
        if text not in names:
            wrong = f"has no column “{shown(text)}”" if text else "may have several columns"
            raise CorpusError(
                f"corpus is a {type(corpus).__name__}, which {wrong}. Name that of the texts by text=: "
                f"{shown(', '.join(names))}."
            )
        corpus = corpus[text]  # type: ignore[index]

    import pandas as pd

    assert not isinstance(corpus, os.PathLike)
    texts = [_text(number, item) for number, item in enumerate(corpus, 1)]
    is_kept = np.array([text != "" for text in texts], np.bool_)
    if not is_kept.any():
        raise CorpusError("corpus holds no text. Give at least one sentence; a line needs three.")
    content = b"\n".join(orjson.dumps({"text": text}) for text in texts if text)
    name = uploads.keep_upload(io.BytesIO(content), uploads.IN_MEMORY, store.corpora)
    index = corpus.index if isinstance(corpus, pd.Series) else pd.RangeIndex(len(texts))
    return Given(name, index[is_kept], int(np.count_nonzero(~is_kept)))


def _text(number: int, item: object) -> str:
    """A text as it is measured, with single spaces; "" for one that cannot be."""
    if not isinstance(item, str):
        raise CorpusError(
            f"Item {number:,} of corpus is a {type(item).__name__}, not text. Leave it out or convert it."
        )
    try:
        str(item).encode()
    except UnicodeEncodeError:
        raise CorpusError(
            f"Item {number:,} of corpus holds half a character (a lone surrogate). Leave it out."
        ) from None
    return next(iter(segmentation.sentences([str(item)], cut=False)), "")


def question(
    model: str | Experiment,
    corpus: Given,
    n: int | None,
    seed: int,
    settings: Mapping[str, Any],
    *,
    of_vectors: bool = False,
) -> Experiment:
    """The experiment that these arguments describe; raises SettingError where one is unusable.

    An Experiment in the place of the model is taken as it is, and all other arguments must have their defaults.
    n: None for all texts in memory, or for the default of any other corpus. of_vectors: whether n sentences have their
    vectors measured, and not their norms alone.
    """
    if isinstance(model, Experiment):
        others = dict(settings)
        others |= {"corpus": corpus} if corpus.index is not None or corpus.name != DEFAULT_CORPUS else {}
        others |= {"n": n} if n is not None else {}
        others |= {"seed": seed} if seed != 0 else {}
        if others:
            raise SettingError(
                f"{', '.join(others)} cannot be given beside an Experiment, which has its own: use dataclasses.replace."
            )
        return models.as_counted(model)
    _refuse_unknown(settings, Settings.__annotations__, "")
    _, most = RANGES["probe_size" if of_vectors else "sample_size"]
    if n is not None and not (isinstance(n, int | np.integer) and 1 <= n <= most):
        raise SettingError(f"n is {shown(str(n))}; it must be a whole number from 1 to {most:,}.")
    if corpus.index is not None:
        if of_vectors and n is None and len(corpus.index) > most:
            raise SettingError(f"There are {len(corpus.index):,} texts, more than vectors are kept of. Give n={most}.")
        settings = {"segmentation": Segmentation.NONE, **settings}  # each is one, however long
        if n is None:  # texts that are cut give more sentences
            n = len(corpus.index) if settings["segmentation"] == Segmentation.NONE else most
    n = DEFAULT_N if n is None else n
    if of_vectors:
        settings = {"probe_size": n, **settings}
        n = max(n, DEFAULT_N)
    size = n if n <= RANGES["sample_size"][1] else "all"
    experiment = replace(Experiment(), **_parsed({"model": model, "sample_size": size, "seed": seed, **settings}))
    return models.as_counted(replace(experiment, **_parsed({"corpus": corpus.name})))


def _refuse_unknown(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise SettingError at a keyword that is not known, with the one that was probably meant."""
    for name in given:
        if name not in known:
            meant = ["n"] if name == "sample_size" else difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean {meant[0]}?" if meant else f"The settings are {', '.join(sorted(known))}."
            raise SettingError(f"There is no setting “{shown(name)}”{where}. {hint}")


def with_view(experiment: Experiment, view: Mapping[str, Any]) -> Experiment:
    """The experiment with another view; raises SettingError where a setting is not one of the view or unusable."""
    _refuse_unknown(view, ViewSettings.__annotations__, " of the view")
    return models.as_counted(replace(experiment, **_parsed(view)))


def _parsed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as Experiment takes them, checked as those of a link or a flag are."""
    return {
        name: None if name == "layer" and value is None else parse_setting(name, str(value))
        for name, value in settings.items()
    }


def open_store(place: str | os.PathLike[str] | None) -> Store:
    """The store in a folder or behind a URL; by default where CLSVIZ_STORE says, else in the user's cache.

    What comes with clsviz is read as if it were there.
    """
    return Store(place if place is None or is_url(place) else Path(place).expanduser(), shipped=SHOWCASE)


def results_of(store: Store) -> ResultCache:
    """The results of a store, with those that come with clsviz where their measurements are read."""
    return ResultCache(store.results, store.shipped and store.shipped / "results")


def extract(
    experiment: Experiment, kind: Kind, store: Store, progress: Progress, encoders: Encoders | None = None
) -> tuple[Extraction, Found]:
    """Measure what the store lacks, and return all of it; raises ClsvizError.

    A layer that the model does not have is reported before any work is done.
    """
    weights = models.fetch(experiment.model, progress=progress)
    if weights.n_layers is not None:
        analysis.check_layer(experiment.view, weights.n_layers)
    extraction = Extraction(experiment, store, encoders or Encoders(), kind=kind)
    return extraction, extraction.run(progress)


def import_vectors(
    texts: Iterable[str],
    vectors: "ArrayLike | None" = None,
    *,
    norms: "ArrayLike | None" = None,
    n_tokens: "ArrayLike | None" = None,
    name: str = "vectors",
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Experiment:
    """Keep vectors, or norms, that you have already, with their texts, and return the Experiment that shows them.

    `measure`, `probe` and `similarity` take it in the place of a model; only what runs a model cannot be done. The same
    content is the same model and corpus in every session, whatever it is called.

    texts: n texts, one for each row.
    vectors: (n, width), any numbers, kept as float32; or leave them out and give
    norms: (n,), from 0 up.
    n_tokens: (n,), the length of each text in tokens. Without it lengths are counted in words, also where a cutoff is.
    name: what the vectors are called, of letters, digits, points, hyphens and underscores.
    store, progress: as `measure` takes them.

    Raises CorpusError where texts and rows are not as many, or one cannot be used, with its row; ModelError where the
    name cannot be; and StoreError where the store cannot be written.

    >>> import clsviz
    >>> texts = ["A cat.", "The dog sat on the mat.", "Then, at last, the big red dog ran home."]
    >>> own = clsviz.import_vectors(texts, [[3.0, 4.0], [6.0, 8.0], [0.0, 13.0]], name="mine")
    >>> own.unit.value
    'words'
    >>> sorted(clsviz.measure(own).table()["cls_0"].tolist())
    [5.0, 10.0, 13.0]
    """
    if (vectors is None) == (norms is None):
        raise CorpusError("Give either vectors or norms: norms follow from vectors.")
    values = np.asarray(norms if vectors is None else vectors)
    what, n_dimensions = ("norms", 1) if vectors is None else ("vectors", 2)
    _check_shape(values, what, n_dimensions)
    counts = None if n_tokens is None else np.asarray(n_tokens)
    found = [*texts]
    if counts is not None:
        _check_shape(counts, "n_tokens", 1)
    n = len(values)
    for other, of in ((len(found), "texts"), (n if counts is None else len(counts), "n_tokens")):
        if other != n:
            raise CorpusError(f"There are {other:,} {of} and {n:,} {what}. Give as many of one as of the other.")
    if wrong := next((row for row, text in enumerate(found, 1) if not isinstance(text, str)), None):
        raise CorpusError(f"Row {wrong:,} of texts is a {type(found[wrong - 1]).__name__}, not text. Leave it out.")

    def rows() -> Iterator[own_vectors.Rows]:
        for start in range(0, len(found), 1024):
            here = slice(start, start + 1024)
            yield own_vectors.checked(found[here], values[here], None if counts is None else counts[here], what, start)

    with Bar(progress) as bar:
        return jobs.import_rows(rows(), len(found), name, open_store(store), bar).experiment


def _check_shape(values: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]", what: str, n_dimensions: int) -> None:
    if values.dtype.kind not in "fiu" or values.ndim != n_dimensions or not len(values):
        shape = " × ".join(f"{size:,}" for size in values.shape) or "a single value"
        wanted = "(n, width)" if n_dimensions == 2 else "(n,)"
        raise CorpusError(f"{what} has the shape {shape} and the type {values.dtype}; it must be {wanted}, of numbers.")
