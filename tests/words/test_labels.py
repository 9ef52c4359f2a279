import pytest

from clsviz import words
from clsviz.experiment import Experiment, View
from clsviz.settings import Lengths, Overlay, Pooling, Unit
from clsviz.statistics.probes import Readout


def test_every_pooling_has_its_labels_and_every_readout_of_cls_its_line() -> None:
    assert list(words.POOLINGS) == list(Pooling)
    assert {readout for pooling, readout in words.profile.LINES if pooling is Pooling.CLS} == set(Readout)
    for names in (words.profile.LINES.values(), [labels.short for labels in words.POOLINGS.values()]):
        assert len(set(names)) == len(names)


def test_what_could_not_be_a_model_is_not_named_in_a_title() -> None:
    for name in ("not a model, <b>surely</b>", "untrained:a b", "", "a/b/c"):
        assert words.question(Experiment(model=name or " ")).startswith("Does this model encode")
    assert words.question(Experiment(model="owner/any@main")).startswith("Does any @ main encode")


def test_shuffled_lengths_are_not_called_the_sentences_own() -> None:
    assert words.length_title(View()) == "Sentence length (in tokens)"
    assert words.length_title(View(unit=Unit.WORDS, lengths=Lengths.SHUFFLED)) == "Shuffled length (in words)"
    assert list(words.OVERLAYS) == list(Overlay)


@pytest.mark.parametrize(
    ("view", "its", "the", "axis"),
    [
        (View(), "its [CLS]", "[CLS]", "Norm of the [CLS] embedding"),
        (View(layer=3), "its [CLS] after layer 3", "[CLS] after layer 3", "Norm of the [CLS] embedding, layer 3"),
        (
            View(layer=0, pooling=Pooling.MEAN),
            "its mean-pooled vector at the embedding layer",
            "the mean-pooled vector at the embedding layer",
            "Norm of the mean-pooled vector, layer 0",
        ),
        (View(layer=3, pooling=Pooling.POOLER), "its pooler output", "the pooler output", "Norm of the pooler output"),
    ],
)
def test_a_vector_is_named_in_a_sentence_and_on_an_axis(view: View, its: str, the: str, axis: str) -> None:
    assert words.vector_name(view) == its
    assert words.vector_name(view, "the") == the
    assert words.axis_title(view) == axis
