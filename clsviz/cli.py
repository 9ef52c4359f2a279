"""The command line: the Python interface, with flags.

Status: 0; 1 where a limit, such as --max-exposure, is exceeded, and nowhere else; 2 where the user
can fix the error, which is one line; 3 for an error of ours, with its traceback.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import parse_qsl, urlsplit

from clsviz import api
from clsviz.errors import ClsvizError, SettingError, printable, quote
from clsviz.experiment import Experiment
from clsviz.files import replacing
from clsviz.progress import silent
from clsviz.results.result import PICTURES, WRITERS, Result, check_ending

CHECKOUT, INSTALLED = Path(__file__).parents[1], Path(__file__).with_name("dashboard")

APP: Final = (INSTALLED if INSTALLED.exists() else CHECKOUT) / "app.py"

COMMANDS: Final[dict[str, Callable[..., Result | str]]] = {
    "measure": api.measure,
    "probe": api.probe,
    "search-test": api.search_test,
    "chunk-test": api.chunk_test,
    "compare": api.compare,
    "report": api.report,
}

DEFAULTS: Final[dict[str, dict[str, str]]] = {
    "search-test": {"corpus": "python-api", "pooling": "mean", "sample_size": "all"},
    "chunk-test": {"corpus": "python-api", "pooling": "mean", "sample_size": "2400"},
}
"""Settings of a command whose defaults are others than those of `Experiment`."""

LINK_OF_SEARCH: Final = {
    "model": "model",
    "seed": "seed",
    "search_corpus": "corpus",
    "search_pooling": "pooling",
    "search_column": "column",
    "search_encoding": "encoding",
}

LINKED: Final = {
    "search-test": LINK_OF_SEARCH,
    "chunk-test": LINK_OF_SEARCH,
    "measure": {
        field.name: field.name for field in fields(Experiment) if field.name != "probe_size"
    },
}
"""Settings that a command takes from a link, by their names there; others take all."""


def names(text: str) -> list[str]:
    """Names with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


VECTORS: Final = (Path, "own vectors of texts, in the place of model and corpus")

SEARCHES: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "titles": (str, "the column that searches"),
    "searches": (Path, "a file of query and ids, or of query and text"),
    "similarity": (str, "cosine, or dot for the dot product; by default cosine"),
}

SEARCH: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "search_corpus": (str, "what all models search, “” for nothing; by default python-api"),
    "search_pooling": (str, "the vector that searches; by default mean"),
}

LINKED_FLAGS: Final = {
    "search-test": {"similarity": "similarity", "search_titles": "titles"},
    "chunk-test": {"similarity": "similarity", "search_titles": "titles"},
    "compare": {name: name for name in (*SEARCH, "chunks")},
    "report": {name: name for name in SEARCH},
}
"""Flags besides the settings that a command takes from a link; `others` comes several times."""

FLAGS: Final[dict[str, dict[str, tuple[Callable[[str], Any], str]]]] = {
    "measure": {
        "vectors": VECTORS,
        "ray": (str, "address of a Ray cluster that measures; local: one on this machine"),
    },
    "probe": {"random_weights": (bool, "compare with random weights, of three seeds")},
    "search-test": {
        "task": (str, "titles, halves or cloze; by default what suits the corpus"),
        **SEARCHES,
        "vectors": VECTORS,
        "query_vectors": (Path, "own vectors of queries, with the ids of the right texts"),
        "max_exposure": (float, "status 1 if a fifth takes surely over so many times its share"),
        "length_power": (float, "of tokens, by which scores are multiplied as another fix to try"),
    },
    "chunk-test": {
        **SEARCHES,
        "chunk_tokens": (int, "tokens of the chunks of your pipeline"),
        "max_lost": (float, "status 1 if these surely lose over so many of their sentences"),
    },
    "compare": {
        "models": (names, "two to six, with commas between"),
        **SEARCH,
        "chunks": (bool, "also cut the texts that are searched into chunks"),
    },
    "report": {"others": (names, "models to compare with, with commas between"), **SEARCH},
}
"""Flags of a command besides the settings: their types, and what they mean."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its status."""
    try:
        options = vars(_parser().parse_args(arguments))
        return _run(options.pop("command"), options)
    except ClsvizError as error:
        print(f"clsviz: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("clsviz: stopped. The same command continues where it was.", file=sys.stderr)
        return 130
    except Exception:
        traceback.print_exc()
        print("clsviz: this is an error of clsviz. Please report it.", file=sys.stderr)
        return 3


def _run(name: str, options: dict[str, Any]) -> int:
    if name == "app":
        script = [sys.executable, "-m", "streamlit", "run", str(APP), *options["arguments"]]
        return subprocess.call(script)
    output, plot = options.pop("output"), options.pop("plot", None)
    is_json = options.pop("json", False)
    keywords = _keywords(name, options)
    for path, endings in ((output, _endings(name)), (plot, PICTURES)):
        if path is not None:
            _check_place(path)
            check_ending(path, endings)
    if "store" in keywords:
        _check_place(keywords["store"] / "a file")
    progress = _show_progress if sys.stderr.isatty() else silent
    answer = COMMANDS[name](**keywords, progress=progress)
    if isinstance(answer, str):
        with replacing(output) as file:
            file.write(answer.encode())
        print_text(str(output))
        return 0
    if output is not None:
        answer.write(output)
    if plot is not None:
        answer.save_plot(plot)
    write = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    print_text(write(answer.json()) if is_json else answer.text())
    return 1 if answer.details.get("exceeded") else 0


def _keywords(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call: those of flags, which come first, and of a link."""
    is_linked = "query" in options
    pairs = _pairs(options.pop("query", ""))
    every = {field.name: field.name for field in fields(Experiment)}
    settings = LINKED.get(name, every)
    linked = {settings[key]: text for key, text in pairs if key in settings}
    own = LINKED_FLAGS.get(name, {})
    flags: dict[str, Any] = {own[key]: text for key, text in pairs if key in own}
    if (chunks := flags.get("chunks")) is not None:
        if chunks not in ("true", "false"):
            raise SettingError(f"chunks is {quote(chunks)}.", "Choose true or false.")
        flags["chunks"] = chunks == "true"
    others = [one for key, text in pairs if key == "others" for one in names(text)]
    if is_linked and not (linked or flags or others):
        raise SettingError("The link of --query has no settings.", "Copy the whole address.")
    chosen = {key: options.pop(key) for key in every if key in options}
    experiment = Experiment.parse({**DEFAULTS.get(name, {}), **linked, **chosen})
    keywords = {**asdict(experiment), **flags, **options}
    if name == "report":
        keywords.setdefault("others", others)
    if name == "compare":
        keywords.setdefault("models", [keywords["model"], *others])
        del keywords["model"]
    return keywords


def _pairs(link: str) -> list[tuple[str, str]]:
    """The settings of a link."""
    try:
        address = urlsplit(link)
    except ValueError:
        raise SettingError(f"{quote(link)} is not a link.", "Copy the whole address.") from None
    return parse_qsl(address.query or address.path.lstrip("?"))


def _check_place(path: Path) -> None:
    """Raise SettingError, before any work, where a file cannot be written."""
    if os.path.isdir(path):  # Path.is_dir raises where a folder may not be entered
        raise SettingError(f"{quote(path)} is a folder.", "Choose the name of a file.")
    folder = path.parent
    while not os.path.lexists(folder):  # it will be created
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = f"{quote(folder)} cannot be written ({error.strerror or error})."
        raise SettingError(reason, "Choose another folder.") from None


def print_text(text: str, end: str = "\n") -> None:
    """Print, also to a terminal that lacks letters, and to a program that has read enough.

    Raises SettingError where the output has no space.
    """
    encoding = sys.stdout.encoding
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), end=end, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes at its end
        if not isinstance(error, BrokenPipeError):
            reason = f"The answer cannot be printed ({error.strerror or error})."
            raise SettingError(reason, "Choose another place for it.") from None


def _endings(name: str) -> tuple[str, ...]:
    """Endings of the file that --output names."""
    return (".html",) if name == "report" else WRITERS


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="clsviz", description="Does an encoder write length into its vectors?")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    app = commands.add_parser("app", help="open the dashboard")
    app.add_argument("arguments", nargs="*", help="for streamlit run, after --")
    for name, function in COMMANDS.items():
        summary = (function.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        for field in fields(Experiment):
            default = DEFAULTS.get(name, {}).get(field.name, field.default)
            likeliest: dict[Any, str] = {None: "last", "": "the likeliest"}
            meaning = f"by default {likeliest.get(default, default)}"
            if (name, field.name) == ("compare", "corpus"):
                several = {"action": "append", "dest": "corpora"}
                _add(command, "corpus", str, f"{meaning}; several times for several", **several)
            elif (name, field.name) != ("compare", "model"):
                _add(command, field.name, str, meaning)
        for flag, (kind, meaning) in FLAGS.get(name, {}).items():
            _add(command, flag, kind, meaning)
        _add(command, "query", str, "the address of a page, whose settings are taken")
        _add(command, "store", Path, "the folder of what is measured")
        is_report = name == "report"
        written = " or ".join(_endings(name))
        command.add_argument(
            "--output", type=Path, metavar="FILE", help=written, required=is_report
        )
        if not is_report:
            _add(command, "json", bool, "print the answer as JSON")
            _add(command, "plot", Path, " or ".join(PICTURES))
    return parser


def _add(
    command: argparse.ArgumentParser,
    name: str,
    kind: Callable[[str], Any],
    meaning: str,
    **options: Any,
) -> None:
    """Add a flag, which is missing among the options where it is not set."""
    options |= {"action": "store_true"} if kind is bool else {"type": kind, "metavar": "VALUE"}
    flag = f"--{name.replace('_', '-')}"
    command.add_argument(flag, help=meaning, default=argparse.SUPPRESS, **options)


class _Parser(argparse.ArgumentParser):
    """Its errors are one line."""

    def error(self, message: str) -> NoReturn:
        line = " ".join(map(printable, message.split()))
        self.exit(2, f"{self.prog}: {line}. See {self.prog} --help.\n")


def _show_progress(done: int, total: int, unit: str) -> None:
    end = "\n" if done >= total else ""
    print(f"\r{done:,} of {total:,} {unit}", end=end, file=sys.stderr, flush=True)
