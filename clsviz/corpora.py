"""Where sentences come from: the corpus catalogue, text files and uploads, and the sample drawn from them."""

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import charset_normalizer
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clsviz import docstrings
from clsviz.errors import CorpusError
from clsviz.files import new_file
from clsviz.progress import Progress

MAX_FILE_BYTES = 200 * 2**20
"""Size of the largest text file that is read, as a whole, into memory."""
MAX_CHARACTERS = 100_000
"""Of a sentence: many times what a model reads, and still tokenized in no time."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences under a name; none is blank or holds a line break."""

    name: str
    label: str
    sentences: Sequence[str]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the sentences, in hexadecimal."""
        return _fingerprint(self.sentences)

    def sample(self, size: int, seed: int) -> list[str]:
        """The first `size` sentences, or all if there are fewer, of the permutation that `seed` draws.

        A larger sample of the same seed begins with the smaller one. NumPy keeps the stream of RandomState the same
        in all its versions, which it does not of Generator: what the store holds stays true after an upgrade.
        """
        order = np.random.RandomState(seed).permutation(len(self.sentences))
        return [self.sentences[index] for index in order[:size]]


@dataclass(frozen=True)
class Source:
    """An entry of the corpus catalogue.

    files: lists the Python files whose docstrings are the corpus.
    version: changes whenever the corpus may have.
    build_seconds: about how long it takes to build, on a machine of two cores.
    """

    label: str
    description: str
    files: Callable[[], list[str]]
    version: Callable[[], str]
    build_seconds: float


def _standard_library() -> list[str]:
    return docstrings.python_files(sysconfig.get_path("stdlib"))


def _installed_packages() -> list[str]:
    roots = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    return _standard_library() + [path for root in roots for path in docstrings.python_files(root)]


@functools.cache  # hundreds of files to read, and what is installed stays so while a program runs
def _package_versions() -> str:
    return "\n".join(sorted({f"{package.name} {package.version}" for package in importlib.metadata.distributions()}))


CORPORA = {
    "python-docs": Source(
        "Python documentation",
        "English sentences from the docstrings of Python's standard library, as installed here.",
        _standard_library,
        lambda: sys.version,
        build_seconds=2,
    ),
    "package-docs": Source(
        "Package documentation",
        "English sentences from the docstrings of Python's standard library and of every package installed here.",
        _installed_packages,
        lambda: sys.version + _package_versions(),
        build_seconds=30,
    ),
}
"""The corpus catalogue. It needs no network."""


def open_corpus(name: str, folder: Path, progress: Progress) -> Corpus:
    """The corpus `name`: of the catalogue, an upload kept in `folder`, or the path of a text file.

    What had to be built is kept in `folder`. Raises CorpusError where there is no such corpus or it is empty.
    """
    if name in CORPORA:
        return _open_source(name, CORPORA[name], folder, progress)
    if is_upload(name):
        corpus = _load(folder / f"{name}.parquet")
        if corpus is None:
            raise CorpusError(f"The uploaded corpus “{name}” is not kept here. Upload its file again.")
        return corpus
    return read_text_file(Path(name))


def is_upload(name: str) -> bool:
    """Whether `name` has the form of an uploaded corpus's name: content-addressed, so it leads to no other file."""
    prefix, _, digest = name.partition("-")
    return prefix == "upload" and len(digest) == 32 and all(character in "0123456789abcdef" for character in digest)


def is_ready(name: str, folder: Path) -> bool:
    """Whether the corpus `name` can be opened without building it first."""
    return name not in CORPORA or os.path.exists(_built_path(name, CORPORA[name], folder))


def keep_upload(content: bytes, file_name: str, folder: Path) -> Corpus:
    """Keep an uploaded text, one sentence a line, in `folder`; raises CorpusError where it holds no sentence."""
    sentences = _lines(content, file_name)
    corpus = Corpus(f"upload-{_fingerprint(sentences)[:32]}", file_name, sentences)
    _save(corpus, folder / f"{corpus.name}.parquet")
    return corpus


def read_text_file(path: Path) -> Corpus:
    """The corpus of a text file, one sentence a line; raises CorpusError where it cannot be read or is empty."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)  # its size is not asked for: a pipe has none
    except FileNotFoundError:
        known = ", ".join(CORPORA)
        raise CorpusError(
            f"There is no corpus “{path}”: it is neither a file nor one of the catalogue ({known})."
        ) from None
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}. Name a text file, one sentence a line.") from None
    if len(content) > MAX_FILE_BYTES:
        raise CorpusError(f"{path} is larger than {MAX_FILE_BYTES // 2**20} MB. Take a part of it.")
    return Corpus(str(path), path.name, _lines(content, path.name))


def _lines(content: bytes, file_name: str) -> list[str]:
    """The lines of a text that are not blank, in whatever encoding it is."""
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CorpusError(f"{file_name} is not a text file. Give a text file, one sentence a line.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if _is_damaged_utf8(content):
            line = content[: error.start].count(b"\n") + 1
            raise CorpusError(
                f"Line {line:,} of {file_name} is damaged: its byte {content[error.start]:#04x} is not UTF-8, which "
                "the rest of the file is in. Mend the line, or leave it out."
            ) from None
        best = charset_normalizer.from_bytes(content).best()
        if best is None:
            raise CorpusError(f"{file_name} is in no known text encoding. Save it as UTF-8.") from None
        text = str(best)
    lines = [line.strip() for line in text.splitlines()]
    if too_long := [number for number, line in enumerate(lines, 1) if len(line) > MAX_CHARACTERS]:
        raise CorpusError(
            f"Line {too_long[0]:,} of {file_name} has over {MAX_CHARACTERS:,} characters. Give one sentence a line."
        )
    sentences = [line for line in lines if line]
    if not sentences:
        raise CorpusError(f"{file_name} holds no sentence. Give a text file, one sentence a line.")
    return sentences


def _is_damaged_utf8(content: bytes) -> bool:
    """Whether a text that is not UTF-8 looks as if it were meant to be: by more characters beyond ASCII than faults."""
    text = content.decode("utf-8", errors="replace")
    faults = text.count("\N{REPLACEMENT CHARACTER}")
    return sum(not character.isascii() for character in text) > 2 * faults


def _open_source(name: str, source: Source, folder: Path, progress: Progress) -> Corpus:
    path = _built_path(name, source, folder)
    corpus = _load(path)
    if corpus is None:
        corpus = Corpus(name, source.label, _gather(source, progress))
        if not corpus.sentences:
            raise CorpusError(f"No docstrings were found for “{name}”: this Python comes without its sources.")
        _save(corpus, path)
    return corpus


def _save(corpus: Corpus, path: Path) -> None:
    about = {"name": corpus.name, "label": corpus.label, "fingerprint": corpus.fingerprint}
    table = pa.table({"sentence": pa.array(corpus.sentences, pa.large_string())})
    with new_file(path) as temporary:
        pq.write_table(table.replace_schema_metadata(about), temporary)


def _load(path: Path) -> Corpus | None:
    """The corpus kept at `path`, or None where there is none or it is damaged."""
    try:
        table = pq.read_table(path)
        about = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        corpus = Corpus(about["name"], about["label"], table["sentence"].to_pylist())
    except (OSError, pa.ArrowInvalid, KeyError, UnicodeDecodeError):
        return None
    return corpus if corpus.fingerprint == about.get("fingerprint") else None


def _built_path(name: str, source: Source, folder: Path) -> Path:
    version = hashlib.sha256(f"{docstrings.SCHEMA}\n{source.version()}".encode()).hexdigest()
    return folder / f"{name}-{version[:16]}.parquet"


def _gather(source: Source, progress: Progress) -> list[str]:
    """The distinct sentences in the docstrings of the source's files, found by worker processes, in file order."""
    files = source.files()
    progress.begin("Reading file", total=len(files))
    n_workers = min(4, os.cpu_count() or 1, 1 + len(files) // 2000)
    found: dict[str, None] = {}
    with contextlib.ExitStack() as stack:
        workers = [_start_worker(stack, files[index::n_workers]) for index in range(n_workers)]
        for index in range(len(files)):
            answer = workers[index % n_workers].readline()
            if not answer:
                raise CorpusError("Reading the documentation broke off. Try again.")
            found.update(dict.fromkeys(json.loads(answer)))
            progress.advance(index + 1)
    return list(found)


def _start_worker(stack: contextlib.ExitStack, files: list[str]) -> IO[str]:
    """Start a worker on `files`, to be ended with `stack`: where it answers, a line a file."""
    python_path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    worker = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-m", docstrings.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="surrogateescape",  # as paths may be in any encoding
            env=os.environ | {"PYTHONPATH": python_path, "PYTHONUTF8": "1"},
        )
    )
    stack.callback(worker.kill)
    assert worker.stdin is not None  # both are pipes
    assert worker.stdout is not None
    with (
        contextlib.suppress(BrokenPipeError),
        worker.stdin as stdin,
    ):  # a worker that died shows when it does not answer
        stdin.write("\n".join(files))
    return worker.stdout


def _fingerprint(sentences: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sentences).encode()).hexdigest()
