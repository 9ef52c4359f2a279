"""What users give: a model, a corpus or sentences, settings and a store; and a bar of how far it is."""

import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, Self, TypedDict

import orjson
from tqdm import tqdm

from clsviz import analysis
from clsviz.errors import CorpusError, SettingError
from clsviz.experiment import Experiment, parse_setting
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.sources import models, uploads
from clsviz.store import Store, is_url


class Bar(Progress):
    """A bar on stderr for each stage that takes longer than a second; a context manager."""

    def __init__(self, is_shown: bool = True) -> None:
        super().__init__()
        self._is_shown = is_shown
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
"""A name or path, or the sentences themselves: a list, a pandas Series, a column of a datasets.Dataset."""

DEFAULT_CORPUS, DEFAULT_N = Experiment.corpus, Experiment.sample_size


class ViewSettings(TypedDict, total=False):
    """What selects among the measured sentences and norms, and never runs the model: fields of Experiment."""

    length_cutoff: int
    layer: int | str | None
    pooling: str
    unit: str
    lengths: str


class Settings(ViewSettings, total=False):
    """The fields of Experiment that have no argument of their own."""

    configuration: str
    split: str
    column: str
    segmentation: str
    reading: str
    precision: str
    probe_size: int


def question(
    model: str | Experiment,
    corpus: Corpus,
    n: int,
    seed: int,
    store: Store,
    settings: Mapping[str, Any],
    *,
    of_vectors: bool = False,
) -> Experiment:
    """The experiment that these arguments describe; raises SettingError or CorpusError where one is unusable.

    An Experiment in the place of the model is taken as it is, and all other arguments must have their defaults.
    of_vectors: whether n sentences have their vectors measured, and not their norms alone.
    """
    if isinstance(model, Experiment):
        others = dict(settings)
        others |= {"corpus": corpus} if not isinstance(corpus, str) or corpus != DEFAULT_CORPUS else {}
        others |= {"n": n} if n != DEFAULT_N else {}
        others |= {"seed": seed} if seed != 0 else {}
        if others:
            raise SettingError(
                f"{', '.join(others)} cannot be given beside an Experiment, which has its own: use dataclasses.replace."
            )
        return models.as_counted(model)
    if of_vectors:
        settings = {"probe_size": n, **settings}
        n = max(n, DEFAULT_N)
    unknown = settings.keys() - Settings.__optional_keys__
    if unknown:
        names = ", ".join(sorted(Settings.__optional_keys__))
        raise SettingError(f"There is no setting “{min(unknown)}”. The settings are {names}.")
    experiment = replace(Experiment(), **_parsed({"model": model, "sample_size": n, "seed": seed, **settings}))
    return models.as_counted(replace(experiment, **_parsed({"corpus": corpus_name(corpus, store)})))


def with_view(experiment: Experiment, view: Mapping[str, Any]) -> Experiment:
    """The experiment with another view; raises SettingError where a setting is not one of the view or unusable."""
    unknown = view.keys() - ViewSettings.__optional_keys__
    if unknown:
        names = ", ".join(sorted(ViewSettings.__optional_keys__))
        raise SettingError(f"“{min(unknown)}” is not a setting of the view. Those are {names}.")
    return models.as_counted(replace(experiment, **_parsed(view)))


def _parsed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as Experiment takes them, checked as those of a link or a flag are."""
    return {
        name: None if name == "layer" and value is None else parse_setting(name, str(value))
        for name, value in settings.items()
    }


def corpus_name(corpus: Corpus, store: Store) -> str:
    """The name under which an experiment finds `corpus`.

    Sentences in memory are first written to the store under a name made of their content, like an uploaded file: the
    same sentences are the same corpus in every session. Raises CorpusError where an item is not text, or there is none.
    """
    if isinstance(corpus, str):
        return corpus
    if isinstance(corpus, os.PathLike):
        return os.path.abspath(os.path.expanduser(corpus))
    if isinstance(corpus, Mapping) or hasattr(corpus, "columns") or hasattr(corpus, "column_names"):
        kind = type(corpus).__name__
        raise CorpusError(
            f'corpus is a {kind}, which may have several columns. Give one of them, such as table["text"].'
        )
    content = b"\n".join(_line(number, text) for number, text in enumerate(corpus, 1))
    if not content:
        raise CorpusError("corpus holds no sentences. Give at least one; a line needs three.")
    return uploads.keep_upload(io.BytesIO(content), "sentences.jsonl", store.corpora)


def _line(number: int, text: object) -> bytes:
    if not isinstance(text, str):
        raise CorpusError(
            f"Item {number:,} of corpus is a {type(text).__name__}, not text. Leave it out or convert it."
        )
    try:
        return orjson.dumps({"text": str(text)})
    except orjson.JSONEncodeError:
        raise CorpusError(
            f"Item {number:,} of corpus holds half a character (a lone surrogate). Leave it out."
        ) from None


def open_store(place: str | os.PathLike[str] | None) -> Store:
    """The store in a folder or behind a URL; by default where CLSVIZ_STORE says, else in the user's cache."""
    return Store(place if place is None or is_url(place) else Path(place).expanduser())


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
