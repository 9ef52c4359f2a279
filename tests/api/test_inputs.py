"""Stores, sentences in memory, and the bar."""

import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from support.tiny import random_sentences

import clsviz
from clsviz.api.inputs import Bar, open_store, read_corpus
from clsviz.sources import catalogue
from clsviz.store import Store


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_stage_that_takes_longer_than_a_second_has_a_bar_where_one_is_wanted(
    is_shown: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("tqdm.std.time", lambda: now)
    with Bar(is_shown=is_shown) as bar:
        bar.begin("Measuring", total=10, unit=" sentences")
        bar.advance(1)
        assert capsys.readouterr().err == ""
        now = 1.2
        bar.advance(10)
    assert ("Measuring" in capsys.readouterr().err) == is_shown


def test_a_store_is_named_by_a_folder_or_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_store("~/store").root == open_store(Path("~/store")).root == tmp_path / "store"
    assert open_store("memory://bucket/store/").address == "memory://bucket/store"
    monkeypatch.setenv("CLSVIZ_STORE", "memory://bucket/other")
    assert open_store(None).address == "memory://bucket/other"


SENTENCES = random_sentences(30, seed=3)


@pytest.mark.parametrize(
    "corpus",
    [
        tuple(SENTENCES),
        pd.Series(SENTENCES, index=range(100, 130)),
        pd.Series(SENTENCES, dtype="string"),
        np.array(SENTENCES),
        iter(SENTENCES),
        Dataset.from_dict({"text": SENTENCES})["text"],
    ],
    ids=["tuple", "series", "string-series", "array", "iterator", "dataset-column"],
)
def test_the_same_sentences_are_the_same_corpus_whatever_holds_them(corpus: object, opened: Store) -> None:
    assert read_corpus(corpus, opened).name == read_corpus(SENTENCES, opened).name  # type: ignore[arg-type]
    assert catalogue.is_upload(read_corpus(SENTENCES, opened).name)


def test_each_item_is_one_sentence_whole_and_in_its_place(tiny_folder: Path, api_store: Path) -> None:
    long = "the cat sat. " * 60
    sentences = ["the cat\nsat.", " the  dog ran. ", "“a” cat\\n, then.", "the cat\nsat.", long]
    table = clsviz.measure(str(tiny_folder), sentences, store=api_store).table()
    assert table["sentence"].tolist() == [" ".join(text.split()) for text in sentences]
    assert table.index.tolist() == [0, 1, 2, 3, 4]


def test_a_table_has_the_index_of_what_was_given(tiny_folder: Path, api_store: Path) -> None:
    given = pd.DataFrame({"n": range(30), "body": SENTENCES}, index=[f"row {at}" for at in range(30)])
    given.loc["row 4", "body"] = " "
    result = clsviz.measure(str(tiny_folder), given, text="body", store=api_store)
    table = result.table()
    assert table["sentence"].to_dict() == given["body"].drop("row 4").to_dict()
    assert result.notes == ["One text is left out: blank, or over 100,000 characters long."]
    some = clsviz.measure(str(tiny_folder), given["body"], n=10, store=api_store).table()
    assert len(some) == 10
    assert some.equals(table.loc[some.index])
    assert "upload" not in repr(result)


def test_vectors_of_texts_in_memory_are_in_their_order(tiny_folder: Path, api_store: Path) -> None:
    probed = clsviz.probe(str(tiny_folder), SENTENCES, store=api_store)
    alone = clsviz.Encoder(str(tiny_folder)).vectors(SENTENCES, layer=1)
    np.testing.assert_allclose(probed.vectors(layer=1), alone, atol=2e-3)


def test_texts_that_are_cut_have_an_order_of_their_own(tiny_folder: Path, api_store: Path) -> None:
    texts = ["The cat sat. The dog ran.", "A bird flew. It sang."]
    table = clsviz.measure(str(tiny_folder), texts, segmentation="sentences", store=api_store).table()
    assert sorted(table["sentence"]) == ["A bird flew.", "It sang.", "The cat sat.", "The dog ran."]


def test_a_seed_draws_a_prefix_of_sentences_in_memory_too(tiny_folder: Path, api_store: Path) -> None:
    def drawn(n: int, seed: int) -> list[str]:
        found = clsviz.measure(str(tiny_folder), SENTENCES, n=n, seed=seed, store=api_store).found
        return found.sentences

    assert drawn(20, seed=1)[:10] == drawn(10, seed=1) != drawn(10, seed=2)
    assert sorted(drawn(30, seed=1)) == sorted(SENTENCES)


def test_names_stay_and_paths_become_whole(opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_corpus("python-docs", opened).name == "python-docs"
    assert read_corpus(Path("python-docs"), opened).name == str(tmp_path / "python-docs")
    assert read_corpus(Path("~/a.txt"), opened).name == str(Path.home() / "a.txt")


@pytest.mark.parametrize(
    ("corpus", "named"),
    [
        ([], "holds no text"),
        (["a cat.", None], "Item 2 of corpus is a NoneType"),
        (["a cat.", 3.5], "Item 2 of corpus is a float"),
        ([b"a cat."], "is a bytes"),
        (["a cat.", "\ud800"], "Item 2 of corpus holds half a character"),
        (pd.DataFrame({"text": SENTENCES}), "is a DataFrame"),
        (Dataset.from_dict({"text": SENTENCES}), "is a Dataset"),
        ({"text": SENTENCES}, "is a dict"),
        ([" ", "\n"], "no text"),
    ],
)
def test_what_is_no_list_of_sentences_is_refused(corpus: object, named: str, opened: Store) -> None:
    with pytest.raises(clsviz.ClsvizError, match=named):
        read_corpus(corpus, opened)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"lenght_cutoff": 20}, "“lenght_cutoff”. Did you mean length_cutoff?"),
        ({"sample_size": 20}, "Did you mean n?"),
        ({"zzz": 20}, "The settings are column, configuration"),
        ({"n": 0}, "n is 0; it must be a whole number from 1 to 1,000,000"),
        ({"n": 2.5}, "n is 2.5; it must be a whole number"),
        ({"text": "body"}, "text is “body”, but corpus is not a table in memory"),
    ],
)
def test_a_wrong_keyword_is_named_as_the_caller_wrote_it(settings: dict[str, object], named: str) -> None:
    with pytest.raises(clsviz.ClsvizError, match=re.escape(named)):
        clsviz.measure("minilm", "python-docs", **settings)  # type: ignore[arg-type]


def test_signatures_spell_out_every_setting() -> None:
    shown = inspect.signature(clsviz.measure).parameters
    assert {"text", "n", "seed", "length_cutoff", "pooling", "precision", "near_duplicates"} <= shown.keys()
    assert shown["length_cutoff"].default == clsviz.Experiment().length_cutoff
