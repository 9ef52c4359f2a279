import pytest
from hypothesis import given
from hypothesis import strategies as some

from clsviz.errors import SettingError
from clsviz.experiment import CHOICES, RANGES, Experiment, parse_setting

names = some.text(some.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=50)
numbers = {name: some.integers(*ends) for name, ends in RANGES.items()}
settings = some.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("model", "corpus", "split", "column", "encoding"), names),
        **{name: some.sampled_from(values) for name, values in CHOICES.items()},
        **numbers,
        "sample_size": numbers["sample_size"] | some.just("all"),
        "layer": numbers["layer"] | some.none(),
    },
)


@given(settings)
def test_a_link_says_all_settings(values: dict) -> None:
    experiment = Experiment(**values)
    assert Experiment.parse(experiment.to_query()) == experiment


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("layer", "first", "layer is “first”. Write a whole number."),
        ("layer", "-1", "layer is “-1”. Choose a number from 0 to 999."),
        ("sample_size", "1", "sample_size is “1”."),
        ("sample_size", "5000.0", "sample_size is “5000.0”."),
        ("length_cutoff", "1", "length_cutoff is “1”."),
        ("pooling", "max", "pooling is “max”. Choose cls or mean or pooler."),
        ("precision", "double", "precision is “double”."),
        ("model", "a" * 501, "Choose a name of at most 500 printable characters."),
        ("corpus", "a\x1bb", "Choose a name of at most 500 printable characters."),
        ("lengths", "shuffled", "There is no setting “lengths”."),
    ],
)
def test_a_value_that_cannot_be_used_is_named(name: str, text: str, reason: str) -> None:
    with pytest.raises(SettingError) as error:
        Experiment.parse({name: text})
    assert str(error.value).startswith(reason) or str(error.value).endswith(reason)


@pytest.mark.parametrize("text", ["inf", "nan", "1e400", "-inf", "9" * 5000])
def test_no_number_is_infinite(text: str) -> None:
    for name in RANGES:
        with pytest.raises(SettingError, match=f"^{name} is “.{{3,80}}”. [A-Z].*$"):
            Experiment.parse({name: text})


def test_an_empty_value_in_a_link_is_the_default() -> None:
    assert parse_setting("seed", " ") == 0
    assert Experiment.parse({"layer": "last", "model": ""}) == Experiment()
