from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import clsviz
from clsviz.errors import CorpusError, SettingError

INDEX = [f"row {n}" for n in range(60, 0, -1)]


@pytest.fixture
def options(tiny_model: Path, tmp_path: Path) -> dict:
    return {"model": str(tiny_model), "store": tmp_path}


def test_the_package_is_the_one_next_to_the_tests() -> None:
    assert Path(clsviz.__file__).parents[1] == Path(__file__).parents[1]


def forms(sentences: list[str]) -> dict:
    import datasets

    return {
        "list": sentences,
        "Series": pd.Series(sentences, INDEX),
        "DataFrame": pd.DataFrame({"id": range(60), "text": sentences}, INDEX),
        "Dataset": datasets.Dataset.from_dict({"text": sentences}),
    }


def test_a_path_is_a_file_and_no_size_is_a_sample(options: dict, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("One two\nThree\n")
    assert set(clsviz.measure(corpus=path, **options).table["sentence"]) == {"One two", "Three"}
    with pytest.raises(SettingError, match="sample_size"):
        clsviz.measure(corpus=path, sample_size=0, **options)
    with pytest.raises(CorpusError, match="None"):
        clsviz.measure(corpus=None, **options)


@pytest.mark.parametrize("name", ["list", "Series", "DataFrame", "Dataset"])
def test_sentences_in_memory_keep_their_order_and_index(
    name: str, options: dict, sentences: list[str]
) -> None:
    result = clsviz.measure(corpus=forms(sentences[:60])[name], seed=5, **options)
    assert list(result.table["sentence"]) == sentences[:60]
    expected = INDEX if name in ("Series", "DataFrame") else list(range(60))
    assert list(result.table.index) == expected


def test_settings_reach_the_answer(options: dict, sentences: list[str]) -> None:
    result = clsviz.measure(corpus=sentences, length_cutoff=20, layer=1, unit="words", **options)
    used = result.table[result.table["is_used"]]
    r = np.corrcoef([len(text.split()) for text in used["sentence"]], used["cls_1"])[0, 1]
    assert result.fact("r_squared") == pytest.approx(r**2)


def test_progress_is_reported(options: dict, sentences: list[str]) -> None:
    seen = []
    clsviz.measure(
        corpus=sentences[:70],
        progress=lambda done, total, unit: seen.append((done, unit)),
        **options,
    )
    assert seen[-1] == (70, "sentences")


@pytest.mark.parametrize(
    ("corpus", "error", "words"),
    [
        ([], CorpusError, "no text|empty|no sentences"),
        ({"a": ["b"], "c": []}, CorpusError, "different lengths"),
        (["a b", 3], CorpusError, "3"),
        ("no-such-file.txt", CorpusError, "no-such-file.txt"),
    ],
)
def test_a_corpus_that_cannot_be_used_is_an_error(corpus, error, words, options: dict) -> None:
    with pytest.raises(error, match=words):
        clsviz.measure(corpus=corpus, **options)


def test_a_setting_that_changes_nothing_is_refused(options: dict, sentences: list[str]) -> None:
    for setting in ({"probe_size": 10}, {"split": "train"}, {"encoding": "cp1254"}):
        with pytest.raises(SettingError, match=next(iter(setting))):
            clsviz.measure(corpus=sentences, **setting, **options)


@pytest.mark.parametrize(
    ("keyword", "meant"),
    [("sampl_size", "sample_size"), ("serches", "searches"), ("colum", "column")],
)
def test_a_mistyped_keyword_names_the_likeliest(keyword: str, meant: str) -> None:
    with pytest.raises(SettingError, match=f"no keyword “{keyword}”. Did you mean {meant}"):
        clsviz.search_test(**{keyword: 1})


def test_searches_in_memory_are_read_as_files_are(options: dict) -> None:
    rows = range(40)
    frame = pd.DataFrame({"id": rows, "text": ["the cat sees " + "a dog " * n for n in rows]})
    judged = pd.DataFrame({"query": [f"cat {n}" for n in rows], "ids": rows})
    queries = {str(n): f"cat {n}" for n in rows}
    by_id = {"searches": {"qid": rows, "ids": rows}, "queries": queries}
    for choice in ({"searches": judged}, by_id):
        result = clsviz.search_test(corpus=frame, column="text", **choice, **options)
        assert list(result.table["right"]) == list(frame["text"])
        assert (str(result), result.command) == (result.text(), "")


def test_a_result_shows_itself_in_a_notebook(options: dict, sentences: list[str]) -> None:
    result = clsviz.measure(corpus=[*sentences, "<script>alert(1)</script> a cat"], **options)
    html = result._repr_html_()
    assert result.verdict[:20] in html
    assert "data:image/png;base64" in html
    assert "<script" not in html
    assert result.plot().data


def test_vectors_of_sentences_come_from_the_encoder_by_name(tiny_model: Path) -> None:
    vectors = clsviz.Encoder(str(tiny_model)).vectors(["the cat sings", "a dog"], "mean")
    assert vectors.shape == (2, 16)
    with pytest.raises(AttributeError, match="has no attribute 'Decoder'"):
        clsviz.Decoder  # noqa: B018
