"""The same jobs without a browser: python -m clsviz measure, and probe."""

import argparse
import io
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import parse_qsl

from tqdm import tqdm

from clsviz import analysis, corpora, export, measuring, models, statistics, words
from clsviz.atomic import new_file
from clsviz.corpora import formats
from clsviz.errors import ClsvizError, SettingError
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import CORPUS_PARAMETER, MODEL_PARAMETER, PAGE_PARAMETERS, TEXT_PARAMETER, Pooling, Unit, printable

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.measuring import Extraction, Found


_HELP = {
    "model": f"one of {', '.join(models.MODELS)}; an id of the Hugging Face Hub, with or without @REVISION; or a local "
    "folder. With “untrained:” before it random weights take the place of its own",
    "corpus": f"one of {', '.join(corpora.CORPORA)}; a dataset of the Hugging Face Hub, with or without @REVISION; or "
    f"a local file ({', '.join(formats.SUFFIXES)})",
    "configuration": "of a dataset of the Hub that holds several, such as languages (default: what it declares)",
    "split": "part of a dataset of the Hub, such as train or test (default: train, or the first)",
    "column": "of a table or a dataset, which holds the text (default: the likeliest)",
    "segmentation": "sentences cuts texts into sentences, none takes them as they are, auto cuts where they are long",
    "sample_size": "sentences to draw from the corpus",
    "seed": "of the draw",
    "precision": "exact (float32), or fast (bfloat16), with its error measured on a few sentences",
    "probe_size": "sentences, the first of the sample, whose vectors are measured by the command probe",
    "length_cutoff": "only sentences of fewer tokens enter the regression",
    "layer": "layer after which the norm is taken: 0 is the embedding output, or “last”",
    "pooling": f"vector whose norm it is: {', '.join(Pooling)}; mean and max are of the command probe alone",
    "unit": f"in what lengths are counted: {', '.join(Unit)}; the length cutoff is in tokens always",
    "lengths": "true, or shuffled as a control: then nothing can be left of what was found",
}


INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 2 where the user can mend what went wrong."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # one that cannot write every character shows its code
            stream.reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args(arguments)
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except ClsvizError as error:
        print(f"clsviz: {_one_line(str(error))}", file=sys.stderr)
        return 2
    except OSError as error:  # the files of the work have said what is wrong with them: this is the output
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (what is left in the old one cannot be written either)
        print(f"clsviz: The result cannot be printed: {error.strerror}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("clsviz: Stopped. The same command goes on from here.", file=sys.stderr)
        return INTERRUPTED


def _one_line(text: str) -> str:
    """`text` as one line that cannot move the cursor of a terminal."""
    return printable(" ".join(text.split()))


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        raise SettingError(f"{message}. See: {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m clsviz", description="Does an encoder write the length of a sentence into its [CLS]?"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_command(
        commands,
        "measure",
        "measure the norm of [CLS] of a sample of sentences, and regress it on their length",
        "write a row a sentence to a .parquet or .csv file",
        _measure,
    )
    _add_command(
        commands,
        "probe",
        "measure vectors of the first sentences of a sample, and tell how well length can be read from them, by layer",
        "write a row a reading to a .parquet or .csv file",
        _probe,
    )
    return parser


def _add_command(
    commands: "argparse._SubParsersAction[_Parser]",
    name: str,
    about: str,
    output: str,
    run: Callable[[argparse.Namespace], int],
) -> None:
    """A command with a flag a setting."""
    command = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    command.set_defaults(run=run)
    for field in fields(Experiment):
        default = "last" if field.name == "layer" else field.default
        text = _HELP[field.name] + (f" (default: {default})" if default != "" else "")
        command.add_argument(f"--{field.name.replace('_', '-')}", metavar="X", help=text)
    command.add_argument(
        "--query",
        metavar="LINK",
        help="settings of a shared link, in quotes; options take precedence",
    )
    command.add_argument("--output", type=Path, metavar="FILE", help=output)
    command.add_argument("--json", action="store_true", help="print the result as one JSON object")
    command.add_argument(
        "--store",
        type=_folder,
        metavar="DIR",
        help="where measurements are kept (default: where CLSVIZ_STORE says, else the user's cache)",
    )


def _folder(text: str) -> Path:
    """A folder as a flag names it: shells do not expand the ~ in --store=~/folder."""
    if not text:
        raise SettingError("--store is empty; it must name a folder.")
    return Path(os.path.expanduser(text))


def _measure(options: argparse.Namespace) -> int:
    experiment, made_with = _experiment(options)
    if experiment.pooling in (Pooling.MEAN, Pooling.MAX):
        raise SettingError(
            f"pooling is {experiment.pooling}, which the command probe has. Here it can be cls or pooler."
        )
    extraction, found, seconds = _run(options, experiment, made_with, Kind.NORMS)

    shown = analysis.view(found, experiment)
    result = export.summary(experiment, found, shown)
    if options.output:
        _write(options.output, export.table(found.sentences, found.measurements), result)
    if options.json:
        _print_json(result, extraction, found, seconds)
    else:
        print(words.question(experiment))
        print(words.result(shown, experiment, len(found.sentences)))
    return 0


def _probe(options: argparse.Namespace) -> int:
    experiment, made_with = _experiment(options)
    extraction, found, seconds = _run(options, experiment, made_with, Kind.VECTORS)

    analysis.check_layer(experiment, found.vectors.n_layers)
    analysis.check_pooling(experiment, found.vectors)
    with _Bar() as bar:
        bar.begin("Reading the lengths", len(statistics.steps(found.vectors.n_layers, found.vectors.has_pooler)))
        for profile in analysis.vectors.profiles(found, experiment):
            bar.advance(len(profile.readings))
    result = export.about(experiment, found)
    if options.output:
        _write(options.output, profile.table(), result)
    if options.json:
        _print_json(result | analysis.vectors.summary(found, experiment, profile), extraction, found, seconds)
    else:
        print(f"Where does {found.weights.label} write the length of a sentence?")
        print(words.profile.paragraph(profile, found.weights.label, experiment.unit))
    return 0


def _run(
    options: argparse.Namespace, experiment: Experiment, made_with: dict[str, str], kind: Kind
) -> tuple["measuring.Extraction", "Found", float]:
    """Measure, and say what is to be known of it; gives also the seconds that it took."""
    _check_output(options.output)
    # What takes long to import comes after what can be wrong with the arguments.

    began = time.monotonic()
    extraction = measuring.Extraction(experiment, measuring.Store(options.store), measuring.Encoders(), kind=kind)
    with _Bar() as bar:
        weights = models.fetch(experiment.model, bar)
        if weights.n_layers is not None:
            analysis.check_layer(experiment, weights.n_layers)  # before any work
        found = extraction.run(bar)
    for note in words.notes(extraction.experiment, found) + words.differences(made_with, found):
        print(f"clsviz: {_one_line(note)}", file=sys.stderr)
    if found.slower_because:
        print(f"clsviz: Not measured in the fastest way: {_one_line(found.slower_because)}.", file=sys.stderr)
    return extraction, found, time.monotonic() - began


def _write(path: Path, table: "pd.DataFrame", about: Mapping[str, object]) -> None:

    content = export.to_csv(table) if path.suffix == ".csv" else export.to_parquet(table, about)
    with new_file(path) as temporary:
        temporary.write_bytes(content)


def _print_json(result: dict[str, object], extraction: "Extraction", found: "Found", seconds: float) -> None:
    speed = {
        "seconds": seconds,
        "sentences_per_second": extraction.sentences_per_second,
        "slower_because": found.slower_because or None,
    }
    print(json.dumps(result | speed, ensure_ascii=False, allow_nan=False))


def _experiment(options: argparse.Namespace) -> tuple[Experiment, dict[str, str]]:
    """The experiment of the shared link, if any, changed by the flags; and with what the link was made."""
    link = options.query or ""
    query = dict(parse_qsl(link.partition("#")[0].partition("?")[2] or link, keep_blank_values=True))
    for name in (TEXT_PARAMETER, *PAGE_PARAMETERS):  # what a page has beside the experiment, such as typed sentences
        query.pop(name, None)
    made_with = {name: query.pop(name) for name in (MODEL_PARAMETER, CORPUS_PARAMETER) if name in query}
    for field in fields(Experiment):
        if (text := getattr(options, field.name)) is not None:
            query[field.name] = text
    return Experiment.from_query(query), made_with


def _check_output(path: Path | None) -> None:
    """Raise SettingError, before any work, where the output could not be written after it."""
    if path is None:
        return
    if len(os.fsencode(path.name)) > 200:
        raise SettingError("--output has a name of over 200 bytes. Name a shorter one.")
    if path.suffix not in (".csv", ".parquet"):
        raise SettingError(f"--output {path} must end in .parquet or .csv.")
    if os.path.isdir(path) or not os.path.isdir(path.parent) or not os.access(path.parent, os.W_OK):
        raise SettingError(f"--output {path} cannot be written. Name a file in a folder that exists and is yours.")


class _Bar(Progress):
    """Progress as a bar on stderr."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: tqdm[NoReturn] | None = None

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, kind: object = None, *_: object) -> None:
        if kind is not None:
            self.cancel()  # what goes on in other threads
        if self._bar is not None:
            self._bar.close()

    def begin(self, stage: str, total: int = 0, done: int = 0, unit: str = "") -> None:
        super().begin(stage, total, done, unit)
        self.__exit__()
        # Only what takes long enough to wonder about it shows.
        self._bar = tqdm(desc=stage, total=total, initial=done, unit=unit, delay=1, leave=False) if total else None

    def advance(self, done: int) -> None:
        super().advance(done)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
