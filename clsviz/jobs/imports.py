"""Vectors or norms that somebody has already: written to the store as parts, as if a model had measured them here.

Their texts become a corpus as an upload does, and a name made of the content takes the place of the model's. The parts
are in the order that seed 0 draws, and no other: the norms of all, and the vectors of as many as can be asked for.

    <store>/imported/<digest>.json    what was imported, for the list on the page
"""

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import filelock
import numpy as np
import orjson
from numpy.typing import NDArray

from clsviz.atomic import read_file, write_file
from clsviz.errors import CorpusError, SettingError, StoreError
from clsviz.experiment import Experiment
from clsviz.measurements import MAX_LENGTH, Kind, Measurements, Vectors
from clsviz.progress import Progress
from clsviz.settings import RANGES, Precision, Segmentation, Unit
from clsviz.sources import catalogue, own_vectors, sampling, uploads
from clsviz.sources.models import Imported, Weights, check_label
from clsviz.store.parts import Key
from clsviz.store.store import Store

_FOLDER, _SEED = "imported", 0
_PART_SIZES = {Kind.NORMS: 65_536, Kind.VECTORS: 1024}
_MOST_SHOWN = 100_000
"""The largest sample that the link of an import asks for."""

_ANY_LENGTH = 2**31 - 1
"""How many tokens a text may have: how many of them were read is not known."""


@dataclass(frozen=True)
class Import:
    """What was imported: under which model's name, with which corpus, and how many texts. width: 0 for norms alone."""

    model: str
    corpus: str
    n: int
    width: int

    @property
    def experiment(self) -> Experiment:
        """What shows it."""
        name = Imported.parse(self.model)
        return Experiment(
            model=self.model,
            corpus=self.corpus,
            segmentation=Segmentation.NONE,
            sample_size=min(self.n, _MOST_SHOWN),
            unit=Unit.WORDS if name and name.in_words else Unit.TOKENS,
        )


def import_rows(
    rows: "Iterable[own_vectors.Rows]", n: int, label: str, store: Store, progress: Progress | None = None
) -> Import:
    """Write rows to the store, n in all; what was imported before under this or another label is found again.

    rows: gone through once, and not held but for the norms and the vectors that are kept. label: what they are called.
    Nothing is kept where this raises: ModelError, CorpusError, StoreError, or CancelledError if told to stop.
    """
    progress = progress or Progress()
    check_label(label)
    order = sampling.sample_order(n, _SEED)
    with tempfile.TemporaryFile() as file:
        taken = _Taken(n, order)
        progress.begin("Reading", n)
        for run in rows:
            if taken.n + len(run.texts) > n:
                raise CorpusError(
                    f"There are more than {n:,} rows: the file was changed while it was read. Give it again."
                )
            lines = _lines(run.texts, is_first=not taken.n)
            file.write(lines)
            taken.add(run, lines)
            progress.advance(taken.n)
        if taken.n != n:
            raise CorpusError(f"There are {taken.n:,} rows, not {n:,}: the file was cut short. Give it again.")
        name = taken.name(label)
        corpus_name = uploads.keep_upload(file, f"Texts of {label}.jsonl", store.corpora)
        imported = Import(str(name), corpus_name, n, taken.width)
    selection = imported.experiment.selection
    corpus = sampling.find_corpus(selection, store.corpora, progress)
    if corpus.n_sentences != n:
        raise CorpusError(f"Of {n:,} texts only {corpus.n_sentences:,} can be read again. Leave out what is no text.")
    for kind in (Kind.NORMS, Kind.VECTORS)[: 1 + bool(taken.width)]:
        of = name.fingerprint, corpus.fingerprint, _SEED, _ANY_LENGTH, Precision.EXACT.numbers
        _write(taken, kind, Key(*of, kind), order, store, progress)
    write_file(store.root / _FOLDER / f"{name.fingerprint[:32]}.json", json.dumps(asdict(imported)).encode())
    return imported


def list_imports(store: Store) -> list[Import]:
    """What was imported into a store, by label; nothing where the store cannot be looked into."""
    found, paths = [], []
    with contextlib.suppress(OSError):
        paths = [*(store.root / _FOLDER).glob("*.json")]
    for path in paths:
        with contextlib.suppress(OSError, ValueError, TypeError, RecursionError):
            one = Import(**json.loads(read_file(path)))
            is_sound = Imported.parse(one.model) and catalogue.is_upload(one.corpus) and one.n > 0 and one.width >= 0
            found += [one] if is_sound else []
    return sorted(found, key=lambda one: one.model)


def max_length(weights: Weights) -> int:
    """How many tokens of a sentence are read at most, as far as the store has to know."""
    return _ANY_LENGTH if weights.imported else MAX_LENGTH


def check_asked(weights: Weights, experiment: Experiment) -> None:
    """Raise ClsvizError where imported vectors are asked for what only a model could give."""
    if (name := weights.imported) is None:
        return
    if experiment.seed != _SEED:
        raise SettingError(f"seed is {experiment.seed}, but {name.label} was imported in one order. Choose seed 0.")
    if experiment.precision is not Precision.EXACT:
        raise SettingError(
            f"precision is {experiment.precision}, but {name.label} was imported as it is. Choose the exact precision."
        )
    if not catalogue.is_upload(experiment.corpus):
        raise type(name.no_model)(f"{name.no_model} Choose the texts that it was imported with, or another model.")


def check_found(weights: Weights, n_missing: int, kind: Kind) -> None:
    """Raise ModelError where imported vectors are not all in the store, and cannot be measured."""
    if (name := weights.imported) is None or not n_missing:
        return
    if name.only_norms and kind is Kind.VECTORS:
        raise type(name.no_model)(f"{name.no_model} Import the vectors to see this page.")
    raise type(name.no_model)(
        f"{name.no_model} Those of these texts are not in this store: choose the texts that it was imported with, or "
        "import its file again."
    )


class _Taken:
    """What is held of the rows that went by: the norm and the length of each, and the vectors that are kept."""

    def __init__(self, n: int, order: NDArray[np.intp]) -> None:
        self.n, self.width = 0, 0
        self.norms, self.n_tokens = np.empty(n, np.float32), np.empty(n, np.int32)
        self.vectors = np.empty((0, 0), np.float32)
        n_kept = min(n, RANGES["probe_size"][1])
        self._place = np.full(n, -1, np.int32)
        self._place[order[:n_kept]] = np.arange(n_kept)
        self._n_kept = n_kept
        self._in_words = False
        self._digests = [hashlib.sha256() for _ in range(3)]

    def add(self, run: "own_vectors.Rows", lines: bytes) -> None:
        """Take the next rows, whose texts are these lines."""
        is_of_vectors = run.values.ndim == 2
        if not self.n:
            self.width = run.values.shape[1] if is_of_vectors else 0
            self.vectors = np.empty((self._n_kept if is_of_vectors else 0, self.width), np.float32)
            self._in_words = run.n_tokens is None
        n_words = np.array([len(text.split()) for text in run.texts], np.int32)
        n_tokens = n_words if run.n_tokens is None else run.n_tokens
        here = slice(self.n, self.n + len(run.texts))
        self.n_tokens[here] = n_tokens
        self.norms[here] = np.linalg.norm(run.values, axis=1) if is_of_vectors else run.values
        if is_of_vectors:
            places = self._place[here]
            self.vectors[places[places >= 0]] = run.values[places >= 0]
        for digest, content in zip(self._digests, (lines, run.values.tobytes(), n_tokens.tobytes()), strict=True):
            digest.update(content)
        self.n = here.stop

    def name(self, label: str) -> Imported:
        """The name that all of it makes."""
        about = [str(self.width), *(digest.hexdigest() for digest in self._digests)]
        digest = hashlib.sha256("\n".join(about).encode()).hexdigest()[:32]
        return Imported(label, digest, only_norms=not self.width, in_words=self._in_words)

    def measurements(self, kind: Kind, order: NDArray[np.intp], start: int, stop: int) -> Measurements:
        """Those of the rows from one place in the order to another."""
        rows = order[start:stop]
        n_tokens, truncated = self.n_tokens[rows], np.zeros(len(rows), np.bool_)
        if kind is Kind.VECTORS:
            return Vectors.pack(n_tokens, truncated, self.vectors[None, None, start:stop])
        nothing = np.empty((len(rows), 0), np.float32)
        return Measurements(n_tokens, truncated, self.norms[rows, None], nothing)


def _write(taken: _Taken, kind: Kind, key: Key, order: NDArray[np.intp], store: Store, progress: Progress) -> None:
    n = len(taken.vectors) if kind is Kind.VECTORS else taken.n
    progress.begin(f"Writing {kind}", n)
    try:
        with store.writer(key):
            for start in range(0, n, _PART_SIZES[kind]):
                stop = min(start + _PART_SIZES[kind], n)
                store.append(key, start, taken.measurements(kind, order, start, stop), 0.0)
                progress.advance(stop)
    except filelock.Timeout:
        raise StoreError("Another process is importing the same. Wait for it to end.") from None


def _lines(texts: list[str], *, is_first: bool) -> bytes:
    """Texts as lines of JSON, as `clsviz.measure` keeps sentences that it is given."""
    try:
        lines = b"\n".join(orjson.dumps({"text": text}) for text in texts)
    except orjson.JSONEncodeError:
        raise CorpusError("A text holds half a character (a lone surrogate). Leave it out.") from None
    return lines if is_first else b"\n" + lines
