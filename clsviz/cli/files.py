"""`clsviz import`, `preview` and `warm`: vectors of one's own, how a file is read, and what is measured beforehand."""

import argparse
import os
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from clsviz import jobs, words
from clsviz.api.inputs import Bar, extract
from clsviz.cli import arguments, output
from clsviz.errors import CorpusError, ModelError, SettingError
from clsviz.experiment import Experiment
from clsviz.jobs import kind_of_norms
from clsviz.measurements import Kind
from clsviz.sources import catalogue, local_files, models, own_vectors
from clsviz.store import Store

_BINS, _WIDTH = 10, 40
"""Rows of the histogram, and characters of its longest bar."""


def import_(options: argparse.Namespace) -> int:
    """Import, print what shows it; the exit status. Raises ClsvizError."""
    path = Path(os.path.expanduser(options.file))
    file = own_vectors.open_vectors(path)
    texts = Path(os.path.expanduser(options.texts)) if options.texts else None
    chosen = file.decided(own_vectors.Chosen(options.text, options.vectors, options.norms, options.tokens, texts))
    store = Store(options.store)
    label = options.name or words.reading.label_of(path.name)
    with Bar() as bar:
        found = jobs.import_rows(file.rows(chosen), file.n_rows(chosen), label, store, bar)
    if options.json:
        output.print_json({"model": found.model, "corpus": found.corpus, "n": found.n, "width": found.width or None})
        return 0
    print(words.reading.imported(found))
    flags = [f"{flag} {shlex.quote(value)}" for flag, value in found.experiment.to_flags().items()]
    if options.store:
        flags.append(f"--store {shlex.quote(str(options.store))}")
    print(f"\nIn numbers:\n  clsviz measure {' '.join(flags)}")
    print(f"\nOn the page, behind its address:\n  ?{urlencode(found.experiment.to_query())}")
    if options.store:
        print(f"once it is started with CLSVIZ_STORE={shlex.quote(str(options.store))}")
    return 0


def preview(options: argparse.Namespace) -> int:
    """Read the beginning, print what it gives; the exit status. Raises ClsvizError."""
    experiment, _ = arguments.experiment_of(options)
    if not catalogue.is_own(experiment.corpus):
        raise SettingError(f"“{output.one_line(experiment.corpus)}” is no file. Name one of your own.")
    found = local_files.preview(experiment.selection, Store(options.store).corpora)
    if options.json:
        corpus = found.corpus
        quantiles = np.quantile(found.n_words, [0, 0.5, 1])
        output.print_json(
            {
                "reading": corpus.selection.reading,
                "segmentation": corpus.selection.segmentation,
                "column": corpus.selection.column or None,
                "columns": list(corpus.columns),
                "width": corpus.width or None,
                "n_left_out": corpus.n_left_out,
                "n_sentences": len(found.sentences),
                "is_whole": found.is_whole,
                "examples": found.examples(),
                "words": dict(zip(("minimum", "median", "maximum"), quantiles, strict=True)),
            }
        )
        return 0
    print(f"{output.one_line(found.corpus.label)}: {words.reading.counted(found)}. {words.reading.how(found.corpus)}")
    print("\nSome of them:")
    for example in found.examples():
        print(f"  {output.one_line(example)[:200]}")
    print("\nWords in a sentence:")
    longest = max(_BINS, int(np.quantile(found.n_words, 0.98)))  # what is longer than nearly all shares the last bar
    edges = np.linspace(1, longest + 1, _BINS + 1).astype(int)
    counts, _ = np.histogram(np.minimum(found.n_words, longest), edges)
    for low, high, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True):
        name = f"{low} to {high - 1}" if high - low > 1 else f"{low}"
        name = f"{low} and more" if high == edges[-1] else name
        print(f"  {name:>12} {'█' * round(_WIDTH * count / max(1, counts.max()))} {count:,}")
    print("\n--reading, --segmentation and --column read it otherwise; `measure` takes them too.")
    return 0


def warm(options: argparse.Namespace) -> int:
    """Measure what the store lacks of the list, a line for each experiment; the exit status. Raises ClsvizError.

    What needs the Hugging Face Hub is skipped where it cannot be had, so that a server without a network starts too.
    """
    store = Store(options.store, shipped=jobs.SHOWCASE)
    encoders = jobs.Encoders(1)
    for wanted in read_wanted(options.list):
        experiment = wanted.experiment
        try:
            with Bar() as bar:
                extraction, found = extract(experiment, wanted.kind, store, bar, encoders)
        except (ModelError, CorpusError) as error:
            if not wanted.needs_hub:
                raise
            name = f"{models.label(experiment.model)} on {catalogue.label(experiment.corpus)}"
            output.print_notes([f"Skipped {name}. {error}"])
            continue
        was_there = "" if extraction.sentences_per_second else ", already there"
        name = f"{found.weights.label} on {found.corpus.label}"
        print(output.one_line(f"{name}: {wanted.kind} of {found.n_measured:,} sentences{was_there}"))
    return 0


@dataclass(frozen=True)
class Wanted:
    """One experiment of the list, and what is measured of its sentences."""

    experiment: Experiment
    kind: Kind

    @property
    def needs_hub(self) -> bool:
        """Whether its model or its corpus is on the Hugging Face Hub."""
        return bool(models.Name.parse(self.experiment.model).repo) or catalogue.is_on_hub(self.experiment.corpus)


def read_wanted(path: Path) -> list[Wanted]:
    """The experiments that a file in TOML lists; raises SettingError where it cannot be read or used.

    [[experiment]]
    model = "bert-base-uncased"     settings are called and written as in a link; what is left out has its default
    kind = "vectors"                what is measured of each sentence: norms, unless it says vectors
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}. Name a file in TOML.") from error
    except ValueError as error:
        raise SettingError(f"{path} is not TOML: {error}.") from error
    tables = content.pop("experiment", [])
    is_list = isinstance(tables, list) and all(isinstance(table, dict) for table in tables)
    if content or not is_list or not tables:
        raise SettingError(f"{path} lists no experiments. Begin each with [[experiment]], and write nothing else.")
    wanted = []
    for number, table in enumerate(tables, 1):
        settings = {name: str(value) for name, value in table.items()}
        try:
            kind = settings.pop("kind", "")
            if kind and kind not in list(Kind):
                raise SettingError(f"kind is “{kind}”; it must be {' or '.join(Kind)}.")
            experiment = Experiment.from_query(settings)
            wanted.append(Wanted(experiment, Kind(kind) if kind else kind_of_norms(experiment)))
        except SettingError as error:
            raise SettingError(f"Experiment {number} of {path}: {error}") from error
    return wanted
