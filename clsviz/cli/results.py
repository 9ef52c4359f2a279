"""`clsviz measure`, `probe`, `similarity` and `compare`: measure, print and write a result."""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace

from clsviz import analysis, export, jobs, words
from clsviz.api.comparison import compare_models
from clsviz.api.inputs import Bar, extract
from clsviz.api.norms import NormResult
from clsviz.api.probes import (
    ProbeResult,
    classify_task,
    cost_of_task,
    erase_length,
    open_task,
    read_altered,
    read_elsewhere,
    read_lengths,
    read_untrained,
)
from clsviz.api.similarity import compare_lengths
from clsviz.cli import arguments, output, workers
from clsviz.errors import SettingError, UndefinedFitError
from clsviz.experiment import parse_setting
from clsviz.jobs import Extraction, Found
from clsviz.measurements import Kind
from clsviz.settings import Pooling, Precision, shown
from clsviz.sources import published_task
from clsviz.store import Store
from clsviz.store.results import ResultCache


def measure(options: argparse.Namespace) -> int:
    """Measure norms and regress them on length; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    if experiment.pooling in (Pooling.MEAN, Pooling.MAX):
        raise SettingError(
            f"pooling is {experiment.pooling}, which only the commands probe and similarity have. Here it can be cls "
            "or pooler."
        )
    output.check(options.output)
    output.check(options.plot, "--plot", (".png", ".svg", ".pdf"))
    began = time.monotonic()
    store = Store(options.store)
    if options.dry_run:
        return workers.dry_run(experiment, store, options)
    if options.rank is not None or options.of is not None:
        return workers.measure_share(experiment, store, options)
    workers.measure_in_parallel(experiment, store, options)
    with output.progress(options) as bar:
        extraction, found = extract(experiment, Kind.NORMS, store, bar)
    seconds = time.monotonic() - began
    result = NormResult(experiment, found, ResultCache(store.results))
    _print_notes(found, result.notes, made_with)
    summary = result.summary() if options.output or options.json else {}  # it takes a second
    if options.output:
        output.write(options.output, result.table(), summary)
    if options.plot:
        output.write_plot(options.plot, result)
    if options.json:
        output.print_json(summary | _speed(extraction, found, seconds))
    else:
        print(words.question(experiment), result.answer, sep="\n")
        if result.in_numbers:
            print(result.in_numbers)
    return 0


def probe(options: argparse.Namespace) -> int:
    """Measure vectors, and tell how well they predict the length by layer; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    output.check(options.output)
    size = options.sentlen_size
    if options.sentlen_file is not None and size is not None and not size.isdecimal():
        raise SettingError(f"sentlen_size is “{shown(size)}”; it must be a whole number.")
    task = options.sentlen_file and open_task(options.sentlen_file, None if size is None else int(size))
    store, began = Store(options.store), time.monotonic()
    with Bar() as bar:
        extraction, found = extract(experiment, Kind.VECTORS, store, bar)
        seconds = time.monotonic() - began
        _print_notes(found, words.notes(extraction.experiment, found), made_with)
        result = ProbeResult(experiment, found, read_lengths(found, experiment, bar))
        paragraphs, numbers = _more_probes(options, result, task, store, bar)
    if options.output:
        output.write(options.output, result.table(), export.about(experiment, found))
    if options.json:
        output.print_json(result.summary() | numbers | _speed(extraction, found, seconds))
    else:
        print(result.question, result.answer, *result.details, *paragraphs, sep="\n")
    return 0


def _more_probes(
    options: argparse.Namespace, result: ProbeResult, task: "published_task.TaskFile | None", store: Store, bar: Bar
) -> tuple[list[str], dict[str, object]]:
    """What was asked for beside the readings, as paragraphs and as keys of the JSON object."""
    experiment, found = result.experiment, result.found
    paragraphs: list[str] = []
    numbers: dict[str, object] = {}
    if options.erase or arguments.of_page(options, "erase") == "yes":
        try:
            erasure = erase_length(found, experiment, bar)
            paragraphs.append(words.probing.erased(erasure))
            numbers["erasure"] = analysis.probes.erasure_summary(erasure)
        except UndefinedFitError as error:
            paragraphs.append(str(error))
            numbers |= {"erasure": None, "erasure_problem": str(error)}
    if name := options.travel_to or arguments.of_page(options, "travel_to"):
        travel, there = read_elsewhere(found, experiment, parse_setting("corpus", name), store, bar)
        paragraphs.append(words.probing.travelled(travel, found.corpus.label, there.corpus.label, experiment.unit))
        numbers["travel"] = analysis.probes.travel_summary(travel, there)
    if options.random_weights or arguments.of_page(options, "random_weights") == "yes":
        random = read_untrained(found, experiment, store, bar)
        paragraphs.append(words.random_weights.said(random, result.profile, experiment.unit))
        numbers["random_weights"] = analysis.random_weights.summary(random)
    if text := options.origin or arguments.of_page(options, "origin"):
        origin = read_altered(found, experiment, int(text) if text.isdecimal() else 0, store, bar)
        paragraphs += [words.origin.answer(origin), words.origin.note(origin), *origin.problems.values()]
        numbers["origin"] = analysis.probes.origin_summary(origin)
    if task is not None:
        encoders = jobs.Encoders()
        output.print_notes([f"{task.name}: {cost_of_task(task, found, experiment, store, encoders)}."])
        published = classify_task(task, found, experiment, store, encoders, bar)
        paragraphs += [words.sentlen.of_file(published), *words.sentlen.file_caveats(published)]
        paragraphs.append(words.sentlen.CLASSIFIER)
        numbers["sentlen_file"] = analysis.probes.published_summary(published)
    return paragraphs, numbers


def similarity(options: argparse.Namespace) -> int:
    """Measure vectors, and tell whether length bends a search; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    output.check(options.output)
    store, encoders, began = Store(options.store), jobs.Encoders(), time.monotonic()
    with Bar() as bar:
        extraction, found = extract(experiment, Kind.VECTORS, store, bar, encoders)
        seconds = time.monotonic() - began
        _print_notes(found, words.notes(extraction.experiment, found), made_with)
        result = compare_lengths(found, experiment, store, encoders, bar)
    if options.output:
        output.write(options.output, result.table(), export.about(experiment, found))
    if options.json:
        output.print_json(result.summary() | _speed(extraction, found, seconds))
    else:
        print(result.question, result.answer, sep="\n")
    return 0


def compare(options: argparse.Namespace) -> int:
    """Measure the same sentences with several models; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    models = arguments.models_of(options)
    output.check(options.output)
    began = time.monotonic()
    with Bar() as bar:
        result = compare_models(replace(experiment, model=models[0]), models, Store(options.store), bar)
    seconds = time.monotonic() - began
    found = result.founds[0]
    output.print_notes([*words.reading.notes(found.corpus), *result.notes, *words.differences(made_with, found)])
    if experiment.precision is not Precision.EXACT:
        output.print_notes(["Models are compared in the exact precision, as their vectors are."])
    summary = result.summary()
    if options.output:
        output.write(options.output, result.table(), summary)
    if options.json:
        output.print_json(summary | {"seconds": seconds})
    else:
        print(result.question, result.answer, sep="\n")
    return 0


def _print_notes(found: Found, notes: Sequence[str], made_with: dict[str, str]) -> None:
    """Print what else to know; made_with: the fingerprints of a shared link."""
    output.print_notes([*words.reading.notes(found.corpus), *notes, *words.differences(made_with, found)])
    if reason := found.slow_path_reason:
        output.print_notes([f"Not measured in the fastest way: {output.one_line(reason)}."])


def _speed(extraction: Extraction, found: Found, seconds: float) -> dict[str, object]:
    """How fast a run was, and why not faster, for JSON; sentences_per_second is None where all came from the store."""
    return {
        "seconds": seconds,
        "sentences_per_second": extraction.sentences_per_second,
        "slower_because": found.slow_path_reason or None,
    }
