"""`clsviz measure`: norms of [CLS], and their regression on length."""

import argparse
import time

from clsviz import api, measuring, words
from clsviz.cli import arguments, on_ray, output, work
from clsviz.cli.speed import slow_path, speed
from clsviz.errors import SettingError
from clsviz.measurements import Kind
from clsviz.settings import Pooling
from clsviz.store.results import ResultCache


def run(options: argparse.Namespace) -> int:
    """Measure, print, write; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    if experiment.pooling in (Pooling.MEAN, Pooling.MAX):
        raise SettingError(
            f"pooling is {experiment.pooling}, which only the commands probe and similarity have. Here it can be cls "
            "or pooler."
        )
    output.check(options.output)
    began = time.monotonic()
    store = measuring.Store(options.store)
    if options.dry_run:
        return work.dry_run(experiment, store, options.workers or options.of or 1, options)
    if options.rank is not None or options.of is not None:
        if options.engine == "ray":
            raise SettingError("--engine ray shares the sentences out by itself. Leave out --rank and --of.")
        return work.share(experiment, store, _share(options), options)
    if options.engine == "ray":
        with work.progress(options) as bar:
            on_ray.measure_on_ray(experiment, store.address, options.ray_address, options.workers, progress=bar)
    elif options.ray_address is not None:
        raise SettingError("--ray-address goes with --engine ray.")
    elif options.workers is not None:
        work.workers_here(experiment, options.workers, options)
    with work.progress(options) as bar:
        extraction, found = api.extract(experiment, Kind.NORMS, store, bar)
    seconds = time.monotonic() - began
    result = api.NormResult(experiment, found, ResultCache(store.results))
    output.print_notes(
        [*words.reading.notes(found.corpus), *result.notes, *words.differences(made_with, found), *slow_path(found)]
    )
    summary = result.summary() if options.output or options.json else {}  # it takes a second
    if options.output:
        output.write(options.output, result.table(), summary)
    if options.json:
        output.print_json(summary | speed(extraction, found, seconds))
    else:
        print(words.question(experiment))
        print(result.answer)
        if result.in_numbers:
            print(result.in_numbers)
    return 0


def _share(options: argparse.Namespace) -> "measuring.Share":
    if options.rank is None or options.of is None:
        raise SettingError("--rank and --of go together: which worker this is, and of how many.")
    if options.workers is not None:
        raise SettingError("--workers starts all workers on this machine, and --rank is one of them. Leave out one.")
    return measuring.Share(options.rank, options.of)
