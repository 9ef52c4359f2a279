from pathlib import Path

import numpy as np
import pytest
from support.tiny import random_sentences

import clsviz


def test_a_fit_is_the_line_of_its_view(result: clsviz.NormResult) -> None:
    table = result.table()
    for view, column, cutoff in [
        ({}, "cls_1", 20),
        ({"layer": None}, "cls_2", 20),
        ({"layer": "last", "length_cutoff": 12}, "cls_2", 12),
        ({"pooling": "pooler"}, "pooler", 20),
        ({"pooling": clsviz.Pooling.POOLER, "length_cutoff": np.int64(15)}, "pooler", 15),
    ]:
        used = table[table["n_tokens"] < cutoff]
        line = result.fit(**view)  # type: ignore[arg-type]
        slope, intercept = np.polyfit(used["n_tokens"], used[column], 1)
        assert (line.slope, line.intercept) == (pytest.approx(slope, rel=1e-3), pytest.approx(intercept, rel=1e-3))
        assert line.n == len(used)
    words = table["sentence"].str.split().str.len()[table["n_tokens"] < 20]
    slope, _ = np.polyfit(words, table["cls_1"][words.index], 1)
    assert result.fit(unit="words").slope == pytest.approx(slope, rel=1e-3)
    assert result.fit(lengths="shuffled").r_squared < 0.05


def test_the_summary_and_the_answer_tell_the_same_line(result: clsviz.NormResult) -> None:
    assert result.summary()["r_squared"] == result.fit().r_squared
    summary = result.summary()
    most = max(result.fit().r_squared, summary["curve_r_squared"])
    assert f"accounts for {100 * most:.0f}% of the differences between norms" in result.answer
    assert result.in_numbers.startswith(f"Straight line, rising: {100 * result.fit().r_squared:.1f}% (95% interval ")
    assert f" · smooth curve: {100 * summary['curve_r_squared']:.1f}% · " in result.in_numbers
    assert f" · {result.fit().n} of 200 sentences, " in result.in_numbers
    assert result.answer in repr(result)
    assert result.notes == []


def test_a_corpus_with_too_few_sentences_is_noted(tiny_folder: Path, text_file: Path, api_store: Path) -> None:
    found = clsviz.measure(str(tiny_folder), text_file, store=api_store)
    assert len(found) == 400
    assert "has only 400 sentences" in found.notes[0]


def test_the_picture_has_a_point_for_each_sentence_of_the_view(result: clsviz.NormResult) -> None:
    table = result.table()
    used = table[table["n_tokens"] < 15]
    figure = result.plot(length_cutoff=15, layer=2)
    np.testing.assert_array_equal(figure.data[0].x, used["n_tokens"])
    np.testing.assert_allclose(figure.data[0].y, used["cls_2"])
    assert figure.layout.yaxis.title.text == "Norm of the [CLS] embedding, layer 2"
    labels = [label.replace("<br>", " ") for label in figure.to_dict()["data"][0]["text"]]
    assert all(text.startswith(label.rstrip("…")) for label, text in zip(labels, used["sentence"], strict=True))
    assert any("R²" in annotation.text for annotation in figure.layout.annotations)


def test_an_experiment_of_a_link_is_replayed(result: clsviz.NormResult, api_store: Path) -> None:
    query = result.experiment.to_query()
    again = clsviz.measure(clsviz.Experiment.from_query(query), store=api_store)
    assert again.experiment == result.experiment
    assert again.summary() == result.summary()
    with pytest.raises(clsviz.ClsvizError, match="n, seed cannot be given"):
        clsviz.measure(result.experiment, n=3, seed=4, store=api_store)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"pooling": "sum"}, "cls or mean or max or pooler"),
        ({"layer": 3}, "layers 0 to 2"),
        ({"model": "two words"}, "is not the name of a model"),
        ({"corpus": "/nowhere/a.txt"}, "/nowhere/a.txt"),
        ({"column": "text"}, "column “text”"),
    ],
)
def test_a_mistake_is_an_error_of_ours(
    settings: dict[str, object], named: str, tiny_folder: Path, text_file: Path, api_store: Path
) -> None:
    with pytest.raises(clsviz.ClsvizError, match=named):
        clsviz.measure(**({"model": str(tiny_folder), "corpus": text_file, "store": api_store} | settings))  # type: ignore[arg-type]


def test_a_view_that_cannot_be_is_an_error_of_ours(result: clsviz.NormResult) -> None:
    for view, named in [
        ({"seed": 1}, "no setting “seed” of the view"),
        ({"layer": 3}, "layers 0 to 2"),
        ({"pooling": "max"}, "pooling is max"),
        ({"length_cutoff": 1}, "length_cutoff is 1"),
        ({"layer": 0}, "The norm is the same"),
    ]:
        with pytest.raises(clsviz.ClsvizError, match=named):
            result.fit(**view)  # type: ignore[arg-type]


def test_what_a_notebook_shows_is_escaped(tiny_folder: Path, tmp_path: Path, api_store: Path) -> None:
    path = tmp_path / "<img src=x onerror=alert(1)>.txt"
    path.write_text("\n".join(random_sentences(40, seed=9)))
    found = clsviz.measure(str(tiny_folder), path, store=api_store)
    shown = found._repr_html_()
    assert "<img" not in shown
    assert "&lt;img src=x" in shown
    assert found.answer.split(" (")[0] in shown
    assert "<details>" in shown
