from pathlib import Path

import pandas as pd
import pytest

import clsviz
from clsviz.errors import CorpusError, SettingError

INDEX = [f"row {n}" for n in range(60, 0, -1)]


@pytest.fixture
def options(tiny_model: Path, tmp_path: Path) -> dict:
    return {"model": str(tiny_model), "store": tmp_path}


def test_a_path_is_a_file_and_no_size_is_a_sample(options: dict, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("One two\nThree\n")
    assert set(clsviz.measure(corpus=path, **options).table["sentence"]) == {"One two", "Three"}
    with pytest.raises(SettingError, match="sample_size"):
        clsviz.measure(corpus=path, sample_size=0, **options)
    with pytest.raises(CorpusError, match="None"):
        clsviz.measure(corpus=None, **options)


def test_sentences_in_memory_keep_their_order_and_index(options, sentences) -> None:
    texts = pd.Series(sentences[:60], INDEX)
    table = clsviz.measure(corpus=texts, seed=5, length_cutoff=20, unit="words", **options).table
    assert (list(table["sentence"]), list(table.index)) == (sentences[:60], INDEX)
    assert list(table["length"]) == [len(text.split()) for text in sentences[:60]]


def test_progress_is_reported(options: dict, sentences: list[str]) -> None:
    seen = []
    clsviz.measure(
        corpus=sentences[:70],
        progress=lambda done, total, unit: seen.append((done, unit)),
        **options,
    )
    assert seen[-1] == (70, "sentences")


def test_a_mistyped_keyword_names_the_likeliest() -> None:
    for keyword, meant in {"sampl_size": "sample_size", "serches": "searches"}.items():
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
    vectors = clsviz.Encoder(str(tiny_model)).encode(["the cat sings", "a dog"], "mean")
    assert vectors.shape == (2, 16)
    with pytest.raises(AttributeError, match="has no attribute 'Decoder'"):
        clsviz.Decoder  # noqa: B018


def test_a_card_is_a_table_of_answers_as_they_are(options: dict, tmp_path: Path) -> None:
    name = tmp_path / "a|b`c.txt"
    name.write_text(
        "\n".join(f"<i>The</i> cat | sings {'and sings ' * (n % 9)}{n}" for n in range(200))
    )
    view = {"corpus": str(name), "search_corpus": "", "probe_size": 200}
    card = clsviz.report(**view, is_card=True, **options)
    rows = [line for line in card.splitlines() if line.startswith("| ")]
    assert len({line.count("|") for line in rows}) == 1
    assert clsviz.measure(corpus=str(name), **options).verdict in rows[1]
    assert "a\\|b\\`c" in card.splitlines()[0]
    assert "clsviz report --model" in card
