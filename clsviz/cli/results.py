"""`clsviz measure`, `probe`, `similarity`, `search-test` and `compare`: measure, print and write a result."""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace

from clsviz import analysis, export, jobs, words
from clsviz.api.comparison import compare_models, paper_table
from clsviz.api.inputs import Bar, extract, open_store, results_of
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
from clsviz.api.search import SEARCH_CORPUS, run_test
from clsviz.api.similarity import compare_lengths
from clsviz.atomic import new_file
from clsviz.cli import arguments, output, workers
from clsviz.errors import SettingError, UndefinedFitError
from clsviz.experiment import parse_setting
from clsviz.jobs import Extraction, Found, kind_of_norms
from clsviz.measurements import Kind
from clsviz.settings import Lengths, Pooling, Precision, SimilarityFunction, shown
from clsviz.sources import published_task
from clsviz.store import Store


def measure(options: argparse.Namespace) -> int:
    """Measure norms and regress them on length; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    output.check(options.output)
    output.check(options.plot, "--plot", (".png", ".svg", ".pdf"))
    began = time.monotonic()
    store = _store_of(options)
    if options.dry_run:
        return workers.dry_run(experiment, store.own, options)
    if options.rank is not None or options.of is not None:
        return workers.measure_share(experiment, store.own, options)
    workers.measure_in_parallel(experiment, store, options)
    with output.progress(options) as bar:
        extraction, found = extract(experiment, kind_of_norms(experiment), store, bar)
    seconds = time.monotonic() - began
    result = NormResult(experiment, found, results_of(store))
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
        is_of_mean = experiment.pooling is Pooling.MEAN and experiment.lengths is Lengths.TRUE
        if is_of_mean and (averaging := result.averaging()) is not None:
            title = words.averaging.title(averaging, untrained=found.weights.untrained)
            print(title, words.averaging.accounts(averaging))
    return 0


def probe(options: argparse.Namespace) -> int:
    """Measure vectors, and tell how well they predict the length by layer; the exit status. Raises ClsvizError."""
    experiment, made_with = arguments.experiment_of(options)
    output.check(options.output)
    size = options.sentlen_size
    if options.sentlen_file is not None and size is not None and not size.isdecimal():
        raise SettingError(f"sentlen_size is “{shown(size)}”; it must be a whole number.")
    task = options.sentlen_file and open_task(options.sentlen_file, None if size is None else int(size))
    store, began = _store_of(options), time.monotonic()
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
        paragraphs += [words.probing.origin(origin), words.probing.origin_note(origin), *origin.problems.values()]
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
    store, encoders, began = _store_of(options), jobs.Encoders(), time.monotonic()
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


def search_test(options: argparse.Namespace) -> int:
    """Test a search; the exit status, 1 where an exposure is surely beyond --max-exposure. Raises ClsvizError."""
    options.corpus = options.corpus or arguments.of_page(options, "corpus") or SEARCH_CORPUS
    options.pooling = options.pooling or arguments.of_page(options, "pooling") or Pooling.MEAN.value
    experiment, made_with = arguments.experiment_of(options)
    output.check(options.output)
    output.check(options.plot, "--plot", (".png", ".svg", ".pdf"))
    began = time.monotonic()
    with Bar() as bar:
        result = run_test(
            experiment,
            Store(options.store),
            jobs.Encoders(),
            bar,
            titles=options.titles,
            judged=options.searches,
            similarity=SimilarityFunction(options.similarity),
            length_power=options.length_power,
        )
    assert result.found is not None  # the model is known
    output.print_notes([*result.notes, *words.differences(made_with, result.found)])
    summary = result.summary()
    if options.output:
        output.write(options.output, result.table(), summary)
    if options.plot:
        with new_file(options.plot) as temporary:
            temporary.write_bytes(result.image(options.plot.suffix.removeprefix(".")))
    if options.json:
        output.print_json(summary | {"seconds": time.monotonic() - began})
    else:
        print(result.question, result.answer, result.evidence, result.advice, sep="\n")
        if result.correction and result.correction.coefficients:
            print(result.correction.formula)
    most = options.max_exposure
    beyond = most is not None and any(
        low > most or high < 1 / most
        for low, high in filter(None, (f.exposure_interval for f in result.test.ranking(result.similarity).fifths))
    )
    return int(beyond)


def compare(options: argparse.Namespace) -> int:
    """Measure the same sentences with several models; the exit status. Raises ClsvizError.

    With several corpora, or a file in Markdown, also what a paper says of them.
    """
    experiment, made_with = arguments.experiment_of(options)
    models = arguments.models_of(options)
    output.check(options.output, suffixes=arguments.TABLE_SUFFIXES)
    corpora = [parse_setting("corpus", name) for name in options.corpus or [experiment.corpus]]
    began, store = time.monotonic(), _store_of(options)
    with Bar() as bar:
        if len(corpora) > 1 or (options.output and options.output.suffix == ".md"):
            paper = paper_table(experiment, list(dict.fromkeys(corpora)), models, store, bar)
            results, summary, table = paper.comparisons, paper.summary(), paper.table
        else:
            result = compare_models(replace(experiment, model=models[0]), models, store, bar, options.search)
            results, summary, table = [result], result.summary(), result.table()
    seconds = time.monotonic() - began
    for result in results:
        found = result.founds[0]
        output.print_notes([*words.reading.notes(found.corpus), *result.notes, *words.differences(made_with, found)])
    if experiment.precision is not Precision.EXACT:
        output.print_notes(["Models are compared in the exact precision, as their vectors are."])
    if options.output:
        output.write(options.output, table, summary)
    if options.json:
        output.print_json(summary | {"seconds": seconds})
    else:
        print(results[0].question)
        for result in results:
            print(f"{result.founds[0].corpus.label}: {result.answer}" if len(results) > 1 else result.answer)
    return 0


def _store_of(options: argparse.Namespace) -> Store:
    """The store that the flags name, with what comes with clsviz unless they say otherwise."""
    store = open_store(options.store)
    return store.own if options.no_shipped else store


def _print_notes(found: Found, notes: Sequence[str], made_with: dict[str, str]) -> None:
    """Print what else to know; made_with: the fingerprints of a shared link."""
    output.print_notes([*words.reading.notes(found.corpus), *notes, *words.differences(made_with, found)])
    if found.n_shipped:
        output.print_notes([f"{words.shipped(found.n_shipped, len(found.measurements))} --no-shipped measures here."])
    if reason := found.slow_path_reason:
        output.print_notes([f"Not measured in the fastest way: {output.one_line(reason)}."])


def _speed(extraction: Extraction, found: Found, seconds: float) -> dict[str, object]:
    """How fast a run was, and why not faster, for JSON; sentences_per_second is None where all came from the store."""
    return {
        "seconds": seconds,
        "sentences_per_second": extraction.sentences_per_second,
        "slower_because": found.slow_path_reason or None,
    }
