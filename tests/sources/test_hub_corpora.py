from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.corpora import LONG, SENTENCES, fetched, publish
from support.datasets import write
from support.hub import Hub

from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation
from clsviz.sources import catalogue, sampling
from clsviz.sources.catalogue import CORPORA, Dataset, NotDownloadedError


def test_what_a_dataset_declares_is_offered_and_the_likeliest_taken(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    splits = {"de": {"test": ["Ein Satz."], "train": LONG}, "en": {"train": SENTENCES}}
    commit = publish(hub, repo, tmp_path, splits)
    corpus = sampling.find_corpus(Selection(repo), kept, Progress(), online=True)
    assert corpus.selection == Selection(repo, "de", "train", "text", Segmentation.SENTENCES)
    assert (corpus.configurations, corpus.splits, corpus.columns) == (("de", "en"), ("test", "train"), ("text",))
    assert (corpus.label, corpus.n_sentences, corpus.pinned) == (repo, None, f"{repo}@{commit}")
    english = fetched(repo, kept, configuration="en")
    assert english.corpus.selection == Selection(repo, "en", "train", "text", Segmentation.NONE)
    assert Counter(english.sentences) == Counter(SENTENCES)
    assert fetched(repo, kept, split="test").sentences == ["Ein Satz."]
    with pytest.raises(CorpusError, match=r"no column “x” that holds text\. Choose text"):
        sampling.find_corpus(Selection(repo, column="x"), kept, Progress(), online=True)


def test_split_column_and_segmentation_of_a_dataset_are_part_of_the_experiment(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    for split in ("train", "test"):
        write(tmp_path / "own" / f"{split}.parquet", pa.table({"text": LONG, "title": LONG}))
    hub.add(repo, tmp_path / "own", kind="dataset")
    pieces = Counter(piece.rstrip(".") + "." for text in LONG for piece in text.split(". "))
    cut, whole, title, test = (
        fetched(repo, kept, **settings)
        for settings in ({}, {"segmentation": Segmentation.NONE}, {"column": "title"}, {"split": "test"})
    )
    assert (Counter(cut.sentences), Counter(whole.sentences)) == (pieces, Counter(LONG))
    assert len({sample.corpus.fingerprint for sample in (cut, whole, title, test)}) == 4
    assert fetched(repo, kept, segmentation=Segmentation.SENTENCES).corpus == cut.corpus


def test_a_commit_gives_the_same_corpus_and_another_commit_another(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    publish(hub, repo, tmp_path / "first", {"default": {"train": SENTENCES}})
    first = fetched(repo, kept)
    second_commit = publish(hub, repo, tmp_path / "second", {"default": {"train": SENTENCES[::-1]}})
    pinned = fetched(first.corpus.pinned, tmp_path / "elsewhere")
    assert pinned.sentences == first.sentences
    assert pinned.corpus.fingerprint == first.corpus.fingerprint
    assert pinned.corpus.pinned == first.corpus.pinned == pinned.corpus.selection.corpus
    assert pinned.corpus.label == f"{repo}@{first.corpus.pinned.rpartition('@')[2]}"
    second = fetched(repo, tmp_path / "later")
    assert second.corpus.pinned == f"{repo}@{second_commit}"
    assert second.corpus.fingerprint != first.corpus.fingerprint
    # What is kept stays as it was, and is not asked for again; the other corpus has its own place.
    hub.requests.clear()
    assert fetched(repo, kept).sentences == first.sentences
    assert fetched(first.corpus.pinned, kept).sentences == first.sentences
    assert hub.requests == []


def test_without_the_network_what_is_not_kept_is_told(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path, {"default": {"train": SENTENCES}})
    for name in (repo, f"{repo}@main", "bookcorpus", "me/nothing"):
        with pytest.raises(NotDownloadedError, match="has to be read from the Hugging Face Hub first"):
            sampling.find_sample(Selection(name), 10, 0, kept, Progress())
        with pytest.raises(NotDownloadedError):
            sampling.find_corpus(Selection(name), kept, Progress())
    assert hub.requests == []
    sampling.find_corpus(Selection(repo), kept, Progress(), online=True)
    n_requests = len(hub.requests)
    assert sampling.find_corpus(Selection(repo), kept, Progress()).selection.split == "train"
    with pytest.raises(NotDownloadedError):
        sampling.find_sample(Selection(repo), 10, 0, kept, Progress())
    assert len(hub.requests) == n_requests
    whole = fetched(repo, kept).sentences
    assert sampling.find_sample(Selection(repo), 10, 0, kept, Progress()).sentences == whole[:10]


@pytest.mark.parametrize("name", [name for name, entry in CORPORA.items() if isinstance(entry, Dataset)])
def test_a_dataset_of_the_catalogue_is_what_its_entry_says(hub: Hub, tmp_path: Path, kept: Path, name: str) -> None:
    """Of a configuration, a split and a column that would not be taken without the entry."""
    entry = CORPORA[name]
    assert isinstance(entry, Dataset)
    path = tmp_path / "own" / entry.configuration / entry.split / "0000.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"text": ["Not this."] * 100, entry.column: SENTENCES}), path)
    for other in (f"a-first/{entry.split}", f"{entry.configuration}/a-first"):
        (tmp_path / "own" / other).mkdir(parents=True)
        pq.write_table(pa.table({entry.column: ["Not this."]}), tmp_path / "own" / other / "0000.parquet")
    commit = hub.add(entry.repo, tmp_path / "own", kind="dataset", revision="refs/convert/parquet")
    hub.add(entry.repo, tmp_path / "own" / "a-first", kind="dataset")
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / f"{entry.repo.rpartition('/')[2]}.py").write_text("raise SystemExit('it ran')")
    hub.add(entry.repo, tmp_path / "script", kind="dataset")
    assert catalogue.is_on_hub(name)
    assert catalogue.download_megabytes(name, 100_000) >= 5
    sample = fetched(name, kept)
    corpus = sample.corpus
    assert corpus.selection == Selection(name, entry.configuration, entry.split, entry.column, Segmentation.NONE)
    assert Counter(sample.sentences) == Counter(SENTENCES)
    assert (corpus.label, corpus.pinned) == (entry.label, f"{name}@{commit}")
    pinned = fetched(corpus.pinned, tmp_path / "elsewhere")
    assert (pinned.sentences, pinned.corpus.fingerprint) == (sample.sentences, corpus.fingerprint)
    assert pinned.corpus.label == f"{entry.label} @ {commit[:7]}"


@pytest.mark.parametrize(
    ("name", "problem"),
    [("..", "not a regular file"), ("@main", "is not the name"), ("a/b@", "has no"), ("ag_news", "you meant ag-news")],
)
def test_what_is_no_dataset_leads_nowhere(hub: Hub, kept: Path, name: str, problem: str) -> None:
    with pytest.raises(CorpusError, match=problem):
        fetched(name, kept)
    assert not kept.exists() or not list(kept.iterdir())


@pytest.mark.parametrize("name", ["upload-0123", "upload:notes", f"upload-{'0' * 32}@main", f"upload-{'A' * 32}"])
def test_what_was_meant_for_an_upload_is_not_looked_for_on_the_hub(hub: Hub, kept: Path, name: str) -> None:
    asked = len(hub.requests)
    with pytest.raises(CorpusError, match=f"“{name}” is an uploaded file that is not, or no longer, on this server"):
        fetched(name, kept)
    assert len(hub.requests) == asked
