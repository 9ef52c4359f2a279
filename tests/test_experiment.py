import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.settings import RANGES, Pooling, Precision

names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=50)
experiments = st.builds(
    Experiment,
    model=names,
    corpus=names,
    sample_size=st.integers(*RANGES["sample_size"]),
    seed=st.integers(*RANGES["seed"]),
    precision=st.sampled_from(Precision),
    length_cutoff=st.integers(*RANGES["length_cutoff"]),
    layer=st.none() | st.integers(*RANGES["layer"]),
    pooling=st.sampled_from(Pooling),
)


@given(experiments)
def test_a_query_restores_the_experiment(experiment: Experiment) -> None:
    assert Experiment.from_query(experiment.to_query()) == experiment


@given(st.dictionaries(st.text(), st.text()))
def test_any_query_gives_an_experiment_and_names_what_it_left_out(query: dict[str, str]) -> None:
    problems: list[SettingError] = []
    experiment = Experiment.from_query(query, problems.append)
    used = experiment.to_query()
    assert len(problems) <= len(query)
    assert all(name in query for name in used)


def test_defaults_are_left_out_of_the_query() -> None:
    assert Experiment().to_query() == {}
    assert Experiment(seed=3, layer=0).to_query() == {"seed": "3", "layer": "0"}


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"sample_sise": "5"}, "sample_sise"),
        ({"sample_size": "many"}, "many"),
        ({"sample_size": "0"}, "0"),
        ({"seed": "-1"}, "-1"),
        ({"length_cutoff": "513"}, "513"),
        ({"layer": "first"}, "first"),
        ({"pooling": "median"}, "median"),
        ({"precision": "double"}, "double"),
        ({"model": " "}, "model"),
        ({"corpus": "a\nb"}, "a\N{REPLACEMENT CHARACTER}b"),
    ],
)
def test_a_bad_parameter_is_named_and_the_rest_applies(query: dict[str, str], named: str) -> None:
    problems: list[SettingError] = []
    experiment = Experiment.from_query({**query, "seed": query.get("seed", "7")}, problems.append)
    assert len(problems) == 1
    assert named in str(problems[0])
    assert experiment == (Experiment() if "seed" in query else Experiment(seed=7))
    with pytest.raises(SettingError):
        Experiment.from_query(query)


def test_last_is_the_default_layer() -> None:
    assert Experiment.from_query({"layer": "last"}) == Experiment()


@pytest.mark.parametrize("settings", [{"sample_size": 0}, {"seed": 2**32}, {"model": ""}, {"layer": 1000}])
def test_values_out_of_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        Experiment(**settings)


def test_the_view_is_not_part_of_what_is_asked() -> None:
    assert Experiment(length_cutoff=10, layer=1, pooling=Pooling.POOLER).measurement_key == Experiment().measurement_key
    assert Experiment(seed=1).measurement_key != Experiment().measurement_key
    assert Experiment(precision=Precision.FAST).measurement_key != Experiment().measurement_key
