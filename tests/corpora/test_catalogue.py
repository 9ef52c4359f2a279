import sysconfig
from pathlib import Path

import pytest

from clsviz import corpora
from clsviz.corpora import CORPORA, Source


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
    assert not corpora.is_upload(name)


def test_what_a_name_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("x")
    for name in ("here", "none.txt", "a/b.csv", "/a", "./a", "../a", "~/a", "A.PARQUET", "x.txt.gz"):
        assert corpora.is_file(name)
        assert not corpora.is_on_hub(name)
    for name in ("owner/name", "name", "owner/name@main", "imdb", "imdb@refs/convert/parquet"):
        assert corpora.is_on_hub(name)
        assert not corpora.is_file(name)
    assert corpora.is_in_catalogue("imdb@main")
    assert not corpora.is_in_catalogue("stanfordnlp/imdb")
    assert corpora.is_built_in("python-docs")
    assert not corpora.is_built_in("imdb")
    assert corpora.is_of_this_machine("this-python-docs")
    assert not corpora.is_of_this_machine("python-docs")
    assert corpora.label("imdb@" + "0123456789" * 4) == "IMDb reviews @ 0123456"
    assert corpora.label("/some/where.txt") == "where.txt"
    assert corpora.label("upload-" + "0" * 32) == "Uploaded file"
    assert corpora.build_seconds("imdb", tmp_path) == corpora.download_megabytes("python-docs", 10) == 0
