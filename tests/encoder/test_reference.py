from pathlib import Path

import numpy as np
import transformers
from support.reference import encoder_of
from support.tiny import write_bert, write_model


def test_the_gain_and_bias_of_each_layer_are_found(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "bert")
    encoder = encoder_of(folder)
    model = transformers.AutoModel.from_pretrained(folder)
    norms = [model.embeddings.LayerNorm, *(layer.output.LayerNorm for layer in model.encoder.layer)]
    expected = np.stack([[norm.weight.detach().numpy(), norm.bias.detach().numpy()] for norm in norms])
    np.testing.assert_array_equal(encoder.layer_norms, expected)
    np.testing.assert_array_equal(encoder.vectors(["a cat"]).layer_norms, expected)


def test_a_layer_that_hands_on_sums_has_no_gain(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "modernbert", "modernbert")
    gains = encoder_of(folder).layer_norms[:, 0, 0]
    assert np.isnan(gains).tolist() == [False, True, True, False]
