from support.snapshots import assert_said

from clsviz import words
from clsviz.experiment import Experiment, View
from clsviz.settings import Lengths, Overlay, Pooling, Unit
from clsviz.statistics.probes import Readout


def test_every_pooling_has_its_labels_and_every_readout_of_cls_its_line() -> None:
    assert list(words.POOLINGS) == list(Pooling)
    assert list(words.OVERLAYS) == list(Overlay)
    assert {readout for pooling, readout in words.profile.LINES if pooling is Pooling.CLS} == set(Readout)
    for names in (words.profile.LINES.values(), [labels.short for labels in words.POOLINGS.values()]):
        assert len(set(names)) == len(names)


def test_questions_and_axes_name_model_and_vector() -> None:
    views = {
        "the last layer": View(),
        "layer 3": View(layer=3),
        "the mean of the embeddings": View(layer=0, pooling=Pooling.MEAN),
        "the pooler": View(layer=3, pooling=Pooling.POOLER),
    }
    models = ("google/electra-base", "bert-base-uncased", "owner/any@main", "not a model, <b>surely</b>", "a/b/c", " ")
    assert_said(
        "labels",
        {
            **{
                name: [
                    words.question(Experiment(layer=view.layer, pooling=view.pooling)),
                    words.vector_name(view, "the"),
                    words.axis_title(view),
                ]
                for name, view in views.items()
            },
            "models": [words.question(Experiment(model)) for model in models],
            "lengths": [
                words.length_title(View()),
                words.length_title(View(unit=Unit.WORDS, lengths=Lengths.SHUFFLED)),
            ],
            "the cutoff": [words.about_cutoff(Experiment()), words.cutoff_unit(Experiment())],
            "a picture": [words.sharing.alt(Experiment(), n) for n in (0, 1, 5000)],
        },
    )
