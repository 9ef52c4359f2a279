import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.tiny import random_sentences

import clsviz
from clsviz.cli.main import main
from clsviz.encoder import Encoder
from clsviz.settings import Pooling, SimilarityFunction


@pytest.fixture
def command(tiny_folder: Path, tmp_path: Path) -> list[str]:
    rng = np.random.default_rng(0)
    texts = [" ".join(random_sentences(int(rng.integers(2, 9)), seed=seed)) for seed in range(150)]
    titles = [" ".join(text.split()[:3]) for text in texts]
    pd.DataFrame({"title": titles, "text": texts}).to_csv(tmp_path / "table.csv", index=False)
    return ["search-test", f"--corpus={tmp_path / 'table.csv'}", f"--model={tiny_folder}", f"--store={tmp_path / 's'}"]


def test_it_prints_what_a_script_of_ones_own_computes(
    command: list[str], tmp_path: Path, tiny_encoder: Encoder, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, output = tmp_path / "search.png", tmp_path / "search.csv"
    assert main([*command, "--similarity=dot", "--json", f"--plot={picture}", f"--output={output}"]) == 0
    result = json.loads(capsys.readouterr().out)
    table = pd.read_csv(tmp_path / "table.csv")
    queries = [*dict.fromkeys(table["title"])]
    texts, asked = (tiny_encoder.vectors(of).of(Pooling.MEAN, None) for of in (table["text"].tolist(), queries))
    found = np.argsort(-(asked @ texts.T), axis=1)[:, :10]
    right = [set(np.flatnonzero(table["title"] == query)) for query in queries]
    recall = [len(of & {*ten}) / min(10, len(of)) for of, ten in zip(right, found.tolist(), strict=True)]
    assert (result["task"], result["n_searches"], result["n_texts"]) == ("titles", len(queries), 150)
    assert result["recall_at_10"] == pytest.approx(np.mean(recall), abs=0.02)  # these vectors were packed
    assert (result["pooling"], result["layer"], result["similarity"]) == ("mean", 2, "dot")
    assert {"model_fingerprint", "corpus_fingerprint", "seed", "query"} <= {*result}
    keys = {"recall_at_10", "ndcg_at_10", "recall_interval", "exposure", "exposure_interval", "fifths"}
    assert keys <= {*result} & {*result["bm25"]} & {*result["other_similarity"]}
    assert [*result["fifths"][0]] == ["from_tokens", "to_tokens", "n_texts", "recall_at_10", "ndcg_at_10"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert {"BM25", "Mean, dot product", "[CLS], cosine", "Pooler output, cosine"} <= {*pd.read_csv(output)["ranking"]}
    assert main([*command, "--layer=1", "--pooling=cls"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "Does length bend my search?"


def test_the_status_says_whether_exposure_is_beyond(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--json"]) == 0
    intervals = json.loads(capsys.readouterr().out)["exposure_interval"]
    surely = max(max(low, 1 / high) for low, high in filter(None, intervals))
    assert main([*command, f"--max-exposure={surely + 0.01}"]) == 0
    if surely > 1.01:
        assert main([*command, f"--max-exposure={surely - 0.005}"]) == 1
    assert main([*command, "--max-exposure=0.5"]) == 2
    assert main([*command[:1], "--corpus=python-docs", *command[2:], "--max-exposure=1.5"]) == 2
    assert "two sentences or more" in capsys.readouterr().err


def test_the_exact_vectors_of_some_poolings_are_those_of_all(tiny_encoder: Encoder) -> None:
    texts = random_sentences(40, seed=8, longest=90)
    pooled = tiny_encoder.pooled(texts, [Pooling.MEAN, Pooling.POOLER], 2)
    packed = tiny_encoder.vectors(texts)
    for pooling in (Pooling.MEAN, Pooling.POOLER):
        np.testing.assert_allclose(pooled.vectors[pooling], packed.of(pooling, None), atol=5e-3)
        np.testing.assert_allclose(
            np.linalg.norm(pooled.vectors[pooling], axis=1), packed.norms(pooling, None), rtol=1e-6
        )
    np.testing.assert_array_equal(pooled.n_tokens, packed.n_tokens)
    np.testing.assert_array_equal(pooled.truncated, packed.truncated)


def test_what_is_shipped_is_found_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clsviz.jobs.Encoders.get", None)
    result = clsviz.search_test(store=tmp_path, progress=False)
    assert result.test.ranking(SimilarityFunction.DOT).recall_at_10 == pytest.approx(0.37, abs=0.01)
    assert len(result) == 2328
