"""`clsviz compare`: several models on the same sentences."""

import argparse
import time
from dataclasses import replace

from clsviz import api, measuring, words
from clsviz.cli import arguments, output
from clsviz.settings import Precision


def run(options: argparse.Namespace) -> int:
    """Measure with each model, print, write; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    models = arguments.models_of(options)
    output.check(options.output)
    began = time.monotonic()
    with api.Bar() as bar:
        result = api.compare_models(replace(experiment, model=models[0]), models, measuring.Store(options.store), bar)
    seconds = time.monotonic() - began
    found = result.founds[0]
    reading = words.reading.notes(found.corpus)
    output.print_notes([*reading, *result.notes, *words.differences(made_with, found)])
    if experiment.precision is not Precision.EXACT:
        output.print_notes(["Models are compared in the exact precision, as their vectors are."])
    summary = result.summary()
    output.write(options.output, result.table(), summary)
    if options.json:
        output.print_json(summary | {"seconds": seconds})
    else:
        print(result.question)
        print(result.answer)
    return 0
