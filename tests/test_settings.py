from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from clsviz.errors import SettingError
from clsviz.settings import (
    OF_EXPERIMENT,
    OWN,
    SETTINGS,
    ChunkTestSettings,
    Experiment,
    SearchSettings,
    refuse,
    settings_of,
)

names = some.text(some.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=50)
rows = {name: SETTINGS[name] for name in OF_EXPERIMENT}
numbers = {name: some.integers(*row.ends) for name, row in rows.items() if row.ends}
settings = some.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("model", "corpus", "split", "column", "encoding"), names),
        **{name: some.sampled_from(row.values) for name, row in rows.items() if row.values},
        **numbers,
        "sample_size": numbers["sample_size"] | some.just("all"),
        "layer": numbers["layer"] | some.none(),
        **dict.fromkeys(("query_prompt", "text_prompt"), some.none() | some.just("") | names),
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
        ("pooling", "max", "pooling is “max”. Choose cls or mean or pooler or pipeline."),
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
    for name in numbers:
        with pytest.raises(SettingError, match=f"^{name} is “.{{3,80}}”. [A-Z].*$"):
            Experiment.parse({name: text})


def test_an_empty_value_in_a_link_is_the_default() -> None:
    assert Experiment.parse({"layer": "last", "model": "", "seed": " "}) == Experiment()
    with pytest.raises(SettingError, match="is “none”"):
        Experiment(query_prompt="none")


OTHERS = {
    **dict.fromkeys(("model", "corpus", "configuration", "split", "column", "encoding"), "minilm"),
    "language": "de",
    "segmentation": "sentences",
    "sample_size": 300,
    "seed": 7,
    "precision": "fast",
    "probe_size": 100,
    "length_cutoff": 30,
    "layer": 1,
    "pooling": "pooler",
    "query_prompt": "a query: ",
    "text_prompt": "",
    "unit": "words",
}
HEEDED = {
    "measure": {*OTHERS} - {"probe_size", "query_prompt", "text_prompt"},
    "probe": {*OTHERS} - {"query_prompt"},
    **{name: {*OTHERS} for name in ("compare", "report")},
    "search-test": {*OTHERS}
    - {"precision", "probe_size", "length_cutoff", "layer", "segmentation"},
}
HEEDED["chunk-test"] = HEEDED["search-test"] - {"unit"}


@pytest.mark.parametrize("has_own_vectors", [False, True])
@pytest.mark.parametrize("question", HEEDED)
def test_a_setting_that_a_question_does_not_heed_is_refused(
    question: str, has_own_vectors: bool
) -> None:
    defaults = {name: row.default for name, row in settings_of(question).items() if name in OTHERS}
    usual = {**defaults, "sample_size": 20_000}
    own = {"sample_size", "seed", "length_cutoff", "unit"}
    heeded = HEEDED[question] & own if has_own_vectors else HEEDED[question]
    assert set(OTHERS) == set(OF_EXPERIMENT)
    for name, value in OTHERS.items():
        experiment = Experiment(**{**usual, name: value})
        if value == getattr(Experiment(**usual), name):
            continue
        if name in heeded:
            refuse(question, experiment, has_own_vectors=has_own_vectors)
            continue
        with pytest.raises(SettingError, match=f"^{name} is .*Leave {name} out.$"):
            refuse(question, experiment, has_own_vectors=has_own_vectors)


@pytest.mark.parametrize(
    ("question", "settings", "sentence"),
    [
        ("measure", {"probe_size": 6000}, "probe_size is 6,000, and norms take the whole sample."),
        ("probe", {"sample_size": 90, "probe_size": 91}, "probe_size is 91, and sample_size only"),
        ("search-test", {"layer": 1}, "layer is “1”; a search has whole texts and exact last"),
        ("chunk-test", {"unit": "words"}, "unit is “words”; chunks have sentences and exact last"),
        ("chunk-test", {"sample_size": "all"}, "sample_size is “all”. Choose at most 20,000 sent"),
        ("chunk-test", {"sample_size": 20_001}, "sample_size is “20001”. Choose at most 20,000 s"),
    ],
)
def test_a_refusal_says_why(question: str, settings: dict, sentence: str) -> None:
    with pytest.raises(SettingError, match=f"^{sentence}"):
        refuse(question, Experiment(**settings))


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        (SearchSettings, {"similarity": "l2"}, "similarity is “l2”. Choose auto or cosine or dot."),
        (SearchSettings, {"max_exposure": 0.5}, "max_exposure is 0.5. Choose a number from 1 to"),
        (SearchSettings, {"max_exposure": float("nan")}, "max_exposure is nan."),
        (ChunkTestSettings, {"queries": Path("q")}, "There are queries, and no searches."),
        (SearchSettings, {"vectors": Path("a.npz")}, "Only one of vectors and query_vectors is"),
        (ChunkTestSettings, {"max_lost": 2}, "max_lost is 2. Choose a number from 0 to 1."),
        (ChunkTestSettings, {"max_lost": 0.5}, "Only one of chunk_tokens and max_lost is given."),
    ],
)
def test_settings_of_tests_are_checked(kind: type, settings: dict, sentence: str) -> None:
    with pytest.raises(SettingError, match=f"^{sentence}"):
        kind(**settings)


def test_own_vectors_of_a_search_refuse_by_their_settings() -> None:
    own = SearchSettings(vectors=Path("a.npz"), query_vectors=Path("b.npz"))
    searched = {"corpus": "python-api", "pooling": "pipeline"}
    refuse("search-test", Experiment(**searched, seed=1, sample_size="all"), own)
    for name, value in {"pooling": "cls", "column": "mean", "corpus": "python-docs"}.items():
        with pytest.raises(SettingError, match=f"^{name} is .* own vectors do not have"):
            refuse("search-test", Experiment(**{**searched, name: value}), own)


def test_every_setting_says_what_it_means_to_a_question() -> None:
    for row in SETTINGS.values():
        assert row.help.endswith(".")
        assert {*row.questions} <= {*HEEDED, OWN}
        assert row.questions
    for question in HEEDED:
        assert {"model", "models"} & {*settings_of(question)}
