"""The command line: the Python interface, with flags.

Status: 0; 1 where --max-exposure is exceeded, and nowhere else; 2 where the user can fix the error,
which is one line; 3 for an error of ours, with its traceback.
"""

import argparse
import json
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import parse_qsl, urlsplit

from clsviz import api
from clsviz.errors import ClsvizError, SettingError, quote
from clsviz.experiment import Experiment
from clsviz.files import replacing
from clsviz.progress import silent
from clsviz.results.result import PICTURES, WRITERS, Result, check_ending
from clsviz.results.search import Search

CHECKOUT, INSTALLED = Path(__file__).parents[1], Path(__file__).with_name("dashboard")

APP: Final = (INSTALLED if INSTALLED.exists() else CHECKOUT) / "app.py"

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


PAGES: Final = (".html",)

COMPARE_FLAGS: Final = {
    "search_corpus": "what all models search, “” for nothing; by default python-api",
    "search_pooling": "the vector that searches; by default mean",
}
"""Flags of compare and report besides the settings."""


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
    if name == "report":
        return _report(options)
    output: Path | None = options.pop("output")
    plot: Path | None = options.pop("plot")
    is_json, store = options.pop("json"), options.pop("store")
    questions: dict[str, Any] = {}
    if name == "search-test":
        flags = {flag: options.pop(flag) for flag in SEARCH_FLAGS if flag in options}
        linked = dict(_pairs(options.get("query", "")))
        similarity = {name: linked[name] for name in ("similarity",) if name in linked}
        questions["search"] = Search(**{**similarity, **flags})
    if name == "compare":
        corpora = options.pop("corpora")
        options |= {"corpus": corpora[0]} if corpora else {}
        questions |= {**_comparison(options), "corpora": corpora}
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


def _report(options: dict[str, Any]) -> int:
    output, store = options.pop("output"), options.pop("store")
    questions = _comparison(options)
    questions["others"] = questions.pop("models")[1:]
    experiment = _experiment("report", options)
    check_ending(output, PAGES)
    progress = _show_progress if sys.stderr.isatty() else silent
    text = api.report_experiment(experiment, **questions, store=store, progress=progress)
    with replacing(output) as file:
        file.write(text.encode())
    print(output)
    return 0


def _comparison(options: dict[str, Any]) -> dict[str, Any]:
    """The models to compare, and the settings of their search, of flags or of a link."""
    link = dict.fromkeys(COMPARE_FLAGS) | dict(_pairs(options.get("query", "")))
    others = [name for key, name in _pairs(options.get("query", "")) if key == "others"]
    others = _names(options.pop("others", None)) or others
    models = _names(options.pop("models", None))
    settings = {name: options.pop(name, link[name]) for name in COMPARE_FLAGS}
    search = {name: value for name, value in settings.items() if value is not None}
    model = options.get("model") or link.get("model") or Experiment.model
    return {"models": models or [model, *others], **search}


def _names(text: str | None) -> list[str]:
    """Names with commas between."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _pairs(link: str) -> list[tuple[str, str]]:
    """The settings of a link."""
    try:
        address = urlsplit(link)
    except ValueError:
        raise SettingError(f"{quote(link)} is not a link.", "Copy the whole address.") from None
    return parse_qsl(address.query or address.path.lstrip("?"))


def _text(result: Result, is_json: bool) -> str:
    if is_json:
        return json.dumps(result.json(), ensure_ascii=False, allow_nan=False)
    return result.text()


def _experiment(command: str, options: dict[str, Any]) -> Experiment:
    """The settings of a link, and of flags, which come first; raises SettingError."""
    link = options.pop("query", None)
    settings: dict[str, str] = {}
    if link is not None:
        pairs = _pairs(link)
        names = {field.name: field.name for field in fields(Experiment)}
        names = LINKED.get(command, names)
        settings = {names[name]: text for name, text in pairs if name in names}
        if command == "measure":
            settings.pop("probe_size", None)
        if not settings and not {"others", "similarity", *COMPARE_FLAGS} & dict(pairs).keys():
            raise SettingError("The link of --query has no settings.", "Copy the whole address.")
    return Experiment.parse({**DEFAULTS.get(command, {}), **settings, **options})


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="clsviz", description="Does an encoder write length into its vectors?")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    app = commands.add_parser("app", help="open the dashboard")
    app.add_argument("arguments", nargs="*", help="for streamlit run, after --")
    for name in [*COMMANDS, "report"]:
        function = getattr(api, name.replace("-", "_"))
        summary = (function.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        _add_settings(name, command)
        if name == "compare":
            command.add_argument("--models", metavar="A,B", help="two to six, with commas between")
        if name == "report":
            others = "models to compare with, with commas between"
            command.add_argument("--others", metavar="A,B", help=others)
        if name in ("compare", "report"):
            _add_flags(command, {flag: (str, meaning) for flag, meaning in COMPARE_FLAGS.items()})
        if name == "probe":
            meaning = "compare with random weights, of three seeds"
            command.add_argument("--random-weights", action="store_true", help=meaning)
        if name == "measure":
            command.add_argument("--vectors", type=Path, metavar="FILE", help=VECTORS_HELP)
        if name == "search-test":
            _add_flags(command, SEARCH_FLAGS)
        command.add_argument("--query", metavar="LINK", default=argparse.SUPPRESS, help=LINK_HELP)
        command.add_argument("--store", metavar="DIR", help="the folder of what is measured")
        files: dict[str, Sequence[str]] = {"--output": WRITERS, "--plot": PICTURES}
        if name == "report":
            files = {"--output": PAGES}
        else:
            command.add_argument("--json", action="store_true", help="print the answer as JSON")
        for flag, endings in files.items():
            meaning = " or ".join(endings)
            is_needed = name == "report"
            command.add_argument(flag, type=Path, metavar="FILE", help=meaning, required=is_needed)
    return parser


def _add_settings(name: str, command: argparse.ArgumentParser) -> None:
    """Add a flag for each field of the experiment."""
    for field in fields(Experiment):
        default = DEFAULTS.get(name, {}).get(field.name, field.default)
        meaning = f"by default {'last' if default is None else default or 'the likeliest'}"
        flag = f"--{field.name.replace('_', '-')}"
        if (name, field.name) == ("compare", "corpus"):
            several = f"{meaning}; several times for several"
            command.add_argument(
                flag, action="append", dest="corpora", default=[], metavar="VALUE", help=several
            )
        elif (name, field.name) != ("compare", "model"):
            command.add_argument(flag, default=argparse.SUPPRESS, metavar="VALUE", help=meaning)


def _add_flags(
    command: argparse.ArgumentParser, flags: Mapping[str, tuple[Callable[[str], Any], str]]
) -> None:
    """Add flags of a command: their types, and what they mean."""
    for name, (kind, meaning) in flags.items():
        flag = f"--{name.replace('_', '-')}"
        command.add_argument(
            flag, type=kind, metavar="VALUE", help=meaning, default=argparse.SUPPRESS
        )


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
