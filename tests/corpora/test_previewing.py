import io
from pathlib import Path

import numpy as np
import pytest
from support.corpora import LONG, content_of
from support.wrapped import book, paragraphs, sentences

from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Reading, Segmentation
from clsviz.sources import local_files, sampling, segmentation, uploads
from clsviz.sources.local_files import PREVIEW_CHARACTERS, open_file
from clsviz.sources.segmentation import MAX_CHARACTERS


def test_a_book_is_previewed_as_it_will_be_read(tmp_path: Path) -> None:
    name = uploads.keep_upload(io.BytesIO(book().encode()), "book.txt", tmp_path)
    found = local_files.preview(Selection(name), tmp_path)
    wanted = segmentation.sentences(paragraphs(), cut=True)
    assert (found.label, found.width, found.is_whole) == ("book.txt", 70, True)
    assert found.sentences == wanted
    assert found.n_words.tolist() == [len(sentence.split()) for sentence in wanted]
    assert (found.selection.reading, found.selection.segmentation) == (Reading.PARAGRAPHS, Segmentation.SENTENCES)
    examples = found.examples()
    assert len(examples) == 10
    assert (examples[0], examples[-1]) == (wanted[0], wanted[-1])
    assert [wanted.index(example) for example in examples] == sorted(wanted.index(example) for example in examples)
    by_line = local_files.preview(Selection(name, reading=Reading.LINES), tmp_path)
    assert (by_line.width, by_line.n_left_out) == (0, 0)
    assert "by Somebody" in by_line.sentences


def test_of_a_large_file_the_beginning_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    lines = "\n".join(sentences()) + "\n"
    path.write_text(lines * (3 * PREVIEW_CHARACTERS // len(lines)))
    found = local_files.preview(Selection(str(path)), tmp_path)
    assert not found.is_whole
    assert PREVIEW_CHARACTERS <= sum(map(len, found.sentences)) < 2 * PREVIEW_CHARACTERS
    assert found.sentences[: len(sentences())] == sentences()


def test_a_table_is_previewed_by_its_column(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_bytes(content_of(".csv", LONG))
    found = local_files.preview(Selection(str(path)), tmp_path)
    assert (found.selection.column, found.columns, found.selection.reading) == ("text", ("text", "title"), Reading.AUTO)
    assert found.selection.segmentation is Segmentation.SENTENCES
    titles = local_files.preview(Selection(str(path), column="title"), tmp_path)
    assert titles.examples(3) == ["Title 0", "Title 3", "Title 7"]
    assert np.all(titles.n_words == 2)


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


def test_of_a_table_each_sentence_keeps_its_row_where_numbers_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text('id,text\na,"1. A cat sat. 2."\nb,12.\nc,"3. A dog ran. A bird sang."\n')
    opened = open_file(Selection(str(path), column="text", segmentation=Segmentation.SENTENCES), path, path.name)
    found = [(sentence, row) for run in opened.numbered_sentences() for sentence, row in zip(*run, strict=True)]
    assert found == [("A cat sat.", 0), ("A dog ran.", 2), ("A bird sang.", 2)]


@pytest.mark.parametrize("text", ["1" * 300, "a" * (MAX_CHARACTERS + 1)])
def test_a_file_that_gives_no_sentence_says_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text(text)
    with pytest.raises(CorpusError, match=r"empty\.txt holds no sentence"):
        local_files.preview(Selection(str(path)), tmp_path)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no longer, on this server\. Upload the file again"):
        local_files.preview(Selection("upload-" + "0" * 32), tmp_path)
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    with pytest.raises(CorpusError, match=r"pdftotext a\.pdf a\.txt"):
        local_files.preview(Selection(str(tmp_path / "a.pdf")), tmp_path)
