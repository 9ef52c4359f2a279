"""The command line: the Python interface, with flags.

Status: 0; 1 where --max-exposure is exceeded, and nowhere else; 2 where the user can fix the error,
which is one line; 3 for an error of ours, with its traceback.
"""

import argparse
import json
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import parse_qsl, urlsplit

from clsviz import api
from clsviz.errors import ClsvizError, SettingError
from clsviz.experiment import Experiment
from clsviz.progress import silent
from clsviz.results.result import PICTURES, WRITERS, Result, check_ending
from clsviz.results.search import Search

APP: Final = Path(__file__).parents[1] / "app.py"

COMMANDS: Final[dict[str, Callable[..., Result]]] = {
    "measure": api.measure_experiment,
    "probe": api.probe_experiment,
    "search-test": api.search_test_experiment,
    "compare": api.compare_experiment,
}

DEFAULTS: Final[dict[str, dict[str, str]]] = {
    "search-test": {"corpus": "python-api", "pooling": "mean", "sample_size": "all"},
}
"""Settings of a command whose defaults are others than those of `Experiment`."""

LINKED: Final = {
    "search-test": {"search_corpus": "corpus", "search_pooling": "pooling"}
    | {name: name for name in ("model", "seed")},
}
"""Settings that a command takes from a link, by their names there; others take all."""

VECTORS_HELP: Final = "own vectors of texts, in the place of model and corpus"

SEARCH_FLAGS: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "task": (str, "titles, halves or cloze; by default what suits the corpus"),
    "titles": (str, "the column that searches"),
    "searches": (Path, "a file of query and ids, or of query and text"),
    "vectors": (Path, VECTORS_HELP),
    "query_vectors": (Path, "own vectors of queries, with the ids of the right texts"),
    "similarity": (str, "cosine, or dot for the dot product; by default cosine"),
    "max_exposure": (float, "status 1 if a fifth takes surely over so many times its share"),
    "length_power": (float, "of tokens, by which scores are multiplied as another fix to try"),
}
"""Flags of search-test besides the settings: their types, and what they mean."""


COMPARE_FLAGS: Final = {
    "search_corpus": "what all models search, “” for nothing; by default python-api",
    "search_pooling": "the vector that searches; by default mean",
}
"""Flags of compare besides the settings, --models and --corpus."""


def command() -> NoReturn:
    """The entry point of the command `clsviz`."""
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its status."""
    options = vars(_parser().parse_args(arguments))
    try:
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
    output: Path | None = options.pop("output")
    plot: Path | None = options.pop("plot")
    is_json, store = options.pop("json"), options.pop("store")
    questions: dict[str, Any] = {}
    if name == "search-test":
        flags = {flag: options.pop(flag) for flag in SEARCH_FLAGS if flag in options}
        questions["search"] = Search(**flags)
    if name == "compare":
        questions |= _comparison(options)
    if name == "measure":
        questions["vectors"] = options.pop("vectors")
    if name == "probe":
        questions["random_weights"] = options.pop("random_weights")
    experiment = _experiment(name, options)
    for path, endings in ((output, WRITERS), (plot, PICTURES)):
        if path is not None:
            check_ending(path, endings)
    progress = _show_progress if sys.stderr.isatty() else silent
    result = COMMANDS[name](experiment, **questions, store=store, progress=progress)
    if output is not None:
        result.write(output)
    if plot is not None:
        result.save_plot(plot)
    print(_text(result, is_json))
    return 1 if result.details.get("exceeded") else 0


def _comparison(options: dict[str, Any]) -> dict[str, Any]:
    """The models and corpora to compare, of flags or of a link, and the flags of the search."""
    pairs = dict(parse_qsl(urlsplit(options.get("query", "")).query))
    linked = ",".join(filter(None, [pairs.get("model", "minilm"), pairs.get("others", "")]))
    models = options.pop("models", None) or linked
    corpora = options.pop("corpora", [])
    if corpora:
        options["corpus"] = corpora[0]
    search = {flag: options.pop(flag) for flag in COMPARE_FLAGS if flag in options}
    return {"models": [name.strip() for name in models.split(",")], "corpora": corpora, **search}


def _text(result: Result, is_json: bool) -> str:
    if is_json:
        return json.dumps(result.json(), ensure_ascii=False, allow_nan=False)
    return result.text()


def _experiment(command: str, options: dict[str, Any]) -> Experiment:
    """The settings of a link, and of flags, which come first; raises SettingError."""
    link = options.pop("query", None)
    settings: dict[str, str] = {}
    if link is not None:
        address = urlsplit(link)
        pairs = parse_qsl(address.query or address.path.lstrip("?"))
        names = {field.name: field.name for field in fields(Experiment)}
        names = LINKED.get(command, names)
        settings = {names[name]: text for name, text in pairs if name in names}
        if command == "measure":
            settings.pop("probe_size", None)
        if not settings:
            raise SettingError("The link of --query has no settings.", "Copy the whole address.")
    return Experiment.parse({**DEFAULTS.get(command, {}), **settings, **options})


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="clsviz", description="Does an encoder write length into its vectors?")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    app = commands.add_parser("app", help="open the dashboard")
    app.add_argument("arguments", nargs="*", help="for streamlit run, after --")
    for name, function in COMMANDS.items():
        summary = (function.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=summary, description=summary)
        names = ("model", "corpus") if name == "compare" else ()
        for field in fields(Experiment):
            if field.name in names:
                continue
            flag = f"--{field.name.replace('_', '-')}"
            default = DEFAULTS.get(name, {}).get(field.name, field.default)
            default = "last" if default is None else default or "the likeliest"
            command.add_argument(
                flag, default=argparse.SUPPRESS, metavar="VALUE", help=f"by default {default}"
            )
        if name == "compare":
            command.allow_abbrev = False  # or --model would be --models
            command.add_argument("--models", metavar="A,B", help="two to six, with commas between")
            meaning = "several times for several; by default python-docs"
            command.add_argument(
                "--corpus",
                action="append",
                dest="corpora",
                metavar="VALUE",
                help=meaning,
                default=[],
            )
            for option, meaning in COMPARE_FLAGS.items():
                flag = f"--{option.replace('_', '-')}"
                command.add_argument(flag, metavar="VALUE", help=meaning, default=argparse.SUPPRESS)
        if name == "probe":
            meaning = "compare with random weights, of three seeds"
            command.add_argument("--random-weights", action="store_true", help=meaning)
        if name == "measure":
            command.add_argument("--vectors", type=Path, metavar="FILE", help=VECTORS_HELP)
        if name == "search-test":
            for flag, (kind, meaning) in SEARCH_FLAGS.items():
                option = f"--{flag.replace('_', '-')}"
                command.add_argument(
                    option, type=kind, metavar="VALUE", help=meaning, default=argparse.SUPPRESS
                )
        command.add_argument("--query", metavar="LINK", default=argparse.SUPPRESS, help=LINK_HELP)
        command.add_argument("--store", metavar="DIR", help="the folder of what is measured")
        command.add_argument("--json", action="store_true", help="print the answer as JSON")
        for flag, endings in (("--output", WRITERS), ("--plot", PICTURES)):
            command.add_argument(flag, type=Path, metavar="FILE", help=" or ".join(endings))
    return parser


LINK_HELP: Final = "the address of a page of the dashboard, whose settings are taken"


class _Parser(argparse.ArgumentParser):
    """Its errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. See {self.prog} --help.\n")


def _show_progress(done: int, total: int, unit: str) -> None:
    end = "\n" if done >= total else ""
    print(f"\r{done:,} of {total:,} {unit}", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    command()
