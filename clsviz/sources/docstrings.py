"""English sentences from Python docstrings, read with ``ast`` and never imported.

Run as ``python -m clsviz.sources.docstrings``, this is the worker of `gather`: it takes file paths on stdin, one per
line, and answers each, in the same order, with one line of JSON: the list of its sentences. It is a separate process
because parsing holds the interpreter's lock while the model is loading.
"""

import ast
import contextlib
import gc
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from sentencex import segment

from clsviz import programs
from clsviz.atomic import new_file, open_regular
from clsviz.errors import CancelledError, CorpusError
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


def gather(files: Sequence[str], progress: Progress, unfinished: Path | None = None) -> list[str]:
    """The distinct sentences in the docstrings of the files, in file order, found by worker processes.

    unfinished: where what was read is kept if it is cancelled, to continue from; absent once all is read. Raises
    CorpusError if a worker dies, and CancelledError.
    """
    found, n_read = _read_before(files, unfinished)
    progress.begin("Reading Python file", total=len(files), done=n_read)
    rest = files[n_read:]
    n_workers = min(4, os.cpu_count() or 1, 1 + len(rest) // 2000)
    with contextlib.ExitStack() as stack:
        workers = [_start_worker(stack, rest[index::n_workers]) for index in range(n_workers)]
        try:
            for index in range(len(rest)):
                answer = workers[index % n_workers].readline()
                if not answer:
                    raise CorpusError("Reading the documentation broke off. Try again.")
                found.update(dict.fromkeys(json.loads(answer)))
                n_read += 1
                progress.advance(n_read)
        except CancelledError:
            if unfinished is not None:
                with new_file(unfinished) as temporary:
                    temporary.write_text(json.dumps([files[:n_read], list(found)]), encoding="utf-8")
            raise
    if unfinished is not None:
        unfinished.unlink(missing_ok=True)
    return list(found)


def _read_before(files: Sequence[str], unfinished: Path | None) -> tuple[dict[str, None], int]:
    """What was read until it was cancelled, and of how many files; nothing if they are not the first of these."""
    try:
        if unfinished is None:
            return {}, 0
        with open_regular(unfinished) as file:
            read, sentences = json.load(file)
        return (dict.fromkeys(sentences), len(read)) if read == files[: len(read)] else ({}, 0)
    except (OSError, ValueError, TypeError, RecursionError):
        return {}, 0


def _start_worker(stack: contextlib.ExitStack, files: Sequence[str]) -> IO[str]:
    """Start a worker on `files` that ends with `stack`, and return its answers, one line per file."""
    worker = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-m", "clsviz.sources.docstrings"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="surrogateescape",  # paths may be in any encoding
            env=programs.environment() | {"PYTHONUTF8": "1"},
        )
    )
    stack.callback(worker.kill)
    assert worker.stdin is not None  # since both are pipes
    assert worker.stdout is not None
    with (
        contextlib.suppress(BrokenPipeError),
        worker.stdin as stdin,
    ):  # a worker that died will not answer
        stdin.write("\n".join(files))
    return worker.stdout


def main() -> None:
    """Answer each path on stdin with one line of JSON on stdout."""
    gc.disable()  # syntax trees hold no cycles, and collecting among them doubles the time
    paths = sys.stdin.read().splitlines()
    for path in paths:
        try:
            with open_regular(Path(path)) as file:
                source = file.read()
        except OSError:
            source = b""  # no file, or gone or unreadable since it was listed
        found = [sentence for docstring in docstrings(source) for sentence in sentences(docstring)]
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
