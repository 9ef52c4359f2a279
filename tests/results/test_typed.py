"""Try a sentence: its place among others, its beginnings, its neighbours."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from results.conftest import workspace_of
from scipy.spatial.distance import cdist
from scipy.stats import percentileofscore

from clsviz.analyses.norms import fit, points
from clsviz.analyses.typed import (
    EXAMPLE,
    MOST_WORDS,
    Trace,
    beginnings,
    cosine,
    dissect,
    nearest_of,
    shared_words,
    trace,
    vector_of,
)
from clsviz.encoder.encoder import load
from clsviz.errors import Undefined
from clsviz.jobs.worker import InProcess
from clsviz.progress import silent
from clsviz.results.norms import result as norms_of
from clsviz.results.typed import result as result_of
from clsviz.results.typed import verdict_of
from clsviz.settings import Experiment
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Measured
from clsviz.store.results import Results

TEXT = (
    "the old cat sings in the small green garden and the bird hears a dog or sees the house on"
    " a small house and runs in the old garden"
)


@pytest.fixture(scope="module")
def lively(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Weights:
    """The tiny model with larger weights: its norms vary."""
    import torch
    import transformers

    folder = tmp_path_factory.mktemp("lively") / "model"
    shutil.copytree(tiny_model, folder)
    model = transformers.AutoModel.from_pretrained(folder)
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    model.save_pretrained(folder)
    return Weights("lively", "Tiny", folder, "fedcba9876543210")


@pytest.fixture(scope="module")
def measured(vectors_of: Callable[[Weights], Measured], lively: Weights) -> Measured:
    return vectors_of(lively)


@pytest.fixture(scope="module")
def view(experiment: Experiment) -> Experiment:
    return replace(experiment, length_cutoff=80)


@pytest.fixture(scope="module")
def trace_of(lively: Weights, store: Results) -> Callable[..., Trace]:
    def run(text: str, store: Results = store) -> Trace:
        return trace(lively, "exact", text, workspace_of(store), silent)

    return run


def test_verdicts() -> None:
    for words, shares in {
        "Unusually low": {0: "none", 4.9: "4.9%"},
        "Low": {5: "5%"},
        "Ordinary": {25: "25%", 75: "75%"},
        "High": {84: "84%", 95: "95%"},
        "Unusually high": {99.9: "over 99%"},
    }.items():
        for rank, share in shares.items():
            tops = f"its norm tops {share} of sentences about as long."
            assert verdict_of(rank) == f"{words} for its length: {tops}"


def test_beginnings_are_bounded_and_end_with_all_of_the_text() -> None:
    assert beginnings(" two  words ") == [" two", " two  words "]
    words = list(map(str, range(100)))
    parts = [" ".join(words[: n + 1]) for n in range(MOST_WORDS)]
    assert beginnings(" ".join(words)) == [*parts, " ".join(words)]


def test_the_norm_is_ranked_among_sentences_about_as_long(
    trace_of, lively: Weights, measured: Measured, view: Experiment, store: Results
) -> None:
    numbers = fit(measured, view, store)
    corpus = norms_of(numbers, view)
    result = result_of(trace_of(TEXT), numbers, corpus, view)
    n, table = len(TEXT.split()), corpus.table
    near = table[table["n_tokens"].between(n - 3, n + 3)]
    norm = InProcess().run(lively, "exact", [TEXT], "norms")["cls"][0, 2]
    rank = percentileofscore(near["cls_2"], norm, "mean")
    assert (result.fact("n_similar"), result.fact("length")) == (len(near), n)
    assert result.fact("norm") == pytest.approx(norm, rel=1e-5)
    assert result.fact("percentile") == pytest.approx(rank / 100)
    assert result.verdict == verdict_of(rank)
    assert result.table["text"].iloc[2] == "the old cat"


NOTHING = "Nothing to compare with:"
LARGER = "Take a larger corpus."


@pytest.mark.parametrize(
    ("text", "changes", "verdict", "advice"),
    [
        ("the cat " * 50, {}, "Cut short: the model reads 64 tokens, special ones included.", ""),
        (TEXT, {"layer": 0}, "Only on paper: norms are nearly constant.", "Choose another layer"),
        ("the cat " * 26, {}, f"{NOTHING} no sentence is about as long.", LARGER),
        ("cat", {"length_cutoff": 3}, f"{NOTHING} only 8 sentences are about as long.", LARGER),
        ("a cat", {"length_cutoff": 3}, f"{NOTHING} only 8 sentences are", "Raise the length cut"),
        (TEXT, None, "The answer comes when all sentences are in.", ""),
    ],
)
def test_what_cannot_be_ranked_says_why(
    trace_of, measured, view, store, text, changes, verdict, advice
):
    part = replace(measured, is_complete=changes is not None)
    own = replace(view, sample_size="all", **changes or {})
    numbers = fit(part, own, store) if part.is_complete else points(part, own)
    result = result_of(trace_of(text), numbers, norms_of(numbers, own), own)
    assert result.verdict.startswith(verdict)
    assert result.advice.startswith(advice)


def test_the_example_alone_is_stored(trace_of, tmp_path: Path) -> None:
    trace_of(TEXT, Results(tmp_path))
    assert not list(tmp_path.rglob("*.safetensors"))
    first, again = (trace_of(EXAMPLE, Results(tmp_path)).beginnings for _ in range(2))
    assert len(list(tmp_path.rglob("*.safetensors"))) == 2
    np.testing.assert_array_equal(first.vectors, again.vectors)


@pytest.mark.parametrize("pooling", ["cls", "mean", "pooler"])
def test_the_nearest_sentences_are_those_of_the_highest_cosine(
    trace_of, lively: Weights, measured: Measured, view: Experiment, pooling: str
) -> None:
    own = replace(view, pooling=pooling)
    found = nearest_of(vector_of(trace_of(TEXT), own), measured, own)
    cosines, table = found.cosines, found.table
    encoder, sentences = load(lively), measured.sample.sentences()
    vector, others = (encoder.encode(texts, pooling) for texts in ([TEXT], sentences))
    expected = 1 - cdist(vector, others, "cosine")[0]
    np.testing.assert_allclose(cosines, expected, atol=2e-4)
    assert cosine(vector[0], others[0]) == pytest.approx(expected[0])
    assert table["sentence"].iloc[0] == sentences[np.argmax(cosines)]
    assert list(table["cosine"]) == sorted(cosines)[: -len(table) - 1 : -1]


def test_words_in_two_sentences_have_the_cosine_of_their_mean_tokens(lively, store) -> None:
    texts, encoder = (
        ["A small cat sings in the house", "the dog sees small Cat, a cat"],
        load(lively),
    )
    first, second = (dissect(lively, "exact", one, workspace_of(store), silent) for one in texts)
    words = shared_words(first, second, 1).set_index("word")
    assert list(words.index) == ["a", "small", "cat", "the"]
    vectors = [encoder.tokens(text) for text in texts]
    pair = vectors[0][3, 1], vectors[1][5, 1]
    assert words["after"]["cat"] == pytest.approx(
        1 - cdist(*np.array(pair)[:, None], "cosine")[0, 0]
    )


def test_vectors_that_do_not_differ_have_no_nearest(trace_of, measured, view) -> None:
    with pytest.raises(Undefined, match="the same"):
        nearest_of(np.ones(16), measured, replace(view, layer=0))
