import json
from pathlib import Path

import numpy as np
import pytest
from conftest import WORDS
from scipy.special import ndtr

import clsviz
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.jobs.pieces import Index, contain
from clsviz.results.pieces import Answer
from clsviz.sources import pieces
from clsviz.sources.pieces import Pieces
from clsviz.statistics.containment import position_effect

WIDTH = 24


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    """A text of 1,200 sentences without words in common but a few."""
    words = np.random.RandomState(0).randint(10_000, size=(1200, 7))
    text = " ".join(f"Word{' '.join(f'w{word}' for word in row)}." for row in words)
    experiment = Experiment(corpus="memory", sample_size=1200)
    return pieces.find(experiment, tmp_path_factory.mktemp("store"), [text])


def made_up(cut: Pieces, falling: float, seed: int) -> list[Index]:
    """Pieces as sums of random vectors, those at the end with less weight."""
    sentences = np.random.RandomState(seed).normal(size=(1200, WIDTH))
    indices = []
    for owners, positions in zip(cut.owners, cut.positions, strict=True):
        vectors = np.zeros((owners.max() + 1, WIDTH))
        np.add.at(vectors, owners, sentences * (1 - falling * positions)[:, None])
        n = len(vectors)
        columns = np.full(n, 9, np.int32), np.zeros(n, np.bool_)
        indices.append(Index(vectors.astype(np.float32), *columns))
    return indices


def test_recall_of_sums_of_random_vectors_is_that_of_theory(cut: Pieces) -> None:
    measured = [contain(cut, made_up(cut, 0, seed), np.zeros(0)) for seed in range(4)]
    recalls = [
        [recall.recall_at_1 for recall in Answer.of(one, 0).recalls["dot"]] for one in measured
    ]
    random = np.random.RandomState(0)
    lengths, noise = np.sqrt(random.chisquare(WIDTH, 20_000)), random.normal(size=20_000)
    for place, size in enumerate(cut.sizes):
        # The product with the own piece has the mean |q|² and the variance |q|² (size − 1), with
        # another one 0 and |q|² size.
        own = (lengths + noise * np.sqrt(size - 1)) / np.sqrt(size)
        expected = (ndtr(own) ** (1200 / size - 1)).mean()
        assert np.mean(recalls, axis=0)[place] == pytest.approx(expected, abs=0.04)


def test_the_position_matters_where_weights_fall(cut: Pieces) -> None:
    for falling, is_sure in ((0.0, False), (0.9, True)):
        one = contain(cut, made_up(cut, falling, 1), np.zeros(0))
        effect, (_, high) = position_effect(one.ranks[0], one.positions, one.sizes, 0)
        assert (high < 0) == is_sure, effect


def test_truncated_pieces_and_their_searches_are_left_out_and_counted(cut: Pieces) -> None:
    indices = made_up(cut, 0, 0)
    indices[2].truncated[:40] = True
    one = contain(cut, indices, np.zeros(0))
    assert one.n_truncated == (0, 0, 40, *[0] * (len(indices) - 3))
    assert one.n_pieces[2] == 360
    assert one.n_left_out == (cut.queries < 120).sum()
    assert one.ranks.shape[2] == len(cut.queries) - one.n_left_out


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
    assert result.verdict.startswith(("Pieces of", "Any length"))
    sizes = result.details["sizes"]
    assert [entry["sentences"] for entry in sizes][:3] == [1, 2, 3]
    assert sizes[0]["recall_at_1"] == 1 == sizes[0]["recall_at_10"]
    assert (sizes[0]["n_pieces"], sizes[0]["recall_at_1_of_200"]) == (150, None)
    assert len(result.table) == 3 * len(sizes)
    again = clsviz.chunk_test(str(tiny_model), str(book), store=tmp_path, similarity="dot")
    assert again.details["cosine"] == sizes
    assert json.loads(json.dumps(result.json()))["advised_tokens"] > 0


def test_judged_searches_come_first(tiny_model: Path, tmp_path: Path) -> None:
    some = sentences(300, 2)
    texts = [" ".join(some[at : at + 5]) for at in range(0, 300, 5)]
    columns = {"title": some[::5], "text": texts}
    result = clsviz.chunk_test(
        str(tiny_model), columns, column="text", titles="title", store=tmp_path
    )
    whole = result.details["whole"]
    # The sentence itself is the best piece of its text.
    assert whole["pieces"][0]["recall_at_10"] == 1
    assert result.verdict.startswith("Cutting into pieces of 1 sentence raises recall")
    search = {"column": "text", "titles": "title", "store": tmp_path}
    by_search_test = clsviz.search_test(str(tiny_model), columns, **search)
    assert whole["recall_at_10"] == pytest.approx(by_search_test.fact("recall_at_10"))


@pytest.mark.parametrize(
    "settings",
    [
        {"similarity": "euclid"},
        {"piece_tokens": 5},
        {"piece_tokens": 0, "max_tokens_lost": 0.5},
        {"piece_tokens": 9, "max_tokens_lost": 1.5},
        {"piece_tokens": 99_999, "max_tokens_lost": 0.5},
        {"layer": 1},
        {"sample_size": "all"},
    ],
)
def test_settings_that_cannot_be_used_are_refused(
    settings: dict, tiny_model: Path, book: Path, tmp_path: Path
) -> None:
    with pytest.raises(ClsvizError):
        clsviz.chunk_test(str(tiny_model), str(book), store=tmp_path, **settings)
