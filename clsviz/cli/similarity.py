"""`clsviz similarity`: whether length bends a search."""

import argparse
import time

from clsviz import api, export, measuring, words
from clsviz.cli import arguments, output
from clsviz.cli.speed import slow_path, speed
from clsviz.measurements import Kind


def run(options: argparse.Namespace) -> int:
    """Measure, compare, print, write; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    output.check(options.output)
    store = measuring.Store(options.store)
    encoders = measuring.Encoders()
    began = time.monotonic()
    with api.Bar() as bar:
        extraction, found = api.extract(experiment, Kind.VECTORS, store, bar, encoders)
        seconds = time.monotonic() - began
        notes = words.reading.notes(found.corpus) + words.notes(extraction.experiment, found)
        output.print_notes([*notes, *words.differences(made_with, found), *slow_path(found)])
        result = api.compare_lengths(found, experiment, store, encoders, bar)
    output.write(options.output, result.table(), export.about(experiment, found))
    if options.json:
        output.print_json(result.summary() | speed(extraction, found, seconds))
    else:
        print(result.question)
        print(result.answer)
    return 0
