import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import WORDS
from scipy.special import ndtr

import clsviz
from clsviz import cli
from clsviz.analyses.chunks import (
    ChunkInputs,
    ChunkNumbers,
    Containment,
    Index,
    Judged,
    contain,
)
from clsviz.errors import SettingError
from clsviz.results.chunks import result as result_of
from clsviz.results.result import Result
from clsviz.settings import ChunkTestSettings, Experiment
from clsviz.sources import chunks
from clsviz.sources.chunks import Chunks
from clsviz.sources.models import Weights

WIDTH = 24


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Chunks:
    """A text of 1,200 sentences without words in common but a few."""
    words = np.random.RandomState(0).randint(10_000, size=(1200, 7))
    text = " ".join(f"Word{' '.join(f'w{word}' for word in row)}." for row in words)
    experiment = Experiment(corpus="memory", sample_size=1200)
    return chunks.find(experiment, tmp_path_factory.mktemp("store"), [text])


def made_up(cut: Chunks, falling: float, seed: int) -> list[Index]:
    """Chunks as sums of random vectors, those at the end with less weight."""
    sentences = np.random.RandomState(seed).normal(size=(1200, WIDTH))
    indices = []
    for one in cut.cut:
        vectors = np.zeros((len(one.sample), WIDTH))
        np.add.at(vectors, one.owners, sentences * (1 - falling * one.positions)[:, None])
        n = len(vectors)
        columns = np.full(n, 9, np.int32), np.zeros(n, np.bool_)
        indices.append(Index(vectors.astype(np.float32), *columns))
    return indices


def contained(cut: Chunks, indices: list[Index]) -> list[Containment]:
    pairs = zip(cut.cut, indices, strict=True)
    return [contain(cut, cutting, indices[0], index) for cutting, index in pairs]


def test_recall_of_sums_of_random_vectors_is_that_of_theory(cut: Chunks) -> None:
    measured = [contained(cut, made_up(cut, 0, seed)) for seed in range(4)]
    recalls = [[(size.ranks[1] == 1).mean() for size in one] for one in measured]
    random = np.random.RandomState(0)
    lengths, noise = np.sqrt(random.chisquare(WIDTH, 20_000)), random.normal(size=20_000)
    for place, size in enumerate(cut.sizes):
        # The product with the own chunk has the mean |q|² and the variance |q|² (size − 1), with
        # another one 0 and |q|² size.
        own = (lengths + noise * np.sqrt(size - 1)) / np.sqrt(size)
        expected = (ndtr(own) ** (1200 / size - 1)).mean()
        assert np.mean(recalls, axis=0)[place] == pytest.approx(expected, abs=0.04)


def test_the_position_matters_where_weights_fall_in_what_the_model_reads(
    cut: Chunks, tiny_weights: Weights
) -> None:
    for falling, n_cut, is_sure in ((0.0, 0, False), (0.9, 0, True), (0.9, 99, False)):
        indices = made_up(cut, falling, 1)
        for index in indices:
            index.truncated[:n_cut] = True
        inputs = ChunkInputs(tiny_weights, cut)
        numbers = ChunkNumbers.of(inputs, contained(cut, indices), "cosine", 0)
        effect, (_, high) = numbers.position
        assert (high < 0) == is_sure, effect


def sentences(n: int, seed: int) -> list[str]:
    """Sentences of words that the tiny model knows."""
    random = np.random.RandomState(seed)
    sizes = random.randint(5, 12, n)
    return [f"The {' '.join(random.choice(WORDS, size))} garden." for size in sizes]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("book") / "book.txt"
    path.write_text("\n\n".join(sentences(150, 1)))
    return path


def test_a_book_is_answered_and_stored(tiny_model: Path, book: Path, tmp_path: Path) -> None:
    result = clsviz.chunk_test(str(tiny_model), str(book), store=tmp_path)
    assert result.verdict.startswith(("Chunks of", "Any length"))
    sizes = result.details["sizes"]
    assert [entry["sentences"] for entry in sizes][:3] == [1, 2, 3]
    assert sizes[0]["recall_at_1"] == 1 == sizes[0]["recall_at_10"]
    assert sizes[0]["n_chunks"] == 150
    assert len(result.table) == 3 * len(sizes)
    again = clsviz.chunk_test(str(tiny_model), str(book), store=tmp_path, similarity="dot")
    assert again.details["cosine"] == sizes
    assert json.loads(json.dumps(result.json()))["advised_tokens"] > 0


@pytest.fixture(scope="module")
def own(book: Path) -> Path:
    """Chunks of the book that cut each second sentence in two."""
    lines = book.read_text().split("\n\n")
    ends = [line[20:] for line in ["", *lines[1::2]]]
    begins = [line[:20] for line in [*lines[1::2], ""]]
    texts = ["".join(parts) for parts in zip(ends, [*lines[::2], ""], begins, strict=True)]
    pd.DataFrame({"text": texts, "n": range(76)}).to_csv(book.with_name("mine.csv"))
    return book.with_name("mine.csv")


def test_own_chunks_of_a_file_and_of_memory_are_the_same(
    tiny_model: Path, book: Path, own: Path, tmp_path: Path
) -> None:
    settings = {"overlap": 0.5, "store": tmp_path}
    result, memory = (
        clsviz.chunk_test(str(tiny_model), str(book), chunks=chunks, **settings)
        for chunks in (own, pd.read_csv(own)[["text"]])
    )
    assert (result.details["own"]["n_chunks"], memory.command) == (76, "")
    assert result.details["own"] == memory.details["own"]
    is_odd = result.answered.inputs.chunks.queries % 2
    assert result.details["own"]["cut_in_two"] == pytest.approx(is_odd.mean())
    assert result.command.endswith(f"--chunks {own} --overlap 0.5")
    overlap = result.details["overlap"]
    assert f"for {overlap['n_chunks'] / overlap['before'] - 1:.0%} more vectors" in result.advice


def test_models_are_compared_on_own_chunks_by_the_same_searches(
    tiny_model: Path, book: Path, own: Path, tmp_path: Path
) -> None:
    names, texts = [str(tiny_model), f"untrained:{tiny_model}"], str(book)
    both = clsviz.compare(names, texts, search_corpus=texts, own_chunks=own, store=tmp_path)
    tests = [clsviz.chunk_test(name, texts, chunks=own, store=tmp_path) for name in names]
    alone = pd.DataFrame([test.details["own"] for test in tests])
    assert both.table["own_chunk_recall_at_1"].equals(alone["recall_at_1"])
    assert both.table["own_chunks_cut_in_two"].equals(alone["cut_in_two"])
    first, second = (test.answered.own_chunks.measured.ranks[0] == 1 for test in tests)
    paired = first.astype(float) - second
    assert both.fact("own_chunks_difference") == pytest.approx(abs(paired.mean()))
    low, high = both.json()["own_chunks_difference_interval"]
    assert high - low == pytest.approx(2 * 1.96 * paired.std() / len(paired) ** 0.5, rel=0.15)
    assert any("do not rank models" in caveat for caveat in both.caveats)
    assert both.command.endswith(f" --chunks --own-chunks {own}")


def test_a_report_of_a_link_has_the_answer_on_own_chunks(
    tiny_model: Path, book: Path, own: Path, tmp_path: Path
) -> None:
    link = f"http://a.b/?model={tiny_model}&corpus={book}&search_corpus={book}&own_chunks={own}"
    words = ["report", "--query", link, "--store", str(tmp_path), "--output"]
    page, card = tmp_path / "page.html", tmp_path / "card.md"
    assert [cli.main([*words, str(path)]) for path in (page, card)] == [0, 0]
    alone = clsviz.chunk_test(str(tiny_model), str(book), chunks=own, store=tmp_path)
    assert all(html.escape(text) in page.read_text() for text in (alone.verdict, alone.command))
    assert f"--own-chunks {own} --output card.md" in card.read_text()
    assert cli.main([*words, str(card), "--search-corpus", ""]) == 2


def test_judged_searches_come_first(tiny_model: Path, tmp_path: Path) -> None:
    some = sentences(300, 2)
    texts = [" ".join(some[at : at + 5]) for at in range(0, 300, 5)]
    columns = {"title": some[::5], "text": texts}
    result = clsviz.chunk_test(
        str(tiny_model), columns, column="text", titles="title", store=tmp_path
    )
    whole = result.details["whole"]
    # The sentence itself is the best chunk of its text.
    assert whole["chunks"][0]["recall_at_10"] == 1
    assert result.verdict.startswith("Cutting into chunks of 1 sentence raises recall")
    search = {"column": "text", "titles": "title", "store": tmp_path}
    by_search_test = clsviz.search_test(str(tiny_model), columns, **search)
    assert whole["recall_at_10"] == pytest.approx(by_search_test.fact("recall_at_10"))
    assert result.fact("n_judged") == by_search_test.fact("n_searches") == 60


Measured = tuple[list[Containment], Judged | None]


def measured(cosine: list[float], dot: list[float], recalls: list[float]) -> Measured:
    """200 searches, of which such shares find chunks of 1, 2 and 3 sentences."""
    firsts = np.arange(200) >= 200 * np.array([cosine, dot, [1, 1, 1]])[..., None]
    firsts[1] = firsts[1, :, ::-1]
    judged = np.random.RandomState(0).random((len(recalls), 100)) < np.array(recalls)[:, None]
    columns = zip((10.0, 20.0, 30.0), (300, 200, 100), (0, 0, 0.05), strict=True)
    sizes = [
        Containment(tokens, n, cut, cut / 2, 1 + 98 * firsts[:, place], np.full(200, 0.5), 1.0)
        for place, (tokens, n, cut) in enumerate(columns)
    ]
    return sizes, Judged(judged.astype(float), 0.25, 0.1, 1.0) if recalls else None


def answer(
    cut: Chunks, weights: Weights, one: Measured, own: Containment | None = None, **settings: object
) -> Result:
    experiment = Experiment(corpus="book.txt", pooling="mean")
    some = ChunkTestSettings(**settings)
    similarity = "dot" if some.similarity == "dot" else "cosine"
    numbers = ChunkNumbers.of(ChunkInputs(weights, cut), one[0], similarity, 0, one[1], own)
    return result_of(numbers, experiment, some)


def own_chunks(found: float, cut: float) -> Containment:
    """100 chunks of 25 tokens, of which such shares of searches find theirs, or have none."""
    place = np.arange(200)
    ranks = np.where(place < 200 * found, 1, np.where(place < 200 * (1 - cut), 90, 101))
    return Containment(25.0, 100, 0.1, 0.05, np.stack([ranks] * 3), np.zeros(200), 1.0)


@pytest.mark.parametrize(
    ("found", "without", "advice", "exceeded"),
    [
        (0.49, 0.21, "Make even .* 25 tokens, they keep 84", True),
        (0.9, 0.0, "Leave your chunks as they are", False),
        (0.7, 0.1, "Make even .* 14 points more", False),
    ],
)
def test_own_chunks_are_compared_with_sentences_of_their_length(
    found: float, without: float, advice: str, exceeded: bool, cut: Chunks, tiny_weights: Weights
) -> None:
    one, own = measured([1, 0.9, 0.8], [1, 1, 1], []), own_chunks(found, without)
    result = answer(cut, tiny_weights, one, own, chunks="mine.csv", max_lost=0.4)
    assert re.match(f"Your .* in {found:.0%} of .*; {without:.0%} of", result.verdict)
    assert re.match(advice, result.advice)
    json, recalls = result.json()["own"], np.array([0.9, 0.8])
    assert (json["recall_at_1"], json["cut_in_two"]) == (found, without)
    expected = np.interp(np.log(25), np.log([20, 30]), recalls)  # at 100 competing chunks
    assert json["by_sentences"]["recall"] == pytest.approx(expected, abs=1e-6)
    paired = [size.ranks[0] == 1 for size in one[0][1:]]
    part = np.log(25 / 20) / np.log(30 / 20)
    both = (1 - part) * paired[0] + part * paired[1] - (np.arange(200) < 200 * found)
    low, high = json["by_sentences"]["interval"]
    assert high - low == pytest.approx(2 * 1.96 * both.std() / 200**0.5, rel=0.15)
    assert bool(result.details["exceeded"]) == exceeded
    drawn = {line.name: line for line in result.plot().data}
    assert list(drawn["your chunks"].y) == [found]
    assert "chunks that are cut 10% · tokens never read 5%" in result.numbers


@pytest.mark.parametrize(
    ("cosine", "dot", "recalls", "verdict", "advice", "tokens"),
    [
        ([1, 1, 1], [1, 1, 1], [], "Any length up to 30 tokens: 100%", "Cut as suits", 30),
        ([1, 0.9, 0.85], [1, 0.9, 0.85], [], "Chunks of 30 .* longest tr", "Cut at up to 30", 30),
        ([1, 0.9, 0.8], [1, 0.9, 0.8], [], "Chunks of .* 30 tokens, or lo", "Cut at up to 30", 30),
        ([1, 0.8, 0.5], [1, 0.8, 0.5], [], "Chunks .* 20 to 23 .* 100", "Cut .*: .* of 30 lo", 21),
        ([0.5, 0.6, 0.2], [0.5, 0.6, 0.2], [], "No length .* 60%, .* of 20", "Choose", None),
        # a difference that chance may give, and one that it hardly gives
        ([1, 0.76, 0.5], [1, 0.745, 0.5], [], "Chunks of .* 17 to 22", "Cut at 17 to 22", 20),
        ([1, 0.8, 0.5], [0.9, 0.6, 0.2], [], "Chunks of .* 13 to 16", "Norm.* cosine, .* 20 t", 14),
        ([1, 1, 1], [1, 1, 1], [0.2, 0.9, 0.9, 0.3], "Cutting into", "Cut at about 20 tokens", 20),
        ([1, 1, 1], [1, 1, 1], [0.5] * 4, "No sign that cutting helps: whole", "Leave", None),
        ([1, 1, 1], [1, 1, 1], [0.1, 0.1, 0.1, 0.9], "Cutting lowers recall", "Leave", None),
    ],
)
def test_the_verdict_the_advice_and_the_advised_length_agree(
    cosine, dot, recalls, verdict, advice, tokens, cut, tiny_weights
) -> None:
    result = answer(cut, tiny_weights, measured(cosine, dot, recalls), similarity="dot")
    assert re.match(verdict, result.verdict)
    assert re.match(advice, result.advice)
    assert result.json()["advised_tokens"] == tokens
    assert (result.json()["recall_at_advised"] is None) == (tokens is None)
    assert result.picture["advised"] == tokens
    caveats = " ".join(result.caveats)
    assert "Chunks of over 3 sentences are left out: the model reads too few" in caveats
    assert ("whole texts that are cut 25%" in result.numbers) == bool(recalls)
    drawn = {line.name: list(line.y) for line in result.plot().data}
    if recalls:
        judged = [entry["recall_at_10"] for entry in result.details["whole"]["chunks"]]
        assert drawn["right texts"] == pytest.approx(judged)
        assert set(drawn["texts that are not cut"]) == {result.details["whole"]["recall_at_10"]}
    assert ("right texts" in drawn) == bool(recalls)


@pytest.mark.parametrize(
    ("lost", "exceeded", "undecided", "caveat"),
    [
        (0.0, ["30 tokens"], [], "Chunks of 30 tokens lose over 0% of their sentences among all"),
        (0.2, [], ["30 tokens"], "Too few searches to tell if chunks of 30 tokens lose over 20%"),
        (0.3, [], [], ""),
    ],
)
def test_a_limit_is_exceeded_where_the_interval_is_beyond_it(
    lost, exceeded, undecided, caveat, cut, tiny_weights
) -> None:
    one = measured([1, 0.9, 0.8], [1, 0.9, 0.8], [])
    result = answer(cut, tiny_weights, one, chunk_tokens=40, max_lost=lost)
    assert (result.details["exceeded"], result.details["undecided"]) == (exceeded, undecided)
    assert caveat in " ".join(result.caveats)
    assert (result.json()["chunk_tokens"], result.json()["max_lost"]) == (40, lost)
    assert result.command.endswith(f"--chunk-tokens 40 --max-lost {lost}")


def test_a_length_that_no_chunk_has_is_refused(cut: Chunks, tiny_weights: Weights) -> None:
    one = measured([1, 0.9, 0.8], [1, 0.9, 0.8], [])
    with pytest.raises(SettingError, match="No size of chunks has about 99,999 tokens"):
        answer(cut, tiny_weights, one, chunk_tokens=99_999, max_lost=0.5)
