"""The commands and their flags: one for each field of Experiment, and a few of their own."""

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn
from urllib.parse import parse_qsl

import clsviz
from clsviz.errors import SettingError
from clsviz.experiment import Experiment, parse_setting
from clsviz.settings import (
    ALTERED_DEFAULT,
    CORPUS_PARAMETER,
    MODEL_PARAMETER,
    MOST_MODELS,
    PAGE_PARAMETERS,
    TEXT_PARAMETER,
    NearDuplicates,
    Pooling,
    SimilarityFunction,
    Unit,
    printable,
)
from clsviz.sources import catalogue, files, models
from clsviz.store import is_url

_HELP = {
    "model": f"one of {', '.join(models.MODELS)}; an id on the Hugging Face Hub, with or without @REVISION; or a local "
    "folder. With “untrained:” in front, its weights are random. `clsviz import` prints the names of imported vectors",
    "corpus": f"one of {', '.join(catalogue.CORPORA)}; a dataset on the Hugging Face Hub, with or without @REVISION; "
    f"or a local file ({', '.join(files.SUFFIXES)})",
    "configuration": "for a Hub dataset that has several, such as languages (default: the dataset's own)",
    "split": "part of a Hub dataset, such as train or test (default: train, or else the first)",
    "column": "of a table or dataset: the one that holds the text (default: the likeliest)",
    "segmentation": "“sentences” splits texts into sentences, “none” leaves them whole, “auto” splits long ones",
    "reading": "of a plain text file: “lines” takes each line for a text, “paragraphs” joins lines that are wrapped, "
    "“auto” finds out which",
    "sample_size": "how many sentences to draw from the corpus, or “all”",
    "seed": "seed of the draw",
    "precision": "“exact” (float32), or “fast” (bfloat16), which reports its error on a few sentences",
    "probe_size": "how many sentences, from the start of the sample, have their vectors measured",
    "length_cutoff": "only sentences with fewer tokens than this are used",
    "layer": "the layer after which the vector is taken: 0 is the embedding output; or “last”",
    "pooling": f"the vector that is looked at: {', '.join(Pooling)}; mean and max take longer",
    "unit": f"what lengths are counted in: {', '.join(Unit)}; the length cutoff is always in tokens",
    "lengths": "“true”, or “shuffled” as a control, which should leave nothing to find",
    "near_duplicates": "“grouped” keeps sentences together that are the same or nearly, in intervals and probes; "
    "“independent” does not",
}

TABLE_SUFFIXES = ".parquet", ".csv", ".md"
"""Of the files that `clsviz compare` writes."""

_IMPORTED = {
    "text": "the column that holds the texts, of FILE or of the file of texts (default: the only one)",
    "vectors": "the column, array or tensor that holds the vectors (default: the only one)",
    "norms": "the one that holds norms, where there are no vectors",
    "tokens": "the one that holds the length of each text in tokens (default: lengths are counted in words)",
    "texts": f"a file of texts, one for each row of FILE: a text on each line, or a table "
    f"({', '.join(files.SUFFIXES)})",
    "name": "what the vectors are called (default: as FILE)",
}


class _Parser(argparse.ArgumentParser):
    """Reports what is wrong with the arguments in one line."""

    def error(self, message: str) -> NoReturn:
        raise SettingError(f"{message}. See: {self.prog} --help")


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command with its options; raises SettingError where they cannot be used.

    Without a command it is the app. Only that has `flags`: what is meant for Streamlit.
    """
    is_installed = Path(sys.argv[0]).stem == "clsviz"
    parser = _Parser(
        prog="clsviz" if is_installed else "python -m clsviz",
        usage="%(prog)s [-h] [COMMAND] ...",
        description="Does an encoder write the length of a sentence into its [CLS] vector? Without a command, the "
        "dashboard starts.",
    )
    parser.set_defaults(command="app")
    parser.add_argument("--version", action="version", version=f"clsviz {clsviz.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog=parser.prog)
    commands.add_parser(
        "app",
        help="start the dashboard",
        description="Start the dashboard. All options go to `streamlit run`, such as --server.port 8502.",
        usage="%(prog)s [-h] [STREAMLIT OPTIONS]",
    )
    for name, (about, add_flags) in _COMMANDS.items():
        add_flags(commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}."))
    options, flags = parser.parse_known_args(words)
    options.command = options.command or "app"
    if flags and options.command != "app":
        parser.error(f"unrecognized arguments: {' '.join(flags)}")
    options.flags = flags
    return options


def _add_measure(command: _Parser) -> None:
    _add_settings(command)
    _add_workers(command)
    command.add_argument(
        "--plot", type=Path, metavar="FILE", help="write the scatter with its line to a .png, .svg or .pdf file"
    )
    _add_output(command, "one row per sentence")


def _add_workers(command: _Parser) -> None:
    """Flags for a corpus that takes more than one process."""
    command.add_argument("--rank", type=_whole, metavar="I", help="be worker I, from 0, of those that --of says")
    command.add_argument("--of", type=_whole, metavar="N", help="how many workers share the sentences; see --rank")
    command.add_argument(
        "--workers", type=_whole, metavar="N", help="measure with N processes on this machine, or N actors of Ray"
    )
    command.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="measure on this machine, or on a Ray cluster, which needs clsviz[ray] (see deploy/ray; default: local)",
    )
    command.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        help="of the cluster: HOST:PORT, or auto (default: $RAY_ADDRESS, or else one of this machine alone)",
    )
    command.add_argument(
        "--dry-run", action="store_true", help="say what it would take, with N workers, and measure nothing"
    )
    command.add_argument(
        "--progress", choices=("bar", "json"), default="bar", help="a bar, or JSON lines, both on stderr (default: bar)"
    )


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise SettingError(f"“{printable(text)}” is not a whole number.")
    return int(text)


def _add_probe(command: _Parser) -> None:
    _add_settings(command)
    command.add_argument(
        "--travel-to", metavar="CORPUS", help="also read the probes on another corpus, named as for --corpus"
    )
    command.add_argument("--erase", action="store_true", help="also erase the length with LEACE, and tell what is left")
    command.add_argument(
        "--random-weights",
        action="store_true",
        help="also measure six untrained models, and tell what probes read from them",
    )
    command.add_argument(
        "--origin",
        metavar="N",
        nargs="?",
        const=str(ALTERED_DEFAULT),
        help=f"also alter the first N sentences (default: {ALTERED_DEFAULT:,}) in five ways, and tell how well probes "
        "predict their length then",
    )
    command.add_argument(
        "--sentlen-file",
        type=Path,
        metavar="FILE",
        help="also classify the sentences of the published SentLen task’s own file, on its own partitions",
    )
    command.add_argument(
        "--sentlen-size",
        metavar="N",
        help="how many sentences of each class are taken of each partition of that file (default: all)",
    )
    _add_output(command, "one row per layer, pooling and readout")


def _add_similarity(command: _Parser) -> None:
    _add_settings(command)
    _add_output(command, "one row per pair of tenths of the sentences by length")


def _add_search_test(command: _Parser) -> None:
    command.add_argument(
        "--titles",
        default="",
        metavar="COLUMN",
        help="titles that search for their texts (default: a column called so)",
    )
    command.add_argument(
        "--searches",
        type=Path,
        metavar="FILE",
        help="a table of query and text, or of query and ids, separated by spaces, of the corpus's column id",
    )
    command.add_argument(
        "--similarity",
        choices=[*map(str, SimilarityFunction)],
        default=str(SimilarityFunction.COSINE),
        help="rank by cosine, or by the dot product of vectors as they are pooled (default: cosine)",
    )
    command.add_argument(
        "--length-power",
        type=lambda text: _number(text, "--length-power", -10, 10),
        metavar="P",
        help="also try scores times tokens^P, beside 0.5 and 0.1",
    )
    command.add_argument(
        "--max-exposure",
        type=lambda text: _number(text, "--max-exposure", 1, 1000),
        metavar="X",
        help="status 1 if the exposure of a fifth is surely above X or below 1/X, such as 1.5",
    )
    _add_settings(command, defaults={"corpus": "python-api", "pooling": "mean"})
    command.add_argument(
        "--plot", type=Path, metavar="FILE", help="write exposure and recall by length to a .png, .svg or .pdf file"
    )
    _add_output(command, "one row per ranking and fifth of the texts by length")


def _number(text: str, flag: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise SettingError(f"{flag} is “{printable(text)}”; it must be a number from {low:g} to {high:g}.")
    return value


def _add_compare(command: _Parser) -> None:
    command.allow_abbrev = False  # or --model would be taken for --models
    command.add_argument("--models", nargs="+", metavar="X", help=f"2 to {MOST_MODELS} models, each {_HELP['model']}")
    command.add_argument(
        "--search",
        nargs="?",
        const="",
        metavar="CORPUS",
        help="also test a search of a corpus, such as python-api (default: of the one compared), as search-test does",
    )
    _add_settings(command, without=("model", "precision", "corpus"))
    command.add_argument(
        "--corpus",
        action="append",
        metavar="X",
        help=f"{_HELP['corpus']}; given several times, all models are compared on each (default: {Experiment.corpus})",
    )
    _add_output(command, "one row per model and corpus", f"{', '.join(TABLE_SUFFIXES[:-1])} or {TABLE_SUFFIXES[-1]}")


def _add_preview(command: _Parser) -> None:
    command.add_argument("corpus", metavar="FILE", help=f"a local file ({', '.join(files.SUFFIXES)})")
    for name in ("column", "segmentation", "reading"):
        command.add_argument(f"--{name}", metavar="X", help=_HELP[name])
    command.add_argument("--json", action="store_true", help="print it as one JSON object")
    _add_store(command)


def _add_import(command: _Parser) -> None:
    command.add_argument("file", metavar="FILE", help=f"a local file ({', '.join(files.VECTOR_SUFFIXES)})")
    for name, about in _IMPORTED.items():
        command.add_argument(f"--{name}", default="", metavar="X", help=about)
    command.add_argument("--json", action="store_true", help="print it as one JSON object")
    _add_store(command)


def _add_warm(command: _Parser) -> None:
    command.add_argument("list", type=Path, metavar="FILE", help="the list, in TOML, such as deploy/showcase.toml")
    _add_store(command)


def _add_settings(
    command: _Parser, without: Iterable[str] = (), defaults: Mapping[str, str] = MappingProxyType({})
) -> None:
    """A flag for each field of Experiment, but for some; defaults: those that differ from its own, for the help."""
    for field in fields(Experiment):
        if field.name in without:
            continue
        default = defaults.get(field.name, "last" if field.name == "layer" else field.default)
        text = _HELP[field.name] + (f" (default: {default})" if default != "" else "")
        command.add_argument(f"--{field.name.replace('_', '-')}", metavar="X", help=text)
    command.add_argument(
        "--independent",
        action="store_const",
        const=NearDuplicates.INDEPENDENT.value,
        dest="near_duplicates",
        help="the same as --near-duplicates independent",
    )
    command.add_argument(
        "--query", metavar="LINK", help="take the settings of a shared link, in quotes; other flags override it"
    )


def _add_output(command: _Parser, rows: str, suffixes: str = ".parquet or .csv") -> None:
    command.add_argument("--output", type=Path, metavar="FILE", help=f"write {rows} to a {suffixes} file")
    command.add_argument("--json", action="store_true", help="print the result as one JSON object")
    command.add_argument(
        "--no-shipped", action="store_true", help="measure here what comes with clsviz, measured on another machine"
    )
    _add_store(command)


def _add_store(command: _Parser) -> None:
    command.add_argument(
        "--store",
        type=_store,
        metavar="DIR",
        help="where measurements are kept: a folder, or s3://bucket/folder (default: $CLSVIZ_STORE, or else the user's "
        "cache)",
    )


def _store(text: str) -> Path | str:
    """A store as a flag names it: shells do not expand the ~ in --store=~/folder."""
    if not text:
        raise SettingError("--store is empty; it must name a folder.")
    return text if is_url(text) else Path(os.path.expanduser(text))


_COMMANDS: dict[str, tuple[str, Callable[[_Parser], None]]] = {
    "measure": ("measure the norm of [CLS] for a sample of sentences, and regress it on their length", _add_measure),
    "probe": ("measure whole vectors, and tell how well they predict the length, layer by layer", _add_probe),
    "similarity": (
        "measure whole vectors, and tell whether length bends a search by cosine similarity",
        _add_similarity,
    ),
    "search-test": (
        "search with queries whose right texts are known, and tell whether some lengths are favoured",
        _add_search_test,
    ),
    "compare": (f"compare 2 to {MOST_MODELS} models on the same sentences", _add_compare),
    "preview": ("show how a file of your own is read, from its beginning", _add_preview),
    "import": ("take vectors or norms that you have already, with their texts", _add_import),
    "warm": ("measure a list of experiments before anybody asks for them", _add_warm),
}
"""What each does, and what adds its flags."""


def experiment_of(options: argparse.Namespace) -> tuple[Experiment, dict[str, str]]:
    """The experiment of the shared link, if any, changed by the flags; and the fingerprints that the link carries."""
    query = _query(options)
    for name in (TEXT_PARAMETER, *PAGE_PARAMETERS):  # what pages keep in a link beside the experiment
        query.pop(name, None)
    made_with = {name: query.pop(name) for name in (MODEL_PARAMETER, CORPUS_PARAMETER) if name in query}
    for field in fields(Experiment):
        if (text := getattr(options, field.name, None)) is not None:
            query[field.name] = text[0] if isinstance(text, list) else text
    return models.as_counted(Experiment.from_query(query)), made_with


def models_of(options: argparse.Namespace) -> list[str]:
    """The models to compare: those of the flag, else of the shared link; raises SettingError where there are none."""
    names = options.models or list(filter(None, _query(options).get("models", "").split(",")))
    if not names:
        raise SettingError(f"--models is missing; it must name 2 to {MOST_MODELS} models.")
    return [parse_setting("model", name) for name in names]


def of_page(options: argparse.Namespace, name: str) -> str:
    """A setting of a single page that the shared link carries, or ""."""
    return _query(options).get(name, "")


def _query(options: argparse.Namespace) -> dict[str, str]:
    """The parameters of the shared link."""
    link = getattr(options, "query", None) or ""
    return dict(parse_qsl(link.partition("#")[0].partition("?")[2] or link, keep_blank_values=True))
