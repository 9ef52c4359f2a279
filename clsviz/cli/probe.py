"""`clsviz probe`: how well vectors predict the length, layer by layer."""

import argparse
import time

from clsviz import analysis, api, export, measuring, words
from clsviz.cli import arguments, output
from clsviz.cli.speed import slow_path, speed
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment, parse_setting
from clsviz.measurements import Kind


def run(options: argparse.Namespace) -> int:
    """Measure, probe, print, write; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    output.check(options.output)
    began = time.monotonic()
    with api.Bar() as bar:
        extraction, found = api.extract(experiment, Kind.VECTORS, measuring.Store(options.store), bar)
        seconds = time.monotonic() - began
        notes = words.reading.notes(found.corpus) + words.notes(extraction.experiment, found)
        output.print_notes([*notes, *words.differences(made_with, found), *slow_path(found)])
        result = api.ProbeResult(experiment, found, api.read_lengths(found, experiment, bar))
        said, numbers = _beyond(options, experiment, found, bar)
    output.write(options.output, result.table(), export.about(experiment, found))
    if options.json:
        output.print_json(result.summary() | numbers | speed(extraction, found, seconds))
    else:
        print(result.question)
        print(result.answer)
        for paragraph in [*result.details, *said]:
            print(paragraph)
    return 0


def _beyond(
    options: argparse.Namespace, experiment: Experiment, found: "measuring.Found", bar: "api.Bar"
) -> tuple[list[str], dict[str, object]]:
    """What was asked for beside the readings, in words and as keys of the JSON object."""
    said: list[str] = []
    numbers: dict[str, object] = {}
    if options.erase or arguments.of_page(options, "erase") == "yes":
        try:
            erasure = api.erase_length(found, experiment, bar)
            said.append(words.probing.erased(erasure))
            numbers["erasure"] = analysis.probing.erasure_summary(erasure)
        except UndefinedFitError as error:
            said.append(str(error))
            numbers |= {"erasure": None, "erasure_problem": str(error)}
    if name := options.travel_to or arguments.of_page(options, "travel_to"):
        corpus = parse_setting("corpus", name)
        travel, there = api.read_elsewhere(found, experiment, corpus, measuring.Store(options.store), bar)
        said.append(words.probing.travelled(travel, found.corpus.label, there.corpus.label, experiment.unit))
        numbers["travel"] = analysis.probing.travel_summary(travel, there)
    if text := options.origin or arguments.of_page(options, "origin"):
        n = int(text) if text.isdecimal() else 0
        origin = api.read_altered(found, experiment, n, measuring.Store(options.store), bar)
        said += [words.origin.answer(origin), words.origin.note(origin), *origin.problems.values()]
        numbers["origin"] = analysis.origin.summary(origin)
    return said, numbers
