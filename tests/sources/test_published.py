"""Against the Hugging Face Hub itself: pytest -m hub."""

import numpy as np
import pytest
import torch

from clsviz.encoder import Encoder
from clsviz.encoder.load import load
from clsviz.progress import Progress
from clsviz.sources import hub, models
from clsviz.sources.models import MODELS, Name, Weights, _needed

ORDINARY = [
    "The train to the coast leaves at seven in the morning.",
    "She had never seen so many birds in one place.",
    "He opened the window and looked down at the street.",
    "They talked about the weather for a while.",
    "I am not sure that this is the right house.",
    "The children were playing in the garden behind the school.",
    "Nobody knew why the old man had left the village.",
    "We should have brought a map, she said.",
    "It was already dark when they reached the river.",
    "The doctor told him to rest for a few days.",
    "A dog barked somewhere on the other side of the wall.",
    "You can find the answer on the last page of the book.",
    "My sister works in a hospital in the north of the country.",
    "After dinner he read the newspaper by the fire.",
    "There was nothing left to say, so they walked home in silence.",
    "The price of bread has doubled since last year.",
]


@pytest.fixture
def the_hub_itself(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other tests do without; the user's own cache is used, so that the second time is quick."""
    from huggingface_hub import constants

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


@pytest.fixture
def bert(the_hub_itself: None) -> Weights:
    return models.fetch("bert-base-uncased")


@pytest.mark.hub
def test_bert_has_the_published_parameters(bert: Weights) -> None:
    model = load(bert).model
    assert len(list(model.named_parameters())) == 199
    published = [0.013630, -0.026490, -0.023503, -0.0077876, 0.0085892]
    assert model.get_input_embeddings().weight[101, :5].tolist() == pytest.approx(published, rel=1e-3)


@pytest.mark.hub
def test_bert_gives_the_published_vectors(bert: Weights) -> None:
    sentence = "Sinan loves a beautiful day"
    loaded = load(bert)
    encoded = loaded.tokenizer(sentence, return_tensors="pt")
    assert encoded["input_ids"].tolist() == [[101, 8254, 2319, 7459, 1037, 3376, 2154, 102]]
    with torch.no_grad():
        output = loaded.model(**encoded)
    cls, pooled = output.last_hidden_state[0, 0], output.pooler_output[0]
    assert cls[:5].tolist() == pytest.approx([-0.2327, 0.1515, -0.0448, -0.0845, -0.2523], abs=1e-4)
    assert pooled[:5].tolist() == pytest.approx([-0.8777, -0.4542, -0.6287, 0.7511, 0.3151], abs=1e-4)
    measured = Encoder(bert, device="cpu").measure([sentence])
    assert measured.n_tokens.tolist() == [6]
    assert measured.cls_norms[0, -1] == pytest.approx(cls.norm().item(), rel=1e-5)
    assert measured.pooler_norms[0, 0] == pytest.approx(pooled.norm().item(), rel=1e-5)


@pytest.mark.hub
def test_most_norms_of_bert_are_as_the_blog_post_found_them(bert: Weights) -> None:
    norms = Encoder(bert, device="cpu").measure(ORDINARY).cls_norms[:, -1]
    assert np.mean((norms > 13) & (norms < 16)) > 0.7


@pytest.mark.hub
@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.repo])
def test_the_catalogue_says_what_is_on_the_hub(name: str, the_hub_itself: None) -> None:
    assert "model.safetensors" in {file.path for file in hub.open_repository(MODELS[name].repo, "model").files}
    _, below, files = _needed(Name(name), Progress())
    assert below == ""
    assert sum(file.size for file in files) / 10**6 == pytest.approx(MODELS[name].megabytes, rel=0.1)
