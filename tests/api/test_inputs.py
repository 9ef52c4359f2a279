"""Stores, sentences in memory, and the bar."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from support.tiny import random_sentences

import clsviz
from clsviz.api.inputs import Bar, corpus_name, open_store
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
    assert corpus_name(corpus, opened) == corpus_name(SENTENCES, opened)  # type: ignore[arg-type]
    assert catalogue.is_upload(corpus_name(SENTENCES, opened))


def test_each_item_is_one_sentence_and_line_breaks_are_spaces(tiny_folder: Path, api_store: Path) -> None:
    sentences = ["the cat\nsat.", " the  dog ran. ", "“a” cat\\n, then.", "the cat\nsat."]
    table = clsviz.measure(str(tiny_folder), sentences, store=api_store).table()
    assert sorted(table["sentence"]) == sorted(" ".join(text.split()) for text in sentences)


def test_a_seed_draws_a_prefix_of_sentences_in_memory_too(tiny_folder: Path, api_store: Path) -> None:
    def drawn(n: int, seed: int) -> list[str]:
        found = clsviz.measure(str(tiny_folder), SENTENCES, n=n, seed=seed, store=api_store).found
        return found.sentences

    assert drawn(20, seed=1)[:10] == drawn(10, seed=1) != drawn(10, seed=2)
    assert sorted(drawn(30, seed=1)) == sorted(SENTENCES)


def test_names_stay_and_paths_become_whole(opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert corpus_name("python-docs", opened) == "python-docs"
    assert corpus_name(Path("python-docs"), opened) == str(tmp_path / "python-docs")
    assert corpus_name(Path("~/a.txt"), opened) == str(Path.home() / "a.txt")


@pytest.mark.parametrize(
    ("corpus", "named"),
    [
        ([], "holds no sentences"),
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
        corpus_name(corpus, opened)  # type: ignore[arg-type]
