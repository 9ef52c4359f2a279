"""The real clients against the stand-in of tests/hub.py, and real Parquet files."""

import contextlib
import io
import itertools
import os
import random
import threading
import time
import tracemalloc
import zlib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.stats
from huggingface_hub import constants, file_download
from huggingface_hub.utils import _http
from support.hub import STRANGER, TOKEN, Hub
from support.tiny import write_dataset

from benchmarks import corpora as benchmark
from clsviz.corpora.datasets import Draw, Limits, Listing, NotKeptError, Offline, Online, Split
from clsviz.errors import CancelledError, CorpusError
from clsviz.progress import Progress

TEXTS = [f"Sentence number {index}." for index in range(1000)]
SMALL = Limits(round_texts=100)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client tries again as often as it does, without waiting in between."""
    for module in (_http, file_download):
        monkeypatch.setattr(module, "time", SimpleNamespace(**vars(time) | {"sleep": lambda _: None}))


@pytest.fixture
def repo(request: pytest.FixtureRequest) -> str:
    """The name of a dataset that no other test has."""
    return f"me/{zlib.crc32(request.node.nodeid.encode()):08x}"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def write(path: Path, texts: list[str] | pa.Table, rows: int = 20) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = texts if isinstance(texts, pa.Table) else pa.table({"id": range(len(texts)), "text": texts})
    pq.write_table(table, path, row_group_size=rows)
    return path


def publish(hub: Hub, repo: str, folder: Path, texts: list[str] | pa.Table = TEXTS, rows: int = 20) -> str:
    """A dataset of one Parquet file; the commit."""
    write(folder / "data" / "train.parquet", texts, rows)
    return hub.add(repo, folder, kind="dataset")


def listing_of(repo: str, kept: Path, revision: str = "") -> Listing:
    return Online(kept).listing(repo, revision, Progress())


def opened(repo: str, kept: Path, configuration: str = "", split: str = "", limits: Limits | None = None) -> Split:
    return Online(kept, limits).split(listing_of(repo, kept), configuration, split)


def draw(
    split: Split,
    size: int = 10**6,
    seed: int = 0,
    *,
    column: str = "text",
    cut: bool = False,
    progress: Progress | None = None,
) -> Draw:
    return split.draw(size, seed, column, progress or Progress(), cut=cut)


def declared(listing: Listing) -> dict[str, dict[str, list[str]]]:
    return {
        configuration: {split: [file.path for file in files] for split, files in splits.items()}
        for configuration, splits in listing.splits.items()
    }


def ranges(hub: Hub, start: int = 0) -> list[tuple[str, str]]:
    """What was asked for of the files, and came."""
    return [
        (request.path, request.range)
        for request in hub.requests[start:]
        if request.path.endswith(".parquet") and request.status == 206
    ]


# What a dataset declares


def write_script(folder: Path, repo: str) -> Path:
    folder.mkdir()
    (folder / f"{repo.rpartition('/')[2]}.py").write_text("raise SystemExit('it ran')")
    return folder


def test_of_a_script_the_conversion_is_read(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    hub.add(repo, write_script(tmp_path / "script", repo), kind="dataset")
    splits = {"en": {"train": TEXTS[:50], "test": TEXTS[50:60]}, "de": {"train": ["Ein Satz."]}}
    folder = write_dataset(tmp_path / "converted", splits)
    (folder / ".gitattributes").write_text("*.parquet filter=lfs")
    commit = hub.add(repo, folder, kind="dataset", revision="refs/convert/parquet")
    listing = listing_of(repo, kept)
    assert declared(listing) == {
        "de": {"train": ["de/train/0000.parquet"]},
        "en": {"test": ["en/test/0000.parquet"], "train": ["en/train/0000.parquet"]},
    }
    assert (listing.repo, listing.commit, listing.is_conversion, listing.default) == (repo, commit, True, "de")
    assert Counter(draw(opened(repo, kept, "en", "train")).sentences) == Counter(TEXTS[:50])
    assert draw(opened(repo, kept)).sentences == ["Ein Satz."]
    assert not [request.path for request in hub.requests if request.path.endswith(".py")]
    # The commit of the conversion leads to it as well.
    assert listing_of(repo, tmp_path / "elsewhere", commit) == listing


def test_the_card_declares_configurations_splits_and_a_default(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "own"
    for name in ("a/one", "a/two", "a/held-out", "b/only", "c/train-0", "c/test-0", "unused/x"):
        write(folder / f"{name}.parquet", [f"Of {name}."])
    (folder / "b" / "README.md").write_text("No data.")
    (folder / "b" / ".hidden").mkdir()
    write(folder / "b" / ".hidden" / "z.parquet", ["Hidden."])
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: first\n  data_files: b/**\n"
        "- config_name: main\n  default: true\n  data_files:\n"
        "  - split: train\n    path:\n    - a/two.parquet\n    - a/one.parquet\n  - split: test\n    path: a/held*\n"
        "- config_name: folder\n  data_dir: c\n---\n# Texts\n"
    )
    commit = hub.add(repo, folder, kind="dataset")
    listing = listing_of(repo, kept)
    assert declared(listing) == {
        "first": {"train": ["b/only.parquet"]},
        "main": {"train": ["a/one.parquet", "a/two.parquet"], "test": ["a/held-out.parquet"]},
        "folder": {"train": ["c/train-0.parquet"], "test": ["c/test-0.parquet"]},
    }
    assert (listing.commit, listing.is_conversion, listing.default) == (commit, False, "main")
    split = opened(repo, kept)
    assert (split.configuration, split.split) == ("main", "train")
    assert sorted(draw(split).sentences) == ["Of a/one.", "Of a/two."]


def test_without_a_card_the_names_of_the_files_tell(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "own"
    for name in ("data/train-00000-of-00002", "data/train-00001-of-00002", "data/test-00000-of-00001"):
        write(folder / f"{name}.parquet", [f"Of {name}."])
    hub.add(repo, folder, kind="dataset")
    listing = listing_of(repo, kept)
    assert declared(listing) == {
        "default": {
            "train": ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
            "test": ["data/test-00000-of-00001.parquet"],
        }
    }
    assert len(draw(opened(repo, kept)).sentences) == 2


def test_one_file_is_a_dataset(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "own"
    write(folder / "anything.parquet", TEXTS[:5])
    hub.add(repo, folder, kind="dataset")
    assert declared(listing_of(repo, kept)) == {"default": {"train": ["anything.parquet"]}}


def test_a_part_of_a_large_dataset_is_converted(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    splits = {"default": {"dev": ["No."], "partial-train": ["A part."]}}
    hub.add(repo, write_script(tmp_path / "script", repo), kind="dataset")
    hub.add(repo, write_dataset(tmp_path / "own", splits), kind="dataset", revision="refs/convert/parquet")
    assert opened(repo, kept).split == "partial-train"
    assert draw(opened(repo, kept)).sentences == ["A part."]


def test_of_other_formats_the_conversion_is_read(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "train.csv").write_text("text\nA cat.\n")
    hub.add(repo, tmp_path / "own", kind="dataset")
    with pytest.raises(CorpusError, match="the Hugging Face Hub has not converted it"):
        listing_of(repo, kept)
    converted = write_dataset(tmp_path / "converted", {"default": {"train": ["A cat."]}})
    hub.add(repo, converted, kind="dataset", revision="refs/convert/parquet")
    assert draw(opened(repo, kept)).sentences == ["A cat."]


def test_a_dataset_without_an_owner(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    name = repo.replace("me/", "old-")
    hub.add(name, write_script(tmp_path / "script", name), kind="dataset")
    converted = write_dataset(tmp_path / "converted", {"default": {"train": TEXTS}})
    hub.add(name, converted, kind="dataset", revision="refs/convert/parquet")
    assert Counter(draw(opened(name, kept)).sentences) == Counter(TEXTS)


def test_a_renamed_dataset_is_the_same(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own")
    hub._repos["dataset", "me/before"] = hub._repos["dataset", repo]
    assert listing_of("me/before", kept) == listing_of(repo, kept)
    assert listing_of("me/before", kept).repo == repo


def test_what_is_not_there_is_named_with_what_is(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    splits = {f"c{index:02}": {"train": TEXTS[:1], "test": TEXTS[:1]} for index in range(20)}
    hub.add(repo, write_dataset(tmp_path / "own", splits), kind="dataset")
    listing = listing_of(repo, kept)
    with pytest.raises(CorpusError, match=r"no configuration “x�”\. Choose c00, c01, .*, c11 or one of 8 more\."):
        Online(kept).split(listing, "x\n", "")
    with pytest.raises(CorpusError, match=r"no split “x” in c00\. Choose test, train\."):
        Online(kept).split(listing, "", "x")


@pytest.mark.parametrize("broken", ["configs: 3", "configs:\n- config_name: [", "configs:\n- data_files: none/*.x"])
def test_a_card_that_cannot_be_read_is_no_fault_of_the_network(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, broken: str
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "README.md").write_text(f"---\n{broken}\n---\n")
    publish(hub, repo, tmp_path / "own", TEXTS[:3])
    with pytest.raises(CorpusError, match="has no Parquet files"):
        listing_of(repo, kept)


# Columns


def columns_of(hub: Hub, repo: str, folder: Path, table: pa.Table) -> dict[str, float]:
    publish(hub, repo, folder / "own", table)
    return opened(repo, folder / "kept").columns(Progress())


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


def test_numbers_alone_are_no_texts(hub: Hub, repo: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="has no column that holds text"):
        columns_of(hub, repo, tmp_path, pa.table({"n": [1, 2], "parts": [["a"], []]}))


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


# Samples


@pytest.mark.parametrize("cut", [False, True])
def test_a_larger_sample_begins_with_the_smaller(hub: Hub, repo: str, tmp_path: Path, kept: Path, cut: bool) -> None:
    texts = [f"{text} It is one. It is text {index}." for index, text in enumerate(TEXTS)] if cut else TEXTS
    publish(hub, repo, tmp_path / "own", texts)
    whole = draw(opened(repo, tmp_path / "elsewhere", limits=SMALL), cut=cut)
    split = opened(repo, kept, limits=SMALL)
    for size in (1, 99, 100, 101, 400):
        found = draw(split, size, cut=cut)
        assert found.sentences == whole.sentences[:size]
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
    offline = Offline(kept, SMALL)
    listing = offline.listing(repo, "", Progress())
    split = offline.split(listing, "", "")
    assert split.draw(10**6, 0, "text", Progress(), cut=False) == whole
    online = Online(kept, SMALL).split(listing, "", "")
    assert online.draw(70, 0, "text", Progress(), cut=False).sentences == whole.sentences[:70]
    for seed, cut in ((1, False), (0, True)):
        with pytest.raises(NotKeptError):
            split.draw(1, seed, "text", Progress(), cut=cut)
    assert split.columns(Progress()) == online.columns(Progress())
    with pytest.raises(NotKeptError):
        split.mean_characters("text", Progress())
    with pytest.raises(NotKeptError):
        offline.listing("me/other", "", Progress())
    empty = Offline(tmp_path / "empty").split(listing, "", "")
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
    assert not list(kept.rglob(".new-*"))


def test_a_short_interruption_is_not_noticed(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own")
    split = opened(repo, kept)
    for how in ("cut", "500", "429"):
        hub.misbehave("*/train.parquet", how, times=1)
    assert Counter(draw(split).sentences) == Counter(TEXTS)


@pytest.mark.parametrize("name", ["round-000001-*", "footer-*", "listing-*"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "emptied", "removed"])
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
        if damage == "removed":
            path.unlink()
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
    split = opened(repo, kept)
    first = draw(split, 10)
    assert 10 <= first.n_files <= Limits().files_at_once
    assert len(list(kept.rglob("footer-*"))) == first.n_files
    whole = draw(split)
    assert Counter(whole.sentences) == Counter(TEXTS)
    assert (whole.n_row_groups, whole.n_row_groups_known, whole.n_files) == (50, 50, 32)
    assert whole.sentences[:10] == first.sentences


def test_a_sample_comes_from_many_row_groups(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own")
    found = draw(opened(repo, kept), 100)
    assert len({TEXTS.index(sentence) // 20 for sentence in found.sentences}) > 35  # of 50; 44 are to be expected
    assert (found.n_row_groups, found.n_row_groups_known, found.n_files) == (50, 50, 1)


class LocalFile(io.FileIO):
    """In the place of a file of the Hub, for hundreds of draws."""

    n_bytes = 0


@pytest.fixture
def without_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws that do not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def local_split(repo: str, folder: Path, round_texts: int) -> Split:
    """A split whose files are read from `folder`, not over the network."""
    source = Online(folder, Limits(round_texts), lambda _, file: LocalFile(folder / "own" / file.path))
    return source.split(listing_of(repo, folder), "", "")


@pytest.mark.usefixtures("without_disk")
def test_every_sentence_is_as_likely_as_the_others(hub: Hub, repo: str, tmp_path: Path) -> None:
    """Over many seeds, in a round that is a part of the whole."""
    publish(hub, repo, tmp_path / "own", TEXTS[:48], rows=4)
    n_draws, size = 300, 8
    split = local_split(repo, tmp_path, round_texts=12)
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


@pytest.mark.usefixtures("without_disk")
def test_the_sentences_of_large_files_are_as_likely_as_those_of_small_ones(hub: Hub, repo: str, tmp_path: Path) -> None:
    """Only 16 files are looked into at once: of each the same share, or a large one would lend too few."""
    choose = random.Random(0)
    texts = [f"{number} {choose.randbytes(1500).hex()}" for number in range(320)]
    shares = [40, *[1] * 24]  # of five texts
    for number, share in enumerate(shares):
        start = 5 * sum(shares[:number])
        write(tmp_path / "own" / f"train-{number:02}.parquet", texts[start : start + 5 * share], rows=5)
    hub.add(repo, tmp_path / "own", kind="dataset")
    split = local_split(repo, tmp_path, round_texts=5)
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


# What goes wrong


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("401", r"does not let you read \S+ \(401\)\. If it is yours to read, log in"),
        ("403", r"does not let you read \S+ \(403\)"),
        ("gated", r"is gated\. Ask for access on its page"),
        ("404", r"has no dataset \S+, or it is private\. Check its name"),
        ("429", r"too many requests .*\(429\)\. Wait a few minutes"),
        ("500", r"cannot serve \S+ at the moment \(500\)\. Try again later"),
    ],
)
@pytest.mark.parametrize("where", ["/api/datasets/*", "*/resolve/*"])
def test_a_refusal_is_said_in_a_sentence(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, how: str, message: str, where: str
) -> None:
    publish(hub, repo, tmp_path / "own")
    hub.misbehave(where, how)
    with pytest.raises(CorpusError, match=message) as refused:
        draw(opened(repo, kept))
    assert "\n" not in str(refused.value)
    hub.behave()
    assert len(draw(opened(repo, kept), 10).sentences) == 10


@pytest.mark.parametrize("how", ["401", "403", "429", "500", "cut"])
@pytest.mark.parametrize("where", ["*/tree/*", "*/README.md", "*/paths-info/*"])
def test_a_fault_while_the_card_is_read_is_not_taken_for_a_dataset_without_data(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, how: str, where: str
) -> None:
    """Else its conversion would be read, which is another corpus."""
    folder = tmp_path / "own"
    write(folder / "data" / "train.parquet", TEXTS[:3])
    (folder / "README.md").write_text("---\nconfigs:\n- config_name: x\n  data_files: data/*\n---\n")
    hub.add(repo, folder, kind="dataset")
    converted = write_dataset(tmp_path / "converted", {"x": {"train": TEXTS[:3]}})
    hub.add(repo, converted, kind="dataset", revision="refs/convert/parquet")
    hub.misbehave(where, how)
    with contextlib.suppress(CorpusError):
        assert not listing_of(repo, kept).is_conversion  # as not all of these are needed
        return
    with pytest.raises(CorpusError, match=f"{repo} (?!has no Parquet files)|{repo}, or|for {repo}|serve {repo}"):
        listing_of(repo, kept)


def test_private_and_gated_datasets_want_a_token(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(hub, repo, tmp_path / "own", TEXTS[:10])
    for settings, message in (({"private": True}, "or it is private"), ({"gated": True}, "is gated. Ask for access")):
        hub.add(repo, tmp_path / "own", kind="dataset", **settings)
        for token in ("", STRANGER):
            monkeypatch.setenv("HF_TOKEN", token)
            with pytest.raises(CorpusError, match=message):
                draw(opened(repo, kept))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        assert len(draw(opened(repo, tmp_path / str(settings))).sentences) == 10


def test_a_gated_conversion_wants_a_token_only_when_it_is_read(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(repo, write_script(tmp_path / "script", repo), kind="dataset")
    converted = write_dataset(tmp_path / "converted", {"x": {"train": TEXTS[:3]}})
    hub.add(repo, converted, kind="dataset", revision="refs/convert/parquet", gated=True)
    assert listing_of(repo, kept).is_conversion
    with pytest.raises(CorpusError, match="is gated"):
        draw(opened(repo, kept))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert len(draw(opened(repo, kept)).sentences) == 3


def test_what_is_missing_is_named(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    with pytest.raises(CorpusError, match=r"has no dataset me/nothing, or it is private"):
        listing_of("me/nothing", kept)
    publish(hub, repo, tmp_path / "own")
    with pytest.raises(CorpusError, match="has no revision “v9”"):
        listing_of(repo, kept, "v9")
    script = hub.add(f"{repo}-script", write_script(tmp_path / "script", f"{repo}-script"), kind="dataset")
    with pytest.raises(CorpusError, match=r"the Hugging Face Hub has not converted it to Parquet"):
        listing_of(f"{repo}-script", kept)
    with pytest.raises(
        CorpusError, match=r"has no Parquet files at its revision “\w{40}”. Leave out the @ and what follows it"
    ):
        listing_of(f"{repo}-script", kept, script)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README.md").write_text("Nothing yet.")
    hub.add(f"{repo}-empty", tmp_path / "empty", kind="dataset")
    with pytest.raises(CorpusError, match="has no Parquet files"):
        listing_of(f"{repo}-empty", kept)
    assert not list(kept.glob("listing-*"))


def test_a_hub_that_cannot_be_reached(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(hub, repo, tmp_path / "own")
    split = opened(repo, kept)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", constants.ENDPOINT + "/{repo_id}/{revision}/{filename}"
    )
    with pytest.raises(
        CorpusError, match=r"cannot be reached for me/other \(.*\)\. Check the connection and try again"
    ):
        listing_of("me/other", kept)
    with pytest.raises(CorpusError, match="cannot be reached for"):
        draw(split)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "..",
            ".",
            "",
            "-",
            "a/..",
            "../a",
            "a/../b",
            "a/b/c",
            "/",
            "a/",
            "/a",
            "a\\b",
            "a b",
            "a\nb",
            "a%2fb",
            "a?b=c",
        ),
        *("a#b", "\N{GREEK SMALL LETTER ALPHA}/b", "x" * 97, f"{'x' * 300}/y", "a/b.git", "http://127.0.0.1/a", "a\0b"),
    ],
)
def test_what_is_no_name_of_a_dataset_is_not_asked_for(hub: Hub, kept: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="is not the name of a dataset"):
        listing_of(name, kept)
    assert hub.requests == []
    assert not kept.exists()


@pytest.mark.parametrize("revision", ["..", "../..", "/", "a/../../b", "refs/../x", "%2e%2e", "a b", "?x", "x" * 400])
def test_a_strange_revision_leads_nowhere(hub: Hub, repo: str, tmp_path: Path, kept: Path, revision: str) -> None:
    publish(hub, repo, tmp_path / "own")
    with pytest.raises(CorpusError, match=f"{repo} has no revision|names no"):
        listing_of(repo, kept, revision)
    with pytest.raises(CorpusError, match="has no dataset datasets/x"):
        listing_of("datasets/x", kept)
    assert not list(kept.glob("listing-*"))


@pytest.mark.parametrize("part", ["footer", "middle", "truncated", "no-parquet"])
def test_a_file_that_is_damaged_on_the_hub_is_named(hub: Hub, repo: str, tmp_path: Path, kept: Path, part: str) -> None:
    path = write(
        tmp_path / "own" / "data" / "train.parquet", [random.Random(i).randbytes(99).hex() for i in range(1000)]
    )
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(
        {
            "footer": content[:-30] + b"\xff" * 20 + content[-10:],
            "middle": content[:4] + b"\xff" * (middle - 4) + content[middle:],
            "truncated": content[:middle],
            "no-parquet": b"Not a Parquet file at all, but of some length.",
        }[part]
    )
    hub.add(repo, tmp_path / "own", kind="dataset")
    with pytest.raises(CorpusError, match=f"{repo} has a damaged file \\(.+\\)\\. Choose another dataset"):
        draw(opened(repo, kept))
    assert not list(kept.rglob("round-*"))


def test_texts_that_are_not_utf8_are_named(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    broken = pa.array([b"A cat.", b"\xff\xfe"], pa.binary()).view(pa.string())
    publish(hub, repo, tmp_path / "own", pa.table({"text": broken}))
    with pytest.raises(CorpusError, match="has a damaged file"):
        draw(opened(repo, kept))
