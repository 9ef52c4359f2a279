import contextlib
import gzip
import hashlib
import io
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.corpora import LONG, SENTENCES, Stopping, content_of, opened, sentences_of
from support.wrapped import book, paragraphs, sentences

from clsviz.errors import CancelledError, CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Reading, Segmentation
from clsviz.sources import catalogue, files, local_files, sampling, segmentation, uploads
from clsviz.sources.catalogue import Shipped
from clsviz.sources.local_files import PREVIEW_CHARACTERS, About, DamagedFileError, open_file
from clsviz.sources.segmentation import MAX_CHARACTERS
from clsviz.sources.uploads import keep_upload


def test_the_fingerprint_is_of_the_content_and_a_file_that_changes_is_read_again(hundred: str, kept: Path) -> None:
    corpus = opened(hundred, kept)
    assert corpus.fingerprint == hashlib.sha256("\n".join(SENTENCES).encode()).hexdigest()
    assert (corpus.n_sentences, corpus.label, corpus.pinned) == (100, "hundred.txt", hundred)
    assert (corpus.columns, corpus.splits, corpus.configurations) == ((), (), ())
    status = Path(hundred).stat()
    Path(hundred).write_text("\n".join(SENTENCES).replace("number 4", "number 5"))  # as large as before
    os.utime(hundred, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert opened(hundred, kept).fingerprint != corpus.fingerprint
    assert "Sentence number 4." not in sentences_of(hundred, kept)
    Path(hundred).write_text("\n".join(SENTENCES))
    assert opened(hundred, kept).fingerprint == corpus.fingerprint


def test_the_standard_library_gives_thousands_of_sentences_and_is_kept(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress()
    assert local_files.build_seconds("this-python-docs", kept) > 0
    sample = sampling.find_sample(Selection("this-python-docs"), 10**6, 0, kept, progress)
    assert len(sample.sentences) > 5000
    assert len(set(sample.sentences)) == len(sample.sentences) == sample.corpus.n_sentences
    assert progress.done == progress.total > 100
    assert local_files.build_seconds("this-python-docs", kept) == 0
    monkeypatch.setattr("clsviz.sources.docstrings.gather", None)  # what is kept is not gathered again
    again = sampling.find_sample(Selection("this-python-docs"), 10**6, 0, kept, Progress())
    assert (again.sentences, again.corpus) == (sample.sentences, sample.corpus)
    if sys.version_info[:2] == (3, 11):
        shipped = set(sentences_of("python-docs", kept))
        assert len(shipped & set(sample.sentences)) > 0.95 * len(shipped | set(sample.sentences))


def test_the_corpus_that_comes_with_clsviz_is_always_the_same(kept: Path) -> None:
    corpus = opened("python-docs", kept)
    assert corpus.fingerprint == "6761c073fb76715d0de9a07d5aa14d19e49c11d4a44b923328277c7c9ca1f66d"
    assert corpus.selection == Selection("python-docs", segmentation=Segmentation.NONE)
    file = catalogue.CORPORA["python-docs"].file
    sentences = local_files.read_column(file, np.arange(11_858), "sentence")
    assert hashlib.sha256("\n".join(sentences).encode()).hexdigest() == corpus.fingerprint
    assert sorted(sentences_of("python-docs", kept)) == sorted(set(sentences))
    assert not kept.exists()
    about = (file.parent / "README.md").read_text()
    assert corpus.fingerprint in about
    assert f"{len(sentences):,}" in about


def test_a_damaged_installation_is_named_and_left_alone(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "installed.parquet"
    monkeypatch.setitem(catalogue.CORPORA, "shipped", Shipped("Shipped", "", file))
    for make in (lambda: None, lambda: os.mkfifo(file)):
        make()
        with pytest.raises(CorpusError, match=r"installed\.parquet, which comes with clsviz, is missing or damaged"):
            opened("shipped", kept)
    local_files.write_sentences([["The first sentence.", "The second one."]], file)
    content = file.read_bytes().replace(b"second", b"Second")
    file.write_bytes(content)
    with pytest.raises(CorpusError, match="Install clsviz again"):
        sentences_of("shipped", kept)
    assert file.read_bytes() == content


@pytest.mark.usefixtures("small_source")
def test_a_damaged_corpus_is_built_again(kept: Path) -> None:
    whole = sentences_of("small", kept)
    (path,) = kept.glob("small-*.parquet")
    content = path.read_bytes()
    for damaged in (b"", content[: len(content) // 2], content.replace(b"second", b"Second")):
        path.write_bytes(damaged)
        assert sentences_of("small", kept) == whole
        assert path.read_bytes() == content


def test_of_a_corpus_whose_building_was_cancelled_nothing_is_kept(small_source: Path, kept: Path) -> None:
    with pytest.raises(CancelledError):
        sampling.find_corpus(Selection("small"), kept, Stopping(2))  # at its beginning, and after the first file
    assert local_files.build_seconds("small", kept) == 1
    assert sorted(sentences_of("small", kept)) == [
        "The first sentence.", "The second sentence.", "The third sentence.",
    ]  # fmt: skip


def write_texts(path: Path, n: int = 45_000) -> Path:
    texts = [f"Text {at} is here. It has {at % 7} more." for at in range(n)]
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"text": texts, "topic": [at % 3 for at in range(n)]}), path, row_group_size=10_000)
    else:
        content = "\n".join(["text,topic", *(f"{text},{at % 3}" for at, text in enumerate(texts))]).encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.csv.gz", "a.parquet"])
def test_what_was_cut_of_a_file_before_a_cancellation_is_not_cut_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_cut = [0]
    of_texts: Callable[..., list[str]] = segmentation.sentences

    def counting(texts: list[str], *, cut: bool) -> list[str]:
        n_cut[0] += len(texts)
        return of_texts(texts, cut=cut)

    monkeypatch.setattr(segmentation, "sentences", counting)
    selection, kept = Selection(str(write_texts(tmp_path / name))), tmp_path / "kept"
    whole = sampling.find_sample(selection, 100_000, 0, tmp_path / "other", Progress())
    n_all, n_cut[0] = n_cut[0], 0
    for looks in (4, 3):
        with pytest.raises(CancelledError):
            sampling.find_sample(selection, 10, 0, kept, Stopping(looks))
    n_before, n_cut[0] = n_cut[0], 0
    assert 0 < n_before < n_all
    (unfinished,) = kept.glob("*.unfinished")
    table, said, altered = pq.read_table(unfinished), pq.read_metadata(unfinished).metadata, io.BytesIO()
    others = ["of another text", *table["sentence"].to_pylist()[1:]]
    column = pa.array(others, table.schema.field(0).type)
    pq.write_table(table.set_column(0, "sentence", column).replace_schema_metadata(said), altered)
    again = sampling.find_sample(selection, 100_000, 0, kept, Progress())
    assert n_cut[0] <= n_all - n_before + 10_000  # the batch in hand
    assert (again.sentences, again.corpus.fingerprint) == (whole.sentences, whole.corpus.fingerprint)
    assert whole.rows is None or whole.rows.tolist() == again.rows.tolist()
    assert not unfinished.exists()
    for left in (b"", b"PAR1 and more", altered.getvalue()):
        unfinished.write_bytes(left)
        next(kept.glob("file-*.parquet")).unlink()
        assert sampling.find_corpus(selection, kept, Progress()).fingerprint == whole.corpus.fingerprint


def test_what_documentation_cannot_be_is_one_sentence(
    small_source: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting in ("configuration", "split", "column"):
        with pytest.raises(CorpusError, match=f"Small has no {setting} “x”. Leave that setting out"):
            opened("small", kept, **{setting: "x"})
    with pytest.raises(CorpusError, match="no revisions"):
        opened("small@main", kept)
    with monkeypatch.context() as patch:
        patch.setattr("clsviz.sources.docstrings.sentences_in", lambda _: os._exit(1))  # a worker that dies
        with pytest.raises(CorpusError, match="broke off"):
            opened("small", kept)
    for path in small_source.iterdir():
        path.write_text("x = 1")
    with pytest.raises(CorpusError, match="without its sources"):
        opened("small", kept)


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "text.txt"
    path.symlink_to("/proc/self/mem")  # a regular file that even root cannot read from its start
    with pytest.raises(CorpusError, match=r"text\.txt cannot be read: Input/output error"):
        opened(str(path), kept)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("device", ["", "/dev/zero"])
@pytest.mark.parametrize("kind", ["hundred.csv", "small"])
@pytest.mark.parametrize("suffix", [".parquet", ".unfinished"])
def test_what_is_kept_is_not_read_from_a_pipe_or_a_device(
    small_source: Path, tmp_path: Path, kept: Path, kind: str, suffix: str, device: str
) -> None:
    (tmp_path / "hundred.csv").write_bytes(content_of(".csv", SENTENCES))
    name = kind if kind == "small" else str(tmp_path / kind)
    expected = sentences_of(name, kept)
    (path,) = kept.glob("*.parquet")
    path.unlink()
    path = path.with_suffix(suffix)
    path.symlink_to(device) if device else os.mkfifo(path)
    assert sentences_of(name, kept) == expected


def test_a_file_of_ones_own_may_be_of_any_size_and_an_upload_may_not(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "text.txt"
    with path.open("wb") as file:
        file.truncate(2**34)  # takes no room on the disk
    files.check(path, path.name)
    limits = files.Limits(file_bytes=200 * 2**20)
    with path.open("rb") as file, pytest.raises(CorpusError, match=r"mine\.txt is larger than 200 MB"):
        keep_upload(file, "mine.txt", kept, limits)  # which is not even copied
    assert not kept.exists() or not list(kept.iterdir())


def test_a_column_is_chosen_or_named(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_bytes(content_of(".csv", SENTENCES))
    likeliest = opened(str(path), kept)
    assert (likeliest.selection.column, likeliest.columns) == ("text", ("text", "title"))
    title = opened(str(path), kept, column="title")
    assert title.selection.column == "title"
    assert title.fingerprint == hashlib.sha256("\n".join(f"Title {i}" for i in range(100)).encode()).hexdigest()
    assert opened(str(path), kept, column="text").fingerprint == likeliest.fingerprint
    assert sorted(sentences_of(str(path), kept, column="title")) == sorted(f"Title {i}" for i in range(100))
    with pytest.raises(CorpusError, match=r"has no column “x” that holds text\. Choose one of these: text, title"):
        opened(str(path), kept, column="x")
    for setting in ("configuration", "split"):
        with pytest.raises(CorpusError, match=f"has no {setting} “x”"):
            opened(str(path), kept, **{setting: "x"})


def test_long_texts_are_cut_into_sentences_unless_told_otherwise(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_bytes(content_of(".jsonl", LONG))
    pieces = Counter(piece.rstrip(".") + "." for text in LONG for piece in text.split(". "))
    assert max(map(len, pieces)) < 50
    auto = opened(str(path), kept)
    assert auto.selection.segmentation is Segmentation.SENTENCES
    assert Counter(sentences_of(str(path), kept)) == pieces
    explicit = opened(str(path), kept, segmentation=Segmentation.SENTENCES)
    assert (explicit.fingerprint, explicit.selection) == (auto.fingerprint, auto.selection)
    whole = opened(str(path), kept, segmentation=Segmentation.NONE)
    assert whole.selection.segmentation is Segmentation.NONE
    assert whole.fingerprint == hashlib.sha256("\n".join(LONG).encode()).hexdigest() != auto.fingerprint
    assert sorted(sentences_of(str(path), kept, segmentation=Segmentation.NONE)) == sorted(LONG)
    titles = opened(str(path), kept, column="title")
    assert titles.selection.segmentation is Segmentation.NONE


def test_a_wrapped_file_is_joined_and_cut_unless_told_otherwise(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text(book())
    wanted = segmentation.sentences(paragraphs(), cut=True)
    auto = opened(str(path), kept)
    decided = Selection(str(path), segmentation=Segmentation.SENTENCES, reading=Reading.PARAGRAPHS)
    assert (auto.selection, auto.n_sentences, auto.width) == (decided, len(wanted), 70)
    assert auto.fingerprint == hashlib.sha256("\n".join(wanted).encode()).hexdigest()
    assert auto.n_left_out > 100
    assert Counter(sentences_of(str(path), kept)) == Counter(wanted)
    explicit = opened(str(path), kept, reading=Reading.PARAGRAPHS)
    assert (explicit.fingerprint, explicit.selection) == (auto.fingerprint, decided)
    whole = sentences_of(str(path), kept, segmentation=Segmentation.NONE)
    assert Counter(whole) == Counter(paragraphs())
    lines = opened(str(path), kept, reading=Reading.LINES)
    assert (lines.selection.reading, lines.width, lines.n_left_out) == (Reading.LINES, 0, 0)
    by_line = [" ".join(line.split()) for line in book().split("\n") if line.strip()]
    assert lines.fingerprint == hashlib.sha256("\n".join(by_line).encode()).hexdigest()
    assert opened(str(path), kept) == auto  # as it is kept


@pytest.mark.parametrize("name", ["python-docs", "small", "bookcorpus", "owner/dataset"])
@pytest.mark.usefixtures("small_source")
def test_only_text_files_are_read_in_lines_or_paragraphs(kept: Path, name: str) -> None:
    with pytest.raises(CorpusError, match=r"is no text file\. Leave out the setting reading"):
        opened(name, kept, reading=Reading.LINES)


def test_a_book_is_previewed_as_it_will_be_read(tmp_path: Path) -> None:
    name = uploads.keep_upload(io.BytesIO(book().encode()), "book.txt", tmp_path)
    found = local_files.preview(Selection(name), tmp_path)
    wanted = segmentation.sentences(paragraphs(), cut=True)
    assert (found.corpus.label, found.corpus.width, found.is_whole) == ("book.txt", 70, True)
    assert found.sentences == wanted
    assert found.n_words.tolist() == [len(sentence.split()) for sentence in wanted]
    assert (found.corpus.selection.reading, found.corpus.selection.segmentation) == (
        Reading.PARAGRAPHS,
        Segmentation.SENTENCES,
    )
    examples = found.examples()
    assert len(examples) == 10
    assert (examples[0], examples[-1]) == (wanted[0], wanted[-1])
    assert [wanted.index(example) for example in examples] == sorted(wanted.index(example) for example in examples)
    by_line = local_files.preview(Selection(name, reading=Reading.LINES), tmp_path)
    assert (by_line.corpus.width, by_line.corpus.n_left_out) == (0, 0)
    assert "by Somebody" in by_line.sentences


def test_of_a_large_file_the_beginning_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    lines = "\n".join(sentences()) + "\n"
    path.write_text(lines * (3 * PREVIEW_CHARACTERS // len(lines)))
    found = local_files.preview(Selection(str(path)), tmp_path)
    assert not found.is_whole
    assert PREVIEW_CHARACTERS <= sum(map(len, found.sentences)) < 2 * PREVIEW_CHARACTERS
    assert found.sentences[: len(sentences())] == sentences()


LIST = "1. Take a bowl that holds a litre. 12. Pour the milk into it. (3) ... Wait. 14.\n12.\n"


def test_numbers_of_a_list_are_no_sentences_where_texts_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"{LIST}Über die 2 Brücken. 彼は猫を見た。 7 + 5 = 12.\n")
    cut = Selection(str(path), segmentation=Segmentation.SENTENCES)
    wanted = [
        "Take a bowl that holds a litre.",
        "Pour the milk into it.",
        "Wait.",
        "Über die 2 Brücken.",
        "彼は猫を見た。",
    ]
    assert local_files.preview(cut, tmp_path).sentences == wanted
    assert sorted(sampling.find_sample(cut, 10, 0, tmp_path, Progress()).sentences) == sorted(wanted)
    whole = local_files.preview(Selection(str(path), segmentation=Segmentation.NONE), tmp_path).sentences
    assert (len(whole), whole[1]) == (3, "12.")  # a line is what the file says is one
    table = tmp_path / "list.csv"
    table.write_text('id,text\na,"1. A cat sat. 2."\nb,12.\nc,"3. A dog ran. A bird sang."\n')
    opened = open_file(Selection(str(table), column="text", segmentation=Segmentation.SENTENCES), table, table.name)
    found = [(sentence, row) for run in opened.sentences() for sentence, row in zip(*run, strict=True)]
    assert found == [("A cat sat.", 0), ("A dog ran.", 2), ("A bird sang.", 2)]


@pytest.mark.parametrize("text", ["1" * 300, "a" * (MAX_CHARACTERS + 1)])
def test_a_file_that_gives_no_sentence_says_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text(text)
    with pytest.raises(CorpusError, match=r"empty\.txt holds no sentence"):
        local_files.preview(Selection(str(path)), tmp_path)


KEPT_SENTENCES = [f"Sentence number {index}." for index in range(60)]
ABOUT = About(hashlib.sha256("\n".join(KEPT_SENTENCES).encode()).hexdigest(), 60, ["text", "title"], "text", True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of three row groups, as of three batches; two hold nothing."""
    place = tmp_path / "kept" / "sentences.parquet"
    batches = [[], KEPT_SENTENCES[:10], KEPT_SENTENCES[10:15], [], KEPT_SENTENCES[15:]]
    of_file = About(columns=["text", "title"], column="text", cut=True)
    assert local_files.write_sentences(batches, place, lambda: of_file) == ABOUT
    return place


def test_sentences_are_kept_and_read_in_any_order_with_repeats(path: Path) -> None:
    def batches():
        yield ["One."]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        local_files.write_sentences(batches(), path.with_name("other.parquet"))
    assert [file.name for file in path.parent.iterdir()] == ["sentences.parquet"]
    assert local_files.read_about(path) == ABOUT
    assert pq.read_table(path)["sentence"].to_pylist() == KEPT_SENTENCES
    random = np.random.default_rng(0)
    for order in (random.permutation(60), random.integers(0, 60, 200), np.arange(60)[::-1], np.array([15, 14, 9, 10])):
        assert local_files.read_column(path, order, "sentence") == [KEPT_SENTENCES[index] for index in order]


def test_damage_is_noticed_wherever_it_is(path: Path) -> None:
    content = path.read_bytes()
    order = np.arange(60)[::-1]
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        found = local_files.read_about(path)
        assert found in (None, ABOUT), place
        with contextlib.suppress(DamagedFileError):
            assert found is None or local_files.read_column(path, order, "sentence") == KEPT_SENTENCES[::-1], place
    for size in range(0, len(content), 7):
        path.write_bytes(content[:size])
        assert local_files.read_about(path) is None
        with pytest.raises(DamagedFileError):
            local_files.read_column(path, order, "sentence")
