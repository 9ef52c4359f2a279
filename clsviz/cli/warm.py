"""`clsviz warm`: measure a list of experiments before anybody asks for them."""

import argparse

from clsviz import api, corpora, measuring, models
from clsviz.cli import output
from clsviz.errors import CorpusError, ModelError


def run(options: argparse.Namespace) -> int:
    """Measure what the store lacks of the list, a line for each experiment; the exit status. Raises ClsvizError.

    What needs the Hugging Face Hub is skipped where it cannot be had, so that a server without a network starts too.
    """
    store = measuring.Store(options.store, shipped=measuring.SHOWCASE)
    encoders = measuring.Encoders(1)
    for wanted in measuring.read_wanted(options.list):
        experiment = wanted.experiment
        try:
            with api.Bar() as bar:
                extraction, found = api.extract(experiment, wanted.kind, store, bar, encoders)
        except (ModelError, CorpusError) as error:
            if not wanted.needs_hub:
                raise
            name = f"{models.label(experiment.model)} on {corpora.label(experiment.corpus)}"
            output.print_notes([f"Skipped {name}. {error}"])
            continue
        was_there = "" if extraction.sentences_per_second else ", already there"
        name = f"{found.weights.label} on {found.corpus.label}"
        print(output.one_line(f"{name}: {wanted.kind} of {found.n_measured:,} sentences{was_there}"))
    return 0
