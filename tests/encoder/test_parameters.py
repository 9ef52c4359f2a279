import torch
import transformers

from clsviz.encoder.anatomy import parameters_of


def test_bert_base_has_as_many_parameters_as_published() -> None:
    with torch.device("meta"):
        parameters = parameters_of(transformers.BertModel(transformers.BertConfig()))
    width, inner = 768, 4 * 768
    layer = 4 * (width * width + width) + 2 * width * inner + inner + width + 4 * width
    embeddings = (30522 + 512 + 2 + 2) * width
    assert len(parameters) == 199
    assert sum(parameter.size for parameter in parameters) == embeddings + 12 * layer + width * width + width
    assert sum(parameter.size for parameter in parameters) == 109_482_240
    by_name = {parameter.name: parameter for parameter in parameters}
    assert by_name["embeddings.word_embeddings.weight"].shape == (30522, 768)
    assert by_name["encoder.layer.11.output.dense.weight"].group == "Layer 12"
    assert {p.group for p in parameters} == {"Embeddings", *(f"Layer {i}" for i in range(1, 13)), "Pooler"}
