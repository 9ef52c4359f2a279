from dataclasses import replace

import pytest

from clsviz.errors import ModelError
from clsviz.experiment import Experiment
from clsviz.settings import Unit
from clsviz.sources import models
from clsviz.sources.models import Imported

DIGEST = "0123456789abcdef" * 2


@pytest.mark.parametrize("only_norms", [False, True])
@pytest.mark.parametrize("in_words", [False, True])
def test_a_name_says_what_was_imported(only_norms: bool, in_words: bool) -> None:
    name = Imported("my-vectors_2.1", DIGEST, only_norms, in_words)
    assert Imported.parse(str(name)) == name
    assert models.label(str(name)) == "my-vectors_2.1"
    weights = models.find(str(name))
    assert (weights.imported, weights.n_layers, weights.n_parameters) == (name, 0, 0)
    assert weights.pinned == str(name)
    assert len(weights.fingerprint) == 64


def test_the_fingerprint_is_of_the_content_and_not_of_the_label() -> None:
    name = Imported("a", DIGEST)
    assert replace(name, label="b").fingerprint == name.fingerprint
    others = [replace(name, digest="f" * 32), replace(name, only_norms=True), replace(name, in_words=True)]
    assert len({name.fingerprint, *(other.fingerprint for other in others)}) == 4


@pytest.mark.parametrize(
    "text",
    [
        f"imported:a@{DIGEST[:-1]}",
        f"imported:@{DIGEST}",
        f"imported:a,b@{DIGEST}",
        f"imported:../a@{DIGEST}",
        f"untrained:imported:a@{DIGEST}",
        f"imported:a@{DIGEST}-tokens",
    ],
)
def test_any_other_name_is_no_model(text: str) -> None:
    assert Imported.parse(text) is None
    with pytest.raises(ModelError, match="is not the name of a model"):
        models.find(text)


@pytest.mark.parametrize("text", ["", "-a", "a b", "a,b", "a" * 61, "a/b", "a@b"])
def test_a_label_that_a_link_could_not_hold_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match="1 to 60 letters"):
        models.check_label(text)


def test_lengths_are_in_words_where_tokens_are_not_known() -> None:
    in_words, in_tokens = (Experiment(model=str(Imported("a", DIGEST, in_words=known))) for known in (True, False))
    assert models.as_counted(in_words) == replace(in_words, unit=Unit.WORDS)
    assert models.as_counted(replace(in_words, unit=Unit.CHARACTERS)).unit is Unit.CHARACTERS
    assert models.as_counted(in_tokens) == in_tokens
    assert models.as_counted(Experiment()) == Experiment()
