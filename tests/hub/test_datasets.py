import time
from pathlib import Path

import pyarrow as pa
import pytest
from hub import client
from hub.client import Run
from hub.contents import dataset, parquet
from hub.standin import Standin

from clsviz.errors import ClsvizError, CorpusError, HubError, SettingError

pytestmark = pytest.mark.slow

CONVERSION = "refs/convert/parquet"
TABLE = {"text": [f"Sentence number {n}." for n in range(200)]}


def sentences(corpus: object) -> list[str]:
    return corpus.table["sentence"].to_pylist()


def test_larger_sample_begins_with_the_smaller_and_the_copy_replaces_the_hub(
    hub: Standin, run: Run, name: str, tmp_path: Path
) -> None:
    commit = hub.add(name, dataset())
    small = run(client.draw, tmp_path, name, sample_size=50)
    large = run(client.draw, tmp_path, name, sample_size=250)
    assert sentences(large)[:50] == sentences(small)
    assert large.fingerprint == small.fingerprint
    assert large.reading.revision == commit
    hub.requests.clear()
    assert sentences(run(client.draw, tmp_path, name, sample_size=250)) == sentences(large)
    assert not hub.requests


def test_all_sentences_are_each_drawn_once(
    hub: Standin, run: Run, name: str, tmp_path: Path
) -> None:
    hub.add(name, dataset(500, rows=20))
    corpus = run(client.draw, tmp_path, name, sample_size="all")
    assert sorted(sentences(corpus)) == sorted(f"Sentence number {n}." for n in range(500))
    numbers = [int(text.split()[-1][:-1]) // 20 for text in sentences(corpus)]
    groups = corpus.table["row_group"].to_numpy()
    assert len(set(zip(numbers, groups, strict=True))) == len(set(numbers)) == 25
    assert run(client.draw, tmp_path, name, sample_size=900).reading.caveats == (
        "The split holds only 500 sentences: all are in the sample.",
    )


def test_seed_decides_the_order(hub: Standin, run: Run, name: str, tmp_path: Path) -> None:
    hub.add(name, dataset())
    zero, one = (run(client.draw, tmp_path, name, sample_size=90, seed=seed) for seed in (0, 1))
    assert zero.fingerprint != one.fingerprint
    assert len(set(sentences(zero)) & set(sentences(one))) < 60


def test_long_texts_are_cut_and_left_out_rows_are_counted(
    hub: Standin, run: Run, name: str, tmp_path: Path
) -> None:
    long = " ".join(["This sentence is one of many, of course."] * 9)
    texts = [long, "", None, "   ", f"{long} 1234."] * 8
    hub.add(name, {"data/train-0.parquet": parquet({"text": texts})})
    corpus = run(client.draw, tmp_path, name, sample_size="all")
    assert set(sentences(corpus)) == {"This sentence is one of many, of course."}
    assert corpus.reading.segmentation == "sentences"
    assert corpus.reading.n_texts == 16
    assert corpus.reading.caveats == (
        "Rows without text, which are left out: 24.",
        "Pieces without letters, which are left out: 8.",
    )
    whole = run(client.draw, tmp_path, name, sample_size="all", segmentation="lines")
    assert len(sentences(whole)) == 16


def test_files_that_cannot_be_read_are_counted(
    hub: Standin, run: Run, name: str, tmp_path: Path
) -> None:
    good = parquet(TABLE)
    files = {
        "data/train-0.parquet": good,
        "data/train-1.parquet": parquet({"other": TABLE["text"]}),
        "data/train-2.parquet": good[:500] + b"\xff" * 300 + good[800:],
        "data/train-3.parquet": b"\xff" * 1000,
    }
    hub.add(name, files)
    corpus = run(client.draw, tmp_path, name, sample_size="all", column="text")
    assert set(sentences(corpus)) == set(TABLE["text"])
    damaged, out = corpus.reading.caveats
    assert damaged.startswith("Row groups that are damaged, and are left out: ")
    assert out == "Files without the column of text, or damaged, which are left out: 2."


def test_folder_of_the_same_name_is_not_opened(
    hub: Standin, run: Run, name: str, tmp_path: Path
) -> None:
    short = name.partition("/")[2]
    hub.add(name, dataset(20))
    hub.new_names[short] = name  # as of all datasets without an owner
    assert len(sentences(run(client.draw_in_folder_of, short, tmp_path))) == 20


@pytest.mark.parametrize("is_partial", [False, True])
def test_script_only_repository_is_read_from_the_conversion(
    hub: Standin, run: Run, name: str, tmp_path: Path, is_partial: bool
) -> None:
    hub.add(name, {f"{name.partition('/')[2]}.py": b"raise SystemExit"})
    split = "partial-train" if is_partial else "train"
    path = f"default/{split}/0000.parquet"
    commit = hub.add(name, {path: parquet(TABLE)}, revision=CONVERSION)
    corpus = run(client.draw, tmp_path, name, sample_size=100)
    assert corpus.reading.revision == commit
    assert any("only the first part" in text for text in corpus.reading.caveats) == is_partial
    pinned = run(client.draw, tmp_path, f"{name}@{commit}", sample_size=100)
    assert sentences(pinned) == sentences(corpus)


CARD = b"""---
configs:
- config_name: en
  data_files: en.parquet
- config_name: fr
  data_files: fr.parquet
---
"""


def test_configurations_without_a_default_are_listed(
    hub: Standin, run: Run, name: str, tmp_path: Path
) -> None:
    french = {"text": ["Bonjour à tous."] * 20}
    hub.add(name, {"README.md": CARD, "en.parquet": parquet(TABLE), "fr.parquet": parquet(french)})
    for configuration in ("", "de"):
        with pytest.raises(SettingError, match="“en”, “fr” as configuration"):
            run(client.draw, tmp_path, name, configuration=configuration)
    assert set(sentences(run(client.draw, tmp_path, name, configuration="fr"))) == {*french["text"]}


def test_missing_parts_are_listed(hub: Standin, run: Run, name: str, tmp_path: Path) -> None:
    hub.add(name, dataset(20))
    with pytest.raises(SettingError, match=r"has no split “test”\. Choose “train” as split"):
        run(client.draw, tmp_path, name, split="test")
    with pytest.raises(SettingError, match=r"has no column “body” that holds text\. Choose “text”"):
        run(client.draw, tmp_path, name, column="body")
    with pytest.raises(SettingError, match="no encoding"):
        run(client.draw, tmp_path, name, encoding="latin-1")


@pytest.mark.parametrize("files", [{"README.md": b"Hello"}, {"data.csv": b"text\nOne.\n"}])
def test_dataset_without_parquet(
    hub: Standin, run: Run, name: str, tmp_path: Path, files: dict[str, bytes]
) -> None:
    hub.add(name, files)
    with pytest.raises(CorpusError, match="has no Parquet files"):
        run(client.draw, tmp_path, name)


def test_dataset_without_text(hub: Standin, run: Run, name: str, tmp_path: Path) -> None:
    hub.add(name, {"train.parquet": parquet({"number": [1, 2]})})
    with pytest.raises(CorpusError):
        run(client.draw, tmp_path, name)
    hub.add(name, {"train.parquet": parquet({"text": ["", " "]})}, revision="blank")
    with pytest.raises(CorpusError, match="no text"):
        run(client.draw, tmp_path, f"{name}@blank")


def test_names_gates_and_renames(hub: Standin, run: Run, name: str, tmp_path: Path) -> None:
    hub.add(name, dataset(20), is_gated=True)
    with pytest.raises(CorpusError, match="is gated"):
        run(client.draw, tmp_path, name)
    with pytest.raises(CorpusError, match="has no dataset"):
        run(client.draw, tmp_path, f"{name}-none")
    with pytest.raises(CorpusError, match="has no revision “v9”"):
        run(client.draw, tmp_path, f"{name}@v9")
    with pytest.raises(CorpusError, match="cannot be the name"):
        run(client.draw, tmp_path, "../data")
    hub.add(f"{name}-new", dataset(20))
    hub.new_names[f"{name}-old"] = f"{name}-new"
    assert len(sentences(run(client.draw, tmp_path, f"{name}-old"))) == 20


@pytest.mark.parametrize(
    ("where", "how", "reason"),
    [
        ("/api/*", "stall", "does not answer"),
        ("*/tree/*", "stall", "does not answer"),
        ("*/README.md", "stall midway", "does not answer"),
        ("*.parquet", "stall midway", "does not answer"),
        ("*/README.md", "cut", "does not answer"),
        ("*.parquet", "cut", "cannot be reached"),
        ("*/README.md", "401", r"has no dataset|\(401\)"),
        ("*.parquet", "401", r"\(401\)"),
        ("*/tree/*", "429", r"\(429\)"),
        ("*.parquet", "429", r"\(429\)"),
        ("*/tree/*", "500", r"\(500\)"),
        ("*.parquet", "500", r"\(500\)"),
    ],
)
def test_failures_are_one_sentence_in_time(
    hub: Standin, run: Run, name: str, tmp_path: Path, where: str, how: str, reason: str
) -> None:
    hub.add(name, dataset(100) | {"README.md": b"Hello " * 100})
    hub.fault(where, how)
    start = time.monotonic()
    with pytest.raises(ClsvizError, match=reason) as failed:
        run(client.draw, tmp_path, name)
    assert time.monotonic() - start < 5
    assert "\n" not in str(failed.value)
    hub.mend()
    assert len(sentences(run(client.draw, tmp_path, name))) == 100


def test_rounds_before_a_failure_are_stored(
    hub: Standin, run: Run, name: str, tmp_path: Path
) -> None:
    hub.add(name, dataset())
    before = run(client.draw, tmp_path, name, sample_size=100)
    hub.fault("*.parquet", "429")
    with pytest.raises(HubError):
        run(client.draw, tmp_path, name, sample_size=400)
    assert sentences(run(client.draw, tmp_path, name, sample_size=100)) == sentences(before)


def test_content_is_read_from_another_host_without_the_token(
    hub: Standin, run: Run, name: str, tmp_path: Path
) -> None:
    hub.add(name, dataset(100))
    hub.has_cdn = True
    assert len(sentences(run(client.draw, tmp_path, name))) == 100
    sent = {(request.host, request.has_token) for request in hub.requests}
    assert sent == {("127.0.0.1", True), ("localhost", False)}


def test_bomb_is_refused_before_it_is_unpacked(
    hub: Standin, run: Run, name: str, tmp_path: Path
) -> None:
    content = parquet({"text": pa.array(["x" * 10_000] * 3000)}, rows=3000)
    assert len(content) < 10_000  # the text is stored once
    hub.add(name, {"train.parquet": content})
    with pytest.raises(CorpusError, match="row groups of 29 MB"):
        run(client.draw, tmp_path, name, limits={"group_bytes": 10**6})


@pytest.mark.parametrize("n", [1, 4, 8])
def test_draw_is_cancelled(hub: Standin, run: Run, name: str, tmp_path: Path, n: int) -> None:
    hub.add(name, dataset())
    assert run(client.cancel_after, n, name, tmp_path) == "cancelled"
    assert run(client.cancel_after, 10**6, name, tmp_path) == "done"


def damage_by(content: bytes) -> dict[str, bytes]:
    middle = len(content) // 3
    return {
        "cut": content[:middle],
        "filled": content[:middle] + bytes(200) + content[middle + 200 :],
        "empty": b"",
    }


@pytest.mark.parametrize("how", ["cut", "filled", "empty"])
def test_damaged_copy_is_drawn_again(
    hub: Standin, run: Run, name: str, tmp_path: Path, how: str
) -> None:
    hub.add(name, dataset(100))
    before = run(client.draw, tmp_path, name)
    copy = next((tmp_path / "corpora").rglob("*1.arrow"))
    content = copy.read_bytes()
    copy.unlink()  # it is mapped
    copy.write_bytes(damage_by(content)[how])
    assert sentences(run(client.draw, tmp_path, name)) == sentences(before)


def test_dead_hub_leaves_what_is_on_this_machine(
    hub: Standin, run: Run, dead: Run, name: str, tmp_path: Path
) -> None:
    hub.add(name, dataset(100))
    before = run(client.draw, tmp_path, name)
    assert sentences(dead(client.draw, tmp_path, name)) == sentences(before)
    start = time.monotonic()
    with pytest.raises(HubError, match="cannot be reached"):
        dead(client.draw, tmp_path, f"{name}-none")
    with pytest.raises(HubError, match="cannot be reached"):
        dead(client.find, f"{name}-none")
    assert time.monotonic() - start < 5
