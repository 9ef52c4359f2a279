import sysconfig
from pathlib import Path

import pytest

from clsviz.sources import catalogue, local_files
from clsviz.sources.catalogue import CORPORA, Source


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
