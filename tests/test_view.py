import numpy as np
import pytest
from test_measurements import measurements

from clsviz.errors import SettingError
from clsviz.experiment import Experiment, Pooling
from clsviz.measurements import Measurements
from clsviz.view import view


def test_only_whole_sentences_under_the_cutoff_are_shown() -> None:
    shown = view(measurements(100), Experiment(length_cutoff=10))  # those of even length are truncated
    assert shown.index.tolist() == shown.lengths.tolist() == [1, 3, 5, 7, 9]
    assert shown.n_truncated == 5
    np.testing.assert_allclose(shown.norms, np.array([1, 3, 5, 7, 9]) + 0.2, rtol=1e-6)
    assert shown.fit is not None
    assert shown.fit.slope == pytest.approx(1)


def test_the_layer_and_the_pooler_are_selected() -> None:
    assert view(measurements(20), Experiment(layer=0)).norms[0] == 1
    assert view(measurements(20), Experiment(pooling=Pooling.POOLER)).norms[0] == 1.5


def test_nothing_under_the_cutoff_is_explained() -> None:
    shown = view(measurements(100, start=50), Experiment(length_cutoff=2))
    assert shown.fit is None
    assert shown.problem.endswith("Raise the cutoff.")
    shown = view(measurements(100).head(1), Experiment(length_cutoff=2))
    assert "Left out: 1," in shown.problem


def test_what_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(SettingError, match="layers 0 to 2"):
        view(measurements(20), Experiment(layer=3))
    whole = measurements(20)
    without = Measurements(whole.n_tokens, whole.truncated, whole.cls_norms, np.empty((20, 0), np.float32))
    with pytest.raises(SettingError, match="no pooler"):
        view(without, Experiment(pooling=Pooling.POOLER))
