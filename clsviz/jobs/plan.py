"""What it would take to measure norms: sentences, tokens, time, and room on the disk."""

from dataclasses import dataclass

import numpy as np

from clsviz.jobs.estimate import TYPICAL_CHARACTERS, Cost, Machine, operations_of, tokens_of
from clsviz.jobs.extraction import Extraction
from clsviz.measurements import POOLED
from clsviz.progress import Progress
from clsviz.settings import ALL, RANGES
from clsviz.sources import models

GPU_RATE = 30e12
"""Floating-point operations a second that a large GPU is taken to sustain in float32.

An assumption, not a measurement: NVIDIA's data sheet of the H100 SXM gives 67e12 at most.
"""

_LAYERS, _WIDTH = 12, 768
"""Those of BERT base, for a model whose files do not tell."""


@dataclass(frozen=True)
class Plan:
    """What it takes to measure norms.

    n_sentences: of the sample. is_counted: whether that is known, and not judged by the size of files. n_missing: those
    not measured yet; everything below is about these. n_tokens: special ones included; estimated from characters. rate:
    sentences a second on this machine. is_measured: whether that is how fast this model was measured here; else it is
    estimated from the model's size and the speed of matrix products. gpu_seconds: on a GPU that sustains GPU_RATE.
    norms_bytes, vectors_bytes: of their parts, if all were measured. megabytes: to be downloaded first.
    """

    n_sentences: int
    n_missing: int
    n_tokens: int
    rate: float
    is_measured: bool
    gpu_seconds: float
    norms_bytes: int
    vectors_bytes: int
    megabytes: int
    is_counted: bool = True

    def seconds(self, n_workers: int = 1) -> float:
        """How long so many machines like this one take, each with all its processors to itself."""
        return self.n_missing / self.rate / n_workers


def plan(extraction: Extraction, machine: Machine, progress: Progress) -> Plan:
    """What an extraction of norms would take, which is looked up but not run; raises as `look_up` does.

    The machine's speed is measured for two seconds if it is needed.
    """
    cost = extraction.look_up(progress)
    if extraction.measured_rate is None:
        machine.measure()
    return planned(extraction, cost, machine)


def planned(extraction: Extraction, cost: Cost, machine: Machine) -> Plan:
    """The same of one that was looked up, at what that said it would cost; takes a moment."""
    found, experiment = extraction.found, extraction.experiment
    weights = extraction.weights
    corpus = extraction.corpus
    is_counted = found is not None or experiment.sample_size != ALL or (corpus and corpus.n_sentences) is not None
    in_corpus = (corpus and (corpus.n_sentences or corpus.n_about)) or RANGES["sample_size"][1]
    n_sentences = found.sample.n_sentences if found else min(experiment.sample_size, in_corpus)
    n_missing = found.n_missing_of_sample + found.n_left if found else n_sentences
    n_characters = float(np.mean([*map(len, found.sentences)])) if found and found.sentences else TYPICAL_CHARACTERS
    n_parameters = weights.n_parameters if weights else models.n_parameters(experiment.model)
    of_a_sentence = max(operations_of(n_parameters, n_characters), 1.0)
    rate = extraction.measured_rate
    layers = (weights and weights.n_layers) or _LAYERS
    width = (weights and weights.width) or _WIDTH
    return Plan(
        n_sentences=n_sentences,
        n_missing=n_missing,
        n_tokens=round(n_missing * tokens_of(n_characters)),
        rate=rate or machine.rate / of_a_sentence,
        is_measured=rate is not None,
        gpu_seconds=n_missing * of_a_sentence / GPU_RATE,
        norms_bytes=n_sentences * (4 + 1 + 4 * (layers + 2)),
        vectors_bytes=n_sentences * 2 * (len(POOLED) * (layers + 1) + 1) * width,
        megabytes=cost.megabytes,
        is_counted=is_counted,
    )
