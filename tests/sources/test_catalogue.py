import sysconfig
from pathlib import Path

import pytest

from clsviz.sources import catalogue, local_files, segmentation
from clsviz.sources.catalogue import CORPORA, Source
from clsviz.sources.segmentation import MAX_CHARACTERS


def test_package_docs_hold_those_of_the_installed_packages_as_well() -> None:
    package, python = CORPORA["package-docs"], CORPORA["this-python-docs"]
    assert isinstance(package, Source)
    assert isinstance(python, Source)
    files, library = package.files(), python.files()
    assert files[: len(library)] == library
    assert any(path.startswith(sysconfig.get_path("purelib")) for path in files)
    assert len(files) == len(set(files)) > 5 * len(library)


@pytest.mark.parametrize(
    "name", ["upload-", "upload-../../etc/passwd", "upload-" + "g" * 32, "upload-" + "0" * 32 + "\n", "python-docs"]
)
def test_only_a_digest_names_an_upload(name: str) -> None:
    assert not catalogue.is_upload(name)


def test_what_a_name_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("x")
    for name in ("here", "none.txt", "a/b.csv", "/a", "./a", "../a", "~/a", "A.PARQUET", "x.txt.gz"):
        assert catalogue.is_file(name)
        assert not catalogue.is_on_hub(name)
    for name in ("owner/name", "name", "owner/name@main", "imdb", "imdb@refs/convert/parquet"):
        assert catalogue.is_on_hub(name)
        assert not catalogue.is_file(name)
    assert catalogue.is_in_catalogue("imdb@main")
    assert not catalogue.is_in_catalogue("stanfordnlp/imdb")
    assert catalogue.is_built_in("python-docs")
    assert not catalogue.is_built_in("imdb")
    assert catalogue.is_of_this_machine("this-python-docs")
    assert not catalogue.is_of_this_machine("python-docs")
    assert catalogue.label("imdb@" + "0123456789" * 4) == "IMDb reviews @ 0123456"
    assert catalogue.label("/some/where.txt") == "where.txt"
    assert catalogue.label("upload-" + "0" * 32) == "Uploaded file"
    assert local_files.build_seconds("imdb", tmp_path) == catalogue.download_megabytes("python-docs", 10) == 0


TEXT = "The cat sat on the mat. Dr. Smith, of the U.S. embassy, came at 3.30 p.m. with $2.50!  Was he late?"
CUT = ["The cat sat on the mat.", "Dr. Smith, of the U.S. embassy, came at 3.30 p.m. with $2.50!", "Was he late?"]


def test_texts_are_cut_into_sentences_in_order() -> None:
    assert segmentation.sentences([TEXT, "A second text. It is short."], cut=True) == [
        *CUT,
        "A second text.",
        "It is short.",
    ]


def test_texts_are_left_whole_otherwise() -> None:
    assert segmentation.sentences([TEXT, "One.<br />Two."], cut=False) == [
        TEXT.replace("  ", " "),
        "One.<br />Two.",
    ]


@pytest.mark.parametrize("mark", ["<br />", "<br>", "<BR/>", "<br /><br />", "\n\n", "\r\n\r\n"])
def test_a_break_ends_a_sentence(mark: str) -> None:
    assert segmentation.sentences([f"A title without an end{mark}The cat sat."], cut=True) == [
        "A title without an end",
        "The cat sat.",
    ]


@pytest.mark.parametrize("cut", [False, True])
def test_white_space_is_one_space(cut: bool) -> None:
    text = "  The cat\n sat\ton \u00a0 the\u2003mat. "
    assert segmentation.sentences([text], cut=cut) == ["The cat sat on the mat."]


@pytest.mark.parametrize("cut", [False, True])
def test_blanks_are_left_out(cut: bool) -> None:
    assert segmentation.sentences(["", " \n\t", "\u00a0\u2003", "<br />" if cut else "", "A cat."], cut=cut) == [
        "A cat."
    ]
    assert segmentation.sentences([], cut=cut) == []


@pytest.mark.parametrize("cut", [False, True])
def test_any_script_is_kept(cut: bool) -> None:
    texts = ["Ein süßer Löwe schläft.", "彼は猫を見た。", "Кошка спит.", "👩‍👩‍👧 a family 🎉!", "e\u0301te\u0301"]
    assert segmentation.sentences(texts, cut=cut) == texts


@pytest.mark.parametrize("cut", [False, True])
def test_what_no_reader_would_take_for_a_sentence_is_left_out(cut: bool) -> None:
    longest = "a" * MAX_CHARACTERS
    assert segmentation.sentences([longest, longest + "a", "A cat."], cut=cut) == [longest, "A cat."]
    # Only what is counted counts: white space is not, and what is cut is measured by its pieces.
    assert segmentation.sentences([longest + "   "], cut=cut) == [longest]
    assert segmentation.sentences(["A cat sat. " * (MAX_CHARACTERS // 10)], cut=True) == ["A cat sat."] * (
        MAX_CHARACTERS // 10
    )
