"""Encoders that are there at once, and checked before anything of theirs is kept."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.processor import needs_bfloat16
from support.tiny import write_bert

from clsviz import models, words
from clsviz.encoder import Encoder
from clsviz.errors import ModelError
from clsviz.experiment import Experiment
from clsviz.measuring import Checked, Encoders, Extraction, Found, Store
from clsviz.measuring.encoders import Mistaken
from clsviz.models import Weights
from clsviz.progress import Progress
from clsviz.settings import Precision


@pytest.fixture
def odd_weights(tmp_path: Path) -> Weights:
    """Of a model whose tokenizer, as transformers makes it, is not that of its tokenizer.json."""
    folder = write_bert(tmp_path / "odd")
    path = folder / "tokenizer_config.json"
    settings = {**json.loads(path.read_text()), "tokenizer_class": "BertTokenizer", "do_lower_case": False}
    path.write_text(json.dumps(settings))
    return models.find(str(folder))


@pytest.fixture
def broken_weights(tmp_path: Path) -> Weights:
    """Of a model that has fewer words than its configuration says, which transformers refuses."""
    path = write_bert(tmp_path / "broken") / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "vocab_size": 1000}))
    return models.find(str(path.parent))


def test_an_encoder_is_checked_once(tiny_weights: Weights) -> None:
    encoders = Encoders()
    first = encoders.get(tiny_weights, unchecked=True)
    assert encoders.needs_check(first)
    encoders.check(first)
    assert not encoders.needs_check(first)
    assert encoders.get(tiny_weights) is first
    assert first.anatomy is first.anatomy  # known since the check


def test_whoever_wants_it_checked_gets_it_so(tiny_weights: Weights) -> None:
    encoders = Encoders()
    first = encoders.get(tiny_weights, unchecked=True)
    assert encoders.get(tiny_weights) is first
    assert not encoders.needs_check(first)


def test_an_encoder_that_is_mistaken_is_replaced(odd_weights: Weights, tmp_path: Path) -> None:
    encoders = Encoders(checked=Checked(tmp_path / "checked"))
    first = encoders.get(odd_weights, unchecked=True)
    assert first.tokens("The cat") == ["the", "cat"]
    with pytest.raises(Mistaken):
        encoders.check(first)
    second = encoders.get(odd_weights, unchecked=True)
    assert second.tokens("The cat") == ["[UNK]", "cat"]
    assert not encoders.needs_check(second)
    assert not list(tmp_path.glob("checked/*"))
    assert Encoders().get(odd_weights).tokens("The cat") == ["[UNK]", "cat"]


def test_an_encoder_that_transformers_refuses_is_dropped(broken_weights: Weights) -> None:
    encoders = Encoders()
    first = encoders.get(broken_weights, unchecked=True)
    with pytest.raises(ModelError, match="in a wrong shape"):
        encoders.check(first)
    with pytest.raises(ModelError, match="in a wrong shape"):
        encoders.get(broken_weights)


def test_what_was_found_out_is_remembered(
    tiny_weights: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_known() -> bool:
        encoders = Encoders(checked=Checked(tmp_path))
        return not encoders.needs_check(encoders.get(tiny_weights, unchecked=True))

    assert not is_known()
    Encoders(checked=Checked(tmp_path)).get(tiny_weights)
    assert is_known()
    with monkeypatch.context() as patch:  # another machine, another version of anything
        elsewhere = {**Encoder(tiny_weights).circumstances, "machine": "another"}
        patch.setattr(Encoder, "circumstances", property(lambda self: elsewhere))
        assert not is_known()
    assert is_known()
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text()[:-1])
    assert not is_known()


@needs_bfloat16
def test_each_precision_is_checked_for_itself(tiny_weights: Weights, tmp_path: Path) -> None:
    encoders = Encoders(checked=Checked(tmp_path))
    encoders.get(tiny_weights)
    assert encoders.needs_check(encoders.get(tiny_weights, Precision.FAST, unchecked=True))


def test_a_place_that_cannot_be_written_remembers_nothing(tiny_weights: Weights, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    checked = Checked(tmp_path / "file" / "folder")
    encoder = Encoders(checked=checked).get(tiny_weights)
    assert encoder not in checked


class _Watched(Progress):
    """Notes at every stage how much is found, and how much is stored."""

    def __init__(self, extraction: Extraction, store: Store) -> None:
        super().__init__()
        self.extraction, self.store, self.noted = extraction, store, list[tuple[str, int, int]]()

    def begin(self, stage: str, total: int = 0, done: int = 0, unit: str = "") -> None:
        super().begin(stage, total, done, unit)
        found = self.extraction.found
        n_stored = len(list(self.store.root.glob("norms-*/*.safetensors")))
        self.noted.append((stage, len(found.measurements) if found else 0, n_stored))


def watched(weights: Weights, corpus: Path, store: Store) -> tuple[Extraction, _Watched]:
    experiment = Experiment(model=str(weights.folder), corpus=str(corpus), sample_size=100)
    extraction = Extraction(experiment, store, Encoders(checked=Checked(store.checked)))
    return extraction, _Watched(extraction, store)


def norms_by_transformers(found: Found) -> np.ndarray:
    return Encoder(found.weights, device="cpu").measure(found.sentences).cls_norms


def test_the_first_part_is_shown_before_the_check_and_stored_after_it(
    tiny_weights: Weights, text_file: Path, store: Store
) -> None:
    extraction, progress = watched(tiny_weights, text_file, store)
    found = extraction.run(progress)
    assert ("Comparing with tiny-bert’s own code", 32, 0) in progress.noted
    assert len(list(store.root.glob("norms-*/*.safetensors"))) == 3
    np.testing.assert_allclose(found.measurements.cls_norms, norms_by_transformers(found), rtol=1e-6)
    again, progress = watched(tiny_weights, text_file, Store(store.root))
    for path in store.root.glob("norms-*/*.safetensors"):
        path.unlink()
    again.run(progress)
    assert not [stage for stage, *_ in progress.noted if stage.startswith("Comparing")]


def test_points_of_a_mistaken_encoder_are_taken_back(odd_weights: Weights, text_file: Path, store: Store) -> None:
    text_file = text_file.with_name("capitals.txt")
    text_file.write_text("\n".join(f"The cat sat {'on the mat ' * n}." for n in range(100)))
    extraction, progress = watched(odd_weights, text_file, store)
    found = extraction.run(progress)
    compared = [stage for stage, *_ in progress.noted].index("Comparing with odd’s own code")
    assert progress.noted[compared][1:] == (32, 0)
    assert progress.noted[compared + 1] == ("Loading odd", 0, 0)
    np.testing.assert_allclose(found.measurements.cls_norms, norms_by_transformers(found), rtol=1e-6)
    stored = Extraction(extraction.experiment, store, Encoders())
    stored.look_up(Progress())
    np.testing.assert_array_equal(stored.found.measurements.cls_norms, found.measurements.cls_norms)
    assert words.notes(extraction.experiment, found) == [
        "The first points were taken back: the check against odd’s own code gave other numbers. All sentences are "
        "measured by that code."
    ]


def test_points_of_a_model_that_transformers_refuses_are_taken_back(
    broken_weights: Weights, text_file: Path, store: Store
) -> None:
    extraction, progress = watched(broken_weights, text_file, store)
    with pytest.raises(ModelError, match="in a wrong shape"):
        extraction.run(progress)
    assert progress.noted[-1][1:] == (32, 0)
    assert len(extraction.found.measurements) == 0
    assert not list(store.root.glob("norms-*/*.safetensors"))
