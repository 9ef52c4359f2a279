"""`clsviz preview`: how a file is read, before anything is measured."""

import argparse

import numpy as np

from clsviz import corpora, measuring, words
from clsviz.cli import arguments, output
from clsviz.errors import SettingError

_BINS, _WIDTH = 10, 40
"""Rows of the histogram, and characters of its longest bar."""


def run(options: argparse.Namespace) -> int:
    """Read the beginning, print what it gives; the exit status. Raises ClsvizError."""
    experiment, _ = arguments.experiment_of(options)
    if not corpora.is_own(experiment.corpus):
        raise SettingError(f"“{output.one_line(experiment.corpus)}” is no file. Name one of your own.")
    preview = corpora.preview(experiment.selection, measuring.Store(options.store).corpora)
    if options.json:
        output.print_json(_summary(preview))
        return 0
    print(f"{output.one_line(preview.label)}: {words.reading.counted(preview)}. {words.reading.how(preview)}")
    print("\nSome of them:")
    for example in preview.examples():
        print(f"  {output.one_line(example)[:200]}")
    print("\nWords in a sentence:")
    for row in _histogram(preview):
        print(row)
    print("\n--reading, --segmentation and --column read it otherwise; `measure` takes them too.")
    return 0


def _summary(preview: "corpora.Preview") -> dict[str, object]:
    selection = preview.selection
    return {
        "reading": selection.reading,
        "segmentation": selection.segmentation,
        "column": selection.column or None,
        "columns": list(preview.columns),
        "width": preview.width or None,
        "n_left_out": preview.n_left_out,
        "n_sentences": len(preview.sentences),
        "is_whole": preview.is_whole,
        "examples": preview.examples(),
        "words": dict(zip(("minimum", "median", "maximum"), np.quantile(preview.n_words, [0, 0.5, 1]), strict=True)),
    }


def _histogram(preview: "corpora.Preview") -> list[str]:
    """Bars of the number of sentences by their words; what is longer than nearly all shares the last."""
    longest = max(_BINS, int(np.quantile(preview.n_words, 0.98)))
    edges = np.linspace(1, longest + 1, _BINS + 1).astype(int)
    counts, _ = np.histogram(np.minimum(preview.n_words, longest), edges)
    spans = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    names = [f"{low} to {high - 1}" if high - low > 1 else f"{low}" for low, high in spans]
    names[-1] = f"{edges[-2]} and more"
    bars = ["█" * round(_WIDTH * count / max(1, counts.max())) for count in counts]
    return [f"  {name:>12} {bar} {count:,}" for name, bar, count in zip(names, bars, counts.tolist(), strict=True)]
