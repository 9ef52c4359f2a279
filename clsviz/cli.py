"""The command line: the Python interface, with flags.

Status: 0; 1 where a limit, such as --max-exposure, is exceeded, and nowhere else; 2 where the user
can fix the error, which is one line; 3 for an error of ours, with its traceback.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import parse_qsl, urlsplit

from clsviz import api, limits, questions
from clsviz.errors import ClsvizError, SettingError, printable, quote
from clsviz.files import replacing
from clsviz.numbers import number
from clsviz.progress import silent
from clsviz.results.provenance import VERSION
from clsviz.results.result import PICTURES, WRITERS, Result, check_ending
from clsviz.settings import OF_EXPERIMENT, SETTINGS, STANDS_FOR, Experiment, Setting, settings_of

CHECKOUT, INSTALLED = Path(__file__).parents[1], Path(__file__).with_name("dashboard")

APP: Final = (INSTALLED if INSTALLED.exists() else CHECKOUT) / "app.py"

EXAMPLES: Final = """examples:
  clsviz search-test --corpus articles.csv --titles headline    does length bend my search?
  clsviz chunk-test --corpus book.txt                           how long may a chunk be?
  clsviz measure --model owner/name --plot norms.svg            does the norm follow length?
"""

NOT_COMPARED: Final = {"model", "models", "vectors", "query_vectors", "encode", "name", "corpora"}
"""Keywords that do not tell rows of a history apart: the model is what changes between them."""

COMMANDS: Final[dict[str, Callable[..., Result | str]]] = {
    name: getattr(api, question.function) for name, question in questions.COMMANDS.items()
}


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
    is_json, is_history = options.pop("json", False), options.pop("append", False)
    most = options.pop("max_change", None)
    if (is_history or most is not None) and (output is None or output.suffix != ".csv"):
        raise SettingError("A row is kept in a .csv file.", "Set --output history.csv --append.")
    if most is not None and not (is_history and most >= 0):
        raise SettingError("max_change compares with the last row.", "Set --append and 0 or more.")
    keywords = _keywords(name, options)
    for path, endings in ((output, _endings(name)), (plot, PICTURES)):
        if path is not None:
            _check_place(path)
            check_ending(path, endings)
    if "store" in keywords:
        _check_place(keywords["store"] / "a file")
    if name == "report":
        keywords["is_card"] = output.suffix == ".md"
    progress = _show_progress if sys.stderr.isatty() else silent
    with redirect_stdout(sys.stderr):  # a user's function may print
        answer = COMMANDS[name](**keywords, progress=progress)
    if isinstance(answer, str):
        with replacing(output) as file:
            file.write(answer.encode())
        print_text(str(output))
        return 0
    if is_history:
        answer = _append(answer, name, _written(name, keywords), output, most)
    elif output is not None:
        answer.write(output)
    if plot is not None:
        answer.save_plot(plot)
    write = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    print_text(write(answer.json()) if is_json else answer.text())
    return 1 if answer.details.get("exceeded") or answer.details.get("changed") else 0


def _written(command: str, keywords: dict[str, Any]) -> str:
    """The settings of a call besides defaults, the corpus, limits, and the model or its vectors."""
    usual = {key: row.default for key, row in settings_of(command).items()}
    usual |= questions.COMMANDS[command].defaults
    names = {
        key for key in (keywords.keys() & usual.keys()) - NOT_COMPARED if not key.startswith("max_")
    }
    changed = {key: keywords[key] for key in names if keywords[key] != usual[key]}
    return json.dumps(changed, ensure_ascii=False, default=str, sort_keys=True)


def _append(result: Result, command: str, settings: str, path: Path, most: float | None) -> Result:
    """Add a row of key numbers to a .csv; the result says which have changed by over most.

    The last row of the command, corpus and settings is compared: shares by points, others by share.
    """
    import pandas as pd

    facts = [fact for fact in result.facts if not fact.is_quiet and fact.form != "count"]
    name = result.corpus.name if result.corpus else result.about.get("corpus", "")
    row = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "command": command}
    row |= {key: str(result.about.get(key, "")) for key in ("model", "model_fingerprint")}
    row |= {"corpus": name, "settings": settings} | {fact.key: repr(fact.value) for fact in facts}
    new = pd.DataFrame([row])
    try:
        is_there = path.exists() and path.stat().st_size > 0
        rows = pd.read_csv(path, dtype=str, keep_default_na=False) if is_there else new[:0]
        is_same = (rows["command"] == command) & (rows["corpus"] == name)
    except (ValueError, LookupError, OSError) as error:
        reason = f"{quote(path.name)} holds no rows of earlier runs ({quote(error)})."
        raise SettingError(reason, "Name another file.") from None
    same = rows[is_same & (rows.get("settings") == settings)]
    last, changed = same.iloc[-1:].apply(pd.to_numeric, errors="coerce"), dict[str, list[float]]()
    for fact in facts if most is not None and len(last) else ():
        before = float(last[fact.key].iloc[0]) if fact.key in last else math.nan
        value = math.nan if fact.value is None else fact.value
        unit = 1 if fact.form in ("percent", "points") else abs(before)
        is_new = math.isnan(before) != math.isnan(value)
        if is_new or abs(value - before) > (most or 0) * unit:  # undefined before, or now, counts
            changed[fact.key] = [before, value]
    with replacing(path) as file:
        pd.concat([rows, new]).to_csv(file, index=False, lineterminator="\n")
    moves = [f"{key} was {number(a)}, and is {number(b)}." for key, (a, b) in changed.items()]
    first = f"{quote(path.name)} has no earlier row of this command, corpus and settings."
    return replace(
        result,
        details={**result.details, "changed": changed},
        caveats=(*[first] * (most is not None and same.empty), *moves, *result.caveats),
    )


def _keywords(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call: those of flags, which come first, and of a link."""
    question, is_linked = questions.COMMANDS[name], "query" in options
    in_link = _pairs(options.pop("query", ""))
    pairs = [pair for pair in in_link if pair[0] in (*question.settings, "others")]
    if is_linked and not pairs:
        raise SettingError("The link of --query has no settings.", "Copy the whole address.")
    others = [one for key, text in pairs if key == "others" for one in names(text)]
    texts = {key: str(value) for key, value in question.defaults.items()}
    keywords: dict[str, Any] = {}
    for key, text in pairs:
        row = SETTINGS[key]
        if row.keyword(name) in OF_EXPERIMENT:
            texts[row.keyword(name)] = text
        elif key != "others":
            keywords[row.keyword(name)] = value = row.parse(text)
            row.check(value)
    own = {key: options.pop(key) for key in OF_EXPERIMENT if key in options}
    for key in own.keys() & {"query_prompt", "text_prompt"}:
        own[key] = own[key] or SETTINGS[key].write("")  # an empty one means none
    texts |= own
    if "encode" in options:
        options |= functions_of(name, options.pop("encode"), options.pop("name", ""))
    elif "name" in options:
        raise SettingError("name is of a function.", "Give encode, too.")
    keywords = {**asdict(Experiment.parse(texts)), **keywords, **options}
    if name == "report":
        keywords.setdefault("others", others)
    if name == "compare":
        linked = [keywords["model"], *others]
        keywords.setdefault("models", linked if is_linked or not keywords.get("encode") else [])
        del keywords["model"]
    return keywords


def functions_of(question: str, text: str, name: str) -> dict[str, Any]:
    """The keywords of module:function[:query_function]; raises SettingError."""
    module, *names = text.split(":")
    if not 1 <= len(names) <= 2 - (question in ("compare", "probe")):
        remedy = "Write module:function, or, to search, module:function:query_function."
        raise SettingError(f"encode is {quote(text)}.", remedy)
    if limits.is_public():
        raise SettingError("A public server runs no functions.", "Run clsviz on your own machine.")
    sys.path.insert(0, os.getcwd())  # where the user's module is
    try:
        functions = [getattr(import_module(module), function) for function in names]
    except (Exception, SystemExit) as error:  # the module is the user's
        reason = f"encode is {quote(text)}: {type(error).__name__} {quote(error)}."
        raise SettingError(reason, "Name a function of a module in this folder.") from error
    if question == "compare":
        return {"encode": {name or text: functions[0]}}
    return {"name": name, **dict(zip(("encode", "encode_query"), functions, strict=False))}


def names(text: str) -> list[str]:
    """Names with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


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
    return (".html", ".md") if name == "report" else WRITERS


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="clsviz",
        description="Does an encoder write length into its vectors?",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"clsviz {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    app = commands.add_parser("app", help="open the dashboard")
    app.add_argument("arguments", nargs="*", help="for streamlit run, after --")
    for name, function in COMMANDS.items():
        summary = (function.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        rows = settings_of(name)
        for keyword, row in rows.items():
            if keyword not in STANDS_FOR.values() or name != "compare":
                default = questions.COMMANDS[name].defaults.get(keyword, row.default)
                _add_setting(command, keyword, row, default)
        for unheeded in set(OF_EXPERIMENT) - set(rows):  # it is refused, with a reason
            _add(command, unheeded, str, argparse.SUPPRESS)
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
            _add(command, "append", bool, "add a row of key numbers to the .csv of --output")
            meaning = "status 1 if one has changed by more since the last row: shares by points"
            _add(command, "max_change", float, f"{meaning}, others by a share of themselves")
    return parser


def _add_setting(
    command: argparse.ArgumentParser, keyword: str, row: Setting, default: Any
) -> None:
    """Add the flag of a setting; those of an experiment are read together, with a link's."""
    parts = [f"{row.label}." * bool(row.label), row.help]
    parts.append(f"One of {', '.join(row.values)}." * bool(row.values))
    if row.ends:
        parts.append("From {:,} to {:,}.".format(*row.ends))
    text = row.write(default)
    parts.append(f"By default {text}." * (text not in ("", "None", "()", "false")))
    help_text = " ".join(filter(None, parts))
    if keyword == "corpora":
        _add(command, "corpus", str, help_text, action="append", dest=keyword)
    else:
        kind = str if keyword in OF_EXPERIMENT else names if row.kind is list else row.kind
        _add(command, keyword, kind, help_text)


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
