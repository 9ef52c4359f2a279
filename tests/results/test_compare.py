import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import clsviz
from clsviz import cli
from clsviz.errors import SettingError
from clsviz.results.compare import verdict_of
from clsviz.results.result import Result

NAN = np.nan


def table(recalls: list[float], errors: list[float], r2s: list[float], margin: float = NAN):
    """The table of as many models, whose errors and R² differ beyond .1 of guessing, and .02."""
    columns = {"recall_at_10": recalls, "last_probe_error": errors, "r_squared": r2s}
    margins = {"recall_margin": margin, "last_probe_error_margin": 0.6, "r_squared_margin": 0.02}
    labels = ["untrained A", "B", "C"][: len(recalls)]
    return pd.DataFrame(
        {"label": labels, "unit": "tokens", "guess_error": 6.0, **columns, **margins}
    )


MORE = "Untrained A finds the right text more often than B"


@pytest.mark.parametrize(
    ("recalls", "margin", "verdict"),
    [
        ([0.95, 0.91], 0.03, f"{MORE}: 95% against 91%."),
        ([0.9541, 0.9529], 0.001, f"{MORE}: 95.41% against 95.29%."),
        ([0.95, 0.94], 0.03, "Untrained A and B find the right text about equally often."),
        ([0.9, 0.91, 0.92], 0.025, "All 3 models find the right text about equally often."),
        ([0.95, 0.91], 0.05, "Too close to call: too few searches to tell untrained A from B."),
    ],
)
def test_verdicts_of_a_search(recalls: list[float], margin: float, verdict: str) -> None:
    others = [0.2, 0.4, 0.3][: len(recalls)]
    assert verdict_of(table(recalls, others, others, margin), True) == verdict
    assert len(verdict.split()) <= 20


AWAY = "B gives length away more than untrained A: a probe misses by 2.1 tokens against 4.3."
LINE = "A line accounts for more of untrained A’s norms than of B’s: 12% against 3%."


@pytest.mark.parametrize(
    ("errors", "guesses", "r2s", "verdict"),
    [
        ([4.3, 2.1], [6.0, 6.0], [0.1, 0.2], AWAY),
        ([4.3, 4.0], [6.0, 6.0], [0.12, 0.03], LINE),
        ([4.3, 4.0], [6.0, 6.0], [0.12, 0.11], "Too close to call."),
        ([4.3, NAN], [6.0, 6.0], [NAN, 0.11], "Too close to call."),
        # the one misses by 2/3 of guessing, the other by less
        ([2.0, 4.0], [3.0, 9.0], [NAN, NAN], "Too close to call."),
        ([NAN, NAN], [6.0, 6.0], [NAN, NAN], "Can’t compare: only 9 sentences differ."),
    ],
)
def test_verdicts_without_a_search_that_finds_more_than_chance(
    errors: list[float], guesses: list[float], r2s: list[float], verdict: str
) -> None:
    rows = table([0.05, 0.01], errors, r2s, 0.01).assign(guess_error=guesses)
    assert verdict_of(rows, False, "Only 9 sentences differ.") == verdict
    assert len(verdict.split()) <= 20


@pytest.fixture(scope="module")
def short_model(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model, which reads at most 18 words here."""
    folder = tmp_path_factory.mktemp("models") / "short"
    shutil.copytree(tiny_model, folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings["model_max_length"] = 20
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def names(tiny_model: Path, short_model: Path) -> list[str]:
    return [str(tiny_model), f"untrained:{tiny_model}", str(short_model)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def result(names: list[str], corpus_file: Path, store: Path) -> Result:
    return clsviz.compare(names, str(corpus_file), search_corpus="", store=store)


def test_only_sentences_that_all_models_read_are_compared(
    result: Result, names: list[str], sentences: list[str], corpus_file: Path, store: Path
) -> None:
    n_short = sum(len(text.split()) <= 18 for text in sentences)
    assert list(result.table["n_used"]) == [n_short] * 3
    assert f"{300 - n_short} sentences longer than a model reads" in " ".join(result.caveats)
    norms = clsviz.measure(names[0], str(corpus_file), store=store).table
    short = norms[norms["length"] <= 18]
    r = np.corrcoef(short["length"], short["norm"])[0, 1]
    assert result.table["r_squared"][0] == pytest.approx(r**2, rel=1e-3)
    few = clsviz.probe(names[0], list(short["sentence"]), store=store)
    assert result.table["guess_error"][0] == pytest.approx(few.fact("guess_error"), rel=0.05)


def test_neither_a_copy_nor_another_order_changes_a_number(
    result: Result, names: list[str], corpus_file: Path, store: Path
) -> None:
    columns = ["last_probe_error", "probe_r_squared", "r_squared", "r_squared_margin"]
    rows = result.table[columns]
    other = clsviz.compare(names[::-1], str(corpus_file), search_corpus="", store=store)
    pd.testing.assert_frame_equal(other.table[columns], rows[::-1].reset_index(drop=True))
    assert other.verdict == result.verdict
    assert rows.iloc[0].equals(rows.iloc[2])  # of the same weights


def test_searches_are_those_of_the_search_test(names, corpus_file, store) -> None:
    texts = str(corpus_file)
    both = clsviz.compare(names[:2], texts, search_corpus=texts, store=store)
    for place, name in enumerate(names[:2]):
        alone = clsviz.search_test(name, texts, store=store)
        assert both.table["recall_at_10"][place] == alone.fact("recall_at_10")
        assert both.fact("n_searches") == alone.fact("n_searches")
    assert both.table["recall_margin"][0] > 0


def test_pieces_are_those_of_the_chunk_test(names, sentences, store, tmp_path, capsys) -> None:
    book = tmp_path / "book.txt"
    starts = [text.split()[:6] for text in sentences if len(text.split()) > 6]
    book.write_text(" ".join(f"The {' '.join(words)}." for words in starts))
    options = {"search_corpus": str(book), "chunks": True, "store": store}
    both = clsviz.compare(names, str(book), **options)
    tests = [clsviz.chunk_test(name, str(book), pooling="mean", store=store) for name in names]
    sizes = [test.details["sizes"] for test in tests]
    assert len(sizes[2]) < len(sizes[0])
    for row, of_model, test in zip(both.details["models"], sizes, tests, strict=True):
        entry = of_model[len(sizes[2]) - 1]
        assert row["chunk_recall_at_1"] == entry["recall_at_1"]
        assert row["n_chunks"] == entry["n_chunks"]
        assert row["chunk_sentences"] == entry["sentences"]
        assert row["chunk_tokens"] == test.fact("advised_tokens")
    assert any("do not rank models" in caveat for caveat in both.caveats)
    assert "chunk_difference" not in both.json()
    assert both.command.endswith(" --chunks")
    link = f"http://a.b/compare?model={names[0]}&others={names[1]}&others={names[2]}&chunks=true"
    link += f"&corpus={book}&search_corpus={book}"
    assert cli.main(["compare", "--query", link, "--json", "--store", str(store)]) == 0
    assert json.loads(capsys.readouterr().out)["models"] == both.json()["models"]
    assert cli.main(["compare", "--query", link.replace("=true", "=perhaps")]) == 2


def test_texts_of_one_sentence_have_no_pieces(names, corpus_file, store, tmp_path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("text\n" + corpus_file.read_text())
    options = {"chunks": True, "store": store}
    result = clsviz.compare(names[:2], str(corpus_file), search_corpus=str(table), **options)
    assert "No chunks were tested: Each text of" in " ".join(result.caveats)
    assert result.table["chunk_recall_at_1"].isna().all()
    book = tmp_path / "book.txt"
    book.write_text(" ".join(f"The {text}." for text in corpus_file.read_text().splitlines()))
    result = clsviz.compare(names[::2], str(corpus_file), search_corpus=str(book), **options)
    assert "No chunks were tested: tiny: the model reads" in " ".join(result.caveats)
    with pytest.raises(SettingError, match="Chunks are set, and search_corpus is empty"):
        clsviz.compare(names[:2], str(corpus_file), search_corpus="", **options)


def test_two_to_six_different_models_are_compared(store: Path) -> None:
    for models in (["minilm", "minilm"], list("abcdefg")):
        with pytest.raises(SettingError, match="models"):
            clsviz.compare(models, store=store)


def test_a_table_has_a_row_for_each_model_and_corpus(
    names: list[str], corpus_file: Path, sentences: list[str], store: Path, tmp_path: Path, capsys
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("\n".join(sentences[50:250]), "utf-8")
    words = ["compare", "--models", ",".join(names[:2]), "--search-corpus", ""]
    words += ["--corpus", str(corpus_file), "--corpus", str(other), "--store", str(store)]
    path = tmp_path / "table.csv"
    assert cli.main([*words, "--output", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    rows = pd.read_csv(path)
    assert list(rows["corpus"]) == ["sentences.txt"] * 2 + ["other.txt"] * 2
    assert list(rows["n_used"]) == [300, 300, 200, 200]
    assert rows["corpus_fingerprint"].nunique() == 2
    errors = [row["last_probe_error"] for row in answer["models"]]
    assert errors == pytest.approx(list(rows["last_probe_error"]))
    assert [row["r_squared"] is None for row in answer["models"]] == list(rows["r_squared"].isna())
    assert cli.main([*words, "--plot", str(tmp_path / "picture.svg")]) == 0


def test_the_command_repeats_a_comparison(result: Result, store: Path, capsys) -> None:
    words = shlex.split(result.command)[1:]
    assert cli.main([*words, "--json", "--store", str(store)]) == 0
    assert json.loads(capsys.readouterr().out)["models"] == result.json()["models"]


def test_models_whose_answer_is_shipped_need_no_weights(tmp_path: Path) -> None:
    result = clsviz.compare(store=tmp_path)
    assert list(result.table["label"]) == ["MiniLM-L6", "MPNet base"]
    assert result.table["recall_at_10"].tolist() == pytest.approx([0.643, 0.666], abs=0.001)
    assert list(tmp_path.rglob("*")) == []
