"""`clsviz probe`: how well vectors predict the length, layer by layer."""

import argparse
import time

from clsviz import analysis, api, corpora, export, measuring, words
from clsviz.cli import arguments, output
from clsviz.cli.speed import slow_path, speed
from clsviz.errors import SettingError, UndefinedFitError
from clsviz.experiment import Experiment, parse_setting
from clsviz.measurements import Kind
from clsviz.settings import shown


def run(options: argparse.Namespace) -> int:
    """Measure, probe, print, write; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    output.check(options.output)
    task = _task(options)
    began = time.monotonic()
    with api.Bar() as bar:
        extraction, found = api.extract(experiment, Kind.VECTORS, measuring.Store(options.store), bar)
        seconds = time.monotonic() - began
        notes = words.reading.notes(found.corpus) + words.notes(extraction.experiment, found)
        output.print_notes([*notes, *words.differences(made_with, found), *slow_path(found)])
        result = api.ProbeResult(experiment, found, api.read_lengths(found, experiment, bar))
        said, numbers = _beyond(options, experiment, found, task, bar)
    output.write(options.output, result.table(), export.about(experiment, found))
    if options.json:
        output.print_json(result.summary() | numbers | speed(extraction, found, seconds))
    else:
        print(result.question)
        print(result.answer)
        for paragraph in [*result.details, *said]:
            print(paragraph)
    return 0


def _task(options: argparse.Namespace) -> "corpora.TaskFile | None":
    """The file of the published task, if one is named; read before anything is measured. Raises ClsvizError."""
    if options.sentlen_file is None:
        return None
    size = options.sentlen_size
    if size is not None and not size.isdecimal():
        raise SettingError(f"sentlen_size is “{shown(size)}”; it must be a whole number.")
    return api.open_task(options.sentlen_file, None if size is None else int(size))


def _beyond(
    options: argparse.Namespace,
    experiment: Experiment,
    found: "measuring.Found",
    task: "corpora.TaskFile | None",
    bar: "api.Bar",
) -> tuple[list[str], dict[str, object]]:
    """What was asked for beside the readings, in words and as keys of the JSON object."""
    said: list[str] = []
    numbers: dict[str, object] = {}
    if options.erase or arguments.of_page(options, "erase") == "yes":
        try:
            erasure = api.erase_length(found, experiment, bar)
            said.append(words.probing.erased(erasure))
            numbers["erasure"] = analysis.probes.erasure_summary(erasure)
        except UndefinedFitError as error:
            said.append(str(error))
            numbers |= {"erasure": None, "erasure_problem": str(error)}
    if name := options.travel_to or arguments.of_page(options, "travel_to"):
        corpus = parse_setting("corpus", name)
        travel, there = api.read_elsewhere(found, experiment, corpus, measuring.Store(options.store), bar)
        said.append(words.probing.travelled(travel, found.corpus.label, there.corpus.label, experiment.unit))
        numbers["travel"] = analysis.probes.travel_summary(travel, there)
    if text := options.origin or arguments.of_page(options, "origin"):
        n = int(text) if text.isdecimal() else 0
        origin = api.read_altered(found, experiment, n, measuring.Store(options.store), bar)
        said += [words.origin.answer(origin), words.origin.note(origin), *origin.problems.values()]
        numbers["origin"] = analysis.probes.origin_summary(origin)
    if task is not None:
        store = measuring.Store(options.store)
        encoders = measuring.Encoders()
        output.print_notes([f"{task.name}: {api.cost_of_task(task, found, experiment, store, encoders)}."])
        published = api.classify_task(task, found, experiment, store, encoders, bar)
        said += [words.sentlen.of_file(published), *words.sentlen.file_caveats(published), words.sentlen.CLASSIFIER]
        numbers["sentlen_file"] = analysis.probes.published_summary(published)
    return said, numbers
