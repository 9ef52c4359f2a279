"""Results that are kept, so that what was computed once is there at once: those that come with clsviz, and the user's.

    <folder>/<digest of what it was computed from>-<digest of the file>.safetensors

A file holds a result as JSON and arrays (see `plain`), and says what it was computed from: the fingerprints of model
and corpus, the sample, the view, and on this machine also the code and the libraries that computed it. What is damaged,
or what another version wrote, is computed again.
"""

import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError
from safetensors import numpy as safetensors

from clsviz.analysis.plain import Arrays, from_plain, to_plain
from clsviz.atomic import mark_used, new_file, open_regular
from clsviz.errors import StoreError
from clsviz.experiment import View
from clsviz.measuring import Found
from clsviz.models import Weights
from clsviz.settings import Precision

T = TypeVar("T")

MOST_KEPT = 1000
"""Files of results in a user's store; those that were longest unused are removed."""

_DIGITS = 24, 16
"""How much of the two digests is in a name."""

_NAMES = {
    "near_duplicates": "clusters",
    "shown_of": "line",
    "profiles": "profile",
    "classifications": "classification",
    "erasures": "erasure",
    "compare": "similarity",
    "join": "joined",
    "read_vectors": "comparison_probe",
    "project": "projection",
}
"""What results are called in their keys, where functions have other names."""

_DAMAGE = (SafetensorError, LookupError, TypeError, ValueError, RecursionError, OverflowError)


@dataclass(frozen=True)
class Question:
    """What a result is the answer to, as JSON.

    is_shipped: whether it rests on measurements that came with clsviz. is_kept: whether it is kept on this machine.
    """

    text: str
    is_shipped: bool
    is_kept: bool = True

    @property
    def digest(self) -> str:
        """The beginning of the name of its file."""
        return hashlib.sha256(self.text.encode()).hexdigest()[: _DIGITS[0]]


def question(work: Callable[..., object], *founds: Found, view: View | None = None, extra: str = "") -> Question:
    """What `work` finds in measurements under a view; extra: what else it depends on.

    A result of only a part of the sample, while more is measured, is not kept.
    """
    of = [
        {
            "model": found.weights.fingerprint,
            "corpus": found.corpus.fingerprint,
            "seed": found.seed,
            "precision": found.precision.numbers,
            "kind": type(found.measurements).__name__,
            "n": len(found.measurements),
            "n_audited": len(found.audit.measurements) if found.audit else 0,
        }
        for found in founds
    ]
    about = {"work": _name(work), "of": of, "view": view and asdict(view), "extra": extra}
    is_shipped = all(found.n_shipped == len(found.measurements) for found in founds)
    is_whole = not any(found.n_missing for found in founds)
    return Question(json.dumps(about, sort_keys=True), is_shipped, is_whole)


def question_of_sentences(name: str, weights: Weights, precision: Precision, sentences: list[str]) -> Question:
    """What a model makes of sentences. What a visitor typed is never kept: only clsviz’s own examples come along."""
    about = {"work": name, "model": weights.fingerprint, "precision": precision.numbers, "sentences": sentences}
    return Question(json.dumps(about, sort_keys=True), is_shipped=True, is_kept=False)


class Kept:
    """The results in a folder of the user's store, and those that came with clsviz; safe to share between threads."""

    def __init__(self, root: Path | None, shipped: Path | None = None) -> None:
        """root: None to keep nothing. shipped: a folder that is only read."""
        self._root, self._shipped = root, shipped

    def __contains__(self, asked: Question) -> bool:
        return self._path(asked) is not None

    def get(self, asked: Question) -> Any:
        """The result, or None if there is none or it is damaged."""
        path = self._path(asked)
        if path is None:
            return None
        with contextlib.suppress(OSError):
            with open_regular(path) as file:
                content = file.read()
            if path.stem.endswith(f"-{hashlib.sha256(content).hexdigest()[: _DIGITS[1]]}"):
                with contextlib.suppress(*_DAMAGE):
                    result = _unpacked(content)
                    if path.parent == self._root:
                        mark_used(path)
                    return result
        return None

    def put(self, asked: Question, result: object) -> None:
        """Keep a result, if it can be."""
        if self._root is None or not asked.is_kept or result is None:
            return
        asked = _here(asked)
        with contextlib.suppress(StoreError, OSError):
            write(self._root, asked, result)
            paths = sorted(self._root.glob("*.safetensors"), key=lambda path: path.stat().st_mtime)
            for path in paths[:-MOST_KEPT]:
                path.unlink(missing_ok=True)

    def of(self, asked: Question, work: Callable[[], T]) -> T:
        """The result: kept, or found by `work` now."""
        known: T | None = self.get(asked)
        if known is not None:
            return known
        result = work()
        self.put(asked, result)
        return result

    def keeping(self, asked: Question, steps: Callable[[], Iterator[T]]) -> Callable[[], Iterator[T]]:
        """The same steps; the last result is kept."""

        def kept() -> Iterator[T]:
            result: T | None = None
            for result in steps():
                yield result
            self.put(asked, result)

        return kept

    def _path(self, asked: Question) -> Path | None:
        places = [(self._shipped, asked)] if self._shipped and asked.is_shipped else []
        if self._root and asked.is_kept:
            places.append((self._root, _here(asked)))
        for folder, of in places:
            with contextlib.suppress(OSError):
                if path := next(folder.glob(f"{of.digest}-*.safetensors"), None):
                    return path
        return None


def write(folder: Path, asked: Question, result: object) -> Path:
    """Write a result into a folder; raises StoreError, and TypeError if it is none."""
    arrays: Arrays = {}
    about = {"question": asked.text, "result": to_plain(result, arrays)}
    content = safetensors.save(arrays, metadata={"clsviz": json.dumps(about)})
    path = folder / f"{asked.digest}-{hashlib.sha256(content).hexdigest()[: _DIGITS[1]]}.safetensors"
    with new_file(path) as temporary:
        temporary.write_bytes(content)
    return path


def _unpacked(content: bytes) -> Any:
    length = int.from_bytes(content[:8], "little")  # of the header, whose entries the library gives only for files
    about = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["clsviz"])
    return from_plain(about["result"], safetensors.load(content))


def _name(work: Callable[..., object]) -> str:
    return _NAMES.get(work.__name__, work.__name__)


def _here(asked: Question) -> Question:
    """The same question on this machine: its result also depends on the code and the libraries, and on who measured."""
    about = {"asked": asked.text, "shipped": asked.is_shipped, "code": _code()}
    return Question(json.dumps(about, sort_keys=True), asked.is_shipped)


@functools.cache
def _code() -> str:
    """A digest of the code that computes results, and of the libraries it does so with."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted([*package.glob("statistics/**/*.py"), *package.glob("analysis/**/*.py"), *package.glob("*.py")]):
        digest.update(path.read_bytes())
    for library in ("numpy", "scipy", "scikit-learn", "statsmodels"):
        digest.update(f"{library} {version(library)}\n".encode())
    return digest.hexdigest()
