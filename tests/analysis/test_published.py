import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.files import write_task

from clsviz import analysis, export, words
from clsviz.encoder import Encoder
from clsviz.errors import SettingError
from clsviz.experiment import View
from clsviz.settings import Lengths, Pooling
from clsviz.sources.published_task import TaskFile, read_task

VIEW = View(layer=1)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> TaskFile:
    return read_task(write_task(tmp_path_factory.mktemp("task") / "sentence_length.txt"))


def test_a_classifier_of_the_training_sentences_is_tested_on_the_others(file: TaskFile, tiny_encoder: Encoder) -> None:
    vectors = tiny_encoder.vectors(file.sentences)
    steps: list[int] = []
    found = analysis.probes.classify_published(file, vectors, VIEW, steps.append)
    assert steps == [1, 2, 3, 4, 5, 6] * 2
    assert (found.n_train, found.n_dev, found.n_test, found.n_classes) == (360, 120, 120, 6)
    assert found.guessing == pytest.approx(1 / 6)
    assert found.vector is not None
    assert found.norm is not None
    x = vectors.of(Pooling.CLS, 1).astype(float)
    train, test = file.partitions == 0, file.partitions == 2
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=found.vector.strength, max_iter=5000))
    expected = probe.fit(x[train], file.labels[train]).score(x[test], file.labels[test])
    assert found.vector.accuracy == pytest.approx(expected, abs=0.02)
    assert found.vector.accuracy > max(found.norm.accuracy, found.guessing) + 0.2
    interval = stats.binomtest(round(found.vector.accuracy * 120), 120).proportion_ci(method="wilson")
    assert found.vector.interval == pytest.approx(tuple(interval))
    assert not words.sentlen.file_caveats(found)  # 360 sentences are enough for 16 dimensions
    said = words.sentlen.of_file(found)
    assert f"On 120 test sentences of sentence_length.txt, the whole vector tells {found.vector.accuracy:.1%}" in said
    assert "guessing the commonest class 16.7%" in said
    summary = json.loads(json.dumps(analysis.probes.published_summary(found), allow_nan=False))
    assert summary["accuracy"] == found.vector.accuracy
    assert summary["interval_norm_only"] == list(found.norm.interval)
    table = export.tables.published(found)
    assert table["From"].tolist() == ["the whole vector", "its norm alone", "guessing"]
    assert table["Test"].tolist()[:2] == [120, 120]
    assert table["Test"].isna().tolist() == [False, False, True]


def test_shuffled_lengths_leave_what_guessing_does(file: TaskFile, tiny_encoder: Encoder) -> None:
    vectors = tiny_encoder.vectors(file.sentences)
    found = analysis.probes.classify_published(file, vectors, replace(VIEW, lengths=Lengths.SHUFFLED))
    assert found.vector is not None
    assert found.vector.interval[0] < 1 / 6
    assert "not told apart from guessing" in words.sentlen.of_file(found)


def test_what_limits_the_result_is_said(file: TaskFile, tiny_encoder: Encoder) -> None:
    few = file.head(10)
    again = replace(few, sentences=[few.sentences[0].upper() if p == 2 else s for s, p in _rows(few)])
    found = analysis.probes.classify_published(again, tiny_encoder.vectors(again.sentences), VIEW)
    short, shared = words.sentlen.file_caveats(found)
    assert short.startswith("60 training sentences are few for vectors of 16 dimensions: with 80 or more")
    assert shared == "60 of the test sentences are among the training sentences as well."
    constant = analysis.probes.classify_published(few, tiny_encoder.vectors(few.sentences), replace(VIEW, layer=0))
    assert constant.vector is None
    assert "is the same for all sentences" in words.sentlen.of_file(constant)
    assert export.tables.published(constant)["From"].tolist() == ["guessing"]
    with pytest.raises(SettingError, match="layers 0 to 2"):
        analysis.probes.classify_published(few, tiny_encoder.vectors(few.sentences), replace(VIEW, layer=3))


def _rows(file: TaskFile) -> list[tuple[str, int]]:
    assert file.partitions[0] == 0
    return list(zip(file.sentences, np.asarray(file.partitions).tolist(), strict=True))
