import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from support.tiny import random_sentences

import clsviz
from clsviz.api.inputs import corpus_name
from clsviz.measuring import Store
from clsviz.sources import catalogue

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


def test_other_sentences_or_another_order_are_another_corpus(opened: Store) -> None:
    names = [corpus_name(sentences, opened) for sentences in (SENTENCES, SENTENCES[::-1], SENTENCES[:-1])]
    assert len(set(names)) == 3


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


def test_an_endless_iterator_is_cut_by_its_giver(tiny_folder: Path, api_store: Path) -> None:
    endless = itertools.cycle(SENTENCES)
    table = clsviz.measure(str(tiny_folder), itertools.islice(endless, 45), store=api_store).table()
    assert table["sentence"].value_counts().to_dict() == {s: 1 + (s in SENTENCES[:15]) for s in SENTENCES}
