from pathlib import Path

import pyarrow as pa
import pytest
from hub.client import dataset, parquet
from hub.conftest import Hub

from clsviz.errors import ClsvizError, CorpusError, HubError, SettingError
from clsviz.settings import Experiment
from clsviz.sources import searches

pytestmark = pytest.mark.slow

CONVERSION = "refs/convert/parquet"
TEXTS = [f"Sentence number {n}." for n in range(200)]
FILE = parquet({"text": TEXTS})


def test_larger_sample_begins_with_the_smaller_and_the_copy_replaces_the_hub(hub: Hub) -> None:
    commit = hub.add(dataset())
    small, large = (hub.draw(sample_size=size) for size in (50, 250))
    assert hub.sentences(sample_size=250)[:50] == small.table["sentence"].to_pylist()
    assert large.fingerprint == small.fingerprint
    assert large.reading.revision == commit
    assert hub.requests_of(hub.draw, sample_size=250)[1] == []


def test_all_sentences_are_each_drawn_once(hub: Hub) -> None:
    hub.add(dataset(500))
    table = hub.draw(sample_size="all").table
    numbers = [int(text.split()[-1][:-1]) for text in table["sentence"].to_pylist()]
    assert sorted(numbers) == list(range(500))
    groups = {
        (n // 20, group.as_py()) for n, group in zip(numbers, table["row_group"], strict=True)
    }
    assert len(groups) == len(dict(groups)) == 25
    assert hub.draw(sample_size=900).reading.caveats == (
        "The split holds only 500 sentences: all are in the sample.",
    )


def test_seed_decides_the_order(hub: Hub) -> None:
    hub.add(dataset())
    zero, one = (hub.sentences(sample_size=90, seed=seed) for seed in (0, 1))
    assert len(set(zero) & set(one)) < 60
    assert hub.draw(sample_size=90).fingerprint != hub.draw(sample_size=90, seed=1).fingerprint


def test_long_texts_are_cut_and_left_out_rows_are_counted(hub: Hub) -> None:
    sentence = "This sentence is one of many, of course."
    long = " ".join([sentence] * 9)
    hub.add({"data/train-0.parquet": parquet({"text": [long, "", None, " ", f"{long} 1."] * 8})})
    reading = hub.draw(sample_size="all").reading
    assert set(hub.sentences(sample_size="all")) == {sentence}
    assert (reading.segmentation, reading.n_texts) == ("sentences", 16)
    assert reading.caveats == (
        "Rows without text, which are left out: 24.",
        "Pieces without letters, which are left out: 8.",
    )
    assert len(hub.sentences(sample_size="all", segmentation="lines")) == 16


@pytest.mark.parametrize("files_at_once", [1, 64])
def test_files_that_cannot_be_read_are_counted(hub: Hub, files_at_once: int) -> None:
    files = {
        "data/train-0.parquet": FILE,
        "data/train-1.parquet": parquet({"other": TEXTS}),
        "data/train-2.parquet": FILE[:500] + b"\xff" * 300 + FILE[800:],
        "data/train-3.parquet": b"\xff" * 1000,
        "data/train-4.parquet": b"",
    }
    hub.add(files)
    limits = {"files_at_once": files_at_once}
    corpus = hub.draw(sample_size="all", column="text", limits=limits)
    assert set(corpus.table["sentence"].to_pylist()) == set(TEXTS)
    damaged, out = corpus.reading.caveats
    assert damaged.startswith("Row groups that are damaged, and are left out: ")
    assert out == "Files without the column of text, or damaged, which are left out: 3."


def test_folder_of_the_same_name_is_not_opened(hub: Hub, tmp_path: Path) -> None:
    name = hub.name.partition("/")[2]
    hub.add(dataset(20))
    hub.serving.new_names[name] = hub.name  # as of all datasets without an owner
    (tmp_path / name / "data").mkdir(parents=True)
    (tmp_path / name / "data" / "train.csv").write_text("text\nOf this machine.\n")
    assert len(hub.sentences(name, folder=str(tmp_path))) == 20


@pytest.mark.parametrize("split", ["train", "partial-train"])
def test_script_only_repository_is_read_from_the_conversion(hub: Hub, split: str) -> None:
    hub.add({f"{hub.name.partition('/')[2]}.py": b"raise SystemExit"})
    commit = hub.add({f"default/{split}/0000.parquet": FILE}, revision=CONVERSION)
    reading = hub.draw(sample_size=100).reading
    assert reading.revision == commit
    assert ("only the first part" in str(reading.caveats)) == (split == "partial-train")
    assert hub.sentences(f"{{}}@{commit}") == hub.sentences()


CARD = b"""---
configs:
- config_name: en
  data_files: en.parquet
- config_name: fr
  data_files: fr.parquet
---
"""
BILINGUAL = {"README.md": CARD, "en.parquet": FILE, "fr.parquet": parquet({"text": ["Bonjour."]})}


def test_configuration_is_read(hub: Hub) -> None:
    hub.add(BILINGUAL)
    assert hub.sentences(configuration="fr") == ["Bonjour."]


@pytest.mark.parametrize(
    ("files", "settings", "reason"),
    [
        (BILINGUAL, {}, "has several configurations. Choose “en”, “fr” as configuration"),
        (BILINGUAL, {"configuration": "de"}, "no configuration “de”. Choose “en”, “fr” as"),
        (dataset(20), {"split": "test"}, "has no split “test”. Choose “train” as split"),
        (dataset(20), {"column": "a"}, "has no column “a” that holds text. Choose “text”"),
        (dataset(20), {"encoding": "latin-1"}, "has no encoding"),
        ({"README.md": b"Hello"}, {}, "has no Parquet files"),
        ({"data.csv": b"text\nOne.\n"}, {}, "has no Parquet files"),
        ({"train.parquet": parquet({"number": [1, 2]})}, {}, "holds no text"),
        ({"train.parquet": parquet({"text": ["", " "]})}, {}, "has no text"),
    ],
)
def test_what_a_dataset_lacks_is_named(hub, files, settings, reason) -> None:
    hub.add(files)
    with pytest.raises(ClsvizError, match=reason):
        hub.draw(**settings)


def test_rounds_before_a_failure_are_stored(hub: Hub) -> None:
    hub.add(dataset())
    before = hub.sentences(sample_size=100)
    hub.serving.fault("*.parquet", "429")
    with pytest.raises(HubError):
        hub.draw(sample_size=400)
    assert hub.sentences(sample_size=100) == before


def test_bomb_is_refused_before_it_is_unpacked(hub: Hub) -> None:
    content = parquet({"text": pa.array(["x" * 10_000] * 3000)}, rows=3000)
    assert len(content) < 10_000  # the text is stored once
    hub.add({"train.parquet": content})
    with pytest.raises(CorpusError, match="row groups of 29 MB"):
        hub.draw(limits={"group_bytes": 10**6})


def test_a_bomb_of_missing_texts_and_a_card_without_an_end_are_refused(hub: Hub) -> None:
    hub.add({"train.parquet": parquet({"text": pa.nulls(10**6, pa.string())}, rows=10**6)})
    with pytest.raises(CorpusError, match="row groups of 15 MB"):
        hub.draw(limits={"group_bytes": 10**6})
    hub.add(dataset(1) | {"README.md": b"x" * 6_000_000}, "{}-card")
    with pytest.raises(CorpusError, match=r"README\.md of 6 MB"):
        hub.draw("{}-card")


def test_damaged_copy_is_drawn_again(hub: Hub) -> None:
    hub.add(dataset(100))
    before = hub.sentences()
    copy = next((hub.root / "corpora").rglob("*1.arrow"))
    content = copy.read_bytes()
    copy.unlink()  # it is mapped
    copy.write_bytes(content[: len(content) // 3])
    assert hub.sentences() == before


def test_halves_of_uncut_texts_of_a_dataset_search_and_titles_are_refused(hub: Hub) -> None:
    texts = [f"Text {row} begins. {'It goes on. ' * 20}It is {row}." for row in range(200)]
    columns = {"title": [f"Title {row}" for row in range(200)], "text": texts}
    hub.add({"data/train-0.parquet": parquet(columns)})
    experiment = Experiment(corpus=hub.name, column="text", sample_size=60)
    made = hub.run(searches.find, experiment, hub.root)
    queries, halves = (some.table["sentence"].to_pylist() for some in (made.queries, made.texts))
    assert (made.task, len(queries)) == ("halves", 60)
    for query, relevant in zip(queries, made.relevant, strict=True):
        assert halves[relevant[0]].endswith(f"It is {query.split()[1]}.")
    with pytest.raises(SettingError, match="Titles"):
        hub.run(searches.find, experiment, hub.root, titles="title")
