"""What is said is true of vectors whose bend is known."""

from dataclasses import replace

import numpy as np
from support.searched import N, found_of, lengths, noise, with_length
from support.snapshots import assert_said

from clsviz import analysis, words
from clsviz.analysis.search import Similarity
from clsviz.experiment import Experiment, View
from clsviz.settings import Lengths, Unit
from clsviz.sources.models import Weights

VIEW = View()


def followed(similarity: Similarity, correlation: float, **others: object) -> Similarity:
    """The same where the lengths of the nearest follow a sentence's own so much."""
    return replace(similarity, bias=replace(similarity.bias, neighbour_correlation=correlation), **others)  # type: ignore[arg-type]


def test_what_vectors_of_a_known_bend_are_answered(tiny_weights: Weights) -> None:
    *_, bent = analysis.search.compare(found_of(tiny_weights, with_length(2)), VIEW)
    *_, straight = analysis.search.compare(found_of(tiny_weights, noise()), VIEW)
    of_norms = next(analysis.search.compare(found_of(tiny_weights, noise() * lengths()[:, None]), VIEW))
    # Ten almost equal sentences each, with almost equal vectors: of one length, but because they say the same.
    of = np.arange(N) // 12
    sentences = [f"{'word' * 3} {' '.join(f'v{of[i]}x{k}' for k in range(4 + of[i]))} n{i}" for i in range(N)]
    alike = found_of(tiny_weights, noise()[of] + 0.01 * noise(seed=8), sentences)
    copies = next(s for s in analysis.search.compare(alike, View(unit=Unit.WORDS)) if s.by_words)
    control = Experiment(lengths=Lengths.SHUFFLED, model="untrained:minilm")
    verdict = words.similarity.verdict
    assert verdict(of_norms) == verdict(straight)  # the norm alone is no bend
    assert bent.by_words is not None
    for own in (-0.9, 0.0, 0.2, 0.5, 0.9):
        for by_words in (-0.5, own, 1.0):
            said = verdict(followed(bent, own, by_words=replace(bent.by_words, neighbour_correlation=by_words)))
            assert len(said.split()) <= 25, said
    of_chance = replace(bent.chance, neighbour_correlation_limit=0.05)
    assert_said(
        "similarity",
        {
            "no relation": verdict(straight),
            "a direction of the length": verdict(bent),
            "near-duplicates": verdict(copies),
            "less than shared words": verdict(followed(copies, 0.5)),
            "cosines follow, neighbours do not": verdict(
                replace(straight, bias=replace(straight.bias, length_share=0.2))
            ),
            "the other way round": verdict(followed(bent, -0.4)),
            "weaker": [verdict(followed(bent, value, by_words=None, chance=of_chance)) for value in (0.095, 0.2, 0.4)],
            "two controls": words.similarity.answer(bent, control),
            "shares": [words.similarity.percent(share) for share in (0.0004, 0.046, 0.0)],
        },
    )
