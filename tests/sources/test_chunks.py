import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clsviz.errors import ClsvizError, Undefined
from clsviz.settings import Experiment
from clsviz.sources import chunks

NUMBERS = ("one", "two", "three", "four", "five", "six", "ten", "red", "big", "old", "new", "shy")


def sentence(n: int) -> str:
    """A sentence of seven words, different for every number."""
    return (
        f"The {NUMBERS[n % 12]} {NUMBERS[n // 12 % 12]} {NUMBERS[n // 144]} birds of {n**3} sang."
    )


def memory(**settings: object) -> Experiment:
    return Experiment(corpus="memory", **{"sample_size": 2400, **settings})


def test_pieces_never_cross_texts_and_sentences_know_theirs(tmp_path: Path) -> None:
    texts = [" ".join(map(sentence, range(start, start + 8))) for start in range(0, 320, 8)]
    cut = chunks.find(memory(), tmp_path, texts)
    assert cut.sizes == (1, 2, 3, 5, 8)
    for place, size in enumerate(cut.sizes):
        words = cut.cut[place].chunks
        expected = [
            " ".join(some[at : at + size]) for some in map(split, texts) for at in range(0, 8, size)
        ]
        assert words == expected
        for query, relevant in zip(cut.queries, cut.cut[place].relevant, strict=True):
            holding = [n for n, chunk in enumerate(words) if sentence(query) in chunk]
            assert relevant.tolist() == holding


def split(text: str) -> list[str]:
    return [f"{part}." for part in text.rstrip(".").split(". ")] if ". " in text else [text]


def test_a_text_file_is_one_text_whose_beginning_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("\n\n".join(map(sentence, range(400))))
    cut = chunks.find(Experiment(corpus=str(path), sample_size=150), tmp_path)
    assert cut.cut[0].chunks == [sentence(n) for n in range(150)]
    assert max(cut.sizes) == 30
    assert "150 of 400 sentences are cut into chunks: the first ones." in cut.caveats


def test_near_duplicates_are_right_too_and_search_once(tmp_path: Path) -> None:
    some = list(map(sentence, range(120)))
    texts = [" ".join(some[at : at + 4]) for at in range(0, 120, 4)] * 2
    cut = chunks.find(memory(), tmp_path, pd.Series(texts))
    assert len(cut.queries) == 120
    assert cut.caveats == ("120 of 240 sentences search: different ones of at least 6 words.",)
    assert all(len(relevant) == 2 for one in cut.cut for relevant in one.relevant)


@pytest.mark.parametrize(("size", "least", "n"), [(600, 12, 600), (1700, 2, 1684)])
def test_short_texts_give_way_to_long_ones_where_these_suffice(size, least, n, tmp_path) -> None:
    long = [" ".join(map(sentence, range(at, at + 12))) for at in range(0, 1404, 12)]
    short = [" ".join(map(sentence, range(at, at + 2))) for at in range(1420, 1700, 2)]
    cut = chunks.find(memory(sample_size=size), tmp_path, [*long, *short, sentence(1701)])
    assert f"{n:,} of 1,685 sentences are cut into chunks: from " in cut.caveats[0]
    assert cut.caveats[0].endswith(f" texts, each of at least {least} sentences.")


def split_by_characters(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("is_chinese", [False, True])
def test_a_sentence_is_in_own_chunks_or_cut_in_two_or_left_out(
    is_chinese: bool, tmp_path: Path
) -> None:
    draw = np.random.RandomState(0).randint(0x4E00, 0x5E00, (300, 20))
    some = [f"{''.join(map(chr, row))}。" for row in draw]
    if not is_chinese:
        some = [f"The {' '.join(f'w{number}' for number in row[:9])}." for row in draw]
    text = " ".join(some)
    own = [*split_by_characters(text, len(text) // 60)[:30], "@" * 30, "9" * 40]
    cut = chunks.find(memory(), tmp_path, [text], own=own)
    assert cut.own
    pairs = zip(cut.queries, cut.own.relevant, strict=True)
    for query, relevant in pairs:
        assert relevant.tolist() == [n for n, one in enumerate(own) if some[query][:-1] in one]
    is_before = [text.find(one) < len(text) // 2 for one in some]
    assert abs(len(cut.queries) - sum(is_before)) <= 1
    assert "Your chunks that hold nothing of the texts: 2." in cut.caveats
    assert any("hold hardly a piece, left out: 1" in caveat for caveat in cut.caveats)


def test_a_sentence_that_is_missing_is_not_cut_in_two_whatever_it_shares(tmp_path: Path) -> None:
    names = [
        "".join(row) for row in np.random.RandomState(0).choice([*"abdefgijkmnoprtuzé"], (1200, 8))
    ]
    words = "The setting {} {} controls whether the server will accept a connection from {} {}."
    some = [words.format(*names[at : at + 4]) for at in range(0, 1200, 4)]
    own = [unicodedata.normalize("NFD", " ".join(some[at : at + 3])) for at in range(0, 201, 3)]
    cut = chunks.find(memory(), tmp_path, [" ".join(some)], own=own)
    assert cut.own
    assert [list(rows) for rows in cut.own.relevant] == [[query // 3] for query in cut.queries]
    assert "Sentences of which your chunks hold hardly a piece, left out: 99." in cut.caveats


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (["Wholly other words stand in here, and nothing else."] * 20, "hold only 0 of the se"),
        (["One chunk."], "You give only 1 chunk, and 10 are needed"),
        ("mine", "Your chunks are “mine”, not a file. Name a .parquet"),
    ],
)
def test_chunks_of_nothing_are_refused(own: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(ClsvizError, match=message):
        chunks.find(memory(), tmp_path, [" ".join(map(sentence, range(200)))], own=own)


def test_overlapping_chunks_share_sentences_and_hold_all(tmp_path: Path) -> None:
    texts = [" ".join(map(sentence, range(start, start + 12))) for start in range(0, 240, 12)]
    cut = chunks.find(memory(), tmp_path, texts)
    for shared, starts in ((0, (0, 5, 10)), (2, (0, 3, 6, 9)), (4, (*range(8),))):
        one = cut.recut(5, shared)
        words = one.chunks
        expected = [" ".join(some[at : at + 5]) for some in map(split, texts) for at in starts]
        assert words == expected
        for query, relevant in zip(cut.queries, one.relevant, strict=True):
            holding = [n for n, chunk in enumerate(words) if sentence(query) in chunk]
            assert relevant.tolist() == holding
    shuffled = cut.recut(5, seed=1)
    words = shuffled.chunks
    columns = cut.queries, shuffled.relevant, shuffled.positions[cut.queries]
    for query, relevant, at in zip(*columns, strict=True):
        chunk = split(words[relevant[0]])
        assert at == pytest.approx((chunk.index(sentence(query)) + 0.5) / len(chunk))


def test_letters_are_the_words_of_chinese(tmp_path: Path) -> None:
    draw = np.random.RandomState(0).randint(0x4E00, 0x5E00, (150, 9))
    short, long = ("".join(map(chr, row)) for row in (draw[0, :5], draw[:, :5].ravel()[:6]))
    text = "。".join(["".join(map(chr, row)) for row in draw] + [short, long, ""])
    cut = chunks.find(memory(), tmp_path, [text])
    assert cut.queries.tolist() == [*range(150), 151]


@pytest.mark.parametrize(
    ("texts", "size", "message"),
    [
        ([*map(sentence, range(300))], 300, "is one sentence: nothing can be cut. Give longer"),
        ([" ".join(map(sentence, range(300)))], 50, "Only 50 of 50 .* Raise sample_size"),
        (["I saw it. You did. "] * 200, 500, "Only 0 of 400 .* Give longer texts"),
    ],
)
def test_texts_with_too_few_searches_cannot_tell(texts, size, message, tmp_path) -> None:
    with pytest.raises(Undefined, match=message):
        chunks.find(memory(sample_size=size), tmp_path, texts)
