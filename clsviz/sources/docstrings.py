"""English sentences from Python docstrings, read with ``ast`` and never imported."""

import ast
import gc
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path

from sentencex import segment

from clsviz.atomic import read_file
from clsviz.errors import CorpusError
from clsviz.processes import end_with
from clsviz.progress import Progress

SCHEMA = 2
"""Increase it when different sentences are found in the same files."""

_NOT_SOURCE = {"test", "tests", "testing", "idle_test", "site-packages", "dist-packages", "__pycache__"}

_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


# Whole lines that are not prose: doctests, list items, field lists, directives, rules and table rows.
_NOT_PROSE = re.compile(
    r"""
      >>>|\.\.\.(\s|$)            # doctest
    | \.\.\s|\.\.$                # reST directive or comment
    | [-*+•o]\s|\(?\w{1,3}[.)]\s  # list item
    | :\w[^:]*:(\s|$)             # :param x: …
    | @\w                         # epytext field, decorator
    | [|+]                        # table row
    | [^\w\s]{3,}\s*$             # underline, rule
    | .*\S[ ]{3,}\S               # columns
    | [\w.]+(,\s[\w.*]+)*\s:\s      # numpydoc parameter, or See Also row
    """,
    re.VERBOSE,
)

_MARKUP: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"`([^`<]+?)\s*<[^>`]*>`__?"), r"\1"),  # `text <target>`_
    (re.compile(r":[\w:+-]+:`[~!.]*([^`<]+?)(\s*<[^>`]*>)?`"), r"\1"),  # :role:`text <target>`
    (re.compile(r"``(.+?)``|`([^`']+)[`']_{0,2}"), lambda m: m[1] or m[2]),  # ``text``, `text`, `text', `text`_
    (re.compile(r"(?<![\w*])\*{1,2}(?=\S)([^*]+?)(?<=\S)\*{1,2}(?![\w*])"), r"\1"),
    (re.compile(r"\s*\[[\w#*-]{1,8}\]_"), ""),  # footnote
    (re.compile(r"\|(\w+)\|"), r"\1"),  # substitution
]

_CODE = re.compile(
    r"""[=<>{}\[\]|\\^~`@#$*;]|::|--|://|\w\(\S|\w/\w+/|\b(param|todo|xxx|fixme)\b|_\w*_""", re.IGNORECASE
)

_SENTENCE = re.compile(r"""["'(]?[A-Z].*[^\s.][.!?]["')]?$""", re.DOTALL)


def python_files(root: str | Path) -> list[str]:
    """Paths of the Python files under `root` in a stable order, without tests and nested site-packages."""
    found: list[str] = []
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if name not in _NOT_SOURCE)
        found += [
            os.path.join(folder, name)
            for name in sorted(files)
            if name.endswith(".py") and not name.startswith(("test_", "_test"))
        ]
    return found


def docstrings(source: bytes) -> Iterator[str]:
    """Docstrings of a module, its classes and functions; none if `source` is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes in other people's code
            nodes: list[ast.AST] = [ast.parse(source)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    while nodes:
        node = nodes.pop()
        if isinstance(node, _DOCUMENTED) and (docstring := ast.get_docstring(node)):
            yield docstring
        # Only statements hold definitions: skipping expressions makes this ten times faster than ast.walk.
        for block in ("finalbody", "orelse", "handlers", "body"):
            nodes.extend(reversed(getattr(node, block, [])) if not isinstance(node, ast.Lambda | ast.IfExp) else [])


def paragraphs(docstring: str) -> Iterator[str]:
    """Runs of unindented prose lines, joined; indented lines of a docstring are code, lists or parameters."""
    run: list[str] = []
    for line in docstring.splitlines():
        if not line.strip() or line[0].isspace() or _NOT_PROSE.match(line):
            if run:
                yield " ".join(run)
            run = []
        else:
            run.append(line.strip())
    if run:
        yield " ".join(run)


def is_sentence(text: str) -> bool:
    """Whether `text` looks like an English sentence: a capital, words, an end mark, and no code."""
    words = text.split()
    plain = sum(character.isascii() and (character.isalpha() or character == " ") for character in text)
    return (
        2 <= len(words) <= 200
        and text.isprintable()
        and bool(_SENTENCE.match(text))
        and not _CODE.search(text)
        and plain >= 0.8 * len(text)
        and text.count("(") == text.count(")")
        and text.count('"') % 2 == 0
    )


def sentences(docstring: str) -> list[str]:
    """The English sentences of one docstring, in order, without markup."""
    found: list[str] = []
    for paragraph in paragraphs(docstring):
        for pattern, replacement in _MARKUP:
            paragraph = pattern.sub(replacement, paragraph)
        pieces = (" ".join(piece.split()) for piece in segment("en", paragraph))
        found += [piece for piece in pieces if is_sentence(piece)]
    return found


def gather(files: Sequence[str], progress: Progress) -> list[str]:
    """The distinct sentences in the docstrings of the files, in file order, found by worker processes.

    In this one parsing would hold the interpreter's lock while the model is loading. Raises CorpusError if a worker
    dies, and CancelledError.
    """
    from loky import ProcessPoolExecutor

    found: dict[str, None] = {}
    progress.begin("Reading Python file", total=len(files))
    n_workers = min(4, os.cpu_count() or 1, 1 + len(files) // 2000)
    workers = ProcessPoolExecutor(n_workers, initializer=_begin_worker, initargs=(os.getpid(),))
    try:
        for number, of_file in enumerate(workers.map(sentences_in, files, chunksize=16), 1):
            found.update(dict.fromkeys(of_file))
            progress.advance(number)
    except BrokenExecutor:
        raise CorpusError("Reading the documentation broke off. Try again.") from None
    finally:
        workers.shutdown(wait=False, kill_workers=True)
    return list(found)


def _begin_worker(parent: int) -> None:
    gc.disable()  # syntax trees hold no cycles, and collecting among them doubles the time
    end_with(parent)


def sentences_in(path: str) -> list[str]:
    """The English sentences of a Python file; none of one that is gone or unreadable since it was listed."""
    try:
        source = read_file(Path(path))
    except OSError:
        return []
    return [sentence for docstring in docstrings(source) for sentence in sentences(docstring)]
