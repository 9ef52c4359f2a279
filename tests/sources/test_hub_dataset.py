"""Samples of datasets, by the real clients against the stand-in for the Hub."""

import hashlib
import io
import itertools
import json
import os
import random
import threading
import time
import tracemalloc
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.stats
from support.datasets import SMALL, TEXTS, columns_of, draw, opened, publish, ranges, write
from support.hub import Hub

from benchmarks import corpora as benchmark
from clsviz.errors import CancelledError, CorpusError
from clsviz.progress import Progress
from clsviz.sources import hub_rounds
from clsviz.sources.hub_dataset import Split
from clsviz.sources.hub_listing import NotKeptError, open_listing
from clsviz.sources.hub_rounds import Limits


@pytest.mark.parametrize(
    ("cut", "limits", "digest"),
    [
        (False, Limits(files_at_once=16), "00ade1c10a28487e"),
        (True, Limits(files_at_once=16), "c4d4c06cfeb33646"),
        (False, Limits(100, files_at_once=16), "5f5d600954472e8a"),
        (False, SMALL, "32a72185bd079e60"),
        (True, SMALL, "16dc39c0ecfaf49e"),
    ],
)
def test_a_sample_is_the_same_for_ever(
    hub: Hub, tmp_path: Path, kept: Path, cut: bool, limits: Limits | None, digest: str
) -> None:
    """Links name a sample by its seed: of these files, one large, always the same sentences of the same row groups."""
    texts = [f"{text} It is one. It is text {index}." for index, text in enumerate(TEXTS)]
    start = 0
    for number, n in enumerate([10, 200, 30, 30, 400, *[15] * 22]):
        write(tmp_path / "own" / "data" / f"train-{number:05}-of-00027.parquet", texts[start : start + n])
        start += n
    hub.add("me/for-ever", tmp_path / "own", kind="dataset")
    found = draw(opened("me/for-ever", kept, limits=limits), 600, seed=3, cut=cut)
    content = json.dumps([found.sentences, found.row_groups])
    assert hashlib.sha256(content.encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("cut", [False, True])
def test_a_larger_sample_begins_with_the_smaller_and_knows_its_row_groups(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, cut: bool
) -> None:
    texts = [f"{text} It is one. It is text {index}." for index, text in enumerate(TEXTS)] if cut else TEXTS
    publish(hub, repo, tmp_path / "own", texts)
    whole = draw(opened(repo, tmp_path / "elsewhere", limits=SMALL), cut=cut)
    split = opened(repo, kept, limits=SMALL)
    for size in (1, 99, 100, 101, 400):
        found = draw(split, size, cut=cut)
        assert found.sentences == whole.sentences[:size]
        assert found.row_groups == whole.row_groups[:size]
    told = [*zip(whole.sentences, whole.row_groups, strict=True)]
    if cut:  # the other pieces do not say which text they are of
        told = [(sentence, group) for sentence, group in told if sentence.startswith("It is text")]
    assert len(told) == 1000
    assert all(int(sentence.rstrip(".").split()[-1]) // 20 == group for sentence, group in told)
    expected = [piece for text in texts for piece in text.replace(". ", ".|").split("|")] if cut else texts
    assert Counter(whole.sentences) == Counter(expected)
    other = draw(split, 100, seed=1, cut=cut).sentences
    assert other != whole.sentences[:100]
    # Within a round sentences of a row group, or of a text, do not stand together.
    numbers = [int(sentence.rstrip(".").split()[-1]) for sentence in whole.sentences[:100] if sentence[-2].isdigit()]
    assert sum(abs(one - another) == 1 for one, another in itertools.pairwise(numbers)) < 15


def test_growing_reads_only_what_is_new(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own")
    draw(opened(repo, kept, limits=SMALL), 30)
    assert len(ranges(hub)) == 1 + 5  # the footer, and a round of five row groups
    for size, n_groups in ((100, 0), (101, 5), (350, 10), (10**6, 50 - 20)):
        before = len(hub.requests)
        draw(opened(repo, kept, limits=SMALL), size)  # in what a new process has: the folder
        assert len(hub.requests) - before == len(ranges(hub, before)) == n_groups
    assert len(set(ranges(hub))) == len(ranges(hub)) == 51


def test_what_is_kept_is_drawn_without_the_network(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own")
    whole = draw(opened(repo, kept, limits=SMALL))
    hub.requests.clear()
    listing = open_listing(kept, repo, "", "", Progress(), online=False)
    split = Split(listing, "", "", kept, SMALL, online=False)
    assert split.draw(10**6, 0, "text", Progress(), cut=False) == whole
    online = Split(listing, "", "", kept, SMALL, online=True)
    assert online.draw(70, 0, "text", Progress(), cut=False).sentences == whole.sentences[:70]
    for seed, cut in ((1, False), (0, True)):
        with pytest.raises(NotKeptError):
            split.draw(1, seed, "text", Progress(), cut=cut)
    assert split.columns(Progress()) == online.columns(Progress())
    with pytest.raises(NotKeptError):
        split.mean_characters("text", Progress())
    with pytest.raises(NotKeptError):
        open_listing(kept, "me/other", "", "", Progress(), online=False)
    empty = Split(listing, "", "", tmp_path / "empty", online=False)
    with pytest.raises(NotKeptError):
        empty.columns(Progress())
    with pytest.raises(NotKeptError):
        empty.draw(1, 0, "text", Progress(), cut=False)
    assert hub.requests == []


class Stopping(Progress):
    """Cancelled once so many row groups were read."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.left = at

    def advance(self, done: int) -> None:
        super().advance(done)
        self.left -= self.stage.startswith("Reading")
        if not self.left:
            self.cancel()


@pytest.mark.parametrize("how", ["cancel", "cut", "500", "wrong-length", "429"])
def test_an_interrupted_draw_goes_on(hub: Hub, repo: str, tmp_path: Path, kept: Path, how: str) -> None:
    for number in range(5):
        write(tmp_path / "own" / "data" / f"train-{number}.parquet", TEXTS[200 * number : 200 * (number + 1)])
    hub.add(repo, tmp_path / "own", kind="dataset")
    expected = draw(opened(repo, tmp_path / "elsewhere", limits=SMALL)).sentences
    split = opened(repo, kept, limits=SMALL)
    draw(split, 1)  # the footers are there
    if how == "cancel":
        with pytest.raises(CancelledError):
            draw(opened(repo, kept, limits=SMALL), progress=Stopping(at=17))
    else:
        hub.misbehave("*/data/train-2.parquet", how)
        with pytest.raises(CorpusError, match=repo):
            draw(opened(repo, kept, limits=SMALL))
        hub.behave()
    rounds = len(list(kept.rglob("round-*")))
    assert 1 <= rounds < 10
    while any(thread.name == "interruptible" for thread in threading.enumerate()):
        time.sleep(0.01)  # what was being read when it was cancelled still arrives
    before = len(hub.requests)
    assert draw(opened(repo, kept, limits=SMALL)).sentences == expected
    assert len(ranges(hub, before)) == 50 - 5 * rounds
    for short in ("cut", "500", "429"):  # is not noticed
        hub.misbehave("*/data/train-2.parquet", short, times=1)
    assert draw(opened(repo, tmp_path / "again", limits=SMALL)).sentences == expected
    assert not list(kept.rglob(".new-*"))


@pytest.mark.parametrize("name", ["round-000001-*", "footer-*", "listing-*"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "emptied", "removed", "a pipe"])
def test_what_is_kept_and_damaged_is_fetched_again(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, name: str, damage: str
) -> None:
    publish(hub, repo, tmp_path / "own")
    whole = draw(opened(repo, kept, limits=SMALL))
    before = {path: path.read_bytes() for path in kept.rglob(name)}
    assert before
    for path, content in before.items():
        middle = len(content) // 2
        path.write_bytes(
            {
                "truncated": content[:middle],
                "flipped": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            }.get(damage, b"")
        )
        if damage in ("removed", "a pipe"):
            path.unlink()
        if damage == "a pipe":
            os.mkfifo(path)
    assert draw(opened(repo, kept, limits=SMALL)) == whole
    assert {path: path.read_bytes() for path in kept.rglob(name)} == before


def test_all_of_many_files_are_reached(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    """Large ones among them, whose row groups are dealt out."""
    shares = [1] * 20 + [9] + [1] * 10 + [11]
    start = 0
    for number, share in enumerate(shares):
        write(tmp_path / "own" / "data" / f"train-{number:02}.parquet", TEXTS[start : start + 20 * share])
        start += 20 * share
    assert start == 1000
    hub.add(repo, tmp_path / "own", kind="dataset")
    split = opened(repo, kept, limits=Limits(files_at_once=16))
    first = draw(split, 10)
    assert 10 <= first.n_files <= 16
    assert len(list(kept.rglob("footer-*"))) == first.n_files
    whole = draw(split)
    assert Counter(whole.sentences) == Counter(TEXTS)
    assert (whole.n_row_groups, whole.n_row_groups_known, whole.n_files) == (50, 50, 32)
    assert whole.sentences[:10] == first.sentences


class LocalFile(io.FileIO):
    """In the place of a file of the Hub, for hundreds of draws."""

    n_bytes = 0


@pytest.fixture
def without_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws from files of this machine that do not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(hub_rounds, "RemoteFile", lambda _, file: LocalFile(tmp_path / "own" / file.path))


@pytest.mark.usefixtures("without_network")
def test_every_sentence_is_as_likely_as_the_others(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    """Over many seeds, in a round that is a part of the whole."""
    publish(hub, repo, tmp_path / "own", TEXTS[:48], rows=4)
    n_draws, size = 300, 8
    split = opened(repo, kept, limits=Limits(12))
    draws = [draw(split, size, seed).sentences for seed in range(n_draws)]
    first = Counter(sentences[0] for sentences in draws)
    assert scipy.stats.chisquare([first[text] for text in TEXTS[:48]]).pvalue > 0.01
    drawn = Counter(itertools.chain.from_iterable(draws))
    assert all(scipy.stats.binomtest(drawn[text], n_draws, size / 48).pvalue > 0.001 for text in TEXTS[:48])
    # Row groups, which a round has three of, come in any company, and their sentences in any order.
    companies = Counter(frozenset(TEXTS.index(text) // 4 for text in sentences[:2]) for sentences in draws)
    assert len(companies) > 60
    assert (
        scipy.stats.chisquare([sum(TEXTS.index(s[0]) % 4 == place for s in draws) for place in range(4)]).pvalue > 0.01
    )


@pytest.mark.usefixtures("without_network")
def test_the_sentences_of_large_files_are_as_likely_as_those_of_small_ones(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    """Only some files are looked into at once: of each the same share, or a large one would lend too few."""
    choose = random.Random(0)
    texts = [f"{number} {choose.randbytes(1500).hex()}" for number in range(320)]
    shares = [40, *[1] * 24]  # of five texts
    for number, share in enumerate(shares):
        start = 5 * sum(shares[:number])
        write(tmp_path / "own" / f"train-{number:02}.parquet", texts[start : start + 5 * share], rows=5)
    hub.add(repo, tmp_path / "own", kind="dataset")
    split = opened(repo, kept, limits=Limits(5, files_at_once=16))
    n_large = sum(int(draw(split, 1, seed).sentences[0].split()[0]) < 200 for seed in range(300))
    assert n_large / 300 == pytest.approx(40 / 64, abs=0.09)  # three times its standard deviation; files alike: 0.47


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A million sentences in a thousand row groups, and the folder that holds them."""
    folder = tmp_path_factory.mktemp("large")
    return folder, benchmark.write_dataset(folder / "data" / "train.parquet")


def test_a_sample_of_a_large_dataset_leaves_most_of_it_unread(
    hub: Hub, large: tuple[Path, list[str]], kept: Path
) -> None:
    folder, sentences = large
    size = (folder / "data" / "train.parquet").stat().st_size
    assert size > 30e6
    hub.add("me/large", folder, kind="dataset")
    split = opened("me/large", kept)
    found = draw(split, 10_000)
    assert hub.bytes_sent() < 0.05 * size
    assert found.n_bytes == hub.bytes_sent("*.parquet")
    assert split.n_bytes == size
    assert len(set(found.sentences) & set(sentences)) == 10_000
    assert (found.n_row_groups, found.n_row_groups_known) == (20, 1000)
    # A sample that grows reads more, and says so; what was kept is still counted.
    again = draw(opened("me/large", kept), 30_000)
    assert again.sentences[:10_000] == found.sentences
    assert found.n_bytes < again.n_bytes == hub.bytes_sent("*.parquet") < 0.1 * size


def test_large_row_groups_are_refused(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own", [random.Random(i).randbytes(500).hex() for i in range(5000)], rows=5000)
    with pytest.raises(CorpusError, match="stored in row groups of over 2 MB, any of which would fill the memory"):
        draw(opened(repo, kept, limits=Limits(group_bytes=2 * 2**20)))
    assert hub.bytes_sent("*.parquet") < 2**20


@pytest.mark.parametrize("is_coded", [False, True])
def test_row_groups_that_are_larger_than_they_say_are_refused(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, is_coded: bool
) -> None:
    """A long text, stored once and repeated a thousand times."""
    texts = pa.array(["a" * 2**17] * 1000)
    publish(
        hub, repo, tmp_path / "own", pa.table({"text": texts.dictionary_encode() if is_coded else texts}), rows=1000
    )
    assert opened(repo, kept).n_bytes < 2**17
    tracemalloc.start()
    with pytest.raises(CorpusError, match="stored in row groups of over 20 MB"):
        draw(opened(repo, kept, limits=Limits(group_bytes=20 * 2**20)))
    assert tracemalloc.get_traced_memory()[1] < 60 * 2**20
    tracemalloc.stop()


def test_long_texts_fill_a_round_as_well(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own", [random.Random(i).randbytes(1000).hex() for i in range(1000)], rows=10)
    found = draw(opened(repo, kept, limits=Limits(round_bytes=2**16)), 10)
    assert 3 <= found.n_row_groups <= 4  # of 20 KB each, and what else is in them


def test_the_likeliest_column_is_the_first(hub: Hub, repo: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": [1, 2],
            "url": ["https://example.org/" + "x" * 99] * 2,
            "label": ["a", "b"],
            "long": ["Words and words. " * 30, "Others."],
            "text": ["A cat.", "A dog."],
            "parts": [["a", "b"], []],
            "answers": [{"text": "yes"}, {"text": "no"}],
            "score": [0.5, 0.25],
            "coded": pa.array(["u", "v"]).dictionary_encode(),
            "large": pa.array(["u", "v"], pa.large_string()),
        }
    )
    columns = columns_of(hub, repo, tmp_path, table)
    assert next(iter(columns)) == "text"
    assert set(columns) == {"url", "label", "long", "text", "coded", "large"}
    assert columns["long"] > 200 > columns["text"]
    assert list(columns).index("long") < list(columns).index("label")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array(["a", None, "", "b", " "]), ["a", "b"]),
        (pa.array(["a", "b", "a", None]).dictionary_encode(), ["a", "a", "b"]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.array(["a  b", "c\n\nd"]), ["a b", "c d"]),
    ],
)
def test_every_kind_of_text_is_read(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, values: pa.Array, expected: list[str]
) -> None:
    publish(hub, repo, tmp_path / "own", pa.table({"text": values}), rows=2)
    assert sorted(draw(opened(repo, kept)).sentences) == expected


def test_a_column_beside_nested_ones_of_like_names(hub: Hub, repo: str, tmp_path: Path) -> None:
    table = pa.table({"a": [{"b": "inner"}], "a.b": ["outer"], "lists": [["inner"]], "c": ["other"]})
    assert set(columns_of(hub, repo, tmp_path, table)) == {"a.b", "c"}
    assert draw(opened(repo, tmp_path / "kept"), column="a.b").sentences == ["outer"]


def test_a_column_without_any_text_is_named(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own", pa.table({"text": pa.array([None, "", " "], pa.string()), "title": ["A"] * 3}))
    with pytest.raises(CorpusError, match=r"holds no text in “text”\. Choose another column"):
        draw(opened(repo, kept))
    assert draw(opened(repo, kept), column="title").sentences == ["A"] * 3


def test_files_may_differ_in_what_is_not_read(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "own"
    write(folder / "train-0.parquet", pa.table({"text": ["A cat."], "n": [1]}))
    write(folder / "train-1.parquet", pa.table({"title": ["T"], "n": ["x"], "text": ["A dog."]}))
    write(folder / "train-2.parquet", pa.table({"text": pa.array([], pa.string())}))
    pq.ParquetWriter(folder / "train-3.parquet", pa.schema({"text": pa.string()})).close()  # no row group at all
    hub.add(repo, folder, kind="dataset")
    found = draw(opened(repo, kept))
    assert sorted(found.sentences) == ["A cat.", "A dog."]
    assert found.n_files == 4


@pytest.mark.parametrize("other", [pa.array([1, 2]), pa.array([["a"], []]), pa.array([{"text": "a"}, None]), None])
def test_files_that_differ_in_the_column_are_named(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, other: pa.Array | None
) -> None:
    folder = tmp_path / "own"
    write(folder / "train-0.parquet", pa.table({"text": ["A cat."] * 100}))
    write(folder / "train-1.parquet", pa.table({"id": [1, 2]} if other is None else {"text": other}))
    hub.add(repo, folder, kind="dataset")
    with pytest.raises(CorpusError, match="has files without the column “text”, or where it does not hold text"):
        draw(opened(repo, kept))
