import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clsviz.errors import ModelError
from clsviz.settings import printable
from clsviz.sources import models
from clsviz.sources.models import Name, Weights, is_folder, label


@pytest.mark.parametrize("name", ["/absolute", "./here", "../above", "~/home", "tests"])
def test_folders_are_told_from_names_of_the_hub(name: str) -> None:
    assert is_folder(name)


@pytest.mark.parametrize("name", ["bert-base-uncased", "google/electra-base-discriminator", "no-such-folder"])
def test_names_of_the_hub_are_no_folders(name: str) -> None:
    assert not is_folder(name)


@pytest.mark.parametrize(
    "name",
    [
        *("two words", "a/b/c", "-dash", "x" * 200, "x" * 500, "a//b", "name\\", "a/b..c", "a/..", "a--b/c", "b.git"),
        *("", " ", "@", "@main", "untrained:", "untrained:@main", "untrained:untrained:minilm", "Untrained:minilm"),
        *("a/b\nc", "a\0b", "a/b?c=d", "a/b#c", "https://hub/a/b", "модель", "a/b:c", "a%2Fb"),
    ],
)
@pytest.mark.parametrize("look_up", [models.find, models.fetch])
def test_what_can_be_no_model_is_refused(name: str, look_up: Callable[[str], Weights]) -> None:
    with pytest.raises(ModelError, match="is not the name of a model") as refused:
        look_up(name)
    assert type(refused.value) is ModelError
    assert str(refused.value).isprintable()
    assert printable(name) in str(refused.value)
    label(name)  # what calls it something does so before it is refused


@pytest.mark.parametrize(
    "revision",
    [
        "",
        " ",
        "..",
        "../../../etc/passwd",
        "/etc/passwd",
        "refs/../../x",
        "a b",
        "a\nb",
        "a\0b",
        "-x",
        "a:b",
        "x" * 201,
    ],
)
@pytest.mark.parametrize("model", ["owner/name", "bert-base-uncased", "untrained:owner/name"])
def test_what_can_be_no_revision_is_refused(model: str, revision: str) -> None:
    with pytest.raises(ModelError, match="has no valid revision after the @") as refused:
        models.find(f"{model}@{revision}")
    assert type(refused.value) is ModelError
    assert str(refused.value).isprintable()


def test_a_revision_stays_within_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a file for each, whose content is the commit: not one elsewhere."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    commit, repo = "0" * 40, tmp_path / "hub" / "models--owner--name"
    shutil.copytree(models.find("minilm").folder, repo / "snapshots" / commit)
    (repo / "refs").mkdir()
    for path in (repo / "refs" / "main", tmp_path / "elsewhere"):
        path.write_text(commit)
    assert models.find("owner/name@main").commit == commit
    for revision in ("../../../elsewhere", str(tmp_path / "elsewhere")):
        with pytest.raises(ModelError, match="has no valid revision"):
            models.find(f"owner/name@{revision}")


@pytest.mark.parametrize("name", ["minilm@main", "untrained:minilm@main", f"minilm@{'0' * 40}"])
def test_the_built_in_model_has_one_revision(name: str) -> None:
    with pytest.raises(ModelError, match="Leave out the @ and what follows it"):
        models.fetch(name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("minilm", Name("minilm")),
        (" minilm ", Name("minilm")),
        ("untrained: minilm", Name("minilm", untrained=True)),
        ("owner/name@v1.0", Name("owner/name", "v1.0")),
        ("untrained:owner/name@refs/pr/1", Name("owner/name", "refs/pr/1", True)),
        ("./folder@home", Name("./folder@home")),
        ("untrained:/a/folder", Name("/a/folder", untrained=True)),
    ],
)
def test_a_name_is_taken_apart_and_put_together(text: str, name: Name) -> None:
    assert Name.parse(text) == name
    assert Name.parse(str(name)) == name
